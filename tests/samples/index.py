"""Rows of indexing, gather, scatter and masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import BIG, E, K, N, S, ints, ix, mask, nz, row, t

ALL = slice(None)


def _dim(x: np.ndarray, dim: int, index: Any) -> tuple[Any, ...]:
    """The NumPy index that applies `index` to `dim`."""
    return (ALL,) * (dim % max(x.ndim, 1)) + (index,)


def _nonzero(x: np.ndarray, as_tuple: bool = False) -> Any:
    if as_tuple:
        return np.nonzero(x)
    return np.argwhere(x) if x.ndim else np.zeros((int(x != 0), 0), np.int64)


# ---- reading -----------------------------------------------------------------------------------


def _getitem_samples() -> list[S]:
    x = t(3, 4, 2)
    i, j = ix([0, 2, 2]), ix([[1], [2]])
    m = mask(3, 4)
    return [
        S(x, 1),
        S(x, -1),
        S(x, (0, 2, 1)),
        S(x, slice(1, 3)),
        S(x, slice(None, None, 2)),
        S(x, (ALL, slice(-3, None))),
        S(x, (Ellipsis, 0)),
        S(x, (None, ALL, None, 1)),
        S(x, (ALL, 1, Ellipsis)),
        S(x, i),
        S(x, (ALL, i)),
        S(x, (i, i)),
        S(x, (j, ix([0, 2]))),
        S(x, (i, ALL, ix([0, 1, 1]))),
        S(x, m),
        S(x, (ALL, mask(4))),
        S(x, mask(3, 4, 2)),
        S(x, (slice(0, 2), ix([0, 3]), 1)),
        S(x, ([0, 1], [1, 2])),
        S(x, [0, -1]),
        S(x, slice(2, 2)),
        S(x, np.zeros((3, 4), bool)),
        S(x, ix([])),
        S(x, ()),
        S(x, Ellipsis),
        S(t(), ()),
        S(t(), None),
        S(t(3), ix(1)),
        S(x, True),
        S(t(3), False),
        S(x, (Ellipsis, None, ix([-1, 0]))),
        S(t(0, 3), ix([])),
        S(t(2, 0), 1),
    ]


def _getitem_errors() -> list[E]:
    x = t(3, 4)
    index = "index|getitem"
    return [
        E(IndexError, x, 3, match=index),
        E(IndexError, x, (0, 0, 0), match=index),
        E(IndexError, x, ix([0, 3]), match=index),
        E(IndexError, x, ix([-4]), match=index),
        E(ValueError, x, slice(None, None, -1), match="step"),
        E(IndexError, x, mask(4, 4), match=index),
        E(IndexError, x, t(2), match=index),
        E(IndexError, t(), 0, match=index),
        E(TypeError, x, "a", match=index + "|indices"),
    ]


def _setitem(x: np.ndarray, i: Any, v: Any) -> np.ndarray:
    x[i] = v
    return x


def _setitem_samples() -> list[S]:
    return [
        S(t(3, 4), 1, 2),
        S(t(3, 4), (ALL, 2), t(3)),
        S(t(3, 4), slice(0, 2), t(4)),
        S(t(3, 4), mask(3, 4), 1),
        S(t(3, 4), ix([0, 2]), t(2, 4)),
        S(t(3, 4), Ellipsis, t()),
        S(t(3, 4), (ix([0, 2]), ix([1, 3])), t(2)),
        S(t(3, 4), (slice(None, None, 2), -1), 3),
        S(t(3), (), 2),
        S(t(), (), 1),
        S(t(3, 4), (None, 1), t(1, 4)),
        S(t(3, 4), slice(3, 3), 1),
        S(t(3, 4), ix([]), 0),
        S(t(3, 4), mask(3), t(4)),
        S(t(3, 4), [0, 1], 5),
    ]


# fmt: off
row("__getitem__", _getitem_samples, lambda x, i: x[i], errors=_getitem_errors, grad=(0,),
    big=lambda: [S(t(70, 1000), (ALL, ints(1000, hi=1000))), S(t(70, 1000), mask(70, 1000)),
        S(t(70, 1000), ints(70, hi=70))])
row("__setitem__", _setitem_samples, _setitem, mutates=True, grad=False,
    errors=lambda: [E(IndexError, t(3), 3, 1, match="index|setitem"),
        E(RuntimeError, t(3, 4), 1, t(3), match="setitem|expand|broadcast|copy")])
row("index_select",
    lambda: [S(t(3, 4), 0, ix([2, 0, 0])), S(t(3, 4), dim=-1, index=ix([1])),
        S(t(2, 3, 2), 1, ix([0, 2])), S(t(3, 4), 1, ix([])), S(t(5), 0, ix(3)), S(t(), 0, ix([0])),
        S(t(2, 0), 0, ix([1, 1]))],
    lambda x, dim, index: np.take(x, np.atleast_1d(index), dim) if x.ndim else x, grad=(0,),
    errors=lambda: [E(IndexError, t(3), 0, ix([3]), match="index"), E(IndexError, t(3), 1, ix([0])),
        E(IndexError, t(3, 3), 0, ix([[0, 1]]))],
    big=lambda: [S(t(70, 1000), 1, ints(1000, hi=1000)), S(t(1000, 70), 0, ints(900, hi=1000))])
row("select", lambda: [S(t(3, 4), 0, 1), S(t(3, 4), -1, -2), S(t(2, 3, 2), dim=1, index=0)],
    lambda x, dim, index: np.take(x, index, dim),
    errors=lambda: [E(IndexError, t(3), 0, 3), E(IndexError, t(3), 1, 0), E(IndexError, t(), 0, 0)])
row("narrow",
    lambda: [S(t(3, 4), 0, 1, 2), S(t(3, 4), -1, 0, 3), S(t(3, 4), 1, 2, 0), S(t(3, 4), 1, -3, 2),
        S(t(5), 0, 5, 0)],
    lambda x, dim, start, length: np.take(x, np.arange(start, start + length), dim),
    errors=lambda: [E(RuntimeError, t(3), 0, 2, 2, match="start"), E(IndexError, t(3), 1, 0, 1),
        E(RuntimeError, t(3), 0, 0, -1), E(IndexError, t(3), 0, 4, 0, match="start")])
row("narrow_copy", lambda: [S(t(3, 4), 0, 1, 2), S(t(3, 4), -1, 0, 3)],
    lambda x, dim, start, length: np.take(x, np.arange(start, start + length), dim))
row("nonzero_static", lambda: [S(ix([0, 2, 0, 3]), size=3), S(ix([[1, 0], [0, 4]]), size=1)],
    lambda x, size: np.concatenate([np.argwhere(x), np.full((size, x.ndim), -1)])[:size], "i", grad=False)
row("take",
    lambda: [S(t(2, 3), ix([0, 5, -1])), S(t(4), ix([[1, 2]])), S(t(2, 3), ix(2)),
        S(t(2, 3), ix([]))], lambda x, i: np.take(x, i), grad=(0,),
    errors=lambda: [E(IndexError, t(3), ix([3]), match="take|index")],
    big=lambda: [S(t(70, 1000), ints(BIG, hi=BIG))])
# fmt: on


def _gather_samples() -> list[S]:
    return [
        S(t(3, 4), 0, ix([[0, 2, 1, 0]])),
        S(t(3, 4), 1, ix([[0], [3], [3]])),
        S(t(2, 3, 2), -1, ints(2, 2, 3, hi=2)),
        S(t(3), 0, ix([2, 2, 0, 1])),
        S(t(), 0, ix(0)),
        S(t(3, 4), 1, np.zeros((3, 0), np.int64)),
        S(t(3, 4), dim=0, index=ints(5, 4, hi=3)),
    ]


def _gather(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    if x.ndim == 0:
        return x.copy()
    cut = tuple(
        slice(None) if d == dim % x.ndim else slice(0, n) for d, n in enumerate(index.shape)
    )
    return np.take_along_axis(x[cut], index, dim)


def _index_errors() -> list[E]:
    return [
        E(RuntimeError, t(3, 4), 0, ix([[3, 0, 0, 0]]), match="gather|index"),
        E(RuntimeError, t(3, 4), 0, ix([0])),
        E(IndexError, t(3, 4), 2, ix([[0]])),
        E(RuntimeError, t(3, 4), 0, t(1, 4)),
    ]


# fmt: off
row("gather", _gather_samples, _gather, grad=(0,), errors=_index_errors,
    big=lambda: [S(t(70, 1000), 1, ints(70, 1000, hi=1000)),
        S(t(70, 1000), 0, ints(70, 1000, hi=70))])
row("take_along_dim",
    lambda: [S(t(3, 4), ix([[0, 2, 1, 0]]), 0), S(t(3, 4), ix([[0], [3], [3]]), dim=1),
        S(t(3, 4), ix([5, 0])), S(t(3, 4), ix([[1]]), dim=1), S(t(2, 3, 2), ix([[[0, 1]]]), 1)],
    lambda x, i, dim=None: (np.take_along_axis(x, i, None) if dim is None else np.take_along_axis(x,
        np.broadcast_to(i,
        [n if d == dim else max(n, m) for d, (n, m) in enumerate(zip(i.shape, x.shape))]), dim)),
    grad=(0,),
    errors=lambda: [E(RuntimeError, t(3, 4), ix([0]), 0), E(RuntimeError, t(3), t(2), 0)])
row("masked_select",
    lambda: [S(t(2, 3), mask(2, 3)), S(t(2, 3), mask(3)), S(t(3), mask(2, 3)), S(t(), mask()),
        S(t(0), mask(0)), S(t(2, 3), np.zeros((2, 3), bool))],
    lambda x, m: np.broadcast_arrays(x, m)[0][np.broadcast_arrays(x, m)[1]], grad=(0,),
    errors=lambda: [E(RuntimeError, t(2), mask(3)), E(RuntimeError, t(2), t(2))],
    big=lambda: [S(t(BIG), mask(BIG))])
row("nonzero",
    lambda: [S(t(2, 3)), S(mask(2, 3)), S(ix([0, 3, 0, 1])), S(t()), S(t(0)), S(np.array(0.0)),
        N(mask(2, 3), as_tuple=True), S(t(2, 0))],
    _nonzero, grad=False, big=lambda: [S(mask(70, 1000))])
row("argwhere", lambda: [S(t(2, 3)), S(mask(2, 3)), S(t(0))], np.argwhere, grad=False)
# fmt: on

# ---- writing -----------------------------------------------------------------------------------


def _index_put(x: np.ndarray, idx: Any, v: Any, accumulate: bool = False) -> np.ndarray:
    x = x.copy()
    if accumulate:
        (np.add if x.dtype != bool else np.logical_or).at(x, tuple(idx), v)
    else:
        x[tuple(idx)] = v
    return x


def _along(x: np.ndarray, dim: int, index: np.ndarray, v: Any, f: Any) -> np.ndarray:
    """x with f(old, new) at `index` along `dim`, one element after the other."""
    flat = x.ndim == 0
    x = x.reshape(1).copy() if flat else x.copy()
    index = np.atleast_1d(index)
    for at in np.ndindex(index.shape):
        to = list(at)
        to[dim] = int(index[at])
        new = np.asarray(v).reshape(1)[0] if np.ndim(v) == 0 else v[at]
        x[tuple(to)] = f(x[tuple(to)], new)
    return x.reshape(()) if flat else x


def _whole(x: np.ndarray, dim: int, index: np.ndarray, v: Any, f: Any) -> np.ndarray:
    """x with f(old, new) on whole slices of `dim`."""
    flat = x.ndim == 0
    x, v = (x.reshape(1).copy(), np.reshape(v, 1)) if flat else (x.copy(), v)
    for k, i in enumerate(np.atleast_1d(index)):
        new = np.take(v, k, dim) if np.ndim(v) else v
        x[_dim(x, dim, int(i))] = f(x[_dim(x, dim, int(i))], new)
    return x.reshape(()) if flat else x


def _second(a: Any, b: Any) -> Any:
    return b


def _scatter(
    x: np.ndarray,
    dim: int,
    index: np.ndarray,
    src: Any = None,
    value: Any = None,
    reduce: str | None = None,
) -> np.ndarray:
    f = {None: _second, "add": np.add, "multiply": np.multiply}[reduce]
    return _along(x, dim, index, value if src is None else src, f)


def _scatter_reduce(
    x: np.ndarray,
    dim: int,
    index: np.ndarray,
    src: np.ndarray,
    reduce: str,
    include_self: bool = True,
) -> np.ndarray:
    out = x.copy()
    where: dict[tuple[int, ...], list[Any]] = {}
    for at in np.ndindex(index.shape):
        to = list(at)
        to[dim] = int(index[at])
        where.setdefault(tuple(to), [x[tuple(to)]] if include_self else []).append(src[at])
    f: Any = {"sum": np.sum, "prod": np.prod, "amax": np.max, "amin": np.min, "mean": np.mean}[
        reduce
    ]
    for key, v in where.items():
        m = f(np.asarray(v))
        out[key] = np.floor(m) if reduce == "mean" and x.dtype.kind == "i" else m
    return out


def _scatter_samples() -> list[S]:
    return [
        S(t(3, 4), 0, ix([[0, 2, 1, 0]]), t(1, 4)),
        K(t(3, 4), 1, ix([[0, 3], [1, 2]]), t(3, 4)),
        S(t(2, 3, 2), -1, ix([[[1], [0], [1]]]), t(1, 3, 1)),
        K(t(3), 0, ix([2]), t(2)),
        S(t(), 0, ix(0), t()),
        S(t(3), 0, ix([]), t(0)),
    ]


def _scatter_errors() -> list[E]:
    return [
        E(RuntimeError, t(3), 0, ix([3]), t(1), match="scatter|index"),
        E(RuntimeError, t(3, 4), 0, ix([0]), t(1)),
        E(IndexError, t(3), 1, ix([0]), t(1)),
        E(RuntimeError, t(3), 0, ix([0, 1]), t(1)),
    ]


def _big_scatter() -> list[S]:
    return [S(t(70, 1000), 1, ints(70, 1000, hi=1000), t(70, 1000))]


# fmt: off
row("index_put",
    lambda: [S(t(3, 4), (ix([0, 2]), ix([1, 3])), t(2)), S(t(3, 4), (ix([0, 2]),), t(2, 4)),
        S(t(3, 4), (ix([0, 0, 1]),), t(3, 4), accumulate=True), S(t(3, 4), (mask(3, 4),), t()),
        S(t(3), (ix([1, 1, 1]),), t(3), True), S(t(3, 4), (ix([[0], [1]]), ix([1, 2])), t())],
    _index_put, grad=(0, 2), atol=1e-6, half=2,
    errors=lambda: [E(IndexError, t(3), (ix([3]),), t(1), match="index"),
        E(RuntimeError, t(3), (ix([0, 1]),), t(3), match="index_put|shape")])
row("index_add",
    lambda: [S(t(3, 4), 0, ix([0, 2, 0]), t(3, 4)), S(t(3, 4), -1, ix([1]), t(3, 1)),
        S(t(3, 4), 1, ix([1, 1]), t(3, 2), alpha=2), S(t(5), 0, ix([]), t(0)),
        S(t(), 0, ix([0]), t())],
    lambda x, d, i, s, alpha=1: _whole(x, d, i, alpha * s if alpha != 1 else s, np.add),
    grad=(0, 3), atol=1e-6, half=1,
    errors=lambda: [E(RuntimeError, t(3), 0, ix([0, 1]), t(3)),
        E(IndexError, t(3), 0, ix([3]), t(1), match="index"),
        E(IndexError, t(3), 1, ix([0]), t(1))],
    big=lambda: [S(t(70, 1000), 0, ints(70, hi=70), t(70, 1000))])
row("index_copy",
    lambda: [S(t(3, 4), 0, ix([0, 2]), t(2, 4)), S(t(3, 4), -1, ix([1]), t(3, 1)),
        S(t(5), 0, ix([]), t(0))], lambda x, d, i, s: _whole(x, d, i, s, _second), grad=(0, 3),
    errors=lambda: [E(IndexError, t(3), 0, ix([0, 1]), t(3))])
row("index_fill",
    lambda: [S(t(3, 4), 0, ix([0, 2]), 2), S(t(3, 4), -1, ix([1]), t()), S(t(5), 0, ix([]), 1),
        S(t(), 0, ix([0]), 1)], lambda x, d, i, v: _whole(x, d, i, v, _second), grad=(0, 3),
    errors=lambda: [E(IndexError, t(3), 1, ix([0]), 1), E(RuntimeError, t(3), 0, ix([0]), t(2))])
row("index_reduce",
    lambda: [S(nz(3, 4), 0, ix([0, 2, 0]), nz(3, 4), r) for r in ("prod", "amax", "amin")],
    lambda x, d, i, s, r, include_self=True: _whole(x, d, i, s,
        {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[r]), "fi", grad=False, half=1)
row("scatter",
    lambda: [*_scatter_samples(), S(t(3, 4), 1, ix([[0], [2]]), 2), S(t(3), 0, ix([1]), value=1),
        K(t(3, 4), 0, ix([[0, 0, 1]]), t(3, 4), reduce="add"),
        K(t(3, 4), 0, ix([[0, 2, 1]]), t(3, 4), reduce="multiply")],
    lambda x, d, i, s=None, value=None, reduce=None: _scatter(x, d, i, s, value, reduce), "fiu",
    grad=(0, 3), gradgrad=True, half=1, errors=_scatter_errors)
row("scatter_add", lambda: [*_scatter_samples(), S(t(3), 0, ix([1, 1, 0, 1]), t(4))],
    lambda x, d, i, s: _along(x, d, i, s, np.add), grad=(0, 3), atol=1e-6, half=1,
    errors=_scatter_errors, big=_big_scatter)
row("scatter_reduce",
    lambda: [S(nz(2, 3), 0, ints(2, 3, hi=2), nz(2, 3), r, include_self=s) for r in ("sum", "prod",
        "amax", "amin", "mean") for s in (True, False)], _scatter_reduce, "fiu", grad=(0, 3),
    atol=2e-6, half=2, ulp=8,
    errors=lambda: [E(RuntimeError, t(3), 0, ix([0]), t(1), "median"),
        E(RuntimeError, t(3), 0, ix([3]), t(1), "sum", match="scatter|index")])
row("masked_fill",
    lambda: [S(t(2, 3), mask(2, 3), 2), S(t(2, 3), mask(3), t()), S(t(3), mask(2, 3), 1),
        S(t(), mask(), 1), S(t(0), mask(0), 1), S(t(2, 3), mask(2, 1), 0)],
    lambda x, m, v: np.where(m, np.asarray(v).astype(x.dtype), x), grad=(0, 2),
    errors=lambda: [E(RuntimeError, t(2), mask(3), 1), E(RuntimeError, t(2), t(2), 1),
        E(RuntimeError, t(2), mask(2), t(2))], big=lambda: [S(t(BIG), mask(BIG), 1)])
# fmt: on


def _masked_scatter(x: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
    x, m = (a.copy() for a in np.broadcast_arrays(x, m))
    x[m] = v.ravel()[: m.sum()]
    return x


def _put(x: np.ndarray, i: np.ndarray, v: np.ndarray, accumulate: bool = False) -> np.ndarray:
    return _index_put(x.ravel(), (i.ravel(),), v.ravel(), accumulate).reshape(x.shape)


def _slice_scatter(
    x: np.ndarray, s: np.ndarray, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> np.ndarray:
    return _setitem(x.copy(), _dim(x, dim, slice(start, end, step)), s)


def _diagonal_scatter(x: np.ndarray, s: np.ndarray, offset: int = 0) -> np.ndarray:
    i = np.arange(len(s))
    return _setitem(x.copy(), (i + max(-offset, 0), i + max(offset, 0)), s)


# fmt: off
row("masked_scatter",
    lambda: [S(t(2, 3), mask(2, 3), t(6)), S(t(2, 3), mask(3), t(2, 3)), S(t(0), mask(0), t(0))],
    _masked_scatter, grad=(0, 2),
    errors=lambda: [E(RuntimeError, t(3), np.ones(3, bool), t(2),
        match="masked_scatter|source|number of elements")])
row("put",
    lambda: [S(t(2, 3), ix([0, 5, -2]), t(3)), S(t(4), ix([1, 1]), t(2), True),
        S(t(2, 3), ix([]), t(0))], _put, "fiu", grad=(0, 2),
    errors=lambda: [E(IndexError, t(3), ix([3]), t(1), match="put|index"),
        E((RuntimeError, IndexError), t(3), ix([0]), t(2))])
row("select_scatter", lambda: [S(t(3, 4), t(4), 0, 1), S(t(3, 4), t(3), -1, -2)],
    lambda x, s, dim, index: _setitem(x.copy(), _dim(x, dim, index), s))
row("slice_scatter", lambda: [S(t(4, 3), t(2, 3), 0, 1, 3), S(t(4, 3), t(4, 2), 1, 0, 3, 2)],
    _slice_scatter)
row("diagonal_scatter", lambda: [S(t(3, 3), t(3)), S(t(3, 4), t(3), 1), S(t(3, 3), t(2), -1)],
    _diagonal_scatter)
row("unravel_index",
    lambda: [S(ix([3, 5, 0]), (2, 3)), S(ix(4), 5), S(ix([[1, 7]]), (2, 2, 2)), S(ix([]), (2, 3))],
    lambda x, shape: np.unravel_index(x, shape), "f", grad=False, half=None, wide=True,
    errors=lambda: [E(TypeError, t(2), (2, 3)), E(ValueError, ix([1]), (2, -3)),
        E(TypeError, ix([1]), (2.0, 3))])
# fmt: on
