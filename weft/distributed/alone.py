"""Communication of a single process, without MPI: it receives what it sends."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

    from .reduce_op import ReduceOp

__all__ = ["Alone"]


class Alone:
    """The same calls as ``MpiWire``, for a group of one. Nothing is ever under way.

    >>> from weft.distributed.alone import Alone
    >>> Alone().exchange(b"hello")
    (None, b'hello')
    """

    rank, size = 0, 1

    def part(self, ranks: list[int]) -> Alone:
        """Return the same for some of the processes."""
        return Alone()

    def free(self, last: bool, broken: bool) -> None:
        """End the group."""

    def ended(self) -> dict[int, float]:
        """Return which processes have ended, and when."""
        return {}

    def give_up(self) -> None:
        """Wait for nobody at the end."""

    def wait(self, seconds: float) -> None:
        """Wait until something comes, at most so long."""
        time.sleep(seconds)

    def exchange(self, note: bytes) -> tuple[None, bytes]:
        """Give every rank the notes of all, one after the other."""
        return None, note

    def reduce_all(self, x: Tensor, op: ReduceOp) -> None:
        """Reduce in place, on every rank: with one rank there is nothing to do."""

    def reduce(self, x: Tensor, op: ReduceOp, root: int) -> None:
        """Reduce in place, on one rank."""

    def broadcast(self, x: Tensor, root: int) -> None:
        """Copy from one rank to all."""

    def gather_all(self, out: Tensor, x: Tensor) -> None:
        """Put all inputs together, on every rank."""
        out.copy_(x)

    def gather(self, out: Tensor | None, x: Tensor, root: int) -> None:
        """Put all inputs together, on one rank."""
        assert out is not None
        out.copy_(x)

    def scatter(self, out: Tensor, x: Tensor | None, root: int) -> None:
        """Give each rank its part of what one rank has."""
        assert x is not None
        out.copy_(x)

    def reduce_scatter(self, out: Tensor, x: Tensor, op: ReduceOp) -> None:
        """Reduce, and give each rank its part of the result."""
        out.copy_(x)

    def all_to_all(self, out: Tensor, gets: list[int], x: Tensor, sends: list[int]) -> None:
        """Give each rank its part of what every rank has."""
        out.copy_(x)
