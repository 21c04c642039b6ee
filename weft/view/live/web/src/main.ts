// The page: takes what the program sends, and lets its parts show it.

import { chart, memory } from "./charts";
import { byId, fill, h } from "./dom";
import { bytes, count, number, time, value } from "./format";
import { isOpen, layout } from "./layout";
import { Box, Graph, Item, Measures, moduleTree, Op } from "./model";
import * as panels from "./panels";
import { shell } from "./shell";
import { Answer, findSource, joinPoints, Point } from "./source";
import { GraphView } from "./view";

const OPEN_AT_FIRST = 60; // items that are shown without being asked for

class App {
  readonly source = findSource();
  readonly view: GraphView;
  graph: Graph | null = null;
  measures: Measures | null = null;
  answer: Answer | null = null;
  points: Point[] = [];
  readonly open = new Set<string>();
  phases = [0];
  selected: Item | null = null;
  path = "";
  hits: Op[] = [];
  hit = -1;
  drawings = 0; // how many steps were shown
  private readonly openBranches = new Set<string>();
  private readonly compiledAt = { f: 0, g: 0, p: 1 };
  private stopKey = "";
  private wanted = new Set<string>();

  constructor() {
    document.body.append(shell(this.source.live));
    this.view = new GraphView(byId("graph"));
    this.theme(localTheme());
    this.listen();
    panels.details(byId("node"), null, null, null, this.actions);
    this.source.start((answer) => this.take(answer), () => this.lost());
  }

  // ---- what comes in --------------------------------------------------------------------------

  take(answer: Answer): void {
    const before = this.answer;
    this.answer = answer;
    this.points = joinPoints(this.points, answer);
    if (answer.graph) this.newGraph(new Graph(answer.graph));
    if (answer.values && this.graph && answer.values.ns.length === this.graph.ops.length) {
      this.measures = new Measures(this.graph, answer.values);
      this.view.measures = this.measures;
      this.drawings++;
    }
    this.showStatus();
    if (!same(before?.tree, answer.tree)) {
      this.view.types = new Map(answer.tree.map(([path, type]) => [path, type]));
      this.openTree();
    }
    this.showStop(answer);
    if (!same(before?.breakpoints, answer.breakpoints))
      panels.breakpoints(byId("point-list"), answer.breakpoints, (body) => this.breakpoint(body));
    this.view.marks.stops = new Set(answer.breakpoints.filter((b) => b.kind !== "condition").map((b) => b.text));
    if (answer.values || !before) {
      this.showTree();
      this.showNode();
    }
    this.showFoot();
    this.view.draw();
    document.documentElement.dataset.version = String(answer.version);
    document.documentElement.dataset.shown = String(this.drawings);
  }

  private newGraph(graph: Graph): void {
    const first = this.graph === null;
    const selected = this.selected;
    this.graph = this.view.graph = graph;
    if (first) this.openSome();
    if (selected) {
      this.selected = selected.kind === "op"
        ? graph.ops.find((op) => graph.opKey(op) === this.selectedKey) ?? null
        : graph.boxes.get(selected.key) ?? null;
      this.view.marks.selected = this.selected;
    }
    this.search(byId<HTMLInputElement>("search").value, false);
    this.relayout();
    if (first) this.view.fit();
    byId("waiting").hidden = graph.ops.length > 0;
  }

  private get selectedKey(): string {
    return this.wanted.values().next().value ?? "";
  }

  /** Opens the outer modules of a small graph, so that there is something to see. */
  private openSome(): void {
    const graph = this.graph!;
    for (const phase of graph.phases) {
      let level: Item[] = phase.items;
      let shown = level.length;
      while (level.length) {
        const boxes = level.filter((item): item is Box => item.kind === "box" && item.type !== "input"
          && item.items.some((each) => each.kind === "box" || each.label !== ""));
        const more = boxes.reduce((sum, box) => sum + box.items.length, 0);
        if (boxes.length === 0 || shown + more > OPEN_AT_FIRST) break;
        boxes.forEach((box) => this.open.add(box.key));
        shown += more;
        level = boxes.flatMap((box) => box.items);
      }
    }
  }

  relayout(): void {
    if (!this.graph) return;
    const began = performance.now();
    this.view.drawing = layout(this.graph, this.phases, this.open);
    document.documentElement.dataset.layout = (performance.now() - began).toFixed(1);
    this.view.draw();
  }

  private lost(): void {
    if (this.answer && this.answer.status.state !== "failed") {
      this.answer = { ...this.answer, status: { ...this.answer.status, state: this.answer.status.state === "ended" ? "ended" : "lost" } };
      this.showStatus();
    }
  }

  // ---- what is shown --------------------------------------------------------------------------

  private showStatus(): void {
    const { status } = this.answer!;
    document.title = `${status.program} · weft`;
    fill(byId("program"), status.program);
    const state = byId("state");
    state.className = `state ${this.source.live ? status.state : "saved"}`;
    const words: Record<string, string> = { lost: "not answering", ended: "ended", failed: "failed" };
    fill(state, this.source.live ? words[status.state] ?? status.state : "saved");
    state.title = status.reason ?? "";
    const pace = [`step ${count(status.step)}`];
    if (status.seconds) pace.push(`${time(status.seconds * 1e9)} a step`);
    if (status.every && status.state === "running") pace.push(`shown every ${status.every < 1 ? status.every.toFixed(1) : status.every.toFixed(0)} s`);
    if (status.state === "failed") pace.push(status.reason ?? "");
    if (status.trouble) pace.push(status.trouble);
    fill(byId("pace"), pace.join("  ·  "));
    if (!this.source.live) return;
    const still = status.state === "paused" || status.state === "stopped";
    const over = status.state === "ended" || status.state === "failed" || status.state === "lost";
    byId<HTMLButtonElement>("pause").disabled = still || over;
    byId<HTMLButtonElement>("step").disabled = over;
    byId<HTMLButtonElement>("resume").disabled = !still;
    byId<HTMLButtonElement>("pdb").disabled = !still || !status.terminal;
  }

  private showStop(answer: Answer): void {
    const { stop } = answer;
    const key = JSON.stringify(stop);
    if (key === this.stopKey) return;
    this.stopKey = key;
    this.view.marks.current = stop && this.graph && stop.op >= 0 ? this.graph.ops[stop.op] ?? null : null;
    const panel = byId("stop");
    if (stop) {
      panels.stopped(panel, stop);
      this.tab("side-tabs", "stop");
      if (this.view.marks.current) this.go(this.view.marks.current, false);
    } else {
      fill(panel, h("div.empty", {}, h("p", {}, this.source.live ? "The program runs." : "The program was running.")));
      if (!panel.hidden) this.tab("side-tabs", "node");
    }
  }

  private openTree(): void {
    const add = (branches: ReturnType<typeof moduleTree>, left: number): void => {
      for (const branch of branches) {
        if (left > 0 && branch.children.length <= 40) this.openBranches.add(branch.path);
        add(branch.children, left - 1);
      }
    };
    add(moduleTree(this.answer!.tree, []), 2);
    this.showTree();
  }

  private showTree(): void {
    const roots = moduleTree(this.answer!.tree, this.graph?.data.modules ?? []);
    const parameters = roots.reduce((sum, root) => sum + root.parameters, 0);
    fill(byId("whole"), parameters ? `${count(parameters)} parameters` : "");
    const inOps = this.measures?.byPath.get("")?.ns ?? 0;
    byId("outside").textContent = this.measures
      ? (this.measures.values.left_out ? `${count(this.measures.values.left_out)} more ops are not shown. ` : "")
        + `Ops took ${time(inOps)} of this step of ${time(Math.max(this.measures.values.total, inOps))}` : "";
    panels.tree(byId("tree"), roots, this.measures, this.openBranches, byId<HTMLInputElement>("tree-search").value, this.path,
      (path) => this.choose(path), () => this.showTree());
  }

  private showNode(): void {
    const panel = byId("node");
    const top = panel.scrollTop;
    panels.details(panel, this.graph, this.measures, this.selected, this.actions);
    panel.scrollTop = top;
  }

  private readonly actions: panels.Actions = {
    go: (op) => this.go(op),
    stopAt: (kind, text) => void this.breakpoint({ action: "add", kind, text }),
    toggle: (item) => this.toggle(item),
    isOpen: (item) => isOpen(item, this.open),
    live: this.source.live,
  };

  showFoot(): void {
    const column = (i: 1 | 2 | 3): [number, number][] => this.points.filter((p) => p[i] !== null).map((p) => [p[0], number(p[i])]);
    if (!byId("curves").hidden) {
      for (const [id, i, log] of [["loss", 1, false], ["grad", 2, true], ["update", 3, true]] as [string, 1 | 2 | 3, boolean][]) {
        const points = column(i);
        chart(byId<HTMLCanvasElement>(`${id}-chart`), [{ name: id, points }], { log });
        fill(byId(`${id}-now`), points.length ? value(points[points.length - 1][1]) : "");
      }
    }
    if (!byId("layers").hidden && this.answer) {
      const top = byId("layers").scrollTop;
      panels.layers(byId("layers"), this.answer.layers, (name) => this.choose(name.split(".").slice(0, -1).join(".")));
      byId("layers").scrollTop = top;
    }
    if (!byId("memory").hidden) this.showMemory();
  }

  private memoryAt: (px: number) => number = () => NaN;

  private showMemory(): void {
    if (!this.graph || !this.measures) return;
    const { live } = this.measures.values;
    const bands = this.graph.phases.map((p) => ({ from: p.first, to: p.last + 1, label: p.label }));
    const points = live.map((n, i): [number, number] => [i, n]);
    this.memoryAt = chart(byId<HTMLCanvasElement>("memory-chart"), [{ name: "live", points }],
      { format: memory, area: true, zero: true, bands, mark: this.selected?.kind === "op" ? this.selected.id : null });
    fill(byId("memory-now"), live.length ? `at most ${bytes(live.reduce((a, b) => Math.max(a, b), 0))}` : "");
  }

  private async showCompiled(fetch: boolean): Promise<void> {
    if (fetch) {
      try {
        this.functions = await this.source.compiled();
      } catch (e) {
        fill(byId("compiled"), h("div.note", {}, String(e)));
        return;
      }
    }
    panels.compiled(byId("compiled"), this.functions, this.compiledAt, () => void this.showCompiled(false));
  }

  private functions: Awaited<ReturnType<App["source"]["compiled"]>> = [];

  // ---- what the user does ---------------------------------------------------------------------

  select(item: Item | null): void {
    this.selected = this.view.marks.selected = item;
    this.wanted = new Set(item?.kind === "op" && this.graph ? [this.graph.opKey(item)] : []);
    this.path = item?.kind === "op" ? item.module : item?.path ?? "";
    this.tab("side-tabs", "node");
    byId("node").scrollTop = 0;
    this.showNode();
    this.showTree();
    if (!byId("memory").hidden) this.showMemory();
    this.view.draw();
  }

  /** Opens what is around an op, and brings it into the middle. */
  go(op: Op, select = true): void {
    if (!this.graph) return;
    if (!this.phases.includes(op.phase)) this.setPhases([op.phase]);
    for (const box of this.graph.around(op)) this.open.add(box.key);
    this.relayout();
    this.view.show(op);
    if (select) this.select(op);
  }

  toggle(item: Item): void {
    if (item.kind !== "box" || item.type === "input" || item.type === "phase") return;
    if (this.open.has(item.key)) this.open.delete(item.key);
    else this.open.add(item.key);
    this.view.keep(item.key, () => this.relayout());
    this.showNode();
  }

  /** A module in the tree: shows its first call. */
  choose(path: string): void {
    this.path = path;
    this.showTree();
    if (!this.graph) return;
    const order = [...this.phases, 0, 1, 2];
    for (const phase of order) {
      const box = [...this.graph.boxes.values()].find((b) => b.type === "module" && b.path === path && b.phase === phase);
      const only = this.graph.ops.find((op) => op.module === path && op.phase === phase && op.label);
      if (!box && only) {
        this.go(only);
        return;
      }
      if (!box) continue;
      if (!this.phases.includes(phase)) this.setPhases([phase]);
      for (const outer of this.graph.around(box)) this.open.add(outer.key);
      this.relayout();
      this.view.show(box);
      this.selected = this.view.marks.selected = box;
      this.tab("side-tabs", "node");
      this.showNode();
      return;
    }
  }

  setPhases(phases: number[]): void {
    this.phases = phases;
    for (const button of byId("phases").children as Iterable<HTMLElement>) {
      const chosen = button.dataset.phases === phases.join(",");
      button.classList.toggle("chosen", chosen);
      button.setAttribute("aria-checked", String(chosen));
    }
    this.relayout();
    this.view.fit();
  }

  search(query: string, move = true): void {
    this.hits = this.graph?.search(query) ?? [];
    this.hit = -1;
    this.view.marks.found = new Set(this.hits);
    fill(byId("hits"), query.trim() ? `${this.hits.length ? "" : "no "}${this.hits.length || ""} found` : "");
    if (move && this.hits.length) this.next(1, false);
    this.view.draw();
  }

  next(by: number, select = true): void {
    if (this.hits.length === 0) return;
    this.hit = (this.hit + by + this.hits.length) % this.hits.length;
    fill(byId("hits"), `${this.hit + 1} of ${this.hits.length}`);
    if (select) this.go(this.hits[this.hit]);
  }

  openLevel(): void {
    if (!this.graph) return;
    const closed = this.view.drawing.placed.filter((p) => !p.open && p.item.kind === "box" && p.item.type !== "input");
    closed.forEach((p) => this.open.add(p.item.key));
    this.relayout();
    this.view.fit();
  }

  closeAll(): void {
    this.open.clear();
    this.graph?.phases.forEach((p) => {
      if (p.items.length === 1 || p.items.every((i) => i.kind === "op" || i.type === "input" || i === p.items.find((b) => b.kind === "box" && b.type === "module")))
        p.items.forEach((i) => i.kind === "box" && this.open.add(i.key));
    });
    this.relayout();
    this.view.fit();
  }

  async command(command: string): Promise<void> {
    try {
      await this.source.post("command", { command });
    } catch (e) {
      fill(byId("pace"), String(e));
    }
  }

  async breakpoint(body: Record<string, unknown>): Promise<boolean> {
    const error = byId("condition-error");
    try {
      await this.source.post("breakpoint", body);
      fill(error);
      if (body.action === "add") this.tab("side-tabs", "points");
      return true;
    } catch (e) {
      fill(error, (e as Error).message);
      return false;
    }
  }

  tab(group: string, name: string): void {
    for (const button of byId(group).children as Iterable<HTMLElement>) {
      const chosen = button.dataset.tab === name;
      button.classList.toggle("chosen", chosen);
      button.setAttribute("aria-selected", String(chosen));
      byId(button.dataset.tab!).hidden = !chosen;
    }
    if (group === "foot-tabs") this.showFoot();
  }

  private theme(name: string): void {
    document.documentElement.dataset.theme = name;
    this.view.recolour();
    if (!this.answer) return;
    this.showFoot();
    this.showNode();
    if (this.answer.stop) panels.stopped(byId("stop"), this.answer.stop);
  }

  private listen(): void {
    const click = (id: string, action: () => void): void => document.getElementById(id)?.addEventListener("click", action);
    this.view.onSelect = (item) => this.select(item);
    this.view.onToggle = (item) => this.toggle(item);
    for (const name of ["pause", "step", "resume", "pdb"]) click(name, () => void this.command(name));
    click("fit", () => this.view.fit());
    click("zoom-in", () => this.view.zoom(1.25));
    click("zoom-out", () => this.view.zoom(0.8));
    click("open-all", () => this.openLevel());
    click("close-all", () => this.closeAll());
    click("theme", () => {
      const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("weft-theme", name);
      } catch { /* a saved page may not keep anything */ }
      this.theme(name);
    });
    byId("phases").addEventListener("click", (e) => {
      const phases = (e.target as HTMLElement).dataset.phases;
      if (phases) this.setPhases(phases.split(",").map(Number));
    });
    for (const group of ["side-tabs", "foot-tabs"])
      byId(group).addEventListener("click", (e) => {
        const name = (e.target as HTMLElement).dataset.tab;
        if (!name) return;
        this.tab(group, name);
        if (name === "compiled") void this.showCompiled(true);
      });
    const search = byId<HTMLInputElement>("search");
    search.addEventListener("input", () => this.search(search.value));
    search.addEventListener("keydown", (e) => {
      if (e.key === "Enter") {
        if (this.hit < 0) this.next(1);
        else if (this.selected === this.hits[this.hit]) this.next(e.shiftKey ? -1 : 1);
        else this.go(this.hits[this.hit]);
      } else if (e.key === "Escape") {
        search.value = "";
        this.search("");
      }
    });
    byId("tree-search").addEventListener("input", () => this.showTree());
    document.getElementById("add-point")?.addEventListener("submit", async (e) => {
      e.preventDefault();
      const input = byId<HTMLInputElement>("condition");
      if (await this.breakpoint({ action: "add", kind: "condition", text: input.value })) input.value = "";
    });
    byId("points").addEventListener("click", (e) => {
      const text = (e.target as HTMLElement).dataset.text;
      const input = document.getElementById("condition") as HTMLInputElement | null;
      if (text && input) {
        input.value = text;
        input.focus();
      }
    });
    byId("memory-chart").addEventListener("click", (e) => {
      const id = Math.round(this.memoryAt(e.offsetX));
      const op = this.graph?.ops[Math.min(Math.max(id, 0), this.graph.ops.length - 1)];
      if (op) this.go(op);
    });
    addEventListener("keydown", (e) => {
      if (e.key === "/" && !(e.target instanceof HTMLInputElement)) {
        e.preventDefault();
        search.focus();
      }
    });
    addEventListener("resize", () => this.showFoot());
  }
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function localTheme(): string {
  try {
    const kept = localStorage.getItem("weft-theme");
    if (kept) return kept;
  } catch { /* a saved page may not keep anything */ }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

Object.assign(globalThis, { weftLive: new App() });
