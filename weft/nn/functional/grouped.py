"""Products of groups of matrices."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.nn.functional.common import functional

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


@functional
def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """Multiply groups of matrices; offs says where each group of a two-dimensional matrix ends.

    Groups are the rows of mat_a, the columns of mat_b, or (both two-dimensional) what is summed.

    >>> a, b = weft.ones(3, 2), weft.stack([weft.ones(2, 1), weft.zeros(2, 1)])
    >>> weft.nn.functional.grouped_mm(a, b, offs=weft.tensor([2, 3])).flatten()
    tensor([2., 2., 0.])
    """
    if bias is not None:
        raise RuntimeError("grouped_mm: bias is not supported yet")
    if out_dtype is not None and out_dtype != mat_a.dtype:
        raise RuntimeError("grouped_mm: the dtype of the result must be that of the matrices")
    if mat_a.ndim not in (2, 3) or mat_b.ndim not in (2, 3):
        raise RuntimeError(
            f"grouped_mm: mat_a and mat_b must be 2D or 3D, got {mat_a.ndim}D and {mat_b.ndim}D"
        )
    if mat_a.dtype != mat_b.dtype:
        raise RuntimeError(
            f"grouped_mm: mat_a and mat_b must have one dtype, got {mat_a.dtype}, {mat_b.dtype}"
        )
    if (offs is None) != (mat_a.ndim == 3 and mat_b.ndim == 3):
        raise RuntimeError("grouped_mm: offs must be given if and only if a matrix is 2D")
    if offs is None:
        return weft.matmul(mat_a, mat_b)
    ends = [int(e) for e in offs.tolist()]
    cuts = list(zip([0, *ends], ends))
    if mat_a.ndim == 2 and mat_b.ndim == 2:
        return weft.stack([mat_a[:, i:j] @ mat_b[i:j] for i, j in cuts])
    if mat_a.ndim == 2:
        return weft.cat([mat_a[i:j] @ mat_b[k] for k, (i, j) in enumerate(cuts)])
    return weft.cat([mat_a[k] @ mat_b[:, i:j] for k, (i, j) in enumerate(cuts)], 1)


def scaled_mm(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise: weft has no numbers of 8 or fewer bits that it would scale."""
    raise NotImplementedError("scaled_mm: weft has no float8 dtypes")


def scaled_grouped_mm(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise: weft has no numbers of 8 or fewer bits that it would scale."""
    raise NotImplementedError("scaled_grouped_mm: weft has no float8 dtypes")
