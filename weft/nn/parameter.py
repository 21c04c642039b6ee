"""Tensors that modules own: parameters, buffers, and those whose shape is not known yet."""

from __future__ import annotations

import weft
from weft import _C, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "factory_kwargs",
    "is_lazy",
]


class Parameter(Tensor):
    """A tensor that a module lists among its parameters when it is set as an attribute.

    Args:
        data: the tensor whose memory it takes over (default: an empty one).
        requires_grad: whether it gets a gradient.

    >>> weft.nn.Parameter(weft.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Make a parameter of ``data``, sharing its memory."""
        if data is None:
            data = weft.empty(0)
        elif not isinstance(data, Tensor):
            raise AttributeError(
                f"{cls.__name__}: data must be a Tensor, but '{type(data).__name__}' object has "
                "no attribute 'detach'"
            )
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients: "
                f"{cls.__name__} of {data.dtype} needs requires_grad=False"
            )
        return _C._make_subclass(cls, data, requires_grad)

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        """All is done by ``__new__``."""

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        """Return the tensor's text below a line that says what it is."""
        plain = self.detach().requires_grad_(self.requires_grad)
        return "Parameter containing:\n" + repr(plain)

    __str__ = __repr__


class _BufferKind(type(Tensor)):  # type: ignore[misc]  # mypy: the native type is Any
    """Makes ``isinstance(x, Buffer)`` ask the mark that ``Buffer(...)`` left on a tensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        """Say whether ``instance`` was made by ``Buffer``."""
        if cls is not Buffer:
            return type.__instancecheck__(cls, instance)
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False) is True


class Buffer(Tensor, metaclass=_BufferKind):
    """A tensor that a module lists among its buffers when it is set as an attribute.

    Args:
        data: the tensor whose memory it takes over (default: an empty one).
        persistent: whether it is part of the module's ``state_dict``.

    >>> m = weft.nn.Module()
    >>> m.mean = weft.nn.Buffer(weft.zeros(2))
    >>> list(m.state_dict())
    ['mean']
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Tensor:
        """Return a tensor on the memory of ``data``, marked as a buffer."""
        made = weft.empty(0) if data is None else data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


# ---- not yet known ------------------------------------------------------------------------------

_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
    "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
    "Call `forward` to initialize the parameters before accessing their attributes."
)


def _refuse(name: str) -> Any:
    """Return a method that raises, since there are no elements yet."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            f"Attempted to use an uninitialized parameter in Tensor.{name}. Modules whose names "
            "begin with Lazy learn their shapes from the first batch: call the module once before "
            "using its parameters."
        )

    method.__name__ = name
    return method


_NEEDS_ELEMENTS = """
numel dim size stride item tolist numpy clone sum mean norm abs neg view reshape t transpose permute
matmul mm add sub mul div pow exp log add_ sub_ mul_ div_ fill_ zero_ normal_ uniform_ copy_ __len__
__getitem__ __setitem__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__
__matmul__ __rmatmul__ __pow__ __neg__ __iadd__ __isub__ __imul__ __itruediv__ __float__ __int__
__bool__ __array__ __iter__
""".split()


class UninitializedTensorMixin:
    """What parameters and buffers without a shape share."""

    cls_to_become: Any = None

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give this tensor a shape and uninitialised memory; it becomes an ordinary one.

        >>> p = weft.nn.UninitializedParameter()
        >>> p.materialize((2, 3))
        >>> p.shape
        torch.Size([2, 3])
        """
        me: Any = self
        dtype = me.data.dtype if dtype is None else dtype
        made = weft.empty(shape, dtype=dtype, device=device)
        me.__class__ = me.cls_to_become
        me.data = made

    @property
    def shape(self) -> Any:
        """Raise: there is none yet."""
        raise RuntimeError(_NO_SHAPE)

    def share_memory_(self) -> Any:
        """Raise: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        """Return its kind in angle brackets."""
        return f"<{type(self).__name__}>"

    __str__ = __repr__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return another one of the same kind."""
        if id(self) in memo:
            return memo[id(self)]
        me: Any = self
        made = type(self)(requires_grad=me.requires_grad, dtype=me.data.dtype)  # type: ignore[call-arg]
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle the kind and what is known."""
        me: Any = self
        return _rebuild, (type(self), me.requires_grad, me.data.dtype)


for _name in _NEEDS_ELEMENTS:
    setattr(UninitializedTensorMixin, _name, _refuse(_name))


def _rebuild(kind: Any, requires_grad: bool, dtype: Any) -> Any:
    """Make what ``__reduce_ex__`` took apart."""
    return kind(requires_grad=requires_grad, dtype=dtype)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape is not known yet; ``materialize`` makes it a ``Parameter``.

    >>> weft.nn.UninitializedParameter()
    <UninitializedParameter>
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> UninitializedParameter:
        """Make one without elements."""
        return _C._make_subclass(cls, weft.empty(0, device=device, dtype=dtype), requires_grad)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        """All is done by ``__new__``."""


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet; ``materialize`` makes it an ordinary tensor.

    >>> weft.nn.UninitializedBuffer()
    <UninitializedBuffer>
    """

    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        """Make one without elements."""
        made = _C._make_subclass(cls, weft.empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made

    def __init__(
        self,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> None:
        """All is done by ``__new__``."""


def is_lazy(param: Any) -> bool:
    """Say whether a tensor is still without a shape.

    >>> weft.nn.parameter.is_lazy(weft.nn.UninitializedParameter())
    True
    """
    return isinstance(param, UninitializedTensorMixin)


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Check the keyword arguments of a layer that go to functions which make tensors.

    Args:
        kwargs: ``device``, ``dtype``, ``memory_format``, or those under ``factory_kwargs``, where a
            layer uses one of these names for another thing.

    >>> weft.nn.factory_kwargs({"dtype": weft.float64, "factory_kwargs": {"device": "cpu"}})
    {'device': 'cpu', 'dtype': torch.float64}
    """
    given = dict(kwargs or {})
    made = dict(given.pop("factory_kwargs", {}))
    for name, value in given.items():
        if name not in ("device", "dtype", "memory_format"):
            raise TypeError(f"factory_kwargs: unexpected keyword argument '{name}'")
        if name in made:
            raise TypeError(f"factory_kwargs: {name} is given twice")
        made[name] = value
    return made
