"""Triangular systems: sizes around those at which the loops change, of matrices however they lie."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import numpy as np
import pytest

import weft


def check(seed: int) -> None:
    """One random system, by its residual, and the gradients by the adjoint."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    dtype, tolerance = rng.choice(
        (("float32", 1e-5), ("float64", 1e-13), ("complex64", 1e-5), ("complex128", 1e-13))
    )
    n, width = rng.choice((1, 2, 17, 48, 49, 97, 130)), rng.choice((1, 2, 4, 5, 33))
    batch = rng.choice(((), (2,), (2, 3)))
    upper, left, unit = (rng.random() < 0.5 for _ in range(3))

    def make(*shape: int) -> weft.Tensor:
        parts = [numbers.standard_normal(shape) for _ in range(2)]
        return weft.tensor(
            (parts[0] + 1j * parts[1] if dtype[0] == "c" else parts[0]).astype(dtype)
        )

    a = make(*batch, n, n) * (0.3 / n**0.5) + 2 * weft.eye(n)
    a = rng.choice((lambda: a, lambda: a.mT, lambda: weft.stack([a, a], -1)[..., 0]))()
    b = make(*(batch if rng.random() < 0.5 else ()), *((n, width) if left else (width, n)))
    a, b = a.detach().requires_grad_(), b.requires_grad_()
    x = weft.linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)
    t = (a.triu() if upper else a.tril()).detach()
    if unit:
        t = t - t.diagonal(0, -2, -1).diag_embed() + weft.eye(n)
    back = t @ x.detach() if left else x.detach() @ t
    assert float((back - b.detach()).abs().max()) < tolerance * 10 * float(b.detach().abs().max())
    g = make(*x.shape)
    gb = weft.autograd.grad(x, b, g)[0]  # x is linear in b, and its inverse in what it solves
    one, other = (float((p.detach().conj() * q).sum().real) for p, q in ((x, g), (b, gb)))
    assert abs(one - other) < tolerance * 100 * float(x.detach().abs().max()) * x.numel() ** 0.5


@pytest.mark.parametrize("seed", range(40))
def test_random(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("isa", ["base", "avx2"])
def test_other_instruction_sets(isa: str) -> None:
    program = "import test_triangular as t\nfor seed in range(100, 130): t.check(seed)"
    env = {**os.environ, "WEFT_ISA": isa}
    subprocess.run(
        [sys.executable, "-c", program], cwd=os.path.dirname(__file__), env=env, check=True
    )


def test_other_half_is_not_read() -> None:
    a = weft.where(weft.ones(60, 60).triu(1) > 0, float("nan"), weft.eye(60) * 2)
    for width in (1, 3, 20):
        x = weft.linalg.solve_triangular(a, weft.ones(60, width), upper=False)
        assert (x == 0.5).all()
