"""Rows of the reductions and scans."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import BIG, E, N, S, alias, ix, mask, nz, over, perm, pos, reduction, row, t


def _number(x: np.ndarray) -> np.ndarray:
    return x.astype(np.int64) if x.dtype == bool else x


def _moment(f: Any) -> Any:
    """var or std with PyTorch's two ways of giving the correction."""

    def twin(
        x: np.ndarray,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        correction: Any = 1,
    ) -> Any:
        if isinstance(dim, bool):  # var(x, unbiased)
            dim, unbiased = None, dim
        ddof = correction if unbiased is None else int(unbiased)
        return over(lambda y, axis, keepdims: f(y, axis=axis, keepdims=keepdims, ddof=ddof))(
            x, dim, keepdim
        )

    return twin


def _with_mean(f: Any) -> Any:
    def twin(
        x: np.ndarray,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        correction: Any = 1,
    ) -> Any:
        m = over(np.mean)(x, None if isinstance(dim, bool) else dim, keepdim)
        return f(x, dim, unbiased, keepdim, correction), m

    return twin


def _moment_samples() -> list[S]:
    return [
        S(t(2, 3)),
        S(t(2, 3), 0),
        S(t(2, 3), dim=-1, keepdim=True),
        N(t(5), unbiased=False),
        S(t(2, 3, 2), (0, 2), correction=0),
        S(t(3, 2), 0, False),
        S(t(2, 3), correction=2),
        S(t(3, 4), dim=1, unbiased=True, keepdim=True),
        S(t(2, 3, 2), dim=(0, -1)),
        S(t(37), 0),
    ]


def _moment_errors() -> list[E]:
    return [E(IndexError, t(2, 3), 2), E(IndexError, t(2, 3), -3)]


def _moment_big() -> list[S]:
    return [S(t(BIG)), S(t(70, 1000), 0), S(t(70, 1000), 1)]


def _extreme(f: Any, argf: Any, pair: Any) -> Any:
    """max and min: of all, along a dim (with indices), or of two tensors."""

    def twin(x: np.ndarray, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, np.ndarray):
            return pair(x, dim)
        if dim is None:
            return f(x)
        return over(f)(x, dim, keepdim), over(argf)(x, dim, keepdim)

    return twin


def _lower(x: np.ndarray, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    if axis is None:
        return np.sort(x, None)[(x.size - 1) // 2], None
    k = (x.shape[axis] - 1) // 2
    i = np.take(np.argsort(x, axis, kind="stable"), [k], axis)
    v = np.take_along_axis(x, i, axis)
    return (v, i) if keepdims else (v.squeeze(axis), i.squeeze(axis))


def _median(x: np.ndarray, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None:
        return _lower(x, None, False)[0]
    return _lower(x, dim, keepdim) if x.ndim else (x, np.int64(0))


def _nanmedian(x: np.ndarray, dim: Any = None, keepdim: bool = False) -> Any:
    return _median(
        np.where(np.isnan(x), np.inf, x)[~np.isnan(x)] if dim is None else x, dim, keepdim
    )


def _logsumexp(x: np.ndarray, axis: Any, keepdims: bool) -> Any:
    m = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    m = np.where(np.isfinite(m), m, 0)
    y = np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)) + m
    return y if keepdims else np.squeeze(y, axis=axis)


def _norm(
    x: np.ndarray, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    p = 2 if p in ("fro", None) else p

    def f(y: np.ndarray, axis: Any, keepdims: bool) -> Any:
        a = np.abs(y)
        if p == np.inf or p == -np.inf:
            return (np.max if p > 0 else np.min)(a, axis=axis, keepdims=keepdims)
        if p == 0:
            return np.sum(a != 0, axis=axis, keepdims=keepdims).astype(float)
        return np.sum(a**p, axis=axis, keepdims=keepdims) ** (1 / p)

    return over(f)(x, dim, keepdim)


def _quantile(f: Any) -> Any:
    def twin(
        x: np.ndarray,
        q: Any,
        dim: Any = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
    ) -> Any:
        if dim is None and keepdim:
            return f(x, q, axis=tuple(range(x.ndim)), keepdims=True, method=interpolation)
        return f(x, q, axis=dim, keepdims=keepdim, method=interpolation)

    return twin


def _quantile_samples() -> list[S]:
    q = np.array([0.1, 0.5, 0.75])
    return [
        S(perm(2, 3), 0.3),
        S(perm(2, 3), 0.5, 0),
        S(perm(5), q),
        S(perm(2, 4), q, dim=-1),
        S(perm(2, 4), q, 1, True),
        S(perm(3, 4), 0.4, 1, interpolation="lower"),
        S(perm(3, 4), 0.4, 1, interpolation="higher"),
        S(perm(3, 3), 0.25, keepdim=True),
        S(perm(3, 4), 0.4, 1, interpolation="nearest"),
        S(perm(3, 4), 0.4, 1, interpolation="midpoint"),
        S(perm(1), 1.0),
    ]


# fmt: off
reduction("sum", over(np.sum),
    extra=lambda: [S(t(2, 3), dtype=np.dtype("float64")), S(t(2, 3), [])], wide=True, half=None)
reduction("nansum", over(np.nansum), "fi", wide=True,
    extra=lambda: [S(np.array([[np.nan, 1.2], [3.0, np.nan]]), 0)])
reduction("mean", over(np.mean), "f", extra=lambda: [S(t(2, 3), 0, dtype=np.dtype("float64"))],
    wide=True)
reduction("nanmean", over(np.nanmean), "f",
    extra=lambda: [S(np.array([[np.nan, 1.2], [3.0, 4.0]]), 0)])
reduction("prod", over(np.prod), a=nz, many=False, ulp=8, wide=True,
    extra=lambda: [S(np.array([[0.0, 2.0, 3.0], [1.5, 0.0, 0.0]]), 1),
        S(np.array([2.0, 0.0, 3.0]))])
reduction("amax", over(np.max), a=perm, empty=False, atol=0.0, half=0)
reduction("amin", over(np.min), a=perm, empty=False, atol=0.0, half=0)
reduction("all", over(lambda x, axis, keepdims: np.all(x, axis=axis, keepdims=keepdims)), "fib",
    grad=False)
reduction("any", over(lambda x, axis, keepdims: np.any(x, axis=axis, keepdims=keepdims)), "fib",
    grad=False)
reduction("logsumexp", over(_logsumexp), "f", full=False, half=2,
    extra=lambda: [S(np.array([[-np.inf, -np.inf], [np.inf, 1.0], [1e30, 1e30]]), 1)])
row("count_nonzero",
    lambda: [S(t(2, 3)), S(ix([[0, 1], [2, 0]]), 0), S(mask(2, 3, 2), (0, 2)), S(t()), S(t(0)),
        S(np.array([0.0, np.nan, -0.0]), -1)], lambda x, dim=None: np.count_nonzero(x, axis=dim),
    grad=False, errors=lambda: [E(IndexError, t(2), 1)], big=lambda: [S(t(BIG)), S(t(70, 1000), 0)])
# fmt: on
for _name, _f, _a, _p in (
    ("max", np.max, np.argmax, np.maximum),
    ("min", np.min, np.argmin, np.minimum),
):
    reduction(
        _name,
        _extreme(_f, _a, _p),
        a=perm,
        many=False,
        empty=False,
        atol=0.0,
        half=0,
        dtypes="fiu",
        extra=lambda: [S(perm(2, 3), t(3)), S(t(2, 1), t(1, 3)), S(perm(2, 0, 2), 0)],
        errors=lambda: [
            E(IndexError, t(2, 3), 2),
            E(RuntimeError, t(0)),
            E(IndexError, t(2, 0), 1),
        ],
    )
    reduction(
        f"arg{_name}",
        over(_a),
        a=perm,
        many=False,
        empty=False,
        grad=False,
        dtypes="fiu",
        errors=lambda: [E(IndexError, t(2, 3), 2), E(IndexError, t(0))],
    )
# fmt: off
row("aminmax",
    lambda: [S(perm(2, 3)), S(perm(2, 3), dim=0), S(perm(2, 3), dim=-1, keepdim=True), S(perm())],
    lambda x, dim=None, keepdim=False: (over(np.min)(x, dim, keepdim),
        over(np.max)(x, dim, keepdim)), "fiu", errors=lambda: [E(IndexError, t(2), dim=1)],
    big=lambda: [S(perm(BIG))])
reduction("median", _median, "fiu", a=perm, many=False, empty=False, atol=0.0, half=0)
row("nanmedian",
    lambda: [S(perm(2, 3)), S(np.array([np.nan, 3.0, 1.0, np.nan, 2.0])), S(perm(2, 3), 1),
        S(perm(3, 2), 0, True)], _nanmedian, "f")
row("quantile", _quantile_samples, _quantile(np.quantile), "f", half=None, grad=(0,), atol=1e-6,
    errors=lambda: [E(RuntimeError, t(3), 1.5), E(IndexError, t(3), 0.5, 1)])
row("nanquantile",
    lambda: [*_quantile_samples(), S(np.array([[np.nan, 1, 2], [3, 4, 5.0]]), 0.5, 1)],
    _quantile(np.nanquantile), "f", half=None, grad=(0,), atol=1e-6)
row("var", _moment_samples, _moment(np.var), "f", atol=2e-6, half=2, errors=_moment_errors,
    big=_moment_big)
row("std", _moment_samples, _moment(np.std), "f", atol=2e-6, half=2, errors=_moment_errors,
    big=_moment_big)
row("var_mean", _moment_samples, _with_mean(_moment(np.var)), "f", atol=2e-6, half=2,
    errors=_moment_errors, big=_moment_big, method=False)
row("std_mean", _moment_samples, _with_mean(_moment(np.std)), "f", atol=2e-6, half=2,
    errors=_moment_errors, big=_moment_big, method=False)
row("norm",
    lambda: [S(nz(2, 3)), S(nz(2, 3), 2, 0), S(nz(2, 3), 1, -1, True), S(nz(2, 3), dim=1),
        S(nz(5), 3), S(nz(2, 3, 2), 2, (0, 2)), S(perm(2, 3), np.inf, 1), S(perm(2, 3), -np.inf, 0),
        S(nz(4), 0.5), S(nz()), S(t(0))], _norm, "f", atol=2e-6, half=2,
    errors=lambda: [E(IndexError, t(2, 3), 2, 2)], big=lambda: [S(t(BIG)), S(t(70, 1000), 2, 1)])
row("dist",
    lambda: [S(t(2, 3), t(2, 3)), S(t(2, 3), t(3), 1), S(t(4), t(4), 3), S(perm(3), t(3), np.inf)],
    lambda x, y, p=2: _norm(x - y, p), "f", atol=2e-6, half=3)
# fmt: on

# ---- scans -------------------------------------------------------------------------------------


def scan(
    name: str, f: Any, dtypes: str = "fiub", a: Any = t, extra: Any = list, **more: Any
) -> None:
    """A scan along one dim."""

    def twin(x: np.ndarray, dim: int, dtype: Any = None) -> Any:
        x = x if dtype is None else x.astype(dtype)
        return f(x, dim) if x.ndim else _pick(f(x[None], 0))

    def make() -> list[S]:
        return [
            S(a(2, 3), 0),
            S(a(2, 3), dim=-1),
            S(a(2, 3, 2), 1),
            S(a(), 0),
            S(a(0, 3), 0),
            S(a(2, 0), 0),
            S(a(37), 0),
            S(a(1, 4), 0),
            *extra(),
        ]

    row(
        name,
        make,
        twin,
        dtypes,
        **{
            "atol": 5e-6,
            "half": 1,
            "errors": lambda: [E(IndexError, a(2, 3), 2)],
            "big": lambda: [S(a(BIG), 0), S(a(70, 1000), 0), S(a(70, 1000), 1)],
            **more,
        },
    )


def _pick(y: Any) -> Any:
    return tuple(v[0] for v in y) if isinstance(y, tuple) else y[0]


def _running(f: Any) -> Any:
    def run(x: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
        v = f.accumulate(x, dim)
        n = np.arange(x.shape[dim]).reshape([-1 if d == dim % x.ndim else 1 for d in range(x.ndim)])
        return v, np.maximum.accumulate(np.where(x == v, n, 0), dim)

    return run


# fmt: off
scan("cumsum", lambda x, d: np.cumsum(x, d), wide=True, half=None,
    extra=lambda: [S(t(3), 0, dtype=np.dtype("float64"))])
scan("cumprod", lambda x, d: np.cumprod(x, d), a=lambda *s: t(*s, lo=0.7, hi=1.4), ulp=16,
    wide=True, half=None, extra=lambda: [S(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]]), 1)])
scan("logcumsumexp", lambda x, d: np.logaddexp.accumulate(x, d), "f", half=2)
scan("cummax", _running(np.maximum), "fiu", a=perm, half=0)
scan("cummin", _running(np.minimum), "fiu", a=perm, half=0)
# fmt: on


def _softmax(x: np.ndarray, dim: int, dtype: Any = None) -> np.ndarray:
    if x.ndim == 0:
        return np.ones(())
    e = np.exp(x - np.max(x, axis=dim, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=dim, keepdims=True)


def _log_softmax(x: np.ndarray, dim: int, dtype: Any = None) -> np.ndarray:
    return x - _logsumexp(x, dim, True) if x.ndim else np.zeros(())


# fmt: off
scan("softmax", _softmax, "f", wide=True, half=0,
    extra=lambda: [S(np.array([[1e4, -1e4, 0.0], [1.0, -np.inf, 2.0]]), 1),
        S(t(2, 3), 1, dtype=np.dtype("float64"))])
scan("softmin", lambda x, dim, dtype=None: _softmax(-x, dim), "f", wide=True, half=0)
scan("log_softmax", _log_softmax, "f", wide=True, half=0,
    extra=lambda: [S(np.array([[1e4, -1e4, 0.0], [1.0, 3.0, 2.0]]), 1),
        S(t(2, 3), 1, dtype=np.dtype("float64"))])
# fmt: on


def _diff(x: np.ndarray, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    more = {k: v for k, v in (("prepend", prepend), ("append", append)) if v is not None}
    return np.diff(x, n, dim, **more)


def _cumulative_trapezoid(y: np.ndarray, x: Any = None, dx: float = 1, dim: int = -1) -> np.ndarray:
    y = np.moveaxis(y, dim, -1)
    steps = dx if x is None else np.diff(x)
    return np.moveaxis(np.cumsum((y[..., 1:] + y[..., :-1]) / 2 * steps, -1), -1, dim)


def _gradient(x: np.ndarray, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    dims = list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    each = spacing if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    return tuple(np.gradient(x, h, axis=d, edge_order=edge_order) for d, h in zip(dims, each))


# fmt: off
row("diff",
    lambda: [S(t(5)), S(t(2, 4), 2), S(t(3, 2), dim=0), S(t(2, 3), prepend=t(2, 1)),
        S(t(2, 3), 1, 1, append=t(2, 2)), S(t(2, 1))], _diff, "fiu", atol=1e-6, half=None)
row("trapezoid",
    lambda: [S(t(5)), S(t(2, 3), dx=0.5), S(t(2, 3), dim=0), S(t(3), pos(3)), S(t(2, 1)),
        S(t(2, 3), pos(3)), S(t(2, 0))],
    lambda y, x=None, dx=1, dim=-1: np.trapezoid(y, x, dx, dim), "f", atol=2e-6, half=None)
row("cumulative_trapezoid",
    lambda: [S(t(5)), S(t(2, 3), dx=0.5), S(t(2, 3), dim=0), S(t(3), pos(3))],
    _cumulative_trapezoid, "f", atol=2e-6, half=None,
    errors=lambda: [E(RuntimeError, t(3), pos(4)), E(IndexError, t(3), dim=1)])
row("gradient",
    lambda: [S(t(2, 3)), S(t(4), spacing=2.0), S(t(3, 4), dim=1, edge_order=2),
        S(t(2, 3), spacing=[2.0, 0.5]), S(t(3, 4), spacing=(pos(3).cumsum(),), dim=0),
        S(t(4), spacing=(pos(4).cumsum(),), edge_order=2), S(t(3, 2), dim=(1, 0))],
    _gradient, "f", atol=4e-6, half=None,
    errors=lambda: [E(RuntimeError, t(1)), E(RuntimeError, t(3), edge_order=3),
        E(RuntimeError, t(3, 3), dim=(0, 0)), E(IndexError, t(3), dim=1),
        E(RuntimeError, t(3), spacing=[1.0, 2.0])])
row("cov", lambda: [S(t(3, 4)), S(t(5)), S(t(2, 4), correction=0)],
    lambda x, correction=1: np.cov(x, ddof=correction), "f", atol=2e-6, half=None)
row("corrcoef", lambda: [S(t(3, 4))], np.corrcoef, "f", atol=2e-6, half=None)

alias(**{"special.logsumexp": "logsumexp", "special.softmax": "softmax", "trapz": "trapezoid",
        "special.log_softmax": "log_softmax"})
# fmt: on

del _name, _f, _a, _p
