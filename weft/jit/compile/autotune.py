"""Which is quicker, a call from piece to piece or an eager one: a few of each are timed."""

from __future__ import annotations

import statistics
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Race"]

_TURNS = 9  # of each
_MARGIN = 1.1


class Race:
    """Calls by pieces and eager ones, in turn. It decides how quick calls are, never what they give.

    >>> from weft.jit.compile.autotune import Race
    >>> race = Race()
    >>> for _ in range(9):
    ...     race.note_pieces(1.0)
    ...     result = race.run_eagerly(lambda x: x + 1, (1,), {})
    >>> race.over, race.lost
    (True, True)
    """

    def __init__(self) -> None:
        """Begin with none of either."""
        self._pieces: list[float] = []
        self._eager: list[float] = []

    @property
    def over(self) -> bool:
        """Whether there are enough of both."""
        return len(self._eager) >= _TURNS

    @property
    def is_eagers_turn(self) -> bool:
        """Whether the next call is to be an eager one."""
        return not self.over and len(self._pieces) > len(self._eager)

    @property
    def lost(self) -> bool:
        """Whether calls by pieces have turned out to be slower."""
        if not self.over:
            return False
        return statistics.median(self._pieces) > _MARGIN * statistics.median(self._eager)

    def note_pieces(self, seconds: float) -> None:
        """Note how long a call by pieces took."""
        if not self.over:
            self._pieces.append(seconds)

    def run_eagerly(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a function as it is, and note how long it took."""
        start = time.perf_counter()
        result = func(*args, **kwargs)
        self._eager.append(time.perf_counter() - start)
        return result
