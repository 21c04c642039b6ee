"""Images read, written, put into grids and drawn on."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import weft
from weft.vision.io import (
    ImageReadMode,
    decode_image,
    encode_jpeg,
    encode_png,
    read_file,
    read_image,
    write_file,
    write_jpeg,
    write_png,
)
from weft.vision.utils import draw_bounding_boxes, draw_segmentation_masks, make_grid, save_image


def pixels(c: int = 3, h: int = 5, w: int = 7) -> weft.Tensor:
    return weft.randint(0, 256, (c, h, w)).to(weft.uint8)


# ---- files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1, 3])
def test_png_is_exact(tmp_path: Path, c: int) -> None:
    """What is written is read, by weft and by Pillow."""
    x = pixels(c)
    for level in (0, 6, 9):
        write_png(x, tmp_path / "a.png", level)
        assert (read_image(tmp_path / "a.png") == x).all()
    assert (decode_image(encode_png(x)) == x).all()
    assert (decode_image(read_file(tmp_path / "a.png")) == x).all()
    with Image.open(tmp_path / "a.png") as image:
        assert image.format == "PNG"
    write_file(tmp_path / "b.png", encode_png(x))
    assert (read_image(str(tmp_path / "b.png")) == x).all()


def test_jpeg_is_near(tmp_path: Path) -> None:
    """A smooth image comes back nearly; higher quality is larger."""
    y, x = np.mgrid[0:32, 0:32]
    smooth = weft.from_numpy(np.stack([x * 8, y * 8, x + y]).astype(np.uint8))
    write_jpeg(smooth, tmp_path / "a.jpg", quality=95)
    assert float((read_image(tmp_path / "a.jpg").float() - smooth.float()).abs().mean()) < 4
    assert len(encode_jpeg(smooth, 95)) > len(encode_jpeg(smooth, 20))


def test_modes(tmp_path: Path) -> None:
    """Channels as in the file, or as asked for."""
    path = tmp_path / "a.png"
    Image.new("RGBA", (4, 3), (10, 20, 30, 40)).save(path)
    assert read_image(path).shape == (4, 3, 4)
    for mode, c in (("RGB", 3), (ImageReadMode.GRAY, 1), ("gray_alpha", 2), ("RGBA", 4)):
        assert read_image(path, mode).shape == (c, 3, 4)
    assert read_image(path, ImageReadMode.RGB)[:, 0, 0].tolist() == [10, 20, 30]
    Image.new("P", (4, 3), 0).save(path)
    assert read_image(path).shape == (3, 3, 4)
    Image.new("1", (4, 3), 1).save(path)
    assert read_image(path).tolist()[0][0] == [255] * 4
    with pytest.raises(ValueError, match="'CMYK'"):
        read_image(path, "CMYK")


def test_exif_orientation(tmp_path: Path) -> None:
    """A turned photograph is turned back when asked."""
    img = Image.new("RGB", (4, 2))
    exif = img.getexif()
    exif[0x0112] = 6
    img.save(tmp_path / "a.jpg", exif=exif)
    assert read_image(tmp_path / "a.jpg").shape == (3, 2, 4)
    assert read_image(tmp_path / "a.jpg", apply_exif_orientation=True).shape == (3, 4, 2)


def test_files_that_are_no_images(tmp_path: Path) -> None:
    """The error names the file; nothing is written where the input is wrong."""
    path = tmp_path / "a.png"
    path.write_bytes(b"no image")
    with pytest.raises(RuntimeError, match=r"a\.png: no image"):
        read_image(path)
    write_png(pixels(3, 50, 50), path)
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(RuntimeError, match=r"a\.png: no image"):
        read_image(path)
    with pytest.raises(FileNotFoundError):
        read_image(tmp_path / "b.png")
    for call, words in (
        (lambda: write_png(weft.rand(3, 2, 2), tmp_path / "c.png"), "uint8, got torch.float32"),
        (lambda: write_png(pixels(4), tmp_path / "c.png"), r"1 or 3 channels, got \[4, 5, 7\]"),
        (lambda: write_png(pixels(), tmp_path / "c.png", 10), "from 0 to 9, got 10"),
        (lambda: write_jpeg(pixels(), tmp_path / "c.jpg", 0), "from 1 to 100, got 0"),
        (lambda: decode_image(pixels()), "1-dimensional"),
        (lambda: write_file(tmp_path / "c", pixels()), "1-dimensional"),
        (lambda: decode_image("a"), "got str"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()
    assert os.listdir(tmp_path) == ["a.png"]


# ---- grids ------------------------------------------------------------------------------------------


def test_make_grid_places_images() -> None:
    """Rows, borders and channels."""
    images = weft.arange(5.0).reshape(5, 1, 1, 1).expand(5, 1, 2, 3)
    grid = make_grid(images, nrow=3, padding=1, pad_value=9.0)
    assert grid.shape == (3, 7, 13)
    expected = np.full((7, 13), 9.0)
    for k in range(5):
        y, x = 1 + 3 * (k // 3), 1 + 4 * (k % 3)
        expected[y : y + 2, x : x + 3] = k
    for plane in grid.numpy():
        np.testing.assert_array_equal(plane, expected)


def test_make_grid_inputs() -> None:
    """One image, a list, bytes, ranges."""
    assert make_grid(weft.rand(4, 5)).shape == (3, 4, 5)
    assert make_grid(weft.rand(3, 4, 5)).shape == (3, 4, 5)
    assert make_grid([weft.rand(3, 4, 5)] * 2).shape == (3, 8, 16)
    assert make_grid(weft.rand(2, 4, 3, 3), padding=0).shape == (4, 3, 6)
    assert make_grid(weft.zeros(2, 3, 4, 4, dtype=weft.uint8)).dtype == weft.uint8
    x = weft.tensor([0.0, 2.0, 4.0, 8.0]).reshape(2, 1, 1, 2)
    both = make_grid(x, padding=0, normalize=True)[0].flatten()
    assert both.tolist() == [0.0, 0.25, 0.5, 1.0]
    assert make_grid(x, padding=0, normalize=True, scale_each=True)[0].flatten().tolist() == [
        0,
        1,
        0,
        1,
    ]
    ranged = make_grid(x, padding=0, normalize=True, value_range=(2, 4))[0].flatten()
    assert ranged.tolist() == [0, 0, 1, 1] and x.max() == 8
    with pytest.raises(TypeError, match="tensor or list"):
        make_grid("a")
    with pytest.raises(ValueError, match="expected images"):
        make_grid(weft.rand(2))


def test_save_image(tmp_path: Path) -> None:
    """Rounded to bytes, by the ending of the name or by a format."""
    x = weft.tensor([0.0, 0.5, 1.0, 2.0]).reshape(1, 2, 2)
    save_image(x, tmp_path / "a.png")
    assert read_image(tmp_path / "a.png")[0].tolist() == [[0, 128], [255, 255]]
    out = io.BytesIO()
    save_image(x, out, format="BMP")
    assert Image.open(io.BytesIO(out.getvalue())).format == "BMP"
    save_image(weft.rand(6, 1, 4, 4), str(tmp_path / "b.jpeg"), nrow=3, padding=1)
    with Image.open(tmp_path / "b.jpeg") as image:
        assert image.size == (16, 11)
    with pytest.raises(ValueError, match=r"'\.xyz'"):
        save_image(x, tmp_path / "a.xyz")
    with pytest.raises(ValueError, match="needs format"):
        save_image(x, out)
    assert sorted(os.listdir(tmp_path)) == ["a.png", "b.jpeg"]


# ---- drawings ---------------------------------------------------------------------------------------


def test_boxes() -> None:
    """Lines at the four sides, each in its colour; the image itself is left as it was."""
    image = weft.zeros(3, 20, 30, dtype=weft.uint8)
    boxes = weft.tensor([[2, 3, 10, 12], [15.0, 5.0, 25.0, 15.0]])
    drawn = draw_bounding_boxes(image, boxes, colors=["red", (0, 0, 255)])
    assert drawn[:, 3, 5].tolist() == drawn[:, 12, 10].tolist() == [255, 0, 0]
    assert drawn[:, 5, 20].tolist() == [0, 0, 255] and drawn[:, 8, 5].tolist() == [0, 0, 0]
    assert image.sum() == 0
    thick = draw_bounding_boxes(image, boxes, colors="red", width=3)
    assert thick[0].gt(0).sum() > drawn[0].gt(0).sum()
    filled = draw_bounding_boxes(image, boxes, fill=True, colors="lime")
    assert 0 < int(filled[1, 8, 5]) < 255
    named = draw_bounding_boxes(image, boxes, labels=["a", None], colors="white", font_size=8)
    assert named.sum() > draw_bounding_boxes(image, boxes, colors="white").sum()
    grey = draw_bounding_boxes(weft.zeros(1, 20, 30), boxes)
    assert grey.dtype == weft.float32 and grey.shape == (3, 20, 30) and 0 < grey.max() <= 1
    assert (draw_bounding_boxes(image, weft.zeros(0, 4)) == image).all()


def test_masks() -> None:
    """Colours mixed with the image, and nothing elsewhere."""
    image = weft.full((3, 2, 2), 100, dtype=weft.uint8)
    mask = weft.tensor([[True, False], [False, False]])
    drawn = draw_segmentation_masks(image, mask, alpha=0.5, colors="#ff0000")
    assert drawn[:, 0, 0].tolist() == [178, 50, 50] and drawn[:, 1, 1].tolist() == [100] * 3
    both = draw_segmentation_masks(image, weft.stack([mask, ~mask]), 1.0, ["red", "blue"])
    assert both[:, 0, 0].tolist() == [255, 0, 0] and both[:, 1, 0].tolist() == [0, 0, 255]
    assert len(draw_segmentation_masks(image, weft.stack([mask, ~mask]), 1.0)[0].unique()) == 2


BOX = weft.tensor([[1, 1, 2, 2]])
MASK = weft.ones(4, 4, dtype=weft.bool)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: draw_bounding_boxes("a", BOX), TypeError, "Tensor expected"),
        (lambda x: draw_bounding_boxes(x[:2], BOX), ValueError, r"grey or RGB, .* \[2, 4, 4\]"),
        (lambda x: draw_bounding_boxes(x.to(weft.int32), BOX), ValueError, "uint8 or float"),
        (lambda x: draw_bounding_boxes(x, BOX.flip(1)), ValueError, "xmin"),
        (lambda x: draw_bounding_boxes(x, BOX[:, :3]), ValueError, r"\(N, 4\)"),
        (lambda x: draw_bounding_boxes(x, BOX, labels=["a", "b"]), ValueError, "2 labels for 1"),
        (lambda x: draw_bounding_boxes(x, BOX, colors=[]), ValueError, "0 colors for 1"),
        (lambda x: draw_bounding_boxes(x, BOX, colors="blau"), ValueError, "blau"),
        (lambda x: draw_segmentation_masks(x, MASK.float()), ValueError, "must be of bool"),
        (lambda x: draw_segmentation_masks(x, MASK[:2]), ValueError, r"\[4, 4\] .* \[2, 4\]"),
        (lambda x: draw_segmentation_masks(x, MASK, 1.5), ValueError, "alpha"),
    ],
)
def test_drawings_refuse(call: Any, error: type, words: str) -> None:
    """Wrong arguments are named."""
    with pytest.raises(error, match=words):
        call(weft.zeros(3, 4, 4, dtype=weft.uint8))


# ---- the package ------------------------------------------------------------------------------------


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_pillow_is_loaded_late_and_named_when_missing() -> None:
    """Nothing heavy is imported with the package; without Pillow the error says what to install."""
    code = """
import sys
import weft.vision
import weft.vision.datasets, weft.vision.transforms, weft.vision.utils, weft.vision.io
print([name for name in ("PIL", "numpy", "tqdm") if name in sys.modules])
sys.modules["PIL"] = None
digits = weft.vision.datasets.Digits()
print(len(digits), weft.vision.transforms.CenterCrop(2)(weft.ones(1, 4, 4)).sum().item())
digits[0]
"""
    out = run(code)
    assert out.startswith("[]\n1437 4.0\n"), out
    assert "ImportError: weft.vision reads and changes images with Pillow" in out
    assert "pip install weft[vision]" in out


def test_the_parts_are_there() -> None:
    """The lazy names, and an error for others."""
    import weft.vision as vision

    assert {"datasets", "io", "transforms", "utils"} <= set(dir(vision))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = vision.nothing


def test_loaders_take_them() -> None:
    """A loader makes batches of images and labels, also in worker processes."""
    from weft.utils.data import DataLoader
    from weft.vision import datasets, transforms

    digits = datasets.Digits(transform=transforms.ToTensor())
    for workers in (0, 2):
        images, labels = next(iter(DataLoader(digits, batch_size=16, num_workers=workers)))
        assert images.shape == (16, 1, 8, 8) and labels.tolist() == digits.targets[:16].tolist()
