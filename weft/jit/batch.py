"""Traces for batches of any size: which numbers of a graph follow the size of the batch.

A trace holds the sizes of one call, as plain numbers: ``view(%x, (32, 784))``. Of a function that is
traced with one and with two rows more, the same ops come with other numbers, and those that grow by
as much each time follow the batch. A graph for another batch is the first one with these numbers put
right, recorded anew.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

import weft
from weft import _C

from .graph import Graph, Node, Value, _like, one_by_one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from weft import Tensor

__all__ = ["Follow", "find_follow", "for_batch"]

KEPT = 16  # graphs for other batches


class Follow(NamedTuple):
    """What of a graph follows the size of the batch: plain data, which files keep."""

    batch: int  # rows when it was traced
    inputs: tuple[int, ...]  # numbers of the inputs whose rows are the batch
    steps: tuple[
        tuple[int, tuple[int, ...], float], ...
    ]  # op, where in its arguments, growth a row

    def rows(self, graph: Graph, args: tuple[Any, ...]) -> int:
        """Return the rows of a batch that the graph could be made for; -1: there are none.

        >>> follow = weft.jit.trace(lambda x: x + 1, weft.ones(2, 3)).graph.follow
        >>> graph = weft.jit.trace(lambda x: x + 1, weft.ones(2, 3)).graph
        >>> follow.rows(graph, (weft.ones(5, 3),)), follow.rows(graph, (weft.ones(5, 4),))
        (5, -1)
        """
        if len(args) != len(graph.inputs) or not all(isinstance(t, _C.Tensor) for t in args):
            return -1
        rows = -1
        for i, (v, t) in enumerate(zip(graph.inputs, args)):
            shape = tuple(t.shape)
            if t.dtype != v.dtype or len(shape) != len(v.shape):
                return -1
            if i not in self.inputs:
                if shape != v.shape:
                    return -1
            elif shape[1:] != v.shape[1:] or rows not in (-1, shape[0]):
                return -1
            else:
                rows = shape[0]
        return rows


class Unlike(Exception):
    """Two traces of a function differ by more than numbers that follow the batch."""


def find_follow(
    record: Callable[[tuple[Any, ...]], Graph], graph: Graph, inputs: tuple[Any, ...]
) -> Follow | str:
    """Return what follows the batch of a traced function, or why that cannot be said.

    Args:
        record: traces the function with other inputs.
        graph: what it gave for these ones.
        inputs: the example that it was traced with; their rows are repeated for larger batches.
    """
    shapes = [tuple(t.shape) for t in inputs]
    batch = shapes[0][0] if shapes and shapes[0] else 0
    if batch == 0:
        return "its first input has no rows"
    candidates = [tuple(i for i, s in enumerate(shapes) if s[:1] == (batch,)), (0,)]
    reason = ""
    for chosen in dict.fromkeys(candidates):
        try:
            others = [record(_grown(inputs, chosen, batch + more)) for more in (1, 2)]
            return Follow(batch, chosen, tuple(_steps([graph, *others])))
        except Unlike as e:
            reason = reason or str(e)
        except Exception as e:  # the function takes no other batch, whatever it raises
            reason = reason or f"with {batch + 1} rows it raised {type(e).__name__}: {e!s:.200}"
    return reason


def _grown(inputs: tuple[Any, ...], chosen: tuple[int, ...], rows: int) -> tuple[Any, ...]:
    """Return inputs with more rows, which are those that are there once more."""
    made = list(inputs)
    for i in chosen:
        t = inputs[i].detach()
        more = t.index_select(0, weft.arange(rows) % t.shape[0])
        made[i] = more.requires_grad_(inputs[i].requires_grad)
    return tuple(made)


def _steps(graphs: list[Graph]) -> Iterator[tuple[int, tuple[int, ...], float]]:
    """Compare traces whose batches grow by one row each."""
    numbers: list[dict[int, int]] = [{} for _ in graphs]

    def count(values: list[list[Value]]) -> None:
        for known, found in zip(numbers, values):
            for v in found:
                known[id(v)] = len(known)

    def differ(xs: list[Any], where: str, path: tuple[int, ...]) -> Iterator[Any]:
        first = xs[0]
        if isinstance(first, Value):
            at = {known.get(id(x)) for known, x in zip(numbers, xs)}
            if len(at) > 1 or None in at:
                raise Unlike(f"{where} reads other results in a larger batch")
        elif any(type(x) is not type(first) for x in xs):
            raise Unlike(f"{where} is called in another way in a larger batch")
        elif isinstance(first, (list, tuple)):
            if len({len(x) for x in xs}) > 1:
                raise Unlike(f"{where} takes more arguments in a larger batch")
            for i, parts in enumerate(zip(*xs)):
                yield from differ(list(parts), where, (*path, i))
        elif isinstance(first, dict):
            if len({tuple(x) for x in xs}) > 1:
                raise Unlike(f"{where} has other names in a larger batch")
            for key in first:
                yield from differ([x[key] for x in xs], where, (*path, -1))
        elif any(x != first for x in xs) and not all(x != x for x in xs):
            step = xs[1] - first if type(first) in (int, float) else 0
            if not step or step != int(step) or xs[2] - xs[1] != step:
                raise Unlike(
                    f"{where} takes {', '.join(map(repr, xs))} in larger and larger batches"
                )
            yield path, step

    nodes = [list(one_by_one(g.nodes)) for g in graphs]
    constants = [g.constants for g in graphs]
    if len({len(n) for n in nodes}) > 1 or len({len(c) for c in constants}) > 1:
        raise Unlike("a larger batch takes other ops")
    for same in zip(*constants):
        if not all(_same(same[0].constant, v.constant) for v in same[1:]):
            raise Unlike(f"%{same[0].name} is made from the size of the batch")
    count([g.inputs for g in graphs])
    count(constants)
    for i, made in enumerate(zip(*nodes)):
        where = f"{made[0].op} at {made[0].line or 'an unknown line'}"
        if len({(n.op, n.inplace, n.grad, len(n.outputs)) for n in made}) > 1:
            raise Unlike(f"a larger batch takes other ops than {where}")
        for path, step in differ([n.args for n in made], where, ()):
            yield i, path, step
        count([n.outputs for n in made])
    for _ in differ([g.outputs for g in graphs], "the result", ()):
        raise Unlike("its result holds numbers that follow the batch")


def _same(a: Any, b: Any) -> bool:
    return a is b or (a.shape == b.shape and a.dtype == b.dtype and bool(weft.equal(a, b)))


def for_batch(graph: Graph, args: tuple[Tensor, ...]) -> Graph | None:
    """Return a graph for inputs of another batch; None where they differ by more than that.

    >>> f = weft.jit.trace(lambda x: x.reshape(x.shape[0] * 3), weft.ones(2, 3))
    >>> weft.jit.batch.for_batch(f.graph, (weft.ones(4, 3),)).nodes[0].args[1]
    (12,)
    """
    if graph.base is not None:
        from .passes import run_passes

        root, passes = graph.base
        found = for_batch(root, args)
        return None if found is None else run_passes(found, passes, remember=False)
    follow = graph.follow
    if follow is None or (rows := follow.rows(graph, args)) < 0:
        return None
    from .trace import recorded

    more = rows - follow.batch
    plain = Graph()
    plain.inputs, plain.constants, plain.outputs = graph.inputs, graph.constants, graph.outputs
    plain.nodes = list(graph.nodes)
    for at, path, step in follow.steps:
        old = plain.nodes[at]
        new = Node(old.op, _put(old.args, path, step * more), old.inplace, old.line, old.grad)
        new.outputs = old.outputs
        plain.nodes[at] = new
    with undone(graph):
        made = recorded(lambda *given: plain._run_ops(given), args)[0]
    members = {id(v.constant): v.member for v in graph.constants}
    for v in made.constants:
        v.member = members.get(id(v.constant))
    for new, old in zip(made.nodes, plain.nodes):
        new.line = old.line
    made.frozen, made.training = graph.frozen, graph.training
    return made


def _put(x: Any, path: tuple[int, ...], more: float) -> Any:
    """Return arguments in which one number is larger."""
    if not path:
        return type(x)(x + more)
    parts = list(x)
    parts[path[0]] = _put(parts[path[0]], path[1:], more)
    return _like(x, parts)


@contextmanager
def undone(graph: Graph) -> Iterator[None]:
    """Take back what ops do to random numbers and to the tensors that a graph holds."""
    state = weft.get_rng_state()
    held: list[Any] = [v.constant for v in graph.constants] if _writes(graph) else []
    before = [(t, t._version, t.detach().clone()) for t in held]
    try:
        yield
    finally:
        weft.set_rng_state(state)
        with weft.no_grad():
            for t, version, copy in before:
                if t._version != version:
                    t.copy_(copy)


def _writes(graph: Graph) -> bool:
    return any(n.inplace or n.op.endswith("_") for n in graph.nodes)
