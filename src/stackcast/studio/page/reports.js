// The pages that plays, sweeps and audits left in the folder; and what a saved transcript proves.
import { h, number, whole } from "./dom.js";
import { api, at } from "./api.js";

const kinds = { play: "Play", sweep: "Sweep", claims: "Claims", report: "Report", record: "Transcript" };
const link = (r) => `#/reports/${r.path.split("/").map(encodeURIComponent).join("/")}`;

export async function reportsView(path) {
  if (path) return path.endsWith(".parquet") ? audit(path) : onePage(path);
  const found = await api.get("reports");
  return [h("div", { class: "head" }, h("h1", {}, "Reports")),
    found.length ? h("div", { class: "scroll" }, h("table", { class: "plain kept" }, h("tbody", {}, found.map((r) => h("tr", {}, h("td", {}, h("a", { href: link(r) }, r.title || r.path)), h("td", { class: "soft" }, kinds[r.kind] ?? r.kind), h("td", {}, r.sentence), h("td", { class: "soft nowrap" }, new Date(r.at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })))))))
      : h("div", { class: "stack measure" }, h("p", { class: "lead" }, "No reports in this folder yet."), h("p", {}, "What is played here leaves one; so do ", h("code", {}, "stackcast play"), ", ", h("code", {}, "sweep"), ", ", h("code", {}, "tournament"), " and ", h("code", {}, "verify --out"), " in this folder. A transcript that was saved here can be audited in the page."))];
}

function onePage(path) {
  const address = `reports/${path.split("/").map(encodeURIComponent).join("/")}`;
  const frame = h("iframe", { class: "report", src: address, sandbox: "", title: `The report ${path}` });
  return [h("div", { class: "head" }, h("p", { class: "crumb" }, h("a", { href: "#/reports" }, "Reports")), h("div", { class: "row" }, h("h1", {}, path.split("/").slice(-2).join(" / ").replace(/ \/ report\.html$/, "")), h("span", { class: "push" }, h("a", { class: "button", href: address, target: "_blank", rel: "noopener" }, "Open alone")))), frame];
}

async function audit(path) {
  const found = await api.get(`audits/${path.split("/").map(encodeURIComponent).join("/")}`), failed = found.bounds.filter((b) => b.holds === false).length;
  return [h("div", { class: "head" }, h("p", { class: "crumb" }, h("a", { href: "#/reports" }, "Reports")), h("h1", {}, path), h("p", { class: "lead" }, `Over ${whole(found.rounds)} rounds the principal earned ${number(found.average_utility)} a round of a possible ${number(found.value)} (V*). `, failed ? `${failed} of ${found.bounds.length} consistency checks failed.` : found.bounds.length === 1 ? "The consistency check holds." : `All ${found.bounds.length} consistency checks hold.`)),
    h("div", { class: "scroll" }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Quantity"), h("th", { class: "n", scope: "col" }, "Measured"), h("th", { class: "n", scope: "col" }, "At most"), h("th", { scope: "col" }, "Verdict"), h("th", { scope: "col" }, "Paper"), h("th", { scope: "col" }, "Note"))),
      h("tbody", {}, found.bounds.map((b) => h("tr", {}, h("td", {}, b.name), h("td", { class: "n" }, number(b.measured, 4)), h("td", { class: "n" }, number(b.bound, 4)), h("td", {}, b.holds === null ? "–" : b.holds ? "holds" : h("strong", {}, "fails")), h("td", { class: "soft" }, b.where), h("td", { class: "soft" }, b.note))))))];
}
