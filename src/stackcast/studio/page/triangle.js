// The triangle of regions with a point to drag. Lengths on the screen are lengths in the strategy
// space (scaled), so the circle around the point is what a forecast may be off by.
import { h, s, svg, replace, say, percent } from "./dom.js";
import { nearest } from "./geometry.js";

const path = (points) => (points.length ? `M${points.map((p) => p.map((v) => v.toFixed(2)).join(" ")).join("L")}Z` : "");
export const starPath = (x, y, r) => path(Array.from({ length: 10 }, (_, i) => {
  const angle = (Math.PI / 5) * i - Math.PI / 2, radius = i % 2 ? r * 0.42 : r;
  return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
}));
const diamond = (r) => `M0 ${-r}L${r} 0L0 ${r}L${-r} 0Z`;

/** Where a label of this size fits: furthest from the region's edges and from what is taken. */
function labelSpot(points, width, height, taken) {
  const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]), low = [Math.min(...xs), Math.min(...ys)], span = [Math.max(...xs) - low[0], Math.max(...ys) - low[1]];
  const turn = Math.sign(points.reduce((u, p, i) => u + p[0] * points[(i + 1) % points.length][1] - points[(i + 1) % points.length][0] * p[1], 0));
  const room = (q) => Math.min(...points.map((p, n) => {
    const r = points[(n + 1) % points.length], d = [r[0] - p[0], r[1] - p[1]];
    return (turn * (d[0] * (q[1] - p[1]) - d[1] * (q[0] - p[0]))) / (Math.hypot(...d) || 1e-9);
  }));
  let best = null, most = 0;
  for (let i = 1; i < 24; i++) for (let j = 1; j < 24; j++) {
    const q = [low[0] + (span[0] * i) / 24, low[1] + (span[1] * j) / 24];
    const corners = [[-1, -1], [1, -1], [-1, 1], [1, 1]].map(([u, v]) => room([q[0] + (u * width) / 2, q[1] + (v * height) / 2]));
    const free = taken.map((t) => Math.max(Math.abs(q[0] - t[0]) - width / 2, Math.abs(q[1] - t[1]) - height / 2) - 12);
    const least = Math.min(...corners, ...free);
    if (least > most) [best, most] = [q, least];
  }
  return best && [...best, most];
}
/** Beside the triangle, at an edge that the region shares with it, where there is room for the name. */
function besideLabel(frame, polygon, name, y) {
  const wide = name.length * 7.2 + 12;
  for (const [zero, sign] of [[1, 1], [2, -1]]) {
    const edge = polygon.filter((p) => p[zero] < 1e-9).map((p) => frame.xy(p));
    if (edge.length < 2) continue;
    for (const t of [0.5, 0.35, 0.65, 0.2, 0.8]) {
      const [a, b] = edge, x = a[0] + t * (b[0] - a[0]), at = a[1] + t * (b[1] - a[1]);
      if ((sign > 0 ? frame.width - x : x) >= wide) return s("text", { x: x + 9 * sign, y: at, "text-anchor": sign > 0 ? "start" : "end", class: `t${y % 7}`, "font-weight": 600 }, name);
    }
  }
  return null;
}
/** A name on one line where it fits, else on two, else beside the triangle. */
function regionLabel(frame, corners, name, y, taken) {
  const polygon = corners.map((p) => frame.xy(p));
  const cut = name.lastIndexOf(" "), tries = [[name], ...(cut > 0 ? [[name.slice(0, cut), name.slice(cut + 1)]] : [])];
  const found = tries.map((lines) => [lines, labelSpot(polygon, Math.max(...lines.map((l) => l.length)) * 7.6 + 6, lines.length * 16, taken)]).filter(([, at]) => at);
  const [lines, at] = found.find(([, p]) => p[2] > 14) ?? found.sort((p, q) => q[1][2] - p[1][2])[0] ?? [];
  if (at) return s("text", { y: at[1] + 4.5 - (lines.length - 1) * 8, "text-anchor": "middle", class: `t${y % 7}`, "font-weight": 600, "paint-order": "stroke", stroke: `var(--y${y % 7}-tint)`, "stroke-width": 5, "stroke-linejoin": "round" },
    lines.map((l, i) => s("tspan", { x: at[0], dy: i ? 16 : 0 }, l)));
  return besideLabel(frame, corners, name, y);
}

export class Frame {
  constructor(width, { label = 34, foot = 30, side = 8 } = {}) {
    this.width = width;
    this.edge = width - 2 * side;
    this.height = Math.round(this.edge * Math.sqrt(3) / 2 + label + foot);
    this.corners = [[width / 2, label], [side, this.height - foot], [width - side, this.height - foot]];
    this.scale = this.edge / Math.SQRT2;
  }
  xy(p) { return [0, 1].map((c) => p.reduce((u, v, i) => u + v * this.corners[i][c], 0)); }
  strategy([x, y]) {
    const [a, b, c] = this.corners, top = (b[1] - y) / (b[1] - a[1]);
    const right = (x - b[0] - top * (a[0] - b[0])) / (c[0] - b[0]);
    return [top, 1 - top - right, right];
  }
}

/** The still parts: regions with hue, pattern and a name each; corners. */
export function ground(frame, regions, names, { labels = true, corners = true, taken = [], thin = false } = {}) {
  const parts = [];
  regions.polygons.forEach((polygon, y) => {
    if (polygon.length < 3) return;
    const d = path(polygon.map((p) => frame.xy(p)));
    parts.push(s("path", { d, class: `y${y % 7}` }), y % 7 ? s("path", { d, fill: `url(#p${y % 7})` }) : null);
  });
  const space = path(regions.space.map((p) => frame.xy(p)));
  if (regions.limits.length || !regions.exact) parts.unshift(s("path", { d: path(frame.corners), class: "excluded" }));
  regions.polygons.forEach((polygon) => polygon.length > 2 && parts.push(s("path", { d: path(polygon.map((p) => frame.xy(p))), class: "border", "stroke-width": thin ? 1 : 2 })));
  parts.push(s("path", { d: path(frame.corners), class: "edge", "stroke-width": thin ? 1 : 1.25 }));
  if (regions.limits.length) parts.push(s("path", { d: space, class: "edge" }));
  if (labels) regions.polygons.forEach((polygon, y) => {
    const text = polygon.length > 2 ? regionLabel(frame, polygon, names.agent[y], y, taken) : null;
    if (text) parts.push(text);
  });
  if (corners) frame.corners.forEach(([x, y], i) => parts.push(s("text", { x: i ? (i === 1 ? 0 : frame.width) : x, y: i ? y + 20 : y - 13, "text-anchor": ["middle", "start", "end"][i], "font-weight": 600 }, names.principal[i])));
  return parts;
}

/** A triangle whose point is dragged, or moved with the arrow keys. */
export class Draggable {
  constructor({ regions, names, strategy, marks = () => [], moved, label = true }) {
    Object.assign(this, { regions, names, strategy, marks, moved });
    this.svg = svg(100, 100, null);
    this.svg.setAttribute("class", "drag");
    this.svg.setAttribute("role", "group");
    this.svg.setAttribute("aria-label", `Best-response regions of ${names.agent.join(", ")} in the triangle of ${names.principal.join(", ")}`);
    this.back = s("g"); this.over = s("g", { "pointer-events": "none" });
    this.handle = s("g", { class: "handle", tabindex: 0, role: "slider", "aria-label": "Your commitment", "aria-valuemin": 0, "aria-valuemax": 100 },
      s("circle", { r: 22, class: "area" }), s("path", { d: diamond(15), class: "focus" }), s("path", { d: diamond(10), class: "grip" }));
    this.svg.append(this.back, this.over, this.handle);
    this.svg.addEventListener("pointerdown", (e) => this.start(e));
    this.svg.addEventListener("pointermove", (e) => this.dragging && this.follow(e));
    for (const end of ["pointerup", "pointercancel"]) this.svg.addEventListener(end, () => { this.dragging = false; });
    this.handle.addEventListener("keydown", (e) => this.key(e));
    this.box = h("div", { class: "triangle" }, this.svg);
    new ResizeObserver(([entry]) => this.resize(Math.floor(entry.contentRect.width))).observe(this.box);
  }
  resize(width) {
    if (!width || width === this.frame?.width) return;
    this.frame = new Frame(width);
    for (const [k, v] of Object.entries({ width, height: this.frame.height, viewBox: `0 0 ${width} ${this.frame.height}` })) this.svg.setAttribute(k, v);
    this.draw();
  }
  /** Draw regions anew: after the game, the limits or the width changed. */
  draw() {
    if (!this.frame) return;
    const taken = this.magnets?.().map((m) => this.frame.xy(m)) ?? [];
    replace(this.back, ground(this.frame, this.regions, this.names, { taken }));
    this.move(this.strategy, false);
  }
  move(strategy, tell = true) {
    this.strategy = this.regions.inside(strategy);
    const whole = this.regions.whole(this.strategy), found = this.regions.at(whole);
    if (this.frame) {
      const [x, y] = this.frame.xy(this.strategy);
      this.handle.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
      this.handle.setAttribute("aria-valuenow", Math.round(100 * this.strategy[0]));
      this.handle.setAttribute("aria-valuetext", `${this.strategy.map((p, i) => `${percent(p * this.regions.free)} ${this.names.principal[i]}`).join(", ")}: ${this.names.agent[found.response]}`);
      replace(this.over, this.reach(x, y, found), this.marks(this.frame, found));
    }
    if (tell) this.moved(whole, found);
    return found;
  }
  /** The circle that a forecast may be off by, and the shortest way to each other region. */
  reach(x, y, found) {
    const parts = [];
    if (found.margin > 0.004 && Number.isFinite(found.margin)) {
      const id = this.clipId ??= `in-${Math.random().toString(36).slice(2, 8)}`;
      parts.push(s("clipPath", { id }, s("path", { d: path(this.frame.corners) })),
        s("circle", { cx: x, cy: y, r: (found.margin / this.regions.free) * this.frame.scale, class: "reach", "clip-path": `url(#${id})` }));
    }
    for (const { j, never, distance } of found.distances) {
      if (never || !(distance > 0.004) || this.regions.polygons[j].length < 3) continue;
      const to = this.frame.xy(nearest(this.regions.polygons[j], this.strategy));
      parts.push(s("path", { d: `M${x} ${y}L${to[0]} ${to[1]}`, class: "foot" }), s("circle", { cx: to[0], cy: to[1], r: 2 }));
    }
    return parts;
  }
  start(event) {
    if (event.button > 0) return;
    const box = this.svg.getBoundingClientRect();
    const at = [event.clientX - box.left, event.clientY - box.top];
    const inside = this.frame.strategy(at).every((p) => p > -0.04);
    if (!inside && !event.target.closest(".handle")) return;
    this.dragging = true;
    this.svg.setPointerCapture(event.pointerId);
    this.handle.focus({ preventScroll: true, focusVisible: false });
    event.preventDefault();
    this.follow(event);
  }
  follow(event) {
    const box = this.svg.getBoundingClientRect();
    let at = [event.clientX - box.left, event.clientY - box.top];
    let to = this.regions.inside(this.frame.strategy(at));
    if (!event.altKey) for (const magnet of this.magnets?.() ?? []) {
      const m = this.frame.xy(magnet);
      if (Math.hypot(m[0] - at[0], m[1] - at[1]) < 7) to = magnet;
    }
    this.move(to);
  }
  key(event) {
    const step = event.shiftKey ? 0.1 : event.altKey ? 0.001 : 0.01, [a, b, c] = this.strategy;
    const moves = {
      ArrowUp: [a + step, b - step / 2, c - step / 2], ArrowDown: [a - step, b + step / 2, c + step / 2],
      ArrowLeft: [a, b + step, c - step], ArrowRight: [a, b - step, c + step],
      Home: this.magnets?.()[0], End: this.magnets?.()[1],
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    const found = this.move(moves[event.key]);
    say(`${this.handle.getAttribute("aria-valuetext")}. You earn ${found.mine.toFixed(3)}.`);
  }
}
