"""Distances between vectors."""

from __future__ import annotations

from weft.nn import functional as F
from weft.nn.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """‖x₁ - x₂ + eps‖ₚ along the last dimension.

    >>> weft.nn.PairwiseDistance(p=1)(weft.zeros(1, 2), weft.ones(1, 2))
    tensor([2.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """x₁·x₂ / max(‖x₁‖ ‖x₂‖, eps) along one dimension.

    >>> weft.nn.CosineSimilarity()(weft.ones(1, 2), weft.ones(1, 2)).round(decimals=4)
    tensor([1.])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
