"""``autograd.grad`` with several vectors at once."""

from __future__ import annotations

import pytest

import weft


def test_rows_of_a_jacobian() -> None:
    x = weft.randn(3, dtype=weft.float64, requires_grad=True)
    y = x.sin() * x[0]
    (found,) = weft.autograd.grad(y, x, weft.eye(3, dtype=weft.float64), is_grads_batched=True)
    expected = weft.autograd.functional.jacobian(lambda x: x.sin() * x[0], x)
    assert weft.allclose(found, expected)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        weft.autograd.grad(y, x, weft.ones(3, dtype=weft.float64))


def test_several_inputs_and_second_derivatives() -> None:
    x, z = weft.ones(2, requires_grad=True), weft.ones(2, requires_grad=True)
    y = x**3
    found = weft.autograd.grad(
        y, {"x": x, "z": z}, weft.eye(2), create_graph=True, allow_unused=True,
        is_grads_batched=True,
    )  # fmt: skip
    assert found["x"].tolist() == [[3, 0], [0, 3]] and found["z"] is None
    (second,) = weft.autograd.grad(found["x"].sum(), x)
    assert second.tolist() == [6, 6]


def test_wrong_vectors() -> None:
    x = weft.ones(2, requires_grad=True)
    for vectors in (None, weft.tensor(1.0), (weft.ones(2, 2), weft.ones(3, 2)), weft.ones(0, 2)):
        with pytest.raises(RuntimeError, match="is_grads_batched=True needs"):
            weft.autograd.grad((x * 1, x * 2), x, vectors, is_grads_batched=True)
