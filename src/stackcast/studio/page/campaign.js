import { h } from "./dom.js";
export const campaignsView = async () => [h("h1", {}, "Campaigns")];
export const campaignView = campaignsView;
