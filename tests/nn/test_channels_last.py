"""Images between convolutions lie channels last in memory. Nobody can tell, in any way of looking at them."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def image(seed: int = 0, *shape: int) -> weft.Tensor:
    weft.manual_seed(seed)
    return weft.randn(*(shape or (2, 3, 8, 8)))


def convolved() -> weft.Tensor:
    """Return an image as a convolution leaves it."""
    return F.conv2d(image(), image(1, 5, 3, 3, 3), padding=1)


def in_order() -> np.ndarray[Any, Any]:
    """Return the same numbers, made in float64 by the reference implementation."""
    x, w = image().double(), image(1, 5, 3, 3, 3).double()
    return np.asarray(F.conv2d(x, w, padding=1))


LOOKS: dict[str, Callable[[weft.Tensor], Any]] = {
    "numpy": lambda y: y.numpy(),
    "list": lambda y: np.array(y.tolist()),
    "buffer": lambda y: np.asarray(memoryview(y)),
    "dlpack": lambda y: np.from_dlpack(y),
    "clone": lambda y: y.clone().numpy(),
    "copy": lambda y: copy.deepcopy(y).numpy(),
    "pickle": lambda y: pickle.loads(pickle.dumps(y)).numpy(),
    "flat view": lambda y: y.view(-1).numpy().reshape(y.shape),
    "flatten": lambda y: y.flatten(1).numpy().reshape(y.shape),
    "permuted": lambda y: y.permute(0, 2, 3, 1).numpy().transpose(0, 3, 1, 2),
    "as_strided": lambda y: y.as_strided(y.shape, y.stride()).numpy(),
    "indexed": lambda y: np.stack([y[0].numpy(), y[1].numpy()]),
    "one element each": lambda y: np.array([v.item() for v in y.view(-1)]).reshape(y.shape),
    "joined": lambda y: weft.cat([y, y])[:2].numpy(),
    "channels_last": lambda y: y.contiguous(memory_format=weft.channels_last).numpy(),
    "doubled": lambda y: y.double().numpy(),
    "times one": lambda y: (y * 1).numpy(),
    "plus a row": lambda y: (y + weft.zeros(8)).numpy(),
    "plus a plain image": lambda y: (weft.zeros(2, 5, 8, 8) + y).numpy(),
    "into a tensor": lambda y: weft.mul(y, 1, out=weft.empty(2, 5, 8, 8)).numpy(),
    "in place": lambda y: y.add_(1).sub_(1).numpy(),
    "in place of another": lambda y: weft.zeros(2, 5, 8, 8).add_(y).numpy(),
    "exp and log": lambda y: (y.exp() + y.exp()).log().sub(np.log(2)).numpy(),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_every_look_sees_the_same(look: Callable[[weft.Tensor], Any]) -> None:
    y = convolved()
    assert y.is_contiguous() and y.stride() == (320, 64, 8, 1)
    np.testing.assert_allclose(look(y), in_order(), rtol=1e-4, atol=1e-4)
    assert y.is_contiguous()


def network() -> nn.Module:
    weft.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, padding=1),
        nn.Conv2d(8, 6, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(6, affine=False),
        nn.Tanh(),
        nn.AvgPool2d(2, padding=1, count_include_pad=False),
        nn.Conv2d(6, 6, 1, groups=3),
        nn.GroupNorm(2, 6),
        nn.Conv2d(6, 130, 1),
        nn.GroupNorm(13, 130, affine=False),
        nn.InstanceNorm2d(130, affine=True),
        nn.Flatten(),
        nn.LazyLinear(4),
    )


def grads(dtype: weft.dtype, threads: int, batch: int = 3) -> list[np.ndarray[Any, Any]]:
    before = weft.get_num_threads()
    weft.set_num_threads(threads)
    try:
        net = network()
        net(image(2, batch, 3, 16, 16))
        net.to(dtype)
        x = image(2, batch, 3, 16, 16).to(dtype).requires_grad_()
        y = net(x)
        (y * y).sum().backward()
        return [
            np.asarray(t.detach().double())
            for t in (y, x.grad, *(p.grad for p in net.parameters()))
        ]
    finally:
        weft.set_num_threads(before)


@pytest.mark.parametrize("batch", [3, 40])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_network_agrees_with_its_twin_in_plain_order(threads: int, batch: int) -> None:
    for a, b in zip(grads(weft.float32, threads, batch), grads(weft.float64, 1, batch)):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3 * max(abs(b).max(), 1e-2))


@pytest.mark.parametrize("groups", [1, 10, 130])
@pytest.mark.parametrize("affine", [False, True])
def test_norms_of_groups(groups: int, affine: bool) -> None:
    found: list[list[weft.Tensor]] = []
    for dtype in (weft.float32, weft.float64):
        x, w, v = image(0, 3, 2, 20, 20), image(1, 130, 2, 3, 3), image(2, 2, 130)
        leaves = [t.to(dtype).requires_grad_() for t in (x, w, *v)]
        y = F.conv2d(leaves[0], leaves[1], padding=1) + 3
        y = F.group_norm(y, groups, *(leaves[2:] if affine else ()), eps=1e-3)
        wanted = leaves if affine else leaves[:2]
        z = F.conv2d(y, image(3, 4, 130, 1, 1).to(dtype)).tanh().sum()
        slopes = weft.autograd.grad(z, wanted, create_graph=True)
        twice = weft.autograd.grad(sum((s * s).sum() for s in slopes), wanted, retain_graph=True)
        found.append([y, *weft.autograd.grad(z, wanted), *slopes, *twice])
    for a, b in zip(*found):
        assert (a - b).abs().max() < 1e-4 * b.abs().max()


def test_residual_sums_and_second_derivatives() -> None:
    def f(x: weft.Tensor, w: weft.Tensor) -> weft.Tensor:
        y = F.conv2d(x, w, padding=1)
        return (F.max_pool2d((y + y.tanh()).relu(), 2) ** 2).sum()

    found = []
    for dtype in (weft.float32, weft.float64):
        x = image(0, 2, 3, 6, 6).to(dtype).requires_grad_()
        w = image(1, 4, 3, 3, 3).to(dtype).requires_grad_()
        (g,) = weft.autograd.grad(f(x, w), x, create_graph=True)
        (g * g).sum().backward()
        found.append([t.grad.double() for t in (x, w)])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3 * float(b.abs().max()))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pooling_and_norms_of_every_dimension(dims: int) -> None:
    conv = (F.conv1d, F.conv2d, F.conv3d)[dims - 1]
    largest = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[dims - 1]
    mean = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[dims - 1]
    results = []
    for dtype in (weft.float32, weft.float64):
        x = image(0, 2, 3, *([9] * dims)).to(dtype)
        w = image(1, 7, 3, *([3] * dims)).to(dtype)
        y = conv(x, w)
        y.requires_grad_()
        pooled, at = largest(y, 2, 2, return_indices=True)
        loss = (mean(F.batch_norm(pooled, None, None, training=True), 3, 1, 1) ** 3).sum()
        (g,) = weft.autograd.grad(loss, y)
        results.append((pooled.detach().double(), at, g.double()))
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("channels", [1, 6, 8, 16, 21, 40])
@pytest.mark.parametrize(
    "how",
    [
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2},
        {"kernel_size": (1, 4), "stride": (3, 1), "dilation": (1, 2)},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 2, "ceil_mode": True},
        {"kernel_size": 9},
    ],
    ids=str,
)
def test_the_largest_and_where_it_is(channels: int, how: dict[str, Any]) -> None:
    """Windows inside and across the edges; of equals the first counts, and a NaN that was seen stays."""
    plain = image(0, 3, channels, 11, 13).round()
    plain[0, :, 4, 4:6], plain[1, 0, :2, :2], plain[2] = float("nan"), -float("inf"), 2
    y = plain * F.conv2d(
        weft.ones(3, channels, 11, 13), weft.ones(channels, 1, 1, 1), groups=channels
    )
    found = F.max_pool2d(y, return_indices=True, **how)
    wanted = F.max_pool2d(plain.double(), return_indices=True, **how)
    np.testing.assert_array_equal(found[0].numpy(), wanted[0].numpy())
    np.testing.assert_array_equal(found[1].numpy(), wanted[1].numpy())


def test_nan_wins_in_the_largest() -> None:
    y = convolved()
    y[0, 2, 3, 3] = float("nan")
    y = y * 1
    assert F.max_pool2d(y, 2)[0, 2, 1, 1].isnan()


def test_kernels_that_are_kept_notice_changes() -> None:
    layer = nn.Conv2d(3, 4, 3)
    x = image()
    with weft.no_grad():
        before = layer(x)
        assert weft.equal(before, layer(x))
        layer.weight.mul_(2)
        layer.bias.zero_()
        after = layer(x)
        twin = F.conv2d(x.double(), layer.weight.double())
        np.testing.assert_allclose(after.numpy(), twin.numpy(), rtol=1e-4, atol=1e-4)
        layer.weight.data.fill_(0)
        layer.weight.data = layer.weight.data + 1
        ones = F.conv2d(x.double(), weft.ones(4, 3, 3, 3, dtype=weft.float64))
        np.testing.assert_allclose(layer(x).numpy(), ones.numpy(), rtol=1e-4, atol=1e-4)


def test_threads_may_look_while_others_compute() -> None:
    y = F.conv2d(image(0, 16, 3, 64, 64), image(1, 8, 3, 3, 3))
    expected = (y.detach().clone() * 1).relu().numpy()
    wrong: list[str] = []

    def compute() -> None:
        for _ in range(20):
            if not np.array_equal(z.relu().numpy(), expected):
                wrong.append("computed")

    def look() -> None:
        for _ in range(20):
            if not np.array_equal(np.maximum(z.numpy(), 0), expected):
                wrong.append("looked")

    for _ in range(5):
        z = F.conv2d(image(0, 16, 3, 64, 64), image(1, 8, 3, 3, 3))
        workers = [threading.Thread(target=t) for t in (compute, look, compute)]
        for t in workers:
            t.start()
        for t in workers:
            t.join()
    assert not wrong


PARTS: dict[str, Callable[[weft.Tensor], weft.Tensor]] = {
    "some images": lambda y: y[:8],
    "later images": lambda y: y[8:],
    "some channels": lambda y: y[:, 2:6],
    "another shape": lambda y: y.view(16, 8, 32, 128),
    "channels in other places": lambda y: y.view(8, 16, 64, 64),
    "one image as a batch": lambda y: y[3].unsqueeze(0).expand(4, 8, 64, 64),
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_parts_of_large_images(
    part: Callable[[weft.Tensor], weft.Tensor], requires_grad: bool
) -> None:
    """Large enough that kernels run without the interpreter's lock."""
    found = []
    for dtype in (weft.float32, weft.float64):
        x = image(0, 16, 3, 64, 64).to(dtype).requires_grad_(requires_grad)
        y = part(F.conv2d(x, image(1, 8, 3, 3, 3).to(dtype), padding=1))
        w = image(2, 2, y.shape[1], 3, 3).to(dtype).requires_grad_(requires_grad)
        z = F.max_pool2d(F.batch_norm(F.conv2d(y, w), None, None, training=True), 2)
        pooled = F.avg_pool2d(F.relu(F.batch_norm(y, None, None, training=True)), 2)
        found.append([z.detach(), pooled.detach()])
        if requires_grad:
            found[-1] += weft.autograd.grad((z * z).sum() + (pooled**3).sum(), (x, w))
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=5e-3, atol=5e-3 * float(b.abs().max()))


def test_memory_of_others_keeps_its_order() -> None:
    given = np.zeros((2, 5, 8, 8), np.float32)
    out = weft.from_numpy(given)
    out.copy_(convolved())
    weft.mul(convolved(), 1, out=out)
    np.testing.assert_allclose(given, in_order(), rtol=1e-4, atol=1e-4)
    y = convolved()
    shown = y.numpy()
    y.mul_(2)
    np.testing.assert_allclose(shown, 2 * in_order(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "gate", [(2, 8, 1, 1), (1, 8, 1, 1), (2, 1, 1, 1), (8, 1, 1), (2, 8, 9, 9), (2, 8, 9, 1), ()]
)
@pytest.mark.parametrize(
    "op", [weft.mul, weft.add, weft.div, weft.maximum, lambda x, y: weft.sub(y, x)]
)
def test_gates_and_scales(gate: tuple[int, ...], op: Any) -> None:
    """A number for all pixels of a channel: the bits and gradients of plain order, also in place and after a mean."""
    x = weft.randn(2, 3, 9, 9)
    conv = nn.Conv2d(3, 8, 3, padding=1)
    g = weft.rand(gate) + 0.5
    results = []
    for plain in (False, True):
        y = conv(x)
        y = y.detach().clone().contiguous() if plain else y.detach()
        if plain:
            assert y.numpy() is not None  # which puts it in order
        leaf, factor = y.requires_grad_(), g.clone().requires_grad_()
        z = op(leaf, factor)
        weight = weft.arange(z.numel()).reshape(z.shape) / z.numel()
        pooled = (z.mean((2, 3)), z.sum((-1, 2), keepdim=True))
        (z * weight).sum().backward()
        results.append([z, *pooled, leaf.grad, factor.grad, z.detach().clone().mul_(g)])
    for a, b in zip(*results):
        assert a.shape == b.shape and weft.allclose(a, b, rtol=1e-5, atol=1e-5)
    assert weft.equal(results[0][0], results[1][0])


@pytest.mark.parametrize(
    "pad", [(2, 1), (-1, 3), (1, 2, 3, 0), (0, 0, -2, -3), (1, 1, 1, 1, 1, 1), (), (0, 0, 4, 4)]
)
def test_padding_keeps_them(pad: tuple[int, ...]) -> None:
    """Constant padding and cutting of pixels, of channels too, beside NumPy."""
    y = convolved()
    found = F.pad(y, pad, value=1.5)
    want = in_order()
    for i in range(len(pad) // 2):
        axis = want.ndim - 1 - i
        before, after = pad[2 * i : 2 * i + 2]
        wide = [(0, 0)] * want.ndim
        wide[axis] = (max(before, 0), max(after, 0))
        want = np.pad(want, wide, constant_values=1.5)
        cut = slice(max(-before, 0), want.shape[axis] - max(-after, 0))
        want = want[(slice(None),) * axis + (cut,)]
    assert found.shape == want.shape
    assert np.allclose(found.numpy(), want, atol=1e-4)
    assert np.allclose((F.pad(convolved(), pad, value=1.5) * 2).numpy(), want * 2, atol=1e-4)
