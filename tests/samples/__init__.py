"""One row per op: sample inputs, the NumPy reference, dtypes, bounds and errors.

A row buys value, dtype, layout, method, in-place, out=, gradient twice, errors, thread count, trace
(tests/ops/test_ops.py) and parity with PyTorch (tests/parity). Rows live in tests/samples/<family>.py.

Inputs are NumPy arrays, lifted to tensors by the tests. A float64 array stands for "the dtype under
test" and is cast to it; complex128 follows it (complex64 for float32); int64 and bool arrays are
indices and masks and stay as they are. An `np.dtype` argument stands for the library's own dtype.

    unary("exp", np.exp)                                   # most pointwise ops
    row("mv", lambda: [S(t(2, 3), t(3))], np.matmul, "f")  # anything else
"""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

BIG = 70_000  # elements of a sample that several threads share


class S:
    """One call: positional and keyword arguments, in NumPy."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs

    def __repr__(self) -> str:
        keys = [f"{k}={_short(v)}" for k, v in self.kwargs.items()]
        return "(" + ", ".join([_short(a) for a in self.args] + keys) + ")"


class K(S):
    """A call at a kink: its value is defined, finite differences are not."""


class F(S):
    """A call that only the function form has."""


class N(S):
    """A call of a signature without out=."""


class E:
    """A call that must raise `exc` with a message that matches (by default: the op's name)."""

    def __init__(self, exc: type, *args: Any, match: str | None = None, **kwargs: Any) -> None:
        self.exc, self.match, self.sample = exc, match, S(*args, **kwargs)


def _short(v: Any) -> str:
    if isinstance(v, np.ndarray):
        return f"{v.dtype.kind}{list(v.shape)}"
    if isinstance(v, (list, tuple)):
        return "[" + ", ".join(map(_short, v)) + "]"
    return repr(v)


@dataclass
class Row:
    """What the tests know about one op."""

    name: str
    make: Callable[[], list[S]]
    twin: Callable[..., Any] | None  # same signature, on float64 / int64 / bool NumPy arrays
    dtypes: str = "fiub"  # f float32/64, i int8..64, u uint8, b bool
    ulp: float = 4  # bound on the float32 error, in units of the result's last place ...
    atol: float = 0.0  # ... plus this much (sums cancel: the terms set the scale, not the result)
    half: float | None = (
        0  # float16/bfloat16: last places from the rounded float32 result; None: no
    )
    grad: bool | tuple[int, ...] = True  # which positional arguments have a derivative
    gradgrad: bool | str = True  # or the reason why there is no second derivative to check
    errors: Callable[[], list[E]] = field(default=list)
    big: Callable[[], list[S]] | None = None  # inputs that several threads share
    canon: Callable[[Any], Any] | None = (
        None  # takes away a freedom, e.g. the signs of eigenvectors
    )
    prep: Callable[[Any], Any] | None = None  # makes an input of its kind, e.g. symmetric: x + x.mT
    values: bool = True  # False: only shape and dtype are defined (empty, ...)
    stat: Callable[..., Any] | None = None  # random ops: asserts a property of the result
    method: bool = True  # False: Tensor.name means something else
    mutates: bool = False  # changes its first argument (__setitem__, zero_)
    strided: bool = True  # False: strides are part of its meaning (view, as_strided)
    matrix: bool = False  # the last two dims are a matrix that must stay regular
    wide: bool = False  # result dtype may differ from the input's float dtype
    warns: str = ""  # what each call warns of
    alias_of: str | None = None  # the same op under another name: only value and form are tested

    def samples(self) -> list[S]:
        """The samples, the same at every call."""
        _seed(self.name)
        return self.make()

    def big_samples(self) -> list[S]:
        """The large samples, the same at every call."""
        _seed(self.name)
        return self.big() if self.big else []

    def error_samples(self) -> list[E]:
        """The calls that must raise."""
        _seed(self.name)
        return self.errors()


ROWS: dict[str, Row] = {}
_rng = np.random.default_rng(0)


def _seed(name: str) -> None:
    global _rng
    _rng = np.random.default_rng(zlib.crc32(name.encode()))


# ---- inputs ------------------------------------------------------------------------------------


def t(*shape: int, lo: float = -3.0, hi: float = 3.0) -> np.ndarray:
    """Random values of the dtype under test, away from kinks (multiples of 1/2)."""
    x = np.asarray(_rng.uniform(lo, hi, shape))
    return np.where(abs(2 * x - np.round(2 * x)) < 0.1, x + 0.07, x)


def pos(*shape: int) -> np.ndarray:
    """Positive values, also when cast to integers."""
    return t(*shape, lo=0.6, hi=3.4)


def nz(*shape: int) -> np.ndarray:
    """Values of both signs that are not zero, also when cast to integers."""
    return np.asarray(pos(*shape) * _rng.choice([-1.0, 1.0], shape))


def perm(*shape: int) -> np.ndarray:
    """Distinct positive values, also when cast to integers: no ties."""
    return (_rng.permutation(int(np.prod(shape))) + 1.2).reshape(shape)


def z(*shape: int) -> np.ndarray:
    """Random complex values."""
    return np.asarray(t(*shape) + 1j * t(*shape))


def ix(values: Any) -> np.ndarray:
    """int64 indices."""
    return np.asarray(values, np.int64)


def ints(*shape: int, hi: int) -> np.ndarray:
    """Random int64 indices in [0, hi)."""
    return _rng.integers(0, hi, shape)


def mask(*shape: int) -> np.ndarray:
    """A random mask."""
    return np.asarray(_rng.random(shape) < 0.6)


def spd(*batch: int, n: int = 3) -> np.ndarray:
    """Symmetric positive definite matrices with well separated eigenvalues."""
    q = np.linalg.qr(_rng.standard_normal((*batch, n, n)))[0]
    return (q * np.arange(1.0, n + 1)) @ np.swapaxes(q, -1, -2)


def well(*batch: int, n: int = 3) -> np.ndarray:
    """Well conditioned square matrices."""
    return _rng.uniform(-1, 1, (*batch, n, n)) + n * np.eye(n)


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30])


# ---- rows --------------------------------------------------------------------------------------


def row(
    name: str,
    make: Callable[[], list[S]],
    twin: Callable[..., Any] | None = None,
    dtypes: str = "fiub",
    **more: Any,
) -> None:
    """Adds a row."""
    assert name not in ROWS, f"two rows for {name}"
    ROWS[name] = Row(name, make, twin, dtypes, **more)


def alias(**names: str) -> None:
    """alias(absolute="abs"): the same row under other names, separated by blanks."""
    for others, name in names.items():
        for other in others.split():
            ROWS[other] = replace(ROWS[name], name=other, alias_of=name)


def unary(
    name: str,
    twin: Callable[..., Any],
    lo: float = -3.0,
    hi: float = 3.0,
    dtypes: str = "fiub",
    special: bool = True,
    extra: Callable[[], list[S]] = list,
    **more: Any,
) -> None:
    """A pointwise op of one tensor, on values in [lo, hi]."""

    def make() -> list[S]:
        shapes: list[tuple[int, ...]] = [(2, 3), (), (0,), (2, 0, 3), (2, 1, 3, 1, 2), (1,), (37,)]
        out = [S(t(*s, lo=lo, hi=hi)) for s in shapes] + extra()
        return out + [S(SPECIAL.copy())] if special else out

    def errors() -> list[E]:
        return [E(TypeError, "text"), E(TypeError, [1.0])]

    row(
        name,
        make,
        twin,
        dtypes,
        **{"errors": errors, **more},
        big=lambda: [S(t(BIG, lo=lo, hi=hi))],
    )


def binary(
    name: str,
    twin: Callable[..., Any],
    a: Callable[..., np.ndarray] = t,
    b: Callable[..., np.ndarray] | None = None,
    dtypes: str = "fiub",
    scalar: Any = 2,
    special: bool = True,
    extra: Callable[[], list[S]] = list,
    **more: Any,
) -> None:
    """A pointwise op of two tensors that broadcast; the second may be a Python scalar."""
    b = b or a

    def make() -> list[S]:
        pairs: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
            ((2, 3), (2, 3)),
            ((2, 3), (3,)),
            ((2, 1), (1, 3)),
            ((), (2, 2)),
            ((2, 2), ()),
            ((), ()),
            ((0,), (1,)),
            ((2, 0), (2, 1)),
            ((3, 1, 2, 1, 2), (2, 1, 1)),
            ((37,), (37,)),
        ]
        out = [S(a(*p), b(*q)) for p, q in pairs] + extra()
        if scalar is not None:
            out += [S(a(2, 3), scalar)]
        if special:
            out += [S(SPECIAL[:, None].copy(), SPECIAL.copy())]
        return out

    def errors() -> list[E]:
        shapes = [E(RuntimeError, a(2, 3), b(2, 4))]  # x + "text": the other side may know how
        return shapes if name.startswith("__") else [*shapes, E(TypeError, a(2), "text")]

    row(
        name,
        make,
        twin,
        dtypes,
        **{"errors": errors, **more},
        big=lambda: [S(a(BIG), b(BIG)), S(a(100, 700), b(700))],
    )


def axes(x: np.ndarray, dim: Any) -> Any:
    """`dim` as NumPy's axis: no dims, or an empty list of them, is all of them."""
    return (
        None
        if dim is None or (isinstance(dim, (list, tuple)) and not dim)
        else (tuple(dim) if isinstance(dim, list) else dim)
    )


def over(f: Callable[..., Any]) -> Callable[..., Any]:
    """f(x, axis, keepdims) as a twin f(x, dim, keepdim), also for 0-d x with dim 0."""

    def twin(
        x: np.ndarray, dim: Any = None, keepdim: bool = False, dtype: Any = None, **kw: Any
    ) -> Any:
        x = x if dtype is None else x.astype(dtype)
        if x.ndim == 0:
            y = f(x[None], axis=0, keepdims=False, **kw)
        else:
            y = f(x, axis=axes(x, dim), keepdims=keepdim, **kw)
        return y

    return twin


def reduction(
    name: str,
    twin: Callable[..., Any],
    dtypes: str = "fiub",
    a: Callable[..., np.ndarray] = t,
    *,
    many: bool = True,
    empty: bool = True,
    full: bool = True,
    extra: Callable[[], list[S]] = list,
    **more: Any,
) -> None:
    """A reduction over no dim (full), one dim, and several dims at once (many)."""

    def make() -> list[S]:
        out = [
            S(a(2, 3), 0),
            S(a(2, 3), 1, True),
            S(a(2, 3, 2), dim=-2),
            S(a(), 0),
            S(a(3, 1), dim=-1, keepdim=True),
            S(a(2, 0, 3), 0),
            S(a(37), 0),
        ]
        out += [S(a(2, 3)), S(a()), S(a(1, 2, 1, 3, 2))] if full else []
        out += [S(a(2, 3, 2), (0, 2)), S(a(2, 3, 2), dim=(1, -1), keepdim=True)] if many else []
        out += [S(a(0, 3), 0), S(a(2, 0), -1, True)] if empty else []
        return out + extra()

    def errors() -> list[E]:
        bad = [E(IndexError, a(2, 3), 2), E(IndexError, a(2, 3), -3)]
        return bad + ([E(RuntimeError, a(2, 3), (0, 0))] if many else [])

    def big() -> list[S]:
        return [S(a(BIG), 0), S(a(70, 1000), 0), S(a(70, 1000), 1)] + ([S(a(BIG))] if full else [])

    row(name, make, twin, dtypes, **{"errors": errors, "atol": 2e-6, "half": 1, "big": big, **more})


# Each family registers its rows when it is imported; view_copies is made of the others.
_FAMILIES = sorted(module.name for module in pkgutil.iter_modules(__path__))
for _name in sorted(_FAMILIES, key="view_copies".__eq__):
    importlib.import_module(f"samples.{_name}")
