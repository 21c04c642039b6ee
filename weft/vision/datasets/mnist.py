"""MNIST and the sets that took over its format."""

from __future__ import annotations

import os
import string
import warnings
from typing import TYPE_CHECKING, Any

import weft
from weft.vision.files import damaged
from weft.vision.pillow import pillow

from .idx import read_idx
from .utils import check_integrity, download_url, extract_archive
from .vision import VisionDataset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import ClassVar

    from weft import Tensor

__all__ = ["EMNIST", "KMNIST", "MNIST", "FashionMNIST"]

_NUMBERS = "zero one two three four five six seven eight nine".split()


def _renamed(old: str, new: str) -> Any:
    """Return a property for an old name."""

    def get(self: Any) -> Tensor:
        warnings.warn(f"{old} has been renamed {new}", stacklevel=2)
        return getattr(self, new)

    return property(get, doc=f"The old name of ``{new}``.")


class MNIST(VisionDataset):
    """Handwritten digits, 60,000 to learn from and 10,000 to test with, of 28x28 grey pixels.

    The files are ``root/MNIST/raw/train-images-idx3-ubyte`` and its three siblings, plain or with
    ``.gz``. ``data`` holds all images (uint8, N x 28 x 28), ``targets`` all labels (int64).

    Args:
        root: the folder in which there is, or will be, a folder ``MNIST/raw``.
        train: the images to learn from, or those to test with.
        transform: is called with each image, which is one of Pillow.
        target_transform: is called with each label, which is an int.
        download: fetch the files where they are not there.

    >>> weft.vision.datasets.MNIST("nowhere")
    Traceback (most recent call last):
    RuntimeError: MNIST: Dataset not found. ...
    """

    mirrors: ClassVar[list[str]] = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ]
    resources: ClassVar[list[tuple[str, str]]] = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]
    classes: list[str] = [f"{i} - {name}" for i, name in enumerate(_NUMBERS)]  # noqa: RUF012

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        self.data, self.targets = self._load()

    train_data, test_data = _renamed("train_data", "data"), _renamed("test_data", "data")
    train_labels = _renamed("train_labels", "targets")
    test_labels = _renamed("test_labels", "targets")

    @property
    def raw_folder(self) -> str:
        """The folder of the files as they were published."""
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class."""
        return {name: i for i, name in enumerate(self.classes)}

    def _stems(self) -> tuple[str, str]:
        """Return the names of the files of images and of labels, without ``.gz``."""
        part = "train" if self.train else "t10k"
        return f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"

    def _find(self, stem: str) -> str | None:
        """Return the path of a file, plain or packed."""
        plain = os.path.join(self.raw_folder, stem)
        return next((p for p in (plain, plain + ".gz") if check_integrity(p)), None)

    def _load(self) -> tuple[Tensor, Tensor]:
        name = type(self).__name__
        paths = [(stem, self._find(stem)) for stem in self._stems()]
        if lost := [stem for stem, path in paths if path is None]:
            raise RuntimeError(
                f"{name}: Dataset not found. You can use download=True to download it, or put "
                f"{' and '.join(lost)} (plain, or with .gz) into {os.path.abspath(self.raw_folder)}"
            )
        (image_path, label_path) = (str(path) for _, path in paths)
        images, labels = read_idx(image_path), read_idx(label_path)
        for path, x, ndim, what in (
            (image_path, images, 3, "images"),
            (label_path, labels, 1, "labels"),
        ):
            if x.dtype != weft.uint8 or x.ndim != ndim:
                raise damaged(
                    f"{path}: expected {what}, uint8 of {ndim} dimensions, got {x.dtype} of shape "
                    f"{list(x.shape)}"
                )
        if len(images) != len(labels):
            raise damaged(
                f"{label_path}: {len(labels)} labels for the {len(images)} images of {image_path}"
            )
        if len(labels) and (highest := int(labels.max())) >= len(self.classes):
            raise damaged(
                f"{label_path}: the label {highest}, but {name} has {len(self.classes)} classes"
            )
        return images, labels.to(weft.int64)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return image and label number ``index``."""
        image = pillow().fromarray(self.data[index].numpy())
        return self._transformed(image, int(self.targets[index]))

    def __len__(self) -> int:
        """Return how many images there are."""
        return len(self.data)

    def download(self) -> None:
        """Fetch the files that are not there, and unpack them.

        >>> class Lost(weft.vision.datasets.MNIST):
        ...     mirrors = ["gopher://example.com/"]
        >>> Lost("nowhere", download=True)
        Traceback (most recent call last):
        ValueError: download: expected a URL with http, https or file, got 'gopher://example.com/...
        """
        for name, md5 in self.resources:
            stem = name.removesuffix(".gz")
            if self._find(stem) != os.path.join(self.raw_folder, stem):
                download_url([m + name for m in self.mirrors], self.raw_folder, name, md5)
                extract_archive(os.path.join(self.raw_folder, name))

    def extra_repr(self) -> str:
        """Return which part this is."""
        return f"Split: {'Train' if self.train else 'Test'}"


class FashionMNIST(MNIST):
    """Articles of clothing by Zalando, in the format and the numbers of ``MNIST``.

    >>> weft.vision.datasets.FashionMNIST.classes[9]
    'Ankle boot'
    """

    mirrors: ClassVar[list[str]] = [
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ]
    resources: ClassVar[list[tuple[str, str]]] = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
    classes: list[str] = (
        "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot".split(",")
    )


class KMNIST(MNIST):
    """Kuzushiji, cursive Japanese characters, in the format and the numbers of ``MNIST``.

    >>> weft.vision.datasets.KMNIST.classes[:3]
    ['o', 'ki', 'su']
    """

    mirrors: ClassVar[list[str]] = [
        "https://codh.rois.ac.jp/kmnist/dataset/kmnist/",
        "http://codh.rois.ac.jp/kmnist/dataset/kmnist/",
    ]
    resources: ClassVar[list[tuple[str, str]]] = [
        ("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
        ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
        ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
        ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
    ]
    classes: list[str] = "o ki su tsu na ha ma ya re wo".split()


_MERGED = set("cijklmopsuvwxyz")  # lower case letters that look like their capitals
_ALL = set(string.digits + string.ascii_letters)


class EMNIST(MNIST):
    """Handwritten letters and digits, in the format of ``MNIST``.

    The images lie on their sides, as in the published files.

    Args:
        root: the folder in which there is, or will be, a folder ``EMNIST/raw``.
        split: 'byclass', 'bymerge', 'balanced', 'letters', 'digits' or 'mnist'.
        kwargs: those of ``MNIST``.

    >>> weft.vision.datasets.EMNIST.classes_split_dict["letters"][:3]
    ['N/A', 'a', 'b']
    """

    url = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
    md5 = "58c8d27c78d21e728a6bc7b3cc06412e"
    splits = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")
    classes_split_dict: ClassVar[dict[str, list[str]]] = {
        "byclass": sorted(_ALL),
        "bymerge": sorted(_ALL - _MERGED),
        "balanced": sorted(_ALL - _MERGED),
        "letters": ["N/A", *string.ascii_lowercase],
        "digits": list(string.digits),
        "mnist": list(string.digits),
    }

    def __init__(self, root: str | Path, split: str, **kwargs: Any) -> None:
        if split not in self.splits:
            raise ValueError(
                f"EMNIST: expected split to be one of {', '.join(self.splits)}, got {split!r}"
            )
        self.split = split
        self.classes = self.classes_split_dict[split]
        super().__init__(root, **kwargs)

    def _stems(self) -> tuple[str, str]:
        start = f"emnist-{self.split}-{'train' if self.train else 'test'}"
        return f"{start}-images-idx3-ubyte", f"{start}-labels-idx1-ubyte"

    def download(self) -> None:
        """Fetch the archive of all splits, and unpack it, unless this split is there.

        >>> class Lost(weft.vision.datasets.EMNIST):
        ...     url = "gopher://example.com/gzip.zip"
        >>> Lost("nowhere", "letters", download=True)
        Traceback (most recent call last):
        ValueError: download: expected a URL with http, https or file, got 'gopher://example.com/...
        """
        if all(self._find(stem) for stem in self._stems()):
            return
        download_url(self.url, self.raw_folder, "gzip.zip", self.md5)
        archive = os.path.join(self.raw_folder, "gzip.zip")
        folder = os.path.join(extract_archive(archive, self.raw_folder), "gzip")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".gz"):
                extract_archive(os.path.join(folder, name), self.raw_folder, remove_finished=True)

    def extra_repr(self) -> str:
        """Return which part this is."""
        return f"{super().extra_repr()}\nSubset: {self.split}"
