"""float16 and bfloat16: conversions bit by bit, products and norms against float64."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft import nn

F = nn.functional
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of NaN and infinity
HALVES = [weft.float16, weft.bfloat16]
EVERY = np.arange(65536, dtype=np.uint32).astype(np.uint16)
DIGITS = {weft.float16: 2.0**-11, weft.bfloat16: 2.0**-8}  # half a unit in the last place of 1


@pytest.fixture
def rng() -> np.random.Generator:
    """Return random numbers, the same in every run."""
    return np.random.default_rng(7)


def from_bits(bits: np.ndarray, dtype: weft.dtype) -> weft.Tensor:
    """Return the numbers that have these bits."""
    return weft.tensor(bits.view(np.int16)).view(dtype)


def bits_of(t: weft.Tensor) -> np.ndarray:
    """Return the bits of a contiguous tensor of a half type."""
    return t.view(weft.int16).numpy().view(np.uint16)


def wide(bits: np.ndarray, dtype: weft.dtype) -> np.ndarray:
    """Return what the bits stand for, in float32, by NumPy."""
    if dtype is weft.float16:
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << 16).view(np.float32)


def rounded(x: np.ndarray, dtype: weft.dtype) -> np.ndarray:
    """Return the bits of the nearest numbers of a half type, by NumPy: to even where two are as near."""
    if dtype is weft.float16:
        return x.astype(np.float16).view(np.uint16)
    u = x.view(np.uint32).astype(np.uint64)
    near = ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FC0), near)


def same_bits(mine: np.ndarray, right: np.ndarray, dtype: weft.dtype) -> None:
    """Assert that the bits are equal; any NaN is as good as another."""
    nan = np.isnan(wide(right, dtype))
    assert np.array_equal(np.isnan(wide(mine, dtype)), nan)
    assert np.array_equal(mine[~nan], right[~nan])


@pytest.mark.parametrize("dtype", HALVES)
def test_every_value_is_widened_exactly(dtype):
    x = from_bits(EVERY, dtype)
    right = wide(EVERY, dtype)
    assert np.array_equal(x.float().numpy(), right, equal_nan=True)
    assert np.array_equal(x.double().numpy(), right.astype(np.float64), equal_nan=True)
    same_bits(bits_of(x.float().to(dtype)), EVERY, dtype)


@pytest.mark.parametrize("dtype", HALVES)
def test_floats_are_rounded_to_the_nearest_even(dtype, rng):
    bits = rng.integers(0, 1 << 32, 200_000, dtype=np.uint64).astype(np.uint32)
    ties = (EVERY.astype(np.uint32) << 16) + 0x8000  # of bfloat16
    between = (wide(EVERY[:-1], weft.float16) + wide(EVERY[1:], weft.float16)) / 2  # of float16
    x = np.concatenate([bits, ties, ties - 1, ties + 1, between.view(np.uint32)]).view(np.float32)
    for length in (len(x), 1, 15, 16, 17, 31, 33, 1023):
        same_bits(bits_of(weft.tensor(x[:length]).to(dtype)), rounded(x[:length], dtype), dtype)


@pytest.mark.parametrize("dtype", HALVES)
def test_signs_are_changed_in_every_value(dtype):
    x = from_bits(EVERY, dtype)
    same_bits(bits_of(-x), EVERY ^ 0x8000, dtype)
    same_bits(bits_of(x.abs()), EVERY & 0x7FFF, dtype)
    other = EVERY[::-1].copy()
    same_bits(
        bits_of(weft.copysign(x, from_bits(other, dtype))), EVERY & 0x7FFF | other & 0x8000, dtype
    )


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum"])
def test_pointwise_results_are_those_of_float_rounded_once(dtype, name, rng):
    a, b = (rng.permutation(EVERY)[:40_001] for _ in range(2))
    x, y = from_bits(a, dtype), from_bits(b, dtype)
    numpy = {"sub": np.subtract, "mul": np.multiply, "div": np.divide}.get(name)
    right = (numpy or getattr(np, name))(wide(a, dtype), wide(b, dtype))
    op = getattr(weft, name)
    same_bits(bits_of(op(x, y)), rounded(right, dtype), dtype)
    table = op(x[:35].view(7, 5).t(), y[:5].view(5, 1))  # other strides, and repeated
    for i in range(5):
        same_bits(bits_of(table[i].contiguous()), bits_of(op(x[i:35:5], y[i : i + 1])), dtype)
    same_bits(bits_of(op(x, y.float()).to(dtype)), rounded(right, dtype), dtype)


def test_numbers_are_not_rounded_before_they_are_used():
    x = weft.ones(5, dtype=weft.bfloat16)
    assert (x * 0.1).tolist() == [float(weft.tensor(0.1).to(weft.bfloat16))] * 5
    y = weft.full((5,), 3.0, dtype=weft.bfloat16) * 0.3333333
    assert y.tolist() == [float(weft.tensor(3 * np.float32(0.3333333)).to(weft.bfloat16))] * 5


# ---- products


def matrix(rng, dtype, rows, cols, transposed, gap):
    """Return a matrix that lies as asked, and its values in float64."""
    shape = (cols, rows) if transposed else (rows, cols)
    base = weft.tensor(rng.standard_normal((shape[0], shape[1] + gap)).astype(np.float32)).to(dtype)
    x = base[:, gap:]
    x = x.t() if transposed else x
    return x, x.float().numpy().astype(np.float64)


def assert_near(y, right, size, k, dtype):
    """Assert that y is right but for a rounding at the end and those of k sums in float."""
    allowed = DIGITS[dtype] * abs(right) * 1.001 + 2.0**-24 * (k + 4) * size + 1e-30
    assert y.dtype is dtype
    wrong = abs(y.float().numpy().astype(np.float64) - right) > allowed
    assert not wrong.any()


SIZES = [(1, 1, 1), (1, 50, 70), (50, 1, 70), (2, 3, 5), (8, 48, 64), (9, 49, 65), (41, 41, 61)]
SIZES += [(7, 130, 129), (130, 300, 33), (64, 20, 1100), (3, 600, 2050), (140, 17, 1025)]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("m, n, k", SIZES)
def test_products_of_any_layout(dtype, m, n, k, rng):
    for trans_a in (False, True):
        for trans_b in (False, True):
            for gap in (0, 1):
                a, x = matrix(rng, dtype, m, k, trans_a, gap)
                b, y = matrix(rng, dtype, k, n, trans_b, gap)
                assert_near(a @ b, x @ y, abs(x) @ abs(y), k, dtype)
    c, z = matrix(rng, dtype, m, n, False, 0)
    right, size = 0.5 * z + 2 * (x @ y), abs(z) + 2 * abs(x) @ abs(y)
    assert_near(weft.addmm(c, a, b, beta=0.5, alpha=2), right, size, k, dtype)
    bias, z = matrix(rng, dtype, 1, n, False, 0)
    w = b.t().contiguous()
    y = F.linear(a.contiguous(), w, bias.view(n))
    assert_near(
        y,
        x @ w.float().numpy().T.astype(np.float64) + z,
        abs(x) @ abs(w.float().numpy().T) + abs(z),
        k,
        dtype,
    )


@pytest.mark.parametrize("dtype", HALVES)
def test_random_products(dtype, rng):
    for _ in range(60):
        m, n, k = (int(2 ** rng.uniform(0, 8.5)) for _ in range(3))
        a, x = matrix(rng, dtype, m, k, rng.random() < 0.5, int(rng.integers(0, 3)))
        b, y = matrix(rng, dtype, k, n, rng.random() < 0.5, int(rng.integers(0, 3)))
        assert_near(a @ b, x @ y, abs(x) @ abs(y), k, dtype)


@pytest.mark.parametrize("dtype", HALVES)
def test_products_do_not_depend_on_threads(dtype, rng):
    a, _ = matrix(rng, dtype, 260, 530, False, 0)
    b, _ = matrix(rng, dtype, 530, 330, True, 0)
    before = weft.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            weft.set_num_threads(threads)
            results.append([bits_of(y) for y in (a @ b, a[0] @ b, (a @ b[:, :1]).contiguous())])
        for other in results[1:]:
            assert all(np.array_equal(p, q) for p, q in zip(results[0], other))
    finally:
        weft.set_num_threads(before)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("m", [1, 3, 40])
def test_infinity_and_nan_stay_where_they_belong(dtype, m):
    a, b = weft.ones(m, 7, dtype=dtype), weft.ones(7, 50, dtype=dtype)
    a[0, 6] = float("inf")
    b[3, 4] = float("nan")
    y = (a @ b).float().numpy()
    right = a.float().numpy() @ b.float().numpy()
    assert np.array_equal(y, right, equal_nan=True)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("n", [0, 1, 17, 40_000])
def test_inner_product(dtype, n, rng):
    a, x = matrix(rng, dtype, 1, max(n, 1), False, 0)
    b, y = matrix(rng, dtype, 1, max(n, 1), False, 0)
    a, b, x, y = a[0, :n], b[0, :n], x[0, :n], y[0, :n]
    assert_near(a.dot(b), np.asarray(x @ y), np.asarray(abs(x) @ abs(y)), 400, dtype)
    assert_near(
        a.flip(0).dot(b.flip(0)), np.asarray(x @ y), np.asarray(abs(x) @ abs(y)), 400, dtype
    )


# ---- layers


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("rows, n", [(1, 1), (3, 5), (70, 130), (2, 9000)])
def test_layer_norm_is_that_of_float_rounded_once(dtype, rows, n, rng):
    x = weft.tensor(rng.standard_normal((rows, n)).astype(np.float32)).to(dtype)
    w, b = (weft.tensor(rng.standard_normal(n).astype(np.float32)).to(dtype) for _ in range(2))
    g = weft.tensor(rng.standard_normal((rows, n)).astype(np.float32)).to(dtype)
    results = []
    for cast in (lambda t: t, lambda t: t.double()):
        inputs = [cast(t).detach().requires_grad_() for t in (x, w, b)]
        y = F.layer_norm(inputs[0], [n], *inputs[1:])
        results.append([y, *weft.autograd.grad(y, inputs, cast(g))])
    for mine, right in zip(*results):
        assert mine.dtype is dtype
        far = abs(mine.double() - right).max()
        assert float(far) <= 1.01 * DIGITS[dtype] * float(abs(right).max()) + 1e-4


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolution_is_that_of_float_rounded_once(dtype, dims, rng):
    conv = (F.conv1d, F.conv2d, F.conv3d)[dims - 1]
    shapes = [(2, 4) + (7,) * dims, (6, 2) + (3,) * dims, (6,)]
    x, w, b = (weft.tensor(rng.standard_normal(s).astype(np.float32)).to(dtype) for s in shapes)
    results = []
    for cast in (lambda t: t, lambda t: t.double()):
        inputs = [cast(t).detach().requires_grad_() for t in (x, w, b)]
        y = conv(*inputs, padding=1, stride=2, groups=2)
        results.append([y, *weft.autograd.grad(y.sum(), inputs)])
    for mine, right in zip(*results):
        assert mine.dtype is dtype
        far = abs(mine.double() - right)
        assert float((far - 1.01 * DIGITS[dtype] * abs(right)).max()) <= 1e-4


@pytest.mark.parametrize("dtype", [*HALVES, weft.float64])
def test_windows_are_added_up_and_rounded_once(dtype, rng):
    g = weft.tensor(rng.standard_normal((3, 40, 4))).to(dtype)
    right = np.zeros((3, 43))
    for window in range(40):
        right[:, window : window + 4] += g[:, window].double().numpy()
    x = weft.zeros(3, 43, dtype=dtype, requires_grad=True)
    (y,) = weft.autograd.grad(x.unfold(1, 4, 1), x, g)
    allowed = DIGITS.get(dtype, 2.0**-50) * abs(right) * 1.01 + 1e-6
    assert (abs(y.double().numpy() - right) <= allowed).all()


@pytest.mark.parametrize("dtype", HALVES)
def test_images_between_convolutions_lie_as_they_like(dtype, rng):
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 3, stride=2)]
    net = nn.Sequential(*layers).to(dtype)
    x = weft.tensor(rng.standard_normal((2, 3, 9, 9)).astype(np.float32)).to(dtype)
    inner = net[0](x)
    whole = inner.relu() * 0.3 + inner
    parts = weft.stack([inner[i].clone().relu() * 0.3 + inner[i].clone() for i in range(2)])
    assert np.array_equal(bits_of(whole.contiguous()), bits_of(parts))
    middle = F.conv2d(x, net[0].weight, net[0].bias, padding=1).contiguous().relu()
    by_hand = F.conv2d(middle, net[2].weight, net[2].bias, stride=2)
    assert np.array_equal(bits_of(net(x).contiguous()), bits_of(by_hand.contiguous()))


@pytest.mark.parametrize("dtype", HALVES)
def test_bounds_may_be_rounded_first(dtype):
    x = from_bits(EVERY, dtype)
    v = wide(EVERY, dtype)
    for low, high in ((-0.3, 0.7), (0.1, 0.1), (-1e-9, 60000.1), (1.0, -1.0)):
        bounded = np.minimum(np.maximum(v, np.float32(low)), np.float32(high))
        same_bits(bits_of(x.clamp(low, high)), rounded(bounded, dtype), dtype)
        same_bits(bits_of(x.clamp_min(low)), rounded(np.maximum(v, np.float32(low)), dtype), dtype)
        same_bits(
            bits_of(x.clamp_max(high)), rounded(np.minimum(v, np.float32(high)), dtype), dtype
        )
    clean = np.nan_to_num(v, nan=0.3, posinf=7.1, neginf=-0.7).astype(np.float32)
    same_bits(bits_of(x.nan_to_num(0.3, 7.1, -0.7)), rounded(clean, dtype), dtype)
    for n in (1, 15, 17, 33, 47, 65, 1029):  # what is left of vectors
        assert np.array_equal(bits_of((x[:n] * 2).contiguous()), bits_of((x * 2)[:n].clone()))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("shape", [(3,), (33,), (5, 47), (130, 3), (9, 6, 17)])
def test_reductions_read_halves_where_they_lie(dtype, shape, rng):
    x = weft.tensor(rng.standard_normal(shape)).to(dtype)
    x.view(-1)[0] = float("nan")
    for t in (x, x.mT if x.ndim > 1 else x, x[..., ::2]):
        v = t.double()
        for dim in range(t.ndim):
            for name in ("nansum", "amax", "amin", "count_nonzero", "any", "all", "prod"):
                mine, right = getattr(weft, name)(t, dim), getattr(weft, name)(v, dim)
                mine, right = mine.double().numpy(), right.to(mine.dtype).double().numpy()
                assert np.allclose(mine, right, rtol=2 * DIGITS[dtype], atol=1e-3, equal_nan=True)
            for p in (0, 1, 2, 3, float("inf"), -float("inf")):
                mine = weft.linalg.vector_norm(t[..., 1:], p, dim).double().numpy()
                right = weft.linalg.vector_norm(v[..., 1:], p, dim).numpy()
                assert np.allclose(mine, right, rtol=2 * DIGITS[dtype], equal_nan=True)
    assert not weft.equal(x, x.clone())
    y = x.nan_to_num()
    assert weft.equal(y, y.clone()) and weft.equal(
        weft.zeros(3, dtype=dtype), -weft.zeros(3, dtype=dtype)
    )
