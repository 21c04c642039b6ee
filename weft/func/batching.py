"""``vmap``: a function of one sample, applied to many."""

from __future__ import annotations

import functools

import weft
from weft.utils.pytree import TreeSpec, broadcast_leaves, tree_flatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["vmap"]


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that applies ``func`` to each slice of its arguments, and joins the results.

    weft calls ``func`` once for each slice: the result is that of a loop, and so is the time.

    Args:
        func: a function of tensors that returns tensors.
        in_dims: along which dimension each argument is sliced; None: it is given whole.
        out_dims: where the new dimension of each result is.
        randomness: ``"different"`` random numbers for each slice, the ``"same"`` for all, or an
            ``"error"`` if ``func`` draws some.
        chunk_size: how many slices to compute at once; weft computes one at a time.

    >>> dot = weft.vmap(weft.dot)
    >>> dot(weft.ones(3, 2), weft.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    tensor([ 3.,  7., 11.])
    """
    if randomness not in ("error", "same", "different"):
        raise RuntimeError(
            f"vmap: randomness must be 'error', 'same' or 'different', got {randomness!r}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size must be greater than 0, got {chunk_size}")

    @functools.wraps(func)
    def mapped(*args: Any, **named: Any) -> Any:
        if not isinstance(in_dims, (int, tuple, list)):
            raise ValueError(f"vmap: in_dims must be an int or a tuple, got {type(in_dims)}")
        leaves, spec = tree_flatten(tuple(args))
        dims = _input_dims(leaves, _spread(_as_tuple(in_dims), spec, "vmap: in_dims"))
        extra, extra_spec = tree_flatten(named)  # sliced along the first dimension
        dims += [0 if isinstance(x, weft.Tensor) else None for x in extra]
        leaves = leaves + extra
        count = _batch_size(leaves, dims)

        def call(i: int) -> Any:
            given = [x if d is None else x.select(d, i) for x, d in zip(leaves, dims)]
            inner = given[: len(leaves) - len(extra)]
            return func(*spec.unflatten(inner), **extra_spec.unflatten(given[len(inner) :]))

        if count == 0:
            return _of_nothing(leaves, dims, call, out_dims)
        return _joined(_calls(call, count, randomness), out_dims)

    return mapped


def _as_tuple(dims: Any) -> Any:
    return tuple(dims) if isinstance(dims, list) else dims


def _input_dims(leaves: list[Any], dims: list[Any]) -> list[Any]:
    found: list[Any] = []
    for x, d in zip(leaves, dims):
        if d is None:
            found.append(None)
            continue
        if not isinstance(x, weft.Tensor):
            raise ValueError(
                f"vmap: in_dims={d} for an argument of type {type(x)}; only tensors are sliced: "
                "give None in its place"
            )
        if not isinstance(d, int) or not -x.dim() <= d < x.dim():
            raise ValueError(
                f"vmap: in_dims={d} for a tensor with {x.dim()} dimensions: it must be between "
                f"{-x.dim()} and {x.dim() - 1}"
            )
        found.append(d)
    return found


def _batch_size(leaves: list[Any], dims: list[Any]) -> int:
    sizes = [x.shape[d] for x, d in zip(leaves, dims) if d is not None]
    if not sizes:
        raise ValueError("vmap: at least one argument must be sliced: all in_dims are None")
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: expected slices of the same number, got sizes {sizes}")
    return sizes[0]


def _calls(call: Callable[[int], Any], count: int, randomness: str) -> list[Any]:
    if randomness == "different":
        return [call(i) for i in range(count)]
    before = weft.get_rng_state()
    results = []
    for i in range(count):
        if i:
            weft.set_rng_state(before)
        results.append(call(i))
        if randomness == "error" and not weft.equal(before, weft.get_rng_state()):
            raise RuntimeError(
                "vmap: the function draws random numbers. Please pass randomness='different' or "
                "randomness='same'"
            )
    return results


def _spread(dims: Any, spec: TreeSpec, what: str) -> list[Any]:
    """Return the dimension of each leaf; one that is given for a container is that of all in it."""
    found = broadcast_leaves(dims, spec)
    if found is None:
        raise ValueError(f"{what}={dims!r} does not fit the structure that it is given for")
    return found


def _joined(results: list[Any], out_dims: Any) -> Any:
    parts = [tree_flatten(result) for result in results]
    spec = parts[0][1]
    for leaves, other in parts:
        if other != spec:
            raise ValueError("vmap: the function returned different structures for two slices")
        for y in leaves:
            if not isinstance(y, weft.Tensor):
                raise ValueError(f"vmap: the function must return tensors, got {type(y)}")
    dims = _spread(_as_tuple(out_dims), spec, "vmap: out_dims")
    columns = zip(*(leaves for leaves, _ in parts))
    return spec.unflatten(weft.stack(list(ys), d) for ys, d in zip(columns, dims))


def _of_nothing(
    leaves: list[Any], dims: list[Any], call: Callable[[int], Any], out_dims: Any
) -> Any:
    """Return results of no slices: one of zeros tells their shapes."""
    for i, d in enumerate(dims):
        if d is not None:
            sizes = list(leaves[i].shape)
            sizes[d] = 1
            leaves[i] = weft.zeros(sizes, dtype=leaves[i].dtype)
    state = weft.get_rng_state()
    one = _joined([call(0)], out_dims)
    weft.set_rng_state(state)
    ys, spec = tree_flatten(one)
    where = _spread(_as_tuple(out_dims), spec, "vmap: out_dims")
    return spec.unflatten(y.narrow(d, 0, 0) for y, d in zip(ys, where))
