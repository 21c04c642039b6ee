"""What datasets and images need of weft's files, loaded on first use: it brings NumPy with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["damaged", "write_bytes", "write_file"]


def damaged(text: str) -> Exception:
    """Return the error about a file that is not what it should be.

    >>> from weft.vision.files import damaged
    >>> type(damaged("train-images: ends early")).__name__
    'FileError'
    """
    from weft.serialization.common import FileError

    return FileError(text)


def write_file(f: Any, write: Callable[..., Any]) -> None:
    """Let ``write`` write to a path, all or nothing, or to an open file.

    >>> import io
    >>> from weft.vision.files import write_file
    >>> out = io.BytesIO()
    >>> write_file(out, lambda file: file.write(b"hello"))
    >>> out.getvalue()
    b'hello'
    """
    from weft.serialization import atomic

    atomic.write_file(f, write)


def write_bytes(f: Any, data: bytes) -> None:
    """Write bytes to a path, all or nothing, or to an open file.

    >>> import io
    >>> from weft.vision.files import write_bytes
    >>> out = io.BytesIO()
    >>> write_bytes(out, b"hello")
    >>> out.getvalue()
    b'hello'
    """
    write_file(f, lambda file: file.write(data))
