"""Where the memories of a program lie: apart while they are in use, and in little more than they need."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from robustness.growth import assert_linear

import weft
from weft import _C, nn

Pieces = list[tuple[int, int, int]]  # bytes, first step, last step


def drawn(rng: Random, count: int) -> Pieces:
    """Pieces as programs have them: passing ones, those that wait for the way back, lent ones, empty ones."""
    steps = rng.randint(1, 2 * count + 1)
    found = []
    for _ in range(count):
        first = rng.randint(0, steps - 1)
        last = rng.choice([first, first + rng.randint(0, 3), steps - 1 - first, steps])
        size = rng.choice([0, 64, 64 * rng.randint(1, 50), 64 * rng.randint(1, 5000)])
        found.append((size, min(first, last), max(first, last)))
    return found


def least(pieces: Pieces) -> int:
    """How many bytes are in use at the same time, by looking at each step."""
    steps = {first for _, first, _ in pieces}
    return max((sum(b for b, f, l in pieces if f <= s <= l) for s in steps), default=0)


def check(pieces: Pieces, at: list[int], total: int) -> None:
    """No two pieces overlap in time and place, and all lie within the total."""
    used = [(f, l, a, a + b) for (b, f, l), a in zip(pieces, at) if b]
    assert all(a >= 0 and end <= total for _, _, a, end in used)
    used.sort()
    for i, (_, last, begin, end) in enumerate(used):
        for f, _, a, e in used[i + 1 :]:
            if f > last:
                break
            assert e <= begin or end <= a


@pytest.mark.parametrize("seed", range(40))
def test_random_live_ranges(seed: int) -> None:
    """Pieces in use together lie apart; both ways find the same places; little is wasted."""
    rng = Random(seed)
    pieces = drawn(rng, rng.choice([0, 1, 5, 40, 200]))
    at, total, bound = _C._laid_out(pieces)
    assert bound == least(pieces)
    check(pieces, at, total)
    assert total <= 1.5 * bound
    assert _C._laid_out(pieces, "few") == _C._laid_out(pieces, "many")


@pytest.mark.parametrize("seed", range(3))
def test_many_live_ranges(seed: int) -> None:
    """The same for as many as are not compared with each other."""
    pieces = drawn(Random(seed), 1500)
    at, total, bound = _C._laid_out(pieces)
    check(pieces, at, total)
    assert bound <= total <= 1.5 * bound


def test_the_work_grows_with_their_number() -> None:
    """Not with its square."""

    def chain(n: int) -> None:
        forward = [(64 * (1 + i % 7), i, 2 * n - i if i % 2 else i + 2) for i in range(n)]
        _C._laid_out([*forward, *((64 * (1 + i % 5), n + i, n + i + 2) for i in range(n))], "many")

    assert_linear(chain, 300, 30_000)


@pytest.mark.parametrize("kind", ["training", "answers"])
def test_places_of_real_programs(kind: str) -> None:
    """What a compiled call keeps in its arena lies apart, and its size is that of what is in use."""
    net = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    x = weft.randn(4, 10, 32)
    if kind == "answers":
        net.eval()

    def f() -> Any:
        loss = net(x).square().mean()
        if kind == "training":
            net.zero_grad()
            loss.backward()
        return loss

    fast = weft.compile(f)
    with weft.set_grad_enabled(kind == "training"):
        for _ in range(5):
            fast()
    (program,) = [p[0] for v in fast.specializations for p in v.programs()]
    places = program.layout
    assert places
    pieces = [(size, first, last) for size, _, first, last in places]
    check(pieces, [at for _, at, _, _ in places], program.arena_bytes)
    assert program.arena_bytes <= 1.1 * least(pieces)
