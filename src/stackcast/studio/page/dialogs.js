// What a campaign asks for in a window of its own: a reason to decline, a correction, a new answer.
import { h, replace } from "./dom.js";
import { tellForm } from "./tell.js";
import { asCell } from "./editor.js";

function dialog(title, ...nodes) {
  const box = h("dialog", { "aria-label": title }, h("div", { class: "stack" }, h("h2", {}, title), nodes));
  return box;
}

export function dialogs(c, { act, done, days, dayName }) {
  const names = c.principal_actions;
  // Declining asks for the reason; the reason is read back as the limit that it will become.
  let x = c.advice ? c.advice.counts.indexOf(Math.max(...c.advice.counts)) : 0, most = c.advice ? Math.max(0, c.advice.counts[x] - 1) : 0, typed = null;
  const limit = h("p", { class: "notice" }), wrong = h("p", { class: "hint wrong reserve", role: "alert" }), own = h("input", { type: "text", "aria-label": "The limit in your own words", placeholder: `${names[0]} + 2 ${names[names.length - 1]} <= 0.4`, spellcheck: "false", oninput: (e) => { typed = e.target.value.trim() || null; read(); } }), why = h("input", { type: "text", id: "why", placeholder: "Two of us are on leave until September" });
  const text = () => typed ?? `${names[x]} <= ${Number((most / days).toFixed(4))}`;
  const read = () => replace(limit, "This becomes the limit ", h("code", {}, text().replace("<=", "≤").replace(">=", "≥")), ". Every later advice keeps it until you lift it.");
  const number = h("input", { type: "number", min: 0, max: days, value: most, "aria-label": "At most", class: "days-wanted", oninput: (e) => { most = Math.min(days, Math.max(0, Number(e.target.value) || 0)); read(); } });
  const decline = dialog("Decline this advice", h("p", { class: "soft" }, "Nothing is lost: say what cannot be done, and you get other advice that respects it."),
    h("form", { class: "stack", onsubmit: async (e) => {
      e.preventDefault();
      try { await act("decline", { limit: text(), why: why.value }); decline.close(); } catch (error) { wrong.textContent = error.message; }
    } },
    h("div", { class: "field" }, h("span", { class: "label" }, "What cannot be done?"), h("div", { class: "row tight" }, "At most", number, `of ${days} rounds as`, h("select", { "aria-label": "Which action", onchange: (e) => { x = e.target.selectedIndex; read(); } }, names.map((n, i) => h("option", { selected: i === x }, n))))),
    h("details", { class: "small" }, h("summary", {}, "Something else"), own),
    h("div", { class: "field" }, h("label", { class: "label", for: "why" }, "Why? For whoever reads the journal"), why), limit, wrong,
    h("div", { class: "row tight" }, h("button", { type: "submit", class: "primary" }, "Decline and ask again"), h("button", { type: "button", onclick: () => decline.close() }, "Keep the advice"))));
  read();

  const correcting = h("dialog", { "aria-label": "Correct an entry" });
  function correct(row) {
    replace(correcting, tellForm(c, { dayName, days: 0, entry: row, done: async (told) => { correcting.close(); await done(told); } }), h("button", { type: "button", class: "quiet", onclick: () => correcting.close() }, "Leave it as it is"));
    correcting.showModal();
  }

  const name = h("input", { type: "text", id: "new-answer", required: true }), said = h("p", { class: "hint wrong reserve", role: "alert" }), payoffs = names.map((n) => h("input", { type: "text", class: "number", inputmode: "decimal", size: 6, value: "0", "aria-label": `What you earn by it with ${n}` }));
  const action = dialog("An answer that is not in the list", h("p", { class: "soft" }, "Say what the other side did, and what you earn by it with each of your actions. The adviser starts anew, knowing all answers so far."),
    h("form", { class: "stack", onsubmit: async (e) => {
      e.preventDefault();
      try { await act("action", { name: name.value, payoffs: payoffs.map((p) => asCell(p.value)) }); action.close(); } catch (error) { said.textContent = error.message; }
    } }, h("div", { class: "field" }, h("label", { class: "label", for: "new-answer" }, "What did it do?"), name), h("div", { class: "mix" }, names.map((n, i) => [h("span", {}, n), h("span", { class: "amount" }, payoffs[i])])), said,
    h("div", { class: "row tight" }, h("button", { type: "submit", class: "primary" }, "Add it"), h("button", { type: "button", onclick: () => action.close() }, "Not now"))));
  return { nodes: [decline, correcting, action], decline: () => decline.showModal(), correct, action: () => action.showModal() };
}
