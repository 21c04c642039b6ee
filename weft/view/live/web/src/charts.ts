// Curves and histograms on canvases.

import { bytes, value } from "./format";
import { FONT } from "./view";


/** Round numbers between two: at most about `count`. */
export function ticks(low: number, high: number, count: number): number[] {
  if (!(high > low) || count < 1) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.65) ?? raw;
  const found: number[] = [];
  for (let x = Math.ceil(low / step) * step; x <= high + step * 1e-9; x += step) found.push(Math.abs(x) < step * 1e-9 ? 0 : x);
  return found;
}

/** Places of the lines behind a curve; for a logarithmic axis powers of ten, if there are some to see. */
export function levels(low: number, high: number, count: number, log: boolean): number[] {
  if (!log) return ticks(low, high, count);
  const powers = ticks(low, high, count).filter((y) => Number.isInteger(y));
  if (powers.length >= 2) return powers;
  const found: number[] = [];
  for (let power = Math.floor(low); power <= high; power++)
    for (const m of [1, 2, 5]) {
      const y = power + Math.log10(m);
      if (y >= low && y <= high) found.push(y);
    }
  return found;
}

function colour(canvas: HTMLCanvasElement, name: string): string {
  return getComputedStyle(canvas).getPropertyValue(`--${name}`).trim();
}

function prepare(canvas: HTMLCanvasElement): [CanvasRenderingContext2D, number, number] {
  const ratio = devicePixelRatio || 1;
  const { clientWidth: w, clientHeight: h } = canvas;
  canvas.width = Math.max(1, Math.round(w * ratio));
  canvas.height = Math.max(1, Math.round(h * ratio));
  const c = canvas.getContext("2d")!;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, w, h);
  return [c, w, h];
}

export interface ChartOptions {
  log?: boolean;
  area?: boolean;
  format?: (y: number) => string;
  bands?: { from: number; to: number; label: string }[];
  mark?: number | null;
  zero?: boolean;
}

/** Draws curves; returns how to go from a place on the canvas to a value of x. */
export function chart(canvas: HTMLCanvasElement, curves: { name: string; points: [number, number][] }[],
  options: ChartOptions = {}): (px: number) => number {
  const [c, w, h] = prepare(canvas);
  const format = options.format ?? value;
  const usable = curves.map((curve) => ({ ...curve, points: curve.points.filter(([, y]) => Number.isFinite(y)
    && (!options.log || y > 0)) }));
  const all = usable.flatMap((curve) => curve.points);
  c.font = `10.5px ${FONT}`;
  if (all.length === 0) {
    c.fillStyle = colour(canvas, "faint");
    c.textAlign = "center";
    c.fillText("nothing yet", w / 2, h / 2);
    return () => NaN;
  }
  const map = (y: number): number => (options.log ? Math.log10(y) : y);
  let [x0, x1, y0, y1] = [Infinity, -Infinity, options.zero ? 0 : Infinity, -Infinity];
  for (const [x, y] of all) {
    x0 = Math.min(x0, x);
    x1 = Math.max(x1, x);
    y0 = Math.min(y0, map(y));
    y1 = Math.max(y1, map(y));
  }
  if (y1 - y0 < 1e-12 * Math.max(1, Math.abs(y1))) {
    y0 -= Math.abs(y0) * 0.05 + 1e-9;
    y1 += Math.abs(y1) * 0.05 + 1e-9;
  }
  const left = 52, right = w - 22, top = 8, bottom = h - 18;
  const px = (x: number): number => left + ((x - x0) / Math.max(x1 - x0, 1e-12)) * (right - left);
  const py = (y: number): number => bottom - ((map(y) - y0) / (y1 - y0)) * (bottom - top);
  for (const [i, band] of (options.bands ?? []).entries()) {
    c.fillStyle = colour(canvas, i % 2 ? "background" : "surface");
    c.fillRect(px(band.from), top, px(band.to) - px(band.from), bottom - top);
    c.fillStyle = colour(canvas, "faint");
    c.textAlign = "left";
    c.textBaseline = "top";
    if (px(band.to) - px(band.from) > 50) c.fillText(band.label, px(band.from) + 5, top + 3);
  }
  c.strokeStyle = colour(canvas, "line");
  c.fillStyle = colour(canvas, "faint");
  c.lineWidth = 1;
  c.textBaseline = "middle";
  c.textAlign = "right";
  const marks = levels(y0, y1, Math.max(3, Math.floor((bottom - top) / 34)), options.log ?? false);
  for (const y of marks) {
    const at = bottom - ((y - y0) / (y1 - y0)) * (bottom - top);
    c.beginPath();
    c.moveTo(left, Math.round(at) + 0.5);
    c.lineTo(right, Math.round(at) + 0.5);
    c.stroke();
    c.fillText(format(options.log ? 10 ** y : y), left - 6, at);
  }
  c.textAlign = "center";
  c.textBaseline = "top";
  for (const x of ticks(x0, x1, Math.max(2, Math.floor((right - left) / 90)))) c.fillText(value(x), px(x), bottom + 5);
  const names = ["accent", "warm", "norm", "loss"];
  for (const [i, { points }] of usable.entries()) {
    c.strokeStyle = colour(canvas, names[i % names.length]);
    c.lineWidth = 1.6;
    c.lineJoin = "round";
    c.beginPath();
    points.forEach(([x, y], k) => (k ? c.lineTo(px(x), py(y)) : c.moveTo(px(x), py(y))));
    c.stroke();
    if (options.area && points.length > 1) {
      c.lineTo(px(points[points.length - 1][0]), bottom);
      c.lineTo(px(points[0][0]), bottom);
      c.globalAlpha = 0.14;
      c.fillStyle = c.strokeStyle;
      c.fill();
      c.globalAlpha = 1;
    }
    if (points.length === 1) {
      c.fillStyle = c.strokeStyle;
      c.beginPath();
      c.arc(px(points[0][0]), py(points[0][1]), 2.5, 0, 7);
      c.fill();
    }
  }
  if (options.mark !== null && options.mark !== undefined) {
    c.strokeStyle = colour(canvas, "accent");
    c.setLineDash([3, 3]);
    c.beginPath();
    c.moveTo(px(options.mark), top);
    c.lineTo(px(options.mark), bottom);
    c.stroke();
    c.setLineDash([]);
  }
  return (at) => x0 + ((at - left) / Math.max(right - left, 1)) * (x1 - x0);
}

export const memory = (n: number): string => bytes(Math.max(0, Math.round(n)));

export function histogram(canvas: HTMLCanvasElement, counts: number[], low: number | string, high: number | string): void {
  const [c, w, h] = prepare(canvas);
  const most = Math.max(...counts, 1);
  const wide = w / counts.length;
  c.fillStyle = colour(canvas, "accent");
  counts.forEach((n, i) => {
    const tall = n === 0 ? 0 : Math.max(1.5, (n / most) * (h - 16));
    c.globalAlpha = 0.85;
    c.fillRect(i * wide + 0.5, h - 14 - tall, Math.max(wide - 1, 1), tall);
  });
  c.globalAlpha = 1;
  c.fillStyle = colour(canvas, "line");
  c.fillRect(0, h - 14, w, 1);
  c.fillStyle = colour(canvas, "faint");
  c.font = `10.5px ${FONT}`;
  c.textBaseline = "bottom";
  c.textAlign = "left";
  c.fillText(value(low), 0, h);
  c.textAlign = "right";
  c.fillText(value(high), w, h);
}
