"""Transforms of vectors and matrices, and of the parts of a tensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import weft
from weft import Tensor
from weft.nn.functional import pad, softplus

from . import constraints
from .transform import Transform
from .transforms_numbers import _Alike
from .utils import tril_matrix_to_vec, vec_to_tril_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .distribution import Distribution

__all__ = [
    "CatTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
]


def _at_least(shape: Any, dims: int) -> tuple[int, ...]:
    if len(shape) < dims:
        raise ValueError(f"Too few dimensions on input: expected {dims} or more, got {len(shape)}")
    return tuple(shape)


class CorrCholeskyTransform(_Alike):
    """From n (n-1) / 2 numbers to the Cholesky factor of a correlation matrix of n variables.

    >>> t = weft.distributions.CorrCholeskyTransform()
    >>> t(weft.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = weft.finfo(x.dtype).eps
        r = vec_to_tril_matrix(weft.tanh(x).clamp(-1 + eps, 1 - eps), diag=-1)
        n = r.shape[-1]
        left = (1 - r * r).sqrt().cumprod(-1)  # what is left of each row's length
        return (r + weft.eye(n, dtype=r.dtype)) * pad(left[..., :-1], [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        used = 1 - (y * y).cumsum(-1)
        used = pad(used[..., :-1], [1, 0], value=1.0)
        r = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(used, diag=-1).sqrt()
        return (r.log1p() - (-r).log1p()) / 2

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        rows = tril_matrix_to_vec(left[..., 1:, :-1], diag=-1) if y.shape[-1] > 2 else None
        stretch = 0.5 * rows.log().sum(-1) if rows is not None else 0.0
        tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return stretch + tanh

    def _shape_forward(self, shape: Any) -> Any:
        *batch, count = _at_least(shape, 1)
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError(f"Input is not a flattened lower-diagonal number: {count}")
        return (*batch, n, n)

    def _shape_back(self, shape: Any) -> Any:
        *batch, n, m = _at_least(shape, 2)
        if n != m:
            raise ValueError(f"Input is not square: {n} by {m}")
        return (*batch, n * (n - 1) // 2)


class SoftmaxTransform(_Alike):
    """From numbers to points of the simplex; not a bijection, as a shift changes nothing.

    >>> weft.distributions.SoftmaxTransform()(weft.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return weft.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def _shape_forward(self, shape: Any) -> Any:
        return _at_least(shape, 1)

    _shape_back = _shape_forward


class StickBreakingTransform(_Alike):
    """From n numbers to points of the simplex with n + 1 coordinates: a stick is broken n times.

    >>> weft.distributions.StickBreakingTransform()(weft.zeros(1))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _offset(self, n: int) -> Tensor:
        return weft.arange(n, 0, -1).double().log()

    def _call(self, x: Tensor) -> Tensor:
        z = weft.sigmoid(x - self._offset(x.shape[-1]).to(x.dtype))
        left = (1 - z).cumprod(-1)
        return pad(z, [0, 1], value=1.0) * pad(left, [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        head = y[..., :-1]
        left = (1 - head.cumsum(-1)).clamp(min=weft.finfo(y.dtype).tiny)
        return head.log() - left.log() + self._offset(head.shape[-1]).to(y.dtype)

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x.shape[-1]).to(x.dtype)
        return (-x + weft.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def _shape_forward(self, shape: Any) -> Any:
        *batch, n = _at_least(shape, 1)
        return (*batch, n + 1)

    def _shape_back(self, shape: Any) -> Any:
        *batch, n = _at_least(shape, 1)
        return (*batch, n - 1)


class LowerCholeskyTransform(_Alike):
    """From square matrices to lower triangular ones with a positive diagonal.

    >>> weft.distributions.LowerCholeskyTransform()(weft.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Alike):
    """From square matrices to positive definite ones.

    >>> weft.distributions.PositiveDefiniteTransform()(weft.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(weft.linalg.cholesky(y))


class _Parts(Transform):
    """Transforms for the parts of a tensor along a dimension."""

    transforms: list[Transform]
    dim: int

    @property
    def bijective(self) -> bool:
        """Whether all are."""
        return all(t.bijective for t in self.transforms)

    def _cut(self, x: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _join(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._join([t(part) for t, part in zip(self.transforms, self._cut(x))])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([t.inv(part) for t, part in zip(self.transforms, self._cut(y))])


class CatTransform(_Parts):
    """Transforms for pieces of a tensor, joined again.

    Args:
        tseq: the transforms.
        dim: the dimension that is cut.
        lengths: of the pieces; by default 1 each.
        cache_size: see :class:`Transform`.

    >>> from weft.distributions import CatTransform, ExpTransform, identity_transform
    >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(weft.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq], dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(
                f"CatTransform: {len(self.transforms)} transforms, but {len(self.lengths)} lengths"
            )

    @property
    def event_dim(self) -> int:
        """The largest of the parts."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The sum of the lengths."""
        return sum(self.lengths)

    def _cut(self, x: Tensor) -> Sequence[Tensor]:
        if not -x.dim() <= self.dim < x.dim() or x.shape[self.dim] != self.length:
            raise ValueError(
                f"CatTransform: dimension {self.dim} must have the size {self.length}, got "
                f"{tuple(x.shape)}"
            )
        return x.split(self.lengths, self.dim)

    def _join(self, parts: list[Tensor]) -> Tensor:
        return weft.cat(parts, self.dim)

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        parts = []
        for t, a, b in zip(self.transforms, self._cut(x), self._cut(y)):
            log_det = t.log_abs_det_jacobian(a, b)
            more = self.event_dim - t.event_dim
            parts.append(log_det.flatten(-more).sum(-1) if more else log_det)
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return weft.cat(parts, dim) if dim < 0 else sum(parts[1:], parts[0])

    @constraints.dependent_property
    def domain(self) -> Any:
        """Those of the parts."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Those of the parts."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Parts):
    """One transform for each slice of a tensor along a dimension.

    >>> from weft.distributions import ExpTransform, StackTransform, identity_transform
    >>> StackTransform([ExpTransform(), identity_transform])(weft.zeros(2))
    tensor([1., 0.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq], dim

    def _cut(self, x: Tensor) -> Sequence[Tensor]:
        if not -x.dim() <= self.dim < x.dim() or x.shape[self.dim] != len(self.transforms):
            raise ValueError(
                f"StackTransform: dimension {self.dim} must have the size {len(self.transforms)}, "
                f"got {tuple(x.shape)}"
            )
        return x.unbind(self.dim)

    def _join(self, parts: list[Tensor]) -> Tensor:
        return weft.stack(parts, self.dim)

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        pairs = zip(self.transforms, self._cut(x), self._cut(y))
        return weft.stack([t.log_abs_det_jacobian(a, b) for t, a, b in pairs], self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Those of the slices."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Those of the slices."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """From values to the probabilities that samples of a distribution stay below them.

    >>> uniform = weft.distributions.Uniform(0.0, 2.0)
    >>> weft.distributions.CumulativeDistributionTransform(uniform)(weft.tensor(0.5))
    tensor(0.2500)
    """

    bijective = True
    codomain = constraints.unit_interval

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def sign(self) -> Any:
        """It goes up."""
        return 1

    @property
    def domain(self) -> Any:
        """The values of samples."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
