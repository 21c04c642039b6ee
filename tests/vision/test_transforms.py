"""Transforms as objects: what they do, what they draw, what they print, what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

import weft
from weft.vision import transforms as T
from weft.vision.transforms import functional as F

BILINEAR = T.InterpolationMode.BILINEAR


def picture(h: int = 12, w: int = 15, c: int = 3) -> Image.Image:
    array = np.random.default_rng(0).integers(0, 256, (h, w, c), dtype=np.uint8)
    return Image.fromarray(array[:, :, 0] if c == 1 else array)


RANDOM: list[Any] = [
    T.RandomCrop(8, padding=2),
    T.RandomCrop((20, 20), pad_if_needed=True, padding_mode="symmetric"),
    T.RandomHorizontalFlip(),
    T.RandomVerticalFlip(),
    T.RandomResizedCrop(8),
    T.ColorJitter(0.5, 0.5, 0.5, 0.2),
    T.RandomRotation(30, fill=3),
    T.RandomRotation((10, 20), BILINEAR, expand=True),
    T.RandomAffine(20, (0.2, 0.1), (0.8, 1.2), (-5, 5, -6, 6), fill=(1, 2, 3)),
    T.Grayscale(3),
    T.RandomGrayscale(0.5),
    T.RandomPerspective(0.4),
    T.GaussianBlur(3),
    T.GaussianBlur((5, 3), (0.5, 1.0)),
    T.RandomInvert(),
    T.RandomPosterize(3),
    T.RandomSolarize(100),
    T.RandomAdjustSharpness(2),
    T.RandomAutocontrast(),
    T.RandomEqualize(),
    T.ElasticTransform(20.0, 2.0),
    T.AutoAugment(),
    T.AutoAugment(T.AutoAugmentPolicy.CIFAR10, fill=7),
    T.AutoAugment(T.AutoAugmentPolicy.SVHN, BILINEAR),
    T.RandAugment(3),
    T.TrivialAugmentWide(),
    T.AugMix(),
    T.AugMix(10, chain_depth=2, all_ops=False),
    T.RandomApply([T.RandomInvert(1), T.Pad(1)], p=0.5),
    T.RandomOrder([T.RandomInvert(1), T.Resize(6)]),
    T.RandomChoice([T.Resize(6), T.CenterCrop(6)]),
    T.FiveCrop(5),
    T.TenCrop(5, vertical_flip=True),
]


def arrays(x: Any) -> list[np.ndarray]:
    parts = x if isinstance(x, tuple) else (x,)
    return [np.asarray(p) if isinstance(p, Image.Image) else p.numpy() for p in parts]


@pytest.mark.parametrize("transform", RANDOM, ids=lambda t: type(t).__name__)
@pytest.mark.parametrize("kind", ["Pillow", "bytes"])
def test_the_seed_governs(transform: Any, kind: str) -> None:
    """The same seed gives the same image, whatever Python's and NumPy's generators do."""
    img: Any = picture() if kind == "Pillow" else F.pil_to_tensor(picture())
    before = arrays(img)[0].copy()
    first, again = [], []
    for made in (first, again):
        weft.manual_seed(5)
        np.random.seed(len(made) + 1)
        for _ in range(6):
            made.append(arrays(transform(img)))
            np.random.rand()
    for a, b in zip(first, again):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            np.testing.assert_array_equal(x, y)
            assert x.dtype == np.uint8
    np.testing.assert_array_equal(arrays(img)[0], before)  # the input is left as it was


@pytest.mark.parametrize("transform", RANDOM, ids=lambda t: type(t).__name__)
def test_both_kinds_have_the_same_size(transform: Any) -> None:
    """From one seed, Pillow's image and the tensor come out in the same size and channels."""
    img = picture()
    weft.manual_seed(3)
    a = transform(img)
    weft.manual_seed(3)
    b = transform(F.pil_to_tensor(img))
    if "expand=True" in repr(transform):
        return  # Pillow rounds the size of a turned image in its own way
    for x, y in zip(a if isinstance(a, tuple) else (a,), b if isinstance(b, tuple) else (b,)):
        assert F.get_dimensions(x) == F.get_dimensions(y)


def test_probabilities() -> None:
    """p=0 never, p=1 always, p=0.3 about so often."""
    x = weft.arange(4).reshape(1, 2, 2)
    assert all((T.RandomHorizontalFlip(0)(x) == x).all() for _ in range(20))
    assert all((T.RandomHorizontalFlip(1)(x) == x.flip(2)).all() for _ in range(20))
    flip = T.RandomVerticalFlip(0.3)
    assert 230 < sum(not bool((flip(x) == x).all()) for _ in range(1000)) < 370
    for wrong in (-0.1, 1.5, "a", None):
        with pytest.raises(ValueError, match="RandomInvert: p should be"):
            T.RandomInvert(wrong)


def test_compose_prepares_digits() -> None:
    """The usual chain gives the usual numbers."""
    img = picture(10, 10, 1)
    x = T.Compose([T.Resize(5), T.ToTensor(), T.Normalize((0.5,), (0.25,))])(img)
    expected = (np.asarray(img.resize((5, 5), Image.Resampling.BILINEAR)) / 255 - 0.5) / 0.25
    np.testing.assert_allclose(x.numpy()[0], expected, rtol=1e-5, atol=1e-6)
    chained = weft.nn.Sequential(T.Resize(5), T.RandomInvert(1.0))
    assert chained(weft.rand(3, 8, 8)).shape == (3, 5, 5)


def test_random_crop() -> None:
    """Parts lie within the image, at all places; too large ones are refused."""
    x = weft.arange(30).reshape(1, 5, 6)
    corners = {int(T.RandomCrop((3, 4))(x)[0, 0, 0]) for _ in range(200)}
    assert corners == {i * 6 + j for i in range(3) for j in range(3)}
    with pytest.raises(ValueError, match=r"\(7, 7\) is larger than input image size \(5, 6\)"):
        T.RandomCrop(7)(x)
    assert T.RandomCrop(7, pad_if_needed=True)(x).shape == (1, 7, 7)
    assert T.RandomCrop(9, padding=2)(picture(6, 6)).size == (9, 9)


def test_random_resized_crop_boxes() -> None:
    """Areas and shapes are those asked for; a shape that fits nowhere gives the middle."""
    img = weft.zeros(1, 60, 80)
    for _ in range(100):
        i, j, h, w = T.RandomResizedCrop.get_params(img, (0.2, 0.5), (0.5, 2.0))
        assert 0 <= i <= 60 - h and 0 <= j <= 80 - w
        assert 0.17 < h * w / 4800 < 0.53 and 0.45 < w / h < 2.2
    assert T.RandomResizedCrop.get_params(weft.zeros(1, 10, 100), (1, 1), (0.5, 2)) == (
        0,
        40,
        10,
        20,
    )
    assert T.RandomResizedCrop.get_params(weft.zeros(1, 100, 10), (1, 1), (0.5, 2)) == (
        40,
        0,
        20,
        10,
    )


def test_draws_are_in_their_ranges() -> None:
    """Angles, factors, widths, corners."""
    for _ in range(100):
        angle, moves, scale, shear = T.RandomAffine.get_params(
            [-10, 20], [0.1, 0.5], [0.5, 2.0], [-3, 3, 5, 6], [100, 10]
        )
        assert -10 <= angle <= 20 and abs(moves[0]) <= 10 and abs(moves[1]) <= 5
        assert 0.5 <= scale <= 2 and -3 <= shear[0] <= 3 and 5 <= shear[1] <= 6
        order, b, c, s, h = T.ColorJitter.get_params((0.5, 1.5), None, (2, 3), (-0.1, 0.1))
        assert sorted(order.tolist()) == [0, 1, 2, 3] and c is None
        assert b is not None and s is not None and h is not None
        assert 0.5 <= b <= 1.5 and 2 <= s <= 3 and -0.1 <= h <= 0.1
        start, end = T.RandomPerspective.get_params(20, 10, 0.5)
        assert start == [[0, 0], [19, 0], [19, 9], [0, 9]]
        for (x0, y0), (x1, y1) in zip(start, end):
            assert abs(x0 - x1) <= 5 and abs(y0 - y1) <= 2 and 0 <= x1 < 20 and 0 <= y1 < 10


def test_random_erasing() -> None:
    """A rectangle of the asked size, in a number, in one per channel, or in noise."""
    x = weft.ones(3, 10, 10)
    whole = T.RandomErasing(p=1, scale=(0.25, 0.25), ratio=(1, 1))
    assert (whole(x) == 0).sum() == 75 and (x == 1).all()
    colors = T.RandomErasing(p=1, scale=(0.25, 0.25), ratio=(1, 1), value=(2, 3, 4))(x)
    assert [int(v) for v in colors.sum((1, 2))] == [125, 150, 175]
    noise = T.RandomErasing(p=1, value="random")(x)
    assert len(noise.unique()) > 3
    assert T.RandomErasing(p=0)(x) is x
    assert T.RandomErasing(p=1, inplace=True)(x) is x and (x == 0).any()
    for arguments, error in (
        ({"value": "a"}, ValueError),
        ({"scale": (0.5, 2)}, ValueError),
        ({"value": {}}, TypeError),
    ):
        with pytest.raises(error):
            T.RandomErasing(**arguments)
    with pytest.raises(TypeError, match="put it behind ToTensor"):
        T.RandomErasing()(picture())
    with pytest.raises(ValueError, match="number of input channels"):
        T.RandomErasing(p=1, value=(1, 2))(x)


def test_choice_and_order_follow_the_generator() -> None:
    """All choices come, by their weights; all orders come."""
    choice = T.RandomChoice([lambda x: "a", lambda x: "b"], p=[0.9, 0.1])
    drawn = [choice(0) for _ in range(300)]
    assert 5 < drawn.count("b") < 70
    order = T.RandomOrder([lambda x: x + "a", lambda x: x + "b"])
    assert {order("") for _ in range(50)} == {"ab", "ba"}
    with pytest.raises(TypeError, match="sequence"):
        T.RandomOrder(abs)
    with pytest.raises(ValueError, match="1 weights p for 2"):
        T.RandomChoice([abs, abs], p=[1])
    with pytest.raises(TypeError, match="callable"):
        T.Lambda(3)


def test_linear_transformation_whitens() -> None:
    """x - mean, times the matrix, for images and batches of them."""
    matrix, mean = weft.rand(12, 12), weft.rand(12)
    x = weft.rand(4, 3, 2, 2)
    got = T.LinearTransformation(matrix, mean)(x)
    expected = (x.numpy().reshape(4, 12) - mean.numpy()) @ matrix.numpy()
    np.testing.assert_allclose(got.numpy().reshape(4, 12), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="square"):
        T.LinearTransformation(weft.rand(2, 3), mean)
    with pytest.raises(ValueError, match="incompatible"):
        T.LinearTransformation(matrix, mean)(weft.rand(3, 5, 5))


def test_policies_of_autoaugment() -> None:
    """Each has 25 rules of two known changes."""
    for policy in T.AutoAugmentPolicy:
        rules = T.AutoAugment(policy).policies
        assert len(rules) == 25 and all(len(rule) == 2 for rule in rules)
        for rule in rules:
            for _, p, strength in rule:
                assert 0 <= p <= 1 and (strength is None or 0 <= strength <= 9)
    with pytest.raises(ValueError, match="not recognized"):
        T.AutoAugment("cifar10")
    with pytest.raises(ValueError, match="Got 11"):
        T.AugMix(11)
    with pytest.raises(ValueError, match="from 0 to 30"):
        T.RandAugment(magnitude=31)


TEXTS = {
    "Resize(size=256, interpolation=bilinear, max_size=None, antialias=True)": T.Resize(256),
    "CenterCrop(size=(224, 224))": T.CenterCrop(224),
    "Pad(padding=(1, 2), fill=0, padding_mode=constant)": T.Pad((1, 2)),
    "Lambda()": T.Lambda(abs),
    "ToTensor()": T.ToTensor(),
    "PILToTensor()": T.PILToTensor(),
    "ConvertImageDtype()": T.ConvertImageDtype(weft.float32),
    "ToPILImage()": T.ToPILImage(),
    "ToPILImage(mode=RGB)": T.ToPILImage("RGB"),
    "Normalize(mean=[0.485, 0.456], std=[0.229, 0.224])": T.Normalize([0.485, 0.456], [0.229, 0.224]),
    "RandomCrop(size=(32, 32), padding=4)": T.RandomCrop(32, padding=4),
    "RandomHorizontalFlip(p=0.5)": T.RandomHorizontalFlip(),
    "RandomResizedCrop(size=(224, 224), scale=(0.08, 1.0), ratio=(0.75, 1.3333), "
    "interpolation=bilinear, antialias=True)": T.RandomResizedCrop(224),
    "FiveCrop(size=(3, 4))": T.FiveCrop((3, 4)),
    "TenCrop(size=(3, 3), vertical_flip=False)": T.TenCrop(3),
    "ColorJitter(brightness=(0.6, 1.4), contrast=None, saturation=None, hue=(-0.1, 0.1))": T.ColorJitter(0.4, hue=0.1),
    "RandomRotation(degrees=[-10.0, 10.0], interpolation=nearest, expand=False, fill=0)": T.RandomRotation(10),
    "RandomAffine(degrees=[0.0, 5.0], scale=(0.5, 1), shear=[-3.0, 3.0], "
    "interpolation=bilinear, fill=2)": T.RandomAffine(
        (0, 5), scale=(0.5, 1), shear=3, interpolation=BILINEAR, fill=2
    ),
    "Grayscale(num_output_channels=1)": T.Grayscale(),
    "RandomErasing(p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False)": T.RandomErasing(),
    "RandomSolarize(threshold=128,p=0.5)": T.RandomSolarize(128),
    "ElasticTransform(alpha=[50.0, 50.0], sigma=[5.0, 5.0], "
    "interpolation=InterpolationMode.BILINEAR, fill=0)": T.ElasticTransform(),
    "RandomOrder(\n    ToTensor()\n)": T.RandomOrder([T.ToTensor()]),
    "RandomChoice(\n    ToTensor()\n)(p=None)": T.RandomChoice([T.ToTensor()]),
    "LinearTransformation(transformation_matrix=[[1.0]], mean_vector=[0.0])": T.LinearTransformation(
        weft.eye(1), weft.zeros(1)
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=lambda t: t.split("(")[0])
def test_texts(text: str) -> None:
    """They print as torchvision's do."""
    assert repr(TEXTS[text]) == text


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: T.Resize("a"), TypeError, "int or sequence"),
        (lambda: T.Resize((1, 2, 3)), ValueError, "1 or 2 values"),
        (lambda: T.Resize(3, interpolation="bilinear"), TypeError, "InterpolationMode"),
        (lambda: T.CenterCrop((1, 2, 3)), ValueError, "only two dimensions"),
        (lambda: T.Pad((1, 2, 3)), ValueError, "3 element tuple"),
        (lambda: T.Pad(1, padding_mode="wrap"), ValueError, "'wrap'"),
        (lambda: T.ColorJitter(-1), ValueError, "brightness"),
        (lambda: T.ColorJitter(hue=0.6), ValueError, "hue values should be between"),
        (lambda: T.ColorJitter(contrast="a"), TypeError, "contrast should be"),
        (lambda: T.RandomRotation(-5), ValueError, "degrees is a single number"),
        (lambda: T.RandomRotation((1, 2, 3)), ValueError, "length 2"),
        (lambda: T.RandomAffine(0, translate=(2, 0)), ValueError, "between 0 and 1"),
        (lambda: T.RandomAffine(0, scale=(0, 1)), ValueError, "positive"),
        (lambda: T.RandomAffine(0, shear=(1, 2, 3)), ValueError, "length 2 or 4"),
        (lambda: T.RandomPerspective(2), ValueError, "from 0 to 1"),
        (lambda: T.RandomPerspective(fill="a"), TypeError, "Fill"),
        (lambda: T.GaussianBlur(4), ValueError, "odd"),
        (lambda: T.GaussianBlur(3, (2, 1)), ValueError, "min, max"),
        (lambda: T.RandomResizedCrop(5, scale=(1, 0.5)), ValueError, "min, max"),
        (lambda: T.ConvertImageDtype("float"), TypeError, "expected a dtype"),
        (lambda: T.RandomApply(abs), TypeError, "sequence"),
        (lambda: T.Grayscale(2)(picture()), ValueError, "either 1 or 3"),
        (lambda: T.RandomHorizontalFlip(1)(np.zeros((2, 2))), TypeError, "PIL Image or Tensor"),
    ],
)
def test_wrong_arguments_are_named(make: Any, error: type, words: str) -> None:
    """What was asked, and what is allowed."""
    with pytest.raises(error, match=words):
        make()
