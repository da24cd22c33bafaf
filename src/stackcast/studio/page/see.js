// What a commitment leads to: the picture with its point, the numbers that follow it, the margin.
import { h, s, answer, number, percent, mixture, replace, responsive } from "./dom.js";
import { Regions } from "./geometry.js";
import { Draggable, starPath } from "./triangle.js";
import { marginPrice, ruler } from "./charts.js";
import { lineView } from "./line.js";

const middle = (polygon) => polygon[0].map((_, i) => polygon.reduce((u, p) => u + p[i], 0) / polygon.length);

export function seeView() {
  let seen = null, names = { principal: [], agent: [] }, story = {}, regions = null, tool = null, inputs = [], chosen = null, whole = null, step = 0;
  const statement = h("p", { class: "lead", id: "statement" }), under = h("p", { class: "small soft measure" });
  const facts = h("dl", { class: "facts" }), mix = h("div", { class: "mix" });
  const slider = h("input", { type: "range", min: 0, max: 60, value: 0, "aria-label": "Margin to keep" });
  const marginWords = h("p", { class: "measure margin-words" }), ceiling = h("p", { class: "hint" });
  const price = responsive((w) => (seen?.price.length > 1 ? marginPrice(w, seen.price.map((p) => [p.margin, p.value]), robust().margin, robust().value, seen.price[0].value) : h("div")));
  const worth = responsive((w) => {
    const marks = [{ name: "against anybody", value: story.maximin }, { name: "best Nash equilibrium", value: story.nash }, { name: bestName(), value: seen?.value }].filter((m) => Number.isFinite(m.value));
    return marks.length ? ruler(w, marks, tool?.now ?? marks.at(-1).value) : h("div");
  }, { class: "ruler" });
  const goBest = h("button", { type: "button", onclick: () => go(seen.strategy) }, "Go to V*"), goRobust = h("button", { type: "button", onclick: () => go(robust().strategy) }, "Go to the robust one");
  const notice = h("div", { hidden: true }), choice = h("div", { class: "row tight", hidden: true }), keys = h("p", { class: "hint" }), stage = h("div", { class: "stage" });
  const also = h("p", { class: "hint reserve also" });
  const robust = () => seen.price[Math.min(step, seen.price.length - 1)] ?? { margin: 0, value: seen.value, strategy: seen.strategy, response: seen.response };
  const bestName = () => (seen?.known === "ranges" ? "best safe commitment" : "V*, by commitment"), bestShort = () => (seen.known === "ranges" ? "the best safe one" : "V*");
  const part = (h_) => regions.part(h_);
  const visible = (h_) => Math.abs(part(h_).reduce((a, b) => a + b, 0) - 1) < 1e-6;
  const marks = (frame) => {
    if (!seen.strategy) return [];
    const keeps = robust(), parts = [], inner = keeps.response === null ? [] : regions.inner(keeps.response, keeps.margin).map((p) => frame.xy(p));
    if (keeps.margin > 0.002 && inner.length > 2) parts.push(s("path", { d: `M${inner.map((p) => p.join(" ")).join("L")}Z`, class: "inner" }));
    if (visible(seen.strategy)) parts.push(s("path", { d: starPath(...frame.xy(part(seen.strategy)), 10), class: "star" }));
    if (keeps.margin > 0.002 && visible(keeps.strategy)) { const [u, v] = frame.xy(part(keeps.strategy)); parts.push(s("circle", { cx: u, cy: v, r: 5, class: "robust" })); }
    return parts;
  };
  /** The three actions with the largest shares, in the game's order. */
  const largest = (h_) => h_.map((p, x) => [p, x]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 3).map(([, x]) => x).sort((a, b) => a - b);

  function makeTool() {
    const at = { principal: regions.chosen.map((x) => names.principal[x]), agent: names.agent };
    const make = { regions, names: at, strategy: part(whole), marks, moved: show };
    tool = regions.chosen.length === 1 ? null : regions.chosen.length === 2 ? lineView(make) : new Draggable(make);
    if (!tool) { replace(stage, h("p", { class: "soft" }, "With one action there is nothing to choose.")); show(whole, regions.at(whole)); return; }
    tool.magnets = () => [seen.strategy, robust().strategy].filter((p) => p && visible(p)).map(part);
    replace(stage, tool.box);
    replace(keys, regions.chosen.length === 2 ? "Drag the diamond, or press ← and →: 0.01 a step, with Shift 0.1. Home is V*, End the robust one." : "Drag the diamond, or press the arrow keys: 0.01 a step, with Shift 0.1, with Alt 0.001. Home is V*, End the robust one. It snaps to both unless Alt is held.");
  }
  /** Show another slice: the actions that are not chosen are held where they are. */
  function slice() {
    const most = seen.geometry.principal_payoffs.length;
    if (most > 3 && !chosen) chosen = largest(seen.strategy ? whole.map((p, x) => p + 0.1 * (robust().strategy?.[x] ?? 0)) : whole);
    regions = new Regions(seen, most > 3 ? chosen : null, whole);
    choice.hidden = most <= 3;
    if (most > 3) replace(choice, "See", chosen.map((c, i) => h("select", { "aria-label": `Corner ${i + 1}`, onchange: (e) => {
      const to = e.target.selectedIndex, twin = chosen.indexOf(to);
      if (twin >= 0) chosen[twin] = chosen[i];
      chosen[i] = to; slice();
    } }, names.principal.map((n, x) => h("option", { selected: x === c }, n)))), h("span", { class: "soft" }, held()));
    makeTool(); drawMix();
    if (tool) { tool.draw(); show(whole, tool.move(part(whole), false)); }
  }
  const held = () => {
    const kept = regions.held.map((p, x) => [p, x]).filter(([p]) => p > 1e-6).map(([p, x]) => `${names.principal[x]} at ${percent(p)}`);
    return kept.length ? `the rest held: ${kept.join(", ")}.` : "the rest held at 0.";
  };
  function go(to) {
    if (!to) return;
    whole = [...to];
    if (!visible(whole)) { chosen = largest(whole); slice(); } else tool.move(part(whole));
  }

  function show(strategy, found) {
    whole = strategy;
    const name = (y) => names.agent[y], tied = found.tied.length > 1, unsure = found.possible.length > 1, mine = unsure ? found.worst : found.mine;
    if (tool) tool.now = mine;
    if (unsure) replace(statement, "Commit to ", mixture(strategy, names.principal, 0), `: the answer is not certain, ${found.possible.map(name).join(" or ")}. You earn at least ${number(found.worst)}.`);
    else replace(statement, "Commit to ", mixture(strategy, names.principal, 0) || "–", ": the agent answers ", h("strong", { class: "nowrap" }, answer(found.response, name(found.response))), ` and you earn ${number(found.mine)}.`);
    const nearest = found.distances.filter((d) => !d.never).sort((a, b) => a.distance - b.distance)[0];
    under.textContent = unsure ? "The ranges leave it open. Hatched: mixtures whose answer is not certain." : tied ? `A tie: ${found.tied.filter((y) => y !== found.response).map(name).join(" or ")} would pay the agent as much, so the least error of a forecast may change the answer.`
      : nearest ? `A forecast may be off by ${number(found.margin)} before the answer turns to ${name(nearest.j)}.` : "Nothing else is ever a best answer.";
    replace(facts,
      h("dt", {}, unsure ? "You earn at least" : "You earn"), h("dd", { class: "total", id: "mine" }, number(mine)), seen.value === null ? [] : [h("dt", {}, `less than ${bestShort()} by`), h("dd", {}, number(seen.value - mine))],
      h("dt", {}, "The agent earns"), h("dd", {}, seen.known === "ranges" ? "–" : number(found.theirs)),
      found.distances.map((d) => [h("dt", {}, "Distance to ", answer(d.j, name(d.j))), h("dd", {}, d.never ? "never best" : number(Math.max(0, d.distance)))]));
    for (const [x, input] of inputs.entries()) if (document.activeElement !== input) input.value = (100 * strategy[x]).toFixed(1);
    worth.redraw(); api.onmove?.(strategy, found);
  }
  function drawMix() {
    inputs = names.principal.map((n, x) => h("input", { type: "number", min: 0, max: 100, step: 1, value: (100 * whole[x]).toFixed(1), "aria-label": `Share of ${n} in per cent`, onchange: (e) => {
      const p = Math.min(1, Math.max(0, Number(e.target.value) / 100)), rest = 1 - whole[x];
      const to = whole.map((v, i) => (i === x ? p : rest > 1e-9 ? (v / rest) * (1 - p) : (1 - p) / (whole.length - 1)));
      whole = to;
      if (names.principal.length > 3) slice(); else tool?.move(to);
    } }));
    replace(mix, names.principal.map((n, x) => [h("span", {}, n), h("span", { class: "amount" }, inputs[x], "%")]));
  }
  function showMargin() {
    const keeps = robust();
    if (!keeps.strategy || seen.price.length < 2) { replace(marginWords, seen.note || "No margin can be kept here."); slider.disabled = goRobust.disabled = true; price.redraw(); return; }
    slider.disabled = goRobust.disabled = false;
    replace(marginWords, "Forecasts may be off by ", h("strong", {}, number(keeps.margin)), ". The best commitment that allows for it earns ", h("strong", {}, number(keeps.value)), `, ${number(seen.value - keeps.value)} less than ${bestShort()}: ${mixture(keeps.strategy, names.principal, 1)}.`);
    slider.setAttribute("aria-valuetext", `${number(keeps.margin)}, which costs ${number(seen.value - keeps.value)}`);
    price.redraw(); if (tool?.frame) tool.move(tool.strategy, false);
  }
  slider.addEventListener("input", () => { step = Number(slider.value); showMargin(); });

  const picture = h("section", { class: "picture stack", "aria-label": "What a commitment leads to" }, h("div", { class: "stack tight said-room" }, statement, under), choice, stage, notice, h("div", { class: "row tight" }, goBest, goRobust), keys);
  const readout = h("section", { class: "readout", "aria-label": "The commitment in numbers" },
    h("div", { class: "stack" }, h("div", { class: "stack tight" }, h("h2", {}, "The commitment"), mix), facts),
    h("div", { class: "stack" }, h("h2", {}, "Keep a margin"), marginWords, slider, price, ceiling));
  const api = {
    picture, readout, worth: h("div", {}, worth, also),
    strategy: () => whole,
    /** A game was read or edited: its geometry, V* and margins have come from the server. */
    update(next, titles) {
      const known = next.known === "unknown" ? null : next;
      for (const node of [statement, under, facts, marginWords, slider, price, goBest, goRobust, keys]) node.classList.toggle("off", !known);
      stage.hidden = choice.hidden = !known; notice.hidden = Boolean(known);
      stage.classList.remove("waiting");
      if (!known) { replace(notice, h("div", { class: "notice" }, "Without the agent’s payoffs there are no regions to show. Start a campaign to learn them from its answers, or enter ranges.")); tool = null; return; }
      const same = seen && names.principal.length === titles.principal.length && whole?.length === titles.principal.length && tool && seen.known === known.known;
      seen = known; names = titles;
      if (!same) { chosen = null; whole = start(); step = Math.min(3, Math.max(0, seen.price.length - 1)); }
      slider.max = Math.max(1, seen.price.length - 1); step = Math.min(step, seen.price.length - 1); slider.value = step;
      goBest.disabled = !seen.strategy;
      goBest.textContent = seen.known === "ranges" ? "Go to the best safe one" : "Go to V*";
      slice(); showMargin();
      ceiling.textContent = seen.widest === null || !seen.strategy ? "" : `No commitment answered by ${names.agent[seen.response]} keeps a margin above ${number(seen.widest)}.`;
    },
    tell(found) {
      story = found ?? {};
      also.textContent = !found ? "Maximin, Nash and sensitivity are being worked out." : Number.isFinite(found.payoff_error) ? `If every payoff of the agent may be off by ${number(found.payoff_error)}, V* may be up to ${number(found.highest)}, and ${found.guaranteed === null ? "nothing is certain" : `${number(found.guaranteed)} is certain`}.` : "";
      worth.redraw();
    },
    wait() { stage.classList.add("waiting"); },
  };
  /** Somewhere inside the best region, so that the diamond does not hide the star. */
  function start() {
    const m = seen.geometry.principal_payoffs.length;
    if (!seen.strategy) return new Array(m).fill(1 / m);
    const keeps = seen.price[Math.floor(seen.price.length * 0.25)];
    if (m > 3 || !keeps) return [...seen.strategy];
    const area = new Regions(seen).inner(keeps.response, keeps.margin);
    return area.length ? middle([...area, seen.strategy, seen.strategy, seen.strategy]) : [...seen.strategy];
  }
  return api;
}
