"""Losses between scores and classes."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.activation import logsigmoid
from weft.nn.functional.common import functional, legacy_reduction, reduced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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


@functional
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
    reduction = legacy_reduction(size_average, reduce, reduction)
    d = _check_classes("nll_loss", input, target, weight)
    return _nll(input, target, weight, ignore_index, reduction, d)


def _nll(
    logs: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, d: int
) -> Tensor:
    loss, share = plain_nll(logs, target.reshape(()) if d == 0 else target, weight, ignore_index, d)
    if reduction == "mean":
        return loss.sum() / share.sum()
    if d == 0 and reduction == "none":
        return loss.reshape(target.shape)
    return reduced(loss, reduction)


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
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


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
        return _nll(logs, target, weight, ignore_index, reduction, d)
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


@functional
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
    reduction = legacy_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("multi_margin_loss: only p == 1 and p == 2 supported")
    if input.ndim > 2 or (input.ndim and input.shape[-1] == 0):
        raise RuntimeError(
            "multi_margin_loss: Expected non-empty vector or matrix with optional 0-dim batch size, "
            f"but got: {list(input.shape)}"
        )
    x = input.reshape(-1, input.shape[-1]) if input.ndim else input.reshape(1, 1)
    if target.ndim > 1 or target.numel() != x.shape[0]:
        raise RuntimeError(
            f"multi_margin_loss: inconsistent target size, expected {x.shape[0]} but got "
            f"{list(target.shape)}"
        )
    if weight is not None and (weight.ndim != 1 or weight.shape[0] != x.shape[1]):
        raise RuntimeError(
            f"multi_margin_loss: inconsistent weight size, expected {x.shape[1]} but got "
            f"{list(weight.shape)}"
        )
    index = target.reshape(-1, 1)
    z = margin - x.gather(1, index) + x
    z = weft.where(z > 0, z, 0.0)
    z = z if p == 1 else z * z
    if weight is not None:
        z = z * weight.index_select(0, index.reshape(-1)).unsqueeze(1)
    others = weft.arange(x.shape[1]) != index
    loss = weft.where(others, z, 0.0).sum(1) / x.shape[1]
    return reduced(loss.reshape(input.shape[:-1]), reduction)


@functional
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
    reduction = legacy_reduction(size_average, reduce, reduction)
    if input.ndim > 2 or (input.ndim and input.shape[-1] == 0) or target.shape != input.shape:
        raise RuntimeError(
            "multilabel_margin_loss: Expected non-empty vectors or matrices of equal size, but got "
            f"{list(input.shape)} and {list(target.shape)}"
        )
    x = input.reshape(-1, input.shape[-1] if input.ndim else 1)
    y = target.reshape(x.shape)
    listed = (y >= 0).to(weft.int64).cumprod(1) > 0
    safe = weft.where(listed, y, 0)
    is_target = weft.zeros_like(y).scatter_reduce(1, safe, listed.to(weft.int64), "amax") > 0
    margins = (1 - x.gather(1, safe)).unsqueeze(2) + x.unsqueeze(1)
    counts = listed.unsqueeze(2) & ~is_target.unsqueeze(1) & (margins > 0)
    loss = weft.where(counts, margins, 0.0).sum((1, 2)) / x.shape[1]
    return reduced(loss.reshape(input.shape[:-1]), reduction)


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


def _log_sum(parts: list[Tensor]) -> Tensor:
    """Return log(sum(exp)) of tensors; minus infinity has derivative zero."""
    x = weft.stack(parts)
    top = x.detach().amax(0)
    top = weft.where(top == -float("inf"), 0.0, top)
    total = weft.exp(x - top).sum(0)
    none = total == 0
    return weft.where(none, -float("inf"), weft.log(weft.where(none, 1.0, total)) + top)


def _lengths(name: str, given: Any, batch: int) -> Tensor:
    t = given if isinstance(given, Tensor) else weft.tensor(list(given))
    if t.is_floating_point():
        raise RuntimeError(f"{name} must be of integral type")
    t = t.reshape(-1).to(weft.int64)
    if t.numel() != batch:
        raise RuntimeError(f"ctc_loss: {name} must be of size batch_size {batch}, got {t.numel()}")
    return t


def _label_rows(targets: Tensor, lengths: Tensor, batch: int) -> Tensor:
    """Return the targets as one row for each example."""
    longest = int(lengths.max()) if batch else 0
    if targets.ndim == 2:
        if targets.shape[0] != batch or targets.shape[1] < longest:
            raise RuntimeError(
                f"ctc_loss: Expected tensor to have size at least {longest} at dimension 1, but got "
                f"size {list(targets.shape)} for targets"
            )
        return targets[:, :longest].to(weft.int64)
    if int(lengths.sum()) != targets.numel():
        raise RuntimeError(
            f"ctc_loss: Expected tensor to have size {int(lengths.sum())} at dimension 0, but got "
            f"size {targets.numel()} for targets"
        )
    places = (lengths.cumsum(0) - lengths).unsqueeze(1) + weft.arange(longest)
    flat = targets.reshape(-1).to(weft.int64)
    return flat[places.clamp_max(max(flat.numel() - 1, 0))] if flat.numel() else places[:, :0]


def plain_ctc(logs: Tensor, labels: Tensor, frames: Tensor, counts: Tensor, blank: int) -> Tensor:
    """Return minus the log probability of all alignments: logs (T, N, C), labels (N, S)."""
    batch, places = labels.shape
    states = 2 * places + 1  # blank, label, blank, label, ..., blank
    odd = weft.arange(states) % 2 == 1
    padded = weft.cat([labels, labels.new_full((batch, 1), blank)], 1)
    symbol = weft.where(odd, padded.repeat_interleave(2, 1)[:, :states], blank)
    skips = weft.zeros_like(symbol, dtype=weft.bool)
    if states > 2:
        skips = weft.cat([skips[:, :2], odd[2:] & (symbol[:, 2:] != symbol[:, :-2])], 1)
    never = -float("inf")
    empty = logs.new_full((batch, 2), never)
    emitted = logs.gather(2, symbol.expand(logs.shape[0], -1, -1))
    first = weft.arange(states) < 2
    alpha = weft.where(
        first & (weft.arange(states) < 2 * counts.unsqueeze(1) + 1), emitted[0], never
    )
    for t in range(1, logs.shape[0]):
        shifted = weft.cat([empty, alpha], 1)
        over = weft.where(skips, shifted[:, :states], never)
        new = _log_sum([alpha, shifted[:, 1 : states + 1], over]) + emitted[t]
        alpha = weft.where((t < frames).unsqueeze(1), new, alpha)
    last = 2 * counts.unsqueeze(1)
    ends = [alpha.gather(1, last).squeeze(1)]
    before = alpha.gather(1, (last - 1).clamp_min(0)).squeeze(1)
    ends.append(weft.where(counts > 0, before, never))
    return -_log_sum(ends)


def _as_of_scores(logs: Tensor, frames: Tensor) -> Tensor:
    """Return zeros with the derivative exp(logs): PyTorch's is that of the scores below them.

    Behind a log_softmax it makes no difference.
    """
    inside = (weft.arange(logs.shape[0]).unsqueeze(1) < frames).unsqueeze(-1)
    total = weft.where(inside, weft.exp(logs), 0.0).sum((0, 2))
    return total - total.detach()


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

    log_probs has (time, batch, classes); between labels, the blank may be emitted.

    >>> x = weft.zeros(2, 1, 2).log_softmax(2)
    >>> F, one = weft.nn.functional, weft.tensor([1])
    >>> F.ctc_loss(x, weft.tensor([[1]]), weft.tensor([2]), one).exp()
    tensor(1.3333)
    """
    logs = log_probs if log_probs.ndim == 3 else log_probs.unsqueeze(1)
    batch = logs.shape[1]
    if logs.ndim != 3 or not 0 <= blank < logs.shape[2]:
        raise RuntimeError("ctc_loss: blank must be in label range")
    frames = _lengths("input_lengths", input_lengths, batch)
    counts = _lengths("target_lengths", target_lengths, batch)
    if batch and int(frames.max()) > logs.shape[0]:
        raise RuntimeError(
            f"ctc_loss: Expected input_lengths to have value at most {logs.shape[0]}, but got value "
            f"{int(frames.max())}"
        )
    if batch and (int(counts.min()) < 0 or int(frames.min()) < 0):
        raise RuntimeError("ctc_loss: Expected lengths to have value at least 0")
    loss = plain_ctc(logs, _label_rows(targets, counts, batch), frames, counts, blank)
    loss = loss + _as_of_scores(logs, frames)
    if zero_infinity:
        loss = weft.where(loss == float("inf"), 0.0, loss)
    if reduction == "mean":
        return (loss / counts.clamp_min(1)).mean()
    loss = loss if log_probs.ndim == 3 else loss.squeeze(0)
    return reduced(loss, reduction)
