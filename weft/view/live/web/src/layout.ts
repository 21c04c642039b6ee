// Places for what is visible: layers from top to bottom inside each open box, boxes from the innermost out.
//
// After Sugiyama: each item lies below all that it reads; lines over several layers get a bend in each; the order within
// a layer follows the mean place of the neighbours, up and down a few times; places come as near to these means as the
// order and the widths allow. All steps take time in proportion to items and bends, but for sorting.

import { Box, Graph, Item, Op } from "./model";

export const GAP_X = 22;
export const GAP_Y = 34;
const PORT_GAP = 7; // beside the row of ports, where lines enter or leave a box
const PAD = 16;
const HEAD = 26;
const MOST_BENDS = 6000;
const LONGEST_SPAN = 60;
const SWEEPS = 6;
const STRAIGHT = 1e4; // how much more a bend keeps its place than an item

export interface Placed {
  item: Item;
  x: number;
  y: number;
  width: number;
  height: number;
  open: boolean;
  depth: number;
}

export interface Line {
  from: Item;
  to: Item;
  bytes: number;
  points: [number, number][];
}

export interface Drawing {
  width: number;
  height: number;
  placed: Placed[];
  byKey: Map<string, Placed>;
  lines: Line[];
}

interface Inside {
  x: number[]; // of the items, then of the ports
  y: number[];
  ports: Map<string, number>; // their numbers
  width: number;
  height: number;
  ways: Map<string, [number, number][]>;
}

export function sizeOf(item: Item): [number, number] {
  if (item.kind === "op") return [Math.max(150, 7.4 * (item.name.length + (item.label ? item.label.length + 2 : 0)) + 34), 60];
  if (item.type === "input") return [Math.max(84, 7 * item.label.length + 28), 30];
  return [Math.max(184, 7.8 * item.label.length + 54), 58];
}

export function isOpen(item: Item, open: ReadonlySet<string>): item is Box {
  return item.kind === "box" && item.type !== "input" && (item.type === "phase" || open.has(item.key));
}

export function layout(graph: Graph, phases: number[], open: ReadonlySet<string>): Drawing {
  const drawing: Drawing = { width: 0, height: 0, placed: [], byKey: new Map(), lines: [] };
  let left = 0;
  for (const root of graph.phases.filter((p) => phases.includes(p.phase))) {
    const links = linksBetween(graph, root, open);
    origins.clear();
    const insides = new Map<string, Inside>();
    const bare = phases.length === 1;
    const [width, height] = measure(root, open, links, insides);
    place(root, left, 0, width, height, 0, bare, open, insides, drawing);
    addLines(graph, links, insides, drawing);
    left += width + 80;
    drawing.height = Math.max(drawing.height, height);
  }
  drawing.width = Math.max(left - 80, 0);
  return drawing;
}

/** The chain of boxes from a phase down to what is visible of an item, that item last. */
function chainOf(graph: Graph, item: Item, open: ReadonlySet<string>): Item[] {
  const chain: Item[] = [];
  for (const box of graph.around(item)) {
    chain.push(box);
    if (!isOpen(box, open)) return chain;
  }
  chain.push(item);
  return chain;
}

interface Link {
  from: Item; // the siblings that it joins
  to: Item;
  bytes: number;
  ends: Map<string, { from: Item; to: Item; bytes: number }>; // what is visible at its ends
}

interface Links {
  inside: Map<string, Map<string, Link>>; // of each open box
  ports: Map<string, Map<string, { port: string; item: Item; out: boolean }>>; // where lines cross its border
}

/** Links between the items of each open box, with the visible ends of each, and where they cross borders. */
function linksBetween(graph: Graph, root: Box, open: ReadonlySet<string>): Links {
  const links = new Map<string, Map<string, Link>>();
  const ports: Links["ports"] = new Map();
  const cross = (box: Item, port: string, item: Item, out: boolean): void => {
    let found = ports.get(box.key);
    if (!found) ports.set(box.key, (found = new Map()));
    found.set(`${port}>${item.key}`, { port, item, out });
  };
  const chains = new Map<string, Item[]>();
  const chain = (item: Item): Item[] => {
    let found = chains.get(item.key);
    if (!found) chains.set(item.key, (found = chainOf(graph, item, open)));
    return found;
  };
  const add = (a: Item[], b: Item[], bytes: number): void => {
    let k = 0;
    while (k < a.length && k < b.length && a[k] === b[k]) k++;
    if (k === 0 || k >= a.length || k >= b.length) return; // inside of one closed box
    const box = a[k - 1].key;
    const key = `${a[k].key}>${b[k].key}`;
    let inBox = links.get(box);
    if (!inBox) links.set(box, (inBox = new Map()));
    let link = inBox.get(key);
    if (!link) inBox.set(key, (link = { from: a[k], to: b[k], bytes: 0, ends: new Map() }));
    link.bytes += bytes;
    const from = a[a.length - 1], to = b[b.length - 1];
    const end = link.ends.get(`${from.key}>${to.key}`);
    if (end) {
      end.bytes = Math.max(end.bytes, bytes);
      return;
    }
    link.ends.set(`${from.key}>${to.key}`, { from, to, bytes });
    for (let j = k; j < a.length - 1; j++) cross(a[j], `out:${from.key}`, a[j + 1], true);
    for (let j = k; j < b.length - 1; j++) cross(b[j], `in:${from.key}`, b[j + 1], false);
  };
  const inputs = new Map<number, Item>();
  for (const item of root.items)
    for (const each of item.kind === "box" && item.type === "run" ? item.items : [item])
      if (each.kind === "box" && each.type === "input") inputs.set(-2 - Number(each.label.slice(6)), each);
  for (const op of graph.ops) {
    if (op.phase !== root.phase) continue;
    for (const [made, bytes, name] of op.reads) {
      const source: Item | undefined = made >= 0 ? graph.ops[made] : name ? undefined : inputs.get(made);
      if (source && source.phase === op.phase) add(chain(source), chain(op), bytes);
    }
  }
  return { inside: links, ports };
}

function measure(box: Box, open: ReadonlySet<string>, links: Links, insides: Map<string, Inside>): [number, number] {
  const sizes = box.items.map((item) => (isOpen(item, open) ? measure(item, open, links, insides) : sizeOf(item)));
  const number = new Map(box.items.map((item, i) => [item.key, i]));
  const pairs: [number, number, string][] = [];
  for (const [key, link] of links.inside.get(box.key) ?? [])
    pairs.push([number.get(link.from.key)!, number.get(link.to.key)!, key]);
  const ports = new Map<string, number>();
  const [top, bottom] = [new Set<number>(), new Set<number>()];
  for (const [key, { port, item, out }] of links.ports.get(box.key) ?? []) {
    let at = ports.get(port);
    if (at === undefined) {
      ports.set(port, (at = sizes.length));
      sizes.push([4, 0]);
      (out ? bottom : top).add(at);
    }
    pairs.push(out ? [number.get(item.key)!, at, key] : [at, number.get(item.key)!, key]);
  }
  const inside = { ...arrange(sizes, pairs, top, bottom), ports };
  insides.set(box.key, inside);
  return [Math.max(inside.width + 2 * PAD, 7.8 * box.label.length + 70), inside.height + HEAD + 2 * PAD];
}

/** Places the items of one box, of these sizes, joined by these pairs (each with a name for its way); those of `first`
 * and of `last` are ports on its borders. */
export function arrange(sizes: [number, number][], pairs: [number, number, string][], first: ReadonlySet<number> = new Set(),
  last: ReadonlySet<number> = new Set()): Omit<Inside, "ports"> {
  const n = sizes.length;
  const layer = Array.from({ length: n }, (_, v): number => (first.size && !first.has(v) ? 1 : 0));
  const before: number[][] = sizes.map(() => []);
  for (const [a, b] of pairs) before[b].push(a);
  const order = topological(n, pairs);
  for (const v of order) for (const u of before[v]) layer[v] = Math.max(layer[v], layer[u] + 1);
  // What nobody feeds goes right above what reads it first.
  const after: number[][] = sizes.map(() => []);
  for (const [a, b] of pairs) after[a].push(b);
  for (const v of [...order].reverse())
    if (before[v].length === 0 && after[v].length > 0 && !first.has(v)) layer[v] = Math.min(...after[v].map((w) => layer[w])) - 1;

  if (last.size) {
    const lowest = maximum(layer.filter((_, v) => !last.has(v)));
    for (const v of last) layer[v] = lowest + 1;
  }

  const width = sizes.map((s) => s[0]);
  const up: number[][] = sizes.map(() => []);
  const down: number[][] = sizes.map(() => []);
  const bends = new Map<string, number[]>();
  let left = MOST_BENDS;
  const join = (a: number, b: number): void => {
    down[a].push(b);
    up[b].push(a);
  };
  for (const [a, b, key] of [...pairs].sort((p, q) => layer[p[1]] - layer[p[0]] - layer[q[1]] + layer[q[0]])) {
    const span = layer[b] - layer[a] - 1;
    const chain: number[] = [];
    if (span > 0 && span <= LONGEST_SPAN && left >= span) {
      left -= span;
      let above = a;
      for (let k = 0; k < span; k++) {
        const bend = width.length;
        width.push(4);
        layer.push(layer[a] + k + 1);
        up.push([]);
        down.push([]);
        join(above, bend);
        chain.push(bend);
        above = bend;
      }
      join(above, b);
    } else join(a, b);
    bends.set(key, chain);
  }
  const lowest = maximum(layer);
  const rows: number[][] = Array.from({ length: Math.max(lowest, -1) + 1 }, () => []);
  layer.forEach((row, v) => rows[row].push(v));
  sortRows(rows, up, down, width.length);
  const x = spread(rows, width, up, down, n);
  let low = Infinity;
  x.forEach((at, v) => (low = Math.min(low, at - width[v] / 2)));
  let right = 0;
  for (let v = 0; v < x.length; v++) {
    x[v] -= low;
    right = Math.max(right, x[v] + width[v] / 2);
  }
  const top: number[] = [];
  const tall: number[] = [];
  let at = 0;
  rows.forEach((row, i) => {
    const height = row.reduce((most, v) => (v < n ? Math.max(most, sizes[v][1]) : most), 0);
    top.push(at);
    tall.push(height);
    const bordering = (i === 0 && first.size > 0) || (i >= rows.length - 2 && last.size > 0);
    at += i === rows.length - 1 ? height : height + (bordering ? PORT_GAP : GAP_Y);
  });
  const y = sizes.map((_, v) => top[layer[v]] + tall[layer[v]] / 2);
  const ways = new Map<string, [number, number][]>();
  for (const [key, chain] of bends) {
    const way: [number, number][] = [];
    chain.forEach((v, i) => {
      const [above, below] = [chain[i - 1], chain[i + 1]];
      if (above === undefined || Math.abs(x[above] - x[v]) > 0.5) way.push([x[v], top[layer[v]]]);
      if (below === undefined || Math.abs(x[below] - x[v]) > 0.5) way.push([x[v], top[layer[v]] + tall[layer[v]]]);
    });
    if (way.length) ways.set(key, way);
  }
  return { x: x.slice(0, n), y, width: right, height: at, ways };
}

function maximum(values: number[]): number {
  let most = -Infinity;
  for (const v of values) most = Math.max(most, v);
  return most;
}

/** An order in which nothing comes before what it reads; what lies in a circle comes last. */
function topological(n: number, pairs: [number, number, string][]): number[] {
  const waits = new Array<number>(n).fill(0);
  const after: number[][] = Array.from({ length: n }, () => []);
  for (const [a, b] of pairs) {
    waits[b]++;
    after[a].push(b);
  }
  const found: number[] = [];
  for (let v = 0; v < n; v++) if (waits[v] === 0) found.push(v);
  for (let i = 0; i < found.length; i++) for (const w of after[found[i]]) if (--waits[w] === 0) found.push(w);
  return found;
}

function sortRows(rows: number[][], up: number[][], down: number[][], count: number): void {
  const place = new Float64Array(count);
  for (const row of rows) row.forEach((v, i) => (place[v] = i));
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const near = sweep % 2 === 0 ? up : down;
    const walk = sweep % 2 === 0 ? rows : [...rows].reverse();
    for (const row of walk) {
      if (row.length < 2) continue;
      const wanted = new Map<number, number>();
      for (const v of row) {
        const around = near[v];
        wanted.set(v, around.length ? around.reduce((sum, u) => sum + place[u], 0) / around.length : place[v]);
      }
      row.sort((a, b) => wanted.get(a)! - wanted.get(b)!);
      row.forEach((v, i) => (place[v] = i));
    }
  }
}

/** A place for each item and bend: near its neighbours, apart from the next. */
function spread(rows: number[][], width: number[], up: number[][], down: number[][], items: number): number[] {
  const x = new Array<number>(width.length).fill(0);
  for (const row of rows) {
    const whole = row.reduce((sum, v) => sum + width[v] + GAP_X, 0);
    let at = -whole / 2;
    for (const v of row) {
      x[v] = at + width[v] / 2;
      at += width[v] + GAP_X;
    }
  }
  for (let sweep = 0; sweep < SWEEPS + 2; sweep++) {
    const last = sweep >= SWEEPS;
    const downward = sweep % 2 === 0;
    for (const row of downward ? rows : [...rows].reverse())
      placeRow(row, x, width, (v) => (last ? [...up[v], ...down[v]] : downward ? up[v] : down[v]), items);
  }
  return x;
}

/** Places a row by least squares, in its order: neighbours that overlap move as one block. */
function placeRow(row: number[], x: number[], width: number[], near: (v: number) => number[], items: number): void {
  const blocks: [number, number, number][] = []; // place of the first, weight, how many
  const offsets: number[] = [];
  let shift = 0;
  row.forEach((v, i) => {
    if (i > 0) shift += (width[row[i - 1]] + width[v]) / 2 + GAP_X;
    offsets.push(shift);
    let around = near(v);
    if (v >= items) { // a bend stays below the one above it: long lines are straight
      const bends = around.filter((u) => u >= items);
      around = bends.length ? bends : around;
    }
    const wanted = around.length ? around.reduce((sum, u) => sum + x[u], 0) / around.length : x[v];
    let block: [number, number, number] = [wanted - shift, around.length ? (v >= items ? STRAIGHT : 1 + around.length) : 0.1, 1];
    while (blocks.length && blocks[blocks.length - 1][0] > block[0]) {
      const other = blocks.pop()!;
      const weight = other[1] + block[1];
      block = [(other[0] * other[1] + block[0] * block[1]) / weight, weight, other[2] + block[2]];
    }
    blocks.push(block);
  });
  let i = 0;
  for (const [first, , count] of blocks)
    for (let k = 0; k < count; k++, i++) x[row[i]] = first + offsets[i];
}

function place(box: Box, left: number, top: number, width: number, height: number, depth: number, bare: boolean,
  open: ReadonlySet<string>, insides: Map<string, Inside>, drawing: Drawing): void {
  const inside = insides.get(box.key)!;
  if (!bare) add(drawing, { item: box, x: left, y: top, width, height, open: true, depth });
  const x0 = left + (width - inside.width) / 2;
  const y0 = top + HEAD + PAD;
  origins.set(box.key, [x0, y0]);
  box.items.forEach((item, i) => {
    const size = isOpen(item, open) ? sizeOfOpen(item, insides) : sizeOf(item);
    const x = x0 + inside.x[i] - size[0] / 2;
    const y = y0 + inside.y[i] - size[1] / 2;
    if (isOpen(item, open)) place(item, x, y, size[0], size[1], depth + 1, false, open, insides, drawing);
    else add(drawing, { item, x, y, width: size[0], height: size[1], open: false, depth: depth + 1 });
  });
}

const origins = new Map<string, [number, number]>();

function sizeOfOpen(box: Box, insides: Map<string, Inside>): [number, number] {
  const inside = insides.get(box.key)!;
  return [Math.max(inside.width + 2 * PAD, 7.8 * box.label.length + 70), inside.height + HEAD + 2 * PAD];
}

function add(drawing: Drawing, placed: Placed): void {
  drawing.placed.push(placed);
  drawing.byKey.set(placed.item.key, placed);
}

/** Lines between what is visible, from port to port where they leave and enter boxes. */
function addLines(graph: Graph, links: Links, insides: Map<string, Inside>, drawing: Drawing): void {
  const bends = (box: Item, key: string): [number, number][] => {
    const [x0, y0] = origins.get(box.key)!;
    return (insides.get(box.key)!.ways.get(key) ?? []).map(([x, y]) => [x + x0, y + y0]);
  };
  const port = (box: Item, name: string): number => {
    const inside = insides.get(box.key)!;
    return inside.x[inside.ports.get(name)!] + origins.get(box.key)![0];
  };
  for (const [boxKey, inBox] of links.inside) {
    const outer = graph.boxes.get(boxKey)!;
    if (!insides.has(boxKey)) continue;
    for (const [key, link] of inBox)
      for (const { from, to, bytes } of link.ends.values()) {
        const a = drawing.byKey.get(from.key)!, b = drawing.byKey.get(to.key)!;
        const points: [number, number][] = [[a.x + a.width / 2, a.y + a.height]];
        let inner: Item = from;
        while (inner !== link.from) {
          const box = inner.parent!;
          const p = drawing.byKey.get(box.key)!;
          points.push(...bends(box, `out:${from.key}>${inner.key}`), [port(box, `out:${from.key}`), p.y + p.height]);
          inner = box;
        }
        points.push(...bends(outer, key));
        const boxes = graph.around(to);
        const path = [...boxes.slice(boxes.indexOf(outer) + 1), to];
        for (let j = 0; j < path.length - 1; j++) {
          const p = drawing.byKey.get(path[j].key)!;
          points.push([port(path[j], `in:${from.key}`), p.y], ...bends(path[j], `in:${from.key}>${path[j + 1].key}`));
        }
        points.push([b.x + b.width / 2, b.y]);
        drawing.lines.push({ from, to, bytes, points });
      }
  }
}

/** Whether an op is one of those that an item stands for. */
export function holds(item: Item, op: Op): boolean {
  return item.kind === "op" ? item === op : op.phase === item.phase && op.id >= item.first && op.id <= item.last;
}
