"""What was captured of calls that are alike: a tree of segments, and how it is run."""

from __future__ import annotations

import functools
import threading
import time

import weft
from weft import _C
from weft.jit.graph import Value, take_apart
from weft.jit.guards import Answer, native
from weft.jit.op_schema import is_static, writes
from weft.jit.specialize import Specialization, Stage

from .autotune import Autotuner
from .capture import Capture
from .recompute import BackwardPath
from .segment_runner import SegmentRunner, key_of
from .segments import CannotBuild, Number, Segment, build, difference, leaves, rename, segments_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from weft import Tensor
    from weft.jit.guards import Guard

    from .python_state import State
    from .segments import Built

__all__ = ["NOT_TAKEN", "CallSpecialization"]

NOT_TAKEN = object()
_MOST_OUTCOMES = 8  # of a decision
_MOST_TRIES = 4  # captures that differ from each other


class CallSpecialization(Specialization):
    """Calls with inputs of one kind, in one state of Python."""

    def __init__(
        self, arguments: list[Any], call: Callable[[list[Any]], Any], nesting: Any = None
    ) -> None:
        """Begin without a capture.

        Args:
            arguments: which input a tensor is (one may be given twice), else a tuple of the value.
            call: runs the function itself, given all arguments in a row.
            nesting: how these lie in the arguments of a call, as a replay flattens them; None if
                they are the arguments, or only Python can flatten them.
        """
        super().__init__()
        self.arguments, self._call, self.nesting = arguments, call, nesting
        self.inputs: list[Value] = []
        self.tensors: dict[Value, Tensor] = {}  # from outside
        # Gradients that the call reads: of inputs, by number, and of tensors from outside.
        self.before: list[tuple[int | Tensor, Tensor | None]] = []
        self.roles: list[
            tuple[Tensor, Any]
        ] = []  # whether gradients arrive at tensors from outside
        self.times: dict[
            Any, tuple[int, int]
        ] = {}  # by tensor or input: after which ops its grad was set
        self.root: Segment | None = None
        self.state: Any = None
        self.changes = ""  # what the last call changed in Python
        self.trouble = ""  # why the last capture was not like the one before
        self.seconds = {"captured": 0.0, "built": 0.0}  # what it took until now
        self.calls = 0  # in segments: the replay counts its own
        self.captures = self.failures = 0
        self.autotuner = Autotuner()  # of calls in segments
        self.replay: Any = None
        self.whole = False  # its replay makes the result as the function returns it
        self._value_of: dict[Tensor, Value] = {}
        self._before: dict[Tensor, tuple[int | Tensor, Tensor | None]] = {}
        self._roles: dict[Tensor, Any] = {}
        self._stepped: set[int] = set()  # the ids of optimisers
        self._programs: dict[Segment, Any] = {}
        self._runner: SegmentRunner | None = None
        self._comparing: tuple[Any, list[Any]] | None = None
        self._backward_of_end: dict[Segment, Any] = {}  # by the segment at the end
        self._given: list[Value] = []
        self._lock = threading.RLock()  # a capture is taken in, or a replay made of it

    # ---- what was captured ---------------------------------------------------------------------

    def add(self, capture: Capture, state: State) -> None:
        """Take one more capture in."""
        with self._lock:
            self._add(capture, state)

    def _add(self, capture: Capture, state: State) -> None:
        self.captures += 1
        self.state, self.replay = state, None
        self._runner = self._comparing = None
        self._programs.clear()
        self._backward_of_end.clear()
        self.changes = state.changed()
        if state.reads_options:  # it may set them too, between two steps
            capture.fix_options()
        problem = capture.problem or _impure(self.changes) or unsuitable(capture, state)
        take_apart(_all_nodes(capture))
        if problem:
            self.root = None
            self.advance("refused")
            return self._fail(problem)
        if not self.inputs:
            self.inputs = capture.graph.inputs
        self._before.update(capture.grads_needed())
        self._roles.update((t, _role(t)) for t in capture.outside_tensors())
        self.before, self.roles = list(self._before.values()), list(self._roles.items())
        self.times = capture.grad_times()
        self._stepped |= {id(o) for o in capture.optimizers}
        self._stepped |= {id(o.optimizer) for o in capture.outside}
        self._merge(capture)

    def _fail(self, trouble: str) -> None:
        self.failures += 1
        self.trouble = trouble
        if self.failures >= _MOST_TRIES:
            self.give_up(trouble)

    def _merge(self, capture: Capture) -> None:
        """Put the segments of a capture into the tree: those that are there already are confirmed."""
        # Invariant: `same` has for each value of this capture the one that stands for it in the tree.
        same = dict(zip(capture.graph.inputs, self.inputs))
        same.update((v, self._value_of.get(v.constant, v)) for v in capture.graph.constants)
        is_new = False  # whether the tree gets a segment
        parent: Segment | None = None
        for segment in segments_of(capture):
            key = None if parent is None or parent.read is None else key_of(parent.read.outcome)
            old_segment = self.root if parent is None else parent.children.get(key)
            known = dict(same)
            apart = "" if old_segment is None else difference(old_segment, segment, known)
            if old_segment is not None and not apart:
                old_segment.seen += 1
                same = known
                if segment.read is not None and old_segment.read is not None:
                    old_segment.read.outcome = segment.read.outcome
                parent = old_segment
                continue
            if old_segment is not None:
                self._fail(apart)
            is_new = True
            rename(segment, same)
            if parent is None:
                self.root = segment
            else:
                parent.children[key] = segment
                if parent.read is not None and len(parent.children) > _MOST_OUTCOMES:
                    self.trouble = _too_many(parent.read)
                    self.give_up(self.trouble)
            parent = segment
        if not self.problem:
            self.advance("agreed" if self._agrees() else "captured")
        if is_new:
            self._keep_tensors([same[v] for v in capture.graph.constants])

    def _keep_tensors(self, found: list[Value]) -> None:
        """Keep the tensors from outside that the segments read; some were found just now."""
        assert self.root is not None
        read = {v for segment in self.root.walk() for v in segment.reads()}
        values = {v.constant: v for v in [*self._value_of.values(), *found] if v in read}
        self._value_of = values
        self.tensors = {v: v.constant for v in values.values() if v.constant is not None}

    # ---- what holds ----------------------------------------------------------------------------

    def _agrees(self) -> bool:
        """Say whether its first segment was captured twice, the same both times.

        All segments, if Python is called between them: that could not be undone.
        """
        assert self.root is not None
        segments = list(self.root.walk())
        return self.root.seen >= 2 and (
            all(p.seen >= 2 for p in segments) or not any(p.outside for p in segments)
        )

    @property
    def begins(self) -> bool:
        """Whether it is the first step of an optimiser, which had no state yet."""
        return self.state is not None and self.state.begins

    @property
    def is_cut(self) -> bool:
        """Whether it has several segments."""
        return self.root is not None and not self.root.ends

    @property
    def cut(self) -> str:
        """Where its first segment ends."""
        assert self.root is not None
        end: Any = self.root.read or self.root.outside
        return f"{end.what if self.root.read else end.name} at {end.line}"

    def holds(self, inputs: list[Tensor]) -> bool:
        """Say whether Python is as it was when it was captured."""
        return not self.differs(inputs) and not any(_C._has_hooks(t) for t, _ in self.roles)

    def differs(self, inputs: list[Tensor]) -> str:
        """Return the name of something that is not as it was, or nothing."""
        if self.state is None:
            return "a call that another thread captures"
        comparing, guards = self._compared()
        if (number := comparing.failing()) >= 0:
            return str(guards[number].name)
        if self.meets(inputs):
            return "an argument"
        for t, grad in self.before:
            if _C._grad_of(inputs[t] if isinstance(t, int) else t) is not grad:
                return "the gradient of a tensor that it reads"
        for v, t in self.tensors.items():
            if _C._geometry(t) != (v.shape, v.dtype, v.stride):
                return "the shape or dtype of a tensor that it reads"
        if any(_role(t) != role for t, role in self.roles):
            return "whether a tensor wants a gradient, or has attributes"
        return ""

    def guards(self) -> list[Guard]:
        """Return the guards that must hold for a replay."""
        return self._compared()[1]

    def _compared(self) -> tuple[Any, list[Guard]]:
        """Return all guards as C++ checks them, and them."""
        found = self._comparing
        if found is None:
            with self._lock:
                free = self._live_places()
                options = [g for g in self.state.options if g.place not in free]
                read = {t for t, _ in self.roles}  # whose geometry its program knows
                tensors = [g for g in self.state.tensor_guards if g.tensor not in read]
                guards = [*self.state.guards, *options, *tensors, *self._moving()]
                found = self._comparing = native(guards), guards
        return found

    def _moving(self) -> list[Guard]:
        """Return that optimisers whose momentum is read anew have one: it may change, not vanish."""
        found = [] if self.root is None else [a for p in self.root.walk() for a in p.live]
        groups = {id(a.group): a.group for a in found if a.key == "momentum"}
        return [
            Answer(functools.partial(_has_momentum, group), True, "whether there is momentum")
            for group in groups.values()
        ]

    def meets(self, inputs: list[Tensor]) -> bool:
        """Say whether an input is one that the function would take for a tensor it knows."""
        if self.state is None or not self.state.compares_identity:
            return False
        return any(id(t) in self.state.tensors for t in inputs)

    def _live_places(self) -> set[tuple[int, str]]:
        """Return the options of optimisers that need not stay as they were."""
        if self.state.reads_options or self.root is None:
            return set()
        places = self.state.unused_options(self._stepped)
        for segment in self.root.walk():
            if segment.outside is not None:
                places |= self.state.changed_by(segment.outside.optimizer)
            places |= {(id(a.group), a.key) for a in segment.live}
        return places

    def programs(self) -> list[Any]:
        """Return the programs that were made so far, each with what it takes and gives."""
        return list(self._programs.values())

    # ---- running -------------------------------------------------------------------------------

    def run(self, flat: tuple[Any, ...], inputs: list[Tensor]) -> Any:
        """Replay the call; ``NOT_TAKEN``, with nothing changed, where that is not possible."""
        root = self.root
        if root is None:  # another thread has found that it cannot be replayed
            return NOT_TAKEN
        try:
            return self._run(root, flat, inputs)
        except CannotBuild as e:
            self.trouble = str(e)
            self.give_up(self.trouble)
            return NOT_TAKEN

    def _run(self, root: Segment, flat: tuple[Any, ...], inputs: list[Tensor]) -> Any:
        if root.ends:
            return self._run_straight(root, flat, inputs)
        if self._runner is None:
            self._runner = SegmentRunner(self, root)
        if self._runner.changes and _share_memory(inputs, self.tensors.values()):
            return self.call_again(inputs)  # what it changes may be seen through another one
        # Invariant: unless a known end is reached, all that segments before it wrote is put back.
        undo = self._runner.prepare_undo(inputs)
        recording = _C._set_grad_enabled(False)
        try:
            reached = self._runner.run(inputs)
        except CannotBuild:
            undo()
            raise
        finally:
            _C._set_grad_enabled(recording)
        if reached is None:
            undo()
            return NOT_TAKEN
        if self.stage is Stage.CONFIRMED:
            with self._lock:
                if self.ready:  # no other thread has captured something else
                    self.advance("built")
        self.calls += 1
        prepared, env = reached
        return self._finish(prepared.path, prepared.named(env), inputs)

    def call_again(self, inputs: list[Tensor]) -> Any:
        """Run the function itself, given the tensors among its arguments."""
        return self._call([inputs[a] if isinstance(a, int) else a[0] for a in self.arguments])

    def constants(self) -> list[Value]:
        """Return the values that stand for tensors from outside."""
        return list(self._value_of.values())

    def _make_backward(self, path: list[Segment]) -> Any:
        """Return how gradients go back through calls that take this path."""
        d = path[-1].derivative
        watched = [self.tensors[v] for v in d.watched]
        outside = list(self.tensors.values())
        facts = d.parts, len(d.leaves), d.leaf_of, d.uses(), d.results
        number = {v: -1 - i for i, v in enumerate(self.inputs)}

        def place(of: int | Value) -> Any:
            """Return a result by its number, an input by one below zero, or a tensor from outside."""
            if isinstance(of, int):
                return of
            return number[of] if of in number else self.tensors[of]

        bases = [None if b is None else (place(b.of), b.fixed) for b in d.bases]
        return _C.CompiledBackward(BackwardPath(self, path), *facts, bases, watched, outside)

    # One segment: all of it happens in C++.

    def _run_straight(self, root: Segment, flat: tuple[Any, ...], inputs: list[Tensor]) -> Any:
        for _ in range(2):  # the second time if a tensor has other memory than before
            replay = self.replay
            if replay is None:
                with self._lock:
                    if self.root is not root:  # another thread has taken a capture in
                        return NOT_TAKEN
                    replay = self.replay = self._replay(root, inputs)
                    self.advance("built")
            made = replay.run(flat)
            if made is not None:
                return self.rebuilt(made, inputs)
            self.replay = None
        return NOT_TAKEN

    def rebuilt(self, made: Any, inputs: Any) -> Any:
        """Return what a straight call gave in the structure that the function returns."""
        if self.whole:
            return made
        env = {**self.tensors, **dict(zip(self.inputs, inputs)), **dict(zip(self._given, made))}
        return None if self.root is None else _result(self.root, env)

    def _replay(self, root: Segment, inputs: list[Tensor]) -> Any:
        own = {v for node in root.nodes for v in node.outputs}
        self._given = list(dict.fromkeys(v for v in leaves(root.outputs) if v in own))
        grads = [v for _, v in root.grads if v is not None]
        d = root.derivative
        inside = [*d.saved, *d.outputs] if d is not None else []  # what the graph needs
        saved = [v for v in inside if v in own]
        results = list(dict.fromkeys([*self._given, *grads, *saved]))
        place = {v: i for i, v in enumerate(results)}
        like = dict(zip(self.inputs, inputs))
        kept = {*self._given, *saved}
        lent = [i for i, v in enumerate(results) if v not in kept]  # gradients, until the next
        built = self._build(root, self.inputs, like, results, lent)
        program = built.program
        self._programs[root] = (program, self.inputs, results, built.live)
        r = _C.Replay(program, self.state)
        r.set_modes(weft.is_grad_enabled(), weft.is_inference_mode_enabled())
        for a in self.arguments:
            if isinstance(a, int):
                r.take_input(a, inputs[a])
            else:
                r.take_value(a[0])
        if self.nesting is not None:
            r.set_nesting(self.nesting)
        r.set_guards(self._compared()[0])
        if self.state.compares_identity:
            r.set_strangers(list(self.state.tensors.values()))
        for t, grad in self.before:
            (r.require_input_grad if isinstance(t, int) else r.require_grad)(t, grad)
        for t, _ in self.roles:
            r.require_role(t)
        for step, argument, number in built.live:
            r.read_number(step, argument, number.group, number.key, number.place)
        r.set_order(built.order)
        r.set_lines(root.line_of)
        for t, v in root.grads:
            result = -1 if v is None else place[v]
            times = self.times[t]
            made = -1 if v is None else built.makers[result]
            (r.set_input_grad if isinstance(t, int) else r.set_grad)(t, result, *times, made)
        spent = set(root.spent)
        for v in self._given:
            r.give(place[v], v in spent)
        if d is not None:
            every = (1 << len(d.outputs)) - 1
            d.build(every, [_like_value(v) for v in d.saved], self.tensors)  # or it is known now
            number = {v: i for i, v in enumerate(self.inputs)}
            r.set_derivative(
                self._make_backward([root]),
                [place[v] for v in d.outputs],
                [number[v] if v in number else self.tensors[v] for v in d.edges],
                [place[v] if v in place else -1 - number[v] for v in d.saved],
            )
        output = self._output(root)
        self.whole = output is not None
        if self.whole:
            r.set_output(output)
        r.set_apart(_writes(root) or bool(root.grads))
        return r

    def _output(self, root: Segment) -> Any:
        """Return how a replay makes the result: see ``set_output``; None where only Python can."""
        made = {v: ("made", i) for i, v in enumerate(self._given)}
        given = {v: ("input", i) for i, v in enumerate(self.inputs)}

        def part(x: Any) -> Any:
            if type(x) in (tuple, list):
                parts = [part(y) for y in x]
                return None if None in parts else (type(x).__name__, parts)
            if type(x) is Value:
                return made.get(x) or given.get(x) or ("constant", self.tensors[x])
            return (
                ("constant", x)
                if isinstance(x, (int, float, complex, str, bytes, weft.dtype))
                else None
            )

        return part(root.spec.unflatten(root.outputs))

    # Several segments: Python goes from one to the next.

    def call_outside(self, outside: Any, env: dict[Value, Any], inputs: list[Tensor]) -> None:
        """Call Python between segments, with the gradients that it can see."""
        self._set_grads(outside.grads, env, inputs)
        outside.call()

    def _value(self, v: Value, env: dict[Value, Any]) -> Any:
        return env[v] if v in env else self.tensors[v]

    def program_of(
        self, segment: Segment, given: list[Value], like: dict[Value, Any], results: list[Value]
    ) -> Any:
        """Make the program of one of several segments."""
        built = self._build(segment, given, like, results)
        self._programs[segment] = (built.program, given, results, built.live)
        return built.program, built.live

    def _build(
        self, segment: Segment, given: list[Value], like: dict[Value, Any], results: list[Value],
        lent: Sequence[int] = (),
    ) -> Built:  # fmt: skip
        start = time.perf_counter()
        made = build(segment, given, like, self.tensors, results, lent)
        self.seconds["built"] += time.perf_counter() - start
        return made

    def _set_grads(
        self, grads: list[tuple[Any, Value | None]], env: dict[Value, Any], inputs: list[Tensor]
    ) -> None:
        for t, v in grads:
            target = inputs[t] if isinstance(t, int) else t
            target.grad = None if v is None else self._value(v, env)

    def _finish(self, path: list[Segment], env: dict[Value, Any], inputs: list[Tensor]) -> Any:
        """Set gradients and return the results, with their place in the graph."""
        end = path[-1]
        d = end.derivative
        if d is not None:
            backward = self._backward_of_end.get(end)
            if backward is None:
                backward = self._backward_of_end[end] = self._make_backward(path)
            parts = [[self._value(v, env) for v in vs] for vs in (d.edges, d.saved, d.outputs)]
            backward.record(inputs, *parts)
        for v in end.spent:
            env[v] = _C._spend(env[v])
        self._set_grads(end.grads, env, inputs)
        return _result(end, {**self.tensors, **env})


def _has_momentum(group: dict[str, Any]) -> bool:
    return bool(group["momentum"] != 0)


def _role(t: Tensor) -> tuple[int, int]:
    """Return what gradients do at a tensor, and how many attributes Python has given it."""
    return _C._role(t), _C._attributes(t)


def _share_memory(inputs: list[Tensor], outside: Iterable[Tensor]) -> bool:
    """Say whether an input is in the memory of another one, or of a tensor from outside."""
    own = [_C._place(t)[0] for t in inputs]
    return len(set(own)) < len(own) or any(_C._place(t)[0] in own for t in outside)


def _all_nodes(capture: Capture) -> list[Any]:
    graphs = [] if capture.derivative is None else capture.derivative.graphs.values()
    return [*capture.graph.nodes, *[n for backward in graphs for n in backward.segment.nodes]]


def _like_value(v: Value) -> Tensor:
    """Return a tensor that lies as a value does."""
    if v.stride is None:
        return weft.empty(v.shape, dtype=v.dtype)
    return weft.empty_strided(v.shape, v.stride, dtype=v.dtype)


def _too_many(read: Any) -> str:
    instead = "return the tensor and call item() outside, or compare the tensor itself"
    if read.what == "a tensor as an index":
        instead = "index with a tensor that has a dimension, as in x[i.view(1)]"
    return f"{read.what} at {read.line} gives another number in each call: {instead}"


def _impure(changed: str) -> str:
    """Say what a call has changed in Python, if so: the next one may not."""
    return f"the call changes {changed}, which only Python can do" if changed else ""


def unsuitable(capture: Capture, state: State) -> str:
    """Say why no such call can be replayed, if so."""
    if state.unseen:
        return state.unseen
    if reached := capture.reached_twice(state):
        return reached
    if node := next((n for n in _all_nodes(capture) if not is_static(n)), None):
        is_sparse = node.op.startswith("sparse")
        why = "a sparse tensor takes part" if is_sparse else "shapes follow from values"
        return f"a program cannot hold {node.op} at {node.line}: {why}"
    if capture.outside and any(not r.returned for r in capture.reads):
        return f"{capture.outside[0].name} and a decision on a value are in the same call"
    return ""


def _writes(segment: Segment) -> bool:
    return any(map(writes, segment.nodes))


def _result(end: Segment, env: dict[Value, Any]) -> Any:
    """Return the result of a call, with what ``env`` has for its values."""

    def leaf(x: Any) -> Any:
        if type(x) is Value:
            return env[x]
        return env[x.value].item() if type(x) is Number else x

    return end.spec.unflatten([leaf(x) for x in end.outputs])
