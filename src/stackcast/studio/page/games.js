// The catalogue as cards, the folder's own games above it, and what is seen when there are none.
import { h, s, svg, number, replace, segmented, shares, toast } from "./dom.js";
import { api, at, choose } from "./api.js";
import { Regions } from "./geometry.js";
import { Frame, ground, starPath } from "./triangle.js";

export const size = (g) => (g.kind === "security" ? `${g.shape[0]} targets, ${g.resources} resource${g.resources > 1 ? "s" : ""}` : g.kind === "continuous" ? `continuous, ${g.shape[0]} dimension${g.shape[0] > 1 ? "s" : ""}` : `${g.shape[0]} × ${g.shape[1]}`);
const trim = (x) => number(x, 3).replace(/\.?0+$/, "");
const seen = (game) => new Regions({ known: "known", geometry: game.geometry });

/** 88 pixels of a game: its triangle, its line, shares of its regions, or its best coverage. */
function thumbnail(game) {
  const w = 88, box = { x: 0.6, y: 18, width: w - 1.2, height: 28 };
  if (game.knowledge !== "known") return svg(w, 64, null, s("rect", { ...box, class: "excluded" }), s("rect", { ...box, class: "edge" }), s("text", { x: 44, y: 37, "text-anchor": "middle", class: "halo", "font-weight": 600 }, "?"));
  if (game.kind === "continuous") return svg(w, 64, null, s("path", { d: "M4 50C24 8 44 8 52 26S76 40 84 14", class: "line" }));
  if (game.kind === "security") {
    const row = Math.min(11, 72 / game.strategy.length);
    return svg(w, 76, null, game.strategy.map((c, i) => [s("rect", { x: 0, y: i * row + 1, width: w, height: Math.max(1, row - 3), fill: "var(--sunken)" }),
      s("rect", { x: 0, y: i * row + 1, width: Math.max(1, c * w), height: Math.max(1, row - 3), fill: i === game.response ? "var(--ink)" : "var(--line-strong)" })]));
  }
  if (game.geometry && game.shape[0] === 3) {
    const frame = new Frame(w, { label: 7, foot: 7, side: 7 }), [x, y] = frame.xy(game.strategy);
    return svg(w, frame.height, null, ground(frame, seen(game), {}, { labels: false, corners: false, thin: true }), s("path", { d: starPath(x, y, 7), class: "star" }));
  }
  if (game.geometry && game.shape[0] === 2) {
    const ends = seen(game).polygons.map((p) => p.map((v) => v[1])), top = 18, tall = 28;
    return svg(w, 64, null, ends.map((e, y) => {
      if (e.length < 2 || Math.max(...e) - Math.min(...e) < 1e-9) return null;
      const part = { x: Math.min(...e) * w, width: (Math.max(...e) - Math.min(...e)) * w, y: top, height: tall };
      return [s("rect", { ...part, class: `y${y % 7}` }), y % 7 ? s("rect", { ...part, fill: `url(#p${y % 7})` }) : null, s("rect", { ...part, class: "border" })];
    }), s("rect", { ...box, class: "edge" }), s("path", { d: starPath(Math.min(w - 6, Math.max(6, game.strategy[1] * w)), top + tall / 2, 7), class: "star" }));
  }
  const bar = shares(game.shares ?? [1], "y", w, 28);
  return svg(w, 64, null, s("g", { transform: "translate(0 18)" }, [...bar.childNodes]), s("rect", { ...box, class: "edge" }));
}

const worth = (game) => (game.knowledge === "unknown" ? " · the agent’s payoffs are not known" : game.knowledge === "ranges" ? " · the agent’s payoffs as ranges" : game.value === null ? "" : [" · V* ", h("span", { title: "What the best commitment earns" }, trim(game.value))]);
const card = (game) => h("li", { class: "card" }, h("div", { class: "thumb", "aria-hidden": "true" }, thumbnail(game)),
  h("h3", { class: "name" }, h("a", { href: `#/game/${at(game.origin, game.name)}` }, game.title)),
  h("div", { class: "small soft" }, size(game), worth(game)),
  h("p", {}, game.story || (game.origin === "folder" ? game.name : "")));

export const blank = {
  kind: "finite", name: "new game", description: "", source: "", knowledge: "known",
  principal_actions: ["first", "second", "third"], agent_actions: ["left", "right"], principal_payoffs: [[1, 0], [0.5, 0.5], [0, 1]], agent_payoffs: [[0, 1], [0.5, 0.5], [1, 0]],
  agent_payoffs_low: [], agent_payoffs_high: [], limits: [], targets: [], resources: 1, defender_covered: [], defender_uncovered: [], attacker_covered: [], attacker_uncovered: [],
};
const blankSecurity = { ...blank, kind: "security", name: "new security game", principal_actions: [], agent_actions: [], principal_payoffs: [], agent_payoffs: [], targets: ["north", "south", "west"], defender_covered: [0, 0, 0], defender_uncovered: [-3, -2, -1], attacker_covered: [-1, -1, -1], attacker_uncovered: [3, 2, 1] };

async function make(table) {
  const saved = await api.post("games", { table });
  location.hash = `#/game/${at("folder", saved.name)}`;
}

export async function gamesView() {
  let kind = "all", text = "";
  const [games, folder] = await Promise.all([api.get("games"), api.get("folder")]);
  const grid = h("ul", { class: "cards" }), count = h("p", { class: "small soft", role: "status" }), trouble = h("div", { "aria-live": "polite" });
  const known = games.filter((g) => g.kind !== "continuous").length;
  const show = () => {
    const found = games.filter((g) => (kind === "all" || g.kind === kind) && `${g.name} ${g.description}`.toLowerCase().includes(text.toLowerCase()));
    count.textContent = text || kind !== "all" ? `${found.length} of ${games.length} games` : `${games.length} games with their stories and sources; ${known} of them can be edited and seen`;
    replace(grid, found.length ? found.map(card) : h("li", { class: "card" }, h("p", { class: "soft" }, `No game mentions “${text}”. Clear the search, or write the game down yourself.`)));
  };
  const complain = (error) => replace(trouble, h("div", { class: "notice bad", role: "alert" }, error.message));
  const take = (file) => api.upload("game", file).then((saved) => { location.hash = `#/game/${at("folder", saved.name)}`; }, complain);
  const leave = (file) => h("button", { type: "button", class: "quiet small", onclick: async () => {
    try { await api.remove(`games/folder/${at(file)}`); toast(`Deleted ${file}.`); dispatchEvent(new Event("studio:again")); } catch (error) { complain(error); }
  } }, "Delete it");
  show();
  const view = [
    h("div", { class: "head row" }, h("h1", {}, "Games"), h("span", { class: "push row tight" }, h("button", { type: "button", onclick: () => choose(".json,.toml,.nfg", take) }, "Open a file…"),
      h("button", { type: "button", onclick: () => make(blankSecurity).catch(complain) }, "New security game"), h("button", { type: "button", class: "primary", onclick: () => make(blank).catch(complain) }, "New game"))),
    trouble,
    h("section", { class: "stack tight" }, h("h2", {}, "In this folder"),
      folder.problems.map((p) => h("div", { class: "notice bad" }, h("strong", {}, "One file cannot be read. "), p.sentence, " ", leave(p.path))),
      folder.games.length ? h("ul", { class: "cards" }, folder.games.map(card)) : h("p", { class: "soft measure" }, "No games in this folder yet. Write one down, open a file, or start from one of the catalogue: a copy is saved here when you change it.")),
    h("section", { class: "rule" },
      h("div", { class: "row" }, h("h2", {}, "Catalogue"),
        h("span", { class: "push row tight" },
          h("input", { type: "search", placeholder: "Search names and stories", size: 24, "aria-label": "Search the catalogue", oninput: (e) => { text = e.target.value; show(); } }),
          segmented("kind", { all: "All", finite: "Finite", security: "Security", continuous: "Continuous" }, kind, (k) => { kind = k; show(); }, "Kind of game"))),
      count,
      h("p", { class: "small soft legend-line" }, "In the pictures every area is one answer of the other side, and the star is the best commitment. V* is what it earns."),
      grid),
  ];
  view.shown = () => {
    const main = document.getElementById("view");
    main.ondragover = (e) => e.preventDefault();
    main.ondrop = (e) => { e.preventDefault(); if (e.dataTransfer.files[0]) take(e.dataTransfer.files[0]); };
  };
  view.stop = () => { const main = document.getElementById("view"); main.ondragover = main.ondrop = null; };
  return view;
}
