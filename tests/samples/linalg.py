"""Rows of products of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import E, S, alias, row, t


def product(name: str, make: Any, twin: Any, bad: Any, dtypes: str = "fiu", **more: Any) -> None:
    """A product of matrices or vectors."""
    row(name, make, twin, dtypes, **{"atol": 5e-6, "half": 1, "errors": bad, **more})


def _plus(f: Any) -> Any:
    """beta * input + alpha * f(a, b)."""
    return lambda x, a, b, beta=1, alpha=1: beta * x + alpha * f(a, b)


def _ab(*pairs: Any) -> Any:
    return lambda: [S(t(*p), t(*q)) for p, q in pairs]


def _bad(*pairs: Any) -> Any:
    return lambda: [E(RuntimeError, t(*p), t(*q)) for p, q in pairs]


# fmt: off
product("matmul",
    _ab(((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 2, 3), (2, 3, 2)),
        ((2, 3), (2, 3, 1)), ((2, 1, 2, 3), (3, 3, 2)), ((2, 0), (0, 3)), ((0, 2), (2, 3)),
        ((0,), (0,)), ((5, 4, 2, 3), (3,)), ((17, 9), (9, 5))), np.matmul,
    _bad(((2, 3), (2, 3)), ((), (2,)), ((2, 2, 3), (3, 3, 2)), ((3,), (2,))),
    big=lambda: [S(t(96, 80), t(80, 112)), S(t(16, 24, 20), t(16, 20, 24)), S(t(300, 200), t(200))])
product("mm",
    _ab(((2, 3), (3, 4)), ((1, 3), (3, 1)), ((2, 0), (0, 3)), ((0, 2), (2, 0)), ((17, 9), (9, 5))),
    np.matmul, _bad(((2, 3), (2, 3)), ((2,), (2, 2)), ((2, 2, 2), (2, 2))),
    big=lambda: [S(t(130, 70), t(70, 90))])
product("bmm",
    _ab(((2, 2, 3), (2, 3, 2)), ((1, 2, 3), (1, 3, 1)), ((0, 2, 3), (0, 3, 1)),
        ((2, 2, 0), (2, 0, 3))), np.matmul,
    _bad(((2, 2, 3), (3, 3, 2)), ((2, 3), (3, 2)), ((2, 2, 3), (2, 2, 3))),
    big=lambda: [S(t(16, 30, 20), t(16, 20, 30))])
product("mv", _ab(((2, 3), (3,)), ((2, 0), (0,)), ((0, 2), (2,))), np.matmul,
    _bad(((2, 3), (2,)), ((2,), (2,))))
product("dot", _ab(((3,), (3,)), ((0,), (0,)), ((1,), (1,)), ((37,), (37,))), np.dot,
    _bad(((2,), (3,)), ((2, 2), (2, 2))))
product("vdot", _ab(((3,), (3,)), ((0,), (0,))), np.vdot, _bad(((2,), (3,))))
product("inner", _ab(((3,), (3,)), ((2, 3), (4, 3)), ((), (2, 2)), ((2, 2, 3), (3,))), np.inner,
    _bad(((2,), (3,))))
product("outer", _ab(((2,), (3,)), ((0,), (2,)), ((1,), (1,))), np.outer, _bad(((2, 2), (2,))),
    half=0)
product("kron",
    _ab(((2, 2), (2, 3)), ((2,), (3,)), ((2, 2), (2,)), ((), (2,)), ((2, 3), (1, 65)), ((0,), (2,))),
    np.kron, list,
    half=0)
product("addmm",
    lambda: [S(t(2, 4), t(2, 3), t(3, 4)), S(t(4), t(2, 3), t(3, 4)),
        S(t(2, 1), t(2, 3), t(3, 4), beta=2, alpha=3), S(t(), t(2, 3), t(3, 4)),
        S(t(2, 3), t(2, 0), t(0, 3))], _plus(np.matmul),
    lambda: [E(RuntimeError, t(2, 4), t(2, 3), t(4, 4)), E(RuntimeError, t(3), t(2, 3), t(3, 4))],
    big=lambda: [S(t(90), t(130, 70), t(70, 90))])
product("addmv", lambda: [S(t(2), t(2, 3), t(3)), S(t(1), t(2, 3), t(3), beta=2, alpha=3)],
    _plus(np.matmul), lambda: [E(RuntimeError, t(2), t(2, 3), t(2))])
product("addr", lambda: [S(t(2, 3), t(2), t(3)), S(t(3), t(2), t(3), beta=2, alpha=3)],
    _plus(np.outer), lambda: [E(RuntimeError, t(2, 2), t(2), t(3))], half=2)
product("baddbmm",
    lambda: [S(t(2, 2, 2), t(2, 2, 3), t(2, 3, 2)),
        S(t(2), t(2, 2, 3), t(2, 3, 2), beta=2, alpha=3)], _plus(np.matmul),
    lambda: [E(RuntimeError, t(2, 2, 2), t(2, 2, 3), t(2, 2, 2))])
product("addbmm",
    lambda: [S(t(2, 2), t(2, 2, 3), t(2, 3, 2)), S(t(2), t(2, 2, 3), t(2, 3, 2), beta=2, alpha=3)],
    _plus(lambda a, b: np.matmul(a, b).sum(0)),
    lambda: [E(RuntimeError, t(2, 2), t(2, 2, 3), t(2, 2, 2))], half=None)
product("chain_matmul", lambda: [S(t(2, 3), t(3, 4), t(4, 2)), S(t(2, 3), t(3, 2))],
    lambda *m: np.linalg.multi_dot(m), list, dtypes="f", atol=2e-5, half=None)
product("trace", lambda: [S(t(3, 3)), S(t(2, 4)), S(t(0, 2))], np.trace,
    lambda: [E(RuntimeError, t(3))])
product("tensordot",
    lambda: [S(t(2, 3, 2), t(3, 2, 4)), S(t(2, 3), t(3, 2), 1), S(t(2), t(3), dims=0),
        S(t(2, 3, 4), t(4, 2), dims=([2, 0], [0, 1]))],
    lambda a, b, dims=2: np.tensordot(a, b, dims), lambda: [E(RuntimeError, t(2, 3), t(2, 3), 1)],
    dtypes="f")
product("cross",
    lambda: [S(t(2, 3), t(2, 3), dim=1), S(t(3, 2), t(3, 2), dim=0), S(t(3), t(3), dim=-1)],
    lambda a, b, dim: np.cross(a, b, axis=dim), lambda: [E(RuntimeError, t(2, 2), t(2, 2), dim=1)],
    half=2)
# fmt: on


def _einsum_samples() -> list[S]:
    eqs = {
        "ij,jk->ik": ((2, 3), (3, 4)),
        "ij->ji": ((2, 3),),
        "ii": ((3, 3),),
        "ii->i": ((3, 3),),
        "i,j->ij": ((2,), (3,)),
        "bij,bjk->bik": ((2, 2, 3), (2, 3, 2)),
        "...ij,...jk": ((2, 2, 3), (3, 2)),
        "ij,ij->": ((2, 3), (2, 3)),
        "bn,anm,bm->ba": ((2, 3), (2, 3, 2), (2, 2)),
        "i,i": ((3,), (3,)),
        "ij->": ((2, 3),),
        "b i, b j -> i j": ((2, 2), (2, 3)),
        "ijk->ki": ((2, 3, 2),),
        "i...->...": ((2, 3),),
    }
    return [S(eq, *(t(*s) for s in shapes)) for eq, shapes in eqs.items()] + [
        S("ij,jk", [t(2, 3), t(3, 2)])
    ]


# fmt: off
product("einsum", _einsum_samples,
    lambda eq, *v: np.einsum(eq, *(v[0] if isinstance(v[0], list) else v)),
    lambda: [E((RuntimeError, ValueError), "ij,jk->ik", t(2, 3), t(2, 3)),
        E((RuntimeError, ValueError), "ij", t(2)),
        E((RuntimeError, ValueError), "ij,jk->ik", t(2, 3)),
        E((RuntimeError, ValueError), "i->j", t(2))], "f",
    big=lambda: [S("bij,bjk->bik", t(16, 30, 20), t(16, 20, 30))])
# fmt: on


def _cdist(a: np.ndarray, b: np.ndarray, p: float = 2.0) -> np.ndarray:
    d = abs(a[..., :, None, :] - b[..., None, :, :])
    return d.max(-1, initial=0) if p == np.inf else (d**p).sum(-1) ** (1 / p)


def _renorm(x: np.ndarray, p: float, dim: int, maxnorm: float) -> np.ndarray:
    rest = tuple(d for d in range(x.ndim) if d != dim % x.ndim)
    norm = (
        abs(x).max(rest, keepdims=True)
        if p == np.inf
        else (abs(x) ** p).sum(rest, keepdims=True) ** (1 / p)
    )
    return x * np.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1)


# fmt: off
row("cdist",
    lambda: [S(t(3, 2), t(4, 2)), S(t(2, 3, 2), t(2, 2, 2)), S(t(3, 2), t(2, 2), p=1.0),
        S(t(3, 2), t(2, 2), p=3.0), S(t(3, 2), t(2, 2), p=np.inf), S(t(0, 2), t(3, 2))], _cdist,
    "f", atol=5e-6, half=None,
    errors=lambda: [E(RuntimeError, t(2, 2), t(2, 3)), E(RuntimeError, t(2), t(2))])
row("renorm",
    lambda: [S(t(3, 2), 2, 0, 1.5), S(t(2, 3), 1.0, -1, 2.0), S(t(2, 2, 2), 3, 1, 0.5),
        S(t(2, 3), np.inf, 0, 1.0), S(t(2, 3), 2.0, 0, 100.0)], _renorm, "f", atol=1e-6,
    errors=lambda: [E(RuntimeError, t(3), 2, 0, 1.0), E(RuntimeError, t(2, 2), -1, 0, 1.0),
        E(RuntimeError, t(2, 2), 2, 0, -1.0), E(IndexError, t(2, 2), 2, 2, 1.0)])

alias(**{"ger": "outer", "linalg.matmul": "matmul", "__matmul__": "matmul"})
# fmt: on
