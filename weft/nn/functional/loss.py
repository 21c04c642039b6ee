"""Losses between numbers."""

from __future__ import annotations

import math

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.activation import logsigmoid
from weft.nn.functional.common import functional, legacy_reduction, like, reduced, wide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_squared_error, _smooth_l1 = _C._op_function("squared_error"), _C._op_function("smooth_l1")
_huber, _log_loss = _C._op_function("huber"), _C._op_function("log_loss")
_logistic_loss = _C._op_function("logistic_loss")


def _warn_of_sizes(name: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        import warnings

        warnings.warn(
            f"{name}: Using a target size ({list(target.shape)}) that is different to the input "
            f"size ({list(input.shape)}). This will likely lead to incorrect results due to "
            f"broadcasting. Please ensure they have the same size.\n  at {weft._C._here()}",
            stacklevel=4,
        )


def _weighted(loss: Tensor, weight: Tensor | None, reduction: str, by_weight: bool) -> Tensor:
    """Reduce losses that may have weights; their mean may be one of weights."""
    if weight is None:
        return reduced(loss, reduction)
    if weight.shape != loss.shape:
        raise ValueError("Weights and input must have the same size.")
    if reduction == "mean" and by_weight:
        return (loss * weight).sum() / weight.sum()
    return reduced(loss * weight, reduction)


def _check(reduction: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


@functional
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the mean of |x - y|.

    >>> weft.nn.functional.l1_loss(weft.tensor([1.0, 2.0]), weft.tensor([2.0, 5.0]))
    tensor(2.)
    """
    _warn_of_sizes("l1_loss", input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    return _weighted(weft.abs(input - target), weight, reduction, True)


@functional
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the mean of (x - y)^2.

    >>> weft.nn.functional.mse_loss(weft.tensor([1.0, 2.0]), weft.tensor([2.0, 5.0]))
    tensor(5.)
    """
    _warn_of_sizes("mse_loss", input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    return _weighted(_squared_error(input, target), weight, reduction, True)


@functional
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return |x - y| - beta / 2, and half the square over beta where that is less than beta.

    >>> weft.nn.functional.smooth_l1_loss(weft.tensor([1.0, 3.0]), weft.tensor([1.0, 1.0]))
    tensor(0.7500)
    """
    _warn_of_sizes("smooth_l1_loss", input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced(weft.abs(input - target), reduction)
    return reduced(_smooth_l1(input, target, beta), reduction)


@functional
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Return half the square of x - y, but a straight line beyond delta.

    >>> weft.nn.functional.huber_loss(weft.tensor([1.0, 3.0]), weft.tensor([1.0, 1.0]))
    tensor(0.7500)
    """
    _warn_of_sizes("huber_loss", input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return _weighted(_huber(input, target, delta), weight, reduction, False)


@functional
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return -(y log x + (1 - y) log(1 - x)); logarithms are at least -100.

    >>> weft.nn.functional.binary_cross_entropy(weft.tensor([0.5]), weft.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if input.shape != target.shape:
        raise ValueError(
            f"binary_cross_entropy: Using a target size ({list(target.shape)}) that is different to "
            f"the input size ({list(input.shape)}) is deprecated. Please ensure they have the same "
            "size."
        )
    x = wide(input)
    if bool(((x < 0) | (x > 1)).any()):
        raise RuntimeError("binary_cross_entropy: all elements of input should be between 0 and 1")
    loss = _log_loss(x, wide(target))
    if weight is not None:
        loss = loss * weight
    return like(reduced(loss, reduction), input)


@functional
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the binary cross entropy of the sigmoid of x, computed without its underflow.

    >>> weft.nn.functional.binary_cross_entropy_with_logits(weft.zeros(1), weft.ones(1))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if input.shape != target.shape:
        raise ValueError(
            f"binary_cross_entropy_with_logits: Target size ({list(target.shape)}) must be the same "
            f"as input size ({list(input.shape)})"
        )
    if pos_weight is None:
        loss = _logistic_loss(input, target)
    else:
        share = 1 + (pos_weight - 1) * target
        loss = (1 - target) * input - share * logsigmoid(input)
    if weight is not None:
        loss = loss * weight
    return reduced(loss, reduction)


@functional
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return y (log y - x): how far the distribution y is from the one with logarithms x.

    >>> weft.nn.functional.kl_div(weft.zeros(2), weft.ones(2), reduction="batchmean")
    tensor(0.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if log_target:
        loss = weft.exp(target) * (target - input)
    else:
        loss = weft.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss.sum()
    return reduced(loss, reduction)


@functional
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return exp(x) - y x (or x - y log x): how unlikely counts y are at the rate exp(x).

    >>> weft.nn.functional.poisson_nll_loss(weft.zeros(1), weft.ones(1))
    tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    _check(reduction)
    if log_input:
        loss = weft.exp(input) - target * input
    else:
        loss = input - target * weft.log(input + eps)
    if full:
        y = (
            weft.where(target > 1, target, 1.0)
            if target.is_floating_point()
            else target.clamp_min(1)
        )
        stirling = y * weft.log(y) - y + 0.5 * weft.log(2 * math.pi * y)
        loss = loss + weft.where(target > 1, stirling, 0.0)
    return reduced(loss, reduction)


@functional
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Return (log var + (x - y)^2 / var) / 2: how unlikely y is around x.

    >>> weft.nn.functional.gaussian_nll_loss(weft.zeros(1), weft.ones(1), weft.ones(1))
    tensor(0.5000)
    """
    v = _variance(input, var)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    v = v.clone()
    with weft.no_grad():  # the derivative does not see the bound
        v.clamp_(min=eps)
    loss = 0.5 * (weft.log(v) + weft.square(input - target) / v)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def _variance(input: Tensor, var: Any) -> Tensor:
    """Return the variance in a shape that fits; it must not be negative."""
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("gaussian_nll_loss: var has negative entry/entries")
        return weft.full_like(input, var)
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif not (
            input.ndim == var.ndim
            and sum(a != b for a, b in zip(input.shape, var.shape)) == 1
            and any(b == 1 and a != 1 for a, b in zip(input.shape, var.shape))
        ) and not (input.shape[:-1] == var.shape[:-1] and var.shape[-1] == 1):
            raise ValueError("gaussian_nll_loss: var is of incorrect size")
    if bool((var < 0).any()):
        raise ValueError("gaussian_nll_loss: var has negative entry/entries")
    return var


# ---- margins -------------------------------------------------------------------------------------


@functional
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return x where y is 1, and max(0, margin - x) where y is -1.

    >>> weft.nn.functional.hinge_embedding_loss(weft.tensor([2.0]), weft.tensor([1.0]))
    tensor(2.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    far = weft.where(target != 1, weft.relu(margin - input), 0.0)
    return reduced(far + weft.where(target != -1, input, 0.0), reduction)


@functional
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return max(0, -y (x1 - x2) + margin): y says which of the two should be larger.

    >>> weft.nn.functional.margin_ranking_loss(weft.ones(1), weft.zeros(1), -weft.ones(1))
    tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {list(input1.shape)}, input2: {list(input2.shape)}, target: "
            f"{list(target.shape)} "
        )
    return reduced(_at_least_zero(margin - target * (input1 - input2)), reduction)


def _at_least_zero(x: Tensor) -> Tensor:
    return x.clamp_min(0)


@functional
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return log(1 + exp(-y x)).

    >>> weft.nn.functional.soft_margin_loss(weft.zeros(1), weft.ones(1))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return reduced(weft.log1p(weft.exp(-target * input)), reduction)


@functional
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return 1 - cos(x1, x2) where y is 1, and max(0, cos(x1, x2) - margin) where y is -1.

    >>> a = weft.tensor([1.0, 0.0])
    >>> weft.nn.functional.cosine_embedding_loss(a, a, weft.tensor(-1))
    tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target.ndim not in (0, 1):
        raise RuntimeError(
            "cosine_embedding_loss: 0D or 1D target tensor expected, multi-target not supported"
        )
    ndim = target.ndim + 1
    if input1.ndim != ndim or input2.ndim != ndim:
        raise RuntimeError(
            f"cosine_embedding_loss: {target.ndim}D target tensor expects {ndim}D input tensors, "
            f"but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    eps, dots = 1e-12, weft.linalg.vecdot
    sizes = (dots(input1, input1) + eps) * (dots(input2, input2) + eps)
    alike = input1.shape == input2.shape
    cos = (dots(input1, input2) if alike else (input1 * input2).sum(-1)) / weft.sqrt(sizes)
    near = weft.where(target == 1, 1 - cos, 0.0)
    return reduced(near + weft.where(target == -1, (cos - margin).clamp_min(0), 0.0), reduction)


@functional
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return max(0, d(a, p) - d(a, n) + margin): the positive should be nearer than the negative.

    >>> a, b = weft.zeros(1, 2), weft.ones(1, 2)
    >>> weft.nn.functional.triplet_margin_loss(a, a, b, margin=0.0)
    tensor(0.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if margin <= 0 and margin != 0:
        raise ValueError(f"triplet_margin_loss: margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "triplet_margin_loss: The anchor, positive, and negative tensors are expected to have "
            f"the same number of dimensions, but got: anchor {anchor.ndim}D, positive "
            f"{positive.ndim}D, and negative {negative.ndim}D inputs"
        )

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return weft.norm(a - b + eps, p, -1)

    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = weft.minimum(far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)


@functional
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return max(0, d(a, p) - d(a, n) + margin) with a distance of your own.

    >>> a, b = weft.zeros(1, 2), weft.ones(1, 2)
    >>> weft.nn.functional.triplet_margin_with_distance_loss(a, b, b)
    tensor(1.0000)
    """
    _check(reduction)
    if margin <= 0:
        raise ValueError(
            f"triplet_margin_with_distance_loss: margin must be greater than 0, got {margin}"
        )
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "triplet_margin_with_distance_loss: The anchor, positive, and negative tensors are "
            "expected to have the same number of dimensions, but got: anchor "
            f"{anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    if distance_function is None:
        from weft.nn.functional.distance import pairwise_distance as distance_function
    near, far = distance_function(anchor, positive), distance_function(anchor, negative)
    if swap:
        far = weft.minimum(far, distance_function(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)
