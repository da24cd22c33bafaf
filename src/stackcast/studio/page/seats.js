// The two seats that a person can take: commit against an agent, or answer a principal who learns.
import { h, s, replace, responsive, answer, answerMark, ownMark, own, number, whole, mixture, percent, say, list } from "./dom.js";
import { api, at } from "./api.js";
import { chart, atPlaces } from "./chart.js";
import { Regions } from "./geometry.js";
import { Draggable, Frame, ground, starPath } from "./triangle.js";
import { lineView } from "./line.js";

export const seatView = (seat) => (seat.mode === "principal" ? principalSeat(seat) : agentSeat(seat));
const namesOf = (table) => (table.kind === "security" ? { principal: table.targets, agent: table.targets } : { principal: table.principal_actions, agent: table.agent_actions });
const head = (seat, words, right) => h("div", { class: "head" }, h("p", { class: "crumb" }, h("a", { href: "#/play" }, "Play")), h("div", { class: "row" }, h("h1", {}, seat.name), h("span", { class: "soft" }, words), h("span", { class: "push row tight" }, right)));

function principalSeat(seat) {
  const names = namesOf(seat.table), drawn = seat.table.kind === "finite" && names.principal.length <= 3 && names.principal.length > 1;
  let learner = [], strategy = seat.steps.at(-1)?.strategy ?? (seat.table.kind === "security" ? names.principal.map(() => Number(seat.table.resources) / names.principal.length) : names.principal.map(() => 1 / names.principal.length));
  const statement = h("p", { class: "lead", id: "score" }), trouble = h("div", { class: "slot", "aria-live": "polite" }), strip = h("div", { class: "row tight strip", role: "img" }), history = h("ol", { class: "log", tabindex: 0, "aria-label": "What happened, newest first" });
  const next = h("p", { class: "soft reserve" }), count = h("input", { type: "text", class: "number", inputmode: "numeric", value: 50, size: 5, "aria-label": "Rounds" }), commitButton = h("button", { type: "button", class: "primary", onclick: () => commit() }, "Commit for"), keepButton = h("button", { type: "button", onclick: () => finish() }, "Stop and keep");
  const score = chart({ label: "Your score", height: 230, lines: [{ name: "V*", colour: "--ink", dash: [5, 4] }, { name: "at most", colour: "--limit", dash: [8, 3, 2, 3], text: "limit" }, { name: "learner", colour: "--line-strong", dash: [1.5, 3], text: "soft" }, { name: "you", colour: "--ink", width: 2, text: "strong" }],
    range: (low, high) => { const top = Math.max(high, seat.value), bottom = Math.min(low, seat.value), pad = (top - bottom) * 0.08 || 0.1; return [bottom >= 0 ? 0 : bottom - pad, top + pad]; } });
  let tool = null;
  const inputs = names.principal.map((n, x) => h("input", { type: "text", class: "number", inputmode: "decimal", size: 5, value: (100 * strategy[x]).toFixed(1), "aria-label": `Share of ${n} in per cent`, onchange: read }));
  function read() { strategy = inputs.map((input) => { const value = Number(input.value.replace(",", ".")); return Number.isFinite(value) && input.value.trim() ? value / 100 : input.value; }); if (tool && strategy.every(Number.isFinite)) { const sum = strategy.reduce((a, b) => a + b, 0); if (Math.abs(sum - 1) < 1e-3) tool.move(strategy, false); } words(); }
  if (drawn) {
    const make = { regions: new Regions(seat.see), names, strategy, moved: (h_) => { strategy = h_; inputs.forEach((input, x) => { input.value = (100 * h_[x]).toFixed(1); }); words(); }, marks: (frame) => seat.forecasts.slice(-60).map((f) => { const [x, y] = frame.xy(f); return s("circle", { cx: x, cy: y, r: 2.5, class: "forecast", opacity: 0.75 }); }) };
    tool = names.principal.length === 2 ? lineView(make) : new Draggable(make);
    tool.box.classList.add("stage");
  }
  const words = () => { next.textContent = strategy.every(Number.isFinite) ? `Next: ${mixture(strategy, names.principal)}.` : ""; };
  function show() {
    const n = seat.rounds, mine = seat.earned.at(-1)?.[1], there = learner.length && n ? atPlaces(learner, [Math.min(n, learner.at(-1)[0])])[0] : null;
    replace(statement, n ? `You have earned ${number(mine)} a round in ${whole(n)} rounds. ${there === null ? "" : `The learner had ${number(there)} by then; `}${there === null ? "V*" : "V*"} is ${number(seat.value)}.${seat.most === null ? "" : ` Against these forecasts nobody can have earned more than ${number(seat.most)}.`}` : "Choose a mixture and commit. The other side does not see it, only what you did before.");
    const rounds = Math.max(200, n), xs = [...new Set([...seat.earned.map((e) => e[0]), ...learner.map((e) => e[0]).filter((x) => x <= rounds), rounds])].sort((a, b) => a - b);
    score.draw(rounds, xs, [xs.map(() => seat.value), xs.map((x) => (n && x <= n ? seat.most : null)), atPlaces(learner, xs), atPlaces(seat.earned, xs)]);
    strip.setAttribute("aria-label", `The last answers: ${seat.recent.map((y) => names.agent[y]).join(", ")}`);
    replace(strip, seat.recent.map((y) => answerMark(y)));
    replace(history, [...seat.steps].reverse().map((b) => h("li", {}, h("span", { class: "when" }, `${whole(b.rounds)} rounds`), h("span", {}, `${mixture(b.strategy, names.principal)}: `, list(b.answers.map((v, y) => (v ? `${names.agent[y]} ${v}` : null)).filter(Boolean)), `. Earned ${number(b.earned)}.`))));
    words(); commitButton.disabled = keepButton.disabled = seat.kept;
    if (seat.kept) replace(over, h("a", { class: "button", href: `#/reports/${at(seat.name)}/report.html` }, "Open its report"));
    if (tool?.frame) tool.move(tool.strategy, false);
  }
  async function move(what) {
    try { seat = await api.post(`plays/${at(seat.name)}/move`, what); replace(trouble); show(); return true; } catch (error) { replace(trouble, h("p", { class: "notice bad", role: "alert" }, error.message)); return false; }
  }
  async function commit() {
    commitButton.disabled = true;
    const rounds = Number(count.value), done = await move({ do: "commit", strategy, rounds: Number.isFinite(rounds) && count.value.trim() ? rounds : count.value, seen: seat.rounds });
    commitButton.disabled = seat.kept;
    if (done) say(`${seat.steps.at(-1).answers.map((v, y) => `${names.agent[y]} ${v}`).join(", ")}. You have earned ${number(seat.earned.at(-1)[1])} a round.`, 0);
  }
  const finish = () => move({ do: "keep" });
  const over = h("span"), hide = h("label", {}, h("input", { type: "checkbox", onchange: (e) => tool.box.classList.toggle("blind", e.target.checked) }), " Hide them");
  api.get(`plays/${at(seat.name)}/reference`).then((found) => { learner = found; show(); }, () => {});
  const nodes = [head(seat, `you commit against ${seat.kept ? "the agent, kept" : "the agent"}`, [over, keepButton]),
    h("div", { class: "stack tight watch-said" }, statement), h("div", { class: "watch" },
      h("section", { class: "stack" }, h("h2", {}, "Your commitment"), tool?.box ?? null, h("div", { class: "mix" }, names.principal.map((n, x) => [h("span", {}, own(x, n)), h("span", { class: "amount" }, inputs[x], "%")])), next, h("form", { class: "row tight", onsubmit: (e) => { e.preventDefault(); commit(); } }, commitButton, count, "rounds"), trouble,
        drawn ? h("p", { class: "hint" }, "Small dots: the agent’s forecasts of you. The regions are shown because this is practice; in a campaign you would not know them. ", hide) : null),
      h("section", { class: "stack" }, h("h2", {}, "Your score"), score.box, h("h2", {}, "The last 40 answers"), strip, h("div", { class: "legend" }, names.agent.map((n, y) => answer(y, n)))),
      h("section", { class: "stack tight log-part" }, h("h2", {}, "What happened"), history))];
  commitButton.type = "submit"; commitButton.onclick = null;
  nodes.shown = show; nodes.stop = () => score.stop();
  return nodes;
}

function agentSeat(seat) {
  const names = namesOf(seat.table), k = names.agent.length;
  const statement = h("p", { class: "lead", id: "score" }), strip = h("ol", { class: "row tight strip", "aria-label": "Visits so far" }), choices = h("div", { class: "answers" }), guess = h("dl", { class: "facts" }), trouble = h("div", { class: "slot", "aria-live": "polite" }), learned = h("div", { class: "stack" }), busy = h("progress", { "aria-label": "The principal decides", hidden: true });
  let times = 1, waiting = false;
  const buttons = names.agent.map((n, y) => { const soft = h("span", { class: "soft small" }); return { soft, node: h("button", { type: "button", class: "answer", onclick: () => reply(y) }, answerMark(y), h("span", {}, h("strong", {}, n), soft), y < 9 ? h("kbd", { class: "soft small" }, y + 1) : h("span")) }; });
  replace(choices, buttons.map((b) => b.node));
  function show() {
    const n = seat.rounds, last = seat.visits.at(-1), recent = seat.visits.slice(-20), over = seat.kept || seat.left === 0;
    replace(statement, last ? `It was ${names.principal[last.action]}; your answer ${names.agent[last.response]} earned you ${number(last.earned, 2)}. ` : "Nobody has been here yet. ", over ? (seat.kept ? "This play is over." : "All visits are answered: stop and compare.") : "The next visit is drawn from a mixture that you do not see. What do you do?");
    replace(strip, seat.visits.map((v) => h("li", { title: `${names.principal[v.action]}, answered ${names.agent[v.response]}` }, ownMark(v.action), h("span", { class: "sr" }, names.principal[v.action]))));
    replace(guess, names.principal.map((name, x) => [h("dt", {}, own(x, name)), h("dd", {}, recent.length ? percent(recent.filter((v) => v.action === x).length / recent.length) : "–")]));
    buttons.forEach((b, y) => { b.soft.textContent = recent.length ? `would have earned ${number(seat.worth[y])} on the last ${recent.length} visits` : ""; b.node.disabled = over || waiting; });
    stopButton.disabled = seat.kept || !n;
    const earned = seat.visits.length ? seat.visits.reduce((u, v) => u + v.earned, 0) / seat.visits.length : null;
    if (!seat.kept) replace(learned, h("p", { class: "measure" }, `The principal has seen ${whole(n)} answers; ${whole(seat.left)} visits are left. ${earned === null ? "" : `You earned ${number(earned)} a visit in the last ${seat.visits.length}. `}You will be shown what it made of your answers when you stop.`));
    else compare();
  }
  /** What the learner believes beside the truth: the strategies it asked, coloured by the answers. */
  function compare() {
    const regions = seat.see?.geometry && names.principal.length === 3 && seat.table.kind === "finite" ? new Regions(seat.see) : null;
    const believed = seat.believed_response === null ? "" : `, where it expects you to answer ${names.agent[seat.believed_response]}`;
    replace(learned, h("p", { class: "measure" }, `It would now commit to ${mixture(seat.believed, names.principal)}${believed}. With your payoffs known, it could earn V* ${number(seat.value)}.`),
      regions ? h("figure", {}, responsive((width) => {
        const frame = new Frame(width), star = frame.xy(seat.see.strategy), [x, y] = frame.xy(seat.believed), parts = ground(frame, regions, names, { taken: [star] });
        for (const st of seat.steps) { const [u, v] = frame.xy(st.strategy), most = st.answers.indexOf(Math.max(...st.answers)); parts.push(s("circle", { cx: u, cy: v, r: 5, class: `s${most % 7}`, stroke: "var(--ink)", "stroke-width": 1 })); }
        return s("svg", { width, height: frame.height, viewBox: `0 0 ${width} ${frame.height}`, role: "img", "aria-label": "What was asked, and your regions" }, parts, s("path", { d: starPath(...star, 10), class: "star" }), s("path", { d: "M0 -10L10 0L0 10L-10 0Z", class: "robust", "stroke-width": 2.5, transform: `translate(${x} ${y})` }));
      }, { class: "triangle" }), h("figcaption", {}, "Areas: your true answers. Dots: what it asked, in the colour of your usual answer. Diamond: what it would commit to. Star: V*.")) : null,
      h("div", {}, h("a", { class: "button", href: `#/reports/${at(seat.name)}/report.html` }, "Open its report")));
  }
  async function reply(y) {
    if (waiting || seat.kept || seat.left === 0) return;
    waiting = true;
    const slow = setTimeout(() => { busy.hidden = false; }, 400), focused = document.activeElement;
    try {
      seat = await api.post(`plays/${at(seat.name)}/move`, { do: "answer", response: y, rounds: times, seen: seat.rounds });
      replace(trouble);
      const last = seat.visits.at(-1);
      say(`It was ${names.principal[last.action]}. You earned ${number(last.earned, 2)}.`, 0);
    } catch (error) { replace(trouble, h("p", { class: "notice bad", role: "alert" }, error.message)); }
    clearTimeout(slow); busy.hidden = true; waiting = false;
    show();
    if (choices.contains(focused)) focused.focus();
  }
  const stopButton = h("button", { type: "button", onclick: async () => {
    busy.hidden = false;
    try { seat = await api.post(`plays/${at(seat.name)}/move`, { do: "keep" }); } catch (error) { replace(trouble, h("p", { class: "notice bad", role: "alert" }, error.message)); }
    busy.hidden = true; show();
  } }, "Stop and compare");
  const keys = (e) => { const y = Number(e.key) - 1; if (y >= 0 && y < k && !e.ctrlKey && !e.metaKey && !e.altKey && !/^(text|number|search|select-one|radio)$/.test(document.activeElement.type ?? "")) reply(y); };
  addEventListener("keydown", keys);
  const often = h("select", { "aria-label": "How often", onchange: (e) => { times = Number(e.target.value); } }, [1, 5, 10, 20].map((n) => h("option", { value: n }, n === 1 ? "the next visit" : `the next ${n} visits`)));
  const nodes = [head(seat, "you answer a principal who learns", stopButton),
    h("div", { class: "stack tight watch-said" }, busy, statement), h("div", { class: "watch" },
      h("section", { class: "stack" }, h("h2", {}, "Your answer"), choices, h("div", { class: "row tight" }, "for", often), h("p", { class: "hint" }, `Or press ${k > 1 ? `1 to ${Math.min(9, k)}` : "1"}.`), trouble),
      h("section", { class: "stack" }, h("h2", {}, "The last 40 visits"), strip, h("div", { class: "legend" }, names.principal.map((n, x) => own(x, n))), h("h2", {}, "Shares in the last 20"), guess),
      h("section", { class: "stack tight log-part" }, h("h2", {}, "What the learner knows of you"), learned))];
  nodes.shown = show; nodes.stop = () => removeEventListener("keydown", keys);
  return nodes;
}
