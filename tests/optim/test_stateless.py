"""``swap_in_optimizer_params_and_state``: an optimiser that works on other tensors for a while."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import weft
from weft import optim
from weft.optim import swap_in_optimizer_params_and_state as swapped


def leaves(value: float) -> list[Any]:
    """Two parameters with gradients."""
    made = [weft.full((n,), value, requires_grad=True) for n in (2, 1)]
    for p in made:
        p.grad = weft.ones_like(p)
    return made


def two_groups(name: str, params: list[Any]) -> Any:
    """An optimiser of two groups with different rates."""
    groups = [{"params": [params[0]]}, {"params": [params[1]], "lr": 0.5}]
    return getattr(optim, name)(groups, lr=0.1)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam"])
def test_others_move_as_they_would_alone(name: str) -> None:
    """The others get the steps, with the given state; the own ones stay."""
    own, others, alone = leaves(1.0), leaves(0.0), leaves(0.0)
    optimizer, twin = two_groups(name, own), two_groups(name, alone)
    if name == "SGD":
        optimizer.param_groups[0]["momentum"] = twin.param_groups[0]["momentum"] = 0.9
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    state["param_groups"][0]["lr"] = 0.2
    twin.load_state_dict(copy.deepcopy(state))
    before, held, params = [p.tolist() for p in own], optimizer.state, optimizer.param_groups[0]
    with swapped(optimizer, {"a": others[0], "b": others[1]}, state):
        optimizer.step()
        optimizer.step()
        assert optimizer.param_groups[0]["params"] == [others[0]]
    twin.step()
    twin.step()
    assert [p.tolist() for p in others] == [p.tolist() for p in alone]
    assert [p.tolist() for p in own] == before and optimizer.state is held
    assert optimizer.param_groups[0] is params and params["params"][0] is own[0]
    assert params["lr"] == 0.1


def test_restored_after_an_error() -> None:
    """An error inside leaves the optimiser as it was."""
    p = leaves(1.0)
    optimizer = two_groups("Adam", p)
    optimizer.step()
    others = {"a": weft.zeros(2), "b": weft.zeros(1)}
    with pytest.raises(ZeroDivisionError), swapped(optimizer, others, optimizer.state_dict()):
        raise ZeroDivisionError
    assert optimizer.param_groups[1]["params"][0] is p[1] and p[0] in optimizer.state


def test_refusals() -> None:
    """What does not fit the optimiser."""
    p = leaves(1.0)
    optimizer = optim.SGD([p[0]], lr=0.1, momentum=0.9)

    def refused(match: str, params: Any, state: Any) -> None:
        with pytest.raises(RuntimeError, match=match), swapped(optimizer, params, state):
            pass

    refused("must have a state", {"a": p[0]}, optimizer.state_dict())
    optimizer.step()
    state = optimizer.state_dict()
    groups = state["param_groups"]
    refused("must be a state_dict, got int", {"a": p[0]}, 3)
    refused("state must be a dict", {"a": p[0]}, {"param_groups": groups})
    refused("param_groups must be a list", {"a": p[0]}, {"state": state["state"]})
    refused("expected 1 param_groups, got 0", {"a": p[0]}, {**state, "param_groups": []})
    refused("group must be a dict", {"a": p[0]}, {**state, "param_groups": [3]})
    short = [{"params": [0]}]
    refused("expected a group of", {"a": p[0]}, {**state, "param_groups": short})
    longer = [{**groups[0], "params": [0, 1]}]
    refused("expected a group of 1", {"a": p[0]}, {**state, "param_groups": longer})
    refused("expected 1 parameters, got 0", {}, state)
    refused(r"got \[7\]", {"a": p[0]}, {**state, "state": {**state["state"], 7: {}}})
