"""A convolution that sets negatives to zero as it writes: the bits of both ops, whichever loop runs it."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import _C
from weft.nn import functional as F

convolve, convolve_relu = _C._op_function("convolve"), _C._op_function("convolve_relu")

# By loop: batch, channels in and out, height, kernel, stride, dilation, groups.
SHAPES = {
    "winograd": (8, 16, 24, 12, 3, 1, 1, 1),
    "winograd, few tiles": (1, 64, 130, 14, 3, 1, 1, 1),
    "a vector of images": (32, 1, 6, 28, 5, 1, 1, 1),
    "rows": (4, 64, 96, 9, 3, 2, 1, 1),
    "one pixel": (4, 32, 48, 9, 1, 1, 1, 1),
    "direct": (3, 3, 7, 11, 3, 2, 1, 1),
    "pointers": (2, 12, 20, 9, 3, 1, 2, 1),
    "groups": (2, 16, 32, 8, 3, 1, 1, 4),
    "small groups": (2, 32, 32, 8, 3, 1, 1, 8),
}


def given(shape: tuple[int, ...], dtype: Any, bias: bool) -> list[Any]:
    """Return the arguments of an op."""
    n, channels, out, size, kernel, stride, dilation, groups = shape
    weft.manual_seed(3)
    x = weft.randn(n, channels, size, size).to(dtype)
    w = weft.randn(out, channels // groups, kernel, kernel).to(dtype)
    b = weft.randn(out).to(dtype) if bias else None
    return [x, w, b, [stride] * 2, [1, 1], [dilation] * 2, groups]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16])
@pytest.mark.parametrize("bias", [True, False])
def test_bits_of_both(shape: tuple[int, ...], dtype: Any, bias: bool) -> None:
    """The same bits as the two ops one after the other, also of their gradients."""
    results = []
    for joined in (True, False):
        args = given(shape, dtype, bias)
        leaves = [t.requires_grad_() for t in args[:3] if t is not None]
        y = convolve_relu(*args) if joined else weft.relu(convolve(*args))
        assert float((y == 0).float().mean()) > 0.2
        weft.manual_seed(5)
        y.backward(weft.randn(*y.shape).to(dtype))
        results.append([y, *[t.grad for t in leaves]])
    assert all(weft.equal(a, b) for a, b in zip(*results))


def test_nan_and_zeros() -> None:
    """NaN stays, and a negative zero becomes a positive one, as relu has it."""
    x = weft.zeros(8, 16, 12, 12)
    x[0, 0, 4, 4] = float("nan")
    args = [x, -weft.ones(16, 16, 3, 3), None, [1, 1], [1, 1], [1, 1], 1]
    y, want = convolve_relu(*args), weft.relu(convolve(*args))
    assert weft.equal(y.isnan(), want.isnan()) and bool(y.isnan().any())
    assert not bool(y.signbit().any())


def test_kept_kernel() -> None:
    """A kernel that is kept made ready serves both ops."""
    args = given(SHAPES["winograd"], weft.float32, True)
    with weft.no_grad():
        plain = convolve(*args)
        assert weft.equal(convolve_relu(*args), plain.clamp(min=0))
        assert weft.equal(convolve(*args), plain)


def test_gradients() -> None:
    """First and second derivatives against finite differences."""
    args = given((2, 3, 4, 5, 3, 1, 1, 1), weft.float64, True)
    leaves = [t.requires_grad_() for t in args[:3]]

    def f(*tensors: weft.Tensor) -> weft.Tensor:
        return convolve_relu(*tensors, *args[3:])

    assert weft.autograd.gradcheck(f, leaves)
    assert weft.autograd.gradgradcheck(f, leaves)


def test_complex_is_refused() -> None:
    """There is no relu of complex numbers."""
    args = given(SHAPES["direct"], weft.complex64, False)
    with pytest.raises(NotImplementedError, match="relu: not implemented for complex"):
        convolve_relu(*args)


def test_compile_joins() -> None:
    """`weft.compile` joins them, in training too, with the same bits."""
    torch: Any = weft
    nets = []
    for _ in range(2):
        weft.manual_seed(0)
        nets.append(torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()))

    def step(net: Any) -> Any:
        net.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        return loss

    fast = weft.compile(lambda: step(nets[1]))
    x = weft.randn(4, 3, 8, 8)
    for _ in range(5):
        assert weft.equal(step(nets[0]), fast())
    assert all(weft.equal(p.grad, q.grad) for p, q in zip(*[n.parameters() for n in nets]))
    assert "convolve_relu" in fast.report().specializations[0]["program"]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
@pytest.mark.parametrize("bounds", [(0.0, 6.0), (-1.5, 0.7), (0.0, 0.0)])
def test_bits_with_bounds(shape: tuple[int, ...], dtype: Any, bounds: tuple[float, float]) -> None:
    """The same for hardtanh and relu6, which have no gradient together."""
    args = given(shape, dtype, bias=True)
    args[0][0, 0, 2, 2] = float("nan")
    want = F.hardtanh(convolve(*args), *bounds)
    found = _C._op_function("convolve_ending")(*args, f"bounds {bounds[0]} {bounds[1]}")
    assert weft.equal(found.nan_to_num(99.0), want.nan_to_num(99.0)) and bool(found.isnan().any())
    assert bool((weft.signbit(found) == weft.signbit(want))[~found.isnan()].all())


def test_only_without_gradients_in_programs() -> None:
    """A compiled network joins the two ops where nothing learns, with the same bits."""
    net = weft.nn.Sequential(weft.nn.Conv2d(3, 20, 3), weft.nn.ReLU6()).eval()
    x = weft.randn(2, 3, 9, 9)
    frozen = weft.jit.optimize_for_inference(weft.jit.trace(net, (x,)))
    assert "convolve_ending" in [node.op for node in frozen.graph]
    assert weft.equal(frozen(x), net(x))
    graph = weft.jit.passes.join_activations(weft.jit.trace(net, (x,)).graph)
    assert "hardtanh" in [node.op for node in graph]
