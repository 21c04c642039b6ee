"""``torch.__version__`` as programs compare it: a string that compares by its numbers."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["TorchVersion"]


class TorchVersion(str):
    """A version: text that compares by its numbers, with other texts and with tuples.

    >>> from weft.compat.version import TorchVersion
    >>> v = TorchVersion("2.13.0+weft")
    >>> v >= "2.9", v > (1, 10), v.split("+")[0]
    (True, True, '2.13.0')
    """

    __slots__ = ()

    def _compared(self, other: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return both as numbers, filled up with zeros to the same length; None if it has none."""
        a, b = _numbers(self), _numbers(other)
        if a is None or b is None:
            return None
        size = max(len(a), len(b))
        return a + (0,) * (size - len(a)), b + (0,) * (size - len(b))

    def __lt__(self, other: Any) -> bool:
        """Say whether this version is older."""
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] < pair[1]

    def __le__(self, other: Any) -> bool:
        """Say whether this version is not newer."""
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] <= pair[1]

    def __gt__(self, other: Any) -> bool:
        """Say whether this version is newer."""
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] > pair[1]

    def __ge__(self, other: Any) -> bool:
        """Say whether this version is not older."""
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] >= pair[1]

    def __eq__(self, other: Any) -> bool:
        """Say whether it is the same text, or has the same numbers as a tuple."""
        if isinstance(other, str):
            return str.__eq__(self, other)
        pair = self._compared(other)
        return pair is not None and pair[0] == pair[1]

    def __ne__(self, other: Any) -> bool:
        """Say whether they differ."""
        return not self == other

    __hash__ = str.__hash__


def _numbers(version: Any) -> tuple[int, ...] | None:
    if isinstance(version, str):
        head = re.match(r"\d+(\.\d+)*", version)
        return tuple(map(int, head.group().split("."))) if head else None
    if isinstance(version, (tuple, list)) and all(isinstance(n, int) for n in version):
        return tuple(version)
    return _numbers(str(version)) if hasattr(version, "release") else None
