"""Who holds memory, what the peak was made of, what grows: ``weft.memory``.

>>> losses = [weft.ones(1000, requires_grad=True).exp() for _ in range(3)]
>>> report = weft.memory.report()
>>> [str(g).partition(", made")[0] for g in report.groups if g.name.startswith("losses")]
['losses[*]: 3 tensors keep 6 nodes and 23.6 KB alive']
>>> sum(row.bytes for row in report.by_line()) == report.allocated == weft.memory_allocated()
True
"""

from __future__ import annotations

import weft

from .memory_graph import Block, Holder, Survey
from .memory_report import Group, Growth, Report, Row
from .memory_track import Peak, Track, lines_of_blocks, track

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

__all__ = [
    "Block", "Group", "Growth", "GrowthWatch", "Holder", "Peak", "Report", "Row", "Track", "report",
    "snapshot", "track", "watch_growth",
]  # fmt: skip


def report() -> Report:
    """Return who holds what now: by variable, by line, by module and by kind.

    All variables, modules, closures, hooks and cycles of Python are looked at, and autograd's
    graph behind each tensor; each block of memory is counted once. Lines are those of the op that
    made a tensor. Of tensors without a graph they are known while ``weft.memory.track()`` is on.

    >>> x = weft.zeros(1 << 20)
    >>> [h.bytes for h in weft.memory.report().holders if h.path == "x"]
    [4194304]
    """
    return Report(Survey(lines_of_blocks()))


def snapshot() -> Report:
    """Return the same report, to be compared with a later one.

    >>> cache = {}
    >>> before = weft.memory.snapshot()
    >>> cache["image"] = weft.zeros(256, 256)
    >>> print(weft.memory.snapshot().since(before).culprit.name)
    cache['image']
    """
    return report()


class GrowthWatch:
    """Compares memory over the steps of a training; see :func:`watch_growth`.

    Attributes:
        sizes: bytes in use at the end of each step.

    >>> watch = weft.memory.watch_growth(warmup=1)
    >>> watch.step()
    >>> watch.growth().culprit is None
    True
    """

    def __init__(self, warmup: int = 2) -> None:
        """Begin before the first step."""
        if not isinstance(warmup, int) or warmup < 0:
            raise ValueError(f"watch_growth: warmup must be a number of steps, got {warmup!r}")
        self.warmup = warmup
        self.sizes: list[int] = []
        self._first: Report | None = snapshot() if not warmup else None

    def step(self) -> None:
        """Say that a step is over."""
        self.sizes.append(weft.memory_allocated())
        if len(self.sizes) == self.warmup:
            self._first = snapshot()

    def growth(self) -> Growth:
        """Return what grew since the warm-up."""
        if self._first is None:
            raise RuntimeError(
                f"watch_growth: {len(self.sizes)} steps are over, and the first {self.warmup} are "
                "warm-up: call step() after each step of the training"
            )
        return Growth(self._first, snapshot(), max(len(self.sizes) - self.warmup, 0))

    def __enter__(self) -> GrowthWatch:
        """Return the watch."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Print what grew."""
        if error is None:
            print(self.growth())

    def __str__(self) -> str:
        """Return what grew as text."""
        return str(self.growth())


def watch_growth(warmup: int = 2) -> GrowthWatch:
    """Return a watch that names what grows from step to step.

    Args:
        warmup: how many steps may allocate what stays, such as the state of the optimizer.

    >>> history, w = [], weft.ones(100, requires_grad=True)
    >>> watch = weft.memory.watch_growth()
    >>> for _ in range(5):
    ...     history.append((w * 2).sum())
    ...     watch.step()
    >>> watch.growth().culprit.name
    'history[*]'
    """
    return GrowthWatch(warmup)
