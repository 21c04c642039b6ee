"""The pointwise ops that machine code can be made of: one row each, as ``csrc/ops/*.isa.cpp`` has them.

A row says how the dtypes of the operands decide that of the computation, for which kinds of
elements it is written, what it gives, and its derivatives, given (g, operands…, result).
"""

from __future__ import annotations

from . import maths as m
from . import trigonometry as trig
from .coefficients import INF, NAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .llvm_ir import Lanes

    Emit = Callable[..., Any]

__all__ = ["ROWS", "Row"]

FLOATS = frozenset({"f32", "f64"})
NUMBERS = FLOATS | {"i32", "i64"}
ALL = NUMBERS | {"i1"}
BITS = frozenset({"i1", "i32", "i64"})
TRUTH = frozenset({"i1"})


class Row:
    """One op: ``rule`` is "result" (computed in the dtype of the result), "compare" or "truth"."""

    __slots__ = ("back", "emit", "kinds", "needs_fma", "needs_x86", "rule")

    def __init__(
        self,
        rule: str,
        kinds: frozenset[str],
        emit: Emit,
        *back: Emit | None,
        needs_fma: bool = False,
        needs_x86: bool = False,
    ) -> None:
        """Make a row; ``needs_x86``: it has long doubles, which other machines do not know."""
        self.rule, self.kinds, self.emit, self.back = rule, kinds, emit, back
        self.needs_fma, self.needs_x86 = needs_fma, needs_x86


def _nan_of(a: Lanes, otherwise: Any) -> Lanes:
    return otherwise if a.kind[0] == "i" else m.where(m.isnan(a), a, otherwise)


def _larger(a: Lanes, b: Lanes) -> Lanes:
    return m.where(b >= a, b, _nan_of(b, a))


def _smaller(a: Lanes, b: Lanes) -> Lanes:
    return m.where(b <= a, b, _nan_of(b, a))


def _other_if_nan(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    if a.kind[0] == "i":
        return c
    return m.where(m.isnan(a), b, m.where(m.isnan(b), a, c))


def _sign(x: Lanes) -> Lanes:
    if x.kind == "i1":
        return x
    to = x.to
    return to.convert(x > 0, x.kind) - to.convert(x < 0, x.kind)


def _abs(x: Lanes) -> Lanes:
    return m.absolute(x) if x.kind in FLOATS else m.where(x < 0, -x, x)


def _whole(f: Emit) -> Emit:
    return lambda x: f(x) if x.kind in FLOATS else x


def _exp(x: Lanes) -> Lanes:
    return m.exp_by_hand(x) if x.to.avx512 else m.exp(x)


def _soft_plus(x: Lanes) -> Lanes:
    return m.where(x > 0, x, 0) + m.log1p(m.exp(-m.absolute(x)))


def _between(x: Lanes, lo: float, hi: float) -> Lanes:
    return m.where(x < lo, lo, m.where(x > hi, hi, x))


def _relu(x: Lanes) -> Lanes:
    return _nan_of(x, m.where(x > 0, x, 0))


def _lerp(a: Lanes, b: Lanes, w: Lanes) -> Lanes:
    return m.where(m.absolute(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w))


def _without_nan(x: Lanes, nan: Lanes, high: Lanes, low: Lanes) -> Lanes:
    finite = m.where(x.equals(INF), high, m.where(x.equals(-INF), low, x))
    return m.where(m.isnan(x), nan, finite)


def _smooth_l1(x: Lanes, y: Lanes, beta: Lanes) -> Lanes:
    z = m.absolute(x - y)
    return m.where(z < beta, z * z * (0.5 / beta), z - 0.5 * beta)


def _smooth_l1_back(g: Lanes, z: Lanes, beta: Lanes) -> Lanes:
    return g * m.where(m.absolute(z) < beta, z / beta, _sign(z))


def _huber(x: Lanes, y: Lanes, delta: Lanes) -> Lanes:
    z = m.absolute(x - y)
    return m.where(z <= delta, 0.5 * z * z, delta * (z - 0.5 * delta))


def _huber_back(g: Lanes, z: Lanes, delta: Lanes) -> Lanes:
    return g * m.where(m.absolute(z) <= delta, z, delta * _sign(z))


def _logistic_loss(x: Lanes, y: Lanes) -> Lanes:
    return m.where(x > 0, x, 0) - x * y + m.log1p(m.exp(-m.absolute(x)))


def _log_share(x: Lanes) -> Lanes:
    log = m.log(x)
    return m.where(log > -100, log, -100)


def _log_loss(x: Lanes, y: Lanes) -> Lanes:
    return (y - 1) * _log_share(1 - x) - y * _log_share(x)


def _log_loss_back(g: Lanes, x: Lanes, y: Lanes, loss: Lanes) -> Lanes:
    spread = (1 - x) * x
    return g * (x - y) / m.where(spread > 1e-12, spread, 1e-12)


def _silu_back(g: Lanes, x: Lanes, y: Lanes) -> Lanes:
    s = m.sigmoid(x)
    return g * (s * (x * (1 - s) + 1))


def _mish_back(g: Lanes, x: Lanes, y: Lanes) -> Lanes:
    t = m.tanh(_soft_plus(x))
    return g * (t + x * m.sigmoid(x) * (1 - t * t))


DENSITY = 0.39894228040143268
ROOT_TWO_OVER_PI, CUBIC = 0.79788456080286536, 0.044715


def _gelu_erf_back(g: Lanes, x: Lanes, y: Lanes) -> Lanes:
    b = m.bell(x)
    return g * (m.normal_share(x, b) + x * b * DENSITY)


def _gelu_tanh(x: Lanes) -> Lanes:
    return m.tanh((x + x * x * x * CUBIC) * ROOT_TWO_OVER_PI)


def _gelu_tanh_back(g: Lanes, x: Lanes, y: Lanes) -> Lanes:
    t = _gelu_tanh(x)
    slope = (x * x * (3 * CUBIC) + 1) * ROOT_TWO_OVER_PI
    return g * 0.5 * (t + 1 + x * (1 - t * t) * slope)


def _softsign_back(g: Lanes, x: Lanes, y: Lanes) -> Lanes:
    a = m.absolute(x) + 1
    return g / (a * a)


def _log_of_sum(a: Lanes, b: Lanes, log1p: Emit, exp: Emit) -> Lanes:
    high, low = m.where(a > b, a, b), m.where(a > b, b, a)
    y = high + log1p(exp(low - high))
    y = m.where(a.equals(b) & m.absolute(a).equals(INF), a, y)
    return m.where(m.isnan(a), a, y)


def _zero_or_product(x: Lanes, log_y: Lanes, y: Lanes) -> Lanes:
    return m.where(m.isnan(y), y, m.where(x.equals(0), 0, x * log_y))


def _square_sum(a: Lanes, b: Lanes) -> Lanes:
    return a * a + b * b


def _pow_back(g: Lanes, a: Lanes, b: Lanes, y: Lanes) -> Lanes:
    return g * m.where(b.equals(0), 0, b * m.power(a, b - 1))


def _share(g: Lanes, a: Lanes, b: Lanes, lost: Lanes) -> Lanes:
    return m.where(a.equals(b), g * 0.5, m.where(lost, 0, g))


def _inside(x: Lanes, lo: Any, hi: Any) -> Lanes:
    return (x >= lo) & (x <= hi)


def _zero1(g: Lanes, x: Lanes, y: Lanes) -> Lanes:
    return g * 0


def _zero2(g: Lanes, a: Lanes, b: Lanes, y: Lanes) -> Lanes:
    return g * 0


def _pass2(g: Lanes, a: Lanes, b: Lanes, y: Lanes) -> Lanes:
    return g


def _logit_back(g: Lanes, x: Lanes, y: Lanes) -> Lanes:
    return m.where(_inside(x, 0, 1), g / (x * (1 - x)), NAN)


def _f(emit: Emit, *back: Emit | None, **facts: bool) -> Row:
    return Row("result", FLOATS, emit, *back, **facts)


def _n(emit: Emit, *back: Emit | None) -> Row:
    return Row("result", NUMBERS, emit, *back)


def _truth(emit: Emit) -> Row:
    return Row("truth", TRUTH, emit)


def _compare(emit: Emit) -> Row:
    return Row("compare", ALL, emit)


# fmt: off
ROWS: dict[str, Row] = {
    # arithmetic.isa.cpp
    "add": Row("result", ALL, lambda a, b: a + b, _pass2, _pass2),
    "sub": _n(lambda a, b: a - b, _pass2, lambda g, a, b, y: -g),
    "mul": Row("result", ALL, lambda a, b: a * b, lambda g, a, b, y: g * b, lambda g, a, b, y: g * a),
    "div": _f(lambda a, b: a / b, lambda g, a, b, y: g / b, lambda g, a, b, y: -g * ((a / b) / b)),
    "pow": _f(m.power, _pow_back,
              lambda g, a, b, y: g * m.where(a.equals(0) & (b >= 0), 0, y * m.log(a)), needs_fma=True),
    "maximum": _n(_larger, lambda g, a, b, y: _share(g, a, b, a < b), lambda g, a, b, y: _share(g, a, b, b < a)),
    "minimum": _n(_smaller, lambda g, a, b, y: _share(g, a, b, a > b), lambda g, a, b, y: _share(g, a, b, b > a)),
    "atan2": _f(trig.atan2,
                lambda g, a, b, y: m.where(_square_sum(a, b).equals(0), 0, g * b / _square_sum(a, b)),
                lambda g, a, b, y: m.where(_square_sum(a, b).equals(0), 0, -g * a / _square_sum(a, b))),
    "clamp_min": _n(_larger, lambda g, x, lo, y: m.where(x >= lo, g, 0), lambda g, x, lo, y: m.where(x < lo, g, 0)),
    "clamp_max": _n(_smaller, lambda g, x, hi, y: m.where(x <= hi, g, 0), lambda g, x, hi, y: m.where(x > hi, g, 0)),
    "clamp.both": _n(lambda x, lo, hi: _smaller(_larger(x, lo), hi),
                     lambda g, x, lo, hi, y: m.where(_inside(x, lo, hi), g, 0),
                     lambda g, x, lo, hi, y: m.where((x < lo) & (lo < hi), g, 0),
                     lambda g, x, lo, hi, y: m.where((x > hi) | (hi < lo), g, 0)),
    "lerp": _f(_lerp, lambda g, a, b, w, y: g * (1 - w), lambda g, a, b, w, y: g * w,
               lambda g, a, b, w, y: g * (b - a)),
    "where": Row("result", ALL, lambda c, a, b: m.where(c.differs(0), a, b), None,
                 lambda g, c, a, b, y: m.where(c.differs(0), g, 0), lambda g, c, a, b, y: m.where(c.differs(0), 0, g)),
    "addcmul": _n(lambda x, a, b, c: x + a * b * c, lambda g, x, a, b, c, y: g,
                  lambda g, x, a, b, c, y: g * (b * c), lambda g, x, a, b, c, y: g * (a * c),
                  lambda g, x, a, b, c, y: g * (a * b)),
    "addcdiv": _f(lambda x, a, b, c: x + a / b * c, lambda g, x, a, b, c, y: g,
                  lambda g, x, a, b, c, y: g * (c / b), lambda g, x, a, b, c, y: -g * (c * a / (b * b)),
                  lambda g, x, a, b, c, y: g * (a / b)),
    "without_nan": _f(lambda x: m.where(m.isnan(x), 0, x), lambda g, x, y: m.where(m.isnan(x), 0, g)),
    "nan_to_num.values": _f(_without_nan,
                            lambda g, x, nan, high, low, y: m.where((x - x).equals(0), g, 0)),
    # unary.isa.cpp
    "abs": _n(_abs, lambda g, x, y: g * _sign(x)),
    "neg": _n(lambda x: -x, lambda g, x, y: -g),
    "exp": _f(_exp, lambda g, x, y: g * y),
    "exp2": _f(m.exp2, lambda g, x, y: g * y * 0.6931471805599453),
    "expm1": _f(m.expm1, lambda g, x, y: g * (y + 1)),
    "log": _f(m.log, lambda g, x, y: g / x),
    "log2": _f(m.log2, lambda g, x, y: g / (x * 0.6931471805599453)),
    "log10": _f(m.log10, lambda g, x, y: g / (x * 2.302585092994046)),
    "log1p": _f(m.log1p, lambda g, x, y: g / (x + 1)),
    "sqrt": _f(m.sqrt, lambda g, x, y: g / (y + y)),
    "rsqrt": _f(lambda x: 1 / m.sqrt(x), lambda g, x, y: g * (y * y * y) * -0.5),
    "square": _n(lambda x: x * x, lambda g, x, y: g * (x + x)),
    "reciprocal": _f(lambda x: 1 / x, lambda g, x, y: -g * (y * y)),
    "sin": _f(lambda x: trig.careful("sinl", trig.near_sin, x),
              lambda g, x, y: trig.careful_gradient("cosl", trig.near_cos, g, x, False), needs_x86=True),
    "cos": _f(lambda x: trig.careful("cosl", trig.near_cos, x),
              lambda g, x, y: trig.careful_gradient("sinl", trig.near_sin, g, x, True), needs_x86=True),
    "tan": _f(lambda x: trig.careful("tanl", trig.near_tan, x), lambda g, x, y: g * (y * y + 1), needs_x86=True),
    "sinh": _f(m.sinh, lambda g, x, y: g * m.cosh(x)),
    "cosh": _f(m.cosh, lambda g, x, y: g * m.sinh(x)),
    "tanh": _f(m.tanh, lambda g, x, y: g * (1 - y * y)),
    "asin": _f(trig.asin, lambda g, x, y: g * m.power(1 - x * x, x.like(-0.5)), needs_fma=True),
    "acos": _f(trig.acos, lambda g, x, y: -g * m.power(1 - x * x, x.like(-0.5)), needs_fma=True),
    "atan": _f(trig.atan, lambda g, x, y: g / (x * x + 1)),
    "sigmoid": _f(m.sigmoid, lambda g, x, y: g * ((1 - y) * y)),
    "erf": _f(m.erf, lambda g, x, y: g * m.exp(-(x * x)) * 1.1283791670955126),
    "relu": _n(_relu, lambda g, x, y: m.where(y <= 0, 0, g)),
    "floor": _n(_whole(m.floor), _zero1),
    "ceil": _n(_whole(m.ceil), _zero1),
    "trunc": _n(_whole(m.trunc), _zero1),
    "round": _n(_whole(m.round_even), _zero1),
    "frac": _f(lambda x: x - m.trunc(x), lambda g, x, y: g),
    "sign": Row("result", ALL, _sign, _zero1),
    "sgn": Row("result", ALL, _sign, _zero1),
    "isnan": _compare(lambda x: x.differs(x)),
    "isinf": _compare(lambda x: x.differs(x) if x.kind[0] == "i" else m.absolute(x).equals(INF)),
    "isfinite": _compare(lambda x: x.equals(x) if x.kind[0] == "i" else m.absolute(x) < INF),
    "logical_not": _truth(lambda x: ~x),
    "bitwise_not": Row("result", BITS, lambda x: ~x),
    # compare.isa.cpp
    "eq": _compare(lambda a, b: a.equals(b)),
    "ne": _compare(lambda a, b: a.differs(b)),
    "lt": _compare(lambda a, b: a < b),
    "le": _compare(lambda a, b: a <= b),
    "gt": _compare(lambda a, b: a > b),
    "ge": _compare(lambda a, b: a >= b),
    "logical_and": _truth(lambda a, b: a & b),
    "logical_or": _truth(lambda a, b: a | b),
    "logical_xor": _truth(lambda a, b: a ^ b),
    "bitwise_and": Row("result", BITS, lambda a, b: a & b),
    "bitwise_or": Row("result", BITS, lambda a, b: a | b),
    "bitwise_xor": Row("result", BITS, lambda a, b: a ^ b),
    # elementary.isa.cpp
    "asinh": _f(m.asinh, lambda g, x, y: g / m.sqrt(x * x + 1)),
    "acosh": _f(m.acosh, lambda g, x, y: g / (m.sqrt(x - 1) * m.sqrt(x + 1))),
    "atanh": _f(m.atanh, lambda g, x, y: g / (1 - x * x)),
    "logit": _f(lambda x: m.log(x / (1 - x)), _logit_back),
    "deg2rad": _f(lambda x: x * 0.017453292519943295, lambda g, x, y: g * 0.017453292519943295),
    "rad2deg": _f(lambda x: x * 57.295779513082321, lambda g, x, y: g * 57.295779513082321),
    "hypot": _f(m.hypot, lambda g, a, b, y: g * (a / y), lambda g, a, b, y: g * (b / y)),
    "copysign": _f(m.copysign, lambda g, a, b, y: m.where(a.equals(0), 0, g * (y / a)), _zero2),
    "logaddexp": _f(lambda a, b: _log_of_sum(a, b, m.log1p, m.exp),
                    lambda g, a, b, y: g / (1 + m.exp(b - a)), lambda g, a, b, y: g / (1 + m.exp(a - b))),
    "logaddexp2": _f(lambda a, b: _log_of_sum(a, b, lambda v: m.log1p(v) * 1.4426950408889634, m.exp2),
                     lambda g, a, b, y: g / (1 + m.exp2(b - a)), lambda g, a, b, y: g / (1 + m.exp2(a - b))),
    "xlogy": _f(lambda x, y: _zero_or_product(x, m.log(y), y),
                lambda g, x, y, r: m.where(x.equals(0) & (y <= 0), 0, g * m.log(y)), lambda g, x, y, r: g * x / y),
    "fmax": _n(lambda a, b: _other_if_nan(a, b, m.where(a > b, a, b)),
               lambda g, a, b, y: m.where((a >= b) | m.isnan(b), g, 0),
               lambda g, a, b, y: m.where((a >= b) | m.isnan(b), 0, g)),
    "fmin": _n(lambda a, b: _other_if_nan(a, b, m.where(a < b, a, b)),
               lambda g, a, b, y: m.where((a <= b) | m.isnan(b), g, 0),
               lambda g, a, b, y: m.where((a <= b) | m.isnan(b), 0, g)),
    "ldexp": _f(lambda a, b: a * m.exp2(b), lambda g, a, b, y: g * m.exp2(b),
                lambda g, a, b, y: g * y * 0.69314718055994531),
    # special.isa.cpp
    "erfc": _f(m.erfc, lambda g, x, y: g * m.exp(-(x * x)) * -1.1283791670955126),
    # activation.isa.cpp
    "silu": _f(lambda x: x * m.sigmoid(x), _silu_back),
    "mish": _f(lambda x: x * m.tanh(_soft_plus(x)), _mish_back),
    "gelu_erf": _f(lambda x: x * m.normal_share(x, m.bell(x)), _gelu_erf_back),
    "gelu_tanh": _f(lambda x: x * 0.5 * (1 + _gelu_tanh(x)), _gelu_tanh_back),
    "logsigmoid": _f(lambda x: -_soft_plus(-x), lambda g, x, y: g * m.sigmoid(-x)),
    "softsign": _f(lambda x: x / (m.absolute(x) + 1), _softsign_back),
    "hardswish": _f(lambda x: x * _between(x + 3, 0, 6) / 6,
                    lambda g, x, y: m.where(x <= -3, 0, m.where(x < 3, g * (x / 3 + 0.5), g))),
    "hardsigmoid": _f(lambda x: _between(x + 3, 0, 6) / 6,
                      lambda g, x, y: m.where((x > -3) & (x < 3), g / 6, 0)),
    "pass_positive": _f(lambda x, y: m.where(y <= 0, 0, x), lambda g, x, y, r: m.where(y <= 0, 0, g), _zero2),
    "leaky_relu": _f(lambda x, slope: m.where(x > 0, x, x * slope),
                     lambda g, x, slope, y: m.where(x > 0, g, g * slope),
                     lambda g, x, slope, y: m.where(x > 0, 0, g * x)),
    "elu": _f(lambda x, alpha, scale, rate: m.where(x > 0, scale * x, scale * alpha * m.expm1(rate * x)),
              lambda g, x, alpha, scale, rate, y: g * scale * m.where(x > 0, 1, alpha * rate * m.exp(rate * x))),
    "hardshrink": _f(lambda x, l: m.where(_inside(x, -l, l), 0, x),
                     lambda g, x, l, y: m.where(_inside(x, -l, l), 0, g)),
    "softshrink": _f(lambda x, l: m.where(x > l, x - l, m.where(x < -l, x + l, x * 0)),
                     lambda g, x, l, y: m.where(_inside(x, -l, l), 0, g)),
    "softplus": _f(lambda x, beta, top: m.where(x * beta > top, x, _soft_plus(x * beta) / beta),
                   lambda g, x, beta, top, y: m.where(x * beta > top, g, g * m.sigmoid(x * beta))),
    "threshold": _n(lambda x, limit, value: m.where(x <= limit, value, x),
                    lambda g, x, limit, value, y: m.where(x <= limit, 0, g)),
    "hardtanh": _n(lambda x, lo, hi: m.where(x <= lo, lo, m.where(x > hi, hi, x)),
                   lambda g, x, lo, hi, y: m.where((x > lo) & (x < hi), g, 0)),
    # loss.isa.cpp
    "squared_error": _f(lambda x, y: (x - y) * (x - y), lambda g, x, y, z: g * ((x - y) * 2),
                        lambda g, x, y, z: g * ((y - x) * 2)),
    "smooth_l1": _f(_smooth_l1, lambda g, x, y, beta, z: _smooth_l1_back(g, x - y, beta),
                    lambda g, x, y, beta, z: _smooth_l1_back(g, y - x, beta)),
    "huber": _f(_huber, lambda g, x, y, delta, z: _huber_back(g, x - y, delta),
                lambda g, x, y, delta, z: _huber_back(g, y - x, delta)),
    "logistic_loss": _f(_logistic_loss, lambda g, x, y, z: g * (m.sigmoid(x) - y), lambda g, x, y, z: -g * x),
    "log_loss": _f(_log_loss, _log_loss_back, lambda g, x, y, z: g * (_log_share(1 - x) - _log_share(x))),
    # mask.cpp
    "masked_fill": Row("result", ALL, lambda x, c, v: m.where(c.differs(0), v, x)),
}
# fmt: on
