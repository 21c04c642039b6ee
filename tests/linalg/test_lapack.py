"""Factors and solvers by what they mean: random shapes, batches, dtypes and layouts, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft

DTYPES = ("float32", "float64", "complex64", "complex128")
SIZES = (0, 1, 2, 3, 7, 17, 33)
seeds = pytest.mark.parametrize("seed", range(4))
dtypes = pytest.mark.parametrize("dtype", DTYPES)


class Draw:
    """Random arrays, and tensors of them that lie in memory in one way or another."""

    def __init__(self, dtype: str, seed: int) -> None:
        self.rng, self.dtype = np.random.default_rng([seed, DTYPES.index(dtype)]), np.dtype(dtype)
        self.size = int(self.rng.choice(SIZES))
        self.batch = tuple(map(int, self.rng.choice([0, 1, 2, 3], self.rng.integers(0, 3))))
        # relative to the sizes of what is computed
        self.tolerance = 2e-3 if dtype in ("float32", "complex64") else 1e-9

    def array(self, *shape: int) -> np.ndarray:
        a = self.rng.standard_normal((*self.batch, *shape))
        if self.dtype.kind == "c":
            a = a + 1j * self.rng.standard_normal(a.shape)
        return (a / max(1, shape[-1]) ** 0.5).astype(self.dtype)

    def regular(self) -> np.ndarray:
        return self.array(self.size, self.size) + 3 * np.eye(self.size, dtype=self.dtype)

    def definite(self) -> np.ndarray:
        a = self.array(self.size, self.size)
        return a @ adjoint(a) + np.eye(self.size, dtype=self.dtype)

    def tensor(self, a: np.ndarray) -> weft.Tensor:
        """The array, without gaps or with, row after row or column after column."""
        layout = self.rng.integers(4)
        if layout == 0:
            return weft.tensor(np.swapaxes(a, -1, -2).copy()).mT
        if layout == 1:
            wide = np.repeat(a, 2, -1)
            return weft.tensor(wide)[..., ::2]
        if layout == 2:
            return weft.tensor(np.concatenate([a, a], -2))[..., : a.shape[-2], :]
        return weft.tensor(a)

    def close(self, found: Any, wanted: np.ndarray) -> None:
        found = found.numpy() if isinstance(found, weft.Tensor) else found
        assert found.shape == wanted.shape
        assert found.dtype == wanted.dtype
        scale = max(1.0, abs(wanted).max(initial=0))
        assert abs(found - wanted).max(initial=0) <= self.tolerance * scale


def adjoint(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a, -1, -2).conj()


@seeds
@dtypes
def test_elimination(dtype: str, seed: int) -> None:
    d = Draw(dtype, seed)
    for m, n in ((d.size, d.size), (d.size, d.size // 2 + 1), (d.size // 2 + 1, d.size)):
        a = d.array(m, n)
        p, low, up = weft.linalg.lu(d.tensor(a))
        d.close(p @ low @ up, a)
        lu, pivots = weft.linalg.lu_factor_ex(d.tensor(a))[:2]
        for one, other in zip(weft.lu_unpack(lu, pivots), (p, low, up)):
            assert weft.equal(one, other)
        assert weft.equal(p.mT @ p, weft.eye(m, dtype=p.dtype).expand(p.shape))


@seeds
@dtypes
@pytest.mark.parametrize("columns", [0, 1, 3, 4, 9])
def test_systems(dtype: str, seed: int, columns: int) -> None:
    d = Draw(dtype, seed)
    a, b = d.regular(), d.array(d.size, columns)
    A, B, turned = d.tensor(a), d.tensor(b), d.tensor(np.swapaxes(b, -1, -2))
    lu, pivots = weft.linalg.lu_factor(A)
    d.close(a @ weft.linalg.solve(A, B).numpy(), b)
    d.close(weft.linalg.solve(A, turned, left=False).numpy() @ a, turned.numpy())
    d.close(a @ weft.linalg.solve_ex(A, B).result.numpy(), b)
    d.close(a @ weft.linalg.lu_solve(d.tensor(lu.numpy()), pivots, B).numpy(), b)
    d.close(adjoint(a) @ weft.linalg.lu_solve(lu, pivots, B, adjoint=True).numpy(), b)
    for flip, one in ((False, a), (True, adjoint(a))):
        x = weft.linalg.lu_solve(lu, pivots, turned, left=False, adjoint=flip)
        d.close(x.numpy() @ one, turned.numpy())
    for upper in (False, True):
        for unit in (False, True):
            t = np.triu(a) if upper else np.tril(a)
            if unit:
                t = t * (1 - np.eye(d.size)) / 4 + np.eye(d.size)
            t = t.astype(a.dtype)
            how = {"upper": upper, "unitriangular": unit}
            d.close(t @ weft.linalg.solve_triangular(d.tensor(t), B, **how).numpy(), b)
            x = weft.linalg.solve_triangular(d.tensor(t), turned, left=False, **how)
            d.close(x.numpy() @ t, turned.numpy())


@seeds
@dtypes
def test_definite(dtype: str, seed: int) -> None:
    d = Draw(dtype, seed)
    a, b = d.definite(), d.array(d.size, 2)
    for upper in (False, True):
        other = np.tril(a, -1) if upper else np.triu(a, 1)  # not to be read
        factor = weft.linalg.cholesky(d.tensor(a + other), upper=upper)
        f = factor.numpy()
        d.close(adjoint(f) @ f if upper else f @ adjoint(f), a)
        d.close(np.triu(f) if upper else np.tril(f), f)
        d.close(a @ weft.cholesky_solve(d.tensor(b), d.tensor(f), upper).numpy(), b)
        whole = np.broadcast_to(np.eye(d.size, dtype=a.dtype), a.shape)
        d.close(a @ weft.cholesky_inverse(d.tensor(f), upper).numpy(), whole)


@seeds
@dtypes
@pytest.mark.parametrize("hermitian", [False, True])
def test_symmetric(dtype: str, seed: int, hermitian: bool) -> None:
    d = Draw(dtype, seed)
    a, b = d.array(d.size, d.size), d.array(d.size, 3)
    a = a + (adjoint(a) if hermitian else np.swapaxes(a, -1, -2))
    factors = weft.linalg.ldl_factor(d.tensor(np.tril(a)), hermitian=hermitian)
    x = weft.linalg.ldl_solve(*factors, d.tensor(b), hermitian=hermitian).numpy()
    scale = max(1.0, abs(x).max(initial=0))  # they may be nearly singular
    d.close(a @ (x / scale).astype(a.dtype), (b / scale).astype(a.dtype))


@seeds
@dtypes
def test_reflections(dtype: str, seed: int) -> None:
    d = Draw(dtype, seed)
    for m, n in ((d.size, d.size // 2), (d.size, d.size), (d.size // 2, d.size)):
        a = d.array(m, n)
        for mode in ("reduced", "complete"):
            q, r = (x.numpy() for x in weft.linalg.qr(d.tensor(a), mode))
            d.close(q @ r, a)
            d.close(np.triu(r), r)
            one = np.eye(q.shape[-1], dtype=a.dtype)
            d.close(adjoint(q) @ q, np.broadcast_to(one, (*d.batch, *one.shape)))
        raw, tau = weft.geqrf(d.tensor(a))
        k = min(m, n)
        full = weft.linalg.qr(d.tensor(a), "complete").Q.numpy()
        made = weft.linalg.householder_product(d.tensor(raw.numpy()[..., :k]), tau)
        d.close(made, full[..., :k])
        c, e = d.array(m, 2), d.array(2, m)
        d.close(weft.ormqr(raw, tau, d.tensor(c)), full @ c)
        d.close(weft.ormqr(raw, tau, d.tensor(c), transpose=True), adjoint(full) @ c)
        d.close(weft.ormqr(raw, tau, d.tensor(e), left=False), e @ full)
        d.close(weft.ormqr(raw, tau, d.tensor(e), left=False, transpose=True), e @ adjoint(full))


@seeds
@dtypes
def test_values(dtype: str, seed: int) -> None:
    """The same singular values and eigenvalues with vectors and without, with gradients and without."""
    d = Draw(dtype, seed)
    a = d.array(d.size, d.size)
    h = (a + adjoint(a)) / 2
    for name, of in (("svdvals", a), ("eigvalsh", h), ("eigvals", a)):
        f = getattr(weft.linalg, name)
        wanted = getattr(np.linalg, name)(of) if of.size else np.zeros(a.shape[:-1])
        for t in (d.tensor(of), d.tensor(of).requires_grad_()):
            found = f(t).detach().numpy()
            assert found.dtype.kind == ("c" if name == "eigvals" else "f")
            if name == "eigvals":  # in any order; their sum and product do not depend on it
                assert np.allclose(found.sum(-1), np.trace(a, 0, -2, -1), 1e-3, 1e-3)
            else:
                assert np.allclose(found, wanted, 1e-3, 1e-3)


@seeds
@dtypes
def test_lstsq(dtype: str, seed: int) -> None:
    d = Draw(dtype, seed)
    n = max(1, d.size)
    for m, wide in ((n, n), (n + 3, n), (n, n + 3)):
        a, b = d.array(m, wide), d.array(m, 2)
        a[..., :n, :n] += 3 * np.eye(n, dtype=a.dtype)
        x = weft.linalg.lstsq(d.tensor(a), d.tensor(b))
        assert x.rank.shape == d.batch and (x.rank == n).all()
        d.close(x.solution, (np.linalg.pinv(a) @ b).astype(a.dtype))
        a[..., -1] = a[..., 0]  # rank is lost, if there is more than one column
        x = weft.linalg.lstsq(d.tensor(a), d.tensor(b))
        if wide > 1 and m >= wide:
            assert (x.rank == wide - 1).all()
        inverse = np.linalg.pinv(a, 1e-4 if d.tolerance > 1e-6 else 1e-10)
        d.close(x.solution, (inverse @ b).astype(a.dtype))


@dtypes
@pytest.mark.parametrize("size", [63, 64, 97, 170])
def test_large(dtype: str, size: int) -> None:
    """What is done by blocks, or by weft's own solver of triangles."""
    d = Draw(dtype, 0)
    d.size, d.batch = size, (2,)
    a = d.definite()
    one = np.broadcast_to(np.eye(d.size, dtype=a.dtype), a.shape)
    for upper in (False, True):
        factor = weft.linalg.cholesky(d.tensor(a), upper=upper)
        d.close(a @ weft.cholesky_inverse(factor, upper).numpy(), one)
    d.close(a @ weft.linalg.inv(d.tensor(a)).numpy(), one)
    a = d.array(size, size)  # whose rows are exchanged
    wanted = np.linalg.inv(a.astype(np.complex128 if d.dtype.kind == "c" else np.float64))
    condition = float(np.linalg.cond(a).max())
    found = weft.linalg.inv(d.tensor(a)).numpy()
    limit = 100 * condition * np.finfo(d.dtype).eps * float(abs(wanted).max())
    assert abs(found - wanted).max() <= limit


def test_large_without_elements_and_singular() -> None:
    assert weft.linalg.inv(weft.zeros(0, 80, 80)).shape == (0, 80, 80)
    assert weft.cholesky_inverse(weft.zeros(0, 80, 80)).shape == (0, 80, 80)
    with pytest.raises(RuntimeError, match=r"cholesky_inverse.*singular"):
        weft.cholesky_inverse(weft.zeros(2, 80, 80))
    with pytest.raises(RuntimeError, match=r"inv.*singular"):
        weft.linalg.inv(weft.ones(80, 80))


def test_singular_triangles_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"cholesky_inverse.*singular"):
        weft.cholesky_inverse(weft.tensor([[1.0, 0.0], [1.0, 0.0]]))


def test_exchanges_beyond_the_matrix_are_refused() -> None:
    """LAPACK would read and write elsewhere."""
    a, b = weft.eye(3), weft.ones(3, 1)
    for wrong in ([1, 2, 4], [0, 2, 3], [-1, 2, 3]):
        pivots = weft.tensor(wrong, dtype=weft.int32)
        for call, *args in (
            (weft.lu_unpack, a, pivots),
            (weft.linalg.lu_solve, a, pivots, b),
            (weft.linalg.ldl_solve, a, pivots, b),
        ):
            with pytest.raises(RuntimeError, match="pivots"):
                call(*args)
    for wrong in ([-2, -2, -3], [-4, -4, 3], [1, 2, -3]):
        with pytest.raises(RuntimeError, match="pivots"):
            weft.linalg.ldl_solve(a, weft.tensor(wrong, dtype=weft.int32), b)


def test_numbers_that_are_not_finite() -> None:
    """Factors of them end, too."""
    for bad in (float("nan"), float("inf")):
        for n in (3, 100):
            a = weft.eye(n) * 2
            a[n // 2, 1] = a[1, n // 2] = bad
            weft.linalg.ldl_factor_ex(a)
            weft.linalg.lu_factor_ex(a)
            weft.geqrf(a)
            weft.linalg.cholesky_ex(a)
            for f in ("svdvals", "eigvalsh", "eigvals", "pinv"):
                with pytest.raises(RuntimeError):
                    getattr(weft.linalg, f)(a)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives(dtype: str) -> None:
    """Of what has a derivative in closed form, twice."""
    d = Draw(dtype, 0)
    d.batch, d.size = (2,), 3
    a, b = weft.tensor(d.definite()), weft.tensor(d.array(3, 2))
    lu, pivots = weft.linalg.lu_factor(a)
    raw, tau = weft.tensor(d.array(4, 3)), weft.tensor(d.array(1, 3))[..., 0, :]
    c = weft.tensor(d.array(4, 2))
    cases: list[tuple[Any, tuple[weft.Tensor, ...]]] = [
        (weft.linalg.det, (a,)),
        (weft.linalg.solve, (a, b)),
        (lambda x, y: weft.linalg.solve(x, y, left=False), (a, b.mT)),
        (lambda x, y: weft.linalg.lu_solve(x, pivots, y), (lu, b)),
        (lambda x, y: weft.linalg.lu_solve(x, pivots, y, adjoint=True), (lu, b)),
        (lambda x, y: weft.linalg.lu_solve(x, pivots, y, left=False), (lu, b.mT)),
        (lambda x: weft.lu_unpack(x, pivots)[1:], (lu,)),
        (weft.linalg.householder_product, (raw, tau)),
        (weft.linalg.householder_product, (raw, tau[..., :2])),
        (lambda x, t, y: weft.ormqr(x, t, y), (raw, tau, c)),
        (lambda x, t, y: weft.ormqr(x, t, y, True, True), (raw, tau[..., :2], c)),
        (lambda x, t, y: weft.ormqr(x, t, y, False), (raw, tau, c.mT)),
        (lambda x: weft.cholesky_inverse(weft.linalg.cholesky(x + x.mH)), (a,)),
        (lambda x: weft.cholesky_inverse(weft.linalg.cholesky(x + x.mH, upper=True), True), (a,)),
        (weft.linalg.matrix_exp, (a / 4,)),
        (weft.linalg.svdvals, (a,)),
    ]
    for f, inputs in cases:
        leaves = tuple(x.detach().contiguous().requires_grad_() for x in inputs)
        assert weft.autograd.gradcheck(f, leaves)
        assert weft.autograd.gradgradcheck(f, leaves)


@dtypes
def test_failures_name_the_matrix(dtype: str) -> None:
    """Codes and errors of a batch in which one matrix has no factor; the others are factored."""
    good = np.eye(3, dtype=dtype) * 2
    a = weft.tensor(np.stack([good, -good, good]))
    factor, info = weft.linalg.cholesky_ex(a)
    assert info.tolist() == [0, 1, 0]
    assert weft.equal(factor[1], weft.eye(3, dtype=a.dtype))
    assert weft.allclose(factor[2] @ factor[2].mH, a[2])
    for f in (weft.linalg.cholesky, lambda x: weft.linalg.cholesky_ex(x, check_errors=True)):
        with pytest.raises(weft.linalg.LinAlgError, match="Batch element 1"):
            f(a)
    singular = weft.tensor(np.stack([good, np.ones((3, 3), dtype)]))
    for f in (weft.linalg.inv, lambda x: weft.linalg.solve(x, x), weft.linalg.lu_factor):
        with pytest.raises(RuntimeError, match="Batch element 1"):
            f(singular)
    x = a.clone().requires_grad_()
    factor, info = weft.linalg.cholesky_ex(x)
    (grad,) = weft.autograd.grad(factor.abs().sum(), x)
    assert not grad[1].any() and bool(grad[0].any())


@dtypes
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_with_batches_that_differ(dtype: str, driver: str) -> None:
    d = Draw(dtype, 5)
    d.batch = ()
    for m, n in ((6, 4), (4, 6), (5, 5)):
        a, b = d.array(m, n), np.stack([d.array(m, 2) for _ in range(3)])
        found = weft.linalg.lstsq(weft.tensor(a)[None], weft.tensor(b), driver=driver)
        d.close(found.solution, np.stack([np.linalg.lstsq(a, one, rcond=None)[0] for one in b]))
        if driver != "gels":
            assert found.rank.tolist() == [min(m, n)]
        if driver in ("gelsd", "gelss"):
            values = np.linalg.svd(a, compute_uv=False).astype(found.singular_values.numpy().dtype)
            assert abs(found.singular_values.numpy()[0] - values).max() <= d.tolerance


@dtypes
def test_large_inverses_by_triangles(dtype: str) -> None:
    """From 64 rows on inverses are found panel by panel."""
    d = Draw(dtype, 1)
    d.batch, d.size = (2,), 131
    a, one = d.definite(), np.broadcast_to(np.eye(131, dtype=dtype), (2, 131, 131))
    d.close(a @ weft.linalg.inv(d.tensor(a)).numpy(), one)
    for upper in (False, True):
        factor = weft.linalg.cholesky(d.tensor(a), upper=upper)
        d.close(a @ weft.cholesky_inverse(factor, upper).numpy(), one)


@dtypes
def test_what_other_calls_said_of_shapes_is_not_kept(dtype: str) -> None:
    """Shape rules are asked again for other shapes, dtypes, numbers and texts."""
    for m, n in ((3, 2), (2, 3), (3, 2)):
        for mode in ("reduced", "complete", "r", "reduced"):
            q, r = weft.linalg.qr(weft.ones(m, n, dtype=getattr(weft, dtype)), mode)
            like = np.linalg.qr(np.ones((m, n), dtype), mode)
            shapes = [like.shape] if mode == "r" else [x.shape for x in like]
            assert [tuple(r.shape)] == shapes[-1:] and r.dtype == getattr(weft, dtype)
            assert mode == "r" or tuple(q.shape) == shapes[0]
    with pytest.raises(RuntimeError, match="square"):
        weft.linalg.inv(weft.ones(2, 3))
    assert weft.linalg.inv(weft.eye(2)).shape == (2, 2)
    with pytest.raises(RuntimeError, match="square"):
        weft.linalg.inv(weft.ones(2, 3))


@pytest.mark.parametrize("driver", ["gelsy", "gels", "gelsd", "gelss"])
@dtypes
def test_least_squares_of_no_right_hand_sides(dtype: str, driver: str) -> None:
    """A matrix without a batch, solutions of an empty one: its rank and values are zeros, not what lay there."""
    a = weft.ones(3, 2, dtype=getattr(weft, dtype))
    for shape in ((0, 3, 1), (2, 0, 3, 1), (0, 3, 0)):
        found = weft.linalg.lstsq(a, weft.ones(shape, dtype=a.dtype), driver=driver)
        assert found.solution.shape == (*shape[:-2], 2, shape[-1])
        assert not found.rank.any() and not found.singular_values.any()
