"""Optimisers and schedules of weft and PyTorch, step by step, from the same start."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import weft

LIBS = (weft, torch)
CONFIGS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1},
        {"lr": 0.001, "momentum": 0.9, "nesterov": True, "maximize": True},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "foreach": True},
        {"lr": 0.1, "momentum": 0.9, "fused": True},
    ],
    "Adam": [
        {},
        {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True},
        {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "maximize": True},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True, "foreach": True},
        {"lr": 0.1, "amsgrad": True, "fused": True},
    ],
    "AdamW": [{"lr": 0.1}, {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True, "maximize": True}],
    "NAdam": [
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ],
    "RAdam": [
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.1, "betas": (0.5, 0.9)},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ],
    "Adamax": [{"lr": 0.1}, {"lr": 0.1, "weight_decay": 0.1, "maximize": True}],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.5, "weight_decay": 0.1, "maximize": True}],
    "Adagrad": [
        {"lr": 0.1},
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5},
        {"lr": 0.1, "maximize": True, "fused": True},
    ],
    "RMSprop": [
        {},
        {"alpha": 0.5, "weight_decay": 0.1, "momentum": 0.5, "centered": True},
        {"maximize": True},
    ],
    "Rprop": [{"lr": 0.1}, {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.1), "maximize": True}],
    "ASGD": [{"lr": 0.1}, {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 3, "weight_decay": 0.1}],
    "Adafactor": [{"lr": 0.1}, {"lr": 0.1, "d": 2.0, "weight_decay": 0.1, "maximize": True}],
    "Muon": [{"lr": 0.1}, {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}],
}
CASES = [(name, i) for name in CONFIGS for i in range(len(CONFIGS[name]))]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def problem(lib: Any, dtype: str, name: str, complexes: bool = False) -> tuple[list[Any], Any]:
    """Parameters of a small network, and its loss."""
    rng = np.random.RandomState(0)
    shapes: list[Any] = [(6, 4), (4, 3), (3,), ()]
    arrays = [np.asarray(rng.standard_normal(s)).astype(dtype) for s in (*shapes, (8, 6), (8, 3))]
    *params, x, y = (lib.tensor(a) for a in arrays)
    params = [p.requires_grad_() for p in (params[:2] if name == "Muon" else params)]

    def loss() -> Any:
        out = (x @ params[0]).tanh() @ params[1]
        if len(params) > 2:
            out = (out + params[2]) * params[3]
        return (out - y).square().mean()

    return params, loss


def train(lib: Any, name: str, options: dict[str, Any], dtype: str, count: int) -> Any:
    """Parameters and optimiser after some steps; the second matrix has a rate of its own."""
    params, loss = problem(lib, dtype, name)
    groups = [{"params": params[:1] + params[2:]}, {"params": params[1:2], "lr": 0.02}]
    optimizer = getattr(lib.optim, name)(groups, **options)

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    for _ in range(count):
        optimizer.step(closure)
    return params, optimizer


@pytest.mark.parametrize(("name", "number"), CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_twenty_steps(name: str, number: int, dtype: str) -> None:
    """The parameters after 20 steps, and the keys, shapes and dtypes of the states."""
    options = CONFIGS[name][number]
    (ours, mine), (theirs, other) = (train(lib, name, options, dtype, 20) for lib in LIBS)
    close = {"rtol": 1e-7, "atol": 1e-8} if dtype == "float64" else {"rtol": 1e-4, "atol": 1e-5}
    if name == "Muon":  # which rounds to bfloat16 within
        close = {"rtol": 2e-2, "atol": 2e-2}
    for p, q in zip(ours, theirs):
        assert np.allclose(p.detach().numpy(), q.detach().numpy(), **close), (p, q)
    state, wanted = mine.state_dict(), other.state_dict()
    assert list(state) == list(wanted)
    assert [list(g) for g in state["param_groups"]] == [list(g) for g in wanted["param_groups"]]
    assert [g["params"] for g in state["param_groups"]] == [
        g["params"] for g in wanted["param_groups"]
    ]
    assert str(mine) == str(other)
    assert shapes(state["state"]) == shapes(wanted["state"])


def shapes(state: Any) -> Any:
    """Keys, shapes and dtypes."""
    if isinstance(state, dict):
        return {k: shapes(v) for k, v in state.items()}
    if hasattr(state, "dtype"):
        return tuple(state.shape), str(state.dtype)
    return type(state).__name__


@pytest.mark.parametrize("name", [*CONFIGS, "LBFGS", "SparseAdam"])
def test_signatures(name: str) -> None:
    """The same arguments, in the same order, with the same defaults."""
    ours, theirs = (inspect.signature(getattr(lib.optim, name)).parameters for lib in LIBS)
    assert [(p.name, p.default, p.kind) for p in ours.values()] == [
        (p.name, p.default, p.kind) for p in theirs.values()
    ]


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad", "Rprop", "Adamax"])
def test_complex_parameters(name: str) -> None:
    """Complex numbers move as PyTorch moves them."""
    found = []
    for lib in LIBS:
        rng = np.random.RandomState(0)
        p = lib.tensor(rng.standard_normal(4) + 1j * rng.standard_normal(4)).requires_grad_()
        optimizer = getattr(lib.optim, name)([p], lr=0.1)
        for _ in range(10):
            p.grad = lib.tensor(rng.standard_normal(4) + 1j * rng.standard_normal(4))
            optimizer.step()
        found.append(p.detach().numpy())
    assert np.allclose(*found, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "options",
    [
        {"lr": 0.1, "max_iter": 4},
        {"line_search_fn": "strong_wolfe", "max_iter": 8, "history_size": 3},
    ],
)
def test_lbfgs(seed: int, options: dict[str, Any]) -> None:
    """The losses of the first 40 evaluations; later on, rounding decides where it goes."""
    both = []
    for lib in LIBS:
        rng = np.random.RandomState(seed)
        a, x = lib.tensor(rng.standard_normal((5, 5))), lib.tensor(rng.standard_normal(5))
        x.requires_grad_()
        optimizer, losses = lib.optim.LBFGS([x], **options), []

        def closure() -> Any:
            optimizer.zero_grad()  # noqa: B023
            value = ((a @ x) ** 2).sum() + (x**4).sum() - lib.cos(3 * x).sum()  # noqa: B023
            value.backward()
            losses.append(value.item())  # noqa: B023
            return value

        while len(losses) < 40:
            optimizer.step(closure)
        both.append((losses[:40], set(optimizer.state[x])))
    assert np.allclose(both[0][0], both[1][0], rtol=1e-6)
    assert both[1][1] - both[0][1] == {"al"}  # which PyTorch keeps, and nobody reads


# ---- schedules ----------------------------------------------------------------------------------

SCHEDULES: list[tuple[str, dict[str, Any]]] = [
    ("LambdaLR", {"lr_lambda": lambda e: 0.95**e}),
    ("MultiplicativeLR", {"lr_lambda": lambda e: 0.95}),
    ("StepLR", {"step_size": 3}),
    ("MultiStepLR", {"milestones": [2, 5, 5, 7], "gamma": 0.5}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 4}),
    ("LinearLR", {"start_factor": 0.2, "total_iters": 4}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("PolynomialLR", {"total_iters": 6, "power": 2.0}),
    ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3}),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2, "eta_min": 0.01}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 3, "mode": "triangular2"}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 3, "scale_fn": lambda x: 0.5**x}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 40}),
    ("OneCycleLR", {"max_lr": [0.5, 0.2], "epochs": 5, "steps_per_epoch": 8, "three_phase": True}),
    ("SWALR", {"swa_lr": 0.05, "anneal_epochs": 4}),
    ("SWALR", {"swa_lr": [0.05, 0.2], "anneal_epochs": 3, "anneal_strategy": "linear"}),
]
each = pytest.mark.parametrize("number", range(len(SCHEDULES)))


def optimizer_of(lib: Any, resumed: bool = False) -> Any:
    """An optimiser of two groups."""
    groups: list[Any] = [{"params": [lib.ones(1, requires_grad=True)]} for _ in range(2)]
    groups[1]["lr"] = 0.05
    if resumed:
        groups[0]["initial_lr"], groups[1]["initial_lr"] = 0.2, 0.3
    return lib.optim.SGD(groups, lr=0.1, momentum=0.9)


def schedule(lib: Any, number: int, optimizer: Any, **more: Any) -> Any:
    """One of the schedules."""
    name, options = SCHEDULES[number]
    home = lib.optim.swa_utils if name == "SWALR" else lib.optim.lr_scheduler
    return getattr(home, name)(optimizer, **copy.deepcopy(options), **more)


def numbers(optimizer: Any, scheduler: Any) -> list[float]:
    """What a schedule sets."""
    found = [float(g[k]) for g in optimizer.param_groups for k in ("lr", "momentum")]
    return found + [float(x) for x in scheduler.get_last_lr()]


@each
def test_thirty_steps_and_states(number: int) -> None:
    """Rates, momenta and state dicts, key by key."""
    both = []
    for lib in LIBS:
        optimizer = optimizer_of(lib)
        scheduler = schedule(lib, number, optimizer)
        found: list[Any] = [numbers(optimizer, scheduler)]
        for _ in range(30):
            optimizer.step()
            scheduler.step()
            found.append(numbers(optimizer, scheduler))
        both.append((found, scheduler.state_dict(), optimizer.param_groups[0].keys()))
    (ours, state, keys), (theirs, wanted, others) = both
    assert np.allclose(ours, theirs, rtol=1e-12, atol=1e-15)
    assert set(state) == set(wanted) and keys == others
    assert set(state) - {"_scale_fn_custom"} == {
        k for k in state if k == "_scale_fn_custom" or close(state[k], wanted[k])
    } - {"_scale_fn_custom"}


def close(a: Any, b: Any) -> bool:
    """Equal, or equal numbers."""
    try:
        return bool(a == b or np.allclose(a, b, rtol=1e-12, atol=1e-15))
    except TypeError:
        return False


@each
def test_resumed_by_last_epoch(number: int) -> None:
    """A schedule that is made in the middle of a run."""
    for last in range(9):
        both: list[Any] = []
        for lib in LIBS:
            optimizer = optimizer_of(lib, resumed=True)
            try:
                scheduler = schedule(lib, number, optimizer, last_epoch=last)
                found: list[Any] = [numbers(optimizer, scheduler)]
                for _ in range(6):
                    optimizer.step()
                    scheduler.step()
                    found.append(numbers(optimizer, scheduler))
            except Exception as e:
                found = [type(e).__name__]
            both.append(found)
        if isinstance(both[1][0], str):
            assert both[0] == both[1], last
        else:
            assert np.allclose(*both, rtol=1e-12, atol=1e-15), (last, both)


@each
def test_epochs_by_hand(number: int) -> None:
    """The deprecated argument of step."""
    both = []
    for lib in LIBS:
        optimizer = optimizer_of(lib)
        scheduler = schedule(lib, number, optimizer)
        found = []
        for epoch in (3, 1, 7, 0, None, 10, None):
            scheduler.step(epoch)
            found.append(numbers(optimizer, scheduler))
        both.append(found)
    assert np.allclose(*both, rtol=1e-12, atol=1e-15)


def test_signatures_of_schedules() -> None:
    """The same arguments, in the same order, with the same defaults."""
    for name in torch.optim.lr_scheduler.__all__:
        ours, theirs = (
            inspect.signature(getattr(lib.optim.lr_scheduler, name)).parameters for lib in LIBS
        )
        assert [(p.name, p.default) for p in ours.values()] == [
            (p.name, p.default) for p in theirs.values()
        ], name
    assert set(weft.optim.swa_utils.__all__) == set(torch.optim.swa_utils.__all__)


def test_averages() -> None:
    """AveragedModel and update_bn through a small network."""
    both = []
    for lib in LIBS:
        model = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.BatchNorm1d(3))
        rng = np.random.RandomState(0)
        for p in model.parameters():
            p.data.copy_(lib.tensor(rng.standard_normal(tuple(p.shape)).astype("float32")))
        averaged = lib.optim.swa_utils.AveragedModel(model)
        ema = lib.optim.swa_utils.AveragedModel(
            model, multi_avg_fn=lib.optim.swa_utils.get_ema_multi_avg_fn(0.9), use_buffers=True
        )
        data = [lib.tensor(rng.standard_normal((5, 2)).astype("float32")) for _ in range(3)]
        for x in data:
            model(x).sum().backward()
            for p in model.parameters():
                p.data.add_(0.1)
            averaged.update_parameters(model)
            ema.update_parameters(model)
        lib.optim.swa_utils.update_bn(data, averaged)
        states = [*averaged.state_dict().items(), *ema.state_dict().items()]
        both.append([(k, v.detach().numpy()) for k, v in states])
    for (name, ours), (other, theirs) in zip(*both):
        assert name == other and np.allclose(ours, theirs, rtol=1e-4, atol=1e-5), name
