"""Products and functions of matrices that are made of other ops."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.ops import op
from weft.ops.decompose import _matrix
from weft.ops.matrix_functions import linalg_inv_ex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_inf = float("inf")


# ---- products ----


@op(method=False, out=True)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Return the sum of products over some dimensions of two tensors.

    >>> weft.tensordot(weft.ones(2, 3), weft.ones(3, 4), dims=1).shape
    weft.Size([2, 4])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims <= the dimensions of both operands, but got dims={dims}")
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    left, right = [d % max(a.ndim, 1) for d in left], [d % max(b.ndim, 1) for d in right]
    if len(left) != len(right):
        raise RuntimeError("tensordot: both dimension lists should have same length")
    for i, j in zip(left, right):
        if a.shape[i] != b.shape[j]:
            if a.shape[i] != 1 and b.shape[j] != 1:
                raise RuntimeError(
                    f"tensordot: contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} "
                    f"and second has size {b.shape[j]} in dim {j}"
                )
            a, b = (a.sum(i, True), b) if b.shape[j] == 1 else (a, b.sum(j, True))
    rows = [i for i in range(a.ndim) if i not in left]
    cols = [j for j in range(b.ndim) if j not in right]
    shape = [a.shape[i] for i in rows] + [b.shape[j] for j in cols]
    depth = 1
    for i in left:
        depth *= a.shape[i]
    x = a.permute(*rows, *left).reshape(_numel(a, rows), depth)
    y = b.permute(*right, *cols).reshape(depth, _numel(b, cols))
    return weft.mm(x, y).reshape(shape)


def _numel(t: Tensor, dims: list[int]) -> int:
    n = 1
    for d in dims:
        n *= t.shape[d]
    return n


@op(out=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: every element of input times all of other.

    >>> weft.kron(weft.tensor([1, 10]), weft.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    n = max(input.ndim, other.ndim)
    a, b = ([1] * (n - t.ndim) + list(t.shape) for t in (input, other))
    x = input.reshape([s for i in a for s in (i, 1)])
    y = other.reshape([s for i in b for s in (1, i)])
    return (x * y).reshape([i * j for i, j in zip(a, b)])


@op(out=True)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Return the vector products along a dimension of size 3 (by default the first such).

    >>> weft.cross(weft.tensor([1, 0, 0]), weft.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    if dim is None:
        shape = weft.broadcast_shapes(input.shape, other.shape)
        if 3 not in shape:
            raise RuntimeError("cross: no dimension of size 3 in input")
        dim = list(shape).index(3) - len(shape)
    return linalg_cross(input, other, dim=dim)


@op(method=False, out=True)
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Return the vector products along a dimension of size 3.

    >>> weft.linalg.cross(weft.tensor([1, 0, 0]), weft.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    a, b = weft.broadcast_tensors(input, other)
    if not -a.ndim <= dim < a.ndim:
        raise IndexError(f"linalg.cross: Dimension out of range (expected to be in [{-a.ndim}, {a.ndim - 1}], but got {dim})")
    if a.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        )
    (a0, a1, a2), (b0, b1, b2) = a.unbind(dim), b.unbind(dim)
    return weft.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], dim)


@op(method=False, out=True)
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Return the inner products along a dimension, the first operand conjugated.

    >>> weft.linalg.vecdot(weft.ones(2, 3), weft.ones(2, 3))
    tensor([3., 3.])
    """
    return (x.conj() * y).sum(dim)


@op(method=False, out=True)
def linalg_multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Return the product of several matrices, multiplied in the order that costs least.

    >>> weft.linalg.multi_dot([weft.ones(2, 3), weft.ones(3, 4), weft.ones(4)])
    tensor([12., 12.])
    """
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, last = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if first:
        tensors[0] = tensors[0].unsqueeze(0)
    if last:
        tensors[-1] = tensors[-1].unsqueeze(1)
    for i, t in enumerate(tensors):
        if t.ndim != 2:
            kind = "a 1D or 2D" if i in (0, len(tensors) - 1) else "a 2D"
            raise RuntimeError(f"multi_dot(): tensor {i} must be {kind} tensor, got {t.ndim}D")
        if i and tensors[i - 1].shape[1] != t.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(tensors[i - 1].shape)} and {list(t.shape)} cannot be multiplied"
            )
    out = _product(tensors, *_cheapest([t.shape[0] for t in tensors] + [tensors[-1].shape[1]]))
    if first:
        out = out.squeeze(0)
    return out.squeeze(-1) if last else out


def _cheapest(sizes: list[int]) -> tuple[list[list[int]], int, int]:
    """Return where to split each run of a chain of matrices, for the fewest multiplications."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            choices = [
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            ]
            cost[i][j], split[i][j] = min(choices)
    return split, 0, n - 1


def _product(tensors: list[Tensor], split: list[list[int]], i: int, j: int) -> Tensor:
    if i == j:
        return tensors[i]
    k = split[i][j]
    return _product(tensors, split, i, k) @ _product(tensors, split, k + 1, j)


@op(method=False, out=True)
def chain_matmul(*matrices: Tensor) -> Tensor:
    """Return the product of several matrices, multiplied in the order that costs least.

    >>> weft.chain_matmul(weft.ones(2, 3), weft.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
    return matrices[0] if len(matrices) == 1 else linalg_multi_dot(matrices)


@op(method=False)
def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """Return the distances between all rows of x1 and all rows of x2, in the p-norm.

    >>> weft.cdist(weft.tensor([[0.0, 0.0]]), weft.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype}")
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"cdist: X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    return weft.linalg_vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


@op()
def trace(input: Tensor) -> Tensor:
    """Return the sum of the diagonal of a matrix.

    >>> weft.trace(weft.eye(3))
    tensor(3.)
    """
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return input.diagonal().sum()


@op(out=True, aliases=("linalg_matrix_power",))
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Return a square matrix multiplied n times with itself; its inverse, where n is negative.

    >>> weft.matrix_power(weft.tensor([[2.0, 0.0], [0.0, 3.0]]), 2)
    tensor([[4., 0.],
            [0., 9.]])
    """
    if input.ndim < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if input.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {input.shape[-2]} by {input.shape[-1]} matrices"
        )
    if n == 0:
        return weft.eye(input.shape[-1], dtype=input.dtype).expand(input.shape).clone()
    base = weft.linalg_inv(input) if n < 0 else input
    n, out = abs(n), None
    while n:
        if n & 1:
            out = base if out is None else out @ base
        n >>= 1
        if n:
            base = base @ base
    return out.clone() if out is input else out


@op(method=False)
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return the diagonal of the last two dimensions (or of others), as a view.

    >>> weft.linalg.diagonal(weft.eye(2))
    tensor([1., 1.])
    """
    return A.diagonal(offset, dim1, dim2)


@op(method=False, out=True)
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Return the powers 0 … N - 1 of each element, in a new last dimension.

    >>> weft.linalg.vander(weft.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    n = x.shape[-1] if N is None else N
    if n < 1:
        raise RuntimeError(f"N must be greater than 1. Got {n}.")
    column = x.unsqueeze(-1)
    ones = weft.ones_like(column)
    return weft.cat([ones, column.expand([*x.shape, n - 1])], -1).cumprod(-1)


# ---- norms ----


def _movedims(A: Tensor, dims: Sequence[int]) -> Tensor:
    a, b = (d % A.ndim for d in dims)
    return A.permute(*[i for i in range(A.ndim) if i not in (a, b)], a, b)


@op(method=False, out=True)
def linalg_matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Return a norm of a matrix: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.

    >>> weft.linalg.matrix_norm(weft.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    if dtype is not None:
        A = A.to(dtype)
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if not (A.is_floating_point() or A.is_complex()):
        raise RuntimeError(f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {A.dtype}")
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {list(dim)}")
    for d in dim:
        if not -A.ndim <= d < A.ndim:
            raise IndexError(f"linalg.matrix_norm: Dimension out of range (expected to be in [{-A.ndim}, {A.ndim - 1}], but got {d})")
    a, b = (d % A.ndim for d in dim)
    if a == b:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return weft.linalg_vector_norm(A, 2, [a, b], keepdim)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        s = weft.linalg_svdvals(_movedims(A, (a, b)))
        out = s.sum(-1) if ord == "nuc" else s.amax(-1) if ord > 0 else s.amin(-1)
        if keepdim:
            for d in sorted((a, b)):
                out = out.unsqueeze(d)
        return out
    if isinstance(ord, str) or abs(ord) not in (1, _inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if abs(ord) == _inf:
        a, b = b, a
    sums = weft.linalg_vector_norm(A, 1, a, True)
    out = sums.amax(b, True) if ord > 0 else sums.amin(b, True)
    return out if keepdim else out.squeeze((a, b))


@op(method=False, out=True)
def linalg_norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return a norm of a vector or a matrix; without ord, the root of the sum of all squares.

    >>> weft.linalg.norm(weft.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dims = [dim] if isinstance(dim, int) else dim
    if dims is not None and len(dims) not in (1, 2) and ord is not None:
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if ord is None:
        return weft.linalg_vector_norm(A, 2, dims, keepdim, dtype=dtype)
    if dims is None:
        if A.ndim not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
            )
        dims = list(range(A.ndim))
    if len(dims) == 2:
        return linalg_matrix_norm(A, ord, dims, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: the {ord} norm is defined for matrices, but got 1 dimension")
    return weft.linalg_vector_norm(A, ord, dims, keepdim, dtype=dtype)


@op(method=False, out=True)
def linalg_cond(A: Tensor, p: Any = None) -> Tensor:
    """Return the condition number of a matrix in the p-norm (by default 2).

    >>> weft.linalg.cond(weft.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(2.)
    """
    _matrix("cond", A)
    if p is None or p in (2, -2):
        s = weft.linalg_svdvals(A)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"linalg.cond: with p={p}, A must be batches of square matrices")
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    inverse, info = linalg_inv_ex(A)
    out = linalg_matrix_norm(A, p) * linalg_matrix_norm(inverse, p)
    return weft.where(info == 0, out, weft.full_like(out, _inf)) if bool((info != 0).any()) else out
