"""Products of vectors and matrices that are made of other ops."""

from __future__ import annotations

import math

import weft
from weft import _C
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_distances = _C._op_function("distances")
_COMPUTE_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


@op(method=False, out=True)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Return the sum of products over some dimensions of two tensors.

    >>> weft.tensordot(weft.ones(2, 3), weft.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(
                f"tensordot expects dims <= the dimensions of both operands, but got dims={dims}"
            )
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
                    "tensordot: contracted dimensions need to match, but first has size "
                    f"{a.shape[i]} in dim {i} and second has size {b.shape[j]} in dim {j}"
                )
            if b.shape[j] == 1:
                a = a.sum(i, True, dtype=a.dtype)
            else:
                b = b.sum(j, True, dtype=b.dtype)
    rows = [i for i in range(a.ndim) if i not in left]
    cols = [j for j in range(b.ndim) if j not in right]
    shape = [a.shape[i] for i in rows] + [b.shape[j] for j in cols]
    depth = 1
    for i in left:
        depth *= a.shape[i]
    x = a.permute([*rows, *left]).reshape(_numel(a, rows), depth)
    y = b.permute([*right, *cols]).reshape(depth, _numel(b, cols))
    return weft.mm(x, y).reshape(shape)


def _numel(t: Tensor, dims: list[int]) -> int:
    n = 1
    for d in dims:
        n *= t.shape[d]
    return n


@op(out=True, casts_out=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: every element of input times all of other.

    >>> weft.kron(weft.tensor([1, 10]), weft.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    n = max(input.ndim, other.ndim)
    a = (1,) * (n - input.ndim) + tuple(input.shape)
    b = (1,) * (n - other.ndim) + tuple(other.shape)
    if not n or b[-1] >= 64:
        x = input.reshape([s for i in a for s in (i, 1)])
        products = x * other.reshape([s for i in b for s in (1, i)])
    elif other.numel() >= input.numel():  # long rows put in order: faster than many short ones
        products = (input.reshape(-1, 1) * other.reshape(-1)).view(a + b)
        products = products.permute([d for i in range(n) for d in (i, n + i)])
    else:
        products = (other.reshape(-1, 1) * input.reshape(-1)).view(b + a)
        products = products.permute([d for i in range(n) for d in (n + i, i)])
    return products.reshape([i * j for i, j in zip(a, b)])


@op(method=False, out=True)
def chain_matmul(*matrices: Tensor) -> Tensor:
    """Return the product of several matrices, multiplied in the order that costs least.

    >>> weft.chain_matmul(weft.ones(2, 3), weft.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
    return matrices[0].clone() if len(matrices) == 1 else weft.linalg.multi_dot(matrices)


@op(method=False)
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
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
        raise RuntimeError(
            f"cdist: X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: "
            f"{x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode not in _COMPUTE_MODES:
        raise ValueError(f"cdist: {compute_mode} is not a valid value for compute_mode")
    # All modes mean the same here: differences are taken as such, which is as fast as products, and exact.
    dtype = x1.dtype
    if x1.ndim == x2.ndim == 2 and dtype == x2.dtype and dtype.itemsize >= 4:
        return _distances(x1.unsqueeze(0), x2.unsqueeze(0), p).squeeze(0)
    dtype = weft.promote_types(dtype, x2.dtype)
    wide = weft.float32 if dtype.itemsize < 4 else dtype
    batch = weft.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    a, b = (
        x.to(wide).expand(*batch, -1, -1).reshape(math.prod(batch), *x.shape[-2:]) for x in (x1, x2)
    )
    return _distances(a, b, p).reshape(*batch, a.shape[1], b.shape[1]).to(dtype)


@op(method=False, out=True)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the powers of each element of a vector, in its row: the highest first.

    >>> weft.vander(weft.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if x.dim() != 1:
        raise RuntimeError(f"vander: x must be a one-dimensional tensor, got shape {list(x.shape)}")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError(f"vander: N must be non-negative, got {n}")
    x = x if x.is_floating_point() or x.is_complex() else x.long()
    if n == 0:
        return x.new_empty((x.shape[0], 0))
    powers = weft.linalg.products.powers(x, n)
    return (powers if increasing else powers.flip(0)).t().contiguous()
