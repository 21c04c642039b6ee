"""Functions of vectors, by the same steps as ``csrc/loops/math*.h``: the same bits come out.

Numbers stand here as they do there. A function is named as there, too.
"""

from __future__ import annotations

import functools

from .ir import rounded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .ir import Lanes

    Step = Callable[[str], str]

_H = float.fromhex
MANTISSA = {"f32": 23, "f64": 52}
BIAS = {"f32": 127, "f64": 1023}
INF, NAN = float("inf"), float("nan")
PI, HALF_PI = 3.14159265358979323846, 1.57079632679489661923
LOG2_E, LN_2, HALF_ROOT = 1.4426950408889634074, 0.69314718055994530942, 0.70710678118654752440
HALF_PI_REST = {"f32": -4.37113883e-08, "f64": 6.12323399573676588613e-17}

# fmt: off
EXP = {
    "f32": (0.49999997, 0.16666539, 0.0416677557, 0.00836713519, 0.00138356211),
    "f64": (0.5, 0.16666666666666677, 0.041666666666666685, 0.008333333333321806, 0.0013888888888893749,
            0.00019841269885304344, 2.4801587278758889e-05, 2.7557245197365623e-06, 2.7557329794739589e-07,
            2.5108669689948606e-08, 2.0893818643981661e-09),
}
LOG = {
    "f32": (-0.499999881, 0.333333224, -0.250016093, 0.200021163, -0.166085869, 0.141780138, -0.132423833,
            0.129368439, -0.0767209753),
    "f64": (0.6666666666666734, 0.3999999999941653, 0.28571428742069471, 0.22222198599499796,
            0.18183563196767422, 0.15314074746042858, 0.14795745546374228),
}
LN2 = {"f32": (_H("0x1.62e4p-1"), 1.42860682e-06), "f64": (_H("0x1.62e42fefa3p-1"), _H("0x1.3de6af278ece6p-42"))}
LOG10_2 = {"f32": (_H("0x1.344p-2"), _H("0x1.3509f79fep-18")),
           "f64": (_H("0x1.34413509f8p-2"), _H("-0x1.80433b83b532ap-44"))}
EXP_TO_ZERO = {"f32": -104.0, "f64": -746.0}
EXP2_TO_ZERO = {"f32": -151.0, "f64": -1076.0}
SIN = {
    "f32": (-0.166666597, 0.00833306462, -0.00019809221, 2.60452657e-06),
    "f64": (-0.16666666666666666, 0.0083333333333332014, -0.0001984126984120953, 2.755731921094203e-06,
            -2.5052106838782617e-08, 1.605893738318295e-10, -7.6429184742720528e-13, 2.7202984914909817e-15),
}
SIN_QUARTER = {
    "f32": (-0.166666538, 0.00833210628, -0.000195078886),
    "f64": (-0.16666666666666627, 0.0083333333333211277, -0.00019841269828772218, 2.7557313330319181e-06,
            -2.5050701115386432e-08, 1.5893469042540683e-10),
}
COS_QUARTER = {
    "f32": (0.0416666456, -0.00138873036, 2.44312014e-05),
    "f64": (0.041666666666666588, -0.0013888888888872167, 2.4801587288274773e-05, -2.7557314007365791e-07,
            2.0875676840695211e-09, -1.1357264420181783e-11),
}
ATAN = {
    "f32": (-0.333331525, 0.199937671, -0.14211002, 0.106657691, -0.0755165964, 0.0432047024, -0.0163631532,
            0.00291940593),
    "f64": (-0.3333333333333186, 0.19999999999755055, -0.14285714271336658, 0.11111110678795955,
            -0.090909012361156047, 0.076922129379022861, -0.066658604159586951, 0.058773080477948117,
            -0.052392340832190742, 0.046739528162832784, -0.040926455004389135, 0.034067937750075133,
            -0.025826966301347485, 0.016978208122367836, -0.0091846898457133407, 0.0038560464567013912,
            -0.0011640984824753944, 0.00022302848755293756, -2.0259191018616293e-05),
}
ASIN = {
    "f32": (0.166667521, 0.0749530941, 0.0454691499, 0.0241847821, 0.0421582907),
    "f64": (0.16666666666665408, 0.075000000003370135, 0.044642856828325667, 0.030381959137066563,
            0.022371758048979298, 0.01735970477009675, 0.013885235540888243, 0.01216921031239053,
            0.0065279841018033961, 0.019528234048052796, -0.016224194830164275, 0.031912224831187434),
}
FAR = {"f32": 1e5, "f64": 1e6}
PI_FUSED = {"f32": ("0x1.921fb4p+1", "0x1.4442dp-23", "0x1.846988p-47"),
            "f64": ("0x1.921fb54442d18p+1", "0x1.1a62633145c06p-53", "0x1.c1cd129024e08p-106")}
PI_PLAIN = {"f32": ("0x1.921fb544p+1", "0x1.0b4611a626331p-33"),
            "f64": ("0x1.921fb544p+1", "0x1.0b4611a6p-33", "0x1.3198a2e037073p-68")}
ERF_CENTRE = {
    "f32": (0.128379166, -0.37612626, 0.112835787, -0.0268533584, 0.00518721016, -0.000799851259, 7.80984774e-05),
    "f64": (0.12837916709551259, -0.3761263890318417, 0.11283791670978355, -0.026866170650134188,
            0.0052239776799031948, -0.00085483303898790984, 0.00012055456661005442, -1.4928318375378514e-05,
            1.6492238592229415e-06, -1.6449650025162533e-07, 1.3267397203149293e-08),
}
LOG_ERFC = (0.000188464459, -1.12958026, -0.63321656, -0.10842187, 0.0252101645, -0.00420520967, 0.000441455515,
            -2.16959761e-05)
ERFCX = {
    "f32": (1.07400692, -0.883394301, 0.590227365, -0.310472548, 0.119545773, -0.0267751738, -0.00131765066,
            0.00283405045, -0.000331826683),
    "f64": (1.0740069070883398, -0.88339445316988374, 0.5902283571041016, -0.31046726190054891,
            0.11952776128730269, -0.026827234625304723, -0.0012124166272480391, 0.0030340620178234976,
            -0.00054830969803551261, -0.00027677802687756374, 0.00010756161811705309, 3.0399304584745092e-05,
            -1.7471766397464208e-05, -4.7534782896940171e-06, 2.7713374871889165e-06, 1.0076542926944435e-06,
            -4.2461257592993911e-07, -2.4086015184740725e-07, 7.0997470715906604e-08, 4.6894386454499999e-08,
            -1.6988667867677083e-08),
}
POW_LOG2 = (1.4426950408686967, -0.72134752086826892, 0.48089836139901115, -0.36067367489175967,
            0.28853729325283517, -0.24045316258234306, 0.20617536350997503, -0.18030066638137873,
            0.15876979948226788, -0.14315580953240556, 0.14474790979482924, -0.14284176229849838,
            0.077373796765795075)
POW_EXP2 = (1.0000000005539635, 0.69314720573818367, 0.24022646892120161, 0.055503287761174358,
            0.0096184888126199346, 0.0013399931298790633, 0.00015345846935501975)
LOG2_TAIL = (0.4, 0.28571428571428571, 0.22222222222222222, 0.18181818181818182, 0.15384615384615385,
             0.13333333333333333, 0.11764705882352941, 0.10526315789473684, 0.095238095238095238)
# fmt: on


# ---- the ground: math_base.h


def fma(a: Any, b: Any, c: Any) -> Lanes:
    one = next(x for x in (a, b, c) if not isinstance(x, float | int))
    a, b, c = one.like(a), one.like(b), one.like(c)
    return one.to.call("fma", a, b, c) if one.to.fma else a * b + c


def absolute(x: Lanes) -> Lanes:
    return x.to.call("fabs", x)


def sqrt(x: Lanes) -> Lanes:
    return x.to.call("sqrt", x)


def copysign(x: Lanes, y: Lanes) -> Lanes:
    return x.to.call("copysign", x, y)


def floor(x: Lanes) -> Lanes:
    return x.to.call("floor", x)


def ceil(x: Lanes) -> Lanes:
    return x.to.call("ceil", x)


def trunc(x: Lanes) -> Lanes:
    return x.to.call("trunc", x)


def round_even(x: Lanes) -> Lanes:
    return x.to.call("roundeven", x)


def where(c: Lanes, a: Any, b: Any) -> Lanes:
    return c.to.select(c, a, b)


def isnan(x: Lanes) -> Lanes:
    return x.differs(x)


def horner(x: Lanes, c: Sequence[float]) -> Lanes:
    y: Any = x.like(c[-1])
    for k in reversed(c[:-1]):
        y = fma(y, x, k)
    return y


def polynomial(x: Lanes, c: Sequence[float]) -> Lanes:
    z = x * x
    if len(c) < 10:
        return horner(x, c)
    if len(c) < 16:
        return fma(horner(z, c[1::2]), x, horner(z, c[0::2]))
    w = z * z
    low = fma(horner(w, c[1::4]), x, horner(w, c[0::4]))
    return fma(fma(horner(w, c[3::4]), x, horner(w, c[2::4])), z, low)


def at_most(t: Lanes, top: float) -> Lanes:
    return where(t > top, top, t)


def round_shift(kind: str) -> float:
    return float(3 << (MANTISSA[kind] - 1))


# ---- exponentials and logarithms: math_exp.h


def expm1_near_zero(r: Lanes) -> Lanes:
    return fma(polynomial(r, EXP[r.kind]), r * r, r)


def split_exp(x: Lanes, offset: float, largest_n: float) -> tuple[Lanes, Lanes]:
    """Return e^r - 1 and the bits with n + offset, where x = n ln2 + r."""
    shift = round_shift(x.kind) + offset
    shifted = at_most(fma(x, LOG2_E, shift), shift + largest_n)
    n = shifted - shift
    high, low = LN2[x.kind]
    return expm1_near_zero(fma(n, -low, fma(n, -high, x))), shifted.bits


def power_of_two(biased: Lanes) -> Lanes:
    return (biased << (23 if biased.kind == "i32" else 52)).as_float()


def scale_by_power(expm1_r: Lanes, n: Lanes, m: Any) -> Lanes:
    half = n >> 1
    first, second = power_of_two(half), power_of_two(n - half)
    return fma(expm1_r, first, first) * m * second


def exp_times(x: Lanes, m: Any) -> Lanes:
    bias = BIAS[x.kind]
    y = scale_by_power(*split_exp(x, 2 * bias, bias + 1), m)
    return where(x < EXP_TO_ZERO[x.kind], 0, y)


def exp(x: Lanes) -> Lanes:
    return exp_times(x, 1)


def exp_in_range(x: Lanes) -> Lanes:
    expm1_r, n = split_exp(x, BIAS[x.kind], 1)
    power = power_of_two(n)
    return fma(expm1_r, power, power)


def exp2(x: Lanes) -> Lanes:
    bias = BIAS[x.kind]
    shift = round_shift(x.kind) + 2 * bias
    shifted = at_most(x + shift, shift + bias + 1)
    r = (x - (shifted - shift)) * LN_2
    y = scale_by_power(expm1_near_zero(r), shifted.bits, 1)
    return where(x < EXP2_TO_ZERO[x.kind], 0, y)


def quarter_expm1(x: Lanes) -> Lanes:
    bias = BIAS[x.kind]
    expm1_r, n = split_exp(x, bias - 2, bias + 2)
    power = power_of_two(n)
    return fma(power, expm1_r, power - 0.25)


def tiny(kind: str) -> float:
    return 1 / (1 << (MANTISSA[kind] // 2 + 2))


def expm1(x: Lanes) -> Lanes:
    y = where(x < -40, -1, 4 * quarter_expm1(x))
    return where(absolute(x) < tiny(x.kind) ** 2, x, y)


def sinh(x: Lanes) -> Lanes:
    a = absolute(x)
    q = quarter_expm1(a)
    rest = where(a > 40, 0, q / fma(4, q, 1))
    return copysign(where(a < tiny(x.kind), a, 2 * (q + rest)), x)


def cosh(x: Lanes) -> Lanes:
    bias = BIAS[x.kind]
    expm1_r, n = split_exp(absolute(x), bias - 2, bias + 2)
    power = power_of_two(n)
    q = fma(power, expm1_r, power)
    return 2 * (q + 0.0625 / q)


def tanh(x: Lanes) -> Lanes:
    a, bias = absolute(x), BIAS[x.kind]
    expm1_r, n = split_exp(2 * a, bias, bias)
    power = power_of_two(n)
    t = fma(power, expm1_r, power - 1)
    return copysign(where(a > 20, 1, t / (t + 2)), x)


def sigmoid(x: Lanes) -> Lanes:
    e = exp(-absolute(x))
    return where(x < 0, e, 1) / (1 + e)


@functools.cache
def _bits_of(kind: str, x: float) -> int:
    import struct

    return struct.unpack("<I" if kind == "f32" else "<Q", struct.pack("<f" if kind == "f32" else "<d", x))[0]


def log_fields(x: Lanes) -> Lanes:
    kind = x.kind
    return x.bits - _bits_of(kind, HALF_ROOT) + (BIAS[kind] << MANTISSA[kind])


def exponent_of(kind: str, fields: Lanes, extra: Any) -> Lanes:
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
    if f.kind == "f32":
        return fma(horner(f, LOG["f32"]), f * f, f)
    s = f / (2 + f)
    z, half = s * s, 0.5 * f * f
    return f - (half - s * fma(z, horner(z, LOG["f64"]), half))


def log_edges(x: Lanes, y: Lanes) -> Lanes:
    y = where(x > 0, y, where(x.equals(0), x.like(-INF), NAN))
    return where(x.equals(INF), x, y)


def log(x: Lanes) -> Lanes:
    (k, f), (high, low) = split_log(x), LN2[x.kind]
    return log_edges(x, fma(k, high, fma(k, low, log_near_one(f))))


def log2(x: Lanes) -> Lanes:
    k, f = split_log(x)
    return log_edges(x, fma(log_near_one(f), LOG2_E, k))


def log10(x: Lanes) -> Lanes:
    (k, f), (high, low) = split_log(x), LOG10_2[x.kind]
    return log_edges(x, fma(k, high, fma(k, low, log_near_one(f) * 0.43429448190325182765)))


def log1p(x: Lanes) -> Lanes:
    kind, u = x.kind, 1 + x
    fields = log_fields(u)
    k = exponent_of(kind, fields, 0)
    four_power = power_of_two((2 * BIAS[kind] + 2) - (fields >> MANTISSA[kind]))
    f = fma(x * 0.25, four_power, fma(0.25, four_power, -1))
    high, low = LN2[kind]
    y = log_edges(u, fma(k, high, fma(k, low, log_near_one(f))))
    return where(absolute(x) < tiny(kind) ** 2, x, y)


def asinh(x: Lanes) -> Lanes:
    a = absolute(x)
    large = a > 1 / tiny(x.kind) ** 2
    u = where(large, a, a + a * a / (1 + sqrt(fma(a, a, 1))))
    return copysign(log1p(u) + where(large, a.like(LN_2), 0), x)


def acosh(x: Lanes) -> Lanes:
    t = x - 1
    large = x > 1 / tiny(x.kind) ** 2
    u = where(large, x, t + sqrt(t * (x + 1)))
    return where(x < 1, NAN, log1p(u) + where(large, x.like(LN_2), 0))


def atanh(x: Lanes) -> Lanes:
    a = absolute(x)
    return copysign(0.5 * log1p(2 * a / (1 - a)), x)


HYPOT = {"f32": (2.0**40, 2.0**-70, 2.0**-40, 2.0**100), "f64": (2.0**400, 2.0**-600, 2.0**-400, 2.0**700)}


def hypot(x: Lanes, y: Lanes) -> Lanes:
    large, down, small, up = HYPOT[x.kind]
    a, b = absolute(x), absolute(y)
    m = where(a > b, a, b)
    there = where(m > large, down, where(m < small, m.like(up), 1))
    back = where(m > large, 1 / down, where(m < small, m.like(1 / up), 1))
    u, v = a * there, b * there
    r = sqrt(fma(u, u, v * v)) * back
    return where(a.equals(INF) | b.equals(INF), INF, r)


# ---- exp by hand for avx512: math_lanes.h

# fmt: off
_POWER = tuple(map(_H, (
    "0x1.0000000000000p+0", "0x1.0b5586cf9890fp+0", "0x1.172b83c7d517bp+0", "0x1.2387a6e756238p+0",
    "0x1.306fe0a31b715p+0", "0x1.3dea64c123422p+0", "0x1.4bfdad5362a27p+0", "0x1.5ab07dd485429p+0",
    "0x1.6a09e667f3bcdp+0", "0x1.7a11473eb0187p+0", "0x1.8ace5422aa0dbp+0", "0x1.9c49182a3f090p+0",
    "0x1.ae89f995ad3adp+0", "0x1.c199bdd85529cp+0", "0x1.d5818dcfba487p+0", "0x1.ea4afa2a490dap+0")))
_POWER_REST = tuple(map(_H, (
    "0x0.0000000000000p+0", "0x1.8a62e4adc610bp-54", "-0x1.19041b9d78a76p-55", "0x1.9b07eb6c70573p-54",
    "0x1.6f46ad23182e4p-55", "0x1.ada0911f09ebcp-55", "0x1.d4397afec42e2p-56", "0x1.6324c054647adp-54",
    "-0x1.bdd3413b26456p-54", "-0x1.41577ee04992fp-55", "0x1.6e9f156864b27p-54", "0x1.c7c46b071f2bep-56",
    "0x1.7a1cd345dcc81p-54", "0x1.11065895048ddp-55", "0x1.2ed02d75b3707p-55", "-0x1.e9c23179c2893p-54")))
_POLY = (0.5000000000000006, 0.16666666664417853, 0.041666666659657174, 0.008333471923677293, 0.0013889128979475498)
# fmt: on


def _in_512(kind: str, x: Lanes, instruction: Callable[..., str], *args: Lanes) -> Lanes:
    """Return an instruction that exists for 512 bits only, for vectors of one or two such."""
    if x.to.lanes * (32 if kind == "f32" else 64) == 512:
        return x.to.step(kind, instruction(*(a.name for a in args)))
    return x.to.halves(instruction, kind, *args)


def times_power_of_two(x: Lanes, n: Lanes) -> Lanes:
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
    p, t = fma(horner(r, _POLY), r * r, r), _look_up(_POWER, place)
    return times_power_of_two(fma(p, t, _look_up(_POWER_REST, place)) + t, n)


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
    third = f.like(_H("0x1.5555555555555p-1"))
    series = _times(z, _plus(third, (z[0] * horner(z[0], LOG2_TAIL), _H("0x1.5555555555555p-55"))))
    log = _times(root, _plus(f.like(2), series))
    return _times(log, (f.like(_H("0x1.71547652b82fep+0")), f.like(_H("0x1.777d0ffda0d24p-56"))))


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


def power(x: Lanes, y: Lanes) -> Lanes:
    p = (_power_f32 if x.kind == "f32" else _power_f64)(x, y)
    half = 0.5 * y
    integer = round_even(y).equals(y)
    odd = integer & round_even(half).differs(half)
    sign = x.bits & (1 << (31 if x.kind == "f32" else 63))
    p = (p.bits | where(odd, sign, 0)).as_float()
    p = where((x < 0) & (x > -INF) & ~integer, NAN, p)
    one = x.equals(1) | y.equals(0) | (x.equals(-1) & absolute(y).equals(INF))
    return where(one, 1, p)


# ---- the error function: math_special.h


def erf_centre(x: Lanes) -> Lanes:
    table = ERF_CENTRE[x.kind]
    return fma(horner(x * x, table) if x.kind == "f32" else polynomial(x * x, table), x, x)


def square_rest(x: Lanes, square: Lanes) -> Lanes:
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
    if a.kind == "f32":
        return horner((a - 3) / (a + 3), ERFCX["f32"]) / (a + 3)
    q = 1 / (a + 3)
    return q * polynomial((a - 3) * q, ERFCX["f64"])


def erfc(x: Lanes) -> Lanes:
    a = absolute(x)
    square, g = a * a, erfcx(a)
    tail = exp_times(-square, fma(-g, square_rest(a, square), g))
    tail = where(x < 0, 2 - tail, tail)
    return where(a < 0.75, 1 - erf_centre(x), tail)


def erf(x: Lanes) -> Lanes:
    a = absolute(x)
    if x.kind == "f32":
        tail = where(a > 4, 1, 1 - exp_in_range(horner(a, LOG_ERFC)))
        return where(a < 1, erf_centre(x), copysign(tail, x))
    square, g = a * a, erfcx(a)
    tail = 1 - exp_in_range(-square) * fma(-g, square_rest(a, square), g)
    return where(a < 0.75, erf_centre(x), copysign(where(a > 6, 1, tail), x))


# ---- angles and remainders: math_trig.h


def minus_n_pi(x: Lanes, n: Lanes) -> Lanes:
    if x.to.fma:
        a, b, c = map(_H, PI_FUSED[x.kind])
        return fma(n, -c, fma(n, -b, fma(n, -a, x)))
    if x.kind == "f64":
        a, b, c = map(_H, PI_PLAIN["f64"])
        return fma(n, -c, fma(n, -b, fma(n, -a, x)))
    a, b = map(_H, PI_PLAIN["f32"])
    wide, turns = x.to.convert(x, "f64"), x.to.convert(n, "f64")
    return x.to.convert((wide - turns * a) - turns * b, "f32")


def sin_half_turn(r: Lanes) -> Lanes:
    z = r * r
    return copysign(fma(polynomial(z, SIN[r.kind]), r * z, r), r)


def negated_if_odd(y: Lanes, n: Lanes) -> Lanes:
    return (y.bits ^ (n << (31 if y.kind == "f32" else 63))).as_float()


def _over_pi(kind: str, n: int) -> float:
    return rounded(kind, n / rounded(kind, PI))


def near_sin(x: Lanes) -> Lanes:
    shift = round_shift(x.kind)
    shifted = fma(x, _over_pi(x.kind, 1), shift)
    return negated_if_odd(sin_half_turn(minus_n_pi(x, shifted - shift)), shifted.bits)


def near_cos(x: Lanes) -> Lanes:
    a, shift = absolute(x), round_shift(x.kind)
    shifted = fma(a, _over_pi(x.kind, 1), 0.5) + shift
    n = shifted - shift
    return negated_if_odd(sin_half_turn(minus_n_pi(a, n - 0.5)), shifted.bits)


def near_tan(x: Lanes) -> Lanes:
    kind, shift = x.kind, round_shift(x.kind)
    shifted = fma(x, _over_pi(kind, 2), shift)
    r = minus_n_pi(x, 0.5 * (shifted - shift))
    z = r * r
    s = copysign(fma(polynomial(z, SIN_QUARTER[kind]), r * z, r), r)
    c = fma(fma(polynomial(z, COS_QUARTER[kind]), z, -0.5), z, 1)
    odd = (shifted.bits & 1).differs(0)
    return where(odd, -c, s) / where(odd, s, c)


def _long(f: str, *names: str) -> str:
    return f"call x86_fp80 @{f}({', '.join(f'x86_fp80 {n}' for n in names)})"


def _declare_long(x: Lanes, f: str, count: int) -> None:
    x.to.declared.add(f"declare x86_fp80 @{f}({', '.join(['x86_fp80'] * count)})")


def careful(f: str, near: Callable[[Lanes], Lanes], x: Lanes) -> Lanes:
    """Return sin, cos or tan; far angles in long double, by libm."""
    _declare_long(x, f, 1)
    far = absolute(x) > FAR[x.kind]
    return x.to.repair(near(x), far, [x], lambda a, step: step(_long(f, a)))


def careful_gradient(f: str, near: Callable[[Lanes], Lanes], g: Lanes, x: Lanes, sign: bool) -> Lanes:
    """Return g times sin or cos of x; where one of the two is far, all of it in long double."""
    _declare_long(x, f, 1)
    far = (absolute(g) > FAR[x.kind]) | (absolute(x) > FAR[x.kind])
    y = (-g if sign else g) * near(x)

    def slow(a: str, b: str, step: Step) -> str:
        first = step(f"fneg x86_fp80 {a}") if sign else a
        return step(f"fmul x86_fp80 {first}, {step(_long(f, b))}")

    return x.to.repair(y, far, [g, x], slow)


def atan_of_ratio(z: Lanes) -> Lanes:
    return fma(polynomial(z * z, ATAN[z.kind]), z * z * z, z)


def atan(x: Lanes) -> Lanes:
    a = absolute(x)
    steep = a > 1
    p = atan_of_ratio(where(steep, -1, a) / where(steep, a, 1))
    return copysign(where(steep, HALF_PI + (p + HALF_PI_REST[x.kind]), p), x)


def atan2(y: Lanes, x: Lanes) -> Lanes:
    kind, ax, ay = x.kind, absolute(x), absolute(y)
    rest = HALF_PI_REST[kind]
    steep = ay > ax
    low, high = where(steep, ax, ay), where(steep, ay, ax)
    z = where(low.equals(high), where(high.equals(0), x.like(0), 1), low / high)
    p = atan_of_ratio(z)
    p = where(steep, HALF_PI - (p - rest), p)
    left = (x.bits >> (31 if kind == "f32" else 63)).differs(0)
    return copysign(where(left, PI - (p - 2 * rest), p), y)


def _asin_parts(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    a = absolute(x)
    large = a > 0.5
    return a, large, where(large, fma(-0.5, a, 0.5), a * a)


def asin_small(s: Lanes, z: Lanes) -> Lanes:
    return fma(polynomial(z, ASIN[z.kind]), s * z, s)


def asin(x: Lanes) -> Lanes:
    a, large, z = _asin_parts(x)
    p = asin_small(where(large, sqrt(z), a), z)
    return copysign(where(large, HALF_PI - (2 * p - HALF_PI_REST[x.kind]), p), x)


def acos(x: Lanes) -> Lanes:
    rest = HALF_PI_REST[x.kind]
    _, large, z = _asin_parts(x)
    p = asin_small(where(large, sqrt(z), x), z)
    tail = where(x < 0, PI - (2 * p - 2 * rest), 2 * p)
    return where(large, tail, HALF_PI - (p - rest))
