"""Schedules that go up and down."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .base import (
    LRScheduler,
    callable_state,
    check_optimizer,
    load_callables,
    per_group,
    put,
    values,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..optimizer import Optimizer

__all__ = ["CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR"]


def _uses_beta1(optimizer: Optimizer) -> bool:
    """Say whether the momentum of an optimiser is ``betas[0]``; refuse those without momentum."""
    defaults = optimizer.defaults
    if "momentum" not in defaults and "betas" not in defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
        )
    return "betas" in defaults


def _set_momentum(group: dict[str, Any], use_beta1: bool, momentum: float) -> None:
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class CosineAnnealingWarmRestarts(LRScheduler):
    """Along half a cosine down to ``eta_min``, then at once up again, each time for longer.

    Args:
        optimizer: its groups are changed.
        T_0: length of the first run.
        T_mult: how much longer each run is than the last.
        eta_min: the lowest rate.
        last_epoch: the number of the last step, if a run is resumed.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = weft.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        """Check and note the schedule."""
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rates for ``T_cur``."""
        self._warn_outside_step()
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the next learning rates, or those of ``epoch``, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            new = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, new):
            put(group, "lr", lr)
        self._last_lr = values(self.optimizer)


class CyclicLR(LRScheduler):
    """Up from ``base_lr`` to ``max_lr`` and down again, over and over (Smith, 2017).

    Args:
        optimizer: its groups are changed.
        base_lr: the lowest rate, or one for each group.
        max_lr: the highest rate, or one for each group.
        step_size_up: steps on the way up.
        step_size_down: steps on the way down (default: as many).
        mode: ``"triangular"``; ``"triangular2"`` halves the height in each cycle, ``"exp_range"``
            multiplies it by ``gamma ** step``.
        gamma: for ``"exp_range"``.
        scale_fn: the height as a function, instead of ``mode``.
        scale_mode: whether ``scale_fn`` is given the number of the ``"cycle"`` or of the step,
            ``"iterations"``.
        cycle_momentum: let the momentum go the other way.
        base_momentum, max_momentum: its bounds.
        last_epoch: the number of the last step, if a run is resumed.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = weft.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        """Check and note the schedule."""
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group(optimizer, "base_lr", base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                put(group, "lr", lr)
        self.max_lrs = per_group(optimizer, "max_lr", max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        by_step = mode == "exp_range" and scale_fn is None
        self.scale_mode = "iterations" if by_step else ("cycle" if scale_fn is None else scale_mode)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_beta1(optimizer)
            self.base_momentums = per_group(optimizer, "base_momentum", base_momentum)
            self.max_momentums = per_group(optimizer, "max_momentum", max_momentum)
            if last_epoch == -1:
                pairs = zip(self.max_momentums, self.base_momentums, optimizer.param_groups)
                for high, low, group in pairs:
                    _set_momentum(group, self.use_beta1, high)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the height of a cycle, 1 at first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Any]:
        """Return the rates for ``last_epoch``, and set the momenta."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        share *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            pairs = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums)
            for group, low, high in pairs:
                _set_momentum(group, self.use_beta1, high - (high - low) * share)
        return [low + (high - low) * share for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimiser; of ``scale_fn`` only the attributes of an object."""
        state = super().state_dict()
        custom = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if custom is None else callable_state(custom)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave; ``scale_fn`` stays as it is."""
        state = dict(state_dict)
        load_callables([self._scale_fn_custom], [state.pop("_scale_fn_custom")])
        self.__dict__.update(state)


class OneCycleLR(LRScheduler):
    """Up to ``max_lr`` and then far down, once (Smith and Topin, 2018).

    Args:
        optimizer: its groups are changed.
        max_lr: the highest rate, or one for each group.
        total_steps: length of the cycle, or
        epochs, steps_per_epoch: which give it.
        pct_start: share of the cycle on the way up.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum: let the momentum go the other way.
        base_momentum, max_momentum: its bounds.
        div_factor: the first rate is ``max_lr / div_factor``.
        final_div_factor: the last rate is the first divided by this.
        three_phase: down to the first rate symmetrically, then to the last.
        last_epoch: the number of the last step, if a run is resumed.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = weft.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, 11, anneal_strategy="linear")
    >>> [round(lr, 4) for lr in scheduler.get_last_lr()]
    [0.04]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        """Check and note the schedule."""
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        max_lrs = per_group(optimizer, "max_lr", max_lr)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, max_lrs):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_beta1(optimizer)
            highs = per_group(optimizer, "max_momentum", max_momentum)
            lows = per_group(optimizer, "base_momentum", base_momentum)
            if last_epoch == -1:
                for high, low, group in zip(highs, lows, optimizer.param_groups):
                    _set_momentum(group, self.use_beta1, high)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)

    def _between(self, start: Any, end: Any, share: float) -> Any:
        """Return the value at a share of the way."""
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (1 + math.cos(math.pi * share))
        return (end - start) * share + start

    def get_lr(self) -> list[Any]:
        """Return the rates for ``last_epoch``, and set the momenta."""
        self._warn_outside_step()
        at = self.last_epoch
        if at > self.total_steps:
            raise ValueError(
                f"Tried to step {at} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        lrs = []
        for group in self.optimizer.param_groups:
            start = 0.0
            for i, phase in enumerate(self._schedule_phases):
                if at <= phase["end_step"] or i == len(self._schedule_phases) - 1:
                    break
                start = phase["end_step"]
            share = (at - start) / (phase["end_step"] - start)
            lrs.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                low, high = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _set_momentum(group, self.use_beta1, self._between(low, high, share))
        return lrs


def _total_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    """Return the length of the cycle, from either way to say it."""
    if total_steps is not None:
        _check_positive("total_steps", total_steps)
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    _check_positive("epochs", epochs)
    _check_positive("steps_per_epoch", steps_per_epoch)
    return epochs * steps_per_epoch


def _check_positive(name: str, value: Any) -> None:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")


def _phases(total: int, pct_start: float, three: bool) -> list[dict[str, Any]]:
    """Return the phases: where each ends, and what it goes from and to."""

    def phase(end: float, start_lr: str, end_lr: str, up: bool) -> dict[str, Any]:
        momenta = ("max_momentum", "base_momentum")
        return {
            "end_step": end,
            "start_lr": start_lr,
            "end_lr": end_lr,
            "start_momentum": momenta[0 if up else 1],
            "end_momentum": momenta[1 if up else 0],
        }

    top = float(pct_start * total) - 1
    first = phase(top, "initial_lr", "max_lr", True)
    if not three:
        return [first, phase(total - 1, "max_lr", "min_lr", False)]
    last = phase(total - 1, "initial_lr", "min_lr", False)
    last["start_momentum"] = last["end_momentum"] = "max_momentum"
    return [first, phase(float(2 * pct_start * total) - 2, "max_lr", "initial_lr", False), last]
