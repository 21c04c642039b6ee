"""Writing a file in one go: the old content, or the new one, but never anything between.

The new content goes to a temporary file in the same folder, reaches the disk, and then takes the
name. The writer holds a lock on its temporary file, so that the next save can tell the remains of
a process that was killed from the work of one that lives.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import shutil
import stat
from typing import TYPE_CHECKING, Any

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

__all__ = ["write_file"]

_ENDING = ".weft-tmp"


def write_file(f: Any, write: Callable[[BinaryIO], object], previous: str = "") -> None:
    """Let ``write`` write to a path, all or nothing, or to an open file.

    Args:
        f: a path, or a file open for writing.
        write: is given an open file.
        previous: what to append to the path for a name under which the replaced file is kept.

    >>> import os, tempfile
    >>> from pathlib import Path
    >>> from weft.serialization.atomic import write_file
    >>> path = os.path.join(tempfile.mkdtemp(), "greeting")
    >>> write_file(path, lambda file: file.write(b"hello"))
    >>> Path(path).read_text()
    'hello'
    """
    if not isinstance(f, (str, bytes, os.PathLike)):
        if not hasattr(f, "write"):
            raise TypeError(f"save: expected a path or a file to write to, got {type(f).__name__}")
        write(f)
        if hasattr(f, "flush"):
            f.flush()
        return
    path = os.path.realpath(os.fsdecode(f))  # a link stays one
    try:
        mode: int | None = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as device:  # a pipe or a device has no content to keep
            write(device)
        return
    _replace(path, mode, write, previous)


def _replace(
    path: str, mode: int | None, write: Callable[[BinaryIO], object], previous: str
) -> None:
    folder, base = os.path.split(path)
    folder = folder or "."
    lock, temporary, counted, kept = -1, "", None, "the old file is kept"
    try:
        _sweep(folder, base)
        lock, temporary = _create(folder, base)  # is locked for longer than it is written to
        if mode is not None:
            os.fchmod(lock, stat.S_IMODE(mode))
        counted = _Counted(os.dup(lock), "r+b")
        with io.BufferedRandom(counted, 1 << 20) as file:
            write(file)
            file.flush()
            os.fsync(lock)
        if previous and mode is not None:
            _keep(path, path + previous, _spare_name(folder, base))
        os.replace(temporary, path)
        kept = "the new file is in place, but may not outlast a power failure"
        _sync_folder(folder)
    except BaseException as e:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(e, OSError) and e.errno is not None:
            written = counted.written if counted else 0
            text = f"{os.strerror(e.errno)} (after {written} bytes; {kept})"
            raise type(e)(e.errno, text, path) from e
        raise
    finally:
        if lock >= 0:
            with contextlib.suppress(OSError):  # the content has been on the disk for long
                os.close(lock)


class _Counted(io.FileIO):
    """A file that knows how much was written to it."""

    written = 0

    def write(self, data: Any) -> int:
        done = super().write(data)
        if done is None:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self.written += done
        return done


def _keep(path: str, previous: str, spare: str) -> None:
    """Let the file at ``path`` also be the one at ``previous``; at all times both are whole."""
    try:
        try:
            os.link(path, spare)
        except OSError:
            shutil.copy(path, spare)  # some file systems have no links
        os.replace(spare, previous)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(spare)  # is left by an error, or if both names were those of one file


def _spare_name(folder: str, base: str) -> str:
    """Return a new name for a temporary file, which ``_sweep`` knows."""
    return os.path.join(folder, f".{base[:150]}.{secrets.token_hex(8)}{_ENDING}")


def _create(folder: str, base: str) -> tuple[int, str]:
    """Return a new, locked temporary file for ``base``."""
    while True:
        temporary = _spare_name(folder, base)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        fd = os.open(temporary, flags, 0o666)
        if fcntl is None:
            return fd, temporary
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken = not os.path.exists(temporary)
        except BlockingIOError:
            taken = True
        except OSError:  # some file systems have no locks
            taken = False
        if not taken:
            return fd, temporary
        os.close(fd)  # another save took it for a remnant, before the lock, and removes it


def _sweep(folder: str, base: str) -> None:
    """Remove what killed writers of the same file left: temporary files that nobody has locked."""
    if fcntl is None:
        return
    start = f".{base[:150]}."
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        middle = name[len(start) : -len(_ENDING)]
        if not (name.startswith(start) and name.endswith(_ENDING) and len(middle) == 16):
            continue
        if set(middle) - set("0123456789abcdef"):
            continue
        path = os.path.join(folder, name)
        try:
            fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        except OSError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
        except OSError:
            pass  # its writer lives
        finally:
            os.close(fd)


def _sync_folder(folder: str) -> None:
    """Make a new name last."""
    fd = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(fd)
    except OSError as e:
        if e.errno not in (errno.EINVAL, errno.ENOTSUP):  # not all file systems can
            raise
    finally:
        os.close(fd)
