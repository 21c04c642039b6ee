// What the program sent, as a tree of boxes (calls of modules) with ops at its leaves, and what of it is visible.

export type Stats = [number, number, number, number, number, number, number, number[]];
export type Row = [string, number, number, number, [number, number, string][], [number[], string][], number, number,
  string[]];

export interface Excerpt {
  file: string;
  number?: number;
  function?: string;
  first?: number;
  code: string[];
}

export interface GraphData {
  signature: string;
  rows: Row[];
  modules: string[];
  lines: Excerpt[];
}

export interface ValueData {
  step: number;
  ns: number[];
  live: number[];
  stats: (Stats | null)[];
  total: number;
  left_out?: number;
}

export const PHASES = ["forward", "backward", "update"];

/** One op of the step. */
export interface Op {
  kind: "op";
  id: number;
  key: string;
  name: string;
  label: string; // of the module that it is alone in, or ""
  phase: number;
  module: string;
  line: number;
  reads: [number, number, string][];
  outs: [number[], string][];
  bytes: number;
  of: number;
  attributes: string[];
  parent: Box;
}

/** A call of a module, a phase, a tensor from outside, or a run of things too many to show one by one. */
export interface Box {
  kind: "box";
  type: "phase" | "module" | "run" | "input";
  key: string;
  label: string;
  path: string;
  phase: number;
  items: Item[];
  first: number;
  last: number;
  count: number;
  parent: Box | null;
}

export type Item = Op | Box;

const MOST_ITEMS = 160;

export class Graph {
  readonly ops: Op[] = [];
  readonly phases: Box[] = [];
  readonly boxes = new Map<string, Box>();
  readonly readers: [number, number][][] = [];

  constructor(readonly data: GraphData) {
    data.rows.forEach((row, id) => {
      const [name, phase, module, line, reads, outs, bytes, of, attributes] = row;
      this.ops.push({
        kind: "op", id, key: `op${id}`, name, label: "", phase, module: data.modules[module], line, reads, outs, bytes, of,
        attributes, parent: undefined as unknown as Box,
      });
      this.readers.push([]);
    });
    for (const op of this.ops)
      for (const [made, size] of op.reads) if (made >= 0) this.readers[made].push([op.id, size]);
    for (let phase = 0; phase < 3; phase++) this.build(phase);
  }

  private box(type: Box["type"], label: string, path: string, phase: number, parent: Box | null, key: string): Box {
    const made: Box = { kind: "box", type, key, label, path, phase, items: [], first: Infinity, last: -1, count: 0,
      parent };
    this.boxes.set(key, made);
    return made;
  }

  /** Calls of modules as boxes: the ops of a call follow each other, so boxes have an order as ops have. */
  private build(phase: number): void {
    const ops = this.ops.filter((op) => op.phase === phase);
    if (ops.length === 0) return;
    const root = this.box("phase", PHASES[phase], "", phase, null, PHASES[phase]);
    this.phases.push(root);
    const stack: Box[] = [root];
    const names: string[] = [];
    const counts = new Map<string, number>();
    const outside = new Set<number>();
    for (const op of ops) {
      const wanted = op.module ? op.module.split(".") : [];
      let same = 0;
      while (same < names.length && same < wanted.length && names[same] === wanted[same]) same++;
      names.length = same;
      stack.length = same + 1;
      for (const name of wanted.slice(same)) {
        const parent = stack[stack.length - 1];
        names.push(name);
        const stem = `${parent.key}/${name}`;
        const nth = counts.get(stem) ?? 0;
        counts.set(stem, nth + 1);
        const made = this.box("module", name, names.join("."), phase, parent, `${stem}:${nth}`);
        parent.items.push(made);
        stack.push(made);
      }
      for (const [made, , name] of op.reads) {
        if (made > -2 || name || phase !== 0 || outside.has(made)) continue;
        outside.add(made);
        const input = this.box("input", `input ${-2 - made}`, "", phase, root, `${root.key}/input:${-2 - made}`);
        input.first = input.last = Math.min(stack[1]?.first ?? op.id, op.id) - 0.5;
        root.items.push(input);
      }
      op.parent = stack[stack.length - 1];
      op.parent.items.push(op);
      for (const box of stack) {
        box.first = Math.min(box.first, op.id);
        box.last = Math.max(box.last, op.id);
        box.count++;
      }
    }
    this.unwrap(root);
    root.items.sort((a, b) => firstOf(a) - firstOf(b));
    this.split(root);
  }

  /** A module around a single op says nothing more than the op: the op takes its place, and its name. */
  private unwrap(box: Box): void {
    box.items = box.items.map((item) => {
      if (item.kind === "op" || item.type !== "module") return item;
      this.unwrap(item);
      const only = item.items.length === 1 ? item.items[0] : null;
      if (!only || only.kind !== "op") return item;
      this.boxes.delete(item.key);
      only.parent = box;
      only.label = item.label;
      return only;
    });
  }

  /** Puts items that are too many to look at into runs of neighbours. */
  private split(box: Box): void {
    for (const item of box.items) if (item.kind === "box" && item.type !== "input") this.split(item);
    if (box.items.length <= MOST_ITEMS) return;
    const size = Math.max(Math.ceil(Math.sqrt(box.items.length)), Math.ceil(box.items.length / MOST_ITEMS));
    const items = box.items;
    box.items = [];
    for (let at = 0; at < items.length; at += size) {
      const part = items.slice(at, at + size);
      const label = `${at + 1} – ${Math.min(at + size, items.length)} of ${items.length}`;
      const run = this.box("run", label, box.path, box.phase, box, `${box.key}/run:${at}`);
      run.items = part;
      for (const item of part) {
        item.parent = run;
        run.first = Math.min(run.first, firstOf(item));
        run.last = Math.max(run.last, lastOf(item));
        run.count += item.kind === "op" ? 1 : item.count;
      }
      box.items.push(run);
    }
  }

  /** The chain of boxes around an item, the outermost first. */
  around(item: Item): Box[] {
    const found: Box[] = [];
    for (let box: Box | null = item.parent; box; box = box.parent) found.unshift(box);
    return found;
  }

  /** What stands for an op where only some boxes are open: the op itself, or the outermost closed box around it. */
  visible(op: Op, open: ReadonlySet<string>): Item {
    for (const box of this.around(op)) if (box.type !== "phase" && !open.has(box.key)) return box;
    return op;
  }

  private keys: string[] | null = null;

  /** What a breakpoint calls an op: as op_key in breakpoints.py does. */
  opKey(op: Op): string {
    if (!this.keys) {
      const counts = new Map<string, number>();
      this.keys = this.ops.map((each) => {
        const stem = `${each.phase}|${each.module}|${each.name}`;
        const nth = counts.get(stem) ?? 0;
        counts.set(stem, nth + 1);
        return `${stem}|${nth}`;
      });
    }
    return this.keys[op.id];
  }

  /** Ops whose name, module, parameters or line hold all words of a query. */
  search(query: string): Op[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    return this.ops.filter((op) => {
      const line = this.data.lines[op.line];
      const text = [op.name, op.module, ...op.reads.map((r) => r[2]), PHASES[op.phase], `${line.file}:${line.number}`,
        line.function ?? ""].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }
}

export function firstOf(item: Item): number {
  return item.kind === "op" ? item.id : item.first;
}

export function lastOf(item: Item): number {
  return item.kind === "op" ? item.id : item.last;
}

/** Sums over the ops of an item. */
export interface Totals {
  ns: number;
  bytes: number;
  bad: number;
}

/** Time, bytes and values that are not finite, of each op and summed up for each box and module path. */
export class Measures {
  readonly byPath = new Map<string, Totals>();

  constructor(readonly graph: Graph, readonly values: ValueData) {
    for (const op of graph.ops) {
      const own = this.op(op);
      const parts = op.module ? op.module.split(".") : [];
      for (let i = 0; i <= parts.length; i++) {
        const path = parts.slice(0, i).join(".");
        const sum = this.byPath.get(path) ?? { ns: 0, bytes: 0, bad: 0 };
        sum.ns += own.ns;
        sum.bytes += own.bytes;
        sum.bad += own.bad;
        this.byPath.set(path, sum);
      }
    }
  }

  op(op: Op): Totals {
    const stats = this.values.stats[op.id];
    return { ns: this.values.ns[op.id] ?? 0, bytes: op.bytes, bad: stats ? stats[1] : 0 };
  }

  of(item: Item): Totals {
    if (item.kind === "op") return this.op(item);
    const sum = { ns: 0, bytes: 0, bad: 0 };
    if (item.type === "input") return sum;
    for (let i = Math.ceil(item.first); i <= item.last; i++) {
      const op = this.graph.ops[i];
      if (op.phase !== item.phase) continue;
      const own = this.op(op);
      sum.ns += own.ns;
      sum.bytes += own.bytes;
      sum.bad += own.bad;
    }
    return sum;
  }

  /** The share of the step's time. */
  share(item: Item): number {
    const whole = this.byPath.get("")?.ns ?? 0;
    return whole > 0 ? this.of(item).ns / whole : 0;
  }
}

/** The module tree of the page: paths of the program's modules and of the ops that ran. */
export interface Branch {
  path: string;
  name: string;
  type: string;
  text: string;
  parameters: number;
  children: Branch[];
}

export function moduleTree(tree: [string, string, string, number][], modules: string[]): Branch[] {
  const known = new Map<string, Branch>();
  const roots: Branch[] = [];
  const need = (path: string): Branch => {
    const found = known.get(path);
    if (found) return found;
    const dot = path.lastIndexOf(".");
    const made: Branch = { path, name: path.slice(dot + 1), type: "", text: "", parameters: 0, children: [] };
    known.set(path, made);
    (dot < 0 ? roots : need(path.slice(0, dot)).children).push(made);
    return made;
  };
  for (const [path, type, text, parameters] of tree) Object.assign(need(path), { type, text, parameters });
  for (const path of modules) if (path) need(path);
  const add = (branch: Branch): number => {
    for (const child of branch.children) branch.parameters += add(child);
    return branch.parameters;
  };
  roots.forEach(add);
  return roots;
}
