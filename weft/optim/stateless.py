"""An optimiser that works on other tensors for a while."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weft import Tensor

    from .optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]


def _check(condition: bool, rule: str, got: Any) -> None:
    if not condition:
        raise RuntimeError(f"swap_in_optimizer_params_and_state: {rule}, got {got}")


def _check_groups(optimizer: Optimizer, groups: Any) -> None:
    """Refuse groups that are not those of the optimiser."""
    mine = optimizer.param_groups
    _check(isinstance(groups, list), "param_groups must be a list", type(groups).__name__)
    _check(len(groups) == len(mine), f"expected {len(mine)} param_groups", len(groups))
    for here, there in zip(mine, groups):
        _check(isinstance(there, dict), "a param group must be a dict", type(there).__name__)
        _check(here.keys() == there.keys(), f"expected a group of {list(here)}", list(there))
        count = len(here["params"])
        _check(len(there["params"]) == count, f"expected a group of {count}", there["params"])


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer,
    swapin_parameters: dict[str, Tensor],
    swapin_optim_state: dict[str, Any],
) -> Iterator[None]:
    """Let an optimiser work on other parameters, with another state, inside a ``with``.

    ``load_state_dict`` leaves the parameters as they are; this exchanges them too. Tensors of the
    given state change in place; what else happens to it is forgotten at the end.

    Args:
        optimizer: has made a step.
        swapin_parameters: the tensors, in the order of the optimiser's.
        swapin_optim_state: as ``optimizer.state_dict()`` returns it.

    >>> from weft.optim import swap_in_optimizer_params_and_state
    >>> x, y = weft.ones(1, requires_grad=True), weft.zeros(1, requires_grad=True)
    >>> x.grad, y.grad = weft.ones(1), weft.ones(1)
    >>> optimizer = weft.optim.SGD([x], lr=0.5, momentum=0.9)
    >>> optimizer.step()
    >>> with swap_in_optimizer_params_and_state(optimizer, {"y": y}, optimizer.state_dict()):
    ...     optimizer.step()
    >>> x.item(), y.item()
    (0.5, -0.949999988079071)
    """
    _check(bool(optimizer.state), "the optimizer must have a state", "none before the first step")
    known = isinstance(swapin_optim_state, dict)
    _check(known, "swapin_optim_state must be a state_dict", type(swapin_optim_state).__name__)
    state: Any = swapin_optim_state.get("state")
    groups: Any = swapin_optim_state.get("param_groups")
    _check(isinstance(state, dict), "state must be a dict", type(state).__name__)
    _check_groups(optimizer, groups)
    numbers = [number for group in groups for number in group["params"]]
    extra = [key for key in state if key not in numbers]
    _check(not extra, "state may have only the keys that are in param_groups", extra)
    tensors = list(swapin_parameters.values())
    _check(len(tensors) >= len(numbers), f"expected {len(numbers)} parameters", len(tensors))

    mine = optimizer.param_groups
    before = optimizer.state, [dict(group) for group in mine]
    rest = iter(tensors)
    try:
        for here, there in zip(mine, groups):
            here.update({**there, "params": [next(rest) for _ in there["params"]]})
        optimizer.state = defaultdict(dict)
        for number, tensor in zip(numbers, tensors):
            optimizer.state[tensor] = dict(state.get(number, {}))
        yield
    finally:
        optimizer.state = before[0]
        for here, there in zip(mine, before[1]):
            here.clear()
            here.update(there)
