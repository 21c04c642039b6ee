"""Normal distributions of vectors."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Size, Tensor

from . import constraints
from .distribution import Distribution
from .utils import lazy_property

__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]


def log_diagonal(factor: Tensor) -> Tensor:
    """Return the sum of the logarithms of the diagonal: half the log determinant of L Lᵀ.

    >>> from weft.distributions.gaussian import log_diagonal
    >>> log_diagonal(weft.eye(3))
    tensor(0.)
    """
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def solve_lower(factor: Tensor, vectors: Tensor) -> Tensor:
    """Return L⁻¹ x for vectors x along the last dimension.

    >>> from weft.distributions.gaussian import solve_lower
    >>> solve_lower(2 * weft.eye(2), weft.tensor([2.0, 4.0]))
    tensor([1., 2.])
    """
    x = vectors.unsqueeze(-1)
    batch = weft.broadcast_shapes(factor.shape[:-2], x.shape[:-2])
    factor = factor.expand(Size((*batch, *factor.shape[-2:])))
    x = x.expand(Size((*batch, *x.shape[-2:])))
    return weft.linalg.solve_triangular(factor, x, upper=False).squeeze(-1)


def precision_to_factor(precision: Tensor) -> Tensor:
    """Return the Cholesky factor of the inverse of a matrix.

    >>> from weft.distributions.gaussian import precision_to_factor
    >>> precision_to_factor(4 * weft.eye(1))
    tensor([[0.5000]])
    """
    reverse = weft.linalg.cholesky(precision.flip((-2, -1)))
    inverse = reverse.flip((-2, -1)).mT  # lower, and its inverse is the factor
    eye = weft.eye(precision.shape[-1], dtype=precision.dtype).expand_as(precision)
    return weft.linalg.solve_triangular(inverse, eye, upper=False)


class WithCovariance(Distribution):
    """What has the covariance of vectors: kept as its Cholesky factor, told in three forms.

    >>> weft.distributions.MultivariateNormal(weft.zeros(1), weft.tensor([[4.0]])).precision_matrix
    tensor([[0.2500]])
    """

    _unbroadcasted_scale_tril: Tensor

    def _expand_into(self, new: Any, shape: Size) -> None:
        super()._expand_into(new, shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    def _as_matrix(self, matrix: Tensor) -> Tensor:
        return matrix.expand(Size((*self._batch_shape, *matrix.shape[-2:])))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._as_matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._as_matrix(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._as_matrix(weft.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(WithCovariance):
    """The normal distribution of vectors.

    Args:
        loc: the mean.
        covariance_matrix: the covariance; exactly one of these three is given.
        precision_matrix: its inverse.
        scale_tril: its Cholesky factor.
        validate_args: see :class:`Distribution`.

    >>> normal = weft.distributions.MultivariateNormal(weft.zeros(2), weft.eye(2))
    >>> normal.log_prob(weft.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support: Any = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = one_matrix(covariance_matrix, precision_matrix, scale_tril)
        batch = weft.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand(Size((*batch, *matrix.shape[-2:])))
        self.loc = loc.expand(Size((*batch, loc.shape[-1])))
        super().__init__(batch, loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def _mean(self) -> Tensor:
        return self.loc

    def _mode(self) -> Tensor:
        return self.loc

    def _variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(Size((*self._batch_shape, *self._event_shape)))

    def _rsample(self, shape: Size) -> Tensor:
        noise = weft.randn(shape, dtype=self.loc.dtype)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        distance = solve_lower(factor, value - self.loc).pow(2).sum(-1)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + distance) - log_diagonal(factor)

    def _entropy(self) -> Tensor:
        half = log_diagonal(self._unbroadcasted_scale_tril)
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half
        return entropy.expand(self._batch_shape)


def one_matrix(
    covariance: Tensor | None, precision: Tensor | None, factor: Tensor | None
) -> tuple[str, Tensor]:
    """Return the name of the matrix that is given, and the matrix.

    >>> from weft.distributions.gaussian import one_matrix
    >>> one_matrix(weft.eye(2), None, None)[0]
    'covariance_matrix'
    """
    named = {"covariance_matrix": covariance, "precision_matrix": precision, "scale_tril": factor}
    given = [(name, matrix) for name, matrix in named.items() if matrix is not None]
    if len(given) != 1:
        raise ValueError(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
    name, matrix = given[0]
    if matrix.dim() < 2:
        raise ValueError(
            f"{name} must be at least two-dimensional, with optional leading batch dimensions"
        )
    return name, matrix


def factor_of(name: str, matrix: Tensor) -> Tensor:
    """Return the Cholesky factor of the covariance that a matrix stands for.

    >>> from weft.distributions.gaussian import factor_of
    >>> factor_of("covariance_matrix", 4 * weft.eye(1))
    tensor([[2.]])
    """
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return weft.linalg.cholesky(matrix)
    return precision_to_factor(matrix)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with the covariance W Wᵀ + D.

    Args:
        loc: the mean.
        cov_factor: W, with few columns.
        cov_diag: the diagonal of D.
        validate_args: see :class:`Distribution`.

    >>> normal = weft.distributions.LowRankMultivariateNormal(
    ...     weft.zeros(2), weft.tensor([[1.0], [0.0]]), weft.ones(2))
    >>> normal.covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    arg_constraints: Any = {  # noqa: RUF012
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support: Any = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        n = loc.shape[-1]
        if cov_factor.dim() < 2 or cov_factor.shape[-2] != n:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {n} x m, got "
                f"{tuple(cov_factor.shape)}"
            )
        if cov_diag.shape[-1:] != (n,):
            raise ValueError(
                f"cov_diag must be a batch of vectors with shape ({n},), got "
                f"{tuple(cov_diag.shape)}"
            )
        batch = weft.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand(Size((*batch, n)))
        self.cov_diag = cov_diag.expand(Size((*batch, n)))
        self.cov_factor = cov_factor.expand(Size((*batch, *cov_factor.shape[-2:])))
        super().__init__(batch, (n,), validate_args=validate_args)

    @lazy_property
    def _capacitance_tril(self) -> Tensor:
        """The Cholesky factor of I + Wᵀ D⁻¹ W."""
        w = self.cov_factor
        inner = w.mT @ (w / self.cov_diag.unsqueeze(-1))
        return weft.linalg.cholesky(inner + weft.eye(w.shape[-1], dtype=w.dtype))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        root = self.cov_diag.sqrt().unsqueeze(-1)
        scaled = self.cov_factor / root
        eye = weft.eye(self._event_shape[0], dtype=root.dtype)
        return root * weft.linalg.cholesky(scaled @ scaled.mT + eye)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self.cov_factor @ self.cov_factor.mT + weft.diag_embed(self.cov_diag)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        scaled = self.cov_factor / self.cov_diag.unsqueeze(-1)
        a = weft.linalg.solve_triangular(self._capacitance_tril, scaled.mT, upper=False)
        return weft.diag_embed(1 / self.cov_diag) - a.mT @ a

    def _mean(self) -> Tensor:
        return self.loc

    def _mode(self) -> Tensor:
        return self.loc

    def _variance(self) -> Tensor:
        return self.cov_factor.pow(2).sum(-1) + self.cov_diag

    def _rsample(self, shape: Size) -> Tensor:
        w, dtype = self.cov_factor, self.loc.dtype
        noise = weft.randn(Size((*shape[:-1], w.shape[-1])), dtype=dtype)
        small = weft.randn(shape, dtype=dtype)
        return self.loc + (w @ noise.unsqueeze(-1)).squeeze(-1) + self.cov_diag.sqrt() * small

    def _half_log_det(self) -> Tensor:
        return log_diagonal(self._capacitance_tril) + 0.5 * self.cov_diag.log().sum(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        diff = value - self.loc
        weighted = diff / self.cov_diag
        inner = (self.cov_factor.mT @ weighted.unsqueeze(-1)).squeeze(-1)
        less = solve_lower(self._capacitance_tril, inner).pow(2).sum(-1)
        distance = (diff * weighted).sum(-1) - less
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + distance) - self._half_log_det()

    def _entropy(self) -> Tensor:
        n = self._event_shape[0]
        entropy = 0.5 * n * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape)
