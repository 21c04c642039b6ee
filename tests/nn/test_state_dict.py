"""``state_dict`` and ``load_state_dict``: names, sharing, errors, hooks, extra state."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import weft
from weft import nn


class Net(nn.Module):
    """A parameter and two buffers, of which one is not kept."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Parameter(weft.tensor(2.0))
        self.register_buffer("c", weft.tensor(1.0))
        self.register_buffer("d", weft.tensor(1.0), persistent=False)


def test_contents() -> None:
    """Names with prefixes, memory shared with the module, versions in the metadata."""
    net = nn.Sequential(Net(), nn.Linear(1, 1))
    state = net.state_dict()
    assert type(state) is OrderedDict
    assert list(state) == ["0.a", "0.c", "1.weight", "1.bias"]
    assert state["0.a"].data_ptr() == net[0].a.data_ptr() and not state["0.a"].requires_grad
    assert net.state_dict(keep_vars=True)["0.a"] is net[0].a
    assert list(net.state_dict(prefix="p.")) == ["p." + name for name in state]
    assert state._metadata == {"": {"version": 1}, "0": {"version": 1}, "1": {"version": 1}}
    given: dict[str, Any] = {}
    assert net.state_dict(destination=given) is given and list(given) == list(state)
    with pytest.warns(FutureWarning):
        assert list(Net().state_dict({}, "q.")) == ["q.a", "q.c"]


def test_load() -> None:
    """Values are copied in, dtypes stay; a vector of one element fills a number."""
    m = Net()
    a = m.a
    state = {"a": weft.tensor(3.0, dtype=weft.float64), "c": weft.tensor([4.0])}
    assert repr(m.load_state_dict(state)) == "<All keys matched successfully>"
    assert m.a is a and a.item() == 3 and a.dtype == weft.float32 and m.c.item() == 4


def test_load_assign() -> None:
    """With ``assign`` the given tensors become the module's."""
    m = Net()
    value = weft.tensor(3.0, dtype=weft.float64)
    m.load_state_dict({"a": value, "c": weft.tensor(4.0)}, assign=True)
    assert isinstance(m.a, nn.Parameter) and m.a.requires_grad and m.a.dtype == weft.float64
    assert m.a.data_ptr() == value.data_ptr()


def test_load_errors() -> None:
    """All that is wrong is said at once, in PyTorch's words."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    with pytest.raises(RuntimeError) as e:
        net.load_state_dict({"0.weight": weft.ones(3, 2), "0.q.r": weft.ones(1), "1.bias": 3})
    text, _, line = str(e.value).partition("\n  at ")
    assert "test_state_dict.py:" in line
    assert text == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "0.bias", "1.weight". \n'
        '\tUnexpected key(s) in state_dict: "0.q.r". \n'
        "\tsize mismatch for 0.weight: copying a param with shape torch.Size([3, 2]) from "
        "checkpoint, the shape in current model is torch.Size([2, 2]).\n"
        '\tWhile copying the parameter named "1.bias", expected torch.Tensor or Tensor-like object '
        "from checkpoint but received <class 'int'>"
    )
    keys = net.load_state_dict({"1.bias": weft.zeros(2), "zz": weft.ones(1)}, strict=False)
    assert keys.missing_keys == ["0.weight", "0.bias", "1.weight"]
    assert keys.unexpected_keys == ["zz"] and net[1].bias.tolist() == [0, 0]
    with pytest.raises(TypeError, match="dict-like"):
        net.load_state_dict([1])  # type: ignore[arg-type]


def test_hooks() -> None:
    """Hooks around saving and loading see the right things, and only some may return."""
    m, seen = Net(), []
    handles = [
        m.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((prefix, keep))),
        m.register_state_dict_post_hook(lambda m, sd, prefix, meta: seen.append(list(sd))),
    ]
    nn.Sequential(m).state_dict()
    assert seen == [("0.", False), ["0.a", "0.c"]]
    for handle in handles:
        handle.remove()
    with m.register_state_dict_post_hook(lambda *a: {}):
        with pytest.raises(RuntimeError, match="must return None"):
            m.state_dict()
    with m._register_state_dict_hook(lambda *a: {"x": 1}):
        assert m.state_dict() == {"x": 1}

    def before(module: Any, state: Any, prefix: str, *rest: Any) -> None:
        state[prefix + "c"] = state.pop(prefix + "old")

    seen.clear()
    m.register_load_state_dict_pre_hook(before)
    m.register_load_state_dict_post_hook(lambda m, keys: seen.append(keys))
    given = {"0.a": weft.tensor(5.0), "0.old": weft.tensor(6.0)}
    nn.Sequential(m).load_state_dict(given)
    assert m.c.item() == 6 and list(given) == ["0.a", "0.old"] and len(seen) == 1
    m.register_load_state_dict_post_hook(lambda m, keys: 3)
    with pytest.raises(AssertionError, match="not expected to return"):
        m.load_state_dict({"a": weft.tensor(1.0), "old": weft.tensor(1.0)})


def test_extra_state() -> None:
    """What a module adds to its state comes back, and is missed when it is not there."""

    class Counter(nn.Module):
        steps = 0

        def get_extra_state(self) -> Any:
            return {"steps": self.steps}

        def set_extra_state(self, state: Any) -> None:
            self.steps = state["steps"]

    a, b = nn.Sequential(Counter()), nn.Sequential(Counter())
    a[0].steps = 5
    b.load_state_dict(a.state_dict())
    assert b[0].steps == 5
    with pytest.raises(RuntimeError, match=r'Missing key.*"0._extra_state"'):
        b.load_state_dict({})
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"_extra_state"'):
        nn.Identity().load_state_dict({"_extra_state": 1})


def test_own_loading() -> None:
    """A module may override how it is saved and loaded, and version itself."""

    class Renamed(nn.Module):
        _version = 2

        def __init__(self) -> None:
            super().__init__()
            self.new = nn.Parameter(weft.zeros(1))

        def _load_from_state_dict(
            self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
        ) -> None:
            if local_metadata.get("version", 1) < 2:
                state_dict[prefix + "new"] = state_dict.pop(prefix + "old")
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    m = nn.Sequential(Renamed())
    m.load_state_dict({"0.old": weft.ones(1)})
    assert m[0].new.item() == 1
    state = m.state_dict()
    assert state._metadata["0"] == {"version": 2}
    m.load_state_dict(state)
