"""``Callback``: what can be done while a training runs."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from .metrics.names import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .trainer import Trainer

__all__ = ["HOOKS", "Callback", "Monitor"]

HOOKS = """
on_fit_begin on_epoch_begin on_batch_begin on_backward_end on_batch_end on_validation_begin
on_validation_end on_epoch_end on_fit_end on_exception
""".split()


class Callback:
    """The base of callbacks. Override the hooks that you need; each is given the trainer.

    What a hook finds there: ``trainer.model``, ``optimizer``, ``epoch`` (the first is 1),
    ``batch_index`` (batches of this epoch before this one), ``steps`` (of the optimiser, so far),
    ``batch``, ``last_loss``, ``logs`` (results of this epoch; what is added to it is shown, logged
    and kept in ``history``), ``stop()`` and ``print()``.

    Attributes:
        order: callbacks with lower numbers are called first; those with the same number in the
            order in which they were given. Logs have 50, checkpoints 100.

    >>> class Greeting(weft.train.Callback):
    ...     def on_epoch_begin(self, trainer):
    ...         print("epoch", trainer.epoch)
    >>> model = weft.nn.Linear(2, 1)
    >>> trainer = weft.train.Trainer(
    ...     model, loss="mse", callbacks=Greeting(), max_epochs=2, progress=False
    ... )
    >>> _ = trainer.fit((weft.ones(4, 2), weft.ones(4, 1)))
    epoch 1
    epoch 2
    """

    order = 0

    def reset(self) -> None:
        """Forget earlier trainings: called when one begins anew, not when one is resumed."""

    def on_fit_begin(self, trainer: Trainer) -> None:
        """Called when ``fit`` begins, after a resumed state was restored."""

    def on_epoch_begin(self, trainer: Trainer) -> None:
        """Called before the first batch of an epoch; not when its rest is resumed."""

    def on_batch_begin(self, trainer: Trainer) -> None:
        """Called before a batch; ``trainer.batch`` may be changed."""

    def on_backward_end(self, trainer: Trainer) -> None:
        """Called when gradients are complete, before the optimiser's step."""

    def on_batch_end(self, trainer: Trainer) -> None:
        """Called after a batch."""

    def on_validation_begin(self, trainer: Trainer) -> None:
        """Called before the validation of an epoch."""

    def on_validation_end(self, trainer: Trainer) -> None:
        """Called after it: ``trainer.logs`` has its results, such as ``val_loss``."""

    def on_epoch_end(self, trainer: Trainer) -> None:
        """Called when all results of an epoch are in ``trainer.logs``."""

    def on_fit_end(self, trainer: Trainer) -> None:
        """Called when ``fit`` ends without an exception."""

    def on_exception(self, trainer: Trainer) -> None:
        """Called when ``fit`` ends with an exception, before it is raised on."""

    def state_dict(self) -> dict[str, Any]:
        """Return what must be saved to go on after a stop, as data.

        >>> weft.train.Callback().state_dict()
        {}
        """
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned.

        >>> weft.train.Callback().load_state_dict({})
        """


def in_order(callbacks: Callback | Iterable[Callback]) -> list[Callback]:
    """Return callbacks in the order in which they are called."""
    given = [callbacks] if isinstance(callbacks, Callback) else list(callbacks)
    for callback in given:
        if not isinstance(callback, Callback):
            hint = (
                "" if not inspect.isclass(callback) else f": give an object, {callback.__name__}()"
            )
            raise TypeError(
                f"callbacks: a weft.train.Callback was expected, got {callback!r:.80}{hint}"
            )
        for name in dir(callback):
            if name.startswith("on_") and name not in HOOKS:
                raise TypeError(
                    f"{type(callback).__name__}.{name} is no hook: {nearest(name, HOOKS)}"
                )
    return sorted(given, key=lambda callback: callback.order)


def hooks_of(callbacks: list[Callback]) -> dict[str, list[Callable[[Any], None]]]:
    """Return what is called at each hook: only what callbacks have overridden."""
    return {
        name: [
            getattr(callback, name)
            for callback in callbacks
            if getattr(type(callback), name) is not getattr(Callback, name)
        ]
        for name in HOOKS
    }


class Monitor(Callback):
    """A callback that watches one result of each epoch.

    Args:
        monitor: its name; by default ``val_loss`` if there is validation, else ``loss``.
        mode: "min" or "max", which is better; by default as the metric says, "min" for losses.

    >>> class Best(weft.train.callback.Monitor):
    ...     def on_epoch_end(self, trainer):
    ...         print(self.value(trainer) is not None, self.better(1.0, 2.0))
    >>> trainer = weft.train.Trainer(
    ...     weft.nn.Linear(2, 1), loss="mse", callbacks=Best(), max_epochs=1, progress=False
    ... )
    >>> _ = trainer.fit((weft.ones(4, 2), weft.ones(4, 1)))
    True True
    """

    def __init__(self, monitor: str | None = None, mode: str | None = None) -> None:
        if mode not in ("min", "max", None):
            raise ValueError(
                f"{type(self).__name__}: mode must be 'min', 'max' or None, got {mode!r}"
            )
        self.monitor, self.mode = monitor, mode
        self.watched, self.sign = "", 1.0  # known when a fit begins

    def on_fit_begin(self, trainer: Trainer) -> None:
        """Find out what is watched, and which is better."""
        self.watched = self.monitor or trainer.default_monitor()
        mode = self.mode or trainer.mode_of(self.watched, f"{type(self).__name__}(monitor=...)")
        self.sign = 1.0 if mode == "min" else -1.0

    def value(self, trainer: Trainer) -> float | None:
        """Return the result of this epoch; None if it has none, since it was not validated."""
        found = trainer.logs.get(self.watched)
        if found is None:
            if self.watched.startswith("val_") and not trainer.was_validated():
                return None
            raise ValueError(
                f"{type(self).__name__}: no result {self.watched!r} to monitor: "
                f"{nearest(self.watched, trainer.logs)}"
            )
        if not isinstance(found, (int, float)):
            raise TypeError(
                f"{type(self).__name__}: {self.watched!r} is no number, it cannot be monitored"
            )
        return float(found)

    def better(self, value: float, best: float | None, by: float = 0.0) -> bool:
        """Say whether a value is better than the best so far, by more than ``by``; NaN never is."""
        if value != value:
            return False
        return best is None or self.sign * value < self.sign * best - by
