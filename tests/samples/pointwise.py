"""Rows of the pointwise family: arithmetic, functions, comparison, logic, bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from samples import SPECIAL, E, K, N, S, alias, binary, ix, mask, nz, pos, row, t, unary

# ---- twins NumPy lacks -------------------------------------------------------------------------


def each(f: Any) -> Any:
    """A scalar function on arrays, NaN where it is undefined."""

    def g(*v: float) -> float:
        if any(math.isnan(x) for x in v):
            return math.nan
        try:
            return f(*v)
        except (ValueError, OverflowError):
            return math.nan

    u = np.frompyfunc(g, 1, 1)
    return lambda x: np.asarray(u(np.asarray(x, float)), float)


def _erfinv(y: float) -> float:
    if abs(y) >= 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    a = math.log1p(-y * y)
    b = 2 / (math.pi * 0.147) + a / 2
    x = math.copysign(math.sqrt(math.sqrt(b * b - a / 0.147) - b), y)
    for _ in range(4):  # Newton on erf(x) = y
        x -= (math.erf(x) - y) * math.sqrt(math.pi) / 2 * math.exp(x * x)
    return x


def _digamma(x: float) -> float:
    if x <= 0 and x == math.floor(x):
        return math.copysign(math.inf, -math.copysign(1, x)) if x == 0 else math.nan
    if x == math.inf:
        return math.inf
    if x < 0:
        return _digamma(1 - x) - math.pi / math.tan(math.pi * x)
    s = 0.0
    while x < 12:
        s, x = s - 1 / x, x + 1
    y = 1 / (x * x)
    tail = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    return s + math.log(x) - 0.5 / x - tail


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-np.asarray(x, float)))


def _round(x: np.ndarray, decimals: int = 0) -> np.ndarray:
    return np.round(x, decimals)


def _nan_to_num(x: np.ndarray, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def _logit(x: np.ndarray, eps: float | None = None) -> np.ndarray:
    x = np.asarray(x, float)
    x = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(x / (1 - x))


def _elu(x: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))


SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

# ---- one tensor --------------------------------------------------------------------------------

# fmt: off
unary("abs", np.abs, dtypes="fiu")
unary("neg", np.negative, dtypes="fiu")
unary("positive", np.positive, dtypes="fiu")
unary("exp", np.exp)
unary("exp2", lambda x: np.exp2(x * 1.0))
unary("expm1", lambda x: np.expm1(x * 1.0))
unary("log", lambda x: np.log(x * 1.0), lo=0.2)
unary("log2", lambda x: np.log2(x * 1.0), lo=0.2)
unary("log10", lambda x: np.log10(x * 1.0), lo=0.2)
unary("log1p", lambda x: np.log1p(x * 1.0), lo=-0.8)
unary("sqrt", lambda x: np.sqrt(x * 1.0), lo=0.2)
unary("rsqrt", lambda x: 1 / np.sqrt(x * 1.0), lo=0.2)
unary("square", lambda x: x * x, dtypes="fiu")
unary("reciprocal", lambda x: 1 / (x * 1.0), lo=0.3)
unary("sin", lambda x: np.sin(x * 1.0), lo=-9, hi=9)
unary("cos", lambda x: np.cos(x * 1.0), lo=-9, hi=9)
unary("tan", lambda x: np.tan(x * 1.0), lo=-1.2, hi=1.2, ulp=8)
unary("asin", lambda x: np.arcsin(x * 1.0), lo=-0.9, hi=0.9)
unary("acos", lambda x: np.arccos(x * 1.0), lo=-0.9, hi=0.9)
unary("atan", lambda x: np.arctan(x * 1.0))
unary("sinh", lambda x: np.sinh(x * 1.0))
unary("cosh", lambda x: np.cosh(x * 1.0))
unary("tanh", lambda x: np.tanh(x * 1.0))
unary("asinh", lambda x: np.arcsinh(x * 1.0))
unary("acosh", lambda x: np.arccosh(x * 1.0), lo=1.2, hi=4)
unary("atanh", lambda x: np.arctanh(x * 1.0), lo=-0.8, hi=0.8)
unary("sigmoid", sigmoid)
unary("erf", each(math.erf), lo=-2, hi=2)
unary("erfc", each(math.erfc), lo=-2, hi=2, ulp=8)
unary("erfinv", each(_erfinv), lo=-0.9, hi=0.9, ulp=8)
unary("lgamma",
    each(lambda x: math.inf if abs(x) == math.inf or (x <= 0 and x == int(x)) else math.lgamma(x)),
    lo=0.3, hi=5, dtypes="f", ulp=16, atol=1e-6, half=1)
unary("digamma", each(_digamma), lo=0.4, hi=5, dtypes="f", ulp=16, atol=1e-6, special=False)
unary("sinc", lambda x: np.sinc(x * 1.0), ulp=16, special=False, atol=5e-7)
unary("floor", np.floor, dtypes="fiu")
unary("ceil", np.ceil, dtypes="fiu")
unary("trunc", np.trunc, dtypes="fiu")
unary("round", _round, dtypes="fiu", extra=lambda: [K(np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]))])
unary("frac", lambda x: x - np.trunc(x), dtypes="f", special=False)
unary("sign",
    lambda x: (np.where(np.isnan(x), 0.0,
        np.sign(x)) if x.dtype.kind == "f" else np.sign(x) if x.dtype.kind != "b" else x))
unary("sgn",
    lambda x: (np.where(np.isnan(x), 0.0,
        np.sign(x)) if x.dtype.kind == "f" else np.sign(x) if x.dtype.kind != "b" else x))
unary("signbit", lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0, special=False,
    grad=False)
unary("deg2rad", lambda x: np.deg2rad(x * 1.0))
unary("rad2deg", lambda x: np.rad2deg(x * 1.0))
unary("relu", lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)), dtypes="fiu")
unary("selu", lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(np.minimum(x, 0))),
    dtypes="f")
unary("celu", _elu, dtypes="f", extra=lambda: [S(t(2, 3), 0.5), S(t(2, 3), alpha=-2.0)],
    errors=lambda: [E(RuntimeError, t(2), 0.0), E(NotImplementedError, ix([1]))])
unary("logit", _logit, lo=0.1, hi=0.9, dtypes="f", special=False, ulp=16, atol=2e-7, half=2,
    extra=lambda: [S(t(2, 3, lo=0.1, hi=0.9), 0.05)])
unary("nan_to_num", _nan_to_num, dtypes="f", special=False,
    extra=lambda: [S(SPECIAL[:8].copy(), nan=1.5, posinf=7.0, neginf=-8.0),
        S(np.array([np.nan, 1.25, -np.inf]), 2.0, neginf=0.25)])
unary("isnan", np.isnan, grad=False)
unary("isinf", np.isinf, grad=False)
unary("isfinite", np.isfinite, grad=False)
unary("isposinf", np.isposinf, grad=False)
unary("isneginf", np.isneginf, grad=False)
unary("isreal", np.isreal, grad=False)
unary("logical_not", np.logical_not, grad=False)
unary("bitwise_not", np.invert, dtypes="iub", special=False, grad=False)
# fmt: on

# ---- two tensors -------------------------------------------------------------------------------


def _add(x: Any, y: Any, alpha: Any = 1) -> Any:
    return np.add(x, (alpha * y).astype(y.dtype) if isinstance(y, np.ndarray) else alpha * y)


def _div(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return np.floor_divide(x, y)
    if rounding_mode == "trunc":
        q = np.trunc(np.true_divide(x, y))
        return q.astype(np.int64) if np.result_type(x, y).kind in "iu" else q
    return np.true_divide(x, y)


def _heaviside(x: Any, y: Any) -> Any:
    return np.where(x == 0, y, x > 0)  # 0 at NaN, as in PyTorch


def _xlogy(x: Any, y: Any) -> Any:
    x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    return np.where(np.isnan(y), np.nan, np.where(x == 0, 0.0, x * np.log(y)))


def _rounded(mode: str) -> Any:
    return lambda: [S(t(2, 3), nz(3), rounding_mode=mode), S(t(2, 3), 2, rounding_mode=mode)]


# fmt: off
binary("add", _add, extra=lambda: [S(t(2, 3), t(3), alpha=2), S(t(2), 3, alpha=2)])
binary("sub", lambda x, y, alpha=1: x - alpha * y, dtypes="fiu",
    extra=lambda: [S(t(2, 3), t(3), alpha=2)])
binary("rsub", lambda x, y, alpha=1: y - alpha * x, dtypes="fiu", special=False)
binary("mul", np.multiply)
binary("div", _div, b=nz, dtypes="fiu", extra=lambda: _rounded("floor")() + _rounded("trunc")())
binary("floor_divide", np.floor_divide, b=nz, dtypes="fiu", special=False, grad=False)
binary("remainder", np.mod, b=nz, dtypes="fiu", special=False)
binary("fmod", np.fmod, b=nz, dtypes="fiu", special=False)
binary("pow", np.power, a=pos, dtypes="fiu", special=False, scalar=2,
    errors=lambda: [E(RuntimeError, pos(2, 3), pos(2, 4)),
        E(RuntimeError, ix([1, 2]), -1, match="pow|negative")],
    extra=lambda: [S(t(2, 3), 3), S(pos(4), 0.5), S(t(2, 2), 0), S(2, t(3, lo=0.6)),
        S(np.array([0.0, 1.0, -2.0]), 2), S(t(5, lo=0.6), 1)])
binary("float_power", lambda x, y: np.power(x * 1.0, y), a=pos, dtypes="fiu", special=False,
    wide=True)
binary("atan2", lambda x, y: np.arctan2(x * 1.0, y), a=nz, b=nz, scalar=None)
binary("hypot", np.hypot, a=nz, b=nz, dtypes="f", scalar=None)
binary("maximum", np.maximum, scalar=None)
binary("minimum", np.minimum, scalar=None)
binary("fmax", np.fmax, scalar=None)
binary("fmin", np.fmin, scalar=None)
binary("logaddexp", np.logaddexp, dtypes="f", scalar=None, atol=1e-7)
binary("logaddexp2", np.logaddexp2, dtypes="f", scalar=None, special=False, atol=1e-7)
binary("heaviside", _heaviside, scalar=None, grad=False, dtypes="f")
binary("copysign", np.copysign, b=nz, dtypes="fiu", grad=(0,), special=False)
binary("nextafter", np.nextafter, dtypes="f", scalar=None, grad=False, special=False, half=None)
binary("ldexp", lambda x, y: x * np.exp2(y), dtypes="f", scalar=None, special=False, half=2)
binary("xlogy", _xlogy, b=pos, scalar=2)
binary("gcd", np.gcd, dtypes="iu", scalar=None, special=False, grad=False)
binary("lcm", np.lcm, a=pos, dtypes="iu", scalar=None, special=False, grad=False)
binary("logical_and", np.logical_and, scalar=None, grad=False)
binary("logical_or", np.logical_or, scalar=None, grad=False)
binary("logical_xor", np.logical_xor, scalar=None, grad=False)
binary("bitwise_and", np.bitwise_and, dtypes="iub", special=False, grad=False, scalar=1)
binary("bitwise_or", np.bitwise_or, dtypes="iub", special=False, grad=False, scalar=1)
binary("bitwise_xor", np.bitwise_xor, dtypes="iub", special=False, grad=False, scalar=1)
binary("bitwise_left_shift", np.left_shift, b=pos, dtypes="iu", special=False, grad=False)
binary("bitwise_right_shift", np.right_shift, b=pos, dtypes="iu", special=False, grad=False)
# fmt: on
for _name, _f in {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}.items():
    binary(_name, _f, grad=False, extra=lambda: [S(ix([1, 2, 3]), ix([1, 3, 2]))])

# fmt: off
binary("__add__", np.add, special=False)
binary("__sub__", np.subtract, special=False, dtypes="fiu")
binary("__truediv__", np.true_divide, b=nz, special=False, dtypes="fiu")
binary("__pow__", np.power, a=pos, special=False, dtypes="fiu")
binary("__radd__", lambda x, y: y + x, special=False)
binary("__rmul__", lambda x, y: y * x, special=False)
binary("__rsub__", lambda x, y: y - x, special=False, dtypes="fiu")
binary("__rdiv__", lambda x, y: y / (x * 1.0), a=nz, special=False, dtypes="fiu", scalar=2)
binary("__rpow__", lambda x, y: np.power(y, x), a=pos, b=pos, special=False, dtypes="fiu")
# fmt: on


def _close_samples() -> list[S]:
    x = t(2, 3)
    return [
        S(x, x),
        S(x, x + 1e-3),
        S(x, x + 1e-9),
        S(x, x * 1.1, rtol=0.2),
        S(x, x + 0.1, atol=0.2),
        S(np.array([np.nan, 1.0, np.inf]), np.array([np.nan, 1.0, np.inf])),
        S(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), equal_nan=True),
        S(np.array([np.inf, 1.0]), np.array([-np.inf, 1.0])),
        S(t(0), t(0)),
        S(t(), t()),
    ]


def _equal_samples() -> list[S]:
    x = t(2, 3)
    return [
        S(x, x.copy()),
        S(x, x + 1),
        S(x, x.T.copy()),
        S(t(0), t(0)),
        S(np.full(2, np.nan), np.full(2, np.nan)),
        S(x, np.ascontiguousarray(x[:1])),
        S(t(), t()),
    ]


# fmt: off
row("isclose", _close_samples, np.isclose, "f", grad=False,
    errors=lambda: [E(RuntimeError, t(2), t(3)), E(RuntimeError, t(2), t(2), rtol=-1.0)])
row("allclose", _close_samples, np.allclose, "f", grad=False,
    errors=lambda: [E(RuntimeError, t(2), t(3))])
row("equal", _equal_samples, np.array_equal, "fiub", grad=False,
    errors=lambda: [E(TypeError, t(2), "text")])
# fmt: on

# ---- three tensors and bounds ------------------------------------------------------------------


def _clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    x = x if min is None else np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


def _clamp_samples() -> list[S]:
    return [
        S(t(2, 3), -1, 1),
        S(t(2, 3), min=0),
        S(t(2, 3), max=1),
        S(t(2, 3), t(3), t(2, 1)),
        S(t(2, 3), min=t(3)),
        S(t(), -1, 1),
        S(t(0), -1, 1),
        S(t(2, 3), None, 1),
        S(t(3), 2, -2),
        S(t(2, 0, 3), 0, 1),
    ]


# fmt: off
row("clamp", _clamp_samples, _clamp, "fi",
    errors=lambda: [E(RuntimeError, t(2)), E(RuntimeError, t(2, 3), t(2, 4), match="clamp")],
    big=lambda: [S(t(70_000), -1, 1)])
binary("clamp_min", np.maximum, dtypes="fiu", scalar=1)
binary("clamp_max", np.minimum, dtypes="fiu", scalar=1)
row("lerp",
    lambda: [S(t(2, 3), t(2, 3), 0.3), S(t(2, 3), t(3), t(2, 1)), S(t(), t(), 0.7),
        S(t(0), t(0), 0.5), S(t(2, 1), t(3), t(2, 3)), S(t(2, 0), t(2, 1), 0.2)],
    lambda x, y, w: x + w * (y - x), "f", atol=5e-7,
    errors=lambda: [E(RuntimeError, t(2), t(3), 0.5), E(TypeError, t(2), t(2), "text")],
    big=lambda: [S(t(70_000), t(70_000), 0.3)])
row("addcmul",
    lambda: [S(t(2, 3), t(2, 3), t(2, 3)), S(t(2, 3), t(3), t(2, 1), value=2), S(t(), t(), t()),
        S(t(0), t(0), t(1)), S(t(3), t(2, 1), t(3))], lambda x, a, b, value=1: x + value * a * b,
    "fiu", atol=2e-6, errors=lambda: [E(RuntimeError, t(2), t(3), t(2))],
    big=lambda: [S(t(70_000), t(70_000), t(70_000), value=2)])
row("addcdiv",
    lambda: [S(t(2, 3), t(2, 3), nz(2, 3)), S(t(2, 3), t(3), nz(2, 1), value=2), S(t(), t(), nz()),
        S(t(0), t(0), nz(1)), S(t(3), t(2, 1), nz(3))], lambda x, a, b, value=1: x + value * a / b,
    "f", atol=2e-6, errors=lambda: [E(RuntimeError, t(2), t(3), t(2))],
    big=lambda: [S(t(70_000), t(70_000), nz(70_000))])
row("where",
    lambda: [S(mask(2, 3), t(2, 3), t(2, 3)), S(mask(2, 1), t(3), t(2, 3)),
        N(mask(2, 3), t(2, 3), 0), N(mask(3), 1, t(3)), S(mask(), t(), t()), S(mask(0), t(0), t(1)),
        S(mask(3, 1, 2), t(2, 1), t()), N(mask(2, 3))], lambda c, *v: np.where(c, *v), "fiub",
    method=False,
    errors=lambda: [E(RuntimeError, mask(2), t(3), t(2)), E(TypeError, mask(2), t(2))],
    big=lambda: [S(mask(70_000), t(70_000), t(70_000))])

alias(**{"absolute": "abs", "negative": "neg", "subtract": "sub", "multiply": "mul",
        "clip": "clamp", "divide": "div", "true_divide": "__truediv__", "greater __gt__": "gt",
        "greater_equal __ge__": "ge", "less __lt__": "lt", "less_equal __le__": "le",
        "not_equal __ne__": "ne", "__eq__": "eq", "arcsin": "asin", "arccos": "acos",
        "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
        "arctanh": "atanh", "fix": "trunc", "__mul__": "mul", "__floordiv__": "floor_divide",
        "__mod__": "remainder", "__and__": "bitwise_and", "__or__": "bitwise_or",
        "__xor__": "bitwise_xor", "special.expit": "sigmoid", "special.erf": "erf",
        "special.erfc": "erfc", "special.erfinv": "erfinv", "special.xlogy": "xlogy",
        "special.log1p": "log1p", "special.expm1": "expm1", "special.exp2": "exp2",
        "special.gammaln": "lgamma", "special.digamma": "digamma", "special.logit": "logit",
        "special.sinc": "sinc"})
# fmt: on
