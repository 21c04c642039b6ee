"""Factors of symmetric matrices: they solve, whatever rows and blocks they need."""

from __future__ import annotations

from typing import Any

import pytest

import weft


def symmetric(*shape: int, hermitian: bool = False, zero: bool = True, **how: Any) -> weft.Tensor:
    """Indefinite matrices, by default with a diagonal of zeros: those need blocks of two rows."""
    a = weft.randn(*shape, **how)
    a = a + (a.mH if hermitian else a.mT)
    return a - weft.diag_embed(a.diagonal(dim1=-2, dim2=-1)) if zero else a


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", [weft.float64, weft.complex128])
@pytest.mark.parametrize("zero", [False, True])
def test_factors_solve(hermitian: bool, dtype: Any, zero: bool) -> None:
    weft.manual_seed(0)
    for n in (1, 2, 5, 16):
        a = symmetric(3, n, n, hermitian=hermitian, zero=zero and n > 1, dtype=dtype)
        b = weft.randn(n, 2, dtype=dtype)
        factors = weft.linalg.ldl_factor(a, hermitian=hermitian)
        x = weft.linalg.ldl_solve(*factors, b, hermitian=hermitian)
        assert x.shape == (3, n, 2) and weft.allclose(a @ x, b.expand(3, n, 2), 1e-6, 1e-8)
        assert factors.pivots.dtype == weft.int32 and weft.equal(factors.LD, factors.LD.tril())


def test_zeros_are_told() -> None:
    info = weft.linalg.ldl_factor_ex(weft.zeros(2, 3, 3)).info
    assert info.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match=r"ldl_factor.*D\[1,1\] is exactly zero"):
        weft.linalg.ldl_factor(weft.zeros(3, 3))
    assert weft.linalg.ldl_factor(weft.zeros(2, 0, 0)).pivots.shape == (2, 0)


def test_lowrank() -> None:
    weft.manual_seed(0)
    a = weft.randn(40, 3, dtype=weft.float64) @ weft.randn(3, 30, dtype=weft.float64)
    for m in (a, a.t(), a.to(weft.complex128) * (1 + 1j)):
        u, s, v = weft.svd_lowrank(m, 5)
        assert weft.allclose(u * s @ v.mH, m, 1e-6, 1e-8) and u.shape[1] == len(s) == 5
    rows = a[:1]
    u, s, v = weft.svd_lowrank(a, 4, M=rows)
    assert weft.allclose(u * s @ v.mH, a - rows, 1e-6, 1e-8)
    u, s, v = weft.pca_lowrank(a, 4)
    assert weft.allclose(u * s @ v.mH, a - a.mean(0), 1e-6, 1e-8)
    assert weft.pca_lowrank(a, 4, center=False)[1][3] < 1e-8
