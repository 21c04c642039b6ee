"""What follows from the declaration of an optimiser: signature, checks, groups, function of lists."""

from __future__ import annotations

import functools
import importlib
import inspect
import random
from typing import Any

import numpy as np
import pytest
from optim import reference

import weft
from weft import optim
from weft.optim.declared import DeclaredOptimizer, State, add_, options, rule

NAMES = ["SGD", "Adam", "NAdam", "RAdam", "Adamax", "Adadelta", "Adagrad", "RMSprop", "Rprop"]
NAMES += ["ASGD", "Adafactor"]


class Momentum(DeclaredOptimizer):
    """One that a user could write: ``v = mu v + g; p = p - lr v``."""

    states = ("velocity", State("first_lr", lambda p, group: group["lr"], "kept", scalar=True))

    @options(mu=rule(lambda x: 0 <= x < 1, "Invalid mu value: {}"))
    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        mu: float = 0.9,
        weight_decay: float = 0,
        *,
        kept: bool = False,
        maximize: bool = False,
    ) -> None:
        """Refuse a sum of options."""
        if lr + mu > 100:
            raise ValueError("together too large")

    @staticmethod
    def update(p: Any, g: Any, v: Any, first: Any, *, lr: float, mu: float) -> None:
        """Move ``p`` along ``v``."""
        assert first in (None, 0.5)
        v.mul_(mu).add_(g)
        add_(p, v, -lr)


def test_one_of_a_user() -> None:
    """Decay, ascent, options of groups, states, and loading follow from three statements."""
    p, q = weft.ones(2, requires_grad=True), weft.ones(2, requires_grad=True)
    groups = [{"params": p}, {"params": q, "mu": 0.0, "kept": True}]
    optimizer = Momentum(groups, 0.5, weight_decay=1.0, maximize=True)
    want, v = [np.ones(2), np.ones(2)], [np.zeros(2), np.zeros(2)]
    for _ in range(3):
        for i, (x, mu) in enumerate(((p, 0.9), (q, 0.0))):
            x.grad = weft.tensor([1.0, 2.0])
            v[i] = mu * v[i] + want[i] - np.array([1.0, 2.0])
            want[i] = want[i] - 0.5 * v[i]
        optimizer.step()
    assert np.allclose(p.detach().numpy(), want[0]) and np.allclose(q.detach().numpy(), want[1])
    assert list(optimizer.state[p]) == ["velocity"]
    assert list(optimizer.state[q]) == ["velocity", "first_lr"]
    keys = ["lr", "mu", "weight_decay", "kept", "maximize", "params"]
    assert sorted(optimizer.param_groups[0]) == sorted(keys)
    other = Momentum([{"params": p}, {"params": q}])
    saved = optimizer.state_dict()
    del saved["param_groups"][0]["maximize"]  # as if of an older version
    other.load_state_dict(saved)
    assert other.param_groups[0] == {**optimizer.param_groups[0], "maximize": False}
    assert other.state[q]["first_lr"] == 0.5


def test_what_is_refused() -> None:
    """By the check of an option, of several, and of names; subclasses keep all of it."""

    class Mine(Momentum):
        def __init__(self, params: Any, rate: float) -> None:
            super().__init__(params, lr=rate, weight_decay=0.1)

    x = [weft.ones(1, requires_grad=True)]
    with pytest.raises(ValueError, match="Invalid mu value: 1"):
        Momentum(x, mu=1)
    with pytest.raises(ValueError, match="Invalid weight_decay value: -1"):
        Momentum(x, weight_decay=-1)
    with pytest.raises(ValueError, match="together too large"):
        Momentum(x, 100, 0.5)
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'beta'"):
        Momentum(x, beta=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'params'"):
        optim.Adam()  # type: ignore[call-arg]
    for wrong in ({"params": x}, {"lr": 1, "mu": 2}):
        with pytest.raises(TypeError, match="multiple values"):
            Momentum(x, 0.1, 0.9, **wrong)  # type: ignore[misc]
    with pytest.raises(TypeError, match="takes from 2 to 5 positional arguments but 7 were given"):
        Momentum(x, 1, 2, 3, 4, 5)  # type: ignore[call-arg,misc]
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        Mine(x, -1)
    optimizer = Mine(x, 0.5)
    x[0].grad = weft.ones(1)
    optimizer.step()
    assert x[0].item() == pytest.approx(1 - 0.5 * 1.1)
    x[0].grad = weft.ones(1).to_sparse()
    with pytest.raises(RuntimeError, match="Mine does not support sparse gradients"):
        optimizer.step()


def test_constructors_that_are_no_functions() -> None:
    """A subclass may replace the constructor by any callable; options stay those of its base."""

    class Mine(optim.Adam):
        __init__ = functools.partialmethod(optim.Adam.__init__, lr=0.5, weight_decay=0.1)  # type: ignore[assignment]

    x = weft.ones(1, requires_grad=True)
    optimizer = Mine([x])
    x.grad = weft.ones(1)
    optimizer.step()
    assert x.item() == pytest.approx(0.5) and optimizer.param_groups[0]["weight_decay"] == 0.1


def test_signatures() -> None:
    """Constructors and functions of lists tell their parameters."""
    first = list(inspect.signature(optim.Adam).parameters)
    assert first[:6] == ["params", "lr", "betas", "eps", "weight_decay", "amsgrad"]
    assert inspect.signature(optim.AdamW).parameters["weight_decay"].default == 1e-2
    found = inspect.signature(importlib.import_module("weft.optim.rmsprop").rmsprop).parameters
    lists = ["square_avgs", "grad_avgs", "momentum_buffer_list", "state_steps"]
    assert list(found)[2:6] == lists
    assert found["lr"].default is inspect.Parameter.empty and found["maximize"].default == 0
    assert {n for n, p in found.items() if p.kind is p.KEYWORD_ONLY} == {
        "lr", "alpha", "eps", "momentum", "centered", "weight_decay", "maximize",
    }  # fmt: skip


OPTIONS: dict[str, Any] = {
    "SGD": {"momentum": (0, 0.9), "dampening": (0, 0.2), "nesterov": (False,)},
    "Adam": {"betas": ((0.9, 0.999), (0.5, 0.8)), "amsgrad": (False, True)},
    "Adagrad": {"lr_decay": (0, 0.1), "initial_accumulator_value": (0,)},
    "RMSprop": {"momentum": (0, 0.5), "centered": (False, True)},
}
PAIRS = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus")}
PAIRS |= {"step_sizes": ("step_size_min", "step_size_max")}
PAIRS_OF = {"Adafactor": {"eps": ("eps1", "eps2")}}


def lists_of(name: str, group: dict[str, Any], p: Any) -> list[Any]:
    """The states of a parameter as the function of lists takes them."""
    cls = getattr(optim, name)
    lists: list[list[Any]] = []
    for x in cls._states:
        wanted = group[x.when] if isinstance(x.when, str) and x.when else True
        made = x.when(p) if callable(x.when) else wanted
        begun = x.start(p, group) if x.start is not None and made else None
        lists.append([begun] if wanted else [])
    return lists


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(6))
def test_functions_of_lists(name: str, seed: int) -> None:
    """Random options and gradients, ten steps, beside the formula in NumPy."""
    rng = random.Random(f"{name}{seed}")
    np_rng = np.random.RandomState(seed)
    given = {key: rng.choice(values) for key, values in OPTIONS.get(name, {}).items()}
    given["lr"] = rng.choice([0.1, 0.02])
    if "weight_decay" in inspect.signature(getattr(optim, name)).parameters:
        given["weight_decay"] = rng.choice([0, 0.1]) if name not in ("Adagrad", "RMSprop") else 0
    given["maximize"] = rng.random() < 0.5
    if name in ("Adadelta", "ASGD"):
        given["weight_decay"] = 0  # their formulas beside this file are without
    start = np_rng.standard_normal(rng.choice([(3, 4), (5,), (2, 3, 2)]))
    p = weft.tensor(start)
    group = getattr(optim, name)([p.clone()], **given).param_groups[0]
    lists = lists_of(name, group, p)
    function = getattr(importlib.import_module(f"weft.optim.{name.lower()}"), name.lower())
    pairs = PAIRS_OF.get(name, PAIRS)
    places = {one: (key, i) for key, two in pairs.items() for i, one in enumerate(two)}
    keywords = [n for n, x in inspect.signature(function).parameters.items() if x.kind == 3]
    values: dict[str, Any] = {}
    for key in keywords:
        option, at = places.get(key, (key, None))
        if option in group:
            values[key] = group[option] if at is None else group[option][at]
    want, state = start, {}
    for t in range(1, 11):
        g = np_rng.standard_normal(start.shape)
        function([p], [weft.tensor(g)], *lists, **values)
        want = getattr(reference, name.lower())(
            want, -g if given["maximize"] else g, state, t, given
        )
        assert np.allclose(p.numpy(), want, rtol=1e-6, atol=1e-9), (t, given)


# What earlier versions and PyTorch call the states of the formulas in reference.py.
SAVED: dict[str, dict[str, str]] = {
    "SGD": {"momentum_buffer": "b"},
    "Adam": {"exp_avg": "m", "exp_avg_sq": "v"},
    "NAdam": {"mu_product": "mu", "exp_avg": "m", "exp_avg_sq": "v"},
    "RAdam": {"exp_avg": "m", "exp_avg_sq": "v"},
    "Adamax": {"exp_avg": "m", "exp_inf": "u"},
    "Adadelta": {"square_avg": "v", "acc_delta": "u"},
    "Adagrad": {"sum": "s"},
    "RMSprop": {"square_avg": "v", "momentum_buffer": "b", "grad_avg": "a"},
    "Rprop": {"prev": "g", "step_size": "size"},
    "Adafactor": {"row_var": "r", "col_var": "c"},
}
RESUMED = {"SGD": {"momentum": 0.9}, "RMSprop": {"momentum": 0.5, "centered": True}}


@pytest.mark.parametrize("name", SAVED)
@pytest.mark.parametrize("steps", [int, float, weft.tensor])
def test_checkpoints_of_earlier_versions(name: str, steps: Any) -> None:
    """Five steps of the formula in NumPy, written as a state dict, go on here."""
    options = {"lr": 0.1, **RESUMED.get(name, {})}
    formula = getattr(reference, name.lower())
    rng = np.random.RandomState(7)
    p, s = rng.standard_normal((3, 4)), dict[str, Any]()
    gradients = rng.standard_normal((9, 3, 4))
    for t, g in enumerate(gradients[:5], 1):
        p = formula(p, g, s, t, options)
    ours = weft.tensor(p, requires_grad=True)
    optimizer = getattr(optim, name)([ours])
    saved = {} if name == "SGD" else {"step": steps(5.0)}
    saved |= {ours_: weft.tensor(s[theirs]) for ours_, theirs in SAVED[name].items()}
    group = {**options, "params": [0]}  # without options that came later
    optimizer.load_state_dict({"state": {0: saved}, "param_groups": [group]})
    for t, g in enumerate(gradients[5:], 6):
        p = formula(p, g, s, t, options)
        ours.grad = weft.tensor(g)
        optimizer.step()
        assert np.allclose(ours.detach().numpy(), p, rtol=1e-6, atol=1e-8), t
    assert list(optimizer.state[ours]) == list(saved)


# ---- what users get wrong, and what they may leave out -------------------------------------------


class Plain(DeclaredOptimizer):
    """Without states: ``p = p - lr g``."""

    @options()
    def __init__(self, params: Any, lr: float = 0.5) -> None:
        """Nothing more."""

    @staticmethod
    def update(p: Any, g: Any, *, lr: float) -> None:
        """Move ``p`` against ``g``."""
        add_(p, g, -lr)


def test_one_without_states() -> None:
    """The state dict has groups only."""
    p = weft.ones(2, requires_grad=True)
    optimizer = Plain([p])
    for _ in range(2):
        p.grad = weft.tensor([1.0, 2.0])
        optimizer.step()
    assert p.tolist() == [0.0, -1.0]
    assert optimizer.state_dict()["state"] == {}
    with weft.no_grad():
        Plain.functional([p], [weft.ones(2)], lr=1.0)
    assert p.tolist() == [-1.0, -2.0]


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_formula_of_a_subclass_is_the_one_that_runs(name: str) -> None:
    """The native step of the base is for the formula of the base."""
    base = getattr(optim, name)

    class Doubled(base):  # type: ignore[misc,valid-type]
        @staticmethod
        @functools.wraps(base.update)
        def update(p: Any, *args: Any, **options: Any) -> None:
            p.mul_(2)

    p = weft.ones(2, requires_grad=True)
    optimizer = Doubled([p], lr=0.1)
    p.grad = weft.ones(2)
    optimizer.step()
    assert p.tolist() == [2.0, 2.0]


def test_formulas_that_do_not_fit_the_options() -> None:
    """The error names the optimiser."""

    class Unknown(Plain):
        @staticmethod
        def update(p: Any, g: Any, *, lr: float, beta: float) -> None:
            """Never called."""

    class Missing(DeclaredOptimizer):
        @options()
        def __init__(self, params: Any, lr: float = 0.5) -> None:
            """Nothing more."""

    p = weft.ones(2, requires_grad=True)
    p.grad = weft.ones(2)
    with pytest.raises(KeyError, match=r"Unknown\.update takes 'beta'"):
        Unknown([p]).step()
    with pytest.raises(TypeError, match="Missing declares no update"):
        Missing([p])
