"""``prune``: all weights of a model pruned in one call, by the methods of ``nn.utils.prune``."""

from __future__ import annotations

from weft.nn.utils import prune as by_parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from weft.nn.module import Module

__all__ = ["METHODS", "prune"]

METHODS: dict[str, Callable[[Module, str, float], Module]] = {
    "l1": by_parameter.l1_unstructured,
    "random": by_parameter.random_unstructured,
    "l1_structured": lambda m, name, share: by_parameter.ln_structured(m, name, share, n=1, dim=0),
    "l2_structured": lambda m, name, share: by_parameter.ln_structured(m, name, share, n=2, dim=0),
    "random_structured": lambda m, name, share: by_parameter.random_structured(m, name, share, 0),
}


def prune(model: Module, pruning_method: str = "l1", pruning_percentage: float = 0.2) -> Any:
    """Set a share of each weight of a model to zero, in place.

    Weights are the parameters named ``weight...`` of two or more dimensions: those of linear,
    convolutional, recurrent and embedding layers; biases and those of norms stay. Each is pruned
    by itself, as ``nn.utils.prune`` does it: the mask is kept in training, and
    ``nn.utils.prune.remove`` makes it last. Pruning again takes its share of what is left.

    Args:
        model: whose weights are pruned.
        pruning_method: ``"l1"``, the entries nearest to zero; ``"random"``, any; or
            ``"l1_structured"``, ``"l2_structured"``, ``"random_structured"``: whole output
            channels, those of the smallest norm or any.
        pruning_percentage: the share, from 0 to 1.

    >>> net = weft.nn.Sequential(weft.nn.Linear(10, 5), weft.nn.Linear(5, 2))
    >>> net = weft.nn.utils.pruning_utils.prune(net, pruning_method="l1", pruning_percentage=0.2)
    >>> [int((layer.weight == 0).sum()) for layer in net]
    [10, 2]
    """
    if pruning_method not in METHODS:
        raise ValueError(
            f"prune: pruning_method must be one of {', '.join(METHODS)}, got {pruning_method!r}"
        )
    if isinstance(pruning_percentage, bool) or not 0 <= pruning_percentage <= 1:
        raise ValueError(
            f"prune: pruning_percentage must be a share from 0 to 1, got {pruning_percentage!r}"
        )
    found = list(_weights(model))
    if not found:
        raise ValueError(f"prune: {type(model).__name__} has no weight of two or more dimensions")
    for module, name in found:
        METHODS[pruning_method](module, name, float(pruning_percentage))
    return model


def _weights(model: Module) -> Iterator[tuple[Module, str]]:
    """Iterate over modules and the names of their weights, also those that are pruned already."""
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            if name.startswith("weight") and parameter.ndim > 1:
                yield module, name.removesuffix("_orig")
