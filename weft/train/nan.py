"""``NaNGuard`` and ``Trainer(nan="explain")``: find the first op that made a loss or a gradient NaN."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import weft
from weft.utils.pytree import find_named, find_tensors

from .callback import Callback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .trainer import Trainer

__all__ = ["NaNGuard", "explain_loss", "explaining", "refuse_explained"]


def _bad(x: Any) -> bool:
    return bool((x.is_floating_point() or x.is_complex()) and not x.isfinite().all())


def _bad_names(x: Any, name: str) -> list[str]:
    return [label for label, tensor in find_named(x, weft.Tensor, name) if _bad(tensor)]


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _rerun(trainer: Trainer, batch: Any) -> Any:
    """Take the step's forward pass again, and leave the buffers of the model as they are."""
    kept = [(b, b.clone()) for b in trainer.model.buffers()]
    try:
        return trainer._step(trainer.model, batch)
    finally:
        with weft.no_grad():
            for buffer, value in kept:
                buffer.copy_(value)


@contextlib.contextmanager
def explaining(trainer: Trainer) -> Iterator[None]:
    """Let ``Trainer(nan="explain")`` check each step."""
    if trainer.nan is None:
        yield
        return
    from weft.debug import NanError, nan_origin

    with nan_origin():
        try:
            yield
        except NanError as e:
            raise NanError(f"{trainer.place()}: {e}", e.birth) from None


def refuse_explained(trainer: Trainer, loss: Any) -> None:
    """Raise for a loss that is not finite, with the op that made it so."""
    from weft.debug import NanError, explain

    bad = _bad_names(trainer.batch, "batch")
    bad += [name for name, p in trainer.model.named_parameters() if _bad(p)]
    birth = explain(loss)
    text = f"\nNaN or infinite before the step: {_some(bad)}" if bad else ""
    raise NanError(f"the loss is {loss.item()}.{text}\n{birth or ''}", birth)


def explain_loss(trainer: Trainer, batch: Any) -> str:
    """Return where a loss stopped being a number: batch, parameters, a module, or the loss."""
    inputs = _bad_names(batch, "batch")
    if inputs:
        return f"NaN or infinity comes in with the data: {_some(inputs)}"
    bad = [name for name, p in trainer.model.named_parameters() if _bad(p)]
    if bad:
        return (
            f"parameters are NaN or infinite since an earlier step: {_some(bad)}. Their gradients "
            "were: callbacks=NaNGuard() stops where that happens; a lower learning rate or "
            "GradientClipping may help"
        )
    first: list[str] = []

    def look(name: str, kind: str) -> Any:
        def hook(module: Any, args: Any, output: Any) -> None:
            if not first and _bad_names(output, "output") and not _bad_names(args, "input"):
                shapes = ", ".join(str(list(x.shape)) for x in find_tensors(args))
                first.append(
                    f"{name or 'the model itself'} ({kind}) gives NaN or infinity for a finite "
                    f"input of shape {shapes}"
                )

        return hook

    handles = [
        module.register_forward_hook(look(name, type(module).__name__))
        for name, module in trainer.model.named_modules()
    ]
    try:
        result = _rerun(trainer, batch)
    finally:
        for handle in handles:
            handle.remove()
    if first:
        return first[0]
    if result.output is not None and not _bad_names(result.output, "output"):
        made = getattr(result.loss.grad_fn, "origin", None)
        at = f", computed at {made}" if isinstance(made, str) and made else ""
        ranges = [
            f"[{float(x.min()):.4g}, {float(x.max()):.4g}]" for x in find_tensors(result.output)
        ]
        return (
            "all modules give finite outputs; the loss itself is not finite for outputs in "
            f"{', '.join(ranges)}{at}"
        )
    return (
        "no module of the model is the first to give NaN or infinity: look at the step's own code"
    )


class NaNGuard(Callback):
    """Stops at the first gradient that is NaN or infinite, and names the op and line it comes from.

    A loss that is not finite always stops a training. This looks at all gradients too, before
    each step of the optimiser: some microseconds for each parameter.

    >>> model = weft.nn.Linear(1, 1, bias=False)
    >>> def step(model, batch):
    ...     return (model(batch) * 0).abs().sqrt().sum()
    >>> trainer = weft.train.Trainer(
    ...     model, step=step, callbacks=weft.train.NaNGuard(), progress=False
    ... )
    >>> trainer.fit([weft.ones(1, 1)])
    Traceback (most recent call last):
    FloatingPointError: epoch 1, batch 0: the gradient of weight is NaN or infinite...
    """

    order = -20  # before gradients are cut

    def on_backward_end(self, trainer: Trainer) -> None:
        """Look at all gradients."""
        named = trainer.model.named_parameters()
        bad = [name for name, p in named if p.grad is not None and _bad(p.grad)]
        if bad:
            raise FloatingPointError(
                f"{trainer.place()}: the gradient of {_some(bad)} is NaN or infinite (loss "
                f"{trainer.last_loss:.6g}). {self._source(trainer)}"
            )

    @staticmethod
    def _source(trainer: Trainer) -> str:
        before = [(p, p.grad) for p in trainer.model.parameters()]
        try:
            with weft.autograd.set_detect_anomaly(True):
                _rerun(trainer, trainer.batch).loss.backward()
        except RuntimeError as e:
            return str(e)
        finally:
            for p, grad in before:
                p.grad = grad
        return "Backward of this batch alone gives no NaN: it is an infinity, or came by chance"
