"""Control flow in a graph: ``cond``, ``while_loop`` and ``scan`` as nodes that hold graphs.

The functions that such an op is given are traced, each once, into graphs of their own. A graph inside has no
constants: tensors from outside that its function reads are further inputs, the same for all graphs of a node.
"""

from __future__ import annotations

import weft
from weft import _C
from weft._environment import at_line
from weft.ops import control
from weft.utils.pytree import TreeSpec, tree_flatten, tree_leaves

from .graph import Graph, Node, Value
from .op_schema import written
from .passes.alias_analysis import AliasAnalysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from weft import Tensor

    from .recorder import Recorder

__all__ = ["run", "trace_cond", "trace_scan", "trace_while_loop", "verify"]


_GRAPHS = {"cond": 2, "while_loop": 2, "scan": 1}


def verify(node: Node) -> None:
    """Raise unless a node of control flow has the arguments and graphs that its op takes.

    >>> g = weft.jit.trace(lambda x: weft.cond(x.sum() > 0, weft.sin, weft.cos, (x,)), (weft.ones(1),)).graph
    >>> weft.jit.control_flow.verify(g.nodes[-1])
    """
    count = _GRAPHS.get(node.op)
    lists = [a for a in node.args if isinstance(a, list) and all(type(v) is Value for v in a)]
    kinds = {
        "cond": len(node.args) == 2 and type(node.args[0]) is Value and len(lists) == 1,
        "while_loop": len(node.args) == len(lists) == 2,
        "scan": len(node.args) == 4 and len(lists) == 3 and type(node.args[3]) is bool,
    }
    if count != len(node.graphs) or not kinds[node.op] or node.inplace:
        raise ValueError(
            f"graph: {node.op} has {len(node.graphs)} graphs and arguments {node.args!r:.200}"
        )
    taken = sum(map(len, lists))
    for graph in node.graphs:
        if len(graph.inputs) != taken or graph.constants:
            raise ValueError(
                f"graph: {node.op} gives {taken} tensors to a graph that takes {len(graph.inputs)} and has "
                f"{len(graph.constants)} constants"
            )
        graph.verify()
    made = [len(list(graph.results())) for graph in node.graphs]
    wanted = {
        "cond": [len(node.outputs)] * 2,
        "while_loop": [1, len(lists[0])],
        "scan": [len(node.outputs)],
    }[node.op]
    if made != wanted or (node.op == "while_loop" and len(node.outputs) != len(lists[0])):
        raise ValueError(f"graph: {node.op} has graphs of {made} results, not of {wanted}")
    if node.op == "scan" and len(node.outputs) < len(lists[0]):
        raise ValueError(
            f"graph: scan carries {len(lists[0])} tensors, but has {len(node.outputs)} results"
        )


# ---- running -----------------------------------------------------------------------------------


def run(node: Node, args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Run a node of control flow; return its outputs. A recorder sees the op, not its inside.

    >>> g = weft.jit.trace(lambda x: weft.cond(x.sum() > 0, weft.sin, weft.cos, (x,)), (weft.ones(1),)).graph
    >>> weft.jit.control_flow.run(g.nodes[-1], (weft.tensor(False), [weft.zeros(1)]))
    (tensor([1.]),)
    """
    if node.op == "cond":
        pred, operands = args
        chosen, other = map(_function, node.graphs)
        return tuple(control.cond(pred, chosen, other, operands))
    if node.op == "while_loop":
        carry, outside = args
        test, body = map(_function, node.graphs)
        return control.while_loop(
            lambda *xs: test(*xs, *outside)[0],
            lambda *xs: tuple(body(*xs, *outside)),
            tuple(carry),
        )
    init, xs, outside, reverse = args
    combine, count = _function(node.graphs[0]), len(init)

    def step(carry: Any, x: Any) -> Any:
        made = combine(*carry, *x, *outside)
        return made[:count], made[count:]

    carry, ys = control.scan(step, list(init), list(xs), reverse=reverse)
    return (*carry, *ys)


def _function(graph: Graph) -> Callable[..., list[Any]]:
    """Return a graph as a function of tensors that returns the list of its outputs."""
    return lambda *inputs: list(graph.run(*inputs))


# ---- tracing -----------------------------------------------------------------------------------


class _Inside:
    """A function of control flow as it is traced: a graph, and which tensors from outside it reads."""

    def __init__(self, outer: Recorder, name: str, func: Callable[..., Any], args: Any) -> None:
        """Call ``func(*args)`` and keep its ops; random numbers are those of the next call outside."""
        from .recorder import Recorder

        self.outside: list[Tensor] = []
        inside = self

        class Inner(Recorder):
            def constant(self, t: Tensor) -> Value:
                inside.outside.append(t)
                v = self.name(t, "x")
                self.graph.inputs.append(v)
                return v

        self.recorder = Inner()
        self.inputs = tree_leaves(args)
        for t in self.inputs:
            # An input of its own, even if it is also one of another position, or was made outside.
            self.recorder.graph.inputs.append(self.recorder.name(t, "x"))
        state = weft.get_rng_state()
        _C._start_recording(self.recorder, True)
        try:
            self.result = func(*args)
        finally:
            _C._stop_recording()
            with _unrecorded():
                weft.set_rng_state(state)
        self.leaves, self.spec = tree_flatten(self.result)
        self._check(name)
        self.graph = self.recorder.graph
        self.graph.returns([self.recorder.value(t) for t in self.leaves])

    def _check(self, name: str) -> None:
        """Raise if the function does what a graph inside cannot hold."""
        graph = self.recorder.graph
        aliases = AliasAnalysis(graph)
        for node in graph:
            if any(aliases.of(v) in aliases.outside for v in written(node)):
                raise RuntimeError(
                    f"trace: {name} writes in place ({node.op} at {node.line}) into a tensor from outside"
                )
            aliases.follow(node)
        given = {_C._place(t)[0] for t in (*self.inputs, *self.outside) if t.numel()}
        for t in self.leaves:
            if not isinstance(t, weft.Tensor):
                raise TypeError(
                    at_line(f"trace: {name} must return tensors, got a {type(t).__name__}")
                )
            if t.numel() and _C._place(t)[0] in given:
                raise RuntimeError(
                    at_line(
                        f"trace: {name} returns a tensor that shares memory with one from outside: "
                        "return a clone() of it"
                    )
                )

    def facts(self) -> tuple[list[Any], TreeSpec]:
        """Return structure, shapes and dtypes of what it returned."""
        return [(tuple(t.shape), t.dtype) for t in self.leaves], self.spec


def _join(parts: list[_Inside]) -> list[Tensor]:
    """Let the graphs have the same inputs; return the tensors from outside that they read."""
    every = list(dict.fromkeys(t for part in parts for t in part.outside))
    for part in parts:
        count = len(part.inputs)
        known = dict(zip(part.outside, part.graph.inputs[count:]))
        rest = [known.get(t) or part.recorder.name(t, "x") for t in every]
        part.graph.inputs[count:] = rest
        for i, v in enumerate(part.graph.inputs):
            v.name = f"x{i}"
        part.graph.verify()
    return every


def _add(
    recorder: Recorder, op: str, args: tuple[Any, ...], parts: list[_Inside], made: list[Tensor]
) -> None:
    """Add the node; ``made``: the tensors that stand for its outputs from now on."""
    node = Node(op, args, False, _C._here())
    node.graphs = tuple(part.graph for part in parts)
    recorder.graph.nodes.append(node.give([recorder.name(t, "v") for t in made]))


def _values(recorder: Recorder, tensors: Any) -> list[Value]:
    return [recorder.value(t) for t in tensors]


def trace_cond(recorder: Recorder, pred: Tensor, true_fn: Any, false_fn: Any, operands: Any) -> Any:
    """Record ``cond``: both functions are traced, and what the chosen one returned goes on."""
    for x in tree_leaves(operands):
        if not isinstance(x, weft.Tensor):
            raise TypeError(
                at_line(f"trace: cond: operands must be tensors, got a {type(x).__name__}")
            )
    parts = [
        _Inside(recorder, f"cond: {name}", f, operands)
        for name, f in (("true_fn", true_fn), ("false_fn", false_fn))
    ]
    first, second = (part.facts() for part in parts)
    if first != second:
        raise RuntimeError(
            at_line(
                "trace: cond: true_fn and false_fn must return the same structure, shapes and dtypes, got "
                f"{first[1]} of {first[0]} and {second[1]} of {second[0]}"
            )
        )
    outside = _join(parts)
    given = [recorder.value(pred), _values(recorder, [*tree_leaves(operands), *outside])]
    with _unrecorded():
        made, spec = tree_flatten((true_fn if pred else false_fn)(*operands))
    _add(recorder, "cond", tuple(given), parts, made)
    return spec.unflatten(made)


def trace_while_loop(recorder: Recorder, cond_fn: Any, body_fn: Any, carry: tuple[Any, ...]) -> Any:
    """Record ``while_loop``: the test and the body are traced once, on the first values."""
    leaves, spec = tree_flatten(carry)
    test = _Inside(recorder, "while_loop: cond_fn", _as_tensor(cond_fn), carry)
    body = _Inside(recorder, "while_loop: body_fn", body_fn, carry)
    if [v.shape for v in test.leaves] not in ([()], [(1,)]):
        raise RuntimeError(at_line("trace: while_loop: cond_fn must give a tensor of one element"))
    outside = _join([test, body])
    with _unrecorded():
        result = control.while_loop(cond_fn, body_fn, carry)
        made = [t.clone() if any(t is x for x in leaves) else t for t in tree_leaves(result)]
    given = (_values(recorder, leaves), _values(recorder, outside))
    _add(recorder, "while_loop", given, [test, body], made)
    return spec.unflatten(made)


def trace_scan(recorder: Recorder, combine_fn: Any, init: Any, xs: Any, reverse: bool) -> Any:
    """Record ``scan``: the function is traced once, on the first carry and slice."""
    slices, spec = xs
    carries, carry_spec = tree_flatten(init)
    with _unrecorded():
        first = spec.unflatten([x[-1 if reverse else 0].clone() for x in slices])
    part = _Inside(recorder, "scan: combine_fn", _as_pair(combine_fn), (init, first))
    outside = _join([part])
    given = (
        _values(recorder, carries),
        _values(recorder, slices),
        _values(recorder, outside),
        reverse,
    )
    with _unrecorded():
        carry, ys = control._scan(combine_fn, init, slices, spec, reverse)
    results, structure = tree_flatten(ys)
    made = [*tree_leaves(carry), *results]
    _add(recorder, "scan", given, [part], made)
    return carry_spec.unflatten(made[: len(carries)]), structure.unflatten(results)


def _as_tensor(cond_fn: Any) -> Any:
    def test(*carry: Any) -> Any:
        answer = cond_fn(*carry)
        if not isinstance(answer, weft.Tensor):
            raise TypeError(
                at_line(
                    "trace: while_loop: cond_fn must give a tensor, which a graph can compute anew, not a "
                    f"{type(answer).__name__}"
                )
            )
        return answer.clone()

    return test


def _as_pair(combine_fn: Any) -> Any:
    return lambda carry, x: control.pair("scan", combine_fn(carry, x))


class _unrecorded:
    """Run ops that the trace does not keep: the node stands for them."""

    def __enter__(self) -> None:
        _C._start_recording(None, True)

    def __exit__(self, *error: object) -> None:
        _C._stop_recording()
