"""The calls of ``tests/samples/`` made large: from what tests compute to what is worth timing.

A sample is a small call. Its sizes are exchanged for larger ones, equal sizes for equal ones, and its
values for others of the same kind: indices stay indices, definite matrices definite, probabilities
between 0 and 1. Whether such a call makes sense is found out by calling it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from helpers import leaves, swap
from samples import K, Row, S

Sizes = dict[int, int]


def enlarged(row: Row, elements: int) -> Iterator[S]:
    """Calls whose largest tensor has about so many elements, the most natural ones first."""
    for sample in filter(_usable, row.samples()):
        arrays = list(leaves(sample))
        for sizes in _ways(max(arrays, key=lambda a: (a.size, a.ndim)), elements):
            for map_numbers in (False, True):
                for far in (True, False):
                    yield _grown(sample, sizes, row, map_numbers=map_numbers, far=far)


def _usable(sample: S) -> bool:
    """Whether there is something to enlarge, and nothing special about the values."""
    arrays = list(leaves(sample))
    return (
        not isinstance(sample, K)
        and any(a.ndim for a in arrays)
        and all(a.size and np.isfinite(a).all() for a in arrays)
    )


def _ways(largest: np.ndarray, elements: int) -> Iterator[Sizes]:
    """New sizes for those of a tensor: all in proportion, only the first, only the last."""
    wide = [n for n in largest.shape if n > 1]
    if not wide:
        return
    factor = (elements / largest.size) ** (1 / len(wide))
    yield {n: max(n, round(n * factor)) for n in {*wide}}
    for n in dict.fromkeys((wide[0], wide[-1])):
        times = wide.count(n)
        yield {n: max(n, round(n * (elements / largest.size) ** (1 / times)))}


def _grown(sample: S, sizes: Sizes, row: Row, *, map_numbers: bool, far: bool) -> S:
    """The sample with other sizes; ``map_numbers``: also where they stand in lists of numbers."""
    rng = np.random.default_rng(0)
    made: dict[int, np.ndarray] = {}

    def new(a: np.ndarray) -> np.ndarray:
        if id(a) not in made:  # an array that is given twice stays one
            shape = tuple(sizes.get(n, n) for n in a.shape)
            made[id(a)] = _like(a, shape, sizes if far else {}, rng)
        return made[id(a)]

    grown: S = swap(sample, new)
    if map_numbers:
        grown.args = tuple(_mapped(a, sizes) for a in grown.args)
        grown.kwargs = {k: _mapped(v, sizes) for k, v in grown.kwargs.items()}
    return grown


def _mapped(value: Any, sizes: Sizes) -> Any:
    if isinstance(value, (list, tuple)) and all(type(v) is int for v in value):
        return type(value)(sizes.get(v, v) for v in value)
    return value


def _like(a: np.ndarray, shape: tuple[int, ...], sizes: Sizes, rng: np.random.Generator) -> Any:
    """Random values of the kind that ``a`` has."""
    if a.dtype.kind == "b":
        return rng.random(shape) < a.mean()
    if a.dtype.kind in "iu":
        beyond = [new for old, new in sizes.items() if a.min() >= 0 and a.max() < old]
        if beyond:
            return rng.integers(0, min(beyond), shape, dtype=a.dtype)
        return rng.choice(a.ravel(), shape)
    if a.ndim >= 2 and a.shape[-1] == a.shape[-2] > 1 and shape[-1] == shape[-2]:
        kind = next((make for fits, make in MATRICES if fits(a)), None)
        if kind is not None:
            return kind(shape, rng).astype(a.dtype)
    # Values of a, a little nearer to zero, so that few are equal and none leaves its domain.
    grown = rng.choice(a.ravel(), shape) * (1 - 0.01 * rng.random(shape))
    in_order = a.ndim and a.shape[-1] > 2 and (np.diff(a.real, axis=-1) > 0).all()
    return np.sort(grown, axis=-1) if in_order else grown


# ---- square matrices ---------------------------------------------------------------------------


def _symmetric(a: np.ndarray) -> bool:
    return bool(np.allclose(a, np.conj(np.swapaxes(a, -1, -2))))


def _definite(a: np.ndarray) -> bool:
    return _symmetric(a) and bool((np.linalg.eigvalsh(a) > 0).all())


def _lower(a: np.ndarray) -> bool:
    return bool((np.triu(a, 1) == 0).all())


def _upper(a: np.ndarray) -> bool:
    return bool((np.tril(a, -1) == 0).all())


def _dominant(a: np.ndarray) -> bool:
    """Whether the diagonal outweighs the rest, so that the matrix is regular."""
    diagonal = abs(np.diagonal(a, axis1=-2, axis2=-1))
    return bool((2 * diagonal > abs(a).sum(-1)).all())


def _random(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(shape) / math.sqrt(shape[-1])


def _made_definite(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    x = _random(shape, rng)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


def _made_symmetric(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    x = _random(shape, rng)
    return x + np.swapaxes(x, -1, -2)


def _made_regular(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return _random(shape, rng) + 3 * np.eye(shape[-1])


Shape = tuple[int, ...]
Make = Callable[[Shape, np.random.Generator], np.ndarray]
MATRICES: tuple[tuple[Callable[[np.ndarray], bool], Make], ...] = (
    (_lower, lambda shape, rng: np.tril(_made_regular(shape, rng))),
    (_upper, lambda shape, rng: np.triu(_made_regular(shape, rng))),
    (_definite, _made_definite),
    (_symmetric, _made_symmetric),
    (_dominant, _made_regular),
)
