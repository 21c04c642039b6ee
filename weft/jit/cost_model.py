"""Whether another program or graph would pay: calls of its signature must have taken long enough."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["TOO_MANY", "CostModel"]

TOO_MANY = "calls differ in shapes or numbers more often than programs for each would pay"

# A signature is captured once its eager calls have taken this many times as long as the capture will:
# if it does not come back, a tenth of the time is lost. 0: captured at once, as in tests.
WORTH = 10.0
_STEPS = 3  # two captures and a program
_USUAL = 2e-3  # seconds of a capture, before there was one
_PATIENCE = 32  # calls in a row that were not worth a program, or could not be made by one
_REST = 32  # times as many calls run eagerly then, without a look at their signatures
_FEW = 8  # signatures that are always examined: sooner or later each is worth a program
_LONG = 1e-3  # seconds of an eager call beside which a look is nothing
_MOST = 10_000  # signatures whose time is known
_DEARER = 4  # times as much is asked of a signature each time that its program was dropped

clock = time.perf_counter


class CostModel:
    """What captures of a function take, and what eager calls of each signature have taken.

    While there is one signature only, it is captured when it comes for the second time. This decides
    how quick calls are, never what they give.

    >>> from weft.jit.cost_model import CostModel
    >>> price = CostModel()
    >>> [price.run_eagerly(i, max, (4, i), {}) for i in range(400)][-1]
    399
    >>> price.rest  # none of them came twice
    1024
    """

    def __init__(self) -> None:
        """Begin with no signature."""
        self._spent: dict[int, float] = {}  # seconds of eager calls, by signature
        self._dropped: dict[int, int] = {}  # how often its program was, by signature
        self._capture = _USUAL  # seconds of the shortest: the first one may have loaded modules
        self._in_vain = 0  # calls in a row that were not worth it
        self.rest = 0  # how many calls are eager, whatever they are like, before the next look

    @property
    def first_waits(self) -> bool:
        """Whether the next call is eager because it is the first."""
        return bool(WORTH) and not self._spent

    def is_too_high(self, signature: int) -> bool:
        """Say whether calls of a signature have not taken long enough to be captured."""
        if not WORTH:
            return False
        if len(self._spent) >= _MOST:
            self._spent.clear()
            self._dropped.clear()
        if signature not in self._spent:
            self._spent[signature] = 0.0
            return True
        if len(self._spent) == 1 and not self._dropped:
            return False
        price = WORTH * _STEPS * self._capture * _DEARER ** self._dropped.get(signature, 0)
        return self._spent[signature] < price

    def run_eagerly(
        self,
        signature: int,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call a function, and note how long that took."""
        start = clock()
        result = func(*args, **kwargs)
        took = clock() - start
        self._spent[signature] = self._spent.get(signature, 0.0) + took
        if len(self._spent) > _FEW and took < _LONG:
            self._note_in_vain()
        return result

    def note_refusal(self) -> None:
        """Note that a call could not be made by a program: looking at more like it takes time."""
        if WORTH:
            self._note_in_vain()

    def _note_in_vain(self) -> None:
        self._in_vain += 1
        if self._in_vain >= _PATIENCE:
            self._in_vain, self.rest = 0, _PATIENCE * _REST

    def note_capture(self, seconds: float) -> None:
        """Note how long a capture took."""
        self._capture = seconds if self._capture is _USUAL else min(self._capture, seconds)

    def note_replay(self) -> None:
        """Note that a program was of use."""
        self._in_vain = 0

    def forget(self, signature: int) -> None:
        """Count the eager calls of a signature from zero: its program was dropped.

        Where more signatures take turns than programs are kept, each would be captured and dropped
        over and over. So the next capture is dearer each time: there are ever fewer.
        """
        self._spent.pop(signature, None)
        if len(self._dropped) >= _MOST:
            self._dropped.clear()
        self._dropped[signature] = self._dropped.get(signature, 0) + 1
