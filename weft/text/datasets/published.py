"""What published data sets share: where their files are, how they are fetched, their splits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from weft.utils.download import download_url, extract_archive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Published", "Source"]


class Source:
    """Where a file is to be had, and its checksum.

    >>> from weft.text.datasets.published import Source
    >>> Source("https://example.org/a.zip", md5="00").url
    'https://example.org/a.zip'
    """

    def __init__(self, url: str, md5: str | None = None, sha256: str | None = None) -> None:
        self.url, self.md5, self.sha256 = url, md5, sha256

    def fetch(self, folder: str) -> str:
        """Return the path of the file in a folder, fetched if it is not there.

        >>> import pathlib, tempfile
        >>> from weft.text.datasets.published import Source
        >>> there = pathlib.Path(tempfile.mkdtemp(), "a.txt")
        >>> _ = there.write_text("hello")
        >>> pathlib.Path(Source(there.as_uri()).fetch(tempfile.mkdtemp())).read_text()
        'hello'
        """
        return download_url(self.url, folder, md5=self.md5, sha256=self.sha256)


class Published:
    """The rows of one split of a published data set, in memory.

    ``Set(root, split)`` gives the rows of a split, and a tuple of them for several names. Files are
    looked for in ``root``, ``root/NAME`` and ``root/datasets/NAME``, and fetched if they are in
    none of them. ``Set.splits(...)`` gives data sets with fields, as older programs use them.

    Args:
        root: the folder of data sets.
        split: the name of a split, or several names.

    >>> from weft.text.datasets.published import Published
    >>> Published.NAMES
    ()
    """

    NAMES: tuple[str, ...] = ()  # the splits that there are
    FILES: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  (what is read for a split)
    SOURCES: dict[str, Source] = {}  # noqa: RUF012  (by split)

    def __new__(cls, root: str = ".data", split: Any = None, **kwargs: Any) -> Any:
        """Return one split, or a tuple for several."""
        split = cls.NAMES if split is None else split
        if isinstance(split, str):
            return super().__new__(cls)
        return tuple(cls(root, name, **kwargs) for name in split)

    def __init__(self, root: str = ".data", split: Any = None, **kwargs: Any) -> None:
        if split not in self.NAMES:
            raise ValueError(
                f"{type(self).__name__}: split must be of {', '.join(self.NAMES)}, got {split!r}"
            )
        self.split = split
        self._rows: list[Any] = list(self._read(self._paths(root, split), split, **kwargs))
        self._next = 0

    @classmethod
    def _read(cls, paths: list[str], split: str, **kwargs: Any) -> Iterator[Any]:
        """Iterate over the rows of files."""
        raise NotImplementedError(f"{cls.__name__} does not say how its files are read")

    @classmethod
    def _paths(cls, root: str, split: str) -> list[str]:
        """Return the paths of the files of a split, fetched if they are nowhere."""
        name, files = cls.__name__, cls.FILES[split]
        folders = [root, os.path.join(root, name), os.path.join(root, "datasets", name)]
        folders += [os.path.join(root, name.lower())]
        found = _find(folders, files)
        if found is None:
            home = os.path.join(root, name)
            source = cls.SOURCES[split]
            try:
                path = source.fetch(home)
            except RuntimeError as e:
                wanted = " and ".join(os.path.join(home, file) for file in files)
                raise RuntimeError(
                    f"{name}: {wanted} is not there, and {e}, or unpack it so that the former is "
                    "there"
                ) from e
            if path.endswith((".zip", ".gz", ".tgz", ".tar")):
                extract_archive(path)
            found = _find([home], files)
        if found is None:
            raise FileNotFoundError(f"{name}: {source.url} has no {' and '.join(files)}")
        return found

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        """Return a row."""
        return self._rows[index]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the rows."""
        return iter(self._rows)

    def __next__(self) -> Any:
        """Return the next row, as the iterators of some releases of torchtext do."""
        if self._next >= len(self._rows):
            raise StopIteration
        self._next += 1
        return self._rows[self._next - 1]

    def __repr__(self) -> str:
        """Return the name, the split and the number of rows."""
        return f"{type(self).__name__}({self.split!r}, {len(self)} rows)"


def _find(folders: Sequence[str], files: Sequence[str]) -> list[str] | None:
    for folder in folders:
        paths = [os.path.join(folder, file) for file in files]
        if all(os.path.exists(path) for path in paths):
            return paths
    return None
