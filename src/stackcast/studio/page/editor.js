// A game as an editable table, with what it leads to beside it.
import { h, answerMark, replace, segmented, toast } from "./dom.js";
import { api, at, keep } from "./api.js";
import { GameDocument } from "./document.js";
import { size } from "./games.js";
import { seeView } from "./see.js";
import { securityView } from "./security.js";

export const asText = (v) => (v === null ? "" : String(v).replace("-", "−"));
/** A number where it is one, else what was typed: the server has the sentence for it. */
export const asCell = (text) => { const clean = text.trim().replaceAll("−", "-").replace(/^(-?\d*),(\d+)$/, "$1.$2"), value = Number(clean); return clean !== "" && Number.isFinite(value) ? value : text.trim(); };

/** The row and the entry that a sentence is about. */
export const placeOf = (error) => { const found = /^(\w+)(?:, row (\d+))?(?:, entry (\d+))?/.exec(error.field ?? ""); return found && { table: found[1], row: Number(found[2]) - 1, entry: Number(found[3]) - 1 }; };

export async function gameView(origin, name) {
  const opened = await api.get(`games/${at(origin, name)}`);
  if (!opened.table) return continuousView(opened.continuous);
  return opened.table.kind === "security" ? shell(opened, securityView) : shell(opened, finiteView);
}

function continuousView(card) {
  return [h("div", { class: "head" }, h("p", { class: "crumb" }, h("a", { href: "#/games" }, "Games")), h("div", { class: "row" }, h("h1", {}, card.title), h("span", { class: "soft" }, size(card)), h("span", { class: "push" }, h("a", { class: "button primary", href: `#/play?game=${at("catalogue", card.name)}` }, "Play it")))),
    h("div", { class: "stack measure" }, h("p", {}, card.description), h("p", { class: "soft" }, card.source), h("p", { class: "notice" }, "A commitment is a point of a continuous domain here: it is watched as it is played, and has no table to edit."))];
}

/** What finite and security games share: title, story, saving, undo, export. */
async function shell(opened, body) {
  const seen = await api.post("see", { table: opened.table }).catch((error) => error);
  const hint = h("p", { class: "small soft" }), error = h("p", { class: "notice bad small", role: "alert", hidden: true }), where = h("span", { class: "soft" }), news = h("div", { "aria-live": "polite" });
  const part = {};
  const doc = new GameDocument(opened, (told) => {
    if (told.redraw) { title.value = doc.table.name; story.value = doc.table.description; part.draw(); }
    if (told.see || told.pending) { undo.disabled = !doc.past.length; redo.disabled = !doc.future.length; }
    if (told.see) { error.hidden = true; hint.hidden = false; error.textContent = ""; part.right(told.see); part.worth?.(null); }
    if (told.worth) part.worth?.(told.worth);
    if (told.error) { error.textContent = told.error.message; error.hidden = false; hint.hidden = true; part.wrong(told.error); }
    if (told.copied) toast(`Kept as ${told.copied} in the folder. The catalogue’s game stays as it is.`);
    if (told.saved) { replace(news); describe(); }
    if (told.conflict) replace(news, h("div", { class: "notice warn", role: "alert" }, h("strong", {}, told.conflict.message), " What you typed is kept here. ", h("span", { class: "row tight" },
      h("button", { type: "button", onclick: () => dispatchEvent(new Event("studio:again")) }, "Load the other version"), h("button", { type: "button", onclick: () => { replace(news); doc.save(structuredClone(doc.table), true); } }, "Keep mine"))));
  });
  const undo = h("button", { type: "button", disabled: true, onclick: () => doc.undo() }, "Undo"), redo = h("button", { type: "button", disabled: true, onclick: () => doc.redo() }, "Redo");
  const title = h("input", { type: "text", class: "title", value: doc.table.name || doc.name, "aria-label": "Name of the game", spellcheck: "false", onchange: (e) => doc.change((t) => { t.name = e.target.value; }) });
  const story = h("textarea", { rows: 4, "aria-label": "Story", onchange: (e) => doc.change((t) => { t.description = e.target.value; }) });
  story.value = doc.table.description;
  const describe = () => { const t = doc.table; where.textContent = `${t.kind === "security" ? `${t.targets.length} targets, ${t.resources} resources` : `${t.principal_actions.length} × ${t.agent_actions.length}`}, ${doc.origin === "catalogue" ? "from the catalogue. Changing it makes a copy." : `saved in ${doc.name}.`}`; };
  const menu = h("details", { class: "menu" }, h("summary", { class: "button" }, "Export"), h("div", {}, [["json", "JSON"], ["toml", "TOML"], ["nfg", "Gambit .nfg"]].map(([format, text]) =>
    h("button", { type: "button", onclick: async () => { menu.open = false; try { toast(`Saved ${await keep("export", { table: doc.table, format }, `game.${format}`)}.`); } catch (wrong) { toast(wrong.message); } } }, text))));
  menu.addEventListener("keydown", (e) => { if (e.key === "Escape") { menu.open = false; menu.firstChild.focus(); } });
  const limits = limitsPart(doc, part);
  Object.assign(part, body(doc, { undo, redo, slot: h("div", { class: "slot" }, hint, error), hint, limits }));
  const finite = doc.table.kind === "finite";
  const go = (room) => h("a", { class: `button ${room === "play" ? "primary" : ""}`, href: "#", onclick: (e) => { e.preventDefault(); doc.saving.then(() => { location.hash = `#/${room}?game=${at(doc.origin, doc.name)}`; }); } }, room === "play" ? "Play it" : "Start a campaign");
  const playIt = go("play");
  const remove = h("button", { type: "button", class: "quiet small", onclick: async () => {
    try { await doc.saving; await api.remove(`games/folder/${at(doc.name)}`); } catch (wrong) { return toast(wrong.message); }
    const table = structuredClone(doc.table);
    location.hash = "#/games";
    setTimeout(() => toast(`Deleted ${doc.name}.`, () => api.post("games", { table }).then((s) => { location.hash = `#/game/${at("folder", s.name)}`; })), 400);
  } }, "Delete this game");
  describe(); part.draw(); doc.begin(seen);
  const view = [
    h("div", { class: "head" }, h("p", { class: "crumb" }, h("a", { href: "#/games" }, "Games")),
      h("div", { class: "row" }, h("h1", { class: "sr" }, doc.table.name || doc.name), title, where, h("span", { class: "push row tight" }, menu, finite ? go("campaigns") : null, playIt)),
      h("details", { class: "small measure" }, h("summary", {}, "The story, and where it comes from"), story, h("p", { class: "soft" }, doc.table.source), doc.origin === "folder" ? remove : null)),
    news, part.page,
  ];
  const keys = (e) => {
    if (!(e.ctrlKey || e.metaKey) || e.key.toLowerCase() !== "z" || e.target.matches?.("textarea:not(.name)")) return;
    e.preventDefault();
    e.shiftKey ? doc.redo() : doc.undo();
  };
  addEventListener("keydown", keys);
  view.stop = () => removeEventListener("keydown", keys);
  return view;
}

/** Limits as people write them; one that is wrong is said beside the field and not taken. */
function limitsPart(doc) {
  const box = h("div", { class: "stack tight" });
  box.draw = () => {
    const said = h("p", { class: "hint reserve", role: "alert" }), input = h("input", { type: "text", name: "limit", placeholder: `${(doc.table.kind === "security" ? doc.table.targets : doc.table.principal_actions)[0]} <= 0.4`, "aria-label": "A new limit", spellcheck: "false", autocomplete: "off" });
    replace(box, doc.table.limits.map((limit, i) => h("div", { class: "row tight" }, h("code", {}, limit.text.replace("<=", "≤").replace(">=", "≥")), limit.name && limit.name !== limit.text ? h("span", { class: "soft small" }, limit.name) : null,
      h("button", { type: "button", class: "quiet", "aria-label": `Remove the limit ${limit.text}`, onclick: () => { doc.change((t) => t.limits.splice(i, 1)); box.draw(); toast("Removed the limit.", () => doc.undo()); } }, "Remove"))),
    h("form", { class: "row tight", onsubmit: async (e) => {
      e.preventDefault();
      const limit = { text: input.value, name: "" };
      try {
        await api.post("see", { table: { ...doc.table, limits: [...doc.table.limits, limit] } });
        doc.change((t) => t.limits.push(limit)); box.draw();
        box.querySelector("form input").focus();
      } catch (error) { input.setAttribute("aria-invalid", "true"); said.textContent = error.message; said.className = "hint reserve wrong"; }
    } }, input, h("button", { type: "submit" }, "Add limit")), said);
  };
  return box;
}

function finiteView(doc, { undo, redo, slot, hint, limits }) {
  hint.textContent = "Your payoff stands first in each cell, the agent’s second. The coloured column is the agent’s answer to your commitment.";
  const table = h("div", { class: "table-scroll" }), see = seeView();
  const spread = () => { const flat = doc.table.agent_payoffs.flat().filter(Number.isFinite); return (Math.max(...flat) - Math.min(...flat) || 1) * 0.05; };
  const markBest = (_, found) => { for (const pair of table.querySelectorAll(".pair")) pair.classList.toggle("best", doc.table.knowledge === "known" && Number(pair.dataset.y) === found?.response); };
  see.onmove = markBest;

  function field(key, x, y, label) {
    return h("input", { type: "text", class: "number", inputmode: "decimal", value: asText(doc.table[key][x][y]), "aria-label": `${label}, ${doc.table.principal_actions[x]} and ${doc.table.agent_actions[y]}`, "data-key": key, spellcheck: "false", autocomplete: "off",
      oninput: (e) => doc.change((t) => { t[key][x][y] = asCell(e.target.value); }, `${key} ${x} ${y}`),
      onblur: () => doc.rest(),
      onkeydown: (e) => {
        const to = { ArrowUp: -1, ArrowDown: 1, Enter: 1 }[e.key];
        const next = to && table.querySelector(`[data-x="${x + to}"][data-y="${y}"] input[data-key="${key}"]`);
        if (next) { e.preventDefault(); next.focus(); next.select(); }
      } });
  }
  function cell(x, y) {
    const known = doc.table.knowledge, own = field("principal_payoffs", x, y, "Your payoff");
    const theirs = known === "known" ? field("agent_payoffs", x, y, "Agent's payoff") : known === "ranges" ? [field("agent_payoffs_low", x, y, "Agent's payoff at least"), field("agent_payoffs_high", x, y, "Agent's payoff at most")]
      : h("input", { class: "number", value: "?", disabled: true, "aria-label": "The agent's payoff is unknown" });
    return h("td", {}, h("div", { class: `pair z${y % 7} ${known === "ranges" ? "ranges" : ""}`, "data-x": x, "data-y": y }, own, theirs));
  }
  function title(key, i) {
    const tall = key === "agent_actions", input = h(tall ? "textarea" : "input", { type: tall ? null : "text", rows: tall ? 2 : null, class: "name", spellcheck: "false", "aria-label": `Name of ${tall ? "an answer" : "an action of yours"}`,
      onkeydown: (e) => { if (e.key === "Enter") { e.preventDefault(); e.target.blur(); } }, onchange: (e) => { doc.change((t) => { t[key][i] = e.target.value; }); draw(); } });
    input.value = doc.table[key][i];
    return input;
  }
  const payoffs = (t) => [t.principal_payoffs, t.agent_payoffs, t.agent_payoffs_low, t.agent_payoffs_high].filter((rows) => rows.length);
  const remove = (key, i) => h("button", { type: "button", class: "quiet remove", "aria-label": `Remove ${doc.table[key][i]}`, title: `Remove ${doc.table[key][i]}`, disabled: doc.table[key].length <= 1, onclick: () => {
    const gone = doc.table[key][i];
    doc.change((t) => {
      t[key].splice(i, 1);
      for (const rows of payoffs(t)) key === "principal_actions" ? rows.splice(i, 1) : rows.forEach((row) => row.splice(i, 1));
      if (key === "principal_actions") t.limits = t.limits.filter((l) => !l.text.includes(gone));
    });
    draw(); toast(`Removed ${gone}.`, () => doc.undo());
  } }, "×");
  const add = (key) => {
    let n = doc.table[key].length + 1;
    const word = key === "principal_actions" ? "action" : "answer";
    while (doc.table[key].includes(`${word} ${n}`)) n += 1;
    doc.change((t) => {
      for (const rows of payoffs(t)) key === "principal_actions" ? rows.push(t.agent_actions.map(() => 0)) : rows.forEach((row) => row.push(0));
      t[key].push(`${word} ${n}`);
    });
    draw();
    const names = table.querySelectorAll(key === "principal_actions" ? "tbody .name" : "thead .name");
    names[names.length - 1].focus(); names[names.length - 1].select();
  };
  function draw() {
    const t = doc.table;
    replace(table, h("table", { class: `payoffs ${t.knowledge === "ranges" ? "ranges" : ""}`, vars: { "--columns": t.agent_actions.length } },
      h("caption", { class: "sr" }, "Payoffs: yours first, then the agent's"),
      h("thead", {}, h("tr", {}, h("td", { class: "rowhead" }), t.agent_actions.map((n, y) => h("th", { scope: "col" }, h("div", { class: "colhead" }, h("div", {}, h("span"), answerMark(y), remove("agent_actions", y)), title("agent_actions", y)))))),
      h("tbody", {}, t.principal_actions.map((n, x) => h("tr", {}, h("th", { scope: "row", class: "rowhead" }, h("div", {}, title("principal_actions", x), remove("principal_actions", x))), t.agent_actions.map((_, y) => cell(x, y)))))));
    limits.draw();
    replace(knows, segmented("known", { known: "Known", ranges: "As ranges", unknown: "Unknown" }, t.knowledge, (k) => { learn(k); draw(); }, "What is known of the agent's payoffs"));
  }
  function learn(knowledge) {
    const slack = spread(), round = (v) => Number(v.toPrecision(6));
    doc.change((t) => {
      const filled = t.agent_payoffs.map((row) => row.map((v) => (Number.isFinite(v) ? v : 0)));
      if (knowledge === "ranges" && !t.agent_payoffs_low.length) { t.agent_payoffs_low = filled.map((r) => r.map((v) => round(v - slack))); t.agent_payoffs_high = filled.map((r) => r.map((v) => round(v + slack))); }
      if (knowledge === "known") t.agent_payoffs = t.agent_payoffs.map((row, x) => row.map((v, y) => (Number.isFinite(v) ? v : t.agent_payoffs_low.length ? round((Number(t.agent_payoffs_low[x][y]) + Number(t.agent_payoffs_high[x][y])) / 2) : 0)));
      t.knowledge = knowledge;
    });
  }
  const knows = h("div");
  const page = h("div", { class: "see" },
    h("section", { class: "stack table-part", "aria-label": "Payoffs" },
      h("div", { class: "row" }, h("h2", {}, "Payoffs"), h("span", { class: "push row tight" }, undo, redo)), slot, table,
      h("div", { class: "row tight" }, h("button", { type: "button", onclick: () => add("principal_actions") }, "Add an action of yours"), h("button", { type: "button", onclick: () => add("agent_actions") }, "Add an answer")),
      h("div", { class: "field" }, h("span", { class: "label" }, "The agent’s payoffs are"), knows),
      h("div", { class: "field" }, h("span", { class: "label" }, "Limits on what you may commit to"), limits),
      h("div", { class: "stack tight worth" }, h("h2", {}, "What commitment is worth"), see.worth)),
    see.picture, see.readout);
  const clear = () => { for (const input of table.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid"); };
  return {
    page, draw, worth: see.tell,
    right(found) { clear(); see.update(found, { principal: doc.table.principal_actions, agent: doc.table.agent_actions }); if (see.strategy() && found.known === "known") see.onmove(null, { response: Number(table.querySelector(".best")?.dataset.y ?? found.response) }); },
    wrong(error) {
      clear();
      const place = placeOf(error);
      if (place?.row >= 0) table.querySelector(`[data-x="${place.row}"][data-y="${place.entry}"] input[data-key="${place.table}"]`)?.setAttribute("aria-invalid", "true");
    },
  };
}
