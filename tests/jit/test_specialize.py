"""The stages of a specialisation, against a model; which are kept; what tells calls apart."""

from __future__ import annotations

import collections
import random
from typing import Any

import pytest

import weft
from weft.jit.specialize import TRANSITIONS, Cache, Call, Specialization, Stage

EVENTS = ("captured", "agreed", "refused", "built", "given up")


def test_the_table_is_closed() -> None:
    """Each stage has a row, each can be reached, only EAGER is never left, READY only from what is built."""
    assert set(TRANSITIONS) == set(Stage)
    assert {e for row in TRANSITIONS.values() for e in row} == set(EVENTS)
    reached, waiting = {Stage.COLD}, [Stage.COLD]
    while waiting:
        more = set(TRANSITIONS[waiting.pop()].values()) - reached
        reached |= more
        waiting += more
    assert reached == set(Stage)
    for stage, row in TRANSITIONS.items():
        assert row["given up"] is Stage.EAGER
        assert (set(row.values()) == {Stage.EAGER}) == (stage is Stage.EAGER)
        if stage is not Stage.EAGER:
            into_ready = {event for event, to in row.items() if to is Stage.READY}
            assert into_ready <= {"built"}
            assert ("built" in row) == (stage in (Stage.CONFIRMED, Stage.READY))


@pytest.mark.parametrize("seed", range(30))
def test_random_events(seed: int) -> None:
    """A model that only knows the history: the last capture, whether it was agreed, built, given up."""
    rng, calls = random.Random(seed), Specialization()
    over, last, built = False, "", False
    for _ in range(60):
        event = rng.choices(EVENTS, [4, 6, 2, 4, 0.3])[0]
        possible = over or event != "built" or last == "agreed"
        if not possible:
            with pytest.raises(RuntimeError, match="cannot be built"):
                calls.advance(event)
            continue
        calls.give_up(f"reason {seed}") if event == "given up" else calls.advance(event)
        over = over or event == "given up"
        if event == "built":
            built = True
        elif event != "given up":
            last, built = event, False
        ready = not over and last == "agreed"
        assert calls.ready == ready and (calls.stage is Stage.READY) == (ready and built)
        assert bool(calls.problem) == over == (calls.stage is Stage.EAGER)


@pytest.mark.parametrize("seed", range(20))
def test_the_cache_keeps_the_last_used(seed: int) -> None:
    """A model: an ordered dict of lists."""
    rng = random.Random(seed)
    cache, model = Cache(most=6, most_alike=2), collections.OrderedDict[int, list[Any]]()
    signatures = [Call((n,), {}).signature for n in range(10)]
    for step in range(300):
        n = rng.randrange(10)
        if rng.random() < 0.5:
            found = cache.find(signatures[n], lambda s, step=step: s.wanted(step))
            if n in model:
                model.move_to_end(n)
            assert found is next((s for s in model.get(n, []) if s.wanted(step)), None)
            continue
        new: Any = Specialization()
        bit = rng.randrange(3)
        new.wanted = lambda step, bit=bit: step % 3 == bit
        cache.add(signatures[n], new)
        model.setdefault(n, []).append(new)
        model.move_to_end(n)
        del model[n][:-2]
        while sum(map(len, model.values())) > 6:
            first = next(iter(model))
            del model[first][:1]
            if not model[first]:
                del model[first]
        assert list(cache) == [s for group in model.values() for s in group]
        assert len(cache) <= 6


def test_signatures() -> None:
    """Equal for calls that one program can make, different for others."""
    x, y = weft.ones(2, 3), weft.zeros(2, 3)

    def of(*args: Any, **kwargs: Any) -> Any:
        return Call(args, kwargs).signature

    assert of(x, [y, 1]) == of(y, [x, 1]) and hash(of(x, a=1.0)) == hash(of(y, a=1.0))
    different = [
        of(x), of([x]), of((x,)), of(a=x), of(b=x), of(x, x), of(x, y), of(x, 1), of(x, 1.0), of(x, True),
        of(x, 0.0), of(x, -0.0), of(x, "1"), of(x, None), of(x.t()), of(x.double()), of(x[:1]),
        of(x.clone().requires_grad_()), of({"a": x}), of({"b": x}), of(x, {"a": 1}), of(x, {1: 1}),
        of(x, {True: 1}), of(x, {1.0: 1}),
    ]  # fmt: skip
    with weft.no_grad():
        different.append(of(x))
    with weft.autocast("cpu", dtype=weft.bfloat16):
        different.append(of(x))
    for i, a in enumerate(different):
        assert all(a != b for b in different[i + 1 :])
