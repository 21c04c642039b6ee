"""Ops made of sorting: argsort, quantiles, unique values, membership; and ``norm``."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@op(derivative="an index has no derivative")
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Return the indices that sort along ``dim``.

    >>> weft.argsort(weft.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    return weft.sort(input.detach(), dim, descending).indices


@op(out=True)
def msort(input: Tensor) -> Tensor:
    """Sort along the first dimension.

    >>> weft.msort(weft.tensor([3, 1, 2]))
    tensor([1, 2, 3])
    """
    return weft.sort(input, 0).values


def _quantile(
    input: Tensor, q: Any, dim: int | None, keepdim: bool, how: str, skip_nan: bool, name: str
) -> Tensor:
    if not input.is_floating_point():
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if how not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {how}"
        )
    qs = q if isinstance(q, Tensor) else weft.tensor(q, dtype=input.dtype)
    if qs.dim() > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if qs.dtype != input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if bool(((qs < 0) | (qs > 1)).any()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    x = input.reshape(-1) if dim is None else input
    d = 0 if dim is None else dim
    x = x.reshape(1) if x.dim() == 0 else x
    ordered = weft.sort(x.movedim(d, -1), -1).values
    n = ordered.shape[-1]
    if skip_nan:
        count = (~weft.isnan(ordered)).sum(-1, keepdim=True)
        rank = qs.reshape(-1) * (count - 1).clamp(min=0).to(qs.dtype)
    else:
        rank = (qs.reshape(-1) * (n - 1)).expand((*ordered.shape[:-1], qs.numel()))
    if how == "lower":
        rank = rank.floor()
    elif how == "higher":
        rank = rank.ceil()
    elif how == "nearest":
        rank = rank.round()
    low = rank.floor()
    a, b = ordered.gather(-1, low.long()), ordered.gather(-1, rank.ceil().long())
    weight = weft.full_like(rank, 0.5) if how == "midpoint" else (rank - low)
    if how in ("linear", "midpoint"):
        a = weft.lerp(a, b, weight)
    if not skip_nan:
        a = weft.where(weft.isnan(ordered).any(-1, keepdim=True), float("nan"), a)
    if dim is None:
        a = a.reshape((-1, *([1] * input.dim() if keepdim else [])))
    else:
        a = a.movedim(-1, 0)
        if keepdim:
            a = a.unsqueeze(1 + (dim if dim >= 0 else dim + input.dim())) if input.dim() else a
    if input.dim() == 0 and dim is not None:
        a = a.reshape(-1)
    return a if qs.dim() else a.squeeze(0)


@op(out=True)
def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """Return the ``q``-th quantiles over ``dim``, between elements as ``interpolation`` says.

    >>> weft.quantile(weft.tensor([1.0, 2.0, 3.0]), 0.5)
    tensor(2.)
    """
    return _quantile(input, q, dim, keepdim, interpolation, False, "quantile")


@op(out=True)
def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """Return the quantiles of the elements that are numbers.

    >>> weft.nanquantile(weft.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    return _quantile(input, q, dim, keepdim, interpolation, True, "nanquantile")


def _rows_as_keys(input: Tensor, dim: int) -> Tensor:
    """A number per slice along ``dim``, equal where slices are, ordered as the slices are."""
    count = input.shape[dim]
    rows = input.movedim(dim, 0).reshape(count, input.numel() // count if count else 0).contiguous()
    keys = weft.zeros(rows.shape[0], dtype=weft.int64)
    for column in range(rows.shape[1] - 1, -1, -1):  # least significant first, each sort stable
        keys_order = keys.argsort()
        values, order = weft.sort(rows[:, column][keys_order])
        place = keys_order[order]
        pair_changes = (values[1:] != values[:-1]) | (keys[place][1:] != keys[place][:-1])
        rank = weft.cat(
            [weft.zeros(min(1, len(place)), dtype=weft.int64), pair_changes.long()]
        ).cumsum(0)
        fresh = weft.zeros_like(keys)
        fresh[place] = rank
        keys = fresh
    return keys


def _asked(values: Tensor, inverse: Tensor | None, counts: Tensor | None) -> Any:
    """The values alone, or with what else is there."""
    parts = [t for t in (values, inverse, counts) if t is not None]
    return tuple(parts) if len(parts) > 1 else values


@op(derivative="which elements are equal has no derivative")
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the different elements (or slices along ``dim``) in order, and where and how often they occur.

    >>> weft.unique(weft.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    x = input.detach()
    keys = x.reshape(-1).contiguous() if dim is None else _rows_as_keys(x, dim)
    values, inverse, counts, places = _C._call_op("unique_flat", (keys, False), False)
    if dim is None:
        inverse = inverse.reshape(x.shape)
    else:
        values = x.index_select(dim, places)
    return _asked(values, inverse if return_inverse else None, counts if return_counts else None)


@op(derivative="which elements are equal has no derivative")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the elements (or slices along ``dim``) without repeats of their neighbour.

    >>> weft.unique_consecutive(weft.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    x = input.detach()
    if x.is_complex():
        raise NotImplementedError(f"unique_consecutive: not implemented for {x.dtype}")
    rows = x.reshape(-1) if dim is None else x.movedim(dim, 0)
    n = rows.shape[0]
    changes = rows[1:] != rows[:-1]
    if changes.dim() > 1:
        changes = changes.flatten(1).any(1)
    start = min(n, 1)  # what comes before the first change
    first = weft.cat([weft.ones(start, dtype=weft._C.bool), changes])
    inverse = counts = None
    if return_counts or dim is not None:
        places = first.nonzero().view(-1)
    if return_counts:
        counts = weft.cat([places[1:], weft.full((start,), n, dtype=weft.int64)]) - places
    if return_inverse:
        inverse = weft.cat([weft.zeros(start, dtype=weft._C.bool), changes]).cumsum(0)
        inverse = inverse.reshape(x.shape) if dim is None else inverse
    values = weft.masked_select(rows, first) if dim is None else x.index_select(dim, places)
    return _asked(values, inverse, counts)


@op(out=True, derivative="a count has no derivative")
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Count the elements in each of ``bins`` equal parts between ``min`` and ``max``.

    >>> weft.histc(weft.tensor([1.0, 2.0, 1.0]), bins=2, min=0, max=3)
    tensor([2., 1.])
    """
    if bins <= 0:
        raise RuntimeError(f"histc: bins must be > 0, but got {bins}")
    x = input.detach().reshape(-1).contiguous()
    low, high = float(min), float(max)
    if not low <= high:
        raise RuntimeError(f"histc: max must be larger than min, got [{low}, {high}]")
    return _C._call_op("histogram_counts", (x, bins, low, high), False)[0]


@op(out=True, derivative="the result is bool")
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Say of each element whether it is among ``test_elements``.

    >>> weft.isin(weft.tensor([1, 2]), weft.tensor([2, 3]))
    tensor([False,  True])
    """
    x = elements if isinstance(elements, Tensor) else weft.tensor(elements)
    tests = test_elements if isinstance(test_elements, Tensor) else weft.tensor(test_elements)
    if tests.numel() < 32 or x.is_complex() or tests.is_complex():
        found = (x.unsqueeze(-1) == tests.reshape(-1)).any(-1)
    else:  # each element is compared with the one that stands where it would
        kind = weft.promote_types(x.dtype, tests.dtype)
        x, ordered = x.to(kind), weft.sort(tests.detach().to(kind).reshape(-1)).values
        place = weft.searchsorted(ordered, x).clamp(max=tests.numel() - 1)
        found = ordered[place] == x
    return ~found if invert else found


@op(out=True, casts_out=True)
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Return the ``n``-th differences of neighbours along ``dim``.

    >>> weft.diff(weft.tensor([1, 3, 6]))
    tensor([2, 3])
    """
    if n < 0:
        raise RuntimeError(f"diff: order must be non-negative but got {n}")
    if input.dim() == 0:
        raise RuntimeError("diff: expects input to be at least one-dimensional")
    parts = [p for p in (prepend, input, append) if p is not None]
    x = weft.cat(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, x.shape[dim])):
        a, b = x.narrow(dim, 1, x.shape[dim] - 1), x.narrow(dim, 0, x.shape[dim] - 1)
        x = weft.logical_xor(a, b) if x.dtype == weft._C.bool else a - b
    return x if n else x.clone()


@op(out=True)
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Tensor:
    """Return the vector norm of order ``p``, or the matrix norms 'fro' and 'nuc'.

    >>> weft.norm(weft.tensor([3.0, 4.0]))
    tensor(5.)
    """
    n = max(input.dim(), 1)
    for d in () if dim is None else (dim,) if isinstance(dim, int) else dim:
        if not -n <= d < n:
            raise IndexError(
                f"norm: Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
            )
    if p in (None, "fro"):
        if isinstance(dim, (tuple, list)) and len(dim) > 2:
            raise RuntimeError(
                f"norm: the Frobenius norm is of at most two dimensions, got dim={dim}"
            )
        return weft.linalg_vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if p == "nuc":
        dims = (-2, -1) if dim is None else dim
        return weft.linalg.matrix_norm(input, "nuc", dims, keepdim, dtype=dtype)
    if isinstance(p, str):
        raise RuntimeError(f"norm: p must be a number, 'fro' or 'nuc', got '{p}'")
    return weft.linalg_vector_norm(input, p, dim, keepdim, dtype=dtype)


@op(out=False)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Return the ``p``-norm of ``input - other``.

    >>> weft.dist(weft.tensor([3.0]), weft.tensor([1.0]))
    tensor(2.)
    """
    return weft.linalg_vector_norm(input - other, p)


@op(method=False)
def softmin(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Softmax of the negative.

    >>> weft.softmin(weft.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    return weft.softmax(-input, dim, dtype=dtype)
