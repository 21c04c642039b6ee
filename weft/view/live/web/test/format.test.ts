import assert from "node:assert/strict";
import { test } from "node:test";
import { levels, ticks } from "../src/charts";
import { bytes, count, dtype, number, shape, time, value } from "../src/format";

test("numbers as people read them", () => {
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(1536), "1.5 KiB");
  assert.equal(bytes(3 * 2 ** 30), "3.0 GiB");
  assert.equal(time(1530), "1.5 µs");
  assert.equal(time(2.5e9), "2.50 s");
  assert.equal(value(0), "0");
  assert.equal(value(-0.25), "-0.25");
  assert.equal(value(123456), "1.23e5");
  assert.equal(value("nan"), "nan");
  assert.equal(value(null), "–");
  assert.equal(value(NaN), "NaN");
  assert.equal(shape([]), "scalar");
  assert.equal(shape([3, 224]), "3×224");
  assert.equal(dtype("bfloat16"), "bf16");
  assert.equal(dtype("strange"), "strange");
  assert.equal(count(1234567).replaceAll("\u2009", " "), "1 234 567");
  assert.equal(number("-inf"), -Infinity);
  assert.ok(Number.isNaN(number("nan")));
});

test("ticks are round, inside, and about as many as asked for", () => {
  let seed = 7;
  const random = (): number => (seed = (seed * 16807) % 2147483647) / 2147483647;
  for (let k = 0; k < 2000; k++) {
    const low = (random() - 0.5) * 10 ** (random() * 12 - 6);
    const high = low + 10 ** (random() * 12 - 6);
    const wanted = 2 + Math.floor(random() * 8);
    const found = ticks(low, high, wanted);
    assert.ok(found.length >= 1 && found.length <= 2.5 * wanted + 2, `${low} ${high} ${found}`);
    for (const x of found) assert.ok(x >= low - 1e-6 * (high - low) && x <= high + 1e-6 * (high - low) + 1e-12);
    for (let i = 1; i < found.length; i++) assert.ok(found[i] > found[i - 1]);
  }
  assert.deepEqual(levels(-3.2, 0.5, 3, true).every(Number.isInteger), true);
});
