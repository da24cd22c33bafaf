// Play: watch a principal learn, or take one of the two seats. The plays of the folder below.
import { h, segmented, replace, number, whole, toast } from "./dom.js";
import { api, at } from "./api.js";
import { watchView } from "./watch.js";
import { seatView } from "./seats.js";

const modes = { watch: "Watch a principal learn", principal: "You are the principal", agent: "You are the agent" };
const states = { running: "running", paused: "paused", starting: "starting", stopping: "ending", stopped: "stopped: it can go on", kept: "", failed: "failed" };
const pick = (names, chosen, label) => h("select", { "aria-label": label }, names.map((n) => h("option", { selected: n === chosen }, n)));

export async function playsView(query) {
  let mode = modes[query.get("mode")] ? query.get("mode") : "watch", game = query.get("game") ?? "catalogue/inspection", players = null;
  const [catalogue, folder, plays] = await Promise.all([api.get("games"), api.get("folder"), api.get("plays")]);
  const games = [...folder.games.filter((g) => g.knowledge === "known"), ...catalogue], keyOf = (g) => at(g.origin, g.name);
  if (!games.some((g) => keyOf(g) === game)) game = "catalogue/inspection";
  const sentence = h("div", { class: "sentence" }), trouble = h("div", { class: "slot", "aria-live": "polite" }), list = h("div");
  const rounds = h("input", { class: "number", size: 7, value: "5000", inputmode: "numeric", "aria-label": "Rounds" }), seed = h("input", { class: "number", size: 3, value: "0", inputmode: "numeric", "aria-label": "Seed" });
  const start = h("button", { type: "button", class: "primary", onclick: begin }, "Start");
  let principal, agent;
  const gameSelect = () => h("select", { "aria-label": "Game", onchange: async (e) => { game = e.target.value; await load(); show(); } },
    games.filter((g) => mode === "watch" || g.kind !== "continuous").map((g) => h("option", { value: keyOf(g), selected: keyOf(g) === game }, g.origin === "folder" ? `${g.title} (${g.name})` : g.title)));
  async function load() { try { players = await api.get(`players/${game}`); replace(trouble); } catch (error) { complain(error); } }
  const complain = (error) => replace(trouble, h("p", { class: "notice bad", role: "alert" }, error.message));
  function show() {
    if (mode !== "watch" && games.find((g) => keyOf(g) === game)?.kind === "continuous") { game = "catalogue/inspection"; load().then(show); return; }
    principal = pick(players.principals, players.principal, "Principal"); agent = pick(players.agents, players.agent, "Agent");
    rounds.value = mode === "agent" ? "200" : mode === "watch" ? "5000" : "2000";
    replace(sentence, { watch: () => ["On", gameSelect(), "let", principal, "learn against", agent, "for", rounds, h("span", { class: "nowrap" }, "rounds, seed ", seed)],
      principal: () => ["On", gameSelect(), "commit against", agent, "who forecasts you from what you did, seed", seed],
      agent: () => ["On", gameSelect(), "answer", principal, "who sees your answers and nothing else, for about", rounds, h("span", { class: "nowrap" }, "visits, seed ", seed)] }[mode](), start);
  }
  async function begin() {
    const [origin, name] = game.split("/").map(decodeURIComponent), typed = (input) => { const value = Number(input.value.replaceAll(/[,\s]/g, "")); return Number.isFinite(value) && input.value.trim() ? value : input.value; };
    start.disabled = true;
    try {
      const info = await api.post("plays", { mode, origin, game: name, principal: mode === "principal" ? "" : principal.value, agent: mode === "agent" ? "" : agent.value, rounds: typed(rounds), seed: typed(seed) });
      location.hash = `#/play/${at(info.name)}`;
    } catch (error) { complain(error); start.disabled = false; }
  }
  const remove = (play) => h("button", { type: "button", class: "quiet small", "aria-label": `Delete ${play.name}`, onclick: async (e) => {
    if (e.target.textContent === "Delete") { e.target.textContent = "Delete for good?"; return; }
    try { await api.remove(`plays/${at(play.name)}`); toast(`Deleted ${play.name}.`); plays.splice(plays.indexOf(play), 1); draw(); } catch (error) { complain(error); }
  } }, "Delete");
  const who = (p) => (p.mode === "principal" ? `you against ${p.agent}` : p.mode === "agent" ? `${p.principal} against you` : `${p.principal} against ${p.agent}`);
  const draw = () => replace(list, plays.length ? h("div", { class: "scroll" }, h("table", { class: "plain kept" }, h("tbody", {}, plays.map((p) => h("tr", {},
    h("td", {}, h("a", { href: `#/play/${at(p.name)}` }, p.name)), h("td", { class: "soft" }, `${p.game}, ${who(p)}`), h("td", { class: "n" }, p.played ? `${whole(p.played)} rounds` : `${whole(p.rounds)} asked`), h("td", {}, p.earned === null ? (p.mode !== "watch" && p.state === "stopped" ? "yours to go on with" : states[p.state]) : `earned ${number(p.earned)} of ${number(p.value)}`), h("td", {}, states[p.state] && p.earned !== null ? `${states[p.state]}. ` : "", p.verdict), h("td", { class: "n" }, p.state === "kept" || p.state === "stopped" || p.state === "failed" ? remove(p) : null)))))) : h("p", { class: "soft" }, "No plays in this folder yet. What you play is kept here, as stackcast play would keep it."));
  await load();
  show(); draw();
  return [
    h("div", { class: "head row" }, h("h1", {}, "Play"), h("span", { class: "push" }, segmented("mode", modes, mode, (m) => { mode = m; show(); }, "Who plays"))),
    sentence, trouble,
    h("section", { class: "rule stack tight" }, h("h2", {}, "In this folder"), list),
  ];
}

export async function playView(name) {
  const found = await api.get(`plays/${at(name)}`);
  return found.info ? watchView(found) : seatView(found);
}
