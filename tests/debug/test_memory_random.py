"""Who holds memory, of random structures and random graphs, against generators that know where they put tensors."""

from __future__ import annotations

import collections
import functools
import random
from typing import Any

import pytest

import weft
from weft import memory, nn


def check_sums(report: memory.Report) -> None:
    for rows in (report.by_line(), report.by_module(), report.by_kind()):
        assert sum(r.bytes for r in rows) == report.allocated
    assert sum(h.total for h in report.holders) + report.unreached == report.allocated


class Plain:
    pass


class Slotted:
    __slots__ = ("held",)


class Structure:
    """A random structure of objects that writes down where it puts tensors."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.expected: dict[str, int] = {}  # by path: the bytes of the block
        self.lines: dict[str, bool] = {}

    def tensor(self, path: str) -> weft.Tensor:
        elements = 16 * self.random.randint(1, 64)  # 64 bytes are a block: nothing is rounded
        x = weft.zeros(elements)
        self.expected[path] = 4 * elements
        if self.random.random() < 0.3:
            x = x.requires_grad_().detach().neg()  # the first one goes
        return x

    def build(self, path: str, depth: int) -> Any:
        if depth == 0 or self.random.random() < 0.15:
            return self.tensor(path)
        make = self.random.choice([
            self.list, self.dict, self.attributes, self.slots, self.closure, self.partial, self.method, self.deque,
            self.generator, self.tuple, self.defaults, self.error, self.layer, self.tensor_attribute,
        ])  # fmt: skip
        return make(path, depth - 1)

    def list(self, path: str, depth: int) -> Any:
        return [self.build(f"{path}[{i}]", depth) for i in range(self.random.randint(1, 3))]

    def tuple(self, path: str, depth: int) -> Any:
        return tuple(self.list(path, depth))

    def deque(self, path: str, depth: int) -> Any:
        return collections.deque(self.list(path, depth))

    def dict(self, path: str, depth: int) -> Any:
        keys = self.random.sample(["a", "b c", 7, (1, 2)], self.random.randint(1, 4))
        return {
            k: self.build(
                f"{path}[{k!r}]" if not isinstance(k, tuple) else f"{path}[<tuple>]", depth
            )
            for k in keys
        }

    def attributes(self, path: str, depth: int) -> Any:
        o = Plain()
        o.held = self.build(f"{path}.held", depth)  # type: ignore[attr-defined]
        return o

    def slots(self, path: str, depth: int) -> Any:
        o = Slotted()
        o.held = self.build(f"{path}.held", depth)
        return o

    def closure(self, path: str, depth: int) -> Any:
        held = self.build(f"{path} → closure held", depth)
        return lambda: held

    def defaults(self, path: str, depth: int) -> Any:
        def function(other: int, held: Any) -> Any:
            return held, other

        function.__defaults__ = (self.build(f"{path} → default held", depth),)

        return function

    def partial(self, path: str, depth: int) -> Any:
        return functools.partial(print, self.build(f"{path}.args[0]", depth))

    def method(self, path: str, depth: int) -> Any:
        class Owner:
            def run(self) -> None:
                pass

        o = Owner()
        o.held = self.build(f"{path}.__self__.held", depth)  # type: ignore[attr-defined]
        return o.run

    def generator(self, path: str, depth: int) -> Any:
        def run(held: Any) -> Any:
            yield
            yield held

        g = run(self.build(f"{path} → local held", depth))
        next(g)
        return g

    def error(self, path: str, depth: int) -> Any:
        def fail(held: Any) -> None:
            raise KeyError

        try:
            fail(self.build(f"{path}.__traceback__.tb_next → local held", depth))
        except KeyError as e:
            e.__traceback__ = e.__traceback__.tb_next  # type: ignore[union-attr]
            self.rename(f"{path}.__traceback__.tb_next", f"{path}.__traceback__")
            return e

    def rename(self, old: str, new: str) -> None:
        self.expected = {
            new + p[len(old) :] if p.startswith(old) else p: n for p, n in self.expected.items()
        }

    def layer(self, path: str, depth: int) -> Any:
        module = nn.Module()
        module.register_buffer("held", self.tensor(f"{path}.held"))
        module.other = self.build(f"{path}.other", depth)
        return module

    def tensor_attribute(self, path: str, depth: int) -> Any:
        x = self.tensor(path)
        x.held = self.build(f"{path}.held", depth)
        return x


@pytest.mark.parametrize("seed", range(10))
def test_random_structures(seed: int) -> None:
    structure = Structure(seed)
    before = weft.memory_allocated()
    root = [structure.build(f"root[{i}]", 6) for i in range(6)]
    bytes = weft.memory_allocated() - before
    assert bytes == sum(structure.expected.values())  # the generator counts right
    report = memory.report()
    found = {h.path: h.bytes for h in report.holders if h.path.startswith("root")}
    assert found == structure.expected
    check_sums(report)
    del root


@pytest.mark.parametrize("seed", range(10))
def test_random_graphs(seed: int) -> None:
    """What a report says of random graphs: all bytes that go when all tensors are dropped."""
    draw = random.Random(seed)
    before = weft.memory_allocated()
    leaves = [weft.rand(draw.randint(1, 40), 16).requires_grad_() for _ in range(3)]
    kept = list(leaves)
    for _ in range(draw.randint(1, 30)):
        x = draw.choice(kept)
        op = draw.choice(
            [
                weft.exp,
                weft.tanh,
                weft.sigmoid,
                lambda t: t * t,
                lambda t: t.view(-1)[:1],
                weft.sum,
                weft.relu,
            ]
        )
        kept.append(op(x))
        if draw.random() < 0.4:
            del kept[draw.randrange(len(kept))]
        if not kept:
            kept = [weft.ones(5, requires_grad=True)]
    report = memory.report()
    mine = [h for h in report.holders if h.path.split("[")[0] in ("kept", "leaves", "x")]
    assert sum(h.total for h in mine) == report.allocated - before
    nodes = set()
    waiting = [t.grad_fn for t in [*kept, x, *leaves] if t.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if node not in nodes:
            nodes.add(node)
            waiting += [n for n, _ in node.next_functions if n is not None]
    assert sum(h.nodes for h in mine) == len(nodes)
    check_sums(report)
