"""``weft.sparse``: functions of sparse tensors, under the names that PyTorch gives them.

Sparse tensors are made by :func:`weft.sparse_coo_tensor` and :meth:`weft.Tensor.to_sparse`. Gradients
of embeddings with ``sparse=True`` are sparse. An op that knows no sparse tensors refuses them.
"""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["addmm", "mm", "sum"]


def mm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of a sparse and a dense matrix, which is dense.

    The gradient of the sparse one is sparse, with entries where it has some.

    >>> a = weft.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> weft.sparse.mm(a, weft.ones(3, 2))
    tensor([[3., 3.],
            [4., 4.]])
    """
    return weft.mm(mat1, mat2)


spmm = mm  # its older name, torch.spmm


def addmm(
    mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """Return ``beta mat + alpha mat1 @ mat2``, where ``mat1`` is sparse.

    >>> weft.sparse.addmm(weft.ones(2, 2), weft.eye(2).to_sparse(), weft.ones(2, 2), beta=2)
    tensor([[3., 3.],
            [3., 3.]])
    """
    return weft.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """Return the sum of a sparse tensor, over all of it or over some dimensions.

    The result is dense if no sparse dimension is left.

    Args:
        input: a sparse tensor.
        dim: a dimension or several.
        dtype: the dtype to sum in.

    >>> x = weft.sparse_coo_tensor([[0, 0, 1], [0, 2, 2]], [1.0, 2.0, 3.0], (2, 3))
    >>> weft.sparse.sum(x)
    tensor(6.)
    >>> weft.sparse.sum(x, 0).to_dense()
    tensor([1., 0., 5.])
    """
    if not input.is_sparse:
        raise RuntimeError(
            f"sparse.sum: expected a tensor of layout torch.sparse_coo, got {input.layout}"
        )
    return input.sum(dtype=dtype) if dim is None else input.sum(dim, dtype=dtype)
