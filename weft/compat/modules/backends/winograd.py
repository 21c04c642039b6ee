"""``weft.backends.winograd``: convolutions of 3x3 with fewer products (``docs/notes/winograd.md``).

>>> weft.backends.winograd.is_enabled()
True
"""

from __future__ import annotations

from contextlib import contextmanager

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def is_enabled() -> bool:
    """Say whether convolutions may be computed in that way.

    >>> weft.backends.winograd.is_enabled()
    True
    """
    return bool(_C._winograd())


def enable(enabled: bool = True) -> None:
    """Let convolutions be computed in that way, or not.

    >>> weft.backends.winograd.enable(False)
    >>> weft.backends.winograd.is_enabled()
    False
    >>> weft.backends.winograd.enable()
    """
    _C._set_winograd(enabled)


@contextmanager
def flags(enabled: bool = True) -> Iterator[None]:
    """Set the switch inside a ``with`` block.

    >>> with weft.backends.winograd.flags(enabled=False):
    ...     weft.backends.winograd.is_enabled()
    False
    """
    before = is_enabled()
    enable(enabled)
    try:
        yield
    finally:
        enable(before)
