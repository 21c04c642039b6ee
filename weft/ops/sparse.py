"""Sparse tensors: made of entries, taken apart, and turned into dense ones.

What ops do with sparse tensors is native: ``csrc/ops/sparse_ops.cpp``.
"""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft._environment import at_line, sparse_coo, sparse_csc, sparse_csr, strided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["sparse_coo_tensor"]

_new = _C._op_function("sparse_coo_tensor")
_to_dense = _C._op_function("to_dense")
_from_dense = _C._op_function("to_sparse")
_coalesce = _C._op_function("coalesce")
_read = _C._op_function("values")
_mask = _C._op_function("sparse_mask")
_take = _C._op_function("sparse_take")
_in_layout = _C._op_function("sparse_layout")


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """Return the sparse tensor that has ``values[i]`` at ``indices[:, i]`` and zeros elsewhere.

    Values at the same place add up. Gradients flow to ``values``.

    Args:
        indices: integers of shape ``[sparse_dim, nnz]``; or the size, if nothing else is given.
        values: numbers of shape ``[nnz, ...]``; dimensions after the first are dense.
        size: the shape; the smallest that fits if it is not given.
        dtype: that of ``values`` if it is not given.
        device: where it lives: the CPU.
        pin_memory: not in weft.
        requires_grad: whether gradients are wanted.
        check_invariants: accepted; weft checks indices always.
        is_coalesced: the indices are in order, each there once; this is checked.

    >>> x = weft.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> x
    tensor(indices=tensor([[0, 1],
                           [2, 0]]),
           values=tensor([3., 4.]),
           size=(2, 3), nnz=2, layout=torch.sparse_coo)
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    weft.empty(0, device=device, pin_memory=pin_memory)  # a native op checks them
    if values is None:
        shape = tuple(indices if size is None else size)
        made = _new(
            weft.empty((len(shape), 0), dtype=weft.int64), weft.empty(0, dtype=dtype), shape, True
        )
        return made.requires_grad_() if requires_grad else made
    indices = _as_indices(indices)
    if not isinstance(values, Tensor):
        values = weft.tensor(values, dtype=dtype)
    elif dtype is not None:
        values = values.to(dtype)
    values = values.reshape(1) if values.dim() == 0 else values
    if size is None:
        size = _smallest_size(indices, values)
    made = _new(indices, values, tuple(size), bool(is_coalesced))
    return made.requires_grad_() if requires_grad else made


def _as_indices(indices: Any) -> Tensor:
    if not isinstance(indices, Tensor):
        indices = weft.tensor(indices)
        if not indices.numel():  # empty lists are floats
            indices = indices.to(weft.int64)
    if indices.dim() != 2:
        raise RuntimeError(
            at_line(
                "sparse_coo_tensor: indices must be a matrix [sparse_dim, nnz], got shape "
                f"{list(indices.shape)}"
            )
        )
    return indices


def _smallest_size(indices: Tensor, values: Tensor) -> tuple[int, ...]:
    if indices.shape[1]:
        sparse = [int(n) + 1 for n in indices.amax(1).tolist()]
    else:
        sparse = [0] * indices.shape[0]
    return (*sparse, *values.shape[1:])


# ---- methods of Tensor ------------------------------------------------------------------------


def to_sparse(
    self: Tensor,
    sparse_dim: Any = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
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
    if isinstance(sparse_dim, weft.layout):
        sparse_dim, layout = None, sparse_dim
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        raise NotImplementedError(
            at_line(f"to_sparse: layout={layout}: weft has {', '.join(list(_LAYOUTS)[1:])}")
        )
    for name, value in (("blocksize", blocksize), ("dense_dim", dense_dim)):
        if value is not None:
            raise NotImplementedError(at_line(f"to_sparse: {name}={value} is not in weft"))
    if sparse_dim is None:
        sparse_dim = self.sparse_dim() if self.layout is not strided else self.dim()
    return _in_layout(_from_dense(self, sparse_dim), str(layout or sparse_coo))


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return the tensor in the layout ``strided``; itself where it is dense.

    Args:
        dtype: the dtype of the result.
        masked_grad: whether the gradient is sparse, with entries where the tensor has some; weft
            has no other.

    >>> weft.sparse_coo_tensor([[0, 0, 2]], [1.0, 2.0, 5.0]).to_dense()
    tensor([3., 0., 5.])
    """
    if masked_grad is False:
        raise NotImplementedError(at_line("to_dense: masked_grad=False is not in weft"))
    made = _to_dense(self)
    return made if dtype is None else made.to(dtype)


def coalesce(self: Tensor) -> Tensor:
    """Return the sparse tensor with its indices in order, and values at the same place added up.

    >>> x = weft.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 5.0])
    >>> x.coalesce().values()
    tensor([2., 6.])
    """
    return _coalesce(self)


def is_coalesced(self: Tensor) -> bool:
    """Say whether the indices are known to be in order, each there once.

    >>> weft.ones(2).to_sparse().is_coalesced()
    True
    """
    return _C._sparse_coalesced(_coo(self, "is_coalesced"), "is_coalesced")


def _coo(self: Tensor, name: str) -> Tensor:
    if self.layout not in (strided, sparse_coo):
        raise RuntimeError(
            at_line(f"{name}: expected a tensor of layout torch.sparse_coo, got {self.layout}")
        )
    return self


def _of_coalesced(self: Tensor, name: str) -> Tensor:
    if not _C._sparse_coalesced(self, name):
        raise RuntimeError(
            at_line(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
        )
    return self


def indices(self: Tensor) -> Tensor:
    """Return where the entries of a coalesced tensor are: ``[sparse_dim, nnz]``.

    >>> weft.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    return _C._sparse_indices(_of_coalesced(_coo(self, "indices"), "indices"), "indices")


def values(self: Tensor) -> Tensor:
    """Return the values of the entries of a coalesced or compressed tensor; gradients flow.

    >>> weft.eye(2).to_sparse().values()
    tensor([1., 1.])
    """
    found = _read(_of_coalesced(self, "values"))
    return found[_by_column(self)] if self.layout is sparse_csc else found


def _by_column(self: Tensor) -> Tensor:
    """Return the order of the entries of a matrix by column; weft keeps them by row."""
    rows, columns = _C._sparse_indices(self, "values")
    return (columns * self.shape[0] + rows).argsort()


def sparse_dim(self: Tensor) -> int:
    """Return the number of sparse dimensions; of a dense tensor, 0.

    >>> weft.ones(2, 3).to_sparse(1).sparse_dim()
    1
    """
    return _C._sparse_dim(self)


def dense_dim(self: Tensor) -> int:
    """Return the number of dimensions that are not sparse.

    >>> weft.ones(2, 3).to_sparse(1).dense_dim()
    1
    """
    return self.dim() - _C._sparse_dim(self)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return what the tensor has where the sparse ``mask`` has entries.

    >>> weft.tensor([1.0, 2.0, 3.0]).sparse_mask(weft.sparse_coo_tensor([[2, 0]], [0.0, 0.0], (3,)))
    tensor(indices=tensor([[2, 0]]),
           values=tensor([3., 1.]),
           size=(3,), nnz=2, layout=torch.sparse_coo)
    """
    return _mask(self, mask)


def rows_with_sparse_gradient(weight: Tensor, index: Tensor) -> Tensor:
    """Return rows of a matrix by a vector of indices; the gradient of the matrix is sparse.

    >>> w = weft.ones(3, 2, requires_grad=True)
    >>> weft.ops.sparse.rows_with_sparse_gradient(w, weft.tensor([2])).sum().backward()
    >>> w.grad
    tensor(indices=tensor([[2]]),
           values=tensor([[1., 1.]]),
           size=(3, 2), nnz=1, layout=torch.sparse_coo)
    """
    return _take(weight, index.to(weft.int64).unsqueeze(0))


for _method in (
    to_sparse, to_dense, coalesce, is_coalesced, indices, values, sparse_dim, dense_dim,
    sparse_mask,
):  # fmt: skip
    setattr(Tensor, _method.__name__, _method)
Tensor.to_sparse_coo = lambda self: to_sparse(self)
Tensor._indices = lambda self: _C._sparse_indices(self, "_indices")
Tensor._values = lambda self: _C._sparse_values(self, "_values")
_LAYOUTS = {str(kind): kind for kind in (strided, sparse_coo, sparse_csr, sparse_csc)}
Tensor._nnz = lambda self: _C._sparse_indices(self, "_nnz").shape[1]
Tensor.layout = property(
    lambda self: _LAYOUTS[_C._sparse_layout(self)],
    doc="How the elements are stored.",
)
Tensor.is_sparse_csr = property(
    lambda self: self.layout is sparse_csr, doc="Whether the layout is sparse_csr."
)
