"""``trace``: one call of a function, kept as a graph."""

from __future__ import annotations

import weft
from weft import _C

from .graph import Graph, Recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from weft import Tensor


class TracedFunction:
    """A function as its graph: call it with tensors of the shapes it was traced with.

    >>> f = weft.jit.trace(lambda x: (x * 2).sum(), (weft.ones(3),))
    >>> f(weft.arange(3.0))
    tensor(6.)
    """

    def __init__(self, graph: Graph, name: str) -> None:
        """Wrap a graph."""
        self.graph, self.__name__ = graph, name

    def __call__(self, *args: Tensor) -> Any:
        """Run the graph."""
        return self.graph.run(*args)

    def optimize(self) -> TracedFunction:
        """Return the same function with its graph improved by all passes (``weft.jit.passes``).

        >>> f = weft.jit.trace(lambda x: x.exp() + x.exp(), (weft.ones(3),))
        >>> len(f.graph.nodes), len(f.optimize().graph.nodes)
        (3, 2)
        """
        from .passes import run_passes

        return TracedFunction(run_passes(self.graph), self.__name__)

    def __repr__(self) -> str:
        """Return the name and the graph as text."""
        return f"<traced {self.__name__}>\n{self.graph!r}"


def trace(
    func: Callable[..., Any], example_inputs: Any, *, check_trace: bool = False
) -> TracedFunction:
    """Run ``func`` once on ``example_inputs`` (a tensor or a tuple) and keep its ops as a graph.

    Python values and branches are those of this one call. With ``check_trace`` the graph is run
    again on the example, and must agree.

    >>> print(weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph.nodes[0].op)
    add
    """
    inputs = (example_inputs,) if isinstance(example_inputs, weft.Tensor) else tuple(example_inputs)
    for i, t in enumerate(inputs):
        if not isinstance(t, weft.Tensor):
            raise TypeError(f"trace: example input {i} must be a Tensor, not {type(t).__name__}")
    recorder = Recorder()
    copies = [t.detach().clone().requires_grad_(t.requires_grad) for t in inputs]
    for t in copies:
        recorder.graph.inputs.append(recorder.name(t, "x"))
    _C._start_recording(recorder)
    try:
        result = func(*copies)
    finally:
        _C._stop_recording()
    recorder.graph.outputs = recorder.structure(result)
    recorder.graph.verify()
    traced = TracedFunction(recorder.graph, getattr(func, "__name__", type(func).__name__))
    if check_trace:
        _check(traced, inputs, result)
    return traced


def optimize(func: Callable[..., Any], example_inputs: Any = None) -> TracedFunction:
    """Return a function as a static graph in which nothing is computed twice or in vain.

    Args:
        func: a function, which is traced, or one that was traced before.
        example_inputs: what to trace it with; none for one that was.

    >>> f = weft.jit.optimize(lambda x, y: x * y + x * y, (weft.ones(2), weft.ones(2)))
    >>> [node.op for node in f.graph]
    ['mul', 'add']
    """
    if isinstance(func, TracedFunction):
        if example_inputs is not None:
            raise TypeError(f"optimize: {func.__name__} is traced: it takes no example_inputs")
        return func.optimize()
    if not callable(func) or example_inputs is None:
        given = "no example_inputs" if callable(func) else f"a {type(func).__name__}"
        raise TypeError(
            f"optimize: needs a function and example_inputs to trace it with, got {given}"
        )
    return trace(func, example_inputs).optimize()


def _check(traced: TracedFunction, inputs: tuple[Any, ...], result: Any) -> None:
    again = traced(*inputs)
    if isinstance(result, weft.Tensor) and again.tolist() != result.tolist():
        raise RuntimeError(
            f"trace: {traced.__name__} gave another result when its graph was run again"
        )
