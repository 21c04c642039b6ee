"""Rows of the random ops: the twin is a property of the distribution, checked on many draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import BIG, E, S, pos, row, t
from samples import N as NoOut

N = 4000  # draws: the mean of N has a standard error of 1 / sqrt(N) = 1.6 %, the checks allow six
SIZES = [(N,), (2, 3), (), (0, 4)]


def moments(mean: float, std: float, lo: float = -np.inf, hi: float = np.inf) -> Any:
    """Checks mean, standard deviation and range [lo, hi] of a large sample."""

    def stat(x: np.ndarray, *args: Any, **kw: Any) -> None:
        x = np.asarray(x, float)
        assert np.all((x >= lo) & (x <= hi)), f"outside [{lo}, {hi}]"
        if x.size >= N:
            assert abs(x.mean() - mean) <= 6 * std / np.sqrt(x.size), (
                f"mean {x.mean()}, want {mean}"
            )
            assert abs(x.std() - std) <= 0.15 * std, f"std {x.std()}, want {std}"

    return stat


def _shape(v: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(v[0]) if len(v) == 1 and not isinstance(v[0], int) else tuple(v)


def _sized(*size: Any, dtype: Any = np.float32) -> np.ndarray:
    return np.empty(_shape(size), dtype)


def _like(x: np.ndarray, *a: Any, dtype: Any = None, **kw: Any) -> np.ndarray:
    return np.empty_like(x, dtype)


def drawn(name: str, make: Any, shape: Any, stat: Any, dtypes: str = "f", **more: Any) -> None:
    """A random op: `shape` gives an array of the result's shape and dtype."""
    row(
        name,
        make,
        shape,
        dtypes,
        **{"stat": stat, "values": False, "grad": False, "wide": True, "half": None, **more},
    )


def _sizes(*head: Any) -> Any:
    return lambda: [S(*head, s) for s in SIZES] + [S(*head, (N,), dtype=np.dtype("float64"))]


def _likes(*tail: Any) -> Any:
    return lambda: [S(t(*s), *tail) for s in SIZES]


def _bad_size() -> list[E]:
    return [E(RuntimeError, (-1,), match="-1|negative"), E(TypeError, "text")]


INT = np.dtype("int64")
# fmt: off
drawn("rand", _sizes(), _sized, moments(0.5, 12**-0.5, 0, 1 - 2**-24), errors=_bad_size,
    big=lambda: [S((BIG,))])
drawn("randn", _sizes(), _sized, moments(0, 1), errors=_bad_size, big=lambda: [S((BIG,))])
drawn("rand_like", _likes(), _like, moments(0.5, 12**-0.5, 0, 1))
drawn("randn_like", _likes(), _like, moments(0, 1))
drawn("randint",
    lambda: [S(2, 7, (N,)), S(5, (2, 3)), S(-3, 0, ()), S(1, (0,)),
        S(0, 2, (N,), dtype=np.dtype("int32"))], lambda lo, *v, dtype=INT: np.empty(v[-1], dtype),
    lambda x, lo, *v, **k: np.testing.assert_array_equal(np.unique(x) if x.size >= N else [],
        np.arange(lo, v[0]) if x.size >= N else []),
    errors=lambda: [E(RuntimeError, 3, 3, (2,), match="from|low|randint"), E(TypeError, 2.5, (2,))],
    big=lambda: [S(0, 1000, (BIG,))])
drawn("randint_like", lambda: [S(t(N), 2, 7), S(t(2, 3), 5), S(t(0), 3)], _like,
    lambda x, y, lo, *v: np.testing.assert_array_equal(np.unique(x) if v else [],
        np.arange(lo, *v) if v else []))
drawn("randperm", lambda: [S(50), S(1), S(0), S(1000)], lambda n: np.empty(n, INT),
    lambda x, n: np.testing.assert_array_equal(np.sort(x), np.arange(n)),
    errors=lambda: [E(RuntimeError, -1, match="negative|randperm|n")], big=lambda: [S(BIG)])
# fmt: on


def _bernoulli_stat(x: np.ndarray, p: Any, q: Any = None, **k: Any) -> None:
    prob = np.broadcast_to(q if q is not None else k.get("p", p), x.shape)
    assert np.isin(x, [0, 1]).all()
    assert x.size < N or abs(x.mean() - prob.mean()) < 6 * 0.5 / np.sqrt(x.size)


# fmt: off
drawn("bernoulli",
    lambda: [S(np.full(N, 0.3)), S(np.array([0.0, 1.0])), S(t(0)), S(np.array(0.5)),
        S(np.zeros(N), 0.7)], _like, _bernoulli_stat,
    errors=lambda: [E(RuntimeError, np.array([1.5]), match="bernoulli|p in|<= 1")],
    big=lambda: [S(np.full(BIG, 0.3))])
# fmt: on


def _multinomial_stat(x: np.ndarray, w: np.ndarray, n: int, replacement: bool = False) -> None:
    assert ((x >= 0) & (x < w.shape[-1])).all()
    if not replacement:
        assert all(len(set(r)) == n for r in np.atleast_2d(x))
    if n >= N:
        for r, p in zip(np.atleast_2d(x), np.atleast_2d(w)):
            freq = np.bincount(r, minlength=len(p)) / n
            assert np.allclose(freq, p / p.sum(), atol=0.06), freq


# fmt: off
drawn("multinomial",
    lambda: [S(np.array([1.0, 2.0, 0.0, 3.0]), N, True), S(pos(2, 5), 3),
        S(pos(2, 3), N, replacement=True), S(pos(4), 4)],
    lambda w, n, r=False, replacement=False: np.empty((*w.shape[:-1], n), INT),
    lambda x, w, n, r=False, replacement=False: _multinomial_stat(x, w, n, r or replacement),
    errors=lambda: [E(RuntimeError, pos(3), 4), E(RuntimeError, np.array([-1.0, 2.0]), 1),
        E(RuntimeError, pos(3), 0), E(RuntimeError, np.zeros(3), 1, match="multinomial|sum")])
# fmt: on


def _normal_stat(x: np.ndarray, mean: Any, std: Any = 1.0, size: Any = None) -> None:
    if x.size >= N:
        moments(0, 1)((x - mean) / std)


# fmt: off
drawn("normal",
    lambda: [S(0.0, 1.0, (N,)), S(t(N), pos(N)), NoOut(t(N), 2.0), NoOut(1.5, pos(N)),
        NoOut(t(2, 3)), S(2.0, 3.0, (2, 0))],
    lambda m, s=1.0,
        size=None: np.empty(size if size is not None else np.broadcast_shapes(np.shape(m),
        np.shape(s)), np.float32), _normal_stat,
    errors=lambda: [E(RuntimeError, 0.0, -1.0, (2,)), E(RuntimeError, t(2), pos(3))])
drawn("uniform", lambda: [S(t(N)), S(t(N), -2, 4), S(t(2, 3)), S(t()), S(t(0))], _like,
    lambda x, y, a=0, b=1: moments((a + b) / 2, (b - a) / 12**0.5, a, b)(x), mutates=True,
    errors=lambda: [E(RuntimeError, t(2), 1.0, 0.0)])
drawn("normal_", lambda: [S(t(N)), S(t(N), 2.0, 3.0), S(t(0))], _like,
    lambda x, y, m=0, s=1: moments(m, s)(x), mutates=True,
    errors=lambda: [E(RuntimeError, t(2), 0.0, -1.0, match="normal")])
drawn("exponential_", lambda: [S(t(N)), S(t(N), 2.0)], _like,
    lambda x, y, r=1: moments(1 / r, 1 / r, 0)(x), mutates=True,
    errors=lambda: [E(RuntimeError, t(2), -1.0, match="exponential")])
drawn("bernoulli_", lambda: [S(t(N), 0.3), S(t(N)), S(t(N), np.full(N, 0.6))], _like,
    lambda x, y, p=0.5: moments(np.mean(p), (np.mean(p) * (1 - np.mean(p))) ** 0.5, 0, 1)(x),
    mutates=True)
drawn("random_", lambda: [S(t(N), 6), S(t(N), 2, 6), S(t(0), 3)], _like,
    lambda x, y, a, b=None: np.testing.assert_array_equal(np.unique(x),
        np.arange(*((0, a) if b is None else (a, b))) if x.size else []), mutates=True,
    errors=lambda: [E(RuntimeError, t(2), 3, 3, match="from|random")])
drawn("log_normal_", lambda: [S(t(N), 0.0, 0.5)], _like,
    lambda x, y, m, s: moments(m, s)(np.log(x)), mutates=True)
drawn("geometric_", lambda: [S(t(N), 0.4)], _like,
    lambda x, y, p: moments(1 / p, (1 - p) ** 0.5 / p, 1)(x), mutates=True)
drawn("cauchy_", lambda: [S(t(N), 1.0, 2.0)], _like, lambda x, y, m, s: _near(np.median(x), m, 0.3),
    mutates=True)
drawn("poisson", lambda: [S(np.full(N, 3.0)), S(pos(2, 3))], _like,
    lambda x, r: moments(3.0, 3.0**0.5, 0)(x) if x.size >= N else None)
# fmt: on


def _near(a: float, b: float, by: float) -> None:
    assert abs(a - b) < by, (a, b)
