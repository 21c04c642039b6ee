# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""Discrete Fourier transforms (native: ``csrc/ops/fft.cpp``), frequencies and shifts."""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from weft._C import _Device as _Device
from weft._C import _DType as _DType
from weft._C import _Hook as _Hook
from weft._C import _Index as _Index
from weft._C import _Ints as _Ints
from weft._C import _Layout as _Layout
from weft._C import _MemoryFormat as _MemoryFormat
from weft._C import _Number as _Number
from weft._C import _Operand as _Operand
from weft._C import _bool as _bool
from weft._C import _complex as _complex
from weft._C import _float as _float
from weft._C import _int as _int
from weft._C import _str as _str
from weft._C import Generator
from weft._C import Size
from weft._C import Tensor


def fft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform along a dimension.

    >>> weft.fft.fft(weft.ones(2))
    tensor([2.+0.j, 0.+0.j])
    """
def fft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform along the last two dimensions.

    >>> weft.fft.fft2(weft.ones(1, 1))
    tensor([[1.+0.j]])
    """
def fftfreq(
    n: _int,
    d: _float = 1.0,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return the frequencies that the elements of a transform of n samples, d apart, stand for.

    >>> weft.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
def fftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform along several dimensions.

    >>> weft.fft.fftn(weft.ones(1, 1))
    tensor([[1.+0.j]])
    """
def fftshift(input: Tensor, dim: _Ints | None = None) -> Tensor:
    """Return a transform with frequency zero in the middle.

    >>> weft.fft.fftshift(weft.arange(4))
    tensor([2, 3, 0, 1])
    """
def hfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a signal that mirrors its own conjugate, given its first half, along a dimension.

    >>> weft.fft.hfft(weft.tensor([4.0, 0.0, 0.0]))
    tensor([4., 4., 4., 4.])
    """
def hfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a signal that mirrors its own conjugate, given its first half, along the last two dimensions.

    >>> weft.fft.hfft2(weft.ones(1, 2))
    tensor([[2., 0.]])
    """
def hfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a signal that mirrors its own conjugate, given its first half, along several dimensions.

    >>> weft.fft.hfftn(weft.ones(1, 2))
    tensor([[2., 0.]])
    """
def ifft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the discrete Fourier transform along a dimension.

    >>> weft.fft.ifft(weft.tensor([2 + 0j, 0j]))
    tensor([1.+0.j, 1.+0.j])
    """
def ifft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the discrete Fourier transform along the last two dimensions.

    >>> weft.fft.ifft2(weft.ones(1, 1) + 0j)
    tensor([[1.+0.j]])
    """
def ifftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the discrete Fourier transform along several dimensions.

    >>> weft.fft.ifftn(weft.ones(1, 1) + 0j)
    tensor([[1.+0.j]])
    """
def ifftshift(input: Tensor, dim: _Ints | None = None) -> Tensor:
    """Return the inverse of fftshift.

    >>> weft.fft.ifftshift(weft.arange(4))
    tensor([2, 3, 0, 1])
    """
def ihfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of hfft: half the transform of real numbers, the other way round, along a dimension.

    >>> weft.fft.ihfft(weft.tensor([4.0, 4.0]))
    tensor([4.-0.j, 0.-0.j])
    """
def ihfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of hfft: half the transform of real numbers, the other way round, along the last two dimensions.

    >>> weft.fft.ihfft2(weft.ones(1, 1))
    tensor([[1.-0.j]])
    """
def ihfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of hfft: half the transform of real numbers, the other way round, along several dimensions.

    >>> weft.fft.ihfftn(weft.ones(1, 1))
    tensor([[1.-0.j]])
    """
def irfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real numbers whose transform begins with input along a dimension.

    >>> weft.fft.irfft(weft.tensor([4.0, 0.0, 0.0]))
    tensor([1., 1., 1., 1.])
    """
def irfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real numbers whose transform begins with input along the last two dimensions.

    >>> weft.fft.irfft2(weft.ones(1, 2))
    tensor([[1., 0.]])
    """
def irfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real numbers whose transform begins with input along several dimensions.

    >>> weft.fft.irfftn(weft.ones(1, 2))
    tensor([[1., 0.]])
    """
def rfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the transform of real numbers, which the other half mirrors, along a dimension.

    >>> weft.fft.rfft(weft.ones(4))
    tensor([4.+0.j, 0.+0.j, 0.+0.j])
    """
def rfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the transform of real numbers, which the other half mirrors, along the last two dimensions.

    >>> weft.fft.rfft2(weft.ones(1, 1))
    tensor([[1.+0.j]])
    """
def rfftfreq(
    n: _int,
    d: _float = 1.0,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return the frequencies of the elements of half a transform of n samples, d apart.

    >>> weft.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
def rfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the transform of real numbers, which the other half mirrors, along several dimensions.

    >>> weft.fft.rfftn(weft.ones(1, 1))
    tensor([[1.+0.j]])
    """
