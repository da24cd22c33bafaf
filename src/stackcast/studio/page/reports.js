import { h } from "./dom.js";
export const reportsView = async () => [h("h1", {}, "Reports")];
