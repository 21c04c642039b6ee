# Written by `python -m tools.stubs`. Do not edit.
from typing import Any

@overload
def atleast_1d(input: Tensor, /) -> Tensor:
    """View 0-d tensors as vectors of one element.

    >>> weft.atleast_1d(weft.tensor(2.0))
    tensor([2.])
    """
@overload
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(input: Tensor, /) -> Tensor:
    """View numbers and vectors as matrices of one row.

    >>> weft.atleast_2d(weft.tensor([1, 2]))
    tensor([[1, 2]])
    """
@overload
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(input: Tensor, /) -> Tensor:
    """View tensors with three dimensions: a vector lies along the second, a matrix in the first two.

    >>> weft.atleast_3d(weft.ones(2)).shape
    torch.Size([1, 2, 1])
    """
@overload
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Return a matrix with the given matrices along its diagonal, zeros elsewhere.

    Vectors count as rows, single elements as matrices of one.

    >>> weft.block_diag(weft.tensor([[1, 2]]), weft.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape that all of ``shapes`` broadcast to.

    >>> weft.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Expand all tensors to their common shape.

    >>> [t.shape for t in weft.broadcast_tensors(weft.ones(2, 1), weft.ones(3))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Return all choices of one element of each vector, one in each row.

    >>> weft.cartesian_prod(weft.tensor([1, 2]), weft.tensor([4, 5]))
    tensor([[1, 4],
            [1, 5],
            [2, 4],
            [2, 5]])
    """
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: _float = 2.0,
    compute_mode: _str = 'use_mm_for_euclid_dist_if_necessary',
) -> Tensor:
    """Return the distances between all rows of x1 and all rows of x2, in the p-norm.

    >>> weft.cdist(weft.tensor([[0.0, 0.0]]), weft.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the product of several matrices, multiplied in the order that costs least.

    >>> weft.chain_matmul(weft.ones(2, 3), weft.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
def einsum(*args: Any) -> Tensor:
    """Return the sum of products that an equation describes.

    >>> weft.einsum("ij,jk->ik", weft.ones(2, 3), weft.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
def istft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    normalized: _bool = False,
    onesided: _bool | None = None,
    length: _int | None = None,
    return_complex: _bool = False,
) -> Tensor:
    """Return the signal of short-time spectra: the frames, overlapped, over the squared windows.

    >>> weft.istft(weft.stft(weft.ones(8), 4, return_complex=True), 4)
    tensor([1., 1., 1., 1., 1., 1., 1., 1.])
    """
def lu(
    A: Tensor,
    pivot: _bool = True,
    get_infos: _bool = False,
    *,
    out: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Return the factors L and U in one matrix and the exchanged rows, as ``linalg.lu_factor`` does.

    >>> weft.lu(weft.tensor([[0.0, 2.0], [4.0, 8.0]]))[1]
    tensor([2, 2], dtype=torch.int32)
    """
def meshgrid(
    *tensors: Tensor | Sequence[Tensor],
    indexing: _str | None = None,
) -> tuple[Tensor, ...]:
    """Return a grid of coordinates for each vector: all have the shape that the vectors span.

    With ``indexing="ij"`` (the default) the first vector runs along the first dimension; with
    ``"xy"`` along the second, as in a picture.

    >>> x, y = weft.meshgrid(weft.tensor([1, 2]), weft.tensor([3, 4, 5]), indexing="ij")
    >>> x
    tensor([[1, 1, 1],
            [2, 2, 2]])
    >>> y
    tensor([[3, 4, 5],
            [3, 4, 5]])
    """
def norm(
    input: Tensor,
    p: _float | _str | None = 'fro',
    dim: _Ints | None = None,
    keepdim: _bool = False,
    dtype: _DType | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the vector norm of order ``p``, or the matrix norms 'fro' and 'nuc'.

    >>> weft.norm(weft.tensor([3.0, 4.0]))
    tensor(5.)
    """
def stft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    pad_mode: _str = 'reflect',
    normalized: _bool = False,
    onesided: _bool | None = None,
    return_complex: _bool | None = None,
    align_to_window: _bool | None = None,
) -> Tensor:
    """Return the spectra of overlapping frames: (…, frequencies, frames).

    >>> weft.stft(weft.ones(8), 4, return_complex=True).shape
    torch.Size([3, 9])
    """
def tensordot(
    a: Tensor,
    b: Tensor,
    dims: _Ints | None = 2,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the sum of products over some dimensions of two tensors.

    >>> weft.tensordot(weft.ones(2, 3), weft.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any:
    """Return the different elements (or slices along ``dim``) in order, and where and how often they occur.

    >>> weft.unique(weft.tensor([3, 1, 3]))
    tensor([1, 3])
    """
def unique_consecutive(
    input: Tensor,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any:
    """Return the elements (or slices along ``dim``) without repeats of their neighbour.

    >>> weft.unique_consecutive(weft.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
def unravel_index(indices: Tensor, shape: _Ints) -> tuple[Tensor, ...]:
    """Return the coordinates, one tensor for each dimension of ``shape``, of elements counted in order.

    >>> weft.unravel_index(weft.tensor([3, 5]), (2, 3))
    (tensor([1, 1]), tensor([0, 2]))
    """
split: Any
