"""Arguments in random containers, of any kind, with aliases and changing numbers: all bits as without compiling."""

from __future__ import annotations

import collections
import dataclasses
import random
from typing import Any

import pytest

import weft

pytestmark = pytest.mark.usefixtures("quiet")

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Record:
    a: Any
    b: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any


class Row(list):
    """A list by another name."""


MAKERS: dict[str, Any] = {
    "tuple": tuple,
    "list": list,
    "row": Row,
    "dict": lambda parts: dict(zip("ijk", parts)),
    "numbered": lambda parts: dict(enumerate(parts)),
    "ordered": lambda parts: collections.OrderedDict(zip("kji", parts)),
    "default": lambda parts: collections.defaultdict(list, zip("ijk", parts)),
    "pair": lambda parts: Pair(*[*parts, None, None][:2]),
    "record": lambda parts: Record(*[*parts, None, None][:2]),
    "frozen": lambda parts: Frozen(*[*parts, None, None][:2]),
}
CONSTANTS = (None, True, False, 1, 0, 2.5, -0.0, "text", 2**70, weft.float32, slice(1, 2), ...)
NUMBERS = (1, 1, 2, 3, True, 1.0, 2.5, 0.0, -0.0, 0, float("inf"))


def plan(rng: random.Random, tensors: int, kinds: list[str], depth: int = 3) -> Any:
    """A structure of the names of leaves: tensors by their number, views of them, the number, constants."""
    if depth and rng.random() < 0.7:
        parts = [plan(rng, tensors, kinds, depth - 1) for _ in range(rng.randrange(4))]
        return rng.choice(kinds), parts
    odd = len(kinds) > 3  # seen by few replays
    leaf = rng.choices(("tensor", "view", "number", "constant"), (6, odd, 1, 2 * odd))[0]
    return leaf, rng.choice(CONSTANTS) if leaf == "constant" else rng.randrange(tensors)


def fill(what: Any, tensors: list[weft.Tensor], number: Any) -> Any:
    kind, inside = what
    if kind in MAKERS:
        return MAKERS[kind]([fill(x, tensors, number) for x in inside])
    if kind in ("tensor", "view"):
        return tensors[inside] if kind == "tensor" else tensors[inside].view(-1)
    return number if kind == "number" else inside


def leaves(x: Any) -> Any:
    """Each leaf with a weight that depends on its place and on the containers around it."""
    waiting = [(x, 1.0)]
    while waiting:
        x, weight = waiting.pop()
        if isinstance(x, (Record, Frozen)):
            waiting += [(x.a, 2 * weight), (x.b, 3 * weight + len(type(x).__name__))]
        elif isinstance(x, (list, tuple, dict)):
            yield len(x) + len(type(x).__name__), weight
            items = x.items() if isinstance(x, dict) else enumerate(x)
            waiting += [(v, weight + i + 2 * len(str(k))) for i, (k, v) in enumerate(items)]
        else:
            yield x, weight


def bits(x: Any) -> Any:
    """What two results must have in common."""
    if isinstance(x, weft.Tensor):
        return x.shape, x.dtype, x.requires_grad, x.detach().numpy().tobytes()
    if isinstance(x, (Record, Frozen)):
        return type(x), bits(x.a), bits(x.b)
    if isinstance(x, dict):
        return type(x), [(k, bits(v)) for k, v in x.items()]
    return (type(x), [bits(v) for v in x]) if isinstance(x, (list, tuple)) else repr(x)


def program(changes: bool, returns: bool) -> Any:
    """A function of all leaves; it may change the first tensor, and return what it was given."""

    def f(*args: Any, **kwargs: Any) -> Any:
        total, given = weft.zeros(()), []
        for x, weight in leaves((args, kwargs)):
            if isinstance(x, weft.Tensor):
                if changes and not given:
                    x.add_(1)
                given.append(x * 2)
                total = total + (x * weight).sum()
            else:
                total = total + weight * (x if isinstance(x, (int, float)) else len(str(x)))
        return (total, args, given, kwargs) if returns else (total,)

    return f


def outcome(f: Any, calls: Any, tensors: list[weft.Tensor], number: Any) -> Any:
    args, kwargs = calls
    try:
        result = f(*(fill(x, tensors, number) for x in args),
                   **{k: fill(x, tensors, number) for k, x in kwargs.items()})  # fmt: skip
    except (RuntimeError, TypeError, OverflowError) as e:
        return type(e)
    if result[0].requires_grad:
        result[0].backward()
    same = [[x is t for t in tensors] for x, _ in leaves(result) if isinstance(x, weft.Tensor)]
    return bits(result), same, bits(tensors), bits([t.grad for t in tensors])


@pytest.mark.parametrize("dynamic", [False, None, True])
@pytest.mark.parametrize("seed", range(7))
def test_all_bits_are_those_of_eager(seed: int, dynamic: bool | None) -> None:
    rng = random.Random(seed)
    count, changes = rng.randrange(1, 4), seed % 5 == 1
    f = program(changes, seed % 5 == 2)  # what returns its containers runs eagerly
    fast = weft.compile(f, dynamic=dynamic)
    kinds = ["tuple", "list", "dict"] if seed % 3 else list(MAKERS)
    calls = [
        (
            [plan(rng, count, kinds) for _ in range(rng.randrange(1, 3))],
            {
                k: plan(rng, count, kinds)
                for k in rng.sample("pqr", rng.randrange(3) * (seed % 4 == 0))
            },
        )
        for _ in range(2)
    ]
    call, number, shape, alias, learns = calls[0], 1, (2, 3), False, False
    for _ in range(60):
        if rng.random() < 0.1:  # one of them changes now and then
            call = rng.choice(calls)
            number = rng.choice(NUMBERS)
            shape = rng.choice([(3,), (2, 3)])
            alias, learns = (not changes and rng.random() < 0.3 for _ in range(2))
        values = [[rng.randrange(-4, 5) / 2 for _ in range(6)] for _ in range(count)]
        found = []
        for g in (f, fast):
            tensors = [weft.tensor(v[: 3 * len(shape)]).reshape(shape) for v in values]
            if alias:
                tensors[-1] = tensors[0]
            if learns:
                tensors[0].requires_grad_()
            found.append(outcome(g, call, tensors, number))
        assert found[0] == found[1]
