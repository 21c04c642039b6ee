"""Containers: what they hold, under which names, and how they print."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import weft
from weft import nn


def test_sequential() -> None:
    """Runs in order, and is a list with names."""
    s = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Tanh())
    x = weft.ones(2, 1)
    assert (s(x) == s[0](x).relu().tanh()).all()
    assert len(s) == 3 and s[-1] is s[2] and [type(m).__name__ for m in s[1:]] == ["ReLU", "Tanh"]
    assert list(s[1:]._modules) == ["1", "2"]
    assert [type(m).__name__ for m in s + nn.Sequential(nn.ReLU())][-1] == "ReLU"
    assert len(nn.Sequential(nn.ReLU()) * 2) == 2
    del s[1]
    assert list(s._modules) == ["0", "1"] and isinstance(s[1], nn.Tanh)
    assert isinstance(s.pop(0), nn.Linear) and len(s) == 1
    s.append(nn.ReLU()).insert(0, nn.Sigmoid()).extend([nn.ReLU6()])
    assert [type(m).__name__ for m in s] == ["Sigmoid", "Tanh", "ReLU", "ReLU6"]
    s[0] = nn.Softsign()
    assert isinstance(s._modules["0"], nn.Softsign)
    named = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    assert named.first is named[0] and list(named._modules) == ["first", "second"]


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda s: s[5], IndexError, "index 5 is out of range"),
        (lambda s: s * 0, ValueError, "Non-positive multiplication factor 0"),
        (lambda s: s * "a", TypeError, "unsupported operand"),
        (lambda s: s + 3, ValueError, "supports only objects of Sequential"),
        (lambda s: s.append(3), TypeError, "int is not a Module subclass"),
        (lambda s: s.insert(9, nn.ReLU()), IndexError, "Index out of range: 9"),
        (lambda s: s.insert(0, 3), AssertionError, "should be of type"),
        (lambda s: s.extend(3), TypeError, "not iterable"),
        (lambda s: nn.Sequential(3), TypeError, "int is not a Module subclass"),
    ],
)
def test_sequential_errors(do: object, error: type, message: str) -> None:
    """What does not fit is refused in PyTorch's words."""
    with pytest.raises(error, match=message):
        do(nn.Sequential(nn.ReLU()))  # type: ignore[operator]


def test_module_list() -> None:
    """A list of modules whose equal neighbours print on one line."""
    m = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()])
    assert repr(m) == (
        "ModuleList(\n"
        "  (0-1): 2 x Linear(in_features=2, out_features=2, bias=True)\n"
        "  (2): ReLU()\n"
        ")"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"
    assert len(list(m.parameters())) == 4
    m.insert(0, nn.Tanh())
    m += [nn.ReLU()]
    assert list(m._modules) == ["0", "1", "2", "3", "4"] and isinstance(m[0], nn.Tanh)
    assert isinstance(m.pop(0), nn.Tanh) and len(m[1:]) == 3 and len(m + m) == 8
    del m[1:]
    assert len(m) == 1
    with pytest.raises(TypeError, match="should be called with an iterable, but got int"):
        m.extend(3)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="missing the required"):
        m(1)


def test_module_dict() -> None:
    """A dictionary of modules."""
    d = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
    assert list(d) == ["a", "b"] and "a" in d and len(d) == 2 and isinstance(d["b"], nn.Tanh)
    d.update([("c", nn.ReLU())])
    assert isinstance(d.pop("a"), nn.ReLU) and list(d.keys()) == ["b", "c"]
    assert [k for k, _ in d.items()] == ["b", "c"] and len(list(d.values())) == 2
    d.clear()
    assert len(d) == 0
    with pytest.raises(KeyError):
        d["zz"]
    with pytest.raises(TypeError, match="module name should be a string"):
        d[3] = nn.ReLU()  # type: ignore[index]
    with pytest.raises(ValueError, match="length 3; 2 is required"):
        d.update([(1, 2, 3)])


def test_parameter_list() -> None:
    """Tensors become parameters; other values are kept as they are."""
    p = nn.ParameterList([weft.ones(2, 3), 3])
    p.append(weft.ones(2)).extend([nn.Parameter(weft.zeros(1))])
    assert len(p) == 4 and p[1] == 3 and isinstance(p[2], nn.Parameter)
    assert list(p.state_dict()) == ["0", "2", "3"] and len(list(p.parameters())) == 3
    assert repr(p[:2]) == (
        "ParameterList(\n"
        "    (0): Parameter containing: [torch.float32 of size 2x3]\n"
        "    (1): Object of type: int\n"
        ")"
    )
    p[0] = weft.zeros(1)
    assert isinstance(p[0], nn.Parameter) and p[-1].item() == 0
    p += [weft.ones(1)]
    assert len(p) == 5
    with pytest.raises(IndexError, match="index 9 is out of range"):
        p[9]
    with pytest.raises(TypeError, match="should be called with an iterable"):
        p.extend(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="should not be called"):
        p(1)


def test_parameter_dict() -> None:
    """A dictionary of parameters; plain dictionaries are taken in sorted order."""
    d = nn.ParameterDict({"z": weft.ones(1), "a": weft.ones(1)})
    assert list(d) == ["a", "z"] and isinstance(d["a"], nn.Parameter)
    d["n"] = 3
    assert d.get("nope") is None and d.setdefault("q", 4) == 4 and d.pop("n") == 3
    assert d.popitem() == ("q", 4) and list(reversed(d)) == ["z", "a"]
    assert list((d | {"y": weft.ones(1)}).state_dict()) == ["a", "z", "y"]
    joined = {"y": 1} | d
    assert type(joined) is dict and list(joined) == ["y", "a", "z"]
    copied = d.copy()
    assert copied["a"] is d["a"] and copied is not d
    del d["a"]
    assert "a" not in d and list(d.state_dict()) == ["z"] and len(d.values()) == 1
    assert list(d.fromkeys(["u", "v"], 1)) == ["u", "v"]
    with pytest.raises(KeyError):
        d["a"]
    with pytest.raises(TypeError, match="not a string"):
        d[3] = weft.ones(1)  # type: ignore[index]
    with pytest.raises(RuntimeError, match="should not be called"):
        d(1)


def test_sequences_that_contain_or_change_themselves() -> None:
    """Calls without Python count their depth, and see children as they are when their turn comes."""
    own = nn.Sequential()
    own.add_module("own", own)
    with pytest.raises(RecursionError):
        own(weft.ones(2))

    class Changes(nn.Module):
        def __init__(self, change: Any) -> None:
            super().__init__()
            self.__dict__["change"] = change

        def forward(self, x: Any) -> Any:
            self.change()
            return x

    net = nn.Sequential(Changes(lambda: setattr(net, "1", nn.Tanh())), nn.Identity())
    assert weft.equal(net(weft.ones(2)), weft.ones(2).tanh())
    grows = nn.Sequential(Changes(lambda: grows.append(nn.Identity())), nn.Identity())
    with pytest.raises(RuntimeError, match="added or removed"):
        grows(weft.ones(2))


def test_another_call_of_a_class_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A linear layer whose class has another __call__ is not joined with the ReLU behind it."""
    seen = []

    def call(self: Any, x: Any) -> Any:
        seen.append(self)
        return self.forward(x)

    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    monkeypatch.setattr(nn.Linear, "__call__", call)
    net(weft.ones(2))
    assert seen == [net[0]]
