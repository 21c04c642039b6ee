"""Convolutions of 3x3 by Winograd's way: close to float64, the same on any thread, and only where it suits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import weft
from weft import nn
from weft.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Batch, channels in and out, height, width, padding. Tiles of four where there are many, else of two; sizes that
# tiles do not divide; channels that fill no vector, one vector and a tail, and more columns than one strip.
SHAPES = [
    (8, 16, 16, 12, 12, 1),
    (3, 40, 33, 12, 9, 2),
    (2, 17, 130, 13, 15, 0),
    (12, 32, 64, 7, 7, 1),
    (4, 64, 112, 14, 6, 1),
    (3, 208, 24, 8, 8, 1),
    (1, 16, 48, 40, 41, 0),
    (2, 520, 16, 10, 10, 1),
]


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = weft.get_num_threads()
    yield
    weft.set_num_threads(before)


def data(shape: tuple[int, ...], seed: int = 0) -> tuple[weft.Tensor, ...]:
    """Return an image, a kernel and a bias."""
    weft.manual_seed(seed)
    n, channels, out, height, width, _ = shape
    kernel = weft.randn(out, channels, 3, 3) * (9 * channels) ** -0.5
    return weft.randn(n, channels, height, width), kernel, weft.randn(out)


def results(x: weft.Tensor, w: weft.Tensor, b: weft.Tensor, padding: int) -> list[weft.Tensor]:
    """Return the convolution and all its gradients."""
    given = [t.detach().clone().requires_grad_() for t in (x, w, b)]
    y = F.conv2d(*given, padding=padding)
    weft.manual_seed(7)
    y.backward(weft.randn(*y.shape).to(y.dtype))
    return [y.detach(), *[t.grad for t in given]]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("enabled", [True, False])
def test_close_to_float64(shape: tuple[int, ...], enabled: bool) -> None:
    """Results and gradients are off by a few units in the last place of the largest."""
    given = data(shape)
    with weft.backends.winograd.flags(enabled):
        got = results(*given, shape[-1])
    want = results(*[t.double() for t in given], shape[-1])
    for a, b in zip(got, want):
        assert a.shape == b.shape
        assert float((a.double() - b).abs().max() / b.abs().max()) < 6e-6


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_taken_and_can_be_switched_off(shape: tuple[int, ...]) -> None:
    """The last bits tell the two ways apart."""
    with weft.backends.winograd.flags(True):
        one = results(*data(shape), shape[-1])
    with weft.backends.winograd.flags(False):
        other = results(*data(shape), shape[-1])
    assert weft.backends.winograd.is_enabled()
    assert not weft.equal(one[0], other[0]) and not weft.equal(one[1], other[1])
    assert not weft.equal(one[2], other[2]) or shape[1] * shape[2] < 512


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_on_any_number_of_threads(shape: tuple[int, ...]) -> None:
    """Also the gradient of the kernel, which is added up in a fixed order."""
    found = []
    for count in (1, 2, 3, 5):
        weft.set_num_threads(count)
        found.append(results(*data(shape), shape[-1]))
    for other in found[1:]:
        assert all(weft.equal(a, b) for a, b in zip(found[0], other))


def test_only_what_suits() -> None:
    """Steps, gaps, groups, other kernels, few channels and few tiles are left to other loops."""
    cases: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
        ((8, 32, 12, 12), (32, 32, 3, 3), {"stride": 2}),
        ((8, 32, 12, 12), (32, 32, 3, 3), {"dilation": 2}),
        ((8, 32, 12, 12), (32, 16, 3, 3), {"groups": 2}),
        ((8, 32, 12, 12), (32, 32, 5, 5), {}),
        ((8, 8, 12, 12), (32, 8, 3, 3), {}),
        ((1, 32, 6, 6), (32, 32, 3, 3), {}),
        ((8, 32, 12, 12), (32, 32, 3, 3), {"padding": 3}),
    ]
    for image, kernel, options in cases:
        x, w = weft.randn(*image), weft.randn(*kernel)
        with weft.backends.winograd.flags(False):
            want = F.conv2d(x, w, **options)
        assert weft.equal(F.conv2d(x, w, **options), want)


def test_kept_kernels_of_several_loops() -> None:
    """Without gradients a kernel is kept as its loop wants it; another loop does not take it for its own."""
    layer = nn.Conv2d(32, 32, 3, padding=1).eval()
    images = [weft.randn(16, 32, 16, 16), weft.randn(1, 32, 16, 16), weft.randn(1, 32, 4, 4)]
    want = [layer(x).detach() for x in images]
    with weft.no_grad():
        for i in (0, 1, 2, 0, 2, 1, 0, 1, 1, 2):
            assert weft.equal(layer(images[i]), want[i])
        layer.weight.mul_(2)
        layer.bias.mul_(2)
        assert weft.equal(layer(images[0]), want[0] * 2)


def test_parts_of_a_kernel() -> None:
    """What is kept of a kernel is not taken for that of another shape in the same memory."""
    w, x, y = weft.randn(64, 32, 3, 3), weft.randn(4, 32, 16, 16), weft.randn(4, 64, 16, 16)
    shapes = [(x, w), (x, w[:32]), (y, w.view(32, 64, 3, 3)), (x, w[:48]), (x, w), (x, w[16:])]
    want = [F.conv2d(a, b.clone(), padding=1) for a, b in shapes]
    with weft.no_grad():
        for _ in range(2):
            for (a, b), c in zip(shapes, want):
                assert weft.equal(F.conv2d(a, b, padding=1), c)


def test_second_derivatives() -> None:
    """The gradient of a gradient is made of the same loops."""
    x, w, _ = data((4, 16, 16, 12, 12, 1))

    def penalty(x: weft.Tensor, w: weft.Tensor) -> weft.Tensor:
        x, w = x.clone().requires_grad_(), w.clone().requires_grad_()
        (g,) = weft.autograd.grad(F.conv2d(x, w, padding=1).tanh().sum(), x, create_graph=True)
        (h,) = weft.autograd.grad((g * g).sum(), w)
        return h

    got, want = penalty(x, w), penalty(x.double(), w.double())
    assert float((got.double() - want).abs().max() / want.abs().max()) < 2e-5
