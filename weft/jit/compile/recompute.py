"""Gradients that have a graph, through a compiled call: its function is recomputed eagerly.

What was captured has the first derivative only. The recomputed call has all of them: its
nodes take the place of the one that stood for the call. It is the same call as long as nothing that
it reads has changed, and it changes nothing itself.
"""

from __future__ import annotations

import contextlib

import weft
from weft import _C
from weft.jit.graph import Graph, Value
from weft.jit.op_schema import is_random, written
from weft.jit.passes.alias_analysis import AliasAnalysis
from weft.jit.pytree import flatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from weft import Tensor

    from .backward import Derivative
    from .segments import Segment
    from .specialization import CallSpecialization

__all__ = ["BackwardPath"]


class BackwardPath:
    """How gradients go back through one path of a specialisation: as programs, or with a graph."""

    def __init__(self, specialization: CallSpecialization, path: list[Segment]) -> None:
        """Name the specialisation and the segments that run in such a call; modes are those of now."""
        self.specialization, self.path = specialization, path
        self._dtype, self._autocast = weft.get_default_dtype(), _C._autocast_key()
        self._refusal: str | None = None  # None: nobody has asked yet

    @property
    def derivative(self) -> Derivative:
        """How gradients follow from those of the results."""
        found: Derivative = self.path[-1].derivative
        return found

    def build(self, which: int, saved: list[Tensor]) -> Any:
        """Return the backward pass where gradients of some results are given: of those whose bits are set."""
        return self.derivative.build(which, saved, self.specialization.tensors)

    def recompute(self, inputs: list[Tensor]) -> list[Tensor]:
        """Return the results that have gradients, with their history.

        Args:
            inputs: the tensors that the call was given; neither they nor those that it finds
                outside have changed since.
        """
        self._check(inputs)
        with self._as_then():
            found = _match(self.path[-1], self.specialization.call_again(inputs))
        outputs = [found.get(v) for v in self.derivative.outputs]
        for i, base in enumerate(self.derivative.bases):
            view = outputs[i]
            if base is not None and isinstance(base.of, int) and view is not None:
                outputs[base.of] = _C._root_of(view)  # which may be hidden
        if not all(t is not None and t.requires_grad for t in outputs):
            raise RuntimeError(_because("it does not give what it gave"))
        return [t for t in outputs if t is not None]

    def _check(self, inputs: list[Tensor]) -> None:
        """Raise if the call would not be the same now, or would be felt twice."""
        if self._refusal is None:
            self._refusal = _refusal(self.path, self.specialization)
        if self._refusal:
            raise NotImplementedError(_because(self._refusal))
        if changed := self.specialization.differs(inputs):
            raise RuntimeError(_because(f"{changed} has changed since the call"))

    @contextlib.contextmanager
    def _as_then(self) -> Iterator[None]:
        """Let the modes be those of the call, and the ops in it be seen: all of them run eagerly."""
        dtype, kind = weft.get_default_dtype(), self._autocast
        weft.set_default_dtype(self._dtype)
        eagerly = _C._let_compiled_run_eagerly(True)
        try:
            with contextlib.nullcontext() if kind is None else weft.autocast("cpu", dtype=kind):
                yield
        finally:
            _C._let_compiled_run_eagerly(eagerly)
            weft.set_default_dtype(dtype)


def _because(reason: str) -> str:
    return (
        "compile: for a gradient with a graph (create_graph=True), or of a result that another one "
        f"was computed from, a compiled function is recomputed eagerly, and here it cannot be: {reason}. "
        "Call the function itself, or compile one that computes the derivatives inside"
    )


def _refusal(path: list[Segment], specialization: CallSpecialization) -> str:
    """Say why a recomputed call is not the same, or changes something twice; if so."""
    end = path[-1]
    if outside := next((p.outside for p in path if p.outside is not None), None):
        return f"it calls {outside.name} at {outside.line}"
    if end.grads:
        return "it sets gradients of tensors that it did not make"
    graph = Graph()
    graph.inputs, graph.constants = specialization.inputs, specialization.constants()
    aliases = AliasAnalysis(graph)
    for node in (n for segment in path for n in segment.nodes):
        if is_random(node):
            return f"{node.op} at {node.line} draws random numbers, which would be others"
        if any(aliases.of(v) in aliases.outside for v in written(node)):
            return f"{node.op} at {node.line} changes a tensor in place that the call did not make"
        aliases.follow(node)
    return ""


def _match(end: Segment, made: Any) -> dict[Value, Tensor]:
    """Return which tensors of a result stand for the values at the end of a path."""
    leaves, spec = flatten(made)
    if spec != end.spec:
        return {}
    return {
        v: t
        for v, t in zip(end.outputs, leaves)
        if type(v) is Value
        and isinstance(t, weft.Tensor)
        and (t.dtype, t.shape) == (v.dtype, v.shape)
    }
