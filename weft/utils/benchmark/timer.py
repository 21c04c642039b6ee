"""``Timer``: how long a piece of code takes, measured in blocks of runs."""

from __future__ import annotations

import enum
import textwrap
import time
import timeit

import weft

from .measurement import Measurement, TaskSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

__all__ = ["Language", "Timer", "timer"]

timer = time.perf_counter
_LEAST_OVERHEAD = 1000  # a block takes so many times longer than asking the clock


class Language(enum.Enum):
    """What code is written in.

    >>> weft.utils.benchmark.Timer("1 + 1", language=weft.utils.benchmark.Language.PYTHON).timeit(9).number_per_run
    9
    """

    PYTHON = 0
    CPP = 1


class Timer:
    """Measures how long a statement takes.

    Args:
        stmt: the code.
        setup: code that runs before each measurement; names of it are known in ``stmt``.
        global_setup: of C++ only, and refused.
        timer: gives the time in seconds.
        globals: names that the code knows.
        label: the title of the table that :class:`Compare` makes.
        sub_label: the name of the row.
        description: the title of the column.
        env: the name of the environment, for runs of several.
        num_threads: how many threads ops have meanwhile.
        language: Python; C++ is refused.

    >>> from weft.utils.benchmark import Timer
    >>> t = Timer("y.sum()", setup="y = x * 2", globals={"x": weft.ones(8)})
    >>> t.timeit(10).number_per_run
    10
    """

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
        timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None,
        label: str | None = None, sub_label: str | None = None, description: str | None = None,
        env: str | None = None, num_threads: int = 1, language: Language | str = Language.PYTHON,
    ) -> None:  # fmt: skip
        """Compile the code."""
        if not isinstance(stmt, str):
            raise ValueError(f"Timer: expected stmt as a string, got {type(stmt).__name__}")
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError(f"Timer: language={language}: only Python is timed")
        if global_setup:
            raise ValueError(f"Timer: global_setup is of C++ only, got {global_setup!r}")
        self._globals = dict(globals or {})
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        self._timer = timeit.Timer(
            stmt, setup, timer=timer, globals={"weft": weft, "torch": weft, **self._globals}
        )
        self._clock = timer
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _seconds(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Return one measurement of so many executions, after a short warm-up.

        Args:
            number: of executions.
        """
        with _Threads(self._task_spec.num_threads):
            self._seconds(max(number // 100, 2))
            return self._measured(number, [self._seconds(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Raise NotImplementedError, as PyTorch does: blocks of runs say more."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> NoReturn:
        """Raise NotImplementedError, as PyTorch does: blocks of runs say more."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Return measurements of blocks of executions, which together take ``min_run_time`` at least.

        Args:
            callback: called with (executions, seconds) of each block.
            min_run_time: seconds.
        """
        with _Threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            while sum(times) < min_run_time:
                times.append(self._seconds(number))
                if callback is not None:
                    callback(number, times[-1])
            return self._measured(number, times)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:  # fmt: skip
        """Return measurements of blocks, as many as it takes until their times agree.

        Args:
            threshold: the middle half spreads less than this part of the median.
            min_run_time: seconds between looks at how far they spread.
            max_run_time: seconds after which it ends anyway.
            callback: called with (executions, seconds) of each block.
        """
        with _Threads(self._task_spec.num_threads):
            number = self._block_size(0.05)
            times: list[float] = []
            looked = 0.0
            while (total := sum(times)) < max_run_time:
                times.append(self._seconds(number))
                if callback is not None:
                    callback(number, times[-1])
                if total - looked >= min_run_time:
                    looked = total
                    if self._measured(number, times).meets_confidence(threshold):
                        break
            return self._measured(number, times)

    def collect_callgrind(self, number: int = 100, **options: Any) -> NoReturn:
        """Raise NotImplementedError: run ``valgrind --tool=callgrind`` yourself."""
        raise NotImplementedError("Timer.collect_callgrind: run valgrind --tool=callgrind yourself")

    def _block_size(self, min_run_time: float) -> int:
        """Return how many executions take so long that reading the clock does not count."""
        overhead = min(self._clock_overhead() for _ in range(5))
        number = 1
        while True:
            seconds = self._seconds(number)
            if overhead * _LEAST_OVERHEAD <= seconds or seconds >= min_run_time:
                return number
            if number > 10_000_000:
                return number
            number *= 10

    def _clock_overhead(self) -> float:
        start = self._clock()
        return max(self._clock() - start, 1e-9)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, list(times), self._task_spec)


class _Threads:
    """So many threads for ops, for a while."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __enter__(self) -> None:
        self.before = weft.get_num_threads()
        weft.set_num_threads(self.count)

    def __exit__(self, *error: object) -> None:
        weft.set_num_threads(self.before)
