"""Distances and similarities of vectors."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import functional

_distances = _C._op_function("distances")
_upper_entries = _C._op_function("upper_entries")


@functional
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along dim.

    >>> weft.nn.functional.cosine_similarity(weft.tensor([[3.0, 4.0]]), weft.tensor([[4.0, 3.0]]))
    tensor([0.9600])
    """
    if not (x1.is_floating_point() or x2.is_floating_point()):
        raise RuntimeError(
            "cosine_similarity: expected common dtype to be floating point, yet common dtype is "
            f"{weft.promote_types(x1.dtype, x2.dtype)}"
        )
    dtype = weft.promote_types(x1.dtype, x2.dtype)
    a, b = weft.broadcast_tensors(x1.to(dtype), x2.to(dtype))
    return (_unit(a, dim, eps) * _unit(b, dim, eps)).sum(dim)


def _unit(x: Tensor, dim: int, eps: float) -> Tensor:
    """Divide by the norm, at least eps; the derivative is that of the norm everywhere."""
    norm = weft.linalg_vector_norm(x, 2, dim, True)
    with weft.no_grad():
        least = norm.clamp_min(eps)
    return x / (norm + (least - norm.detach()))


@functional
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """Return the p-norm of x1 - x2 + eps along the last dimension.

    >>> weft.nn.functional.pairwise_distance(weft.tensor([3.0, 4.0]), weft.zeros(2))
    tensor(5.0000)
    """
    return weft.norm(x1 - x2 + eps, p, -1, keepdim)


@functional
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Return the distances of all pairs of rows.

    >>> weft.nn.functional.pdist(weft.tensor([[0.0], [1.0], [3.0]]))
    tensor([1., 3., 2.])
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if input.dtype.itemsize < 4:
        return _upper_entries(weft.cdist(input, input, p))
    x = input.unsqueeze(0)
    return _upper_entries(_distances(x, x, float(p)).squeeze(0))
