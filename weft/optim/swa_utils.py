"""Averages of models: of the last weights (SWA), or of all with fading memory (EMA)."""

from __future__ import annotations

import itertools
import math
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import weft
from weft.nn import Module

from .lr_scheduler.base import LRScheduler, check_optimizer, per_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from weft import Tensor

    from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """Return a function that moves lists of averages towards lists of values: ``e += (1 - d)(x - e)``.

    >>> from weft.optim.swa_utils import get_ema_multi_avg_fn
    >>> averages = [weft.zeros(1)]
    >>> get_ema_multi_avg_fn(0.5)(averages, [weft.ones(1)], 1)
    >>> averages
    [tensor([0.5000])]
    """
    _check_decay(decay)

    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any = None) -> None:
        with weft.no_grad():
            for e, x in zip(ema_param_list, current_param_list):
                _mix(e, x, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """Return a function that takes lists of values into lists of means of ``n`` values.

    >>> from weft.optim.swa_utils import get_swa_multi_avg_fn
    >>> means = [weft.zeros(1)]
    >>> get_swa_multi_avg_fn()(means, [weft.ones(1)], 1)
    >>> means
    [tensor([0.5000])]
    """

    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        with weft.no_grad():
            for a, x in zip(averaged_param_list, current_param_list):
                _mix(a, x, 1 / (int(num_averaged) + 1))

    return swa_update


def _mix(mean: Tensor, value: Tensor, weight: float) -> None:
    """``mean += weight (value - mean)``; integers are counted, not averaged smoothly."""
    if mean.is_floating_point() or mean.is_complex():
        mean.lerp_(value.to(mean.dtype), weight)
    else:
        mean.add_(((value - mean) * weight).to(mean.dtype))


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """Return a function of average, value and count that gives the next average.

    >>> from weft.optim.swa_utils import get_ema_avg_fn
    >>> get_ema_avg_fn(0.5)(weft.zeros(1), weft.ones(1), 1)
    tensor([0.5000])
    """
    _check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with weft.no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """Return a function of mean, value and count that gives the next mean.

    >>> from weft.optim.swa_utils import get_swa_avg_fn
    >>> get_swa_avg_fn()(weft.zeros(1), weft.ones(1), 1)
    tensor([0.5000])
    """

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with weft.no_grad():
            return averaged_param + (current_param - averaged_param) / (int(num_averaged) + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's.

    Args:
        model: it is copied.
        device: where the averages live.
        avg_fn: of average, value and count, gives the next average (default: the mean).
        multi_avg_fn: of lists of averages and values and the count, changes the averages.
        use_buffers: average the buffers too; otherwise they are copied.

    >>> model = weft.nn.Linear(1, 1, bias=False)
    >>> averaged = weft.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0):
    ...     _ = model.weight.data.fill_(value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item()
    1.5
    """

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        """Copy the model."""
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", weft.tensor(0, dtype=weft.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters into the averages."""
        mine: Iterable[Tensor] = self.module.parameters()
        theirs: Iterable[Tensor] = model.parameters()
        if self.use_buffers:
            mine = itertools.chain(mine, self.module.buffers())
            theirs = itertools.chain(theirs, model.buffers())
        averages, values = [p.detach() for p in mine], [p.detach() for p in theirs]
        if int(self.n_averaged) == 0:
            for a, x in zip(averages, values):
                a.copy_(x)
        elif self.avg_fn is not None:
            for a, x in zip(averages, values):
                a.copy_(self.avg_fn(a, x, self.n_averaged))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, values, self.n_averaged)
        if not self.use_buffers:
            for b, x in zip(self.module.buffers(), model.buffers()):
                b.detach().copy_(x.detach())
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of batch normalisation anew, by one pass over the data.

    Args:
        loader: gives batches, or tuples that begin with one.
        model: its layers of batch normalisation are changed.
        device: where batches are moved to.

    >>> model = weft.nn.Linear(1, 1)  # without such layers, nothing is done
    >>> weft.optim.swa_utils.update_bn([weft.ones(1, 1)], model)
    """
    layers = [m for m in model.modules() if any("BatchNorm" in c.__name__ for c in type(m).__mro__)]
    if not layers:
        return
    was_training = model.training
    momenta = [layer.momentum for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # a plain mean over all batches
    model.train()
    try:
        with weft.no_grad():
            for batch in loader:
                x = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(x if device is None else x.to(device))
    finally:
        for layer, momentum in zip(layers, momenta):
            layer.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """From the present rate to ``swa_lr`` within ``anneal_epochs``, and there it stays.

    Args:
        optimizer: its groups are changed.
        swa_lr: the last rate, or one for each group.
        anneal_epochs: how long the way there is.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_epoch: the number of the last step, if a run is resumed.

    >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = weft.optim.swa_utils.SWALR(optimizer, 0.0, 2, "linear")
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        """Check and note the schedule."""
        check_optimizer(optimizer)
        for group, lr in zip(optimizer.param_groups, per_group(optimizer, "swa_lr", swa_lr)):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: float) -> float:
        """Return how much of the way is done."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Any]:
        """Return the next rates, from the present ones."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        lrs = []
        for group in self.optimizer.param_groups:
            start = group["lr"]
            if before != 1:
                start = (start - before * group["swa_lr"]) / (1 - before)
            lrs.append(group["swa_lr"] * now + start * (1 - now))
        return lrs
