"""How a call that is cut at decisions runs: from segment to segment, each prepared when it is first reached."""

from __future__ import annotations

from operator import itemgetter

import weft
from weft.jit.op_schema import is_random, writes

from .segments import leaves, needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from weft import Tensor
    from weft.jit.graph import Value

    from .segments import Segment
    from .specialization import CallSpecialization

__all__ = ["PreparedSegment", "SegmentRunner", "key_of"]


def key_of(outcome: Any) -> Any:
    """Return a key that differs for different outcomes of a decision."""
    return type(outcome), repr(outcome)


class PreparedSegment:
    """A segment, where it finds what it reads, and what may follow.

    Every value of a call has its place in one list: inputs, tensors from outside, then what the
    segments give, one after the other.
    """

    def __init__(
        self, path: list[Segment], places: dict[Value, int], count: int, given: list[Value],
        results: list[Value],
    ) -> None:  # fmt: skip
        """Prepare the last segment of a path.

        Args:
            path: all segments that run, up to this one.
            places: by value, where in the list those are that the segment may read.
            count: the length of the list by then.
            given: what the segment is given.
            results: what is wanted of it.
        """
        self.path = path
        segment = self.segment = path[-1]
        self.given, self.results = given, results
        self.read = _reader([places[v] for v in given])
        self.program: Any = None
        self.live: list[Any] = []  # numbers that ops read anew
        self.places = {**places, **{v: count + i for i, v in enumerate(results)}}
        self.count = count + len(results)
        self.following: dict[Any, PreparedSegment] = {}
        self.decides = segment.read is not None and segment.read.what == "bool()"
        self.looks_at = -1 if segment.read is None else self.places[segment.read.value]
        named = [segment.outputs, segment.grads, segment.spent]
        if segment.outside is not None:
            named.append(segment.outside.grads)
        if (d := segment.derivative) is not None:
            named += [d.leaves, d.saved, d.outputs]
        self._named = [(v, self.places[v]) for v in leaves(named)]

    def run(self, env: list[Any]) -> Any:
        """Run the program with the numbers that its ops read anew; None where it does not fit."""
        numbers = [(step, argument, number.now()) for step, argument, number in self.live]
        return self.program.run(self.read(env), numbers)

    def named(self, env: list[Any]) -> dict[Value, Any]:
        """Return the tensors that the end of the segment names, by the values that stand for them."""
        return {k: env[i] for k, i in self._named}


class SegmentRunner:
    """The prepared segments of a specialisation: its segments, from the first to each end that was reached."""

    def __init__(self, specialization: CallSpecialization, root: Segment) -> None:
        """Begin with the first segment."""
        self.specialization = specialization
        self.outside = list(specialization.tensors.values())
        known = [*specialization.inputs, *specialization.tensors]
        self.first = self._stop([root], {v: i for i, v in enumerate(known)}, len(known))
        early = [p for p in root.walk() if not p.ends]
        self.writes = any(writes(n) for p in early for n in p.nodes)  # before an end
        self.changes = any(p.grads or any(map(writes, p.nodes)) for p in root.walk())
        self.generators = _generators(early)
        self._settled = False

    def _stop(self, path: list[Segment], places: dict[Value, int], count: int) -> PreparedSegment:
        segment = path[-1]
        wanted = {v for p in segment.walk() if p is not segment for v in p.reads()}
        wanted.update(leaves([segment.outputs, segment.grads, segment.spent]))
        if segment.read is not None:
            wanted.add(segment.read.value)
        if segment.outside is not None:
            wanted.update(leaves(segment.outside.grads))
        if segment.derivative is not None:
            wanted |= {*segment.derivative.saved, *segment.derivative.outputs}
        results = [v for node in segment.nodes for v in node.outputs if v in wanted]
        return PreparedSegment(
            path, places, count, needed(segment, self.specialization.tensors), results
        )

    def run(self, inputs: list[Tensor]) -> tuple[PreparedSegment, list[Any]] | None:
        """Run a path to its end; None where it leads to what was not captured twice."""
        env = [*inputs, *self.outside]  # invariant: by place, as `places` of each segment says
        prepared: PreparedSegment | None = self.first
        while prepared is not None:
            if prepared.program is not None:
                made = prepared.run(env)
            else:
                made = None
            if made is None and prepared.segment.nodes:
                made = self._build(prepared, env)
                if made is None:
                    return None
            if made:
                env += made
            if prepared.decides:
                key: Any = bool(env[prepared.looks_at].item())
            elif prepared.looks_at >= 0:
                key = key_of(env[prepared.looks_at].item())
            elif prepared.segment.ends:
                return prepared, env
            else:
                key = None
                self.specialization.call_outside(
                    prepared.segment.outside, prepared.named(env), inputs
                )
            prepared = prepared.following.get(key) or self._follow(prepared, key)
        return None

    def _build(self, prepared: PreparedSegment, env: list[Any]) -> Any:
        """Make the program of a segment and run it; None if it does not fit."""
        like = dict(zip(prepared.given, prepared.read(env)))
        prepared.program, prepared.live = self.specialization.program_of(
            prepared.segment, prepared.given, like, prepared.results
        )
        return prepared.run(env)

    def _follow(self, prepared: PreparedSegment, key: Any) -> PreparedSegment | None:
        """Prepare what follows a segment, if it was captured twice."""
        segment = prepared.segment.children.get(key_of(key) if prepared.decides else key)
        if segment is None or segment.seen < 2:
            return None
        made = prepared.following[key] = self._stop(
            [*prepared.path, segment], prepared.places, prepared.count
        )
        return made

    # ---- where it may lead to what was not captured ----------------------------------------------

    def prepare_undo(self, inputs: list[Tensor]) -> Callable[[], None]:
        """Remember what the segments before a decision change, should it lead to something new."""
        if not (self.writes or self.generators) or self._is_settled():
            return _nothing
        generators = [(g, g.get_state()) for g in self.generators]
        kept = []
        if self.writes:
            with weft.no_grad():
                found = [_all_of(t) for t in [*inputs, *self.outside] if t.numel()]
                kept = [(t, t._version, t.clone()) for t in found]

        def undo() -> None:
            for g, state in generators:
                g.set_state(state)
            with weft.no_grad():
                for t, version, before in kept:
                    if not weft.equal(t.view(weft.uint8), before.view(weft.uint8)):
                        (t if t._version != version else t.data).copy_(before)

        return undo

    def _is_settled(self) -> bool:
        """Say whether every segment was run, and what follows it is known whatever its outcome is."""
        if not self._settled:
            waiting, settled = [self.first], True
            while waiting and settled:
                prepared = waiting.pop()
                built = prepared.program is not None or not prepared.segment.nodes
                settled = built and _is_settled(prepared.segment)
                settled = settled and len(prepared.following) == len(prepared.segment.children)
                waiting += prepared.following.values()
            self._settled = settled
        return self._settled


def _reader(places: list[int]) -> Any:
    """Return a function that takes what is in some places of a list, as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    if not places:
        return lambda env: ()
    (only,) = places
    return lambda env: (env[only],)


def _nothing() -> None:
    """Undo nothing."""


def _is_settled(segment: Segment) -> bool:
    """Say whether what follows a segment is known, whatever its outcome is."""
    if segment.read is None:
        return segment.ends or all(p.seen >= 2 for p in segment.children.values())
    known = sum(p.seen >= 2 for p in segment.children.values())
    return segment.read.what == "bool()" and known == 2


def _generators(segments: list[Segment]) -> list[Any]:
    """Return the generators that ops draw from."""
    drawing = [n for p in segments for n in p.nodes if is_random(n)]
    given = [a for n in drawing for a in n.args if isinstance(a, weft.Generator)]
    return list(dict.fromkeys([weft.default_generator, *given])) if drawing else []


def _all_of(t: Tensor) -> Tensor:
    """Return all the memory that a tensor looks into, as one row."""
    count = t.untyped_storage().nbytes() // t.element_size()
    return t.detach().as_strided((count,), (1,), 0)
