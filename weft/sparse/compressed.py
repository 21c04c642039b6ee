"""Sparse matrices by rows (CSR) and by columns (CSC): made, read, and converted.

A compressed tensor has the same entries as one of layout ``sparse_coo``, each there once and in
order; what it counts by row or column is computed when it is asked for.
"""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft._environment import at_line, sparse_csc, sparse_csr, strided
from weft.ops.sparse import _by_column, to_sparse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["sparse_compressed_tensor", "sparse_csc_tensor", "sparse_csr_tensor"]

_in_layout = _C._op_function("sparse_layout")


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Return the sparse matrix whose row i has ``values[crow[i]:crow[i + 1]]``.

    Args:
        crow_indices: where each row begins among the entries, and where the last one ends.
        col_indices: the column of each entry, rising within a row.
        values: the entries; gradients flow to them. Dimensions after the first are dense.
        size: the shape; the smallest that fits if it is not given.
        dtype: that of ``values`` if it is not given.
        device: where it lives: the CPU.
        pin_memory: not in weft.
        requires_grad: whether gradients are wanted.
        check_invariants: accepted; weft checks indices always.

    >>> x = weft.sparse_csr_tensor([0, 1, 3], [2, 0, 1], [3.0, 4.0, 5.0], (2, 3))
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 5., 0.]])
    """
    made = sparse_compressed_tensor(
        crow_indices, col_indices, values, size, dtype=dtype, layout=sparse_csr, device=device,
        pin_memory=pin_memory, requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip
    return made


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Return the sparse matrix whose column i has ``values[ccol[i]:ccol[i + 1]]``.

    The arguments are those of ``sparse_csr_tensor`` with rows and columns exchanged.

    >>> weft.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0], (2, 2)).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    made = sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, dtype=dtype, layout=sparse_csc, device=device,
        pin_memory=pin_memory, requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip
    return made


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Return a sparse matrix by rows or by columns, as ``layout`` says.

    >>> a = weft.sparse_compressed_tensor([0, 1], [1], [2.0], (1, 2), layout=weft.sparse_csr)
    >>> a.to_dense()
    tensor([[0., 2.]])
    """
    if layout not in (sparse_csr, sparse_csc):
        raise NotImplementedError(
            at_line(
                f"sparse_compressed_tensor: layout={layout}: weft has torch.sparse_csr and "
                "torch.sparse_csc"
            )
        )
    starts, plain = _whole(compressed_indices), _whole(plain_indices)
    values = values if isinstance(values, Tensor) else weft.tensor(values, dtype=dtype)
    values = values if dtype is None else values.to(dtype)
    name = f"{str(layout).rpartition('.')[2]}_tensor"
    by_row = layout is sparse_csr
    if size is None:
        size = _smallest(starts, plain, values, by_row)
    size = tuple(size)
    lines = _lines(starts, plain, values, size, by_row, name)
    both = weft.stack([lines, plain] if by_row else [plain, lines])
    made = weft.sparse_coo_tensor(
        both, values, size, device=device, pin_memory=pin_memory, is_coalesced=by_row
    )
    made = _in_layout(made, str(layout))
    return made.requires_grad_() if requires_grad else made


def _whole(indices: Any) -> Tensor:
    found = indices if isinstance(indices, Tensor) else weft.tensor(indices)
    return found.to(weft.int64) if found.numel() or isinstance(indices, Tensor) else found.long()


def _smallest(starts: Tensor, plain: Tensor, values: Tensor, by_row: bool) -> tuple[int, ...]:
    across = int(plain.max().item()) + 1 if plain.numel() else 0
    down = starts.numel() - 1
    return (*((down, across) if by_row else (across, down)), *values.shape[1:])


def _lines(
    starts: Tensor, plain: Tensor, values: Tensor, size: tuple[int, ...], by_row: bool, name: str
) -> Tensor:
    """Return the line (row or column) of each entry, after checks of everything."""
    crow, col = ("crow_indices", "col_indices") if by_row else ("ccol_indices", "row_indices")
    if starts.dim() > 1 or plain.dim() > 1:
        raise NotImplementedError(at_line(f"{name}: batches of matrices are not in weft"))
    if len(size) < 2 or starts.numel() != size[0 if by_row else 1] + 1:
        raise RuntimeError(
            at_line(
                f"{name}: expected {crow} of one element more than there are "
                f"{'rows' if by_row else 'columns'}, got {starts.numel()} for size {list(size)}"
            )
        )
    count = plain.numel()
    if values.dim() < 1 or values.shape[0] != count:
        raise RuntimeError(
            at_line(f"{name}: {col} and values must be as many: {count}, {list(values.shape)}")
        )
    lengths = starts.diff()
    if int(starts[0]) != 0 or int(starts[-1]) != count or bool((lengths < 0).any()):
        raise RuntimeError(
            at_line(f"{name}: {crow} must rise from 0 to the number of entries, {count}")
        )
    lines = weft.repeat_interleave(weft.arange(starts.numel() - 1), lengths)
    if count and bool(((plain.diff() <= 0) & (lines.diff() == 0)).any()):
        raise RuntimeError(
            at_line(f"{name}: {col} must rise within each {'row' if by_row else 'column'}")
        )
    return lines


# ---- methods of Tensor ------------------------------------------------------------------------


def _parts(self: Tensor, layout: Any, name: str) -> Tensor:
    if self.layout is not layout:
        raise RuntimeError(
            at_line(f"{name}: expected a tensor of layout {layout}, got {self.layout}")
        )
    return _C._sparse_indices(self, name)


def _starts(lines: Tensor, count: int) -> Tensor:
    counts = weft.bincount(lines, minlength=count)
    return weft.cat([weft.zeros(1, dtype=weft.int64), counts.cumsum(0)])


def crow_indices(self: Tensor) -> Tensor:
    """Return where each row of a CSR matrix begins among its entries, and where the last one ends.

    >>> weft.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return _starts(_parts(self, sparse_csr, "crow_indices")[0], self.shape[0])


def col_indices(self: Tensor) -> Tensor:
    """Return the column of each entry of a CSR matrix.

    >>> weft.eye(2).to_sparse_csr().col_indices()
    tensor([0, 1])
    """
    return _parts(self, sparse_csr, "col_indices")[1]


def ccol_indices(self: Tensor) -> Tensor:
    """Return where each column of a CSC matrix begins among its entries.

    >>> weft.eye(2).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """
    return _starts(_parts(self, sparse_csc, "ccol_indices")[1], self.shape[1])


def row_indices(self: Tensor) -> Tensor:
    """Return the row of each entry of a CSC matrix.

    >>> weft.eye(2).to_sparse_csc().row_indices()
    tensor([0, 1])
    """
    return _parts(self, sparse_csc, "row_indices")[0][_by_column(self)]


def _to_compressed(self: Tensor, dense_dim: int | None, layout: Any, name: str) -> Tensor:
    if self.dim() < 2 or self.dim() - (dense_dim or 0) != 2:
        raise NotImplementedError(
            at_line(f"{name}: weft compresses matrices, got {list(self.shape)}, {dense_dim=}")
        )
    return to_sparse(self, 2 if self.layout is strided else None, layout=layout)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return a matrix in the layout ``sparse_csr``.

    >>> weft.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_csr()
    tensor(crow_indices=tensor([0, 1, 1]),
           col_indices=tensor([1]),
           values=tensor([2.]),
           size=(2, 2), nnz=1, layout=torch.sparse_csr)
    """
    return _to_compressed(self, dense_dim, sparse_csr, "to_sparse_csr")


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return a matrix in the layout ``sparse_csc``.

    >>> weft.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_csc().ccol_indices()
    tensor([0, 0, 1])
    """
    return _to_compressed(self, dense_dim, sparse_csc, "to_sparse_csc")
