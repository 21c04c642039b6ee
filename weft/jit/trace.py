"""``trace``: one call of a function, kept as a graph."""

from __future__ import annotations

import weft
from weft import _C
from weft.utils.pytree import find_tensors

from .graph import Graph
from .recorder import Recorder, TracerWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from weft import Tensor

    from .other_sizes import OtherSizes


class TracedFunction:
    """A function as its graph: call it with tensors of the shapes it was traced with.

    >>> f = weft.jit.trace(lambda x: (x * 2).sum(), (weft.ones(3),))
    >>> f(weft.arange(3.0))
    tensor(6.)
    """

    def __init__(self, graph: Graph, name: str, others: OtherSizes | None = None) -> None:
        """Wrap a graph; ``others``: what makes calls of other sizes."""
        self.graph, self.__name__, self._others = graph, name, others

    def __call__(self, *args: Tensor) -> Any:
        """Run the graph."""
        if self._others is not None and self.graph.has_other_sizes(args):
            return self._others(args)
        return self.graph.run(*args)

    @property
    def code(self) -> str:
        """The ops, one a line."""
        return repr(self.graph)

    def save(self, f: Any) -> None:
        """Write the graph to a file, as ``weft.jit.save`` does."""
        from .files import save

        save(self, f)

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
    func: Callable[..., Any],
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = False,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    example_kwarg_inputs: Any = None,
) -> Any:
    """Run ``func`` once on ``example_inputs`` (a tensor or a tuple) and keep its ops as a graph.

    Shapes, dtypes, Python values and branches are those of this one call: inputs of other shapes are
    refused. ``weft.jit.script``, ``weft.jit.fuse`` and ``weft.compile`` take them; so does a trace that is
    given ``check_inputs`` of other sizes. Of a module, the parameters stay live: the traced module sees
    their updates, and has the ``state_dict`` of the module.

    Args:
        func: a function or a module.
        example_inputs: a tensor, or a tuple of tensors.
        optimize: not supported.
        check_trace: run the graph again on the example; it must agree.
        check_inputs: more examples, tuples of tensors, on which function and graph must agree. Where
            their sizes differ from those of the example, the trace takes other sizes too: what was seen
            to differ may differ. The function runs again on each of these and on the example, with
            and without gradients. What it computes from sizes is computed anew (``x[: n // 4]``); where
            it would decide otherwise by them, or where what it reads of Python has changed since, such a
            call is refused. A file does not keep that.
        check_tolerance: by how much results may differ there.
        strict: of no effect: results may be lists and dicts, and are kept as they are.
        example_kwarg_inputs: not supported.

    >>> print(weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph.nodes[0].op)
    add
    """
    _refuse(optimize=optimize, example_kwarg_inputs=example_kwarg_inputs)
    if example_inputs is None:
        raise TypeError("trace: needs example_inputs, a tensor or a tuple of tensors")
    inputs = _tensors(example_inputs, "example_inputs")
    examples = _further_examples(check_inputs, inputs)
    recorder = Recorder()
    copies = [t.detach().clone().requires_grad_(t.requires_grad) for t in inputs]
    for t in copies:
        recorder.graph.inputs.append(recorder.name(t, "x"))
    from .graph_cache import members_of, reassigned

    members = list(members_of(func)) if isinstance(func, _C.ModuleBase) else []
    _C._start_recording(recorder)
    try:
        result = func(*copies)
    finally:
        _C._stop_recording()
    recorder.returns(result)
    recorder.graph.verify()
    traced: Any = TracedFunction(recorder.graph, getattr(func, "__name__", type(func).__name__))
    if isinstance(func, _C.ModuleBase):
        from .traced_module import traced_module

        traced = traced_module(func, recorder.graph)
        _warn_of_chance(recorder.graph, func)
        _warn_of_change(reassigned(members))
    if check_trace:
        _check(traced, inputs, result, check_tolerance, "the example")
    for i, given in enumerate(examples):
        if not recorder.graph.has_other_sizes(given):
            _check(traced, given, func(*given), check_tolerance, f"check_inputs[{i}]")
    varied = [given for given in examples if recorder.graph.has_other_sizes(given)]
    if varied:
        from .other_sizes import OtherSizes

        traced.__dict__["_others"] = OtherSizes(func, [inputs, *varied])
    return traced


def as_inputs(example: Any) -> tuple[Any, ...]:
    """Return the arguments that an example stands for."""
    return (example,) if isinstance(example, weft.Tensor) else tuple(example)


def _tensors(example: Any, name: str) -> tuple[Tensor, ...]:
    """Return the arguments that an example stands for, all of them tensors."""
    if not isinstance(example, (weft.Tensor, tuple, list)):
        raise TypeError(
            f"trace: {name} must be a tensor or a tuple of tensors, not {type(example).__name__}"
        )
    given = as_inputs(example)
    for i, t in enumerate(given):
        if not isinstance(t, weft.Tensor):
            raise TypeError(f"trace: {name}[{i}] must be a Tensor, not {type(t).__name__}")
    return given


def _further_examples(check_inputs: Any, inputs: tuple[Any, ...]) -> list[tuple[Tensor, ...]]:
    """Return the arguments of ``check_inputs``, which differ from the example's in sizes only."""
    if not isinstance(check_inputs, (tuple, list, type(None))):
        raise TypeError(
            "trace: check_inputs must be a list of examples, each a tensor or a tuple of tensors, "
            f"not {type(check_inputs).__name__}"
        )
    examples = []
    for i, more in enumerate(check_inputs or ()):
        given = _tensors(more, f"check_inputs[{i}]")
        if len(given) != len(inputs):
            raise ValueError(
                f"trace: check_inputs[{i}] must have as many tensors as the example, "
                f"{len(inputs)}, got {len(given)}"
            )
        for k, (a, b) in enumerate(zip(given, inputs)):
            if (a.ndim, a.dtype) != (b.ndim, b.dtype):
                raise ValueError(
                    f"trace: check_inputs[{i}] may differ from the example in sizes only: tensor {k} "
                    f"is {_described(a)}, in the example {_described(b)}"
                )
        examples.append(given)
    return examples


def _described(t: Tensor) -> str:
    return f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}"


def optimize(func: Any, example_inputs: Any = None) -> TracedFunction:
    """Return a function as a static graph without common subexpressions and dead code.

    Of a tensor, it is the function of its leaves that its history stands for.

    Args:
        func: a function, which is traced, or one that was traced before; or a tensor with a history.
        example_inputs: what to trace it with; none for one that was, and for a tensor.

    >>> f = weft.jit.optimize(lambda x, y: x * y + x * y, (weft.ones(2), weft.ones(2)))
    >>> [node.op for node in f.graph]
    ['mul', 'add']
    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> [node.op for node in weft.jit.optimize(x * x + x * x).graph]
    ['mul', 'add']
    """
    if isinstance(func, TracedFunction):
        if example_inputs is not None:
            raise TypeError(f"optimize: {func.__name__} is traced: it takes no example_inputs")
        return func.optimize()
    if isinstance(func, weft.Tensor):
        from .autograd_history import function_of

        if example_inputs is not None:
            raise TypeError(
                "optimize: a tensor has its inputs in its history: it takes no example_inputs"
            )
        history, leaves, lines = function_of(func)
        made = trace(history, leaves)
        for node, line in zip(made.graph.nodes, lines):
            node.line = line
        return made.optimize()
    if not callable(func) or example_inputs is None:
        given = "no example_inputs" if callable(func) else f"a {type(func).__name__}"
        raise TypeError(
            f"optimize: needs a function and example_inputs to trace it with, got {given}"
        )
    return trace(func, example_inputs).optimize()


def _refuse(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value not in (None, True):
            raise NotImplementedError(f"trace({name}=...): not in weft")


def _warn_of_chance(graph: Graph, module: Any) -> None:
    """Warn that a module was traced in the mode of training, where its results differ by chance."""
    from .op_schema import is_random

    random = sorted({n.op for n in graph if is_random(n)})
    if random and module.training:
        import warnings

        warnings.warn(
            f"trace: the module draws random numbers ({', '.join(random)}): every call of the graph "
            "does. Did you forget to call .eval()?",
            TracerWarning,
            stacklevel=3,
        )


def _warn_of_change(path: str) -> None:
    """Warn that a module gave one of its parameters or buffers another tensor."""
    if path:
        import warnings

        warnings.warn(
            f"trace: the module sets self.{path} to another tensor in its call. The graph keeps the "
            "tensor that was there: change it in place, or use weft.jit.script.",
            TracerWarning,
            stacklevel=3,
        )


def _check(traced: Any, inputs: tuple[Any, ...], result: Any, tolerance: float, name: str) -> None:
    """Raise unless the graph gives the function's result for an example."""
    for a, b in zip(find_tensors(traced(*inputs)), find_tensors(result)):
        if not weft.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
            function = getattr(traced, "__name__", type(traced).__name__)
            raise RuntimeError(
                f"trace: for {name}, {function} and its graph give different results: the graph "
                "keeps the branches, Python values and random decisions of the example's call"
            )
