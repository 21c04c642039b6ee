"""How a call that is cut at decisions runs: from piece to piece, each prepared when it is first reached."""

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

    from .segments import Piece
    from .specialization import Variant

__all__ = ["Stop", "Walk", "key_of"]


def key_of(outcome: Any) -> Any:
    """Return what tells the outcomes of a decision apart."""
    return type(outcome), repr(outcome)


class Stop:
    """A piece, where it finds what it reads, and what may follow.

    Every value of a call has its place in one list: inputs, tensors from outside, then what the
    pieces give, one after the other.
    """

    def __init__(
        self, path: list[Piece], places: dict[Value, int], count: int, given: list[Value],
        results: list[Value],
    ) -> None:  # fmt: skip
        """Prepare the last piece of a path.

        Args:
            path: all pieces that run, up to this one.
            places: by value, where in the list those are that the piece may read.
            count: the length of the list by then.
            given: what the piece is given.
            results: what is wanted of it.
        """
        self.path = path
        piece = self.piece = path[-1]
        self.given, self.results = given, results
        self.read = _reader([places[v] for v in given])
        self.program: Any = None
        self.live: list[Any] = []  # numbers that ops read anew
        self.places = {**places, **{v: count + i for i, v in enumerate(results)}}
        self.count = count + len(results)
        self.following: dict[Any, Stop] = {}
        self.decides = piece.read is not None and piece.read.what == "bool()"
        self.looks_at = -1 if piece.read is None else self.places[piece.read.value]
        named = [piece.outputs, piece.grads, piece.spent]
        if piece.outside is not None:
            named.append(piece.outside.grads)
        if (d := piece.derivative) is not None:
            named += [d.leaves, d.saved, d.outputs]
        self._named = [(v, self.places[v]) for v in leaves(named)]

    def run(self, env: list[Any]) -> Any:
        """Run the program with the numbers that its ops read anew; None where it does not fit."""
        numbers = [(step, argument, number.now()) for step, argument, number in self.live]
        return self.program.run(self.read(env), numbers)

    def named(self, env: list[Any]) -> dict[Value, Any]:
        """Return the tensors that the end of the piece names, by the values that stand for them."""
        return {k: env[i] for k, i in self._named}


class Walk:
    """The stops of a variant: its pieces, from the first to each end that was reached."""

    def __init__(self, variant: Variant, root: Piece) -> None:
        """Begin with the first piece."""
        self.variant = variant
        self.outside = list(variant.tensors.values())
        known = [*variant.inputs, *variant.tensors]
        self.first = self._stop([root], {v: i for i, v in enumerate(known)}, len(known))
        early = [p for p in root.walk() if not p.ends]
        self.writes = any(writes(n) for p in early for n in p.nodes)  # before an end
        self.changes = any(p.grads or any(map(writes, p.nodes)) for p in root.walk())
        self.generators = _generators(early)
        self._settled = False

    def _stop(self, path: list[Piece], places: dict[Value, int], count: int) -> Stop:
        piece = path[-1]
        wanted = {v for p in piece.walk() if p is not piece for v in p.reads()}
        wanted.update(leaves([piece.outputs, piece.grads, piece.spent]))
        if piece.read is not None:
            wanted.add(piece.read.value)
        if piece.outside is not None:
            wanted.update(leaves(piece.outside.grads))
        if piece.derivative is not None:
            wanted |= {*piece.derivative.saved, *piece.derivative.outputs}
        results = [v for node in piece.nodes for v in node.outputs if v in wanted]
        return Stop(path, places, count, needed(piece, self.variant.tensors), results)

    def run(self, inputs: list[Tensor]) -> tuple[Stop, list[Any]] | None:
        """Run a path to its end; None where it leads to what was not captured twice."""
        env = [*inputs, *self.outside]
        stop: Stop | None = self.first
        while stop is not None:
            if stop.program is not None:
                made = stop.run(env)
            else:
                made = None
            if made is None and stop.piece.nodes:
                made = self._build(stop, env)
                if made is None:
                    return None
            if made:
                env += made
            if stop.decides:
                key: Any = bool(env[stop.looks_at].item())
            elif stop.looks_at >= 0:
                key = key_of(env[stop.looks_at].item())
            elif stop.piece.ends:
                return stop, env
            else:
                key = None
                self.variant.call_outside(stop.piece.outside, stop.named(env), inputs)
            stop = stop.following.get(key) or self._follow(stop, key)
        return None

    def _build(self, stop: Stop, env: list[Any]) -> Any:
        """Make the program of a piece and run it; None if it does not fit."""
        like = dict(zip(stop.given, stop.read(env)))
        stop.program, stop.live = self.variant.program_of(
            stop.piece, stop.given, like, stop.results
        )
        return stop.run(env)

    def _follow(self, stop: Stop, key: Any) -> Stop | None:
        """Prepare what follows a piece, if it was captured twice."""
        piece = stop.piece.children.get(key_of(key) if stop.decides else key)
        if piece is None or piece.seen < 2:
            return None
        made = stop.following[key] = self._stop([*stop.path, piece], stop.places, stop.count)
        return made

    # ---- where it may lead to what was not captured ----------------------------------------------

    def prepare_undo(self, inputs: list[Tensor]) -> Callable[[], None]:
        """Remember what the pieces before a decision change, should it lead to something new."""
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
        """Say whether every piece was run, and what follows it is known whatever its outcome is."""
        if not self._settled:
            waiting, settled = [self.first], True
            while waiting and settled:
                stop = waiting.pop()
                built = stop.program is not None or not stop.piece.nodes
                settled = built and _is_settled(stop.piece)
                settled = settled and len(stop.following) == len(stop.piece.children)
                waiting += stop.following.values()
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


def _is_settled(piece: Piece) -> bool:
    """Say whether what follows a piece is known, whatever its outcome is."""
    if piece.read is None:
        return piece.ends or all(p.seen >= 2 for p in piece.children.values())
    known = sum(p.seen >= 2 for p in piece.children.values())
    return piece.read.what == "bool()" and known == 2


def _generators(pieces: list[Piece]) -> list[Any]:
    """Return the generators that ops draw from."""
    drawing = [n for p in pieces for n in p.nodes if is_random(n)]
    given = [a for n in drawing for a in n.args if isinstance(a, weft.Generator)]
    return list(dict.fromkeys([weft.default_generator, *given])) if drawing else []


def _all_of(t: Tensor) -> Tensor:
    """Return all the memory that a tensor looks into, as one row."""
    count = t.untyped_storage().nbytes() // t.element_size()
    return t.detach().as_strided((count,), (1,), 0)
