// The graph on a canvas: drawing what is in sight, moving, zooming, choosing.

import { bytes, dtype, shape, time, value } from "./format";
import { Drawing, GAP_Y, holds, Line, Placed } from "./layout";
import { Graph, Item, Measures, Op } from "./model";

const COLOURS = ["background", "surface", "raised", "line", "edge", "text", "muted", "faint", "accent", "bad", "warm", "found",
  "product", "norm", "activation", "loss", "shape", "reduce", "other", "update"] as const;
type Colour = (typeof COLOURS)[number];

const FAMILIES: [RegExp, Colour][] = [
  [/conv|matrix_product|linear|matmul|bmm|addmm|einsum|attention|mm\b/, "product"],
  [/norm|dropout/, "norm"],
  [/loss|entropy|nll|mse/, "loss"],
  [/step_$|_step|sgd|adam/, "update"],
  [/relu|gelu|silu|sigmoid|tanh|softmax|pass_positive|mish|hardswish|pointwise/, "activation"],
  [/view|reshape|transpose|permute|clone|expand|slice|select|cat|stack|split|pad|squeeze|copy|ones|zeros/, "shape"],
  [/sum|mean|max|min|pool|embedding|index|gather/, "reduce"],
];

export function family(name: string): Colour {
  for (const [pattern, colour] of FAMILIES) if (pattern.test(name)) return colour;
  return "other";
}

export interface Marks {
  selected: Item | null;
  found: ReadonlySet<Op>;
  current: Op | null; // where the program stands
  stops: ReadonlySet<string>; // keys of ops and paths of modules with a breakpoint
}

export class GraphView {
  scale = 1;
  x = 0;
  y = 0;
  drawing: Drawing = { width: 0, height: 0, placed: [], byKey: new Map(), lines: [] };
  graph: Graph | null = null;
  measures: Measures | null = null;
  marks: Marks = { selected: null, found: new Set(), current: null, stops: new Set() };
  onSelect: (item: Item | null) => void = () => {};
  onToggle: (item: Item) => void = () => {};
  types: ReadonlyMap<string, string> = new Map(); // classes of modules by path
  drawn = 0; // how many items the last frame drew
  private colours = {} as Record<Colour, string>;
  private readonly context: CanvasRenderingContext2D;
  private waiting = false;
  private hovered: Item | null = null;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d")!;
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
    this.recolour();
  }

  /** Reads the colours of the style sheet: after a change of theme. */
  recolour(): void {
    const style = getComputedStyle(this.canvas);
    for (const name of COLOURS) this.colours[name] = style.getPropertyValue(`--${name}`).trim();
    this.draw();
  }

  private resize(): void {
    const ratio = devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.canvas;
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    this.paint();
  }

  // ---- moving ---------------------------------------------------------------------------------

  fit(): void {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    if (!w || !this.drawing.width) return;
    const room = 24;
    this.scale = Math.min((w - 2 * room) / this.drawing.width, (h - 2 * room) / this.drawing.height, 1.15);
    this.scale = Math.max(this.scale, 0.004);
    if (this.scale < 0.5) { // too small to read: begin at the top instead
      const wide = Math.min((w - 2 * room) / this.drawing.width, 1);
      this.scale = Math.max(this.scale, Math.min(wide, 0.85), 0.02);
    }
    this.x = (w - this.drawing.width * this.scale) / 2;
    this.y = Math.max((h - this.drawing.height * this.scale) / 2, room);
    this.draw();
  }

  zoom(factor: number, px = this.canvas.clientWidth / 2, py = this.canvas.clientHeight / 2): void {
    const scale = Math.min(Math.max(this.scale * factor, 0.004), 4);
    this.x = px - (px - this.x) * (scale / this.scale);
    this.y = py - (py - this.y) * (scale / this.scale);
    this.scale = scale;
    this.draw();
  }

  /** Brings an item into the middle. */
  show(item: Item): void {
    const p = this.drawing.byKey.get(item.key);
    if (!p) return;
    this.scale = Math.max(this.scale, 0.8);
    this.x = this.canvas.clientWidth / 2 - (p.x + p.width / 2) * this.scale;
    this.y = this.canvas.clientHeight / 2 - (p.y + Math.min(p.height / 2, 60)) * this.scale;
    this.draw();
  }

  /** Keeps an item where it is on the screen while the drawing around it changes. */
  keep(key: string, change: () => void): void {
    const before = this.drawing.byKey.get(key);
    change();
    const after = this.drawing.byKey.get(key);
    if (before && after) {
      this.x += (before.x + before.width / 2 - after.x - after.width / 2) * this.scale;
      this.y += (before.y - after.y) * this.scale;
    }
    this.draw();
  }

  /** The middle of an item in coordinates of the window, if it is drawn. */
  where(key: string): { x: number; y: number; width: number; height: number } | null {
    const p = this.drawing.byKey.get(key);
    if (!p) return null;
    const box = this.canvas.getBoundingClientRect();
    const top = p.open ? 12 : p.height / 2;
    return { x: box.left + this.x + (p.x + p.width / 2) * this.scale, y: box.top + this.y + (p.y + top) * this.scale,
      width: p.width * this.scale, height: p.height * this.scale };
  }

  private at(event: { offsetX: number; offsetY: number }): Placed | null {
    const x = (event.offsetX - this.x) / this.scale;
    const y = (event.offsetY - this.y) / this.scale;
    for (let i = this.drawing.placed.length - 1; i >= 0; i--) {
      const p = this.drawing.placed[i];
      const height = p.open ? 24 : p.height;
      if (x >= p.x && x <= p.x + p.width && y >= p.y && y <= p.y + height) return p;
    }
    return null;
  }

  private listen(): void {
    const canvas = this.canvas;
    let grabbed: { x: number; y: number; moved: boolean } | null = null;
    canvas.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      grabbed = { x: e.clientX, y: e.clientY, moved: false };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!grabbed) {
        const item = this.at(e)?.item ?? null;
        if (item !== this.hovered) {
          this.hovered = item;
          canvas.style.cursor = item ? "pointer" : "grab";
          this.draw();
        }
        return;
      }
      const dx = e.clientX - grabbed.x, dy = e.clientY - grabbed.y;
      if (!grabbed.moved && Math.hypot(dx, dy) < 4) return;
      grabbed = { x: e.clientX, y: e.clientY, moved: true };
      this.x += dx;
      this.y += dy;
      canvas.style.cursor = "grabbing";
      this.draw();
    });
    canvas.addEventListener("pointerup", (e) => {
      const was = grabbed;
      grabbed = null;
      canvas.style.cursor = "grab";
      if (was && !was.moved) this.onSelect(this.at(e)?.item ?? null);
    });
    canvas.addEventListener("pointerleave", () => {
      this.hovered = null;
      this.draw();
    });
    canvas.addEventListener("dblclick", (e) => {
      const p = this.at(e);
      if (p && p.item.kind === "box") this.onToggle(p.item);
    });
    canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      if (e.shiftKey) {
        this.x -= e.deltaY;
        this.draw();
      } else this.zoom(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.0016)), e.offsetX, e.offsetY);
    }, { passive: false });
    canvas.addEventListener("keydown", (e) => {
      const moves: Record<string, [number, number]> = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60],
        ArrowDown: [0, -60] };
      if (moves[e.key]) {
        this.x += moves[e.key][0];
        this.y += moves[e.key][1];
        this.draw();
      } else if (e.key === "+" || e.key === "=") this.zoom(1.25);
      else if (e.key === "-") this.zoom(0.8);
      else if (e.key === "0") this.fit();
      else if (e.key === "Enter" && this.marks.selected?.kind === "box") this.onToggle(this.marks.selected);
      else return;
      e.preventDefault();
    });
  }

  // ---- drawing --------------------------------------------------------------------------------

  /** Draws soon, once however often it was asked. */
  draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  private paint(): void {
    const c = this.context;
    const ratio = devicePixelRatio || 1;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = this.colours.background;
    c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const k = this.scale * ratio;
    c.setTransform(k, 0, 0, k, this.x * ratio, this.y * ratio);
    const left = -this.x / this.scale, top = -this.y / this.scale;
    const right = left + this.canvas.clientWidth / this.scale, bottom = top + this.canvas.clientHeight / this.scale;
    const seen = this.drawing.placed.filter((p) =>
      p.x <= right && p.x + p.width >= left && p.y <= bottom && p.y + p.height >= top);
    this.drawn = seen.length;
    for (const p of seen) if (p.open) this.paintBox(p);
    for (const line of this.drawing.lines) this.paintLine(line, left, top, right, bottom);
    this.paintCrossing();
    for (const p of seen) if (!p.open) this.paintItem(p);
  }

  private paintBox(p: Placed): void {
    const c = this.context;
    c.fillStyle = p.depth % 2 === 0 ? this.colours.surface : this.colours.background;
    c.strokeStyle = p.item === this.marks.selected ? this.colours.accent : this.colours.line;
    c.lineWidth = p.item === this.marks.selected ? 2 : 1;
    rounded(c, p.x, p.y, p.width, p.height, 10);
    c.fill();
    c.stroke();
    if (this.scale < 0.22 || p.item.kind !== "box") return;
    c.font = `600 12px ${FONT}`;
    c.fillStyle = this.colours.muted;
    c.textAlign = "left";
    c.textBaseline = "middle";
    c.fillText(p.item.label, p.x + 14, p.y + 16, p.width - 90);
    const type = p.item.type === "module" ? this.types.get(p.item.path) ?? "" : "";
    if (type && type !== p.item.label && p.width > 210) {
      const at = c.measureText(p.item.label).width + 7;
      c.font = `11px ${FONT}`;
      c.fillStyle = this.colours.faint;
      c.fillText(type, p.x + 14 + at, p.y + 16, p.width - 110 - at);
    }
    const sums = this.measures?.of(p.item);
    if (!sums) return;
    c.textAlign = "right";
    c.font = `11px ${FONT}`;
    c.fillStyle = this.colours.faint;
    c.fillText(time(sums.ns), p.x + p.width - 14, p.y + 16);
    if (this.marks.stops.has(p.item.path)) this.dot(p.x + 7, p.y + 16, this.colours.bad);
  }

  private paintLine(line: Line, left: number, top: number, right: number, bottom: number): void {
    let inside = [Infinity, Infinity, -Infinity, -Infinity];
    for (const [x, y] of line.points)
      inside = [Math.min(inside[0], x), Math.min(inside[1], y), Math.max(inside[2], x), Math.max(inside[3], y)];
    if (inside[0] > right || inside[2] < left || inside[1] > bottom || inside[3] < top) return;
    const c = this.context;
    const { selected } = this.marks;
    const lit = selected !== null && (line.from === selected || line.to === selected);
    c.strokeStyle = lit ? this.colours.accent : this.colours.edge;
    c.globalAlpha = lit || !selected ? 1 : 0.6;
    c.lineWidth = thickness(line.bytes);
    c.beginPath();
    const [first, ...rest] = line.points;
    c.moveTo(first[0], first[1]);
    let [x, y] = first;
    for (const [nx, ny] of rest) {
      const bend = Math.min(Math.abs(ny - y) / 2, GAP_Y);
      if (nx === x) c.lineTo(nx, ny);
      else c.bezierCurveTo(x, y + bend, nx, ny - bend, nx, ny);
      x = nx;
      y = ny;
    }
    c.stroke();
    if (this.scale > 0.3) {
      c.fillStyle = c.strokeStyle;
      c.beginPath();
      const half = 3 + c.lineWidth / 2;
      c.moveTo(x, y);
      c.lineTo(x - half, y - 6);
      c.lineTo(x + half, y - 6);
      c.fill();
    }
    c.globalAlpha = 1;
  }

  /** Lines from a forward op to the backward ops that it has, while one of them is selected. */
  private paintCrossing(): void {
    const { selected } = this.marks;
    if (!selected || selected.kind !== "op" || !this.graph) return;
    const pairs = this.graph.ops.filter((op) => op.of === selected.id || op.id === selected.of);
    const a = this.drawing.byKey.get(selected.key);
    if (!a) return;
    const c = this.context;
    c.save();
    c.strokeStyle = this.colours.accent;
    c.setLineDash([5, 5]);
    c.lineWidth = 1.2;
    for (const op of pairs) {
      const b = this.drawing.byKey.get(op.key);
      if (!b || op.phase === selected.phase) continue;
      const [from, to] = a.x < b.x ? [a, b] : [b, a];
      c.beginPath();
      c.moveTo(from.x + from.width, from.y + from.height / 2);
      const middle = (from.x + from.width + to.x) / 2;
      c.bezierCurveTo(middle, from.y + from.height / 2, middle, to.y + to.height / 2, to.x, to.y + to.height / 2);
      c.stroke();
    }
    c.restore();
  }

  private paintItem(p: Placed): void {
    const c = this.context;
    const { item } = p;
    const sums = this.measures?.of(item) ?? { ns: 0, bytes: 0, bad: 0 };
    const found = this.marks.found.size > 0 && this.holdsFound(item);
    const here = this.marks.current !== null && holds(item, this.marks.current);
    const input = item.kind === "box" && item.type === "input";
    c.fillStyle = found ? this.colours.found : input ? this.colours.background : this.colours.raised;
    c.strokeStyle = here || sums.bad ? this.colours.bad : item === this.marks.selected ? this.colours.accent
      : item === this.hovered ? this.colours.faint : this.colours.line;
    c.lineWidth = here || item === this.marks.selected ? 2.5 : sums.bad ? 1.8 : 1;
    if (item.kind === "box" && !input && this.scale > 0.12) { // a closed box looks like a pile
      rounded(c, p.x + 4, p.y + 4, p.width, p.height, 9);
      c.fill();
      c.stroke();
    }
    rounded(c, p.x, p.y, p.width, p.height, input ? p.height / 2 : 8);
    c.fill();
    c.stroke();
    if (this.scale < 0.09) return;
    if (item.kind === "op") {
      c.fillStyle = this.colours[family(item.name)];
      rounded(c, p.x + 5, p.y + 9, 3.5, p.height - 18, 1.75);
      c.fill();
    }
    if (this.scale < 0.22) return;
    this.paintText(p, sums, input);
    const share = this.measures?.share(item) ?? 0;
    if (share > 0.005 && !input) {
      const wide = p.width - 28;
      c.fillStyle = this.colours.line;
      rounded(c, p.x + 16, p.y + p.height - 6, wide, 2.5, 1.2);
      c.fill();
      c.fillStyle = this.colours.warm;
      rounded(c, p.x + 16, p.y + p.height - 6, Math.max(wide * Math.min(share, 1), 2.5), 2.5, 1.2);
      c.fill();
    }
    if (this.stopsAt(item)) this.dot(p.x + p.width - 1, p.y + 1, this.colours.bad);
  }

  private paintText(p: Placed, sums: { ns: number; bytes: number; bad: number }, input: boolean): void {
    const c = this.context;
    const { item } = p;
    c.textBaseline = "middle";
    c.textAlign = input ? "center" : "left";
    c.font = `600 12.5px ${FONT}`;
    c.fillStyle = input ? this.colours.muted : this.colours.text;
    const label = item.kind === "op" ? item.label || item.name : item.label;
    if (input) {
      c.fillText(label, p.x + p.width / 2, p.y + p.height / 2, p.width - 12);
      return;
    }
    const x = p.x + 16;
    c.fillText(label, x, p.y + 16, p.width - 28);
    const second = item.kind === "op" ? (item.label ? item.name : "") : item.type === "module" ? this.types.get(item.path) ?? "" : "";
    if (second) {
      const at = c.measureText(label).width + 7;
      c.font = `12px ${FONT}`;
      c.fillStyle = this.colours.muted;
      c.fillText(second, x + at, p.y + 16, Math.max(p.width - 44 - at, 10));
    }
    if (this.scale < 0.38) return;
    c.font = `11px ${FONT}`;
    c.fillStyle = this.colours.muted;
    if (item.kind === "op") {
      const out = item.outs[0];
      c.fillText(out ? `${shape(out[0])}  ${dtype(out[1])}` : "in place", x, p.y + 32, p.width - 26);
    } else c.fillText(`${item.count} ops · ${time(sums.ns)}`, x, p.y + 33, p.width - 26);
    if (item.kind === "op" && this.scale > 0.5) {
      c.textAlign = "right";
      c.fillStyle = this.colours.faint;
      c.font = `10px ${FONT}`;
      c.fillText(time(sums.ns), p.x + p.width - 12, p.y + 46);
      c.textAlign = "left";
      const stats = this.measures?.values.stats[item.id];
      if (stats) c.fillText(sums.bad ? `${sums.bad} not finite` : `μ ${value(stats[5])}`, x, p.y + 46, p.width - 80);
    } else if (item.kind === "box") {
      c.textAlign = "right";
      c.fillStyle = this.colours.faint;
      c.fillText(bytes(sums.bytes), p.x + p.width - 12, p.y + 33);
      c.fillText("▸", p.x + p.width - 12, p.y + 16);
    }
  }

  private holdsFound(item: Item): boolean {
    if (item.kind === "op") return this.marks.found.has(item);
    for (const op of this.marks.found) if (holds(item, op)) return true;
    return false;
  }

  private stopsAt(item: Item): boolean {
    const { stops } = this.marks;
    if (stops.size === 0) return false;
    if (item.kind === "box") return item.path !== "" && stops.has(item.path);
    return this.graph !== null && stops.has(this.graph.opKey(item));
  }

  private dot(x: number, y: number, colour: string): void {
    const c = this.context;
    c.fillStyle = colour;
    c.beginPath();
    c.arc(x, y, 4.5, 0, 7);
    c.fill();
  }
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';

/** Lines are as thick as what flows along them is large: from a hair for a scalar to 7 for a gigabyte. */
export function thickness(size: number): number {
  return Math.min(Math.max(0.8 + 0.32 * Math.max(Math.log2(Math.max(size, 1) / 512), 0), 0.8), 7);
}

function rounded(c: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, r: number): void {
  c.beginPath();
  c.roundRect(x, y, w, h, r);
}
