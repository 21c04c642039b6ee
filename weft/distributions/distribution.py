"""``Distribution``: shapes, checks of arguments, and the questions one can ask of a distribution.

A class of weft answers in methods with an underscore (``_log_prob``, ``_mean`` …), which the public
ones call after the checks. A class of your own may as well define the public ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft
from weft import Size, Tensor

from . import constraints

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Distribution"]


class Distribution:
    """What all distributions share.

    Args:
        batch_shape: the shape of independent, differently parameterised distributions.
        event_shape: the shape of one sample of one of them.
        validate_args: whether parameters and values are checked; on by default.

    >>> normal = weft.distributions.Normal(weft.zeros(3), 1.0)
    >>> normal.batch_shape, normal.event_shape, normal.sample((2,)).shape
    (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__
    arg_constraints: Any = None
    support: Any = None

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their arguments unless ``validate_args`` says so.

        >>> weft.distributions.Distribution.set_default_validate_args(True)
        """
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected a bool, got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        if self.arg_constraints is None:
            import warnings

            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = "
                "{}` or initialize the distribution with `validate_args=False` to turn off "
                "validation.",
                stacklevel=4,
            )
            return
        for name, constraint in self.arg_constraints.items():
            if constraints.is_dependent(constraint) or name not in self.__dict__:
                continue  # not known here, or derived from another parameter
            value = getattr(self, name)
            valid = constraint.check(value)
            if not bool(valid.all()):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                )

    def _validate_sample(self, value: Any) -> None:
        """Raise a ValueError for a value that no sample can have."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        events = value.dim() - len(self._event_shape)
        if value.shape[max(events, 0) :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs "
                f"{self._event_shape}."
            )
        expected = (*self._batch_shape, *self._event_shape)
        for i, j in zip(reversed(value.shape), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                    f"{Size(expected)}."
                )
        support = self.support
        if support is None:
            import warnings

            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation.",
                stacklevel=4,
            )
            return
        valid = support.check(value)
        if not bool(valid.all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, but found "
                f"invalid values:\n{value}"
            )

    def _checked(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return value

    # ---- shapes ----

    @property
    def batch_shape(self) -> Size:
        """The shape of independent distributions.

        >>> weft.distributions.Normal(weft.zeros(3), 1.0).batch_shape
        torch.Size([3])
        """
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one of them.

        >>> weft.distributions.Dirichlet(weft.ones(2, 3)).event_shape
        torch.Size([3])
        """
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        shape = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        return Size((*shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the same distribution with a larger batch shape.

        >>> weft.distributions.Normal(0.0, 1.0).expand((2, 3)).batch_shape
        torch.Size([2, 3])
        """
        new = self._get_checked_instance(self._kind(), _instance)
        shape = Size(batch_shape)
        self._expand_into(new, shape)
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _kind(self) -> type[Distribution]:
        """Return the nearest class of weft, whose arguments are known here."""
        return next(c for c in type(self).__mro__ if c.__module__.startswith("weft.distributions"))

    def _expand_into(self, new: Any, shape: Size) -> None:
        """Give an instance the expanded parameters."""
        for name in self.arg_constraints:
            if name in self.__dict__:
                value, events = self.__dict__[name], self._parameter_dim(name)
                tail = value.shape[value.dim() - events :]
                new.__dict__[name] = value.expand(Size((*shape, *tail)))

    def _parameter_dim(self, name: str) -> int:
        return self.arg_constraints[name].event_dim

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    # ---- questions ----

    def _lacks(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {what}")

    def _ask(self, what: str, *args: Any) -> Any:
        answer: Callable[..., Any] | None = getattr(self, f"_{what}", None)
        if answer is None:
            raise self._lacks(what)
        return answer(*args)

    @property
    def mean(self) -> Tensor:
        """The mean.

        >>> weft.distributions.Gamma(2.0, 4.0).mean
        tensor(0.5000)
        """
        return self._ask("mean")

    @property
    def mode(self) -> Tensor:
        """The value with the highest density.

        >>> weft.distributions.Normal(1.0, 2.0).mode
        tensor(1.)
        """
        return self._ask("mode")

    @property
    def variance(self) -> Tensor:
        """The variance.

        >>> weft.distributions.Normal(1.0, 2.0).variance
        tensor(4.)
        """
        return self._ask("variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation.

        >>> weft.distributions.Normal(1.0, 2.0).stddev
        tensor(2.)
        """
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw samples, without gradients.

        >>> weft.distributions.Normal(0.0, 1.0).sample((2,)).shape
        torch.Size([2])
        """
        with weft.no_grad():
            own = getattr(self, "_sample", None)
            return own(self._extended_shape(sample_shape)) if own else self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw samples as a differentiable function of the parameters.

        >>> loc = weft.zeros((), requires_grad=True)
        >>> weft.distributions.Normal(loc, 1.0).rsample((3,)).sum().backward()
        >>> loc.grad
        tensor(3.)
        """
        own = getattr(self, "_rsample", None)
        if own is None:
            raise self._lacks("rsample: its samples are not differentiable")
        return own(self._extended_shape(sample_shape))

    def sample_n(self, n: int) -> Tensor:
        """Draw n samples; the older form of ``sample((n,))``.

        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     weft.distributions.Normal(0.0, 1.0).sample_n(2).shape
        torch.Size([2])
        """
        import warnings

        text = "sample_n(n) will be deprecated. Use .sample((n,)) instead"
        warnings.warn(text, UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value: Any) -> Tensor:
        """Return the logarithm of the density, or of the probability, at values.

        >>> weft.distributions.Exponential(1.0).log_prob(weft.tensor(2.0))
        tensor(-2.)
        """
        return self._ask("log_prob", self._checked(value))

    def cdf(self, value: Any) -> Tensor:
        """Return the probability that a sample is at most the value.

        >>> weft.distributions.Uniform(0.0, 2.0).cdf(weft.tensor(0.5))
        tensor(0.2500)
        """
        return self._ask("cdf", self._checked(value))

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value that a sample stays below with a probability.

        >>> weft.distributions.Uniform(0.0, 2.0).icdf(weft.tensor(0.25))
        tensor(0.5000)
        """
        return self._ask("icdf", value)

    def entropy(self) -> Tensor:
        """Return the entropy.

        >>> weft.distributions.Uniform(0.0, 1.0).entropy()
        tensor(0.)
        """
        return self._ask("entropy")

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy.

        >>> weft.distributions.Categorical(weft.ones(4)).perplexity()
        tensor(4.)
        """
        return weft.exp(self.entropy())

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values that samples can have, along the first dimension.

        >>> weft.distributions.Bernoulli(weft.tensor([0.5, 0.2])).enumerate_support()
        tensor([[0., 0.],
                [1., 1.]])
        """
        return self._ask("enumerate_support", expand)

    def _along_first(self, values: Tensor, expand: bool) -> Tensor:
        """Return values (n, *event shape), one after the other, for each distribution of the batch."""
        n, *event = values.shape
        values = values.reshape(n, *(1,) * len(self._batch_shape), *event)
        return values.expand(n, *self._batch_shape, *event) if expand else values

    def __repr__(self) -> str:
        """Return the class and its parameters, or their shapes."""
        given = [name for name in (self.arg_constraints or {}) if name in self.__dict__]
        told = [
            f"{n}: {self.__dict__[n] if self.__dict__[n].numel() == 1 else self.__dict__[n].shape}"
            for n in given
        ]
        return f"{type(self).__name__}({', '.join(told)})"
