"""Rows of a table, chosen by index."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import discrete, functional
from weft.ops.sparse import rows_with_sparse_gradient

_embedding, _embedding_bags = _C._op_function("embedding"), _C._op_function("embedding_bags")


def _renormed(weight: Tensor, used: Tensor, max_norm: float, norm_type: float) -> None:
    """Shorten, in place, the rows in use that are longer than max_norm."""
    with weft.no_grad():
        rows = weft.unique(used)
        chosen = weight.detach().index_select(0, rows)
        norms = weft.linalg_vector_norm(chosen, norm_type, 1, True)
        scale = weft.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
        weight.index_copy_(0, rows, chosen * scale.to(chosen.dtype))


def _check_index(name: str, input: Tensor) -> None:
    if input.dtype not in (weft.int64, weft.int32):
        raise RuntimeError(
            f"{name}: Expected tensor for argument 'indices' to have one of the following scalar "
            f"types: Long, Int; but got {input.dtype} instead"
        )


def _row(name: str, padding_idx: int | None, weight: Tensor) -> int | None:
    if padding_idx is None:
        return None
    if not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise RuntimeError(f"{name}: padding_idx must be within num_embeddings, got {padding_idx}")
    return padding_idx % weight.shape[0]


def _looked_up(
    weight: Tensor, index: Tensor, padding_idx: int | None, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    """Return rows; no gradient flows to the row of the padding."""
    if not sparse:
        padding = -1 if padding_idx is None else padding_idx
        return _embedding(index, weight, padding, scale_grad_by_freq)
    y = _looked_up_sparsely(weight, index, padding_idx)
    return _scaled_by_frequency(y, index, weight) if scale_grad_by_freq else y


def _scaled_by_frequency(rows: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    """Return the same rows; their gradients are divided by how often their index occurs."""
    times = weft.bincount(index, minlength=weight.shape[0]).index_select(0, index)
    still = rows.detach()
    return still + (rows - still) / times.to(rows.dtype).unsqueeze(-1)


def _looked_up_sparsely(weight: Tensor, index: Tensor, padding_idx: int | None) -> Tensor:
    """Return rows; the gradient of weight is sparse, without entries for the padding."""
    if padding_idx is None:
        return rows_with_sparse_gradient(weight, index)
    kept = (index != padding_idx).nonzero().reshape(-1)
    y = weight.detach().index_select(0, index)
    return y.index_copy(0, kept, rows_with_sparse_gradient(weight, index[kept]))


@functional
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the row of weight for each index of input; with sparse, its gradient is sparse.

    >>> weft.nn.functional.embedding(weft.tensor([1, 0]), weft.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if weight.ndim != 2:
        raise RuntimeError(f"embedding: 'weight' must be 2-D, got {list(weight.shape)}")
    _check_index("embedding", input)
    padding_idx = _row("embedding", padding_idx, weight)
    if max_norm is not None:
        _renormed(weight, input.reshape(-1), max_norm, norm_type)
    if not sparse:
        return _looked_up(weight, input, padding_idx, scale_grad_by_freq, False)
    y = _looked_up(weight, input.reshape(-1), padding_idx, scale_grad_by_freq, True)
    return y.reshape(*input.shape, weight.shape[1])


def _starts(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> Tensor:
    """Return the first place of each bag of a vector, after checks."""
    if input.ndim == 2:
        raise ValueError(
            "embedding_bag: if input is 2D, then offsets has to be None, as input is treated as a "
            "mini-batch of fixed length sequences"
        )
    if input.ndim != 1:
        raise ValueError(
            f"embedding_bag: input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    if offsets is None:
        raise ValueError("embedding_bag: offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("embedding_bag: offsets has to be a 1D Tensor")
    if offsets.numel() and int(offsets[0]) != 0:
        raise RuntimeError(
            "embedding_bag: offsets[0] has to be 0, i.e., the first sequence in the mini-batch has "
            f"to start from position 0. However, got {int(offsets[0])}"
        )
    if offsets.numel() and int(offsets[-1]) > input.numel():
        raise RuntimeError(
            "embedding_bag: offsets[-1] can not be greater than input's length "
            f"{input.numel()} but got {int(offsets[-1])}"
        )
    starts = offsets.to(weft.int64)
    if not include_last_offset:
        return starts
    if offsets.numel() < 1:
        raise RuntimeError(
            "embedding_bag: include_last_offset: number of offsets should be at least 1"
        )
    return starts[:-1]


def _bags(
    input: Tensor, offsets: Tensor | None, include_last_offset: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the flat indices, the first place of each bag, and the end of each bag."""
    if input.ndim == 2 and offsets is None:
        n, length = input.shape
        starts = weft.arange(n) * length
        return input.reshape(-1), starts, starts + length
    starts = _starts(input, offsets, include_last_offset)
    if include_last_offset and offsets is not None:
        return input, starts, offsets.to(weft.int64)[1:]
    return input, starts, weft.cat([starts[1:], weft.tensor([input.numel()])])


def _largest(rows: Tensor, kept: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """Return the maxima of bags; of an empty one, zeros."""
    lengths = ends - starts
    longest = int(lengths.max()) if lengths.numel() else 0
    if not longest or not rows.shape[0]:
        return rows.new_zeros(starts.shape[0], rows.shape[1])
    place = starts.unsqueeze(1) + weft.arange(longest)
    inside = place < ends.unsqueeze(1)
    place = weft.where(inside, place, 0)
    inside = inside & kept[place]
    values = weft.where(inside.unsqueeze(-1), rows[place], -float("inf")).max(1)[0]
    return weft.where(inside.any(1).unsqueeze(-1), values, 0.0)


@functional
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return the sum, mean or max of the rows of each bag; with sparse, the gradient is sparse.

    >>> weft.nn.functional.embedding_bag(weft.tensor([[0, 1]]), weft.tensor([[1.0], [3.0]]))
    tensor([[2.]])
    """
    if weight.dtype in (weft.int64, weft.int32) and input.is_floating_point():
        input, weight = weight, input  # the order of old versions
    if mode not in ("sum", "mean", "max"):
        raise ValueError("embedding_bag: mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. It is only supported for mode='sum' "
            f"(got mode='{mode}')"
        )
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, "
            f"then it must have the same shape as the input ({list(input.shape)})"
        )
    if scale_grad_by_freq and mode == "max":
        raise ValueError(
            "embedding_bag: max mode does not support scaling the gradient by frequency"
        )
    if sparse and mode == "max":
        raise ValueError("embedding_bag: max mode does not support sparse weights")
    if (
        offsets is not None
        and input.ndim == 1
        and offsets.ndim == 1
        and offsets.dtype != input.dtype
    ):
        if offsets.is_floating_point() or input.is_floating_point():
            raise RuntimeError("embedding_bag: expected input and offsets to be int or long")
    padding_idx = _row("embedding_bag", padding_idx, weight)
    plain = mode != "max" and not (sparse or scale_grad_by_freq) and max_norm is None
    if plain and weight.dtype in (weft.float32, weft.float64) and input.numel():
        _check_index("embedding_bag", input)
        starts = (
            None
            if input.ndim == 2 and offsets is None
            else _starts(input, offsets, include_last_offset)
        )
        length = input.shape[1] if starts is None else 1
        padding = -1 if padding_idx is None else padding_idx
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
        args = (starts, weight, per_sample_weights, length, padding, mode == "mean")
        return _embedding_bags(input.reshape(-1), *args)[0]
    flat, starts, ends = _bags(input, offsets, include_last_offset)
    _check_index("embedding_bag", flat)
    if max_norm is not None:
        _renormed(weight, flat, max_norm, norm_type)
    rows = _looked_up(weight, flat, padding_idx if sparse else None, scale_grad_by_freq, sparse)
    kept = weft.ones_like(flat, dtype=weft.bool) if padding_idx is None else flat != padding_idx
    if mode == "max":
        return _largest(rows, kept, starts, ends)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    if padding_idx is not None:
        rows = weft.where(kept.unsqueeze(-1), rows, 0.0)
    bag = weft.searchsorted(starts, weft.arange(flat.numel()), right=True) - 1
    total = weft.zeros(starts.shape[0], weight.shape[1], dtype=rows.dtype).index_add(0, bag, rows)
    if mode == "sum":
        return total
    count = weft.zeros(starts.shape[0], dtype=rows.dtype).index_add(0, bag, kept.to(rows.dtype))
    return total / count.clamp_min(1).unsqueeze(-1)


@discrete
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return, for every index, zeros with a one at its place.

    >>> weft.nn.functional.one_hot(weft.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype != weft.int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, got {tensor.dtype}"
        )
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("one_hot: Can not infer total number of classes from empty tensor.")
        return tensor.new_zeros(*tensor.shape, num_classes)
    if num_classes == -1:
        num_classes = int(tensor.max()) + 1
    elif num_classes <= 0:
        raise RuntimeError("one_hot: num_classes should be positive")
    zeros = weft.zeros(*tensor.shape, max(num_classes, 1), dtype=weft.int64)
    try:
        return zeros.scatter_(-1, tensor.unsqueeze(-1), 1)
    except (IndexError, RuntimeError):  # only now, as looking at values costs
        if int(tensor.min()) < 0:
            raise RuntimeError("one_hot: Class values must be non-negative.") from None
        raise RuntimeError("one_hot: Class values must be smaller than num_classes.") from None
