// A play as it runs, or as it was kept: where it commits, what it earns, answers, errors, the log.
import { h, s, svg, replace, responsive, segmented, mixture, number, whole, answer, list, toast } from "./dom.js";
import { api, at } from "./api.js";
import { answerStrip } from "./charts.js";
import { atPlaces, chart } from "./chart.js";
import { Regions } from "./geometry.js";
import { Frame, ground, starPath } from "./triangle.js";

const verbs = { explore: "Tried", certify: "Tested the surroundings:", commit: "Committed to", recheck: "Asked again:" };
const speeds = { 100: "100", 500: "500", 2500: "2,500", all: "All it can" };
const verb = (phase) => Object.entries(verbs).find(([start]) => phase.startsWith(start))?.[1] ?? (phase ? `${phase[0].toUpperCase()}${phase.slice(1)}:` : "Played");

export function watchView(found) {
  const { info, table, value } = found, names = { principal: table?.principal_actions.length ? table.principal_actions : table?.targets ?? [], agent: table?.agent_actions.length ? table.agent_actions : table?.targets ?? [] };
  const drawn = found.see?.geometry && names.principal.length === 3 && table.kind === "finite", regions = drawn ? new Regions(found.see) : null;
  const run = { state: info.state, round: 0, rounds: info.rounds, stretches: [], steps: [], forecasts: [], reference: [], words: found.words, sentence: "" };
  let shown = 0, follow = true, speed = "500", source = null, clock = null, drawnAt = 0, past = 0;
  const statement = h("p", { class: "lead" }), counter = h("span", { class: "nowrap counter" }), log = h("ol", { class: "log", tabindex: 0, "aria-label": "What happened, newest first" }), trouble = h("div", { "aria-live": "polite" }), waiting = h("progress", { "aria-label": "Working", hidden: true });
  const scrub = h("input", { type: "range", min: 0, max: info.rounds, value: 0, "aria-label": "Round", oninput: () => { follow = Number(scrub.value) >= run.round; shown = Math.min(Number(scrub.value), run.round); draw(); } });
  const runs = h("button", { type: "button", class: "primary transport-main", onclick: () => move(run.state === "running" ? "pause" : "go") });
  const step = h("button", { type: "button", onclick: () => move("step") }, "Step"), keepIt = h("button", { type: "button", onclick: () => move("stop") }, "Stop and keep");
  const report = h("div", { class: "row tight" });

  const mixed = (h_) => (names.principal.length ? mixture(h_, names.principal) : `(${h_.map((v) => number(v)).join(", ")})`);
  function entry(st) {
    const last = Math.min(shown, st.first + st.rounds - 1), order = st.answers.map((n, y) => [n, y]).sort((a, b) => b[0] - a[0]);
    const rest = order.slice(1, 4).filter(([n]) => n > 0).map(([n, y]) => `${names.agent[y]} ${whole(n)}`);
    return h("li", {}, h("span", { class: "when" }, `${whole(st.first)}–${whole(last)}`),
      h("span", {}, `${verb(st.phase)} ${mixed(st.strategy)}. `, order.length ? [answer(order[0][1], names.agent[order[0][1]]), ` ${whole(order[0][0])} times of ${whole(st.rounds)}`, rest.length ? `, ${list(rest)}. ` : ". "] : "", h("span", { class: "soft nowrap" }, `Earned ${number(st.earned)}.`)));
  }
  const upto = () => run.steps.filter((st) => st.first <= Math.max(1, shown));
  const picture = responsive((width) => {
    const done = upto();
    if (!drawn) return bars(width, done);
    const frame = new Frame(width), tried = done.map((st) => frame.xy(st.strategy)), star = found.see.strategy && frame.xy(found.see.strategy), now = tried.at(-1), parts = ground(frame, regions, names, { taken: star ? [star, ...tried.filter((_, i) => i % Math.ceil(tried.length / 60) === 0)] : [] });
    if (tried.length > 1) parts.push(s("path", { d: `M${tried.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L")}`, class: "trail" }));
    for (const f of run.forecasts) { const [x, y] = frame.xy(f); parts.push(s("circle", { cx: x, cy: y, r: 2, class: "forecast", opacity: 0.7 })); }
    tried.slice(0, -1).slice(-150).forEach(([x, y], i, all) => parts.push(s("circle", { cx: x, cy: y, r: 4.5, fill: `color-mix(in srgb, var(--ink) ${Math.round((85 * i) / Math.max(1, all.length - 1))}%, var(--paper))`, stroke: "var(--ink)" })));
    if (star) parts.push(s("path", { d: starPath(...star, 10), class: "star" }));
    if (now) parts.push(s("path", { d: "M0 -10L10 0L0 10L-10 0Z", class: "robust", "stroke-width": 2.5, transform: `translate(${now[0]} ${now[1]})` }));
    return svg(width, frame.height, `Strategies tried up to round ${whole(shown)}`, parts);
  }, { class: "triangle" });
  /** More or fewer actions than a triangle holds: the shares as bars, V* as ticks. */
  function bars(width, done) {
    const now = done.at(-1)?.strategy ?? found.see?.strategy ?? [], labels = names.principal.length ? names.principal : now.map((_, i) => `coordinate ${i + 1}`), row = 26, left = Math.min(170, width * 0.4), low = names.principal.length ? 0 : Math.min(-1, ...now), high = names.principal.length ? 1 : Math.max(1, ...now), x = (v) => left + ((v - low) / (high - low)) * (width - left - 50);
    return svg(width, labels.length * row + 8, `What is committed to: ${mixed(now)}`, labels.map((n, i) => [s("text", { x: left - 10, y: i * row + 18, "text-anchor": "end" }, n.length > 22 ? `${n.slice(0, 21)}…` : n), s("path", { d: `M${left} ${i * row + 14}H${width - 50}`, class: "axis" }),
      s("rect", { x: Math.min(x(0), x(now[i] ?? 0)), y: i * row + 7, width: Math.max(1, Math.abs(x(now[i] ?? 0) - x(0))), height: 14, fill: "var(--line-strong)" }), found.see?.strategy ? s("path", { d: `M${x(found.see.strategy[i])} ${i * row + 3}v22`, class: "line" }) : null, s("text", { x: width - 42, y: i * row + 18, class: "tick" }, number(now[i] ?? 0, 2))]));
  }
  const earnedHint = h("p", { class: "hint reserve" });
  const hasErrors = () => run.stretches.some((r) => r.error !== null);
  const earned = chart({ label: "Earned per round", height: 230, lines: [{ name: "V*", colour: "--ink", dash: [5, 4] }, { name: "told", colour: "--line-strong", dash: [1.5, 3], text: "soft" }, { name: "at most", colour: "--limit", dash: [8, 3, 2, 3], text: "limit" }, { colour: "--line-strong", width: 1 }, { name: "so far", colour: "--ink", width: 2, text: "strong" }],
    range: (low, high) => { const top = Math.max(high, value ?? high), bottom = Math.min(low, value ?? low), pad = (top - bottom) * 0.06 || 0.1; return [bottom >= 0 && bottom < top * 0.5 ? 0 : bottom - pad, top + pad]; } });
  const errors = chart({ label: "Error of the forecasts", height: 150, lines: [{ name: "error", colour: "--forecast", text: "error" }], range: (low, high) => [0, Math.max(0.05, high * 1.1)] });
  const strip = responsive((width) => (run.stretches.length && names.agent.length && run.stretches[0].answers.length ? answerStrip({ width, height: 104, rounds: run.rounds, stretch: run.stretches[0].end, answers: run.stretches.map((r) => r.answers), blocks: run.steps, upto: shown, right: 104, names: names.agent }) : svg(width, 104, "No answers yet", s("rect", { x: 40, y: 0, width: width - 144, height: 90, fill: "none", class: "axis" }))));
  const answersPart = h("div", { class: "stack tight" }, h("h2", {}, "Answers"), strip), errorsPart = h("div", { class: "stack tight" }, h("h2", {}, "Error of the forecasts, last 200 rounds"), errors.box);

  function draw() {
    const rows = run.stretches.filter((r) => r.end <= shown + 0.5), last = rows.at(-1), xs = rows.map((r) => r.end), told = atPlaces(run.reference, xs), limit = rows.map((r) => r.allowed);
    counter.textContent = `Round ${whole(shown)} of ${whole(run.rounds)}`;
    scrub.max = run.rounds; scrub.value = shown;
    const places = !xs.length || xs.at(-1) < run.rounds ? [...xs, run.rounds] : xs, pad = (c) => [...c, ...new Array(places.length - c.length).fill(null)];
    earned.draw(run.rounds, places, [places.map(() => value), ...[told, limit, rows.map((r) => r.earned), rows.map((r) => r.average)].map(pad)]);
    errorsPart.hidden = run.stretches.length > 3 && !hasErrors();
    errors.draw(run.rounds, xs, [rows.map((r) => r.error)]);
    if (run.words.length && follow && run.state === "kept") replace(statement, run.words.join(" "));
    else if (!last) replace(statement, run.state === "starting" ? "Starting. The first play of a day may compile for up to a minute." : run.state === "stopped" ? "This play was stopped before it was over. What was played is kept in its checkpoint." : "Nothing played yet.");
    else { const t = told.at(-1); replace(statement, `Earned ${number(last.average)} a round so far. `, t !== null && t !== undefined ? `A principal who is told the agent’s payoffs had ${number(t)} by then` : "", last.allowed !== null && last.allowed !== undefined ? `${t !== null && t !== undefined ? "; nobody" : "Nobody"} can earn more than ${number(last.allowed)} against these forecasts.` : t !== null && t !== undefined ? "." : ""); }
    const done = upto();
    replace(log, done.length ? done.slice(-200).reverse().map(entry) : h("li", {}, h("span", {}), h("span", { class: "soft" }, "What is tried, and what the agent does, will be told here.")));
    earnedHint.textContent = `Thin: by stretches.${limit.some(Number.isFinite) ? " Dash-dot: V* and what the forecasts’ error allows beyond it." : ""}${run.reference.length ? " Dotted: a principal who is told the agent’s payoffs, on the same seed." : ""}`;
    picture.redraw(); strip.redraw(); buttons();
  }
  function buttons() {
    const live = ["running", "paused", "starting"].includes(run.state), over = run.state === "kept", idle = run.state === "stopped" || run.state === "failed";
    runs.textContent = run.state === "running" ? "Pause" : run.state === "starting" ? "Starting…" : idle ? "Go on" : run.state === "paused" ? "Go on" : run.state === "stopping" ? "Ending…" : "Over";
    runs.disabled = run.state === "starting" || run.state === "stopping" || (over && run.round >= run.rounds);
    if (over && run.round < run.rounds) { runs.textContent = "Go on"; runs.disabled = false; }
    step.disabled = keepIt.disabled = !live;
    waiting.hidden = run.state !== "starting";
    if (over && !report.childElementCount) replace(report, h("a", { class: "button", href: `#/reports/${at(info.name)}/report.html` }, "Open its report"));
  }
  async function move(what, more = {}) {
    replace(trouble);
    const before = run.state;
    try {
      const told = await api.post(`plays/${at(info.name)}/move`, { do: what, ...more });
      if (what === "go" && !["running", "paused", "starting"].includes(before)) { run.state = "starting"; replace(report); listen(); pace(); }
      else if (what === "go") run.state = "running";
      else if (what === "stop") toast("Stopped after this block. What was played is kept; it can go on later.");
      else if (what === "pause" && told.state) run.state = "paused";
    } catch (error) { replace(trouble, h("div", { class: "notice bad", role: "alert" }, error.message)); }
    buttons();
  }
  const pace = () => api.post(`plays/${at(info.name)}/move`, { do: "speed", speed: speed === "all" ? null : Number(speed) }).catch(() => {});
  function take(message) {
    Object.assign(run, { state: message.state, round: message.round, rounds: message.rounds || run.rounds });
    run.stretches.push(...message.stretches);
    run.steps.splice(message.from_step, Infinity, ...message.steps);
    run.forecasts = [...run.forecasts, ...message.forecasts].slice(-160);
    if (message.reference.length) run.reference = message.reference;
    if (message.words.length) run.words = message.words;
    if (message.sentence) replace(trouble, h("div", { class: "notice bad", role: "alert" }, message.sentence));
    wake();
  }
  function listen() {
    source?.close();
    let first = true;
    source = new EventSource(`api/plays/${at(info.name)}/events`);
    source.onmessage = (e) => {
      const message = JSON.parse(e.data);
      if (first) { Object.assign(run, { stretches: [], steps: [], forecasts: [] }); first = false; }
      take(message);
    };
    source.addEventListener("over", async () => {
      source.close();
      if (first || run.state !== "kept") { const told = await api.get(`plays/${at(info.name)}`).catch(() => null); if (told) { run.state = told.info.state; run.words = told.words; } }
      wake();
    });
    source.onerror = () => { first = true; if (source.readyState === EventSource.CLOSED) replace(trouble, h("div", { class: "notice bad", role: "alert" }, "The studio does not answer. Is it still running?")); };
  }
  /** Uncover what came at the speed asked for, so that long blocks do not jump. */
  function wake() { if (clock === null) { past = performance.now(); clock = requestAnimationFrame(tick); } }
  function tick(now) {
    const rate = speed === "all" || run.state === "kept" ? Infinity : Number(speed);
    if (follow) shown = rate === Infinity ? run.round : Math.min(run.round, shown + (rate * (now - past)) / 1000);
    past = now;
    const settled = !follow || shown >= run.round;
    if (settled || now - drawnAt > 100) { drawnAt = now; draw(); }
    clock = settled ? null : requestAnimationFrame(tick);
  }
  if (found.run) { take(found.run); shown = run.round; run.state = info.state; }
  if (["running", "paused", "starting"].includes(info.state)) { listen(); if (info.state === "starting") pace(); }
  const nodes = [
    h("div", { class: "head" }, h("p", { class: "crumb" }, h("a", { href: "#/play" }, "Play")), h("div", { class: "row" }, h("h1", {}, info.name), h("span", { class: "soft" }, `${info.game}: ${info.principal} against ${info.agent}, seed ${info.seed}`), h("span", { class: "push" }, report))),
    h("div", { class: "transport" }, h("span", { class: "row tight" }, runs, step, keepIt), h("span", { class: "row tight" }, segmented("speed", speeds, speed, (v) => { speed = v; pace(); }, "Rounds a second"), h("span", { class: "small soft" }, "rounds a second")), counter, h("span", { class: "scrub" }, scrub)),
    trouble, h("div", { class: "stack tight watch-said" }, waiting, statement),
    h("div", { class: "watch" },
      h("section", { class: "stack" }, h("h2", {}, "Where it commits"), h("figure", {}, picture, h("figcaption", {}, drawn ? "Diamond: now. Circles: tried before, the first ones faint. Star: V*. Small dots: the agent’s forecasts." : "Bars: what is committed to now. Ticks: V*."))),
      h("section", { class: "stack" }, h("div", { class: "stack tight" }, h("h2", {}, "Earned per round"), earned.box, earnedHint), answersPart, errorsPart),
      h("section", { class: "stack tight log-part" }, h("h2", {}, "What happened"), log)),
  ];
  nodes.shown = () => { draw(); if (found.run) wake(); };
  nodes.stop = () => { source?.close(); cancelAnimationFrame(clock); earned.stop(); errors.stop(); };
  return nodes;
}
