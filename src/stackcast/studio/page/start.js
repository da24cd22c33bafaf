// A new campaign: from a game of the catalogue or of the folder, known or half-known.
import { h, replace } from "./dom.js";
import { api, at } from "./api.js";
import { asCell } from "./editor.js";

export async function startForm(asked) {
  const [catalogue, folder] = await Promise.all([api.get("games"), api.get("folder")]), keyOf = (g) => at(g.origin, g.name);
  const games = [...folder.games, ...catalogue].filter((g) => g.kind === "finite"), usual = games.some((g) => keyOf(g) === asked) ? asked : "catalogue/inspection";
  const game = h("select", { id: "start-game" }, games.map((g) => h("option", { value: keyOf(g), selected: keyOf(g) === usual }, g.origin === "folder" ? `${g.title} (${g.name})` : g.title)));
  const input = (id, value, more = {}) => h("input", { type: "text", id, value, ...more }), number = (id, value) => input(id, value, { class: "number", inputmode: "decimal", size: 8 });
  const file = input("start-file", ""), horizon = number("start-horizon", "500"), margin = number("start-margin", ""), floor = number("start-floor", ""), seed = number("start-seed", "0");
  const name = () => { file.value = `${game.selectedOptions[0].textContent.replace(/ \(.*/, "").replace(/[^\w.-]+/g, "-")}.db`; };
  name(); game.addEventListener("change", name);
  const trouble = h("div", { "aria-live": "polite" }), button = h("button", { type: "submit", class: "primary" }, "Start"), wait = h("progress", { "aria-label": "Starting", hidden: true });
  const empty = (field) => (field.value.trim() ? asCell(field.value) : null);
  const row = (label, field, hint) => h("div", { class: "field" }, h("label", { class: "label", for: field.id }, label), field, hint ? h("span", { class: "hint" }, hint) : null);
  return h("form", { class: "stack start", onsubmit: async (e) => {
    e.preventDefault();
    button.disabled = true; wait.hidden = false;
    try {
      const [origin, key] = game.value.split("/").map(decodeURIComponent), opened = await api.get(`games/${at(origin, key)}`);
      const saved = await api.post("campaigns", { file: file.value, table: opened.table, horizon: asCell(horizon.value), seed: asCell(seed.value), margin: empty(margin), floor: empty(floor) });
      location.hash = `#/campaigns/${at(saved.name)}`;
    } catch (error) { replace(trouble, h("p", { class: "notice bad", role: "alert" }, error.message)); button.disabled = false; wait.hidden = true; }
  } },
  h("h2", {}, "Start a campaign"), h("p", { class: "soft measure" }, "Of a whole game only your half is taken: the adviser never reads the other side’s payoffs. Of a half-known game it uses the ranges."),
  h("div", { class: "fields" }, row("Game", game), row("File", file), row("About how many rounds", horizon, "Days, visits or decisions."), row("Margin to certify", margin, "Optional: how far off a forecast may be."), row("Never ask for less than", floor, "Optional: no question may earn less."), row("Seed", seed)),
  trouble, wait, h("div", {}, button));
}
