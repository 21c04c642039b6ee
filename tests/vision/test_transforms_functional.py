"""Transforms as functions: against NumPy's formulas, and Pillow's images against tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

import weft
from weft.vision.transforms import InterpolationMode
from weft.vision.transforms import functional as F

MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def picture(h: int, w: int, c: int = 3, seed: int = 0) -> Image.Image:
    """Random pixels."""
    array = np.random.default_rng(seed).integers(0, 256, (h, w, c), dtype=np.uint8)
    return Image.fromarray(array[:, :, 0] if c == 1 else array, MODES[c])


def smooth(h: int, w: int) -> Image.Image:
    """Colours that change slowly, so that ways to interpolate agree nearly."""
    y, x = np.mgrid[0:h, 0:w]
    planes = [127 + 100 * np.sin(x / 5), 127 + 100 * np.cos(y / 6), 60 + x + y]
    return Image.fromarray(np.stack(planes, -1).clip(0, 255).astype(np.uint8))


def array(img: Any) -> np.ndarray:
    """Pixels (C, H, W) of either kind."""
    x = img if isinstance(img, weft.Tensor) else F.pil_to_tensor(img)
    return x.numpy().astype(np.float64)


def agree(of_pillow: Any, of_tensor: Any, most: float = 0.0, mean: float | None = None) -> None:
    """Two images are the same, up to a difference of each pixel, or of them in the mean."""
    a, b = array(of_pillow), array(of_tensor)
    assert a.shape == b.shape
    difference = np.abs(a - b)
    assert difference.mean() <= (most if mean is None else mean), difference.mean()
    if mean is None:
        assert difference.max() <= most, difference.max()


# ---- conversions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1, 3, 4])
@pytest.mark.parametrize(("h", "w"), [(1, 1), (5, 7), (8, 3), (224, 33)])
def test_to_tensor(c: int, h: int, w: int) -> None:
    """Bytes over 255, channels first, contiguous; and back, exactly."""
    img = picture(h, w, c)
    x = F.to_tensor(img)
    assert x.shape == (c, h, w) and x.dtype == weft.float32 and x.is_contiguous()
    raw = np.asarray(img).reshape(h, w, c)
    np.testing.assert_array_equal(x.numpy(), raw.transpose(2, 0, 1).astype(np.float32) / 255)
    assert F.pil_to_tensor(img).dtype == weft.uint8
    np.testing.assert_array_equal(F.pil_to_tensor(img).numpy(), raw.transpose(2, 0, 1))
    assert F.to_pil_image(F.pil_to_tensor(img)) == img
    np.testing.assert_array_equal(F.to_tensor(raw).numpy(), x.numpy())
    back = np.asarray(F.to_pil_image(x)).reshape(h, w, c)
    np.testing.assert_array_equal(back, np.floor(x.numpy().transpose(1, 2, 0) * 255))


def test_to_tensor_of_other_modes() -> None:
    """Whole numbers and floating point stay; one bit becomes 0 and 1."""
    grey = np.array([[0, 70000], [3, 4]], np.int32)
    assert F.to_tensor(Image.fromarray(grey)).dtype == weft.int32
    assert F.to_tensor(Image.fromarray(grey)).tolist() == [[[0, 70000], [3, 4]]]
    assert F.to_tensor(Image.fromarray(grey.astype(np.float32))).tolist()[0][0][1] == 70000.0
    short = Image.fromarray(np.array([[1, 300]], np.uint16))
    assert F.to_tensor(short).tolist() == [[[1, 300]]] and F.to_tensor(short).dtype == weft.int16
    bits = Image.fromarray(np.array([[0, 255]], np.uint8)).convert("1")
    assert F.to_tensor(bits).tolist() == [[[0.0, 1.0]]]
    assert F.to_tensor(np.array([[1.5, 2.5]])).dtype == weft.float64
    assert F.to_tensor(np.zeros((2, 3, 5), np.uint8)[:, ::-1]).shape == (5, 2, 3)


def test_to_tensor_follows_the_default_dtype() -> None:
    """The dtype of the result is the default one."""
    weft.set_default_dtype(weft.float64)
    try:
        assert F.to_tensor(picture(2, 2)).dtype == weft.float64
    finally:
        weft.set_default_dtype(weft.float32)


def test_to_pil_image_modes() -> None:
    """Modes follow from channels and dtype, or are asked for."""
    assert F.to_pil_image(weft.zeros(2, 3)).mode == "L"
    assert F.to_pil_image(weft.zeros(1, 2, 3), "F").mode == "F"
    assert F.to_pil_image(weft.zeros(1, 2, 3, dtype=weft.int32)).mode == "I"
    assert F.to_pil_image(np.zeros((2, 3), np.int16)).mode == "I;16"
    assert F.to_pil_image(weft.zeros(2, 2, 3)).mode == "LA"
    assert F.to_pil_image(weft.zeros(3, 2, 3), "HSV").mode == "HSV"
    assert F.to_pil_image(np.zeros((2, 3, 4), np.uint8), "CMYK").size == (3, 2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: F.to_tensor([1]), TypeError, "PIL Image or ndarray"),
        (lambda: F.to_tensor(np.zeros(3)), ValueError, "2/3 dimensional. Got 1"),
        (lambda: F.pil_to_tensor(np.zeros((2, 2))), TypeError, "should be PIL Image"),
        (lambda: F.to_pil_image(weft.zeros(5, 2, 2)), ValueError, "Got 5 channels"),
        (lambda: F.to_pil_image(weft.zeros(1, 1, 2, 2)), ValueError, "Got 4 dimensions"),
        (lambda: F.to_pil_image("x"), TypeError, "Tensor or ndarray"),
        (lambda: F.to_pil_image(weft.zeros(3, 2, 2), "L"), ValueError, r"Incorrect mode \(L\)"),
        (lambda: F.to_pil_image(np.zeros((2, 2, 3))), TypeError, "float64 with 3 channels"),
    ],
)
def test_conversions_refuse(call: Any, error: type, words: str) -> None:
    """Wrong inputs are named."""
    with pytest.raises(error, match=words):
        call()


def test_convert_image_dtype() -> None:
    """Ranges are scaled; no cast that would lose whole numbers."""
    x = weft.tensor([0, 1, 128, 255], dtype=weft.uint8)
    f = F.convert_image_dtype(x, weft.float32)
    np.testing.assert_allclose(f.numpy(), np.array([0, 1, 128, 255]) / 255, rtol=1e-6)
    assert F.convert_image_dtype(f, weft.uint8).tolist() == x.tolist()
    assert F.convert_image_dtype(x, weft.int16).tolist() == [0, 128, 128 * 128, 255 * 128]
    assert (
        F.convert_image_dtype(F.convert_image_dtype(x, weft.int32), weft.uint8).tolist()
        == x.tolist()
    )
    assert F.convert_image_dtype(x, weft.uint8) is x
    assert F.convert_image_dtype(f, weft.float64).dtype == weft.float64
    for source, target in (
        (weft.float32, weft.int32),
        (weft.float32, weft.int64),
        (weft.float64, weft.int64),
    ):
        with pytest.raises(RuntimeError, match="cannot be performed safely"):
            F.convert_image_dtype(f.to(source), target)


def test_normalize() -> None:
    """The formula; in place or not; what it refuses."""
    x = weft.rand(2, 3, 4, 5)
    mean, std = [0.1, 0.2, 0.3], (0.5, 0.25, 2.0)
    y = F.normalize(x, mean, std)
    expected = (x.numpy() - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-6)
    z = x.clone()
    assert F.normalize(z, weft.tensor(mean), weft.tensor(std), inplace=True) is z
    assert (z == y).all()
    with pytest.raises(ValueError, match="division by zero"):
        F.normalize(x, mean, [1.0, 0.0, 1.0])
    with pytest.raises(TypeError, match="float tensor"):
        F.normalize(x.to(weft.uint8), mean, std)
    with pytest.raises(TypeError, match="Tensor Image"):
        F.normalize(picture(2, 2), mean, std)
    with pytest.raises(ValueError, match="C, H, W"):
        F.normalize(x[0, 0], mean, std)


# ---- shapes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1, 3, 4])
@pytest.mark.parametrize("size", [(5, 9), (31, 40), (13, 7), 11, [17], (17, 23)])
@pytest.mark.parametrize("mode", ["BILINEAR", "BICUBIC"])
def test_resize_agrees(c: int, size: Any, mode: str) -> None:
    """Tensors of bytes are resized as Pillow does, but for rounding."""
    img = picture(17, 23, c)
    if c == 4:
        img.putalpha(255)  # Pillow weighs colours by it
    way = InterpolationMode[mode]
    a, b = F.resize(img, size, way), F.resize(F.pil_to_tensor(img), size, way)
    if mode == "BILINEAR":
        agree(a, b, most=1.0)
    else:  # Pillow rounds, and cuts what overshoots, after the first of two directions
        agree(a, b, mean=0.7)


def test_resize_sizes() -> None:
    """The shorter side, the longest allowed, batches, the same size."""
    x = weft.rand(2, 3, 10, 25)
    assert F.resize(x, 5).shape == (2, 3, 5, 12)
    assert F.resize(x, [5]).shape == (2, 3, 5, 12)
    assert F.resize(x, 5, max_size=8).shape == (2, 3, 3, 8)
    assert F.resize(x.transpose(2, 3), 5, max_size=8).shape == (2, 3, 8, 3)
    assert F.resize(x, (10, 25)) is x
    assert F.resize(picture(10, 25), 5).size == (12, 5)
    assert F.resize(weft.rand(6, 8), (3, 4)).shape == (3, 4)
    assert F.resize(x, (4, 5), InterpolationMode.NEAREST).shape == (2, 3, 4, 5)
    assert F.resize(picture(4, 4), 2, InterpolationMode.LANCZOS).size == (2, 2)
    with pytest.raises(ValueError, match="strictly greater"):
        F.resize(x, 5, max_size=5)
    with pytest.raises(ValueError, match="max_size should only"):
        F.resize(x, (5, 5), max_size=9)
    with pytest.raises(ValueError, match="1 or 2 values"):
        F.resize(x, (5, 5, 5))
    with pytest.raises(ValueError, match="positive"):
        F.resize(x, 0)
    with pytest.raises(TypeError, match="int or sequence"):
        F.resize(x, 2.5)
    with pytest.raises(ValueError, match="got lanczos"):
        F.resize(x, 5, InterpolationMode.LANCZOS)
    with pytest.raises(TypeError, match="PIL Image or Tensor"):
        F.resize(np.zeros((3, 3)), 5)


def test_resize_nearest_and_without_antialias() -> None:
    """Nearest picks pixels; without antialias bilinear picks neighbours."""
    x = weft.arange(16.0).reshape(1, 4, 4)
    assert F.resize(x, 2, InterpolationMode.NEAREST).tolist() == [[[0, 2], [8, 10]]]
    assert F.resize(x, 2, InterpolationMode.NEAREST_EXACT).tolist() == [[[5, 7], [13, 15]]]
    assert F.resize(x, 2, antialias=False).tolist() == [[[2.5, 4.5], [10.5, 12.5]]]
    assert F.resize(x, 2).tolist() != F.resize(x, 2, antialias=False).tolist()


BOXES = [(0, 0, 3, 4), (2, 1, 5, 6), (-2, -3, 5, 6), (4, 5, 9, 9), (-5, -5, 3, 3), (20, 20, 2, 2)]


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("c", [1, 3])
def test_crop_agrees(box: tuple[int, int, int, int], c: int) -> None:
    """Parts, also those that reach beyond the image, or lie outside of it."""
    img = picture(7, 9, c)
    agree(F.crop(img, *box), F.crop(F.pil_to_tensor(img), *box))


@pytest.mark.parametrize("size", [1, 4, 5, (3, 6), (12, 4), (4, 12), 20])
def test_center_crop_agrees(size: Any) -> None:
    """Even and odd sizes, smaller and larger than the image."""
    img = picture(7, 10)
    x = F.center_crop(F.pil_to_tensor(img), size)
    agree(F.center_crop(img, size), x)
    assert tuple(x.shape[1:]) == (size if isinstance(size, tuple) else (size, size))


@pytest.mark.parametrize("padding", [2, [3], (1, 2), (1, 2, 3, 4), (-1, 2, 0, -3)])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
@pytest.mark.parametrize("c", [1, 3])
def test_pad_agrees(padding: Any, mode: str, c: int) -> None:
    """Against numpy.pad, for both kinds."""
    img = picture(6, 8, c)
    fill = 7 if c == 1 else (7, 8, 9)
    x = F.pil_to_tensor(img)
    agree(F.pad(img, padding, fill, mode), F.pad(x, padding, fill, mode))
    if isinstance(padding, int):
        keywords = {"constant_values": 7} if mode == "constant" else {}
        expected = np.pad(x.numpy()[0], padding, mode, **keywords)  # type: ignore[call-overload]
        np.testing.assert_array_equal(F.pad(x, padding, fill, mode).numpy()[0], expected)


@pytest.mark.parametrize("mode", ["1", "P", "L", "LA", "HSV", "CMYK", "I", "F", "RGBA"])
def test_images_keep_their_mode(mode: str) -> None:
    """Every mode of Pillow comes through what only moves pixels."""
    img = picture(6, 8).convert(mode)
    for change in (
        lambda i: F.pad(i, 2),
        lambda i: F.pad(i, 2, padding_mode="reflect"),
        lambda i: F.crop(i, -1, 2, 8, 8),
        F.hflip,
        lambda i: F.rotate(i, 90),
        lambda i: F.affine(i, 10, [1, 1], 1.0, 0),
    ):
        assert change(img).mode == mode
    around = F.pad(img, 1, padding_mode="edge")
    assert around.crop((1, 1, 9, 7)).tobytes() == img.tobytes()
    assert around.convert("RGB").getpixel((0, 0)) == img.convert("RGB").getpixel((0, 0))


def test_pad_refuses() -> None:
    """Wrong arguments are named."""
    x = weft.rand(3, 4, 4)
    for arguments, error, words in (
        (((1, 2, 3),), ValueError, "3 element tuple"),
        (("a",), TypeError, "padding arg 'a'"),
        ((1, None), TypeError, "fill arg None"),
        ((1, (1, 2)), ValueError, "3 of them"),
        ((1, 0, "wrap"), ValueError, "'wrap'"),
        ((5, 0, "reflect"), ValueError, "too much to reflect"),
        ((-2,), ValueError, "nothing is left"),
    ):
        with pytest.raises(error, match=words):
            F.pad(x, *arguments)
    with pytest.raises(ValueError, match="number of channels"):
        F.pad(picture(4, 4), 1, (1, 2))


def test_flips_and_crops_of_corners() -> None:
    """Mirror images; the four corners and the middle."""
    img = picture(5, 6)
    x = F.pil_to_tensor(img)
    agree(F.hflip(img), F.hflip(x))
    agree(F.vflip(img), F.vflip(x))
    assert (F.hflip(x) == x.flip(2)).all() and (F.vflip(x) == x.flip(1)).all()
    for a, b in zip(F.ten_crop(img, (2, 3), True), F.ten_crop(x, (2, 3), True)):
        agree(a, b)
    parts = F.five_crop(x, 2)
    assert (parts[1] == x[:, :2, -2:]).all() and (parts[3] == x[:, -2:, -2:]).all()
    with pytest.raises(ValueError, match="bigger than input"):
        F.five_crop(x, 9)
    agree(F.resized_crop(img, 1, 1, 3, 3, (6, 6)), F.resized_crop(x, 1, 1, 3, 3, (6, 6)), most=1)
    assert F.get_dimensions(img) == F.get_dimensions(x) == [3, 5, 6]
    assert F.get_image_size(x) == [6, 5] and F.get_image_num_channels(img) == 3


# ---- geometry ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_rotate_by_quarters(turns: int) -> None:
    """Quarters are exact, as numpy.rot90 is."""
    x = F.pil_to_tensor(picture(7, 7))
    expected = np.rot90(x.numpy(), turns, (1, 2))
    np.testing.assert_array_equal(F.rotate(x, 90 * turns).numpy(), expected)
    wide = F.pil_to_tensor(picture(4, 9))
    expected = np.rot90(wide.numpy(), turns, (1, 2))
    np.testing.assert_array_equal(F.rotate(wide, 90 * turns, expand=True).numpy(), expected)


@pytest.mark.parametrize("angle", [0, 15, -37.5, 120])
@pytest.mark.parametrize("mode", ["NEAREST", "BILINEAR"])
@pytest.mark.parametrize("center", [None, (10, 12)])
def test_rotate_agrees(angle: float, mode: str, center: Any) -> None:
    """Pillow's and the tensor's, but for a few pixels at the borders."""
    img = smooth(41, 52)
    way = InterpolationMode[mode]
    a = F.rotate(img, angle, way, center=center, fill=60)
    agree(a, F.rotate(F.pil_to_tensor(img), angle, way, center=center, fill=60), mean=1.5)


def test_rotate_expands_and_fills() -> None:
    """The whole turned image, and a colour around it."""
    img = smooth(40, 50)
    x = F.pil_to_tensor(img)
    a, b = (F.rotate(i, 30, expand=True, fill=(1, 2, 3)) for i in (img, x))
    for side, other in zip(array(a).shape, array(b).shape):
        assert abs(side - other) <= 2
    assert array(a)[:, 0, 0].tolist() == array(b)[:, 0, 0].tolist() == [1, 2, 3]
    assert F.rotate(weft.rand(2, 3, 8, 8), 10).shape == (2, 3, 8, 8)
    with pytest.raises(ValueError, match="center"):
        F.rotate(x, 10, center=[1, 2, 3])
    with pytest.raises(TypeError, match="angle"):
        F.rotate(x, "10")
    with pytest.raises(ValueError, match="got bicubic"):
        F.rotate(x, 10, InterpolationMode.BICUBIC)
    with pytest.raises(ValueError, match="broadcast"):
        F.rotate(x, 10, fill=[1, 2])


AFFINE = [
    (0, (3, -2), 1.0, 0),
    (30, (0, 0), 1.0, (0, 0)),
    (0, (0, 0), 1.5, (0, 0)),
    (0, (0, 0), 1.0, (20, 0)),
    (0, (0, 0), 1.0, (0, 15)),
    (-25, (4, 5), 0.7, (10, -5)),
]


@pytest.mark.parametrize(("angle", "translate", "scale", "shear"), AFFINE)
@pytest.mark.parametrize("center", [None, (5, 8)])
def test_affine_agrees(angle: float, translate: Any, scale: float, shear: Any, center: Any) -> None:
    """Pillow's and the tensor's, by both ways to interpolate."""
    img = smooth(40, 51)
    x = F.pil_to_tensor(img)
    for way in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        a, b = (
            F.affine(i, angle, translate, scale, shear, way, fill=100, center=center)
            for i in (img, x)
        )
        agree(a, b, mean=1.5)


def test_affine_is_its_matrix() -> None:
    """Moving is moving, and a turn with the clock is one against it, reversed."""
    x = weft.arange(25.0).reshape(1, 5, 5)
    moved = F.affine(x, 0, [2, 1], 1.0, 0)
    assert (moved[:, 1:, 2:] == x[:, :-1, :-2]).all() and moved[:, 0].sum() == 0
    assert (F.affine(x, 90, [0, 0], 1.0, 0) == F.rotate(x, -90)).all()
    for arguments, words in (
        ((0, [1], 1.0, 0), "length 2"),
        ((0, [1, 1], 0.0, 0), "positive"),
        ((0, [1, 1], 1.0, [1, 2, 3]), "two values"),
    ):
        with pytest.raises(ValueError, match=words):
            F.affine(x, *arguments)


def test_perspective_agrees() -> None:
    """Points go where they should; Pillow and tensor agree."""
    img = smooth(40, 50)
    start = [[0, 0], [49, 0], [49, 39], [0, 39]]
    end = [[4, 3], [45, 6], [48, 35], [2, 38]]
    for way in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        a, b = (F.perspective(i, start, end, way, fill=90) for i in (img, F.pil_to_tensor(img)))
        agree(a, b, mean=2.5)  # the borders differ
        agree(a.crop((10, 10, 40, 30)), b[:, 10:30, 10:40], most=1.0)
    x = F.pil_to_tensor(img)
    assert (F.perspective(x, start, start) == x).all()
    with pytest.raises(ValueError, match="four points"):
        F.perspective(x, start[:3], end[:3])


def test_elastic_transform() -> None:
    """No displacement changes nothing; one pixel moves all by one; both kinds are the same."""
    img = smooth(12, 15)
    x = F.pil_to_tensor(img)
    still = weft.zeros(1, 12, 15, 2)
    agree(F.elastic_transform(img, still), x)
    right = still.clone()
    right[..., 0] = 2 / 15
    assert (F.elastic_transform(x, right)[:, :, :-1] == x[:, :, 1:]).all()
    agree(F.elastic_transform(img, right, fill=9), F.elastic_transform(x, right, fill=9))
    with pytest.raises(ValueError, match=r"\(1, 12, 15, 2\)"):
        F.elastic_transform(x, weft.zeros(1, 3, 3, 2))


# ---- colours ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 1.7])
@pytest.mark.parametrize(
    "name", ["adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_sharpness"]
)
@pytest.mark.parametrize("c", [1, 3])
def test_enhancements_agree(name: str, factor: float, c: int) -> None:
    """Pillow's and the tensor's, but for rounding; floating point like bytes."""
    img = picture(9, 11, c)
    change = getattr(F, name)
    x = F.pil_to_tensor(img)
    agree(change(img, factor), change(x, factor), most=2.0)
    y = change(F.to_tensor(img), factor) * 255
    assert np.abs(y.numpy() - array(change(img, factor))).max() <= 3.0
    with pytest.raises(ValueError, match="not non-negative"):
        change(x, -1)


@pytest.mark.parametrize("factor", [-0.5, -0.2, 0.0, 0.1, 0.5])
def test_adjust_hue_agrees(factor: float) -> None:
    """Up to the 256 steps of Pillow's hue."""
    img = smooth(20, 30)
    agree(F.adjust_hue(img, factor), F.adjust_hue(F.pil_to_tensor(img), factor), mean=2.5)


def test_hue_is_that_of_colorsys() -> None:
    """Against Python's own formula."""
    import colorsys

    x = weft.rand(3, 4, 5, dtype=weft.float64)
    y = F.adjust_hue(x, 0.3).numpy()
    for i in range(4):
        for j in range(5):
            h, s, v = colorsys.rgb_to_hsv(*x[:, i, j].tolist())
            np.testing.assert_allclose(
                y[:, i, j], colorsys.hsv_to_rgb((h + 0.3) % 1, s, v), atol=1e-9
            )
    with pytest.raises(ValueError, match="hue_factor"):
        F.adjust_hue(x, 0.6)
    grey = weft.rand(1, 2, 2)
    assert F.adjust_hue(grey, 0.2) is grey


def test_gamma_posterize_solarize_invert_autocontrast_equalize_agree() -> None:
    """The rest of the colours."""
    for c in (1, 3):
        img = picture(13, 17, c, seed=c)
        img = img.point([60 + i // 3 for i in range(256)] * c)
        x = F.pil_to_tensor(img)
        for change in (
            lambda i: F.adjust_gamma(i, 0.7, 1.2),
            lambda i: F.posterize(i, 3),
            lambda i: F.posterize(i, 0),
            lambda i: F.solarize(i, 100),
            F.invert,
            F.equalize,
        ):
            agree(change(img), change(x))
        agree(F.autocontrast(img), F.autocontrast(x), most=1.0)
        assert F.autocontrast(x).min() == 0 and F.autocontrast(x).max() == 255
    flat = weft.full((3, 4, 4), 9, dtype=weft.uint8)
    assert (F.autocontrast(flat) == flat).all() and (F.equalize(flat) == flat).all()
    agree(ImageOps.equalize(picture(30, 30)), F.equalize(F.pil_to_tensor(picture(30, 30))))
    np.testing.assert_allclose(F.adjust_gamma(weft.full((1, 1, 1), 0.5), 3, 2).numpy(), 0.25)
    for call, error, words in (
        (lambda: F.posterize(weft.rand(3, 2, 2), 2), TypeError, "uint8"),
        (lambda: F.posterize(flat, 9), ValueError, "Got 9"),
        (lambda: F.equalize(weft.rand(3, 2, 2)), TypeError, "uint8"),
        (lambda: F.solarize(weft.rand(3, 2, 2), 2), TypeError, "Threshold"),
        (lambda: F.adjust_gamma(flat, -1), ValueError, "Gamma"),
        (
            lambda: F.invert(weft.rand(4, 2, 2)),
            TypeError,
            r"permitted channel values are \[1, 3\], but found 4",
        ),
    ):
        with pytest.raises(error, match=words):
            call()


def test_grayscale_agrees() -> None:
    """Weights of the three colours; one channel or three."""
    img = picture(5, 6)
    x = F.pil_to_tensor(img)
    for channels in (1, 3):
        agree(F.rgb_to_grayscale(img, channels), F.rgb_to_grayscale(x, channels), most=1.0)
        agree(F.to_grayscale(img, channels), F.rgb_to_grayscale(img, channels))
    with pytest.raises(ValueError, match="either 1 or 3"):
        F.rgb_to_grayscale(x, 2)
    with pytest.raises(TypeError, match="PIL"):
        F.to_grayscale(x)


# ---- filters ----------------------------------------------------------------------------------------


def test_gaussian_blur_is_its_formula() -> None:
    """Against a sum over the window, with reflected edges."""
    x = weft.rand(2, 6, 7, dtype=weft.float64)
    got = F.gaussian_blur(x, (5, 3), (1.5, 0.8)).numpy()

    def bell(n: int, s: float) -> np.ndarray:
        w = np.array([math.exp(-0.5 * ((i - n // 2) / s) ** 2) for i in range(n)])
        return w / w.sum()

    wide = np.pad(x.numpy(), ((0, 0), (1, 1), (2, 2)), "reflect")
    kernel = np.outer(bell(3, 0.8), bell(5, 1.5))
    expected = np.zeros_like(got)
    for i in range(3):
        for j in range(5):
            expected += kernel[i, j] * wide[:, i : i + 6, j : j + 7]
    np.testing.assert_allclose(got, expected, atol=1e-12)
    img = picture(8, 9)
    agree(F.gaussian_blur(img, 3), F.gaussian_blur(F.pil_to_tensor(img), 3))
    for arguments, words in (((4,), "odd"), ((3, 0.0), "positive"), (((3, 3, 3),), "one or two")):
        with pytest.raises(ValueError, match=words):
            F.gaussian_blur(x, *arguments)


def test_sharpness_keeps_edges_and_small_images() -> None:
    """Only inner pixels have a full window."""
    x = F.pil_to_tensor(picture(2, 5))
    assert F.adjust_sharpness(x, 3.0) is x
    y = F.pil_to_tensor(picture(5, 5))
    soft = F.adjust_sharpness(y, 0.0)
    assert (soft[:, 0] == y[:, 0]).all() and not (soft[:, 2, 2] == y[:, 2, 2]).all()


def test_erase() -> None:
    """A rectangle, in a copy or in the tensor itself."""
    x = weft.ones(3, 4, 5)
    y = F.erase(x, 1, 2, 2, 3, weft.tensor([0.0, 2.0, 3.0]).reshape(3, 1, 1))
    assert y.sum() == 3 * 20 - 18 + (0 + 2 + 3) * 6 and x.sum() == 60
    assert F.erase(x, 0, 0, 1, 1, 5.0, inplace=True) is x and x[0, 0, 0] == 5
    with pytest.raises(TypeError, match="Tensor Image"):
        F.erase(picture(4, 4), 0, 0, 1, 1, 0)


def test_gradients_pass_through_tensors() -> None:
    """Changes of tensors can be part of a network."""
    x = weft.rand(1, 3, 8, 8, requires_grad=True)
    y = F.resize(F.rotate(F.adjust_brightness(x, 0.5), 20, InterpolationMode.BILINEAR), 5)
    F.normalize(y, [0.5] * 3, [0.5] * 3).sum().backward()
    assert x.grad is not None and float(x.grad.abs().sum()) > 0
