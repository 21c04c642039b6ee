"""Resizing, padding, windows, grids and bags against NumPy in double precision, over random settings."""

# Functions made in loops below are called before the next turn.
# ruff: noqa: B023
from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import weft
from weft.nn import functional as F
from weft.nn.functional.grid import plain_grid_sample

D = weft.float64


def gradient(f: Any, x: Any, g: Any) -> Any:
    """The gradient of x through f, given that of the result."""
    leaf = x.detach().requires_grad_()
    return weft.autograd.grad(f(leaf), leaf, g)[0]


def is_adjoint(f: Any, x: Any) -> None:
    """A linear map f and its gradient: <f(x), g> = <x, f'(g)>."""
    y = f(x)
    g = weft.randn(y.shape, dtype=D)
    assert abs(float((y * g).sum() - (x * gradient(f, x, g)).sum())) < 1e-9 * max(1, y.numel())


def last(x: Any) -> Any:
    """The same images with their channels last in memory."""
    return x.to(memory_format=weft.channels_last)


# ---- resizing ------------------------------------------------------------------------------------


def _kernel(x: float, a: float) -> float:
    x = abs(x)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def matrix(size: int, out: int, mode: str, corners: bool, smooth: bool, factor: Any) -> Any:
    """The weights of all elements for one axis, by the definition of each mode."""
    m = np.zeros((out, size))
    scale = 1 / factor if factor else size / out
    if corners:
        scale = (size - 1) / (out - 1) if out > 1 else 0.0
    for o in range(out):
        if mode == "area":
            m[o, o * size // out : -(-(o + 1) * size // out)] = 1
            m[o] /= m[o].sum()
        elif mode.startswith("nearest"):
            m[o, min(int((o + 0.5 * (mode != "nearest")) * scale), size - 1)] = 1
        elif smooth:
            wide, center = max(scale, 1.0), scale * (o + 0.5)
            reach = wide * (2 if mode == "bicubic" else 1)
            low, high = max(int(center - reach + 0.5), 0), min(int(center + reach + 0.5), size)
            for i in range(low, high):
                x = (i - center + 0.5) / wide
                m[o, i] = _kernel(x, -0.5) if mode == "bicubic" else max(1 - abs(x), 0)
            m[o] /= m[o].sum()
        else:
            at = o * scale if corners else scale * (o + 0.5) - 0.5
            if mode != "bicubic":
                at = max(at, 0)
            first = int(np.floor(at))
            for k in range(-1, 3):
                w = _kernel(at - first - k, -0.75) if mode == "bicubic" else 1 - abs(at - first - k)
                m[o, min(max(first + k, 0), size - 1)] += max(w, 0) if mode != "bicubic" else w
    return m


@pytest.mark.parametrize("seed", range(12))
def test_interpolate(seed: int) -> None:
    """All modes are one matrix for each axis; their gradients its transpose, also channels last."""
    rng = random.Random(seed)
    for _ in range(25):
        n = rng.choice((1, 2, 2, 3))
        modes = ["nearest", "nearest-exact", "area", ("linear", "bilinear", "trilinear")[n - 1]]
        mode = rng.choice([*modes, "bicubic"] if n == 2 else modes)
        plain = mode in modes[:3]
        smooth = n == 2 and not plain and rng.random() < 0.4
        corners = not plain and rng.random() < 0.3
        sizes = [rng.randint(1, 13) for _ in range(n)]
        factors: Any = [None] * n
        out = [rng.randint(1, 29) for _ in range(n)]
        kwargs: Any = {"size": tuple(out)}
        if rng.random() < 0.4 and mode != "area":
            factors = [rng.choice((0.5, 1.0, 1.5, 2.0, 3.0)) for _ in range(n)]
            out = [int(s * f) for s, f in zip(sizes, factors)]
            if min(out) < 1:
                continue
            kwargs = {"scale_factor": tuple(factors)}
        x = weft.randn(2, 3, *sizes, dtype=D)

        def f(x: Any, kwargs: Any = kwargs, mode: str = mode, s: bool = smooth) -> Any:
            align = None if plain else corners
            return F.interpolate(x, **kwargs, mode=mode, align_corners=align, antialias=s)

        want = x.numpy()
        for d in range(n):
            m = matrix(sizes[d], out[d], mode, corners, smooth, factors[d])
            want = np.moveaxis(np.moveaxis(want, d + 2, -1) @ m.T, -1, d + 2)
        assert np.allclose(f(x).numpy(), want, rtol=1e-11, atol=1e-11), (mode, sizes, kwargs)
        is_adjoint(f, x)
        single = f(x.float())
        assert np.allclose(single.numpy(), want, rtol=1e-4, atol=1e-4)
        if n == 2:
            assert np.allclose(f(last(x.float())).numpy(), single.numpy(), rtol=1e-5, atol=1e-5)


def test_interpolate_keeps_what_is_not_finite_apart() -> None:
    """Infinity in one pixel reaches those results only that read it."""
    x = weft.zeros(1, 1, 1, 8)
    x[..., 3] = float("inf")
    y = F.interpolate(x, scale_factor=(1, 0.5), mode="nearest")
    assert y.isfinite().all()
    g = gradient(lambda t: F.interpolate(t, size=(1, 12), mode="nearest"), weft.zeros(1, 1, 1, 8),
                 weft.full((1, 1, 1, 12), float("inf")))  # fmt: skip
    assert (g == float("inf")).all()


# ---- padding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_pad(seed: int) -> None:
    """NumPy's pad; negative numbers cut off first; the gradient is the adjoint."""
    rng = random.Random(seed)
    names = {"reflect": "reflect", "replicate": "edge", "circular": "wrap", "constant": "constant"}
    for _ in range(40):
        n, mode = rng.choice((1, 2, 3)), rng.choice([*names])
        sizes = [rng.randint(2, 7) for _ in range(n)]
        x = weft.randn(2, 3, *sizes, dtype=D)
        pads = [(rng.randint(0, s - 1), rng.randint(0, s - 1)) for s in sizes]
        flat = [p for pair in reversed(pads) for p in pair]

        def f(x: Any, flat: Any = flat, mode: str = mode) -> Any:
            return F.pad(x, flat, mode=mode)

        want = np.pad(x.numpy(), [(0, 0), (0, 0), *pads], mode=names[mode])  # type: ignore[call-overload]
        assert np.array_equal(f(x).numpy(), want)
        is_adjoint(f, x)
        for dtype in (weft.int16, weft.bool, weft.complex64):
            y = (x * 4).to(dtype)
            want = np.pad(y.numpy(), [(0, 0), (0, 0), *pads], mode=names[mode])  # type: ignore[call-overload]
            assert np.array_equal(f(y).numpy(), want)
        if n == 2:
            assert np.array_equal(f(last(x.float())).numpy(), f(x.float()).numpy())
    z = weft.randn(1, 2, 3, dtype=weft.complex128).requires_grad_()
    assert weft.autograd.gradcheck(lambda z: F.pad(z, (2, 1), mode="reflect"), (z,))


# ---- windows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_windows_as_columns(seed: int) -> None:
    """Unfold by its definition; fold is its adjoint."""
    rng = random.Random(seed)
    for _ in range(25):
        h, w = rng.randint(1, 9), rng.randint(1, 9)
        k, d, p, s = (tuple(rng.randint(low, high) for _ in "hw") for low, high in
                      ((1, 3), (1, 2), (0, 2), (1, 3)))  # fmt: skip
        out = [(n + 2 * b - e * (a - 1) - 1) // c + 1 for n, a, e, b, c in zip((h, w), k, d, p, s)]
        x = weft.randn(2, 3, h, w, dtype=D)
        if min(out) < 1:
            with pytest.raises(RuntimeError, match="unfold"):
                F.unfold(x, k, d, p, s)
            continue
        wide = np.pad(x.numpy(), [(0, 0), (0, 0), (p[0], p[0]), (p[1], p[1])])
        want = np.stack([
            wide[:, :, i * d[0] :, j * d[1] :][:, :, : out[0] * s[0] : s[0], : out[1] * s[1] : s[1]]
            [:, :, : out[0], : out[1]].reshape(2, 3, -1)
            for i in range(k[0]) for j in range(k[1])
        ], 2).reshape(2, -1, out[0] * out[1])  # fmt: skip
        y = F.unfold(x, k, d, p, s)
        assert np.array_equal(y.numpy(), want)
        g = weft.randn(y.shape, dtype=D)
        back = F.fold(g, (h, w), k, d, p, s)
        assert abs(float((y * g).sum() - (x * back).sum())) < 1e-9
        assert weft.allclose(gradient(lambda x: F.unfold(x, k, d, p, s), x, g), back)
        is_adjoint(lambda g: F.fold(g, (h, w), k, d, p, s), g)
        assert weft.equal(
            F.unfold((x * 9).int(), k, d, p, s), F.unfold((x * 9).int().double(), k, d, p, s).int()
        )


@pytest.mark.parametrize("seed", range(4))
def test_largest_of_adaptive_and_fractional_windows(seed: int) -> None:
    """Maxima and their places, one window after the other; NaN wins."""
    rng = random.Random(seed)
    for _ in range(20):
        n = rng.choice((1, 2, 3))
        sizes = [rng.randint(1, 9) for _ in range(n)]
        out = [rng.randint(1, 9) for _ in range(n)]
        x = weft.randn(2, 2, *sizes)
        x.view(-1)[rng.randrange(x.numel())] = float("nan")
        values, at = getattr(F, f"adaptive_max_pool{n}d")(x, out, return_indices=True)
        plane = x.numpy().reshape(2, 2, -1)
        for place in np.ndindex(*out):
            cut = tuple(
                slice(o * s // c, -(-(o + 1) * s // c)) for o, s, c in zip(place, sizes, out)
            )
            part = x.numpy()[(..., *cut)].reshape(2, 2, -1)
            want = part.max(2)  # NaN wins in NumPy too
            got = values.numpy()[(..., *place)]
            assert np.array_equal(got, want, equal_nan=True)
            found = np.take_along_axis(plane, at.numpy()[(..., *place)][..., None], 2)[..., 0]
            assert np.array_equal(found, want, equal_nan=True)
    x = weft.randn(2, 3, 9, 8)
    for u in (float("nan"), -5.0, 7.0, 0.999999):  # no sample leads outside
        samples = weft.full((2, 3, 2), u)
        F.fractional_max_pool2d(x, 2, (5, 4), _random_samples=samples)


def test_unpooling_keeps_the_last() -> None:
    """Places that several windows share hold one element, not a sum; others are refused."""
    y = F.max_unpool1d(weft.tensor([[2.0, 2.0]]), weft.tensor([[1, 1]]), 2)
    assert y.tolist() == [[0.0, 2.0, 0.0, 0.0]]
    for bad in (-1, 4):
        with pytest.raises(RuntimeError, match="invalid max index"):
            F.max_unpool1d(weft.tensor([[2.0, 2.0]]), weft.tensor([[1, bad]]), 2)


@pytest.mark.parametrize("f", [
    lambda x: F.max_pool2d(x, 3, 2, 1), lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    lambda x: F.adaptive_avg_pool2d(x, 3), lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
    lambda x: F.pad(x, (1, 2, 0, 1), mode="reflect"), lambda x: F.group_norm(x, 4),
    lambda x: weft.cat([x, 2 * x], 1), lambda x: weft.cat([x, x], 0), lambda x: weft.cat([x, x], 3),
])  # fmt: skip
def test_channels_last_stay_last(f: Any) -> None:
    """Images with their channels last give such images, with the same elements and gradients."""
    for channels in (4, 16, 20):
        x = weft.randn(2, channels, 7, 6)
        y, want = f(last(x)), f(x)
        assert weft.allclose(y, want, rtol=1e-5, atol=1e-5)
        if channels >= 16:
            assert y.is_contiguous(memory_format=weft.channels_last)
        g = weft.randn(want.shape)
        for given in (g, last(g)):
            got = gradient(f, last(x), given)
            assert weft.allclose(got, gradient(f, x, g), rtol=1e-4, atol=1e-5)


# ---- grids ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_grid_sample(seed: int) -> None:
    """All modes as made of other ops: values and both gradients; the second ones by gradcheck."""
    rng = random.Random(seed)
    for _ in range(12):
        n = rng.choice((2, 2, 3))
        mode = rng.choice(("bilinear", "nearest", "bicubic") if n == 2 else ("bilinear", "nearest"))
        args = (mode, rng.choice(("zeros", "border", "reflection")), rng.random() < 0.5)
        x = weft.randn(2, rng.choice((1, 3, 18)), *[rng.randint(1, 6) for _ in range(n)], dtype=D)
        grid = weft.rand(2, *[rng.randint(1, 9) for _ in range(n)], n, dtype=D) * 5 - 2.5
        leaves = [t.detach().requires_grad_() for t in (x, grid)]
        y, want = F.grid_sample(*leaves, *args), plain_grid_sample(*leaves, *args)
        assert weft.allclose(y, want, rtol=1e-10, atol=1e-10), args
        g = weft.randn(y.shape, dtype=D)
        used = leaves[:1] if mode == "nearest" else leaves
        for a, b in zip(weft.autograd.grad(y, used, g), weft.autograd.grad(want, used, g)):
            assert weft.allclose(a, b, rtol=1e-9, atol=1e-9), args
        got = F.grid_sample(x.float(), grid.float(), *args)
        if mode != "nearest":
            assert weft.allclose(got.double(), want, rtol=1e-3, atol=2e-3)
    x = weft.randn(1, 2, 4, 3, dtype=D).requires_grad_()
    grid = (weft.rand(1, 2, 2, 2, dtype=D) * 1.6 - 0.83).requires_grad_()
    mode = ("bilinear", "bicubic")[seed % 2]
    outside = ("zeros", "border", "reflection")[seed % 3]
    assert weft.autograd.gradgradcheck(
        lambda x, g: F.grid_sample(x, g, mode, outside, False), (x, grid)
    )


def test_grids_that_lead_nowhere() -> None:
    """NaN and infinite places read nothing outside of the image."""
    x = weft.ones(1, 1, 3, 3)
    for bad in (float("nan"), float("inf"), -float("inf"), 1e30):
        grid = weft.full((1, 1, 40, 2), bad)
        for mode in ("bilinear", "nearest", "bicubic"):
            for outside in ("zeros", "border", "reflection"):
                assert F.grid_sample(x, grid, mode, outside, False).shape == (1, 1, 1, 40)
        assert (F.grid_sample(x, grid, "bilinear", "border", False) == 1).all()
        assert (F.grid_sample(x, grid, "nearest", "zeros", False) == 0).all()


# ---- bags and equality ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_embedding_bag(seed: int) -> None:
    """Sums and means of random bags, some empty, with weights and padding."""
    rng = random.Random(seed)
    for _ in range(15):
        rows, width, count = rng.randint(1, 6), rng.choice((1, 3, 16, 67)), rng.randint(1, 20)
        table = weft.randn(rows, width, dtype=D)
        index = weft.randint(0, rows, (count,))
        cuts = sorted(rng.randint(0, count) for _ in range(rng.randint(0, 5)))
        offsets = weft.tensor([0, *cuts])
        mode = rng.choice(("sum", "mean"))
        padding = rng.choice((None, rng.randrange(rows)))
        share = weft.rand(count, dtype=D) if mode == "sum" and rng.random() < 0.5 else None

        def f(t: Any, share: Any = share) -> Any:
            return F.embedding_bag(
                index, t, offsets, mode=mode, per_sample_weights=share, padding_idx=padding
            )

        want = np.zeros((len(cuts) + 1, width))
        for b, (begin, end) in enumerate(zip([0, *cuts], [*cuts, count])):
            kept = [i for i in range(begin, end) if int(index[i]) != padding]
            for i in kept:
                want[b] += table.numpy()[int(index[i])] * (1 if share is None else float(share[i]))
            want[b] /= max(len(kept), 1) if mode == "mean" else 1
        assert np.allclose(f(table).numpy(), want)
        if padding is None:
            is_adjoint(f, table)
        if share is not None:
            is_adjoint(lambda s: f(table, s), share)
    leaf = weft.randn(3, 2, dtype=D).requires_grad_()
    s = weft.rand(2, 2, dtype=D).requires_grad_()
    at = weft.tensor([[0, 2], [1, 1]])
    run = lambda t, s: F.embedding_bag(at, t, mode="sum", per_sample_weights=s)  # noqa: E731
    assert weft.autograd.gradcheck(run, (leaf, s)) and weft.autograd.gradgradcheck(run, (leaf, s))


def test_bags_that_do_not_fit() -> None:
    """Indices outside of the table, and offsets that go back."""
    table = weft.ones(3, 2)
    for bad in (-1, 3):
        with pytest.raises(IndexError, match="embedding_bag"):
            F.embedding_bag(weft.tensor([[0, bad]]), table)
    with pytest.raises(RuntimeError, match="offsets"):
        F.embedding_bag(weft.tensor([0, 1, 2]), table, weft.tensor([0, 2, 1]))


def test_equal() -> None:
    """A difference anywhere is found; NaN differs from itself, -0.0 does not from 0.0."""
    for dtype in (weft.float32, weft.float64, weft.bfloat16, weft.complex64, weft.int8, weft.bool):
        for n in (1, 31, 1024, 5000):
            x = (weft.randn(n) > 0).to(dtype)
            assert weft.equal(x, x.clone())
            for i in (0, n // 2, n - 1):
                y = x.clone()
                y[i] = 1 - x[i].to(weft.int64)
                assert not weft.equal(x, y)
    x = weft.tensor([0.0, 1.0])
    assert weft.equal(x, weft.tensor([-0.0, 1.0])) and not weft.equal(
        x * float("nan"), x * float("nan")
    )
    assert weft.equal(x, x.to(weft.int32)) and not weft.equal(x, x.reshape(2, 1))
    assert weft.equal(weft.ones(3, 4).t(), weft.ones(4, 3)) and weft.equal(
        weft.ones(0), weft.ones(0)
    )
    with pytest.raises(TypeError):
        weft.equal(x, 1)


def test_views_that_overlap_add_up() -> None:
    """The gradient of windows of a dimension, beside sums by NumPy."""
    rng = random.Random(5)
    for _ in range(20):
        x = weft.randn(*[rng.randint(2, 6) for _ in range(3)], dtype=D)
        dim = rng.randrange(3)
        size, step = rng.randint(1, x.shape[dim]), rng.randint(1, 3)
        y = x.unfold(dim, size, step)
        g = weft.randn(y.shape, dtype=D)
        want = np.zeros(x.shape)
        for o in range(y.shape[dim]):
            for k in range(size):
                np.moveaxis(want, dim, 0)[o * step + k] += np.moveaxis(g.numpy(), dim, 0)[o][..., k]
        assert np.allclose(gradient(lambda x: x.unfold(dim, size, step), x, g).numpy(), want)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", [weft.float64, weft.float32])
def test_gradients_of_planes_of_one_element(dims: int, dtype: weft.dtype) -> None:
    """Linear maps, so <y, g> = <x, dx>: also where an axis has one element, of which padding makes a share."""
    pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[dims - 1]
    adaptive = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[dims - 1]
    maps = [
        lambda x: pool(x, 3, 1, 1),
        lambda x: pool(x, 3, 1, 1, count_include_pad=False),
        lambda x: pool(x, 2, 2, 1, True),
        lambda x: adaptive(x, 2),
        lambda x: F.interpolate(x, scale_factor=1.5),
        lambda x: F.interpolate(x, size=[1] * dims, mode="area"),
        lambda x: F.pad(x, [1, -1] + [0, 0] * (dims - 1)) if x.size(-1) > 1 else x * 1,
        lambda x: F.pad(x, [1, 1] * dims, mode="replicate"),
    ]
    for sizes in itertools.product((1, 2, 3), repeat=dims):
        for apply in maps:
            x = weft.randn(2, 3, *sizes, dtype=dtype, requires_grad=True)
            y = apply(x)
            g = weft.randn(y.shape, dtype=dtype)
            y.backward(g)
            there, back = (y * g).sum().item(), (x * x.grad).sum().item()
            assert abs(there - back) < (1e-4 if dtype is weft.float32 else 1e-10) * 10, (
                sizes,
                there,
                back,
            )
