"""``qint8`` and the other quantised types; quantisation schemes (per tensor, per channel)."""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "QuantizedDType",
    "per_channel_affine",
    "per_channel_affine_float_qparams",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "qint8",
    "qint32",
    "qscheme",
    "quint8",
]


class QuantizedDType:
    """The type of integers that stand for numbers on a grid.

    >>> weft.qint8, weft.quint8.lowest, weft.quint8.highest
    (torch.qint8, 0, 255)
    """

    is_floating_point = is_complex = False

    def __init__(self, name: str, ints: Any) -> None:
        """Take the name, and the dtype of the integers themselves."""
        self.name, self.ints = name, ints
        info = weft.iinfo(ints)
        self.lowest, self.highest, self.itemsize = int(info.min), int(info.max), ints.itemsize
        self.is_signed = self.lowest < 0

    def __repr__(self) -> str:
        """Return the name as PyTorch prints it."""
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        """Copy as itself: there is one of each."""
        return self.name


class qscheme:
    """How scales and zero points are shared, and whether zero lies in the middle.

    >>> weft.per_channel_symmetric
    torch.per_channel_symmetric
    """

    def __init__(self, name: str) -> None:
        """Take the name."""
        self.name = name
        self.per_channel = name.startswith("per_channel")
        self.symmetric = name.endswith("symmetric")

    def __repr__(self) -> str:
        """Return the name as PyTorch prints it."""
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        """Copy as itself: there is one of each."""
        return self.name


qint8 = QuantizedDType("qint8", weft.int8)
quint8 = QuantizedDType("quint8", weft.uint8)
qint32 = QuantizedDType("qint32", weft.int32)
per_tensor_affine = qscheme("per_tensor_affine")
per_channel_affine = qscheme("per_channel_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
