"""Files from the network and archives, under torchvision's names; see ``weft.utils.download``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from weft.utils import download

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "calculate_md5",
    "check_integrity",
    "check_md5",
    "download_and_extract_archive",
    "download_url",
    "extract_archive",
]


def calculate_md5(fpath: str | Path, chunk_size: int = 1 << 20) -> str:
    """Return the MD5 checksum of a file, in hexadecimal digits.

    Args:
        fpath: the file.
        chunk_size: how many bytes to read at a time.

    >>> import os, tempfile
    >>> from weft.vision.datasets.utils import calculate_md5
    >>> path = os.path.join(tempfile.mkdtemp(), "empty")
    >>> open(path, "w").close()
    >>> calculate_md5(path)
    'd41d8cd98f00b204e9800998ecf8427e'
    """
    return download.checksum(fpath, "md5", chunk_size)


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
    return download.check_file(fpath, md5)


def download_url(
    url: str | Sequence[str],
    root: str | Path,
    filename: str | Path | None = None,
    md5: str | None = None,
    max_redirect_hops: int = 3,
) -> None:
    """Fetch a file into a folder, unless it is there and has the checksum.

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
    ValueError: download: expected a URL with http, https or file, got 'ftp://example.com/a.gz'
    """
    download.download_url(url, root, filename, md5, max_redirects=max_redirect_hops)


def extract_archive(
    from_path: str | Path, to_path: str | Path | None = None, remove_finished: bool = False
) -> str:
    """Unpack a tar or zip archive, or one file in gzip, and return the folder or the file.

    Args:
        from_path: the archive.
        to_path: the folder, by default that of the archive.
        remove_finished: delete the archive at the end.

    >>> import gzip, os, pathlib, tempfile
    >>> from weft.vision.datasets.utils import extract_archive
    >>> path = os.path.join(tempfile.mkdtemp(), "greeting.txt.gz")
    >>> with gzip.open(path, "wb") as f:
    ...     _ = f.write(b"hello")
    >>> pathlib.Path(extract_archive(path)).read_text()
    'hello'
    """
    path = os.fspath(from_path)
    to = os.fspath(to_path) if to_path is not None else os.path.dirname(path)
    files = download.extract_archive(path, to, overwrite=True)
    if remove_finished:
        os.remove(path)
    one_file = path.endswith(".gz") and not path.endswith(".tar.gz")
    return files[0] if one_file else to


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
    >>> download_and_extract_archive("ftp://example.com/a.zip", tempfile.mkdtemp())
    Traceback (most recent call last):
    ValueError: download: expected a URL with http, https or file, got 'ftp://example.com/a.zip'
    """
    path = download.download_url(url, download_root, filename, md5, max_redirects=3)
    extract_archive(path, extract_root or download_root, remove_finished)
