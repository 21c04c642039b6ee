// What stands around the graph: the tree of modules, one op, tensors of a stopped program, layers, compiled functions.

import { histogram } from "./charts";
import { h, fill } from "./dom";
import { bytes, count, dtype, number, shape, time, value } from "./format";
import { Branch, Excerpt, Graph, Item, Measures, Op, PHASES, Stats } from "./model";
import { Breakpoint, CompiledFunction, Layer, Stop, Tensor } from "./source";

const MOST_ROWS = 600;

export function tree(target: HTMLElement, roots: Branch[], measures: Measures | null, open: Set<string>, query: string,
  selected: string, choose: (path: string) => void, again: () => void): void {
  const whole = measures?.byPath.get("")?.ns ?? 0;
  const rows: HTMLElement[] = [];
  let left = 0;
  const words = query.toLowerCase().trim();
  const hits = (branch: Branch): boolean =>
    `${branch.path} ${branch.type}`.toLowerCase().includes(words) || branch.children.some(hits);
  const add = (branch: Branch, depth: number): void => {
    if (words && !hits(branch)) return;
    if (rows.length >= MOST_ROWS) {
      left++;
      return;
    }
    const sums = measures?.byPath.get(branch.path);
    const share = whole && sums ? sums.ns / whole : 0;
    const isOpen = words !== "" || open.has(branch.path);
    const bar = h("span.bar", { title: sums ? `${time(sums.ns)}, forward and backward` : "did not run in this step" });
    const inner = h("span.bar-in");
    inner.style.width = `${Math.max(share * 100, share > 0 ? 2 : 0)}%`;
    bar.append(inner);
    const toggle = branch.children.length
      ? h("button.twist", { "aria-label": isOpen ? "close" : "open", click: (e: Event) => {
          e.stopPropagation();
          if (open.has(branch.path)) open.delete(branch.path);
          else open.add(branch.path);
          again();
        } }, isOpen ? "▾" : "▸")
      : h("span.twist");
    const row = h(`div.row${branch.path === selected ? ".selected" : ""}`, {
      role: "treeitem", tabindex: 0, "data-path": branch.path, title: branch.text ? `${branch.type}(${branch.text})` : branch.type,
      click: () => choose(branch.path),
      keydown: (e: KeyboardEvent) => {
        if (e.key === "Enter") choose(branch.path);
      },
    }, toggle, h("span.name", {}, branch.name), h("span.type", {}, branch.type !== branch.name ? branch.type : ""),
    sums?.bad ? h("span.bad-dot", { title: "values that are not finite" }) : null,
    h("span.number", {}, sums ? time(sums.ns) : ""), bar);
    row.style.paddingLeft = `${6 + depth * 13}px`;
    rows.push(row);
    if (isOpen) for (const child of branch.children) add(child, depth + 1);
  };
  for (const root of roots) add(root, 0);
  if (left) rows.push(h("div.note", {}, `and ${count(left)} more: search, or close some`));
  if (rows.length === 0) rows.push(h("div.note", {}, words ? "no module has such a name" : "no module has run yet"));
  fill(target, ...rows);
}

function statistics(stats: Stats | null | undefined): HTMLElement {
  if (!stats) return h("div.note", {}, "no values to show");
  const [looked, bad, zeros, low, high, mean, deviation] = stats;
  const all = [["mean", mean], ["std", deviation], ["min", low], ["max", high]] as [string, number][];
  return h("div.stats", {}, ...all.map(([name, x]) => h("div.stat", {}, h("span.label", {}, name), h("b", {}, value(x)))),
    h("div.stat", {}, h("span.label", {}, "zero"), h("b", {}, looked ? `${((100 * zeros) / looked).toFixed(0)} %` : "–")),
    h(`div.stat${bad ? ".alarm" : ""}`, {}, h("span.label", {}, "not finite"), h("b", {}, looked ? count(bad) : "–")));
}

function drawHistogram(stats: Stats): HTMLCanvasElement {
  const canvas = h("canvas.histogram", { role: "img", "aria-label": "histogram of the values" }) as HTMLCanvasElement;
  requestAnimationFrame(() => histogram(canvas, stats[7], stats[3], stats[4]));
  return canvas;
}

export function code(excerpt: Excerpt): HTMLElement {
  const name = excerpt.file.split("/").pop() ?? "";
  const box = h("div.code", {}, h("div.code-head", { title: excerpt.file },
    `${name}${excerpt.number ? `:${excerpt.number}` : ""}`, h("span.faint", {}, excerpt.function ? `in ${excerpt.function}` : "")));
  const lines = h("pre");
  excerpt.code.forEach((text, i) => {
    const n = (excerpt.first ?? 1) + i;
    lines.append(h(`div.line${n === excerpt.number ? ".here" : ""}`, {}, h("span.nr", {}, String(n)), text || " "));
  });
  if (excerpt.code.length) box.append(lines);
  return box;
}

function facts(rows: [string, string | HTMLElement][]): HTMLElement {
  return h("dl.facts", {}, ...rows.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]));
}

export interface Actions {
  go: (op: Op) => void;
  stopAt: (kind: "op" | "module", text: string) => void;
  toggle: (item: Item) => void;
  isOpen: (item: Item) => boolean;
  live: boolean;
}

export function details(target: HTMLElement, graph: Graph | null, measures: Measures | null, item: Item | null,
  actions: Actions): void {
  if (!graph || !item) {
    fill(target, h("div.empty", {}, h("p", {}, "Click a node to see its shapes, values and code."),
      h("p.faint", {}, "Double-click a module to open it. Wheel to zoom, drag to move.")));
    return;
  }
  if (item.kind === "op") opDetails(target, graph, measures, item, actions);
  else {
    const sums = measures?.of(item) ?? { ns: 0, bytes: 0, bad: 0 };
    const openable = item.type !== "input";
    fill(target, h("h2", {}, item.label), h("div.path", {}, `${PHASES[item.phase]} · ${item.path || "the program"}`),
      facts([["time", `${time(sums.ns)} (${((measures?.share(item) ?? 0) * 100).toFixed(1)} % of the step)`],
        ["writes", bytes(sums.bytes)], ["ops", count(item.count)],
        ...(sums.bad ? [["not finite", `${count(sums.bad)} sampled values`] as [string, string]] : [])]),
      h("div.buttons", {},
        openable ? h("button", { click: () => actions.toggle(item) }, actions.isOpen(item) ? "Close" : "Open") : null,
        actions.live && item.type === "module"
          ? h("button.stop-here", { click: () => actions.stopAt("module", item.path) }, "Stop in this module") : null));
  }
}

function opDetails(target: HTMLElement, graph: Graph, measures: Measures | null, op: Op, actions: Actions): void {
  const sums = measures?.op(op) ?? { ns: 0, bytes: 0, bad: 0 };
  const stats = measures?.values.stats[op.id];
  const link = (id: number): HTMLElement => {
    const other = graph.ops[id];
    return h("button.link", { click: () => actions.go(other), title: other.module || "the program" },
      `${other.name} ${other.outs[0] ? shape(other.outs[0][0]) : ""}`);
  };
  const inputs = op.reads.map(([made, size, name]) => h("li", {}, made >= 0 ? link(made)
    : h("span", {}, name || `input ${-2 - made}`), h("span.number", {}, bytes(size))));
  const readers = graph.readers[op.id];
  const others = graph.ops.filter((each) => each.of === op.id);
  const wide = measures ? (measures.share(op) * 100).toFixed(1) : "0";
  const outs = op.outs.map(([sizes, type]) => `${shape(sizes)} ${dtype(type)}`).join(", ");
  fill(target, h("h2", {}, op.name), h("div.path", {}, `${PHASES[op.phase]} · ${op.module || "the program"}`),
    facts([["gives", outs || "changes what it reads"], ["time", `${time(sums.ns)} (${wide} % of the step)`],
      ["writes", op.bytes ? bytes(op.bytes) : "nothing: a view, or in place"],
      ...(op.attributes.length ? [["with", op.attributes.join(", ")] as [string, string]] : [])]),
    actions.live ? h("div.buttons", {}, h("button.stop-here", { click: () => actions.stopAt("op", graph.opKey(op)) }, "Stop here")) : null,
    h("h3", {}, "Values"), statistics(stats), stats && stats[0] - stats[1] > 1 ? drawHistogram(stats) : null,
    h("h3", {}, "Line"), code(graph.data.lines[op.line]),
    h("h3", {}, `Reads ${op.reads.length}`), inputs.length ? h("ul.tensors", {}, ...inputs.slice(0, 60)) : h("div.note", {}, "nothing"),
    h("h3", {}, `Read by ${readers.length}`), readers.length
      ? h("ul.tensors", {}, ...readers.slice(0, 60).map(([id, size]) => h("li", {}, link(id), h("span.number", {}, bytes(size)))))
      : h("div.note", {}, "no op of this step"),
    op.of >= 0 ? h("h3", {}, "Gradient of") : null, op.of >= 0 ? h("ul.tensors", {}, h("li", {}, link(op.of))) : null,
    others.length ? h("h3", {}, "Its backward") : null,
    others.length ? h("ul.tensors", {}, ...others.slice(0, 20).map((each) => h("li", {}, link(each.id)))) : null);
}

function tensor(t: Tensor, open: boolean): HTMLElement {
  const head = t.shape ? `${shape(t.shape)} ${dtype(t.dtype ?? "")}` : "";
  if (!t.shape) return h("div.variable", {}, h("b", {}, t.name), h("code", {}, t.text));
  return h("details.tensor", { open }, h("summary", {}, h("b", {}, t.name), h("span.faint", {}, head),
    t.stats && t.stats[1] ? h("span.alarm", {}, `${count(t.stats[1])} not finite`) : null),
  statistics(t.stats), t.stats && t.stats[0] - t.stats[1] > 1 ? drawHistogram(t.stats) : null, h("pre.values", {}, t.text));
}

export function stopped(target: HTMLElement, stop: Stop | null): void {
  if (!stop) {
    fill(target);
    return;
  }
  const file = stop.line.split("/").pop() ?? "";
  fill(target, h(`div.stop-card${stop.op < 0 ? ".calm" : ""}`, {}, h("b", {}, stop.reason), h("div.path", {}, `${file} ${stop.function ? `in ${stop.function}` : ""}`)),
    ...(stop.tensors.length ? [h("h3", {}, `Tensors of ${stop.name}`), ...stop.tensors.map((t, i) => tensor(t, i === 0))] : []),
    stop.variables.length ? h("h3", {}, `Variables of ${stop.function || "the program"}`) : null,
    ...stop.variables.map((t) => tensor(t, false)));
}

export function breakpoints(target: HTMLElement, all: Breakpoint[], post: (body: Record<string, unknown>) => void): void {
  fill(target, ...all.map((b) => {
    const parts = b.text.split("|");
    const text = b.kind === "op" && parts.length === 4
      ? `${parts[2]}${parts[3] === "0" ? "" : ` #${Number(parts[3]) + 1}`} in ${parts[1] || "the program"}` : b.text;
    return h("div.breakpoint", { "data-number": b.number },
      h("input", { type: "checkbox", checked: b.enabled, "aria-label": "enabled",
        change: (e: Event) => post({ action: "enable", number: b.number, enabled: (e.target as HTMLInputElement).checked }) }),
      h("span.kind", {}, b.kind), h("span.text", { title: b.text }, text),
      b.hits ? h("span.hits", { title: "how often it stopped the program" }, `${b.hits}×`) : null,
      h("button.remove", { "aria-label": "remove", click: () => post({ action: "remove", number: b.number }) }, "×"));
  }));
}

/** Gradient norms and update ratios of the parameters, as bars on a logarithmic scale. */
export function layers(target: HTMLElement, rows: Layer[], choose: (path: string) => void): void {
  if (rows.length === 0) {
    fill(target, h("div.note", {}, "no parameter was updated yet"));
    return;
  }
  const bar = (x: number | string | null, low: number, high: number, best: boolean): HTMLElement => {
    const n = number(x);
    const cell = h("td.measure", {});
    const track = h("span.track");
    const inner = h(`span.track-in${best && n > 0 && (n > 1e-1 || n < 1e-6) ? ".odd" : ""}${Number.isFinite(n) || x === null ? "" : ".alarm"}`);
    const place = Number.isFinite(n) ? (Math.log10(Math.max(n, 1e-30)) - low) / (high - low) : x === null ? 0 : 1;
    inner.style.width = `${Math.min(Math.max(place, 0), 1) * 100}%`;
    track.append(inner);
    cell.append(track, h("span.number", {}, value(x)));
    return cell;
  };
  const shown = rows.slice(0, 400);
  fill(target, h("table.layers", {}, h("thead", {}, h("tr", {}, h("th", {}, "parameter"), h("th", {}, "shape"), h("th", {}, "weight norm"),
    h("th", {}, "gradient norm"), h("th", { title: "how far a step moved it, over its size: about 0.001 is usual" }, "update / weight"))),
  h("tbody", {}, ...shown.map(([name, sizes, weight, grad, ratio]) => h("tr", { "data-name": name, click: () => choose(name) },
    h("td.name", {}, name), h("td.faint", {}, shape(sizes)), h("td.number", {}, value(weight)), bar(grad, -6, 3, false), bar(ratio, -8, 0, true))))),
  rows.length > shown.length ? h("div.note", {}, `and ${rows.length - shown.length} more`) : null);
}

export function compiled(target: HTMLElement, functions: CompiledFunction[], at: { f: number; g: number; p: number },
  again: () => void): void {
  if (functions.length === 0) {
    fill(target, h("div.note", {}, "no function was compiled. What weft.compile makes of a function is shown here, pass by pass."));
    return;
  }
  const f = functions[Math.min(at.f, functions.length - 1)];
  const g = f.graphs[Math.min(at.g, Math.max(f.graphs.length - 1, 0))];
  const select = (options: string[], chosen: number, change: (i: number) => void): HTMLElement => {
    const made = h("select", { change: (e: Event) => {
      change((e.target as HTMLSelectElement).selectedIndex);
      again();
    } }, ...options.map((text, i) => h("option", { selected: i === chosen }, text)));
    return made;
  };
  const head = h("div.compiled-head", {},
    select(functions.map((x) => x.name), at.f, (i) => Object.assign(at, { f: i, g: 0, p: 1 })),
    f.graphs.length > 1 ? select(f.graphs.map((x, i) => `${i + 1}: ${x.title}`), at.g, (i) => Object.assign(at, { g: i, p: 1 })) : null);
  if (!g) {
    fill(target, head, h("div.note", {}, f.reasons.length ? `it runs as it is written: ${f.reasons.join("; ")}` : "no program yet"));
    return;
  }
  const p = Math.min(Math.max(at.p, 1), g.passes.length - 1);
  const textOf = (i: number): string => {
    for (let k = Math.max(i, 0); k >= 0; k--) if (g.passes[k].text !== null) return g.passes[k].text!;
    return "";
  };
  const chips = h("div.passes", {}, ...g.passes.slice(1).map((pass, i) => h(`button.pass${i + 1 === p ? ".chosen" : ""}${pass.text === null ? ".idle" : ""}`, {
    click: () => {
      at.p = i + 1;
      again();
    },
  }, pass.name, h("span.number", {}, pass.text === null ? "" : `${g.passes[i].ops} → ${pass.ops}`))));
  const [before, after] = [textOf(p - 1), textOf(p)];
  const side = (title: string, text: string, other: string, kind: string): HTMLElement => {
    const known = new Set(other.split("\n"));
    return h("div.side", {}, h("div.code-head", {}, title), h("pre", {}, ...text.split("\n").map((line) =>
      h(`div.line${known.has(line) ? "" : `.${kind}`}`, {}, line || " "))));
  };
  fill(target, head, chips, p >= 1 && g.passes.length > 1
    ? h("div.sides", {}, side(`before ${g.passes[p].name}`, before, after, "gone"), side(`after ${g.passes[p].name}`, after, before, "new"))
    : h("div.sides", {}, side("as captured", textOf(0), textOf(0), "new")));
}
