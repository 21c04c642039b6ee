"""Object files of kernels on the disk, so that the next process need not compile them.

They lie in ``$WEFT_CACHE``, or in ``~/.cache/weft/kernels``. A file holds a line with its key and the
checksum of the rest. What is not as it should be (another key, a wrong checksum, a file of another
user or that others may write) is never run: it is compiled anew. No directory, no cache.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat

__all__ = ["VERSION", "directory", "read", "write"]

VERSION = "weft kernel 1"  # of the files and of what kernels are called with
_LIMIT = 64 << 20  # bytes in the directory: beyond it the oldest files go
_LONGEST = 4 << 20  # of one file
_NAME = re.compile(r"[0-9a-f]{64}\.o(\.\d+)?")  # the directory may hold files of the user's own
# Not to wait for the other end, should it be a pipe.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def directory() -> str | None:
    """Return where kernels lie; None where there can be no such place.

    >>> weft.jit.codegen.cache.directory() is None or weft.jit.codegen.cache.directory() != ""
    True
    """
    place = os.environ.get("WEFT_CACHE")
    if place is None:
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            return None
        place = os.path.join(
            os.environ.get("XDG_CACHE_HOME") or f"{home}/.cache", "weft", "kernels"
        )
    return place or None


def _is_ours(facts: os.stat_result) -> bool:
    """Say whether only this user can have written it."""
    return facts.st_uid == os.getuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _head(key: str, data: bytes) -> bytes:
    return f"{VERSION} {key} {hashlib.sha256(data).hexdigest()}\n".encode()


def read(key: str) -> bytes | None:
    """Return the object file of a key; None where there is none that can be trusted.

    >>> weft.jit.codegen.cache.read("no such key") is None
    True
    """
    place = directory()
    if place is None:
        return None
    try:
        if not _is_ours(os.stat(place)):
            return None
        opened = os.open(os.path.join(place, f"{key}.o"), _FLAGS)
        try:
            facts = os.fstat(opened)
            if not _is_ours(facts) or not stat.S_ISREG(facts.st_mode) or facts.st_size > _LONGEST:
                return None
            with os.fdopen(opened, "rb", closefd=False) as file:
                head, data = file.readline(512), file.read()
        finally:  # by hand: of a directory, fdopen makes no file that would close it
            os.close(opened)
    except OSError:
        return None
    return data if head == _head(key, data) else None


def write(key: str, data: bytes) -> None:
    """Keep an object file, whole or not at all; where that cannot be, do nothing.

    >>> weft.jit.codegen.cache.write("0" * 64, b"")  # too short to be of use, yet harmless
    """
    place = directory()
    if place is None or len(data) > _LONGEST:
        return
    path = os.path.join(place, f"{key}.o")
    passing = f"{path}.{os.getpid()}"
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        if not _is_ours(os.stat(place)):
            return
        opened = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(opened, "wb") as file:
                file.write(_head(key, data) + data)
            os.replace(passing, path)
        except OSError:
            os.unlink(passing)
            raise
        _make_room(place)
    except OSError:
        return


def _make_room(place: str) -> None:
    """Remove the files that were written first until the rest is within the limit."""
    files = []
    with os.scandir(place) as entries:
        for entry in entries:
            facts = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(facts.st_mode) and _NAME.fullmatch(entry.name):
                files.append((facts.st_mtime, facts.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= _LIMIT:
            return
        os.unlink(path)
        total -= size
