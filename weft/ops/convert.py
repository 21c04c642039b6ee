"""Conversion between types, devices and libraries: ``to`` and its short forms, ``numpy``, ``view(dtype)``."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor, dtype
from weft._environment import at_line
from weft.ops import op
from weft.ops.memory import laid_out, order_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@op(function=False)
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return the tensor with another dtype; itself if nothing changes.

    >>> weft.ones(2).to(weft.int64)
    tensor([1, 1])
    """
    wanted, copy = kwargs.pop("dtype", None), kwargs.pop("copy", False)
    other = kwargs.pop("other", None)
    kwargs.pop("non_blocking", None)
    memory_format = kwargs.pop("memory_format", None)
    place = kwargs.pop("device", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    flags = []
    for a in args:
        if isinstance(a, Tensor):
            other = a
        elif isinstance(a, bool):
            flags.append(a)
        elif isinstance(a, dtype) or a in (float, int, bool, complex):
            wanted = a
        elif a is not None:
            place = a
    if len(flags) > 1:
        copy = flags[1]
    if place is not None:
        weft._environment.require_cpu(place)
    if other is not None:
        wanted = wanted or other.dtype
    keeps_order = memory_format is None or memory_format is weft.preserve_format
    if wanted is not None and not (isinstance(wanted, dtype) and wanted == self.dtype):
        return laid_out(_C._cast(self, wanted), memory_format)
    if copy or not (keeps_order or order_of(self) is memory_format):
        return self.clone(memory_format=memory_format)
    return self


def _short_form(name: str, kind: dtype) -> None:
    def cast(self: Tensor, memory_format: Any = None) -> Tensor:
        if memory_format is None:
            return _C._cast(self, kind)
        return to(self, kind, memory_format=memory_format)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"""Return the tensor as {kind}.

    >>> weft.ones(1).{name}().dtype
    {kind}
    """
    op(name=name, function=False)(cast)


for _name, _kind in {
    "float": weft.float32, "double": weft.float64, "half": weft.float16, "bfloat16": weft.bfloat16,
    "int": weft.int32, "long": weft.int64, "short": weft.int16, "char": weft.int8,
    "byte": weft.uint8, "bool": weft._C.bool, "cfloat": weft.complex64, "cdouble": weft.complex128,
}.items():  # fmt: skip
    _short_form(_name, _kind)


@op(function=False)
def type_as(self: Tensor, other: Any) -> Tensor:
    """Return the tensor with the dtype of ``other``.

    >>> weft.ones(1).type_as(weft.arange(1))
    tensor([1])
    """
    # Checked here: the check of types is most of what a call without a cast would cost.
    if not isinstance(other, Tensor):
        raise TypeError(f"type_as: argument 'other' must be Tensor, not {type(other).__name__}")
    return _C._cast(self, other.dtype)


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """Return a NumPy array on the same memory.

    >>> weft.ones(2).numpy()
    array([1., 1.], dtype=float32)
    """
    import numpy

    if self.requires_grad and not force and weft.is_grad_enabled():
        raise RuntimeError(
            at_line(
                "Can't call numpy() on Tensor that requires grad: NumPy does not record what it "
                "computes. Use tensor.detach().numpy() instead."
            )
        )
    t = self.detach() if force else self
    if t.layout is not weft.strided:
        raise TypeError(
            at_line("numpy: can't convert a sparse tensor to NumPy: use tensor.to_dense() first")
        )
    if t.dtype == weft.bfloat16:
        raise TypeError(
            at_line("numpy: NumPy has no bfloat16; convert it first: tensor.float().numpy()")
        )
    return (
        numpy.asarray(memoryview(t)) if t.numel() else numpy.empty(tuple(t.shape), _numpy_name(t))
    )


def _numpy_name(t: Tensor) -> str:
    return str(t.dtype).rpartition(".")[2]


Tensor.numpy = numpy
Tensor.device = property(lambda self: weft._environment.CPU, doc="Where the tensor lives: the CPU.")
Tensor.is_cuda = property(lambda self: False, doc="Whether it is on a GPU: weft has none.")
Tensor.is_quantized = property(lambda self: False, doc="Whether it is quantised.")
Tensor.is_meta = property(lambda self: False, doc="Whether it has no memory.")
Tensor.get_device = lambda self: -1
Tensor.element_size = lambda self: self.itemsize
Tensor.is_pinned = lambda self, device=None: False
Tensor.real = property(lambda self: weft.real(self), doc="The real part.")
Tensor.imag = property(lambda self: weft.imag(self), doc="The imaginary part.")
Tensor.is_conj = lambda self: False
Tensor.is_neg = lambda self: False
Tensor.resolve_neg = lambda self: self
Tensor.__dlpack__ = lambda self, **kwargs: _C._to_dlpack(self)
Tensor.__dlpack_device__ = lambda self: (1, 0)
Tensor.register_hook = lambda self, hook: _C._register_hook(self, hook)
Tensor.register_post_accumulate_grad_hook = lambda self, hook: (
    _C._register_post_accumulate_grad_hook(self, hook)
)
Tensor.where = lambda self, condition, other: weft.where(condition, self, other)


def _reflected(name: str, f: Any) -> None:
    def method(self: Tensor, other: Any) -> Tensor:
        if not isinstance(self, Tensor):
            raise TypeError(
                f"{name}: the first argument must be a Tensor, not {type(self).__name__}"
            )
        return f(other, self)

    method.__name__ = method.__qualname__ = name
    setattr(Tensor, name, method)


for _n, _f in {
    "__radd__": weft.add, "__rsub__": weft.sub, "__rmul__": weft.mul, "__rdiv__": weft.div,
    "__rtruediv__": weft.div, "__rfloordiv__": weft.floor_divide, "__rmod__": weft.remainder,
    "__rpow__": weft.pow,
}.items():  # fmt: skip
    _reflected(_n, _f)


def is_floating_point(input: Tensor) -> bool:
    """Say whether the elements are floating point.

    >>> weft.is_floating_point(weft.ones(1))
    True
    """
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Say whether the elements are complex.

    >>> weft.is_complex(weft.ones(1))
    False
    """
    return input.is_complex()


def numel(input: Tensor) -> int:
    """Return the number of elements.

    >>> weft.numel(weft.ones(2, 3))
    6
    """
    return input.numel()


def is_nonzero(input: Tensor) -> bool:
    """Say whether the only element is not zero.

    >>> weft.is_nonzero(weft.tensor([0.0]))
    False
    """
    return bool(input)


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """Return the dtype that arithmetic on both would give.

    >>> weft.result_type(weft.ones(1, dtype=weft.int32), 1.0)
    torch.float32
    """
    a = tensor1 if isinstance(tensor1, Tensor) else weft.tensor(tensor1)
    if isinstance(tensor1, Tensor):
        return (
            weft.add(tensor1[:0] if tensor1.dim() else tensor1, tensor2).dtype
            if not isinstance(tensor2, Tensor)
            else _C._result_type(tensor1, tensor2)
        )
    return (
        result_type(tensor2, tensor1)
        if isinstance(tensor2, Tensor)
        else _C._promote(a.dtype, weft.tensor(tensor2).dtype)
    )


for _f in (is_floating_point, is_complex, is_nonzero, numel, result_type):
    setattr(weft, _f.__name__, _f)
Tensor.is_nonzero = is_nonzero
