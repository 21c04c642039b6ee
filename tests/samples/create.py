"""Rows of creation and dtype conversion."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import E, K, S, ix, row, t

F64, F32, I64, I32, BOOL = (np.dtype(n) for n in ("float64", "float32", "int64", "int32", "bool"))


def _size(v: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(v[0]) if len(v) == 1 and not isinstance(v[0], int) else tuple(v)


def _filled(value: Any) -> Any:
    """zeros(2, 3) or zeros((2, 3)), float32 unless told."""
    return lambda *size, dtype=F32: np.full(_size(size), value, dtype)


def _filled_like(value: Any) -> Any:
    return lambda x, dtype=None: np.full_like(x, value, dtype)


def _size_samples() -> list[S]:
    return [
        S(2, 3),
        S((2, 3)),
        S(()),
        S(0),
        S((2, 0, 3)),
        S([4]),
        S(3, dtype=F64),
        S((2,), dtype=I64),
        S(2, 1, dtype=BOOL),
    ]


def _size_errors() -> list[E]:
    return [
        E(RuntimeError, -1, match="-1|negative"),
        E(TypeError, 2.5),
        E(TypeError, "text"),
        E((RuntimeError, MemoryError), 2**40, 2**40, match="[Mm]emory|bytes|overflow|size|alloc"),
    ]


def _like_samples() -> list[S]:
    return [
        S(t(2, 3)),
        S(t()),
        S(t(0, 2)),
        S(t(2), dtype=F64),
        S(ix([1, 2]), dtype=F32),
        S(ix([1])),
    ]


def _arange(*v: Any, dtype: Any = None) -> np.ndarray:
    dtype = dtype or (F32 if any(isinstance(a, float) for a in v) else I64)
    return np.arange(*v).astype(dtype)


def _logspace(
    start: float, end: float, steps: int, base: float = 10.0, dtype: Any = F32
) -> np.ndarray:
    return np.logspace(start, end, steps, base=base).astype(dtype)


# fmt: off
row("zeros", _size_samples, _filled(0), "f", wide=True, grad=False, errors=_size_errors)
row("ones", _size_samples, _filled(1), "f", wide=True, grad=False, errors=_size_errors)
row("empty", _size_samples, _filled(0), "f", wide=True, grad=False, errors=_size_errors,
    values=False)
row("full",
    lambda: [S((2, 3), 1.5), S((), 2), S((0,), 1.0), S((2,), True), S((2,), 3, dtype=F64),
        S([2, 2], 7)],
    lambda size, v, dtype=None: np.full(size, v, dtype or (F32 if isinstance(v, float) else None)),
    "f", wide=True, grad=False,
    errors=lambda: [E(TypeError, (2,), "text"), E(RuntimeError, (-1,), 1, match="-1|negative")])
row("arange",
    lambda: [S(5), S(2, 7), S(1, 8, 3), S(5, 0, -2), S(0), S(1.5), S(0, 1, 0.25), S(3, dtype=F64),
        S(2, 2), S(0, 6, 2, dtype=I32)], _arange, "f", wide=True, grad=False,
    errors=lambda: [E((RuntimeError, ValueError), 1, 5, 0, match="step|arange"),
        E((RuntimeError, ValueError), 1, 5, -1, match="bound|arange|step"), E(TypeError)])
row("range",
    lambda: [S(0, 4), S(1, 2, 0.5), S(3, -1, -2), S(0, 5, 2, dtype=I64), S(0.5, 2.25, dtype=F64)],
    lambda a, b, s=1, dtype=F32: np.arange(a, b + s / 1e6, s, dtype), "f", grad=False, wide=True,
    errors=lambda: [E(RuntimeError, 0, 1, 0), E(RuntimeError, 0, 1, -1),
        E(RuntimeError, 0, float("inf")), E(TypeError, 3)])
row("linspace",
    lambda: [S(0, 1, 5), S(-2.0, 3.0, 7), S(0, 10, steps=11), S(3, 3, 4), S(0, 1, 1), S(0, 1, 0),
        S(5, 1, 9), S(0, 1, 4, dtype=F64)],
    lambda a, b, steps, dtype=F32: np.linspace(a, b, steps).astype(dtype), "f", grad=False,
    wide=True, atol=1e-6,
    errors=lambda: [E(RuntimeError, 0, 1, -1, match="steps|linspace"), E(TypeError, 0, 1)])
row("logspace",
    lambda: [S(0, 1, 5), S(-1.0, 2.0, 4), S(0, 3, 4, base=2.0), S(0, 1, 3, dtype=F64), S(2, 0, 1),
        S(0, 3, 4, dtype=I64), S(np.array(0.25), 1, 3), S(0, np.array(2.0), 3), S(0, 1, 0)],
    _logspace, "f", grad=False, wide=True, ulp=16,
    errors=lambda: [E(RuntimeError, 0, 1, -1, match="steps|logspace"),
        E(RuntimeError, np.ones(2), 1, 3), E(TypeError, 0, 1)])
row("eye", lambda: [S(3), S(2, 3), S(0), S(3, 2, dtype=I64), S(1)],
    lambda n, m=None, dtype=F32: np.eye(n, m, dtype=dtype), "f", grad=False, wide=True,
    errors=lambda: [E(RuntimeError, -1)])
row("zeros_like", _like_samples, _filled_like(0), wide=True, grad=False,
    errors=lambda: [E(TypeError, 3)])
row("ones_like", _like_samples, _filled_like(1), wide=True, grad=False,
    errors=lambda: [E(TypeError, 3)])
row("empty_strided", lambda: [S((2, 3), (1, 2)), S((0,), (1,))], lambda size, stride: np.zeros(size), "f",
    wide=True, grad=False, values=False)
row("empty_permuted", lambda: [S((2, 3), (1, 0)), S((), ()), S((2, 0, 3), (2, 0, 1))],
    lambda size, order: np.zeros(size, F32), "f", wide=True, grad=False, values=False,
    errors=lambda: [E(RuntimeError, (2, 3), (0, 0)), E(RuntimeError, (2, 3), (0,))])
row("new_empty_strided", lambda: [S(t(1), (2, 3), (1, 2)), S(t(1), (0,), (1,), dtype=F32)],
    lambda x, size, stride, dtype=None: np.zeros(size, dtype or x.dtype), wide=True, grad=False,
    values=False)
row("empty_like", _like_samples, _filled_like(0), wide=True, grad=False, values=False)
row("full_like", lambda: [S(t(2, 3), 2), S(t(), 1), S(t(0), 1), S(t(2), 1.5, dtype=F64)],
    lambda x, v, dtype=None: np.full_like(x, v, dtype), wide=True, grad=False)
# fmt: on


def _new(value: Any) -> Any:
    return lambda x, *size, dtype=None: np.full(_size(size), value, dtype or x.dtype)


def _new_samples() -> list[S]:
    return [S(t(1), (2, 3)), S(t(), 2, 1), S(t(3), ()), S(t(2), (0,)), S(t(2), (2,), dtype=I64)]


# fmt: off
row("new_zeros", _new_samples, _new(0), wide=True, grad=False)
row("new_ones", _new_samples, _new(1), wide=True, grad=False)
row("new_empty", _new_samples, _new(0), wide=True, grad=False, values=False)
row("new_full", lambda: [S(t(1), (2, 3), 2), S(t(2), (), 1), S(t(2), (2,), 1.5, dtype=F64)],
    lambda x, size, v, dtype=None: np.full(size, v, dtype or x.dtype), wide=True, grad=False)
row("new_tensor", lambda: [S(t(1), [1, 2, 3]), S(t(1), 2)],
    lambda x, v: np.asarray(v).astype(x.dtype), grad=False)
row("tril_indices", lambda: [S(3, 3), S(2, 4, 1), S(4, 2, -1), S(0, 3)],
    lambda r, c, k=0: np.stack(np.tril_indices(r, k, c)), "f", grad=False,
    errors=lambda: [E(RuntimeError, -1, 2)])
row("triu_indices", lambda: [S(3, 3), S(2, 4, 1), S(4, 2, -1), S(0, 3)],
    lambda r, c, k=0: np.stack(np.triu_indices(r, k, c)), "f", grad=False)
row("vander",
    lambda: [S(t(3)), S(t(3), 2), S(t(3), 4, increasing=True), S(t(2), 0), K(t(2), 1), S(t(0), 3)],
    lambda x, N=None, increasing=False: np.vander(x, N, increasing), "fi", ulp=8, atol=1e-6,
    half=None, errors=lambda: [E(RuntimeError, t(2, 2)), E(RuntimeError, t(2), -1)])
row("scalar_tensor", lambda: [S(1.5), S(2)], lambda v: np.float32(v), "f", grad=False, wide=True)
row("tensor",
    lambda: [S([1, 2]), S([[1.0, 2.5], [3.0, 4.0]]), S(3), S(2.5), S(True), S([]), S([[], []]),
        S([1, 2.5]), S([True, 2]), S((1, 2), dtype=F64), S([0, 2], dtype=BOOL), S(np.float64(2.5))],
    lambda v, dtype=None: np.asarray(v,
        dtype or (np.float32 if np.asarray(v).dtype.kind == "f" and not isinstance(v,
        np.generic) else None)), "f", wide=True, grad=False,
    errors=lambda: [E(ValueError, [[1, 2], [3]], match=""),
        E((TypeError, ValueError), ["a"], match=""),
        E((TypeError, ValueError, RuntimeError), {}, match="")])
row("as_tensor", lambda: [S([1, 2]), S([1.5]), S(3)],
    lambda v: np.asarray(v, np.float32 if np.asarray(v).dtype.kind == "f" else None), "f",
    wide=True, grad=False)
# fmt: on

# ---- dtype -------------------------------------------------------------------------------------


def _cast(dtype: str) -> Any:
    return lambda x: x.astype(dtype)


def _cast_samples() -> list[S]:
    return [S(t(2, 3)), S(t()), S(t(0, 2)), S(ix([-1, 0, 2]))]


for _name, _dtype, _grad in (
    ("float", "float32", False),
    ("double", "float64", True),
    ("int", "int32", False),
    ("long", "int64", False),
    ("short", "int16", False),
    ("char", "int8", False),
    ("bool", "bool", False),
    ("cfloat", "complex64", False),
    ("cdouble", "complex128", True),
):
    row(
        _name,
        _cast_samples,
        _cast(_dtype),
        "fib" if _name == "char" else "fiub",
        wide=True,
        grad=_grad,
    )
# fmt: off
row("byte", lambda: [S(np.array([1.2, 0.0, 3.7])), S(ix([1, 2]))], _cast("uint8"), wide=True,
    grad=False)
# fmt: on
for _name in ("half", "bfloat16"):
    row(
        _name,
        lambda: [S(np.array([0.5, -1.25, 3.0, 0.0])), S(ix([1, 2, -3])), S(t(0))],
        lambda x: x.astype("float32"),
        wide=True,
        grad=False,
    )
# fmt: off
row("to",
    lambda: [S(t(2, 3), F64), S(t(2, 3), I64), S(t(), dtype=BOOL), S(ix([1, 2]), F32),
        S(t(2), t(1)), S(t(0), F32), S(t(2, 3), F64, copy=True), S(t(2), "cpu"),
        S(t(2), "cpu", F64)],
    lambda x, *a, dtype=None, copy=False: x.astype(next((getattr(v, "dtype", v) for v in (*a,
        dtype) if v is not None and not isinstance(v, str)), x.dtype)), wide=True, grad=False,
    errors=lambda: [E((RuntimeError, TypeError), t(2), "nowhere", match="nowhere|device")])
row("type_as", lambda: [S(t(2), t(1)), S(t(2), ix([1]))], lambda x, y: x.astype(y.dtype), wide=True,
    grad=False)
row("item", lambda: [S(t()), S(t(1)), S(t(1, 1)), S(ix(3)), S(np.array(True))],
    lambda x: x.reshape(())[()], "f", grad=False, half=None, wide=True,
    errors=lambda: [E(RuntimeError, t(2), match="item|scalar|element")])
row("tolist", lambda: [S(t(2, 3)), S(t()), S(t(0)), S(ix([1, 2]))], lambda x: x.tolist(), "f",
    grad=False, half=None)
row("fill", lambda: [S(t(2, 3), 2), S(t(), 1), S(t(0), 1), S(t(2, 3), t())],
    lambda x, v: np.full_like(x, np.asarray(v).astype(x.dtype)),
    errors=lambda: [E(RuntimeError, t(2), t(2)), E(TypeError, t(2), "text")])
row("zero_", lambda: [S(t(2, 3)), S(t()), S(t(0))], np.zeros_like, mutates=True, grad=False)
row("copy_", lambda: [S(t(2, 3), t(3)), S(t(2), t()), S(t(2), ix([1, 2])), S(t(0), t(0))],
    lambda x, y: np.broadcast_to(y, x.shape).astype(x.dtype), mutates=True, grad=False,
    errors=lambda: [E(RuntimeError, t(2), t(3), match="copy_|expand|broadcast")])
# fmt: on

del _name, _dtype, _grad
