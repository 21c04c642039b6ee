"""The calls of a trace whose sizes differ from those of its example: one program for all sizes, or a refusal.

A traced graph is one call, with the numbers of that call. For other sizes the function is captured as
``weft.compile`` captures it where sizes vary (``weft/jit/compile/dynamic.py``): sizes are symbols while it
runs, what Python computes from them is computed anew, and what it decides by them is checked.
"""

from __future__ import annotations

import contextlib

import weft
from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .compile.dynamic import Dynamic

__all__ = ["OtherSizes"]


class OtherSizes:
    """What makes the calls of a traced function for sizes that differ from those of its example.

    Invariant: it never runs the function after the trace, so that its calls are those of the trace: where
    its program does not hold, the call is refused.

    >>> from weft.jit.other_sizes import OtherSizes
    >>> mean = OtherSizes(lambda x: x.sum() / x.shape[0], [(weft.ones(2),), (weft.ones(5),)])
    >>> mean((weft.arange(9.0),))
    tensor(4.)
    """

    def __init__(self, func: Callable[..., Any], examples: list[tuple[Any, ...]]) -> None:
        """Capture the function with each example, with and without gradients; raise if that fails.

        Args:
            func: the function. If gradients are on, it runs twice for each example, else once.
            examples: arguments, of two sizes at least; they are not changed.
        """
        # By whether gradients are on: what was captured, and why a call may not be made by that.
        self._calls: dict[bool, Dynamic] = {}
        for grad in {weft.is_grad_enabled(), False}:
            with _unchanged(func), weft.set_grad_enabled(grad):
                self._calls[grad] = _captured(func, examples)

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """Make a call, or raise with the reason why its sizes are none that the trace takes."""
        found = self._calls.get(weft.is_grad_enabled())
        why = "the function was traced without gradients"
        if found is not None:
            if (made := found.run(args)) is not NotImplemented:
                return made
            why = _refusal(found)
        shapes = ", ".join(str(list(t.shape)) for t in args)
        raise RuntimeError(f"trace: inputs of shapes {shapes} are refused: {why}")


def _unchanged(func: Any) -> Any:
    """Return a context in which calls change neither the buffers of a module nor the random state."""
    if isinstance(func, _C.ModuleBase):
        from weft.nn.summary import left_as_it_is

        return left_as_it_is(func)
    stack = contextlib.ExitStack()
    stack.callback(weft.set_rng_state, weft.get_rng_state())
    return stack


def _captured(func: Callable[..., Any], examples: list[tuple[Any, ...]]) -> Dynamic:
    from .compile.dynamic import Dynamic

    calls = Dynamic(func)
    for given in examples:
        copies = tuple([t.detach().clone().requires_grad_(t.requires_grad) for t in given])
        calls.capture(copies, {})
    facts = calls.facts()
    if facts["slots"]:
        why = f"the call changes {facts['slots'][0]}"
    elif facts["programs"]:
        return calls
    else:
        why = facts["pending"]
    raise RuntimeError(f"trace: no program for the sizes of check_inputs: {why}")


def _refusal(calls: Dynamic) -> str:
    """Say why no program of a function holds for a call."""
    if changed := calls.changed():
        return f"{changed} has changed since the trace"
    decided = calls.facts()["decisions"]
    others = f", or {decided[0]} no longer" if decided else ""
    return f"a mode, a dtype, a layout or a size that was the same in all examples differs{others}"
