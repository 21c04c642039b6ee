"""``Trainer``: trains, validates, tests and uses a plain module."""

from __future__ import annotations

import copy
import os
import random
from typing import TYPE_CHECKING, Any

import weft
from weft.serialization.training import TrainingState, is_stateful

from . import loop
from .batches import as_batches, length_of
from .callback import hooks_of, in_order
from .checkpoint import Checkpoint
from .metrics import named
from .metrics.names import nearest
from .nan import explaining
from .progress import Progress
from .resolve import check_covers, name_of_loss, resolve_loss, resolve_optimizer, resolve_scheduler
from .step import inputs_of, model_step, own_step, supervised_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .callback import Callback

__all__ = ["Trainer", "seed_everything"]

_BY_STEP = ("OneCycleLR", "CyclicLR")  # schedules that are meant for steps, not epochs
_LOGITS = ("binary_cross_entropy_with_logits", "BCEWithLogitsLoss")


def seed_everything(seed: int) -> None:
    """Seed the random numbers of weft, NumPy and Python.

    >>> weft.train.seed_everything(0)
    >>> first = weft.rand(1)
    >>> weft.train.seed_everything(0)
    >>> bool(weft.rand(1) == first)
    True
    """
    import numpy as np

    weft.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


class Trainer:
    """Trains a model: a plain ``nn.Module``, with nothing to inherit from.

    Args:
        model: the module; or a function without arguments that makes it, which is called after
            the seed is set.
        loss: a function of output and target, such as ``nn.CrossEntropyLoss()``, or its name:
            "cross_entropy", "mse", "mae", "bce_with_logits", "nll", "huber" and others. Without it
            the model returns a dict with its own "loss".
        optimizer: one; or its name, its class, or a function that makes it of parameters.
        lr: the learning rate, for an optimiser that is made here.
        metrics: a name, a metric, a list of these, or a dict: "accuracy", "top5", "f1",
            "f1_micro", "precision", "recall", "auc", "mse", "r2", "perplexity" and others.
        scheduler: one, or a function that makes it of the optimiser.
        scheduler_interval: when it takes a step, "epoch" or "step"; by default "step" for
            OneCycleLR and CyclicLR, else "epoch".
        monitor: the result that ``ReduceLROnPlateau`` is given; by default ``val_loss`` if there is
            validation, else ``loss``.
        callbacks: one or several.
        max_epochs: how many epochs a training has.
        max_steps: a training also ends after this many steps of the optimiser.
        accumulate: gradients of this many batches make one step, as those of one large batch. What
            depends on the batch as a whole, such as batch norm, still sees the small ones.
        validate_every: validate after each so many epochs, and after the last.
        step: ``step(model, batch)`` returns the loss, or a dict with "loss", with "output" and
            "target" if there are metrics, and with other numbers to be shown as means.
        batch_size: for data that are given as tensors.
        seed: of the random numbers of weft, NumPy and Python, set when a training begins.
        deterministic: needs a seed; also computes the first batch twice and raises if the bits
            differ. Two runs of the same program are then equal bit for bit.
        progress: show a bar on a terminal, or a line for each epoch elsewhere.
        nan: "explain" checks all gradients as well as the loss, and names the op and line that made
            the first NaN or infinity: see ``weft.debug.nan_origin``.

    Batches are ``(input, target)``, ``(input, ..., target)`` or dicts with a "target" or "label";
    everything else needs ``step``. Losses are means over samples: the results of an epoch weigh
    each batch by its size.

    Attributes:
        history: a dict of results for each epoch.

    >>> x = weft.rand(64, 3)
    >>> trainer = weft.train.Trainer(
    ...     weft.nn.Linear(3, 1), loss="mse", lr=0.1, metrics="r2", max_epochs=20, progress=False
    ... )
    >>> history = trainer.fit((x, x.sum(1, keepdim=True)))
    >>> history[-1]["loss"] < history[0]["loss"]
    True
    """

    def __init__(
        self,
        model: Any,
        *,
        loss: Any = None,
        optimizer: Any = "adam",
        lr: float | None = None,
        metrics: Any = None,
        scheduler: Any = None,
        scheduler_interval: str | None = None,
        monitor: str | None = None,
        callbacks: Callback | Iterable[Callback] = (),
        max_epochs: int = 10,
        max_steps: int | None = None,
        accumulate: int = 1,
        validate_every: int = 1,
        step: Callable[[Any, Any], Any] | None = None,
        batch_size: int = 32,
        seed: int | None = None,
        deterministic: bool = False,
        progress: bool = True,
        nan: str | None = None,
    ) -> None:
        _check_counts(
            max_epochs=max_epochs,
            max_steps=max_steps,
            accumulate=accumulate,
            validate_every=validate_every,
            batch_size=batch_size,
        )
        if deterministic and seed is None:
            raise ValueError("Trainer(deterministic=True) needs a seed, as in Trainer(seed=0, ...)")
        if step is not None and loss is not None:
            raise ValueError("Trainer: give loss or step, not both: step returns the loss itself")
        if nan not in (None, "explain"):
            raise ValueError(f"Trainer: nan must be None or 'explain', got {nan!r}")
        self.nan = nan
        self.seed, self.deterministic = seed, deterministic
        self.seeded()
        self.model = _module(model)
        self.loss = resolve_loss(loss)
        if step is not None:
            self._step = own_step(step)
        else:
            self._step = own_step(model_step) if self.loss is None else supervised_step(self.loss)
        self.loss_is_sum = getattr(self.loss, "reduction", "mean") == "sum"
        self.optimizer = resolve_optimizer(optimizer, self.model, lr)
        check_covers(self.optimizer, self.model)
        self.by_closure = isinstance(self.optimizer, weft.optim.LBFGS)
        if self.by_closure and accumulate > 1:
            raise NotImplementedError(
                f"Trainer(accumulate={accumulate}) with {type(self.optimizer).__name__}, which "
                "evaluates each batch several times: give larger batches instead"
            )
        self.scheduler = resolve_scheduler(scheduler, self.optimizer)
        self.scheduler_interval = self._interval(scheduler_interval)
        threshold = 0.0 if self.loss is not None and name_of_loss(self.loss) in _LOGITS else None
        self.metrics = named(metrics, threshold)
        self.validation_metrics = copy.deepcopy(self.metrics)
        self.callbacks = in_order(callbacks)
        self.hooks = hooks_of(self.callbacks)
        self.monitor = monitor
        self.max_epochs, self.max_steps = max_epochs, max_steps
        self.accumulate, self.validate_every = accumulate, validate_every
        self.batch_size = batch_size
        self.progress = Progress(progress)
        self.train_data: Any = None
        self.validation_data: Any = None
        self.check_repeats = False
        self.batch: Any = None
        self.running = loop.Running(self.metrics)
        self._begin()

    def _begin(self) -> None:
        """Put all counters at the beginning of a training."""
        self.epoch, self.batch_index, self.steps = 0, 0, 0
        self.complete, self.resumed = True, False  # whether the epoch is, and the training was
        self.stopped: str | None = None  # why
        self.pending, self.pending_weight, self.first_size = 0, 0.0, 1  # of accumulated batches
        self.epoch_random: Any = None
        self.last_loss = float("nan")
        self.logs: dict[str, Any] = {}
        self.history: list[dict[str, Any]] = []
        self.running.reset()

    def seeded(self) -> None:
        """Set the seed of all random numbers, if there is one."""
        if self.seed is not None:
            seed_everything(self.seed)

    # ---- what a user calls ----------------------------------------------------------------------

    def fit(
        self, train: Any, validation: Any = None, *, resume: str | os.PathLike[str] | None = None
    ) -> list[dict[str, Any]]:
        """Train, and return the results of each epoch.

        Args:
            train: batches (a loader, a list, any iterable that can be gone through again), or a
                tuple of tensors (inputs, targets), which are shuffled.
            validation: the same, without shuffling.
            resume: "last" goes on from the last state that a ``Checkpoint`` has saved, or begins
                if there is none; "best" from the best one; a path from that file.

        A resumed training gives the same bits as one that was never stopped, if the batches can
        save their position (``state_dict``, ``load_state_dict``) or come in the same order when
        they are gone through again from the same random states.

        >>> trainer = weft.train.Trainer(
        ...     weft.nn.Linear(2, 2), loss="cross_entropy", max_epochs=1, progress=False
        ... )
        >>> data = weft.ones(8, 2), weft.zeros(8, dtype=weft.long)
        >>> list(trainer.fit(data, validation=data)[0])
        ['epoch', 'loss', 'val_loss']
        """
        self._begin()
        self.seeded()
        self.train_data = as_batches(train, self.batch_size, True, "train")
        self.validation_data = None
        if validation is not None:
            self.validation_data = as_batches(validation, self.batch_size, False, "validation")
        for callback in self.callbacks:
            callback.reset()
        path = self._file(resume, "resume")
        if path is not None and (resume != "last" or os.path.exists(path)):
            self.load(path)
            self.print(f"{path}: {self._resumed_text()}")
        self.check_repeats = self.deterministic and not self.resumed
        try:
            with explaining(self):
                loop.fit(self)
        except BaseException:
            loop.call(self, "on_exception")
            raise
        finally:
            self.progress.close()
            self.batch = None
        from weft.view.html import History

        return History(self.history)

    def validate(self, data: Any) -> dict[str, Any]:
        """Return loss and metrics for data, without training.

        Args:
            data: batches, or a tuple of tensors (inputs, targets).

        >>> model = weft.nn.Linear(2, 1)
        >>> trainer = weft.train.Trainer(model, loss="mse", metrics="mae", progress=False)
        >>> list(trainer.validate((weft.ones(4, 2), weft.ones(4, 1))))
        ['loss', 'mae']
        """
        return self._evaluate(data, "validate")

    def test(self, data: Any) -> dict[str, Any]:
        """Return loss and metrics for data that were not seen before: as ``validate``.

        Args:
            data: batches, or a tuple of tensors (inputs, targets).

        >>> model = weft.nn.Linear(2, 1)
        >>> trainer = weft.train.Trainer(model, loss="mse", progress=False)
        >>> list(trainer.test((weft.ones(4, 2), weft.ones(4, 1))))
        ['loss']
        """
        return self._evaluate(data, "test")

    def predict(self, data: Any) -> Any:
        """Return the model's outputs for data.

        Args:
            data: a tensor of inputs, or batches; of batches ``(input, target)`` the target is left
                out.

        Returns:
            One tensor for all batches, if the model gives tensors, else a list of its outputs.

        >>> trainer = weft.train.Trainer(weft.nn.Linear(2, 3), loss="mse", progress=False)
        >>> trainer.predict(weft.ones(100, 2)).shape
        torch.Size([100, 3])
        """
        batches = as_batches(data, self.batch_size, False, "predict")
        outputs: list[Any] = []

        def use(batch: Any) -> None:
            args, kwargs = inputs_of(batch)
            outputs.append(self.model(*args, **kwargs))

        self.progress.begin("predict", length_of(batches), 0, 0)
        try:
            loop.each_batch(self, batches, "predict", use)
        finally:
            self.progress.close()
        if all(isinstance(x, weft.Tensor) and x.dim() for x in outputs):
            return weft.cat(outputs)
        return outputs

    def _evaluate(self, data: Any, what: str) -> dict[str, Any]:
        batches = as_batches(data, self.batch_size, False, what)
        self.progress.begin(what, length_of(batches), 0, 0)
        try:
            results = loop.evaluate(self, batches, what, copy.deepcopy(self.metrics))
            self.progress.end(results)
        finally:
            self.progress.close()
        return results

    def _resumed_text(self) -> str:
        """Return where a resumed training goes on."""
        if not self.complete:
            return f"going on in epoch {self.epoch}, after {self.batch_index} batches"
        if self.stopped is not None or self.epoch >= self.max_epochs:
            return f"the training is complete, with {self.epoch} epochs"
        return f"going on after epoch {self.epoch} of {self.max_epochs}"

    # ---- states ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save all that the training needs to go on; a ``Checkpoint`` does this by itself.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "run.weft")
        >>> trainer = weft.train.Trainer(
        ...     weft.nn.Linear(1, 1), loss="mse", max_epochs=1, progress=False
        ... )
        >>> _ = trainer.fit((weft.ones(4, 1), weft.ones(4, 1)))
        >>> trainer.save(path)
        >>> weft.load(path)["position"]["epoch"]
        1
        """
        if not self.pending:
            self.optimizer.zero_grad()  # the next batch would: gradients need not be in the file
        self._state().save(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Take back all that ``save`` has saved. ``fit(resume=path)`` does this by itself.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "run.weft")
        >>> trainer = weft.train.Trainer(weft.nn.Linear(1, 1), loss="mse", progress=False)
        >>> trainer.save(path)
        >>> trainer.load(path)
        >>> trainer.resumed
        True
        """
        if not os.path.exists(path):
            raise FileNotFoundError(f"Trainer: no file {os.fspath(path)!r} to resume from")
        self._state().resume(path)
        self.logs = self.history[-1] if self.history and self.complete else {}
        self.resumed = True

    def load_weights(self, which: str | os.PathLike[str] = "best") -> None:
        """Take the model's weights from a saved state, and nothing else of it.

        Args:
            which: "best" or "last" of a ``Checkpoint``, or the path of a file.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "run.weft")
        >>> trainer = weft.train.Trainer(weft.nn.Linear(1, 1), loss="mse", progress=False)
        >>> trainer.save(path)
        >>> trainer.load_weights(path)
        """
        path = self._file(which, "load_weights")
        assert path is not None
        self.model.load_state_dict(weft.load(path)["model"]["state_dict"])

    def _file(self, which: str | os.PathLike[str] | None, what: str) -> str | None:
        """Return the path of a saved state that was asked for."""
        if which not in ("last", "best"):
            return None if which is None else os.fspath(which)
        checkpoints = [c for c in self.callbacks if isinstance(c, Checkpoint)]
        if len(checkpoints) != 1:
            raise ValueError(
                f"{what}={which!r} needs one Checkpoint among the callbacks, got {len(checkpoints)}"
            )
        checkpoint = checkpoints[0]
        if which == "last":
            return str(checkpoint.last_path)
        if checkpoint.best_path is None and checkpoint.last_path.exists():
            saved = weft.load(checkpoint.last_path)["callbacks"]
            checkpoint.load_state_dict(saved[self._callback_names()[checkpoint]])
        if checkpoint.best_path is None:
            raise FileNotFoundError(f"{what}='best': {checkpoint!r} has saved no epoch yet")
        return str(checkpoint.best_path)

    def _callback_names(self) -> dict[Callback, str]:
        return {c: f"{i} {type(c).__name__}" for i, c in enumerate(self.callbacks)}

    def _state(self) -> TrainingState:
        members: dict[str, Any] = {
            "position": _Position(self),  # first: it refuses a file of another training
            "model": self.model,
            "optimizer": self.optimizer,
            "running": self.running,
            "callbacks": {name: c for c, name in self._callback_names().items()},
        }
        optional = {
            "scheduler": self.scheduler,
            "loss": self.loss if isinstance(self.loss, weft.nn.Module) else None,
            "train_data": self.train_data if is_stateful(self.train_data) else None,
            "validation_data": self.validation_data if is_stateful(self.validation_data) else None,
        }
        members.update({name: x for name, x in optional.items() if x is not None})
        return TrainingState(**members)

    # ---- what loops and callbacks use -----------------------------------------------------------

    def stop(self, why: str = "stopped") -> None:
        """End the training after this batch; its epoch is validated and closed.

        >>> class Once(weft.train.Callback):
        ...     def on_batch_end(self, trainer):
        ...         trainer.stop()
        >>> trainer = weft.train.Trainer(
        ...     weft.nn.Linear(1, 1), loss="mse", callbacks=Once(), progress=False
        ... )
        >>> _ = trainer.fit((weft.ones(99, 1), weft.ones(99, 1)))
        >>> trainer.steps
        1
        """
        self.stopped = why

    def print(self, text: str) -> None:
        """Print a line without disturbing the bar; nothing if ``progress`` is False.

        >>> weft.train.Trainer(weft.nn.Linear(1, 1), loss="mse").print("hello")
        hello
        """
        if self.progress.shown:
            self.progress.print(text)

    def place(self) -> str:
        """Return where the training is, for messages.

        >>> weft.train.Trainer(weft.nn.Linear(1, 1), loss="mse").place()
        'epoch 0, batch 0'
        """
        return f"epoch {self.epoch}, batch {self.batch_index}"

    def begin_epoch(self) -> None:
        """Count an epoch, and forget the results of the one before."""
        self.epoch, self.batch_index, self.complete = self.epoch + 1, 0, False
        self.logs = {"epoch": self.epoch}
        self.running.reset()

    def end_epoch(self) -> None:
        """Close an epoch whose results are there: the scheduler takes its step."""
        self.complete, self.batch_index = True, 0
        self.running.reset()
        if self.scheduler is None or self.scheduler_interval == "step":
            return
        if not isinstance(self.scheduler, weft.optim.lr_scheduler.ReduceLROnPlateau):
            self.scheduler.step()
            return
        name = self.monitor or self.default_monitor()
        if name in self.logs:
            self.scheduler.step(self.logs[name])
        elif self.was_validated() or not name.startswith("val_"):
            raise ValueError(
                f"ReduceLROnPlateau: no result {name!r} to monitor: {nearest(name, self.logs)}"
            )

    def was_validated(self) -> bool:
        """Say whether this epoch is one that is validated."""
        due = self.epoch % self.validate_every == 0 or self.epoch == self.max_epochs
        return self.validation_data is not None and due

    def default_monitor(self) -> str:
        """Return the result that tells how good an epoch was, unless another one is named."""
        return "loss" if self.validation_data is None else "val_loss"

    def mode_of(self, name: str, who: str) -> str:
        """Return whether less or more of a result is better: "min" or "max".

        >>> trainer = weft.train.Trainer(weft.nn.Linear(1, 1), loss="mse", metrics="r2")
        >>> trainer.mode_of("val_r2", "me")
        'max'
        """
        base = name.removeprefix("val_")
        if base in self.metrics:
            return "max" if self.metrics[base].higher_is_better else "min"
        if base.endswith("loss"):
            return "min"
        raise ValueError(
            f"{who}: is less or more of {name!r} better? Give mode='min' or mode='max'. Known "
            f"without it: {nearest(name, ['loss', 'val_loss', *self.metrics])}"
        )

    def _interval(self, asked: str | None) -> str:
        if asked not in ("epoch", "step", None):
            raise ValueError(f"scheduler_interval must be 'epoch' or 'step', got {asked!r}")
        by_step = type(self.scheduler).__name__ in _BY_STEP
        plateau = isinstance(self.scheduler, weft.optim.lr_scheduler.ReduceLROnPlateau)
        if plateau and asked == "step":
            raise ValueError("ReduceLROnPlateau needs results: scheduler_interval must be 'epoch'")
        return asked or ("step" if by_step else "epoch")

    def _repr_html_(self) -> str:
        from html import escape

        from weft.view.html import History

        return f"<b>{escape(repr(self))}</b>" + History(self.history)._repr_html_()

    def __repr__(self) -> str:
        """Return model, optimiser and epochs."""
        return (
            f"Trainer({type(self.model).__name__}, {type(self.optimizer).__name__}, "
            f"epoch {self.epoch} of {self.max_epochs})"
        )


class _Position:
    """Where a trainer is, as the part of its state that is data."""

    NAMES = (
        *("epoch", "batch_index", "steps", "complete", "stopped", "epoch_random", "history"),
        *("pending", "pending_weight", "first_size", "last_loss"),
    )

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer

    def state_dict(self) -> dict[str, Any]:
        """Return all counters, and the results so far."""
        return {name: getattr(self.trainer, name) for name in self.NAMES} | {"made": self._made()}

    def _made(self) -> dict[str, str]:
        """Classes whose states fit no others, though they could be read."""
        parts = {"optimizer": self.trainer.optimizer, "scheduler": self.trainer.scheduler}
        return {name: type(part).__name__ for name, part in parts.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned."""
        for name, own in self._made().items():
            if state_dict["made"][name] != own:
                raise ValueError(
                    f"the {name} of the saved training is {state_dict['made'][name]}, that of this "
                    f"one {own}; load_weights() takes the weights alone"
                )
        for name in self.NAMES:
            setattr(self.trainer, name, state_dict[name])


def _check_counts(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 1):
            raise ValueError(f"Trainer: {name} must be an integer of at least 1, got {count!r}")


def _module(model: Any) -> Any:
    made = model if isinstance(model, weft.nn.Module) or not callable(model) else model()
    if not isinstance(made, weft.nn.Module):
        raise TypeError(f"Trainer: the model must be an nn.Module, got {type(made).__name__}")
    return made
