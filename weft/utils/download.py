"""Files from the network: fetched whole and checked, or not at all; archives unpacked safely."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from typing import BinaryIO

    AnyPath = str | os.PathLike[str]

__all__ = ["check_file", "checksum", "download_url", "extract_archive", "fetch"]

_BLOCK = 1 << 20
_ROOM = 1 << 30  # bytes that any archive may unpack to ...
_GROWTH = 200  # ... and so many more for each byte of its own
_MOST_FILES = 5_000_000


def checksum(path: AnyPath, rule: str = "md5", block: int = _BLOCK) -> str:
    """Return the checksum of a file, in hexadecimal digits.

    Args:
        path: the file.
        rule: ``"md5"``, ``"sha256"`` or another of Python's ``hashlib``.
        block: how many bytes to read at a time.

    >>> import os, tempfile
    >>> from weft.utils.download import checksum
    >>> path = os.path.join(tempfile.mkdtemp(), "empty")
    >>> open(path, "w").close()
    >>> checksum(path)
    'd41d8cd98f00b204e9800998ecf8427e'
    """
    digest = hashlib.new(rule, usedforsecurity=False)  # authors publish what they publish
    with open(path, "rb") as file:
        while data := file.read(block):
            digest.update(data)
    return digest.hexdigest()


def check_file(path: AnyPath, md5: str | None = None, sha256: str | None = None) -> bool:
    """Return whether a file is there and has the checksums that are given.

    Args:
        path: the file.
        md5: the checksum that it must have.
        sha256: the same by another rule; the first digits are enough.

    >>> import tempfile, os
    >>> from weft.utils.download import check_file
    >>> path = os.path.join(tempfile.mkdtemp(), "empty")
    >>> open(path, "w").close()
    >>> check_file(path, md5="d41d8cd98f00b204e9800998ecf8427e"), check_file(path, md5="00")
    (True, False)
    """
    wanted = _wanted(md5, sha256)
    return os.path.isfile(path) and all(_fits(checksum(path, r), r, w) for r, w in wanted.items())


def _wanted(md5: str | None, sha256: str | None) -> dict[str, str]:
    given = {"md5": md5, "sha256": sha256}
    return {rule: value.lower() for rule, value in given.items() if value is not None}


def _fits(found: str, rule: str, wanted: str) -> bool:
    return found.startswith(wanted) if rule == "sha256" else found == wanted


# ---- fetching -----------------------------------------------------------------------------------


class _Failed(Exception):
    """Why a URL did not give the file."""


def download_url(
    url: str | Sequence[str],
    root: AnyPath,
    filename: AnyPath | None = None,
    md5: str | None = None,
    sha256: str | None = None,
    progress: bool = True,
    max_redirects: int = 5,
    timeout: float = 60.0,
) -> str:
    """Fetch a file into a folder unless it is there with the right checksum; return its path.

    Args:
        url: where the file is, or several such places: see :func:`fetch`.
        root: the folder, which is made if need be.
        filename: the name in the folder; by default the last part of the URL.
        md5, sha256, progress, max_redirects, timeout: see :func:`fetch`.

    >>> import pathlib, tempfile
    >>> from weft.utils.download import download_url
    >>> there = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = there.write_text("hello")
    >>> here = download_url(there.as_uri(), tempfile.mkdtemp(), progress=False)
    >>> pathlib.Path(here).read_text()
    'hello'
    """
    urls = _places(url)
    folder = os.path.abspath(os.path.expanduser(os.fspath(root)))
    path = os.path.join(folder, os.fspath(filename) if filename else _name_in(urls[0]))
    if not check_file(path, md5, sha256):
        fetch(urls, path, md5, sha256, progress, max_redirects, timeout)
    return path


def fetch(
    url: str | Sequence[str],
    path: AnyPath,
    md5: str | None = None,
    sha256: str | None = None,
    progress: bool = True,
    max_redirects: int = 5,
    timeout: float = 60.0,
) -> None:
    """Fetch a file to a path, whether one is there or not.

    It takes its name when all of it has come and has been checked: an error, a lost connection or
    Ctrl-C leaves what was there before.

    Args:
        url: where the file is (``http``, ``https`` or ``file``), or several such places, which are
            tried in turn.
        path: where to put it; its folder is made if need be.
        md5: the checksum that it must have.
        sha256: the same by another rule; the first digits are enough.
        progress: show a bar.
        max_redirects: how often a server may send us elsewhere.
        timeout: for how many seconds a server may send nothing.

    >>> import tempfile
    >>> from weft.utils.download import fetch
    >>> fetch("ftp://example.com/a.gz", tempfile.mkdtemp() + "/a.gz")
    Traceback (most recent call last):
    ValueError: download: expected a URL with http, https or file, got 'ftp://example.com/a.gz'
    """
    target = os.path.abspath(os.path.expanduser(os.fspath(path)))
    wanted = _wanted(md5, sha256)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    causes = []
    for place in _places(url):
        try:
            with _open(place, max_redirects, timeout) as answer:
                _keep(answer, target, wanted, progress)
            return
        except _Failed as e:
            causes.append((place, str(e)))
    sums = "".join(f" (its {rule} begins with {value})" for rule, value in wanted.items())
    if len(causes) == 1:
        failed = f"{causes[0][0]} ({causes[0][1]}). "
    else:
        lines = "".join(f"  {place}: {cause}\n" for place, cause in causes)
        failed = f"{os.path.basename(target)}:\n{lines}"
    raise RuntimeError(
        f"download: could not fetch {failed}Fetch it by other means and put it at {target}{sums}"
    )


def _places(url: str | Sequence[str]) -> list[str]:
    urls = [url] if isinstance(url, str) else list(url)
    if not urls:
        raise ValueError("download: expected at least one URL, got none")
    for one in urls:
        if not one.lower().startswith(("http://", "https://", "file://")):
            raise ValueError(f"download: expected a URL with http, https or file, got {one!r}")
    return urls


def _name_in(url: str) -> str:
    from urllib.parse import unquote, urlsplit

    name = os.path.basename(unquote(urlsplit(url).path).rstrip("/"))
    if name in ("", ".", ".."):
        raise ValueError(f"download: {url!r} does not end in the name of a file; give filename=")
    return name


def _open(url: str, hops: int, timeout: float) -> Any:
    import http.client
    import urllib.error
    import urllib.request

    class Redirects(urllib.request.HTTPRedirectHandler):
        max_redirections = hops

    try:
        request = urllib.request.Request(url, headers={"User-Agent": "weft"})
        return urllib.request.build_opener(Redirects).open(request, timeout=timeout)
    except urllib.error.HTTPError as e:
        with e:
            raise _Failed(f"the server answers {e.code} {e.reason}".replace("\n", " ")) from e
    except urllib.error.URLError as e:
        raise _Failed(str(e.reason)) from e
    except (OSError, ValueError, http.client.HTTPException) as e:
        raise _Failed(f"{type(e).__name__}: {e}") from e


def _keep(answer: Any, path: str, wanted: dict[str, str], progress: bool) -> None:
    """Write what a server sends to a path, if it is all there and is what was wanted."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    from weft.serialization.atomic import write_file

    length = answer.headers.get("Content-Length", "")
    total = int(length) if length.isdigit() else None
    digests = {rule: hashlib.new(rule, usedforsecurity=False) for rule in wanted}

    def write(file: BinaryIO) -> None:
        done = 0
        for block in _blocks(answer, total):
            file.write(block)
            for digest in digests.values():
                digest.update(block)
            done += len(block)
            bar.update(len(block))
        for rule, value in wanted.items():
            found = digests[rule].hexdigest()
            if not _fits(found, rule, value):
                raise _Failed(
                    f"invalid hash value: its {done} bytes have the {rule} {found}, expected {value}"
                )

    name = os.path.basename(path)
    with tqdm(total=total, unit="B", unit_scale=True, desc=name, disable=not progress) as bar:
        write_file(path, write)


def _blocks(answer: Any, total: int | None) -> Iterator[bytes]:
    import http.client

    done = 0
    while True:
        try:
            block = answer.read(_BLOCK)
        except (OSError, http.client.HTTPException) as e:
            raise _Failed(f"interrupted after {done} of {total} bytes: {e}") from e
        if not block:
            break
        done += len(block)
        yield block
    if total is not None and done != total:
        raise _Failed(f"interrupted after {done} of {total} bytes")


# ---- unpacking ----------------------------------------------------------------------------------


def extract_archive(
    path: AnyPath,
    to: AnyPath | None = None,
    overwrite: bool = False,
    max_bytes: int | None = None,
    max_files: int = _MOST_FILES,
) -> list[str]:
    """Unpack a tar or zip archive, or one file in gzip; return the paths of its files.

    Only plain files and folders are unpacked, only to places below the folder, and each file
    takes its name when it is whole.

    Args:
        path: the archive.
        to: the folder; by default that of the archive.
        overwrite: also write files that are there already.
        max_bytes: how much it may unpack to; by default 1 GiB and 200 times its own size.
        max_files: how many files and folders it may have.

    >>> import os, tempfile, zipfile
    >>> from weft.utils.download import extract_archive
    >>> path = os.path.join(tempfile.mkdtemp(), "a.zip")
    >>> with zipfile.ZipFile(path, "w") as archive:
    ...     archive.writestr("b/c.txt", "hello")
    >>> [os.path.relpath(p, os.path.dirname(path)) for p in extract_archive(path)]
    ['b/c.txt']
    """
    from weft.serialization.common import FileError

    archive = os.path.abspath(os.path.expanduser(os.fspath(path)))
    folder = os.path.abspath(os.path.expanduser(os.fspath(to or os.path.dirname(archive))))
    if max_bytes is None:
        max_bytes = _ROOM + _GROWTH * os.path.getsize(archive)
    try:
        return _unpack(archive, folder, overwrite, max_bytes, max_files)
    except _damage() as e:
        if isinstance(e, FileError) or getattr(e, "filename", None) is not None:
            raise  # ours, or about a file on the disk
        raise _refused(archive, f"damaged archive: {type(e).__name__}: {e}") from e


def _damage() -> tuple[type[Exception], ...]:
    """Return what Python's readers of packed files raise about damaged ones."""
    import struct
    import tarfile
    import zipfile
    import zlib

    packed = [struct.error, tarfile.TarError, zipfile.BadZipFile, zlib.error]
    try:
        import lzma
    except ImportError:  # a Python that was built without it
        pass
    else:
        packed.append(lzma.LZMAError)
    return (EOFError, OSError, ValueError, RuntimeError, *packed)  # Runtime: a password, a method


class _Room:
    """How many bytes an archive may still unpack to."""

    def __init__(self, archive: str, most: int) -> None:
        self.archive, self.most, self.left = archive, most, most

    def pour(self, source: Any, out: BinaryIO) -> None:
        """Copy all of an open file."""
        while block := source.read(_BLOCK):
            self.left -= len(block)
            if self.left < 0:
                raise _refused(self.archive, f"unpacks to more than {self.most} bytes (max_bytes)")
            out.write(block)


def _refused(archive: str, why: str) -> Exception:
    from weft.serialization.common import FileError

    return FileError(f"{archive}: {why}")


def _unpack(
    archive: str, folder: str, overwrite: bool, max_bytes: int, max_files: int
) -> list[str]:
    from weft.serialization.atomic import write_file

    files, room = [], _Room(archive, max_bytes)
    with contextlib.closing(_members(archive)) as members:
        for i, (name, source) in enumerate(members):
            with source or contextlib.nullcontext():  # closed even if it is refused
                if i == max_files:
                    raise _refused(
                        archive, f"has more than {max_files} files and folders (max_files)"
                    )
                target = _target(archive, folder, name)
                if source is None:
                    os.makedirs(target, exist_ok=True)
                    continue
                files.append(target)
                if overwrite or not os.path.exists(target):
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    write_file(target, functools.partial(room.pour, source))
    return files


def _target(archive: str, folder: str, name: str) -> str:
    """Return the place of a member, which is below the folder."""
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or "\\" in name or ":" in name:
        raise _refused(archive, f"{name!r} would be unpacked outside of {folder}")
    return os.path.join(folder, *parts)


def _members(archive: str) -> Generator[tuple[str, Any], None, None]:
    """Give the names in an archive, with an open file for each plain one, None for a folder."""
    import gzip
    import tarfile
    import zipfile

    name = os.path.basename(archive)
    if name.endswith(".gz") and not name.endswith(".tar.gz"):
        yield name.removesuffix(".gz"), gzip.open(archive, "rb")
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as tar:
            for member in tar:
                if not (member.isfile() or member.isdir()):
                    raise _refused(archive, f"{member.name!r} is a link or a device, not a file")
                yield member.name, tar.extractfile(member) if member.isfile() else None
    elif zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as z:
            for entry in z.infolist():
                yield entry.filename, None if entry.is_dir() else z.open(entry)
    else:
        raise _refused(archive, "not an archive of a known kind (tar, zip or gz)")
