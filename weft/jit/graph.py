"""A recorded program: values, and the ops that make them from each other."""

from __future__ import annotations

import weft
from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from weft import Tensor, dtype


class Value:
    """Something an op made or a call was given: a name, a shape and a dtype."""

    __slots__ = ("constant", "dtype", "member", "name", "producer", "shape")

    def __init__(self, name: str, t: Tensor) -> None:
        """Describe the tensor ``t``."""
        self.name = name
        self.shape = tuple(t.shape)
        self.dtype: dtype = t.dtype
        self.producer: Node | None = None
        self.constant: Tensor | None = None  # a tensor from outside the traced call
        self.member: str | None = None  # its path, if it is a parameter or buffer of a module

    @property
    def kind(self) -> str:
        """Dtype and shape as text.

        >>> weft.jit.graph.Value("x", weft.ones(2, 3)).kind
        'float32[2, 3]'
        """
        return f"{str(self.dtype).rpartition('.')[2]}{list(self.shape)}"

    def __repr__(self) -> str:
        """Return name and kind."""
        return f"%{self.name}: {self.kind}"


class Node:
    """One op of a graph: arguments (values or plain data), outputs, the line that called it."""

    __slots__ = ("args", "grad", "inplace", "line", "op", "outputs")

    def __init__(
        self, op: str, args: tuple[Any, ...], inplace: bool, line: str, grad: bool = True
    ) -> None:
        """Start a node without outputs; ``grad``: whether the tape was on."""
        self.op, self.args, self.inplace, self.line, self.grad = op, args, inplace, line, grad
        self.outputs: list[Value] = []

    def inputs(self) -> Iterator[Value]:
        """Iterate over the values it reads.

        >>> g = weft.jit.trace(lambda x: x * x, (weft.ones(1),)).graph
        >>> [v.name for v in g.nodes[0].inputs()]
        ['x0', 'x0']
        """
        for a in self.args:
            if isinstance(a, Value):
                yield a
            elif isinstance(a, list):
                yield from (v for v in a if isinstance(v, Value))

    def __repr__(self) -> str:
        """Return the node as a line of text."""
        outs = ", ".join(map(repr, self.outputs))
        name = self.op + ("_" if self.inplace and not self.op.endswith("_") else "")
        facts = [*([] if self.grad else ["no_grad"]), *([self.line] if self.line else [])]
        where = f"  # {', '.join(facts)}" if facts else ""
        return f"{outs} = {name}({', '.join(map(_text, self.args))}){where}"


def _text(a: Any) -> str:
    if isinstance(a, Value):
        return f"%{a.name}"
    if isinstance(a, list):
        return f"[{', '.join(map(_text, a))}]"
    return repr(a)


class Graph:
    """The ops of one call, in order."""

    def __init__(self) -> None:
        """Start empty."""
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.outputs: Any = None  # values in the structure that the function returned
        self.constants: list[Value] = []
        self._programs: dict[Any, Any] = {}  # by the strides of the inputs; None: it cannot be one
        self._fast: Any = None  # the one that ran last

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
        return "\n".join([*lines, f"  return {_text(_listed(self.outputs))}"])

    def __deepcopy__(self, memo: Any) -> Graph:
        """Copy without recursion along the ops; constants are copied as the rest of the object is."""
        import copy

        from .passes.rebuild import Rebuild

        made = Rebuild(self)
        for node in self.nodes:
            made.keep(node)
        for v in made.new.constants:
            v.constant = copy.deepcopy(v.constant, memo)
        return made.finish()

    def put(self, v: Value, tensor: Tensor) -> None:
        """Let a constant be another tensor of the same shape; with its dtype the inputs' changes.

        >>> g = weft.jit.trace(weft.nn.Linear(1, 1, bias=False), weft.ones(1, 1)).graph
        >>> g.put(g.constants[0], weft.ones(1, 1) * 3)
        >>> g.run(weft.ones(1, 1))
        tensor([[3.]])
        """
        if tuple(tensor.shape) != v.shape:
            kind = Value("", tensor).kind
            raise RuntimeError(f"graph: %{v.name} was traced as {v.kind}, and is now {kind}")
        if tensor.dtype != v.dtype:
            others = [*self.inputs, *(w for n in self.nodes for w in n.outputs)]
            for w in (*(w for w in others if w.dtype == v.dtype), v):
                w.dtype = tensor.dtype
        v.constant, self._fast = tensor, None
        self._programs.clear()

    def results(self) -> Iterator[Value]:
        """Iterate over the values that it returns.

        >>> g = weft.jit.trace(lambda x: (x, [x + 1]), (weft.ones(1),)).graph
        >>> [v.name for v in g.results()]
        ['x0', 'v1']
        """
        return _leaves(self.outputs)

    def verify(self) -> None:
        """Raise if a value is read before it is made, or an op is unknown.

        >>> weft.jit.trace(lambda x: x + 1, (weft.ones(1),)).graph.verify()
        """
        known = {row["name"] for row in _C._ops()}
        made = {id(v) for v in [*self.inputs, *self.constants]}
        for n in self.nodes:
            if n.op not in known:
                raise ValueError(f"graph: there is no op named '{n.op}' ({n!r})")
            for v in n.inputs():
                if id(v) not in made:
                    raise ValueError(f"graph: %{v.name} is read before it is made ({n!r})")
            made.update(id(v) for v in n.outputs)
        for v in self.results():
            if id(v) not in made:
                raise ValueError(f"graph: the result %{v.name} is never made")

    def _results(self) -> list[int]:
        """Return the ids of the values that the graph gives and that its ops make."""
        given = {id(v) for v in [*self.inputs, *self.constants]}
        return list(dict.fromkeys(id(v) for v in _leaves(self.outputs) if id(v) not in given))

    def _check(self, args: tuple[Any, ...]) -> None:
        """Raise unless the graph was taken with such inputs."""
        if len(args) != len(self.inputs):
            raise TypeError(f"graph: takes {len(self.inputs)} tensors, got {len(args)}")
        for v, t in zip(self.inputs, args):
            if not isinstance(t, _C.Tensor):
                raise TypeError(f"graph: input %{v.name} must be a Tensor, not {type(t).__name__}")
            if tuple(t.shape) != v.shape or t.dtype != v.dtype:
                kind = Value("", t).kind
                raise RuntimeError(f"graph: input %{v.name} was traced as {v.kind}, got {kind}")

    def _given(self, args: tuple[Tensor, ...]) -> dict[int, Any]:
        """Return what the values are that no op makes."""
        env: dict[int, Any] = {id(v): v.constant for v in self.constants}
        env.update((id(v), t) for v, t in zip(self.inputs, args))
        return env

    def _finished(self, made: list[Tensor], args: tuple[Tensor, ...]) -> Any:
        """Return the results in the structure that the function returned."""
        if isinstance(self.outputs, Value) and made:
            return made[0]
        return _rebuild(self.outputs, {**self._given(args), **dict(zip(self._results(), made))})

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
        if self._fast is not None and (made := self._fast.run(args)) is not None:
            return self._finished(made, args)
        self._check(args)
        program = self._program(args)
        if program is not None and (made := program.run(args)) is not None:
            self._fast = program
            return self._finished(made, args)
        autocast, *rest = _C._autocast_state()  # what it casts, a trace has recorded
        _C._set_autocast(False, *rest)
        try:
            return _rebuild(self.outputs, self._run_nodes(args))
        finally:
            _C._set_autocast(autocast, *rest)

    def _run_nodes(self, args: tuple[Tensor, ...]) -> dict[int, Any]:
        """Run one op after the other; return all values."""
        env = self._given(args)
        for n in self.nodes:
            given = tuple(_substitute(a, env) for a in n.args)
            grad = _C._grad_enabled()
            _C._set_grad_enabled(grad and n.grad)
            try:
                made = _C._call_op(n.op, given, n.inplace)
            finally:
                _C._set_grad_enabled(grad)
            for v, t in zip(n.outputs, made):
                env[id(v)] = t
        return env


def _as_program(graph: Graph, args: tuple[Tensor, ...]) -> Any:
    """Return a static program that does what a graph does, or None where one cannot."""
    program = _C.Program()
    number: dict[int, int] = {}

    def where(a: Any) -> Any:
        if isinstance(a, Value):
            return number[id(a)]
        if isinstance(a, list) and any(isinstance(x, Value) for x in a):
            return [-1 if x is None else number[id(x)] for x in a]
        return None

    try:
        number.update((id(v), program.add_input(t)) for v, t in zip(graph.inputs, args))
        number.update((id(v), program.add_constant(v.constant)) for v in graph.constants)
        for n in graph.nodes:
            places = tuple(map(where, n.args))
            plain = tuple(None if p is not None else a for a, p in zip(n.args, places))
            derivative = all(0 not in v.shape for v in n.outputs[1:])
            made = program.add(n.op, plain, places, n.inplace, derivative)
            number.update((id(v), k) for v, k in zip(n.outputs, made))
        program.finish([number[v] for v in graph._results()])
    except NotImplementedError:  # an op whose shapes follow from values, a sparse tensor
        return None
    return program


def _substitute(a: Any, env: dict[int, Tensor]) -> Any:
    if isinstance(a, Value):
        return env[id(a)]
    return [_substitute(x, env) for x in a] if isinstance(a, list) else a


def _listed(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [_listed(v) for v in x]
    return [_listed(v) for v in x.values()] if isinstance(x, dict) else x


def _leaves(x: Any) -> Iterator[Value]:
    if isinstance(x, Value):
        yield x
    elif isinstance(x, (tuple, list)):
        for v in x:
            yield from _leaves(v)
    elif isinstance(x, dict):
        for v in x.values():
            yield from _leaves(v)


def _rebuild(x: Any, env: dict[int, Tensor]) -> Any:
    if isinstance(x, Value):
        return env[id(x)]
    if isinstance(x, dict):
        return {k: _rebuild(v, env) for k, v in x.items()}
    return _like(x, [_rebuild(v, env) for v in x]) if isinstance(x, (tuple, list)) else x


def _like(x: Any, parts: list[Any]) -> Any:
    """Return a sequence of these parts of the kind of ``x``; named ones keep their names."""
    return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)


def _place(t: Tensor) -> tuple[Any, ...]:
    """Return what two tensors of the same elements in the same memory have in common."""
    return t.data_ptr(), tuple(t.shape), t.stride(), t.dtype


class TracerWarning(UserWarning):
    """The traced function did something that its graph keeps as it was in that one call.

    >>> issubclass(weft.jit.TracerWarning, UserWarning)
    True
    """


class Recorder:
    """Builds a graph from the calls that pass the gate."""

    def __init__(self) -> None:
        """Start with an empty graph."""
        self.graph = Graph()
        self.values: dict[int, Value] = {}
        self.places: dict[Any, Value] = {}  # by memory: what backward kept is another object there
        self.alive: list[Tensor] = []  # an address must not be reused while it stands for a value

    def name(self, t: Tensor, prefix: str) -> Value:
        """Give ``t`` a fresh name."""
        count = len(self.graph.inputs) if prefix == "x" else len(self.alive)
        v = Value(f"{prefix}{count}", t)
        self.values[id(t)] = v
        self.alive.append(t)
        if t.numel():
            self.places[_place(t)] = v
        return v

    def value(self, a: Any) -> Any:
        """Return what stands for an argument: a value for a tensor, lists of them, or itself."""
        if isinstance(a, list):
            return [self.value(x) for x in a]
        if not isinstance(a, weft.Tensor):
            return a
        if id(a) not in self.values:
            known = self.places.get(_place(a)) if a.numel() else None
            if known is not None:
                self.values[id(a)] = known
                self.alive.append(a)
                return known
            v = self.name(a, "c")
            v.constant = a
            self.graph.constants.append(v)
        return self.values[id(a)]

    def record(
        self, op: str, args: Any, outs: Any, inplace: bool, line: str, given: bool, grad: bool
    ) -> None:
        """Take one call of the gate; ``given``: its results went into tensors given by out=."""
        node = Node(op, tuple(self.value(a) for a in args), inplace, line, grad)
        if given:
            self.graph.nodes.append(node)
            for t in outs:
                fresh = Value(f"v{len(self.alive)}_out", t)
                fresh.producer = node
                node.outputs.append(fresh)
                copy = Node("copy_", (self.value(t), fresh), True, line, grad)
                v = self.name(t, "v")
                v.producer = copy
                copy.outputs.append(v)
                self.graph.nodes.append(copy)
            return
        for t in outs:
            v = self.name(t, "v")
            v.producer = node
            node.outputs.append(v)
        self.graph.nodes.append(node)

    def became(self, t: Tensor, view: Tensor) -> None:
        """``t`` has taken the geometry of ``view``, a view of itself: it is that value from now on."""
        self.values[id(t)] = self.value(view)
        self.alive.append(t)

    def read(self, what: str, line: str) -> None:
        """Warn that elements became Python numbers: what depends on them is fixed in the graph."""
        import warnings

        warnings.warn(
            f"trace: {what} at {line} turns a tensor into Python values. The graph keeps the values "
            "and branches of this one call: it will be wrong for inputs that would give others.",
            TracerWarning,
            stacklevel=3,
        )

    def lost(self, what: str, line: str) -> None:
        """Raise: the graph has no op for what was done, and would be wrong without it."""
        raise NotImplementedError(f"trace: {what} at {line} cannot be recorded in a graph")

    def structure(self, x: Any) -> Any:
        """Replace the tensors in a result by their values."""
        if isinstance(x, weft.Tensor):
            return self.value(x)
        if isinstance(x, dict):
            return {k: self.structure(v) for k, v in x.items()}
        if isinstance(x, (tuple, list)):
            return _like(x, [self.structure(v) for v in x])
        return x
