"""Convolutions, pooling, norms and resizing as layers: settings, statistics, lazy shapes."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import weft
from weft import nn
from weft.nn import functional as F

D = weft.float64


@pytest.mark.parametrize("n", [1, 2, 3])
def test_transposed_convolution_is_the_adjoint(n: int) -> None:
    """<conv(x), y> = <x, conv_transpose(y)>, whatever stride, padding, dilation and groups are."""
    conv: Any = getattr(F, f"conv{n}d")
    back: Any = getattr(F, f"conv_transpose{n}d")
    x, w = weft.randn(2, 4, *[7] * n, dtype=D), weft.randn(6, 2, *[3] * n, dtype=D)
    for stride, padding, dilation in ((1, 0, 1), (2, 1, 1), (2, 2, 2), (1, 1, 2)):
        y = conv(x, w, None, stride, padding, dilation, 2)
        g = weft.randn(*y.shape, dtype=D)
        whole = (y.shape[-1] - 1) * stride - 2 * padding + dilation * 2 + 1
        x_back = back(g, w, None, stride, padding, 7 - whole, 2, dilation)
        assert weft.allclose((y * g).sum(), (x * x_back).sum())


def test_padding_modes() -> None:
    """Other borders than zeros are those of ``F.pad``."""
    x = weft.randn(1, 2, 5, 5)
    for mode in ("reflect", "replicate", "circular"):
        layer = nn.Conv2d(2, 3, 3, padding=1, padding_mode=mode)
        want = F.conv2d(F.pad(x, (1, 1, 1, 1), mode=mode), layer.weight, layer.bias)
        assert weft.equal(layer(x), want)
    with pytest.raises(ValueError, match="padding_mode"):
        nn.Conv2d(2, 3, 3, padding_mode="none")
    with pytest.raises(ValueError, match="strided"):
        nn.Conv2d(2, 3, 3, stride=2, padding="same")


def test_output_size() -> None:
    """A transposed convolution can be asked for a size."""
    down, up = nn.Conv2d(2, 2, 3, 2, 1), nn.ConvTranspose2d(2, 2, 3, 2, 1)
    x = weft.randn(1, 2, 8, 7)
    assert up(down(x), output_size=x.shape).shape == x.shape
    with pytest.raises(ValueError, match="valid sizes"):
        up(down(x), output_size=(20, 7))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_unpooling_puts_maxima_back(n: int) -> None:
    """What ``MaxPool`` keeps comes back to its place; the rest is zero."""
    x = weft.randn(2, 3, *[6] * n)
    y, at = getattr(nn, f"MaxPool{n}d")(2, return_indices=True)(x)
    z = getattr(nn, f"MaxUnpool{n}d")(2)(y, at)
    assert weft.equal(z, weft.where(z != 0, x, 0.0)) and weft.allclose(z.sum(), y.sum())
    assert (z != 0).sum() == y.numel()


def test_pooling_of_nan_and_minus_infinity() -> None:
    """NaN is the largest; a window of minus infinity has that as its maximum."""
    x = weft.tensor([[1.0, float("nan"), -float("inf"), -float("inf")]])
    y = F.max_pool1d(x, 2)
    assert y.isnan().tolist() == [[True, False]] and y[0, 1] == -float("inf")


# ---- norms ---------------------------------------------------------------------------------------


def test_batch_norm_learns_statistics() -> None:
    """Running averages move by momentum, with the unbiased variance; evaluation uses them."""
    layer, x = nn.BatchNorm1d(2, momentum=0.25), weft.tensor([[1.0, 2.0], [3.0, 6.0]])
    y = layer(x)
    assert weft.allclose(y.mean(0), weft.zeros(2), atol=1e-6)
    assert weft.allclose(layer.running_mean, weft.tensor([0.5, 1.0]))
    assert weft.allclose(layer.running_var, 0.75 + 0.25 * weft.tensor([2.0, 8.0]))
    assert layer.num_batches_tracked == 1
    before = layer.running_mean.clone()
    layer.eval()
    scale = (layer.running_var + layer.eps).rsqrt()
    assert weft.allclose(layer(x), (x - before) * scale)
    assert weft.equal(layer.running_mean, before)


def test_batch_norm_can_average_all_batches() -> None:
    """Without momentum, the running mean is the mean of all batches."""
    layer = nn.BatchNorm1d(1, momentum=None)
    for v in (1.0, 2.0, 6.0):
        layer(weft.tensor([[v], [v + 2]]))
    assert weft.allclose(layer.running_mean, weft.tensor([4.0]))


def test_old_files_have_no_count() -> None:
    """A state without num_batches_tracked and version loads, as it does in PyTorch."""
    layer = nn.BatchNorm1d(2)
    state = dict(layer.state_dict())
    del state["num_batches_tracked"]
    nn.BatchNorm1d(2).load_state_dict(state)


def test_sync_batch_norm_takes_over() -> None:
    """Conversion keeps weights, statistics and mode."""
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()
    made = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert type(made[1]) is nn.SyncBatchNorm and not made[1].training
    assert made[1].weight is net[1].weight or weft.equal(made[1].weight, net[1].weight)
    with pytest.raises(NotImplementedError, match="process_group"):
        nn.SyncBatchNorm(2, process_group=object())


def test_norms_agree() -> None:
    """One group is a layer norm over all channels; a group for each channel an instance norm."""
    x = weft.randn(2, 4, 5, dtype=D)
    a, b, c = nn.GroupNorm(1, 4, dtype=D), nn.GroupNorm(4, 4, dtype=D), nn.InstanceNorm1d(4)
    assert weft.allclose(a(x), F.layer_norm(x, (4, 5)))
    assert weft.allclose(b(x), c(x)) and weft.allclose(c(x[0]), c(x)[0])


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
def test_norms_compute_wide(dtype: Any) -> None:
    """Half precision is computed in single: sums of many large numbers do not overflow."""
    x = (weft.randn(4, 300) * 300).to(dtype)
    for layer in (nn.LayerNorm(300, dtype=dtype), nn.RMSNorm(300, dtype=dtype)):
        y, want = layer(x), layer.float()(x.float())
        assert y.dtype == dtype and weft.allclose(y.float(), want, rtol=0.02, atol=0.02)


# ---- shapes from the first batch -----------------------------------------------------------------

LAZY = [(nn.LazyConv1d, nn.Conv1d, 1), (nn.LazyConv2d, nn.Conv2d, 2), (nn.LazyConv3d, nn.Conv3d, 3),
        (nn.LazyConvTranspose1d, nn.ConvTranspose1d, 1), (nn.LazyConvTranspose2d, nn.ConvTranspose2d, 2),
        (nn.LazyConvTranspose3d, nn.ConvTranspose3d, 3)]  # fmt: skip


@pytest.mark.parametrize(("lazy", "plain", "n"), LAZY)
def test_lazy_convolutions(lazy: Any, plain: Any, n: int) -> None:
    """They become the plain class, with the channels of the batch."""
    layer = lazy(4, 2, groups=2)
    y = layer(weft.randn(1, 6, *[3] * n))
    assert type(layer) is plain and layer.in_channels == 6 and y.shape[1] == 4
    same = plain(6, 4, 2, groups=2)
    same.load_state_dict(layer.state_dict())
    assert repr(same) == repr(layer)


def test_lazy_norms() -> None:
    """They become the plain class, and count features from the first batch."""
    for n in (1, 2, 3):
        for kind in ("BatchNorm", "InstanceNorm"):
            layer = getattr(nn, f"Lazy{kind}{n}d")()
            layer(weft.randn(2, 5, *[3] * n))
            assert type(layer) is getattr(nn, f"{kind}{n}d") and layer.num_features == 5
            assert layer.weight.shape == layer.running_mean.shape == (5,)


# ---- other sizes ---------------------------------------------------------------------------------


def test_resize_keeps_corners_and_constants() -> None:
    """Aligned corners stay, and a constant image stays constant in every mode."""
    x = weft.randn(1, 1, 3, 4, dtype=D)
    y = nn.UpsamplingBilinear2d((7, 9))(x)
    assert weft.allclose(y[0, 0, ::6, ::8], x[0, 0, ::2, ::3])
    for mode in ("nearest", "bilinear", "bicubic", "area", "nearest-exact"):
        same = F.interpolate(weft.full((1, 1, 3, 4), 2.5), (5, 3), mode=mode)
        assert weft.allclose(same, weft.full((1, 1, 5, 3), 2.5))


def test_shuffles_and_folds_are_inverses() -> None:
    """There and back: pixels, and windows that do not overlap."""
    x = weft.randn(2, 4, 6, 6)
    assert weft.equal(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(x)), x)
    assert weft.equal(nn.ChannelShuffle(2)(nn.ChannelShuffle(2)(x)), x)
    columns = nn.Unfold(3, stride=3)(x)
    assert weft.equal(nn.Fold(6, 3, stride=3)(columns), x)


def test_identity_grid() -> None:
    """An affine grid that moves nothing reads the image as it is."""
    x = weft.randn(1, 2, 3, 4, dtype=D)
    same = weft.tensor([[[1.0, 0, 0], [0, 1.0, 0]]], dtype=D)
    for corners in (True, False):
        grid = F.affine_grid(same, x.shape, align_corners=corners)
        assert weft.allclose(F.grid_sample(x, grid, align_corners=corners), x)


@pytest.mark.parametrize("seed", range(60))
def test_max_pool_of_floats_is_that_of_doubles(seed: int) -> None:
    """Floats whose windows lie inside go through vectors, doubles through the general loop."""
    rng = random.Random(seed)
    weft.manual_seed(seed)
    dims = rng.choice([1, 2, 3])
    kernel = [rng.randint(1, 4) for _ in range(dims)]
    dilation = [rng.randint(1, 2) for _ in range(dims)]
    size = [(k - 1) * d + 1 + rng.randint(0, 9) for k, d in zip(kernel, dilation, strict=True)]
    size[-1] += rng.choice([0, 30])
    windows: dict[str, Any] = {
        "stride": [rng.randint(1, 3) for _ in range(dims)],
        "padding": [rng.choice([0, 0, k // 2]) for k in kernel],
        "dilation": dilation,
        "ceil_mode": rng.random() < 0.3,
    }
    x = weft.randint(-3, 4, (2, 3, *size)).float()  # many equal ones
    x[weft.rand(x.shape) < rng.choice([0.0, 0.1])] = math.nan
    x[weft.rand(x.shape) < rng.choice([0.0, 0.5])] = -math.inf
    pool: Any = getattr(F, f"max_pool{dims}d")
    floats, doubles = x.clone().requires_grad_(), x.double().requires_grad_()
    y, at = pool(floats, kernel, **windows, return_indices=True)
    z, expected_at = pool(doubles, kernel, **windows, return_indices=True)
    assert weft.equal(at, expected_at)
    weft.testing.assert_close(y.double(), z, rtol=0, atol=0, equal_nan=True)
    weights = weft.randint(-4, 5, y.shape).float()  # sums are exact
    (dx,) = weft.autograd.grad(y, floats, weights)
    (expected_dx,) = weft.autograd.grad(z, doubles, weights.double())
    assert weft.equal(dx.double(), expected_dx)
