// Where the data comes from: the program, asked again and again, or what lies in a saved page.

import { GraphData, ValueData, Stats } from "./model";

export interface Tensor {
  name: string;
  text: string;
  shape?: number[];
  dtype?: string;
  grad?: boolean;
  stats?: Stats | null;
}

export interface Stop {
  reason: string;
  op: number;
  name: string;
  line: string;
  function: string;
  tensors: Tensor[];
  variables: Tensor[];
}

export interface Breakpoint {
  number: number;
  kind: "op" | "module" | "condition";
  text: string;
  enabled: boolean;
  hits: number;
}

export interface Status {
  state: "waiting" | "running" | "paused" | "stopped" | "ended" | "failed" | "lost";
  step: number;
  program: string;
  pid: number;
  reason?: string;
  trouble?: string;
  seconds?: number;
  price?: number;
  every?: number;
  terminal?: boolean;
}

export type Point = [number, number | string | null, number | string | null, number | string | null, number | null];
export type Layer = [string, number[], number | string, number | string | null, number | string | null];

export interface Answer {
  version: number;
  status: Status;
  tree: [string, string, string, number][];
  points: Point[];
  first: number;
  dropped: number;
  layers: Layer[];
  breakpoints: Breakpoint[];
  stop: Stop | null;
  shown?: number;
  values?: ValueData;
  graph?: GraphData;
}

export interface CompiledFunction {
  name: string;
  reasons: string[];
  graphs: { title: string; passes: { name: string; ops: number; text: string | null }[] }[];
}

export interface Source {
  readonly live: boolean;
  start(take: (answer: Answer) => void, lost: () => void): void;
  post(name: string, body: Record<string, unknown>): Promise<Record<string, unknown>>;
  compiled(): Promise<CompiledFunction[]>;
}

/** Curves that were sent in parts, joined. */
export function joinPoints(had: Point[], answer: Pick<Answer, "points" | "first">): Point[] {
  return [...had.slice(0, answer.first), ...answer.points];
}

export class Program implements Source {
  readonly live = true;

  async post(name: string, body: Record<string, unknown>): Promise<Record<string, unknown>> {
    const answer = await fetch(name, { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body), cache: "no-store" });
    const found = (await answer.json()) as Record<string, unknown>;
    if (!answer.ok) throw new Error(String(found.error ?? answer.statusText));
    return found;
  }

  async compiled(): Promise<CompiledFunction[]> {
    return (await this.post("compiled", {})).functions as CompiledFunction[];
  }

  start(take: (answer: Answer) => void, lost: () => void): void {
    const known: Record<string, unknown> = { version: -1, points: 0, dropped: 0 };
    let failures = 0;
    const ask = async (): Promise<void> => {
      try {
        const answer = (await this.post("poll", known)) as unknown as Answer;
        failures = 0;
        Object.assign(known, { version: answer.version, dropped: answer.dropped,
          points: answer.first + answer.points.length });
        if (answer.values) known.shown = answer.shown;
        if (answer.graph) known.graph = answer.graph.signature;
        take(answer);
        setTimeout(ask, document.hidden ? 2000 : 60);
      } catch {
        failures += 1;
        if (failures === 2) lost();
        if (failures < 40) setTimeout(ask, Math.min(300 * failures, 3000));
      }
    };
    void ask();
  }
}

export class SavedPage implements Source {
  readonly live = false;

  constructor(private readonly data: Answer, private readonly functions: CompiledFunction[]) {}

  start(take: (answer: Answer) => void): void {
    take(this.data);
  }

  async post(): Promise<Record<string, unknown>> {
    throw new Error("this page was saved: the program is not there any more");
  }

  async compiled(): Promise<CompiledFunction[]> {
    return this.functions;
  }
}

export function findSource(): Source {
  const saved = document.getElementById("saved");
  if (!saved) return new Program();
  const compiled = document.getElementById("saved-compiled")?.textContent ?? "{}";
  return new SavedPage(JSON.parse(saved.textContent ?? "{}") as Answer,
    (JSON.parse(compiled) as { functions?: CompiledFunction[] }).functions ?? []);
}
