"""Rows that join, split and repeat tensors: no arithmetic, so every dtype is exact."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from samples import E, F, S, alias, ix, row, t

BIG2 = (70, 1000)


def _ints(v: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one or as one sequence."""
    return tuple(v[0]) if len(v) == 1 and isinstance(v[0], (list, tuple)) else tuple(v)


def _repeat(x: np.ndarray, *reps: Any) -> np.ndarray:
    return np.tile(x, _ints(reps))


def _repeat_interleave(
    x: np.ndarray, n: Any = None, dim: Any = None, output_size: Any = None
) -> np.ndarray:
    return np.repeat(np.arange(len(x)), x) if n is None else np.repeat(x, n, dim)


def _cuts(x: np.ndarray, sizes: Any, dim: int) -> list[np.ndarray]:
    return np.split(x, np.cumsum(sizes)[:-1], dim)


def _split(x: np.ndarray, size: Any, dim: int = 0) -> list[np.ndarray]:
    n = x.shape[dim]
    if isinstance(size, int):
        size = [min(size, n - i) for i in range(0, n, size)] or [0]
    return _cuts(x, size, dim)


def _chunk(x: np.ndarray, chunks: int, dim: int = 0) -> list[np.ndarray]:
    return _split(x, max(-(-x.shape[dim] // chunks), 1), dim)


def _tensor_split(x: np.ndarray, at: Any, dim: int = 0) -> list[np.ndarray]:
    return np.array_split(x, at if isinstance(at, int) else list(at), dim)


def _many(*dims: Any) -> Any:
    return dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims


def _block_diag(v: list[np.ndarray]) -> np.ndarray:
    out = np.zeros((sum(len(a) for a in v), sum(a.shape[1] for a in v)), v[0].dtype)
    r = c = 0
    for a in v:
        out[r : r + a.shape[0], c : c + a.shape[1]] = a
        r, c = r + a.shape[0], c + a.shape[1]
    return out


def _combinations(x: np.ndarray, r: int = 2, with_replacement: bool = False) -> np.ndarray:
    f = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return np.array(list(f(x, r)))


def _constant_pad_nd(x: np.ndarray, pad: Any, value: float = 0) -> np.ndarray:
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [*zip(pad[::2], pad[1::2])][::-1]
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape))
    return np.pad(x[cut], [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=value)


# fmt: off
row("broadcast_tensors", lambda: [S(t(2, 1), t(3)), S(t(), t(2)), S(t(2), t(1), t(3, 1))],
    lambda *v: np.broadcast_arrays(*v),
    errors=lambda: [E(RuntimeError, t(2), t(3), match="broadcast|match")])
row("repeat",
    lambda: [S(t(2, 3), 2, 1), S(t(3), (2, 2)), S(t(), (3,)), S(t(2), 0), S(t(2, 3), 1, 1, 2),
        S(t(0), 2)], _repeat,
    errors=lambda: [E(RuntimeError, t(2, 3), 2), E(RuntimeError, t(2), -1)],
    big=lambda: [S(t(*BIG2), 2, 1)])
row("tile",
    lambda: [S(t(2, 3), (2, 1)), S(t(3), (2, 2)), S(t(2, 3), (2,)), S(t(), (3,)), S(t(2), (0,))],
    np.tile)
row("repeat_interleave",
    lambda: [S(t(2, 3), 2), S(t(2, 3), 2, dim=0), S(t(2, 3), ix([1, 2, 0]), dim=-1),
        F(ix([1, 2, 0])), S(t(3), ix([2, 0, 1])), S(t(2, 3), 0, 1)], _repeat_interleave, grad=(0,),
    errors=lambda: [E(RuntimeError, t(3), ix([1, 2])),
        E(RuntimeError, t(3), ix([-1, 1, 1]), match="repeat")])
row("cat",
    lambda: [S([t(2, 3), t(1, 3)]), S([t(2, 3), t(2, 1), t(2, 2)], 1), S((t(2), t(3)), dim=-1),
        S([t(2, 3)], 0), S([t(0), t(2, 3)]), S([t(2, 0), t(2, 1)], 1), S([t(0, 3), t(2, 3)], 0)],
    lambda v, dim=0: np.concatenate([a for a in v if a.shape != (0,)] or v, dim),
    errors=lambda: [E(RuntimeError, [t(2, 3), t(3, 2)]), E(IndexError, [t(2), t(2)], 1),
        E(RuntimeError, [t(2), t()]), E((RuntimeError, ValueError), [])],
    big=lambda: [S([t(*BIG2), t(*BIG2)], d) for d in (0, 1)])
row("stack",
    lambda: [S([t(2, 3), t(2, 3)]), S([t(2), t(2), t(2)], -1), S((t(2, 3), t(2, 3)), dim=1),
        S([t(), t()]), S([t(0), t(0)])], lambda v, dim=0: np.stack(v, dim),
    errors=lambda: [E(RuntimeError, [t(2), t(3)]), E(RuntimeError, []),
        E(IndexError, [t(2), t(2)], 2)])
row("hstack", lambda: [S([t(2, 3), t(2, 1)]), S([t(2), t(3)]), S([t(), t(2)])],
    lambda v: np.hstack([np.atleast_1d(a) for a in v]),
    errors=lambda: [E(RuntimeError, [t(2, 3), t(3, 3)], match="hstack|cat")])
row("vstack", lambda: [S([t(2, 3), t(1, 3)]), S([t(2), t(2)]), S([t(), t()])], np.vstack,
    errors=lambda: [E(RuntimeError, [t(2, 3), t(2, 2)], match="vstack|cat")])
row("dstack", lambda: [S([t(2, 3), t(2, 3)]), S([t(2), t(2)]), S([t(), t()])], np.dstack)
row("column_stack", lambda: [S([t(2, 3), t(2)]), S([t(2), t(2)]), S([t(), t()])],
    lambda v: np.column_stack([np.atleast_1d(a) for a in v]))
row("split",
    lambda: [S(t(5, 2), 2), S(t(5, 2), [1, 4]), S(t(2, 4), 3, dim=1), S(t(2, 4), (2, 0, 2), -1),
        S(t(4), 4), S(t(0), 2)], _split,
    errors=lambda: [E(RuntimeError, t(3), [1, 1]), E(RuntimeError, t(3), -1),
        E(IndexError, t(3), 1, 1)])
row("split_with_sizes", lambda: [S(t(5, 2), [1, 4]), S(t(2, 4), (2, 0, 2), -1)], _split)
row("chunk",
    lambda: [S(t(5, 2), 2), S(t(5), 3), S(t(2, 6), 4, 1), S(t(2, 6), 2, dim=-1), S(t(3), 5)],
    _chunk, errors=lambda: [E(RuntimeError, t(3), 0), E(IndexError, t(3), 2, 1)])
row("tensor_split",
    lambda: [S(t(5, 2), 2), S(t(5), (1, 3)), S(t(2, 6), 4, 1), S(t(2, 6), (2,), dim=-1),
        S(t(3), 5)], _tensor_split, errors=lambda: [E(RuntimeError, t(3), 0)])
row("hsplit", lambda: [S(t(4, 2), 2), S(t(4), (1, 3))], lambda x, n: np.hsplit(x, n))
row("vsplit", lambda: [S(t(4, 2), 2), S(t(4, 2), (1, 3))], lambda x, n: np.vsplit(x, n))
row("dsplit", lambda: [S(t(2, 2, 4), 2)], lambda x, n: np.dsplit(x, n))
row("unbind", lambda: [S(t(2, 3)), S(t(2, 3), 1), S(t(2, 3, 2), dim=-1), S(t(3))],
    lambda x, dim=0: [np.take(x, i, dim) for i in range(x.shape[dim])],
    errors=lambda: [E(IndexError, t(2), 1)])
row("meshgrid",
    lambda: [S(t(2), t(3), indexing="ij"), S(t(2), t(3), t(2), indexing="ij"),
        S(t(2), t(3), indexing="xy"), S([t(2), t()], indexing="ij")],
    lambda *v, indexing="ij": np.meshgrid(*_many(*v), indexing=indexing),
    errors=lambda: [E(RuntimeError, t(2, 2), t(2), indexing="ij"),
        E(RuntimeError, t(2), t(2), indexing="ab")])
row("cartesian_prod",
    lambda: [S(t(2), t(3)), S(t(2), t(1), t(2)), S(t(3)), S(t(2), t(0))],
    lambda *v: (np.stack([g.ravel() for g in np.meshgrid(*v, indexing="ij")],
        -1) if len(v) > 1 else v[0]))
row("combinations", lambda: [S(t(4)), S(t(3), 2, True), S(t(4), 3)], _combinations)
row("block_diag", lambda: [S(t(2, 3), t(1, 2)), S(t(2), t(), t(2, 2))],
    lambda *v: _block_diag([np.atleast_2d(a) for a in v]))
row("constant_pad_nd",
    lambda: [S(t(2, 3), (1, 2)), S(t(2, 3), (0, 1, 2, 0), 1.5), S(t(3), (-1, 2), 7), S(t(3), ()),
        S(t(2, 3), (-1, -1, 1, -2)), S(t(0, 2), (1, 1, 1, 1))], _constant_pad_nd,
    errors=lambda: [E(RuntimeError, t(2), (1,)), E(RuntimeError, t(2), (1, 1, 1, 1)),
        E(RuntimeError, t(2), (-2, -1))])

alias(**{"concat concatenate": "cat", "row_stack": "vstack"})
# fmt: on
