// Regions as halfspaces, which the server sends once for a game. The page only clips, projects and
// compares, so that a dragged point never waits.

export const dot = (a, b) => { let sum = 0; for (let i = 0; i < a.length; i++) sum += a[i] * b[i]; return sum; };
const minus = (a, b) => a.map((v, i) => v - b[i]);
const along = (a, b, t) => a.map((v, i) => v + t * (b[i] - v));
export const distance = (a, b) => Math.hypot(...minus(a, b));

/** The part of a convex polygon where normal·h ≤ bound. */
export function clip(polygon, { normal, bound }) {
  const kept = [];
  polygon.forEach((p, i) => {
    const q = polygon[(i + 1) % polygon.length], up = dot(normal, p) - bound, uq = dot(normal, q) - bound;
    if (up <= 1e-12) kept.push(p);
    if ((up < -1e-12 && uq > 1e-12) || (up > 1e-12 && uq < -1e-12)) kept.push(along(p, q, up / (up - uq)));
  });
  return kept;
}
const simplex = (m) => Array.from({ length: m }, (_, i) => Array.from({ length: m }, (_, j) => Number(i === j)));

/** The nearest point of a convex polygon's boundary. */
export function nearest(polygon, h) {
  let best = null, least = Infinity;
  polygon.forEach((p, i) => {
    const q = polygon[(i + 1) % polygon.length], d = minus(q, p), n = dot(d, d);
    const t = n < 1e-18 ? 0 : Math.min(1, Math.max(0, dot(minus(h, p), d) / n));
    const to = along(p, q, t), far = distance(to, h);
    if (far < least) [best, least] = [to, far];
  });
  return best;
}

/**
 * The regions of a game in two or three shares, the rest of the strategy held. Points of the picture
 * are shares of what is not held; `whole` and `part` translate.
 */
export class Regions {
  constructor(see, chosen = null, held = null) {
    const g = see.geometry;
    Object.assign(this, { see, g, exact: see.known === "known" });
    this.m = g.principal_payoffs.length; this.k = g.principal_payoffs[0].length;
    this.chosen = chosen ?? Array.from({ length: this.m }, (_, x) => x);
    this.held = (held ?? new Array(this.m).fill(0)).map((p, x) => (this.chosen.includes(x) ? 0 : p));
    this.free = Math.max(1e-9, 1 - this.held.reduce((a, b) => a + b, 0));
    const cut = ({ normal, bound }) => ({ normal: this.chosen.map((x) => this.free * normal[x]), bound: bound - dot(normal, this.held) });
    this.limits = g.limits.filter((l) => l.normal.filter((v) => v !== 0).length > 1 || l.bound !== 0);
    this.space = g.limits.map(cut).reduce(clip, simplex(this.chosen.length));
    this.polygons = g.regions.map((ties) => ties.map(cut).reduce(clip, this.space));
    this.never = g.never;
    this.cut = cut;
  }
  whole(part) {
    const h = [...this.held];
    this.chosen.forEach((x, i) => { h[x] = part[i] * this.free; });
    return h;
  }
  part(whole) { return this.chosen.map((x) => whole[x] / this.free); }
  /** Region y of the picture, keeping a margin to every region that exists. */
  inner(y, margin) {
    return this.g.regions[y].filter((t) => !(margin > 0 && this.never[t.other]))
      .reduce((p, t) => clip(p, this.cut({ normal: t.normal, bound: t.bound - margin * t.length })), this.space);
  }
  /** Signed distances from a whole strategy, answered y, to the ties with the other actions. */
  distances(h, y) {
    return this.g.regions[y].map((t) => ({ j: t.other, never: this.never[t.other], distance: t.length < 1e-12 ? Infinity : (t.bound - dot(t.normal, h)) / t.length }));
  }
  /** What follows from committing to a whole strategy; ties are broken for you, and said. */
  at(h) {
    const mix = (payoffs, offsets) => offsets.map((o, y) => o + h.reduce((u, p, x) => u + p * payoffs[x][y], 0));
    const { g, see } = this, mine = mix(g.principal_payoffs, g.principal_offsets), theirs = mix(g.agent_payoffs, g.agent_offsets);
    const flat = g.agent_payoffs.flat(), spread = Math.max(...flat) - Math.min(...flat) || 1, most = Math.max(...theirs);
    const tied = theirs.map((u, y) => y).filter((y) => most - theirs[y] <= 1e-9 * spread);
    const response = tied.reduce((a, y) => (mine[y] > mine[a] + 1e-12 ? y : a), tied[0]);
    let possible = [response];
    if (!this.exact) {
      const low = mix(see.low, g.agent_offsets), high = mix(see.high, g.agent_offsets), sure = Math.max(...low);
      possible = high.map((u, y) => y).filter((y) => high[y] >= sure - 1e-12);
    }
    const distances = this.distances(h, response);
    const margin = Math.max(0, Math.min(...distances.filter((d) => !d.never).map((d) => d.distance)));
    return { possible, worst: Math.min(...possible.map((y) => mine[y])), response, tied, mine: mine[response], theirs: theirs[response], distances, margin };
  }
  /** The nearest point of the picture that may be committed to. */
  inside(part) {
    const cuts = this.limits.map(this.cut);
    const out = part.some((p) => p < -1e-9) || cuts.some((f) => dot(f.normal, part) > f.bound + 1e-9);
    return out && this.space.length ? nearest(this.space, part) : part.map((p) => Math.max(0, p));
  }
}
