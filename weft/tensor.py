"""The methods of ``Tensor`` that are written in Python.

The type is native, and so are its operators and every method that is an op (those come from the
registry). What is left is here; ``install`` attaches it, once, when weft is imported.
"""

from __future__ import annotations

import sys

import weft
from weft import printing
from weft._environment import AGNOSTIC, at_line
from weft.ops.create import warn_of_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from weft import Tensor

__all__ = ["install"]


# ---- gradients --------------------------------------------------------------------------------


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Iterable[Tensor] | None = None,
) -> None:
    """Add the gradient of this tensor to the ``.grad`` of the leaves that led to it.

    Args:
        gradient: the vector of the vector-Jacobian product; not needed for one element.
        retain_graph: keep the graph for another walk (default: the value of ``create_graph``).
        create_graph: record the walk itself, for derivatives of higher order.
        inputs: only these get a gradient.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    weft.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


# ---- text -------------------------------------------------------------------------------------


def __repr__(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the tensor as text, as ``set_printoptions`` says.

    >>> repr(weft.ones(2))
    'tensor([1., 1.])'
    """
    return printing.tensor_repr(self, tensor_contents=tensor_contents)


def _repr_html_(self: Tensor) -> str:
    """Return the tensor for a notebook.

    >>> "int64 (3,)" in weft.arange(3)._repr_html_()
    True
    """
    from weft.view.html import tensor_html

    return tensor_html(self)


def __format__(self: Tensor, spec: str) -> str:
    """Format a tensor without dimensions like its number.

    >>> f"{weft.tensor(0.5):.3f}"
    '0.500'
    """
    if not self.shape and type(self) is weft.Tensor:
        return format(self.item(), spec)
    return object.__format__(self, spec)


# ---- as a container ---------------------------------------------------------------------------


def __iter__(self: Tensor) -> Iterator[Tensor]:
    """Iterate over the first dimension.

    >>> [int(x) for x in weft.arange(3)]
    [0, 1, 2]
    """
    if not self.shape:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def __complex__(self: Tensor) -> complex:
    """Return the only element as a complex number.

    >>> complex(weft.tensor(1 + 2j))
    (1+2j)
    """
    return complex(self.item())


def __reversed__(self: Tensor) -> Tensor:
    """Return the tensor with its first dimension reversed.

    >>> reversed(weft.arange(3))
    tensor([2, 1, 0])
    """
    return self.flip(0) if self.shape else self


def __contains__(self: Tensor, element: Any) -> bool:
    """Say whether any element equals ``element``, a number or a tensor.

    >>> 2 in weft.arange(3)
    True
    """
    if not isinstance(element, (weft.Tensor, int, float, complex)):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    return bool((self == element).any().item())


# ---- copies and files -------------------------------------------------------------------------


def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Return an independent copy of a leaf, with its ``.grad`` and its own attributes.

    >>> import copy
    >>> x = weft.ones(2, requires_grad=True)
    >>> copy.deepcopy(x)
    tensor([1., 1.], requires_grad=True)
    """
    if not self.is_leaf:
        raise RuntimeError(
            at_line(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                f"protocol at the moment: this one is the result of {self.grad_fn.name()}. Use "
                ".detach().clone() for its value."
            )
        )
    if id(self) in memo:
        return memo[id(self)]
    from copy import deepcopy

    with weft.no_grad():
        made = _as_kind(_on_copied_storage(self.detach(), memo), type(self))
    made.requires_grad_(self.requires_grad)
    memo[id(self)] = made
    if self.grad is not None:
        made.grad = deepcopy(self.grad, memo)
    for name, value in getattr(self, "__dict__", {}).items():
        setattr(made, name, deepcopy(value, memo))
    return made


def _on_copied_storage(t: Tensor, memo: dict[Any, Any]) -> Tensor:
    """Return the same view of a copy of the storage, which tensors copied together share again."""
    elements, rest = divmod(t._storage_bytes(), t.itemsize)
    if t.layout is not weft.strided or rest or not t.numel():
        return t.clone()
    key = ("storage", t._storage_ptr())
    if key not in memo:
        memo[key] = t.as_strided((elements,), (1,), 0).clone()
        memo[(*key, "kept")] = t  # while the copying lasts, the address stays its name
    flat = memo[key] if memo[key].dtype == t.dtype else memo[key].view(t.dtype)
    return flat.as_strided(t.shape, t.stride(), t.storage_offset()).detach()


def __copy__(self: Tensor) -> Tensor:
    """Return another tensor on the same memory, with the same attributes.

    >>> import copy
    >>> x = weft.zeros(2)
    >>> copy.copy(x).fill_(1)
    tensor([1., 1.])
    >>> x
    tensor([1., 1.])
    """
    made = _as_kind(self.detach(), type(self)).requires_grad_(self.requires_grad)
    for name, value in (getattr(self, "__dict__", None) or {}).items():
        setattr(made, name, value)
    return made


def __reduce_ex__(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Pickle by value: dtype, shape, strides, the memory from the first to the last element.

    Tensors that share memory are separate afterwards.

    >>> import pickle
    >>> pickle.loads(pickle.dumps(weft.arange(3)))
    tensor([0, 1, 2])
    """
    kind = None if type(self) is weft.Tensor else type(self)
    state = getattr(self, "__dict__", None) or None
    if self.layout is not weft.strided:
        coo = self.detach().to_sparse_coo()
        parts = coo._indices(), coo._values(), tuple(self.shape), coo.is_coalesced()
        name = str(self.layout).rpartition(".")[2]
        return _rebuild_sparse, (*parts, self.requires_grad, kind, state, name)
    data: Any = b""
    stride = self.stride()
    if self.numel():
        span = 1 + sum((n - 1) * step for n, step in zip(self.shape, stride))
        data = memoryview(self.detach().as_strided((span,), (1,)).view(weft.uint8))
        if protocol >= 5:  # from there on who pickles may take the memory as it is, uncopied
            from pickle import PickleBuffer

            data = PickleBuffer(data)
        else:
            data = bytes(data)
    dtype = str(self.dtype).rpartition(".")[2]
    return _rebuild, (data, dtype, tuple(self.shape), self.requires_grad, kind, state, stride)


def _rebuild(
    data: Any,
    dtype: str,
    shape: tuple[int, ...],
    requires_grad: bool,
    kind: type | None = None,
    state: dict[str, Any] | None = None,
    stride: tuple[int, ...] | None = None,
) -> Tensor:
    """Make the tensor that ``__reduce_ex__`` took apart."""
    element = getattr(weft, dtype)
    if data:
        writable = not memoryview(data).readonly
        flat = weft.frombuffer(data if writable else bytearray(data), dtype=element)
        made = (flat.reshape(shape) if stride is None else flat.as_strided(shape, stride)).detach()
    else:
        made = weft.empty(shape, dtype=element)
    return _dressed(made, requires_grad, kind, state)


def _rebuild_sparse(
    indices: Tensor,
    values: Tensor,
    shape: tuple[int, ...],
    coalesced: bool,
    requires_grad: bool,
    kind: type | None,
    state: dict[str, Any] | None,
    layout: str = "sparse_coo",
) -> Tensor:
    """Make the sparse tensor that ``__reduce_ex__`` took apart."""
    made = weft.sparse_coo_tensor(indices, values, shape, is_coalesced=coalesced)
    made = made.to_sparse(layout=getattr(weft, layout))
    return _dressed(made, requires_grad, kind, state)


def _dressed(
    made: Tensor, requires_grad: bool, kind: type | None, state: dict[str, Any] | None
) -> Tensor:
    """Return a tensor with the type and the attributes that it had."""
    if kind is not None:
        made = _as_kind(made, kind)
    for name, value in (state or {}).items():
        setattr(made, name, value)
    return made.requires_grad_() if requires_grad else made


def _as_kind(t: Tensor, kind: type) -> Tensor:
    """Return ``t`` as an instance of a subclass of ``Tensor``."""
    return t if type(t) is kind else weft._C._make_subclass(kind, t, False)


# ---- NumPy ------------------------------------------------------------------------------------


def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """Return a NumPy array that shares the memory where it can.

    >>> import numpy
    >>> numpy.asarray(weft.ones(2))
    array([1., 1.], dtype=float32)
    """
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(
                f"Unable to avoid copy while creating an array of {dtype} from a tensor of "
                f"{self.dtype}."
            )
        return array.astype(dtype)
    return array.copy() if copy else array


def __array_wrap__(
    self: Tensor, array: Any, context: Any = None, return_scalar: bool = False
) -> Tensor:
    """Turn what a NumPy function made of this tensor into a tensor again.

    >>> import numpy
    >>> numpy.sqrt(weft.ones(2))
    tensor([1., 1.])
    """
    return weft.from_numpy(array) if array.shape else weft.tensor(array.item())


# ---- types and devices ------------------------------------------------------------------------

_TYPE_NAMES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
    "ComplexFloatTensor": "complex64",
    "ComplexDoubleTensor": "complex128",
}


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """Return the name of the tensor's type or, given a dtype or such a name, convert.

    >>> weft.ones(2).type()
    'torch.FloatTensor'
    >>> weft.ones(2).type("torch.LongTensor")
    tensor([1, 1])
    >>> weft.ones(2).type(weft.float64)
    tensor([1., 1.], dtype=torch.float64)
    """
    if dtype is None:
        own = str(self.dtype).rpartition(".")[2]
        return next(f"torch.{name}" for name, element in _TYPE_NAMES.items() if element == own)
    if isinstance(dtype, str):
        package, _, name = dtype.rpartition(".")
        if package not in ("torch", "weft") or name not in _TYPE_NAMES:
            raise ValueError(f"invalid type: {dtype!r}")
        dtype = getattr(weft, _TYPE_NAMES[name])
    elif isinstance(dtype, type):
        if dtype.__name__ not in _TYPE_NAMES:
            raise ValueError(f"invalid type: {dtype!r}")
        dtype = getattr(weft, _TYPE_NAMES[dtype.__name__])
    return self.to(dtype)


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """Return the tensor itself: it is on the CPU already.

    >>> x = weft.ones(1)
    >>> x.cpu() is x
    True
    """
    return self if memory_format is None else self.to(memory_format=memory_format)


def cuda(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Raise: weft has no such device.

    >>> weft.ones(1).cuda()
    Traceback (most recent call last):
    RuntimeError: Tensor.cuda: weft has only the device 'cpu'. weft runs on CPUs; ...
    """
    raise RuntimeError(at_line(f"Tensor.cuda: weft has only the device 'cpu'. {AGNOSTIC}"))


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Raise: pinned memory is for copies to a device, and weft has only the CPU.

    >>> weft.ones(1).pin_memory()
    Traceback (most recent call last):
    RuntimeError: Tensor.pin_memory: weft has no device to pin memory for...
    """
    raise RuntimeError(
        at_line(
            "Tensor.pin_memory: weft has no device to pin memory for: only pin when "
            "torch.cuda.is_available()"
        )
    )


def _cuda_array_interface(self: Tensor) -> Any:
    """Not there, which libraries find out by asking."""
    raise AttributeError(
        "Can't get __cuda_array_interface__ on non-CUDA tensor type: weft has only the device 'cpu'"
    )


def is_shared(self: Tensor) -> bool:
    """Say whether other processes can see this memory.

    >>> weft.ones(1).is_shared()
    False
    """
    sharing = sys.modules.get("weft.multiprocessing.sharing")
    return sharing is not None and sharing.is_shared(self)


def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor's memory, with all its views, to where processes can share it.

    >>> x = weft.zeros(2)
    >>> x.share_memory_().is_shared()
    True
    """
    from weft.multiprocessing import sharing

    return sharing.share(self)


def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a new tensor with a copy of ``data``, of this tensor's dtype unless told otherwise.

    >>> weft.ones(1, dtype=weft.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """
    dtype = self.dtype if dtype is None else dtype
    if isinstance(data, weft.Tensor):
        warn_of_copy("new_tensor(x)")
        return data.detach().to(dtype, copy=True).requires_grad_(requires_grad)
    return weft.tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)


# ---- a Python function on each element --------------------------------------------------------


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by what a Python function makes of it; slow.

    >>> weft.arange(3).apply_(lambda x: x * 10)
    tensor([ 0, 10, 20])
    """
    _refuse_grad(self, "apply_")
    return _fill(self, [callable(x) for x in self.reshape(-1).tolist()])


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by a Python function of it and of another tensor's; slow.

    >>> weft.arange(3).map_(weft.tensor([5, 6, 7]), lambda x, y: x * y)
    tensor([ 0,  6, 14])
    """
    _refuse_grad(self, "map_")
    if tensor.dtype != self.dtype:
        raise TypeError(f"map_: expected {self.type()} for 'other' (got {tensor.type()})")
    others = tensor.detach().expand(self.shape).reshape(-1).tolist()
    pairs = zip(self.reshape(-1).tolist(), others)
    return _fill(self, [callable(x, y) for x, y in pairs])


def _refuse_grad(t: Tensor, name: str) -> None:
    """Refuse to change a tensor that requires a gradient by a Python function."""
    if t.requires_grad:
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead."
        )


def _fill(t: Tensor, values: list[Any]) -> Tensor:
    """Write ``values`` into ``t``, row by row."""
    if values:
        if not (t.is_floating_point() or t.is_complex()):
            values = [int(value) for value in values]
        t.copy_(weft.tensor(values, dtype=t.dtype).reshape(t.shape))
    return t


# ---- installation -----------------------------------------------------------------------------

_METHODS: dict[str, Any] = {
    "__array__": __array__,
    "__array_priority__": 1000,
    "__array_wrap__": __array_wrap__,
    "__complex__": __complex__,
    "__contains__": __contains__,
    "__cuda_array_interface__": property(_cuda_array_interface),
    "__copy__": __copy__,
    "__deepcopy__": __deepcopy__,
    "__format__": __format__,
    "__iter__": __iter__,
    "__reduce_ex__": __reduce_ex__,
    "__repr__": __repr__,
    "__reversed__": __reversed__,
    "__str__": __repr__,
    "_repr_html_": _repr_html_,
    "apply_": apply_,
    "backward": backward,
    "cpu": cpu,
    "cuda": cuda,
    "is_shared": is_shared,
    "map_": map_,
    "new_tensor": new_tensor,
    "pin_memory": pin_memory,
    "share_memory_": share_memory_,
    "type": type_,
}

# Those that few programs call are loaded when they are first called.
_LATER = {
    "sparse.compressed": "ccol_indices col_indices crow_indices row_indices to_sparse_csc to_sparse_csr",
    "compat.introspection": (
        "as_subclass dim_order fill_diagonal_ hardshrink is_distributed is_same_size is_signed map2_ "
        "new"
    ),
    "storage": "set_ storage untyped_storage",
}
_NEVER = "is_ipu is_maia is_mkldnn is_mps is_mtia is_nested is_vulkan is_xla is_xpu".split()


def _later(module: str, name: str) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(f"weft.{module}"), name)(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"``weft.{module}.{name}``, which see."
    return method


def install(Tensor: type) -> None:
    """Attach the methods of this module to the native type ``Tensor``.

    Native: the type allows its attributes to be set, special methods included.
    """
    for name, value in _METHODS.items():
        setattr(Tensor, name, value)
    for module, names in _LATER.items():
        for name in names.split():
            setattr(Tensor, name, _later(module, name))
    for name in _NEVER:
        setattr(Tensor, name, property(lambda self: False, doc="What no tensor of weft is."))
    Tensor.is_cpu = property(lambda self: True, doc="Whether it is on the CPU: always.")  # type: ignore[attr-defined]
    Tensor.const_data_ptr = Tensor.data_ptr  # type: ignore[attr-defined]


def _legacy_new(*args: Any, device: Any = None, dtype: Any = None) -> Tensor:
    """``Tensor(2, 3)`` is uninitialised, ``Tensor([1, 2])`` holds the numbers."""
    if device is not None:
        weft._environment.require_cpu(device)
    kind = dtype or weft.get_default_dtype()
    if len(args) != 1 or isinstance(args[0], int):
        return weft.empty(args or 0, dtype=kind)
    (data,) = args
    if isinstance(data, weft.Tensor):
        if dtype is not None and data.dtype != dtype:
            raise TypeError(at_line(f"expected a tensor of {dtype}, got one of {data.dtype}"))
        return data.detach()
    if isinstance(data, weft.Size):
        return weft.empty(data, dtype=kind)
    if not hasattr(data, "__len__"):
        raise TypeError(at_line(f"Tensor: expected sizes or a sequence, got {type(data).__name__}"))
    return weft.tensor(data).to(kind)


class _TypeOfTensors(type):
    """The type of ``FloatTensor`` and related classes: it makes tensors of one dtype and knows them."""

    _dtype: Any

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        """Make a tensor of sizes or of data."""
        return _legacy_new(*args, device=device, dtype=cls._dtype)

    def __instancecheck__(cls, x: Any) -> bool:
        """Say whether ``x`` is a tensor of the dtype."""
        return isinstance(x, weft.Tensor) and x.dtype == cls._dtype


def legacy_type(name: str) -> type:
    """Return ``FloatTensor`` or a related class: an older way to make tensors of a dtype.

    >>> weft.LongTensor([1, 2])
    tensor([1, 2])
    """
    return _TypeOfTensors(name, (), {"_dtype": getattr(weft, _TYPE_NAMES[name])})
