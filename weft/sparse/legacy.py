"""``sparse.FloatTensor`` and related classes: the older way to make sparse tensors of a dtype."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.tensor import _TYPE_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _TypeOfSparseTensors(type):
    """The type of ``sparse.FloatTensor``: it makes sparse tensors of one dtype and knows them."""

    _dtype: Any

    def __call__(cls, *args: Any) -> Tensor:
        """Make a tensor of indices, values and perhaps a size; of sizes alone, one without entries."""
        if not args or not isinstance(args[0], Tensor):
            size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
            empty = weft.zeros(len(size), 0, dtype=weft.int64)
            return weft.sparse_coo_tensor(empty, weft.zeros(0, dtype=cls._dtype), tuple(size))
        if len(args) not in (2, 3):
            raise TypeError(
                f"sparse.{cls.__name__}: expected indices, values and a size, got {len(args)} arguments"
            )
        if args[1].dtype != cls._dtype:
            raise TypeError(
                f"sparse.{cls.__name__}: expected values of {cls._dtype}, got {args[1].dtype}"
            )
        return weft.sparse_coo_tensor(*args)

    def __instancecheck__(cls, x: Any) -> bool:
        """Say whether ``x`` is a sparse tensor of the dtype."""
        return isinstance(x, Tensor) and x.is_sparse and x.dtype == cls._dtype


def sparse_type(name: str) -> type:
    """Return ``sparse.FloatTensor`` or a related class.

    >>> i, v = weft.tensor([[0, 1], [1, 0]]), weft.tensor([2.0, 3.0])
    >>> weft.sparse.FloatTensor(i, v, weft.Size([2, 2])).to_dense()
    tensor([[0., 2.],
            [3., 0.]])
    """
    return _TypeOfSparseTensors(name, (), {"_dtype": getattr(weft, _TYPE_NAMES[name])})
