"""Pointwise ops that can run in one loop become one op, ``fused``, whose loop is machine code."""

from __future__ import annotations

import functools

import weft
from weft import _C
from weft.jit.codegen.fused_group import KIND_OF, REDUCTIONS, Group, Ref, Step, type_argument
from weft.jit.codegen.loop import missing
from weft.jit.codegen.pointwise_ops import ROWS
from weft.jit.graph import Live, Node, Value
from weft.jit.op_schema import is_pointwise

from .dependence import Dependence
from .rebuild import Rebuild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from weft.jit.graph import Graph

__all__ = ["fuse"]

_LONGEST = 64  # ops of one group: beyond it, compiling takes longer than it is worth
_WINDOW = 256  # ops: how much earlier than in the program one may run
_LONG_ROW = 64  # elements: in shorter rows, operands that repeat are copied
_FILLS = {"ones_like": 1, "zeros_like": 0, "ones": 1, "zeros": 0}
_SAME = frozenset({"detach", "alias"})
_VIEWS = frozenset({"view", "expand", "reshape", "unsqueeze", "squeeze", "transpose", "permute"})


def fuse(graph: Graph, reasons: list[tuple[str, str]] | None = None) -> Graph:
    """Join pointwise ops, and a reduction of what they give, into groups that run as one loop.

    The results are those of eager, bit for bit. What other ops read of a group becomes a result
    of it. Ops that change memory stay where they are, as do random ones.

    Args:
        graph: it stays as it is.
        reasons: if given, gets a pair for every pointwise op that stays by itself: the op, and why.

    >>> g = weft.jit.trace(lambda x: (x * 2 + 1).tanh().sum(), (weft.ones(3),)).graph
    >>> [node.op for node in weft.jit.passes.fuse(g)]
    ['fused']
    """
    plan = _Plan(graph, [] if reasons is None else reasons)
    return plan.rebuilt()


@functools.cache
def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


class _Plan:
    def __init__(self, graph: Graph, reasons: list[tuple[str, str]]) -> None:
        self.graph, self.reasons, self.isa = graph, reasons, _C._isa()
        self.where = {n: i for i, n in enumerate(graph.nodes)}
        self.inputs = [n.inputs() for n in graph.nodes]
        self.dependence = Dependence(graph)
        self.uniform: dict[Value, Any] = {}  # values all of whose elements are this number
        self.same: dict[Value, Value] = {}  # values that are others under another name
        self.fusable = [self.look_at(n) for n in graph.nodes]
        # Which nodes read numbers that are known, and other names of values, by themselves.
        self.knows = [
            f or n.op in REDUCTIONS for f, n in zip(self.fusable, graph.nodes)
        ]  # fmt: skip
        self.results = set(graph.results())
        self.idle = self.find_idle()
        self.deps = [self.before(i) for i in range(len(graph.nodes))]
        self.after: list[list[int]] = [[] for _ in graph.nodes]
        for i, deps in enumerate(self.deps):
            for d in deps:
                self.after[d].append(i)

    # ---- what nodes are

    def look_at(self, node: Node) -> bool:
        """Note what is known of a node; say whether it can be part of a loop."""
        self.note_uniform(node)
        if node.op in _SAME and isinstance(node.args[0], Value):
            self.same[node.outputs[0]] = self.named(node.args[0])
        if not _is_loop(node):
            return False
        why = self.reason(node)
        if why:
            self.reasons.append((repr(node), why))
        return not why

    def reason(self, node: Node) -> str:
        """Return why a pointwise node cannot be part of a loop, or nothing."""
        if node.inplace:
            return "it changes a tensor in place"
        if len(node.outputs) != 1:
            return "it has several results"
        if any(isinstance(a, Live) for a in node.args):
            return "it reads a number anew in each run"
        operands = [a for a in node.args if isinstance(a, Value)]
        if any(v.constant is not None and v.constant.is_sparse for v in operands):
            return "an operand is sparse"
        dtypes = [_name(v.dtype) for v in operands]
        why = missing(node.op, node.args, dtypes, _name(node.outputs[0].dtype), self.isa)
        if why or ROWS.get(node.op) is None or ROWS[node.op].rule != "compare":
            return why
        for a in node.args:  # the number must not outrank the tensor
            if not isinstance(a, Value) and _rank(a) > _rank_of(dtypes[0]):
                return f"{node.op} compares {dtypes[0]} and {type(a).__name__}"
        return ""

    def note_uniform(self, node: Node) -> None:
        """Note that all elements of a result are one number, if that is known without running."""
        if len(node.outputs) != 1 or self.dependence.is_written(node.outputs[0]):
            return
        out = node.outputs[0]
        if _name(out.dtype) not in KIND_OF or node.inplace:
            return
        if node.op in _FILLS:
            self.uniform[out] = _element(_FILLS[node.op], out)
        elif node.op == "full_like" and not isinstance(node.args[1], Value):
            self.uniform[out] = _element(node.args[1], out)
        elif node.op in (*_VIEWS, *_SAME) and node.args[0] in self.uniform:
            self.uniform[out] = self.uniform[node.args[0]]
        elif _is_loop(node) and all(v in self.uniform for v in node.inputs()):
            self.uniform[out] = self.computed(node)

    def computed(self, node: Node) -> Any:
        """Return what a pointwise op gives for operands that are known."""
        args = tuple(
            weft.tensor(self.uniform[a], dtype=a.dtype).view((1,) * len(a.shape))
            if isinstance(a, Value)
            else a
            for a in node.args
        )
        with weft.no_grad():
            return _C._call_op(node.op, args, False)[0].item()

    def named(self, v: Value) -> Value:
        return self.same.get(v, v)

    def find_idle(self) -> set[int]:
        """Return the nodes that only make numbers that are known, or other names, or what nobody reads."""
        read = set(self.results)
        idle = set()
        for i in range(len(self.graph.nodes) - 1, -1, -1):
            node, knows = self.graph.nodes[i], self.knows[i]
            spare = len(node.outputs) == 1 and (knows or self.is_known(node.outputs[0]))
            if spare and node.outputs[0] not in read:
                idle.add(i)
            else:
                read.update(self.given(i))
        return idle

    def given(self, i: int) -> list[Value]:
        """Return the values that node i reads, as far as it does not know them by itself."""
        if not self.knows[i]:
            return self.inputs[i]
        found = [v for v in self.inputs[i] if v not in self.uniform]
        return [self.same.get(v, v) for v in found] if self.same else found

    def is_known(self, v: Value) -> bool:
        return v in self.uniform or v in self.same

    def before(self, i: int) -> list[int]:
        """Return the nodes that must run before node i."""
        if i in self.idle:
            return []
        deps = set(self.dependence.before[i])
        for v in self.given(i):
            if v.producer is not None:
                deps.add(self.where[v.producer])
        return sorted(deps - self.idle)

    # ---- what runs when

    def schedule(self) -> list[list[int]]:
        """Return all nodes in an order in which they can run; those of a list run as one.

        Ops that cannot be fused run as early as they can: what waits for several of them can then
        be one group.
        """
        waiting = [len(d) for d in self.deps]
        ready = {i for i, n in enumerate(waiting) if n == 0} - self.idle
        units: list[list[int]] = []

        def done(members: Iterable[int]) -> None:
            for i in members:
                ready.discard(i)
                waiting[i] = -1
            for i in members:
                for j in self.after[i]:
                    if waiting[j] > 0:
                        waiting[j] -= 1
                        if waiting[j] == 0:
                            ready.add(j)

        while ready:
            loops = [i for i in ready if self.fusable[i]]
            end = min(loops) + _WINDOW if loops else len(waiting)
            plain = sorted(i for i in ready if not self.fusable[i] and i < end)
            for i in plain:
                units.append([i])
                done([i])
            if plain:
                continue
            for part in self.parts(self.closed(min(loops), ready, waiting)):
                units.append(part)
                done(part)
        return units

    def closed(self, first: int, ready: set[int], waiting: list[int]) -> list[int]:
        """Return all nodes of the shape of ``first`` that can run now, one after the other."""
        shape = self.shape(first)
        found = {i for i in ready if self.fusable[i] and self.shape(i) == shape}
        left: dict[int, int] = {}
        stack = sorted(found, reverse=True)
        while stack:
            i = stack.pop()
            for j in self.after[i]:
                left[j] = left.get(j, waiting[j]) - 1
                if left[j] == 0 and j not in found:
                    if self.fusable[j] and self.shape(j) == shape:
                        found.add(j)
                        stack.append(j)
                    elif self.joins(j):
                        found.add(j)
        return sorted(found)

    def shape(self, i: int) -> tuple[int, ...]:
        return self.graph.nodes[i].outputs[0].shape

    def joins(self, i: int) -> bool:
        """Say whether a node is a reduction that can end a loop."""
        node = self.graph.nodes[i]
        if node.op not in REDUCTIONS or len(node.outputs) != 1:
            return False
        x, out = self.named(node.args[0]), node.outputs[0]
        dim = node.args[1] if len(node.args) > 1 and node.op not in ("sum", "mean") else None
        dims = sorted(d % max(len(x.shape), 1) for d in dim) if dim else list(range(len(x.shape)))
        last = dims == [len(x.shape) - 1] and x.shape[-1] >= 24
        whole = dims == list(range(len(x.shape)))
        same = _name(x.dtype) == _name(out.dtype) and _name(x.dtype) in (
            "float32",
            "float64",
            "int64",
        )
        return same and (whole or last) and 0 not in x.shape

    # ---- groups

    def parts(self, found: list[int]) -> list[list[int]]:
        """Cut nodes into groups: those that have values in common, in parts that are not too large."""
        units: list[list[int]] = []
        for members in self.connected(found):
            while members:
                n = self.fits(members)
                units.append(members[:n])
                members = members[n:]
        return self.in_order(units)

    def connected(self, found: list[int]) -> list[list[int]]:
        """Cut nodes into those that have to do with each other."""
        parent = {i: i for i in found}

        def root(i: int) -> int:
            while parent[i] != i:
                parent[i] = parent[parent[i]]
                i = parent[i]
            return i

        owner: dict[Value, int] = {}
        for i in found:
            for v in (*map(self.named, self.inputs[i]), *self.graph.nodes[i].outputs):
                if v in self.uniform or v.shape == ():
                    if not (v.producer is not None and self.where[v.producer] in parent):
                        continue
                if v in owner:
                    parent[root(i)] = root(owner[v])
                owner[v] = i
        groups: dict[int, list[int]] = {}
        for i in found:
            groups.setdefault(root(i), []).append(i)
        return list(groups.values())

    def in_order(self, units: list[list[int]]) -> list[list[int]]:
        """Split off reductions that do not end their group; each unit comes after those it reads."""
        split: list[list[int]] = []
        for members in units:
            ends = [i for i in members if self.graph.nodes[i].op in REDUCTIONS]
            loop = [i for i in members if i not in ends]
            if loop and ends:
                loop.append(ends.pop(0))
            split += [loop] if loop else []
            split += [[i] for i in ends]
        return split

    def fits(self, members: list[int]) -> int:
        """Return how many of these can be one group, from the first on."""
        n = min(len(members), _LONGEST)
        while n > 1:
            inputs, outputs = self.edges(members[:n])
            ends = any(self.graph.nodes[i].op in REDUCTIONS for i in members[:n])
            few = len(outputs) + ends <= _C._MAX_OUTPUTS
            if few and len(inputs) + len(outputs) + ends <= _C._MAX_FUSED:
                return n
            n -= 1
        return max(n, 1)

    def edges(self, members: list[int]) -> tuple[list[Value], list[Value]]:
        """Return what a group reads and what others read of it."""
        inside = set(members)
        inputs: dict[Value, Value] = {}
        outputs: list[Value] = []
        for i in members:
            for v in map(self.named, self.inputs[i]):
                made = v.producer is not None and self.where[v.producer] in inside
                if not made and v not in self.uniform:
                    inputs[v] = v
            if self.is_read(i, inside):
                outputs.append(self.graph.nodes[i].outputs[0])
        return list(inputs.values()), outputs

    def is_read(self, i: int, inside: set[int]) -> bool:
        """Say whether the result of a node is read outside of a group."""
        v = self.graph.nodes[i].outputs[0]
        return v in self.results or any(k not in inside for k in self.readers[v])

    @functools.cached_property
    def readers(self) -> dict[Value, list[int]]:
        """Who reads a value, also under another name."""
        found: dict[Value, list[int]] = {v: [] for n in self.graph.nodes for v in n.outputs}
        for i, inputs in enumerate(self.inputs):
            if i in self.idle:
                continue
            for v in map(self.named, inputs) if self.knows[i] else inputs:
                found.setdefault(v, []).append(i)
        return found

    # ---- the new graph

    def rebuilt(self) -> Graph:
        new = Rebuild(self.graph)
        for unit in self.schedule():
            full = len(unit) > 1 and _C._fused_count() >= _C._MAX_FUSED_KERNELS
            if full:
                self.reasons.append((repr(self.graph.nodes[unit[0]]), "there are too many groups"))
            if len(unit) == 1 or full:
                new.new.nodes += self.parts_of(new, unit)
            else:
                self.add_group(new, unit)
        return new.finish()

    def add_group(self, new: Rebuild, members: list[int]) -> None:
        inputs, outputs = self.edges(members)
        group = Group()
        numbers: dict[Value, int] = {}
        for v in inputs:
            numbers[v] = len(group.inputs)
            group.inputs.append((_name(v.dtype), self.is_once(v, members)))
        for i in members:
            node = self.graph.nodes[i]
            args = tuple(self.argument(a, group, numbers) for a in node.args)
            numbers[node.outputs[0]] = len(group.inputs) + len(group.steps)
            group.steps.append(Step(node.op, args, _name(node.outputs[0].dtype)))
        ends = [v for v in outputs if v.producer is not None and v.producer.op in REDUCTIONS]
        outputs = [v for v in outputs if v not in ends] + ends
        group.outputs = [numbers[v] for v in outputs]
        given = [new.mapped(v) for v in inputs]
        parts = self.parts_of(new, members)
        line = next((p.line for p in parts if p.line), "")
        node = Node("fused", (given, str(group)), False, line, any(p.grad for p in parts))
        node.parts = parts
        new.add(node, [new.mapped(v) for v in outputs])

    def parts_of(self, new: Rebuild, members: list[int]) -> list[Node]:
        """Return ops one by one, in the new graph, and before them what makes the numbers they know."""
        parts: list[Node] = []
        made: set[Value] = set()
        for i in members:
            node = self.graph.nodes[i]
            for v in self.inputs[i]:
                if v not in new.values:
                    made.add(v)
                    parts += self.made_for(new, v, node)
            parts.append(new.as_part(node))
        for key in made:
            del new.values[key]
        return parts

    def made_for(self, new: Rebuild, v: Value, reader: Node) -> list[Node]:
        """Return ops that make a value whose own op is left out or comes later."""
        whole = new.new.fresh(v.name, v.shape, v.dtype)
        new.replace(v, whole)
        if v not in self.uniform:
            return [_node("detach", (new.mapped(self.named(v)),), reader.line, whole)]
        one = new.new.fresh(f"{v.name}_one", (), v.dtype)
        fill = _node("full", ((), self.uniform[v], v.dtype), reader.line, one)
        return [fill, _node("expand", (one, v.shape, False), reader.line, whole)]

    def argument(self, a: Any, group: Group, numbers: dict[Value, int]) -> Any:
        if isinstance(a, weft.dtype):
            return type_argument(_name(a))
        if not isinstance(a, Value):
            return a
        v = self.named(a)
        if v in numbers:
            return Ref(numbers[v])
        numbers[v] = len(group.inputs) + len(group.steps)
        group.steps.append(Step("expand", (self.uniform[v], v.shape), _name(v.dtype)))
        return Ref(numbers[v])

    def is_once(self, v: Value, members: list[int]) -> bool:
        """Say whether an input has one element along the last dimension of the group."""
        shape = self.shape(members[0])
        source = v
        if v.producer is not None and v.producer.op == "expand":
            source = v.producer.args[0]  # its strides along what was expanded are zero
        if all(n == 1 for n in source.shape):
            return True
        return bool(shape) and source.shape[-1] == 1 and shape[-1] >= _LONG_ROW


def _node(op: str, args: tuple[Any, ...], line: str, out: Value) -> Node:
    return Node(op, args, False, line, False).give([out])


def _is_loop(node: Node) -> bool:
    return is_pointwise(node) or node.op in ("cast", "pointwise_gradient", "masked_fill")


def _element(number: Any, v: Value) -> Any:
    """Return a number as an element of a value holds it."""
    return weft.tensor(number, dtype=v.dtype).item()


def _rank(number: Any) -> int:
    return {bool: 0, int: 1, float: 2}.get(type(number), 3)


def _rank_of(dtype: str) -> int:
    return 2 if dtype.startswith("float") else 0 if dtype == "bool" else 1
