"""``Transform``: functions of random variables, and those made of others.

A class of weft answers in ``_call``, ``_inverse``, ``_log_det``, ``_shape_forward`` and
``_shape_back``; one of your own may also define the public ``log_abs_det_jacobian`` and
``forward_shape``.
"""

from __future__ import annotations

import copy
import weakref
from typing import TYPE_CHECKING, Any

import weft
from weft import Size, Tensor

from . import constraints
from .utils import sum_rightmost

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ComposeTransform",
    "IndependentTransform",
    "ReshapeTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """A function of a random variable, with its inverse and the volume that it changes.

    Args:
        cache_size: 1 to keep the last pair of input and output, so that the inverse of an output
            is its very input; 0 not to.

    Attributes:
        domain, codomain: constraints on inputs and outputs.
        bijective: whether it has an inverse.
        sign: 1 or -1 for one that goes up or down.

    >>> exp = weft.distributions.ExpTransform()
    >>> exp.inv(exp(weft.tensor(2.0)))
    tensor(2.)
    """

    bijective: Any = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, got {cache_size}")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: not the link to the inverse, which is a weak one."""
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many dimensions make one value, the same on both sides.

        >>> weft.distributions.ExpTransform().event_dim
        0
        """
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        """The inverse, as a transform; ``t.inv.inv is t``.

        >>> weft.distributions.ExpTransform().inv(weft.tensor(1.0))
        tensor(0.)
        """
        made = self._inv() if self._inv is not None else None
        if made is None:
            made = _InverseTransform(self)
            self._inv = weakref.ref(made)
        return made

    @property
    def sign(self) -> Any:
        """1 or -1 for a transform that goes up or down everywhere.

        >>> weft.distributions.AffineTransform(0.0, -2.0).sign
        -1
        """
        raise NotImplementedError(f"{type(self).__name__} has no sign")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the same transform with another cache size.

        >>> t = weft.distributions.ExpTransform().with_cache()
        >>> x = weft.tensor(1.0)
        >>> t.inv(t(x)) is x
        True
        """
        if self._cache_size == cache_size:
            return self
        new = copy.copy(self)
        Transform.__init__(new, cache_size)
        return new

    def __eq__(self, other: object) -> bool:
        """Return whether this is the same transform."""
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        """Return the transformed value."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _call")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return log |dy/dx| for an input and its output.

        >>> x = weft.tensor(3.0)
        >>> weft.distributions.ExpTransform().log_abs_det_jacobian(x, x.exp())
        tensor(3.)
        """
        return self._log_det(x, y)

    def forward_shape(self, shape: Any) -> Any:
        """Return the shape of the output for that of an input.

        >>> weft.distributions.StickBreakingTransform().forward_shape((2,))
        (3,)
        """
        return self._shape_forward(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """Return the shape of the input for that of an output.

        >>> weft.distributions.StickBreakingTransform().inverse_shape((3,))
        (2,)
        """
        return self._shape_back(shape)

    def _shape_forward(self, shape: Any) -> Any:
        return shape

    def _shape_back(self, shape: Any) -> Any:
        return shape

    def __repr__(self) -> str:
        """Return the name."""
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv_of = transform

    @property
    def domain(self) -> Any:
        """What the transform gives."""
        return self._inv_of.codomain

    @property
    def codomain(self) -> Any:
        """What the transform takes."""
        return self._inv_of.domain

    @property
    def bijective(self) -> Any:
        """Whether the transform is."""
        return self._inv_of.bijective

    @property
    def sign(self) -> Any:
        """That of the transform."""
        return self._inv_of.sign

    @property
    def inv(self) -> Transform:
        """The transform."""
        return self._inv_of

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the inverse of the transform with another cache size."""
        return self._inv_of.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv_of == other._inv_of

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv_of._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv_of(y)

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv_of.log_abs_det_jacobian(y, x)

    def _shape_forward(self, shape: Any) -> Any:
        return self._inv_of.inverse_shape(shape)

    def _shape_back(self, shape: Any) -> Any:
        return self._inv_of.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv_of!r})"


class ComposeTransform(Transform):
    """Transforms one after another.

    Args:
        parts: the transforms, the first one first.
        cache_size: see :class:`Transform`.

    >>> from weft.distributions import AffineTransform, ComposeTransform, ExpTransform
    >>> ComposeTransform([ExpTransform(), AffineTransform(1.0, 2.0)])(weft.tensor(0.0))
    tensor(3.)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) for p in parts] if cache_size else list(parts)

    def __eq__(self, other: object) -> bool:
        """Return whether the parts are the same."""
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """What the first part takes."""
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim += part.domain.event_dim - part.codomain.event_dim
            event_dim = max(event_dim, part.domain.event_dim)
        first = self.parts[0].domain
        more = event_dim - first.event_dim
        return constraints.independent(first, more) if more else first

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """What the last part gives."""
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim += part.codomain.event_dim - part.domain.event_dim
            event_dim = max(event_dim, part.codomain.event_dim)
        last = self.parts[-1].codomain
        more = event_dim - last.event_dim
        return constraints.independent(last, more) if more else last

    @property
    def bijective(self) -> bool:
        """Whether all parts are."""
        return all(p.bijective for p in self.parts)

    @property
    def sign(self) -> Any:
        """The product of the signs."""
        sign: Any = 1
        for p in self.parts:
            sign = sign * p.sign
        return sign

    @property
    def inv(self) -> Transform:
        """The inverses, the last one first."""
        made = self._inv() if self._inv is not None else None
        if made is None:
            made = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv = weakref.ref(made)
            made._inv = weakref.ref(self)
        return made

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the same with caches in all parts."""
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the transformed value."""
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    _inverse = _inv_call

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return weft.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        event_dim = self.domain.event_dim
        total: Any = 0
        for part, a, b in zip(self.parts, values, values[1:]):
            log_det = part.log_abs_det_jacobian(a, b)
            total = total + sum_rightmost(log_det, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def _shape_forward(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def _shape_back(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        """Return the parts."""
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last dimensions count as one value: volumes are summed over them.

    >>> from weft.distributions import ExpTransform, IndependentTransform
    >>> x = weft.tensor([1.0, 2.0])
    >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
    tensor(3.)
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """That of the base, over more dimensions."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """That of the base, over more dimensions."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        """Whether the base is."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """That of the base."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        log_det = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(log_det, self.reinterpreted_batch_ndims)

    def _shape_forward(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def _shape_back(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        """Return the base and the number of dimensions."""
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """The last dimensions in another shape.

    >>> weft.distributions.ReshapeTransform((4,), (2, 2))(weft.zeros(3, 4)).shape
    torch.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                f"in_shape, out_shape have different numbers of elements: {self.in_shape}, "
                f"{self.out_shape}"
            )
        super().__init__(cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Real numbers in the one shape."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Real numbers in the other shape."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self._shape_forward(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self._shape_back(y.shape))

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def _shape_forward(self, shape: Any) -> Any:
        return _reshaped(shape, self.in_shape, self.out_shape)

    def _shape_back(self, shape: Any) -> Any:
        return _reshaped(shape, self.out_shape, self.in_shape)


def _reshaped(shape: Any, old: Size, new: Size) -> tuple[int, ...]:
    shape = tuple(shape)
    cut = len(shape) - len(old)
    if cut < 0 or shape[cut:] != tuple(old):
        raise ValueError(f"Shape mismatch: expected {tuple(old)} at the end but got {shape}")
    return (*shape[:cut], *new)
