"""Complex numbers: derivatives that are easy to get wrong, each checked twice; loops over pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F


def z(*shape: int) -> weft.Tensor:
    """Random complex numbers that want a gradient."""
    return weft.randn(*shape, dtype=weft.complex128).requires_grad_()


CALLS: dict[str, Any] = {
    "conv1d": lambda: (F.conv1d, z(1, 2, 5), z(2, 2, 3), z(2)),
    "conv2d": lambda: (
        lambda x, w: F.conv2d(x, w, stride=2, padding=1),
        z(1, 2, 4, 3),
        z(1, 2, 2, 2),
    ),
    "conv_transpose1d": lambda: (F.conv_transpose1d, z(1, 2, 3), z(2, 1, 2), z(1)),
    "vdot": lambda: (weft.vdot, z(3), z(3)),
    "pow": lambda: (weft.pow, z(3), z(3)),
    "pow of a number": lambda: (lambda x: 2.0**x, z(3)),
    "logcumsumexp": lambda: (lambda x: x.logcumsumexp(0), z(4)),
    "householder_product": lambda: (weft.linalg.householder_product, z(3, 2), z(2)),
    "ormqr": lambda: (lambda a, t, c: weft.ormqr(a, t, c, False, True), z(2, 2), z(2), z(1, 2)),
    "masked.mean": lambda: (lambda x: weft.masked.mean(x, mask=weft.tensor([True, False])), z(2)),
    "sparse": lambda: (
        lambda v, d: weft.sparse_csr_tensor([0, 1, 2], [1, 0], v, (2, 2)) @ d,
        z(2),
        z(2, 2),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_derivatives(name: str) -> None:
    weft.manual_seed(0)
    f, *inputs = CALLS[name]()
    assert gradcheck(f, tuple(inputs)) and gradgradcheck(f, tuple(inputs))


def test_large_logcumsumexp() -> None:
    x = weft.tensor([1000 + 1j, -1000 + 2j, 999 - 1j], dtype=weft.complex128, requires_grad=True)
    x.logcumsumexp(0).real.sum().backward()
    assert x.grad.isfinite().all()


def test_power_of_zero() -> None:
    x = weft.zeros(2, dtype=weft.complex128, requires_grad=True)
    e = weft.tensor([1 + 1j, 2.0 + 0j], requires_grad=True)
    (x**e).real.sum().backward()
    assert e.grad.tolist() == [0, 0]


# ---- loops of pairs, against long double -------------------------------------------------------


@pytest.mark.parametrize("dtype", [weft.complex64, weft.complex128])
@pytest.mark.parametrize("seed", range(12))
def test_pairs(dtype: Any, seed: int) -> None:
    """Products, quotients, angles and directions of numbers of all sizes, in any layout."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 300))
    most = 18 if dtype == weft.complex64 else 150  # powers of ten whose products are still numbers

    def some() -> Any:
        size = 10.0 ** rng.uniform(-most, most, n) if seed % 2 else 1.0
        x = weft.from_numpy(size * np.exp(2j * np.pi * rng.random(n))).to(dtype)
        return x if seed % 3 else weft.stack([x, x], 1)[:, 1]  # with gaps

    x, a, b = some(), some(), some()
    wx, wa, wb = (t.numpy().astype(np.clongdouble) for t in (x, a, b))
    eps = weft.finfo(dtype).eps
    results = {
        "mul": (a * b, wa * wb),
        "square": (a.square(), wa * wa),
        "div": (a / b, wa / wb),
        "reciprocal": (a.reciprocal(), 1 / wa),
        "sgn": (a.sgn(), wa / abs(wa)),
        "conj": (a.conj(), wa.conj()),
        "angle": (a.angle(), np.angle(wa)),
        "complex": (weft.complex(a.real, b.imag), wa.real + 1j * wb.imag),
    }
    for name, (got, right) in results.items():
        assert (abs(got.numpy() - right) <= 6 * eps * abs(right)).all(), name
    for got, term in ((weft.addcmul(x, a, b), wa * wb), (weft.addcdiv(x, a, b), wa / wb)):
        assert (abs(got.numpy() - (wx + term)) <= 6 * eps * (abs(wx) + abs(term))).all()
    y = a.clone()
    assert weft.equal(y.div_(b), a / b) and weft.equal(b.clone().mul_(b), b * b)


@pytest.mark.parametrize("dtype", [weft.complex64, weft.complex128])
def test_quotients_at_the_ends(dtype: Any) -> None:
    """No overflow where the quotient is a number; infinities and zeros by the rules of C."""
    big, small = weft.finfo(dtype).max / 1.5, weft.finfo(dtype).tiny * 4
    a = weft.tensor([big + big * 1j, small + small * 1j, big + 0j, 1 + 1j, 1 + 1j], dtype=dtype)
    b = weft.tensor([big + big * 1j, small + small * 1j, 2 + 0j, 0j, complex("inf")], dtype=dtype)
    q = a / b
    assert weft.allclose(q[:3], weft.tensor([1, 1, big / 2], dtype=dtype))
    assert q[3].real.isinf() and q[4] == 0
    ones = weft.ones(3, dtype=dtype)
    assert weft.equal((ones / weft.tensor([1, 0, 1], dtype=dtype))[::2], ones[::2])


# ---- loops over pairs --------------------------------------------------------------------------

KINDS = [(weft.complex64, 1e-5), (weft.complex128, 1e-13)]


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random complex numbers, as NumPy's."""
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def near(mine: weft.Tensor, right: Any, digits: float) -> bool:
    """Say whether a result is as exact as its type allows, beside its largest element."""
    right = np.asarray(right)
    return bool(
        np.abs(mine.numpy() - right).max(initial=0) <= digits * (1 + np.abs(right).max(initial=0))
    )


@pytest.mark.parametrize("dtype, digits", KINDS)
@pytest.mark.parametrize(
    "m, k, n", [(1, 1, 1), (2, 33, 70), (70, 33, 2), (17, 1, 9), (40, 41, 43), (0, 3, 2), (2, 0, 3)]
)
def test_products_of_matrices(dtype: Any, digits: float, m: int, k: int, n: int) -> None:
    rng = np.random.default_rng(m * 100 + n)
    a, b, c = draw(rng, m, k), draw(rng, k, n), draw(rng, m, n)
    of = lambda x: weft.tensor(np.ascontiguousarray(x)).to(dtype)  # noqa: E731
    for left in (of(a), of(a.T).mT):
        for right in (of(b), of(b.T).mT):
            assert near(left @ right, a @ b, digits * 10)
            assert near(
                weft.addmm(of(c), left, right, beta=0.5, alpha=2), 0.5 * c + 2 * a @ b, digits * 10
            )
            batch = weft.stack([left, left * 2]) @ weft.stack([right, right])
            assert near(batch, np.stack([a @ b, 2 * a @ b]), digits * 10)


@pytest.mark.parametrize("dtype, digits", KINDS)
@pytest.mark.parametrize("n", [0, 1, 7, 64, 1001, 20_003])
def test_products_of_vectors(dtype: Any, digits: float, n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = draw(rng, n), draw(rng, 2 * n)
    x, y = weft.tensor(a).to(dtype), weft.tensor(b).to(dtype)
    size = digits * (10 + n**0.5)
    for s in (y[:n], y[::2]):
        v = s.numpy().astype(np.complex128)
        assert near(weft.dot(x, s), np.dot(a, v), size) and near(
            weft.vdot(x, s), np.vdot(a, v), size
        )


@pytest.mark.parametrize("dtype, digits", KINDS)
@pytest.mark.parametrize("shape", [(1,), (2, 3), (5, 47), (130, 3), (3, 1100), (9, 6, 17)])
def test_sums_and_pointwise(dtype: Any, digits: float, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    a, b = draw(rng, *shape), draw(rng, *shape)
    x, y = weft.tensor(a).to(dtype), weft.tensor(b).to(dtype)
    for dim in range(len(shape)):
        assert near(x.sum(dim), a.sum(dim), digits * 10) and near(x.mean(dim), a.mean(dim), digits)
        assert near(x.prod(dim), a.prod(dim), digits * 100)
    some = rng.random(shape) < 0.5
    assert near(weft.where(weft.tensor(some), x, y), np.where(some, a, b), digits)
    for weight in (0.3, 0.2 + 0.9j):
        assert near(weft.lerp(x, y, weight), a + weight * (b - a), digits * 10)
    assert (
        near(x - y, a - b, digits)
        and near(-x, -a, digits)
        and near(x * (1 - 2j), a * (1 - 2j), digits)
    )
    assert near(1j * x, 1j * a, digits) and near(x.reciprocal(), 1 / a, digits)


@pytest.mark.parametrize("dtype", [weft.complex64, weft.complex128])
def test_reciprocals_of_all_sizes(dtype: Any) -> None:
    """Where squares would overflow or lose digits, as where they do not."""
    sizes = np.repeat([1e-37, 1e-25, 1e-10, 1.0, 1e10, 1e25, 1e37], 64)
    a = (sizes * (0.6 + 0.8j)).astype(np.complex64)
    mine = weft.tensor(a).to(dtype).reciprocal().numpy()
    assert np.allclose(mine * a.astype(np.complex128), 1, rtol=1e-6)
