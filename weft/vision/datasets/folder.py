"""Files in one folder per class."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from weft.vision.pillow import pillow

from .vision import VisionDataset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = [
    "IMG_EXTENSIONS",
    "DatasetFolder",
    "ImageFolder",
    "default_loader",
    "find_classes",
    "has_file_allowed_extension",
    "is_image_file",
    "make_dataset",
    "pil_loader",
]

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Return whether a name ends in one of these, in small letters or capitals.

    >>> from weft.vision.datasets.folder import has_file_allowed_extension
    >>> has_file_allowed_extension("A.PNG", (".png", ".jpg"))
    True
    """
    return filename.lower().endswith(extensions)


def is_image_file(filename: str) -> bool:
    """Return whether a name is that of an image.

    >>> from weft.vision.datasets.folder import is_image_file
    >>> is_image_file("a.jpg"), is_image_file("a.txt")
    (True, False)
    """
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: str | Path) -> tuple[list[str], dict[str, int]]:
    """Return the names of the folders in a folder, in order, and the number of each.

    >>> import os, tempfile
    >>> from weft.vision.datasets.folder import find_classes
    >>> root = tempfile.mkdtemp()
    >>> for name in ("dog", "cat"):
    ...     os.mkdir(os.path.join(root, name))
    >>> find_classes(root)
    (['cat', 'dog'], {'cat': 0, 'dog': 1})
    """
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {os.fspath(directory)}.")
    return classes, {name: i for i, name in enumerate(classes)}


def make_dataset(
    directory: str | Path,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """Return (path, number of the class) for all files below a folder.

    Args:
        directory: the folder, with one folder per class.
        class_to_idx: the number of each class, by default as ``find_classes`` numbers them.
        extensions: endings of the names of files that belong to the set, or
        is_valid_file: what tells of a path whether it belongs. One of the two must be given.
        allow_empty: a class without files is no error.

    >>> import os, tempfile
    >>> from weft.vision.datasets.folder import make_dataset
    >>> root = tempfile.mkdtemp()
    >>> os.mkdir(os.path.join(root, "cat"))
    >>> open(os.path.join(root, "cat", "1.png"), "w").close()
    >>> [(os.path.basename(path), i) for path, i in make_dataset(root, extensions=".png")]
    [('1.png', 0)]
    """
    if (extensions is None) == (is_valid_file is None):
        raise ValueError(
            "Both extensions and is_valid_file cannot be None or not None at the same time"
        )
    if class_to_idx is None:
        class_to_idx = find_classes(directory)[1]
    elif not class_to_idx:
        raise ValueError("'class_to_idx' must have at least one entry to collect any samples.")
    root = os.path.expanduser(os.fspath(directory))
    samples: list[tuple[str, int]] = []
    empty = []
    for name in sorted(class_to_idx):
        before = len(samples)
        for path in _files_below(os.path.join(root, name)):
            if is_valid_file is not None:
                valid = is_valid_file(path)
            else:
                assert extensions is not None
                valid = has_file_allowed_extension(path, extensions)
            if valid:
                samples.append((path, class_to_idx[name]))
        if len(samples) == before:
            empty.append(name)
    if empty and not allow_empty:
        known = "" if extensions is None else " Supported extensions are: "
        known += extensions if isinstance(extensions, str) else ", ".join(extensions or ())
        raise FileNotFoundError(
            f"Found no valid file for the classes {', '.join(empty)} in {root}.{known}"
        )
    return samples


def _files_below(root: str) -> list[str]:
    """Return all files below a folder, in order; links are followed, but not in circles."""
    found = []
    for folder, folders, files in os.walk(root, followlinks=True):
        real = os.path.realpath(folder) + os.sep
        targets = [os.path.realpath(os.path.join(folder, name)) + os.sep for name in folders]
        folders[:] = [f for f, target in zip(folders, targets) if not real.startswith(target)]
        found.append((folder, sorted(files)))
    return [os.path.join(folder, file) for folder, files in sorted(found) for file in files]


def pil_loader(path: str | Path) -> Any:
    """Return the image in a file, in RGB.

    >>> import os, tempfile
    >>> from weft.vision.datasets.folder import pil_loader
    >>> from weft.vision.pillow import pillow
    >>> path = os.path.join(tempfile.mkdtemp(), "grey.png")
    >>> pillow().new("L", (2, 1)).save(path)
    >>> pil_loader(path).mode
    'RGB'
    """
    image = pillow()
    with open(path, "rb") as f:
        try:
            return image.open(f).convert("RGB")
        except (OSError, SyntaxError, ValueError, image.DecompressionBombError) as e:
            raise OSError(f"{os.fspath(path)}: no image that Pillow can read: {e}") from e


default_loader = pil_loader


class DatasetFolder(VisionDataset):
    """All files below a folder that has one folder per class.

    ``classes`` has the names of the classes, ``class_to_idx`` their numbers, ``samples`` a pair
    (path, number of the class) for each file, ``targets`` the numbers alone.

    Args:
        root: the folder.
        loader: is called with a path, and returns the sample.
        extensions: endings of the names of files that belong to the set, or
        transform: is called with each sample.
        target_transform: is called with each number of a class.
        is_valid_file: what tells of a path whether it belongs.
        allow_empty: a class without files is no error.

    >>> import pathlib, tempfile
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> (root / "small").mkdir()
    >>> _ = (root / "small" / "a.txt").write_text("7")
    >>> folder = weft.vision.datasets.DatasetFolder(
    ...     root, loader=lambda path: int(pathlib.Path(path).read_text()), extensions=(".txt",)
    ... )
    >>> folder[0], folder.classes
    ((7, 0), ['small'])
    """

    def __init__(
        self,
        root: str | Path,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.loader, self.extensions = loader, extensions
        self.samples = self.make_dataset(
            self.root, self.class_to_idx, extensions, is_valid_file, allow_empty
        )
        self.targets = [target for _, target in self.samples]

    @staticmethod
    def make_dataset(
        directory: str | Path,
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """Return (path, number of the class) for all files; a subclass may find them otherwise.

        >>> weft.vision.datasets.DatasetFolder.make_dataset(".", {}, (".png",))
        Traceback (most recent call last):
        ValueError: 'class_to_idx' must have at least one entry to collect any samples.
        """
        if class_to_idx is None:
            raise ValueError("The class_to_idx parameter cannot be None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        """Return the classes and their numbers; a subclass may choose some of them.

        >>> weft.vision.datasets.ImageFolder.find_classes is not None
        True
        """
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return sample and class number ``index``."""
        path, target = self.samples[index]
        return self._transformed(self.loader(path), target)

    def __len__(self) -> int:
        """Return how many files there are."""
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """All images below a folder that has one folder per class, ``root/dog/1.png``.

    Args:
        root: the folder.
        transform: is called with each image, which is one of Pillow in RGB.
        target_transform: is called with each number of a class.
        loader: is called with a path, and returns the image.
        is_valid_file: what tells of a path whether it belongs, instead of its ending.
        allow_empty: a class without images is no error.

    >>> import os, tempfile
    >>> from weft.vision.pillow import pillow
    >>> root = tempfile.mkdtemp()
    >>> for name in ("cat", "dog"):
    ...     os.mkdir(os.path.join(root, name))
    ...     pillow().new("RGB", (4, 2)).save(os.path.join(root, name, "1.png"))
    >>> images = weft.vision.datasets.ImageFolder(root)
    >>> image, target = images[1]
    >>> image.size, images.classes[target]
    ((4, 2), 'dog')
    """

    def __init__(
        self,
        root: str | Path,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(
            root, loader, extensions, transform, target_transform, is_valid_file, allow_empty
        )
        self.imgs = self.samples
