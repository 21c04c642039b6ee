"""What all schedulers share: counting steps, setting learning rates, saving and restoring."""

from __future__ import annotations

import functools
import types
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from weft import Tensor

from ..optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["LRScheduler"]

_EPOCH = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()`. As long as it is there, the closed form of the "
    "schedule is used where there is one."
)


def copied(value: Any) -> Any:
    """Return a number, or a tensor's copy, so that later changes do not reach it."""
    return value.clone() if isinstance(value, Tensor) else value


def values(optimizer: Optimizer, key: str = "lr") -> list[Any]:
    """Return an option of each group."""
    return [copied(group[key]) for group in optimizer.param_groups]


def put(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option of a group; a tensor keeps its identity."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value)
    else:
        group[key] = value


def per_group(optimizer: Optimizer, name: str, value: Any) -> list[Any]:
    """Return one value for each group: ``value`` is a number, or a list of them."""
    if not isinstance(value, (list, tuple)):
        return [value] * len(optimizer.param_groups)
    if len(value) != len(optimizer.param_groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(value)} values, param_groups has {len(optimizer.param_groups)}."
        )
    return list(value)


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is no optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def warn_epoch() -> None:
    """Say that ``epoch`` should not be given."""
    warnings.warn(_EPOCH, UserWarning, stacklevel=3)


class LRScheduler:
    """The base of schedulers: subclasses say in ``get_lr`` what the rates are.

    Args:
        optimizer: its groups are changed.
        last_epoch: the number of the last step, if a run is resumed; -1 to begin.

    >>> class Halving(weft.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr * 0.5**self.last_epoch for lr in self.base_lrs]
    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        """Note the rates to start from, and make the first step."""
        check_optimizer(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    "scheduler with last_epoch >= 0: load the state of the optimizer first"
                )
        self.optimizer = optimizer
        self.base_lrs = values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimiser.

        >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=0.1)
        >>> weft.optim.lr_scheduler.StepLR(optimizer, 3).state_dict()["step_size"]
        3
        """
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave; the optimiser's own state is not part of it."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Return the rates of the groups as this scheduler set them last."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Return the rate of each group for ``last_epoch``; subclasses say how."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Set the next learning rates; to be called after the optimiser's step.

        Args:
            epoch: the step to jump to (deprecated).
        """
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warn_epoch()
        self._update_lr(epoch)

    def _check_order(self) -> None:
        """Warn if the optimiser has not made a step before the scheduler's first."""
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                "`lr_scheduler.step()`.",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in "
                "the opposite order: otherwise the first value of the schedule is skipped.",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                new = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", None)
                new = self.get_lr() if closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, new):
            put(group, "lr", lr)
        self._last_lr = values(self.optimizer)

    def _warn_outside_step(self) -> None:
        """Warn if a user calls ``get_lr``."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


def _watch(optimizer: Optimizer) -> None:
    """Let the optimiser note that it has made a step."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return
    function = step.__func__ if isinstance(step, types.MethodType) else None
    if function is None:
        return  # replaced by something that is no method: nothing to watch

    self = weakref.ref(optimizer)  # a bound method would keep the optimiser alive by itself

    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        owner: Any = self()
        owner._opt_called = True
        return function(owner, *args, **kwargs)

    watched._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = watched  # type: ignore[method-assign]


def callable_state(function: Callable[..., Any]) -> dict[str, Any] | None:
    """Return what is saved of a callable: the attributes of an object, nothing of a function."""
    if isinstance(function, types.FunctionType):
        return None
    return dict(getattr(function, "__dict__", {}))


def load_callables(functions: Sequence[Any], states: Sequence[dict[str, Any] | None]) -> None:
    """Give saved attributes back to callable objects."""
    for function, state in zip(functions, states):
        if state is not None:
            function.__dict__.update(state)
