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

__all__ = ["addmm", "log_softmax", "mm", "sampled_addmm", "smm", "softmax", "spdiags", "sum"]


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """Return the product of a sparse and a dense matrix, which is dense; of two sparse ones, sparse.

    The gradient of a sparse one is sparse, with entries where it has some.

    Args:
        mat1: a sparse matrix.
        mat2: a matrix.
        reduce: how the products of a row's entries are joined: ``"sum"``, ``"mean"``, ``"amax"``
            or ``"amin"``; the last three for a ``mat1`` of layout ``sparse_csr``.

    >>> a = weft.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> weft.sparse.mm(a, weft.ones(3, 2))
    tensor([[3., 3.],
            [4., 4.]])
    """
    if reduce == "sum":
        return weft.mm(mat1, mat2)
    if reduce not in ("mean", "amax", "amin"):
        raise ValueError(f"sparse.mm: reduce must be sum, mean, amax or amin, got {reduce!r}")
    if mat1.layout is not weft.sparse_csr or mat2.layout is not weft.strided:
        raise RuntimeError(
            f"sparse.mm: reduce={reduce!r} needs a first matrix of layout torch.sparse_csr and a "
            f"dense second one, got {mat1.layout} and {mat2.layout}"
        )
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"sparse.mm: mat1 and mat2 shapes cannot be multiplied ({mat1.shape[0]}x"
            f"{mat1.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]})"
        )
    rows, columns = mat1._indices()
    terms = mat1.values().unsqueeze(1) * mat2[columns]
    found = weft.zeros(mat1.shape[0], mat2.shape[1], dtype=terms.dtype)
    index = rows.unsqueeze(1).expand(terms.shape)
    return found.scatter_reduce(0, index, terms, reduce, include_self=False)


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
    if input.layout is weft.strided:
        raise RuntimeError(
            f"sparse.sum: expected a tensor of layout torch.sparse_coo, got {input.layout}"
        )
    return input.sum(dtype=dtype) if dim is None else input.sum(dim, dtype=dtype)


def smm(input: Tensor, mat: Tensor) -> Tensor:
    """Return the product of a sparse and a dense matrix as a sparse one.

    >>> weft.sparse.smm(weft.eye(2).to_sparse(), weft.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    return weft.mm(input, mat).to_sparse()


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """Return ``beta input + alpha (mat1 @ mat2)``, the product only where ``input`` has entries.

    Args:
        input: a matrix of layout ``sparse_csr``.
        mat1: a dense matrix.
        mat2: a dense matrix.
        beta: a factor of ``input``.
        alpha: a factor of the product.

    >>> a = weft.eye(2).to_sparse_csr()
    >>> weft.sparse.sampled_addmm(a, weft.ones(2, 3), weft.ones(3, 2)).to_dense()
    tensor([[4., 0.],
            [0., 4.]])
    """
    if input.layout is not weft.sparse_csr:
        raise RuntimeError(
            f"sparse.sampled_addmm: expected an input of layout torch.sparse_csr: {input.layout}"
        )
    if mat1.dim() != 2 or mat2.dim() != 2:
        raise NotImplementedError(
            "sparse.sampled_addmm: weft multiplies matrices, got shapes "
            f"{list(mat1.shape)} and {list(mat2.shape)}"
        )
    sizes = [mat1.shape[0], mat2.shape[1]]
    if mat1.shape[1] != mat2.shape[0] or list(input.shape) != sizes:
        raise RuntimeError(
            f"sparse.sampled_addmm: shapes {list(mat1.shape)} and {list(mat2.shape)} do not fit "
            f"together or an input of {list(input.shape)}"
        )
    if not input.dtype == mat1.dtype == mat2.dtype:
        raise RuntimeError(
            f"sparse.sampled_addmm: expected one dtype, got {input.dtype}, {mat1.dtype} and "
            f"{mat2.dtype}"
        )
    rows, columns = input._indices()
    products = (mat1[rows] * mat2.t()[columns]).sum(1)
    values = beta * input.values() + alpha * products
    return weft.sparse_csr_tensor(input.crow_indices(), columns, values, input.shape)


def _normalised(input: Tensor, dim: int, dtype: Any, log: bool) -> Tensor:
    """Return softmax or its logarithm of the entries; what has none counts as minus infinity."""
    name = "sparse.log_softmax" if log else "sparse.softmax"
    if not input.is_sparse:
        raise RuntimeError(f"{name}: expected a layout torch.sparse_coo, got {input.layout}")
    if not -input.dim() <= dim < input.dim():
        raise IndexError(f"{name}: dim={dim} of {input.dim()} dimensions")
    dim %= input.dim()
    joined = input.coalesce()
    values = joined.values() if dtype is None else joined.values().to(dtype)
    indices, sparse = joined.indices(), joined.sparse_dim()
    if dim >= sparse:
        along = dim - sparse + 1
        found = values.log_softmax(along) if log else values.softmax(along)
    else:
        found = _by_group(values, _others(indices, input.shape, dim), log)
    return weft.sparse_coo_tensor(indices, found, input.shape, is_coalesced=True)


def _others(indices: Tensor, shape: Any, dim: int) -> Tensor:
    """Number entries by all their indices but one: equal where only that one differs."""
    place = weft.zeros(indices.shape[1], dtype=weft.int64)
    for d in range(indices.shape[0]):
        if d != dim:
            place = place * shape[d] + indices[d]
    return weft.unique(place, return_inverse=True)[1]


def _by_group(values: Tensor, group: Tensor, log: bool) -> Tensor:
    """Return softmax among the entries of each group."""
    count = int(group.max().item()) + 1 if group.numel() else 0
    index = group.reshape(-1, *[1] * (values.dim() - 1)).expand(values.shape)
    start = weft.full((count, *values.shape[1:]), float("-inf"), dtype=values.dtype)
    largest = start.scatter_reduce(0, index, values.detach(), "amax")
    off = values - largest[group]
    sums = weft.zeros_like(start).index_add(0, group, off.exp())
    return off - sums.log()[group] if log else off.exp() / sums[group]


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return softmax of a sparse tensor; where it has no entry counts as minus infinity.

    >>> x = weft.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [1.0, 1.0, 5.0], (2, 3))
    >>> weft.sparse.softmax(x, 1).to_dense()
    tensor([[0.5000, 0.0000, 0.5000],
            [0.0000, 1.0000, 0.0000]])
    """
    return _normalised(input, dim, dtype, False)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the logarithm of ``softmax`` for the entries of a sparse tensor.

    >>> x = weft.sparse_coo_tensor([[0]], [1.0], (1,))
    >>> weft.sparse.log_softmax(x, 0).values()
    tensor([0.])
    """
    return _normalised(input, dim, dtype, True)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """Return the sparse matrix with the rows of ``diagonals`` on its diagonals.

    Args:
        diagonals: one row for each; column j of it belongs to column j of the matrix.
        offsets: which diagonals: 0 is the main one, 1 the one above it.
        shape: that of the matrix.
        layout: of the result: ``weft.sparse_coo`` if it is not given.

    >>> weft.sparse.spdiags(weft.tensor([[1.0, 2.0]]), weft.tensor([1]), (2, 2)).to_dense()
    tensor([[0., 2.],
            [0., 0.]])
    """
    diagonals = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    offsets = offsets.reshape(1) if offsets.dim() == 0 else offsets
    if diagonals.dim() != 2 or offsets.dim() != 1 or len(shape) != 2:
        raise ValueError(
            "sparse.spdiags: expected a matrix of diagonals, a vector of offsets and two sizes, "
            f"got shapes {list(diagonals.shape)}, {list(offsets.shape)} and {list(shape)}"
        )
    if diagonals.shape[0] != offsets.shape[0] or len(set(offsets.tolist())) != len(offsets):
        raise ValueError(
            f"sparse.spdiags: expected {diagonals.shape[0]} different offsets, got "
            f"{offsets.tolist()}"
        )
    columns = weft.arange(diagonals.shape[1]).expand(diagonals.shape)
    rows = columns - offsets.unsqueeze(1)
    inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    both = weft.stack([rows[inside], columns[inside]])
    made = weft.sparse_coo_tensor(both, diagonals[inside], tuple(shape))
    return made if layout is None else made.to_sparse(layout=layout)


dsmm = spmm = mm  # its older names, torch.spmm


def __getattr__(name: str) -> Any:
    """Make the older types of sparse tensors on first use."""
    from weft.tensor import _TYPE_NAMES

    if name not in _TYPE_NAMES:
        raise AttributeError(f"module 'weft.sparse' has no attribute '{name}'")
    from .legacy import sparse_type

    globals()[name] = sparse_type(name)
    return globals()[name]
