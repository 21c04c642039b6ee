"""Gradients through a compiled call: the backward pass is captured too, and runs as a program."""

from __future__ import annotations

import weft
from weft import _C

from .capture import Capture, paused
from .pieces import Piece, build, needed, rename, renamed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from weft import Tensor
    from weft.jit.graph import Value

__all__ = ["Derivative", "Differentiated", "capture_derivative"]


class Derivative:
    """The ops that compute the gradients of leaves from those of the results."""

    def __init__(
        self, outputs: list[Value], arriving: list[Value], leaves: list[Value], piece: Piece,
        gradients: list[Value | None], outside: set[int],
    ) -> None:  # fmt: skip
        """Name what it is made of; ``outside``: values that are tensors from outside of the call."""
        self.outputs = outputs  # the results that have gradients
        self.arriving = arriving  # those gradients
        self.leaves = leaves  # inputs and tensors from outside that get a gradient
        self.gradients = gradients  # theirs
        self.piece = piece
        arrive = {id(v) for v in arriving} | outside
        self.saved = [v for v in needed(piece, {}) if id(v) not in arrive]
        self.watched = [v for v in needed(piece, {}) if id(v) in outside]
        self._program: Any = None

    def reads(self) -> Iterator[Value]:
        """Iterate over the values that it needs from somewhere."""
        yield from self.piece.reads()
        yield from self.outputs
        yield from self.leaves
        yield from (v for v in self.gradients if v is not None)

    def rename(self, same: dict[int, Value]) -> None:
        """Let the values of an earlier capture stand for the same things."""
        rename(self.piece, same)
        for name in ("outputs", "leaves", "gradients", "saved", "watched"):
            setattr(self, name, renamed(getattr(self, name), same))

    def places(self) -> list[int]:
        """Return where each leaf's gradient is among the results of the program; -1: it has none."""
        results = [id(v) for v in self._results()]
        return [-1 if v is None else results.index(id(v)) for v in self.gradients]

    def _results(self) -> list[Value]:
        return list({id(v): v for v in self.gradients if v is not None}.values())

    def build(self, saved: Sequence[Tensor], tensors: dict[int, Tensor]) -> Any:
        """Return the program: of the gradients of the results, contiguous, and what was saved."""
        values = [*self.arriving, *self.saved]
        arrived = [weft.empty(v.shape, dtype=v.dtype) for v in self.arriving]
        like = {id(v): t for v, t in zip(values, [*arrived, *saved])}
        return build(self.piece, values, like, tensors, self._results())[0]

    def run(
        self, grads: list[Tensor | None], saved: tuple[Tensor, ...], tensors: dict[int, Tensor]
    ) -> list[Tensor | None]:
        """Return the gradients of the leaves, given those of the results and what was saved."""
        arrived = [
            weft.zeros(v.shape, dtype=v.dtype) if g is None else g.contiguous()
            for g, v in zip(grads, self.arriving)
        ]
        made = self._program.run((*arrived, *saved)) if self._program is not None else None
        if made is None:  # the first time, with other strides, or while another thread runs it
            self._program = self.build(saved, tensors)
            made = self._program.run((*arrived, *saved))
        return [None if i < 0 else made[i] for i in self.places()]


def capture_derivative(capture: Capture, outputs: list[Tensor]) -> None:
    """Record the backward pass of a call that is over, as the derivative of its results."""
    graph = capture.graph
    of = {id(v): t for t in capture.alive if (v := capture.values.get(id(t))) is not None}
    leaves = [
        (v, t)
        for v in [*graph.inputs, *graph.constants]
        if (t := v.constant if v.constant is not None else of[id(v)]).requires_grad
    ]
    if any(_C._has_hooks(t) for _, t in leaves):
        return capture.fail("a tensor whose gradient has hooks takes part")
    begin = len(graph.nodes)
    with paused():
        arriving = [weft.zeros_like(t, memory_format=weft.contiguous_format) for t in outputs]
    values = [capture.name(g, "g") for g in arriving]
    known = {id(v) for v in graph.constants}
    try:
        gradients = weft.autograd.grad(
            outputs, [t for _, t in leaves], arriving, retain_graph=True, allow_unused=True
        )
    except RuntimeError as e:
        return capture.fail(f"the gradients of its results: {str(e).splitlines()[0]}")
    piece = Piece(graph.nodes[begin:])
    del graph.nodes[begin:]
    results = [None if g is None else capture.value(g) for g in gradients]
    outside = known | {id(v) for v in graph.constants}
    capture.derivative = Derivative(
        [capture.value(t) for t in outputs], values, [v for v, _ in leaves], piece, results, outside
    )


class Differentiated(weft.autograd.Function):
    """A compiled call as one node of the graph."""

    @staticmethod
    def forward(ctx: Any, derivative: Derivative, run: Callable[[], Any], *leaves: Tensor) -> Any:
        """Run the call: ``run`` gives its results, what its derivative needs, and the tensors."""
        outputs, ctx.saved, ctx.tensors = run()
        ctx.derivative = derivative
        ctx.save_for_backward(*ctx.saved, *[ctx.tensors[id(v)] for v in derivative.watched])
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        """Run the derivative."""
        if weft.is_grad_enabled():
            raise NotImplementedError(
                "compile: a compiled function has no second derivatives outside of it; call the "
                "function itself, or compile one that computes them inside"
            )
        saved = ctx.saved_tensors[: len(ctx.derivative.saved)]
        return (None, None, *ctx.derivative.run(list(grads), saved, ctx.tensors))
