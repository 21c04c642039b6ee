"""What the programs of the seeds leave out: data, small and the same each time.

Files are written in the formats in which such data is published, into a folder of the program.
"""

from __future__ import annotations

import csv
import math
import random
import sys
from pathlib import Path

import numpy as np

import weft
from weft.utils.data import DataLoader, TensorDataset
from weft.utils.data.digits import load_digits

sys.path.append(str(Path(__file__).parents[1]))  # so that one program can be run by itself

from vision.image_files import idx, pickled


def classes_of(count: int, *shape: int, classes: int = 10) -> tuple[weft.Tensor, weft.Tensor]:
    """Samples and labels: each class has a pattern, the same in every call, and there is noise."""
    fixed = weft.Generator().manual_seed(7)
    patterns = weft.randn(classes, *shape, generator=fixed)
    labels = weft.arange(count) % classes
    return patterns[labels] + 0.3 * weft.randn(count, *shape), labels


def loader(count: int, *shape: int, classes: int = 10, batch_size: int = 8) -> DataLoader:
    """Batches of such samples, shuffled."""
    data = TensorDataset(*classes_of(count, *shape, classes=classes))
    return DataLoader(data, batch_size=batch_size, shuffle=True)


def digit_images(size: int) -> tuple[np.ndarray, np.ndarray]:
    """The bundled digits, uint8 with a border: (1797, size, size), and their labels."""
    images, labels = load_digits()
    zoom = size // 8
    large = (images * 255).round().astype(np.uint8).repeat(zoom, 1).repeat(zoom, 2)
    border = (size - 8 * zoom) // 2
    return np.pad(large, ((0, 0), (border, border), (border, border))), labels


def mnist(root: str, count: int) -> None:
    """MNIST's files with the bundled digits: ``count`` to learn from, 200 to test with."""
    raw = Path(root, "MNIST", "raw")
    raw.mkdir(parents=True)
    images, labels = digit_images(28)
    for part, rows in (("train", slice(count)), ("t10k", slice(-200, None))):
        raw.joinpath(f"{part}-images-idx3-ubyte").write_bytes(idx(images[rows]))
        raw.joinpath(f"{part}-labels-idx1-ubyte").write_bytes(idx(labels[rows].astype(np.uint8)))


def cifar10(root: str, count: int) -> None:
    """CIFAR-10's files, ``count`` images in each: every class has colours of its own."""
    folder = Path(root, "cifar-10-batches-py")
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    patterns = rng.integers(40, 216, (10, 3, 4, 4)).repeat(8, 2).repeat(8, 3)
    for name in [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]:
        labels = np.arange(count) % 10
        noise = rng.integers(-40, 40, (count, 3, 32, 32))
        data = (patterns[labels] + noise).astype(np.uint8).reshape(count, 3072)
        entry = {"batch_label": name, "labels": labels.tolist(), "data": data}
        folder.joinpath(name).write_bytes(pickled({**entry, "filenames": ["a.png"] * count}))
    names = [f"class {i}" for i in range(10)]
    folder.joinpath("batches.meta").write_bytes(pickled({"label_names": names, "num_vis": 3072}))


def picture_folders(root: str, count: int) -> None:
    """Pictures of the bundled digits, a folder for each; in ``test`` others than elsewhere."""
    from PIL import Image

    images, labels = digit_images(32)
    places = range(count) if root != "test" else range(len(images) - count, len(images))
    for i in places:
        folder = Path(root, str(labels[i]))
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(images[i]).save(folder / f"{i}.png")
    for digit in range(10):
        Path(root, str(digit)).mkdir(exist_ok=True)


def sentences(root: str) -> None:
    """Files of parallel sentences: who does what to what, word by word in another language."""
    words = {"the": "la", "dog": "hundo", "cat": "kato", "child": "infano", "bird": "birdo"}
    words |= {"sees": "vidas", "likes": "amas", "hears": "audas", "finds": "trovas"}
    nouns, verbs = list(words)[1:5], list(words)[5:]
    every = [f"the {a} {v} the {b}" for a in nouns for v in verbs for b in nouns]
    random.Random(0).shuffle(every)
    Path(root).mkdir()
    for name, rows in (("train", every[:48]), ("val", every[48:56]), ("test", every[56:])):
        there = [" ".join(words[word] for word in row.split()) for row in rows]
        Path(root, name + ".src").write_text("\n".join(rows) + "\n")
        Path(root, name + ".trg").write_text("\n".join(there) + "\n")


def reviews(root: str) -> None:
    """CSV files of texts with the labels 1 (bad) and 2 (good)."""
    kinds = {1: ("dull", "poor", "boring", "weak"), 2: ("great", "lovely", "clever", "moving")}
    things = ("film", "book", "play", "song", "story")
    choose = random.Random(0).choice
    Path(root).mkdir()
    for name, count in (("train", 160), ("test", 40)):
        with open(Path(root, name + ".csv"), "w", newline="") as file:
            for i in range(count):
                label = 1 + i % 2
                text = (
                    f"a {choose(kinds[label])} {choose(things)} with a {choose(kinds[label])} end"
                )
                csv.writer(file, quoting=csv.QUOTE_ALL).writerow([label, choose(things), text])


def tones(classes: int, count: int, length: int = 4000) -> tuple[weft.Tensor, weft.Tensor]:
    """Sounds at 8 kHz: ``count`` of each pitch, with overtones, phases at random and noise."""
    labels = weft.arange(classes).repeat(count)
    pitch = 200 * 2 ** (labels * 3.5 / classes)
    angle = 2 * math.pi * pitch[:, None] * weft.arange(length) / 8000
    angle = angle + 2 * math.pi * weft.rand(len(labels), 1)
    waves = angle.sin() + 0.5 * (2 * angle).sin()
    return waves + 0.05 * weft.randn(waves.shape), labels


def tone_features(classes: int, count: int) -> TensorDataset:
    """The same as 13 MFCC features each: the mean over time, scaled."""
    mfcc = weft.audio.transforms.MFCC(8000, n_mfcc=13, melkwargs={"n_fft": 400, "n_mels": 40})
    waves, labels = tones(classes, count)
    return TensorDataset(mfcc(waves).mean(2) / 20, labels)
