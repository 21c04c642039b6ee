"""Images read at places of your choice."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import functional, prod
from weft.ops import primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_grid_read, _grid_back = _C._op_function("grid_read"), _C._op_function("grid_read_backward")


def _mirrored(x: Tensor, low: float, high: float) -> Tensor:
    """Reflect coordinates at two bounds until they are between them."""
    if low == high:
        return weft.zeros_like(x)
    span = high - low
    away = weft.abs(x - low)
    rest = weft.fmod(away, span)
    even = weft.floor(away.detach() / span) % 2 == 0
    return weft.where(even, rest, span - rest) + low


def _inside(x: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Bring coordinates into the image, in the way that padding_mode says."""
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        x = _mirrored(x, low, high)
    inside = (x > 0) & (x < size - 1)  # at the bounds, the derivative is zero
    return weft.where(inside, x, x.detach().clamp(0, size - 1))


def _pick(flat: Tensor, places: list[Tensor], sizes: Sequence[int]) -> Tensor:
    """Return elements at whole coordinates (N, L); outside the image they are zero."""
    index, valid = None, None
    for place, size in zip(places, sizes):
        ok = (place >= 0) & (place <= size - 1)
        at = place.detach().to(weft.int64).clamp(0, size - 1)
        index = at if index is None else index * size + at
        valid = ok if valid is None else valid & ok
    assert index is not None and valid is not None
    values = flat.gather(2, index.unsqueeze(1).expand(-1, flat.shape[1], -1))
    return weft.where(valid.unsqueeze(1), values, 0.0)


def _multilinear(flat: Tensor, places: list[Tensor], sizes: Sequence[int]) -> Tensor:
    lows = [weft.floor(p.detach()) for p in places]
    shares = [p - low for p, low in zip(places, lows)]
    total = None
    for corner in range(2 ** len(places)):
        up = [corner >> k & 1 for k in range(len(places))]
        weight = None
        for share, u in zip(shares, up):
            w = share if u else 1 - share
            weight = w if weight is None else weight * w
        assert weight is not None
        at = [low + 1 if u else low for low, u in zip(lows, up)]
        part = _pick(flat, at, sizes) * weight.unsqueeze(1)
        total = part if total is None else total + part
    assert total is not None
    return total


def _cubic_weights(t: Tensor, a: float = -0.75) -> list[Tensor]:
    """Return the weights of four neighbours at the distance t from the second."""

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _bicubic(
    flat: Tensor, places: list[Tensor], sizes: Sequence[int], padding_mode: str, corners: bool
) -> Tensor:
    lows = [weft.floor(p.detach()) for p in places]
    ys, xs = (_cubic_weights(p - low) for p, low in zip(places, lows))
    total = None
    for i, wy in enumerate(ys):
        y = _inside(lows[0] + (i - 1), sizes[0], padding_mode, corners)
        for j, wx in enumerate(xs):
            x = _inside(lows[1] + (j - 1), sizes[1], padding_mode, corners)
            part = _pick(flat, [y, x], sizes) * (wy * wx).unsqueeze(1)
            total = part if total is None else total + part
    assert total is not None
    return total


def plain_grid_sample(
    input: Tensor, grid: Tensor, mode: str, padding_mode: str, corners: bool
) -> Tensor:
    """Return what ``grid_sample`` does, made of other ops."""
    n, c, *sizes = input.shape
    out = grid.shape[1:-1]
    flat = input.reshape(n, c, prod(sizes))
    places = []
    for k, size in enumerate(sizes):
        g = grid.select(-1, len(sizes) - 1 - k).reshape(n, prod(out))
        x = (g + 1) * ((size - 1) / 2) if corners else ((g + 1) * size - 1) / 2
        places.append(x if mode == "bicubic" else _inside(x, size, padding_mode, corners))
    if mode == "bilinear":
        y = _multilinear(flat, places, sizes)
    elif mode == "nearest":
        y = _pick(flat, [weft.round(p.detach()) for p in places], sizes)
    else:
        y = _bicubic(flat, places, sizes, padding_mode, corners)
    return y.reshape(n, c, *out)


@primitive(
    "_grid_sample_backward(Tensor grad, Tensor input, Tensor grid, str mode, str padding_mode, "
    "bool corners) -> (Tensor input_grad, Tensor grid_grad)"
)
class _GridSampleBackward:
    """The gradients of ``grid_sample``, for gradients of these: ``plain_grid_sample`` has them."""

    keeps = ("grad", "input", "grid")

    def infer(
        grad: Tensor, input: Tensor, grid: Tensor, mode: str, padding_mode: str, corners: bool
    ) -> Any:
        return [(input.shape, input.dtype), (grid.shape, grid.dtype)]

    def run(grad: Any, input: Any, grid: Any, mode: str, padding_mode: str, corners: bool) -> Any:
        g, x, at = (weft.from_numpy(a) for a in (grad, input, grid))
        return [t.numpy() for t in _grid_back(g, x, at, mode, padding_mode, corners, True, True)]

    def backward(ctx: Any, input_grad: Tensor | None, grid_grad: Tensor | None) -> Any:
        g, x, grid = asked = [
            t if t.requires_grad else t.detach().requires_grad_()
            for t in (ctx.grad, ctx.input, ctx.grid)
        ]
        with weft.enable_grad():
            y = plain_grid_sample(x, grid, ctx.mode, ctx.padding_mode, ctx.corners)
            wanted = [x] if ctx.mode == "nearest" else [x, grid]
            made = weft.autograd.grad(y, wanted, g, create_graph=True)
            pairs = [(m, g) for m, g in zip(made, (input_grad, grid_grad)) if g is not None]
        return weft.autograd.grad(
            [m for m, _ in pairs], asked, [g for _, g in pairs],
            create_graph=ctx.create_graph, allow_unused=True,
        )  # fmt: skip


@functional
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Read images at places: grid holds (x, y) or (x, y, z), -1 and 1 being the borders.

    >>> x, at = weft.tensor([[[[1.0, 3.0]]]]), weft.zeros(1, 1, 1, 2)
    >>> weft.nn.functional.grid_sample(x, at, align_corners=True)
    tensor([[[[2.]]]])
    """
    return _grid_read(input, grid, mode, padding_mode, bool(align_corners))


@functional
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Return the grid that ``grid_sample`` needs for an affine map of images or volumes.

    >>> same = weft.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> weft.nn.functional.affine_grid(same, (1, 1, 1, 2))
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    if not theta.is_floating_point():
        raise ValueError(
            f"affine_grid: Expected theta to have floating point type, but got {theta.dtype}"
        )
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {list(size)}"
        )
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (n, n + 1):
        raise ValueError(
            f"affine_grid: Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size "
            f"{list(size)}. Got {list(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid: Expected non-zero, positive output size. Got {list(size)}")
    if theta.shape[0] != size[0]:
        raise RuntimeError(f"affine_grid: Expected {size[0]} affine matrices, got {theta.shape[0]}")
    lines = []
    for count in reversed(size[2:]):  # x first
        if count == 1:
            line = weft.zeros(1, dtype=theta.dtype)
        else:
            line = weft.linspace(-1, 1, count, dtype=theta.dtype)
            line = line if align_corners else line * (count - 1) / count
        lines.append(line)
    shape = list(size[2:])
    grids = [
        line.reshape(*[-1 if n - 1 - k == d else 1 for d in range(n)]).expand(shape)
        for k, line in enumerate(lines)
    ]
    base = weft.stack([*grids, weft.ones(shape, dtype=theta.dtype)], -1).reshape(1, -1, n + 1)
    return weft.matmul(base, theta.transpose(1, 2)).reshape(theta.shape[0], *shape, n)
