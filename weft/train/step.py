"""From a batch to a loss."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

import weft

from .metrics.base import is_number, samples, tell
from .resolve import name_of_loss

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft import Tensor

__all__ = ["BatchError", "Result", "inputs_of", "own_step", "supervised_step"]

_TARGETS = ("target", "targets", "label", "labels", "y")
_ELEMENTWISE = {  # losses that compare element by element: shapes that only broadcast are a slip
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy"),
    *("binary_cross_entropy_with_logits", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"),
    *("BCELoss", "BCEWithLogitsLoss"),
}


class BatchError(ValueError):
    """A batch, an output or a loss is not what a step needs."""


class Result(NamedTuple):
    """What a step gives: the loss, and what metrics need."""

    loss: Tensor
    output: Any
    target: Any
    size: int  # how many samples the loss is the mean of
    extra: dict[str, Any]


def split(batch: Any) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """Return the arguments of the model, those by name, and the target."""
    if isinstance(batch, (tuple, list)) and len(batch) >= 2:
        return tuple(batch[:-1]), {}, batch[-1]
    if isinstance(batch, dict):
        found = [key for key in _TARGETS if key in batch]
        if len(found) == 1:
            args, kwargs = inputs_of(batch)
            return args, kwargs, batch[found[0]]
        raise BatchError(
            f"a batch that is a dict needs one of the keys {', '.join(_TARGETS)} for its target, "
            f"got {', '.join(map(str, batch))}. For other batches give "
            "Trainer(step=...): step(model, batch) returns the loss"
        )
    kind = type(batch).__name__
    if isinstance(batch, weft.Tensor):
        kind += f" of shape {list(batch.shape)}"
    elif isinstance(batch, (tuple, list)):
        kind += f" of {len(batch)}"
    raise BatchError(
        f"a batch must be (input, target), (inputs, ..., target) or a dict, got a {kind}. For other "
        "batches give Trainer(step=...): step(model, batch) returns the loss"
    )


def inputs_of(batch: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return what a model is called with for a batch: arguments, and those by name.

    >>> from weft.train.step import inputs_of
    >>> inputs_of((1, 2, "target")), inputs_of({"x": 1, "y": 2})
    (((1, 2), {}), ((1,), {}))
    """
    if isinstance(batch, (tuple, list)):
        return tuple(batch[:-1] if len(batch) > 1 else batch), {}
    if isinstance(batch, dict):
        rest = {key: value for key, value in batch.items() if key not in _TARGETS}
        return (tuple(rest.values()), {}) if len(rest) == 1 else ((), rest)
    return (batch,), {}


def supervised_step(loss: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Result]:
    """Return a step: the model's output for the inputs of a batch, compared with its target.

    >>> from weft.train.step import supervised_step
    >>> step = supervised_step(weft.nn.functional.mse_loss)
    >>> step(weft.nn.Identity(), (weft.ones(2), weft.zeros(2))).loss
    tensor(1.)
    """
    name = name_of_loss(loss)
    elementwise = name in _ELEMENTWISE
    no_extra: dict[str, Any] = {}

    def step(model: Any, batch: Any) -> Result:
        if type(batch) in (tuple, list) and len(batch) == 2:
            x, target = batch
            output = model(x)
        else:
            args, kwargs, target = split(batch)
            output = model(*args, **kwargs)
        if elementwise:
            _check_shapes(name, output, target)
        try:
            value = loss(output, target)
        except (RuntimeError, ValueError, TypeError, IndexError) as e:
            raise BatchError(
                f"the loss {name} does not take an output {tell(output)} with a target "
                f"{tell(target)}: {e}"
            ) from e
        _check_loss(value, name)
        size = len(target) if type(target) is weft.Tensor and target.dim() else samples(batch)
        return Result(value, output, target, size or 1, no_extra)

    return step


def own_step(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Result]:
    """Return a step that calls the user's function, which returns a loss, or a dict with one.

    >>> from weft.train.step import own_step
    >>> step = own_step(lambda model, batch: {"loss": model(batch).sum(), "width": 2.0})
    >>> step(weft.nn.Identity(), weft.ones(2)).extra
    {'width': 2.0}
    """
    name = getattr(function, "__name__", type(function).__name__)

    def step(model: Any, batch: Any) -> Result:
        value = function(model, batch)
        output = target = None
        extra: dict[str, Any] = {}
        if isinstance(value, dict):
            if "loss" not in value:
                raise BatchError(f"{name}: the dict needs a 'loss', got {', '.join(value)}")
            extra = {k: v for k, v in value.items() if k not in ("loss", "output", "target")}
            output, target, value = value.get("output"), value.get("target"), value["loss"]
        _check_loss(value, name)
        return Result(value, output, target, samples(batch) or 1, extra)

    return step


def model_step(model: Any, batch: Any) -> dict[str, Any]:
    """Return what a model gives that computes its own loss."""
    rule = "Trainer(loss=...) is not given, so the model is called with the whole batch and must "
    args, kwargs = ((), batch) if isinstance(batch, dict) else inputs_of([*batch, None])
    try:
        value = model(*args, **kwargs)
    except TypeError:
        if _takes(model, args, kwargs):
            raise
        raise BatchError(
            f"{rule}take it, but {type(model).__name__}.forward does not. Give a loss, such as "
            "loss='cross_entropy', a step, or a model that computes its own loss"
        ) from None
    if not isinstance(value, dict) or "loss" not in value:
        raise BatchError(f"{rule}return a dict with its 'loss', got a {type(value).__name__}")
    return {k: v for k, v in value.items() if k == "loss" or is_number(v)}


def _takes(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        inspect.signature(model.forward).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _check_shapes(name: str, output: Any, target: Any) -> None:
    if not isinstance(output, weft.Tensor) or not isinstance(target, weft.Tensor):
        return
    if output.shape == target.shape:
        return
    flat = [n for n in output.shape if n != 1] == [n for n in target.shape if n != 1]
    hint = f"; target.reshape({list(output.shape)}) would fit" if flat else ""
    raise BatchError(
        f"the loss {name} compares element by element, but the output has shape "
        f"{list(output.shape)} and the target {list(target.shape)}{hint}"
    )


def _check_loss(loss: Any, name: str) -> None:
    if not isinstance(loss, weft.Tensor):
        raise BatchError(f"the loss of {name} must be a tensor, got a {type(loss).__name__}")
    if loss.dim() and loss.numel() != 1:
        raise BatchError(
            f"the loss of {name} must be one number, got shape {list(loss.shape)}: take its "
            ".mean() or .sum()"
        )
