"""Control flow as ops: ``cond``, ``while_loop``, ``scan``. Eager calls run Python; a trace keeps a node.

Each takes functions of tensors and is differentiable: the tape records the ops that ran.
"""

from __future__ import annotations

import weft
from weft import _C
from weft._environment import at_line
from weft.utils.pytree import TreeSpec, tree_flatten, tree_leaves, tree_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["cond", "scan", "while_loop"]


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()
) -> Any:
    """Call one of two functions, as a truth value or a tensor of one element says.

    A trace keeps both functions as graphs: they must return the same structure, shapes and dtypes, and
    nothing that shares memory with what they were given.

    Args:
        pred: a bool, or a tensor of one element.
        true_fn: what is called if ``pred`` is true.
        false_fn: what is called otherwise.
        operands: the arguments of both, a tuple of tensors or nested containers of them.

    >>> x = weft.tensor([1.0, -1.0])
    >>> weft.cond(x.sum() > 1, weft.sin, weft.neg, (x,))
    tensor([-1.,  1.])
    """
    operands = _as_tuple("cond", "operands", operands)
    if not (callable(true_fn) and callable(false_fn)):
        given = true_fn if not callable(true_fn) else false_fn
        raise TypeError(
            at_line(f"cond: both branches must be functions, got {type(given).__name__}")
        )
    if isinstance(pred, weft.Tensor):
        if pred.numel() != 1:
            raise RuntimeError(
                at_line(f"cond: pred must have one element, got a shape of {list(pred.shape)}")
            )
        if (recorder := _recorder()) is not None:
            return recorder.cond(pred, true_fn, false_fn, operands)
    return (true_fn if pred else false_fn)(*operands)


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any
) -> tuple[Any, ...]:
    """Call ``body_fn`` on its own results as long as ``cond_fn`` says so; return the last ones.

    Args:
        cond_fn: a function of the carried values that returns a bool, or a tensor of one element.
        body_fn: a function of the carried values that returns as many of the same shapes and dtypes.
        carried_inputs: the values to begin with, a tuple of tensors, ints and nested containers.

    >>> double = lambda i, x: (i + 1, x * 2)
    >>> weft.while_loop(lambda i, x: i < 3, double, (weft.tensor(0), weft.ones(2)))
    (tensor(3), tensor([8., 8.]))
    """
    carry = _as_tuple("while_loop", "carried_inputs", carried_inputs)
    if (recorder := _recorder()) is not None and _tensors_only(carry):
        return recorder.while_loop(cond_fn, body_fn, carry)
    facts = _facts(carry)
    while _is_true(cond_fn(*carry)):
        made = body_fn(*carry)
        carry = (
            made if isinstance(made, tuple) else tuple(made) if isinstance(made, list) else (made,)
        )
        _check_same("while_loop: body_fn", facts, _facts(carry))
    return carry


def scan(
    combine_fn: Callable[..., Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """Go along a dimension: ``combine_fn(carry, x)`` returns the next carry and a result for each slice.

    Args:
        combine_fn: returns ``(carry, y)``; the carry keeps its structure, shapes and dtypes.
        init: the first carry.
        xs: tensors of the same size in ``dim``, in nested containers; each call gets a slice of them.
        dim: the dimension to go along.
        reverse: begin at the end; results are where their slices are.

    Returns:
        The last carry, and the results stacked along ``dim``.

    >>> add = lambda total, x: (total + x, total + x)
    >>> weft.scan(add, weft.zeros(()), weft.arange(4.0))
    (tensor(6.), tensor([0., 1., 3., 6.]))
    """
    leaves, spec = tree_flatten(xs)
    if not leaves or not all(isinstance(x, weft.Tensor) and x.dim() for x in leaves):
        raise ValueError(
            at_line("scan: xs must hold tensors of at least one dimension, and nothing else")
        )
    sizes = {x.shape[dim] for x in leaves}
    if len(sizes) != 1:
        raise ValueError(
            at_line(f"scan: xs must have one size in dimension {dim}, got {sorted(sizes)}")
        )
    if sizes == {0}:
        raise ValueError(at_line(f"scan: xs has no elements in dimension {dim}"))
    dim = dim % leaves[0].dim()
    slices = [x.movedim(dim, 0) for x in leaves]
    if (recorder := _recorder()) is not None and _tensors_only(init):
        carry, ys = recorder.scan(combine_fn, init, (slices, spec), bool(reverse))
    else:
        carry, ys = _scan(combine_fn, init, slices, spec, reverse)
    return carry, tree_map(lambda y: y.movedim(0, dim), ys) if dim else ys


def _recorder() -> Any:
    """Return what records a graph on this thread and keeps control flow in it, or None."""
    recorder = _C._recorder()
    return recorder if recorder is not None and recorder.keeps_control_flow else None


def _scan(
    combine_fn: Callable[..., Any], init: Any, slices: list[Any], spec: TreeSpec, reverse: bool
) -> tuple[Any, Any]:
    facts, carry = _facts(init), init
    order = range(len(slices[0]))
    made: list[list[Any]] = []
    results: Any = None
    for i in reversed(order) if reverse else order:
        carry, y = pair("scan", combine_fn(carry, spec.unflatten([x[i] for x in slices])))
        _check_same("scan: combine_fn", facts, _facts(carry))
        ys, structure = tree_flatten(y)
        results = structure if results is None else results
        if structure != results:
            raise RuntimeError(
                at_line("scan: combine_fn returns another structure in another call")
            )
        made.append(ys)
    columns = zip(*(reversed(made) if reverse else made))
    return carry, results.unflatten([weft.stack(column) for column in columns])


def pair(name: str, made: Any) -> tuple[Any, Any]:
    """Return what ``combine_fn`` made: a carry and a result.

    >>> from weft.ops.control import pair
    >>> pair("scan", (1, 2))
    (1, 2)
    """
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise TypeError(
            at_line(f"{name}: combine_fn must return (carry, y), got {type(made).__name__}")
        )
    return made[0], made[1]


def _as_tuple(name: str, what: str, x: Any) -> tuple[Any, ...]:
    if not isinstance(x, (tuple, list)):
        raise TypeError(at_line(f"{name}: {what} must be a tuple, got {type(x).__name__}"))
    return tuple(x)


def _tensors_only(tree: Any) -> bool:
    return all(isinstance(x, weft.Tensor) for x in tree_leaves(tree))


def _is_true(answer: Any) -> bool:
    if isinstance(answer, weft.Tensor) and answer.numel() != 1:
        raise RuntimeError(
            at_line(
                f"while_loop: cond_fn must give one element, got a shape of {list(answer.shape)}"
            )
        )
    return bool(answer)


def _facts(tree: Any) -> tuple[Any, TreeSpec]:
    """Return what must stay the same of carried values: structure, shapes and dtypes."""
    leaves, spec = tree_flatten(tree)
    kinds = [(tuple(x.shape), x.dtype) if isinstance(x, weft.Tensor) else type(x) for x in leaves]
    return kinds, spec


def _check_same(what: str, before: tuple[Any, TreeSpec], after: tuple[Any, TreeSpec]) -> None:
    if before != after:
        told = [f"{spec} of {kinds}" for kinds, spec in (before, after)]
        raise RuntimeError(
            at_line(
                f"{what} must return what it was given in structure, shapes and dtypes: got {told[0]}, "
                f"returned {told[1]}"
            )
        )
