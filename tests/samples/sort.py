"""Rows of sorting, searching and counting. `perm` has no ties, so the order is defined."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import BIG, E, K, N, S, ints, ix, perm, pos, row, t


def _sort(x: np.ndarray, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    i = _argsort(x, dim, descending)
    return (np.take_along_axis(x, i, dim), i) if x.ndim else (x, i)


def _argsort(x: np.ndarray, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(x, dim, kind="stable")
    n = x.shape[dim]  # a stable descending order: reverse, sort, reverse, number from the other end
    return n - 1 - np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)


def _topk(x: np.ndarray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    v, i = _sort(x, dim, largest)
    return np.take(v, np.arange(k), dim), np.take(i, np.arange(k), dim)


def _kth(x: np.ndarray, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    out = [np.take(a, [k - 1], dim) for a in _sort(x, dim)]
    return tuple(out) if keepdim else tuple(a.squeeze(dim) for a in out)


def _mode(x: np.ndarray, dim: int = -1, keepdim: bool = False) -> Any:
    def one(r: np.ndarray) -> list[Any]:
        v, n = np.unique(r, return_counts=True)
        best = v[np.argmax(n)]
        return [best, np.nonzero(r == best)[0][-1]]

    y = np.apply_along_axis(one, dim, x)
    v, i = np.take(y, 0, dim), np.take(y, 1, dim).astype(np.int64)
    return (np.expand_dims(v, dim), np.expand_dims(i, dim)) if keepdim else (v, i)


def _sort_samples() -> list[S]:
    return [
        S(perm(5)),
        S(perm(2, 3)),
        S(perm(2, 3), 0),
        S(perm(3, 2, 2), 1),
        S(perm(2, 3), dim=-1, descending=True),
        S(t()),
        S(t(0)),
        S(t(2, 0)),
        S(perm(37)),
        S(perm(4, 1), 0),
    ]


def _stable() -> list[S]:
    x = np.array([2.0, 1.0, 2.0, 1.0, 0.0, 1.0])
    return [K(x, stable=True), K(x, stable=True, descending=True), K(x, dim=0, stable=True)]


def _nans() -> list[S]:
    return [S(np.array([1.0, np.nan, -np.inf, np.inf, 0.0]))]


def _big() -> list[S]:
    return [S(perm(BIG)), S(perm(70, 1000), 0), S(perm(70, 1000), 1)]


# fmt: off
row("sort", lambda: _sort_samples() + _stable() + _nans(), _sort, "fi",
    errors=lambda: [E(IndexError, t(2), 1)], big=_big)
row("argsort", lambda: _sort_samples() + _stable() + _nans(), _argsort, "fi", grad=False,
    errors=lambda: [E(IndexError, t(2), 1, match="sort")], big=_big)
row("msort", lambda: [S(perm(5)), S(perm(3, 2))], lambda x: np.sort(x, 0), "fiu")
row("topk",
    lambda: [S(perm(5), 2), S(perm(2, 4), 3, 1), S(perm(4, 2), 2, dim=0, largest=False),
        S(perm(3), 0), S(perm(3), 3), S(perm(2, 4), 1, -1)], _topk, "fiu",
    errors=lambda: [E(RuntimeError, t(3), 4, match="topk|k"),
        E(RuntimeError, t(3), -1, match="topk|k"), E(IndexError, t(3), 1, 1)],
    big=lambda: [S(perm(BIG), 10), S(perm(70, 1000), 5, 1)])
row("kthvalue", lambda: [S(perm(5), 2), S(perm(2, 4), 3, 1), S(perm(4, 2), 1, dim=0, keepdim=True)],
    _kth, "fiu",
    errors=lambda: [E((RuntimeError, IndexError), t(3), 4), E((RuntimeError, IndexError), t(3), 0)])
row("mode",
    lambda: [S(perm(2, 4)), K(np.array([2.0, 1.0, 2.0, 3.0, 1.0, 2.0])),
        K(np.array([[1.0, 1, 2], [3, 4, 4]])), K(np.array([[1.0, 5], [1, 5], [2, 3]]), 0),
        K(np.array([[1.0, 1, 2], [3, 4, 4]]), 1, True)], _mode, "fiu")
# fmt: on


def _unique(
    x: np.ndarray,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    v, inv, n = np.unique(x, return_inverse=True, return_counts=True, axis=dim)
    inv = inv.reshape(x.shape if dim is None else x.shape[dim])
    out = [v] + [inv] * return_inverse + [n] * return_counts
    return out[0] if len(out) == 1 else tuple(out)


def _unique_consecutive(
    x: np.ndarray, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    y = x.ravel()[:, None] if dim is None else np.moveaxis(x, dim, 0)
    new = np.array([i == 0 or not np.array_equal(y[i], y[i - 1]) for i in range(len(y))], bool)
    inv = np.cumsum(new) - 1
    v = y[new][:, 0] if dim is None else np.moveaxis(y[new], 0, dim)
    inv = inv.reshape(x.shape) if dim is None else inv
    out = [v] + [inv] * return_inverse + [np.bincount(inv.ravel())] * return_counts
    return out[0] if len(out) == 1 else tuple(out)


def _dup() -> np.ndarray:
    return np.array([[1.0, 2.0, 2.0], [1.0, 2.0, 2.0], [4.0, 4.0, 1.0]])


# fmt: off
row("unique",
    lambda: [S(_dup()), S(_dup(), return_inverse=True), S(_dup(), return_counts=True),
        S(_dup(), return_inverse=True, return_counts=True), S(_dup(), dim=0),
        S(_dup(), True, True, True, 1), S(t(0)), S(t()), S(perm(20))], _unique, grad=False)
row("unique_consecutive",
    lambda: [S(_dup()), S(_dup(), return_inverse=True), S(_dup(), return_counts=True),
        S(_dup(), True, True), S(_dup(), dim=0), S(_dup(), True, True, 1), S(t(0), True, True),
        S(t(), True, True), S(perm(20), True, True), S(t(3, 1, 2).round(), True, True, 2)],
    _unique_consecutive,
    grad=False)
# fmt: on


def _search(
    a: np.ndarray, v: Any, right: bool, side: str | None, sorter: Any, out_int32: bool
) -> Any:
    side = side or ("right" if right else "left")
    dtype = np.int32 if out_int32 else np.int64
    if a.ndim == 1:
        return np.asarray(np.searchsorted(a, v, side, sorter)).astype(dtype)
    rows = [
        np.searchsorted(r, w, side, None if sorter is None else s)
        for r, w, s in zip(
            a.reshape(-1, a.shape[-1]), v.reshape(-1, v.shape[-1]), a if sorter is None else sorter
        )
    ]
    return np.stack(rows).reshape(v.shape).astype(dtype)


def _searchsorted(
    a: Any,
    v: Any,
    *,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
    out_int32: bool = False,
) -> Any:
    return _search(a, v, right, side, sorter, out_int32)


def _bucketize(v: Any, a: Any, *, right: bool = False, out_int32: bool = False) -> Any:
    return _search(a, v, right, None, None, out_int32)


def _edges() -> np.ndarray:
    return np.array([1.0, 3.0, 3.0, 5.0, 9.0])


def _histogram(
    x: np.ndarray, bins: Any, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    weights = None if weight is None else weight.ravel()
    counts, edges = np.histogram(x.ravel(), bins, range, density, weights)
    return counts.astype(x.dtype), edges


def _histogramdd(
    x: np.ndarray, bins: Any, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    points = x.reshape(-1, x.shape[-1])
    pairs = None if range is None else [range[i : i + 2] for i in _steps(0, len(range), 2)]
    weights = None if weight is None else weight.ravel()
    counts, edges = np.histogramdd(points, bins, pairs, density, weights)
    return counts, list(edges)


_steps = range  # a parameter above


# fmt: off
row("searchsorted",
    lambda: [S(_edges(), perm(2, 3)), S(_edges(), perm(4), right=True), S(_edges(), 3),
        S(_edges(), perm(), side="left"), S(np.sort(perm(2, 4), 1), perm(2, 3)),
        S(_edges(), perm(3), out_int32=True), S(_edges(), t(0)),
        S(np.array([3.0, 1.0, 2.0]), perm(2), sorter=ix([1, 2, 0])),
        S(_edges(), np.array([3.0, 9.0]), side="right")], _searchsorted, "fiu", grad=False,
    errors=lambda: [E(RuntimeError, np.sort(perm(2, 4), 1), perm(3, 3),
        match="searchsorted|boundar"), E(RuntimeError, _edges(), perm(2), right=True, side="left",
        match="side|right")])
row("bucketize",
    lambda: [S(perm(2, 3), _edges()), S(perm(4), _edges(), right=True), N(3, _edges()),
        S(perm(2), _edges(), out_int32=True), S(t(0), _edges())], _bucketize, "fiu", grad=False,
    errors=lambda: [E(RuntimeError, perm(2), perm(2, 2), match="bucketize|boundar")],
    big=lambda: [S(perm(BIG), _edges())])
row("bincount",
    lambda: [S(ix([1, 3, 1, 0])), S(ix([1, 1]), np.array([0.5, 2.0])), S(ix([0, 2]), minlength=6),
        S(ix([]), minlength=2), S(ix([2, 2]), weights=np.array([1.0, 3.0]), minlength=1)],
    lambda x, w=None, weights=None, minlength=0: np.bincount(x, w if weights is None else weights,
        minlength), "f", grad=False, half=None, wide=True,
    errors=lambda: [E(RuntimeError, ix([-1])), E(RuntimeError, ix([[1]])),
        E(RuntimeError, ix([1]), np.array([1.0, 2.0])), E(RuntimeError, np.array([1.5]))],
    big=lambda: [S(ints(BIG, hi=50)), S(ints(BIG, hi=50), t(BIG))])
row("histc", lambda: [S(t(20), 4, -3, 3), S(t(2, 3), bins=3, min=0, max=2), S(pos(5), 3)],
    lambda x, bins=100, min=0, max=0: np.histogram(x, bins,
        (x.min(), x.max()) if min == max else (min, max))[0].astype(x.dtype), "f", grad=False,
    half=None, errors=lambda: [E(RuntimeError, t(2), 0), E(RuntimeError, t(2), 3, 2, 1)])
row("histogram",
    lambda: [S(t(20), 4), S(t(2, 3), bins=3, range=(-1.0, 2.0)), S(t(6), np.array([-2.0, 0.3, 2.5])),
        S(t(5), 3, weight=pos(5)), S(t(9), 2, range=(-3.0, 3.0), density=True)],
    _histogram, "f", grad=False, half=None, atol=1e-6,
    errors=lambda: [E(RuntimeError, t(2), 0), E(RuntimeError, t(2), 3, range=(2.0, 1.0)),
        E(RuntimeError, t(2), 3, weight=pos(3))])
row("histogramdd",
    lambda: [S(t(9, 2), [2, 3]), S(t(6, 2), 2), S(t(2, 4, 1), [3], weight=pos(2, 4)),
        S(t(7, 2), [2, 2], range=[-3.0, 3.0, -2.0, 2.0]), S(t(8, 2), 2, density=True)], _histogramdd,
    "f", grad=False, half=None, atol=1e-6,
    errors=lambda: [E(RuntimeError, t(3), 2), E(RuntimeError, t(3, 2), [2])])
row("isin",
    lambda: [S(perm(2, 3), perm(3)), S(perm(4), perm(2), invert=True), S(ix([1, 2, 3]), 2),
        S(t(0), perm(2))], lambda x, y, invert=False: np.isin(x, y, invert=invert), "fiu",
    grad=False)
# fmt: on
