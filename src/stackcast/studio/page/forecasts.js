import { h } from "./dom.js";
export const forecastsView = async () => [h("h1", {}, "Forecasts")];
