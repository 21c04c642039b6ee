"""Which is quicker, a call from segment to segment or an eager one: a few of each are timed."""

from __future__ import annotations

import statistics
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Autotuner"]

_TURNS = 9  # of each
_MARGIN = 1.1


class Autotuner:
    """Calls in segments and eager ones, in turn. It decides how quick calls are, never what they give.

    >>> from weft.jit.compile.autotune import Autotuner
    >>> autotuner = Autotuner()
    >>> for _ in range(9):
    ...     autotuner.note_segments(1.0)
    ...     result = autotuner.run_eagerly(lambda x: x + 1, (1,), {})
    >>> autotuner.done, autotuner.eager_is_faster
    (True, True)
    """

    def __init__(self) -> None:
        """Begin with none of either."""
        self._segments: list[float] = []
        self._eager: list[float] = []

    @property
    def done(self) -> bool:
        """Whether there are enough of both."""
        return len(self._eager) >= _TURNS

    @property
    def eager_is_next(self) -> bool:
        """Whether the next call is to be an eager one."""
        return not self.done and len(self._segments) > len(self._eager)

    @property
    def eager_is_faster(self) -> bool:
        """Whether calls in segments have turned out to be slower."""
        if not self.done:
            return False
        return statistics.median(self._segments) > _MARGIN * statistics.median(self._eager)

    def note_segments(self, seconds: float) -> None:
        """Note how long a call in segments took."""
        if not self.done:
            self._segments.append(seconds)

    def run_eagerly(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a function as it is, and note how long it took."""
        start = time.perf_counter()
        result = func(*args, **kwargs)
        self._eager.append(time.perf_counter() - start)
        return result
