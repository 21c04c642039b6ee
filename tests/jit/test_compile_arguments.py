"""Arguments in tuples, lists and dicts: a replay takes them apart itself, and tells structures apart."""

import random

import pytest

import weft
from weft.jit.compile.function import CompiledFunction
from weft.utils.pytree import tree_flatten


def weighted(*args, **kwargs):
    """Return a number that depends on each leaf, on its place and on its container."""
    total = weft.zeros(())
    waiting = [(1, x) for x in (args, kwargs)]
    while waiting:
        weight, x = waiting.pop()
        if isinstance(x, weft.Tensor):
            total = total + (x * weight).sum()
        elif isinstance(x, (tuple, list)):
            total = total + 3 * isinstance(x, list) + 0.25 * len(x)
            waiting += [(2 * weight + i, part) for i, part in enumerate(x)]
        elif isinstance(x, dict):
            total = total - 0.5 * (len(x) + 1)
            waiting += [(weight + len(key), part) for key, part in x.items()]
        else:
            total = total + weight * x
    return total


def some(rng, depth=3):
    """Return a random structure; its tensors are three in number at the most, and of two sizes."""
    kind = rng.choice(("leaf", "tuple", "list", "dict")) if depth else "leaf"
    if kind == "leaf":
        return weft.ones(rng.choice((2, 3))) * rng.randrange(9) if rng.random() < 0.8 else 2
    parts = [some(rng, depth - 1) for _ in range(rng.randrange(3))]
    if kind == "dict":
        return {"x" * (i + 1): part for i, part in enumerate(parts)}
    return tuple(parts) if kind == "tuple" else parts


@pytest.mark.parametrize("dynamic", [False, None, True])
@pytest.mark.parametrize("seed", range(12))
def test_structures_are_told_apart(seed, dynamic):
    rng = random.Random(seed)
    kinds = [
        (tuple(some(rng) for _ in range(rng.randrange(1, 3))), {})
        if rng.random() < 0.8
        else ((some(rng),), {"options": rng.choice(({}, [], ()))})
        for _ in range(6)
    ]
    f = weft.compile(weighted, dynamic=dynamic)
    for _ in range(40):
        args, kwargs = rng.choice(kinds)
        assert f(*args, **kwargs).item() == weighted(*args, **kwargs).item()


@pytest.fixture
def slow_calls(monkeypatch):
    """The calls that C++ could not make by itself."""
    made = []
    call = CompiledFunction._call

    def counted(self, args, kwargs):
        made.append(args)
        return call(self, args, kwargs)

    monkeypatch.setattr(CompiledFunction, "_call", counted)
    return made


def test_a_batch_in_a_tuple_is_replayed_without_python(slow_calls):
    f = weft.compile(lambda batch: (batch[0] * batch[1]["y"]).sum())
    batch = [(weft.arange(3.0) + n, {"y": weft.ones(3) * n}) for n in range(20)]
    for x in batch[:8]:
        f(x)
    del slow_calls[:]
    assert [f(x).item() for x in batch] == [(x * y["y"]).sum().item() for x, y in batch]
    assert not slow_calls
    assert f((weft.ones(3), {"z": weft.ones(3), "y": weft.ones(3)})).item() == 3
    assert len(slow_calls) == 1  # another structure


def test_results_in_a_structure_of_arguments_in_one(slow_calls):
    f = weft.compile(lambda batch: {"sum": batch[0] + batch[1], "first": batch[0]})
    for n in range(8):
        x, y = weft.ones(2) * n, weft.ones(2)
        made = f([x, y])
        assert made["first"] is x
        assert made["sum"].tolist() == [n + 1.0] * 2
    assert f.specializations[0].replay.calls >= 4


@pytest.mark.parametrize("dynamic", [False, True])
def test_keywords_without_leaves_are_told_apart(dynamic):
    def f(x, options=None):
        return x[0].sum() if options is None else x[0].sum() * 2

    g = weft.compile(f, dynamic=dynamic)
    for n in (3, 4, 5, 6):
        x = (weft.ones(n),)
        for _ in range(3):
            assert g(x, options={}).item() == 2 * n
        assert g(x).item() == n


def test_subclasses_of_containers_are_told_apart():
    class Odd(dict):
        pass

    f = weft.compile(lambda x, flags: x * len(flags))
    for flags in ([1], [1, 2], Odd(a=1), {"a": 1}):
        for _ in range(4):
            assert f(weft.ones(2), flags).tolist() == [float(len(flags))] * 2


def test_what_code_can_see_is_looked_at_anew_where_it_changed():
    scale = {"by": 2.0}
    f = weft.compile(lambda x: x.sum() * scale["by"], dynamic=True)
    for n in range(2, 12):
        if n % 3 == 0:
            scale["by"] = float(n)
        assert f(weft.ones(n)).item() == n * scale["by"]
    lr = weft.ones(1, requires_grad=True)
    optimizer = weft.optim.SGD([lr], lr=1.0)

    def step(x):
        optimizer.zero_grad()
        (lr * x.sum()).sum().backward()
        optimizer.step()
        return lr.detach() * 1

    compiled, expected = weft.compile(step, dynamic=True), 1.0
    for n in range(2, 14):
        optimizer.param_groups[0]["lr"] = rate = 0.5 ** (n % 4)
        expected -= rate * n
        assert compiled(weft.ones(n)).item() == expected


def test_leaves_are_those_of_the_pytree():
    rng = random.Random(1)
    for _ in range(200):
        x = some(rng)
        leaves, spec = tree_flatten(((x,), {}))
        call = weft.jit.specialize.Call((x,), {})
        assert call.nesting is None or len(call.flat) == len(leaves) == spec.num_leaves
