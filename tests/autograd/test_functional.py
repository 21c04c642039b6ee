"""autograd.functional against derivatives written by hand, in every structure of arguments."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft.autograd import functional as F

A = weft.tensor([0.5, -1.0, 2.0], dtype=weft.float64)
B = weft.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 4.0]], dtype=weft.float64)
U = weft.tensor([1.0, 10.0, 100.0], dtype=weft.float64)


def eye(n: int) -> weft.Tensor:
    return weft.eye(n, dtype=weft.float64)


def same(got: weft.Tensor, expected: weft.Tensor) -> bool:
    return got.shape == expected.shape and weft.allclose(got, expected)


def product(a: weft.Tensor, b: weft.Tensor) -> weft.Tensor:
    return a * b


def cubes(a: weft.Tensor) -> weft.Tensor:
    return (a**3).sum()


def mixed(a: weft.Tensor, b: weft.Tensor) -> weft.Tensor:
    return (a * a * b).sum()


STRATEGIES: list[dict[str, Any]] = [
    {},
    {"vectorize": True},
    {"vectorize": True, "strategy": "forward-mode"},
]


@pytest.mark.parametrize("how", STRATEGIES)
def test_jacobian(how: dict[str, Any]) -> None:
    assert same(F.jacobian(lambda a: a**2, A, **how), weft.diag(2 * A))
    # d (a_k b_ik) / d a_j = b_ik [k = j], / d b_lj = a_k [i = l] [k = j]
    over_a, over_b = F.jacobian(product, (A, B), **how)
    assert same(over_a, B[:, :, None] * eye(3))
    assert same(over_b, eye(2)[:, None, :, None] * (A[:, None] * eye(3))[None, :, None, :])
    assert not over_a.requires_grad


@pytest.mark.parametrize("how", STRATEGIES)
def test_jacobian_has_the_structure_of_outputs_and_inputs(how: dict[str, Any]) -> None:
    one = F.jacobian(lambda a: (a * 2,), (A,), **how)
    assert isinstance(one, tuple)
    assert isinstance(one[0], tuple)
    assert same(one[0][0], 2 * eye(3))
    first, second = F.jacobian(lambda a: (a.sum(), 3 * a), A, **how)
    assert same(first, weft.ones_like(A))
    assert same(second, 3 * eye(3))
    used, unused = F.jacobian(lambda a, b: a * 2, (A, B), **how)
    assert same(used, 2 * eye(3))
    assert same(unused, weft.zeros(3, 2, 3, dtype=weft.float64))
    assert F.jacobian(lambda a: a * 2, A[:0], **how).shape == (0, 0)


@pytest.mark.parametrize(
    "how", [{}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}]
)
def test_hessian(how: dict[str, Any]) -> None:
    assert same(F.hessian(cubes, A, **how), weft.diag(6 * A))
    assert same(F.hessian(lambda a: cubes(a).reshape(1, 1), A, **how), weft.diag(6 * A))
    assert same(F.hessian(lambda a: a.sum(), A, **how), weft.zeros(3, 3, dtype=weft.float64))
    (aa, ab), (ba, bb) = F.hessian(mixed, (A, B), **how)
    assert same(aa, weft.diag(2 * B.sum(0)))
    assert same(ab, 2 * A[:, None, None] * eye(3)[:, None, :].expand(3, 2, 3))
    assert same(ba, ab.permute(1, 2, 0))
    assert same(bb, weft.zeros(2, 3, 2, 3, dtype=weft.float64))


def test_vjp_and_jvp() -> None:
    y, g = F.vjp(product, (A, B), 2 * B)
    assert same(y, A * B)
    assert same(g[0], (2 * B * B).sum(0))
    assert same(g[1], 2 * B * A)
    y, d = F.jvp(product, (A, B), (U, B))
    assert same(y, A * B)
    assert same(d, U * B + A * B)
    assert same(F.vjp(cubes, A)[1], 3 * A**2)
    assert same(F.jvp(lambda a: a * U, A[1])[1], U)
    (y0, y1), (d0, d1) = F.jvp(lambda a: (a**2, U * 1), A, U)
    assert same(d0, 2 * A * U)
    assert same(d1, weft.zeros_like(U))
    assert not (y0.requires_grad or d0.requires_grad or y1.requires_grad)


@pytest.mark.parametrize("times", [F.hvp, F.vhp])
def test_products_with_the_hessian(times: Any) -> None:
    y, h = times(cubes, A, U)
    assert same(y, cubes(A))
    assert same(h, 6 * A * U)
    _, (ha, hb) = times(mixed, (A, B), (U, B))
    assert same(ha, 2 * B.sum(0) * U + 2 * A * B.sum(0))
    assert same(hb, (2 * A * U).expand(2, 3))
    assert same(times(lambda a: (3 * a).sum(), A, U)[1], weft.zeros_like(A))


@pytest.mark.parametrize("recorded", [True, False])
def test_create_graph_reaches_the_inputs(recorded: bool) -> None:
    x = A.clone().requires_grad_()
    with weft.set_grad_enabled(recorded):
        jac = F.jacobian(lambda a: a**3, x, create_graph=True)
        hes = F.hessian(cubes, x, create_graph=True)
        products = [
            F.vjp(lambda a: a**3, x, U, create_graph=True)[1],
            F.jvp(lambda a: a**3, x, U, create_graph=True)[1],
        ]
        seconds = [f(cubes, x, U, create_graph=True)[1] for f in (F.hvp, F.vhp)]
    if not recorded:
        return  # inside no_grad the inputs are leaves of their own
    assert same(weft.autograd.grad(jac.sum(), x)[0], 6 * A)
    assert same(weft.autograd.grad(hes.sum(), x)[0], weft.full_like(A, 6))
    for p in products:
        assert same(weft.autograd.grad(p.sum(), x)[0], 6 * A * U)
    for s in seconds:
        assert same(weft.autograd.grad(s.sum(), x)[0], 6 * U)
    assert x.grad is None


def test_v_may_carry_a_graph() -> None:
    v = U.clone().requires_grad_()
    _, g = F.vjp(lambda a: a**2, A, v, create_graph=True)
    assert same(weft.autograd.grad(g.sum(), v)[0], 2 * A)


STRICT = {"strict": True}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: F.jacobian(lambda a: a.detach(), A, **STRICT),
            "Output 0 .* not require gradients",
        ),
        (lambda: F.vjp(lambda a: weft.ones(1), A, **STRICT), "Output 0 .* not require gradients"),
        (
            lambda: F.jacobian(lambda a, b: a, (A, B), **STRICT),
            "Output 0 .* independent of input 1",
        ),
        (lambda: F.vjp(lambda a, b: a, (A, B), A, **STRICT), "output .* independent of input 1"),
        (lambda: F.jvp(lambda a, b: a, (A, B), (A, B), **STRICT), "independent of input 1"),
        (
            lambda: F.jacobian(lambda a: a * 2, A, create_graph=True, **STRICT),
            "jacobian .* independent of input 0.* when create_graph=True",
        ),
        (lambda: F.hessian(lambda a: a.sum(), A, **STRICT), "While computing the hessian"),
        (lambda: F.hvp(lambda a: a.sum(), A, A, **STRICT), "While computing the hessian"),
        (lambda: F.vhp(lambda a, b: cubes(a), (A, B), (A, B), **STRICT), "independent of input 1"),
    ],
)
def test_strict(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.jacobian(cubes, [A]), TypeError, "inputs given to jacobian .* 'list'"),
        (lambda: F.vjp(cubes, (A, 3)), TypeError, "value at index 1 has type <class 'int'>"),
        (lambda: F.jacobian(lambda a: 3, A), TypeError, "outputs of the user-provided function"),
        (lambda: F.vjp(lambda a: a, A), RuntimeError, "v can only be None if .* returns a single"),
        (lambda: F.jvp(lambda a: a, A), RuntimeError, "v can only be None if the input"),
        (lambda: F.vjp(cubes, A, U), RuntimeError, r"v has invalid size: should be .*\[\]"),
        (lambda: F.jvp(cubes, A, (U, U)), RuntimeError, "v should contain a single Tensor"),
        (lambda: F.jvp(product, (A, B), (A,)), RuntimeError, "should be 2 but got 1"),
        (lambda: F.jvp(product, (A, B), (A, A)), RuntimeError, "Entry 1 in v has invalid size"),
        (
            lambda: F.hessian(lambda a: a, A),
            RuntimeError,
            "hessian should contain a single element",
        ),
        (lambda: F.hvp(lambda a: (cubes(a),), A, A), RuntimeError, "should return a single Tensor"),
        (lambda: F.jacobian(cubes, A, strategy="x"), AssertionError, "forward-mode"),
        (
            lambda: F.jacobian(cubes, A, strategy="forward-mode"),
            NotImplementedError,
            "only implemented for `vectorize=True`",
        ),
        (
            lambda: F.jacobian(cubes, A, strict=True, vectorize=True),
            RuntimeError,
            "not supported together",
        ),
    ],
)
def test_wrong_arguments(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
