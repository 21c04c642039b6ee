"""Results that are dataclasses or ordered dicts: each call gives a new one, as an eager call does."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import pytest
from jit.compile_calls import bits, runs

import weft
from weft import nn
from weft.autograd import grad

CALLS = 6  # two are captured, the others replayed
pytestmark = pytest.mark.usefixtures("quiet")


@dataclasses.dataclass
class Output:
    """What a model gives, with something that it computes itself."""

    logits: Any
    loss: Any = None
    count: int = 3

    def __post_init__(self) -> None:
        """Compute it."""
        self.extra = self.logits * 2


@dataclasses.dataclass(frozen=True)
class Frozen:
    """An object that cannot be changed."""

    part: Any


@dataclasses.dataclass
class Slots:
    """An object that has no dict."""

    __slots__ = ("part",)
    part: Any


class Both(collections.OrderedDict[Any, Any]):
    """A dict whose items are attributes as well, as libraries of models have them."""

    def __post_init__(self) -> None:
        """Take the attributes that are there as items."""
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            if (value := getattr(self, field.name)) is not None:
                self[field.name] = value

    def __getitem__(self, key: Any) -> Any:
        """Take a number as well."""
        return super().__getitem__(key if isinstance(key, str) else list(self)[key])


@dataclasses.dataclass
class ModelOutput(Both):
    """One of them."""

    logits: Any = None
    hidden: Any = None
    loss: Any = None


def parts_of(x: Any) -> Any:
    """What an object holds: its class, items and attributes."""
    if isinstance(x, (tuple, list)):
        return [type(x).__name__, *map(parts_of, x)]
    if isinstance(x, dict):
        own = parts_of(list(vars(x).items())) if hasattr(x, "__dict__") else None
        return [type(x).__name__, [(k, parts_of(v)) for k, v in dict.items(x)], own]
    if dataclasses.is_dataclass(x):
        return [type(x).__name__, [(k, parts_of(v)) for k, v in vars(x).items()]]
    return bits(x)


def losses(layer: Any, x: Any) -> tuple[Any, Any]:
    """The results of a layer, and a loss."""
    h = layer(x)
    return h, h.square().mean()


FUNCTIONS: dict[str, Any] = {
    "dataclass": lambda w, x: Output(*losses(w, x)),
    "frozen": lambda w, x: Frozen(losses(w, x)),
    "ordered": lambda w, x: collections.OrderedDict(a=losses(w, x), b=[x.exp(), 3]),
    "both": lambda w, x: ModelOutput(logits=w(x), loss=losses(w, x)[1]),
    "nested": lambda w, x: {"one": Output(w(x)), "two": (Frozen([x + 1]), None)},
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_objects(name: str) -> None:
    """They have the class and all parts that they have in an eager call."""
    layer = nn.Linear(3, 2)
    fast = weft.compile(lambda x: FUNCTIONS[name](layer, x))
    kept = []
    for turn in range(CALLS):
        weft.manual_seed(turn)
        x = weft.randn(4, 3)
        want, got = FUNCTIONS[name](layer, x), fast(x)
        assert type(got) is type(want)
        assert parts_of(got) == parts_of(want)
        kept.append((got, parts_of(want)))
    assert all(parts_of(got) == want for got, want in kept)
    assert len({id(got) for got, _ in kept}) == CALLS
    assert runs(fast) == CALLS - 2, fast.reasons


@pytest.mark.parametrize("name", ["dataclass", "both"])
def test_gradients(name: str) -> None:
    """First and second ones go through them."""
    layer = nn.Linear(3, 2)

    def f(x: Any) -> Any:
        return FUNCTIONS[name](layer, x)

    fast = weft.compile(f)
    for turn in range(CALLS):
        weft.manual_seed(turn)
        x = weft.randn(4, 3)
        found = []
        for g in (f, fast):
            layer.zero_grad()
            out = g(x)
            (out.loss + out.logits.sum()).backward()
            (slope,) = grad(g(x).loss, [layer.weight], create_graph=True)
            slope.square().sum().backward()
            found.append(bits([p.grad for p in layer.parameters()]))
        assert found[0] == found[1], turn
    assert runs(fast) >= CALLS - 2, fast.reasons


def test_items_are_attributes() -> None:
    """A tensor that an object holds in two places is one tensor."""
    fast = weft.compile(lambda x: ModelOutput(logits=x + 1, loss=x.sum()))
    for i in range(CALLS):
        out = fast(weft.full((2,), float(i)))
        assert out.logits is out["logits"] and out[1] is out.loss and out.hidden is None
    assert runs(fast) == CALLS - 2


def test_objects_that_others_see() -> None:
    """They stay what they are: no call makes another one."""
    mine = Output(weft.zeros(2))

    def f(x: Any) -> Any:
        mine.loss = x + 1
        return mine

    fast = weft.compile(f)
    same: Any = weft.compile(lambda given: given)
    for i in range(CALLS):
        x = weft.full((2,), float(i))
        assert fast(x) is mine and mine.loss.tolist() == [i + 1, i + 1]
        given = Output(x)
        assert same(given) is given
    assert fast.reasons and same.reasons


def test_keys_that_are_no_names() -> None:
    """They are kept with their types: 1 and True are two."""
    fast = weft.compile(lambda x, key: collections.OrderedDict([(key, x + 1)]))
    for i in range(CALLS):
        for key in (1, True, 1.0):
            made = fast(weft.full((2,), float(i)), key)
            assert made[1].tolist() == [i + 1, i + 1] and type(next(iter(made))) is type(key)
    assert runs(fast) > 0


def test_what_stays_eager() -> None:
    """An object that is more than its attributes. It is said."""
    fast = weft.compile(lambda x: Slots(x + 1))
    for i in range(CALLS):
        assert fast(weft.full((2,), float(i))).part.tolist() == [i + 1, i + 1]
    assert fast.reasons[0].startswith("it returns a "), fast.reasons
