"""Functions of vectors, by the same steps as ``csrc/loops/math*.h``: the same bits come out.

Numbers stand here as they do there. A function is named as there, too.
"""

from __future__ import annotations

import functools

from .coefficients import (
    BIAS,
    ERF_CENTRE,
    ERFCX,
    EXP,
    EXP2_TO_ZERO,
    EXP_SHORT,
    EXP_TO_ZERO,
    HALF_ROOT,
    HYPOT,
    INF,
    LN2,
    LN_2,
    LOG,
    LOG2_E,
    LOG2_TAIL,
    LOG10_2,
    LOG_ERFC,
    MANTISSA,
    NAN,
    NORMAL_FAR,
    NORMAL_MIDDLE,
    NORMAL_TAIL,
    POW_EXP2,
    POW_LOG2,
    POWER,
    POWER_REST,
    H,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .llvm_ir import Lanes

# ---- the ground: math_base.h


def fma(a: Any, b: Any, c: Any) -> Lanes:
    """a * b + c, rounded once where the machine can."""
    one = next(x for x in (a, b, c) if not isinstance(x, float | int))
    a, b, c = one.like(a), one.like(b), one.like(c)
    return one.to.call("fma", a, b, c) if one.to.fma else a * b + c


def absolute(x: Lanes) -> Lanes:
    """The absolute value of floats."""
    return x.to.call("fabs", x)


def sqrt(x: Lanes) -> Lanes:
    """The square root."""
    return x.to.call("sqrt", x)


def copysign(x: Lanes, y: Lanes) -> Lanes:
    """x with the sign of y."""
    return x.to.call("copysign", x, y)


def floor(x: Lanes) -> Lanes:
    """Rounded down."""
    return x.to.call("floor", x)


def ceil(x: Lanes) -> Lanes:
    """Rounded up."""
    return x.to.call("ceil", x)


def trunc(x: Lanes) -> Lanes:
    """Rounded towards zero."""
    return x.to.call("trunc", x)


def round_even(x: Lanes) -> Lanes:
    """The nearest integer, halves to the even one."""
    return x.to.call("roundeven", x)


def where(c: Lanes, a: Any, b: Any) -> Lanes:
    """a where c holds, else b."""
    return c.to.select(c, a, b)


def isnan(x: Lanes) -> Lanes:
    """Where x is not a number."""
    return x.differs(x)


def horner(x: Lanes, c: Sequence[float]) -> Lanes:
    """c[0] + c[1] x + c[2] x^2 + …"""
    y: Any = x.like(c[-1])
    for k in reversed(c[:-1]):
        y = fma(y, x, k)
    return y


def polynomial(x: Lanes, c: Sequence[float]) -> Lanes:
    """The same; long ones in parts that do not wait for each other."""
    z = x * x
    if len(c) < 10:
        return horner(x, c)
    if len(c) < 16:
        return fma(horner(z, c[1::2]), x, horner(z, c[0::2]))
    w = z * z
    low = fma(horner(w, c[1::4]), x, horner(w, c[0::4]))
    return fma(fma(horner(w, c[3::4]), x, horner(w, c[2::4])), z, low)


def at_most(t: Lanes, top: float) -> Lanes:
    """The lesser of t and top; NaN may become anything."""
    return where(t > top, top, t)


def round_shift(kind: str) -> float:
    """What rounds a small number to an integer when it is added."""
    return float(3 << (MANTISSA[kind] - 1))


# ---- exponentials and logarithms: math_exp.h


def expm1_near_zero(r: Lanes) -> Lanes:
    """e^r - 1 for |r| <= ln2 / 2."""
    return fma(polynomial(r, EXP[r.kind]), r * r, r)


def split_exp(x: Lanes, offset: float, largest_n: float) -> tuple[Lanes, Lanes]:
    """Return e^r - 1 and the bits with n + offset, where x = n ln2 + r."""
    shift = round_shift(x.kind) + offset
    shifted = at_most(fma(x, LOG2_E, shift), shift + largest_n)
    n = shifted - shift
    high, low = LN2[x.kind]
    return expm1_near_zero(fma(n, -low, fma(n, -high, x))), shifted.bits


def power_of_two(biased: Lanes) -> Lanes:
    """2^(n - bias) for whole numbers n."""
    return (biased << (23 if biased.kind == "i32" else 52)).as_float()


def scale_by_power(expm1_r: Lanes, n: Lanes, m: Any) -> Lanes:
    """m 2^n (1 + e), the power in two halves."""
    half = n >> 1
    first, second = power_of_two(half), power_of_two(n - half)
    return fma(expm1_r, first, first) * m * second


def exp_times(x: Lanes, m: Any) -> Lanes:
    """m e^x."""
    bias = BIAS[x.kind]
    y = scale_by_power(*split_exp(x, 2 * bias, bias + 1), m)
    return where(x < EXP_TO_ZERO[x.kind], 0, y)


def exp(x: Lanes) -> Lanes:
    """e^x."""
    return exp_times(x, 1)


def exp_in_range(x: Lanes) -> Lanes:
    """e^x for -80 <= x <= 0 or so."""
    expm1_r, n = split_exp(x, BIAS[x.kind], 1)
    power = power_of_two(n)
    return fma(expm1_r, power, power)


def exp2(x: Lanes) -> Lanes:
    """2^x."""
    bias = BIAS[x.kind]
    shift = round_shift(x.kind) + 2 * bias
    shifted = at_most(x + shift, shift + bias + 1)
    r = (x - (shifted - shift)) * LN_2
    y = scale_by_power(expm1_near_zero(r), shifted.bits, 1)
    return where(x < EXP2_TO_ZERO[x.kind], 0, y)


def quarter_expm1(x: Lanes) -> Lanes:
    """(e^x - 1) / 4."""
    bias = BIAS[x.kind]
    expm1_r, n = split_exp(x, bias - 2, bias + 2)
    power = power_of_two(n)
    return fma(power, expm1_r, power - 0.25)


def tiny(kind: str) -> float:
    """What is too small for its square to count."""
    return 1 / (1 << (MANTISSA[kind] // 2 + 2))


def expm1(x: Lanes) -> Lanes:
    """e^x - 1."""
    y = where(x < -40, -1, 4 * quarter_expm1(x))
    return where(absolute(x) < tiny(x.kind) ** 2, x, y)


def sinh(x: Lanes) -> Lanes:
    """The hyperbolic sine."""
    a = absolute(x)
    q = quarter_expm1(a)
    rest = where(a > 40, 0, q / fma(4, q, 1))
    return copysign(where(a < tiny(x.kind), a, 2 * (q + rest)), x)


def cosh(x: Lanes) -> Lanes:
    """The hyperbolic cosine."""
    bias = BIAS[x.kind]
    expm1_r, n = split_exp(absolute(x), bias - 2, bias + 2)
    power = power_of_two(n)
    q = fma(power, expm1_r, power)
    return 2 * (q + 0.0625 / q)


def tanh(x: Lanes) -> Lanes:
    """The hyperbolic tangent."""
    a, bias = absolute(x), BIAS[x.kind]
    expm1_r, n = split_exp(2 * a, bias, bias)
    power = power_of_two(n)
    t = fma(power, expm1_r, power - 1)
    return copysign(where(a > 20, 1, t / (t + 2)), x)


def sigmoid(x: Lanes) -> Lanes:
    """1 / (1 + e^-x)."""
    e = exp(-absolute(x))
    return where(x < 0, e, 1) / (1 + e)


@functools.cache
def _bits_of(kind: str, x: float) -> int:
    import struct

    return struct.unpack(
        "<I" if kind == "f32" else "<Q", struct.pack("<f" if kind == "f32" else "<d", x)
    )[0]


def log_fields(x: Lanes) -> Lanes:
    """The exponent of x / sqrt(1/2), and its mantissa, as bits."""
    kind = x.kind
    return x.bits - _bits_of(kind, HALF_ROOT) + (BIAS[kind] << MANTISSA[kind])


def exponent_of(kind: str, fields: Lanes, extra: Any) -> Lanes:
    """The exponent in such bits as a number, less extra."""
    big = float(1 << MANTISSA[kind])
    low = (fields >> MANTISSA[kind]) | _bits_of(kind, big)
    return low.as_float() - (fields.like(extra) + _bits_of(kind, big + BIAS[kind])).as_float()


def split_log(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return k and f, where x = 2^k (1 + f)."""
    kind, m = x.kind, MANTISSA[x.kind]
    smallest_normal = 2.0 ** (1 - BIAS[kind])
    zero = x.bits.like(0)
    tiny_one = x < smallest_normal
    y = x * (where(tiny_one, zero.like(m << m), zero) + _bits_of(kind, 1.0)).as_float()
    fields = log_fields(y)
    one_f = ((fields & ((1 << m) - 1)) + _bits_of(kind, HALF_ROOT)).as_float()
    return exponent_of(kind, fields, where(tiny_one, zero.like(m), zero)), one_f - 1


def log_near_one(f: Lanes) -> Lanes:
    """log(1 + f)."""
    if f.kind == "f32":
        return fma(horner(f, LOG["f32"]), f * f, f)
    s = f / (2 + f)
    z, half = s * s, 0.5 * f * f
    return f - (half - s * fma(z, horner(z, LOG["f64"]), half))


def log_edges(x: Lanes, y: Lanes) -> Lanes:
    """y, or what log gives at zero, below and at infinity."""
    y = where(x > 0, y, where(x.equals(0), x.like(-INF), NAN))
    return where(x.equals(INF), x, y)


def log(x: Lanes) -> Lanes:
    """The natural logarithm."""
    (k, f), (high, low) = split_log(x), LN2[x.kind]
    return log_edges(x, fma(k, high, fma(k, low, log_near_one(f))))


def log2(x: Lanes) -> Lanes:
    """The logarithm to base 2."""
    k, f = split_log(x)
    return log_edges(x, fma(log_near_one(f), LOG2_E, k))


def log10(x: Lanes) -> Lanes:
    """The logarithm to base 10."""
    (k, f), (high, low) = split_log(x), LOG10_2[x.kind]
    return log_edges(x, fma(k, high, fma(k, low, log_near_one(f) * 0.43429448190325182765)))


def log1p(x: Lanes) -> Lanes:
    """log(1 + x)."""
    kind, u = x.kind, 1 + x
    fields = log_fields(u)
    k = exponent_of(kind, fields, 0)
    four_power = power_of_two((2 * BIAS[kind] + 2) - (fields >> MANTISSA[kind]))
    f = fma(x * 0.25, four_power, fma(0.25, four_power, -1))
    high, low = LN2[kind]
    y = log_edges(u, fma(k, high, fma(k, low, log_near_one(f))))
    return where(absolute(x) < tiny(kind) ** 2, x, y)


def asinh(x: Lanes) -> Lanes:
    """The inverse of sinh."""
    a = absolute(x)
    large = a > 1 / tiny(x.kind) ** 2
    u = where(large, a, a + a * a / (1 + sqrt(fma(a, a, 1))))
    return copysign(log1p(u) + where(large, a.like(LN_2), 0), x)


def acosh(x: Lanes) -> Lanes:
    """The inverse of cosh."""
    t = x - 1
    large = x > 1 / tiny(x.kind) ** 2
    u = where(large, x, t + sqrt(t * (x + 1)))
    return where(x < 1, NAN, log1p(u) + where(large, x.like(LN_2), 0))


def atanh(x: Lanes) -> Lanes:
    """The inverse of tanh."""
    a = absolute(x)
    return copysign(0.5 * log1p(2 * a / (1 - a)), x)


def hypot(x: Lanes, y: Lanes) -> Lanes:
    """sqrt(x^2 + y^2), without overflow."""
    large, down, small, up = HYPOT[x.kind]
    a, b = absolute(x), absolute(y)
    m = where(a > b, a, b)
    there = where(m > large, down, where(m < small, m.like(up), 1))
    back = where(m > large, 1 / down, where(m < small, m.like(1 / up), 1))
    u, v = a * there, b * there
    r = sqrt(fma(u, u, v * v)) * back
    return where(a.equals(INF) | b.equals(INF), INF, r)


# ---- exp by hand for avx512: math_lanes.h


def _in_512(kind: str, x: Lanes, instruction: Callable[..., str], *args: Lanes) -> Lanes:
    """Return an instruction that exists for 512 bits only, for vectors of one or two such."""
    if x.to.lanes * (32 if kind == "f32" else 64) == 512:
        return x.to.step(kind, instruction(*(a.name for a in args)))
    return x.to.halves(instruction, kind, *args)


def times_power_of_two(x: Lanes, n: Lanes) -> Lanes:
    """x 2^n, by an instruction of avx512."""
    ps, t = ("ps", "<16 x float>") if x.kind == "f32" else ("pd", "<8 x double>")
    mask = "i16" if x.kind == "f32" else "i8"
    name = f"llvm.x86.avx512.mask.scalef.{ps}.512"
    x.to.declared.add(f"declare {t} @{name}({t}, {t}, {t}, {mask}, i32)")

    def instruction(a: str, b: str) -> str:
        return f"call {t} @{name}({t} {a}, {t} {b}, {t} {a}, {mask} -1, i32 4)"

    return _in_512(x.kind, x, instruction, x, n)


def _look_up(table: tuple[float, ...], place: Lanes) -> Lanes:
    texts = [f"double 0x{_bits_of('f64', v):016X}" for v in table]
    halves = [f"<{', '.join(half)}>" for half in (texts[:8], texts[8:])]
    name, d, i = "llvm.x86.avx512.vpermi2var.pd.512", "<8 x double>", "<8 x i64>"
    place.to.declared.add(f"declare {d} @{name}({d}, {i}, {d})")

    def instruction(index: str) -> str:
        return f"call {d} @{name}({d} {halves[0]}, {i} {index}, {d} {halves[1]})"

    return _in_512("f64", place, instruction, place.bits)


def exp_by_hand(x: Lanes) -> Lanes:
    """e^x as eager's loop for avx512 has it."""
    kind, top = x.kind, -EXP_TO_ZERO[x.kind]
    least = where(x.like(top) < x, top, x)
    x = where(x.like(-top) > least, -top, least)
    high, low = LN2[kind]
    if kind == "f32":
        shift = round_shift(kind)
        n = fma(x, LOG2_E, shift) - shift
        r = fma(n, -low, fma(n, -high, x))
        return times_power_of_two(fma(fma(horner(r, EXP[kind]), r, 1), r, 1), n)
    shift = round_shift(kind) / 16
    place = fma(x, LOG2_E, shift)
    n = place - shift
    r = fma(n, -low, fma(n, -high, x))
    p, t = fma(horner(r, EXP_SHORT), r * r, r), _look_up(POWER, place)
    return times_power_of_two(fma(p, t, _look_up(POWER_REST, place)) + t, n)


# ---- powers: math_pow.h


def _power_f32(x: Lanes, y: Lanes) -> Lanes:
    to = x.to
    k, f32 = split_log(absolute(x))
    f = to.convert(f32, "f64")
    l = fma(f, polynomial(f, POW_LOG2), to.convert(k, "f64"))
    z = to.convert(y, "f64") * log_edges(to.convert(absolute(x), "f64"), l)
    z = where(z > 200, 200, z)
    z = where(z < -200, -200, z)
    shift = round_shift("f64") + 1023
    shifted = z + shift
    r = z - (shifted - shift)
    return to.convert(horner(r, POW_EXP2) * power_of_two(shifted.bits), "f32")


# Pairs of vectors are unevaluated sums.


def _times(a: Any, b: Any) -> Any:
    p = a[0] * b[0]
    return p, fma(a[0], b[0], -p) + fma(a[0], b[1], a[1] * b[0])


def _plus(larger: Any, b: Any) -> Any:
    s = larger + b[0]
    return s, ((larger - s) + b[0]) + b[1]


def _log2_near_one(f: Lanes) -> Any:
    d = 2 + f
    inverse, d_rest = 1 / d, f - (d - 2)
    s = f * inverse
    root = (s, (fma(-s, d, f) - s * d_rest) * inverse)
    z = _times(root, root)
    third = f.like(H("0x1.5555555555555p-1"))
    series = _times(z, _plus(third, (z[0] * horner(z[0], LOG2_TAIL), H("0x1.5555555555555p-55"))))
    log = _times(root, _plus(f.like(2), series))
    return _times(log, (f.like(H("0x1.71547652b82fep+0")), f.like(H("0x1.777d0ffda0d24p-56"))))


def _power_f64(x: Lanes, y: Lanes) -> Lanes:
    a = absolute(x)
    k, f = split_log(a)
    log = _plus(k, _log2_near_one(f))
    z = y * log_edges(a, log[0])
    rest = where(absolute(z) < 1e4, fma(y, log[0], -z) + y * log[1], 0)
    shift = round_shift("f64") + 2 * 1023
    shifted = at_most(z + shift, shift + 1024)
    r = ((z - (shifted - shift)) + rest) * LN_2
    p = scale_by_power(expm1_near_zero(r), shifted.bits, 1)
    return where(z < EXP2_TO_ZERO["f64"], 0, p)


def _general_power(x: Lanes, y: Lanes) -> Lanes:
    p = (_power_f32 if x.kind == "f32" else _power_f64)(x, y)
    half = 0.5 * y
    integer = round_even(y).equals(y)
    odd = integer & round_even(half).differs(half)
    sign = x.bits & (1 << (31 if x.kind == "f32" else 63))
    p = (p.bits | where(odd, sign, 0)).as_float()
    p = where((x < 0) & (x > -INF) & ~integer, NAN, p)
    one = x.equals(1) | y.equals(0) | (x.equals(-1) & absolute(y).equals(INF))
    return where(one, 1, p)


def power(x: Lanes, y: Lanes) -> Lanes:
    """x^y; of a constant y LLVM leaves only what it needs."""
    inverse, root = 1 / x, where(x.equals(-INF), INF, sqrt(x + 0.0))
    usual = {
        1: x,
        2: x * x,
        3: x * x * x,
        -1: inverse,
        -2: inverse * inverse,
        -3: inverse * inverse * inverse,
        0.5: root,
        1.5: absolute(x) * root,
        -0.5: 1 / root,
        -1.5: 1 / root / absolute(x),
    }
    p = _general_power(x, y)
    for exponent, value in usual.items():
        p = where(y.equals(exponent), value, p)
    return p


# ---- the error function: math_special.h


def erf_centre(x: Lanes) -> Lanes:
    """erf near zero."""
    table = ERF_CENTRE[x.kind]
    return fma(horner(x * x, table) if x.kind == "f32" else polynomial(x * x, table), x, x)


def square_rest(x: Lanes, square: Lanes) -> Lanes:
    """x^2 less its rounded value."""
    to = x.to
    if x.kind == "f32":
        wide = to.convert(x, "f64")
        return to.convert(wide * wide - to.convert(square, "f64"), "f32")
    if to.fma:
        return fma(x, x, -square)
    hi = (x.bits & ~0x7FFFFFF).as_float()
    lo = x - hi
    return ((hi * hi - square) + 2 * hi * lo) + lo * lo


def erfcx(a: Lanes) -> Lanes:
    """exp(a^2) erfc(a) for a >= 3/4."""
    if a.kind == "f32":
        return horner((a - 3) / (a + 3), ERFCX["f32"]) / (a + 3)
    q = 1 / (a + 3)
    return q * polynomial((a - 3) * q, ERFCX["f64"])


def erfc(x: Lanes) -> Lanes:
    """1 - erf(x)."""
    a = absolute(x)
    square, g = a * a, erfcx(a)
    tail = exp_times(-square, fma(-g, square_rest(a, square), g))
    tail = where(x < 0, 2 - tail, tail)
    return where(a < 0.75, 1 - erf_centre(x), tail)


def erf(x: Lanes) -> Lanes:
    """The error function."""
    a = absolute(x)
    if x.kind == "f32":
        tail = where(a > 4, 1, 1 - exp_in_range(horner(a, LOG_ERFC)))
        return where(a < 1, erf_centre(x), copysign(tail, x))
    square, g = a * a, erfcx(a)
    tail = 1 - exp_in_range(-square) * fma(-g, square_rest(a, square), g)
    return where(a < 0.75, erf_centre(x), copysign(where(a > 6, 1, tail), x))


def bell(x: Lanes) -> Lanes:
    """exp(-x^2 / 2); of floats, 0 below 1e-34."""
    if x.kind != "f32":
        return exp(x * x * -0.5)
    z = at_most(absolute(x), NORMAL_FAR)
    return where(absolute(x) > NORMAL_FAR, 0, exp_in_range(z * z * -0.5))


def normal_share(x: Lanes, b: Lanes) -> Lanes:
    """The normal distribution's share below x, whose bell(x) is given."""
    if x.kind != "f32":
        return (erf(x * HALF_ROOT) + 1) * 0.5
    z = at_most(absolute(x), NORMAL_FAR)
    q = 1 / (z + NORMAL_MIDDLE)
    tail = b * (q * horner((z - NORMAL_MIDDLE) * q, NORMAL_TAIL))
    return where(x < 0, tail, 1 - tail)
