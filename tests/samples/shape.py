"""Rows of views, copies and rearrangements: no arithmetic, so every dtype is exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import E, S, alias, row, t

BIG2 = (70, 1000)


def _ints(v: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one or as one sequence."""
    return tuple(v[0]) if len(v) == 1 and isinstance(v[0], (list, tuple)) else tuple(v)


def _reshape_samples(*more: S) -> list[S]:
    return [
        S(t(2, 3), (3, 2)),
        S(t(2, 3), (-1,)),
        S(t(2, 3, 2), (2, -1)),
        S(t(), (1, 1)),
        S(t(1), ()),
        S(t(0, 3), (3, 0)),
        S(t(2, 0), (0, 5)),
        S(t(4), [2, 2]),
        *more,
    ]


def _reshape_errors() -> list[E]:
    return [
        E(RuntimeError, t(2, 3), (4, 2), match="shape"),
        E(RuntimeError, t(2, 3), (-1, -1), match="-1|infer"),
        E(RuntimeError, t(2, 3), (-1, 4), match="shape"),
        E(RuntimeError, t(2, 3), (-2, 3), match="shape|-2"),
        E(RuntimeError, t(0), (-1, 0), match="-1|ambiguous|infer"),
    ]


def _flatten(x: np.ndarray, start_dim: int = 0, end_dim: int = -1) -> np.ndarray:
    if x.ndim == 0:
        return x.reshape(1)
    a, b = start_dim % x.ndim, end_dim % x.ndim
    return x.reshape(*x.shape[:a], int(np.prod(x.shape[a : b + 1])), *x.shape[b + 1 :])


def _squeeze(x: np.ndarray, dim: Any = None) -> np.ndarray:
    if dim is None or x.ndim == 0:
        return np.squeeze(x)
    dims = [d % x.ndim for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    return np.squeeze(x, tuple(d for d in dims if x.shape[d] == 1))


def _permute(x: np.ndarray, *dims: Any) -> np.ndarray:
    return np.transpose(x, _ints(dims))


def _swap(x: np.ndarray, a: int, b: int) -> np.ndarray:
    return np.swapaxes(x, a, b) if x.ndim else x


def _t(x: np.ndarray) -> np.ndarray:
    return x.T


def _expand(x: np.ndarray, *sizes: Any) -> np.ndarray:
    sizes = _ints(sizes)
    old = (1,) * (len(sizes) - x.ndim) + x.shape
    return np.broadcast_to(x, [o if n == -1 else n for o, n in zip(old, sizes)])


def _unfold(x: np.ndarray, dim: int, size: int, step: int) -> np.ndarray:
    if x.ndim == 0:
        return x.reshape(1)[:size]
    w = np.lib.stride_tricks.sliding_window_view(x, size, dim)
    return np.take(w, np.arange(0, w.shape[dim], step), dim)


# fmt: off
row("reshape", lambda: _reshape_samples(S(t(2, 3), (2, 3))), lambda x, s: x.reshape(s),
    errors=_reshape_errors)
row("view", lambda: _reshape_samples(S(t(2, 3), 3, 2), S(t(6), 2, -1)),
    lambda x, *s: x.reshape(_ints(s)), strided=False, errors=lambda: _reshape_errors()[:3])
row("view_as", lambda: [S(t(2, 3), t(3, 2))], lambda x, y: x.reshape(y.shape), grad=(0,),
    strided=False)
row("reshape_as", lambda: [S(t(2, 3), t(3, 2))], lambda x, y: x.reshape(y.shape), grad=(0,))
row("flatten",
    lambda: [S(t(2, 3)), S(t(2, 3, 2), 1), S(t(2, 3, 2), 0, 1), S(t()), S(t(2, 0)),
        S(t(2, 3, 2), -2, -1), S(t(3), start_dim=0, end_dim=0)], _flatten,
    errors=lambda: [E(IndexError, t(2), 1), E(RuntimeError, t(2, 3), 1, 0)])
row("ravel", lambda: [S(t(2, 3)), S(t()), S(t(0, 2))], np.ravel)
row("unflatten", lambda: [S(t(2, 6), 1, (2, 3)), S(t(6), -1, (-1, 2)), S(t(4, 2), 0, [2, 2])],
    lambda x, d, s: x.reshape(*x.shape[: d % x.ndim], *(s if -1 not in s else (x.shape[d] // 2, 2)),
        *x.shape[d % x.ndim + 1 :]),
    errors=lambda: [E(RuntimeError, t(6), 0, (4, 2)), E(IndexError, t(6), 1, (2, 3))])
row("squeeze",
    lambda: [S(t(1, 2, 1)), S(t(1, 2, 1), 0), S(t(1, 2, 1), 1), S(t(1, 2, 1), dim=-1), S(t()),
        S(t(), 0), S(t(1, 2, 1), (0, 2)), S(t(1, 0))], _squeeze,
    errors=lambda: [E(IndexError, t(2, 1), 2), E(IndexError, t(2, 1), -3)])
row("unsqueeze", lambda: [S(t(2, 3), d) for d in (0, 1, 2, -1, -3)] + [S(t(), 0), S(t(0), -1)],
    np.expand_dims, errors=lambda: [E(IndexError, t(2, 3), 3), E(TypeError, t(2))])
row("permute",
    lambda: [S(t(2, 3), (1, 0)), S(t(2, 3, 4), (2, 0, 1)), S(t(2, 3, 4), (-1, 0, 1)), S(t(), ()),
        S(t(2, 0, 3), (2, 1, 0))], _permute,
    errors=lambda: [E(RuntimeError, t(2, 3), (0,)), E(RuntimeError, t(2, 3), (0, 0)),
        E(IndexError, t(2, 3), (0, 2))])
row("transpose",
    lambda: [S(t(2, 3), 0, 1), S(t(2, 3, 4), -1, 0), S(t(2, 3), dim0=1, dim1=1), S(t(), 0, -1),
        S(t(2, 0), 0, 1)], lambda x, dim0, dim1: _swap(x, dim0, dim1),
    errors=lambda: [E(IndexError, t(2, 3), 0, 2)])
row("swapaxes", lambda: [S(t(2, 3), 0, 1), S(t(2, 3, 4), -1, 0)], _swap,
    errors=lambda: [E(IndexError, t(2, 3), 0, 2, match="swap|transpose")])
row("t", lambda: [S(t(2, 3)), S(t(3)), S(t()), S(t(0, 2))], _t,
    errors=lambda: [E(RuntimeError, t(2, 3, 4))])
row("T", lambda: [S(t(2, 3)), S(t(3, 3))], _t)
row("mT", lambda: [S(t(2, 3)), S(t(2, 3, 4))], lambda x: np.swapaxes(x, -1, -2))
row("H", lambda: [S(t(2, 3))], _t)
row("mH", lambda: [S(t(2, 3, 2))], lambda x: np.swapaxes(x, -1, -2))
row("adjoint", lambda: [S(t(2, 3, 2))], lambda x: np.swapaxes(x, -1, -2))
row("movedim",
    lambda: [S(t(2, 3, 4), 0, 2), S(t(2, 3, 4), -1, 0), S(t(2, 3, 4), (0, 1), (2, 0)),
        S(t(3), 0, 0)], np.moveaxis,
    errors=lambda: [E(IndexError, t(2), 1, 0), E(RuntimeError, t(2, 3), (0, 1), (0,)),
        E(RuntimeError, t(2, 3), (0, 0), (0, 1))])
row("expand",
    lambda: [S(t(2, 1), (2, 3)), S(t(3), (2, -1)), S(t(), (2, 2)), S(t(2, 1), -1, 4), S(t(1), (0,)),
        S(t(1, 3), (2, 1, 3))], _expand,
    errors=lambda: [E(RuntimeError, t(2), (3,)), E(RuntimeError, t(2, 3), (3,)),
        E(RuntimeError, t(2), (-1, 2))])
row("expand_as", lambda: [S(t(2, 1), t(2, 3)), S(t(), t(2))],
    lambda x, y: np.broadcast_to(x, y.shape), grad=(0,))
row("broadcast_to", lambda: [S(t(2, 1), (2, 3)), S(t(3), (2, 3)), S(t(), (2,)), S(t(1), (0,))],
    lambda x, s: np.broadcast_to(x, s),
    errors=lambda: [E(RuntimeError, t(2), (3,), match="broadcast_to|expand")])
row("unfold",
    lambda: [S(t(5), 0, 2, 1), S(t(5), 0, 3, 2), S(t(2, 4), 1, 2, 2), S(t(2, 4), -1, 4, 1),
        S(t(4, 2), 0, 2, 1)], _unfold,
    errors=lambda: [E(RuntimeError, t(3), 0, 4, 1, match="size|unfold"),
        E(RuntimeError, t(3), 0, 2, 0, match="step|unfold"), E(IndexError, t(3), 1, 1, 1)])
row("flip",
    lambda: [S(t(2, 3), (0,)), S(t(2, 3), (0, 1)), S(t(2, 3, 2), [-1, 0]), S(t(0, 2), (0,)),
        S(t(3), (0,)), S(t(2), ())], lambda x, d: np.flip(x, tuple(d)),
    errors=lambda: [E(IndexError, t(2), (1,)), E(RuntimeError, t(2, 3), (0, 0))],
    big=lambda: [S(t(*BIG2), (0, 1))])
row("fliplr", lambda: [S(t(2, 3)), S(t(2, 3, 2))], np.fliplr,
    errors=lambda: [E(RuntimeError, t(2))])
row("flipud", lambda: [S(t(2, 3)), S(t(3))], np.flipud,
    errors=lambda: [E(RuntimeError, t())])
row("rot90",
    lambda: [S(t(2, 3)), S(t(2, 3), 2), S(t(2, 3), -1, (0, 1)), S(t(2, 3, 2), 1, (1, 2)),
        S(t(2, 3), 4)], lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims),
    errors=lambda: [E(RuntimeError, t(2))])
row("roll",
    lambda: [S(t(4), 1), S(t(2, 3), -1), S(t(2, 3), 1, 0), S(t(2, 3), (1, 2), (0, 1)),
        S(t(2, 3), 5, -1), S(t(0), 1)], lambda x, s, dims=None: np.roll(x, s, dims),
    errors=lambda: [E(RuntimeError, t(2, 3), (1, 2), (0,)), E(IndexError, t(2), 1, 1)],
    big=lambda: [S(t(*BIG2), 3, 1)])
row("diag",
    lambda: [S(t(3)), S(t(3), 1), S(t(3), -2), S(t(3, 3)), S(t(2, 3), 1), S(t(3, 2), -1), S(t(0))],
    lambda x, diagonal=0: np.diag(x, diagonal), errors=lambda: [E(RuntimeError, t(2, 2, 2))])
row("diagonal",
    lambda: [S(t(3, 3)), S(t(2, 3), 1), S(t(3, 2), -1), S(t(2, 3, 2), 0, 0, 2),
        S(t(2, 3, 3), dim1=-2, dim2=-1), S(t(2, 2), 5)],
    lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2),
    errors=lambda: [E(RuntimeError, t(2, 2), 0, 1, 1), E(IndexError, t(2))])
# fmt: on


def _diag_embed(x: np.ndarray, offset: int = 0, dim1: int = -2, dim2: int = -1) -> np.ndarray:
    n = x.shape[-1] + abs(offset)
    y = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    y[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return np.moveaxis(y, (-2, -1), (dim1, dim2))


def _triangle(f: Any) -> Any:
    return lambda x, diagonal=0: f(x, diagonal) if x.size else x


def _tri_samples() -> list[S]:
    return [
        S(t(3, 3)),
        S(t(2, 4), 1),
        S(t(4, 2), -1),
        S(t(2, 3, 3), diagonal=1),
        S(t(0, 3)),
        S(t(3, 3), -5),
    ]


def _as_strided(x: np.ndarray, size: Any, stride: Any, storage_offset: int = 0) -> np.ndarray:
    s = np.asarray(stride, int).reshape(len(size))
    at = sum((i * n for i, n in zip(np.indices(size), s)), np.zeros(size, int)) + storage_offset
    return x.ravel()[at]


# fmt: off
row("diag_embed", lambda: [S(t(3)), S(t(2, 3)), S(t(2, 2), 1), S(t(2, 2), -1, 0, 2)], _diag_embed)
row("diagflat", lambda: [S(t(3)), S(t(2, 2), 1), S(t())], np.diagflat)
row("tril", _tri_samples, _triangle(np.tril), errors=lambda: [E(RuntimeError, t(3))],
    big=lambda: [S(t(300, 300))])
row("triu", _tri_samples, _triangle(np.triu), errors=lambda: [E(RuntimeError, t(3))],
    big=lambda: [S(t(300, 300))])

# fmt: on


def _as_strided_scatter(
    x: np.ndarray, src: np.ndarray, size: Any, stride: Any, offset: int = 0
) -> np.ndarray:
    y = x.copy()
    flat = y.reshape(-1)
    steps = [s * y.itemsize for s in stride]
    np.lib.stride_tricks.as_strided(flat[offset:], size, steps)[...] = src
    return y


def _sum_to_size(x: np.ndarray, size: Any) -> np.ndarray:
    lead = x.ndim - len(size)
    y = x.sum(tuple(range(lead)))
    return y.sum(tuple(i for i, s in enumerate(size) if s == 1), keepdims=True)


# fmt: off

row("as_strided",
    lambda: [S(t(6), (2, 3), (3, 1)), S(t(6), (2, 2), (1, 2), 1), S(t(5), (3, 3), (1, 1)),
        S(t(4), (2, 0), (1, 1)), S(t(3), (2, 3), (0, 1)), S(t(3), (), (), 2)], _as_strided,
    strided=False,
    errors=lambda: [E(RuntimeError, t(6), (2, 4), (3, 1)), E(RuntimeError, t(6), (2,), (-1,)),
        E(RuntimeError, t(6), (2,), (1, 1)), E(RuntimeError, t(6), (2,), (1,), 2**62)])
row("as_strided_scatter",
    lambda: [S(t(6), t(2, 2), (2, 2), (3, 1)), S(t(2, 3), t(2), (2,), (2,), 1)], _as_strided_scatter,
    strided=False, errors=lambda: [E(RuntimeError, t(6), t(3), (2,), (1,))])
row("sum_to_size", lambda: [S(t(2, 3), (1, 3)), S(t(2, 3), (3,)), S(t(2, 3), (2, 1))],
    _sum_to_size, errors=lambda: [E(RuntimeError, t(2, 3), (2, 2))])
row("contiguous", lambda: [S(t(2, 3)), S(t()), S(t(0, 2))], np.copy)
row("clone", lambda: [S(t(2, 3)), S(t()), S(t(0, 2))], np.copy,
    errors=lambda: [E(TypeError, "text")], big=lambda: [S(t(*BIG2))])
row("detach", lambda: [S(t(2, 3)), S(t())], np.copy, grad=False)
row("atleast_1d", lambda: [S(t()), S(t(2, 3))], np.atleast_1d)
row("atleast_2d", lambda: [S(t()), S(t(3)), S(t(2, 3))], np.atleast_2d)
row("atleast_3d", lambda: [S(t()), S(t(3)), S(t(2, 3))], np.atleast_3d)

alias(moveaxis="movedim", swapdims="swapaxes")
# fmt: on
