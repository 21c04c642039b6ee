"""Small files in the formats in which MNIST and CIFAR were published, for `tests/vision/`."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np


def idx(array: np.ndarray) -> bytes:
    """An array in MNIST's format."""
    code = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}
    head = struct.pack(
        f">BBBB{array.ndim}I", 0, 0, code[array.dtype.name], array.ndim, *array.shape
    )
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


def mnist(root: Path, kind: str = "MNIST", count: int = 7, packed: bool = False) -> np.ndarray:
    """Files of MNIST with random images, for both parts; returns the images to learn from."""
    raw = root / kind / "raw"
    raw.mkdir(parents=True)
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
    for part in ("train", "t10k"):
        for stem, array in (
            (f"{part}-images-idx3-ubyte", images if part == "train" else images[:3]),
            (
                f"{part}-labels-idx1-ubyte",
                np.arange(count if part == "train" else 3, dtype=np.uint8),
            ),
        ):
            data = idx(array)
            path = raw / (stem + ".gz" if packed else stem)
            path.write_bytes(gzip.compress(data) if packed else data)
    return images


def text(s: str) -> bytes:
    """A string of Python 2 in a pickle."""
    data = s.encode("latin1")
    if len(data) < 256:
        return b"U" + bytes([len(data)]) + data
    return b"T" + struct.pack("<i", len(data)) + data


def python2(x: Any) -> bytes:
    """An object as Python 2's pickle of protocol 2 writes it, as the published files are."""
    if isinstance(x, dict):
        return b"}(" + b"".join(python2(k) + python2(v) for k, v in x.items()) + b"u"
    if isinstance(x, list):
        return b"](" + b"".join(map(python2, x)) + b"e"
    if isinstance(x, int):
        return b"K" + bytes([x]) if x < 256 else b"J" + struct.pack("<i", x)
    if isinstance(x, str):
        return text(x)
    make = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\0\x85" + text("b") + b"tR"
    dtype = b"cnumpy\ndtype\n(" + text("u1") + b"K\0K\1tR(K\3" + text("|")
    dtype += b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
    sizes = b"".join(map(python2, x.shape))
    state = b"(K\1" + sizes + b"\x86" + dtype + b"\x89" + text(x.tobytes().decode("latin1")) + b"t"
    return make + state + b"b"


def pickled(x: Any) -> bytes:
    return b"\x80\2" + python2(x) + b"."


def cifar10(root: Path, count: int = 4) -> np.ndarray:
    """The files of CIFAR-10 with random images; returns those to learn from, (N, 3072)."""
    folder = root / "cifar-10-batches-py"
    folder.mkdir()
    rng = np.random.default_rng(1)
    batches = rng.integers(0, 256, (6, count, 3072), dtype=np.uint8)
    names = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    for i, (name, data) in enumerate(zip(names, batches)):
        entry = {
            "batch_label": name,
            "labels": [(i + k) % 10 for k in range(count)],
            "data": data,
            "filenames": ["a.png"] * count,
        }
        (folder / name).write_bytes(pickled(entry))
    classes = [f"class {i}" for i in range(10)]
    (folder / "batches.meta").write_bytes(pickled({"label_names": classes, "num_vis": 3072}))
    return batches[:5].reshape(-1, 3072)
