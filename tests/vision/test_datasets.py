"""Datasets, from small files in the formats in which the large ones were published."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from vision.image_files import cifar10, idx, mnist, pickled

import weft
from weft.serialization.common import FileError
from weft.vision import datasets, transforms
from weft.vision.datasets.folder import make_dataset
from weft.vision.datasets.idx import read_idx

# ---- idx and MNIST --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 0, 3)])
def test_idx_reads_every_type(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    """Each type of the format, the largest byte first, plain and in gzip."""
    array = (np.arange(int(np.prod(shape))).reshape(shape) * 3).astype(dtype)
    for name, data in (("a", idx(array)), ("b.gz", gzip.compress(idx(array)))):
        (tmp_path / name).write_bytes(data)
        got = read_idx(tmp_path / name)
        assert got.numpy().dtype == array.dtype
        np.testing.assert_array_equal(got.numpy(), array)


@pytest.mark.parametrize("kind", ["MNIST", "FashionMNIST", "KMNIST"])
@pytest.mark.parametrize("packed", [False, True])
def test_mnist_reads_its_files(tmp_path: Path, kind: str, packed: bool) -> None:
    """Images and labels, as data and one by one, in both parts."""
    images = mnist(tmp_path, kind, packed=packed)
    learn = getattr(datasets, kind)(tmp_path)
    test = getattr(datasets, kind)(str(tmp_path), train=False)
    assert (len(learn), len(test)) == (7, 3)
    assert learn.data.dtype == weft.uint8 and learn.targets.dtype == weft.int64
    np.testing.assert_array_equal(learn.data.numpy(), images)
    image, label = learn[5]
    assert isinstance(image, Image.Image) and image.mode == "L" and image.size == (28, 28)
    np.testing.assert_array_equal(np.asarray(image), images[5])
    assert label == 5 and type(label) is int
    assert len(learn.classes) == 10 and learn.class_to_idx[learn.classes[3]] == 3


def test_mnist_transforms(tmp_path: Path) -> None:
    """transform sees the image, target_transform the label."""
    images = mnist(tmp_path)
    data = datasets.MNIST(
        tmp_path, transform=transforms.ToTensor(), target_transform=lambda y: y * 10
    )
    x, y = data[2]
    assert y == 20
    np.testing.assert_allclose(x.numpy(), images[2][None] / 255, rtol=1e-6)
    assert repr(data).splitlines() == [
        "Dataset MNIST",
        "    Number of datapoints: 7",
        f"    Root location: {tmp_path}",
        "    Split: Train",
        "    StandardTransform",
        "Transform: ToTensor()",
        f"Target transform: {data.target_transform!r}",
    ]


def test_old_names_of_mnist(tmp_path: Path) -> None:
    """They still give the data, and a warning with the new name."""
    mnist(tmp_path)
    data = datasets.MNIST(tmp_path)
    for old, new in (("train_data", "data"), ("test_labels", "targets")):
        with pytest.warns(UserWarning, match=f"{old} has been renamed {new}"):
            assert getattr(data, old) is getattr(data, new)


def test_emnist_splits(tmp_path: Path) -> None:
    """Files and classes of a split; the labels of letters begin with 1."""
    raw = tmp_path / "EMNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / "emnist-letters-train-images-idx3-ubyte").write_bytes(
        idx(np.zeros((2, 28, 28), np.uint8))
    )
    (raw / "emnist-letters-train-labels-idx1-ubyte").write_bytes(idx(np.array([1, 26], np.uint8)))
    data = datasets.EMNIST(tmp_path, split="letters")
    assert [data.classes[int(y)] for y in data.targets] == ["a", "z"]
    assert "Subset: letters" in repr(data)
    assert len(datasets.EMNIST.classes_split_dict["byclass"]) == 62
    assert len(datasets.EMNIST.classes_split_dict["balanced"]) == 47
    with pytest.raises(ValueError, match="'words'"):
        datasets.EMNIST(tmp_path, split="words")


def test_missing_files_are_named(tmp_path: Path) -> None:
    """What is missing, where it belongs, and how to get it."""
    with pytest.raises(RuntimeError, match=r"Dataset not found.*download=True.*train-images.*raw"):
        datasets.MNIST(tmp_path)
    mnist(tmp_path)
    (tmp_path / "MNIST/raw/train-labels-idx1-ubyte").unlink()
    with pytest.raises(RuntimeError, match="put train-labels-idx1-ubyte "):
        datasets.MNIST(tmp_path)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("train-images-idx3-ubyte", lambda d: d[:-1], "expected 5488 bytes .* but 5487 follow"),
        ("train-images-idx3-ubyte", lambda d: d + b"x", "but more than 5488 follow"),
        ("train-images-idx3-ubyte", lambda d: b"\1" + d[1:], "not an idx file"),
        ("train-images-idx3-ubyte", lambda d: d[:2], "ends after 2 of 4 bytes"),
        ("train-images-idx3-ubyte", lambda d: d[:9], "ends after 5 of 12 bytes"),
        ("train-images-idx3-ubyte", lambda d: d[:4] + b"\xff" * 12 + d[16:], "but 5488 follow"),
        ("train-labels-idx1-ubyte", lambda d: idx(np.arange(6, dtype=np.uint8)), "6 labels for"),
        ("train-labels-idx1-ubyte", lambda d: idx(np.full(7, 10, np.uint8)), "the label 10"),
        ("train-labels-idx1-ubyte", lambda d: idx(np.arange(7, dtype=np.int32)), "expected labels"),
        ("train-labels-idx1-ubyte", lambda d: gzip.compress(d)[:-6], "damaged gzip"),
        ("train-labels-idx1-ubyte", lambda d: b"", "ends after 0 of 4 bytes"),
    ],
)
def test_damaged_mnist_is_refused(tmp_path: Path, name: str, change: Any, words: str) -> None:
    """The error names the file and what is wrong with it."""
    mnist(tmp_path)
    path = tmp_path / "MNIST/raw" / name
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(FileError, match=words) as e:
        datasets.MNIST(tmp_path)
    assert str(path) in str(e.value)


# ---- CIFAR ----------------------------------------------------------------------------------------


def test_the_pickles_of_these_tests_are_true(tmp_path: Path) -> None:
    """Python's own reader finds in them what was written."""
    cifar10(tmp_path)
    data = (tmp_path / "cifar-10-batches-py/data_batch_2").read_bytes()
    entry = pickle.loads(data, encoding="latin1")
    assert entry["data"].shape == (4, 3072) and entry["labels"] == [1, 2, 3, 4]


def test_cifar10_reads_its_pickles(tmp_path: Path) -> None:
    """Planes become pixels; five batches follow each other."""
    rows = cifar10(tmp_path)
    learn, test = datasets.CIFAR10(tmp_path), datasets.CIFAR10(tmp_path, train=False)
    assert (len(learn), len(test)) == (20, 4)
    assert learn.data.shape == (20, 32, 32, 3) and learn.data.dtype == np.uint8
    np.testing.assert_array_equal(learn.data, rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    assert learn.targets[:8] == [0, 1, 2, 3, 1, 2, 3, 4] and type(learn.targets[0]) is int
    assert learn.classes[9] == "class 9" and learn.class_to_idx["class 9"] == 9
    image, label = learn[6]
    assert (image.mode, image.size, label) == ("RGB", (32, 32), 3)
    np.testing.assert_array_equal(np.asarray(image)[..., 2].ravel(), rows[6, 2048:])


def test_cifar10_reads_pickles_of_today(tmp_path: Path) -> None:
    """A batch written by Python 3 is read as well."""
    cifar10(tmp_path)
    path = tmp_path / "cifar-10-batches-py/test_batch"
    entry = {"data": np.full((2, 3072), 9, np.uint8), "labels": [4, 5]}
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        path.write_bytes(pickle.dumps(entry, protocol))
        assert datasets.CIFAR10(tmp_path, train=False).targets == [4, 5]


def test_cifar10_reads_the_binary_version(tmp_path: Path) -> None:
    """A byte for the label, then the planes."""
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    rows = np.random.default_rng(2).integers(0, 10, (3, 3073), dtype=np.uint8)
    for name in [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]:
        (folder / name).write_bytes(rows.tobytes())
    (folder / "batches.meta.txt").write_text("\n".join(f"c{i}" for i in range(10)) + "\n\n")
    data = datasets.CIFAR10(tmp_path)
    assert len(data) == 15 and data.targets[:3] == rows[:, 0].tolist() and data.classes[1] == "c1"
    np.testing.assert_array_equal(data.data[1, :, :, 0].ravel(), rows[1, 1:1025])
    (folder / "test_batch.bin").write_bytes(rows.tobytes()[:-1])
    with pytest.raises(
        FileError, match=r"test_batch.bin: 9218 bytes are no whole number of records"
    ):
        datasets.CIFAR10(tmp_path, train=False)


def test_cifar100_in_both_versions(tmp_path: Path) -> None:
    """The fine label counts."""
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    data = np.random.default_rng(3).integers(0, 256, (2, 3072), dtype=np.uint8)
    entry = {"coarse_labels": [1, 2], "fine_labels": [99, 42], "data": data}
    names = {"fine_label_names": [f"f{i}" for i in range(100)], "coarse_label_names": ["x"] * 20}
    for name, content in (("train", entry), ("test", entry), ("meta", names)):
        (folder / name).write_bytes(pickled(content))
    plain = datasets.CIFAR100(tmp_path)
    assert plain.targets == [99, 42] and plain.classes[99] == "f99"
    other = tmp_path / "other"
    (other / "cifar-100-binary").mkdir(parents=True)
    labels = np.array([[1, 99], [2, 42]], np.uint8)
    binary = np.concatenate([labels, data], 1).tobytes()
    (other / "cifar-100-binary/train.bin").write_bytes(binary)
    (other / "cifar-100-binary/fine_label_names.txt").write_text(
        "\n".join(names["fine_label_names"])
    )
    packed = datasets.CIFAR100(other)
    assert packed.targets == plain.targets and packed.classes == plain.classes
    np.testing.assert_array_equal(packed.data, plain.data)


class Bomb:
    """Would make a file, if a reader ran it."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> Any:
        return open, (self.path, "w")


def test_cifar_runs_no_code(tmp_path: Path) -> None:
    """A pickle that calls something is refused by name, and nothing happens."""
    cifar10(tmp_path)
    path = tmp_path / "cifar-10-batches-py/data_batch_1"
    path.write_bytes(pickle.dumps({"data": Bomb(tmp_path / "harm"), "labels": []}))
    with pytest.raises(FileError, match=r"data_batch_1: needs (_io|io)\.open, which is code"):
        datasets.CIFAR10(tmp_path)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"data": np.zeros((2, 3072), np.uint8), "labels": [1]}, "1 'labels' for 2 images"),
        ({"data": np.zeros((2, 3072), np.uint8)}, "no 'labels' for 2 images"),
        ({"data": np.zeros((2, 3000), np.uint8), "labels": [1, 2]}, r"the shape \[2, 3000\]"),
        ({"data": [1], "labels": [1]}, "'data' is no array of uint8"),
        ({"data": np.zeros((1, 3072), np.uint8), "labels": [10]}, "the label 10, but there are 10"),
        ({"data": np.zeros((1, 3072), np.uint8), "labels": ["a"]}, "the label 'a'"),
        ([1], "holds a list"),
    ],
)
def test_wrong_cifar_batches_are_refused(tmp_path: Path, content: Any, words: str) -> None:
    """The error names the file and what is wrong in it."""
    cifar10(tmp_path)
    path = tmp_path / "cifar-10-batches-py/data_batch_3"
    path.write_bytes(pickled(content))
    with pytest.raises(FileError, match=words) as e:
        datasets.CIFAR10(tmp_path)
    assert str(path) in str(e.value)


def test_cut_cifar_batches_are_refused(tmp_path: Path) -> None:
    """A pickle cut anywhere is an error about this file."""
    cifar10(tmp_path, count=1)
    path = tmp_path / "cifar-10-batches-py/data_batch_3"
    whole = path.read_bytes()
    for end in (0, 1, 2, 20, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(FileError, match="data_batch_3"):
            datasets.CIFAR10(tmp_path)


def mutated(whole: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes of head and tail changed, where a format keeps what matters."""
    data = bytearray(whole)
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(0, 500))
        data[place if place < 300 else -(place - 299)] = int(rng.integers(0, 256))
    return bytes(data)


@pytest.mark.filterwarnings("ignore:invalid escape")  # of pickletools
def test_mutated_files_give_errors_about_files(tmp_path: Path) -> None:
    """Whatever stands in a file: it is read, or refused by name; never more than that."""
    cifar10(tmp_path, count=1)
    mnist(tmp_path, count=2, packed=True)
    rng, refused = np.random.default_rng(0), 0
    for path, load in (
        (tmp_path / "cifar-10-batches-py/data_batch_2", datasets.CIFAR10),
        (tmp_path / "cifar-10-batches-py/batches.meta", datasets.CIFAR10),
        (tmp_path / "MNIST/raw/train-images-idx3-ubyte.gz", datasets.MNIST),
    ):
        whole = path.read_bytes()
        for k in range(60):
            mnist_plain = path.suffix == ".gz" and k % 2
            path.write_bytes(
                mutated(gzip.decompress(whole) if mnist_plain else whole.ljust(300), rng)
            )
            try:
                load(tmp_path)
            except FileError as e:
                assert str(path) in str(e)
                refused += 1
        path.write_bytes(whole)
    assert refused > 60
    huge = b"\x80\2}(" + b"U\4data" + b"T\xff\xff\xff\x7f" + b"x" * 100 + b"u."  # 2 GB of text
    (tmp_path / "cifar-10-batches-py/data_batch_2").write_bytes(huge)
    with pytest.raises(FileError, match="data_batch_2"):
        datasets.CIFAR10(tmp_path)


# ---- folders --------------------------------------------------------------------------------------


def pictures(root: Path) -> None:
    """Two classes, one of them with a folder within."""
    for name, color in (("dog/1.png", 10), ("dog/more/0.JPG", 20), ("cat/2.png", 30)):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 3), (color, 0, 0)).save(root / name)
    (root / "dog/notes.txt").write_text("no image")
    (root / "readme.txt").write_text("no class")


def test_image_folder(tmp_path: Path) -> None:
    """Classes in order, files in order, other files left out."""
    pictures(tmp_path)
    data = datasets.ImageFolder(tmp_path, transform=transforms.PILToTensor())
    assert data.classes == ["cat", "dog"] and data.class_to_idx == {"cat": 0, "dog": 1}
    assert [Path(p).relative_to(tmp_path).as_posix() for p, _ in data.samples] == [
        "cat/2.png", "dog/1.png", "dog/more/0.JPG",
    ]  # fmt: skip
    assert data.targets == [0, 1, 1] and data.imgs is data.samples
    x, y = data[1]
    assert x.shape == (3, 3, 4) and x[0, 0, 0] == 10 and y == 1


def test_image_folder_chooses_files(tmp_path: Path) -> None:
    """is_valid_file instead of endings; a loader of one's own."""
    pictures(tmp_path)
    data = datasets.ImageFolder(
        tmp_path,
        loader=lambda p: Path(p).name,
        is_valid_file=lambda p: p.endswith((".txt", "2.png")),
    )
    assert [data[i] for i in range(len(data))] == [("2.png", 0), ("notes.txt", 1)]


def test_folders_with_links(tmp_path: Path) -> None:
    """Links are followed; one that leads to a folder around it is not, or there would be no end."""
    pictures(tmp_path / "in")
    (tmp_path / "in/cat/round").symlink_to(tmp_path / "in/cat")
    (tmp_path / "in/dog/up").symlink_to(tmp_path / "in")
    (tmp_path / "in/bird").symlink_to(tmp_path / "in/cat")
    data = datasets.ImageFolder(tmp_path / "in")
    assert data.classes == ["bird", "cat", "dog"] and data.targets == [0, 1, 2, 2]


def test_folders_without_files(tmp_path: Path) -> None:
    """No classes; classes without files; both ways, or none, to choose files."""
    with pytest.raises(FileNotFoundError, match="any class folder"):
        datasets.ImageFolder(tmp_path)
    with pytest.raises(FileNotFoundError):
        datasets.ImageFolder(tmp_path / "nowhere")
    pictures(tmp_path)
    (tmp_path / "bird").mkdir()
    with pytest.raises(FileNotFoundError, match=r"classes bird .*\.jpg, \.jpeg"):
        datasets.ImageFolder(tmp_path)
    assert len(datasets.ImageFolder(tmp_path, allow_empty=True)) == 3
    with pytest.raises(ValueError, match="cannot be None or not None"):
        make_dataset(tmp_path)
    with pytest.raises(ValueError, match="cannot be None or not None"):
        datasets.DatasetFolder(tmp_path, str, (".a",), is_valid_file=bool)


@pytest.mark.parametrize("cut", [0, 10, 40])
def test_damaged_images_are_named(tmp_path: Path, cut: int) -> None:
    """The error of a damaged image names its file."""
    pictures(tmp_path)
    path = tmp_path / "cat/2.png"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(OSError, match=r"cat/2\.png: no image"):
        datasets.ImageFolder(tmp_path)[0]


# ---- digits, noise, the base ------------------------------------------------------------------------


def test_digits_are_those_of_the_file() -> None:
    """The two parts together are all of the bundled digits."""
    from weft.utils.data.digits import load_digits

    images, labels = load_digits()
    parts = [datasets.Digits(train=True), datasets.Digits(train=False)]
    assert [len(p) for p in parts] == [1437, 360]
    data = weft.cat([p.data for p in parts]).numpy()
    np.testing.assert_allclose(data / 255, images, atol=0.5 / 255)
    np.testing.assert_array_equal(weft.cat([p.targets for p in parts]).numpy(), labels)
    image, label = parts[1][0]
    assert image.size == (8, 8) and image.mode == "L" and label == labels[1437]
    assert datasets.Digits("x").root == "x"


def test_fake_data_repeats_itself() -> None:
    """An index always gives the same pair, and the generator stays as it was."""
    data = datasets.FakeData(3, (1, 5, 6), num_classes=4, transform=transforms.PILToTensor())
    before = weft.get_rng_state()
    (x, y), (again, y_again), (other, _) = data[0], data[0], data[1]
    assert (weft.get_rng_state() == before).all()
    assert x.shape == (1, 5, 6) and y == y_again and 0 <= y < 4
    assert (x == again).all() and not (x == other).all()
    moved = datasets.FakeData(3, (1, 5, 6), 4, transforms.PILToTensor(), random_offset=1)
    assert (moved[0][0] == other).all()
    with pytest.raises(IndexError, match="index 3 out of range for 3"):
        data[3]
    assert len(list(data)) == 3


def test_vision_dataset() -> None:
    """The base: either joint transforms or separate ones."""
    with pytest.raises(ValueError, match="got both"):
        datasets.VisionDataset("a", transforms=lambda x, y: (x, y), transform=abs)
    with pytest.raises(NotImplementedError):
        len(datasets.VisionDataset("a"))
    with pytest.raises(NotImplementedError):
        datasets.VisionDataset("a")[0]


def test_datasets_are_datasets() -> None:
    """They are what loaders take."""
    from weft.utils.data import Dataset

    assert issubclass(datasets.MNIST, Dataset)
