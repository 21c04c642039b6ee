// Numbers as people read them.

/** 1536 -> "1.5 KiB". */
export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let power = 0;
  while (n >= 1024 && power < units.length - 1) {
    n /= 1024;
    power += 1;
  }
  return power === 0 ? `${n} B` : `${n.toFixed(n < 10 ? 1 : 0)} ${units[power]}`;
}

/** Nanoseconds: 1530 -> "1.5 µs". */
export function time(ns: number): string {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(ns < 1e4 ? 1 : 0)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(ns < 1e8 ? 1 : 0)} ms`;
  return `${(ns / 1e9).toFixed(2)} s`;
}

/** A value of a tensor or a curve; JSON has texts for nan and inf. */
export function value(x: number | string | null | undefined): string {
  if (x === null || x === undefined) return "–";
  if (typeof x === "string") return x;
  if (!Number.isFinite(x)) return String(x);
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) return x.toExponential(2).replace("e+", "e");
  if (Number.isInteger(x)) return String(x);
  return x.toPrecision(4).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/** [3, 224, 224] -> "3×224×224"; a scalar is "scalar". */
export function shape(sizes: number[]): string {
  return sizes.length === 0 ? "scalar" : sizes.join("×");
}

const SHORT: Record<string, string> = {
  float32: "f32", float64: "f64", float16: "f16", bfloat16: "bf16", int64: "i64", int32: "i32", int16: "i16",
  int8: "i8", uint8: "u8", complex64: "c64", complex128: "c128",
};

export function dtype(name: string): string {
  return SHORT[name] ?? name;
}

/** A whole number with thin spaces: 12345 -> "12 345". */
export function count(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

/** JSON's number or text for nan and inf, as a number. */
export function number(x: number | string | null | undefined): number {
  return x === null || x === undefined ? NaN : Number(x === "inf" ? Infinity : x === "-inf" ? -Infinity : x);
}
