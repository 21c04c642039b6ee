"""Files from the network: fetched whole and checked, or not at all; archives unpacked safely."""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from weft.vision.files import damaged, write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

__all__ = [
    "calculate_md5",
    "check_integrity",
    "check_md5",
    "download_and_extract_archive",
    "download_url",
    "extract_archive",
]

_CHUNK = 1 << 20
_PATIENCE = 60.0  # seconds without a byte from the server
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, tarfile.TarError)


def calculate_md5(fpath: str | Path, chunk_size: int = _CHUNK) -> str:
    """Return the MD5 checksum of a file, in hexadecimal digits.

    >>> import os, tempfile
    >>> from weft.vision.datasets.utils import calculate_md5
    >>> path = os.path.join(tempfile.mkdtemp(), "empty")
    >>> open(path, "w").close()
    >>> calculate_md5(path)
    'd41d8cd98f00b204e9800998ecf8427e'
    """
    md5 = _md5()
    with open(fpath, "rb") as f:
        while chunk := f.read(chunk_size):
            md5.update(chunk)
    return md5.hexdigest()


def _md5() -> Any:
    return hashlib.md5(usedforsecurity=False)  # the checksums that the authors published


def check_md5(fpath: str | Path, md5: str) -> bool:
    """Return whether a file has this MD5 checksum.

    >>> from weft.vision.datasets.utils import check_md5
    >>> check_md5(weft.__file__, "d41d8cd98f00b204e9800998ecf8427e")
    False
    """
    return calculate_md5(fpath) == md5.lower()


def check_integrity(fpath: str | Path, md5: str | None = None) -> bool:
    """Return whether a file is there and has the MD5 checksum, where one is given.

    >>> from weft.vision.datasets.utils import check_integrity
    >>> check_integrity(weft.__file__), check_integrity("nowhere")
    (True, False)
    """
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


class _Failed(Exception):
    """Why a URL did not give the file."""


def download_url(
    url: str | Sequence[str],
    root: str | Path,
    filename: str | Path | None = None,
    md5: str | None = None,
    max_redirect_hops: int = 3,
) -> None:
    """Fetch a file into a folder, unless it is there and has the checksum.

    The file appears under its name when all of it has come and has been checked; an error, a lost
    connection or Ctrl-C leaves nothing behind.

    Args:
        url: where it is, or several such places, which are tried in turn.
        root: the folder.
        filename: its name there, by default the last part of the URL.
        md5: the checksum it must have.
        max_redirect_hops: how often a server may send us elsewhere.

    >>> import tempfile
    >>> from weft.vision.datasets.utils import download_url
    >>> download_url("ftp://example.com/a.gz", tempfile.mkdtemp())
    Traceback (most recent call last):
    ValueError: download: expected a URL with http or https, got 'ftp://example.com/a.gz'
    """
    urls = [url] if isinstance(url, str) else list(url)
    for one in urls:
        if not one.lower().startswith(("http://", "https://")):
            raise ValueError(f"download: expected a URL with http or https, got {one!r}")
    root = os.path.expanduser(root)
    path = os.path.join(root, os.fspath(filename or os.path.basename(urls[0])))
    if check_integrity(path, md5):
        return
    os.makedirs(root, exist_ok=True)
    causes = []
    for one in urls:
        try:
            _fetch(one, path, md5, max_redirect_hops)
            return
        except _Failed as e:
            causes.append(f"  {one}: {e}")
    sum_ = f" (its MD5 checksum is {md5})" if md5 else ""
    raise RuntimeError(
        f"download: could not get {os.path.basename(path)}:\n" + "\n".join(causes) + "\n"
        f"Get it from there by other means, and put it at {os.path.abspath(path)}{sum_}"
    )


def _fetch(url: str, path: str, md5: str | None, hops: int) -> None:
    import http.client
    import urllib.error
    import urllib.request

    class Redirects(urllib.request.HTTPRedirectHandler):
        max_redirections = hops

    request = urllib.request.Request(url, headers={"User-Agent": "weft.vision"})
    try:
        response = urllib.request.build_opener(Redirects).open(request, timeout=_PATIENCE)
    except urllib.error.HTTPError as e:
        raise _Failed(f"the server answers {e.code} {e.reason}".replace("\n", " ")) from e
    except urllib.error.URLError as e:
        raise _Failed(str(e.reason)) from e
    except (OSError, ValueError, http.client.HTTPException) as e:
        raise _Failed(f"{type(e).__name__}: {e}") from e
    with response:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdigit() else None
        write_file(path, lambda f: _copy(response, f, total, md5, os.path.basename(path)))


def _copy(response: Any, f: BinaryIO, total: int | None, md5: str | None, name: str) -> None:
    import http.client

    from tqdm import tqdm  # type: ignore[import-untyped]

    seen, got = _md5(), 0
    with tqdm(total=total, unit="B", unit_scale=True, desc=name) as bar:
        while True:
            try:
                chunk = response.read(_CHUNK)
            except (OSError, http.client.HTTPException) as e:
                raise _Failed(f"interrupted after {got} of {total} bytes: {e}") from e
            if not chunk:
                break
            f.write(chunk)
            seen.update(chunk)
            got += len(chunk)
            bar.update(len(chunk))
    if total is not None and got != total:
        raise _Failed(f"interrupted after {got} of {total} bytes")
    if md5 is not None and seen.hexdigest() != md5.lower():
        raise _Failed(f"its {got} bytes have the MD5 checksum {seen.hexdigest()}, expected {md5}")


def extract_archive(
    from_path: str | Path, to_path: str | Path | None = None, remove_finished: bool = False
) -> str:
    """Unpack a tar or zip archive, or one file in gzip, and return the folder or the file.

    Only plain files and folders are unpacked, and only to places below the folder.

    Args:
        from_path: the archive.
        to_path: the folder, by default that of the archive; for one file in gzip its new name.
        remove_finished: delete the archive at the end.

    >>> import gzip, os, tempfile
    >>> from weft.vision.datasets.utils import extract_archive
    >>> path = os.path.join(tempfile.mkdtemp(), "greeting.txt.gz")
    >>> with gzip.open(path, "wb") as f:
    ...     _ = f.write(b"hello")
    >>> open(extract_archive(path)).read()
    'hello'
    """
    path = os.fspath(from_path)
    to = os.fspath(to_path) if to_path is not None else None
    try:
        if tarfile.is_tarfile(path):
            to = to or os.path.dirname(path)
            _unpack(_tar_members(path), to, path)
        elif zipfile.is_zipfile(path):
            to = to or os.path.dirname(path)
            _unpack(_zip_members(path), to, path)
        elif path.endswith(".gz"):
            to = to or path.removesuffix(".gz")
            with gzip.open(path, "rb") as f:
                write_file(to, lambda out: _pour(f, out))
        else:
            raise damaged(f"{path}: not an archive of a known kind (tar, zip or gz)")
    except DAMAGED as e:
        raise damaged(f"{path}: damaged archive: {type(e).__name__}: {e}") from e
    if remove_finished:
        os.remove(path)
    return to


def _pour(source: Any, out: BinaryIO) -> None:
    while chunk := source.read(_CHUNK):
        out.write(chunk)


def _tar_members(path: str) -> Iterator[tuple[str, Any]]:
    """Give the names in a tar archive, with an open file for each plain one, None for a folder."""
    with tarfile.open(path) as archive:
        for member in archive:
            if not (member.isfile() or member.isdir()):
                raise damaged(f"{path}: {member.name!r} is a link or a device, not a plain file")
            yield member.name, archive.extractfile(member) if member.isfile() else None


def _zip_members(path: str) -> Iterator[tuple[str, Any]]:
    """Give the same of a zip archive."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            yield member.filename, None if member.is_dir() else archive.open(member)


def _unpack(members: Iterable[tuple[str, Any]], folder: str, archive: str) -> None:
    for name, source in members:
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or "\\" in name or ":" in name:
            raise damaged(f"{archive}: {name!r} would be unpacked outside of {folder}")
        target = os.path.join(folder, *parts)
        if source is None:
            os.makedirs(target, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        with source:
            write_file(target, lambda out, source=source: _pour(source, out))


def download_and_extract_archive(
    url: str | Sequence[str],
    download_root: str | Path,
    extract_root: str | Path | None = None,
    filename: str | Path | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """Fetch an archive and unpack it; see ``download_url`` and ``extract_archive``.

    >>> import tempfile
    >>> from weft.vision.datasets.utils import download_and_extract_archive
    >>> download_and_extract_archive("file:///a.zip", tempfile.mkdtemp())
    Traceback (most recent call last):
    ValueError: download: expected a URL with http or https, got 'file:///a.zip'
    """
    root = os.path.expanduser(download_root)
    name = os.fspath(filename or os.path.basename(url if isinstance(url, str) else url[0]))
    download_url(url, root, name, md5)
    path = os.path.join(root, name)
    one_file = name.endswith(".gz") and not name.endswith(".tar.gz")
    to = os.path.expanduser(extract_root) if extract_root else root
    extract_archive(path, os.path.join(to, name[:-3]) if one_file else to, remove_finished)
