"""Reading of files, under torchtext's names."""

from __future__ import annotations

import csv
import os
from typing import TYPE_CHECKING, Any

from weft.utils.download import download_url, extract_archive

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

__all__ = ["download_from_url", "extract_archive", "unicode_csv_reader"]

_LONGEST_CELL = 2**31 - 1  # csv's own limit is 128 KiB, which long documents exceed


def download_from_url(
    url: str,
    path: str | None = None,
    root: str = ".data",
    overwrite: bool = False,
    hash_value: str | None = None,
    hash_type: str = "sha256",
) -> str:
    """Fetch a file with a checksum; return its path.

    Args:
        url: where it is.
        path: where it goes; by default its own name in ``root``.
        root: the folder.
        overwrite: fetch it even if it is there.
        hash_value: the checksum that it must have.
        hash_type: ``"sha256"`` or ``"md5"``.

    >>> import pathlib, tempfile
    >>> there = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = there.write_text("hello")
    >>> here = weft.text.utils.download_from_url(there.as_uri(), root=tempfile.mkdtemp())
    >>> pathlib.Path(here).read_text()
    'hello'
    """
    if hash_type not in ("sha256", "md5"):
        raise ValueError(
            f"download_from_url: hash_type must be 'sha256' or 'md5', got {hash_type!r}"
        )
    folder, name = os.path.split(path) if path else (root, None)
    target = os.path.join(folder, name or url.rpartition("/")[2])
    if overwrite and os.path.exists(target):
        os.remove(target)
    md5, sha256 = (hash_value, None) if hash_type == "md5" else (None, hash_value)
    return download_url(url, folder or ".", name, md5, sha256)


def unicode_csv_reader(unicode_csv_data: IO[str], **kwargs: Any) -> Iterator[list[str]]:
    """Iterate over the rows of a CSV file, however long its cells are.

    >>> list(weft.text.utils.unicode_csv_reader(iter(["1,two words"])))
    [['1', 'two words']]
    """
    if csv.field_size_limit() < _LONGEST_CELL:
        csv.field_size_limit(_LONGEST_CELL)
    yield from csv.reader(unicode_csv_data, **kwargs)
