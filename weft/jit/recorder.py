"""``Recorder``: builds a graph from the calls that pass the dispatcher."""

from __future__ import annotations

import weft
from weft import _C
from weft.utils.pytree import find_tensors

from .graph import Graph, Node, Value
from .pytree import flatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["Recorder", "TracerWarning"]


def _place(t: Tensor) -> tuple[Any, ...]:
    """Return what two tensors of the same elements in the same memory have in common."""
    shape, dtype, stride = _C._geometry(t)
    return _C._place(t), shape, stride, dtype


class TracerWarning(UserWarning):
    """The traced function did something that its graph keeps as it was in that one call.

    >>> issubclass(weft.jit.TracerWarning, UserWarning)
    True
    """


_PLAIN = frozenset({int, float, bool, str, tuple, type(None)})  # arguments that hold no tensors


class Recorder:
    """Builds a graph from the calls that pass the dispatcher."""

    traces = True  # the graph must have a derivative: fused ops that have none run as their twins
    keeps_control_flow = True  # cond, while_loop and scan are nodes; else the ops that they run are

    def __init__(self) -> None:
        """Start with an empty graph."""
        self.graph = Graph()
        self.values: dict[Tensor, Value] = {}  # what a tensor is now; in place, it becomes another
        self.places: dict[Any, Value] = {}  # by memory: what backward kept is another object there
        self._mark = 0  # bytes that tensors had when the elements of those that are over last went

    def name(self, t: Tensor, prefix: str) -> Value:
        """Give ``t`` a fresh value."""
        v = self.values[t] = self.graph.value(prefix, t)
        if 0 not in v.shape:
            self.places[_C._place(t), v.shape, v.stride, v.dtype] = v
        return v

    def value(self, a: Any) -> Any:
        """Return what stands for an argument: a value for a tensor, lists of them, or itself."""
        if type(a) is list:
            return [self.value(x) for x in a]
        if not isinstance(a, weft.Tensor):
            return a
        known = self.values.get(a)
        if known is not None:
            return known
        known = self.places.get(_place(a)) if a.numel() else None
        if known is None:
            return self.constant(a)
        self.values[a] = known
        return known

    def constant(self, t: Tensor) -> Value:
        """Return what stands for a tensor from outside that was not seen before."""
        v = self.name(t, "c")
        v.constant = t
        self.graph.constants.append(v)
        return v

    def record(
        self, op: str, args: Any, outs: Any, inplace: bool, line: str, given: bool, grad: bool
    ) -> None:
        """Take one call of the dispatcher; ``given``: its results went into tensors given by out=."""
        taken = [a if type(a) in _PLAIN else self.value(a) for a in args]
        node = Node(op, tuple(taken), inplace, line, grad)
        if given:
            self.graph.nodes.append(node)
            for t in outs:
                fresh = self.graph.value("v", t)
                node.give([*node.outputs, fresh])
                copy = Node("copy_", (self.value(t), fresh), True, line, grad)
                self.graph.nodes.append(copy.give([self.name(t, "v")]))
            return
        self.graph.nodes.append(node.give([self.name(t, "v") for t in outs]))
        self._mark = _C._forget_elements(self.values, self._mark)

    def became(self, t: Tensor, view: Tensor) -> None:
        """``t`` has taken the geometry of ``view``, a view of itself: it is that value from now on."""
        self.values[t] = self.value(view)

    def walks(self) -> None:
        """A backward pass begins: its ops are part of the graph."""

    def literal(self, t: Tensor, data: Any) -> None:
        """``t`` was made of Python data: a trace keeps it as it is."""

    def hooked(self, line: str) -> None:
        """A hook is about to see gradients: a trace keeps the ops that it calls."""

    def grad_read(self, t: Tensor) -> None:
        """``t.grad`` is read: a trace keeps what is there, as it does of other tensors."""

    def grad_set(self, t: Tensor, grad: Tensor | None) -> None:
        """``t.grad`` is another one now: a trace keeps what its function returns, not this."""

    def read(self, what: str, line: str, t: Tensor) -> None:
        """Warn that elements became Python numbers: what depends on them is fixed in the graph."""
        import warnings

        warnings.warn(
            f"trace: {what} at {line} turns a tensor into Python values. The graph keeps the values "
            "and branches of this one call: it will be wrong for inputs that would give others.",
            TracerWarning,
            stacklevel=3,
        )

    def cond(self, *call: Any) -> Any:
        """Keep ``weft.cond`` as a node."""
        from .control_flow import trace_cond

        return trace_cond(self, *call)

    def while_loop(self, *call: Any) -> Any:
        """Keep ``weft.while_loop`` as a node."""
        from .control_flow import trace_while_loop

        return trace_while_loop(self, *call)

    def scan(self, *call: Any) -> Any:
        """Keep ``weft.scan`` as a node."""
        from .control_flow import trace_scan

        return trace_scan(self, *call)

    def shown(self, line: str) -> None:
        """The text of a tensor was asked for: a trace has nothing to do with that."""

    def lost(self, what: str, line: str) -> None:
        """Raise: the graph has no op for what was done, and would be wrong without it."""
        raise NotImplementedError(f"trace: {what} at {line} cannot be recorded in a graph")

    def custom_function(self, name: str, line: str, pure: bool) -> None:
        """A Function with a derivative of its own runs: a graph would have that of its ops.

        ``pure``: its derivative does nothing but ops.
        """
        self.lost(f"the derivative of the custom Function {name}", line)

    def returns(self, result: Any) -> None:
        """Let the graph return what the function did: values for tensors, other leaves as they are."""
        graph = self.graph
        leaves, graph.spec = flatten(result)
        for leaf in leaves:
            if not isinstance(leaf, weft.Tensor) and next(find_tensors(leaf), None) is not None:
                self.lost(
                    f"a result of type {type(leaf).__name__}, which holds tensors,", _C._here()
                )
        graph.outputs = [self.value(x) if isinstance(x, weft.Tensor) else x for x in leaves]
