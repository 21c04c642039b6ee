"""Pointwise ops whose operands repeat along rows, columns or both: the same as NumPy, on any thread."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import weft

SHAPES = [(33, 40), (7, 700), (5, 3, 64), (2, 1300), (4, 31), (1, 90), (0, 50), (6, 0)]


def check(shape: tuple[int, ...], dtype: str) -> None:
    """All ways in which three operands may repeat."""
    rng = np.random.default_rng(len(shape) * 100 + shape[-1])

    def drawn(*sizes: int) -> np.ndarray:
        return (rng.standard_normal(sizes) * 9).astype(dtype)

    full, column, row = drawn(*shape), drawn(*shape[:-1], 1), drawn(shape[-1])
    single, odd = drawn(1), drawn(*shape[:-1], 2 * shape[-1])[..., ::2]
    for x, y, z in (
        (full, column, row), (column, full, row), (full, column, column), (column, row, full),
        (full, row, column), (full, column, single), (single, full, column), (odd, column, full),
    ):  # fmt: skip
        one, two, three = (weft.tensor(v) for v in (x, y, z))
        if x is odd:
            one = weft.tensor(np.repeat(odd, 2, -1))[..., ::2]
        found = weft.addcmul(one, two, three, value=2).numpy()
        wanted = (x + 2 * (y * z)).astype(dtype)
        assert found.shape == wanted.shape
        assert np.allclose(found, wanted, rtol=1e-5, atol=1e-4)
        assert (weft.where(one > 0, two, three).numpy() == np.where(x > 0, y, z)).all()
        between = weft.clamp(one, two, three).numpy()
        assert (between == np.minimum(np.maximum(x, y), z)).all()
        target = weft.empty(*reversed(found.shape), dtype=one.dtype).permute(
            *range(found.ndim - 1, -1, -1)
        )
        weft.addcmul(one, two, three, value=2, out=target)
        assert (target.numpy() == found).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_against_numpy(shape: tuple[int, ...], dtype: str) -> None:
    check(shape, dtype)


@pytest.mark.parametrize("isa", ["base", "avx2"])
def test_other_instruction_sets(isa: str) -> None:
    program = "import test_broadcasting as t\nfor s in t.SHAPES: t.check(s, 'float32')"
    env = {**os.environ, "WEFT_ISA": isa}
    subprocess.run(
        [sys.executable, "-c", program], cwd=os.path.dirname(__file__), env=env, check=True
    )


def test_bits_on_any_thread() -> None:
    a, b, c = weft.randn(300, 400), weft.randn(300, 1), weft.randn(400)
    threads = weft.get_num_threads()
    try:
        found = []
        for count in (1, 2, 3, 4):
            weft.set_num_threads(count)
            found.append(weft.addcmul(a, b, c).numpy())
    finally:
        weft.set_num_threads(threads)
    assert all((x == found[0]).all() for x in found)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64", "int64"])
def test_addr_has_the_bits_of_the_recorded_one(dtype: str) -> None:
    kind = getattr(weft, dtype)
    a, b, c = ((weft.randn(*s) * 5).to(kind) for s in ((30, 70), (30,), (70,)))
    found = weft.addr(a, b, c)
    assert found.dtype == kind
    if kind.is_floating_point:
        assert (weft.addr(a.clone().requires_grad_(), b, c) == found).all()
        run = weft.compile(lambda a, b, c: weft.addr(a, b, c))
        for _ in range(4):
            assert (run(a, b, c) == found).all()
    assert (a.clone().addr_(b, c) == found).all()
    assert weft.addr(a[:0], b[:0], c).shape == (0, 70)
