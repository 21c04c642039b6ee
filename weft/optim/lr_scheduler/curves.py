"""Schedules that go one way: by steps, along a line, a power or a half wave."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Any

from .base import LRScheduler, callable_state, load_callables, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..optimizer import Optimizer

__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "StepLR",
]


class _ByFunction(LRScheduler):
    """A schedule that the user gives as one function, or as one for each group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != groups:
                raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * groups
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimiser; of the functions only the attributes of objects."""
        state = super().state_dict()
        state.pop("lr_lambdas")
        state["lr_lambdas"] = [callable_state(f) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave; functions stay as they are."""
        state = dict(state_dict)
        load_callables(self.lr_lambdas, state.pop("lr_lambdas"))
        self.__dict__.update(state)


class LambdaLR(_ByFunction):
    """The first rate times a function of the epoch.

    Args:
        optimizer: its groups are changed.
        lr_lambda: the function, or one for each group.
        last_epoch: the number of the last step, if a run is resumed.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = weft.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Any]:
        """Return the rates for ``last_epoch``."""
        self._warn_outside_step()
        return [lr * f(self.last_epoch) for lr, f in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(_ByFunction):
    """The last rate times a function of the epoch.

    Args:
        optimizer: its groups are changed.
        lr_lambda: the function, or one for each group.
        last_epoch: the number of the last step, if a run is resumed.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = weft.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Any]:
        """Return the rates for ``last_epoch``."""
        self._warn_outside_step()
        lrs = values(self.optimizer)
        if self._is_initial:
            return lrs
        return [lr * f(self.last_epoch) for lr, f in zip(lrs, self.lr_lambdas)]


class _ByFactor(LRScheduler):
    """A schedule that multiplies the rate by ``_factor()`` in each step."""

    def _factor(self) -> float:
        raise NotImplementedError

    def _closed_factor(self) -> float:
        """What the first rate is multiplied by at ``last_epoch``."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        """Return the rates for ``last_epoch``."""
        self._warn_outside_step()
        factor = self._factor()
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self._closed_factor()
        return [lr * factor for lr in self.base_lrs]


class StepLR(_ByFactor):
    """Times ``gamma`` every ``step_size`` epochs.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = weft.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        """Note the schedule."""
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        at = self.last_epoch
        return self.gamma if at != 0 and at % self.step_size == 0 else 1.0

    def _closed_factor(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_ByFactor):
    """Times ``gamma`` at each of the ``milestones``.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = weft.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 5], gamma=0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        """Note the schedule."""
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma ** self.milestones.get(self.last_epoch, 0)

    def _closed_factor(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(_ByFactor):
    """Times ``factor`` for ``total_iters`` epochs, then the full rate.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = weft.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=4)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        """Check and note the schedule."""
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1.0

    def _closed_factor(self) -> float:
        return self.factor if self.last_epoch < self.total_iters else 1.0


class LinearLR(_ByFactor):
    """From ``start_factor`` to ``end_factor`` times the rate, in ``total_iters`` equal steps.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = weft.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        """Check and note the schedule."""
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        at, slope = self.last_epoch, self.end_factor - self.start_factor
        if at == 0:
            return self.start_factor
        if self._is_initial or at > self.total_iters:
            return 1.0
        return 1.0 + slope / (self.total_iters * self.start_factor + (at - 1) * slope)

    def _closed_factor(self) -> float:
        at = min(self.total_iters, self.last_epoch)
        return self.start_factor + (self.end_factor - self.start_factor) * at / self.total_iters


class ExponentialLR(_ByFactor):
    """Times ``gamma`` in every epoch.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = weft.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        """Note the schedule."""
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1.0 if self._is_initial else self.gamma

    def _closed_factor(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(_ByFactor):
    """Times ``(1 - epoch / total_iters) ** power``, down to zero.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = weft.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        """Note the schedule."""
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        at, end = self.last_epoch, self.total_iters
        if self._is_initial or at > end:
            return 1.0
        return ((1.0 - at / end) / (1.0 - (at - 1) / end)) ** self.power

    def _closed_factor(self) -> float:
        at = min(self.total_iters, self.last_epoch)
        return (1.0 - at / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Along half a cosine from the rate to ``eta_min`` in ``T_max`` epochs, and back.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = weft.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        """Note the schedule."""
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rates for ``last_epoch``, from those of the epoch before."""
        self._warn_outside_step()
        lrs, low, at, end = values(self.optimizer), self.eta_min, self.last_epoch, self.T_max
        if self._is_initial:
            return lrs
        if (at - 1 - end) % (2 * end) == 0:  # from the lowest point upwards
            rise = (1 - math.cos(math.pi / end)) / 2
            return [lr + (base - low) * rise for base, lr in zip(self.base_lrs, lrs)]
        now = 1 + math.cos(math.pi * at / end)
        before = 1 + math.cos(math.pi * (at - 1) / end)
        return [now / before * (lr - low) + low for lr in lrs]

    def _get_closed_form_lr(self) -> list[Any]:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]
