"""All parameters as one vector, and back."""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from weft import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the elements of several tensors as one vector.

    >>> weft.nn.utils.parameters_to_vector([weft.ones(2), weft.zeros(1)])
    tensor([1., 1., 0.])
    """
    return weft.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write the elements of a vector into several tensors, one after the other.

    >>> p = weft.zeros(2)
    >>> weft.nn.utils.vector_to_parameters(weft.tensor([1.0, 2.0]), [p])
    >>> p
    tensor([1., 2.])
    """
    if not isinstance(vec, weft.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    at = 0
    for p in parameters:
        size = p.numel()
        part = vec[at : at + size]
        if part.numel() != size:
            raise RuntimeError(
                f"vector_to_parameters: shape '{list(p.shape)}' is invalid for input of size "
                f"{part.numel()}: the vector has {vec.numel()} elements"
            )
        p.data = part.view_as(p).detach()
        at += size
