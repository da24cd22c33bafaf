// A campaign: what to do now, what to tell, what was done, what is known.
import { h, s, svg, replace, mixture, number, whole, answer, own, ownMark, shares, list, toast, say } from "./dom.js";
import { api, at, keep } from "./api.js";
import { counted, tellForm } from "./tell.js";
import { knownPicture } from "./known.js";
import { dialogs } from "./dialogs.js";
import { startForm } from "./start.js";

const phases = { explore: "tried", certify: "tested", commit: "committed", recheck: "asked again" };
const kinds = { decline: "a limit", lift: "a limit lifted", action: "a new answer", import: "a log read", correct: "a correction", undo: "taken back", pause: "paused", resume: "resumed", end: "closed" };
const after = (days) => { const d = new Date(); d.setHours(12, 0, 0, 0); d.setDate(d.getDate() + days); return d; };
const day = (i) => (i === 0 ? "Today" : after(i).toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" }).replace(",", ""));
const rounds = (n) => `${whole(n)} round${n === 1 ? "" : "s"}`;
const date = (d) => d.toLocaleDateString("en-GB", { day: "numeric", month: "long" });

export async function campaignsView(query) {
  const list_ = await api.get("campaigns"), asked = query.get("game");
  return [
    h("div", { class: "head" }, h("h1", {}, "Campaigns")),
    list_.length ? h("div", { class: "scroll" }, h("table", { class: "plain kept" }, h("tbody", {}, list_.map((c) => h("tr", {}, h("td", {}, c.sentence ? c.file : h("a", { href: `#/campaigns/${at(c.file)}` }, c.name)), h("td", { class: "soft" }, c.file), h("td", { class: "n" }, c.sentence ? "" : `${whole(c.rounds)} of about ${whole(c.horizon)} rounds`), h("td", {}, c.sentence ? h("span", { class: "wrong" }, c.sentence) : c.state), h("td", { class: "soft" }, c.last ? new Date(c.last).toLocaleDateString("en-GB") : ""))))))
      : h("div", { class: "stack measure" }, h("p", { class: "lead" }, "No campaign in this folder yet."), h("p", {}, "A campaign says, round by round, what to commit to against an agent whose payoffs nobody knows, and learns from what you tell it. It needs only your own payoffs and the names of the actions.")),
    h("section", { class: "rule" }, await startForm(asked)),
  ];
}

function adviceWords(c) {
  const { counts } = c.advice, n = counts.reduce((a, b) => a + b, 0), parts = counts.map((k, x) => [k, x]).filter(([k]) => k).sort((a, b) => b[0] - a[0]).map(([k, x]) => [k, c.principal_actions[x]]);
  if (n === 1) return `Today: ${parts[0][1]}.`;
  if (parts.length === 1) return `Until ${date(after(n - 1))}, every one of the next ${n} rounds: ${parts[0][1]}.`;
  return `Until ${date(after(n - 1))}, of the next ${n} rounds make ${list(parts.map(([k, name]) => `${k} ${name}`))}.`;
}

export async function campaignView(file) {
  let days = 0, all = false;
  try { days = Number(sessionStorage.getItem(`days ${file}`)) || 0; } catch { /* storage may be off */ }
  const root = h("div"), path = `campaigns/${at(file)}`;
  let c = await api.get(`${path}?days=${days}`), asking = false;
  const complain = (error) => replace(root.querySelector(".trouble"), h("div", { class: "notice bad", role: "alert" }, error.message, " Nothing was changed. ", h("button", { type: "button", onclick: load }, "Try again")));
  async function load(ask = true) {
    if (asking) return;
    asking = ask && c.state === "running" && !c.advice;
    if (asking) draw();
    try { c = await api.get(`${path}?days=${days}&ask=${Number(ask)}`); asking = false; draw(); } catch (error) { asking = false; draw(); complain(error); }
  }
  async function act(verb, body, undoable = true) {
    try {
      const told = await api.post(`${path}/${verb}`, body);
      await done(told, undoable);
    } catch (error) { complain(error); throw error; }
  }
  async function done(told, undoable = true) {
    root.querySelector(".advice")?.setAttribute("aria-busy", "true");
    say(told.words, 0);
    toast(told.words, undoable ? () => act("undo", {}, false).catch(() => {}) : null);
    await load(false);
    if (!c.advice) await load(true);
  }
  const schedule = () => h("ol", { class: "schedule", "aria-label": `The next ${c.advice.order.length} rounds` }, c.advice.order.map((x, i) => h("li", { class: i === 0 ? "today" : null }, h("span", { class: "day" }, day(i)), ownMark(x), h("span", {}, c.principal_actions[x]))));
  const bones = () => h("ol", { class: "schedule", "aria-hidden": "true" }, Array.from({ length: 14 }, () => h("li", {}, h("span", { class: "bone" }, h("span", {}, "Mon 1 Aug")), h("span", { class: "bone swatch" }), h("span", { class: "bone" }, h("span", {}, "spot check")))));

  function advicePart(ask) {
    if (asking) return [h("p", { class: "lead" }, "Working out the next advice…"), h("progress", { "aria-label": "Working" }), h("p", { class: "hint" }, "A few seconds; the first time of a day, up to a minute. What you told is on the disk already."), bones()];
    if (c.state !== "running") return [h("p", { class: "lead" }, c.state === "paused" ? "This campaign is paused: it asks for nothing." : "This campaign is closed."), c.advice ? h("p", {}, "What was asked before can still be told.") : null, h("div", {}, h("button", { type: "button", class: "primary", onclick: () => act("resume", {}, false).catch(() => {}) }, c.state === "paused" ? "Go on" : "Open it again"))];
    if (!c.advice) return [h("p", { class: "lead" }, "There is no advice at present."), h("div", {}, h("button", { type: "button", class: "primary", onclick: () => load() }, "Ask what to do"))];
    const wanted = h("input", { type: "number", min: 1, max: 366, value: c.advice.order.length, "aria-label": "Days to draw", class: "days-wanted", onchange: (e) => { days = Math.max(1, Math.min(366, Math.round(Number(e.target.value)) || 14)); try { sessionStorage.setItem(`days ${file}`, days); } catch { /* not kept */ } load(false); } });
    return [h("p", { class: "lead" }, adviceWords(c)), h("p", { class: "measure" }, c.advice.why, h("span", { class: "soft" }, ` Shares: ${mixture(c.advice.strategy, c.principal_actions, 1)}, for ${rounds(c.advice.rounds)} (entry ${c.advice.entry}).`)),
      shares(c.advice.counts, "x", 320, 18, `Of ${c.advice.order.length} rounds: ${counted(c.principal_actions, c.advice.counts, 0)}`), schedule(),
      h("p", { class: "hint measure" }, "The order is drawn at random so that nobody can work it out. Keep it to yourself, and do not swap days."),
      h("div", { class: "row tight" }, h("label", { class: "row tight" }, "Draw", wanted, "days"), h("button", { type: "button", onclick: () => print() }, "Print"), h("button", { type: "button", onclick: calendar }, "Save as calendar"), h("button", { type: "button", class: "quiet", onclick: ask.decline }, "Decline with a reason…"))];
  }
  /** The schedule as a calendar file: all-day entries from today on. */
  function calendar() {
    const stamp = (d) => d.toISOString().slice(0, 10).replaceAll("-", ""), safe = (t) => t.replace(/[\\;,]/g, (m) => `\\${m}`).replace(/[\r\n]/g, " ");
    const events = c.advice.order.flatMap((x, i) => ["BEGIN:VEVENT", `UID:${c.advice.entry}-${i}-${stamp(after(i))}@stackcast`, `DTSTAMP:${stamp(new Date())}T000000Z`, `DTSTART;VALUE=DATE:${stamp(after(i))}`, `SUMMARY:${safe(c.principal_actions[x])}`, "END:VEVENT"]);
    const link = h("a", { href: URL.createObjectURL(new Blob([["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//stackcast//studio//EN", ...events, "END:VCALENDAR", ""].join("\r\n")], { type: "text/calendar" })), download: `${file.replace(/\.db$/, "")}.ics` });
    link.click(); setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    toast(`Saved ${link.download}.`);
  }
  function historyTable(ask) {
    const rows = [...c.history].reverse(), top = Math.max(...c.principal_payoffs.flat()), low = Math.min(0, ...c.principal_payoffs.flat()), x = (v) => 5 + ((v - low) / (top - low || 1)) * 145, shown = all ? rows : rows.slice(0, 8);
    const when = (r) => h("td", { class: "nowrap when" }, new Date(r.at).toLocaleDateString("en-GB", { day: "numeric", month: "long" }), h("div", { class: "small soft" }, r.revoked_by ? "taken back" : r.kind !== "tell" ? kinds[r.kind] ?? r.kind : r.as_asked ? phases[r.phase.split(" ")[0]] ?? r.phase : "not as asked"));
    const act_ = (r) => (r.kind === "tell" && !r.revoked_by ? h("button", { type: "button", class: "quiet small", "aria-label": `Correct entry ${r.entry}`, onclick: () => ask.correct(r) }, "Correct") : null);
    return h("table", { class: "plain history" }, h("thead", {}, h("tr", {}, ["From", "What was played", "What the other side did"].map((t) => h("th", { scope: "col" }, t)), h("th", { class: "n", scope: "col" }, "Rounds"), h("th", { scope: "col" }, "Earned a round"), h("th", { class: "n", scope: "col" }, "Entry"))),
      h("tbody", {}, shown.map((r) => h("tr", { class: r.revoked_by ? "revoked" : null }, when(r), r.kind !== "tell" ? [h("td", { class: "mixed strike", colspan: 4 }, r.words), h("td", { class: "n entry" }, h("span", {}, String(r.entry)))] : [
        h("td", { class: "mixed" }, shares(r.strategy, "x", 150, 14, mixture(r.strategy, c.principal_actions)), h("div", { class: "small soft strike" }, mixture(r.strategy, c.principal_actions))),
        h("td", { class: "did" }, shares(r.answers, "y", 150, 14, null), h("div", { class: "small soft strike" }, counted(c.agent_actions, r.answers, r.missing), r.corrected ? " (corrected)" : "")),
        h("td", { class: "n visits" }, whole(r.rounds)), h("td", { class: "gained" }, r.earned === null || r.revoked_by ? "–" : h("span", { class: "earned" }, number(r.earned), svg(160, 16, null, s("path", { d: "M5 8H150", class: "axis" }), s("path", { d: `M5 8H${x(r.earned)}`, class: "line thin" }), s("circle", { cx: x(r.earned), cy: 8, r: 4.5 })))),
        h("td", { class: "n entry" }, act_(r), h("span", {}, String(r.entry)))]))));
  }
  function knownPart() {
    const facts = (pairs) => h("dl", { class: "facts" }, pairs.filter(Boolean).map(([k, v, strong]) => [h("dt", {}, k), h("dd", { class: strong ? "total" : null }, v)]));
    return h("section", { class: "known" }, h("h2", {}, "What is known so far"), h("figure", {}, knownPicture(c), h("figcaption", {}, c.principal_actions.length <= 3 ? "Between mixtures that drew the same answer, every mixture draws it. Hatched: nobody knows yet. Diamond: the best commitment so far. “?”: the answers disagree." : "Mixtures that drew each answer.")),
      facts([["Best commitment so far", mixture(c.strategy, c.principal_actions) || "–"], ["It draws", c.response === null ? "not known yet" : c.agent_actions[c.response]], ["and earns", number(c.value), true], ["More that is thought possible, at most", number(c.further_gain)], ["Margin certified", c.certified ? number(c.margin) : "not yet"], ["Earned a round on average", number(c.average_utility)],
        ["Not shown to the adviser: not as asked, or more", rounds(c.unseen)], ["Responses nobody saw", whole(c.missing)]]),
      h("div", { class: "stack tight" }, h("h3", {}, "Limits in force"), c.limits.length ? h("ul", {}, c.limits.map((l) => h("li", { class: "row tight" }, h("code", {}, l.name), h("span", { class: "soft small" }, l.why), h("button", { type: "button", class: "quiet small", "aria-label": `Lift the limit ${l.name}`, onclick: () => act("lift", { limit: l.name }).catch(() => {}) }, "Lift")))) : h("p", { class: "soft" }, "none")));
  }
  function draw() {
    const open = root.querySelector("dialog[open]");
    if (open) { open.onclose = draw; return; }  // what is being typed there stays
    const ask = dialogs(c, { act, done, days: c.advice?.order.length ?? 14, dayName: day });
    const focus = document.activeElement?.getAttribute?.("aria-label"), due = c.advice?.order.length ?? 0;
    const more = h("details", { class: "menu" }, h("summary", { class: "button" }, "Export"), h("div", {}, ["csv", "parquet"].map((f) => h("button", { type: "button", onclick: async () => { more.open = false; try { toast(`Saved ${await keep(`${path}/export?format=${f}`, null, `${file}.${f}`)}.`); } catch (e) { complain(e); } } }, f === "csv" ? "CSV, one row a round" : "Parquet"))));
    replace(root, h("div", { class: "head" }, h("p", { class: "crumb" }, h("a", { href: "#/campaigns" }, "Campaigns")), h("div", { class: "row" }, h("h1", {}, c.name), h("span", { class: "soft" }, `${whole(c.rounds)} of about ${whole(c.horizon)} rounds told, by ${c.principal}. ${c.state === "running" ? (c.rounds >= c.horizon ? "The horizon is reached." : "Running.") : c.state === "paused" ? "Paused." : "Closed."}`),
      h("span", { class: "push row tight" }, more, c.state === "running" ? [h("button", { type: "button", onclick: () => act("pause", {}, false).catch(() => {}) }, "Pause"), h("button", { type: "button", class: "quiet", onclick: () => act("end", {}, false).catch(() => {}) }, "Close")] : null))),
    h("div", { class: "trouble", "aria-live": "polite" }),
    h("div", { class: "campaign" },
      h("div", {}, h("section", { class: "advice stack", "aria-label": "Advice", "aria-busy": String(asking) }, advicePart(ask)), c.advice ? h("div", { class: "rule" }, tellForm(c, { dayName: day, days: due, done }), h("button", { type: "button", class: "quiet", onclick: () => act("undo", {}, false).catch(() => {}) }, "Undo the last entry"), h("button", { type: "button", class: "quiet", onclick: ask.action }, "Something that is not in the list…")) : null),
      knownPart(),
      h("section", { class: "full stack tight" }, h("div", { class: "row" }, h("h2", {}, "History"), h("span", { class: "legend push" }, c.principal_actions.map((n, x) => own(x, n)), c.agent_actions.map((n, y) => answer(y, n)))), c.history.length ? historyTable(ask) : h("p", { class: "soft" }, "Nothing told yet."), c.history.length > 8 ? h("button", { type: "button", class: "quiet", onclick: () => { all = !all; draw(); } }, all ? "Show the last 8" : `Show all ${c.history.length} entries`) : null)),
    ask.nodes);
    if (focus) [...root.querySelectorAll("[aria-label]")].find((n) => n.getAttribute("aria-label") === focus)?.focus({ preventScroll: true });
  }
  draw();
  if (c.state === "running" && !c.advice) queueMicrotask(() => load(true));
  /** Another window or the command line may tell the same campaign. */
  const watch = setInterval(async () => {
    if (document.hidden || asking || root.querySelector("dialog[open]")) return;
    const found = await api.get("campaigns").catch(() => null), mine = found?.find((f) => f.file === file);
    if (mine && !asking && mine.entry !== c.entry) load(true);
  }, 4000);
  const view = [root];
  view.stop = () => clearInterval(watch);
  return view;
}
