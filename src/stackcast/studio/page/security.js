// A security game: coverage as bars to drag, the attacked target and both payoffs following.
import { h, number, percent, replace, say, list, toast } from "./dom.js";
import { asCell, asText } from "./editor.js";

const mix = (c, slopes, offsets) => c.map((p, t) => offsets[t] + p * slopes[t][t]);
const columns = [["defender_covered", "You, covered"], ["defender_uncovered", "You, uncovered"], ["attacker_covered", "Attacker, covered"], ["attacker_uncovered", "Attacker, uncovered"]];

export function securityView(doc, { undo, redo, slot, hint, limits }) {
  let seen = null, cover = [], give = true, rows = [], step = 0;
  hint.textContent = "What an attack on each target is worth to you and to the attacker, with the target covered and not.";
  const statement = h("p", { class: "lead", id: "statement" }), under = h("p", { class: "soft measure" }), facts = h("dl", { class: "facts" }), bars = h("ul", { class: "bars" }), table = h("div", { class: "table-scroll" });
  const slider = h("input", { type: "range", min: 0, max: 1, value: 0, "aria-label": "Margin to keep" }), words = h("p", { class: "measure margin-words" }), also = h("p", { class: "hint reserve" });
  const names = () => doc.table.targets, total = () => Number(doc.table.resources);
  const robust = () => seen.price[Math.min(step, seen.price.length - 1)];
  let place = () => 0;

  function found() {
    const g = seen.geometry, theirs = mix(cover, g.agent_payoffs, g.agent_offsets), mine = mix(cover, g.principal_payoffs, g.principal_offsets), most = Math.max(...theirs), near = 1e-6 * (Math.max(...theirs.map(Math.abs)) || 1);
    const tied = theirs.map((u, t) => t).filter((t) => most - theirs[t] < near), at = tied.reduce((a, t) => (mine[t] > mine[a] ? t : a), tied[0]);
    const slope = g.agent_payoffs.map((row, t) => row[t]);
    const margin = Math.min(...theirs.map((u, t) => (t === at ? Infinity : (theirs[at] - u) / (Math.hypot(slope[t], slope[at]) || 1))));
    return { theirs, mine, tied, at, margin };
  }
  function show() {
    if (!seen || rows.length !== cover.length) return;
    const f = found(), used = cover.reduce((a, b) => a + b, 0), second = [...f.theirs].sort((a, b) => b - a)[1] ?? f.theirs[0];
    rows.forEach((r, i) => {
      r.row.classList.toggle("attacked", i === f.at);
      r.cover.style.setProperty("--c", cover[i]); r.cover.setAttribute("aria-valuenow", Math.round(100 * cover[i])); r.cover.setAttribute("aria-valuetext", `${percent(cover[i])}${i === f.at ? ", attacked" : ""}`);
      r.gain.style.setProperty("--g", place(f.theirs[i]));
      r.share.textContent = percent(cover[i]); r.own.textContent = number(f.theirs[i], 2); r.note.textContent = i === f.at ? "attacked" : f.tied.includes(i) ? "tied" : "";
    });
    replace(statement, "The attacker goes to ", h("strong", {}, names()[f.at]), ` and you get ${number(f.mine[f.at], 2)}.`);
    under.textContent = f.tied.length > 1 ? `${f.tied.length} targets are worth the same to the attacker: ${list(f.tied.map((t) => names()[t]))}. The one that is best for you is counted; the least error of a forecast may change it.` : `The next best target is worth ${number(f.theirs[f.at] - second, 2)} less to the attacker; a forecast may be off by ${number(f.margin)} before the attack moves there.`;
    replace(facts, h("dt", {}, "Resources placed"), h("dd", { class: "total", id: "placed" }, `${number(used, 2)} of ${total()}`), h("dt", {}, "You get"), h("dd", { id: "mine" }, number(f.mine[f.at])), h("dt", {}, "V*"), h("dd", {}, number(seen.value)), h("dt", {}, "The attacker gets"), h("dd", {}, number(f.theirs[f.at])), h("dt", {}, "Distance to the next target"), h("dd", {}, number(f.margin)));
  }
  function set(i, value, tell) {
    const others = cover.reduce((a, b, j) => (j === i ? a : a + b), 0), free = total() - others;
    let to = Math.min(1, Math.max(0, value));
    if (to > free) {
      if (give && others > 1e-9) { const kept = Math.max(0, total() - to) / others; cover = cover.map((c, j) => (j === i ? c : c * kept)); } else to = Math.min(to, Math.max(0, free));
    }
    cover[i] = to; show();
    if (tell) say(`${names()[i]} ${percent(to)}. ${statement.textContent}`);
  }
  function bar(target, i) {
    const note = h("span", { class: "small" }), share = h("span", { class: "n" }), own = h("span", { class: "n own" }), gain = h("div", { class: "gain", "aria-hidden": "true", vars: { "--z": place(0) } }, h("b"), h("i"));
    const track = h("div", { class: "cover", role: "slider", tabindex: 0, "aria-label": `Coverage of ${target}`, "aria-valuemin": 0, "aria-valuemax": 100, vars: { "--v": seen.strategy[i] } }, h("i"), h("b"), h("s"));
    let held = false;
    const follow = (e) => { const box = track.getBoundingClientRect(); set(i, (e.clientX - box.left) / box.width); };
    track.addEventListener("pointerdown", (e) => { held = true; track.setPointerCapture(e.pointerId); track.focus({ focusVisible: false }); e.preventDefault(); follow(e); });
    track.addEventListener("pointermove", (e) => held && follow(e));
    for (const end of ["pointerup", "pointercancel"]) track.addEventListener(end, () => { held = false; });
    track.addEventListener("keydown", (e) => {
      const by = { ArrowRight: 0.01, ArrowUp: 0.01, ArrowLeft: -0.01, ArrowDown: -0.01, PageUp: 0.1, PageDown: -0.1 }[e.key], to = e.key === "Home" ? 0 : e.key === "End" ? 1 : null;
      if (!by && to === null) return;
      e.preventDefault(); set(i, to ?? cover[i] + by * (e.shiftKey ? 10 : 1), true);
    });
    return { row: h("li", { class: "target" }, h("span", {}, target, h("br"), note), track, share, gain, own), cover: track, share, own, gain, note };
  }
  function showMargin() {
    const keeps = seen.price.length > 1 ? robust() : null;
    slider.disabled = robustly.disabled = !keeps;
    replace(words, keeps ? ["Forecasts may be off by ", h("strong", {}, number(keeps.margin)), ". The best coverage that allows for it earns ", h("strong", {}, number(keeps.value)), `, ${number(seen.value - keeps.value)} less than V*.`] : "No margin is drawn for a game of this size.");
    if (keeps) slider.setAttribute("aria-valuetext", `${number(keeps.margin)}, which costs ${number(seen.value - keeps.value)}`);
  }
  slider.addEventListener("input", () => { step = Number(slider.value); showMargin(); });
  const robustly = h("button", { type: "button", onclick: () => { cover = [...robust().strategy]; show(); } }, "Go to the robust one");

  const field = (key, t, label) => h("input", { type: "text", class: "number", inputmode: "decimal", value: asText(doc.table[key][t]), "aria-label": `${label}: ${names()[t]}`, "data-key": key, "data-t": t, spellcheck: "false", autocomplete: "off", oninput: (e) => doc.change((g) => { g[key][t] = asCell(e.target.value); }, `${key} ${t}`), onblur: () => doc.rest() });
  function draw() {
    const g = doc.table, name = (n, t) => {
      const input = h("input", { type: "text", class: "name", value: n, "aria-label": "Name of a target", spellcheck: "false", onchange: (e) => { doc.change((w) => { w.targets[t] = e.target.value; }); draw(); } });
      return h("th", { scope: "row", class: "rowhead" }, h("div", {}, input, h("button", { type: "button", class: "quiet remove", disabled: g.targets.length <= 1, "aria-label": `Remove ${n}`, title: `Remove ${n}`, onclick: () => {
        doc.change((w) => { for (const key of ["targets", ...columns.map(([k]) => k)]) w[key].splice(t, 1); w.resources = Math.min(Number(w.resources) || 1, w.targets.length); w.limits = w.limits.filter((l) => !l.text.includes(n)); });
        draw(); toast(`Removed ${n}.`, () => doc.undo());
      } }, "×")));
    };
    replace(table, h("table", { class: "payoffs targets" }, h("caption", { class: "sr" }, "Payoffs of an attack on each target"),
      h("thead", {}, h("tr", {}, h("th", { class: "rowhead", scope: "col" }, "Target"), columns.map(([, label]) => h("th", { scope: "col", class: "n small" }, label)))),
      h("tbody", {}, g.targets.map((n, t) => h("tr", {}, name(n, t), columns.map(([key, label]) => h("td", {}, field(key, t, label))))))));
    resources.value = asText(g.resources);
    limits.draw();
  }
  const resources = h("input", { type: "text", class: "number", size: 4, "aria-label": "Resources", oninput: (e) => doc.change((g) => { g.resources = asCell(e.target.value); }, "resources"), onblur: () => doc.rest() });
  const add = () => {
    let n = names().length + 1;
    while (names().includes(`target ${n}`)) n += 1;
    doc.change((g) => { g.targets.push(`target ${n}`); g.defender_covered.push(0); g.defender_uncovered.push(-1); g.attacker_covered.push(-1); g.attacker_uncovered.push(1); });
    draw();
    const all = table.querySelectorAll(".name");
    all[all.length - 1].focus(); all[all.length - 1].select();
  };
  const page = h("div", { class: "campaign security" },
    h("section", { class: "stack", "aria-label": "Coverage" }, h("div", { class: "stack tight said-room" }, statement, under),
      h("div", {}, h("div", { class: "target headrow small soft", "aria-hidden": "true" }, h("span", {}, "Target"), h("span", {}, "Coverage; the tick is V*"), h("span", { class: "n" }), h("span", {}, "Worth to the attacker"), h("span")), bars),
      h("p", { class: "hint" }, "Drag a bar, or press the arrow keys: 1% a step, with Shift 10%.")),
    h("section", { class: "stack", "aria-label": "What follows" }, h("h2", {}, "What follows"), facts,
      h("label", { class: "row tight" }, h("input", { type: "checkbox", checked: true, onchange: (e) => { give = e.target.checked; } }), "The others give way when resources run out"),
      h("div", { class: "row tight" }, h("button", { type: "button", onclick: () => { cover = [...seen.strategy]; show(); } }, "Go to V*"), robustly, h("button", { type: "button", onclick: () => { cover = cover.map(() => total() / cover.length); show(); } }, "Spread evenly")),
      h("h2", {}, "Keep a margin"), words, slider, also),
    h("section", { class: "full stack table-part" }, h("div", { class: "row" }, h("h2", {}, "Payoffs"), h("span", { class: "push row tight" }, undo, redo)), slot, table,
      h("div", { class: "row" }, h("button", { type: "button", onclick: add }, "Add a target"), h("label", { class: "row tight" }, "Resources", resources)),
      h("div", { class: "field" }, h("span", { class: "label" }, "Limits on coverage"), limits)));
  const clear = () => { for (const input of [...table.querySelectorAll("[aria-invalid]"), resources]) input.removeAttribute("aria-invalid"); };
  return {
    page, draw,
    worth(found) { also.textContent = !found ? "Sensitivity is being worked out." : found.payoff_error === null ? "" : `If every payoff of the attacker may be off by ${number(found.payoff_error)}, V* may be up to ${number(found.highest)}, and ${found.guaranteed === null ? "nothing is certain" : `${number(found.guaranteed)} is certain`}. Against anybody you can secure ${number(found.maximin)}.`; },
    right(next) {
      clear();
      const same = seen && cover.length === names().length;
      seen = next;
      if (!same) cover = [...seen.strategy];
      const used = cover.reduce((a, b) => a + b, 0);
      if (used > total()) cover = cover.map((c) => (c * total()) / used);
      const g = seen.geometry, ends = g.agent_offsets.flatMap((o, t) => [o, o + g.agent_payoffs[t][t]]), low = Math.min(...ends), high = Math.max(...ends);
      place = (v) => (v - low) / (high - low || 1);
      const focused = document.activeElement?.getAttribute?.("aria-label");
      rows = names().map(bar); replace(bars, rows.map((r) => r.row));
      if (focused?.startsWith("Coverage of")) rows.find((r) => r.cover.getAttribute("aria-label") === focused)?.cover.focus();
      slider.max = Math.max(1, seen.price.length - 1); step = Math.min(step || 6, Math.max(0, seen.price.length - 1)); slider.value = step;
      showMargin(); show();
    },
    wrong(error) {
      clear();
      const found = /^(\w+)(?:, entry (\d+))?(?:, target '(.*)')?/.exec(error.field ?? ""), t = found?.[2] ? Number(found[2]) - 1 : names().indexOf(found?.[3]);
      if (found?.[1] === "resources") resources.setAttribute("aria-invalid", "true");
      if (t >= 0) table.querySelector(`[data-key="${found[1]}"][data-t="${t}"]`)?.setAttribute("aria-invalid", "true");
    },
  };
}
