"""Products of bytes against their reference implementation in NumPy, bit for bit."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import weft
from weft import _C

linear = _C._op_function("quantized_linear")
convolve = _C._op_function("quantized_convolve")
f4 = np.float32
Grid = tuple[Any, int]


def grid_of(x: np.ndarray, most: int = 255) -> Grid:
    """The grid that just holds x, and zero."""
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    scale = f4((high - low) / most)
    return scale, int(np.clip(np.rint(-low / float(scale)), 0, most))


def bytes_of(x: np.ndarray, grid: Grid, most: int = 255) -> np.ndarray:
    """The nearest bytes, as integers."""
    scale, zero = grid
    return np.clip(np.rint(x * (f4(1) / f4(scale))) + zero, 0, most).astype(np.int64)


def finish(
    sums: Any, grid: Grid, scale: Any, bias: Any, out: Grid | None = None, relu: bool = False
) -> Any:
    """From sums of products, the last dimension the outputs, to floats."""
    y = sums.astype(np.int32).astype(f4) * (f4(grid[0]) * scale)
    y = y if bias is None else y + bias
    y = np.maximum(y, 0) if relu else y
    return y if out is None else (bytes_of(y, out) - out[1]).astype(f4) * f4(out[0])


def plain_linear(
    x: Any, w: Any, scale: Any, bias: Any, grid: Grid | None = None, most: int = 255, **more: Any
) -> Any:
    """The product in int64."""
    grid = grid_of(x, most) if grid is None else grid
    a = bytes_of(x, grid, most) - grid[1]
    return finish(a @ w.astype(np.int64).T, grid, scale, bias, **more)


def plain_conv(
    x: Any, w: Any, scale: Any, bias: Any, stride: Any, pad: Any, dilation: Any, groups: int,
    grid: Grid | None = None, most: int = 255, **more: Any,
) -> Any:  # fmt: skip
    """A convolution over images, place by place; a setting is a number or one for each dimension."""
    stride, pad, dilation = (np.broadcast_to(s, 2).tolist() for s in (stride, pad, dilation))
    grid = grid_of(x, most) if grid is None else grid
    borders = [(0, 0), (0, 0), *((p, p) for p in pad)]
    a = np.pad(bytes_of(x, grid, most) - grid[1], borders)
    n, _, h, wide = a.shape
    out, _, kh, kw = w.shape
    rows, columns = dilation[0] * (kh - 1) + 1, dilation[1] * (kw - 1) + 1
    shape = (n, (h - rows) // stride[0] + 1, (wide - columns) // stride[1] + 1, out)
    sums = np.zeros(shape, np.int64)
    kernels = w.reshape(groups, out // groups, -1).astype(np.int64)
    for i, j in itertools.product(range(shape[1]), range(shape[2])):
        y, z = i * stride[0], j * stride[1]
        window = a[:, :, y : y + rows : dilation[0], z : z + columns : dilation[1]]
        parts = window.reshape(n, groups, -1)
        sums[:, i, j] = np.einsum("ngk,gok->ngo", parts, kernels).reshape(n, out)
    return finish(sums, grid, scale, bias, **more).transpose(0, 3, 1, 2)


def layer(n: int, *shape: int) -> tuple[Any, Any, Any]:
    """Random int8 weights with the extremes among them, scales and biases."""
    rng = np.random.default_rng(n)
    w = rng.integers(-128, 128, (n, *shape)).astype(np.int8)
    w.flat[0] = -128
    return w, rng.random(n).astype(f4) + f4(0.01), rng.normal(size=n).astype(f4)


def given(*arrays: Any) -> list[Any]:
    """The same as tensors of their own memory."""
    return [None if a is None else weft.from_numpy(np.ascontiguousarray(a)).clone() for a in arrays]


SHAPES = [(1, 1, 1), (3, 10, 7), (4, 64, 4), (5, 65, 9), (1, 1024, 300), (70, 200, 33), (9, 3, 257)]


@pytest.mark.parametrize("m, k, n", SHAPES)
def test_linear(m: int, k: int, n: int) -> None:
    """Every element is that of the twin: signs, tails of rows and columns, with and without bias."""
    x = np.random.default_rng(m).normal(size=(m, k)).astype(f4)
    w, scale, bias = layer(n, k)
    for b in (bias, None):
        got = linear(*given(x, w, scale, b)).numpy()
        assert np.array_equal(got, plain_linear(x, w, scale, b))
    fixed: Grid = (f4(0.02), 100)
    args = (*given(x, w, scale, bias), False, 0.02, 100, 0.5, 3, True)
    want = plain_linear(x, w, scale, bias, fixed, out=(f4(0.5), 3), relu=True)
    assert np.array_equal(linear(*args).numpy(), want)


def test_linear_extremes() -> None:
    """Sums at the edge of int32 are exact, as are inputs of one sign and of a single value."""
    k = 65536
    w = np.full((2, k), -128, np.int8)
    w[1] = 127
    x = np.ones((1, k), f4)
    x[0, 0] = -1e-3
    scale = np.ones(2, f4)
    got = linear(*given(x, w, scale, None)).numpy()
    assert np.array_equal(got, plain_linear(x, w, scale, None))
    for x in (
        np.full((2, 3), 7, f4),
        np.full((2, 3), -7, f4),
        np.arange(6, dtype=f4).reshape(2, 3),
    ):
        w, scale, bias = layer(4, 3)
        assert np.array_equal(
            linear(*given(x, w, scale, bias)).numpy(), plain_linear(x, w, scale, bias)
        )
    zero = linear(*given(np.zeros((2, 3), f4), w, scale, bias)).numpy()
    assert np.array_equal(zero, np.broadcast_to(bias, (2, 4)))


def test_linear_shapes_and_layouts() -> None:
    """More dimensions, transposed memory, one scale for all, no rows."""
    w, scale, bias = layer(5, 6)
    x = np.random.default_rng(0).normal(size=(2, 3, 6)).astype(f4)
    want = plain_linear(x, w, scale, bias)
    assert np.array_equal(linear(*given(x, w, scale, bias)).numpy(), want)
    turned = weft.from_numpy(np.ascontiguousarray(x.transpose(2, 1, 0))).permute(2, 1, 0)
    w_turned = weft.from_numpy(np.ascontiguousarray(w.T)).t()
    assert np.array_equal(linear(turned, w_turned, *given(scale, bias)).numpy(), want)
    assert np.array_equal(
        linear(*given(x, w), weft.tensor(0.5), None).numpy(), plain_linear(x, w, f4(0.5), None)
    )
    assert linear(weft.ones(0, 6), *given(w, scale, bias)).shape == (0, 5)
    assert linear(*given(x[0, 0], w, scale, bias)).shape == (5,)


SETTINGS = [
    (1, 0, 1, 1, 4, 6, 3), (2, 1, 1, 1, 3, 5, 3), (1, 2, 2, 1, 2, 4, 3), (1, 1, 1, 2, 4, 6, 3),
    (1, 0, 1, 4, 4, 8, 1), (3, 2, 1, 1, 70, 3, 2),
]  # fmt: skip


@pytest.mark.parametrize("stride, pad, dilation, groups, channels, out, size", SETTINGS)
def test_convolve(
    stride: int, pad: int, dilation: int, groups: int, channels: int, out: int, size: int
) -> None:
    """Every element is that of the twin, with strides, borders, dilations and groups."""
    x = np.random.default_rng(out).normal(size=(2, channels, 9, 8)).astype(f4)
    w, scale, bias = layer(out, channels // groups, size, size)
    settings = ([stride] * 2, [pad] * 2, [dilation] * 2, groups)
    want = plain_conv(x, w, scale, bias, stride, pad, dilation, groups)
    assert np.array_equal(convolve(*given(x, w, scale, bias), *settings).numpy(), want)
    relu = plain_conv(x, w, scale, bias, stride, pad, dilation, groups, out=(f4(0.3), 9), relu=True)
    grid = grid_of(x)
    args = (*given(x, w, scale, bias), *settings, False, float(grid[0]), grid[1], 0.3, 9, True)
    assert np.array_equal(convolve(*args).numpy(), relu)


def test_convolve_other_dimensions() -> None:
    """Sequences and volumes are images with sizes of one."""
    x = np.random.default_rng(1).normal(size=(2, 3, 11)).astype(f4)
    w, scale, bias = layer(4, 3, 5)
    want = plain_conv(x[:, :, None], w[:, :, None], scale, bias, 1, 0, 1, 1)[:, :, 0]
    assert np.array_equal(convolve(*given(x, w, scale, bias), [1], [0], [1], 1).numpy(), want)
    got = convolve(
        *given(x[:, :, None, None], w[:, :, None, None], scale, bias),
        *[[1] * 3, [0] * 3, [1] * 3],
        1,
    )
    assert np.array_equal(got.numpy()[:, :, 0, 0], want)


def test_images_in_any_order() -> None:
    """An image that a convolution left channels last, and a view, give the same."""
    x = weft.randn(2, 4, 6, 6)
    before = weft.nn.functional.conv2d(x, weft.randn(8, 4, 3, 3))
    w, scale, bias = given(*layer(5, 8, 3, 3))
    args = (w, scale, bias, [1, 1], [1, 1], [1, 1], 1)
    want = convolve(before.contiguous().clone(), *args)
    assert weft.equal(convolve(before, *args), want)
    turned = before.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    assert weft.equal(convolve(turned, *args), want)


def test_threads_change_nothing() -> None:
    """One thread and several give the same bits."""
    w, scale, bias = given(*layer(300, 520))
    x, image = weft.randn(90, 520), weft.randn(4, 8, 40, 40)
    kernel = given(*layer(16, 8, 3, 3))
    before = weft.get_num_threads()
    results = []
    for threads in (1, 3):
        weft.set_num_threads(threads)
        y = convolve(image, *kernel, [1, 1], [1, 1], [1, 1], 1)
        results.append((linear(x, w, scale, bias), linear(x[:1], w, scale, bias), y))
    weft.set_num_threads(before)
    assert all(weft.equal(a, b) for a, b in zip(*results))


def test_weights_that_change() -> None:
    """What is kept of a weight for the next call is made anew when the weight changes."""
    w, scale, _ = layer(3, 10)
    x = np.random.default_rng(0).normal(size=(2, 10)).astype(f4)
    tx, tw, ts = given(x, w, scale)
    linear(tx, tw, ts)
    tw[1] = 5
    w[1] = 5
    assert np.array_equal(linear(tx, tw, ts).numpy(), plain_linear(x, w, scale, None))
    shown = tw.numpy()  # memory that others may write to
    shown[2], w[2] = 7, 7
    assert np.array_equal(linear(tx, tw, ts).numpy(), plain_linear(x, w, scale, None))
    square = weft.randint(-9, 9, (4, 4, 1, 1), dtype=weft.int8)
    y = weft.randn(1, 4)
    flat = linear(y, square.reshape(4, 4), weft.ones(4))
    image = convolve(y.reshape(1, 4, 1, 1), square, weft.ones(4), None, [1, 1], [0, 0], [1, 1], 1)
    assert weft.equal(flat, image.reshape(1, 4))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_have_no_grid(bad: float) -> None:
    """NaN and infinities are not hidden: all results are NaN."""
    x = weft.ones(3, 8)
    x[1, 2] = bad
    assert linear(x, weft.ones(4, 8, dtype=weft.int8), weft.ones(4)).isnan().all()


def test_tiny_numbers() -> None:
    """Numbers too small for a grid of floats count as zero."""
    x = weft.full((1, 4), 1e-42)
    assert weft.equal(linear(x, weft.ones(2, 4, dtype=weft.int8), weft.ones(2)), weft.zeros(1, 2))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("shape", [(0,), (1,), (2, 3, 5, 7), (1, 16, 9, 9)])
def test_round(shape: tuple[int, ...], last: bool) -> None:
    """Sums on a grid, in either layout, with and without ReLU."""
    rng = np.random.default_rng(len(shape))
    a, b = (rng.normal(size=shape).astype(f4) * f4(4) for _ in range(2))
    x, y = given(a, b)
    if last and len(shape) == 4:
        x, y = (t.contiguous(memory_format=weft.channels_last) for t in (x, y))
    grid: Grid = (f4(0.03), 100)
    for other, relu in itertools.product((None, y), (False, True)):
        want = a if other is None else a + b
        want = np.maximum(want, 0) if relu else want
        want = (bytes_of(want, grid) - 100).astype(f4) * f4(0.03)
        got = _C._op_function("quantized_round")(x, other, float(f4(0.03)), 100, relu)
        assert np.array_equal(got.numpy(), want)
        assert got.stride() == x.stride()
        cut = _C._op_function("quantized_round")(x[..., ::2], None, float(f4(0.03)), 100, relu)
        alone = (bytes_of(np.maximum(a, 0) if relu else a, grid) - 100).astype(f4) * f4(0.03)
        assert np.array_equal(cut.numpy(), alone[..., ::2])


def test_errors() -> None:
    """Messages name the op, the rule and what was given."""
    x, w, s = weft.ones(2, 4), weft.ones(3, 4, dtype=weft.int8), weft.ones(3)
    with pytest.raises(RuntimeError, match=r"quantized_linear: mat1 and mat2 .*\[2, 5\]"):
        linear(weft.ones(2, 5), w, s)
    with pytest.raises(RuntimeError, match=r"float32, a weight of int8 .* got float64, int8"):
        linear(x.double(), w, s)
    with pytest.raises(
        RuntimeError, match="weight_scale must have one element or one for each of the 3"
    ):
        linear(x, w, weft.ones(2))
    with pytest.raises(RuntimeError, match=r"bias of float32 and shape \[3\]"):
        linear(x, w, s, weft.ones(4))
    with pytest.raises(RuntimeError, match="input_scale must be positive and finite, got 0"):
        linear(x, w, s, None, False, 0.0)
    with pytest.raises(RuntimeError, match="output_zero_point must be between 0 and 255, got 300"):
        linear(x, w, s, None, False, 1.0, 0, 1.0, 300)
    with pytest.raises(RuntimeError, match="input_zero_point must be between 0 and 127, got 200"):
        linear(x, w, s, None, True, 1.0, 200)
    round_, recur = (_C._op_function(f"quantized_{name}") for name in ("round", "recur"))
    with pytest.raises(RuntimeError, match="quantized_round: "):
        round_(x, weft.ones(3), 1.0, 0)
    with pytest.raises(RuntimeError, match="quantized_recur: expected input"):
        recur(weft.ones(1, 2, 5), x, None, w, s, None, False, 0, False)
    with pytest.raises(RuntimeError, match=r"quantized_recur: .*lstm"):
        recur(
            weft.ones(1, 2, 4),
            weft.ones(2, 1),
            None,
            w[:1].reshape(4, 1),
            weft.ones(4),
            None,
            False,
            3,
            False,
        )
    with pytest.raises(NotImplementedError, match=r"more than 65536 products"):
        linear(weft.ones(1, 65537), weft.ones(1, 65537, dtype=weft.int8), weft.ones(1))
    with pytest.raises(RuntimeError, match=r"quantized_convolve: .* channels"):
        convolve(
            weft.ones(1, 3, 4, 4), weft.ones(2, 4, 1, 1, dtype=weft.int8), s, None, [1, 1], [0, 0],
            [1, 1], 1,
        )  # fmt: skip


def a_case(seed: int) -> tuple[Any, Any]:
    """A random product or convolution of any shape and setting, and what it should give."""
    rng = np.random.default_rng(seed)
    pick = lambda *choices: choices[rng.integers(len(choices))]  # noqa: E731
    most, relu, out = pick(127, 255), pick(False, True), pick(None, (f4(0.37), 11))
    product = seed % 2 == 0
    if product:
        k, n = int(rng.integers(1, pick(9, 300))), int(rng.integers(1, pick(9, 150)))
        x = rng.normal(size=(*pick((), (2,)), int(rng.integers(1, 40)), k)).astype(f4)
        w, scale, bias = layer(n, k)
    else:
        groups = pick(1, 1, 2, 3)
        channels, n = int(rng.integers(1, pick(4, 40))) * groups, int(rng.integers(1, 40)) * groups
        if pick(False, False, True):  # every channel by itself
            groups = n = channels
        kernel, dilation = rng.integers(1, 4, 2), rng.integers(1, 3, 2)
        stride, pad = rng.integers(1, 3, 2), rng.integers(0, 3, 2)
        if pick(False, False, True):  # what Winograd's way is for
            kernel, dilation, stride, groups = kernel * 0 + 3, dilation * 0 + 1, stride * 0 + 1, 1
            channels, n = int(rng.integers(16, 70)), int(rng.integers(16, 70))
        sizes = np.maximum(rng.integers(1, 12, 2), dilation * (kernel - 1) + 1)
        x = rng.normal(size=(int(rng.integers(1, 4)), channels, *sizes)).astype(f4)
        w, scale, bias = layer(n, channels // groups, *kernel)
    x += f4(pick(0, 0, -1, 3))
    scale, bias = pick(scale, scale[:1]), pick(bias, None)
    grid = pick(None, (f4(0.05), int(rng.integers(most + 1))))
    more = [most == 127, *(grid or (None, 0)), *(out or (None, 0)), relu]
    more = [float(v) if isinstance(v, f4) else v for v in more]
    options: Any = {"grid": grid, "most": most, "out": out, "relu": relu}
    if product:
        return linear(*given(x, w, scale, bias), *more), plain_linear(x, w, scale, bias, **options)
    settings = [stride.tolist(), pad.tolist(), dilation.tolist(), groups]
    got = convolve(*given(x, w, scale, bias), *settings, *more)
    return got, plain_conv(x, w, scale, bias, *settings, **options)


MANY = """
import numpy as np
from test_int8_ops import a_case
for seed in range(200):
    got, want = a_case(seed)
    assert np.array_equal(got.numpy(), want), seed
"""


@pytest.mark.parametrize(
    "isa, vnni", [("base", "1"), ("avx2", "1"), ("avx512", "1"), ("avx512", "0")]
)
def test_random(isa: str, vnni: str) -> None:
    """Whatever the shape, the settings and the instruction set, every bit is that of the twin."""
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", MANY],
        env={**os.environ, "WEFT_ISA": isa, "WEFT_VNNI": vnni, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


SAME = """
import weft
from weft import _C
weft.manual_seed(1)
x, image = weft.randn(7, 150), weft.randn(2, 5, 9, 9)
w = weft.randint(-128, 128, (37, 150), dtype=weft.int8)
kernel = weft.randint(-128, 128, (6, 5, 3, 3), dtype=weft.int8)
y = _C._op_function("quantized_linear")(x, w, weft.ones(37))
z = _C._op_function("quantized_convolve")(image, kernel, weft.ones(6), None, [1, 1], [1, 1], [1, 1], 1)
import hashlib
print(hashlib.sha256(y.numpy().tobytes() + z.numpy().tobytes()).hexdigest())
"""


def test_machines_agree() -> None:
    """Every instruction set gives the same bits."""
    found = {
        subprocess.run(
            [sys.executable, "-c", SAME],
            env={**os.environ, "WEFT_ISA": isa},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for isa in ("base", "avx2", "avx512")
    }
    assert len(found) == 1
