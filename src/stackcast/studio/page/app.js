// Which view is shown. The address says it, so that a reload and the back button work.
import { h, replace, say } from "./dom.js";
import { api } from "./api.js";
import { gamesView } from "./games.js";
import { gameView } from "./editor.js";
import { playsView, playView } from "./play.js";
import { campaignsView, campaignView } from "./campaign.js";
import { forecastsView } from "./forecasts.js";
import { reportsView } from "./reports.js";

const view = document.getElementById("view");
let stop = () => {}, shown = 0;

// The token has become a cookie: it need not stay in the address.
if (location.search.includes("token=")) {
  const query = new URLSearchParams(location.search);
  query.delete("token");
  history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
}

const rooms = {
  games: () => gamesView(),
  game: ([origin, name]) => gameView(origin, name),
  play: ([name], query) => (name ? playView(name) : playsView(query)),
  campaigns: ([file], query) => (file ? campaignView(file) : campaignsView(query)),
  forecasts: ([file], query) => forecastsView(file, query),
  reports: (path) => reportsView(path.join("/")),
};
const headings = { games: "Games", game: "Game", play: "Play", campaigns: "Campaigns", forecasts: "Forecasts", reports: "Reports" };

async function show(first) {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?"), [room = "games", ...rest] = (path || "games").split("/").map(decodeURIComponent);
  const turn = ++shown, known = rooms[room] ? room : "games";
  stop(); stop = () => {};
  document.querySelector(".toast")?.remove();
  for (const link of document.querySelectorAll(".bar nav a")) {
    const here = link.hash === `#/${known === "game" ? "games" : known}`;
    here ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  const waiting = setTimeout(() => turn === shown && replace(view, h("div", { class: "head" }, h("h1", {}, headings[known])), h("progress", { "aria-label": "Loading" })), first ? 0 : 250);
  let nodes;
  try {
    nodes = await rooms[known](rest, new URLSearchParams(query));
  } catch (error) {
    nodes = [h("div", { class: "head" }, h("h1", {}, headings[known])), h("div", { class: "stack" }, h("div", { class: "notice bad", role: "alert" }, error.message), h("div", {}, h("button", { type: "button", class: "primary", onclick: () => show(false) }, "Try again")))];
    if (error.status === undefined) console.error(error);
  }
  clearTimeout(waiting);
  if (turn !== shown) return nodes.stop?.();
  stop = nodes.stop ?? (() => {});
  replace(view, nodes);
  nodes.shown?.();
  document.body.dataset.view = known;
  document.title = `${view.querySelector("h1").textContent} – stackcast studio`;
  if (!first) { scrollTo(0, 0); view.focus({ preventScroll: true }); say(document.title, 0); }
}
addEventListener("hashchange", () => show(false));
addEventListener("studio:again", () => show(false));
show(true);
api.get("folder").then((found) => { const place = document.getElementById("folder"); place.textContent = `Folder ${found.path.split(/[\\/]/).filter(Boolean).at(-1) ?? found.path}`; place.title = found.path; }, () => {});

const button = document.getElementById("theme"), order = ["system", "light", "dark"];
const label = () => { const now = document.documentElement.dataset.choice; button.textContent = { system: "Colours: system", light: "Colours: light", dark: "Colours: dark" }[now]; };
button.addEventListener("click", () => { window.chooseTheme(order[(order.indexOf(document.documentElement.dataset.choice) + 1) % 3]); label(); });
label();
