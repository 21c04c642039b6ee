"""The loops: epochs, batches, evaluation."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import weft
from weft.random import all_states, set_all_states
from weft.serialization.training import is_stateful

from . import batches as batches_
from .metrics.base import Mean, finished, is_number, tell
from .nan import explain_loss, refuse_explained
from .step import BatchError, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .metrics import Metric
    from .trainer import Trainer

__all__ = ["Running", "evaluate", "fit"]


class Running:
    """Results of an epoch while it runs: the mean loss, metrics, and what a step returns besides.

    >>> from weft.train.loop import Running
    >>> running = Running({})
    >>> running.add_loss(2.0, 4)
    >>> running.results()
    {'loss': 2.0}
    """

    def __init__(self, metrics: dict[str, Metric]) -> None:
        self.metrics = metrics
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self.total, self.weight = 0.0, 0.0
        self.extra: dict[str, Mean] = {}
        for metric in self.metrics.values():
            metric.reset()

    def add_loss(self, loss: float, size: int) -> None:
        """Add the mean loss of ``size`` samples."""
        self.total += loss * size
        self.weight += size

    def add_rest(self, result: Result) -> None:
        """Add an output to the metrics, and what the step returned besides."""
        if self.metrics:
            if result.output is None or result.target is None:
                raise BatchError(
                    f"metrics ({', '.join(self.metrics)}) need an output and a target: step must "
                    "return a dict with 'loss', 'output' and 'target'"
                )
            output = result.output
            output = output.detach() if isinstance(output, weft.Tensor) else output
            with weft.no_grad():
                for metric in self.metrics.values():
                    metric.update(output, result.target)
        for name, value in result.extra.items():
            if not is_number(value):
                raise BatchError(
                    f"step: {name!r} must be one number, got one {tell(value)}: the dict is for the "
                    "'loss', 'output', 'target' and numbers to show"
                )
            self.extra.setdefault(name, Mean()).update(value, result.size)

    def results(self, live: bool = False) -> dict[str, Any]:
        """Return all results; with ``live`` those that are cheap to compute."""
        found: dict[str, Any] = {"loss": self.total / self.weight} if self.weight else {}
        for name, metric in self.metrics.items():
            if metric.live or not live:
                found[name] = finished(metric.compute())
        found.update({name: mean.compute() for name, mean in self.extra.items()})
        return found

    def state_dict(self) -> dict[str, Any]:
        """Return all that was gathered."""
        return {
            "total": self.total,
            "weight": self.weight,
            "extra": {name: mean.state_dict() for name, mean in self.extra.items()},
            "metrics": {name: metric.state_dict() for name, metric in self.metrics.items()},
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned."""
        saved = state_dict["metrics"]
        if list(saved) != list(self.metrics):
            raise TypeError(f"metrics {list(saved)} and {list(self.metrics)}")
        self.reset()
        self.total, self.weight = state_dict["total"], state_dict["weight"]
        for name, metric in self.metrics.items():
            metric.load_state_dict(saved[name])
        for name, state in state_dict["extra"].items():
            self.extra[name] = Mean()
            self.extra[name].load_state_dict(state)


# ---- training -----------------------------------------------------------------------------------


def fit(trainer: Trainer) -> None:
    """Train until all epochs are done or something stops it."""
    call(trainer, "on_fit_begin")
    while trainer.stopped is None and (not trainer.complete or trainer.epoch < trainer.max_epochs):
        _epoch(trainer)
        if trainer.max_steps is not None and trainer.steps >= trainer.max_steps:
            break
    call(trainer, "on_fit_end")
    if trainer.stopped:
        trainer.print(trainer.stopped)


def call(trainer: Trainer, hook: str) -> None:
    """Call a hook of all callbacks that have it."""
    for function in trainer.hooks[hook]:
        function(trainer)


def _epoch(trainer: Trainer) -> None:
    data, resumed = trainer.train_data, not trainer.complete
    if resumed:
        iterator = batches_.after(data, trainer.batch_index, trainer.epoch_random, "train")
    else:
        trainer.begin_epoch()
        trainer.model.train()
        call(trainer, "on_epoch_begin")
        keep = bool(trainer.callbacks) and not is_stateful(data)  # to go through it again
        trainer.epoch_random = all_states() if keep else None
        iterator = iter(data)
    width = len(str(trainer.max_epochs))
    text = f"epoch {trainer.epoch:>{width}}/{trainer.max_epochs}"
    left = trainer.max_epochs - trainer.epoch
    trainer.progress.begin(text, batches_.length_of(data), trainer.batch_index, left)
    _train(trainer, iterator)
    if not trainer.running.weight:
        again = " again: an iterator gives its batches only once" if trainer.epoch > 1 else ""
        raise ValueError(f"train: the {type(data).__name__} has no batches{again}")
    trainer.logs = {"epoch": trainer.epoch, **trainer.running.results()}
    trainer.history.append(trainer.logs)
    if trainer.was_validated():
        call(trainer, "on_validation_begin")
        trainer.progress.note("validation", trainer.logs)
        results = evaluate(
            trainer, trainer.validation_data, "validation", trainer.validation_metrics
        )
        trainer.logs.update({f"val_{name}": value for name, value in results.items()})
        call(trainer, "on_validation_end")
    trainer.end_epoch()
    call(trainer, "on_epoch_end")
    trainer.progress.end(trainer.logs)


def _train(trainer: Trainer, iterator: Iterator[Any]) -> None:
    """Go through the batches of an epoch."""
    model, optimizer, running = trainer.model, trainer.optimizer, trainer.running
    step, progress, accumulate = trainer._step, trainer.progress, trainer.accumulate
    begin, end = trainer.hooks["on_batch_begin"], trainer.hooks["on_batch_end"]
    result: Any
    loss: Any
    for trainer.batch in iterator:
        for hook in begin:
            hook(trainer)
        if trainer.check_repeats:
            _check_repeats(trainer)
        try:
            if trainer.by_closure:
                result = _closure_step(trainer)
            else:
                result = step(model, trainer.batch)
                loss = result.loss
                trainer.last_loss = value = loss.item()
                if value - value != 0.0 or not loss.requires_grad:
                    _refuse(trainer, loss)
                if not trainer.pending:
                    optimizer.zero_grad()
                if accumulate == 1:
                    loss.backward()
                    finish_step(trainer)
                else:
                    _accumulate(trainer, result)
            running.add_loss(trainer.last_loss, result.size)
            if running.metrics or result.extra:
                running.add_rest(result)
        except BatchError as e:
            raise BatchError(f"{trainer.place()}: {e}") from e
        result = loss = None  # before the next forward pass needs memory
        trainer.batch_index += 1
        for hook in end:
            hook(trainer)
        if perf_counter() >= progress.next:
            progress.draw(trainer.batch_index, running.results(live=True))
        if trainer.stopped is not None or trainer.steps == trainer.max_steps:
            break
    if trainer.pending:
        finish_step(trainer)
    progress.done = trainer.batch_index


def _refuse(trainer: Trainer, loss: Any) -> None:
    if not loss.requires_grad:
        raise BatchError(
            "the loss does not depend on any parameter that requires a gradient: was it computed "
            "under no_grad, or of detached tensors?"
        )
    if trainer.nan == "explain":
        refuse_explained(trainer, loss)
    why = explain_loss(trainer, trainer.batch)
    raise FloatingPointError(f"{trainer.place()}: the loss is {loss.item()}: {why}")


def _accumulate(trainer: Trainer, result: Result) -> None:
    """Add the gradients of one of several batches that make one step.

    Each loss is a mean over its samples: it counts by their number, relative to the first batch.
    """
    size = 1 if trainer.loss_is_sum else result.size
    if not trainer.pending:
        trainer.first_size, trainer.pending_weight = size, 0.0
    weight = size / trainer.first_size
    (result.loss if weight == 1 else result.loss * weight).backward()
    trainer.pending += 1
    trainer.pending_weight += weight
    if trainer.pending == trainer.accumulate:
        finish_step(trainer)


def finish_step(trainer: Trainer) -> None:
    """Let the optimiser take its step with the gradients that are there."""
    if trainer.pending:
        if not trainer.loss_is_sum:
            for group in trainer.optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad.mul_(1 / trainer.pending_weight)
        trainer.pending = 0
    for hook in trainer.hooks["on_backward_end"]:
        hook(trainer)
    trainer.optimizer.step()
    _count_step(trainer)


def _count_step(trainer: Trainer) -> None:
    trainer.steps += 1
    if trainer.scheduler_interval == "step" and trainer.scheduler is not None:
        trainer.scheduler.step()


def _closure_step(trainer: Trainer) -> Result:
    """Take a step of an optimiser that evaluates the loss several times, such as LBFGS."""
    results: list[Result] = []

    def closure() -> Any:
        trainer.optimizer.zero_grad()
        result = trainer._step(trainer.model, trainer.batch)
        trainer.last_loss = value = result.loss.item()
        if value - value != 0.0 or not result.loss.requires_grad:
            _refuse(trainer, result.loss)
        result.loss.backward()
        for hook in trainer.hooks["on_backward_end"]:
            hook(trainer)
        results.append(result)
        return result.loss

    trainer.optimizer.step(closure)
    trainer.last_loss = results[0].loss.item()
    _count_step(trainer)
    return results[0]


def _check_repeats(trainer: Trainer) -> None:
    """Compute loss and gradients of a batch twice, and raise if the bits are not the same."""
    trainer.check_repeats = False
    kept = [(b, b.clone()) for b in trainer.model.buffers()]
    random, found = all_states(), []
    for _ in range(2):
        trainer.optimizer.zero_grad()
        loss = trainer._step(trainer.model, trainer.batch).loss
        loss.backward()
        named = [(n, p.grad) for n, p in trainer.model.named_parameters() if p.grad is not None]
        found.append({"the loss": loss.detach()} | {f"the gradient of {n}": g for n, g in named})
        with weft.no_grad():
            for buffer, value in kept:
                buffer.copy_(value)
        set_all_states(random)
    trainer.optimizer.zero_grad()
    for name, first in found[0].items():
        second = found[1][name]
        if not bool(((first == second) | (first.isnan() & second.isnan())).all()):
            raise RuntimeError(
                f"Trainer(deterministic=True): {name} is not the same when the first batch is "
                "computed twice from the same random states. Something in the model or the step "
                "depends on chance that weft, NumPy and Python's random do not give"
            )


# ---- evaluation ---------------------------------------------------------------------------------


def evaluate(trainer: Trainer, data: Any, what: str, metrics: dict[str, Metric]) -> dict[str, Any]:
    """Return the results of a model for batches, without training."""
    running = Running(metrics)

    def add(batch: Any) -> None:
        result = trainer._step(trainer.model, batch)
        running.add_loss(result.loss.item(), result.size)
        running.add_rest(result)

    each_batch(trainer, data, what, add)
    return running.results()


def each_batch(trainer: Trainer, data: Any, what: str, use: Callable[[Any], None]) -> None:
    """Call a function with each batch, in evaluation mode and without gradients."""
    model, progress, index = trainer.model, trainer.progress, -1
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with weft.no_grad():
            for index, batch in enumerate(data):
                use(batch)
                if perf_counter() >= progress.next:
                    progress.tick(what, index + 1)
    except BatchError as e:
        raise BatchError(f"{what}, batch {index}: {e}") from e
    finally:
        for module in training:
            module.training = True
    if progress.text == what:
        progress.done = index + 1
    if index < 0:
        raise ValueError(f"{what}: the {type(data).__name__} has no batches")
