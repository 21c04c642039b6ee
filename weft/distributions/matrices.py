"""Distributions of matrices: of covariances, and of factors of correlations."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Size, Tensor

from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .gaussian import WithCovariance, factor_of, log_diagonal, one_matrix
from .implicit import gamma_sample
from .unit import Beta
from .utils import broadcast_all

__all__ = ["LKJCholesky", "Wishart"]


class Wishart(WithCovariance, ExponentialFamily):
    """The Wishart distribution, of sums of ``df`` outer products of normal vectors.

    Args:
        df: degrees of freedom, more than the size of the matrices minus one.
        covariance_matrix: of the vectors; exactly one of these three is given.
        precision_matrix: its inverse.
        scale_tril: its Cholesky factor.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Wishart(weft.tensor(3.0), weft.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    arg_constraints: Any = {  # noqa: RUF012
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    support: Any = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = one_matrix(covariance_matrix, precision_matrix, scale_tril)
        if not isinstance(df, Tensor):
            df = weft.tensor(df, dtype=matrix.dtype)
        batch = weft.broadcast_shapes(df.shape, matrix.shape[:-2])
        self.df = df.expand(batch)
        self.__dict__[name] = matrix.expand(Size((*batch, *matrix.shape[-2:])))
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        if not bool((self.df > matrix.shape[-1] - 1).all()):
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {matrix.shape[-1] - 1}."
            )
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def _scaled(self, factor: Tensor) -> Tensor:
        return factor.reshape(*factor.shape, 1, 1) * self.covariance_matrix

    def _mean(self) -> Tensor:
        return self._scaled(self.df)

    def _mode(self) -> Tensor:
        factor = self.df - self._event_shape[0] - 1
        return self._scaled(weft.where(factor > 0, factor, math.nan))

    def _variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.reshape(*self.df.shape, 1, 1) * (v.pow(2) + products)

    def _rsample(self, shape: Size) -> Tensor:
        n = self._event_shape[0]  # Bartlett's decomposition
        df = self.df.unsqueeze(-1) - weft.arange(n, dtype=self.df.dtype)
        diagonal = (2 * gamma_sample((0.5 * df).expand(Size(shape[:-1])))).sqrt()
        below = weft.randn(shape, dtype=self.df.dtype).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (below + weft.diag_embed(diagonal))
        return factor @ factor.mT

    def _log_prob(self, value: Tensor) -> Tensor:
        n, df, factor = self._event_shape[0], self.df, self._unbroadcasted_scale_tril
        batch = weft.broadcast_shapes(value.shape, factor.shape)
        inverse = weft.cholesky_inverse(factor).expand(batch)
        trace = (inverse * value.mT).sum((-2, -1))
        return (
            -df * (n * math.log(2) / 2 + log_diagonal(factor))
            - weft.mvlgamma(df / 2, n)
            + (df - n - 1) / 2 * weft.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def _digammas(self) -> Tensor:
        """Return the derivative of the multivariate log-gamma function at df / 2."""
        steps = weft.arange(self._event_shape[0], dtype=self.df.dtype)
        return weft.digamma(self.df.unsqueeze(-1) / 2 - steps / 2).sum(-1)

    def _entropy(self) -> Tensor:
        n, df = self._event_shape[0], self.df
        spread = n * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril)
        rest = weft.mvlgamma(df / 2, n) - (df - n - 1) / 2 * self._digammas() + df * n / 2
        return (n + 1) * spread + rest

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        n = self._event_shape[0]
        return -self.precision_matrix / 2, (self.df - n - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        n = self._event_shape[0]
        log_det = weft.linalg.slogdet(-2 * x).logabsdet
        half = y + (n + 1) / 2  # df / 2
        return half * (-log_det + math.log(2) * n) + weft.mvlgamma(half, n)


class LKJCholesky(Distribution):
    """The distribution of Lewandowski, Kurowicka and Joe, of factors of correlation matrices.

    Args:
        dim: the size of the matrices.
        concentration: 1 for uniform correlation matrices, more for weaker correlations.
        validate_args: see :class:`Distribution`.

    >>> factor = weft.distributions.LKJCholesky(3, 0.5).sample()
    >>> bool(((factor @ factor.mT).diagonal() - 1).abs().max() < 1e-5)
    True
    """

    arg_constraints: Any = {"concentration": constraints.positive}  # noqa: RUF012
    support: Any = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def _expand_into(self, new: Any, shape: Size) -> None:
        super()._expand_into(new, shape)
        new.dim = self.dim

    def _sample(self, shape: Size) -> Tensor:
        # The onion method: rows are directions, with lengths whose squares are beta variables.
        dtype = self.concentration.dtype
        offset = weft.arange(self.dim - 1, dtype=dtype)
        offset = weft.cat([offset.new_zeros(1), offset])
        marginal = (self.concentration + 0.5 * (self.dim - 2)).unsqueeze(-1)
        beta = Beta(offset + 0.5, marginal - 0.5 * offset, validate_args=False)
        squares = beta._rsample(Size(shape[:-1])).unsqueeze(-1)
        directions = weft.randn(shape, dtype=dtype).tril(-1)
        lengths = directions.norm(dim=-1, keepdim=True)
        directions = weft.where(lengths > 0, directions / lengths, 0.0)
        rows = squares.sqrt() * directions
        diagonal = (1 - rows.pow(2).sum(-1)).clamp(min=weft.finfo(dtype).tiny).sqrt()
        return rows + weft.diag_embed(diagonal)

    def _log_prob(self, value: Tensor) -> Tensor:
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = weft.arange(2, self.dim + 1, dtype=self.concentration.dtype)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        rows = self.dim - 1
        alpha = self.concentration + 0.5 * rows
        norm = 0.5 * rows * math.log(math.pi) + weft.mvlgamma(alpha - 0.5, rows)
        return (powers * diagonal.log()).sum(-1) - norm + weft.lgamma(alpha) * rows
