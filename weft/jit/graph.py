"""A recorded program: values, and the ops that make them from each other."""

from __future__ import annotations

import functools
import textwrap
from operator import itemgetter
from typing import NamedTuple

from weft import _C
from weft.utils.pytree import LEAF, TreeSpec

from .op_schema import misfit
from .pytree import flatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from weft import Tensor, dtype


# What values and nodes are made of: files hold these fields, in this order, and ``verify`` looks at them.
VALUE_FIELDS: dict[str, type] = {"id": int, "name": str, "shape": tuple, "dtype": _C.dtype}
NODE_FIELDS: dict[str, type] = {
    "op": str, "args": tuple, "inplace": bool, "line": str, "grad": bool, "outputs": list, "graphs": tuple,
}  # fmt: skip


class Value:
    """A tensor of a graph, assigned once: given to it, a constant, or a result of a node.

    Its id is a number that no other value of the graph has. A pass makes another graph, whose values
    have the ids of those that they stand for. Graphs make values: ``Graph.value``.
    """

    __slots__ = (
        "constant", "dtype", "id", "literal", "member", "name", "producer", "shape", "stride",
    )  # fmt: skip

    def __init__(
        self, id: int, name: str, shape: tuple[int, ...], dtype: dtype,
        stride: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        """Describe a tensor; ``stride`` is None if it is sparse, or not known."""
        self.id, self.name = id, name
        self.shape, self.dtype, self.stride = shape, dtype, stride
        self.producer: Node | None = None
        self.constant: Tensor | None = None  # a tensor from outside the traced call
        self.literal = ""  # what such a tensor is made of, where nobody can change it
        self.member: str | None = None  # its path, if it is a parameter or buffer of a module

    def twin(self) -> Value:
        """Return the value of another graph of which all the same is known, but for its producer."""
        new = Value(self.id, self.name, self.shape, self.dtype, self.stride)
        new.constant, new.literal, new.member = self.constant, self.literal, self.member
        return new

    @property
    def kind(self) -> str:
        """Dtype and shape as text.

        >>> weft.jit.Graph().value("x", weft.ones(2, 3)).kind
        'float32[2, 3]'
        """
        return _kind(self.shape, self.dtype)

    def __repr__(self) -> str:
        """Return name and kind."""
        return f"%{self.name}: {self.kind}"


def _kind(shape: Sequence[int], dtype: dtype) -> str:
    return f"{str(dtype).rpartition('.')[2]}{list(shape)}"


class Live:
    """A number that an op reads anew in each run, from the options of an optimiser.

    >>> weft.jit.graph.Live({"betas": (0.9, 0.99)}, "betas", 1).now()
    0.99
    """

    def __init__(self, group: dict[str, Any], key: str, place: int) -> None:
        """Name a dict, a key, and the place in a tuple there (-1: it is no tuple)."""
        self.group, self.key, self.place = group, key, place
        self.seen = self.now()  # when it was captured

    def now(self) -> float:
        """Return the number as it is now.

        >>> weft.jit.graph.Live({"lr": 0.1}, "lr", -1).now()
        0.1
        """
        value = self.group[self.key]
        return value if self.place < 0 else value[self.place]

    def __repr__(self) -> str:
        """Return its name."""
        return f"{self.key}[{self.place}]" if self.place >= 0 else self.key


class Node:
    """One op of a graph: arguments (values or plain data), outputs, the line that called it."""

    __slots__ = ("args", "grad", "graphs", "inplace", "line", "op", "outputs", "parts")

    def __init__(
        self, op: str, args: tuple[Any, ...], inplace: bool, line: str, grad: bool = True
    ) -> None:
        """Start a node without outputs; ``grad``: whether the tape was on."""
        self.op, self.args, self.inplace, self.line, self.grad = op, args, inplace, line, grad
        self.outputs: list[Value] = []
        self.parts: list[Node] | None = None  # the ops that a fused one stands for
        self.graphs: tuple[
            Graph, ...
        ] = ()  # of control flow: what it may run (weft/jit/control_flow.py)

    def give(self, outputs: list[Value]) -> Node:
        """Let these values be its results; return the node itself."""
        self.outputs = outputs
        for v in outputs:
            v.producer = self
        return self

    def inputs(self) -> list[Value]:
        """Return the values it reads.

        >>> g = weft.jit.trace(lambda x: x * x, (weft.ones(1),)).graph
        >>> [v.name for v in g.nodes[0].inputs()]
        ['x0', 'x0']
        """
        found = []
        for a in self.args:
            kind = type(a)
            if kind is Value:
                found.append(a)
            elif kind is list:
                found += [v for v in a if type(v) is Value]
        return found

    def __repr__(self) -> str:
        """Return the node as a line of text."""
        outs = ", ".join(map(repr, self.outputs))
        name = self.op + ("_" if self.inplace and not self.op.endswith("_") else "")
        facts = [*([] if self.grad else ["no_grad"]), *([self.line] if self.line else [])]
        where = f"  # {', '.join(facts)}" if facts else ""
        inside = "".join(textwrap.indent(f"\n{g!r}", "    ") for g in self.graphs)
        return f"{outs} = {name}({', '.join(map(_text, self.args))}){where}{inside}"


def _text(a: Any) -> str:
    if isinstance(a, Value):
        return f"%{a.name}"
    if isinstance(a, list):
        return f"[{', '.join(map(_text, a))}]"
    return repr(a)


class _Text(str):
    """A text that is its own repr."""

    __slots__ = ()
    __repr__ = str.__str__


class Step(NamedTuple):
    """A pass that a graph went through: its name, and the graph before and after, without tensors."""

    name: str
    before: Graph
    after: Graph


class Graph:
    """The ops of one call, in order."""

    def __init__(self) -> None:
        """Start empty."""
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.count = 0  # of values that it has made: the id of the next
        self.outputs: list[Any] = []  # the leaves of the result: values, and plain data
        self.spec: TreeSpec = LEAF  # the structure of the result
        self.constants: list[Value] = []
        self.frozen = False  # whether its constants stay as they are for good
        self.training = False  # whether it is the call of a module in the mode of training
        self.history: list[Step] = []  # the passes that it went through
        self._programs: dict[Any, Any] = {}  # by the strides of the inputs; None: it cannot be one
        self._fast: Any = None  # the one that ran last
        self._order: Any = None  # how it runs op by op

    def __iter__(self) -> Iterator[Node]:
        """Iterate over the nodes in the order of the program."""
        return iter(self.nodes)

    def __repr__(self) -> str:
        """Return the program as text."""
        head = ", ".join(map(repr, self.inputs))
        lines = [f"graph({head}):"]
        lines += [
            f"  %{v.name}: {v.kind} = {f'member {v.member}' if v.member else 'constant'}"
            for v in self.constants
        ]
        lines += [f"  {n!r}" for n in self.nodes]
        return "\n".join([*lines, f"  return {self._returned_text()}"])

    def __deepcopy__(self, memo: Any) -> Graph:
        """Copy without recursion along the ops; constants are copied as the rest of the object is."""
        import copy

        from .passes.rebuild import copied

        made = copied(self)
        for v in made.constants:
            v.constant = copy.deepcopy(v.constant, memo)
        made.history = list(self.history)
        return made

    def value(self, prefix: str, t: Tensor) -> Value:
        """Return a new value that stands for a tensor; its name is the prefix and its id.

        >>> weft.jit.Graph().value("x", weft.ones(2))
        %x0: float32[2]
        """
        return self.fresh(f"{prefix}{self.count}", *_C._geometry(t))

    def fresh(
        self, name: str, shape: tuple[int, ...], dtype: dtype, stride: tuple[int, ...] | None = None
    ) -> Value:
        """Return a new value that no op has made yet."""
        made = Value(self.count, name, shape, dtype, stride)
        self.count += 1
        return made

    def adopt(self, v: Value) -> Value:
        """Return a new value that stands for one of another graph."""
        made = v.twin()
        made.id, self.count = self.count, self.count + 1
        return made

    def put(self, v: Value, tensor: Tensor) -> None:
        """Let a constant be another tensor of the same shape; with its dtype the inputs' changes.

        >>> g = weft.jit.trace(weft.nn.Linear(1, 1, bias=False), weft.ones(1, 1)).graph
        >>> g.put(g.constants[0], weft.ones(1, 1) * 3)
        >>> g.run(weft.ones(1, 1))
        tensor([[3.]])
        """
        if tuple(tensor.shape) != v.shape:
            kind = _kind(tensor.shape, tensor.dtype)
            raise RuntimeError(f"graph: %{v.name} was traced as {v.kind}, and is now {kind}")
        if tensor.dtype != v.dtype:
            others = [*self.inputs]
            self.unfuse()  # a loop is made for its dtypes
            others += [w for n in self.nodes for w in n.outputs]
            for w in (*(w for w in others if w.dtype == v.dtype), v):
                w.dtype = tensor.dtype
        v.constant = tensor
        self.forget()

    def forget(self) -> None:
        """Forget how it was run: a constant is another tensor now.

        >>> weft.jit.Graph().forget()
        """
        self._fast = self._order = None
        self._programs.clear()

    def unfuse(self) -> None:
        """Put the ops that fused ones stand for in their places.

        >>> g = weft.jit.passes.fuse(weft.jit.trace(lambda x: x * 2 + 1, (weft.ones(2),)).graph)
        >>> g.unfuse()
        >>> [node.op for node in g]
        ['mul', 'add']
        """
        self.nodes = list(one_by_one(self.nodes))
        for n in self.nodes:
            n.give(n.outputs)

    def results(self) -> Iterator[Value]:
        """Iterate over the values that it returns.

        >>> g = weft.jit.trace(lambda x: (x, [x + 1]), (weft.ones(1),)).graph
        >>> [v.name for v in g.results()]
        ['x0', 'v1']
        """
        return (v for v in self.outputs if type(v) is Value)

    def returns(self, result: Any) -> None:
        """Let the graph return a pytree of values and plain data.

        >>> g = weft.jit.Graph()
        >>> g.returns({"a": [1, 2]})
        >>> g.outputs, g.returned
        ([1, 2], {'a': [1, 2]})
        """
        self.outputs, self.spec = flatten(result)

    @property
    def returned(self) -> Any:
        """The pytree of values and plain data that it returns."""
        return self.spec.unflatten(self.outputs) if self.outputs or self.spec is not LEAF else None

    def _filled(self, env: dict[Value, Any]) -> Any:
        """Return the result, with what ``env`` has for its values."""
        return self.spec.unflatten([env[v] if type(v) is Value else v for v in self.outputs])

    def _returned_text(self) -> str:
        if not self.outputs and self.spec is LEAF:
            return "None"
        return repr(self.spec.unflatten([_Text(_text(v)) for v in self.outputs]))

    def verify(self) -> None:
        """Raise ValueError unless each value is made once, before it is read, by an op that can make it.

        >>> weft.jit.trace(lambda x: x + 1, (weft.ones(1),)).graph.verify()
        """
        made: set[Value] = set()
        ids: set[int] = set()

        def define(v: Value, by: Node | None) -> None:
            if type(v) is not Value or not _has_fields(v, VALUE_FIELDS):
                raise ValueError(f"graph: {getattr(v, 'name', v)!r:.100} is no value")
            if v in made or v.id in ids:
                raise ValueError(f"graph: %{v.name} ({v.id}) is made twice")
            if v.producer is not by:
                raise ValueError(f"graph: %{v.name} does not name what makes it")
            made.add(v)
            ids.add(v.id)

        for v in (*self.inputs, *self.constants):
            define(v, None)
        for n in self.nodes:
            if not _has_fields(n, NODE_FIELDS):
                raise ValueError(f"graph: {n.op!r:.100} is no node")
            if n.graphs:
                from .control_flow import verify

                verify(n)
            elif why := misfit(n):
                raise ValueError(f"graph: {n.op}: {why} ({n!r})")
            for v in n.inputs():
                if v not in made:
                    raise ValueError(f"graph: %{v.name} is read before it is made ({n!r})")
            for v in n.outputs:
                define(v, n)
        for v in self.results():
            if v not in made:
                raise ValueError(f"graph: the result %{v.name} is never made")
        if ids and max(ids) >= self.count:
            raise ValueError(f"graph: the next value would have the id {self.count} of another one")

    def _results(self) -> list[Value]:
        """Return the values that the graph gives and that its ops make."""
        given = {*self.inputs, *self.constants}
        return list(dict.fromkeys(v for v in self.results() if v not in given))

    def has_other_sizes(self, args: tuple[Any, ...]) -> bool:
        """Say whether these are tensors for its inputs, but of other sizes than it was taken with."""
        sizes = [tuple(t.shape) for t in args if isinstance(t, _C.Tensor)]
        own = [v.shape for v in self.inputs]
        return sizes != own and len(sizes) == len(args) == len(own)

    def _check(self, args: tuple[Any, ...]) -> None:
        """Raise unless the graph was taken with such inputs."""
        if len(args) != len(self.inputs):
            raise TypeError(f"graph: takes {len(self.inputs)} tensors, got {len(args)}")
        for v, t in zip(self.inputs, args):
            if not isinstance(t, _C.Tensor):
                raise TypeError(f"graph: input %{v.name} must be a Tensor, not {type(t).__name__}")
            if tuple(t.shape) != v.shape or t.dtype != v.dtype:
                kind = _kind(t.shape, t.dtype)
                raise RuntimeError(
                    f"graph: input %{v.name} was traced as {v.kind}, got {kind}. A trace is one call, "
                    "with its shapes and dtypes: trace with check_inputs of other sizes, or use "
                    "weft.jit.script, weft.jit.fuse or weft.compile, which take others"
                )

    def _given(self, args: tuple[Tensor, ...]) -> dict[Value, Any]:
        """Return what the values are that no op makes."""
        return {**{v: v.constant for v in self.constants}, **dict(zip(self.inputs, args))}

    def _finished(self, made: list[Tensor], args: tuple[Tensor, ...]) -> Any:
        """Return the results in the structure that the function returned."""
        if made and self.spec is LEAF:
            return made[0]
        return self._filled({**self._given(args), **dict(zip(self._results(), made))})

    def _program(self, args: tuple[Tensor, ...]) -> Any:
        """Return the graph as a static program for inputs that lie like these; None if it is none."""
        key = tuple(t.stride() for t in args)
        program = self._programs.get(key)
        if key not in self._programs or (program is not None and program.stale):
            if len(self._programs) >= 8:  # of many layouts the last are kept
                del self._programs[next(iter(self._programs))]
            program = self._programs[key] = _as_program(self, args)
        return program

    def run(self, *args: Tensor) -> Any:
        """Run the program on tensors of the shapes and dtypes it was taken with."""
        if _C._pause_recording():
            _C._resume_recording()  # a trace wants to see the ops
        elif not self._learns(args):
            if self._fast is not None and (made := self._fast.run(args)) is not None:
                return self._finished(made, args)
            self._check(args)
            program = self._program(args)
            if program is not None and (made := program.run(args)) is not None:
                self._fast = program
                return self._finished(made, args)
            return self._run_ops(args)
        self._check(args)
        return self._run_ops(args)

    def _learns(self, args: tuple[Any, ...]) -> bool:
        """Say whether gradients will be wanted of what it gives."""
        if not _C._grad_enabled():
            return False
        given = args if self.frozen else (*args, *(v.constant for v in self.constants))
        return any(getattr(t, "requires_grad", False) for t in given)

    def _run_ops(self, args: tuple[Tensor, ...]) -> Any:
        """Run op by op: gradients are recorded, and so are the ops if a trace is taken."""
        if self._order is None:
            self._order = _ordered(self)
        start, steps, results = self._order
        env = [*args, *start]
        for run, read, inplace, grad in steps:
            if grad or not _C._grad_enabled():
                env += run(read(env), inplace)
            else:
                _C._set_grad_enabled(False)
                try:
                    env += run(read(env), inplace)
                finally:
                    _C._set_grad_enabled(True)
        return self._filled({v: env[at] for v, at in results})


def _has_fields(x: Any, fields: dict[str, type]) -> bool:
    return all(isinstance(getattr(x, name), kind) for name, kind in fields.items())


def _ordered(graph: Graph) -> tuple[list[Any], list[Any], list[Any]]:
    """Return what stands behind the inputs at first, the ops that add to that, and the results.

    Values and plain arguments are numbers of places in one list.
    """
    constants = graph.constants
    at = {v: i for i, v in enumerate([*graph.inputs, *constants])}
    nodes = list(one_by_one(graph.nodes))
    plain = [a for n in nodes for a in n.args if not _holds_values(a)]
    start = [*(v.constant for v in constants), *plain]
    free, steps = len(at), []  # the place of the next plain argument
    made = len(graph.inputs) + len(start)
    for n in nodes:
        places: list[Any] = []
        for a in n.args:
            if isinstance(a, Value):
                places.append(at[a])
            elif _holds_values(a):
                places.append([None if x is None else at[x] for x in a])
            else:
                places.append(free)
                free += 1
        steps.append((_runner(n), _reader(places), n.inplace, n.grad))
        at.update(zip(n.outputs, range(made, made + len(n.outputs))))
        made += len(n.outputs)
    return start, steps, [(v, at[v]) for v in graph.results()]


def _runner(node: Node) -> Any:
    """Return a function of arguments and whether it works in place, which gives the outputs."""
    if node.graphs:
        from .control_flow import run

        return lambda args, inplace: run(node, args)
    return functools.partial(_C._call_op, node.op)


def _holds_values(a: Any) -> bool:
    return isinstance(a, Value) or (isinstance(a, list) and any(isinstance(x, Value) for x in a))


def _reader(places: list[Any]) -> Any:
    """Return a function that takes what is in some places of a list."""
    if len(places) > 1 and all(isinstance(p, int) for p in places):
        return itemgetter(*places)

    def read(env: list[Any]) -> tuple[Any, ...]:
        return tuple(
            env[p] if isinstance(p, int) else [None if i is None else env[i] for i in p]
            for p in places
        )

    return read


def one_by_one(nodes: list[Node]) -> Iterator[Node]:
    """Iterate over ops, those that fused ones stand for in their places: some may be without gradient."""
    for n in nodes:
        yield from n.parts or (n,)


def take_apart(nodes: list[Node]) -> None:
    """Let ops that nobody needs any more be freed at once: they and their results name each other.

    >>> g = weft.jit.trace(lambda x: x + 1, (weft.ones(1),)).graph
    >>> weft.jit.graph.take_apart(g.nodes)
    >>> g.outputs[0].producer is None
    True
    """
    for n in nodes:
        for v in n.outputs:
            v.producer = None
        if n.parts is not None:
            take_apart(n.parts)


def _as_program(graph: Graph, args: tuple[Tensor, ...]) -> Any:
    """Return a static program that does what a graph does, or None where one cannot."""
    if any(n.graphs for n in graph.nodes):  # a program takes no decisions
        return None
    if graph.frozen:
        from .passes.inplace import in_place

        graph = in_place(graph)
    try:
        return program_of(graph, args, graph._results())[0]
    except NotImplementedError:  # an op whose shapes follow from values, a sparse tensor
        return None


def program_of(
    graph: Graph, args: Sequence[Tensor], results: list[Value], lent: Sequence[int] = ()
) -> tuple[Any, list[Any]]:
    """Return a graph as a static program.

    Args:
        graph: whose ops it runs.
        args: tensors that lie as its inputs will.
        results: the values that it gives, in this order.
        lent: which of them may lie in the program's own memory until the next run.

    Returns:
        The program, and the numbers that its ops read anew in each run: (op, argument, where).
    """
    program = _C.Program()
    number = {v: program.add_input(t) for v, t in zip(graph.inputs, args)}
    number.update((v, program.add_constant(v.constant)) for v in graph.constants)
    live = []
    for step, n in enumerate(graph.nodes):
        plain: list[Any] = []
        places: list[Any] = []
        for k, a in enumerate(n.args):
            if isinstance(a, Value):
                places.append(number[a])
            elif _holds_values(a):
                places.append([-1 if x is None else number[x] for x in a])
            else:
                places.append(None)
                if isinstance(a, Live):
                    live.append((step, k, a))
                    a = a.now()
            plain.append(a if places[-1] is None else None)
        derivative = all(0 not in v.shape for v in n.outputs[1:])
        made = program.add(n.op, tuple(plain), tuple(places), n.inplace, derivative, n.line or "")
        number.update(zip(n.outputs, made))
    program.finish([number[v] for v in results], list(lent))
    return program, live
