"""Communication between the processes of one machine, over sockets: what ``MpiWire`` does by MPI.

Reductions combine in the order of the ranks, whatever comes first, and each element on one rank
only: all ranks get the same bits, each time.
"""

from __future__ import annotations

import ctypes
import time
from hashlib import blake2b

import weft
from weft import _C

from .mpi import LAST_TAG
from .reduce_op import ReduceOp
from .work import PeerEnded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from weft import Tensor

    from .mesh import Mesh, Transfer

    Steps = Generator[list[Transfer], None, None]

__all__ = ["LocalWire"]

_COLLECTIVE = LAST_TAG + 1  # the tag of what no program sends by itself
_SMALL = 1 << 14  # bytes up to which every rank reduces everything

_OPS = {
    ReduceOp.SUM: (weft.add, weft.logical_or), ReduceOp.AVG: (weft.add, None),
    ReduceOp.PRODUCT: (weft.mul, weft.logical_and), ReduceOp.MIN: (weft.minimum, weft.logical_and),
    ReduceOp.MAX: (weft.maximum, weft.logical_or),
    ReduceOp.BAND: (weft.bitwise_and, weft.logical_and),
    ReduceOp.BOR: (weft.bitwise_or, weft.logical_or),
    ReduceOp.BXOR: (weft.bitwise_xor, weft.logical_xor),
}  # fmt: skip


def memory_of(x: Tensor) -> memoryview:
    """Return the bytes of a tensor, not copied.

    >>> from weft.distributed.local import memory_of
    >>> len(memory_of(weft.zeros(3)))
    12
    """
    if not x.is_contiguous():
        raise AssertionError(f"only contiguous memory is sent, got strides {x.stride()}")
    size = x.numel() * x.element_size()
    if size == 0:
        return memoryview(bytearray())
    return memoryview((ctypes.c_ubyte * size).from_address(x.data_ptr())).cast("B")


class Request:
    """What is under way: steps, each of which yields the transfers that it waits for."""

    def __init__(self, mesh: Mesh, steps: Steps) -> None:
        """Do the first step."""
        self._mesh, self._steps = mesh, steps
        self._pending = next(steps, None)

    def Test(self) -> bool:
        """Go on as far as possible; say whether this was all."""
        while self._pending is not None:
            if not all(t.done for t in self._pending):
                self._mesh.progress()
                if not all(t.done for t in self._pending):
                    self._mesh.check(self._pending)
                    return False
            self._pending = next(self._steps, None)
        return True


class LocalWire:
    """Some or all of the processes of a mesh, as a group. Methods return requests."""

    def __init__(self, mesh: Mesh, ranks: list[int]) -> None:
        """Take the ranks of the group; all of them make their groups in the same order."""
        self.mesh, self.ranks = mesh, ranks
        self.rank, self.size = ranks.index(mesh.rank), len(ranks)
        number = mesh.made[tuple(ranks)] = mesh.made.get(tuple(ranks), 0) + 1
        self._group = blake2b(repr((ranks, number)).encode(), digest_size=16).digest()
        self._others = [r for r in range(self.size) if r != self.rank]

    # ---- the group ------------------------------------------------------------------------------

    def part(self, ranks: list[int]) -> LocalWire:
        """Return the same for some of the processes, which all call it."""
        return LocalWire(self.mesh, ranks)

    def free(self, last: bool, broken: bool) -> None:
        """End the group; with the ``last`` one all connections, broken or not."""
        self.mesh.forget(self._group)
        if last:
            self.mesh.close()

    def ended(self) -> dict[int, float]:
        """Return which processes have ended, by rank in the program, and when."""
        self.mesh.progress()
        return self.mesh.gone

    def give_up(self) -> None:
        """Wait for nobody at the end: there is nothing to do, for nobody waits there."""

    def wait(self, seconds: float) -> None:
        """Wait until something comes, at most so long."""
        self.mesh.wait(seconds)

    # ---- collectives ----------------------------------------------------------------------------

    def _send(self, to: int, x: Tensor) -> Transfer:
        return self.mesh.send(self.ranks[to], self._group, _COLLECTIVE, [memory_of(x)], x)

    def _expect(self, source: int, x: Tensor) -> Transfer:
        _C._increment_version(x)
        return self.mesh.expect(self.ranks[source], self._group, _COLLECTIVE, memory_of(x), x)

    def _request(self, steps: Steps) -> Request:
        return Request(self.mesh, steps)

    def exchange(self, note: bytes) -> tuple[Request, bytearray]:
        """Give every rank the notes of all, one after the other; all are of one length."""
        notes, size = bytearray(len(note) * self.size), len(note)
        notes[self.rank * size : (self.rank + 1) * size] = note
        return self._request(self._exchange(note, memoryview(notes))), notes

    def _exchange(self, note: bytes, notes: memoryview) -> Steps:
        size, group = len(note), self._group
        places = [(r, notes[r * size : (r + 1) * size]) for r in self._others]
        yield [
            *(self.mesh.expect(self.ranks[r], group, _COLLECTIVE, at, None) for r, at in places),
            *(self.mesh.send(self.ranks[r], group, _COLLECTIVE, [memoryview(note)], None)
              for r in self._others),
        ]  # fmt: skip

    def reduce_all(self, x: Tensor, op: ReduceOp) -> Request:
        """Reduce in place, on every rank."""
        x = x.view(-1)
        small = x.numel() * x.element_size() <= _SMALL
        return self._request(self._reduce_small(x, op) if small else self._reduce_all(x, op))

    def _reduce_small(self, x: Tensor, op: ReduceOp) -> Steps:
        parts = x.new_empty(self.size * x.numel())
        yield from self._gather_all(parts, x)
        x.copy_(self._combined(parts, op))

    def _reduce_all(self, x: Tensor, op: ReduceOp) -> Steps:
        """Each rank reduces its segment for all, and sends it to them."""
        at = [x.numel() * r // self.size for r in range(self.size + 1)]
        segments = [x[at[r] : at[r + 1]] for r in range(self.size)]
        mine = segments[self.rank]
        parts = x.new_empty(self.size * mine.numel())
        yield from self._to_each(parts.split(mine.numel()), segments)
        mine.copy_(self._combined(parts, op))
        yield [
            *(self._expect(r, segments[r]) for r in self._others),
            *(self._send(r, mine) for r in self._others),
        ]

    def _combined(self, parts: Tensor, op: ReduceOp) -> Tensor:
        """Reduce what lies one after the other, by rank."""
        if not parts.numel():
            return parts
        combine = _OPS[op][parts.dtype == weft.bool]
        assert combine is not None
        first, *rest = parts.view(self.size, -1).unbind(0)
        for x in rest:
            first = combine(first, x)
        return first

    def _to_each(self, outs: Any, parts: Any) -> Steps:
        """Send each rank its part, and receive one of each."""
        outs[self.rank].copy_(parts[self.rank])
        yield [
            *(self._expect(r, outs[r]) for r in self._others),
            *(self._send(r, parts[r]) for r in self._others),
        ]

    def reduce(self, x: Tensor, op: ReduceOp, root: int) -> Request:
        """Reduce in place, on one rank; the others keep what they have."""
        return self._request(self._reduce(x.view(-1), op, root))

    def _reduce(self, x: Tensor, op: ReduceOp, root: int) -> Steps:
        parts = x.new_empty(self.size * x.numel()) if self.rank == root else None
        yield from self._gather(parts, x, root)
        if parts is not None:
            x.copy_(self._combined(parts, op))

    def broadcast(self, x: Tensor, root: int) -> Request:
        """Copy from one rank to all."""
        return self._request(self._broadcast(x, root))

    def _broadcast(self, x: Tensor, root: int) -> Steps:
        if self.rank == root:
            yield [self._send(r, x) for r in self._others]
        else:
            yield [self._expect(root, x)]

    def gather_all(self, out: Tensor, x: Tensor) -> Request:
        """Put all inputs together, on every rank."""
        return self._request(self._gather_all(out, x))

    def _gather_all(self, out: Tensor, x: Tensor) -> Steps:
        yield from self._to_each(self._parts(out), [x] * self.size)

    def gather(self, out: Tensor | None, x: Tensor, root: int) -> Request:
        """Put all inputs together, on one rank, which alone gives ``out``."""
        return self._request(self._gather(out, x, root))

    def _gather(self, out: Tensor | None, x: Tensor, root: int) -> Steps:
        if self.rank != root:
            yield [self._send(root, x)]
            return
        assert out is not None
        parts = self._parts(out)
        parts[root].copy_(x.view(-1))
        yield [self._expect(r, parts[r]) for r in self._others]

    def scatter(self, out: Tensor, x: Tensor | None, root: int) -> Request:
        """Give each rank its part of what one rank has, which alone gives ``x``."""
        return self._request(self._scatter(out, x, root))

    def _scatter(self, out: Tensor, x: Tensor | None, root: int) -> Steps:
        if self.rank != root:
            yield [self._expect(root, out)]
            return
        assert x is not None
        parts = self._parts(x)
        out.view(-1).copy_(parts[root])
        yield [self._send(r, parts[r]) for r in self._others]

    def reduce_scatter(self, out: Tensor, x: Tensor, op: ReduceOp) -> Request:
        """Reduce, and give each rank its part of the result."""
        return self._request(self._reduce_scatter(out, x, op))

    def _reduce_scatter(self, out: Tensor, x: Tensor, op: ReduceOp) -> Steps:
        parts = x.new_empty(self.size * out.numel())
        yield from self._to_each(self._parts(parts), self._parts(x))
        out.view(-1).copy_(self._combined(parts, op))

    def all_to_all(self, out: Tensor, gets: list[int], x: Tensor, sends: list[int]) -> Request:
        """Give each rank its part of what every rank has; parts are numbers of elements."""
        return self._request(self._to_each(out.split(gets), x.split(sends)))

    def _parts(self, x: Tensor) -> Any:
        """A flat tensor with one part for each rank."""
        return x.view(self.size, -1).unbind(0) if x.numel() else [x.view(-1)] * self.size

    # ---- messages -------------------------------------------------------------------------------

    def send(self, note: bytes, x: Tensor | None, to: int, tag: int) -> Request:
        """Send a note and, in the same message, the memory of a tensor."""
        return self._request(self._message(note, x, to, tag))

    def _message(self, note: bytes, x: Tensor | None, to: int, tag: int) -> Steps:
        parts = [memoryview(note)] + ([] if x is None else [memory_of(x)])
        yield [self.mesh.send(self.ranks[to], self._group, tag, parts, x)]

    def find(self, source: int | None, tag: int) -> tuple[bytearray, int, int] | None:
        """Take the first message that has come: itself, its sender, its bytes; None if none has."""
        self.mesh.progress()
        local = self._others if source is None else [source]
        sources = [self.ranks[r] for r in local]
        found = self.mesh.take(sources, self._group, tag)
        if found is not None:
            return found[1], self.ranks.index(found[0]), len(found[1])
        gone = self.mesh.gone
        if all(r in gone for r in sources):
            raise PeerEnded(min(sources, key=lambda r: (gone[r], r)))
        return None

    def receive(self, message: bytearray, note: bytearray, x: Tensor | None = None) -> None:
        """Unpack a message that was found: its note, and the rest into a tensor."""
        size = len(note)
        note[:] = message[:size]
        if x is not None and x.numel():
            _C._increment_version(x)
            memory_of(x)[:] = memoryview(message)[size:]


def settle(request: Any, mesh: Mesh, seconds: float) -> bool:
    """Wait for one request; say whether it was done in time."""
    deadline = time.monotonic() + seconds
    while not request.Test():
        if time.monotonic() > deadline:
            return False
        mesh.wait(0.01)
    return True
