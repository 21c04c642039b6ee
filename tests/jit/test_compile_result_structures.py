"""Results in tuples, lists, dicts and others: a replay gives them in the structure of the function."""

from __future__ import annotations

import collections
import random
from typing import Any

import pytest

import weft

pytestmark = pytest.mark.usefixtures("quiet")

Point = collections.namedtuple("Point", "x y")
LEAVES: dict[str, Any] = {
    "given": lambda x, known: x,
    "known": lambda x, known: known,
    "made": lambda x, known: x * 2,
    "view": lambda x, known: x[0],
    "rank": lambda x, known: x.dim(),
    "truth": lambda x, known: x.is_complex(),
    "dtype": lambda x, known: x.dtype,
    "text": lambda x, known: "text",
    "none": lambda x, known: None,
}


def draw(rng: random.Random, depth: int) -> Any:
    """Names of leaves in tuples, lists, dicts and others."""
    if depth == 0:
        return rng.choice(list(LEAVES))
    parts = [draw(rng, rng.randrange(depth)) for _ in range(rng.randrange(4))]
    kinds = [tuple, list, lambda p: dict(enumerate(p)), lambda p: Point(p, "made")]
    return rng.choice(kinds)(parts)


def fill(plan: Any, x: weft.Tensor, known: weft.Tensor) -> Any:
    """The leaves that a plan names, in its structure."""
    if isinstance(plan, str):
        return LEAVES[plan](x, known)
    if isinstance(plan, dict):
        return {k: fill(v, x, known) for k, v in plan.items()}
    parts = [fill(v, x, known) for v in plan]
    return Point(*parts) if isinstance(plan, Point) else type(plan)(parts)


def same(found: Any, wanted: Any, own: list[weft.Tensor]) -> bool:
    """Whether two results have the same types and values, and the caller's tensors are the same."""
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, weft.Tensor):
        identical = [(found is t) == (wanted is t) for t in own]
        return all(identical) and weft.equal(found, wanted)
    if isinstance(wanted, dict):
        return list(found) == list(wanted) and all(same(found[k], wanted[k], own) for k in wanted)
    if isinstance(wanted, (tuple, list)):
        return len(found) == len(wanted) and all(same(a, b, own) for a, b in zip(found, wanted))
    return bool(found == wanted)


@pytest.mark.parametrize("seed", range(30))
def test_replays_give_structures_as_the_function_does(seed: int) -> None:
    plan = draw(random.Random(seed), seed % 4)
    known = weft.arange(3.0)
    f = weft.compile(lambda x: fill(plan, x, known))
    for i in range(6):
        x = weft.arange(3.0) + i
        assert same(f(x), fill(plan, x, known), [x, known])
    assert not f.reasons and f.specializations[0].captures == 2
