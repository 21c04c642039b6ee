"""Schedules: closed forms, chains, resuming, warnings; averages of models."""

from __future__ import annotations

import copy
import io
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import weft
from weft import optim
from weft.optim import lr_scheduler as lrs
from weft.optim import swa_utils


def optimizer_of(lr: Any = 1.0, **options: Any) -> Any:
    """An optimiser of two groups."""
    a, b = (weft.ones(1, requires_grad=True) for _ in range(2))
    groups = [{"params": [a]}, {"params": [b], "lr": 0.5}]
    return optim.SGD(groups, lr=lr, momentum=0.9, **options)


def rates(scheduler: Any, count: int = 12) -> list[float]:
    """The rates of the first group, from the first step on."""
    optimizer, found = scheduler.optimizer, []
    for _ in range(count):
        found.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        scheduler.step()
    return found


def cosine(t: float) -> float:
    """From 1 to 0."""
    return (1 + math.cos(math.pi * t)) / 2


CLOSED: dict[str, tuple[Any, Any]] = {
    "LambdaLR": (lambda o: lrs.LambdaLR(o, lambda e: 1 / (1 + e)), lambda t: 1 / (1 + t)),
    "MultiplicativeLR": (lambda o: lrs.MultiplicativeLR(o, lambda e: 0.9), lambda t: 0.9**t),
    "StepLR": (lambda o: lrs.StepLR(o, 3, 0.5), lambda t: 0.5 ** (t // 3)),
    "MultiStepLR": (
        lambda o: lrs.MultiStepLR(o, [2, 5, 5], 0.5),
        lambda t: 0.5 ** ((t >= 2) + 2 * (t >= 5)),
    ),
    "ConstantLR": (lambda o: lrs.ConstantLR(o, 0.5, 4), lambda t: 0.5 if t < 4 else 1.0),
    "LinearLR": (lambda o: lrs.LinearLR(o, 0.2, 0.8, 5), lambda t: 0.2 + 0.6 * min(t, 5) / 5),
    "ExponentialLR": (lambda o: lrs.ExponentialLR(o, 0.9), lambda t: 0.9**t),
    "PolynomialLR": (
        lambda o: lrs.PolynomialLR(o, 6, 2.0),
        lambda t: (1 - min(t, 6) / 6) ** 2,
    ),
    "CosineAnnealingLR": (lambda o: lrs.CosineAnnealingLR(o, 4), lambda t: cosine(t / 4)),
    "CosineAnnealingWarmRestarts": (
        lambda o: lrs.CosineAnnealingWarmRestarts(o, 3),
        lambda t: cosine(t % 3 / 3),
    ),
    "CyclicLR": (
        lambda o: lrs.CyclicLR(o, 0.0, 1.0, 4),
        lambda t: t % 8 / 4 if t % 8 <= 4 else 2 - t % 8 / 4,
    ),
    "OneCycleLR": (
        lambda o: lrs.OneCycleLR(o, 1.0, 20, anneal_strategy="linear", div_factor=10.0),
        lambda t: 0.1 + 0.9 * t / 5 if t <= 5 else 1 - (1 - 1e-5) * (t - 5) / 14,
    ),
    "SWALR": (
        lambda o: swa_utils.SWALR(o, 0.2, 4, "linear"),
        lambda t: 1 - 0.8 * min(t, 4) / 4,
    ),
}
each = pytest.mark.parametrize("name", list(CLOSED))


@each
def test_closed_form(name: str) -> None:
    """Each schedule is the function of the step that its doc states."""
    make, form = CLOSED[name]
    assert rates(make(optimizer_of())) == pytest.approx([form(t) for t in range(12)], abs=1e-12)


@each
def test_tensors_as_rates_are_filled(name: str) -> None:
    """A rate in a tensor keeps its identity."""
    rate = weft.tensor(1.0, dtype=weft.float64)
    scheduler = CLOSED[name][0](optimizer_of(rate))
    assert rates(scheduler) == pytest.approx([CLOSED[name][1](t) for t in range(12)], abs=1e-9)
    assert scheduler.optimizer.param_groups[0]["lr"] is rate
    assert float(scheduler.get_last_lr()[0]) == rate.item()


@each
@pytest.mark.parametrize("way", ["direct", "file", "pickle"])
def test_resume(name: str, way: str) -> None:
    """Five steps, a save, seven more: the same rates as twelve."""
    make, _ = CLOSED[name]
    whole = rates(make(optimizer_of()))
    first = make(optimizer_of())
    begun = rates(first, 5)
    state = {"optimizer": first.optimizer.state_dict(), "scheduler": first.state_dict()}
    if way == "file":
        f = io.BytesIO()
        weft.save(state, f)
        state = weft.load(io.BytesIO(f.getvalue()))
    elif way == "pickle":
        state = pickle.loads(pickle.dumps(state))
    second = make(optimizer_of())
    second.optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
    second.load_state_dict(copy.deepcopy(state["scheduler"]))
    assert begun + rates(second, 7) == whole


def test_sequential_and_chained() -> None:
    """One after another, and all at once; nested too."""
    o = optimizer_of()
    parts = [lrs.LinearLR(o, 0.5, 1.0, 2), lrs.ExponentialLR(o, 0.9)]
    found = rates(lrs.SequentialLR(o, parts, [3]), 6)
    assert found == pytest.approx([0.5, 0.75, 1.0, 1.0, 0.9, 0.81])
    o = optimizer_of()
    scheduler = lrs.ChainedScheduler([lrs.ConstantLR(o, 0.5, 2), lrs.ExponentialLR(o, 0.9)])
    assert rates(scheduler, 4) == pytest.approx([0.5, 0.45, 0.81, 0.729])
    assert "_schedulers" in scheduler.state_dict() and len(scheduler.get_last_lr()) == 2


def test_plateau() -> None:
    """Patience, cooldown, thresholds of both kinds, the lowest rate."""
    o = optimizer_of()
    scheduler = lrs.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1, min_lr=0.3)
    found = []
    for loss in (1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9):
        scheduler.step(weft.tensor(loss))
        found.append(o.param_groups[0]["lr"])
    assert found == [1, 1, 1, 0.5, 0.5, 0.5, 0.3, 0.3]
    scheduler = lrs.ReduceLROnPlateau(optimizer_of(), "max", threshold=0.1, threshold_mode="abs")
    scheduler.step(1.0)
    scheduler.step(1.05)
    assert scheduler.num_bad_epochs == 1 and not scheduler.in_cooldown
    with pytest.raises(ValueError, match=r"Factor should be < 1.0"):
        lrs.ReduceLROnPlateau(optimizer_of(), factor=1.0)


def test_momentum_cycles_the_other_way() -> None:
    """SGD's momentum and Adam's first beta."""
    o = optimizer_of()
    scheduler = lrs.CyclicLR(o, 0.0, 1.0, 2)
    found = []
    for _ in range(4):
        found.append(o.param_groups[0]["momentum"])
        o.step()
        scheduler.step()
    assert found == pytest.approx([0.9, 0.85, 0.8, 0.85])
    adam = optim.Adam([weft.ones(1, requires_grad=True)])
    lrs.OneCycleLR(adam, 1.0, 10)
    assert adam.param_groups[0]["betas"] == (0.95, 0.999)
    with pytest.raises(ValueError, match="support momentum or beta1"):
        lrs.OneCycleLR(optim.Adagrad([weft.ones(1, requires_grad=True)]), 1.0, 10)


def test_warnings() -> None:
    """The wrong order, a replaced step, get_lr by hand, an epoch."""
    with pytest.warns(UserWarning, match=r"lr_scheduler.step\(\)` before"):
        lrs.StepLR(optimizer_of(), 1).step()
    scheduler = lrs.StepLR(optimizer_of(), 1)
    scheduler.optimizer.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden"):
        scheduler.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        lrs.StepLR(optimizer_of(), 1).get_lr()
    scheduler = lrs.ExponentialLR(optimizer_of(), 0.5)
    with pytest.warns(UserWarning, match="get_last_lr"):
        assert scheduler.get_lr() == [lr / 2 for lr in scheduler.base_lrs]  # of the next step
    scheduler = lrs.StepLR(optimizer_of(), 1)
    scheduler.optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter"):
        scheduler.step(3)
    assert scheduler.get_last_lr()[0] == pytest.approx(1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rates(lrs.StepLR(optimizer_of(), 1))


def test_bad_schedules() -> None:
    """What PyTorch refuses is refused."""
    o = optimizer_of()
    bad: list[tuple[Any, type[Exception], str | None]] = [
        (lambda: lrs.StepLR(3, 1), TypeError, "int is not an Optimizer"),
        (lambda: lrs.StepLR(optimizer_of(), 1, last_epoch=3), KeyError, "initial_lr"),
        (lambda: lrs.LambdaLR(o, [abs]), ValueError, "Expected 2 lr_lambdas"),
        (lambda: lrs.ConstantLR(o, 2.0), ValueError, "between 0 and 1"),
        (lambda: lrs.LinearLR(o, 0.0), ValueError, "greater than 0"),
        (lambda: lrs.CosineAnnealingWarmRestarts(o, 0), ValueError, "T_0"),
        (lambda: lrs.CyclicLR(o, 0.1, 1.0, mode="x"), ValueError, "mode is invalid"),
        (lambda: lrs.CyclicLR(o, [0.1], 1.0), ValueError, "base_lr must have the same length"),
        (lambda: lrs.OneCycleLR(o, 1.0), ValueError, "total_steps OR"),
        (lambda: lrs.OneCycleLR(o, 1.0, 10, pct_start=2.0), ValueError, "pct_start"),
        (lambda: lrs.SequentialLR(o, [], []), ValueError, "at least one"),
        (lambda: lrs.SequentialLR(o, [lrs.StepLR(o, 1)], [1]), ValueError, "one more than"),
        (lambda: lrs.ChainedScheduler([lrs.ReduceLROnPlateau(o)]), ValueError, "Plateau"),
        (lambda: lrs.ChainedScheduler([lrs.StepLR(o, 1)], optimizer_of()), ValueError, "same"),
        (lambda: swa_utils.SWALR(o, 0.1, -1), ValueError, "anneal_epochs"),
        (lambda: lrs.LRScheduler(o), NotImplementedError, None),
    ]
    for make, error, said in bad:
        with pytest.raises(error, match=said):
            make()
    scheduler = lrs.OneCycleLR(optimizer_of(), 1.0, 3)
    with pytest.raises(ValueError, match="Tried to step 4 times"):
        rates(scheduler, 5)


def test_nothing_is_kept_alive(settled: None) -> None:
    """Optimiser, state and scheduler go when the last name goes, without the collector."""
    before = weft.memory_allocated()
    p = weft.ones(100, requires_grad=True)
    optimizer = optim.Adam([p])
    scheduler = lrs.StepLR(optimizer, 1)
    p.grad = weft.ones(100)
    optimizer.step()
    scheduler.step()
    assert weft.memory_allocated() > before
    del p, optimizer, scheduler
    assert weft.memory_allocated() == before


# ---- averages -----------------------------------------------------------------------------------


def linear(value: float) -> Any:
    """A layer with one weight."""
    model = weft.nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(value)
    return model


def test_averaged_models() -> None:
    """Means, exponential means, functions of the user."""
    for options, wanted in (
        ({}, 3.0),
        ({"avg_fn": swa_utils.get_swa_avg_fn()}, 3.0),
        ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, 3.0),
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.5)}, 3.5),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.5)}, 3.5),
        ({"avg_fn": lambda average, value, count: average * 10 + value}, 135.0),
    ):
        averaged = swa_utils.AveragedModel(linear(0.0), **options)
        for value in (1.0, 3.0, 5.0):
            averaged.update_parameters(linear(value))
        assert averaged.module.weight.item() == pytest.approx(wanted)
        assert averaged.n_averaged == 3 and averaged(weft.ones(1, 1)).item() == pytest.approx(
            wanted
        )
        assert list(averaged.state_dict()) == ["n_averaged", "module.weight"]
    with pytest.raises(AssertionError, match="Only one of"):
        swa_utils.AveragedModel(linear(0.0), avg_fn=abs, multi_avg_fn=abs)
    with pytest.raises(ValueError, match="decay"):
        swa_utils.get_ema_avg_fn(1.5)


# ---- a whole run --------------------------------------------------------------------------------


def run(until: int, saved: Any = None) -> tuple[Any, list[float]]:
    """Train with noise and a schedule; return everything that is needed to go on, and the losses."""
    weft.manual_seed(3)
    w = weft.randn(4, 3).requires_grad_()
    optimizer = optim.Adam([w], lr=0.05)
    scheduler = lrs.OneCycleLR(optimizer, 0.2, 30)
    begin = 0
    if saved is not None:
        w.data.copy_(saved["w"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        weft.set_rng_state(saved["rng"])
        begin = saved["step"]
    losses = []
    for _ in range(begin, until):
        x = weft.randn(8, 4)
        mask = weft.rand(8, 4) < 0.8
        loss = ((x * mask) @ w - x[:, :3]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    state = {
        "w": w.detach(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }
    return {**state, "rng": weft.get_rng_state(), "step": until}, losses


@pytest.mark.parametrize("at", [1, 7, 19])
def test_a_run_resumes_bit_for_bit(at: int, tmp_path: Any) -> None:
    """Weights, optimiser, schedule and random numbers, through a file (D6)."""
    whole, losses = run(25)
    begun, first = run(at)
    weft.save(begun, tmp_path / "run.weft")
    ended, second = run(25, weft.load(tmp_path / "run.weft"))
    assert first + second == losses
    assert weft.equal(ended["w"], whole["w"]) and weft.equal(ended["rng"], whole["rng"])
    mine, theirs = (s["optimizer"]["state"][0] for s in (ended, whole))
    assert all(weft.equal(mine[k], theirs[k]) for k in theirs)
    assert np.all(np.isfinite(ended["w"].numpy()))
