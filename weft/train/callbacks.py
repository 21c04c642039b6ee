"""Callbacks that steer a training: when it stops, its gradients, its learning rate, its time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import weft

from .callback import Callback, Monitor

if TYPE_CHECKING:
    from .trainer import Trainer

__all__ = ["EarlyStopping", "GradientClipping", "LRMonitor", "Timer"]


class EarlyStopping(Monitor):
    """Stops when a result has not become better for some epochs.

    Args:
        monitor: the result's name; by default ``val_loss`` if there is validation, else ``loss``.
        patience: how many epochs without a better result are allowed.
        min_delta: by how much it must be better.
        mode: "min" or "max"; by default as the metric says.

    >>> model = weft.nn.Linear(1, 1)
    >>> trainer = weft.train.Trainer(
    ...     model, loss="mse", lr=0.0, callbacks=weft.train.EarlyStopping(patience=2), progress=False
    ... )
    >>> len(trainer.fit((weft.ones(4, 1), weft.ones(4, 1))))
    3
    """

    def __init__(
        self,
        monitor: str | None = None,
        patience: int = 3,
        min_delta: float = 0.0,
        mode: str | None = None,
    ) -> None:
        super().__init__(monitor, mode)
        if patience < 1 or min_delta < 0:
            raise ValueError(
                "EarlyStopping: patience must be at least 1 and min_delta at least 0, got "
                f"{patience} and {min_delta}"
            )
        self.patience, self.min_delta = patience, min_delta
        self.reset()

    def reset(self) -> None:
        """Forget the best result."""
        self.best: float | None = None
        self.waited = 0

    def on_epoch_end(self, trainer: Trainer) -> None:
        """Compare, and stop if it has been long enough."""
        value = self.value(trainer)
        if value is None:
            return
        if self.better(value, self.best, self.min_delta):
            self.best, self.waited = value, 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            trainer.stop(
                f"EarlyStopping: {self.watched} has not become better for {self.waited} epochs"
            )

    def state_dict(self) -> dict[str, Any]:
        """Return the best result and for how long it has been the best."""
        return {"best": self.best, "waited": self.waited}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned."""
        self.best, self.waited = state_dict["best"], state_dict["waited"]


class LRMonitor(Callback):
    """Puts the learning rate of each epoch into the results: ``lr``, or ``lr_0``, ``lr_1`` ...

    >>> trainer = weft.train.Trainer(
    ...     weft.nn.Linear(1, 1),
    ...     loss="mse",
    ...     lr=0.5,
    ...     callbacks=weft.train.LRMonitor(),
    ...     max_epochs=1,
    ...     progress=False,
    ... )
    >>> trainer.fit((weft.ones(4, 1), weft.ones(4, 1)))[0]["lr"]
    0.5
    """

    order = -10

    def __init__(self) -> None:
        self.rates: list[float] = []

    def _read(self, trainer: Trainer) -> None:
        self.rates = [float(group["lr"]) for group in trainer.optimizer.param_groups]

    def on_epoch_begin(self, trainer: Trainer) -> None:
        """Read the rates, before a scheduler changes them at the end."""
        self._read(trainer)

    def on_batch_begin(self, trainer: Trainer) -> None:
        """Read the rates that this batch is trained with."""
        self._read(trainer)

    def on_epoch_end(self, trainer: Trainer) -> None:
        """Put the rates of the last batch into the results."""
        names = ["lr"] if len(self.rates) == 1 else [f"lr_{i}" for i in range(len(self.rates))]
        trainer.logs.update(zip(names, self.rates))

    def state_dict(self) -> dict[str, Any]:
        """Return the rates."""
        return {"rates": self.rates}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned."""
        self.rates = state_dict["rates"]


class GradientClipping(Callback):
    """Cuts gradients down before each step.

    Args:
        norm: scale all gradients together so that their norm is at most this.
        value: cut each element to ``[-value, value]``. Give one of the two.
        norm_type: the p of the norm.

    Attributes:
        last_norm: of the gradients before they were cut, as a tensor, if ``norm`` is given.

    >>> clipping = weft.train.GradientClipping(norm=0.5)
    >>> trainer = weft.train.Trainer(
    ...     weft.nn.Linear(1, 1), loss="mse", callbacks=clipping, max_epochs=1, progress=False
    ... )
    >>> _ = trainer.fit((weft.full((4, 1), 9.0), weft.zeros(4, 1)))
    >>> bool(clipping.last_norm > 0.5)
    True
    """

    def __init__(
        self, norm: float | None = None, value: float | None = None, norm_type: float = 2.0
    ) -> None:
        limit = norm if value is None else value
        if (norm is None) == (value is None) or limit is None or not limit > 0:
            raise ValueError(
                f"GradientClipping: one of norm and value must be given and be above 0, got "
                f"norm={norm}, value={value}"
            )
        self.norm, self.limit, self.norm_type = norm, limit, norm_type
        self.last_norm: Any = None

    def on_backward_end(self, trainer: Trainer) -> None:
        """Cut the gradients of the optimiser's parameters."""
        parameters = [p for group in trainer.optimizer.param_groups for p in group["params"]]
        utils = weft.nn.utils
        if self.norm is None:
            utils.clip_grad_value_(parameters, self.limit)
        else:
            self.last_norm = utils.clip_grad_norm_(parameters, self.limit, self.norm_type)


class Timer(Callback):
    """Puts the time of each epoch into the results as ``seconds``, and may set a limit.

    Args:
        limit: the training stops when it has taken this many seconds, resumed parts included.

    Attributes:
        total: seconds of training so far.

    >>> timer = weft.train.Timer()
    >>> trainer = weft.train.Trainer(
    ...     weft.nn.Linear(1, 1), loss="mse", callbacks=timer, max_epochs=1, progress=False
    ... )
    >>> row = trainer.fit((weft.ones(4, 1), weft.ones(4, 1)))[0]
    >>> 0 < row["seconds"] <= timer.total
    True
    """

    order = -10

    def __init__(self, limit: float | None = None) -> None:
        if limit is not None and not limit > 0:
            raise ValueError(f"Timer: limit must be above 0 seconds, got {limit}")
        self.limit = limit
        self.reset()

    def reset(self) -> None:
        """Begin at zero."""
        self._before, self._epoch = 0.0, 0.0  # seconds of earlier runs: all, of this epoch
        self._start = self._epoch_start = time.perf_counter()

    @property
    def total(self) -> float:
        """Seconds of training so far."""
        return self._before + time.perf_counter() - self._start

    def on_fit_begin(self, trainer: Trainer) -> None:
        """Start."""
        self._start = self._epoch_start = time.perf_counter()

    def on_epoch_begin(self, trainer: Trainer) -> None:
        """Start an epoch."""
        self._epoch, self._epoch_start = 0.0, time.perf_counter()

    def on_batch_end(self, trainer: Trainer) -> None:
        """Stop if the time is over."""
        if self.limit is not None and self.total > self.limit:
            trainer.stop(f"Timer: {self.limit} seconds are over")

    def on_epoch_end(self, trainer: Trainer) -> None:
        """Put the time of the epoch into the results."""
        trainer.logs["seconds"] = self._epoch + time.perf_counter() - self._epoch_start

    def state_dict(self) -> dict[str, Any]:
        """Return the seconds so far."""
        epoch = self._epoch + time.perf_counter() - self._epoch_start
        return {"total": self.total, "epoch": epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned."""
        self._before, self._epoch = state_dict["total"], state_dict["epoch"]
