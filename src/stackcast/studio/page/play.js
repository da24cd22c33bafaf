import { h } from "./dom.js";
export const playsView = async () => [h("h1", {}, "Play")];
export const playView = playsView;
