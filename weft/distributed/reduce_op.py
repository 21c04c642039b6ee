"""``ReduceOp``: how a reduction combines the values of several processes."""

from __future__ import annotations

from enum import Enum

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["ReduceOp", "checked_op"]


class ReduceOp(Enum):
    """What a reduction does with the elements that lie at the same place on each rank.

    ``AVG`` is for floating and complex numbers, the bit operations are for integers and booleans.
    Of booleans, ``SUM`` and ``MAX`` say whether any is true, ``PRODUCT`` and ``MIN`` whether all
    are.

    >>> weft.distributed.ReduceOp.SUM.name
    'SUM'
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


def checked_op(op: Any, dtype: weft.dtype, what: str) -> ReduceOp:
    """Return the operation, if there is one of this kind for numbers of this dtype.

    >>> from weft.distributed.reduce_op import ReduceOp, checked_op
    >>> checked_op(ReduceOp.AVG, weft.int64, "all_reduce")
    Traceback (most recent call last):
    ValueError: all_reduce: ReduceOp.AVG needs floating or complex numbers, got int64
    """
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{what}: op must be a ReduceOp, such as ReduceOp.SUM, got {op!r}")
    inexact = dtype.is_floating_point or dtype.is_complex
    needs = None
    if op is ReduceOp.AVG and not inexact:
        needs = "floating or complex numbers"
    elif op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR) and inexact:
        needs = "integers or booleans"
    elif op in (ReduceOp.MIN, ReduceOp.MAX) and dtype.is_complex:
        needs = "numbers that have an order"
    if needs is not None:
        raise ValueError(f"{what}: ReduceOp.{op.name} needs {needs}, got {name_of(dtype)}")
    return op


def name_of(dtype: weft.dtype) -> str:
    """Return the name of a dtype without the name of the package.

    >>> from weft.distributed.reduce_op import name_of
    >>> name_of(weft.float32)
    'float32'
    """
    return str(dtype).rpartition(".")[2]
