"""Shapes: dimensions joined, moved, named by another tensor."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Size, Tensor
from weft.ops import op
from weft.ops.join import _given
from weft.ops.memory import order_of, strides_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def _wrap(dim: int, n: int, name: str) -> int:
    low, high = (-1, 0) if n == 0 else (-n, n - 1)
    if not low <= dim <= high:
        raise IndexError(
            f"{name}: Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})"
        )
    return dim + (n or 1) if dim < 0 else dim


@op()
def broadcast_to(input: Tensor, *size: int | Sequence[int]) -> Tensor:
    """Repeat dimensions of size one without a copy.

    >>> weft.ones(1, 2).broadcast_to((3, 2)).shape
    torch.Size([3, 2])
    """
    return input.expand(*size)


@op(function=False)
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expand to the shape of ``other``.

    >>> weft.ones(1, 2).expand_as(weft.ones(3, 2)).shape
    torch.Size([3, 2])
    """
    return self.expand(other.shape)


@op(function=False)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """View in the shape of ``other``.

    >>> weft.arange(4).view_as(weft.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    return self.view(other.shape)


@op(function=False)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Reshape to the shape of ``other``.

    >>> weft.arange(4).reshape_as(weft.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    return self.reshape(other.shape)


@op(function=False)
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Sum dimensions away until the shape is ``size``, which must broadcast to this one's.

    >>> weft.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    if self.shape == shape:
        return self
    lead = self.dim() - len(shape)
    fits = lead >= 0 and all(s in (1, t) for s, t in zip(shape, tuple(self.shape)[lead:]))
    if not fits:
        raise RuntimeError(
            f"sum_to_size: size {list(shape)} is not expandable to size {list(self.shape)}."
        )
    dims = [
        *range(lead),
        *(lead + i for i, s in enumerate(shape) if s == 1 and self.shape[lead + i] != 1),
    ]
    if not shape:
        return self.sum()
    return (self.sum(dims, keepdim=True) if dims else self).reshape(shape)


def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape that all of ``shapes`` broadcast to.

    >>> weft.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    empties = [weft.empty((s,) if isinstance(s, int) else tuple(s)) for s in shapes]
    return broadcast_tensors(*empties)[0].shape if empties else Size()


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Expand all tensors to their common shape.

    >>> [t.shape for t in weft.broadcast_tensors(weft.ones(2, 1), weft.ones(3))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    shape: list[int] = []
    for t in _given(tensors):
        shape += [1] * (t.dim() - len(shape)) if not shape else []
        if len(shape) < t.dim():
            shape = [1] * (t.dim() - len(shape)) + shape
        for i in range(1, t.dim() + 1):
            s = t.shape[-i]
            if s != 1 and shape[-i] not in (1, s):
                raise RuntimeError(
                    f"broadcast_tensors: shapes {[list(t.shape) for t in tensors]} do not fit together"
                )
            shape[-i] = s if shape[-i] == 1 else shape[-i]
    return tuple(t.expand(tuple(shape)) for t in tensors)


def _t_property(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    return self.permute(tuple(range(self.dim() - 1, -1, -1)))


def _mt_property(self: Tensor) -> Tensor:
    """The last two dimensions swapped."""
    if self.dim() < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of them. Got {self.dim()}-D tensor."
        )
    return self.transpose(-2, -1)


Tensor.T = property(_t_property)
Tensor.mT = property(_mt_property)
Tensor.H = property(lambda self: self.T.conj() if self.is_complex() else self.T)
Tensor.mH = property(lambda self: self.mT.conj() if self.is_complex() else self.mT)
Tensor.adjoint = lambda self: self.mH
Tensor.is_set_to = lambda self, other: (
    self.data_ptr() == other.data_ptr()
    and self.shape == other.shape
    and self.stride() == other.stride()
)


def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Change the shape in place; the memory grows if it must, new elements are not set.

    >>> weft.ones(2).resize_(3, 1).shape
    torch.Size([3, 1])
    """
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    if self.requires_grad:
        raise RuntimeError("resize_: cannot resize variables that require grad")
    if memory_format is weft.preserve_format:
        raise RuntimeError("resize_: preserve_format: a new shape has no order to preserve")
    _C._resize(self, shape)
    if memory_format not in (None, weft.contiguous_format):
        _C._set_geometry_of(self, self.as_strided(shape, strides_for(shape, memory_format)))
    return self


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Change the shape in place to that of another tensor.

    >>> weft.resize_as_(weft.ones(2), weft.ones(3, 1)).shape
    torch.Size([3, 1])
    """
    if not isinstance(the_template, Tensor):
        raise TypeError(f"resize_as_: expected a Tensor, got {type(the_template).__name__}")
    if memory_format is weft.preserve_format:
        memory_format = order_of(the_template)
    return self.resize_(tuple(the_template.shape), memory_format=memory_format)


def _at_least(dims: int, place: Any, tensors: tuple[Any, ...]) -> Any:
    """Each tensor with at least ``dims`` dimensions; ``place`` adds them where they are missing."""
    one = len(tensors) == 1 and isinstance(tensors[0], Tensor)
    wide = tuple(t if t.dim() >= dims else place(t) for t in _given(tensors))
    return wide[0] if one else wide


@op(method=False)
def atleast_1d(*tensors: Any) -> Any:
    """View 0-d tensors as vectors of one element.

    >>> weft.atleast_1d(weft.tensor(2.0))
    tensor([2.])
    """
    return _at_least(1, lambda t: t.reshape(1), tensors)


@op(method=False)
def atleast_2d(*tensors: Any) -> Any:
    """View numbers and vectors as matrices of one row.

    >>> weft.atleast_2d(weft.tensor([1, 2]))
    tensor([[1, 2]])
    """
    return _at_least(2, lambda t: t.reshape(1, -1), tensors)


@op(method=False)
def atleast_3d(*tensors: Any) -> Any:
    """View tensors with three dimensions: a vector lies along the second, a matrix in the first two.

    >>> weft.atleast_3d(weft.ones(2)).shape
    torch.Size([1, 2, 1])
    """

    def place(t: Tensor) -> Tensor:
        return t.unsqueeze(-1) if t.dim() == 2 else t.reshape(1, -1, 1)

    return _at_least(3, place, tensors)


Tensor.resize_ = resize_
Tensor.resize_as_ = weft.resize_as_ = resize_as_
weft.adjoint = Tensor.adjoint
for _f in (broadcast_shapes, broadcast_tensors):
    setattr(weft, _f.__name__, _f)


def _view_in_place(name: str) -> None:
    f = getattr(weft, name)

    def twin(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return _C._set_geometry_of(self, f(self, *args, **kwargs))

    twin.__name__ = twin.__qualname__ = name + "_"
    twin.__doc__ = f"In-place twin of ``{name}``."
    setattr(Tensor, name + "_", twin)


for _name in ("squeeze", "unsqueeze", "transpose", "t", "swapaxes", "swapdims", "as_strided"):
    _view_in_place(_name)
