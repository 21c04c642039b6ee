"""What a timer measured: times of runs, their median, how far they spread."""

from __future__ import annotations

import dataclasses
import math
import statistics
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Measurement", "TaskSpec", "ordered_unique", "select_unit", "trim_sigfig"]

_LEAST_IQR_WARNING, _GRAVE_IQR_WARNING = 0.1, 0.25
_LEAST_MEASUREMENTS = 4  # fewer say nothing of how far they spread
_CONFIDENT = 0.1
_UNITS = {
    "ns": ("nanosecond", 1e-9),
    "us": ("microsecond", 1e-6),
    "ms": ("millisecond", 1e-3),
    "s": ("second", 1.0),
}


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What was measured: the code, and what tables call it.

    >>> weft.utils.benchmark.TaskSpec("x.exp()", "x = weft.ones(3)", label="exp").title
    'exp'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the code."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else f"stmt:\n{_indented(self.stmt)}"

    def setup_str(self) -> str:
        """Return the code that runs before, in a form for messages."""
        if not self.setup or self.setup == "pass":
            return ""
        return f"setup:\n{_indented(self.setup)}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return all of it as text.

        >>> from weft.utils.benchmark import TaskSpec
        >>> TaskSpec("x + y", "pass", description="sum").summarize()
        'x + y\\nsum'
        """
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(p for p in parts if p)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip().splitlines())


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of some runs of a piece of code.

    Args:
        number_per_run: how often the code ran in each run.
        raw_times: seconds of each run.
        task_spec: the code.
        metadata: what else there is to say.

    >>> from weft.utils.benchmark import Measurement, TaskSpec
    >>> m = Measurement(10, [1e-5, 3e-5, 2e-5], TaskSpec("f()", "pass"))
    >>> print(f"{m.median:.1e} {m.iqr:.1e}")
    2.0e-06 1.0e-06
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    @property
    def times(self) -> list[float]:
        """Seconds of one execution, in each run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The middle one."""
        self._expect_times()
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """Their mean."""
        self._expect_times()
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance of the quarters: how far the middle half spreads."""
        self._expect_times()
        return _quantile(self.times, 0.75) - _quantile(self.times, 0.25)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something, from how far the times spread."""
        self._expect_times()
        count = len(self.raw_times)
        # The width of a confidence interval of the median, as if times were normally distributed.
        middle = self.median or 1e-12
        interval = max(1.645 * self.iqr / math.sqrt(count) / 1.349 / middle * 1.253, 1e-12)
        figures = -math.log10(interval) if count >= _LEAST_MEASUREMENTS else 4
        return max(min(int(figures + 0.5), 4), 1)

    @property
    def has_warnings(self) -> bool:
        """Whether the times spread so far that they cannot be trusted."""
        return bool(self._warnings())

    @property
    def title(self) -> str:
        """What was measured."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """The name of the environment."""
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        """What its row in a table is called."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    @property
    def label(self) -> str | None:
        """The label of its table."""
        return self.task_spec.label

    @property
    def sub_label(self) -> str | None:
        """The label of its row."""
        return self.task_spec.sub_label

    @property
    def description(self) -> str | None:
        """The title of its column."""
        return self.task_spec.description

    @property
    def num_threads(self) -> int:
        """How many threads ops had."""
        return self.task_spec.num_threads

    @property
    def stmt(self) -> str:
        """The code."""
        return self.task_spec.stmt

    def meets_confidence(self, threshold: float = _CONFIDENT) -> bool:
        """Return whether the middle half of the times spreads less than this part of the median.

        Args:
            threshold: a part of the median.
        """
        return len(self.raw_times) >= _LEAST_MEASUREMENTS and self.iqr / self.median < threshold

    def _expect_times(self) -> None:
        if not self.raw_times:
            raise RuntimeError("Measurement: there are no times")

    def _warnings(self) -> str:
        if len(self.raw_times) < 2:
            return ""
        spread = self.iqr / self.median
        if spread < _LEAST_IQR_WARNING:
            return ""
        sure = "could be" if spread < _GRAVE_IQR_WARNING else "is probably"
        return (
            f"  WARNING: the middle half of the times spreads over {spread:.1%} of the median.\n"
            f"           It {sure} noise of the machine."
        )

    def __repr__(self) -> str:
        """Return the median, how far times spread, and what was measured."""
        unit, scale = select_unit(self.median)
        runs = len(self.raw_times)
        name = "Median: " if runs > 1 else ""
        lines = [self.task_spec.summarize(), f"  {name}{self.median / scale:.2f} {unit}"]
        if runs > 2:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit}")
        many, per = "s" * (runs > 1), "per measurement" if runs > 1 else ""
        threads = "thread" + "s" * (self.num_threads > 1)
        lines.append(
            f"  {runs} measurement{many}, {self.number_per_run} runs {per}, {self.num_threads} {threads}"
        )
        if warning := self._warnings():
            lines.append(warning)
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Return measurements of the same code as one each; code that ran as often in a run only.

        Args:
            measurements: of any code.
        """
        groups: dict[tuple[TaskSpec, int], list[float]] = {}
        for m in measurements:
            groups.setdefault((m.task_spec, m.number_per_run), []).extend(m.raw_times)
        return [Measurement(number, times, task) for (task, number), times in groups.items()]


def _quantile(values: list[float], q: float) -> float:
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit that suits a time, and how many seconds it is.

    >>> from weft.utils.benchmark import select_unit
    >>> select_unit(2e-4)
    ('us', 1e-06)
    """
    power = max(min(math.floor(math.log10(t) / 3) if t > 0 else 0, 0), -3)
    unit = {-3: "ns", -2: "us", -1: "ms", 0: "s"}[power]
    return unit, _UNITS[unit][1]


def unit_name(unit: str) -> str:
    """Return a unit in words."""
    return _UNITS[unit][0]


def trim_sigfig(x: float, n: int) -> float:
    """Return a number with so many digits that mean something.

    >>> from weft.utils.benchmark import trim_sigfig
    >>> trim_sigfig(3.14159, 3)
    3.14
    """
    if x == 0:
        return x
    scale = 10 ** (math.floor(math.log10(abs(x))) - n + 1)
    return (
        float(round(x / scale) * scale)
        if scale >= 1
        else float(round(x, -round(math.log10(scale))))
    )


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Return each element once, in the order in which they came first.

    >>> from weft.utils.benchmark import ordered_unique
    >>> ordered_unique([2, 1, 2])
    [2, 1]
    """
    return list(dict.fromkeys(elements))
