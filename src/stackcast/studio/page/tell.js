// Telling: by counts, by day, or from a file. It is checked as one types, and can be taken back.
import { h, replace, segmented, answerMark, ownMark, list } from "./dom.js";
import { api, at, choose } from "./api.js";

let usual = "counts"; // how the person told last
/** The form that tells what the other side did; with an entry, what that entry should have said. */
export function tellForm(c, { dayName, days: due, done, entry = null }) {
  const names = { principal: c.principal_actions, agent: c.agent_actions }, key = `telling ${c.file} ${c.advice?.entry ?? ""} ${entry?.entry ?? ""}`;
  let how = entry ? "counts" : usual, counts = entry ? [...entry.answers] : names.agent.map(() => 0), missing = entry?.missing ?? 0, days = new Array(due).fill(-1), played = null;
  try { const kept = JSON.parse(sessionStorage.getItem(key) ?? "null"); if (kept?.counts.length === counts.length && !entry) { counts = kept.counts; missing = kept.missing; } } catch { /* storage may be off */ }
  const keep = () => { try { sessionStorage.setItem(key, JSON.stringify({ counts, missing })); } catch { /* not kept */ } };
  const body = h("div", { class: "tell-body" }), sum = h("p", { class: "reserve", role: "status" }), trouble = h("div", { "aria-live": "polite" });
  const send = h("button", { type: "submit", class: "primary" });
  const total = () => counts.reduce((a, b) => a + b, 0);
  function judge() {
    const n = how === "days" ? days.filter((y) => y >= 0).length : total() + missing, asked = c.advice?.rounds ?? 0;
    send.disabled = n === 0; send.hidden = how === "file";
    send.textContent = entry ? `Correct entry ${entry.entry}` : n === 1 ? "Record 1 round" : `Record ${n || ""} rounds`;
    sum.textContent = how === "file" || entry ? "" : n === 0 ? `Nothing counted yet; the advice is for ${asked === 1 ? "1 round" : `${asked} rounds`}.` : n === asked ? asked === 1 ? "The round is accounted for." : `All ${asked} rounds are accounted for.` : n < asked ? `${n} of ${asked}: that is fine, the next advice goes on from there.` : `${n} rounds are ${n - asked} more than asked. They will be recorded, and the advice counts the ${asked} that it asked for.`;
  }
  const stepper = (value, name, set) => {
    const input = h("input", { type: "number", min: 0, value, "aria-label": name, oninput: () => { set(Math.max(0, Math.round(Number(input.value)) || 0)); keep(); judge(); } });
    const by = (step) => () => { input.value = Math.max(0, Number(input.value) + step); set(Number(input.value)); keep(); judge(); };
    return h("span", { class: "stepper" }, h("button", { type: "button", "aria-label": `One ${name} less`, onclick: by(-1) }, "−"), input, h("button", { type: "button", "aria-label": `One ${name} more`, onclick: by(1) }, "+"));
  };
  const forms = {
    counts: () => h("div", { class: "counts" }, names.agent.map((n, y) => [h("span", { class: "chip" }, answerMark(y), n), stepper(counts[y], n, (v) => { counts[y] = v; })]), h("span", { class: "soft" }, "nobody knows"), stepper(missing, "unknown", (v) => { missing = v; })),
    days: () => h("ol", { class: "days" }, days.map((_, i) => h("li", {}, h("span", { class: "small soft" }, dayName(i)), c.advice ? h("span", { title: names.principal[c.advice.order[i]] }, ownMark(c.advice.order[i] ?? 0)) : h("span"),
      h("select", { "aria-label": `What happened on ${dayName(i)}`, onchange: (e) => { days[i] = e.target.selectedIndex - 1; judge(); } }, ["not yet", ...names.agent, "nobody knows"].map((n, y) => h("option", { selected: y - 1 === days[i] }, n)))))),
    file: () => {
      const take = (file) => api.upload(`responses/${at(c.file)}`, file).then(done, complain);
      const zone = h("div", { class: "drop", ondragover: (e) => { e.preventDefault(); zone.classList.add("over"); }, ondragleave: () => zone.classList.remove("over"), ondrop: (e) => { e.preventDefault(); zone.classList.remove("over"); if (e.dataTransfer.files[0]) take(e.dataTransfer.files[0]); } },
        h("p", {}, "Drop a CSV file with a column ", h("code", {}, "response"), ", and perhaps ", h("code", {}, "count")), h("button", { type: "button", onclick: () => choose(".csv", take) }, "Choose a file…"));
      return zone;
    },
  };
  const complain = (error) => { replace(trouble, h("p", { class: "notice bad", role: "alert" }, error.message, " What you typed is kept here.")); send.disabled = false; };
  const shares = names.principal.map((n, x) => h("input", { type: "text", class: "number", inputmode: "decimal", size: 5, value: c.advice ? (100 * c.advice.strategy[x]).toFixed(1) : "", "aria-label": `Share of ${n} that was really played, in per cent`, oninput: () => { played = Object.fromEntries(names.principal.map((m, i) => [m, Number(shares[i].value.replace(",", ".")) / 100])); } }));
  const show = () => { replace(body, forms[how]()); judge(); };
  const form = h("form", { class: "stack", onsubmit: async (e) => {
    e.preventDefault();
    send.disabled = true;
    const telling = how === "days" ? { days: days.slice(0, days.findLastIndex((y) => y >= 0) + 1).map((y) => (y >= 0 && y < names.agent.length ? names.agent[y] : null)) } : { counts: { ...Object.fromEntries(names.agent.map((n, y) => [n, counts[y]])), ...(missing ? { "?": missing } : {}) } };
    try {
      const told = await api.post(`campaigns/${at(c.file)}/${entry ? "correct" : "tell"}`, { ...telling, played, entry: entry?.entry ?? null });
      try { sessionStorage.removeItem(key); } catch { /* storage may be off */ }
      done(told);
    } catch (error) { complain(error); }
  } },
  h("div", { class: "row" }, h("h2", {}, entry ? `What entry ${entry.entry} should have said` : "Tell what happened"), entry ? null : h("span", { class: "push" }, segmented("how", { counts: "Counts", days: "By day", file: "File" }, how, (v) => { how = usual = v; show(); }, "How to tell"))),
  body, sum,
  h("details", { class: "small" }, h("summary", {}, "Something else was played than asked"), h("p", { class: "soft measure" }, "Say what, in per cent: those rounds are recorded as they were, and the advice stays open."), h("div", { class: "mix" }, names.principal.map((n, x) => [h("span", {}, n), h("span", { class: "amount" }, shares[x], "%")]))),
  trouble, h("div", { class: "row tight" }, send));
  show();
  return form;
}
export const counted = (names, answers, missing) => list([...answers.map((n, y) => (n ? `${names[y]} ${n}` : null)), missing ? `nobody knows ${missing}` : null].filter(Boolean));
