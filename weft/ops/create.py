"""Tensors made from Python numbers, NumPy arrays and buffers."""

from __future__ import annotations

import itertools

import weft
from weft import _C
from weft._C import Tensor
from weft._environment import at_line
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import dtype as DType


def _read(data: Any, dtype: DType | None, copy: bool | None) -> Tensor:
    """Turn anything that holds numbers into a tensor; copy None: only if needed."""
    if type(data) in (list, tuple) and not _holds_arrays(data):
        return _C._from_numbers(data, dtype)
    if isinstance(data, Tensor):
        t = data.detach() if copy else data
        if dtype is not None and t.dtype != dtype:
            return _C._cast(t, dtype)
        return t.clone() if copy else t
    if hasattr(data, "__array_interface__") or hasattr(data, "__array__"):
        import numpy

        t = _on_array(numpy.asarray(data))
        if dtype is not None and t.dtype != dtype:
            return _C._cast(t, dtype)
        return t.clone(memory_format=weft.contiguous_format) if copy else t
    if isinstance(data, (list, tuple)) and _holds_arrays(data):
        import numpy

        return _read(numpy.array(_held(data, ())), dtype, copy)
    if isinstance(data, (str, bytes)):
        raise TypeError(at_line(f"tensor: a {type(data).__name__} holds no numbers"))
    if isinstance(data, (dict, set)):
        raise RuntimeError(at_line(f"tensor: could not infer the dtype of {type(data).__name__}"))
    if not isinstance(data, (list, tuple, int, float, complex)) and hasattr(data, "__getitem__"):
        data = list(itertools.islice(data, len(data)))  # an iterator of it may never end
    return _C._from_numbers(data, dtype)


def _on_array(array: Any) -> Tensor:
    """Make a tensor on the memory of a NumPy array."""
    if array.dtype.kind not in "biufc":
        raise TypeError(
            at_line(
                f"can't convert an array of NumPy's type {array.dtype}. The supported types are: "
                "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, "
                "uint8 and bool."
            )
        )
    if not array.dtype.isnative:
        raise ValueError(
            at_line(
                f"the array's elements, of type {array.dtype.str}, have another byte order than "
                "this machine. Convert it first: array.astype(array.dtype.newbyteorder('='))"
            )
        )
    t = _C._from_buffer(array)
    _C._set_cut(t, "NumPy: what is computed there is not recorded, and the tensor was made")
    return t


def _holds_arrays(data: Any) -> bool:
    depth = 0  # a list may contain itself
    while depth < 64 and isinstance(data, (list, tuple)) and len(data):
        data = data[0]
        depth += 1
    return hasattr(data, "__array_interface__") and hasattr(data, "__len__")


def _held(data: Any, outer: tuple[Any, ...]) -> Any:
    """Copy nested sequences: NumPy crashes if an element changes the list that it is reading."""
    if not isinstance(data, (list, tuple)):
        return data
    if len(outer) >= 64 or any(data is o for o in outer):
        raise ValueError(
            at_line("tensor: nested deeper than 64 sequences (or one contains itself)")
        )
    items = list.copy(data) if isinstance(data, list) else tuple.__getitem__(data, slice(None))
    return tuple(_held(item, (*outer, data)) for item in items)


def tensor(
    data: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor of ``data``, always a copy.

    >>> weft.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if device is not None:
        weft._environment.require_cpu(device)
    if pin_memory:
        raise NotImplementedError("tensor: pin_memory=True: weft has no device to pin memory for")
    if isinstance(data, Tensor):
        warn_of_copy("tensor(x)")
    with weft.no_grad():
        t = _read(data, dtype, True)
    if (recorder := _C._recorder()) is not None:
        recorder.literal(t, data)
    return t.requires_grad_(requires_grad)


def warn_of_copy(call: str) -> None:
    """Warn that a tensor made of a tensor is outside the graph."""
    import warnings

    warnings.warn(
        f"{call} copies a tensor and leaves its graph: write x.detach().clone(), or x.clone() to "
        "stay in the graph",
        stacklevel=3,
    )


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """Make a tensor of ``data`` without a copy where possible.

    >>> weft.as_tensor([1.0, 2.0])
    tensor([1., 2.])
    """
    if device is not None:
        weft._environment.require_cpu(device)
    return _read(data, dtype, None)


def asarray(
    obj: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Make a tensor of ``obj``; ``copy=False`` refuses to copy.

    >>> weft.asarray([1, 2])
    tensor([1, 2])
    """
    if device is not None:
        weft._environment.require_cpu(device)
    t = _read(obj, dtype, copy)
    if (
        copy is False
        and not (isinstance(obj, Tensor) and t is obj)
        and isinstance(obj, (list, tuple))
    ):
        raise ValueError("asarray: can't alias arbitrary sequence into a tensor.")
    return t.requires_grad_() if requires_grad and not t.requires_grad else t


def from_numpy(ndarray: Any) -> Tensor:
    """Make a tensor that shares the memory of a NumPy array.

    >>> import numpy
    >>> weft.from_numpy(numpy.array([1.0, 2.0], dtype=numpy.float32))
    tensor([1., 2.])
    """
    import numpy

    if not isinstance(ndarray, numpy.ndarray):
        raise TypeError(at_line(f"from_numpy: expected an array, got {type(ndarray).__name__}"))
    return _on_array(ndarray)


def frombuffer(
    buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """Make a tensor that shares the memory of a buffer.

    >>> weft.frombuffer(bytearray(b"ab"), dtype=weft.uint8)
    tensor([97, 98], dtype=torch.uint8)
    """
    view = memoryview(buffer).cast("B")
    size = weft.empty(0, dtype=dtype).itemsize
    if offset < 0 or offset > len(view) or (len(view) and offset >= len(view)):
        raise ValueError(
            f"frombuffer: offset {offset} is outside the {len(view)} bytes of the buffer"
        )
    n = (len(view) - offset) // size if count < 0 else count
    if count < 0 and (len(view) - offset) % size:
        raise ValueError(f"frombuffer: {len(view) - offset} bytes are no multiple of {size}")
    if n <= 0 or offset + n * size > len(view):
        raise ValueError(
            f"frombuffer: {n} elements of {size} bytes do not fit in {len(view)} bytes"
        )
    t = _C._from_buffer(view[offset : offset + n * size])
    t = t if dtype == weft.uint8 else t.view(dtype)
    return t.requires_grad_() if requires_grad else t


def from_dlpack(ext_tensor: Any) -> Tensor:
    """Make a tensor that shares the memory of another library's, by the DLPack protocol.

    >>> weft.from_dlpack(weft.arange(3))
    tensor([0, 1, 2])
    """
    capsule = ext_tensor.__dlpack__() if hasattr(ext_tensor, "__dlpack__") else ext_tensor
    return _C._from_dlpack(capsule)


@op(method=False, creation=True, derivative="a constant")
def scalar_tensor(s: Any, *, dtype: DType | None = None) -> Tensor:
    """Make a 0-d tensor of a number, of the default dtype.

    >>> weft.scalar_tensor(2)
    tensor(2.)
    """
    return tensor(s, dtype=dtype or weft.get_default_dtype())


@op(method=False, out=True, creation=True, derivative="a constant")
def range_(start: Any, end: Any, step: Any = 1, *, dtype: DType | None = None) -> Tensor:
    """Return the numbers from ``start`` to ``end``, both included, ``step`` apart.

    >>> weft.range(0, 2)
    tensor([0., 1., 2.])
    """
    kind = dtype or weft.get_default_dtype()
    whole = not (kind.is_floating_point or kind.is_complex)
    wide = weft.int64 if whole else weft.float64
    if not all(abs(x) < float("inf") for x in (start, end, step)):
        raise RuntimeError(f"range: unsupported range: {start} -> {end}, step {step}")
    if whole:
        start, end, step = int(start), int(end), int(step)
    if step == 0:
        raise RuntimeError("range: step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError(
            "range: upper bound and lower bound inconsistent with step sign: "
            f"{start} -> {end}, step {step}"
        )
    count = int((end - start) // step) + 1
    return (weft.arange(count, dtype=wide) * step + start).to(kind)


@op(method=False, out=True, creation=True, derivative="a constant")
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: DType | None = None
) -> Tensor:
    """Return ``base`` to the powers of ``steps`` numbers from ``start`` to ``end``.

    >>> weft.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    if dtype is None:
        ends = weft.promote_types(_type(start), _type(end))
        dtype = ends if ends.is_complex else weft.get_default_dtype()
    if not (dtype.is_floating_point or dtype.is_complex):
        start, end = _whole(start), _whole(end)
    wide = weft.complex128 if dtype.is_complex else weft.float64
    return weft.pow(base, weft.linspace(start, end, steps, dtype=wide)).to(dtype)


def _type(x: Any) -> DType:
    return x.dtype if isinstance(x, Tensor) else weft.tensor(x).dtype


def _whole(x: Any) -> Any:
    return x.long() if isinstance(x, Tensor) else int(x)


@op(method=False, creation=True, derivative="the elements are not set")
def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], *, dtype: DType | None = None
) -> Tensor:
    """Make a tensor whose elements are not set, with its dimensions in a given order in memory.

    >>> weft.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    order = list(physical_layout)
    if sorted(order) != list(range(len(size))):
        raise RuntimeError(
            f"empty_permuted: physical_layout must be a permutation of the {len(size)} dimensions "
            f"of size, got {order}"
        )
    t = weft.empty([size[d] for d in order], dtype=dtype)
    return t.permute([order.index(d) for d in range(len(order))])


@op(function=False, creation=True, derivative="the elements are not set")
def new_empty_strided(
    self: Tensor, size: Sequence[int], stride: Sequence[int], *, dtype: DType | None = None
) -> Tensor:
    """Make a tensor of this one's dtype with the given strides, whose elements are not set.

    >>> weft.ones(1).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return weft.empty_strided(size, stride, dtype=dtype or self.dtype)


for _f in (as_tensor, asarray, from_numpy, frombuffer, from_dlpack):
    setattr(weft, _f.__name__, _f)
