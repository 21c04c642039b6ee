"""Losses between scores and classes."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.activation import logsigmoid
from weft.nn.functional.common import functional, hot, legacy_reduction, reduced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduction_code(reduction: str) -> int:
    """Return the number by which native losses know a reduction."""
    code = _REDUCTIONS.get(reduction)
    if code is None:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return code


def _check_classes(name: str, input: Tensor, target: Tensor, weight: Tensor | None) -> int:
    """Return the dimension of the classes, after checks."""
    if input.ndim == 0:
        raise RuntimeError(f"{name}: Expected 1 or more dimensions (got 0)")
    if input.ndim != 1 and (target.ndim == 0 or input.shape[0] != target.shape[0]):
        given = target.shape[0] if target.ndim else 0
        raise ValueError(
            f"{name}: Expected input batch_size ({input.shape[0]}) to match target batch_size "
            f"({given})."
        )
    d = 0 if input.ndim == 1 else 1
    expected = (*input.shape[:d], *input.shape[d + 1 :])
    if tuple(target.shape) != expected and not (d == 0 and target.numel() == 1):
        raise RuntimeError(
            f"{name}: Expected target size {list(expected)}, got {list(target.shape)}"
        )
    if target.dtype not in (weft.int64, weft.uint8):
        raise RuntimeError(f"{name}: expected scalar type Long for target but found {target.dtype}")
    if weight is not None and (weight.ndim != 1 or weight.shape[0] != input.shape[d]):
        raise RuntimeError(
            f"{name}: weight tensor should be defined either for all {input.shape[d]} classes or no "
            f"classes but got weight tensor of shape: {list(weight.shape)}"
        )
    return d


def plain_nll(
    logs: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, d: int
) -> tuple[Tensor, Tensor]:
    """Return the loss of every target, and what each of them counts in a mean."""
    target = target.to(weft.int64)
    kept = target != ignore_index
    safe = weft.where(kept, target, 0)
    loss = -logs.gather(d, safe.unsqueeze(d)).squeeze(d)
    if weight is None:
        return weft.where(kept, loss, 0.0), kept
    share = weight.index_select(0, safe.reshape(-1)).reshape(safe.shape)
    share = weft.where(kept, share, 0.0)
    return weft.where(kept, loss * share, 0.0), share


@hot
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return minus the logarithm of the probability of each target: input holds logarithms.

    >>> weft.nn.functional.nll_loss(weft.tensor([[-0.5, -1.0]]), weft.tensor([1]))
    tensor(1.)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    return _nll_classes(input, target, weight, ignore_index, reduction_code(reduction))


_nll_classes = _C._op_function("nll_classes")


@functional
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the loss of scores: target holds classes, or the probabilities of all classes.

    >>> weft.nn.functional.cross_entropy(weft.zeros(1, 2), weft.tensor([1]))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    if weight is None and label_smoothing == 0 and input.ndim == 2 and target.ndim == 1:
        if target.dtype == weft.int64 and reduction in _REDUCTIONS and input.is_floating_point():
            if input.shape[0] == target.shape[0]:
                return _rows(input, target, ignore_index, _REDUCTIONS[reduction])[0]
    return plain_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


_rows = _C._op_function("cross_entropy_rows")


def plain_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Tensor:
    """Return the loss as log_softmax and what follows it: any shapes, weights, probabilities."""
    reduction = legacy_reduction(None, None, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(
            f"cross_entropy: label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}"
        )
    d = 0 if input.ndim == 1 else 1
    if input.shape == target.shape and input.ndim:
        return _soft(input, target, weight, ignore_index, reduction, label_smoothing, d)
    d = _check_classes("cross_entropy", input, target, weight)
    logs = weft.log_softmax(input, d)
    if label_smoothing == 0:
        return _nll_classes(logs, target, weight, ignore_index, reduction_code(reduction))
    loss, share = plain_nll(logs, target.reshape(()) if d == 0 else target, weight, ignore_index, d)
    even = -(logs if weight is None else logs * _classes(weight, input.ndim, d)).sum(d)
    even = weft.where(target.reshape(even.shape) == ignore_index, 0.0, even)
    mixed = loss * (1 - label_smoothing) + even * (label_smoothing / input.shape[d])
    return mixed.sum() / share.sum() if reduction == "mean" else reduced(mixed, reduction)


def _classes(weight: Tensor, n: int, d: int) -> Tensor:
    """Return the weights of classes in the shape of an input with n dimensions."""
    return weight.reshape(-1, *[1] * (n - d - 1))


def _soft(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str,
    label_smoothing: float, d: int,
) -> Tensor:  # fmt: skip
    if not target.is_floating_point():
        raise RuntimeError(
            "cross_entropy: Expected floating point type for target with class probabilities, got "
            f"{target.dtype}"
        )
    if ignore_index >= 0:
        raise RuntimeError("cross_entropy: ignore_index is not supported for floating point target")
    classes = input.shape[d]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no "
            f"classes but got weight tensor of shape: {list(weight.shape)}"
        )
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    logs = weft.log_softmax(input, d)
    if weight is not None:
        logs = logs * _classes(weight, input.ndim, d)
    loss = -(logs * target).sum(d)
    if reduction == "mean":
        return loss.sum() / max(input.numel() // classes, 1) if input.numel() else loss.sum() / 0
    return reduced(loss, reduction)


@functional
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """Return the cross entropy of a linear function of input.

    options say how the work may be cut in pieces; the result does not depend on them.

    >>> F = weft.nn.functional
    >>> F.linear_cross_entropy(weft.ones(1, 2), weft.ones(2, 2), weft.tensor([1]))
    tensor(0.6931)
    """
    shape = linear_weight.shape
    if linear_weight.ndim > 2 and input.ndim != 2:
        raise RuntimeError(
            "linear_cross_entropy: a weight of more than two dimensions needs a batched input, got "
            f"{list(input.shape)}"
        )
    scores = weft.matmul(input, linear_weight.reshape(-1, shape[-1]).t())
    if linear_bias is not None:
        scores = scores + linear_bias.reshape(-1)
    if linear_weight.ndim > 2:
        scores = scores.reshape(input.shape[0], *shape[:-1])
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError(
            "linear_cross_entropy: ignore_index is not supported for floating point target"
        )
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(scores, target, weight, None, ignored, None, reduction, label_smoothing)


# ---- many classes at once ------------------------------------------------------------------------


@hot
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean of max(0, margin - x[y] + x[i])^p over the classes i other than y.

    >>> weft.nn.functional.multi_margin_loss(weft.tensor([[0.5, 1.0]]), weft.tensor([1]))
    tensor(0.2500)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    if p != 1 and p != 2:
        raise ValueError("multi_margin_loss: only p == 1 and p == 2 supported")
    return _multi_margin(input, target, weight, int(p), margin, reduction_code(reduction))


_multi_margin = _C._op_function("multi_margin_rows")


@hot
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the sum of max(0, 1 - x[y] + x[i]) over targets y and other classes i, per class.

    The targets of an example end at the first -1.

    >>> F, y = weft.nn.functional, weft.tensor([[1, -1]])
    >>> F.multilabel_margin_loss(weft.tensor([[0.5, 1.0]]), y)
    tensor(0.2500)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    return _multilabel_margin(input, target, reduction_code(reduction))


_multilabel_margin = _C._op_function("multilabel_margin_rows")


@functional
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean over classes of the binary cross entropy with logits.

    >>> weft.nn.functional.multilabel_soft_margin_loss(weft.zeros(1, 2), weft.ones(1, 2))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.sum(input.ndim - 1) / input.shape[-1], reduction)


# ---- sequences without alignment -----------------------------------------------------------------


def _lengths(name: str, given: Any) -> Tensor:
    t = given if isinstance(given, Tensor) else weft.tensor(list(given))
    if t.is_floating_point() and t.numel():
        raise RuntimeError(f"ctc_loss: {name} must be of integral type")
    return t if t.dtype == weft.int64 else t.to(weft.int64)


@functional
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return minus the log probability of labels, summed over all ways to align them in time.

    log_probs has (time, batch, classes); between labels, the blank may be emitted. The derivative
    is that of the scores below a log_softmax, as PyTorch's.

    >>> x = weft.zeros(2, 1, 2).log_softmax(2)
    >>> F, one = weft.nn.functional, weft.tensor([1])
    >>> F.ctc_loss(x, weft.tensor([[1]]), weft.tensor([2]), one).exp()
    tensor(1.3333)
    """
    logs = log_probs.unsqueeze(1) if log_probs.ndim == 2 else log_probs
    frames = _lengths("input_lengths", input_lengths)
    counts = _lengths("target_lengths", target_lengths)
    code = reduction_code(reduction)
    loss = _ctc_rows(logs, targets, frames, counts, blank, code, zero_infinity)[0]
    return loss.squeeze(0) if code == 0 and log_probs.ndim == 2 else loss


_ctc_rows = _C._op_function("ctc_rows")
