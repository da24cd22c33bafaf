// What answers prove so far: between mixtures that drew the same answer, every mixture draws it.
import { h, s, svg, responsive } from "./dom.js";
import { Frame } from "./triangle.js";

function hull(points) {
  const p = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]), cross = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (q) => q.reduce((u, v) => { while (u.length > 1 && cross(u.at(-2), u.at(-1), v) <= 0) u.pop(); return [...u, v]; }, []);
  return p.length < 3 ? p : [...half(p).slice(0, -1), ...half([...p].reverse()).slice(0, -1)];
}
const halo = { "paint-order": "stroke", stroke: "var(--paper)", "stroke-width": 5, "stroke-linejoin": "round" };

/** A triangle for three actions, a line for two, counts of strategies for more. */
export const knownPicture = (c) => responsive((width) => (c.principal_actions.length === 3 ? triangle(c, width) : c.principal_actions.length === 2 ? line(c, width) : counts(c, width)), { class: "triangle" });

function triangle(c, width) {
  const frame = new Frame(width), parts = [s("path", { d: `M${frame.corners.map((p) => p.join(" ")).join("L")}Z`, class: "excluded" })], over = [];
  c.agent_actions.forEach((name, y) => {
    const mine = c.answers.filter((a) => a.response === y).map((a) => frame.xy(a.strategy)), edge = hull(mine), d = `M${edge.map((p) => p.join(" ")).join("L")}Z`;
    if (edge.length > 1) parts.push(s("path", { d, class: `y${y % 7}`, stroke: `var(--y${y % 7})`, "stroke-width": 2, "stroke-linejoin": "round" }), y % 7 && edge.length > 2 ? s("path", { d, fill: `url(#p${y % 7})` }) : s("g"));
    for (const [x, v] of mine) over.push(s("circle", { cx: x, cy: v, r: 5, class: `s${y % 7}`, stroke: "var(--paper)", "stroke-width": 1.5 }));
    if (!mine.length) return;
    const lowest = edge.reduce((u, p) => (p[1] > u[1] ? p : u)), at = [Math.min(Math.max(lowest[0], 40), width - 40), Math.min(lowest[1] + 20, frame.height - 34)];
    over.push(s("text", { x: at[0], y: at[1], "text-anchor": "middle", class: `t${y % 7}`, "font-weight": 600, ...halo }, name));
  });
  for (const a of c.answers.filter((v) => v.response === null)) { const [x, y] = frame.xy(a.strategy); over.push(s("circle", { cx: x, cy: y, r: 5, fill: "var(--paper)", stroke: "var(--ink)" }), s("text", { x, y: y + 4, "text-anchor": "middle", "font-size": 10 }, "?")); }
  frame.corners.forEach(([x, y], i) => over.push(s("text", { x: i ? (i === 1 ? 0 : width) : x, y: i ? y + 20 : y - 13, "text-anchor": ["middle", "start", "end"][i], "font-weight": 600 }, c.principal_actions[i])));
  const [x, y] = frame.xy(c.strategy);
  return svg(width, frame.height, "What the answers so far prove", parts, s("path", { d: `M${frame.corners.map((p) => p.join(" ")).join("L")}Z`, class: "edge" }), over, s("path", { d: "M0 -10L10 0L0 10L-10 0Z", class: "robust", "stroke-width": 2.5, transform: `translate(${x} ${y})` }));
}

function line(c, width) {
  const side = 14, top = 40, tall = 60, x = (h_) => side + h_[1] * (width - 2 * side), parts = [s("rect", { x: side, y: top, width: width - 2 * side, height: tall, class: "excluded" })];
  c.agent_actions.forEach((name, y) => {
    const mine = c.answers.filter((a) => a.response === y).map((a) => x(a.strategy));
    if (!mine.length) return;
    const low = Math.min(...mine), box = { x: low, y: top, width: Math.max(2, Math.max(...mine) - low), height: tall };
    parts.push(s("rect", { ...box, class: `y${y % 7}`, stroke: `var(--y${y % 7})`, "stroke-width": 2 }), y % 7 ? s("rect", { ...box, fill: `url(#p${y % 7})` }) : null, mine.map((v) => s("circle", { cx: v, cy: top + tall / 2, r: 5, class: `s${y % 7}`, stroke: "var(--paper)", "stroke-width": 1.5 })),
      s("text", { x: Math.min(Math.max(box.x + box.width / 2, 40), width - 40), y: top + tall + 18 + (y % 2) * 16, "text-anchor": "middle", class: `t${y % 7}`, "font-weight": 600 }, name));
  });
  for (const a of c.answers.filter((v) => v.response === null)) parts.push(s("circle", { cx: x(a.strategy), cy: top + tall / 2, r: 5, fill: "var(--paper)", stroke: "var(--ink)" }), s("text", { x: x(a.strategy), y: top + tall / 2 + 4, "text-anchor": "middle", "font-size": 10 }, "?"));
  parts.push(s("rect", { x: side, y: top, width: width - 2 * side, height: tall, class: "edge" }), s("text", { x: 0, y: top - 12, "font-weight": 600 }, `all ${c.principal_actions[0]}`), s("text", { x: width, y: top - 12, "text-anchor": "end", "font-weight": 600 }, `all ${c.principal_actions[1]}`),
    s("path", { d: "M0 -10L10 0L0 10L-10 0Z", class: "robust", "stroke-width": 2.5, transform: `translate(${x(c.strategy)} ${top + tall / 2})` }));
  return svg(width, top + tall + 44, "What the answers so far prove", parts);
}

function counts(c, width) {
  const n = c.agent_actions.map((_, y) => c.answers.filter((a) => a.response === y).length), most = Math.max(1, ...n), row = 26;
  return svg(width, n.length * row + 8, "Mixtures that drew each answer", c.agent_actions.map((name, y) => [s("text", { x: 0, y: y * row + 18 }, name), s("rect", { x: width * 0.45, y: y * row + 6, width: Math.max(1, (n[y] / most) * width * 0.45), height: 16, class: `y${y % 7}`, stroke: `var(--y${y % 7})` }), s("text", { x: width * 0.45 + (n[y] / most) * width * 0.45 + 8, y: y * row + 18, class: "tick" }, String(n[y]))]));
}
