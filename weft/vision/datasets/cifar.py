"""CIFAR-10 and CIFAR-100: small colour images, in Python's pickles or in plain binary files.

The pickles are read by the reader of ``weft.load``, which calls nothing that a file names.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from weft.vision.files import damaged
from weft.vision.pillow import pillow

from .utils import check_integrity, download_and_extract_archive
from .vision import VisionDataset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import ClassVar

__all__ = ["CIFAR10", "CIFAR100"]

_PIXELS = 3 * 32 * 32


class CIFAR10(VisionDataset):
    """Colour images of 32x32 pixels in ten classes, 50,000 to learn from and 10,000 to test with.

    The files are those of ``root/cifar-10-batches-py``, or, where that is not there, those of
    ``root/cifar-10-batches-bin``. ``data`` holds all images (a NumPy array, uint8, N x 32 x 32 x 3),
    ``targets`` the list of labels, ``classes`` their names.

    Args:
        root: the folder in which the folder of the files is, or will be.
        train: the images to learn from, or those to test with.
        transform: is called with each image, which is one of Pillow.
        target_transform: is called with each label, which is an int.
        download: fetch the files where they are not there, or not as they were published.

    >>> weft.vision.datasets.CIFAR10("nowhere")
    Traceback (most recent call last):
    RuntimeError: CIFAR10: Dataset not found. ...
    """

    base_folder = "cifar-10-batches-py"
    binary_folder = "cifar-10-batches-bin"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list: ClassVar[list[list[str]]] = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list: ClassVar[list[list[str]]] = [["test_batch", "40351d587109b95175f43aff81a1287e"]]
    meta: ClassVar[dict[str, str]] = {
        "filename": "batches.meta",
        "key": "label_names",
        "md5": "5ff9c542aee3614f3951f8cda6e48888",
    }
    _label_key = "labels"
    _binary_meta = "batches.meta.txt"
    _label_bytes = 1  # of a record of the binary files; the last one counts

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        import numpy as np

        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        names = [name for name, _ in (self.train_list if train else self.test_list)]
        folder, binary = self._folder(names)
        self.classes: list[str] = self._read_names(folder, binary)
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.targets: list[int] = []
        parts = []
        for name in names:
            path = os.path.join(folder, f"{name}.bin" if binary else name)
            pixels, labels = self._read_binary(path) if binary else self._read_pickle(path)
            wrong = [x for x in labels if type(x) is not int or not 0 <= x < len(self.classes)]
            if wrong:
                raise damaged(
                    f"{path}: the label {wrong[0]!r:.50}, but there are {len(self.classes)} classes"
                )
            parts.append(pixels)
            self.targets += labels
        planes = np.concatenate(parts).reshape(-1, 3, 32, 32)
        self.data = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))

    def _folder(self, names: list[str]) -> tuple[str, bool]:
        """Return the folder that holds the files, and whether they are the binary ones."""
        plain = os.path.join(self.root, self.base_folder)
        packed = os.path.join(self.root, self.binary_folder)
        lost = self._missing(plain, [*names, self.meta["filename"]])
        if not lost:
            return plain, False
        if not self._missing(packed, [*(f"{name}.bin" for name in names), self._binary_meta]):
            return packed, True
        raise RuntimeError(
            f"{type(self).__name__}: Dataset not found. You can use download=True to download it, "
            f"or unpack {self.url} in {os.path.abspath(self.root)}: there is no {', '.join(lost)} "
            f"in {os.path.abspath(plain)}, nor the binary version in {self.binary_folder}"
        )

    @staticmethod
    def _missing(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if not check_integrity(os.path.join(folder, name))]

    def _read_names(self, folder: str, binary: bool) -> list[str]:
        if binary:
            path = os.path.join(folder, self._binary_meta)
            with open(path, encoding="utf-8", errors="replace") as f:
                names: Any = [line.strip() for line in f if line.strip()]
        else:
            path = os.path.join(folder, self.meta["filename"])
            names = _entry(path).get(self.meta["key"])
        if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
            raise damaged(f"{path}: no list of the names of classes")
        return names

    def _read_pickle(self, path: str) -> tuple[Any, list[int]]:
        """Return pixels and labels of a batch in a pickle."""
        import numpy as np

        entry = _entry(path)
        pixels, labels = entry.get("data"), entry.get(self._label_key)
        if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8:
            raise damaged(f"{path}: 'data' is no array of uint8")
        if pixels.ndim != 2 or pixels.shape[1] != _PIXELS:
            raise damaged(
                f"{path}: 'data' has the shape {list(pixels.shape)}, expected rows of {_PIXELS}"
            )
        if not isinstance(labels, list) or len(labels) != len(pixels):
            count = len(labels) if isinstance(labels, list) else "no"
            raise damaged(f"{path}: {count} {self._label_key!r} for {len(pixels)} images")
        return pixels, labels

    def _read_binary(self, path: str) -> tuple[Any, list[int]]:
        """Return pixels and labels of a batch in the binary version."""
        import numpy as np

        record = self._label_bytes + _PIXELS
        size = os.path.getsize(path)
        if size == 0 or size % record:
            raise damaged(f"{path}: {size} bytes are no whole number of records of {record} bytes")
        rows = np.fromfile(path, np.uint8).reshape(-1, record)
        return rows[:, self._label_bytes :], rows[:, self._label_bytes - 1].tolist()

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return image and label number ``index``."""
        return self._transformed(pillow().fromarray(self.data[index]), self.targets[index])

    def __len__(self) -> int:
        """Return how many images there are."""
        return len(self.data)

    def download(self) -> None:
        """Fetch and unpack the archive, unless all files are there as they were published.

        >>> class Lost(weft.vision.datasets.CIFAR10):
        ...     url = "gopher://example.com/cifar.tar.gz"
        >>> Lost("nowhere", download=True)
        Traceback (most recent call last):
        ValueError: download: expected a URL with http, https or file, got 'gopher://example.com/...
        """
        folder = os.path.join(self.root, self.base_folder)
        files = [*self.train_list, *self.test_list, [self.meta["filename"], self.meta["md5"]]]
        if not all(check_integrity(os.path.join(folder, name), md5) for name, md5 in files):
            download_and_extract_archive(
                self.url, self.root, filename=self.filename, md5=self.tgz_md5
            )

    def extra_repr(self) -> str:
        """Return which part this is."""
        return f"Split: {'Train' if self.train else 'Test'}"


def _entry(path: str) -> dict[Any, Any]:
    from weft.serialization.torch_file import read_plain

    with open(path, "rb") as f:
        entry = read_plain(f, path)
    if not isinstance(entry, dict):
        raise damaged(f"{path}: holds a {type(entry).__name__}, expected a dict")
    return entry


class CIFAR100(CIFAR10):
    """Colour images like those of ``CIFAR10``, in a hundred classes.

    >>> weft.vision.datasets.CIFAR100.base_folder
    'cifar-100-python'
    """

    base_folder = "cifar-100-python"
    binary_folder = "cifar-100-binary"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list: ClassVar[list[list[str]]] = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list: ClassVar[list[list[str]]] = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta: ClassVar[dict[str, str]] = {
        "filename": "meta",
        "key": "fine_label_names",
        "md5": "7973b15100ade9c7d40fb424638fde48",
    }
    _label_key = "fine_labels"
    _binary_meta = "fine_label_names.txt"
    _label_bytes = 2  # the coarse one, then the fine one
