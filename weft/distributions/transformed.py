"""Distributions made of others: transformed, with other event shapes, mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft
from weft import Size, Tensor

from . import constraints
from .distribution import Distribution
from .transform import ComposeTransform, Transform
from .utils import sum_rightmost

if TYPE_CHECKING:
    from .choices import Categorical

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]


class Independent(Distribution):
    """A distribution some of whose batch dimensions are event dimensions.

    Args:
        base_distribution: the distribution.
        reinterpreted_batch_ndims: how many of its last batch dimensions.
        validate_args: see :class:`Distribution`.

    >>> from weft.distributions import Independent, Normal
    >>> diagonal = Independent(Normal(weft.zeros(2, 3), 1.0), 1)
    >>> diagonal.batch_shape, diagonal.event_shape
    (torch.Size([2]), torch.Size([3]))
    """

    arg_constraints: Any = {}  # noqa: RUF012
    base_dist: Any

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        shape = base_distribution.batch_shape
        if not 0 <= reinterpreted_batch_ndims <= len(shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(shape)}"
            )
        cut = len(shape) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        events = (*shape[cut:], *base_distribution.event_shape)
        super().__init__(shape[:cut], events, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the same distribution with a larger batch shape.

        >>> from weft.distributions import Independent, Normal
        >>> Independent(Normal(weft.zeros(3), 1.0), 1).expand((2,)).batch_shape
        torch.Size([2])
        """
        new = self._get_checked_instance(Independent, _instance)
        shape = Size(batch_shape)
        inner = self._event_shape[: self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand(Size((*shape, *inner)))
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def has_rsample(self) -> bool:
        """Whether the base has."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:
        """Whether all values can be listed: not those of several variables."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        """That of the base, over more dimensions."""
        n = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_dist.support, n) if n else self.base_dist.support

    def _mean(self) -> Tensor:
        return self.base_dist.mean

    def _mode(self) -> Tensor:
        return self.base_dist.mode

    def _variance(self) -> Tensor:
        return self.base_dist.variance

    def _draw(self, how: str, shape: Size) -> Tensor:
        count = len(shape) - len(self._batch_shape) - len(self._event_shape)
        return getattr(self.base_dist, how)(shape[:count])

    def _sample(self, shape: Size) -> Tensor:
        return self._draw("sample", shape)

    def _rsample(self, shape: Size) -> Tensor:
        return self._draw("rsample", shape)

    def _checked(self, value: Any) -> Any:
        return value  # the base checks

    def _log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def _entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def _enumerate_support(self, expand: bool) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError(
                "Enumeration over cartesian product is not implemented: Independent with "
                f"reinterpreted_batch_ndims={self.reinterpreted_batch_ndims}"
            )
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        """Return the base and the number of dimensions."""
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of transformed samples of another.

    Args:
        base_distribution: the other.
        transforms: a transform, or several, the first one first.
        validate_args: see :class:`Distribution`.

    >>> from weft.distributions import ExpTransform, Normal, TransformedDistribution
    >>> log_normal = TransformedDistribution(Normal(0.0, 1.0), ExpTransform())
    >>> log_normal.log_prob(weft.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: Any = {}  # noqa: RUF012
    base_dist: Any
    transforms: list[Transform]

    def __init__(
        self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None
    ) -> None:
        given = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(given, list) or not all(isinstance(t, Transform) for t in given):
            raise ValueError(
                f"transforms must be a Transform or a list of Transforms, but was {transforms}"
            )
        self.transforms = given
        whole = ComposeTransform(given)
        base_shape = Size((*base_distribution.batch_shape, *base_distribution.event_shape))
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{whole.domain.event_dim}, but got {base_shape}."
            )
        forward = whole.forward_shape(base_shape)
        wanted = Size(whole.inverse_shape(forward))
        base = base_distribution
        events = len(base.event_shape)
        if base_shape != wanted:
            base = base.expand(wanted[: len(wanted) - events])
        more = whole.domain.event_dim - events
        if more > 0:
            base = Independent(base, more)
        self.base_dist = base
        event_dim = max(
            whole.codomain.event_dim + max(events - whole.domain.event_dim, 0),
            whole.codomain.event_dim,
        )
        cut = len(forward) - event_dim
        super().__init__(forward[:cut], forward[cut:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the same distribution with a larger batch shape.

        >>> weft.distributions.LogNormal(0.0, 1.0).expand((2,)).batch_shape
        torch.Size([2])
        """
        new = self._get_checked_instance(self._kind(), _instance)
        shape = Size(batch_shape)
        whole = ComposeTransform(self.transforms)
        base_shape = whole.inverse_shape(Size((*shape, *self._event_shape)))
        cut = len(base_shape) - len(self.base_dist.event_shape)
        new.transforms = self.transforms
        new.base_dist = self.base_dist.expand(base_shape[:cut])
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def has_rsample(self) -> bool:
        """Whether the base has."""
        return self.base_dist.has_rsample

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """What the last transform gives."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    def _draw(self, how: str, shape: Size) -> Tensor:
        count = len(shape) - len(self._batch_shape) - len(self._event_shape)
        x = getattr(self.base_dist, how)(shape[:count])
        for transform in self.transforms:
            x = transform(x)
        return x

    def _sample(self, shape: Size) -> Tensor:
        return self._draw("sample", shape)

    def _rsample(self, shape: Size) -> Tensor:
        return self._draw("rsample", shape)

    def _log_prob(self, value: Tensor) -> Tensor:
        event_dim, total, y = len(self._event_shape), 0.0, value
        for t in reversed(self.transforms):
            x = t.inv(y)
            event_dim += t.domain.event_dim - t.codomain.event_dim
            log_det = t.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(log_det, event_dim - t.domain.event_dim)
            y = x
        more = event_dim - len(self.base_dist.event_shape)
        return total + sum_rightmost(self.base_dist.log_prob(y), more)

    def _flip(self, value: Tensor) -> Tensor:
        """Return 1 - value where the transforms go down."""
        sign: Any = 1
        for t in self.transforms:
            sign = sign * t.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def _cdf(self, value: Tensor) -> Tensor:
        for t in reversed(self.transforms):
            value = t.inv(value)
        if self.base_dist._validate_args:
            self.base_dist._validate_sample(value)
        return self._flip(self.base_dist.cdf(value))

    def _icdf(self, value: Tensor) -> Tensor:
        value = self.base_dist.icdf(self._flip(value))
        for t in self.transforms:
            value = t(value)
        return value


class MixtureSameFamily(Distribution):
    """A mixture: a component is chosen, then a sample of it is drawn.

    Args:
        mixture_distribution: a Categorical, which chooses.
        component_distribution: its last batch dimension is that of the components.
        validate_args: see :class:`Distribution`.

    >>> from weft.distributions import Categorical, MixtureSameFamily, Normal
    >>> mixture = MixtureSameFamily(Categorical(weft.ones(2)), Normal(weft.tensor([-1.0, 1.0]), 1.0))
    >>> mixture.mean, mixture.variance
    (tensor(0.), tensor(2.))
    """

    arg_constraints: Any = {}  # noqa: RUF012
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        from .choices import Categorical

        self._mixture, self._component = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The Mixture distribution needs to be an instance of Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of Distribution")
        shape = component_distribution.batch_shape
        chosen = mixture_distribution.batch_shape
        for a, b in zip(reversed(chosen), reversed(shape[:-1])):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({chosen}) is not compatible with "
                    f"`component_distribution.batch_shape`({shape})"
                )
        count = mixture_distribution.logits.shape[-1]
        if not shape or shape[-1] != count:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({shape[-1] if shape else 'none'})"
            )
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(shape[:-1], component_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the same distribution with a larger batch shape.

        >>> from weft.distributions import Categorical, MixtureSameFamily, Normal
        >>> mixture = MixtureSameFamily(Categorical(weft.ones(2)), Normal(weft.zeros(2), 1.0))
        >>> mixture.expand((3,)).batch_shape
        torch.Size([3])
        """
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        shape = Size(batch_shape)
        new._component = self._component.expand(Size((*shape, self._num_component)))
        new._mixture = self._mixture.expand(shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        """The values of components."""
        return constraints.MixtureSameFamilyConstraint(self._component.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution that chooses."""
        return self._mixture

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component

    def _shares(self) -> Tensor:
        p = self._mixture.probs
        return p.reshape(*p.shape, *(1,) * self._event_ndims)

    def _mean(self) -> Tensor:
        return (self._shares() * self._component.mean).sum(-1 - self._event_ndims)

    def _variance(self) -> Tensor:
        p, dim = self._shares(), -1 - self._event_ndims
        between = (self._component.mean - self._mean().unsqueeze(dim)) ** 2
        return (p * self._component.variance).sum(dim) + (p * between).sum(dim)

    def _cdf(self, value: Tensor) -> Tensor:
        below = self._component.cdf(value.unsqueeze(-1 - self._event_ndims))
        return (below * self._mixture.probs).sum(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        parts = self._component.log_prob(value.unsqueeze(-1 - self._event_ndims))
        return weft.logsumexp(parts + weft.log_softmax(self._mixture.logits, -1), -1)

    def _sample(self, shape: Size) -> Tensor:
        count = len(shape) - len(self._batch_shape) - len(self._event_shape)
        mixture = self._mixture.expand(self._batch_shape)
        chosen = mixture.sample(shape[:count])
        samples = self._component.sample(shape[:count])
        dim = len(shape) - self._event_ndims
        places = chosen.reshape(*chosen.shape, 1, *(1,) * self._event_ndims)
        places = places.expand(*chosen.shape, 1, *self._event_shape)
        return samples.gather(dim, places).squeeze(dim)

    def __repr__(self) -> str:
        """Return both parts."""
        return f"MixtureSameFamily(\n  {self._mixture!r},\n  {self._component!r})"
