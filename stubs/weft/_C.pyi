# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
# The types of weft/_C, as far as the registry of ops does not tell; the methods that are ops are added.
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, SupportsIndex, TypeVar, overload

import numpy.typing as npt
from typing_extensions import CapsuleType, ParamSpec, Self
from typing import TypeAlias
from weft._environment import device as _device_type
from weft._environment import layout as _layout_type
from weft._environment import memory_format as _memory_format_type
from weft.storage import TypedStorage, UntypedStorage

_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_bool: TypeAlias = builtins.bool
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_Number: TypeAlias = _int | _float | _bool | _complex
_Operand: TypeAlias = Tensor | _Number
_Ints: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device_type | _str | _int
_DType: TypeAlias = dtype
_Layout: TypeAlias = _layout_type
_MemoryFormat: TypeAlias = _memory_format_type
_OneIndex: TypeAlias = (
    _int | slice | Tensor | npt.NDArray[Any] | Sequence[Any] | _bool | SupportsIndex | None
)
_Index: TypeAlias = _OneIndex | tuple[Any, ...]
_Hook: TypeAlias = Callable[[Any], Any]

_P = ParamSpec("_P")
_R_co = TypeVar("_R_co", covariant=True)

class dtype:
    """The type of a tensor's elements."""

    @property
    def is_floating_point(self) -> _bool: ...
    @property
    def is_complex(self) -> _bool: ...
    @property
    def is_signed(self) -> _bool: ...
    @property
    def itemsize(self) -> _int: ...
    def to_real(self) -> dtype: ...
    def to_complex(self) -> dtype: ...

class Size(tuple[_int, ...]):
    """The shape of a tensor."""

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> _int: ...
    @overload
    def __getitem__(self, key: slice[Any, Any, Any], /) -> Size: ...
    def __add__(self, value: tuple[Any, ...], /) -> Size: ...
    def __mul__(self, value: SupportsIndex, /) -> Size: ...
    def __rmul__(self, value: SupportsIndex, /) -> Size: ...
    def numel(self) -> _int:
        """Return the product of the sizes."""

class Generator:
    """A stream of random numbers."""

    def __init__(self, device: _Device | None = ...) -> None: ...
    @property
    def device(self) -> _device_type: ...
    def manual_seed(self, seed: _int) -> Generator:
        """Start anew from a seed, and return the generator."""
    def seed(self) -> _int: ...
    def initial_seed(self) -> _int: ...
    def get_state(self) -> Tensor: ...
    def set_state(self, state: Tensor) -> Self: ...
    def clone_state(self) -> Generator: ...

class Node:
    """An operation that backward will run, on the tape."""

    @property
    def next_functions(self) -> tuple[tuple[Node | None, _int], ...]: ...
    @property
    def metadata(self) -> dict[_str, Any]: ...
    def name(self) -> _str: ...
    @property
    def variable(self) -> Tensor: ...
    @property
    def saved_tensors(self) -> tuple[Tensor, ...]: ...
    @property
    def origin(self) -> Any: ...
    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def __getattr__(self, name: _str) -> Any: ...

class RemovableHandle:
    """What takes a hook away again."""

    id: _int
    def remove(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...

_F = TypeVar("_F", bound=Callable[..., Any])

class FixedMode:
    # no_grad and enable_grad: also decorators, with parentheses and without.
    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, orig_func: _F, /) -> _F: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

class _HasForward(Protocol[_P, _R_co]):
    @property
    def forward(self) -> Callable[_P, _R_co]: ...

class ModuleBase:
    # A module is called as its forward is: with those arguments, for that result.
    def __call__(self: _HasForward[_P, _R_co], *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...

class Tensor:
    """An array of numbers that knows how it was computed."""

    @overload
    def __init__(self, *size: _int, device: _Device | None = None) -> None: ...
    @overload
    def __init__(self, data: Sequence[Any] | Tensor | npt.NDArray[Any], /) -> None: ...
    requires_grad: _bool
    data: Tensor
    @property
    def grad(self) -> Tensor | Any: ...  # None until backward has run
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @property
    def grad_fn(self) -> Node | Any: ...  # None for a leaf
    @property
    def shape(self) -> Size: ...
    @property
    def dtype(self) -> _DType: ...
    @property
    def device(self) -> _device_type: ...
    @property
    def layout(self) -> _Layout: ...
    @property
    def is_leaf(self) -> _bool: ...
    @property
    def is_sparse(self) -> _bool: ...
    @property
    def is_sparse_csr(self) -> _bool: ...
    @property
    def is_quantized(self) -> _bool: ...
    @property
    def is_cpu(self) -> _bool: ...
    @property
    def is_cuda(self) -> _bool: ...
    @property
    def is_ipu(self) -> _bool: ...
    @property
    def is_maia(self) -> _bool: ...
    @property
    def is_meta(self) -> _bool: ...
    @property
    def is_mkldnn(self) -> _bool: ...
    @property
    def is_mps(self) -> _bool: ...
    @property
    def is_mtia(self) -> _bool: ...
    @property
    def is_nested(self) -> _bool: ...
    @property
    def is_vulkan(self) -> _bool: ...
    @property
    def is_xla(self) -> _bool: ...
    @property
    def is_xpu(self) -> _bool: ...
    @property
    def itemsize(self) -> _int: ...
    @property
    def nbytes(self) -> _int: ...
    @property
    def ndim(self) -> _int: ...
    @property
    def output_nr(self) -> _int: ...
    @property
    def retains_grad(self) -> _bool: ...
    @property
    def H(self) -> Tensor: ...
    @property
    def T(self) -> Tensor: ...
    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: _Operand) -> None: ...
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: _Operand) -> None: ...
    @property
    def _base(self) -> Tensor | None: ...
    @property
    def _version(self) -> _int: ...
    def const_data_ptr(self) -> _int: ...
    def data_ptr(self) -> _int: ...
    def detach_(self) -> Self: ...
    def dim(self) -> _int: ...
    def is_signed(self) -> _bool: ...
    def is_same_size(self, other: Tensor) -> _bool: ...
    def ndimension(self) -> _int: ...
    def is_complex(self) -> _bool: ...
    def is_floating_point(self) -> _bool: ...
    def is_inference(self) -> _bool: ...
    def item(self) -> _int | _float | _bool | Any: ...  # complex for complex tensors
    def nelement(self) -> _int: ...
    def numel(self) -> _int: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Self: ...
    def retain_grad(self) -> None: ...
    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: _int) -> _int: ...
    @overload
    def stride(self, dim: None = None) -> tuple[_int, ...]: ...
    @overload
    def stride(self, dim: _int) -> _int: ...
    def storage_offset(self) -> _int: ...
    def tolist(self) -> Any: ...  # nested lists of numbers, or a number
    @overload
    def type(self, dtype: None = None, non_blocking: _bool = False) -> _str: ...
    @overload
    def type(
        self, dtype: _DType | _str | builtins.type[Tensor], non_blocking: _bool = False
    ) -> Tensor: ...
    @overload
    def to(
        self,
        dtype: _DType,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: _MemoryFormat | None = None,
    ) -> Tensor: ...
    @overload
    def to(
        self,
        device: _Device | None = None,
        dtype: _DType | None = None,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: _MemoryFormat | None = None,
    ) -> Tensor: ...
    @overload
    def to(
        self,
        other: Tensor,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: _MemoryFormat | None = None,
    ) -> Tensor: ...
    def numpy(self, *, force: _bool = False) -> npt.NDArray[Any]:
        """Return a NumPy array on the same memory."""
    def storage(self) -> TypedStorage: ...
    def untyped_storage(self) -> UntypedStorage: ...
    def element_size(self) -> _int: ...
    def get_device(self) -> _int: ...
    def is_conj(self) -> _bool: ...
    def is_neg(self) -> _bool: ...
    def is_pinned(self, device: _Device | None = None) -> _bool: ...
    def is_set_to(self, tensor: Tensor) -> _bool: ...
    def resolve_neg(self) -> Tensor: ...
    def adjoint(self) -> Tensor: ...
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(gradient)`` when the gradient is known; what it returns replaces it."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` after backward has added to its ``.grad``."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> Tensor: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        return_inverse: _bool = False,
        return_counts: _bool = False,
        dim: _int | None = None,
    ) -> tuple[Tensor, ...]: ...
    @overload
    def unique_consecutive(
        self,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> Tensor: ...
    @overload
    def unique_consecutive(
        self,
        return_inverse: _bool = False,
        return_counts: _bool = False,
        dim: _int | None = None,
    ) -> tuple[Tensor, ...]: ...
    def _indices(self) -> Tensor: ...
    def _values(self) -> Tensor: ...
    def _nnz(self) -> _int: ...
    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> npt.NDArray[Any]: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[_int, _int] | None = None,
        dl_device: tuple[_int, _int] | None = None,
        copy: _bool | None = None,
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __bool__(self) -> _bool: ...
    def __float__(self) -> _float: ...
    def __int__(self) -> _int: ...
    def __index__(self) -> _int: ...
    def __complex__(self) -> _complex: ...
    def __len__(self) -> _int: ...
    def __hash__(self) -> _int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __reversed__(self) -> Tensor: ...
    def __contains__(self, element: object, /) -> _bool: ...
    def __getitem__(self, index: _Index, /) -> Tensor: ...
    def __setitem__(self, index: _Index, value: _Operand, /) -> None: ...
    def __abs__(self) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __eq__(self, other: _Operand, /) -> Tensor: ...
    def __ne__(self, other: _Operand, /) -> Tensor: ...
    def __rdiv__(self, other: _Operand, /) -> Tensor: ...
    def __lt__(self, other: _Operand, /) -> Tensor: ...
    def __le__(self, other: _Operand, /) -> Tensor: ...
    def __gt__(self, other: _Operand, /) -> Tensor: ...
    def __ge__(self, other: _Operand, /) -> Tensor: ...
    def __add__(self, other: _Operand, /) -> Tensor: ...
    def __radd__(self, other: _Operand, /) -> Tensor: ...
    def __iadd__(self, other: _Operand, /) -> Self: ...
    def __sub__(self, other: _Operand, /) -> Tensor: ...
    def __rsub__(self, other: _Operand, /) -> Tensor: ...
    def __isub__(self, other: _Operand, /) -> Self: ...
    def __mul__(self, other: _Operand, /) -> Tensor: ...
    def __rmul__(self, other: _Operand, /) -> Tensor: ...
    def __imul__(self, other: _Operand, /) -> Self: ...
    def __truediv__(self, other: _Operand, /) -> Tensor: ...
    def __rtruediv__(self, other: _Operand, /) -> Tensor: ...
    def __itruediv__(self, other: _Operand, /) -> Self: ...
    def __floordiv__(self, other: _Operand, /) -> Tensor: ...
    def __rfloordiv__(self, other: _Operand, /) -> Tensor: ...
    def __ifloordiv__(self, other: _Operand, /) -> Self: ...
    def __mod__(self, other: _Operand, /) -> Tensor: ...
    def __rmod__(self, other: _Operand, /) -> Tensor: ...
    def __imod__(self, other: _Operand, /) -> Self: ...
    def __pow__(self, other: _Operand, /) -> Tensor: ...
    def __rpow__(self, other: _Operand, /) -> Tensor: ...
    def __ipow__(self, other: _Operand, /) -> Self: ...
    def __matmul__(self, other: _Operand, /) -> Tensor: ...
    def __rmatmul__(self, other: _Operand, /) -> Tensor: ...
    def __and__(self, other: _Operand, /) -> Tensor: ...
    def __rand__(self, other: _Operand, /) -> Tensor: ...
    def __iand__(self, other: _Operand, /) -> Self: ...
    def __or__(self, other: _Operand, /) -> Tensor: ...
    def __ror__(self, other: _Operand, /) -> Tensor: ...
    def __ior__(self, other: _Operand, /) -> Self: ...
    def __xor__(self, other: _Operand, /) -> Tensor: ...
    def __rxor__(self, other: _Operand, /) -> Tensor: ...
    def __ixor__(self, other: _Operand, /) -> Self: ...
    def __lshift__(self, other: _Operand, /) -> Tensor: ...
    def __rlshift__(self, other: _Operand, /) -> Tensor: ...
    def __rshift__(self, other: _Operand, /) -> Tensor: ...
    def __rrshift__(self, other: _Operand, /) -> Tensor: ...
    def __array_wrap__(
        self,
        array: Any,
        context: Any = None,
        return_scalar: _bool = False,
    ) -> Tensor:
        """Turn what a NumPy function made of this tensor into a tensor again.

        >>> import numpy
        >>> numpy.sqrt(weft.ones(2))
        tensor([1., 1.])
        """
    def __copy__(self) -> Tensor:
        """Return another tensor on the same memory, with the same attributes.

        >>> import copy
        >>> x = weft.zeros(2)
        >>> copy.copy(x).fill_(1)
        tensor([1., 1.])
        >>> x
        tensor([1., 1.])
        """
    def __deepcopy__(self, memo: dict[_int, Any]) -> Tensor:
        """Return an independent copy of a leaf, with its ``.grad`` and its own attributes.

        >>> import copy
        >>> x = weft.ones(2, requires_grad=True)
        >>> copy.deepcopy(x)
        tensor([1., 1.], requires_grad=True)
        """
    def _repr_html_(self) -> Self:
        """Return the tensor for a notebook.

        >>> "int64 (3,)" in weft.arange(3)._repr_html_()
        True
        """
    def abs(self) -> Tensor:
        """The absolute value."""
    def abs_(self) -> Self:
        """The absolute value."""
    def absolute(self) -> Tensor:
        """The absolute value."""
    def absolute_(self) -> Self:
        """The absolute value."""
    def acos(self) -> Tensor:
        """The angle whose cosine is input."""
    def acos_(self) -> Self:
        """The angle whose cosine is input."""
    def acosh(self) -> Tensor:
        """The number whose hyperbolic cosine is input."""
    def acosh_(self) -> Self:
        """The number whose hyperbolic cosine is input."""
    @overload
    def add(self, other: Tensor | _Number) -> Tensor:
        """Adds other to input, element by element."""
    @overload
    def add(self, other: Tensor | _Number, *, alpha: Tensor | _Number) -> Tensor: ...
    @overload
    def add_(self, other: Tensor | _Number) -> Self:
        """Adds other to input, element by element."""
    @overload
    def add_(self, other: Tensor | _Number, *, alpha: Tensor | _Number) -> Self: ...
    def addbmm(
        self,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: Tensor | _Number = 1,
        alpha: Tensor | _Number = 1,
    ) -> Tensor:
        """beta * input + alpha times the sum of the products of two batches of matrices.

        >>> weft.addbmm(weft.zeros(1), weft.ones(5, 2, 3), weft.ones(5, 3, 2))
        tensor([[15., 15.],
                [15., 15.]])
        """
    def addbmm_(
        self,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: Tensor | _Number = 1,
        alpha: Tensor | _Number = 1,
    ) -> Self:
        """beta * input + alpha times the sum of the products of two batches of matrices.

        >>> weft.addbmm(weft.zeros(1), weft.ones(5, 2, 3), weft.ones(5, 3, 2))
        tensor([[15., 15.],
                [15., 15.]])
        """
    def addcdiv(
        self,
        tensor1: Tensor,
        tensor2: Tensor,
        *,
        value: Tensor | _Number = 1,
    ) -> Tensor:
        """input + value * tensor1 / tensor2.

        >>> weft.addcdiv(weft.ones(1), weft.ones(1), weft.ones(1), value=2)
        tensor([3.])
        """
    def addcdiv_(
        self,
        tensor1: Tensor,
        tensor2: Tensor,
        *,
        value: Tensor | _Number = 1,
    ) -> Self:
        """input + value * tensor1 / tensor2.

        >>> weft.addcdiv(weft.ones(1), weft.ones(1), weft.ones(1), value=2)
        tensor([3.])
        """
    def addcmul(
        self,
        tensor1: Tensor,
        tensor2: Tensor,
        *,
        value: Tensor | _Number = 1,
    ) -> Tensor:
        """input + value * tensor1 * tensor2.

        >>> weft.addcmul(weft.ones(1), weft.ones(1), weft.ones(1), value=2)
        tensor([3.])
        """
    def addcmul_(
        self,
        tensor1: Tensor,
        tensor2: Tensor,
        *,
        value: Tensor | _Number = 1,
    ) -> Self:
        """input + value * tensor1 * tensor2.

        >>> weft.addcmul(weft.ones(1), weft.ones(1), weft.ones(1), value=2)
        tensor([3.])
        """
    def addmm(
        self,
        mat1: Tensor,
        mat2: Tensor,
        *,
        beta: Tensor | _Number = 1,
        alpha: Tensor | _Number = 1,
    ) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2).

        >>> weft.addmm(weft.ones(2), weft.ones(2, 3), weft.ones(3, 2))
        tensor([[4., 4.],
                [4., 4.]])
        """
    def addmm_(
        self,
        mat1: Tensor,
        mat2: Tensor,
        *,
        beta: Tensor | _Number = 1,
        alpha: Tensor | _Number = 1,
    ) -> Self:
        """beta * input + alpha * (mat1 @ mat2).

        >>> weft.addmm(weft.ones(2), weft.ones(2, 3), weft.ones(3, 2))
        tensor([[4., 4.],
                [4., 4.]])
        """
    def addmv(
        self,
        mat: Tensor,
        vec: Tensor,
        *,
        beta: Tensor | _Number = 1,
        alpha: Tensor | _Number = 1,
    ) -> Tensor:
        """beta * input + alpha * (mat @ vec).

        >>> weft.addmv(weft.ones(2), weft.ones(2, 3), weft.ones(3))
        tensor([4., 4.])
        """
    def addmv_(
        self,
        mat: Tensor,
        vec: Tensor,
        *,
        beta: Tensor | _Number = 1,
        alpha: Tensor | _Number = 1,
    ) -> Self:
        """beta * input + alpha * (mat @ vec).

        >>> weft.addmv(weft.ones(2), weft.ones(2, 3), weft.ones(3))
        tensor([4., 4.])
        """
    def addr(
        self,
        vec1: Tensor,
        vec2: Tensor,
        *,
        beta: Tensor | _Number = 1,
        alpha: Tensor | _Number = 1,
    ) -> Tensor:
        """beta * input + alpha times the outer product of two vectors.

        >>> weft.addr(weft.zeros(2, 2), weft.tensor([1.0, 2.0]), weft.tensor([3.0, 4.0]))
        tensor([[3., 4.],
                [6., 8.]])
        """
    def addr_(
        self,
        vec1: Tensor,
        vec2: Tensor,
        *,
        beta: Tensor | _Number = 1,
        alpha: Tensor | _Number = 1,
    ) -> Self:
        """beta * input + alpha times the outer product of two vectors.

        >>> weft.addr(weft.zeros(2, 2), weft.tensor([1.0, 2.0]), weft.tensor([3.0, 4.0]))
        tensor([[3., 4.],
                [6., 8.]])
        """
    @overload
    def all(self) -> Tensor:
        """Whether all elements are nonzero, or all along dim.

        >>> weft.tensor([True, False]).all()
        tensor(False)
        """
    @overload
    def all(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor: ...
    def allclose(
        self,
        other: Tensor,
        rtol: _float = 1e-05,
        atol: _float = 1e-08,
        equal_nan: _bool = False,
    ) -> _bool:
        """Say whether all elements are close, as ``isclose`` does.

        >>> weft.allclose(weft.ones(2), weft.ones(2))
        True
        """
    def amax(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """The largest value over dim; equal ones share the gradient.

        >>> weft.tensor([[1.0, 2.0], [4.0, 3.0]]).amax(1)
        tensor([2., 4.])
        """
    def amin(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """The smallest value over dim; equal ones share the gradient.

        >>> weft.tensor([[1.0, 2.0], [4.0, 3.0]]).amin(1)
        tensor([1., 3.])
        """
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False) -> _MinMax:
        """The smallest and the largest.

        >>> weft.aminmax(weft.tensor([1.0, 3.0])).max
        tensor(3.)
        """
    def angle(self) -> Tensor:
        """The angle of a complex number; of a real one, 0 or pi."""
    @overload
    def any(self) -> Tensor:
        """Whether any element is nonzero, or any along dim.

        >>> weft.tensor([True, False]).any()
        tensor(True)
        """
    @overload
    def any(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor: ...
    def apply_(self, callable: Callable[[Any], Any]) -> Self:
        """Replace each element by what a Python function makes of it; slow.

        >>> weft.arange(3).apply_(lambda x: x * 10)
        tensor([ 0, 10, 20])
        """
    def arccos(self) -> Tensor:
        """The angle whose cosine is input."""
    def arccos_(self) -> Self:
        """The angle whose cosine is input."""
    def arccosh(self) -> Tensor:
        """The number whose hyperbolic cosine is input."""
    def arccosh_(self) -> Self:
        """The number whose hyperbolic cosine is input."""
    def arcsin(self) -> Tensor:
        """The angle whose sine is input."""
    def arcsin_(self) -> Self:
        """The angle whose sine is input."""
    def arcsinh(self) -> Tensor:
        """The number whose hyperbolic sine is input."""
    def arcsinh_(self) -> Self:
        """The number whose hyperbolic sine is input."""
    def arctan(self) -> Tensor:
        """The angle whose tangent is input."""
    def arctan2(self, other: Tensor) -> Tensor:
        """The angle of the point (other, input)."""
    def arctan2_(self, other: Tensor) -> Self:
        """The angle of the point (other, input)."""
    def arctan_(self) -> Self:
        """The angle whose tangent is input."""
    def arctanh(self) -> Tensor:
        """The number whose hyperbolic tangent is input."""
    def arctanh_(self) -> Self:
        """The number whose hyperbolic tangent is input."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """The index of the largest element, along dim or of all.

        >>> weft.tensor([1.0, 3.0, 2.0]).argmax()
        tensor(1)
        """
    def argmin(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """The index of the smallest element, along dim or of all.

        >>> weft.tensor([1.0, 3.0, 2.0]).argmin()
        tensor(0)
        """
    def argsort(
        self,
        dim: _int = -1,
        descending: _bool = False,
        stable: _bool = False,
    ) -> Tensor:
        """Return the indices that sort along ``dim``.

        >>> weft.argsort(weft.tensor([3, 1, 2]))
        tensor([1, 2, 0])
        """
    def argwhere(self) -> Tensor:
        """The coordinates of the elements that are not zero, one in each row; with as_tuple=True, one tensor for each dimension.

        >>> weft.nonzero(weft.tensor([[0, 7], [5, 0]]))
        tensor([[0, 1],
                [1, 0]])
        """
    def as_strided(
        self,
        size: _int | Sequence[_int],
        stride: _int | Sequence[_int],
        storage_offset: _int | None = None,
    ) -> Tensor:
        """A view with any sizes, strides and offset that stay inside the storage.

        >>> weft.arange(4).as_strided((2, 2), (1, 1))
        tensor([[0, 1],
                [1, 2]])
        """
    def as_strided_(
        self,
        size: _int | Sequence[_int],
        stride: _int | Sequence[_int],
        storage_offset: _int | None = None,
    ) -> Self:
        """In-place twin of ``as_strided``."""
    def as_strided_scatter(
        self,
        src: Tensor,
        size: _int | Sequence[_int],
        stride: _int | Sequence[_int],
        storage_offset: _int | None = None,
    ) -> Tensor:
        """A copy of input with src written into the part that as_strided would show.

        >>> weft.as_strided_scatter(weft.zeros(4), weft.ones(2), (2,), (2,))
        tensor([1., 0., 1., 0.])
        """
    def as_subclass(self, cls: builtins.type) -> Any:
        """Return the same values as an instance of a subclass of Tensor; gradients flow.

        >>> class Named(weft.Tensor):
        ...     name = "mine"
        >>> weft.ones(2).as_subclass(Named).name
        'mine'
        """
    def asin(self) -> Tensor:
        """The angle whose sine is input."""
    def asin_(self) -> Self:
        """The angle whose sine is input."""
    def asinh(self) -> Tensor:
        """The number whose hyperbolic sine is input."""
    def asinh_(self) -> Self:
        """The number whose hyperbolic sine is input."""
    def atan(self) -> Tensor:
        """The angle whose tangent is input."""
    def atan2(self, other: Tensor) -> Tensor:
        """The angle of the point (other, input)."""
    def atan2_(self, other: Tensor) -> Self:
        """The angle of the point (other, input)."""
    def atan_(self) -> Self:
        """The angle whose tangent is input."""
    def atanh(self) -> Tensor:
        """The number whose hyperbolic tangent is input."""
    def atanh_(self) -> Self:
        """The number whose hyperbolic tangent is input."""
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
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
    def baddbmm(
        self,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: Tensor | _Number = 1,
        alpha: Tensor | _Number = 1,
    ) -> Tensor:
        """beta * input + alpha * (batch1 @ batch2), for batches of matrices.

        >>> weft.baddbmm(weft.ones(1), weft.ones(5, 2, 3), weft.ones(5, 3, 4)).shape
        torch.Size([5, 2, 4])
        """
    def baddbmm_(
        self,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: Tensor | _Number = 1,
        alpha: Tensor | _Number = 1,
    ) -> Self:
        """beta * input + alpha * (batch1 @ batch2), for batches of matrices.

        >>> weft.baddbmm(weft.ones(1), weft.ones(5, 2, 3), weft.ones(5, 3, 4)).shape
        torch.Size([5, 2, 4])
        """
    @overload
    def bernoulli(self, *, generator: Generator | None = None) -> Tensor:
        """Random zeros and ones: each element of input is the probability of a one.

        >>> weft.bernoulli(weft.tensor([0.0, 1.0]))
        tensor([0., 1.])
        """
    @overload
    def bernoulli(self, p: _float, *, generator: Generator | None = None) -> Tensor: ...
    @overload
    def bernoulli_(self, p: _float = 0.5, *, generator: Generator | None = None) -> Self:
        """Fills the tensor with zeros and ones: p is the probability of a one.

        >>> weft.empty(2).bernoulli_(1.0)
        tensor([1., 1.])
        """
    @overload
    def bernoulli_(self, p: Tensor, *, generator: Generator | None = None) -> Self: ...
    def bfloat16(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor as torch.bfloat16.

        >>> weft.ones(1).bfloat16().dtype
        torch.bfloat16
        """
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each whole number occurs, or the sum of the weights there.

        >>> weft.bincount(weft.tensor([0, 1, 1]))
        tensor([1, 2])
        """
    def bitwise_and(self, other: Tensor | _Number) -> Tensor:
        """The bits that both have."""
    def bitwise_and_(self, other: Tensor | _Number) -> Self:
        """The bits that both have."""
    def bitwise_left_shift(self, other: Tensor | _Number) -> Tensor:
        """Bits moved up by other places."""
    def bitwise_left_shift_(self, other: Tensor | _Number) -> Self:
        """Bits moved up by other places."""
    def bitwise_not(self) -> Tensor:
        """Every bit turned over."""
    def bitwise_not_(self) -> Self:
        """Every bit turned over."""
    def bitwise_or(self, other: Tensor | _Number) -> Tensor:
        """The bits that at least one has."""
    def bitwise_or_(self, other: Tensor | _Number) -> Self:
        """The bits that at least one has."""
    def bitwise_right_shift(self, other: Tensor | _Number) -> Tensor:
        """Bits moved down by other places."""
    def bitwise_right_shift_(self, other: Tensor | _Number) -> Self:
        """Bits moved down by other places."""
    def bitwise_xor(self, other: Tensor | _Number) -> Tensor:
        """The bits that exactly one has."""
    def bitwise_xor_(self, other: Tensor | _Number) -> Self:
        """The bits that exactly one has."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """The products of two batches of matrices of the same length.

        >>> weft.bmm(weft.ones(5, 2, 3), weft.ones(5, 3, 4)).shape
        torch.Size([5, 2, 4])
        """
    def bool(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor as torch.bool.

        >>> weft.ones(1).bool().dtype
        torch.bool
        """
    def broadcast_to(self, *size: _int | Sequence[_int]) -> Tensor:
        """Repeat dimensions of size one without a copy.

        >>> weft.ones(1, 2).broadcast_to((3, 2)).shape
        torch.Size([3, 2])
        """
    def byte(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor as torch.uint8.

        >>> weft.ones(1).byte().dtype
        torch.uint8
        """
    def cauchy_(
        self,
        median: _float = 0.0,
        sigma: _float = 1.0,
        *,
        generator: Generator | None = None,
    ) -> Self:
        """Fills the tensor with random numbers of the Cauchy distribution.

        >>> weft.empty(2).cauchy_().shape
        torch.Size([2])
        """
    def ccol_indices(self) -> Tensor:
        """Return where each column of a CSC matrix begins among its entries.

        >>> weft.eye(2).to_sparse_csc().ccol_indices()
        tensor([0, 1, 2])
        """
    def cdouble(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor as torch.complex128.

        >>> weft.ones(1).cdouble().dtype
        torch.complex128
        """
    def ceil(self) -> Tensor:
        """Rounds up."""
    def ceil_(self) -> Self:
        """Rounds up."""
    def cfloat(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor as torch.complex64.

        >>> weft.ones(1).cfloat().dtype
        torch.complex64
        """
    def char(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor as torch.int8.

        >>> weft.ones(1).char().dtype
        torch.int8
        """
    def cholesky(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Return the Cholesky factor of a positive-definite matrix.

        >>> weft.cholesky(weft.tensor([[4.0]]))
        tensor([[2.]])
        """
    def cholesky_inverse(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Return the inverse of A, given its Cholesky factor.

        >>> weft.cholesky_inverse(weft.tensor([[2.0]]))
        tensor([[0.2500]])
        """
    def cholesky_solve(
        self,
        L: Tensor,
        upper: _bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """Return the X of A X = B, given the Cholesky factor of A.

        >>> weft.cholesky_solve(weft.ones(1, 1), weft.tensor([[2.0]]))
        tensor([[0.2500]])
        """
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """input cut along dim into at most that many views of equal size, the last perhaps smaller.

        >>> weft.chunk(weft.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
        """
    @overload
    def clamp(
        self,
        min: Tensor | _Number | None = None,
        max: Tensor | _Number | None = None,
    ) -> Tensor:
        """input kept between min and max; either may be missing.

        >>> weft.tensor([-1.0, 0.5, 2.0]).clamp(min=0, max=1)
        tensor([0.0000, 0.5000, 1.0000])
        """
    @overload
    def clamp(self, min: Tensor | _Number, max: Tensor | _Number) -> Tensor: ...
    @overload
    def clamp_(
        self,
        min: Tensor | _Number | None = None,
        max: Tensor | _Number | None = None,
    ) -> Self:
        """input kept between min and max; either may be missing.

        >>> weft.tensor([-1.0, 0.5, 2.0]).clamp(min=0, max=1)
        tensor([0.0000, 0.5000, 1.0000])
        """
    @overload
    def clamp_(self, min: Tensor | _Number, max: Tensor | _Number) -> Self: ...
    def clamp_max(self, max: Tensor | _Number) -> Tensor:
        """input, or max where that is smaller."""
    def clamp_max_(self, max: Tensor | _Number) -> Self:
        """input, or max where that is smaller."""
    def clamp_min(self, min: Tensor | _Number) -> Tensor:
        """input, or min where that is larger."""
    def clamp_min_(self, min: Tensor | _Number) -> Self:
        """input, or min where that is larger."""
    @overload
    def clip(
        self,
        min: Tensor | _Number | None = None,
        max: Tensor | _Number | None = None,
    ) -> Tensor:
        """input kept between min and max; either may be missing.

        >>> weft.tensor([-1.0, 0.5, 2.0]).clamp(min=0, max=1)
        tensor([0.0000, 0.5000, 1.0000])
        """
    @overload
    def clip(self, min: Tensor | _Number, max: Tensor | _Number) -> Tensor: ...
    @overload
    def clip_(
        self,
        min: Tensor | _Number | None = None,
        max: Tensor | _Number | None = None,
    ) -> Self:
        """input kept between min and max; either may be missing.

        >>> weft.tensor([-1.0, 0.5, 2.0]).clamp(min=0, max=1)
        tensor([0.0000, 0.5000, 1.0000])
        """
    @overload
    def clip_(self, min: Tensor | _Number, max: Tensor | _Number) -> Self: ...
    def clone(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return a copy with its own memory; gradients flow through it.

        >>> weft.ones(1, 2, 2, 2).clone(memory_format=weft.channels_last).stride()
        (8, 1, 4, 2)
        """
    def coalesce(self) -> Tensor:
        """Return the sparse tensor with its indices in order, and values at the same place added up.

        >>> x = weft.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 5.0])
        >>> x.coalesce().values()
        tensor([2., 6.])
        """
    def col_indices(self) -> Tensor:
        """Return the column of each entry of a CSR matrix.

        >>> weft.eye(2).to_sparse_csr().col_indices()
        tensor([0, 1])
        """
    def combinations(self, r: _int = 2, with_replacement: _bool = False) -> Tensor:
        """Return all choices of ``r`` elements of a vector, in its order, one in each row.

        >>> weft.combinations(weft.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
        """
    def conj(self) -> Tensor:
        """The complex conjugates; a real tensor itself.

        >>> weft.conj(weft.tensor([1 + 2j]))
        tensor([1.-2.j])
        """
    def conj_physical(self) -> Tensor:
        """The complex conjugates, as new memory.

        >>> weft.conj_physical(weft.tensor([1 + 2j]))
        tensor([1.-2.j])
        """
    def conj_physical_(self) -> Self:
        """The complex conjugates, as new memory.

        >>> weft.conj_physical(weft.tensor([1 + 2j]))
        tensor([1.-2.j])
        """
    def contiguous(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """input itself if its elements lie in order, or in that of memory_format, else a copy that does.

        >>> weft.ones(2, 3).t().contiguous().stride()
        (2, 1)
        >>> weft.ones(1, 2, 2, 2).contiguous(memory_format=weft.channels_last).stride()
        (8, 1, 4, 2)
        """
    def copy_(self, src: Tensor | _Number, non_blocking: _bool = False) -> Self:
        """Writes src into this tensor, cast and broadcast as needed.

        >>> weft.zeros(2).copy_(weft.tensor([1, 2]))
        tensor([1., 2.])
        """
    def copysign(self, other: Tensor | _Number) -> Tensor:
        """The size of input with the sign of other."""
    def copysign_(self, other: Tensor | _Number) -> Self:
        """The size of input with the sign of other."""
    def corrcoef(self) -> Tensor:
        """Return the correlations of the rows of ``input``: covariances over both standard deviations.

        >>> weft.corrcoef(weft.tensor([[0.0, 2.0], [0.0, 4.0]]))
        tensor([[1., 1.],
                [1., 1.]])
        """
    def cos(self) -> Tensor:
        """The cosine."""
    def cos_(self) -> Self:
        """The cosine."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> Self:
        """The hyperbolic cosine."""
    def count_nonzero(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """How many elements are not zero.

        >>> weft.count_nonzero(weft.tensor([0, 1, 2]))
        tensor(2)
        """
    def cov(
        self,
        *,
        correction: _int = 1,
        fweights: Tensor | None = None,
        aweights: Tensor | None = None,
    ) -> Tensor:
        """Return the covariances of the rows of ``input``, whose columns are observations.

        >>> weft.cov(weft.tensor([[0.0, 2.0], [0.0, 4.0]]))
        tensor([[2., 4.],
                [4., 8.]])
        """
    def cpu(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor itself: it is on the CPU already.

        >>> x = weft.ones(1)
        >>> x.cpu() is x
        True
        """
    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """The vector products along a dimension of size 3 (by default the first such).

        >>> weft.cross(weft.tensor([1, 0, 0]), weft.tensor([0, 1, 0]))
        tensor([0, 0, 1])
        """
    def crow_indices(self) -> Tensor:
        """Return where each row of a CSR matrix begins among its entries, and where the last one ends.

        >>> weft.eye(2).to_sparse_csr().crow_indices()
        tensor([0, 1, 2])
        """
    def cuda(self, *args: Any, **kwargs: Any) -> Tensor:
        """Raise: weft has no such device.

        >>> weft.ones(1).cuda()
        Traceback (most recent call last):
        RuntimeError: Tensor.cuda: weft has only the device 'cpu'. weft runs on CPUs; ...
        """
    def cummax(self, dim: _int) -> _ValuesIndices:
        """The running maximum along dim, and where it was met.

        >>> weft.tensor([1, 3, 2]).cummax(0).values
        tensor([1, 3, 3])
        """
    def cummin(self, dim: _int) -> _ValuesIndices:
        """The running minimum along dim, and where it was met.

        >>> weft.tensor([3, 1, 2]).cummin(0).values
        tensor([3, 1, 1])
        """
    def cumprod(self, dim: _int, *, dtype: _DType | None = None) -> Tensor:
        """The running product along dim.

        >>> weft.tensor([1, 2, 3]).cumprod(0)
        tensor([1, 2, 6])
        """
    def cumprod_(self, dim: _int, *, dtype: _DType | None = None) -> Self:
        """The running product along dim.

        >>> weft.tensor([1, 2, 3]).cumprod(0)
        tensor([1, 2, 6])
        """
    def cumsum(self, dim: _int, *, dtype: _DType | None = None) -> Tensor:
        """The running sum along dim.

        >>> weft.tensor([1, 2, 3]).cumsum(0)
        tensor([1, 3, 6])
        """
    def cumsum_(self, dim: _int, *, dtype: _DType | None = None) -> Self:
        """The running sum along dim.

        >>> weft.tensor([1, 2, 3]).cumsum(0)
        tensor([1, 3, 6])
        """
    def deg2rad(self) -> Tensor:
        """Degrees to radians."""
    def deg2rad_(self) -> Self:
        """Degrees to radians."""
    def dense_dim(self) -> _int:
        """Return the number of dimensions that are not sparse.

        >>> weft.ones(2, 3).to_sparse(1).dense_dim()
        1
        """
    def det(self) -> Tensor:
        """Return the determinant of a square matrix.

        >>> weft.det(weft.eye(2))
        tensor(1.)
        """
    def detach(self) -> Tensor:
        """The same elements, cut off from the graph.

        >>> weft.ones(2, requires_grad=True).detach().requires_grad
        False
        """
    def diag(self, diagonal: _int = 0) -> Tensor:
        """The diagonal of a matrix, or the matrix with a vector on its diagonal.

        >>> weft.diag(weft.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
        """
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices in dim1 and dim2 that have the last dimension of input on a diagonal, zeros elsewhere.

        >>> weft.diag_embed(weft.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
        """
    def diagflat(self, offset: _int = 0) -> Tensor:
        """A matrix with all elements of input on its diagonal.

        >>> weft.diagflat(weft.tensor([[1], [2]]))
        tensor([[1, 0],
                [0, 2]])
        """
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The diagonal of two dimensions, as the last one.

        >>> weft.arange(4).view(2, 2).diagonal()
        tensor([0, 3])
        """
    def diagonal_scatter(
        self,
        src: Tensor,
        offset: _int = 0,
        dim1: _int = 0,
        dim2: _int = 1,
    ) -> Tensor:
        """A copy of input with src on the diagonal of two dimensions.

        >>> weft.diagonal_scatter(weft.zeros(2, 2), weft.ones(2))
        tensor([[1., 0.],
                [0., 1.]])
        """
    def diff(
        self,
        n: _int = 1,
        dim: _int = -1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """Return the ``n``-th differences of neighbours along ``dim``.

        >>> weft.diff(weft.tensor([1, 3, 6]))
        tensor([2, 3])
        """
    def digamma(self) -> Tensor:
        """The derivative of lgamma."""
    def digamma_(self) -> Self:
        """The derivative of lgamma."""
    def dim_order(self) -> tuple[_int, ...]:
        """Return the dimensions in the order in which they lie in memory, the widest steps first.

        >>> weft.zeros(2, 3).t().dim_order()
        (1, 0)
        """
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """Return the ``p``-norm of ``input - other``.

        >>> weft.dist(weft.tensor([3.0]), weft.tensor([1.0]))
        tensor(2.)
        """
    @overload
    def div(self, other: Tensor | _Number) -> Tensor:
        """Divides input by other, element by element."""
    @overload
    def div(self, other: Tensor | _Number, *, rounding_mode: _str | None) -> Tensor: ...
    @overload
    def div_(self, other: Tensor | _Number) -> Self:
        """Divides input by other, element by element."""
    @overload
    def div_(self, other: Tensor | _Number, *, rounding_mode: _str | None) -> Self: ...
    @overload
    def divide(self, other: Tensor | _Number) -> Tensor:
        """Divides input by other, element by element."""
    @overload
    def divide(self, other: Tensor | _Number, *, rounding_mode: _str | None) -> Tensor: ...
    @overload
    def divide_(self, other: Tensor | _Number) -> Self:
        """Divides input by other, element by element."""
    @overload
    def divide_(self, other: Tensor | _Number, *, rounding_mode: _str | None) -> Self: ...
    def dot(self, tensor: Tensor) -> Tensor:
        """The inner product of two vectors.

        >>> weft.dot(weft.tensor([2, 3]), weft.tensor([2, 1]))
        tensor(7)
        """
    def double(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor as torch.float64.

        >>> weft.ones(1).double().dtype
        torch.float64
        """
    @overload
    def dsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """input cut along the third dimension: into equal sections, or at the given indices.

        >>> [part.shape for part in weft.dsplit(weft.ones(1, 2, 4), 2)]
        [torch.Size([1, 2, 2]), torch.Size([1, 2, 2])]
        """
    @overload
    def dsplit(self, indices: _int | Sequence[_int]) -> tuple[Tensor, ...]: ...
    def eq(self, other: Tensor | _Number) -> Tensor:
        """Whether input equals other."""
    def eq_(self, other: Tensor | _Number) -> Self:
        """Whether input equals other."""
    def equal(self, other: Tensor) -> _bool:
        """Say whether shapes and all elements agree.

        >>> weft.equal(weft.ones(2), weft.ones(2))
        True
        """
    def erf(self) -> Tensor:
        """The error function."""
    def erf_(self) -> Self:
        """The error function."""
    def erfc(self) -> Tensor:
        """1 - erf(input), exact where that is small."""
    def erfc_(self) -> Self:
        """1 - erf(input), exact where that is small."""
    def erfinv(self) -> Tensor:
        """The number whose erf is input."""
    def erfinv_(self) -> Self:
        """The number whose erf is input."""
    def exp(self) -> Tensor:
        """e to the power of input."""
    def exp2(self) -> Tensor:
        """2 to the power of input."""
    def exp2_(self) -> Self:
        """2 to the power of input."""
    def exp_(self) -> Self:
        """e to the power of input."""
    @overload
    def expand(self, *size: _int, implicit: _bool = False) -> Tensor:
        """Dimensions of size one repeated without a copy; -1 leaves a size as it is.

        >>> weft.tensor([[1], [2]]).expand(2, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]])
        """
    @overload
    def expand(self, size: Sequence[_int], *, implicit: _bool = False) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor:
        """Expand to the shape of ``other``.

        >>> weft.ones(1, 2).expand_as(weft.ones(3, 2)).shape
        torch.Size([3, 2])
        """
    def expit(self) -> Tensor:
        """1 / (1 + exp(-input))."""
    def expit_(self) -> Self:
        """1 / (1 + exp(-input))."""
    def expm1(self) -> Tensor:
        """exp(input) - 1, exact near zero."""
    def expm1_(self) -> Self:
        """exp(input) - 1, exact near zero."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fills the tensor with random numbers of the exponential distribution lambd * exp(-lambd * x).

        >>> bool((weft.empty(9).exponential_() >= 0).all())
        True
        """
    def fill_(self, value: Tensor | _Number) -> Self:
        """A tensor like input with every element set to value.

        >>> weft.fill(weft.zeros(2), 3)
        tensor([3., 3.])
        """
    def fill_diagonal_(self, fill_value: _Number, wrap: _bool = False) -> Self:
        """Set the main diagonal.

        Args:
            self: a matrix, or a tensor of equal sizes.
            fill_value: what to set.
            wrap: in a matrix with more rows than columns, begin again after each block.

        >>> weft.zeros(2, 3).fill_diagonal_(1)
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
        """
    def fix(self) -> Tensor:
        """Rounds towards zero."""
    def fix_(self) -> Self:
        """Rounds towards zero."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """The dimensions from start_dim to end_dim joined into one.

        >>> weft.ones(2, 3).flatten().shape
        torch.Size([6])
        """
    @overload
    def flip(self, *dims: _int) -> Tensor:
        """A copy in which the given dimensions run backwards.

        >>> weft.flip(weft.tensor([[1, 2], [3, 4]]), (1,))
        tensor([[2, 1],
                [4, 3]])
        """
    @overload
    def flip(self, dims: Sequence[_int]) -> Tensor: ...
    def fliplr(self) -> Tensor:
        """A copy with the columns in reverse order.

        >>> weft.fliplr(weft.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
        """
    def flipud(self) -> Tensor:
        """A copy with the rows in reverse order.

        >>> weft.flipud(weft.tensor([1, 2]))
        tensor([2, 1])
        """
    def float(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor as torch.float32.

        >>> weft.ones(1).float().dtype
        torch.float32
        """
    def float_power(self, exponent: Tensor | _Number) -> Tensor:
        """input to the power of exponent, in double precision.

        >>> weft.float_power(weft.tensor([2, 3]), 2)
        tensor([4., 9.], dtype=torch.float64)
        """
    def float_power_(self, exponent: Tensor | _Number) -> Self:
        """input to the power of exponent, in double precision.

        >>> weft.float_power(weft.tensor([2, 3]), 2)
        tensor([4., 9.], dtype=torch.float64)
        """
    def floor(self) -> Tensor:
        """Rounds down."""
    def floor_(self) -> Self:
        """Rounds down."""
    def floor_divide(self, other: Tensor | _Number) -> Tensor:
        """Divides and rounds down, element by element; the result is piecewise constant, so its gradient is zero."""
    def floor_divide_(self, other: Tensor | _Number) -> Self:
        """Divides and rounds down, element by element; the result is piecewise constant, so its gradient is zero."""
    def fmax(self, other: Tensor) -> Tensor:
        """The larger of the two; a number wins over NaN."""
    def fmin(self, other: Tensor) -> Tensor:
        """The smaller of the two; a number wins over NaN."""
    def fmod(self, other: Tensor | _Number) -> Tensor:
        """The remainder with the sign of input, as C's fmod gives."""
    def fmod_(self, other: Tensor | _Number) -> Self:
        """The remainder with the sign of input, as C's fmod gives."""
    def frac(self) -> Tensor:
        """What is left of input after trunc."""
    def frac_(self) -> Self:
        """What is left of input after trunc."""
    def frexp(self) -> _MantissaExponent:
        """input as mantissa * 2 ** exponent, with 0.5 <= |mantissa| < 1.

        >>> weft.frexp(weft.tensor([8.0])).exponent
        tensor([4], dtype=torch.int32)
        """
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """For every element of index, the element of input that it names along dim.

        >>> weft.gather(weft.tensor([[1, 2], [3, 4]]), 1, weft.tensor([[0, 0], [1, 0]]))
        tensor([[1, 1],
                [4, 3]])
        """
    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisor.

        >>> weft.gcd(weft.tensor([4]), weft.tensor([6]))
        tensor([2])
        """
    def gcd_(self, other: Tensor) -> Self:
        """The greatest common divisor.

        >>> weft.gcd(weft.tensor([4]), weft.tensor([6]))
        tensor([2])
        """
    def ge(self, other: Tensor | _Number) -> Tensor:
        """Whether input is at least other."""
    def ge_(self, other: Tensor | _Number) -> Self:
        """Whether input is at least other."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Self:
        """Fills the tensor with the number of trials until the first success, whose probability is p.

        >>> bool((weft.empty(9).geometric_(0.5) >= 1).all())
        True
        """
    def geqrf(self, *, out: Tensor | None = None) -> _ATau:
        """Return a QR decomposition as LAPACK leaves it: R above reflections, and their factors.

        >>> weft.geqrf(weft.tensor([[3.0], [4.0]])).tau
        tensor([1.6000])
        """
    def ger(self, vec2: Tensor) -> Tensor:
        """Every element of one vector times every element of another.

        >>> weft.outer(weft.tensor([1, 2]), weft.tensor([3, 4]))
        tensor([[3, 4],
                [6, 8]])
        """
    def greater(self, other: Tensor | _Number) -> Tensor:
        """Whether input is greater than other."""
    def greater_(self, other: Tensor | _Number) -> Self:
        """Whether input is greater than other."""
    def greater_equal(self, other: Tensor | _Number) -> Tensor:
        """Whether input is at least other."""
    def greater_equal_(self, other: Tensor | _Number) -> Self:
        """Whether input is at least other."""
    def gt(self, other: Tensor | _Number) -> Tensor:
        """Whether input is greater than other."""
    def gt_(self, other: Tensor | _Number) -> Self:
        """Whether input is greater than other."""
    def half(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor as torch.float16.

        >>> weft.ones(1).half().dtype
        torch.float16
        """
    def hardshrink(self, lambd: _float = 0.5) -> Tensor:
        """Set elements between ``-lambd`` and ``lambd`` to zero.

        >>> weft.tensor([-1.0, 0.2]).hardshrink()
        tensor([-1.,  0.])
        """
    def heaviside(self, values: Tensor) -> Tensor:
        """0 below zero, 1 above, values at zero."""
    def heaviside_(self, values: Tensor) -> Self:
        """0 below zero, 1 above, values at zero."""
    def histc(
        self,
        bins: _int = 100,
        min: _float = 0,
        max: _float = 0,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """Count the elements in each of ``bins`` equal parts between ``min`` and ``max``.

        >>> weft.histc(weft.tensor([1.0, 2.0, 1.0]), bins=2, min=0, max=3)
        tensor([2., 1.])
        """
    def histogram(
        self,
        bins: _int | Tensor | Sequence[_int] | Sequence[Tensor] = 100,
        *,
        range: Sequence[_float] | None = None,
        weight: Tensor | None = None,
        density: _bool = False,
        out: Tensor | None = None,
    ) -> _HistBin_edges:
        """Count the elements between neighbouring edges: ``bins`` equal steps over ``range``, or given ones.

        >>> weft.histogram(weft.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0)).hist
        tensor([2., 1.])
        """
    @overload
    def hsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """input cut into columns: into equal sections, or at the given indices.

        >>> weft.hsplit(weft.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
        """
    @overload
    def hsplit(self, indices: _int | Sequence[_int]) -> tuple[Tensor, ...]: ...
    def hypot(self, other: Tensor) -> Tensor:
        """The long side of a right triangle with these two."""
    def hypot_(self, other: Tensor) -> Self:
        """The long side of a right triangle with these two."""
    def i0(self) -> Tensor:
        """The modified Bessel function of order 0."""
    def i0_(self) -> Self:
        """The modified Bessel function of order 0."""
    def igamma(self, other: Tensor) -> Tensor:
        """The lower incomplete gamma function of order input, over gamma(input)."""
    def igamma_(self, other: Tensor) -> Self:
        """The lower incomplete gamma function of order input, over gamma(input)."""
    def igammac(self, other: Tensor) -> Tensor:
        """The upper incomplete gamma function of order input, over gamma(input)."""
    def igammac_(self, other: Tensor) -> Self:
        """The upper incomplete gamma function of order input, over gamma(input)."""
    @overload
    def index_add(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """A copy of input with the slices of source added to those that index names along dim.

        >>> weft.index_add(weft.zeros(3), 0, weft.tensor([0, 0, 2]), weft.ones(3))
        tensor([2., 0., 1.])
        """
    @overload
    def index_add(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        *,
        alpha: Tensor | _Number,
    ) -> Tensor: ...
    @overload
    def index_add_(self, dim: _int, index: Tensor, source: Tensor) -> Self:
        """A copy of input with the slices of source added to those that index names along dim.

        >>> weft.index_add(weft.zeros(3), 0, weft.tensor([0, 0, 2]), weft.ones(3))
        tensor([2., 0., 1.])
        """
    @overload
    def index_add_(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        *,
        alpha: Tensor | _Number,
    ) -> Self: ...
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """A copy of input with the slices of source in place of those that index names along dim.

        >>> weft.index_copy(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([1., 2.]))
        tensor([2., 0., 1.])
        """
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Self:
        """A copy of input with the slices of source in place of those that index names along dim.

        >>> weft.index_copy(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([1., 2.]))
        tensor([2., 0., 1.])
        """
    def index_fill(self, dim: _int, index: Tensor, value: Tensor | _Number) -> Tensor:
        """A copy of input with value in the slices that index names along dim.

        >>> weft.index_fill(weft.zeros(3), 0, weft.tensor([2, 0]), 7)
        tensor([7., 0., 7.])
        """
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor | _Number) -> Self:
        """A copy of input with value in the slices that index names along dim.

        >>> weft.index_fill(weft.zeros(3), 0, weft.tensor([2, 0]), 7)
        tensor([7., 0., 7.])
        """
    def index_put(
        self,
        indices: Sequence[Tensor | None],
        values: Tensor,
        accumulate: _bool = False,
    ) -> Tensor:
        """A copy of input with values written (or added, with accumulate) at the given indices or masks.

        >>> weft.index_put(weft.zeros(3), (weft.tensor([0, 2]),), weft.tensor(1.))
        tensor([1., 0., 1.])
        """
    def index_put_(
        self,
        indices: Sequence[Tensor | None],
        values: Tensor,
        accumulate: _bool = False,
    ) -> Self:
        """A copy of input with values written (or added, with accumulate) at the given indices or masks.

        >>> weft.index_put(weft.zeros(3), (weft.tensor([0, 2]),), weft.tensor(1.))
        tensor([1., 0., 1.])
        """
    def index_reduce(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        reduce: _str,
        *,
        include_self: _bool = True,
    ) -> Tensor:
        """A copy of input in which the slices of source are reduced ('prod', 'mean', 'amax' or 'amin') into those that index
        names along dim.

        >>> weft.index_reduce(weft.ones(2), 0, weft.tensor([0, 0]), weft.tensor([2., 3.]), "prod")
        tensor([6., 1.])
        """
    def index_reduce_(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        reduce: _str,
        *,
        include_self: _bool = True,
    ) -> Self:
        """A copy of input in which the slices of source are reduced ('prod', 'mean', 'amax' or 'amin') into those that index
        names along dim.

        >>> weft.index_reduce(weft.ones(2), 0, weft.tensor([0, 0]), weft.tensor([2., 3.]), "prod")
        tensor([6., 1.])
        """
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """The slices of input along dim that index names, in its order.

        >>> weft.index_select(weft.arange(6).view(3, 2), 0, weft.tensor([2, 0]))
        tensor([[4, 5],
                [0, 1]])
        """
    def indices(self) -> Tensor:
        """Return where the entries of a coalesced tensor are: ``[sparse_dim, nnz]``.

        >>> weft.eye(2).to_sparse().indices()
        tensor([[0, 1],
                [0, 1]])
        """
    def inner(self, other: Tensor) -> Tensor:
        """Inner products along the last dimension of both; a single element scales the other operand.

        >>> weft.inner(weft.tensor([1, 2, 3]), weft.tensor([0, 2, 1]))
        tensor(7)
        """
    def int(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor as torch.int32.

        >>> weft.ones(1).int().dtype
        torch.int32
        """
    def inverse(self, *, out: Tensor | None = None) -> Tensor:
        """Return the inverse of a square matrix.

        >>> weft.inverse(weft.tensor([[2.0]]))
        tensor([[0.5000]])
        """
    def is_coalesced(self) -> _bool:
        """Say whether the indices are known to be in order, each there once.

        >>> weft.ones(2).to_sparse().is_coalesced()
        True
        """
    def is_contiguous(self, memory_format: _MemoryFormat | None = None) -> _bool:
        """Say whether the elements lie in order without gaps, or in the order of ``memory_format``.

        >>> weft.ones(1, 2, 2, 2).is_contiguous(memory_format=weft.channels_last)
        False
        """
    def is_distributed(self) -> _bool:
        """Say whether a tensor is spread over several machines: never.

        >>> weft.is_distributed(weft.ones(1))
        False
        """
    def is_nonzero(self) -> _bool:
        """Say whether the only element is not zero.

        >>> weft.is_nonzero(weft.tensor([0.0]))
        False
        """
    def is_shared(self) -> _bool:
        """Say whether other processes can see this memory.

        >>> weft.ones(1).is_shared()
        False
        """
    def isclose(
        self,
        other: Tensor,
        rtol: _float = 1e-05,
        atol: _float = 1e-08,
        equal_nan: _bool = False,
    ) -> Tensor:
        """Say of each element whether ``|input - other| <= atol + rtol * |other|``.

        >>> weft.isclose(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 2.1]))
        tensor([ True, False])
        """
    def isfinite(self) -> Tensor:
        """Whether an element is neither infinite nor NaN."""
    def isin(
        self,
        test_elements: _Operand,
        *,
        assume_unique: _bool = False,
        invert: _bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Say of each element whether it is among ``test_elements``.

        >>> weft.isin(weft.tensor([1, 2]), weft.tensor([2, 3]))
        tensor([False,  True])
        """
    def isinf(self) -> Tensor:
        """Whether an element is infinite."""
    def isnan(self) -> Tensor:
        """Whether an element is not a number."""
    def isneginf(self) -> Tensor:
        """Whether an element is infinite and negative."""
    def isposinf(self) -> Tensor:
        """Whether an element is infinite and positive."""
    def isreal(self) -> Tensor:
        """Whether an element has no imaginary part."""
    def istft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        center: _bool = True,
        normalized: _bool = False,
        onesided: _bool | None = None,
        length: _int | None = None,
        return_complex: _bool = False,
    ) -> Tensor:
        """Return the signal of short-time spectra: the frames, overlapped, over the squared windows.

        >>> weft.istft(weft.stft(weft.ones(8), 4, return_complex=True), 4)
        tensor([1., 1., 1., 1., 1., 1., 1., 1.])
        """
    def kron(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return the Kronecker product: every element of input times all of other.

        >>> weft.kron(weft.tensor([1, 10]), weft.tensor([1, 2]))
        tensor([ 1,  2, 10, 20])
        """
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> _ValuesIndices:
        """The k-th smallest element along dim (from 1), and where it stood.

        >>> weft.tensor([3, 1, 2]).kthvalue(2).values
        tensor(2)
        """
    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiple.

        >>> weft.lcm(weft.tensor([4]), weft.tensor([6]))
        tensor([12])
        """
    def lcm_(self, other: Tensor) -> Self:
        """The least common multiple.

        >>> weft.lcm(weft.tensor([4]), weft.tensor([6]))
        tensor([12])
        """
    def ldexp(self, other: Tensor) -> Tensor:
        """input * 2 ** other."""
    def ldexp_(self, other: Tensor) -> Self:
        """input * 2 ** other."""
    def le(self, other: Tensor | _Number) -> Tensor:
        """Whether input is at most other."""
    def le_(self, other: Tensor | _Number) -> Self:
        """Whether input is at most other."""
    def lerp(self, end: Tensor, weight: Tensor | _Number) -> Tensor:
        """input + weight * (end - input), exact at both ends."""
    def lerp_(self, end: Tensor, weight: Tensor | _Number) -> Self:
        """input + weight * (end - input), exact at both ends."""
    def less(self, other: Tensor | _Number) -> Tensor:
        """Whether input is less than other."""
    def less_(self, other: Tensor | _Number) -> Self:
        """Whether input is less than other."""
    def less_equal(self, other: Tensor | _Number) -> Tensor:
        """Whether input is at most other."""
    def less_equal_(self, other: Tensor | _Number) -> Self:
        """Whether input is at most other."""
    def lgamma(self) -> Tensor:
        """The logarithm of the gamma function's size."""
    def lgamma_(self) -> Self:
        """The logarithm of the gamma function's size."""
    def linalg_matmul(self, other: Tensor) -> Tensor:
        """The matrix product; vectors and batches of matrices too, with broadcasting.

        >>> weft.matmul(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), weft.tensor([1.0, 1.0]))
        tensor([3., 7.])
        """
    def log(self) -> Tensor:
        """The natural logarithm."""
    def log10(self) -> Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> Self:
        """The logarithm to base 10."""
    def log1p(self) -> Tensor:
        """log(1 + input), exact near zero."""
    def log1p_(self) -> Self:
        """log(1 + input), exact near zero."""
    def log2(self) -> Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> Self:
        """The logarithm to base 2."""
    def log_(self) -> Self:
        """The natural logarithm."""
    def log_normal_(
        self,
        mean: _float = 1.0,
        std: _float = 2.0,
        *,
        generator: Generator | None = None,
    ) -> Self:
        """Fills the tensor with numbers whose logarithms have the normal distribution with this mean and std.

        >>> bool((weft.empty(9).log_normal_() > 0).all())
        True
        """
    def log_softmax(self, dim: _int, *, dtype: _DType | None = None) -> Tensor:
        """The logarithm of softmax, without overflow.

        >>> weft.log_softmax(weft.tensor([1.0, 1.0]), 0)
        tensor([-0.6931, -0.6931])
        """
    def logaddexp(self, other: Tensor) -> Tensor:
        """log(exp(input) + exp(other)), without overflow."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """log2(2 ** input + 2 ** other), without overflow."""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """log(cumsum(exp(input))) along dim, without overflow.

        >>> weft.zeros(2).logcumsumexp(0)
        tensor([0.0000, 0.6931])
        """
    def logdet(self) -> Tensor:
        """Return the logarithm of the determinant; not a number where that is negative.

        >>> weft.logdet(weft.eye(2))
        tensor(0.)
        """
    def logical_and(self, other: Tensor) -> Tensor:
        """Whether both are nonzero."""
    def logical_and_(self, other: Tensor) -> Self:
        """Whether both are nonzero."""
    def logical_not(self) -> Tensor:
        """Whether an element is zero."""
    def logical_not_(self) -> Self:
        """Whether an element is zero."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Whether at least one is nonzero."""
    def logical_or_(self, other: Tensor) -> Self:
        """Whether at least one is nonzero."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Whether exactly one is nonzero."""
    def logical_xor_(self, other: Tensor) -> Self:
        """Whether exactly one is nonzero."""
    @overload
    def logit(self) -> Tensor:
        """log(input / (1 - input)), the inverse of sigmoid; with eps, input is first kept between eps and 1 - eps."""
    @overload
    def logit(self, eps: _float | None = None) -> Tensor: ...
    @overload
    def logit_(self) -> Self:
        """log(input / (1 - input)), the inverse of sigmoid; with eps, input is first kept between eps and 1 - eps."""
    @overload
    def logit_(self, eps: _float | None = None) -> Self: ...
    def logsumexp(self, dim: _int | Sequence[_int], keepdim: _bool = False) -> Tensor:
        """log(sum(exp(input))) over dim, without overflow.

        >>> weft.logsumexp(weft.zeros(2), 0)
        tensor(0.6931)
        """
    def long(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor as torch.int64.

        >>> weft.ones(1).long().dtype
        torch.int64
        """
    def lt(self, other: Tensor | _Number) -> Tensor:
        """Whether input is less than other."""
    def lt_(self, other: Tensor | _Number) -> Self:
        """Whether input is less than other."""
    def lu(
        self,
        pivot: _bool = True,
        get_infos: _bool = False,
        *,
        out: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Return the factors L and U in one matrix and the exchanged rows, as ``linalg.lu_factor`` does.

        >>> weft.lu(weft.tensor([[0.0, 2.0], [4.0, 8.0]]))[1]
        tensor([2, 2], dtype=torch.int32)
        """
    def lu_solve(
        self,
        LU_data: Tensor,
        LU_pivots: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """Return the x with A x = b, from the factors of A.

        >>> weft.lu_solve(weft.ones(2, 1), *weft.lu(2 * weft.eye(2)))
        tensor([[0.5000],
                [0.5000]])
        """
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Self:
        """Replace each element by a Python function of it and of those of two tensors; slow.

        >>> weft.arange(2).map2_(weft.tensor([5, 6]), weft.tensor([1, 1]), lambda a, b, c: a + b + c)
        tensor([6, 8])
        """
    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Self:
        """Replace each element by a Python function of it and of another tensor's; slow.

        >>> weft.arange(3).map_(weft.tensor([5, 6, 7]), lambda x, y: x * y)
        tensor([ 0,  6, 14])
        """
    def masked_fill(self, mask: Tensor, value: Tensor | _Number) -> Tensor:
        """A copy of input with value where mask is true.

        >>> weft.masked_fill(weft.zeros(3), weft.tensor([True, False, True]), 1)
        tensor([1., 0., 1.])
        """
    def masked_fill_(self, mask: Tensor, value: Tensor | _Number) -> Self:
        """A copy of input with value where mask is true.

        >>> weft.masked_fill(weft.zeros(3), weft.tensor([True, False, True]), 1)
        tensor([1., 0., 1.])
        """
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """A copy of input with the elements of source, in order, where mask is true.

        >>> weft.masked_scatter(weft.zeros(3), weft.tensor([True, False, True]), weft.tensor([5., 6.]))
        tensor([5., 0., 6.])
        """
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """A copy of input with the elements of source, in order, where mask is true.

        >>> weft.masked_scatter(weft.zeros(3), weft.tensor([True, False, True]), weft.tensor([5., 6.]))
        tensor([5., 0., 6.])
        """
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements of input where mask is true, in one dimension.

        >>> weft.masked_select(weft.arange(3), weft.tensor([True, False, True]))
        tensor([0, 2])
        """
    def matmul(self, other: Tensor) -> Tensor:
        """The matrix product; vectors and batches of matrices too, with broadcasting.

        >>> weft.matmul(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), weft.tensor([1.0, 1.0]))
        tensor([3., 7.])
        """
    def matrix_exp(self) -> Tensor:
        """Return the exponential of a square matrix.

        >>> weft.matrix_exp(weft.zeros(1, 1))
        tensor([[1.]])
        """
    def matrix_power(self, n: _int, *, out: Tensor | None = None) -> Tensor:
        """Return a square matrix multiplied n times with itself; its inverse, where n is negative.

        >>> weft.matrix_power(weft.tensor([[2.0]]), 3)
        tensor([[8.]])
        """
    @overload
    def max(self) -> Tensor:
        """The largest element; with dim, the largest along it and where; with other, the larger of the two.

        >>> weft.tensor([1.0, 3.0, 2.0]).max()
        tensor(3.)
        >>> weft.tensor([1.0, 3.0, 2.0]).max(0).indices
        tensor(1)
        """
    @overload
    def max(self, other: Tensor) -> Tensor: ...
    @overload
    def max(self, dim: _int, keepdim: _bool = False) -> _ValuesIndices: ...
    def maximum(self, other: Tensor) -> Tensor:
        """The larger of the two, element by element; NaN wins."""
    @overload
    def mean(self, *, dtype: _DType | None = None) -> Tensor:
        """The mean of all elements, or over dim.

        >>> weft.tensor([1.0, 3.0]).mean()
        tensor(2.)
        """
    @overload
    def mean(
        self,
        dim: _int | Sequence[_int] | None,
        keepdim: _bool = False,
        *,
        dtype: _DType | None = None,
    ) -> Tensor: ...
    @overload
    def median(self) -> Tensor:
        """The lower median of all elements, or along dim with where it stood.

        >>> weft.tensor([3, 1, 2]).median()
        tensor(2)
        """
    @overload
    def median(self, dim: _int, keepdim: _bool = False) -> _ValuesIndices: ...
    @overload
    def min(self) -> Tensor:
        """The smallest element; with dim, the smallest along it and where; with other, the smaller of the two.

        >>> weft.tensor([1.0, 3.0, 2.0]).min()
        tensor(1.)
        """
    @overload
    def min(self, other: Tensor) -> Tensor: ...
    @overload
    def min(self, dim: _int, keepdim: _bool = False) -> _ValuesIndices: ...
    def minimum(self, other: Tensor) -> Tensor:
        """The smaller of the two, element by element; NaN wins."""
    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices.

        >>> weft.mm(weft.ones(2, 3), weft.ones(3, 2))
        tensor([[3., 3.],
                [3., 3.]])
        """
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> _ValuesIndices:
        """The most frequent element along dim, the smallest of several, and its last place.

        >>> weft.tensor([1, 2, 2]).mode().values
        tensor(2)
        """
    def moveaxis(
        self,
        source: _int | Sequence[_int],
        destination: _int | Sequence[_int],
    ) -> Tensor:
        """Dimensions at other places; the rest keep their order.

        >>> weft.ones(2, 3, 4).movedim(0, -1).shape
        torch.Size([3, 4, 2])
        """
    def movedim(
        self,
        source: _int | Sequence[_int],
        destination: _int | Sequence[_int],
    ) -> Tensor:
        """Dimensions at other places; the rest keep their order.

        >>> weft.ones(2, 3, 4).movedim(0, -1).shape
        torch.Size([3, 4, 2])
        """
    def msort(self, *, out: Tensor | None = None) -> Tensor:
        """Sort along the first dimension.

        >>> weft.msort(weft.tensor([3, 1, 2]))
        tensor([1, 2, 3])
        """
    def mul(self, other: Tensor | _Number) -> Tensor:
        """Multiplies input by other, element by element."""
    def mul_(self, other: Tensor | _Number) -> Self:
        """Multiplies input by other, element by element."""
    def multinomial(
        self,
        num_samples: _int,
        replacement: _bool = False,
        *,
        generator: Generator | None = None,
    ) -> Tensor:
        """Indices drawn at random from each row of input, which holds their weights.

        >>> weft.multinomial(weft.tensor([0.0, 3.0]), 2, replacement=True)
        tensor([1, 1])
        """
    def multiply(self, other: Tensor | _Number) -> Tensor:
        """Multiplies input by other, element by element."""
    def multiply_(self, other: Tensor | _Number) -> Self:
        """Multiplies input by other, element by element."""
    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector.

        >>> weft.mv(weft.ones(2, 3), weft.ones(3))
        tensor([3., 3.])
        """
    def mvlgamma(self, p: _int) -> Tensor:
        """The logarithm of the gamma function of p dimensions.

        >>> weft.mvlgamma(weft.tensor([1.0]), 1)
        tensor([0.])
        """
    def mvlgamma_(self, p: _int) -> Self:
        """The logarithm of the gamma function of p dimensions.

        >>> weft.mvlgamma(weft.tensor([1.0]), 1)
        tensor([0.])
        """
    def nan_to_num(
        self,
        nan: _float | None = None,
        posinf: _float | None = None,
        neginf: _float | None = None,
    ) -> Tensor:
        """NaN and infinities replaced: by nan (0), and by the largest and smallest finite numbers unless given.

        >>> weft.nan_to_num(weft.tensor([float("nan"), 1.0]))
        tensor([0., 1.])
        """
    def nan_to_num_(
        self,
        nan: _float | None = None,
        posinf: _float | None = None,
        neginf: _float | None = None,
    ) -> Self:
        """NaN and infinities replaced: by nan (0), and by the largest and smallest finite numbers unless given.

        >>> weft.nan_to_num(weft.tensor([float("nan"), 1.0]))
        tensor([0., 1.])
        """
    def nanmean(
        self,
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        *,
        dtype: _DType | None = None,
    ) -> Tensor:
        """The mean of the elements that are numbers.

        >>> weft.nanmean(weft.tensor([1.0, float("nan")]))
        tensor(1.)
        """
    @overload
    def nanmedian(self) -> Tensor:
        """The lower median of all elements that are numbers.

        >>> weft.tensor([3.0, float("nan"), 2.0]).nanmedian()
        tensor(2.)
        """
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False) -> _ValuesIndices: ...
    def nanquantile(
        self,
        q: Tensor | _float | Sequence[_float],
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: _str = 'linear',
        out: Tensor | None = None,
    ) -> Tensor:
        """Return the quantiles of the elements that are numbers.

        >>> weft.nanquantile(weft.tensor([1.0, float("nan"), 3.0]), 0.5)
        tensor(2.)
        """
    def nansum(
        self,
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        *,
        dtype: _DType | None = None,
    ) -> Tensor:
        """The sum of the elements that are numbers.

        >>> weft.nansum(weft.tensor([1.0, float("nan")]))
        tensor(1.)
        """
    @overload
    def narrow(self, dim: _int, start: _int, length: _int) -> Tensor:
        """length elements along dim from start on, as a view.

        >>> weft.arange(5).narrow(0, 1, 3)
        tensor([1, 2, 3])
        """
    @overload
    def narrow(self, dim: _int, start: Tensor, length: _int) -> Tensor: ...
    def narrow_copy(self, dim: _int, start: _int, length: _int) -> Tensor:
        """A copy of length elements along dim from start on.

        >>> weft.narrow_copy(weft.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
        """
    def ne(self, other: Tensor | _Number) -> Tensor:
        """Whether input differs from other."""
    def ne_(self, other: Tensor | _Number) -> Self:
        """Whether input differs from other."""
    def neg(self) -> Tensor:
        """The negative."""
    def neg_(self) -> Self:
        """The negative."""
    def negative(self) -> Tensor:
        """The negative."""
    def negative_(self) -> Self:
        """The negative."""
    def new(self, *args: Any, device: _Device | None = None) -> Tensor:
        """Return a new tensor of the same dtype: of sizes, or of data. An older form of ``new_empty``.

        >>> weft.ones(1).new([1, 2])
        tensor([1., 2.])
        """
    @overload
    def new_empty(
        self,
        *size: _int,
        dtype: _DType | None = None,
        device: _Device | None = None,
        layout: _Layout | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """An unset tensor of the given size and input's type.

        >>> weft.ones(1).new_empty(2).shape
        torch.Size([2])
        """
    @overload
    def new_empty(
        self,
        size: Sequence[_int],
        *,
        dtype: _DType | None = None,
        device: _Device | None = None,
        layout: _Layout | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor: ...
    def new_empty_strided(
        self,
        size: Sequence[_int],
        stride: Sequence[_int],
        *,
        dtype: _DType | None = None,
        device: _Device | None = None,
        layout: _Layout | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """Make a tensor of this one's dtype with the given strides, whose elements are not set.

        >>> weft.ones(1).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
        """
    def new_full(
        self,
        size: _int | Sequence[_int],
        fill_value: Tensor | _Number,
        *,
        dtype: _DType | None = None,
        device: _Device | None = None,
        layout: _Layout | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """fill_value in the given size and input's type.

        >>> weft.zeros(1).new_full((2,), 7)
        tensor([7., 7.])
        """
    @overload
    def new_ones(
        self,
        *size: _int,
        dtype: _DType | None = None,
        device: _Device | None = None,
        layout: _Layout | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """Ones of the given size and input's type.

        >>> weft.zeros(1).new_ones(2)
        tensor([1., 1.])
        """
    @overload
    def new_ones(
        self,
        size: Sequence[_int],
        *,
        dtype: _DType | None = None,
        device: _Device | None = None,
        layout: _Layout | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor: ...
    def new_tensor(
        self,
        data: Any,
        *,
        dtype: _DType | None = None,
        device: _Device | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Return a new tensor with a copy of ``data``, of this tensor's dtype unless told otherwise.

        >>> weft.ones(1, dtype=weft.float64).new_tensor([1, 2])
        tensor([1., 2.], dtype=torch.float64)
        """
    @overload
    def new_zeros(
        self,
        *size: _int,
        dtype: _DType | None = None,
        device: _Device | None = None,
        layout: _Layout | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """Zeros of the given size and input's type.

        >>> weft.ones(1).new_zeros(2)
        tensor([0., 0.])
        """
    @overload
    def new_zeros(
        self,
        size: Sequence[_int],
        *,
        dtype: _DType | None = None,
        device: _Device | None = None,
        layout: _Layout | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor: ...
    def nextafter(self, other: Tensor) -> Tensor:
        """The next number that the type can hold, towards other."""
    def nextafter_(self, other: Tensor) -> Self:
        """The next number that the type can hold, towards other."""
    def nonzero_static(
        self,
        *,
        size: _int,
        fill_value: _int = -1,
        out: Tensor | None = None,
    ) -> Tensor:
        """Return the coordinates of the first ``size`` elements that are not zero, then rows of ``fill_value``.

        >>> weft.nonzero_static(weft.tensor([0, 7]), size=2)
        tensor([[ 1],
                [-1]])
        """
    def norm(
        self,
        p: _float | _str | None = 'fro',
        dim: _Ints | None = None,
        keepdim: _bool = False,
        dtype: _DType | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """Return the vector norm of order ``p``, or the matrix norms 'fro' and 'nuc'.

        >>> weft.norm(weft.tensor([3.0, 4.0]))
        tensor(5.)
        """
    def normal_(
        self,
        mean: _float = 0.0,
        std: _float = 1.0,
        *,
        generator: Generator | None = None,
    ) -> Self:
        """Fills the tensor with random numbers of the normal distribution.

        >>> weft.empty(2).normal_(5.0, 0.0)
        tensor([5., 5.])
        """
    def not_equal(self, other: Tensor | _Number) -> Tensor:
        """Whether input differs from other."""
    def not_equal_(self, other: Tensor | _Number) -> Self:
        """Whether input differs from other."""
    def orgqr(self, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Return the first columns of the product of reflections: ``linalg.householder_product``.

        >>> weft.orgqr(weft.ones(1, 1), weft.tensor([2.0]))
        tensor([[-1.]])
        """
    def ormqr(
        self,
        tau: Tensor,
        other: Tensor,
        left: _bool = True,
        transpose: _bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """Return ``Q @ other``, where Q is the square product of reflections.

        Args:
            input: the reflections, as ``geqrf`` gives them.
            tau: their factors.
            other: the matrix.
            left: multiply from the left; else from the right.
            transpose: multiply with the adjoint of Q.

        >>> a, tau = weft.geqrf(weft.tensor([[3.0], [4.0]]))
        >>> weft.ormqr(a, tau, weft.tensor([[3.0], [4.0]]), transpose=True)
        tensor([[-5.],
                [ 0.]])
        """
    def outer(self, vec2: Tensor) -> Tensor:
        """Every element of one vector times every element of another.

        >>> weft.outer(weft.tensor([1, 2]), weft.tensor([3, 4]))
        tensor([[3, 4],
                [6, 8]])
        """
    @overload
    def permute(self, *dims: _int) -> Tensor:
        """The dimensions in another order.

        >>> weft.ones(2, 3, 4).permute(2, 0, 1).shape
        torch.Size([4, 2, 3])
        """
    @overload
    def permute(self, dims: Sequence[_int]) -> Tensor: ...
    def pin_memory(self, device: _Device | None = None) -> Tensor:
        """Raise: pinned memory is for copies to a device, and weft has only the CPU.

        >>> weft.ones(1).pin_memory()
        Traceback (most recent call last):
        RuntimeError: Tensor.pin_memory: weft has no device to pin memory for...
        """
    def pinverse(self, rcond: _float = 1e-15, *, out: Tensor | None = None) -> Tensor:
        """Return the pseudo-inverse of a matrix.

        >>> weft.pinverse(weft.tensor([[2.0]]))
        tensor([[0.5000]])
        """
    def polygamma(self, n: _int) -> Tensor:
        """The n-th derivative of digamma."""
    def polygamma_(self, n: _int) -> Self:
        """The n-th derivative of digamma."""
    def positive(self) -> Tensor:
        """input itself, as +input.

        >>> weft.positive(weft.tensor([-1.0]))
        tensor([-1.])
        """
    def pow(self, exponent: Tensor | _Number) -> Tensor:
        """input to the power of exponent."""
    def pow_(self, exponent: Tensor | _Number) -> Self:
        """input to the power of exponent."""
    def prelu(self, weight: Tensor) -> Tensor:
        """Return x above zero, and weight times x below; one weight, or one for each channel.

        >>> weft.prelu(weft.tensor([-1.0, 2.0]), weft.tensor(0.25))
        tensor([-0.2500,  2.0000])
        """
    @overload
    def prod(self, *, dtype: _DType | None = None) -> Tensor:
        """The product of all elements, or over dim.

        >>> weft.tensor([2.0, 3.0]).prod()
        tensor(6.)
        """
    @overload
    def prod(self, dim: _int, keepdim: _bool = False, *, dtype: _DType | None = None) -> Tensor: ...
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy of input with source written (or added) at index, which counts the elements as if there were one dimension.

        >>> weft.put(weft.zeros(2, 2), weft.tensor([3]), weft.tensor([5.]))
        tensor([[0., 0.],
                [0., 5.]])
        """
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Self:
        """A copy of input with source written (or added) at index, which counts the elements as if there were one dimension.

        >>> weft.put(weft.zeros(2, 2), weft.tensor([3]), weft.tensor([5.]))
        tensor([[0., 0.],
                [0., 5.]])
        """
    def qr(self, some: _bool = True, *, out: Tensor | None = None) -> _QR:
        """Return Q and R with input = Q R.

        >>> weft.qr(weft.eye(2)).R.abs()
        tensor([[1., 0.],
                [0., 1.]])
        """
    def quantile(
        self,
        q: Tensor | _float | Sequence[_float],
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: _str = 'linear',
        out: Tensor | None = None,
    ) -> Tensor:
        """Return the ``q``-th quantiles over ``dim``, between elements as ``interpolation`` says.

        >>> weft.quantile(weft.tensor([1.0, 2.0, 3.0]), 0.5)
        tensor(2.)
        """
    def rad2deg(self) -> Tensor:
        """Radians to degrees."""
    def rad2deg_(self) -> Self:
        """Radians to degrees."""
    @overload
    def random_(self, *, generator: Generator | None = None) -> Self:
        """Fills the tensor with random integers: from `from` (0) up to `to`, which is left out; without bounds,
        any that the type holds exactly and that is not negative.

        >>> weft.empty(2).random_(4, 5)
        tensor([4., 4.])
        """
    @overload
    def random_(self, to: _int, *, generator: Generator | None = None) -> Self: ...
    @overload
    def random_(
        self,
        from_: _int,
        to: _int | None,
        *,
        generator: Generator | None = None,
    ) -> Self: ...
    def ravel(self) -> Tensor:
        """All dimensions joined into one.

        >>> weft.ones(2, 3).ravel().shape
        torch.Size([6])
        """
    def reciprocal(self) -> Tensor:
        """One over input."""
    def reciprocal_(self) -> Self:
        """One over input."""
    def relu(self) -> Tensor:
        """input where positive, else zero."""
    def relu_(self) -> Self:
        """input where positive, else zero."""
    def remainder(self, other: Tensor | _Number) -> Tensor:
        """The remainder with the sign of other, as Python's % gives."""
    def remainder_(self, other: Tensor | _Number) -> Self:
        """The remainder with the sign of other, as Python's % gives."""
    def renorm(self, p: Tensor | _Number, dim: _int, maxnorm: Tensor | _Number) -> Tensor:
        """Scales the slices along dim whose p-norm is above maxnorm down to it.

        >>> weft.renorm(weft.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
        """
    def renorm_(self, p: Tensor | _Number, dim: _int, maxnorm: Tensor | _Number) -> Self:
        """Scales the slices along dim whose p-norm is above maxnorm down to it.

        >>> weft.renorm(weft.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
        """
    @overload
    def repeat(self, *repeats: _int) -> Tensor:
        """input as many times along each dimension as repeats says.

        >>> weft.tensor([1, 2]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
        """
    @overload
    def repeat(self, repeats: Sequence[_int]) -> Tensor: ...
    @overload
    def repeat_interleave(self, *, output_size: _int | None = None) -> Tensor:
        """Every element of input repeated, one after the other; of repeats alone, its positions.

        >>> weft.repeat_interleave(weft.tensor([5, 6]), 2)
        tensor([5, 5, 6, 6])
        """
    @overload
    def repeat_interleave(
        self,
        repeats: _int,
        dim: _int | None = None,
        *,
        output_size: _int | None = None,
    ) -> Tensor: ...
    @overload
    def repeat_interleave(
        self,
        repeats: Tensor,
        dim: _int | None = None,
        *,
        output_size: _int | None = None,
    ) -> Tensor: ...
    @overload
    def reshape(self, *shape: _int) -> Tensor:
        """The same elements in another shape: a view where possible, else a copy.

        >>> weft.arange(4).reshape(2, -1)
        tensor([[0, 1],
                [2, 3]])
        """
    @overload
    def reshape(self, shape: Sequence[_int]) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor:
        """Reshape to the shape of ``other``.

        >>> weft.arange(4).reshape_as(weft.ones(2, 2)).shape
        torch.Size([2, 2])
        """
    def resize_(self, *size: _Ints, memory_format: _MemoryFormat | None = None) -> Self:
        """Change the shape in place; the memory grows if it must, new elements are not set.

        >>> weft.ones(2).resize_(3, 1).shape
        torch.Size([3, 1])
        """
    def resize_as_(
        self,
        the_template: Tensor,
        *,
        memory_format: _MemoryFormat | None = None,
    ) -> Self:
        """Change the shape in place to that of another tensor.

        >>> weft.resize_as_(weft.ones(2), weft.ones(3, 1)).shape
        torch.Size([3, 1])
        """
    def resolve_conj(self) -> Tensor:
        """input itself: weft never puts a conjugation off.

        >>> weft.resolve_conj(weft.tensor([1.0]))
        tensor([1.])
        """
    def roll(self, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] = ...) -> Tensor:
        """A copy with the elements moved by shifts along dims, around the end; without dims, in the order of the elements.

        >>> weft.roll(weft.arange(4), 1)
        tensor([3, 0, 1, 2])
        """
    def rot90(self, k: _int = 1, dims: _int | Sequence[_int] = ...) -> Tensor:
        """A copy turned k times by 90 degrees, from the first of dims towards the second.

        >>> weft.rot90(weft.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
        """
    @overload
    def round(self) -> Tensor:
        """Rounds to the nearest integer, halves to the even one."""
    @overload
    def round(self, *, decimals: _int) -> Tensor: ...
    @overload
    def round_(self) -> Self:
        """Rounds to the nearest integer, halves to the even one."""
    @overload
    def round_(self, *, decimals: _int) -> Self: ...
    def row_indices(self) -> Tensor:
        """Return the row of each entry of a CSC matrix.

        >>> weft.eye(2).to_sparse_csc().row_indices()
        tensor([0, 1])
        """
    def rsqrt(self) -> Tensor:
        """One over the square root."""
    def rsqrt_(self) -> Self:
        """One over the square root."""
    @overload
    def scatter(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """A copy of input with the elements of src (or one value) written to the places that index names along dim.

        >>> weft.scatter(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([1., 2.]))
        tensor([2., 0., 1.])
        """
    @overload
    def scatter(self, dim: _int, index: Tensor, value: Tensor | _Number) -> Tensor: ...
    @overload
    def scatter(self, dim: _int, index: Tensor, src: Tensor, *, reduce: _str) -> Tensor: ...
    @overload
    def scatter(
        self,
        dim: _int,
        index: Tensor,
        value: Tensor | _Number,
        *,
        reduce: _str,
    ) -> Tensor: ...
    @overload
    def scatter_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """A copy of input with the elements of src (or one value) written to the places that index names along dim.

        >>> weft.scatter(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([1., 2.]))
        tensor([2., 0., 1.])
        """
    @overload
    def scatter_(self, dim: _int, index: Tensor, value: Tensor | _Number) -> Self: ...
    @overload
    def scatter_(self, dim: _int, index: Tensor, src: Tensor, *, reduce: _str) -> Self: ...
    @overload
    def scatter_(
        self,
        dim: _int,
        index: Tensor,
        value: Tensor | _Number,
        *,
        reduce: _str,
    ) -> Self: ...
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """A copy of input with the elements of src added at the places that index names along dim.

        >>> weft.scatter_add(weft.zeros(2), 0, weft.tensor([1, 1]), weft.tensor([1., 2.]))
        tensor([0., 3.])
        """
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """A copy of input with the elements of src added at the places that index names along dim.

        >>> weft.scatter_add(weft.zeros(2), 0, weft.tensor([1, 1]), weft.tensor([1., 2.]))
        tensor([0., 3.])
        """
    def scatter_reduce(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor,
        reduce: _str,
        *,
        include_self: _bool = True,
    ) -> Tensor:
        """A copy of input in which the elements of src are reduced ('sum', 'prod', 'mean', 'amax' or 'amin') into the places
        that index names along dim, together with what was there unless include_self is False.

        >>> weft.scatter_reduce(weft.ones(2), 0, weft.tensor([0, 0, 1]), weft.tensor([3., 5., 2.]), "amax")
        tensor([5., 2.])
        """
    def scatter_reduce_(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor,
        reduce: _str,
        *,
        include_self: _bool = True,
    ) -> Self:
        """A copy of input in which the elements of src are reduced ('sum', 'prod', 'mean', 'amax' or 'amin') into the places
        that index names along dim, together with what was there unless include_self is False.

        >>> weft.scatter_reduce(weft.ones(2), 0, weft.tensor([0, 0, 1]), weft.tensor([3., 5., 2.]), "amax")
        tensor([5., 2.])
        """
    def select(self, dim: _int, index: _int) -> Tensor:
        """The slice at index along dim, which goes away.

        >>> weft.arange(4).view(2, 2).select(0, 1)
        tensor([2, 3])
        """
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """A copy of input with src as its slice at index along dim.

        >>> weft.select_scatter(weft.zeros(2, 2), weft.ones(2), 0, 1)
        tensor([[0., 0.],
                [1., 1.]])
        """
    def set_(
        self,
        source: Any = None,
        storage_offset: _int = 0,
        size: _Ints | None = None,
        stride: _Ints | None = None,
    ) -> Self:
        """Let a tensor be another view: of a tensor's memory, of a storage, or of nothing.

        >>> x, y = weft.zeros(1), weft.arange(4.0)
        >>> x.set_(y.untyped_storage(), 1, (2,))
        tensor([1., 2.])
        """
    def sgn(self) -> Tensor:
        """-1, 0 or 1; of a complex number, its direction."""
    def sgn_(self) -> Self:
        """-1, 0 or 1; of a complex number, its direction."""
    def share_memory_(self) -> Self:
        """Move the tensor's memory, with all its views, to where processes can share it.

        >>> x = weft.zeros(2)
        >>> x.share_memory_().is_shared()
        True
        """
    def short(self, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor as torch.int16.

        >>> weft.ones(1).short().dtype
        torch.int16
        """
    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-input))."""
    def sigmoid_(self) -> Self:
        """1 / (1 + exp(-input))."""
    def sign(self) -> Tensor:
        """-1, 0 or 1."""
    def sign_(self) -> Self:
        """-1, 0 or 1."""
    def signbit(self) -> Tensor:
        """Whether an element is negative, or -0."""
    def sin(self) -> Tensor:
        """The sine."""
    def sin_(self) -> Self:
        """The sine."""
    def sinc(self) -> Tensor:
        """sin(pi input) / (pi input), 1 at zero."""
    def sinc_(self) -> Self:
        """sin(pi input) / (pi input), 1 at zero."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> Self:
        """The hyperbolic sine."""
    def slice_scatter(
        self,
        src: Tensor,
        dim: _int = 0,
        start: _int | None = None,
        end: _int | None = None,
        step: _int = 1,
    ) -> Tensor:
        """A copy of input with src as its slice from start to end along dim.

        >>> weft.slice_scatter(weft.zeros(3), weft.ones(2), 0, 1)
        tensor([0., 1., 1.])
        """
    def slogdet(self, *, out: Tensor | None = None) -> _SignLogabsdet:
        """Return the sign of the determinant and the logarithm of its absolute value.

        >>> weft.slogdet(weft.eye(2)).logabsdet
        tensor(0.)
        """
    def softmax(self, dim: _int, *, dtype: _DType | None = None) -> Tensor:
        """Exponentials along dim, scaled to sum to one.

        >>> weft.softmax(weft.tensor([1.0, 1.0]), 0)
        tensor([0.5000, 0.5000])
        """
    def sort(
        self,
        dim: _int = -1,
        descending: _bool = False,
        *,
        stable: _bool | None = None,
    ) -> _ValuesIndices:
        """The elements in order along dim, and where they stood. Equal ones keep their order.

        >>> weft.tensor([3, 1, 2]).sort().indices
        tensor([1, 2, 0])
        """
    def sparse_dim(self) -> _int:
        """Return the number of sparse dimensions; of a dense tensor, 0.

        >>> weft.ones(2, 3).to_sparse(1).sparse_dim()
        1
        """
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """Return what the tensor has where the sparse ``mask`` has entries.

        >>> weft.tensor([1.0, 2.0, 3.0]).sparse_mask(weft.sparse_coo_tensor([[2, 0]], [0.0, 0.0], (3,)))
        tensor(indices=tensor([[2, 0]]),
               values=tensor([3., 1.]),
               size=(3,), nnz=2, layout=torch.sparse_coo)
        """
    @overload
    def split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """input cut along dim into views of split_size (the last may be smaller), or of the sizes in a list.

        >>> weft.split(weft.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
        """
    @overload
    def split(self, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]: ...
    def split_with_sizes(
        self,
        split_sizes: _int | Sequence[_int],
        dim: _int = 0,
    ) -> tuple[Tensor, ...]:
        """input cut along dim into views of the given sizes.

        >>> weft.split_with_sizes(weft.arange(3), [1, 2])
        (tensor([0]), tensor([1, 2]))
        """
    def sqrt(self) -> Tensor:
        """The square root."""
    def sqrt_(self) -> Self:
        """The square root."""
    def square(self) -> Tensor:
        """input times itself."""
    def square_(self) -> Self:
        """input times itself."""
    @overload
    def squeeze(self) -> Tensor:
        """Without the dimensions of size one (or those among dim).

        >>> weft.ones(1, 2, 1).squeeze().shape
        torch.Size([2])
        """
    @overload
    def squeeze(self, dim: _int | Sequence[_int]) -> Tensor: ...
    def squeeze_(self, dim: _int | Sequence[_int] = ...) -> Self:
        """In-place twin of ``squeeze``."""
    @overload
    def std(
        self,
        dim: _int | Sequence[_int] | None = None,
        *,
        correction: Tensor | _Number | None = None,
        keepdim: _bool = False,
    ) -> Tensor:
        """The standard deviation over dim: the root of the variance.

        >>> weft.tensor([1.0, 3.0]).std(correction=0)
        tensor(1.)
        """
    @overload
    def std(self, unbiased: _bool) -> Tensor: ...
    @overload
    def std(
        self,
        dim: _int | Sequence[_int] | None,
        unbiased: _bool = True,
        keepdim: _bool = False,
    ) -> Tensor: ...
    @overload
    def std_mean(
        self,
        dim: _int | Sequence[_int] | None = None,
        *,
        correction: Tensor | _Number | None = None,
        keepdim: _bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Both std and mean over dim.

        >>> weft.std_mean(weft.tensor([1.0, 3.0]))[1]
        tensor(2.)
        """
    @overload
    def std_mean(self, unbiased: _bool) -> tuple[Tensor, Tensor]: ...
    @overload
    def std_mean(
        self,
        dim: _int | Sequence[_int] | None,
        unbiased: _bool = True,
        keepdim: _bool = False,
    ) -> tuple[Tensor, Tensor]: ...
    def stft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        center: _bool = True,
        pad_mode: _str = 'reflect',
        normalized: _bool = False,
        onesided: _bool | None = None,
        return_complex: _bool | None = None,
        align_to_window: _bool | None = None,
    ) -> Tensor:
        """Return the spectra of overlapping frames: (…, frequencies, frames).

        >>> weft.stft(weft.ones(8), 4, return_complex=True).shape
        torch.Size([3, 9])
        """
    @overload
    def sub(self, other: Tensor | _Number) -> Tensor:
        """Subtracts other from input, element by element."""
    @overload
    def sub(self, other: Tensor | _Number, *, alpha: Tensor | _Number) -> Tensor: ...
    @overload
    def sub_(self, other: Tensor | _Number) -> Self:
        """Subtracts other from input, element by element."""
    @overload
    def sub_(self, other: Tensor | _Number, *, alpha: Tensor | _Number) -> Self: ...
    @overload
    def subtract(self, other: Tensor | _Number) -> Tensor:
        """Subtracts other from input, element by element."""
    @overload
    def subtract(self, other: Tensor | _Number, *, alpha: Tensor | _Number) -> Tensor: ...
    @overload
    def subtract_(self, other: Tensor | _Number) -> Self:
        """Subtracts other from input, element by element."""
    @overload
    def subtract_(self, other: Tensor | _Number, *, alpha: Tensor | _Number) -> Self: ...
    @overload
    def sum(self, *, dtype: _DType | None = None) -> Tensor:
        """The sum of all elements, or over dim.

        >>> weft.ones(2, 3).sum()
        tensor(6.)
        >>> weft.ones(2, 3).sum(0)
        tensor([2., 2., 2.])
        """
    @overload
    def sum(
        self,
        dim: _int | Sequence[_int] | None,
        keepdim: _bool = False,
        *,
        dtype: _DType | None = None,
    ) -> Tensor: ...
    def sum_to_size(self, *size: _Ints) -> Tensor:
        """Sum dimensions away until the shape is ``size``, which must broadcast to this one's.

        >>> weft.ones(2, 3).sum_to_size(1, 3)
        tensor([[2., 2., 2.]])
        """
    def svd(
        self,
        some: _bool = True,
        compute_uv: _bool = True,
        *,
        out: Tensor | None = None,
    ) -> _USV:
        """Return U, the singular values S, and V, with input = U diag(S) Vᴴ.

        >>> weft.svd(weft.tensor([[3.0]])).S
        tensor([3.])
        """
    def swapaxes(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions swapped.

        >>> weft.ones(2, 3).transpose(0, 1).shape
        torch.Size([3, 2])
        """
    def swapaxes_(self, dim0: _int, dim1: _int) -> Self:
        """In-place twin of ``swapaxes``."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions swapped.

        >>> weft.ones(2, 3).transpose(0, 1).shape
        torch.Size([3, 2])
        """
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """In-place twin of ``swapdims``."""
    def t(self) -> Tensor:
        """A matrix transposed; vectors and single elements stay as they are.

        >>> weft.ones(2, 3).t().shape
        torch.Size([3, 2])
        """
    def t_(self) -> Self:
        """In-place twin of ``t``."""
    def take(self, index: Tensor) -> Tensor:
        """The elements of input, counted in order as if it had one dimension, that index names.

        >>> weft.take(weft.tensor([[4, 3], [5, 6]]), weft.tensor([0, -1]))
        tensor([4, 6])
        """
    def take_along_dim(self, indices: Tensor, dim: _int | None = None) -> Tensor:
        """Like gather, with input and indices broadcast against each other; without dim, on the flattened input.

        >>> weft.take_along_dim(weft.tensor([[30, 10], [20, 40]]), weft.tensor([[1], [0]]), 1)
        tensor([[10],
                [20]])
        """
    def tan(self) -> Tensor:
        """The tangent."""
    def tan_(self) -> Self:
        """The tangent."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""
    def tanh_(self) -> Self:
        """The hyperbolic tangent."""
    @overload
    def tensor_split(self, sections: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """input cut along dim into that many views, as equal as possible, or at the given indices.

        >>> weft.tensor_split(weft.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
        """
    @overload
    def tensor_split(
        self,
        tensor_indices_or_sections: Tensor,
        dim: _int = 0,
    ) -> tuple[Tensor, ...]: ...
    @overload
    def tensor_split(self, indices: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]: ...
    @overload
    def tile(self, *dims: _int) -> Tensor:
        """Like repeat, with ones for the dimensions that dims does not name.

        >>> weft.tile(weft.tensor([[1], [2]]), (2,))
        tensor([[1, 1],
                [2, 2]])
        """
    @overload
    def tile(self, dims: Sequence[_int]) -> Tensor: ...
    def to_dense(
        self,
        dtype: _DType | None = None,
        *,
        masked_grad: _bool | None = None,
    ) -> Tensor:
        """Return the tensor in the layout ``strided``; itself where it is dense.

        Args:
            dtype: the dtype of the result.
            masked_grad: whether the gradient is sparse, with entries where the tensor has some; weft
                has no other.

        >>> weft.sparse_coo_tensor([[0, 0, 2]], [1.0, 2.0, 5.0]).to_dense()
        tensor([3., 0., 5.])
        """
    def to_sparse(
        self,
        sparse_dim: Any = None,
        *,
        layout: _Layout | None = None,
        blocksize: Any = None,
        dense_dim: _int | None = None,
    ) -> Tensor:
        """Return the tensor in a sparse layout, of those elements that are not zero.

        Args:
            sparse_dim: how many of the first dimensions are sparse: all, if it is not given.
            layout: ``weft.sparse_coo``, ``weft.sparse_csr`` or ``weft.sparse_csc``.
            blocksize: not in weft.
            dense_dim: not in weft: give ``sparse_dim``.

        >>> weft.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
        tensor(indices=tensor([[0],
                               [1]]),
               values=tensor([2.]),
               size=(2, 2), nnz=1, layout=torch.sparse_coo)
        """
    def to_sparse_coo(self) -> Tensor: ...
    def to_sparse_csc(self, dense_dim: _int | None = None) -> Tensor:
        """Return a matrix in the layout ``sparse_csc``.

        >>> weft.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_csc().ccol_indices()
        tensor([0, 0, 1])
        """
    def to_sparse_csr(self, dense_dim: _int | None = None) -> Tensor:
        """Return a matrix in the layout ``sparse_csr``.

        >>> weft.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_csr()
        tensor(crow_indices=tensor([0, 1, 1]),
               col_indices=tensor([1]),
               values=tensor([2.]),
               size=(2, 2), nnz=1, layout=torch.sparse_csr)
        """
    def topk(
        self,
        k: _int,
        dim: _int = -1,
        largest: _bool = True,
        sorted: _bool = True,
    ) -> _ValuesIndices:
        """The k largest (or smallest) elements along dim, in order, and where they stood.

        >>> weft.tensor([3, 1, 2]).topk(2).values
        tensor([3, 2])
        """
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix.

        >>> weft.trace(weft.tensor([[1., 2.], [3., 4.]]))
        tensor(5.)
        """
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions swapped.

        >>> weft.ones(2, 3).transpose(0, 1).shape
        torch.Size([3, 2])
        """
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """In-place twin of ``transpose``."""
    def triangular_solve(
        self,
        A: Tensor,
        upper: _bool = True,
        transpose: _bool = False,
        unitriangular: _bool = False,
        *,
        out: Tensor | None = None,
    ) -> _SolutionCloned_coefficient:
        """Return the X of A X = b for a triangular A, and A.

        >>> weft.triangular_solve(weft.ones(1, 1), weft.tensor([[2.0]])).solution
        tensor([[0.5000]])
        """
    def tril(self, diagonal: _int = 0) -> Tensor:
        """The lower triangle of matrices: zeros above the given diagonal.

        >>> weft.tril(weft.ones(2, 2))
        tensor([[1., 0.],
                [1., 1.]])
        """
    def tril_(self, diagonal: _int = 0) -> Self:
        """The lower triangle of matrices: zeros above the given diagonal.

        >>> weft.tril(weft.ones(2, 2))
        tensor([[1., 0.],
                [1., 1.]])
        """
    def triu(self, diagonal: _int = 0) -> Tensor:
        """The upper triangle of matrices: zeros below the given diagonal.

        >>> weft.triu(weft.ones(2, 2))
        tensor([[1., 1.],
                [0., 1.]])
        """
    def triu_(self, diagonal: _int = 0) -> Self:
        """The upper triangle of matrices: zeros below the given diagonal.

        >>> weft.triu(weft.ones(2, 2))
        tensor([[1., 1.],
                [0., 1.]])
        """
    def true_divide(self, other: Tensor | _Number) -> Tensor:
        """Divides input by other, element by element."""
    def true_divide_(self, other: Tensor | _Number) -> Self:
        """Divides input by other, element by element."""
    def trunc(self) -> Tensor:
        """Rounds towards zero."""
    def trunc_(self) -> Self:
        """Rounds towards zero."""
    def type_as(self, other: Tensor) -> Tensor:
        """Return the tensor with the dtype of ``other``.

        >>> weft.ones(1).type_as(weft.arange(1))
        tensor([1])
        """
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """The slices of input along dim, which goes away.

        >>> weft.unbind(weft.tensor([1, 2]))
        (tensor(1), tensor(2))
        """
    def unflatten(self, dim: _int, sizes: _int | Sequence[_int]) -> Tensor:
        """Dimension dim split into sizes, of which one may be -1.

        >>> weft.ones(6).unflatten(0, (2, 3)).shape
        torch.Size([2, 3])
        """
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows of size elements along dimension, step apart, as a new last dimension.

        >>> weft.arange(4).unfold(0, 2, 1)
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
        """
    def uniform_(
        self,
        from_: _float = 0.0,
        to: _float = 1.0,
        *,
        generator: Generator | None = None,
    ) -> Self:
        """Fills the tensor with uniform random numbers in [from, to).

        >>> x = weft.empty(100).uniform_(2, 3)
        >>> bool((x >= 2).all() and (x < 3).all())
        True
        """
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """input cut along dim into at most that many views of equal size, the last perhaps smaller.

        >>> weft.chunk(weft.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
        """
    def unsafe_split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """input cut along dim into views of split_size (the last may be smaller), or of the sizes in a list.

        >>> weft.split(weft.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
        """
    def unsafe_split_with_sizes(
        self,
        split_sizes: _int | Sequence[_int],
        dim: _int = 0,
    ) -> tuple[Tensor, ...]:
        """input cut along dim into views of the given sizes.

        >>> weft.split_with_sizes(weft.arange(3), [1, 2])
        (tensor([0]), tensor([1, 2]))
        """
    def unsqueeze(self, dim: _int) -> Tensor:
        """With a new dimension of size one at dim.

        >>> weft.ones(2).unsqueeze(0).shape
        torch.Size([1, 2])
        """
    def unsqueeze_(self, dim: _int) -> Self:
        """In-place twin of ``unsqueeze``."""
    def values(self) -> Tensor:
        """Return the values of the entries of a coalesced or compressed tensor; gradients flow.

        >>> weft.eye(2).to_sparse().values()
        tensor([1., 1.])
        """
    @overload
    def var(
        self,
        dim: _int | Sequence[_int] | None = None,
        *,
        correction: Tensor | _Number | None = None,
        keepdim: _bool = False,
    ) -> Tensor:
        """The variance over dim: squared distances from the mean, divided by their number less correction (1).

        >>> weft.tensor([1.0, 3.0]).var()
        tensor(2.)
        """
    @overload
    def var(self, unbiased: _bool) -> Tensor: ...
    @overload
    def var(
        self,
        dim: _int | Sequence[_int] | None,
        unbiased: _bool = True,
        keepdim: _bool = False,
    ) -> Tensor: ...
    @overload
    def var_mean(
        self,
        dim: _int | Sequence[_int] | None = None,
        *,
        correction: Tensor | _Number | None = None,
        keepdim: _bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Both var and mean over dim.

        >>> weft.var_mean(weft.tensor([1.0, 3.0]))[1]
        tensor(2.)
        """
    @overload
    def var_mean(self, unbiased: _bool) -> tuple[Tensor, Tensor]: ...
    @overload
    def var_mean(
        self,
        dim: _int | Sequence[_int] | None,
        unbiased: _bool = True,
        keepdim: _bool = False,
    ) -> tuple[Tensor, Tensor]: ...
    def vdot(self, other: Tensor) -> Tensor:
        """The inner product of two vectors, the first one conjugated.

        >>> weft.vdot(weft.tensor([2, 3]), weft.tensor([2, 1]))
        tensor(7)
        """
    @overload
    def view(self, *size: _int) -> Tensor:
        """The same elements seen in another shape, without a copy.

        >>> weft.arange(4).view(2, 2)
        tensor([[0, 1],
                [2, 3]])
        """
    @overload
    def view(self, size: Sequence[_int]) -> Tensor: ...
    @overload
    def view(self, dtype: _DType) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor:
        """View in the shape of ``other``.

        >>> weft.arange(4).view_as(weft.ones(2, 2)).shape
        torch.Size([2, 2])
        """
    @overload
    def vsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """input cut into rows: into equal sections, or at the given indices.

        >>> weft.vsplit(weft.arange(4).view(2, 2), 2)
        (tensor([[0, 1]]), tensor([[2, 3]]))
        """
    @overload
    def vsplit(self, indices: _int | Sequence[_int]) -> tuple[Tensor, ...]: ...
    def where(self, condition: Tensor, other: Tensor | _complex) -> Tensor:
        """Return this tensor where ``condition`` holds, else ``other``.

        >>> weft.tensor([1, 2]).where(weft.tensor([True, False]), 0)
        tensor([1, 0])
        """
    def xlogy(self, other: Tensor | _Number) -> Tensor:
        """input * log(other), zero where input is zero."""
    def xlogy_(self, other: Tensor | _Number) -> Self:
        """input * log(other), zero where input is zero."""
    def zero_(self) -> Self:
        """Sets every element to zero.

        >>> weft.ones(2).zero_()
        tensor([0., 0.])
        """

bfloat16: dtype
bool: dtype
complex128: dtype
complex64: dtype
float16: dtype
float32: dtype
float64: dtype
int16: dtype
int32: dtype
int64: dtype
int8: dtype
uint8: dtype
default_generator: Generator
def get_num_threads() -> _int: ...
def set_num_threads(count: _int, /) -> None: ...
def __getattr__(name: _str) -> Any: ...  # what only weft itself uses

class _ATau(NamedTuple):
    a: Tensor
    tau: Tensor

class _HistBin_edges(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class _MantissaExponent(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class _MinMax(NamedTuple):
    min: Tensor
    max: Tensor

class _QR(NamedTuple):
    Q: Tensor
    R: Tensor

class _SignLogabsdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _SolutionCloned_coefficient(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

class _USV(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class _ValuesIndices(NamedTuple):
    values: Tensor
    indices: Tensor
