"""Convolutions that do what follows them as they write: the bits of the ops one after the other."""

from __future__ import annotations

import random
from typing import Any

import pytest

import weft
from weft import _C
from weft.nn import functional as F

convolve, ending = _C._op_function("convolve"), _C._op_function("convolve_ending")
chain = _C._op_function("convolve_chain")

# By loop: batch, channels in and out, height, kernel, stride, dilation, groups.
SHAPES = {
    "winograd": (8, 16, 24, 12, 3, 1, 1, 1),
    "winograd, few tiles": (1, 64, 130, 14, 3, 1, 1, 1),
    "a vector of images": (32, 1, 6, 28, 5, 1, 1, 1),
    "rows": (4, 64, 96, 9, 3, 2, 1, 1),
    "one pixel": (4, 32, 48, 9, 1, 1, 1, 1),
    "one pixel, half a vector": (2, 24, 40, 9, 1, 1, 1, 1),
    "direct": (3, 5, 7, 11, 3, 2, 1, 1),
    "planes": (3, 3, 37, 21, 3, 2, 1, 1),
    "pointers": (2, 12, 20, 9, 3, 1, 2, 1),
    "groups": (2, 16, 32, 8, 3, 1, 1, 4),
    "small groups": (2, 32, 32, 8, 3, 1, 1, 8),
    "one channel": (4, 1, 1, 30, 3, 1, 1, 1),
    "a kernel for each channel": (2, 37, 37, 11, 5, 2, 1, 37),
}
LOOPS = {
    "silu": F.silu, "sigmoid": weft.sigmoid, "tanh": weft.tanh, "gelu_erf": F.gelu, "mish": F.mish,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid, "bounds -0.5 0.75": lambda x: F.hardtanh(x, -0.5, 0.75), "": lambda x: x,
}  # fmt: skip


def given(shape: tuple[int, ...], dtype: Any, bias: bool) -> list[Any]:
    """Return the arguments of convolve."""
    n, channels, out, size, kernel, stride, dilation, groups = shape
    weft.manual_seed(3)
    x = weft.randn(n, channels, size, size).to(dtype)
    w = (weft.randn(out, channels // groups, kernel, kernel) / kernel).to(dtype)
    b = weft.randn(out).to(dtype) if bias else None
    return [x, w, b, [stride] * 2, [1, 1], [dilation] * 2, groups]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
@pytest.mark.parametrize("loop", ["silu", "gelu_erf", "bounds -0.5 0.75", ""])
def test_bits_of_all(shape: tuple[int, ...], dtype: Any, loop: str) -> None:
    """The same bits as the ops one after the other, whichever loop runs them."""
    for bias in (True, False):
        args = given(shape, dtype, bias)
        want = LOOPS[loop](convolve(*args))
        if loop:
            assert weft.equal(ending(*args, loop), want)
        plus = weft.randn(*want.shape).to(dtype)
        assert weft.equal(ending(*args, f"{loop} add", plus), want + plus)
        assert weft.equal(ending(*args, f"{loop} add bounds 0 inf", plus), weft.relu(want + plus))


@pytest.mark.parametrize("loop", LOOPS)
def test_all_loops(loop: str) -> None:
    args = given(SHAPES["one pixel, half a vector"], weft.float32, bias=True)
    assert weft.equal(ending(*args, loop), LOOPS[loop](convolve(*args)))


@pytest.mark.parametrize("dims", [1, 2])
def test_padding_of_two_sizes(dims: int) -> None:
    """Padding before and behind an image, as pad gives it."""
    weft.manual_seed(1)
    x, sizes = weft.randn(2, 5, *[13] * dims), [3] * dims
    for groups, out in ((1, 7), (5, 5)):
        w = weft.randn(out, 5 // groups, *sizes)
        args: list[Any] = [[1] * dims, [0] * dims, [2] * dims, groups]
        want = convolve(F.pad(x, [4, 0, 1, 2][: 2 * dims]), w, None, *args)
        args[1] = [4, 0] if dims == 1 else [1, 4, 2, 0]
        assert weft.allclose(ending(x, w, None, *args, ""), want, atol=1e-5)


def test_arguments() -> None:
    args = given(SHAPES["direct"], weft.float32, bias=False)
    y = convolve(*args)
    with pytest.raises(ValueError, match="the lower bound cannot be greater"):
        ending(*args, "bounds 2 1")
    for text in ("swish", "bounds 1", "add silu", "bounds nan 2", "bounds 1 x", "silu tanh"):
        with pytest.raises(ValueError, match="convolve_ending"):
            ending(*args, text, y if "add" in text else None)
    with pytest.raises(ValueError, match="a tensor to add is missing"):
        ending(*args, "add")
    with pytest.raises(RuntimeError, match="expected a tensor to add of"):
        ending(*args, "add", y[:1])
    with pytest.raises(NotImplementedError, match="bfloat16"):
        ending(*(t.bfloat16() if isinstance(t, weft.Tensor) else t for t in args), "")


def linked(draw: random.Random) -> tuple[list[Any], Any]:
    """Return the arguments of a random chain, and what its convolutions give."""
    n, wide, deep, out = (
        draw.randint(1, 3),
        draw.randint(2, 40),
        draw.randint(2, 70),
        draw.randint(2, 40),
    )
    kernel, stride, dilation = (
        draw.choice([1, 2, 3, 4, 5, 7]),
        draw.randint(1, 3),
        draw.choice([1, 1, 2]),
    )
    size = [draw.randint(9, 40) + dilation * (kernel - 1) for _ in range(2)]
    pad = [draw.randint(0, kernel // 2) for _ in range(2)]
    first, last = draw.choice([(True, True), (True, False), (False, True)])
    x = weft.randn(n, wide if first else deep, *size)
    weights = [weft.randn(deep, wide, 1, 1) / wide**0.5] if first else []
    weights.append(weft.randn(deep, 1, kernel, kernel) / kernel)
    weights += [weft.randn(out, deep, 1, 1) / deep**0.5] if last else []
    biases = [draw.choice([None, weft.randn(w.shape[0])]) for w in weights]
    loops = [draw.choice(list(LOOPS)) for _ in weights]
    steps, texts = ([stride] * 2, pad, [dilation] * 2), list(loops)
    y = x
    for i, (w, b, loop) in enumerate(zip(weights, biases, loops)):
        middle = i == int(first)
        y = LOOPS[loop](convolve(y, w, b, *steps, deep) if middle else F.conv2d(y, w, b))
    plus = weft.randn(*y.shape) if draw.random() < 0.5 else None
    if plus is not None:
        y, texts[-1] = y + plus, f"{texts[-1]} add"
    return [x, weights, biases, *steps, deep, int(first), ";".join(texts), plus], y


def compare_chains(seed: int, count: int) -> None:
    draw = random.Random(seed)
    weft.manual_seed(seed)
    for _ in range(count):
        args, want = linked(draw)
        if want.shape[2] * want.shape[3] <= 8:
            continue  # then products of few rows add in another order
        found = chain(*args)
        assert weft.equal(found, want), [a.shape if isinstance(a, weft.Tensor) else a for a in args]


@pytest.mark.parametrize("threads", [1, 3])
def test_chains(threads: int) -> None:
    """The same bits as the convolutions one after the other, on any number of threads."""
    before = weft.get_num_threads()
    weft.set_num_threads(threads)
    try:
        with weft.no_grad():
            compare_chains(threads, 40)
    finally:
        weft.set_num_threads(before)


def test_large_chain() -> None:
    """More lines than stay near: only the last ones are there."""
    weft.manual_seed(0)
    for stride in (1, 2):
        x, w = weft.randn(2, 16, 61, 59), weft.randn(96, 16, 1, 1) / 4
        deep, out = weft.randn(96, 1, 3, 3), weft.randn(24, 96, 1, 1) / 10
        y = F.conv2d(F.conv2d(F.relu6(F.conv2d(x, w)), deep, None, stride, 1, 1, 96), out)
        found = chain(
            x, [w, deep, out], [None] * 3, [stride] * 2, [1, 1], [1, 1], 96, 1, "bounds 0 6;;"
        )
        assert weft.equal(found, y)


def test_arguments_of_chains() -> None:
    x, w, deep = weft.randn(1, 4, 9, 9), weft.randn(6, 4, 1, 1), weft.randn(6, 1, 3, 3)
    steps = ([1, 1], [1, 1], [1, 1], 6)
    chain(x, [w, deep], [None, None], *steps, 1, ";")
    for weights, middle, texts in (
        ([w], 0, ""), ([w, deep], 0, ";"), ([w, deep], 2, ";"), ([w, deep], 1, ""), ([w, deep], 1, "add;"),
        ([w, deep, w, w], 1, ";;;"), ([], 0, ""),
    ):  # fmt: skip
        with pytest.raises((ValueError, RuntimeError), match="convolve_chain"):
            chain(x, weights, [None] * len(weights), *steps, middle, texts)
    with pytest.raises(ValueError, match="expected 2 biases, got 1"):
        chain(x, [w, deep], [None], *steps, 1, ";")
    with pytest.raises(RuntimeError, match="expected a bias of 6 numbers"):
        chain(x, [w, deep], [weft.ones(4), None], *steps, 1, ";")


def block(act: Any) -> Any:
    """Return layers as networks for small machines have them."""
    nn = weft.nn
    layers = [nn.Conv2d(8, 48, 1), nn.BatchNorm2d(48), act(), nn.Conv2d(48, 48, 3, 1, 1, groups=48)]
    return nn.Sequential(*layers, nn.BatchNorm2d(48), act(), nn.Conv2d(48, 8, 1)).eval()


@pytest.mark.parametrize("act", [weft.nn.ReLU6, weft.nn.SiLU, weft.nn.Hardswish])
def test_networks(act: Any) -> None:
    """optimize_for_inference joins a block to one op; compile keeps every bit."""
    net, x = block(act), weft.randn(2, 8, 15, 15)
    with weft.no_grad():
        want = x + net(x)
        fast = weft.jit.optimize_for_inference(weft.jit.trace(lambda x: x + net(x), (x,)))
        assert [node.op for node in fast.graph] == ["convolve_chain"]
        assert weft.allclose(fast(x), want, atol=1e-5)
        compiled = weft.compile(lambda x: weft.relu(net(x) + x))
        for _ in range(4):
            assert weft.equal(compiled(x), weft.relu(want))


def test_gradients_of_inputs() -> None:
    """A frozen network can be explained: where gradients are wanted, its ops run one by one."""
    net = block(weft.nn.SiLU)
    x = weft.randn(2, 8, 15, 15, requires_grad=True)
    fast = weft.jit.optimize_for_inference(
        weft.jit.trace(lambda x: x + net(F.pad(x, (1, 0, 0, 1)))[..., 1:, 1:], (x.detach(),))
    )
    want, found = (weft.autograd.grad(f(x).sum(), x)[0] for f in (
        lambda x: x + net(F.pad(x, (1, 0, 0, 1)))[..., 1:, 1:], fast))  # fmt: skip
    assert weft.allclose(found, want, rtol=1e-4, atol=1e-5)
    assert weft.allclose(fast(x.detach()), fast(x).detach(), atol=1e-6)


def test_causal_padding() -> None:
    """Padding on one side is the convolution's."""
    conv = weft.nn.Conv1d(4, 6, 3, dilation=2)
    x = weft.randn(2, 4, 30)
    fast = weft.jit.optimize_for_inference(
        weft.jit.trace(lambda x: F.relu(conv(F.pad(x, (4, 0)))), (x,))
    )
    assert [(node.op, node.args[4]) for node in fast.graph] == [("convolve_ending", [4, 0])]
    assert weft.allclose(fast(x), F.relu(conv(F.pad(x, (4, 0)))), atol=1e-5)


def test_sums_of_two_convolutions() -> None:
    """Of two, the later one adds the other."""
    one, two = weft.nn.Conv2d(4, 6, 1), weft.nn.Conv2d(4, 6, 3, padding=1)
    x = weft.randn(2, 4, 12, 12)
    fast = weft.jit.optimize_for_inference(weft.jit.trace(lambda x: F.relu(one(x) + two(x)), (x,)))
    assert [node.op for node in fast.graph] == ["convolve", "convolve_ending"]
    assert weft.equal(fast(x), F.relu(one(x) + two(x)))
