"""Rows of decompositions in LAPACK's own forms, of low rank, and of reductions of segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import E, S, ix, row, spd, t, well


def _reflections(a: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """The square product of reflections, one matrix after the other."""
    m, k = a.shape[-2], tau.shape[-1]
    q = np.broadcast_to(np.eye(m), (*a.shape[:-2], m, m))
    for i in range(k):
        v = np.where(np.arange(m) > i, a[..., :, i], 1.0 * (np.arange(m) == i))
        q = q @ (np.eye(m) - tau[..., i, None, None] * v[..., :, None] * v[..., None, :])
    return q


def _householder_product(a: np.ndarray, tau: np.ndarray) -> np.ndarray:
    return _reflections(a, tau)[..., : a.shape[-1]]


def _ormqr(
    a: np.ndarray, tau: np.ndarray, c: np.ndarray, left: bool = True, transpose: bool = False
) -> np.ndarray:
    q = _reflections(a, tau)
    q = np.swapaxes(q, -1, -2) if transpose else q
    return q @ c if left else c @ q


def _geqrf(a: np.ndarray) -> Any:
    h, tau = np.linalg.qr(a, mode="raw")
    return np.swapaxes(h, -1, -2), tau


def _pair(*shape: int, count: int) -> list[np.ndarray]:
    """Reflections with factors of their own."""
    return [t(*shape), t(*shape[:-2], count)]


def _lowrank(a: np.ndarray, q: int = 6) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u[..., :q], s[..., :q], np.swapaxes(vh, -1, -2)[..., :q]


def _pca(a: np.ndarray, q: int = 6, center: bool = True) -> Any:
    return _lowrank(a - a.mean(-2, keepdims=True) if center else a, q)


def _symmetric(*batch: int, n: int = 3) -> np.ndarray:
    """Symmetric matrices with zeros on the diagonal, which need blocks of two rows."""
    a = t(*batch, n, n)
    return (a + np.swapaxes(a, -1, -2)) * (1 - np.eye(n))


def _ldl(a: np.ndarray, hermitian: bool = False) -> Any:
    from scipy.linalg.lapack import dsytrf

    parts = [dsytrf(m, lower=1) for m in a.reshape(-1, *a.shape[-2:])]
    ld = np.array([np.tril(p[0]) for p in parts]).reshape(a.shape)
    pivots = np.array([p[1] for p in parts], np.int32).reshape(a.shape[:-1])
    return ld, pivots, np.array([p[2] for p in parts], np.int32).reshape(a.shape[:-2])


def _ldl_solve(ld: np.ndarray, pivots: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Through the matrix itself, put together again block by block, for factors without blocks of two."""
    n = ld.shape[-1]
    lower = np.tril(ld, -1) + np.eye(n)
    d = ld * np.eye(n)
    return np.linalg.solve(lower @ d @ np.swapaxes(lower, -1, -2), b)


def _plain_factors(a: np.ndarray) -> list[np.ndarray]:
    """Factors of a matrix that needs no exchange of rows."""
    lower = np.linalg.cholesky(a)
    d = np.diagonal(lower, axis1=-2, axis2=-1)
    unit = lower / d[..., None, :]
    return [np.tril(unit, -1) + np.eye(a.shape[-1]) * d[..., None, :] ** 2]


def _segment_reduce(
    data: np.ndarray, how: str, *, lengths: Any = None, offsets: Any = None, axis: int = 0,
    unsafe: bool = False, initial: float | None = None,
) -> np.ndarray:  # fmt: skip
    if axis:
        pieces = [
            _segment_reduce(d, how, lengths=n, initial=initial) for d, n in zip(data, lengths)
        ]
        return np.array(pieces)
    ends = np.cumsum(lengths) if offsets is None else offsets[1:]
    starts = ends - lengths if offsets is None else offsets[:-1]
    nothing = {"sum": 0.0, "mean": np.nan, "max": -np.inf, "min": np.inf, "prod": 1.0}[how]
    join = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}[how]
    found = []
    for a, b in zip(starts, ends):
        empty = np.full(data.shape[1:], nothing if initial is None else initial)
        part = data[a:b]
        if initial is not None and how != "mean":
            part = np.concatenate([empty[None], part])
        found.append(join(part, axis=0) if len(part) else empty)
    return np.array(found)


# fmt: off
row("linalg.householder_product",
    lambda: [S(*_pair(4, 3, count=3)), S(*_pair(3, 3, count=2)), S(*_pair(2, 4, 2, count=2))],
    _householder_product, "f", matrix=True, atol=2e-3, half=None, ulp=64,
    errors=lambda: [E(RuntimeError, t(2, 3), t(2)), E(RuntimeError, t(3, 2), t(3))])
row("orgqr", lambda: [S(*_pair(4, 3, count=3)), S(*_pair(2, 4, 2, count=2))], _householder_product,
    "f", matrix=True, atol=2e-3, half=None, ulp=64, errors=lambda: [E(RuntimeError, t(2, 3), t(2))])
row("ormqr",
    lambda: [S(*_pair(3, 3, count=3), t(3, 2)), S(*_pair(3, 2, count=2), t(3, 2), True, True),
        S(*_pair(3, 3, count=2), t(2, 3), False), S(*_pair(2, 3, 3, count=3), t(2, 2, 3), False, True)],
    _ormqr, "f", matrix=True, atol=2e-2, half=None, ulp=64,
    errors=lambda: [E(RuntimeError, t(3, 3), t(3), t(2, 2)), E(RuntimeError, t(3), t(3), t(3, 1))])
row("geqrf", lambda: [S(well()), S(t(4, 2)), S(t(2, 4)), S(well(2))], _geqrf, "f", matrix=True,
    atol=2e-5, half=None, ulp=64, grad=False, errors=lambda: [E(RuntimeError, t(3))])
row("svd_lowrank", lambda: [S(well(), 3), S(well()[:, :2], 2), S(well(2)[..., :2, :], 2)], _lowrank,
    "f", matrix=True, atol=5e-5, half=None, ulp=64, canon=abs,
    errors=lambda: [E(ValueError, t(3, 3), 4), E(ValueError, t(3, 3), 2, -1)])
row("pca_lowrank", lambda: [S(t(5, 3), 3), S(well(2), 3, False)], _pca, "f", matrix=True, atol=5e-5,
    half=None, ulp=64, canon=abs, errors=lambda: [E(ValueError, t(3, 3), 4)])
row("linalg.ldl_factor_ex",
    lambda: [S(spd()), S(_symmetric()), S(_symmetric(2, n=5)), S(_symmetric(n=6), hermitian=True)],
    _ldl, "f", matrix=True, atol=2e-4, half=None, ulp=64, grad=False,
    errors=lambda: [E(RuntimeError, t(2, 3)), E(RuntimeError, np.zeros((2, 2)), check_errors=True)])
row("linalg.ldl_factor", lambda: [S(spd()), S(_symmetric(2))], lambda a: _ldl(a)[:2], "f", matrix=True,
    atol=2e-4, half=None, ulp=64, grad=False, errors=lambda: [E(RuntimeError, np.zeros((2, 2)))])
row("linalg.ldl_solve",
    lambda: [S(*_plain_factors(spd()), ix([1, 2, 3]), t(3, 2)),
        S(*_plain_factors(spd(2)), ix([[1, 2, 3]] * 2), t(3, 1))],
    _ldl_solve, "f", matrix=True, atol=2e-5, half=None, ulp=64, grad=False,
    errors=lambda: [E(RuntimeError, spd(), ix([1, 2, 3]), t(2, 1)), E(RuntimeError, spd(), ix([1]), t(3, 1))])
row("segment_reduce",
    lambda: [S(t(6), "sum", lengths=ix([2, 0, 4])), S(t(6, 2), "mean", lengths=ix([2, 4])),
        S(t(5), "max", lengths=ix([2, 3])), S(t(5, 2), "min", offsets=ix([0, 4, 5])),
        S(t(5), "prod", lengths=ix([5, 0])), S(t(2, 4), "sum", lengths=ix([[1, 3], [4, 0]]), axis=1),
        S(t(4), "max", lengths=ix([4, 0]), initial=0.75)],
    _segment_reduce, "f", atol=1e-5, half=None, strided=True,
    errors=lambda: [E(RuntimeError, t(3), "other", lengths=ix([3])), E(RuntimeError, t(3), "sum"),
        E(RuntimeError, t(3), "sum", lengths=ix([2])), E(RuntimeError, t(3), "sum", lengths=ix([-1, 4])),
        E(RuntimeError, t(3), "sum", lengths=t(1)), E(IndexError, t(3), "sum", lengths=ix([3]), axis=2)])
row("nuclear_norm", lambda: [S(well()), S(well()[:, :2]), S(well(2), (1, 2), True)],
    lambda a, dim=(-2, -1), keepdim=False: np.linalg.norm(a, "nuc", dim, keepdim), "f", matrix=True,
    atol=2e-5, half=None, ulp=64, errors=lambda: [E(RuntimeError, t(3), match="norm")])
row("frobenius_norm", lambda: [S(well(), (0, 1)), S(well(), 1), S(well(2), (0, 2), True)],
    lambda a, dim, keepdim=False: np.sqrt((a * a).sum(dim, keepdims=keepdim)), "f",
    half=None, errors=lambda: [E(RuntimeError, t(2, 2, 2), (0, 1, 2)), E(IndexError, t(2, 2), 2, match="")])
row("norm_except_dim", lambda: [S(well()), S(well(2), 2, 1), S(well(), 3, -1)],
    lambda v, pow=2, dim=0: (abs(v) ** pow).sum(
        None if dim < 0 else tuple(d for d in range(v.ndim) if d != dim), keepdims=dim >= 0) ** (1 / pow),
    "f", half=None)
# fmt: on
