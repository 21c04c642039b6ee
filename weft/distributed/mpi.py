"""Communication between processes: MPI on the memory of tensors. Every call returns at once.

What is handed to MPI is contiguous, flat, and kept alive by the caller until the request is done.
"""

from __future__ import annotations

import time

import weft
from weft import _C

from . import start
from .reduce_op import ReduceOp, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["LAST_TAG", "MpiWire"]

LAST_TAG = 32767  # what every MPI has at least; the highest is weft's own

# 16-bit floats are moved as they are, and never reduced as such: see `staged` in collectives.py.
_TYPES = {
    weft.float32: "FLOAT", weft.float64: "DOUBLE", weft.int8: "INT8_T", weft.int16: "INT16_T",
    weft.int32: "INT32_T", weft.int64: "INT64_T", weft.uint8: "UINT8_T", weft.bool: "C_BOOL",
    weft.complex64: "C_FLOAT_COMPLEX", weft.complex128: "C_DOUBLE_COMPLEX",
    weft.float16: "UINT16_T", weft.bfloat16: "UINT16_T",
}  # fmt: skip
_OPS = {
    ReduceOp.SUM: ("SUM", "LOR"), ReduceOp.AVG: ("SUM", ""), ReduceOp.PRODUCT: ("PROD", "LAND"),
    ReduceOp.MIN: ("MIN", "LAND"), ReduceOp.MAX: ("MAX", "LOR"), ReduceOp.BAND: ("BAND", "LAND"),
    ReduceOp.BOR: ("BOR", "LOR"), ReduceOp.BXOR: ("BXOR", "LXOR"),
}  # fmt: skip


class MpiWire:
    """A communicator of mpi4py, with weft's tensors as buffers. Methods return requests."""

    def __init__(self, comm: Any) -> None:
        """Take a communicator that nobody else uses."""
        from mpi4py import MPI

        self.mpi, self.comm = MPI, comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()

    def _memory(self, x: Tensor) -> Any:
        """The bytes of a tensor, not copied."""
        if not x.is_contiguous():
            raise AssertionError(f"only contiguous memory goes to MPI, got strides {x.stride()}")
        return self.mpi.buffer.fromaddress(x.data_ptr(), x.numel() * x.element_size())

    def _numbers(self, x: Tensor | None) -> Any:
        """A tensor as MPI wants it: memory, count, type."""
        if x is None:
            return None
        return [self._memory(x), x.numel(), getattr(self.mpi, _TYPES[x.dtype])]

    def _written(self, x: Tensor) -> Any:
        """The same of a tensor that MPI will change, which the graph must know."""
        _C._increment_version(x)
        return self._numbers(x)

    def _op(self, op: ReduceOp, x: Tensor) -> Any:
        if x.dtype in (weft.float16, weft.bfloat16):
            raise AssertionError(f"MPI does not reduce {name_of(x.dtype)}")
        return getattr(self.mpi, _OPS[op][x.dtype == weft.bool])

    # ---- the group ------------------------------------------------------------------------------

    def part(self, ranks: list[int]) -> MpiWire:
        """Return the same for some of the processes, which all call it."""
        return MpiWire(self.comm.Create_group(self.comm.Get_group().Incl(ranks)))

    def free(self, last: bool, broken: bool) -> None:
        """End the group, if all its ranks do."""
        if not broken:
            self.comm.Free()

    def ended(self) -> dict[int, float]:
        """Return which processes have ended, by rank in the program, and when."""
        all_of_us = start.others()
        all_of_us.listen()
        return all_of_us.gone

    def give_up(self) -> None:
        """Wait for nobody at the end: one of the processes does not answer."""
        start.others().hopeless = True

    def wait(self, seconds: float) -> None:
        """Wait until something may have come."""
        time.sleep(seconds)

    # ---- collectives ----------------------------------------------------------------------------

    def exchange(self, note: bytes) -> tuple[Any, bytearray]:
        """Give every rank the notes of all, one after the other; all are of one length."""
        notes = bytearray(len(note) * self.size)
        byte = self.mpi.BYTE
        return self.comm.Iallgather([note, byte], [notes, len(note), byte]), notes

    def reduce_all(self, x: Tensor, op: ReduceOp) -> Any:
        """Reduce in place, on every rank."""
        return self.comm.Iallreduce(self.mpi.IN_PLACE, self._written(x), op=self._op(op, x))

    def reduce(self, x: Tensor, op: ReduceOp, root: int) -> Any:
        """Reduce in place, on one rank; the others keep what they have."""
        kind = self._op(op, x)
        if self.rank == root:
            return self.comm.Ireduce(self.mpi.IN_PLACE, self._written(x), op=kind, root=root)
        return self.comm.Ireduce(self._numbers(x), None, op=kind, root=root)

    def broadcast(self, x: Tensor, root: int) -> Any:
        """Copy from one rank to all."""
        memory = self._numbers(x) if self.rank == root else self._written(x)
        return self.comm.Ibcast(memory, root=root)

    def gather_all(self, out: Tensor, x: Tensor) -> Any:
        """Put all inputs together, on every rank."""
        return self.comm.Iallgather(self._numbers(x), self._parts(out))

    def gather(self, out: Tensor | None, x: Tensor, root: int) -> Any:
        """Put all inputs together, on one rank, which alone gives ``out``."""
        into = None if out is None else self._parts(out)
        return self.comm.Igather(self._numbers(x), into, root=root)

    def scatter(self, out: Tensor, x: Tensor | None, root: int) -> Any:
        """Give each rank its part of what one rank has, which alone gives ``x``."""
        parts = None if x is None else self._parts(x, written=False)
        return self.comm.Iscatter(parts, self._written(out), root=root)

    def reduce_scatter(self, out: Tensor, x: Tensor, op: ReduceOp) -> Any:
        """Reduce, and give each rank its part of the result."""
        parts, kind = self._parts(x, written=False), self._op(op, x)
        return self.comm.Ireduce_scatter_block(parts, self._written(out), op=kind)

    def all_to_all(self, out: Tensor, gets: list[int], x: Tensor, sends: list[int]) -> Any:
        """Give each rank its part of what every rank has; parts are numbers of elements."""
        kind = getattr(self.mpi, _TYPES[x.dtype])
        _C._increment_version(out)
        return self.comm.Ialltoallv(
            [self._memory(x), (sends, _starts(sends)), kind],
            [self._memory(out), (gets, _starts(gets)), kind],
        )

    def _parts(self, x: Tensor, written: bool = True) -> Any:
        """A tensor with one part for each rank: MPI wants the count of one part."""
        memory, count, kind = self._written(x) if written else self._numbers(x)
        return [memory, count // self.size, kind]

    # ---- messages -------------------------------------------------------------------------------

    def send(self, note: bytes, x: Tensor | None, to: int, tag: int) -> Any:
        """Send a note and, in the same message, the memory of a tensor."""
        if x is None or x.numel() == 0:
            return self.comm.Isend([note, self.mpi.BYTE], dest=to, tag=tag)
        joined = self._joined(note, x)
        try:
            return self.comm.Isend([self.mpi.BOTTOM, 1, joined], dest=to, tag=tag)
        finally:
            joined.Free()  # once the message is through

    def find(self, source: int | None, tag: int) -> tuple[Any, int, int] | None:
        """Take the first message that has come: itself, its sender, its bytes; None if none has."""
        status = self.mpi.Status()
        anyone = self.mpi.ANY_SOURCE if source is None else source
        message = self.comm.Improbe(source=anyone, tag=tag, status=status)
        if message is None:
            return None
        return message, status.Get_source(), status.Get_count(self.mpi.BYTE)

    def receive(self, message: Any, note: bytearray, x: Tensor | None = None) -> Any:
        """Receive a message that was found: its note, and the rest into a tensor."""
        if x is None or x.numel() == 0:
            return message.Irecv([note, self.mpi.BYTE])
        _C._increment_version(x)
        joined = self._joined(note, x)
        try:
            return message.Irecv([self.mpi.BOTTOM, 1, joined])
        finally:
            joined.Free()

    def _joined(self, note: bytes | bytearray, x: Tensor) -> Any:
        """The type of a message that lies in two places: a note, and the memory of a tensor."""
        mpi, memory = self.mpi, self._memory(x)
        places = [mpi.Get_address(note), mpi.Get_address(memory)]
        joined = mpi.Datatype.Create_struct([len(note), len(memory)], places, [mpi.BYTE] * 2)
        return joined.Commit()


def _starts(counts: list[int]) -> list[int]:
    """Where each part begins."""
    starts = [0]
    for count in counts[:-1]:
        starts.append(starts[-1] + count)
    return starts
