"""Helpers of distributions: arguments of one shape, probabilities and logits, lazy properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft
from weft import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

EULER = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Return tensors of one shape; numbers take the dtype of the first tensor.

    >>> from weft.distributions.utils import broadcast_all
    >>> broadcast_all(weft.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    first = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = weft.get_default_dtype() if first is None else first.dtype
    for v in values:
        if not isinstance(v, (Tensor, int, float, bool)):
            raise ValueError(
                f"arguments of distributions must be numbers or tensors, got {type(v).__name__}"
            )
    tensors = [v if isinstance(v, Tensor) else weft.tensor(v, dtype=dtype) for v in values]
    return tuple(weft.broadcast_tensors(*tensors))


def clamp_probs(probs: Tensor) -> Tensor:
    """Return probabilities a little away from 0 and 1.

    >>> from weft.distributions.utils import clamp_probs
    >>> bool(clamp_probs(weft.tensor(0.0)) > 0)
    True
    """
    eps = weft.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return the probabilities of logits.

    >>> from weft.distributions.utils import logits_to_probs
    >>> logits_to_probs(weft.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return weft.sigmoid(logits) if is_binary else weft.softmax(logits, -1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return the logits of probabilities, finite even for 0 and 1.

    >>> from weft.distributions.utils import probs_to_logits
    >>> probs_to_logits(weft.tensor(0.5), is_binary=True)
    tensor(0.)
    """
    p = clamp_probs(probs)
    return weft.log(p) - weft.log1p(-p) if is_binary else weft.log(p)


class lazy_property:
    """A property that is computed once, at the first use, with gradients on.

    >>> from weft.distributions.utils import lazy_property
    >>> class A:
    ...     @lazy_property
    ...     def x(self) -> list:
    ...         return []
    >>> a = A()
    >>> a.x is a.x
    True
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Compute, and keep in the instance."""
        if instance is None:
            return self
        with weft.enable_grad():
            value = self.wrapped(instance)
        instance.__dict__[self.wrapped.__name__] = value
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the elements of lower triangles as vectors, row by row.

    >>> from weft.distributions.utils import tril_matrix_to_vec
    >>> tril_matrix_to_vec(weft.tensor([[1.0, 9.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = weft.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return lower triangular matrices of these elements.

    >>> from weft.distributions.utils import vec_to_tril_matrix
    >>> vec_to_tril_matrix(weft.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    count = vec.shape[-1]
    n = (
        -(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5
    ) / 2
    if round(n) - n > weft.finfo(vec.dtype).eps or abs(round(n) - n) > 1e-6:
        raise ValueError(f"{count} elements do not fill the lower triangle of a matrix")
    size = round(n)
    rows, columns = weft.tril_indices(size, size, diag)
    flat = vec.new_zeros((*vec.shape[:-1], size * size))
    places = (rows * size + columns).expand(*vec.shape[:-1], -1)
    return flat.scatter(-1, places, vec).reshape(*vec.shape[:-1], size, size)


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """Return sums over the last dimensions.

    >>> from weft.distributions.utils import sum_rightmost
    >>> sum_rightmost(weft.ones(2, 3, 4), 2)
    tensor([12., 12.])
    """
    return value if dims == 0 else value.flatten(-dims).sum(-1) if dims > 1 else value.sum(-1)


def tiny(x: Tensor) -> float:
    """Return the smallest normal number of a tensor's dtype.

    >>> from weft.distributions.utils import tiny
    >>> tiny(weft.zeros(1)) > 0
    True
    """
    return float(weft.finfo(x.dtype).tiny)


def numpy_random() -> Any:
    """Return a generator of NumPy, seeded by weft's random numbers.

    >>> from weft.distributions.utils import numpy_random
    >>> _ = weft.manual_seed(0)
    >>> a = numpy_random().random()
    >>> _ = weft.manual_seed(0)
    >>> numpy_random().random() == a
    True
    """
    import numpy.random as random

    return random.Generator(random.Philox(key=int(weft.randint(2**62, ()))))
