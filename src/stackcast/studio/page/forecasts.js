// Forecasts that somebody made: a verdict first, then where and for how long they fail.
import { h, replace, responsive, segmented, number, whole, toast } from "./dom.js";
import { api, at, choose, keep } from "./api.js";
import { reliability, heat } from "./charts.js";

const verdicts = { refuted: "Refuted", "not refuted": "Not refuted", "calibrated within rate": "Calibrated" };
const MOST = 50_000_000;

function dropZone(trouble) {
  const wait = h("progress", { "aria-label": "Sending", hidden: true });
  async function take(file) {
    if (file.size > MOST) return replace(trouble, h("p", { class: "notice bad", role: "alert" }, `${file.name} is larger than 50 MB.`));
    wait.hidden = false;
    try { const saved = await api.upload("forecasts", file); location.hash = `#/forecasts/${at(saved.name)}`; } catch (error) { wait.hidden = true; replace(trouble, h("p", { class: "notice bad", role: "alert" }, error.message)); }
  }
  const zone = h("div", { class: "drop", ondragover: (e) => { e.preventDefault(); zone.classList.add("over"); }, ondragleave: () => zone.classList.remove("over"), ondrop: (e) => { e.preventDefault(); zone.classList.remove("over"); if (e.dataTransfer.files[0]) take(e.dataTransfer.files[0]); } },
    h("p", { class: "lead" }, "Drop a CSV or Parquet file of forecasts and outcomes"), h("p", { class: "soft measure" }, "One row a round, in order of time: ", h("code", {}, "forecast"), " (a probability) and ", h("code", {}, "outcome"), " (1 or 0, yes or no). For more than two outcomes, ", h("code", {}, "forecast_1"), ", ", h("code", {}, "forecast_2"), " … and the number of what happened."),
    h("div", { class: "row tight" }, h("button", { type: "button", class: "primary", onclick: () => choose(".csv,.parquet", take) }, "Choose a file…")), wait, trouble, h("p", { class: "hint" }, "Up to 50 MB and a million rows. The file is kept in this folder and leaves this machine for nobody."));
  return zone;
}
const swatches = () => h("div", { class: "legend" }, [["up to half of the rate", 0], ["up to the rate", 1], ["to 1¼ times", 2], ["to 1½ times", 3], ["to twice", 4], ["more", 5]].map(([text, i]) => h("span", { class: "chip" }, h("span", { class: "swatch heat-swatch", vars: { "--heat": `var(--heat${i})` } }), text)), h("span", { class: "soft" }, "A dot: beyond the rate"));

export async function forecastsView(file, query) {
  if (file) return oneFile(file, query);
  const files = await api.get("forecasts"), trouble = h("div", { "aria-live": "polite" });
  return [h("div", { class: "head" }, h("h1", {}, "Forecasts"), h("p", { class: "lead soft" }, "Are they calibrated, in every stretch of time, for the decision taken from them?")), dropZone(trouble),
    h("section", { class: "rule stack tight" }, h("h2", {}, "Tables in this folder"), files.length ? h("ul", {}, files.map((f) => h("li", {}, h("a", { href: `#/forecasts/${at(f.path)}` }, f.path), h("span", { class: "soft small" }, ` ${whole(Math.ceil(f.size / 1000))} kB`)))) : h("p", { class: "soft" }, "None yet."))];
}

async function oneFile(file, query) {
  let threshold = Number(query.get("threshold") ?? 0.5), which = "before", data = null, asked = null;
  const verdict = h("p", { class: "lead", id: "verdict" }), under = h("p", { class: "measure" }), pictures = h("div", { class: "two uneven" }), table = h("div", { class: "scroll narrow" }), trouble = h("div", { "aria-live": "polite" }), waiting = h("div", { class: "stack measure off" }, h("progress", { "aria-label": "Looking at all intervals" }), h("div", { class: "row tight" }, h("span", { class: "soft" }, `Looking at all intervals of ${file}…`), h("button", { type: "button", class: "quiet", onclick: () => asked?.abort() }, "Stop")));
  const intervals = h("section", { class: "rule stack tight", hidden: true }, h("h2", {}, "The worst interval of every length"), table);
  const where = h("span", { class: "soft" }), chooser = h("span"), download = h("button", { type: "button", class: "primary", disabled: true, onclick: async () => { try { toast(`Saved ${await keep(`forecasts/${at(file)}/corrected?threshold=${threshold}`, null, "corrected.csv")}.`); } catch (e) { replace(trouble, h("p", { class: "notice bad", role: "alert" }, e.message)); } } }, "Download the corrected column");
  const input = h("input", { type: "text", class: "number", size: 5, inputmode: "decimal", value: String(threshold), "aria-label": "Threshold of the decision", onchange: () => { threshold = input.value.trim().replace(",", "."); load(); } });
  function show() {
    const found = data[which] ?? data.before, ghost = which === "after" ? data.before.groups : null, e = found.evidence, out = e && found.verdict === "refuted", chance = !out || found.p_value === null ? "" : `If the forecasts were right, evidence this strong would occur with probability ${found.p_value < 0.001 ? "below 0.001" : `at most ${number(found.p_value)}`}.`, [low, high] = [number(found.lower, 2), number(found.upper, 2)];
    replace(verdict, h("strong", {}, `${verdicts[found.verdict] ?? found.verdict}. `), found.verdict === "calibrated within rate" ? "No interval’s error exceeds the rate." : out ? `From round ${whole(e[0] + 1)} to ${whole(e[1])} (${found.evidence_bin}) the error is ${number(found.evidence_error)}. ${chance}` : "Some interval exceeds the rate, but chance may explain it.");
    under.textContent = `The largest error over all intervals is ${low === high ? low : `between ${low} and ${high}`} times the rate.${which === "after" && data.after ? ` The mean squared error went from ${number(data.before.loss)} to ${number(data.after.loss)}.` : ""}`;
    const drawn = found.groups.length > 0;
    replace(pictures, drawn ? [
      h("section", { class: "stack tight" }, h("h2", {}, "What the forecasts said, and what happened"), h("figure", {}, h("p", { class: "hint" }, "How often it happened"), responsive((w) => reliability(w, found.groups, ghost, "Reliability: frequency against forecast")), h("figcaption", {}, "Groups of like forecasts; a larger mark is more rounds. Grey: what chance allows in 95 of 100 cases. Orange diamonds lie outside it.", ghost ? " Thin: before the correction." : ""))),
      h("section", { class: "stack tight" }, h("h2", {}, "When, and for how long"), h("figure", {}, h("p", { class: "hint" }, "Rounds in the interval"), responsive((w) => heat(w, found.heat, found.lengths.map((l) => l[0]), data.rows, out ? e : null, "Error over rate, by length and place of the interval")), h("figcaption", {}, "Each cell: the worst interval of that length whose middle lies there.", out ? " The bracket marks the evidence." : "")), swatches()),
    ] : h("p", { class: "soft" }, "Pictures are drawn for yes/no events; the table below holds for any number of outcomes."));
    replace(table, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, ["Rounds", "Worst error", "Rate"].map((t) => h("th", { class: "n", scope: "col" }, t)), h("th", { scope: "col" }, "Verdict"), data.after ? h("th", { class: "n", scope: "col" }, "Corrected") : null)),
      h("tbody", {}, data.before.lengths.map(([length, error, rate], i) => h("tr", {}, h("td", { class: "n" }, whole(length)), h("td", { class: "n" }, number(error)), h("td", { class: "n" }, number(rate)), h("td", {}, error > rate ? h("strong", {}, "exceeds") : "within"), data.after ? h("td", { class: "n" }, number(data.after.lengths[i][1])) : null)))));
    intervals.hidden = false;
    where.textContent = `${data.file}, ${whole(data.rows)} rounds`;
    download.disabled = !data.after;
    replace(chooser, data.after ? ["and show ", segmented("which", { before: "as they are", after: "corrected" }, which, (v) => { which = v; show(); }, "Which forecasts")] : "");
  }
  async function load() {
    asked?.abort(); asked = new AbortController();
    const mine = asked, late = setTimeout(() => { waiting.classList.remove("off"); }, 300);
    replace(trouble);
    try { data = await api.get(`forecasts/${at(file)}?threshold=${encodeURIComponent(threshold)}`, mine.signal); history.replaceState(null, "", `#/forecasts/${at(file)}?threshold=${threshold}`); show(); } catch (error) { if (mine === asked) replace(trouble, h("p", { class: "notice bad", role: "alert" }, error.name === "AbortError" ? "Stopped." : error.message)); }
    clearTimeout(late); if (mine === asked) waiting.classList.add("off");
  }
  const view = [
    h("div", { class: "head" }, h("p", { class: "crumb" }, h("a", { href: "#/forecasts" }, "Forecasts")), h("div", { class: "row" }, h("h1", {}, file), where, h("span", { class: "push row tight" }, h("a", { class: "button", href: "#/forecasts" }, "Another file…"), download))),
    h("div", { class: "sentence judged" }, "Judge by the decision at", input, chooser), trouble, waiting,
    h("div", { class: "stack tight verdict-room" }, verdict, under), pictures,
    intervals,
  ];
  view.shown = load;
  view.stop = () => asked?.abort();
  return view;
}
