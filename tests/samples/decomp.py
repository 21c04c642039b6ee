"""Rows of linear algebra on matrices: norms, decompositions, solvers."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import E, K, S, alias, ix, nz, perm, row, spd, t, well


def _vector_norm(
    x: np.ndarray, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    a = abs(x)
    dim = tuple(dim) if isinstance(dim, list) else dim
    if x.ndim == 0:
        return a
    if abs(ord) == np.inf:
        return (np.max if ord > 0 else np.min)(a, axis=dim, keepdims=keepdim)
    if ord == 0:
        return np.sum(a != 0, axis=dim, keepdims=keepdim) * 1.0
    return np.sum(a**ord, axis=dim, keepdims=keepdim) ** (1 / ord)


def _norm(
    x: np.ndarray, ord: Any = None, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    if ord is None:
        return _vector_norm(x, 2, dim, keepdim)
    if isinstance(dim, int) or (dim is None and x.ndim == 1):
        return _vector_norm(x, ord, dim, keepdim)
    return _matrix_norm(x, ord, dim or (-2, -1), keepdim)


def _matrix_norm(
    x: np.ndarray, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, dtype: Any = None
) -> Any:
    return np.linalg.norm(x, ord, tuple(dim), keepdim)


def _vnorm_samples() -> list[S]:
    return [
        S(nz(2, 3)),
        S(nz(5), 3),
        S(nz(2, 3), 2, 0),
        S(nz(2, 3), 1, -1, True),
        S(perm(2, 3), np.inf, 1),
        S(perm(2, 3), -np.inf, 0),
        S(nz(4), 0.5),
        S(nz(2, 3, 2), 2, (0, 2)),
        S(nz()),
        S(t(0)),
        S(nz(4), 0),
    ]


def _norm_samples() -> list[S]:
    return [
        S(nz(2, 3)),
        S(nz(5), 3),
        S(nz(2, 3), "fro"),
        S(nz(2, 3), "nuc"),
        S(nz(3, 2), 1),
        S(nz(3, 2), np.inf),
        S(well(), 2),
        S(well(), -2),
        S(nz(2, 3), dim=1),
        S(nz(2, 3), 1, 0, True),
        S(nz(2, 2, 3), "fro", (1, 2)),
        S(nz(2, 2, 3), -1, (0, 2), True),
    ]


def matrix(name: str, make: Any, twin: Any, bad: Any = None, **more: Any) -> None:
    """An op on square matrices, batched."""
    row(
        "linalg." + name,
        make,
        twin,
        "f",
        **{
            "errors": bad or _not_square,
            "half": None,
            "atol": 5e-6,
            "ulp": 64,
            "matrix": True,
            **more,
        },
    )


def _not_square() -> list[E]:
    return [E(RuntimeError, t(2, 3)), E(RuntimeError, t(3))]


def _squares() -> list[S]:
    return [
        S(well()),
        S(well(2)),
        S(well(n=1)),
        S(well(2, 1, n=2)),
        S(np.zeros((0, 3, 3))),
        S(np.zeros((0, 0))),
    ]


def _solve(a: np.ndarray, b: np.ndarray, *, left: bool = True) -> np.ndarray:
    if not left:
        return np.swapaxes(_solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    return np.linalg.solve(a, b[..., None])[..., 0] if vector else np.linalg.solve(a, b)


def _solve_triangular(
    a: np.ndarray, b: np.ndarray, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> np.ndarray:
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        a = a - a * np.eye(a.shape[-1]) + np.eye(a.shape[-1])
    return _solve(a, b, left=left)


def _singular() -> Any:
    return RuntimeError, np.zeros((2, 2))


def _spds() -> list[S]:
    return [S(spd()), S(spd(2)), S(spd(n=1)), S(spd(n=2)), S(np.zeros((0, 3, 3)))]


def _svd_samples() -> list[S]:
    return [
        S(np.diag([3.0, 2.0, 1.0]) + 0.1 * t(3, 3), full_matrices=False),
        S((well() + 0.5 * t(3, 3))[:, :2], full_matrices=False),
        S((well() + 0.5 * t(3, 3))[:2], full_matrices=False),
        S(well(2) + 0.5 * t(3, 3), full_matrices=False),
    ]


def _qr(a: np.ndarray, mode: str = "reduced") -> Any:
    return (np.zeros(0), np.linalg.qr(a, "r")) if mode == "r" else tuple(np.linalg.qr(a, mode))


def _sym(x: Any) -> Any:
    return (x + x.transpose(-1, -2)) / 2


def _cholesky_solve(b: np.ndarray, c: np.ndarray, upper: bool = False) -> np.ndarray:
    half = np.triu(c).T if upper else np.tril(c)
    return np.linalg.solve(half @ half.T, b)


def _ok(a: np.ndarray) -> np.ndarray:
    return np.zeros(a.shape[:-2], np.int32)


def _svd(a: np.ndarray) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u, s, np.swapaxes(vh, -1, -2)


def _lower(x: Any) -> Any:
    return x.tril()


def _lu_packed(a: np.ndarray) -> Any:
    """LU, pivots and error codes: elimination written out for one matrix."""
    *batch, m, n = a.shape
    k = min(m, n)
    count = int(np.prod(batch))
    x, pivots = a.reshape(count, m, n).copy(), np.zeros((*batch, k), np.int32)
    for one, p in zip(x, pivots.reshape(count, k)):
        for j in range(k):
            p[j] = j + 1 + abs(one[j:, j]).argmax()
            one[[j, p[j] - 1]] = one[[p[j] - 1, j]]
            one[j + 1 :, j] /= one[j, j]
            one[j + 1 :, j + 1 :] -= np.outer(one[j + 1 :, j], one[j, j + 1 :])
    return x.reshape(a.shape), pivots, np.zeros(batch, np.int32)


def _factors(a: np.ndarray) -> Any:
    return _lu_packed(a)[:2]


def _lu_unpack(lu: np.ndarray, pivots: np.ndarray) -> Any:
    m, k = lu.shape[-2], min(lu.shape[-2:])
    p = np.zeros((*lu.shape[:-2], m, m))
    count = int(np.prod(lu.shape[:-2]))
    for one, steps in zip(p.reshape(count, m, m), pivots.reshape(count, k)):
        one[...] = np.eye(m)
        for j, i in enumerate(steps):
            one[:, [j, i - 1]] = one[:, [i - 1, j]]
    return p, np.tril(lu[..., :k], -1) + np.eye(m, k), np.triu(lu[..., :k, :])


def _lu(a: np.ndarray) -> Any:
    return _lu_unpack(*_factors(a))


def _lu_solve(
    lu: np.ndarray, pivots: np.ndarray, b: np.ndarray, left: bool = True, adjoint: bool = False
) -> np.ndarray:
    p, lower, upper = _lu_unpack(lu, pivots)
    a = np.swapaxes(p @ lower @ upper, -1, -2) if adjoint else p @ lower @ upper
    if left:
        return np.linalg.solve(a, b)
    return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


# fmt: off
row("linalg.vector_norm", _vnorm_samples, _vector_norm, "f", atol=2e-6, half=2,
    errors=lambda: [E(IndexError, t(2, 3), 2, 2, match="norm|[Dd]im")])
row("linalg.norm", _norm_samples, _norm, "f", atol=5e-6, half=None, ulp=64,
    errors=lambda: [E((RuntimeError, IndexError), t(2, 3), 2, (0, 1, 2)),
        E(RuntimeError, t(3), "fro")])
row("linalg.matrix_norm",
    lambda: [S(nz(2, 3)), S(nz(2, 2, 3), 1), S(nz(3, 2), np.inf), S(well(), "nuc"), S(well(), 2)],
    _matrix_norm, "f", atol=5e-6, half=None, ulp=64)
matrix("inv", _squares, np.linalg.inv,
    lambda: [*_not_square(), E(*_singular(), match="singular|inv")])
matrix("det", _squares, np.linalg.det)
matrix("slogdet", lambda: [S(well()), S(well(2)), S(-well(n=1))],
    lambda a: tuple(np.linalg.slogdet(a)))
matrix("solve",
    lambda: [S(well(), t(3)), S(well(), t(3, 2)), S(well(2), t(2, 3, 2)),
        S(well(), t(2, 3), left=False), S(well(2), t(3, 1)), S(well(2), t(2, 3)),
        S(np.zeros((0, 0)), np.zeros((0, 2)))], _solve,
    lambda: [E(RuntimeError, well(), t(2)),
        E(RuntimeError, np.zeros((2, 2)), t(2), match="singular|solve"),
        E(RuntimeError, t(2, 3), t(2))])
matrix("cholesky", lambda: [*_spds(), S(spd(), upper=True)],
    lambda a, upper=False: np.linalg.cholesky(a, upper=upper),
    lambda: [*_not_square(), E(RuntimeError, -np.eye(2), match="positive")], prep=_sym)
matrix("qr",
    lambda: [S(well()), S(well()[:, :2]), S(well(2)), S(well()[:, :2], mode="reduced"),
        K(well(), mode="r")],
    _qr,
    lambda: [E(RuntimeError, t(3)), E(RuntimeError, t(3, 3), "other")],
    canon=abs)
matrix("svd", _svd_samples, lambda a, full_matrices=True: tuple(np.linalg.svd(a, full_matrices)),
    lambda: [E(RuntimeError, t(3))], canon=abs)
matrix("svdvals", lambda: [S(s.args[0]) for s in _svd_samples()],
    lambda a: np.linalg.svd(a, compute_uv=False), lambda: [E(RuntimeError, t(3))])
matrix("eigh", lambda: [*_spds()[:4], S(spd(), "U")], lambda a, u="L": tuple(np.linalg.eigh(a, u)),
    canon=abs, prep=_sym)
matrix("eigvalsh", lambda: [*_spds()[:4], S(spd(), UPLO="U")],
    lambda a, UPLO="L": np.linalg.eigvalsh(a, UPLO), prep=_sym)
matrix("solve_triangular",
    lambda: [S(well(), t(3, 2), upper=True), S(well(), t(3, 2), upper=False),
        S(well(2), t(2, 3, 1), upper=True), S(well(), t(2, 3), upper=True, left=False),
        S(well(), t(3, 2), upper=False, unitriangular=True)], _solve_triangular,
    lambda: [E(RuntimeError, well(), t(2, 2), upper=True),
        E(RuntimeError, t(2, 3), t(2, 2), upper=True)])
matrix("pinv", lambda: [S(well()), S(well()[:, :2]), S(well(2))], np.linalg.pinv,
    lambda: [E(RuntimeError, t(3))])
matrix("matrix_power", lambda: [S(well(), 3), S(well(), 0), S(well(2), 2), S(well(), -1)],
    np.linalg.matrix_power,
    lambda: [E(RuntimeError, t(2, 3), 2), E(RuntimeError, t(3), 2)], ulp=256,
    atol=1e-4)
matrix("matrix_rank", lambda: [S(well()), S(np.ones((3, 3)))], np.linalg.matrix_rank,
    lambda: [E(RuntimeError, t(3))], grad=False)
matrix("multi_dot", lambda: [S([t(2, 3), t(3, 4), t(4, 2)]), S([t(3), t(3, 2), t(2)])],
    np.linalg.multi_dot, lambda: [E(RuntimeError, [t(2, 3)])], atol=5e-5)
matrix("vecdot", lambda: [S(t(2, 3), t(2, 3)), S(t(3), t(2, 3)), S(t(3, 2), t(3, 2), dim=0)],
    lambda a, b, dim=-1: np.sum(a * b, dim), lambda: [E(RuntimeError, t(2), t(3))])
matrix("cross",
    lambda: [S(t(2, 3), t(2, 3)), S(t(3, 2), t(3, 2), dim=0), S(t(2, 3, 2), t(1, 3, 2), dim=1)],
    lambda a, b, dim=-1: np.cross(a, b, axis=dim), lambda: [E(RuntimeError, t(2), t(2))])
matrix("diagonal", lambda: [S(t(3, 3)), S(t(2, 3, 3), offset=1)],
    lambda a, offset=0: np.diagonal(a, offset, -2, -1), lambda: [E(IndexError, t(3))])
matrix("matrix_exp", lambda: [S(0.3 * well()), S(np.zeros((2, 2)))], lambda a: _expm(a), atol=2e-5)
matrix("eig", lambda: [S(well()), S(well(2))], lambda a: tuple(np.linalg.eig(a)), canon=abs)
matrix("eigvals", lambda: [S(well()), S(well(2))], lambda a: np.linalg.eigvals(a) + 0j)
matrix("inv_ex", lambda: [S(well()), S(well(2))], lambda a: (np.linalg.inv(a), _ok(a)))
matrix("cholesky_ex", lambda: [S(spd()), S(spd(2))], lambda a: (np.linalg.cholesky(a), _ok(a)),
    prep=_sym)
matrix("solve_ex", lambda: [S(well(), t(3)), S(well(2), t(2, 3, 2))],
    lambda a, b: (_solve(a, b), _ok(a)), lambda: [E(RuntimeError, t(2, 3), t(2))])
matrix("lstsq", lambda: [S(well(), t(3, 2)), S(well()[:, :2], t(3, 1))],
    lambda a, b: (np.linalg.pinv(a) @ b, np.zeros(0), np.linalg.matrix_rank(a), np.zeros(0)),
    lambda: [E(RuntimeError, t(3, 2), t(2, 2))], ulp=256, atol=2e-5)
matrix("cond", lambda: [S(well()), S(well(), 1), S(well(2), "fro"), S(well()[:, :2], -2)],
    lambda a, p=None: np.linalg.cond(a, p), lambda: [E(RuntimeError, t(3))], atol=2e-5)
matrix("tensorinv", lambda: [S(well(n=4).reshape(2, 2, 4)), S(well(), 1)], np.linalg.tensorinv,
    lambda: [E(RuntimeError, t(2, 3), 1)])
matrix("tensorsolve", lambda: [S(well(n=4).reshape(2, 2, 4), t(2, 2))], np.linalg.tensorsolve,
    lambda: [E(RuntimeError, t(2, 3), t(4))])
matrix("vander", lambda: [S(t(3)), S(t(2, 3), N=4), S(t(2, 3), N=1), S(t(0), N=2)],
    lambda x, N=None: x[..., None] ** np.arange(N or x.shape[-1]),
    lambda: [E(RuntimeError, t(2), N=0, match="N must be")], ulp=16)
row("triangular_solve", lambda: [S(t(3, 2), well()), S(t(3, 2), well(), upper=False)],
    lambda b, a, upper=True: (_solve_triangular(a, b, upper=upper), a), "f", matrix=True,
    atol=2e-5, half=None)
row("svd", lambda: [S(s.args[0]) for s in _svd_samples()], _svd, "f", matrix=True, atol=5e-6,
    half=None, ulp=64, canon=abs)
row("qr", lambda: [S(well()), S(well()[:, :2])], lambda a: tuple(np.linalg.qr(a)), "f", matrix=True,
    atol=5e-6, half=None, ulp=64, canon=abs)
row("logdet", lambda: [S(spd()), S(spd(2))], lambda a: np.linalg.slogdet(a)[1], "f", matrix=True,
    atol=5e-6, half=None, ulp=64)
row("linalg.lu", lambda: [S(t(3, 3)), S(t(2, 4)), S(t(4, 2)), S(t(2, 3, 3)), S(t(0, 0))], _lu, "f",
    matrix=True, atol=2e-5, half=None, ulp=64, errors=lambda: [E(RuntimeError, t(3))])
row("linalg.lu_factor_ex", lambda: [S(t(3, 3)), S(t(2, 4)), S(t(4, 2)), S(t(2, 3, 3))], _lu_packed,
    "f", matrix=True, atol=2e-5, half=None, ulp=64,
    errors=lambda: [E(RuntimeError, t(3), match="lu_factor"),
        E(RuntimeError, np.zeros((2, 2)), check_errors=True, match="lu_factor")])
row("linalg.lu_factor", lambda: [S(t(3, 3)), S(t(2, 2, 2)), S(well(2, n=40))], lambda a: _lu_packed(a)[:2], "f",
    matrix=True, atol=2e-5, half=None, ulp=64, errors=lambda: [E(RuntimeError, np.zeros((2, 2)))])
row("lu", lambda: [S(t(3, 3)), S(t(2, 2, 2), get_infos=True)],
    lambda a, pivot=True, get_infos=False: _lu_packed(a)[: 3 if get_infos else 2], "f", matrix=True,
    atol=2e-5, half=None, ulp=64, errors=lambda: [E(RuntimeError, np.zeros((2, 2)))])
row("lu_unpack", lambda: [S(*_factors(t(3, 3))), S(*_factors(t(2, 3))), S(*_factors(t(2, 3, 2)))],
    _lu_unpack, "f", matrix=True, half=None, errors=lambda: [E(RuntimeError, t(2, 2), ix([1, 2]))])
row("linalg.lu_solve",
    lambda: [S(*_factors(well()), t(3, 2)), S(*_factors(well()), t(2, 3), left=False),
        S(*_factors(well()), t(3, 1), adjoint=True), S(*_factors(well(2)), t(2, 3, 2)),
        S(*_factors(well()), t(2, 3), left=False, adjoint=True)],
    _lu_solve, "f", matrix=True, atol=2e-5, half=None, ulp=64,
    errors=lambda: [E(RuntimeError, *_factors(well()), t(2, 2)),
        E(RuntimeError, t(3, 3), ix([1, 2, 3]), t(3, 1)), E(RuntimeError, *_factors(t(2, 3)), t(2, 2))])
row("lu_solve", lambda: [S(t(3, 2), *_factors(well())), S(t(2, 3, 1), *_factors(well(2)))],
    lambda b, lu, p: _lu_solve(lu, p, b), "f", matrix=True, atol=2e-5, half=None, ulp=64,
    errors=lambda: [E(RuntimeError, t(3), *_factors(well()))])
row("cholesky_solve",
    lambda: [S(t(3, 2), np.linalg.cholesky(spd())),
        K(t(3, 1), np.linalg.cholesky(spd()).T.copy(), upper=True)],
    _cholesky_solve, "f", matrix=True, atol=2e-5, half=None, prep=_lower)
row("cholesky_inverse", lambda: [S(np.linalg.cholesky(spd()))],
    lambda c, upper=False: np.linalg.inv(np.tril(c) @ np.tril(c).T), "f", matrix=True, atol=2e-5,
    half=None, prep=_lower)
# fmt: on


def _expm(a: np.ndarray) -> np.ndarray:
    b, term = np.eye(a.shape[-1]), np.eye(a.shape[-1])
    for k in range(1, 40):
        term = term @ a / k
        b = b + term
    return b


# fmt: off
alias(det="linalg.det", slogdet="linalg.slogdet", inverse="linalg.inv", pinverse="linalg.pinv",
    matrix_power="linalg.matrix_power", cholesky="linalg.cholesky", matrix_exp="linalg.matrix_exp")
# fmt: on
