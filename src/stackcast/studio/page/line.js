// Two actions: the strategies are a line, and the regions are stretches of it.
import { h, s, svg, percent, replace, say } from "./dom.js";

export function lineView({ regions, names, strategy, marks, moved }) {
  const top = 44, tall = 76, side = 14, height = 160;
  const picture = svg(100, height, null), back = s("g"), over = s("g", { "pointer-events": "none" });
  const handle = s("g", { class: "handle", tabindex: 0, role: "slider", "aria-label": "Your commitment", "aria-valuemin": 0, "aria-valuemax": 100 },
    s("circle", { r: 22, class: "area" }), s("path", { d: "M0 -15L15 0L0 15L-15 0Z", class: "focus" }), s("path", { d: "M0 -10L10 0L0 10L-10 0Z", class: "grip" }));
  picture.setAttribute("class", "drag");
  picture.append(back, over, handle);
  const tool = { regions, names, strategy, box: h("div", { class: "triangle" }, picture) };
  tool.frame = null;
  const x = (p) => side + p[1] * (tool.width - 2 * side);
  const frame = { xy: (p) => [x(p), top + tall / 2] };
  tool.draw = () => {
    if (!tool.width) return;
    replace(back, tool.regions.polygons.map((p, y) => {
      if (p.length < 2) return null;
      const ends = p.map(x), box = { x: Math.min(...ends), width: Math.max(...ends) - Math.min(...ends), y: top, height: tall };
      if (box.width < 0.5) return null;
      return s("g", {}, s("rect", { ...box, class: `y${y % 7}` }), y % 7 ? s("rect", { ...box, fill: `url(#p${y % 7})` }) : s("g"), s("rect", { ...box, class: "border" }),
        s("text", { x: box.x + box.width / 2, y: top + tall + 18, "text-anchor": "middle", class: `t${y % 7}`, "font-weight": 600 }, box.width > 60 ? tool.names.agent[y] : ""));
    }), s("rect", { x: side, y: top, width: tool.width - 2 * side, height: tall, class: "edge" }),
      s("text", { x: 0, y: top - 12, "font-weight": 600 }, `all ${tool.names.principal[0]}`), s("text", { x: tool.width, y: top - 12, "text-anchor": "end", "font-weight": 600 }, `all ${tool.names.principal[1]}`));
    tool.move(tool.strategy, false);
  };
  tool.move = (to, tell = true) => {
    tool.strategy = tool.regions.inside(to);
    const whole = tool.regions.whole(tool.strategy), found = tool.regions.at(whole);
    if (tool.width) {
      handle.setAttribute("transform", `translate(${x(tool.strategy)} ${top + tall / 2})`);
      handle.setAttribute("aria-valuenow", Math.round(100 * tool.strategy[0]));
      handle.setAttribute("aria-valuetext", `${percent(tool.strategy[0])} ${tool.names.principal[0]}: ${tool.names.agent[found.response]}`);
      const reach = Number.isFinite(found.margin) ? (found.margin / Math.SQRT2) * (tool.width - 2 * side) : 0, at = x(tool.strategy);
      const left = Math.max(side, at - reach), right = Math.min(tool.width - side, at + reach);
      replace(over, s("rect", { x: left, width: right - left, y: top, height: tall, class: "reach" }), marks(frame, found).filter((m) => m.tagName !== "path" || m.getAttribute("class") !== "inner"));
    }
    if (tell) moved(whole, found);
    return found;
  };
  const follow = (event) => {
    const box = picture.getBoundingClientRect(), at = Math.min(1, Math.max(0, (event.clientX - box.left - side) / (tool.width - 2 * side)));
    tool.move([1 - at, at]);
  };
  picture.addEventListener("pointerdown", (e) => { tool.dragging = true; picture.setPointerCapture(e.pointerId); handle.focus({ preventScroll: true, focusVisible: false }); e.preventDefault(); follow(e); });
  picture.addEventListener("pointermove", (e) => tool.dragging && follow(e));
  for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, () => { tool.dragging = false; });
  handle.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 0.01, ArrowUp: 0.01, ArrowLeft: -0.01, ArrowDown: -0.01 }[e.key];
    const to = { Home: 0, End: 1 }[e.key];
    if (to !== undefined && tool.magnets?.()[to]) { e.preventDefault(); tool.move(tool.magnets()[to]); say(handle.getAttribute("aria-valuetext")); return; }
    if (!step) return;
    e.preventDefault();
    const q = Math.min(1, Math.max(0, tool.strategy[1] + step * (e.shiftKey ? 10 : e.altKey ? 0.1 : 1)));
    tool.move([1 - q, q]);
    say(handle.getAttribute("aria-valuetext"));
  });
  new ResizeObserver(([entry]) => {
    tool.width = Math.floor(entry.contentRect.width);
    tool.frame = frame;
    for (const [k, v] of Object.entries({ width: tool.width, viewBox: `0 0 ${tool.width} ${height}` })) picture.setAttribute(k, v);
    tool.draw();
  }).observe(tool.box);
  return tool;
}
