import assert from "node:assert/strict";
import { test } from "node:test";
import { Drawing, holds, isOpen, layout, Placed } from "../src/layout";
import { Box, firstOf, Graph, GraphData, Item, lastOf, Measures, moduleTree, Row, ValueData } from "../src/model";
import { joinPoints, Point } from "../src/source";
import { family, thickness } from "../src/view";

let seed = 1;
const random = (): number => (seed = (seed * 48271) % 2147483647) / 2147483647;
const pick = (n: number): number => Math.floor(random() * n);

/** A random program: ops in calls of modules that follow each other, each reading what was made before. */
export function program(ops: number, depth = 4): GraphData {
  const modules = [""];
  const rows: Row[] = [];
  let path: string[] = ["Net"];
  for (let i = 0; i < ops; i++) {
    if (random() < 0.3) path = path.slice(0, 1 + pick(path.length));
    while (path.length < depth && random() < 0.4) path = [...path, `m${pick(4)}`];
    const name = random() < 0.1 ? "" : path.join(".");
    if (!modules.includes(name)) modules.push(name);
    const reads: [number, number, string][] = [];
    for (let k = pick(3); k >= 0; k--)
      reads.push(random() < 0.2 ? [-2 - pick(3), 64, ""] : random() < 0.2 || i === 0 ? [-1, 64, "Net.w"] : [Math.max(0, i - 1 - pick(9)), 2 ** pick(20), ""]);
    const phase = i < ops * 0.5 ? 0 : i < ops * 0.95 ? 1 : 2;
    rows.push([["add", "linear", "relu"][pick(3)], phase, modules.indexOf(name), 0, reads, [[[2, 3], "float32"]], 24,
      phase === 1 ? pick(Math.max(1, Math.floor(ops / 2))) : -1, []]);
  }
  return { signature: String(seed), rows, modules, lines: [{ file: "a.py", number: 3, function: "f", first: 1, code: ["x"] }] };
}

function values(n: number): ValueData {
  return { step: 1, ns: Array.from({ length: n }, () => 10 + pick(1000)), live: Array(n).fill(5), total: 1,
    stats: Array.from({ length: n }, () => (random() < 0.1 ? null : [4, pick(2), 0, -1, 1, 0, 1, [1, 2, 1]])) };
}

function opsIn(item: Item): number[] {
  return item.kind === "op" ? [item.id] : item.items.flatMap(opsIn);
}

test("every op is in one place, boxes hold neighbours, and nothing is lost where runs are split", () => {
  for (const n of [1, 7, 60, 900, 4000]) {
    const graph = new Graph(program(n));
    const found = graph.phases.flatMap(opsIn).sort((a, b) => a - b);
    assert.deepEqual(found, Array.from({ length: n }, (_, i) => i));
    for (const box of graph.boxes.values()) {
      assert.ok(box.items.length <= 160, `${box.key} has ${box.items.length} items`);
      if (box.type === "input") continue;
      const inside = opsIn(box);
      assert.equal(Math.min(...inside.slice(0, 5000)), Math.ceil(box.type === "run" ? inside[0] : box.first));
      assert.equal(inside.length, box.count);
      for (const id of inside) {
        assert.ok(holds(box, graph.ops[id]));
        assert.ok(graph.around(graph.ops[id]).includes(box));
      }
      for (let i = 1; i < box.items.length; i++) assert.ok(firstOf(box.items[i]) > lastOf(box.items[i - 1]) - 1);
    }
  }
});

test("a search finds what a plain loop finds", () => {
  const graph = new Graph(program(500));
  for (const query of ["relu", "m1 linear", "backward add", "a.py:3", "zzz", "  "]) {
    const words = query.split(" ").filter(Boolean);
    const found = new Set(graph.search(query));
    for (const op of graph.ops) {
      const text = `${op.name} ${op.module} ${["forward", "backward", "update"][op.phase]} a.py:3 f ${op.reads.map((r) => r[2]).join(" ")}`.toLowerCase();
      assert.equal(found.has(op), words.length > 0 && words.every((w) => text.includes(w)));
    }
  }
});

test("keys of ops are those of breakpoints.py", () => {
  const graph = new Graph(program(300));
  const seen = new Map<string, number>();
  for (const op of graph.ops) {
    const stem = `${op.phase}|${op.module}|${op.name}`;
    assert.equal(graph.opKey(op), `${stem}|${seen.get(stem) ?? 0}`);
    seen.set(stem, (seen.get(stem) ?? 0) + 1);
  }
});

test("sums of boxes are sums of their ops", () => {
  const graph = new Graph(program(400));
  const data = values(400);
  const measures = new Measures(graph, data);
  for (const box of graph.boxes.values()) {
    if (box.type === "input") continue;
    const inside = opsIn(box);
    assert.equal(measures.of(box).ns, inside.reduce((sum, id) => sum + data.ns[id], 0));
    assert.equal(measures.of(box).bad, inside.reduce((sum, id) => sum + (data.stats[id]?.[1] ?? 0), 0));
  }
  assert.equal(measures.byPath.get("")!.ns, data.ns.reduce((a, b) => a + b, 0));
});

function openSome(graph: Graph, chance: number): Set<string> {
  return new Set([...graph.boxes.keys()].filter(() => random() < chance));
}

function inside(a: Placed, b: Placed): boolean {
  return a.x >= b.x - 0.01 && a.y >= b.y - 0.01 && a.x + a.width <= b.x + b.width + 0.01 && a.y + a.height <= b.y + b.height + 0.01;
}

function check(graph: Graph, drawing: Drawing, open: Set<string>, phases: number[]): void {
  const wanted: Item[] = [];
  const walk = (box: Box): void => box.items.forEach((item) => {
    wanted.push(item);
    if (isOpen(item, open)) walk(item);
  });
  graph.phases.filter((p) => phases.includes(p.phase)).forEach(walk);
  for (const item of wanted) assert.ok(drawing.byKey.has(item.key), `${item.key} is not placed`);
  for (const p of drawing.placed) {
    for (const number of [p.x, p.y, p.width, p.height]) assert.ok(Number.isFinite(number));
    const parent = p.item.parent && drawing.byKey.get(p.item.parent.key);
    if (parent) assert.ok(inside(p, parent), `${p.item.key} leaves ${parent.item.key}`);
  }
  const siblings = new Map<Box | null, Placed[]>();
  for (const p of drawing.placed) siblings.set(p.item.parent, [...(siblings.get(p.item.parent) ?? []), p]);
  for (const group of siblings.values())
    for (let i = 0; i < group.length; i++)
      for (let k = i + 1; k < group.length; k++) {
        const [a, b] = [group[i], group[k]];
        const apart = a.x + a.width <= b.x + 0.01 || b.x + b.width <= a.x + 0.01 || a.y + a.height <= b.y + 0.01 || b.y + b.height <= a.y + 0.01;
        assert.ok(apart, `${a.item.key} lies over ${b.item.key}`);
      }
  for (const line of drawing.lines) {
    const [a, b] = [drawing.byKey.get(line.from.key)!, drawing.byKey.get(line.to.key)!];
    assert.ok(b.y >= a.y + a.height - 0.01, `${line.to.key} is not below ${line.from.key}`);
    assert.deepEqual(line.points[0], [a.x + a.width / 2, a.y + a.height]);
    assert.deepEqual(line.points.at(-1), [b.x + b.width / 2, b.y]);
    for (let i = 1; i < line.points.length; i++) assert.ok(line.points[i][1] >= line.points[i - 1][1] - 0.01, "a line goes up");
    for (const [x] of line.points) assert.ok(Number.isFinite(x));
  }
}

test("whatever is open: all is placed, in its box, beside its neighbours, below what it reads", () => {
  for (let round = 0; round < 60; round++) {
    const graph = new Graph(program(5 + pick(120), 2 + pick(4)));
    for (const phases of [[0], [1], [0, 1, 2]]) {
      const open = openSome(graph, random());
      check(graph, layout(graph, phases, open), open, phases);
    }
  }
});

test("every line of a visible pair is drawn", () => {
  for (let round = 0; round < 30; round++) {
    const graph = new Graph(program(80));
    const open = openSome(graph, 0.6);
    const drawn = new Set(layout(graph, [0], open).lines.map((line) => `${line.from.key}>${line.to.key}`));
    for (const op of graph.ops.filter((o) => o.phase === 0))
      for (const [made] of op.reads) {
        if (made < 0) continue;
        const [a, b] = [graph.visible(graph.ops[made], open), graph.visible(op, open)];
        if (a !== b) assert.ok(drawn.has(`${a.key}>${b.key}`), `${a.key}>${b.key}`);
      }
  }
});

test("ten thousand ops are laid out in a blink while boxes are closed, and in seconds when all are open", () => {
  const graph = new Graph(program(10_000, 5));
  for (const [open, most] of [[new Set<string>(), 1000], [new Set(graph.boxes.keys()), 10_000]] as [Set<string>, number][]) {
    const began = performance.now();
    const drawing = layout(graph, [0, 1, 2], open);
    const took = performance.now() - began;
    assert.ok(drawing.placed.length > 0);
    assert.ok(took < most, `${took} ms`);
  }
});

test("modules come from the program and from what ran", () => {
  const roots = moduleTree([["Net", "Net", "", 0], ["Net.a", "Linear", "2, 3", 9], ["Net.b", "ReLU", "", 0]], ["Net.a", "Other.c.d", ""]);
  assert.deepEqual(roots.map((r) => r.path), ["Net", "Other"]);
  assert.equal(roots[0].parameters, 9);
  assert.equal(roots[1].children[0].children[0].path, "Other.c.d");
});

test("points are joined whatever part was sent", () => {
  const all = Array.from({ length: 20 }, (_, i): Point => [i, i, null, null, null]);
  assert.deepEqual(joinPoints(all.slice(0, 5), { points: all.slice(5, 9), first: 5 }), all.slice(0, 9));
  assert.deepEqual(joinPoints(all.slice(0, 9), { points: all.slice(0, 3), first: 0 }), all.slice(0, 3));
});

test("thicker means more, and ops have families", () => {
  for (let k = 0; k < 40; k++) assert.ok(thickness(2 ** k) <= thickness(2 ** (k + 1)));
  assert.equal(family("linear_relu"), "product");
  assert.equal(family("norm_rows_backward"), "norm");
  assert.equal(family("adam_step_"), "update");
  assert.equal(family("something"), "other");
});
