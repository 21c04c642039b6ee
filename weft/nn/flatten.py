"""Dimensions joined, and taken apart again."""

from __future__ import annotations

from weft.nn.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins a range of dimensions: by default all but the batch.

    >>> weft.nn.Flatten()(weft.ones(32, 1, 5, 5)).shape
    torch.Size([32, 25])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Takes one dimension apart into several.

    >>> weft.nn.Unflatten(1, (2, 5))(weft.ones(3, 10)).shape
    torch.Size([3, 2, 5])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if isinstance(dim, str):
            raise NotImplementedError("Unflatten: weft has no named dimensions (dim is a str)")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                "unflattened_size must be a tuple of ints, but found type "
                + type(unflattened_size).__name__
            )
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {i}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
