"""``weft.func``: derivatives of functions, maps over slices, modules as functions."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vjp,
    vmap,
)

X = [0.3, -1.2, 2.0]


def x64(values: Any = X) -> weft.Tensor:
    """Double precision, no gradient wanted."""
    return weft.tensor(values, dtype=weft.float64)


def near(a: weft.Tensor, b: Any) -> bool:
    """Whether two results are equal but for rounding."""
    return weft.allclose(a, b if isinstance(b, weft.Tensor) else x64(b), 1e-10)


# ---- derivatives -------------------------------------------------------------------------------


def test_grad_of_a_function() -> None:
    x = x64()
    g = grad(lambda x: (x**3).sum())(x)
    assert near(g, 3 * x**2) and not g.requires_grad and x.grad is None


def test_grad_nests() -> None:
    x = weft.tensor(0.7, dtype=weft.float64)
    assert near(grad(grad(grad(weft.sin)))(x), -x.cos())
    assert not grad(grad(weft.sin))(x).requires_grad


def test_grad_by_several_arguments_and_structures() -> None:
    def f(p: dict[str, weft.Tensor], y: weft.Tensor) -> weft.Tensor:
        return (p["w"] * y).sum() + p["b"]

    p, y = {"w": x64(), "b": x64(1.0)}, x64([1.0, 2.0, 3.0])
    gp, gy = grad(f, argnums=(0, 1))(p, y)
    assert set(gp) == {"w", "b"} and near(gp["w"], y) and near(gp["b"], 1.0) and near(gy, p["w"])
    assert near(grad(f, argnums=-1)(p, y), p["w"])


def test_value_and_aux() -> None:
    found, (value, aux) = grad_and_value(lambda x: (x.sum(), x * 2), has_aux=True)(x64())
    assert near(found, [1, 1, 1]) and near(value, sum(X)) and near(aux, x64() * 2)
    assert not value.requires_grad and not aux.requires_grad
    found, aux = grad(lambda x: (x.sum(), "kept"), has_aux=True)(x64())
    assert aux == "kept"


def test_results_depend_on_parameters_that_were_read() -> None:
    w = x64().requires_grad_()
    g = grad(lambda x: (w * x * x).sum())(x64([1.0, 2.0, 3.0]))
    assert g.requires_grad
    g.sum().backward()
    assert near(w.grad, [2.0, 4.0, 6.0])


def test_inputs_that_require_gradients_stay_linked() -> None:
    x = x64().requires_grad_()
    g = grad(lambda x: (x**3).sum())(x)
    g.sum().backward()
    assert near(x.grad, 6 * x.detach())


def test_grad_works_without_grad_mode() -> None:
    with weft.no_grad():
        assert near(grad(lambda x: (x * x).sum())(x64()), 2 * x64())


def test_unused_inputs_have_zero_gradient() -> None:
    assert near(grad(lambda x, y: y.sum())(x64(), x64()), [0, 0, 0])
    assert near(grad(lambda x: weft.tensor(1.0))(x64()), [0, 0, 0])


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda: grad(lambda x: x)(x64()), RuntimeError, "one tensor without dimensions"),
        (lambda: grad(weft.sum, argnums=2)(x64()), RuntimeError, "argnums=2, but there are 1"),
        (lambda: grad(weft.sum, argnums=(0, 0))(x64()), RuntimeError, "twice"),
        (lambda: grad(weft.sum, argnums="x")(x64()), RuntimeError, "must be an int"),  # type: ignore[arg-type]
        (lambda: grad(weft.sum)(weft.arange(3)), RuntimeError, "only floating point"),
        (lambda: grad(lambda x: 3)(x64()), RuntimeError, "return tensors"),
        (lambda: grad(weft.sum, has_aux=True)(x64()), RuntimeError, "must return .output, aux"),
        (lambda: vjp(weft.sin, x64())[1](x64([1.0])), RuntimeError, r"shape \[3\], got \[1\]"),
        (lambda: jvp(weft.sin, x64(), x64()), RuntimeError, "tuple of primals"),
        (lambda: jvp(weft.sin, (x64(),), (x64([1.0]),)), RuntimeError, r"shape \[3\]"),
        (lambda: jacrev(weft.sin, chunk_size=0), ValueError, "greater than 0"),
    ],
)
def test_wrong_calls(call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()


def test_vjp_and_jvp_multiply_with_the_jacobian() -> None:
    def f(x: weft.Tensor, y: weft.Tensor) -> dict[str, weft.Tensor]:
        return {"a": x * y, "b": (x.sin() * y).sum()}

    x, y = x64(), x64([1.0, 2.0, -1.0])
    out, back = vjp(f, x, y)
    v = {"a": x64([1.0, 0.5, 2.0]), "b": x64(3.0)}
    gx, gy = back(v)
    assert near(gx, v["a"] * y + 3 * x.cos() * y) and near(gy, v["a"] * x + 3 * x.sin())
    assert near(back(v)[0], gx), "it can be called again"
    dx, dy = x64([0.1, 0.2, 0.3]), x64([1.0, 0.0, 1.0])
    same, push = jvp(f, (x, y), (dx, dy))
    assert near(same["a"], out["a"]) and near(push["a"], dx * y + x * dy)
    assert near(push["b"], (x.cos() * y * dx + x.sin() * dy).sum())
    value, linear = linearize(f, x, y)
    assert near(linear(dx, dy)["b"], push["b"]) and near(value["b"], out["b"])


def test_jacobians_by_both_ways() -> None:
    def f(x: weft.Tensor, w: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        return x @ w, x.sin()

    x, w = weft.randn(2, 3, dtype=weft.float64), weft.randn(3, 4, dtype=weft.float64)
    for way in (jacrev, jacfwd):
        (xa, wa), (xb, wb) = way(f, argnums=(0, 1))(x, w)
        assert xa.shape == (2, 4, 2, 3) and wa.shape == (2, 4, 3, 4) and xb.shape == (2, 3, 2, 3)
        assert near(xa[1, 2, 1], w[:, 2]) and near(wa[1, 2, :, 2], x[1])
        assert near(xb[0, 1, 0, 1], x[0, 1].cos()) and not wb.any()
        assert way(lambda x: x)(weft.empty(0)).shape == (0, 0)


def test_hessian() -> None:
    x = x64()
    assert near(hessian(lambda x: x[0] * x[1] * x[2])(x)[0, 1], x[2])
    assert near(jacfwd(jacrev(lambda x: (x**3).sum()))(x), weft.diag(6 * x))
    assert near(jacrev(jacfwd(lambda x: (x**3).sum()))(x), weft.diag(6 * x))
    blocks = hessian(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x)
    assert near(blocks[0][1], weft.eye(3, dtype=weft.float64)) and not blocks[0][0].any()


# ---- vmap --------------------------------------------------------------------------------------


def test_vmap_over_arguments() -> None:
    a, b = weft.randn(4, 3), weft.randn(3, 4)
    assert weft.allclose(vmap(weft.dot, in_dims=(0, 1))(a, b), (a * b.t()).sum(1))
    assert weft.allclose(vmap(weft.add, in_dims=(0, None))(a, b[:, 0]), a + b[:, 0])
    assert vmap(lambda x: x * 2, out_dims=1)(a).shape == (3, 4)
    assert vmap(lambda x: (x, x.sum()), out_dims=(-1, 0))(a)[0].shape == (3, 4)
    nested = vmap(vmap(weft.sin))(weft.randn(2, 3, 4))
    assert nested.shape == (2, 3, 4)


def test_vmap_over_structures() -> None:
    def f(p: dict[str, weft.Tensor], x: weft.Tensor) -> weft.Tensor:
        return p["w"] * x

    p = {"w": weft.arange(3.0)}
    assert vmap(f, in_dims=({"w": 0}, None))(p, weft.tensor(2.0)).tolist() == [0, 2, 4]
    assert vmap(f, in_dims=(0, None))(p, weft.tensor(2.0)).tolist() == [0, 2, 4]
    assert vmap(lambda x, y: x + y)(weft.ones(2), y=weft.ones(2)).tolist() == [2, 2]


def test_vmap_of_grad_gives_gradients_by_sample() -> None:
    model = weft.nn.Linear(3, 1)
    parameters = {k: v.detach() for k, v in model.named_parameters()}
    x, y = weft.randn(5, 3), weft.randn(5, 1)

    def loss(p: Any, x: weft.Tensor, y: weft.Tensor) -> weft.Tensor:
        return ((functional_call(model, p, (x,)) - y) ** 2).sum()

    found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    off = (model(x) - y).detach()
    assert weft.allclose(found["weight"][:, 0], 2 * off * x, 1e-4, 1e-5)
    assert weft.allclose(found["bias"], 2 * off, 1e-4, 1e-5)


def test_vmap_of_nothing_has_the_right_shape() -> None:
    assert vmap(lambda x: x @ weft.ones(3, 2))(weft.empty(0, 4, 3)).shape == (0, 4, 2)
    assert vmap(lambda x: x, out_dims=1)(weft.empty(0, 4)).shape == (4, 0)


def test_vmap_and_random_numbers() -> None:
    def f(x: weft.Tensor) -> weft.Tensor:
        return x + weft.rand(2)

    x = weft.zeros(3, 2)
    with pytest.raises(RuntimeError, match="randomness='different'"):
        vmap(f)(x)
    same = vmap(f, randomness="same")(x)
    assert same[0].tolist() == same[1].tolist() == same[2].tolist()
    different = vmap(f, randomness="different", chunk_size=2)(x)
    assert different[0].tolist() != different[1].tolist()


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda: vmap(weft.sin, randomness="x"), RuntimeError, "randomness must be"),
        (lambda: vmap(weft.sin, chunk_size=0), ValueError, "chunk_size"),
        (lambda: vmap(weft.sin, in_dims=None)(weft.ones(2)), ValueError, "must be an int or"),
        (lambda: vmap(weft.sin, in_dims=(None,))(weft.ones(2)), ValueError, "all in_dims are"),
        (lambda: vmap(weft.sin, in_dims=1)(weft.ones(2)), ValueError, "between -1 and 0"),
        (lambda: vmap(weft.mul)(weft.ones(2), 3), ValueError, "only tensors are sliced"),
        (lambda: vmap(weft.mul)(weft.ones(2), weft.ones(3)), ValueError, r"got sizes \[2, 3\]"),
        (lambda: vmap(lambda x: 3)(weft.ones(2)), ValueError, "must return tensors"),
        (lambda: vmap(weft.mul, (0,))(weft.ones(2), weft.ones(2)), ValueError, "does not fit"),
    ],
)
def test_wrong_maps(call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()


# ---- modules -----------------------------------------------------------------------------------


def test_an_ensemble_as_one_call() -> None:
    models = [weft.nn.Linear(3, 2) for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    assert parameters["weight"].shape == (4, 2, 3) and parameters["weight"].is_leaf
    x = weft.randn(5, 3)

    def one(p: Any, b: Any) -> weft.Tensor:
        return functional_call(models[0], (p, b), (x,))

    out = vmap(one)(parameters, buffers)
    assert weft.allclose(out, weft.stack([m(x) for m in models]))
    out.sum().backward()
    assert parameters["bias"].grad.tolist() == [[5, 5]] * 4


def test_wrong_ensembles() -> None:
    for models, match in (
        ([], "at least one"),
        ([weft.nn.Linear(1, 1), weft.nn.ReLU()], "one class"),
        ([weft.nn.Linear(1, 1), weft.nn.Linear(1, 1).eval()], "same mode"),
        ([weft.nn.Linear(1, 1), weft.nn.Linear(1, 1).requires_grad_(False)], "in all models"),
    ):
        with pytest.raises(RuntimeError, match=match):
            stack_module_state(models)


def test_batch_norm_without_running_statistics() -> None:
    model = weft.nn.Sequential(weft.nn.Linear(2, 2), weft.nn.BatchNorm1d(2))
    replace_all_batch_norm_modules_(model)
    assert model[1].running_mean is None and not list(model.buffers())
    assert abs(model.eval()(weft.randn(8, 2)).mean().item()) < 1e-5
