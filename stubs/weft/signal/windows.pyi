# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""``weft.signal.windows``: window functions under SciPy's and PyTorch's names and signatures.

Symmetric unless ``sym=False``, which leaves out the last value, for a transform that repeats."""
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


def bartlett(
    M: _int,
    *,
    sym: _bool = True,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return a triangle from 0 to 1 and back.

    >>> weft.signal.windows.bartlett(3)
    tensor([0., 1., 0.])
    """
def blackman(
    M: _int,
    *,
    sym: _bool = True,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return a sum of three cosines, from 0 to 1 and back.

    >>> weft.signal.windows.blackman(3)[1]
    tensor(1.)
    """
def cosine(
    M: _int,
    *,
    sym: _bool = True,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return one arch of a sine, sampled between its zeros.

    >>> weft.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
def exponential(
    M: _int,
    *,
    center: _float | None = None,
    tau: _float = 1.0,
    sym: _bool = True,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return exp(-|k - center| / tau).

    >>> weft.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
def gaussian(
    M: _int,
    *,
    std: _float = 1.0,
    sym: _bool = True,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return a Gaussian bell, 1 in the middle.

    >>> weft.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
def general_cosine(
    M: _int,
    *,
    a: Sequence[_float],
    sym: _bool = True,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return a0 - a1 cos(x) + a2 cos(2 x) - …, where x is once around.

    >>> weft.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
def general_hamming(
    M: _int,
    *,
    alpha: _float = 0.54,
    sym: _bool = True,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return alpha - (1 - alpha) * cos.

    >>> weft.signal.windows.general_hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
def hamming(
    M: _int,
    *,
    sym: _bool = True,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return 0.54 - 0.46 * cos, from 0.08 to 1 and back.

    >>> weft.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
def hann(
    M: _int,
    *,
    sym: _bool = True,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return one arch of a cosine, from 0 to 1 and back.

    >>> weft.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
def kaiser(
    M: _int,
    *,
    beta: _float = 12.0,
    sym: _bool = True,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return the window of Kaiser, the narrower the larger ``beta`` is.

    >>> weft.signal.windows.kaiser(3, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
def nuttall(
    M: _int,
    *,
    sym: _bool = True,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return a sum of four cosines, very flat at both ends.

    >>> weft.signal.windows.nuttall(3)
    tensor([3.6280e-04, 1.0000e+00, 3.6280e-04])
    """
