"""Each optimiser against its formula in NumPy's float64, element by element."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from optim.reference import (
    adadelta,
    adafactor,
    adagrad,
    adam,
    adamax,
    asgd,
    nadam,
    radam,
    rmsprop,
    rprop,
    sgd,
)

import weft
from weft import optim

CASES: list[tuple[str, Any, dict[str, Any]]] = [
    ("SGD", sgd, {"lr": 0.1}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", adam, {"lr": 0.1}),
    ("Adam", adam, {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.1, "amsgrad": True}),
    ("AdamW", adam, {"lr": 0.1, "weight_decay": 0.1, "decoupled": True}),
    ("NAdam", nadam, {"lr": 0.1, "weight_decay": 0.1}),
    ("RAdam", radam, {"lr": 0.1, "weight_decay": 0.1}),
    ("Adamax", adamax, {"lr": 0.1, "weight_decay": 0.1}),
    ("Adadelta", adadelta, {"lr": 1.0}),
    ("Adagrad", adagrad, {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.1}),
    ("RMSprop", rmsprop, {"lr": 0.1}),
    ("RMSprop", rmsprop, {"lr": 0.1, "momentum": 0.5, "centered": True}),
    ("Rprop", rprop, {"lr": 0.1}),
    ("ASGD", asgd, {"lr": 0.1}),
    ("Adafactor", adafactor, {"lr": 0.1, "weight_decay": 0.1}),
]
each = pytest.mark.parametrize("case", CASES, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(CASES)])
SHAPES = ((3, 4), (5,), (), (2, 0), (2, 3, 4))


def arrays(kind: str) -> list[Any]:
    """Values to start from."""
    rng = np.random.RandomState(0)
    shapes = [s for s in SHAPES if kind != "Adafactor" or (0 not in s)]
    return [np.asarray(rng.standard_normal(shape)) for shape in shapes]


@each
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_formula(case: tuple[str, Any, dict[str, Any]], maximize: bool, dtype: str) -> None:
    """Twenty steps down (or up) a curve with slopes of both signs."""
    name, twin, options = case
    start = arrays(name)
    ours = [weft.tensor(a, dtype=getattr(weft, dtype), requires_grad=True) for a in start]
    given = {k: v for k, v in options.items() if k != "decoupled"}
    optimizer = getattr(optim, name)(ours, maximize=maximize, **given)
    theirs: list[Any] = [np.array(a) for a in start]
    states: list[dict[str, Any]] = [{} for _ in start]
    sign = -1 if maximize else 1
    for t in range(1, 21):
        optimizer.zero_grad()
        sum((weft.cos(2 * p) + 0.1 * p * p).sum() for p in ours).backward()  # type: ignore[union-attr]
        optimizer.step()
        for i, (p, s) in enumerate(zip(theirs, states)):
            g = sign * (-2 * np.sin(2 * p) + 0.2 * p)
            theirs[i] = twin(p, g, s, t, options)
    close = {"rtol": 1e-9, "atol": 1e-10} if dtype == "float64" else {"rtol": 1e-3, "atol": 1e-3}
    for p, q in zip(ours, theirs):
        assert np.allclose(p.detach().numpy(), q, **close)


def test_muon_moves_along_orthogonal_matrices() -> None:
    """One step is a matrix whose singular values are all about one, times the rate."""
    p = weft.randn(6, 4, dtype=weft.float64, requires_grad=True)
    before = p.detach().clone()
    p.grad = weft.randn(6, 4, dtype=weft.float64)
    optim.Muon([p], lr=0.1, weight_decay=0.0).step()
    values = np.linalg.svd((before - p.detach()).numpy())[1] / (0.1 * math.sqrt(6 / 4))
    assert values.min() > 0.5 and values.max() < 1.3
    with pytest.raises(ValueError, match="only supports 2D"):
        optim.Muon([weft.ones(3, requires_grad=True)])


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_finds_the_minimum(line_search: str | None) -> None:
    """Rosenbrock's valley with a line search; a bowl without."""
    p = weft.tensor([-1.0, 1.5], dtype=weft.float64, requires_grad=True)
    optimizer = optim.LBFGS([p], line_search_fn=line_search, max_iter=100)

    def closure() -> Any:
        optimizer.zero_grad()
        if line_search:
            loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
        else:
            loss = (1 - p[0]) ** 2 + 3 * (p[1] - 1) ** 2 + 0.5 * (p[0] - 1) * (p[1] - 1)
        loss.backward()
        return loss

    first = optimizer.step(closure)
    assert first > 1
    assert np.allclose(p.detach().numpy(), 1, atol=1e-6)
    assert optimizer.state[p]["func_evals"] > 3
    with pytest.raises(TypeError, match="closure"):
        optimizer.step()
    with pytest.raises(ValueError, match="per-parameter options"):
        optim.LBFGS([{"params": [p]}, {"params": [weft.ones(1, requires_grad=True)]}])


def test_sparse_adam_refuses_dense_gradients() -> None:
    """It says what to use instead."""
    p = weft.ones(2, requires_grad=True)
    p.sum().backward()
    with pytest.raises(
        RuntimeError, match="does not support dense gradients, please consider Adam"
    ):
        optim.SparseAdam([p]).step()
    assert not optim.SparseAdam([p]).state


SIMPLE = ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adadelta", "Adagrad", "RMSprop"]
SIMPLE += ["Rprop", "ASGD"]


@pytest.mark.parametrize("name", SIMPLE)
def test_complex_parameters_are_pairs_of_reals(name: str) -> None:
    """A complex number moves as its two parts would."""
    if name == "Rprop" or name == "Adagrad":
        options = {"lr": 0.1}
    else:
        options = {"lr": 0.1, "weight_decay": 0.1}
    rng = np.random.RandomState(0)
    a = rng.standard_normal((3, 2))
    z = weft.view_as_complex(weft.tensor(a)).clone().requires_grad_()
    x = weft.tensor(a, requires_grad=True)
    for p in (z, x):
        optimizer = getattr(optim, name)([p], **options)
        for i in range(5):
            g = weft.tensor(rng.__class__(i).standard_normal((3, 2)))
            p.grad = weft.view_as_complex(g) if p is z else g
            optimizer.step()
        for state in optimizer.state[p].values():
            assert not isinstance(state, weft.Tensor) or not state.dim() or state.shape == p.shape
            assert not isinstance(state, weft.Tensor) or not state.dim() or state.dtype == p.dtype
    assert np.allclose(weft.view_as_real(z.detach()).numpy(), x.detach().numpy(), rtol=1e-12)


def test_complex_momentum_is_resumed() -> None:
    z = weft.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    first = optim.SGD([z], lr=0.1, momentum=0.9)
    z.grad = weft.tensor([1j, 2.0])
    first.step()
    copy = z.detach().clone().requires_grad_()
    second = optim.SGD([copy], lr=0.1, momentum=0.9)
    second.load_state_dict(deepcopy(first.state_dict()))
    copy.grad = z.grad
    for optimizer in (first, second):
        optimizer.step()
        optimizer.step()
    assert weft.equal(z, copy)


@pytest.mark.parametrize("name", [*SIMPLE, "Adafactor", "Muon"])
def test_tensors_as_rates(name: str) -> None:
    """A rate in a tensor is the same as the number, and is read anew in each step."""
    results = []
    for rate in (0.25, weft.tensor(0.25)):
        p = weft.linspace(-1, 1, 6).reshape(2, 3).clone().requires_grad_()
        optimizer = getattr(optim, name)([p], lr=rate)
        for _ in range(3):
            p.grad = 2 * p.detach()
            optimizer.step()
        results.append(p.detach())
    assert weft.equal(*results)


@pytest.mark.parametrize("name", [n for n in SIMPLE if n not in ("Rprop", "ASGD")])
def test_derivatives_through_a_step(name: str) -> None:
    """differentiable=True: gradients flow through a step to the gradient it was given."""
    start = weft.tensor([0.5, -1.5], dtype=weft.float64)
    slope = weft.tensor([0.3, 0.7], dtype=weft.float64)

    def after(g: Any, rate: Any) -> Any:
        p = start.clone().requires_grad_().clone()
        p.retain_grad()
        optimizer = getattr(optim, name)([p], lr=rate, differentiable=True)
        p.grad = g
        optimizer.step()
        return p

    g = slope.clone().requires_grad_()
    rate = weft.tensor(0.1, dtype=weft.float64, requires_grad=True)
    after(g, rate).sum().backward()
    eps = 1e-6
    for i in range(2):
        d = weft.zeros(2, dtype=weft.float64)
        d[i] = eps
        numeric = (after(slope + d, 0.1) - after(slope - d, 0.1)).sum().item() / (2 * eps)
        assert g.grad[i].item() == pytest.approx(numeric, abs=1e-5)
    numeric = (after(slope, 0.1 + eps) - after(slope, 0.1 - eps)).sum().item() / (2 * eps)
    assert rate.grad.item() == pytest.approx(numeric, abs=1e-5)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Rprop", "ASGD"])
def test_capturable_is_refused_by_name(name: str) -> None:
    """There is nothing to capture on the CPU."""
    with pytest.raises(NotImplementedError, match=rf"{name}\(capturable=True\)"):
        getattr(optim, name)([weft.ones(1, requires_grad=True)], capturable=True)


# ---- native steps and their twins ---------------------------------------------------------------

NATIVE: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.1, "betas": (0.5, 0.9), "eps": 1e-3}),
]


@pytest.mark.parametrize("number", range(len(NATIVE)))
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_native_steps_and_their_twins(
    number: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same parameters and states, for all layouts; what is not plain takes the twin."""
    name, options = NATIVE[number]
    element = getattr(weft, dtype)
    results = []
    for native in (True, False):
        if not native:
            for kernel in ("_sgd", "_adam"):
                monkeypatch.setattr(weft._C, kernel, lambda *args: False)
        weft.manual_seed(0)
        shapes = ((3, 4), (5,), (), (2, 0), (300, 200))
        params = [weft.randn(shape).to(element).requires_grad_() for shape in shapes]
        params.append(weft.randn(4, 3).to(element).t().detach().requires_grad_())
        optimizer = getattr(optim, name)(params, **options)
        for _ in range(4):
            for p in params:
                p.grad = weft.randn(p.shape).to(element)
            optimizer.step()
        states = [x for p in params for x in optimizer.state[p].values()]
        results.append([x.detach().to(weft.float64).numpy() for x in (*params, *states)])
    slack = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-2, "bfloat16": 1e-1}[dtype]
    assert len(results[0]) == len(results[1])
    for x, y in zip(*results):
        assert np.allclose(x, y, rtol=slack, atol=slack, equal_nan=True)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_one_parameter_joins_later(name: str) -> None:
    """A buffer of momentum that is begun while others are under way."""
    options = {"lr": 0.1, "momentum": 0.9} if name == "SGD" else {"lr": 0.1}
    found = []
    for together in (True, False):
        p, q = (weft.ones(2, requires_grad=True) for _ in range(2))
        both = [
            getattr(optim, name)(ps, **options) for ps in ([[p, q]] if together else [[p], [q]])
        ]
        for i in range(4):
            p.grad, q.grad = weft.full((2,), 0.5), weft.full((2,), 0.25) if i > 1 else None
            for optimizer in both:
                optimizer.step()
        found.append(p.tolist() + q.tolist())
    assert found[0] == pytest.approx(found[1])
