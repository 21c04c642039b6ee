"""Schedules made of others, and the one that listens to a measure."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from .base import LRScheduler, check_optimizer, put, values, warn_epoch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..optimizer import Optimizer

__all__ = ["ChainedScheduler", "ReduceLROnPlateau", "SequentialLR"]


def _check_parts(name: str, optimizer: Optimizer, schedulers: Sequence[Any]) -> None:
    """Refuse schedulers that cannot be driven together."""
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires "
                f"additional kwargs to be specified when calling `step`, but got one at index {i} "
                "in the given schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got "
                f"scheduler {type(scheduler).__name__} at index {i} with another one"
            )


class _Parts(LRScheduler):
    """A schedule made of others, which are saved with it."""

    _schedulers: list[Any]

    def state_dict(self) -> dict[str, Any]:
        """Return the state of this scheduler and of its parts."""
        state = super().state_dict()
        state.pop("_schedulers")
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave, parts included."""
        state = dict(state_dict)
        for scheduler, part in zip(self._schedulers, state.pop("_schedulers")):
            scheduler.load_state_dict(part)
        self.__dict__.update(state)


class SequentialLR(_Parts):
    """One scheduler after another, each starting at its milestone.

    Args:
        optimizer: its groups are changed.
        schedulers: in their order.
        milestones: the epochs at which the second and later ones begin.
        last_epoch: the number of the last step, if a run is resumed.

    >>> from weft.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> parts = [ConstantLR(optimizer, factor=0.5), ExponentialLR(optimizer, gamma=0.9)]
    >>> scheduler = SequentialLR(optimizer, parts, milestones=[2])
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     print(scheduler.get_last_lr())
    [0.5]
    [1.0]
    [0.9]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        """Check the parts, undo their first steps and make that of the first one."""
        if not schedulers:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        _check_parts("SequentialLR", optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            put(group, "lr", group["initial_lr"])
        self.recursive_undo()
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take one step back in each part, and in the parts of parts."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for part in scheduler._schedulers:
                self.recursive_undo(part)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Make the step of the part whose turn it is."""
        self.last_epoch += 1
        at = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[at]
        if at > 0 and self._milestones[at - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Parts):
    """Several schedulers at once: each changes what the one before it set.

    Args:
        schedulers: in their order.
        optimizer: theirs (default: that of the first).

    >>> from weft.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> parts = [ConstantLR(optimizer, factor=0.5), ExponentialLR(optimizer, gamma=0.5)]
    >>> scheduler = ChainedScheduler(parts)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        """Check the parts."""
        if not schedulers:
            raise ValueError(
                "ChainedScheduler expects at least one scheduler to be chained, but got no "
                "scheduler."
            )
        optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        _check_parts("ChainedScheduler", optimizer, schedulers)
        self._schedulers = list(schedulers)
        self.optimizer = optimizer
        self._last_lr = values(optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Make a step of each."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values(self.optimizer)


class ReduceLROnPlateau(LRScheduler):
    """Times ``factor`` when a measure has not become better for ``patience`` epochs.

    Args:
        optimizer: its groups are changed.
        mode: whether the measure should become smaller (``"min"``) or larger (``"max"``).
        factor: what the rate is multiplied by.
        patience: epochs without progress that are allowed.
        threshold: how much better is better,
        threshold_mode: relative to the best (``"rel"``) or as a difference (``"abs"``).
        cooldown: epochs to wait after a reduction.
        min_lr: the lowest rate, or one for each group.
        eps: smaller changes of the rate are not made.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = weft.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    >>> for loss in (2.0, 1.0, 1.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        """Check and note the schedule."""
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        check_optimizer(optimizer)
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = values(optimizer)
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take in the measure of an epoch, and reduce the rate if it is time."""
        current = float(metrics)
        if epoch is not None:
            warn_epoch()
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = values(self.optimizer)

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from "
                    f"when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), and `min_lr` "
                    "was a list: there is none for the new groups"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, lowest)
            if old - new > self.eps:
                put(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Say whether a reduction was so recent that bad epochs do not count."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = 1.0 if self.mode == "max" else -1.0
        if self.threshold_mode == "abs":
            return sign * a > sign * best + self.threshold
        return sign * a > sign * best * (1.0 + sign * self.threshold)
