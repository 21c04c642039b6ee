# Functions whose result depends on their arguments in a way that no signature of the sources tells.
import builtins
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar, overload

from typing_extensions import ParamSpec, Self
from weft._C import Tensor as Tensor
from weft._C import _bool as _bool
from weft._C import _int as _int
from weft._C import _str as _str

from weft.jit.compile.function import CompiledFunction
from weft.nn.module import Module

_P = ParamSpec("_P")
_R = TypeVar("_R")
_M = TypeVar("_M", bound=Module)

class _Compiled(CompiledFunction, Generic[_P, _R]):
    # A compiled function is called as the function is, and knows more.
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __get__(self, instance: None, owner: builtins.type, /) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: builtins.type, /) -> Callable[..., _R]: ...

class _Compiler:
    # What compile returns without a function: a decorator.
    @overload
    def __call__(self, model: _M, /) -> _M: ...
    @overload
    def __call__(self, model: Callable[_P, _R], /) -> _Compiled[_P, _R]: ...

@overload
def compile(
    model: _M,
    *,
    fullgraph: _bool = False,
    dynamic: _bool | None = None,
    backend: _str | Callable[..., Any] = "inductor",
    mode: _str | None = None,
    options: dict[_str, Any] | None = None,
    disable: _bool = False,
    exact: _bool = True,
) -> _M: ...
@overload
def compile(
    model: Callable[_P, _R],
    *,
    fullgraph: _bool = False,
    dynamic: _bool | None = None,
    backend: _str | Callable[..., Any] = "inductor",
    mode: _str | None = None,
    options: dict[_str, Any] | None = None,
    disable: _bool = False,
    exact: _bool = True,
) -> _Compiled[_P, _R]: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: _bool = False,
    dynamic: _bool | None = None,
    backend: _str | Callable[..., Any] = "inductor",
    mode: _str | None = None,
    options: dict[_str, Any] | None = None,
    disable: _bool = False,
    exact: _bool = True,
) -> _Compiler: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@overload
def tensordot(a: Tensor, b: Tensor, dims: _int = 2, *, out: Tensor | None = None) -> Tensor: ...
@overload
def tensordot(
    a: Tensor,
    b: Tensor,
    dims: Sequence[Sequence[_int]] | Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def einsum(equation: _str, *operands: Tensor) -> Tensor: ...
@overload
def einsum(equation: _str, operands: Sequence[Tensor], /) -> Tensor: ...
@overload
def einsum(*operands: Tensor | Sequence[_int]) -> Tensor: ...
