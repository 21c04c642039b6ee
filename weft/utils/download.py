"""Files from the network: fetched once, checked, and put in place in one go."""

from __future__ import annotations

import hashlib
import os
import tarfile
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["check_file", "download_url", "extract_archive"]

_BLOCK = 1 << 20
_TIMEOUT = 30.0


def check_file(path: str, md5: str | None = None, sha256: str | None = None) -> bool:
    """Return whether a file is there and has the checksums that are given.

    >>> import tempfile, os
    >>> from weft.utils.download import check_file
    >>> path = os.path.join(tempfile.mkdtemp(), "empty")
    >>> open(path, "w").close()
    >>> check_file(path, md5="d41d8cd98f00b204e9800998ecf8427e"), check_file(path, md5="00")
    (True, False)
    """
    if not os.path.isfile(path):
        return False
    for name, wanted in (("md5", md5), ("sha256", sha256)):
        if wanted is not None and _checksum(path, name) != wanted.lower():
            return False
    return True


def _checksum(path: str, name: str) -> str:
    digest = hashlib.new(name, usedforsecurity=False)
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def download_url(
    url: str,
    root: str | os.PathLike[str],
    filename: str | None = None,
    md5: str | None = None,
    sha256: str | None = None,
    progress: bool = True,
) -> str:
    """Fetch a file into a folder unless it is there with the right checksum; return its path.

    What arrives goes to a temporary file, is checked, and then takes the name, so that a file with
    this name is always whole.

    Args:
        url: where the file is; ``http``, ``https`` or ``file``.
        root: the folder, which is made if need be.
        filename: the name in the folder; by default the last part of the URL.
        md5: the checksum that it must have.
        sha256: the same by another rule.
        progress: show a bar.

    >>> import pathlib, tempfile
    >>> from weft.utils.download import download_url
    >>> there = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = there.write_text("hello")
    >>> here = download_url(there.as_uri(), tempfile.mkdtemp(), progress=False)
    >>> open(here).read()
    'hello'
    """
    from weft.serialization.atomic import write_file

    folder = os.path.abspath(os.path.expanduser(os.fspath(root)))
    path = os.path.join(folder, filename or url.rstrip("/").rpartition("/")[2])
    if check_file(path, md5, sha256):
        return path
    rule, wanted = ("md5", md5) if md5 else ("sha256", sha256)
    os.makedirs(folder, exist_ok=True)

    def write(file: BinaryIO) -> None:
        found = _fetch(url, file, os.path.basename(path), rule, progress)
        if wanted is not None and found != wanted.lower():
            raise RuntimeError(
                f"download: what {url} sent has the {rule} {found}, expected {wanted}; "
                "nothing was kept"
            )

    try:
        write_file(path, write)
    except OSError as e:  # urllib's errors are OSErrors
        raise RuntimeError(
            f"download: could not fetch {url} ({e}). Fetch it by other means and put it at {path}"
        ) from e
    return path


def _fetch(url: str, file: BinaryIO, name: str, rule: str, progress: bool) -> str:
    """Copy what a URL sends into a file; return its checksum."""
    from urllib.request import Request, urlopen

    from tqdm import tqdm  # type: ignore[import-untyped]

    digest, done = hashlib.new(rule, usedforsecurity=False), 0
    request = Request(url, headers={"User-Agent": "weft"})
    with urlopen(request, timeout=_TIMEOUT) as answer:
        length = answer.headers.get("Content-Length")
        total = int(length) if length else None
        with tqdm(total=total, unit="B", unit_scale=True, desc=name, disable=not progress) as bar:
            while block := answer.read(_BLOCK):
                file.write(block)
                digest.update(block)
                done += len(block)
                bar.update(len(block))
    if total is not None and done != total:
        raise ConnectionError(f"the connection ended after {done} of {total} bytes")
    return digest.hexdigest()


def extract_archive(path: str, to: str | None = None, overwrite: bool = False) -> list[str]:
    """Unpack a zip or tar file, also a compressed one; return the paths of its files.

    Members that would land outside the folder are refused.

    Args:
        path: the archive.
        to: the folder; by default that of the archive.
        overwrite: also write files that are there already.

    >>> import os, tempfile, zipfile
    >>> from weft.utils.download import extract_archive
    >>> path = os.path.join(tempfile.mkdtemp(), "a.zip")
    >>> with zipfile.ZipFile(path, "w") as archive:
    ...     archive.writestr("b/c.txt", "hello")
    >>> [os.path.relpath(p, os.path.dirname(path)) for p in extract_archive(path)]
    ['b/c.txt']
    """
    to = os.path.abspath(to or os.path.dirname(os.path.abspath(path)))
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = [m.filename for m in archive.infolist() if not m.is_dir()]
            for name in names:
                if overwrite or not os.path.exists(_inside(to, name, path)):
                    archive.extract(name, to)
    elif tarfile.is_tarfile(path):
        with tarfile.open(path) as tar:
            members = [m for m in tar.getmembers() if m.isfile()]
            names = [m.name for m in members]
            for member in members:
                target = _inside(to, member.name, path)
                if overwrite or not os.path.exists(target):
                    _unpack(tar, member, target)
    else:
        raise ValueError(f"extract_archive: {path} is neither a zip nor a tar file")
    return [_inside(to, name, path) for name in names]


def _inside(folder: str, name: str, archive: str) -> str:
    target = os.path.realpath(os.path.join(folder, name))
    if os.path.commonpath([os.path.realpath(folder), target]) != os.path.realpath(folder):
        raise ValueError(f"extract_archive: {archive} has a member outside its folder: {name!r}")
    return target


def _unpack(tar: tarfile.TarFile, member: tarfile.TarInfo, target: str) -> None:
    import shutil

    os.makedirs(os.path.dirname(target), exist_ok=True)
    content = tar.extractfile(member)
    assert content is not None  # it is a file
    with content, open(target, "wb") as file:
        shutil.copyfileobj(content, file, _BLOCK)
