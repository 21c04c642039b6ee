"""Statistics made of reductions: areas, slopes, covariance, histograms."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.ops import named_tuple, op
from weft.ops.shape import _wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_range = range  # a parameter below


def _steps(y: Tensor, x: Tensor | None, dx: Any, dim: int, name: str) -> tuple[Tensor, Any]:
    """Sums of neighbours along ``dim``, and the distances between them."""
    n = y.shape[dim]
    pairs = y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1)
    if x is None:
        return pairs, dx
    if x.dim() == 1 and x.shape[0] != n:
        raise RuntimeError(
            f"{name}: There must be one `x` value for each sample point, got {x.shape[0]} for {n}"
        )
    if x.dim() == 1:
        width = [1] * y.dim()
        width[dim] = n
        x = x.reshape(width)
    m = x.shape[dim]
    return pairs, x.narrow(dim, 1, m - 1) - x.narrow(dim, 0, m - 1)


@op(method=False, aliases=("trapz",))
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """Return the area under ``y`` along ``dim``, made of trapezoids.

    >>> weft.trapezoid(weft.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    if y.shape[dim] == 0:
        shape = list(y.shape)
        del shape[dim]
        return weft.zeros(shape, dtype=y.dtype)
    if x is None:  # all but the ends belong to two trapezoids
        return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) / 2) * dx
    pairs, steps = _steps(y, x, dx, dim, "trapezoid")
    return (pairs * steps).sum(dim) / 2


@op(method=False)
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: int = -1
) -> Tensor:
    """Return the running area under ``y`` along ``dim``, made of trapezoids.

    >>> weft.cumulative_trapezoid(weft.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    pairs, steps = _steps(y, x, dx, dim, "cumulative_trapezoid")
    return (pairs * (steps / 2)).cumsum(dim)


def _differences(x: Tensor, dim: int, h: Any, edge_order: int) -> Tensor:
    """Slopes along ``dim``: ``h`` is the step, or the coordinates, one for each element."""
    n = x.shape[dim]

    def at(i: int, count: int = 1) -> Tensor:
        return x.narrow(dim, i, count)

    if not isinstance(h, Tensor) or h.dim() == 0:
        inner = (at(2, n - 2) - at(0, n - 2)) / (2 * h)
        if edge_order == 1:
            first, last = (at(1) - at(0)) / h, (at(n - 1) - at(n - 2)) / h
        else:
            first = (2 * at(1) - 1.5 * at(0) - 0.5 * at(2)) / h
            last = (1.5 * at(n - 1) - 2 * at(n - 2) + 0.5 * at(n - 3)) / h
        return weft.cat([first, inner, last], dim)

    shape = [1] * x.dim()
    shape[dim] = -1
    steps = weft.diff(h)

    def slope(i: int, count: int, a: Tensor, b: Tensor, where: int) -> Tensor:
        """Of the parabola through three neighbours ``a`` and ``b`` apart, at one of the three."""
        u, v = a.reshape(shape), b.reshape(shape)
        left = (at(i + 1, count) - at(i, count)) / u
        right = (at(i + 2, count) - at(i + 1, count)) / v
        bend = (right - left) / (u + v)
        return (left - bend * u, left + bend * u, right + bend * v)[where]

    inner = slope(0, n - 2, steps[:-1], steps[1:], 1)
    if edge_order == 1:
        first, last = (at(1) - at(0)) / steps[0], (at(n - 1) - at(n - 2)) / steps[-1]
    else:
        first = slope(0, 1, steps[:1], steps[1:2], 0)
        last = slope(n - 3, 1, steps[-2:-1], steps[-1:], 2)
    return weft.cat([first, inner, last], dim)


@op(method=False)
def gradient(
    input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Return the slopes of the values along each dimension, by central differences.

    ``spacing`` is the distance of neighbours (one number, or one for each dimension) or, for each
    dimension, their coordinates; ``edge_order`` the order of the differences at both ends.

    >>> weft.gradient(weft.tensor([1.0, 2.0, 4.0, 8.0]))
    (tensor([1.0000, 1.5000, 3.0000, 4.0000]),)
    """
    n = input.dim()
    dims = [*_range(n)] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [_wrap(d, n, "gradient") for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"gradient: dim {dim} names a dimension twice")
    if edge_order not in (1, 2):
        raise RuntimeError("gradient only supports edge_order=1 and edge_order=2.")
    if input.dtype == weft.uint8:
        raise RuntimeError("gradient does not support uint8 input.")
    spacing = 1 if spacing is None else spacing
    each = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(each) != len(dims):
        raise RuntimeError(
            f"gradient expected spacing to be a number or one for each of {len(dims)} dimensions, "
            f"got {len(each)}"
        )
    for d, h in zip(dims, each):
        if input.shape[d] < edge_order + 1:
            raise RuntimeError(
                "gradient expected each dimension size to be at least edge_order+1, got size "
                f"{input.shape[d]} at dimension {d}"
            )
        if isinstance(h, Tensor) and h.dim() and h.shape[0] != input.shape[d]:
            raise RuntimeError(
                f"gradient expected {input.shape[d]} coordinates for dimension {d}, got {h.shape[0]}"
            )
    return tuple(_differences(input, d, h, edge_order) for d, h in zip(dims, each))


def _weights(fweights: Tensor | None, aweights: Tensor | None, n: int) -> Tensor | None:
    for w, kind in ((fweights, "fweights"), (aweights, "aweights")):
        if w is None:
            continue
        if w.dim() > 1:
            raise RuntimeError(
                f"cov(): expected {kind} to have one or fewer dimensions but got {w.dim()}"
            )
        if w.is_floating_point() != (kind == "aweights") or w.dtype == _C.bool:
            raise RuntimeError(
                f"cov(): expected {kind} to have {'float' if kind == 'aweights' else 'integral'} dtype"
            )
        if w.numel() != n:
            raise RuntimeError(
                f"cov(): expected {kind} to have the same numel as there are observations, {n}"
            )
        if w.numel() and bool((w < 0).any()):
            raise RuntimeError(f"cov(): {kind} cannot be negative")
    if fweights is None or aweights is None:
        return fweights if aweights is None else aweights
    return fweights * aweights


@op()
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Return the covariances of the rows of ``input``, whose columns are observations.

    >>> weft.cov(weft.tensor([[0.0, 2.0], [0.0, 4.0]]))
    tensor([[2., 4.],
            [4., 8.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()}"
        )
    if input.dtype == _C.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    if aweights is not None and not aweights.is_floating_point():
        raise RuntimeError(
            f"cov(): expected aweights to have floating point dtype but got {aweights.dtype}"
        )
    x = input if input.dim() == 2 else input.reshape(1, -1)
    x = x if x.is_floating_point() or x.is_complex() else x.to(weft.get_default_dtype())
    n = x.shape[1]
    w = _weights(fweights, aweights, n)
    total = n if w is None else w.sum()
    mean = x.mean(1, keepdim=True) if w is None else (x * w).sum(1, keepdim=True) / total
    if w is not None and aweights is not None and correction:
        norm = total - correction * (w * aweights).sum() / total
    else:
        norm = total - correction
    centred = x - mean
    weighted = centred if w is None else centred * w
    norm = norm.clamp(min=0) if isinstance(norm, Tensor) else max(norm, 0)
    c = weft.matmul(centred, weighted.conj().transpose(0, 1)) / norm
    return c.squeeze()


@op()
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlations of the rows of ``input``: covariances over both standard deviations.

    >>> weft.corrcoef(weft.tensor([[0.0, 2.0], [0.0, 4.0]]))
    tensor([[1., 1.],
            [1., 1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got {input.dim()}"
        )
    c = cov(input)
    if c.dim() == 0:
        return c / c
    d = c.diagonal()
    std = weft.sqrt(d.real if d.is_complex() else d)
    c = c / std.unsqueeze(1) / std.unsqueeze(0)
    return (
        weft.complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1)) if c.is_complex() else c.clamp(-1, 1)
    )


def _edges(input: Tensor, bins: Any, range: Sequence[float] | None, name: str) -> Tensor:
    """The borders of the bins of one coordinate: given, or equal steps over the range of its values."""
    if isinstance(bins, Tensor):
        if bins.dim() != 1 or bins.numel() == 0:
            raise RuntimeError(
                f"{name}(): bins tensor should have one dimension and at least one element"
            )
        if bins.dtype != input.dtype:
            raise RuntimeError(
                f"{name}(): input tensor and bins tensors should have the same dtype"
            )
        return bins.clone()
    if bins < 1:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins}")
    if range is not None:
        low, high = (weft.tensor(float(x), dtype=weft.float64) for x in range)
    elif input.numel():
        low, high = input.min().double(), input.max().double()
    else:
        low, high = weft.zeros((), dtype=weft.float64), weft.ones((), dtype=weft.float64)
    if not bool(weft.isfinite(low) & weft.isfinite(high)):
        raise RuntimeError(f"{name}(): dimension 0's range [{low}, {high}] is not finite")
    if bool(low > high):
        raise RuntimeError(f"{name}(): min should not exceed max, but got min {low} max {high}")
    room = 0.5 * (low == high)
    return weft.linspace(low - room, high + room, bins + 1, dtype=input.dtype)


def _bins_of(x: Tensor, edges: Tensor) -> Tensor:
    """The bin of each value, or -1; the last bin has both its borders."""
    last = edges.numel() - 1
    at = weft.searchsorted(edges, x, right=True) - 1
    at = weft.where(x == edges[-1], last - 1, at)
    return weft.where((at < 0) | (at >= last) | weft.isnan(x), -1, at)


def _histogram(points: Tensor, edges: list[Tensor], weight: Tensor | None, density: bool) -> Tensor:
    sizes = [e.numel() - 1 for e in edges]
    flat, inside = weft.zeros(points.shape[0], dtype=weft.int64), None
    for k, e in enumerate(edges):
        at = _bins_of(points[:, k].contiguous(), e)
        inside = at >= 0 if inside is None else inside & (at >= 0)
        flat = flat * sizes[k] + at
    total = 1
    for s in sizes:
        total *= s
    values = (
        weft.ones(points.shape[0], dtype=points.dtype)
        if weight is None
        else weight.reshape(-1).to(points.dtype)
    )
    counts = weft.zeros(total, dtype=points.dtype)
    if inside is not None:
        counts = counts.index_add(0, flat[inside], values[inside])
    counts = counts.reshape(sizes)
    if density:
        counts = counts / counts.sum()
        for k, e in enumerate(edges):
            shape = [1] * len(sizes)
            shape[k] = -1
            counts = counts / weft.diff(e).reshape(shape)
    return counts


def _check_weight(input: Tensor, weight: Tensor | None, count: int, name: str) -> None:
    if not input.is_floating_point():
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype}'")
    if weight is None:
        return
    if weight.dtype != input.dtype:
        raise RuntimeError(
            f"{name}(): if weight tensor is provided, input tensor and weight tensor should have the same dtype"
        )
    if weight.numel() != count:
        raise RuntimeError(
            f"{name}(): if weight tensor is provided it should have one value for each of {count} points"
        )


@op(out=True, derivative="a count has no derivative")
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Count the elements between neighbouring edges: ``bins`` equal steps over ``range``, or given ones.

    >>> weft.histogram(weft.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0)).hist
    tensor([2., 1.])
    """
    _check_weight(input, weight, input.numel(), "histogram")
    x = input.detach().reshape(-1)
    edges = _edges(x, bins, range, "histogram")
    counts = _histogram(
        x.unsqueeze(1), [edges], None if weight is None else weight.detach(), density
    )
    return named_tuple("histogram", hist=counts, bin_edges=edges)


@op(method=False, derivative="a count has no derivative")
def histogramdd(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Count points, the rows of ``input``, in the cells of a grid.

    >>> weft.histogramdd(weft.tensor([[0.0, 1.0], [1.0, 0.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"histogramdd(): input tensor should have at least 2 dimensions, but got {input.dim()}"
        )
    n = input.shape[-1]
    points = input.detach().reshape(-1, n)
    _check_weight(input, weight, points.shape[0], "histogramdd")
    each = [bins] * n if isinstance(bins, int) else list(bins)
    if len(each) != n:
        raise RuntimeError(
            f"histogramdd(): expected {n} bins for the coordinates of input, got {len(each)}"
        )
    ranges = [None] * n if range is None else [range[2 * k : 2 * k + 2] for k in _range(n)]
    edges = [_edges(points[:, k], each[k], ranges[k], "histogramdd") for k in _range(n)]
    counts = _histogram(points, edges, None if weight is None else weight.detach(), density)
    return named_tuple("histogramdd", hist=counts, bin_edges=edges)
