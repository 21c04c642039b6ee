"""Losses, optimisers and schedulers from objects, functions or names."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

import weft

from .metrics.names import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["check_covers", "name_of_loss", "resolve_loss", "resolve_optimizer", "resolve_scheduler"]

_LOSSES = {  # short names of functions of weft.nn.functional
    "cross_entropy": "cross_entropy",
    "nll": "nll_loss",
    "mse": "mse_loss",
    "mae": "l1_loss",
    "l1": "l1_loss",
    "smooth_l1": "smooth_l1_loss",
    "huber": "huber_loss",
    "bce": "binary_cross_entropy",
    "bce_with_logits": "binary_cross_entropy_with_logits",
    "kl_div": "kl_div",
    "poisson_nll": "poisson_nll_loss",
}


def resolve_loss(loss: Any) -> Callable[[Any, Any], Any] | None:
    """Return a loss: a function of output and target, or one by its name.

    >>> from weft.train.resolve import resolve_loss
    >>> resolve_loss("mse")(weft.ones(2), weft.zeros(2))
    tensor(1.)
    """
    if isinstance(loss, str):
        functions = weft.nn.functional
        name = _LOSSES.get(loss, loss if loss in _LOSSES.values() else None)
        if name is None:
            raise ValueError(f"loss: unknown name {loss!r}: {nearest(loss, _LOSSES)}")
        return getattr(functions, name)
    if isinstance(loss, type):
        raise TypeError(f"loss: {loss.__name__} is a class: give an object, {loss.__name__}()")
    if loss is not None and not callable(loss):
        raise TypeError(
            f"loss: a name or a function of output and target was expected, got "
            f"{type(loss).__name__}"
        )
    return loss


def name_of_loss(loss: Any) -> str:
    """Return what a loss is called in messages.

    >>> from weft.train.resolve import name_of_loss
    >>> name_of_loss(weft.nn.MSELoss()), name_of_loss(weft.nn.functional.mse_loss)
    ('MSELoss', 'mse_loss')
    """
    return getattr(loss, "__name__", type(loss).__name__)


def _optimizers() -> dict[str, Any]:
    classes = (c for c in vars(weft.optim).values() if inspect.isclass(c))
    base = weft.optim.Optimizer
    return {c.__name__.lower(): c for c in classes if issubclass(c, base) and c is not base}


def resolve_optimizer(optimizer: Any, model: Any, lr: float | None) -> Any:
    """Return an optimiser.

    Args:
        optimizer: one; or its name, its class or another function that makes it of parameters.
        model: whose parameters it is made for.
        lr: its learning rate, if it is made here; by default the optimiser's own.

    >>> from weft.train.resolve import resolve_optimizer
    >>> type(resolve_optimizer("adamw", weft.nn.Linear(1, 1), 0.1)).__name__
    'AdamW'
    """
    if isinstance(optimizer, weft.optim.Optimizer):
        if lr is not None:
            raise ValueError(
                f"lr={lr} is for an optimiser that is given by name or class; this "
                f"{type(optimizer).__name__} has a learning rate already"
            )
        return optimizer
    if isinstance(optimizer, str):
        known = _optimizers()
        if optimizer.lower() not in known:
            raise ValueError(f"optimizer: unknown name {optimizer!r}: {nearest(optimizer, known)}")
        optimizer = known[optimizer.lower()]
    if not callable(optimizer):
        raise TypeError(
            "optimizer: an optimiser, its name or a function that makes it of parameters was "
            f"expected, got {type(optimizer).__name__}"
        )
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError(f"optimizer: {type(model).__name__} has no parameters to train")
    made = optimizer(parameters) if lr is None else optimizer(parameters, lr=lr)
    if not isinstance(made, weft.optim.Optimizer):
        raise TypeError(f"optimizer: the function gave a {type(made).__name__}, not an Optimizer")
    return made


def check_covers(optimizer: Any, model: Any) -> None:
    """Warn of parameters that the optimiser does not train.

    >>> from weft.train.resolve import check_covers
    >>> model = weft.nn.Linear(1, 1)
    >>> check_covers(weft.optim.SGD(model.parameters(), lr=0.1), model)
    """
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    missing = [name for name, p in named if id(p) not in held]
    if not missing:
        return
    some = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
    kind, name = type(optimizer).__name__, type(model).__name__
    if len(missing) == len(named):
        text = (
            f"the optimiser ({kind}) has none of the parameters of {name}: nothing of it will be "
            f"trained. Was it made of another model? ({some})"
        )
    else:
        text = (
            f"the optimiser ({kind}) lacks {len(missing)} of the {len(named)} parameters of {name} "
            f"that require gradients: {some}. They stay as they are"
        )
    warnings.warn(text, stacklevel=3)


def resolve_scheduler(scheduler: Any, optimizer: Any) -> Any:
    """Return a scheduler: one, or what a function makes of the optimiser; None for none.

    >>> from weft.train.resolve import resolve_scheduler
    >>> optimizer = weft.optim.SGD(weft.nn.Linear(1, 1).parameters(), lr=0.1)
    >>> halving = lambda o: weft.optim.lr_scheduler.StepLR(o, step_size=1, gamma=0.5)
    >>> type(resolve_scheduler(halving, optimizer)).__name__
    'StepLR'
    """
    if scheduler is None:
        return None
    made = scheduler if hasattr(scheduler, "step") and not isinstance(scheduler, type) else None
    if made is None:
        if not callable(scheduler):
            raise TypeError(
                "scheduler: a scheduler or a function that makes it of the optimiser was expected, "
                f"got {type(scheduler).__name__}"
            )
        made = scheduler(optimizer)
    if getattr(made, "optimizer", optimizer) is not optimizer:
        raise ValueError(
            f"scheduler: this {type(made).__name__} was made for another optimiser; give a "
            "function instead, as in scheduler=lambda optimizer: StepLR(optimizer, 10)"
        )
    return made
