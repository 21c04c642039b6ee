"""The graph that a tensor has recorded, as a function of its leaves."""

from __future__ import annotations

import weft
from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from weft import Tensor

__all__ = ["function_of"]


def function_of(t: Tensor) -> tuple[Callable[..., Tensor], tuple[Tensor, ...], list[str]]:
    """Return a function that makes the ops of a tensor's history again, its leaves, and their lines.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> f, leaves, lines = weft.jit.autograd_history.function_of((x * x).sum())
    >>> f(*leaves), len(lines)
    (tensor(5., grad_fn=<SumBackward0>), 2)
    """
    if t.grad_fn is None:
        raise RuntimeError(
            "optimize: the tensor has no history: no op on tensors that want a gradient made it"
        )
    calls: dict[Any, tuple[str, int, str, list[Any]]] = {}
    leaves: dict[Any, Tensor] = {}
    waiting = [t.grad_fn]
    while waiting:
        node = waiting.pop()
        if node in calls or node in leaves:
            continue
        if (leaf := getattr(node, "variable", None)) is not None:
            leaves[node] = leaf
            continue
        call = _C._call_of(node)
        if call is None:
            raise NotImplementedError(f"optimize: {node.name()} in the history is no op of its own")
        calls[node] = call
        waiting += [before for before, _ in node.next_functions if before is not None]
    ordered = sorted(calls.items(), key=lambda item: item[1][1])
    order = {node: i for i, node in enumerate(_leaves_in_order(ordered))}
    inputs = sorted(leaves, key=lambda node: order[node])
    end = t.grad_fn, t.output_nr

    def history(*given: Tensor) -> Tensor:
        made: dict[tuple[Any, int], Tensor] = {(n, 0): x for n, x in zip(inputs, given)}
        for node, (op, _, _, args) in ordered:
            outputs = _C._call_op(op, tuple([_argument(a, made) for a in args]), False)
            made.update(((node, i), out) for i, out in enumerate(outputs))
        return made[end]

    found = tuple(leaves[node] for node in inputs)
    _check(history, found, t, ordered)
    return history, found, [line for _, (_, _, line, _) in ordered]


def _is_made(a: Any) -> bool:
    return type(a) is tuple and len(a) == 2 and isinstance(a[0], _C.Node)


def _leaves_in_order(ordered: list[Any]) -> list[Any]:
    """Return the nodes that arguments lead to, in the order in which ops read them."""
    found: dict[Any, None] = {}
    for _, (_, _, _, args) in ordered:
        for a in args:
            for part in a if isinstance(a, list) else [a]:
                if _is_made(part):
                    found.setdefault(part[0])
    return list(found)


def _argument(a: Any, made: dict[tuple[Any, int], Tensor]) -> Any:
    if _is_made(a):
        return made[a]
    return [_argument(x, made) for x in a] if isinstance(a, list) else a


def _check(again: Any, leaves: tuple[Tensor, ...], t: Tensor, ordered: list[Any]) -> None:
    """Raise unless the function gives the tensor again: a history keeps what gradients need."""
    try:
        with weft.no_grad(), weft.random.fork_rng():
            same = weft.allclose(again(*leaves), t, rtol=0, atol=0, equal_nan=True)
    except (TypeError, RuntimeError) as e:
        raise RuntimeError(_lost(ordered, str(e).splitlines()[0])) from None
    if not same:
        raise RuntimeError(_lost(ordered, "the result is another one"))


def _lost(ordered: list[Any], why: str) -> str:
    lines = [line for _, (_, _, line, _) in ordered if line]
    where = f" (ops from {lines[0]} to {lines[-1]})" if lines else ""
    return (
        f"optimize: the history of the tensor{where} does not keep all that its ops were given: {why}. "
        "It keeps what gradients need. Give the function instead: optimize(f, example_inputs)"
    )
