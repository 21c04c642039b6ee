"""Dropout: zeros at random places, so that no unit can rely on another."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def _probability(name: str, p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")


_drop = _C._op_function("dropout")


def _dropped(input: Tensor, mask: Tensor, p: float, inplace: bool) -> Tensor:
    """Multiply by zeros with probability p, and by 1 / (1 - p) elsewhere; mask is overwritten."""
    mask.bernoulli_(1 - p)
    if p < 1:
        mask.div_(1 - p)
    return input.mul_(mask) if inplace else input * mask


@random
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Make elements zero with probability p, and the others larger by 1 / (1 - p).

    >>> weft.nn.functional.dropout(weft.ones(3), 1.0)
    tensor([0., 0., 0.])
    """
    _probability("dropout", p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if not input.is_floating_point():
        return plain_dropout(input, p, inplace)
    return (_C._call_op("dropout", (input, p), True) if inplace else _drop(input, p))[0]


def plain_dropout(input: Tensor, p: float, inplace: bool) -> Tensor:
    """Return the input times a mask that is drawn."""
    return _dropped(input, weft.empty_like(input), p, inplace)


def _feature_dropout(
    input: Tensor, n: int, p: float, training: bool, inplace: bool, unbatched: bool
) -> Tensor:
    if not training or p == 0 or input.numel() == 0:
        return input
    lead = 1 if unbatched and input.ndim == n + 1 else 2
    shape = (*input.shape[:lead], *[1] * (input.ndim - lead))
    return _dropped(input, input.new_empty(shape), p, inplace)


@random
def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Make whole channels of sequences zero with probability p.

    >>> weft.nn.functional.dropout1d(weft.ones(1, 1, 2), 1.0)
    tensor([[[0., 0.]]])
    """
    _probability("dropout1d", p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input."
        )
    return _feature_dropout(input, 1, p, training, inplace, True)


@random
def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Make whole channels of images zero with probability p.

    >>> weft.nn.functional.dropout2d(weft.ones(1, 1, 1, 2), 1.0)
    tensor([[[[0., 0.]]]])
    """
    _probability("dropout2d", p)
    if input.ndim == 3:
        _warn("dropout2d", input)
    return _feature_dropout(input, 2, p, training, inplace, False)


@random
def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Make whole channels of volumes zero with probability p.

    >>> weft.nn.functional.dropout3d(weft.ones(1, 1, 1, 1, 2), 1.0)
    tensor([[[[[0., 0.]]]]])
    """
    _probability("dropout3d", p)
    if input.ndim not in (4, 5):
        _warn("dropout3d", input)
    return _feature_dropout(input, 3, p, training, inplace, True)


def _warn(name: str, input: Tensor) -> None:
    import warnings

    warnings.warn(
        f"{name}: Received a {input.ndim}-D input, which is ambiguous: the second dimension is "
        "taken as the channels",
        stacklevel=4,
    )


def _alpha_dropped(
    name: str, input: Tensor, shape: Sequence[int], p: float, training: bool, inplace: bool
) -> Tensor:
    """Put the lowest value of selu instead of zero, then restore mean 0 and variance 1."""
    _probability(name, p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input.mul_(0) if inplace else input * 0
    low = -1.7580993408473766  # -alpha * scale of selu
    kept = input.new_empty(shape).bernoulli_(1 - p)
    a = ((1 - p) * (1 + p * low * low)) ** -0.5
    shift = (1 - kept) * (a * low) - a * p * low
    if inplace:
        return input.mul_(kept * a).add_(shift)
    return input * (kept * a) + shift


@random
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Drop elements so that mean 0 and variance 1 are kept, as selu does.

    >>> weft.nn.functional.alpha_dropout(weft.ones(2), 1.0, training=True)
    tensor([0., 0.])
    """
    return _alpha_dropped("alpha_dropout", input, input.shape, p, training, inplace)


@random
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Drop whole channels so that mean 0 and variance 1 are kept.

    >>> weft.nn.functional.feature_alpha_dropout(weft.ones(1, 2), 1.0, training=True)
    tensor([[0., 0.]])
    """
    if training and input.ndim < 2:
        raise RuntimeError(
            "feature_alpha_dropout: Feature dropout requires at least 2 dimensions in the input"
        )
    shape = (*input.shape[:2], *[1] * (input.ndim - 2))
    return _alpha_dropped("feature_alpha_dropout", input, shape, p, training, inplace)
