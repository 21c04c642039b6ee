"""Published recipes of random changes: AutoAugment, RandAugment, TrivialAugmentWide, AugMix."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, Any

import weft

from . import functional as F
from .common import Transform, chance, whole
from .functional.common import InterpolationMode, as_mode, get_dimensions
from .functional.convert import as_tensor_and_back

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from weft import Tensor

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]


class AutoAugmentPolicy(Enum):
    """The data on which a policy of ``AutoAugment`` was found.

    >>> weft.vision.transforms.AutoAugmentPolicy("cifar10")
    <AutoAugmentPolicy.CIFAR10: 'cifar10'>
    """

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


# Pairs of (change, probability, strength from 0 to 9), from the tables of Cubuk et al., 2019.
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize .4 8 Rotate .6 9; Solarize .6 5 AutoContrast .6 -; Equalize .8 - Equalize .6 -;
        Posterize .6 7 Posterize .6 6; Equalize .4 - Solarize .2 4; Equalize .4 - Rotate .8 8;
        Solarize .6 3 Equalize .6 -; Posterize .8 5 Equalize 1 -; Rotate .2 3 Solarize .6 8;
        Equalize .6 - Posterize .4 6; Rotate .8 8 Color .4 0; Rotate .4 9 Equalize .6 -;
        Equalize 0 - Equalize .8 -; Invert .6 - Equalize 1 -; Color .6 4 Contrast 1 8;
        Rotate .8 8 Color 1 2; Color .8 8 Solarize .8 7; Sharpness .4 7 Invert .6 -;
        ShearX .6 5 Equalize 1 -; Color .4 0 Equalize .6 -; Equalize .4 - Solarize .2 4;
        Solarize .6 5 AutoContrast .6 -; Invert .6 - Equalize 1 -; Color .6 4 Contrast 1 8;
        Equalize .8 - Equalize .6 -""",
    AutoAugmentPolicy.CIFAR10: """
        Invert .1 - Contrast .2 6; Rotate .7 2 TranslateX .3 9; Sharpness .8 1 Sharpness .9 3;
        ShearY .5 8 TranslateY .7 9; AutoContrast .5 - Equalize .9 -; ShearY .2 7 Posterize .3 7;
        Color .4 3 Brightness .6 7; Sharpness .3 9 Brightness .7 9; Equalize .6 - Equalize .5 -;
        Contrast .6 7 Sharpness .6 5; Color .7 7 TranslateX .5 8; Equalize .3 - AutoContrast .4 -;
        TranslateY .4 3 Sharpness .2 6; Brightness .9 6 Color .2 8; Solarize .5 2 Invert 0 -;
        Equalize .2 - AutoContrast .6 -; Equalize .2 - Equalize .6 -; Color .9 9 Equalize .6 -;
        AutoContrast .8 - Solarize .2 8; Brightness .1 3 Color .7 0; Solarize .4 5 AutoContrast .9 -;
        TranslateY .9 9 TranslateY .7 9; AutoContrast .9 - Solarize .8 3; Equalize .8 - Invert .1 -;
        TranslateY .7 9 AutoContrast .9 -""",
    AutoAugmentPolicy.SVHN: """
        ShearX .9 4 Invert .2 -; ShearY .9 8 Invert .7 -; Equalize .6 - Solarize .6 6;
        Invert .9 - Equalize .6 -; Equalize .6 - Rotate .9 3; ShearX .9 4 AutoContrast .8 -;
        ShearY .9 8 Invert .4 -; ShearY .9 5 Solarize .2 6; Invert .9 - AutoContrast .8 -;
        Equalize .6 - Rotate .9 3; ShearX .9 4 Solarize .3 3; ShearY .8 8 Invert .7 -;
        Equalize .9 - TranslateY .6 6; Invert .9 - Equalize .6 -; Contrast .3 3 Rotate .8 4;
        Invert .8 - TranslateY 0 2; ShearY .7 6 Solarize .4 8; Invert .6 - Rotate .8 4;
        ShearY .3 7 TranslateX .9 3; ShearX .1 6 Invert .6 -; Solarize .7 2 TranslateY .6 7;
        ShearY .8 4 Invert .8 -; ShearX .7 9 TranslateY .8 3; ShearY .8 5 AutoContrast .7 -;
        ShearX .7 2 Invert .1 -""",
}
_Step = tuple[str, float, "int | None"]
_SIGNED = set(
    "ShearX ShearY TranslateX TranslateY Rotate Brightness Color Contrast Sharpness".split()
)


def _parse(text: str) -> list[list[_Step]]:
    policies = []
    for line in text.split(";"):
        words = line.split()
        steps = zip(words[::3], words[1::3], words[2::3])
        policies.append([(n, float(p), None if m == "-" else int(m)) for n, p, m in steps])
    return policies


def _apply(img: Any, name: str, x: float, interpolation: Any, fill: Any) -> Any:
    """Return an image after one change of strength ``x``."""

    def slant(shear: list[float]) -> Any:
        return F.affine(img, 0.0, [0, 0], 1.0, shear, interpolation, fill, [0, 0])

    def move(by: list[int]) -> Any:
        return F.affine(img, 0.0, by, 1.0, [0.0, 0.0], interpolation, fill)

    changes: dict[str, Callable[[], Any]] = {
        "Identity": lambda: img,
        "ShearX": lambda: slant([math.degrees(math.atan(x)), 0.0]),
        "ShearY": lambda: slant([0.0, math.degrees(math.atan(x))]),
        "TranslateX": lambda: move([int(x), 0]),
        "TranslateY": lambda: move([0, int(x)]),
        "Rotate": lambda: F.rotate(img, x, interpolation, fill=fill),
        "Brightness": lambda: F.adjust_brightness(img, 1.0 + x),
        "Color": lambda: F.adjust_saturation(img, 1.0 + x),
        "Contrast": lambda: F.adjust_contrast(img, 1.0 + x),
        "Sharpness": lambda: F.adjust_sharpness(img, 1.0 + x),
        "Posterize": lambda: F.posterize(img, int(x)),
        "Solarize": lambda: F.solarize(img, x),
        "AutoContrast": lambda: F.autocontrast(img),
        "Equalize": lambda: F.equalize(img),
        "Invert": lambda: F.invert(img),
    }
    return changes[name]()


def _line(low: float, high: float, bins: int) -> list[float]:
    return [low + (high - low) * i / max(bins - 1, 1) for i in range(bins)]


def _bits(most: int, lost: int, bins: int) -> list[float]:
    """Return numbers of bits to keep, from ``most`` down to ``most - lost``."""
    return [most - round(i * lost / max(bins - 1, 1)) for i in range(bins)]


def _strengths(
    bins: int, slant: float, moves: Sequence[float], angle: float, color: float, bits: list[float]
) -> dict[str, list[float]]:
    """Return the strengths of each change, by bins."""
    space = {"Identity": [0.0] * bins}
    space |= {name: _line(0.0, slant, bins) for name in ("ShearX", "ShearY")}
    space |= {name: _line(0.0, m, bins) for name, m in zip(("TranslateX", "TranslateY"), moves)}
    space["Rotate"] = _line(0.0, angle, bins)
    for name in ("Brightness", "Color", "Contrast", "Sharpness"):
        space[name] = _line(0.0, color, bins)
    space |= {"Posterize": bits, "Solarize": _line(255.0, 0.0, bins)}
    return space | {name: [0.0] * bins for name in ("AutoContrast", "Equalize")}


class _Recipe(Transform):
    """What the recipes share: how to interpolate and to fill, a change of random sign."""

    def __init__(self, interpolation: Any, fill: Any) -> None:
        super().__init__()
        self.interpolation, self.fill = as_mode(interpolation), fill

    def _changed(self, img: Any, name: str, strength: float, sign: int | None = None) -> Any:
        sign = whole(0, 2) if sign is None else sign
        if name in _SIGNED and sign == 0:
            strength = -strength
        fill = self.fill
        if isinstance(fill, (int, float)):
            fill = [float(fill)] * get_dimensions(img)[0]
        return _apply(img, name, strength, self.interpolation, fill)


class AutoAugment(_Recipe):
    """Two changes, by a random one of 25 rules that were found by search on some data.

    Args:
        policy: the data: ``AutoAugmentPolicy.IMAGENET``, ``CIFAR10`` or ``SVHN``.
        interpolation: how values between pixels are found.
        fill: the pixels outside of the image.

    >>> weft.vision.transforms.AutoAugment()
    AutoAugment(policy=AutoAugmentPolicy.IMAGENET, fill=None)
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation, fill)
        if policy not in _POLICIES:
            raise ValueError(f"The provided policy {policy!r} is not recognized.")
        self.policy, self.policies = policy, _parse(_POLICIES[policy])

    @staticmethod
    def get_params(transform_num: int) -> tuple[int, list[float], list[int]]:
        """Return the number of a rule, and for its two changes a random number and a sign.

        >>> weft.vision.transforms.AutoAugment.get_params(1)[0]
        0
        """
        return whole(0, transform_num), [chance(), chance()], [whole(0, 2), whole(0, 2)]

    def forward(self, img: Any) -> Any:
        """Return the changed image."""
        rule, chances, signs = self.get_params(len(self.policies))
        _, h, w = get_dimensions(img)
        moves = (150.0 / 331.0 * w, 150.0 / 331.0 * h)
        space = _strengths(10, 0.3, moves, 30.0, 0.9, _bits(8, 4, 10)) | {"Invert": [0.0] * 10}
        for (name, p, strength), drawn, sign in zip(self.policies[rule], chances, signs):
            if drawn <= p:
                img = self._changed(img, name, space[name][strength or 0], sign)
        return img

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"policy={self.policy}, fill={self.fill}"


class RandAugment(_Recipe):
    """Several random changes of one strength.

    Args:
        num_ops: how many.
        magnitude: the strength, from 0 to ``num_magnitude_bins - 1``.
        num_magnitude_bins: how many strengths there are.
        interpolation: how values between pixels are found.
        fill: the pixels outside of the image.

    >>> weft.vision.transforms.RandAugment(num_ops=1)
    RandAugment(num_ops=1, magnitude=9, num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None)
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation, fill)
        if not 0 <= magnitude < num_magnitude_bins:
            raise ValueError(
                f"RandAugment: magnitude should be from 0 to {num_magnitude_bins - 1}, got {magnitude}"
            )
        self.num_ops, self.magnitude = num_ops, magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def forward(self, img: Any) -> Any:
        """Return the changed image."""
        _, h, w = get_dimensions(img)
        bins = self.num_magnitude_bins
        moves = (150.0 / 331.0 * w, 150.0 / 331.0 * h)
        space = _strengths(bins, 0.3, moves, 30.0, 0.9, _bits(8, 4, bins))
        names = list(space)
        for _ in range(self.num_ops):
            name = names[whole(0, len(names))]
            img = self._changed(img, name, space[name][self.magnitude])
        return img

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"num_ops={self.num_ops}, magnitude={self.magnitude}, "
            f"num_magnitude_bins={self.num_magnitude_bins}, interpolation={self.interpolation}, "
            f"fill={self.fill}"
        )


class TrivialAugmentWide(_Recipe):
    """One random change of random strength.

    Args:
        num_magnitude_bins: how many strengths there are.
        interpolation: how values between pixels are found.
        fill: the pixels outside of the image.

    >>> weft.vision.transforms.TrivialAugmentWide()
    TrivialAugmentWide(num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None)
    """

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.num_magnitude_bins = num_magnitude_bins

    def forward(self, img: Any) -> Any:
        """Return the changed image."""
        bins = self.num_magnitude_bins
        space = _strengths(bins, 0.99, (32.0, 32.0), 135.0, 0.99, _bits(8, 6, bins))
        names = list(space)
        name = names[whole(0, len(names))]
        return self._changed(img, name, space[name][whole(0, bins)])

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"num_magnitude_bins={self.num_magnitude_bins}, interpolation={self.interpolation}, "
            f"fill={self.fill}"
        )


class AugMix(_Recipe):
    """A random mixture of an image and of chains of random changes of it.

    Args:
        severity: the strongest change, from 1 to 10.
        mixture_width: how many chains.
        chain_depth: how many changes make a chain; -1 for a random number from 1 to 3.
        alpha: how even the shares are.
        all_ops: also change brightness, contrast, colour and sharpness.
        interpolation: how values between pixels are found.
        fill: the pixels outside of the image.

    >>> image = weft.full((3, 4, 4), 100, dtype=weft.uint8)
    >>> weft.vision.transforms.AugMix()(image).shape
    torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation, fill)
        if not 1 <= severity <= 10:
            raise ValueError(f"The severity must be between [1, 10]. Got {severity} instead.")
        self.severity, self.mixture_width, self.chain_depth = severity, mixture_width, chain_depth
        self.alpha, self.all_ops = alpha, all_ops

    def forward(self, orig_img: Any) -> Any:
        """Return the mixture."""
        return as_tensor_and_back("AugMix", orig_img, self._mixed)

    def _mixed(self, img: Tensor) -> Tensor:
        import numpy as np

        draws = np.random.default_rng(whole(0, 2**62))  # weft's generator governs it
        kept = float(draws.beta(self.alpha, self.alpha))
        shares = draws.dirichlet([self.alpha] * self.mixture_width) * (1 - kept)
        _, h, w = get_dimensions(img)
        space = _strengths(10, 0.3, (w / 3.0, h / 3.0), 30.0, 0.9, _bits(4, 4, 10))
        extra = ("Brightness", "Color", "Contrast", "Sharpness")
        names = [n for n in space if n != "Identity" and (self.all_ops or n not in extra)]
        mixed = kept * img.to(weft.float32)
        for share in shares:
            one = img
            depth = self.chain_depth if self.chain_depth > 0 else whole(1, 4)
            for _ in range(depth):
                name = names[whole(0, len(names))]
                one = self._changed(one, name, space[name][whole(0, self.severity)])
            mixed = mixed + float(share) * one.to(weft.float32)
        return mixed.to(img.dtype)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"severity={self.severity}, mixture_width={self.mixture_width}, "
            f"chain_depth={self.chain_depth}, alpha={self.alpha}, all_ops={self.all_ops}, "
            f"interpolation={self.interpolation}, fill={self.fill}"
        )
