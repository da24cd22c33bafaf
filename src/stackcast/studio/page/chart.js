// Long series over rounds, drawn by uPlot (vendor/), each line with its own name at the right edge.
import { h, number, whole } from "./dom.js";

let library = null;
const load = () => (library ??= new Promise((done, failed) => {
  if (window.uPlot) return done(window.uPlot);
  document.head.append(h("link", { rel: "stylesheet", href: "vendor/uPlot.min.css" }), h("script", { src: "vendor/uPlot.iife.min.js", onload: () => done(window.uPlot), onerror: failed }));
}));
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Push labels apart until none is nearer than ``gap``. */
export function spread(labels, gap, low, high) {
  const sorted = [...labels].sort((p, q) => p.y - q.y);
  for (let pass = 0; pass < 30; pass++) sorted.forEach((l, i) => {
    const next = sorted[i + 1];
    if (next && next.y - l.y < gap) { const push = (gap - (next.y - l.y)) / 2; l.y -= push; next.y += push; }
    l.y = Math.min(high, Math.max(low, l.y));
  });
  return sorted;
}
/** The values of a line at other places. */
export function atPlaces(points, xs) {
  let i = 0;
  return xs.map((x) => {
    while (i < points.length - 1 && points[i + 1][0] <= x) i += 1;
    if (!points.length || x > points.at(-1)[0]) return null;
    const [a, b] = [points[i], points[Math.min(i + 1, points.length - 1)]];
    return b[0] > a[0] && x > a[0] ? a[1] + ((x - a[0]) / (b[0] - a[0])) * (b[1] - a[1]) : a[1];
  });
}

/**
 * A chart of fixed height. ``lines``: name, colour (a token), width, dash, text. ``draw(rounds, xs,
 * columns)`` shows data; a column is one line's values at the places xs.
 */
export function chart({ lines, height, label, axis = true, digits = 3, right = 104, range }) {
  const labels = h("div", { class: "chart-labels", "aria-hidden": "true" }), stage = h("div", { class: "chart-stage" }), box = h("div", { class: "chart", role: "img", "aria-label": label, vars: { height: `${height}px` } }, stage, labels);
  let plot = null, now = null, making = false, last = [];
  /** Names at the right edge: where the lines end once the scales are settled. */
  const place = () => {
    if (!plot) return;
    const found = lines.map((l, i) => ({ ...l, value: last[i], y: last[i] === undefined ? 0 : plot.valToPos(last[i], "y") + 8 })).filter((l) => l.name && l.value !== undefined && Number.isFinite(l.y));
    labels.replaceChildren(...spread(found, 16, 6, height - 14).map((l) => h("span", { class: l.text ?? "", vars: { top: `${l.y - 9}px` } }, `${l.name} ${l.quiet ? "" : number(l.value, digits)}`)));
  };
  const make = async (width) => {
    if (making) return;
    making = true;
    const Plot = await load();
    making = false;
    if (!box.isConnected || plot) return;
    const font = `13px ${getComputedStyle(document.body).fontFamily}`, axes = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font };
    plot = new Plot({
      width, height, cursor: { show: false }, legend: { show: false }, padding: [8, right, axis ? 0 : 8, 0],
      scales: { x: { time: false, range: () => [0, now?.rounds || 1] }, y: { range: (u, low, high) => range?.(low, high) ?? [Math.min(low, 0), high] } },
      axes: [{ ...axes, show: axis, size: 26, grid: { show: false }, space: 90, values: (u, v) => v.map(whole) }, { ...axes, size: 44, space: 40, values: (u, v) => v.map((x) => String(Number(x.toPrecision(4))).replace("-", "−")) }],
      hooks: { draw: [() => place()] },
      series: [{}, ...lines.map((l) => ({ stroke: colour(l.colour), width: l.width ?? 1.5, dash: l.dash, points: { show: false }, spanGaps: true }))],
    }, [[0], ...lines.map(() => [null])], stage);
    if (now) api.draw(now.rounds, now.xs, now.columns);
  };
  const observer = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (!width) return;
    if (!plot) make(width);
    else if (plot.width !== width) { plot.setSize({ width, height }); if (now) api.draw(now.rounds, now.xs, now.columns); }
  });
  observer.observe(box);
  const recolour = new MutationObserver(() => { if (!plot) return; const width = plot.width; plot.destroy(); plot = null; make(width); });
  recolour.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const api = {
    box,
    draw(rounds, xs, columns) {
      now = { rounds, xs, columns };
      last = columns.map((c) => c.findLast((v) => v !== null && v !== undefined));
      box.setAttribute("aria-label", `${label}: ${lines.map((l, i) => (l.name && last[i] !== undefined ? `${l.name} ${number(last[i], digits)}` : "")).filter(Boolean).join(", ")}`);
      if (!plot) return;
      plot.setData([xs.length ? xs : [0], ...columns.map((c) => (c.length ? c : [null]))]);
    },
    stop() { observer.disconnect(); recolour.disconnect(); plot?.destroy(); },
  };
  return api;
}
