"""Derivatives of ops of complex numbers that are easy to get wrong: each is checked twice."""

from __future__ import annotations

from typing import Any

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
