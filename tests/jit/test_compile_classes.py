"""Objects that get another class, and what is in the classes of tensors, dicts and objects with slots."""

from __future__ import annotations

from typing import Any

import pytest
from jit.compile_calls import runs, warm

import weft
from weft import nn

ONE = weft.ones(1)


class Slots:
    __slots__ = ("at",)


@pytest.mark.parametrize("base", [dict, list, set, Slots, weft.Tensor, nn.Parameter])
def test_another_class(base: Any) -> None:
    """What an object can do follows from its class of now."""

    class Before(base):
        __slots__ = ()

        def scale(self) -> float:
            return 2.0

    class After(base):
        __slots__ = ()

        def scale(self) -> float:
            return 3.0

    it: Any = Before()

    def f(x: Any) -> Any:
        return x * it.scale()

    fast = weft.compile(f)
    warm(fast, ONE)
    assert runs(fast) > 0
    it.__class__ = After
    for _ in range(4):
        assert fast(ONE).item() == 3


def test_another_class_of_a_layer() -> None:
    """Also where it is one of weft's own."""
    layer = nn.ReLU()
    fast = weft.compile(lambda x: layer(x))
    warm(fast, ONE)
    assert runs(fast) > 0
    layer.__class__ = nn.Sigmoid  # type: ignore[assignment]
    assert weft.equal(fast(ONE), weft.sigmoid(ONE))


@pytest.mark.parametrize("base", [weft.Tensor, nn.Parameter])
def test_methods_of_tensors(base: Any) -> None:
    """A class of tensors is looked at, and so is what its methods read."""
    by = [2.0]

    class Scaled(base):
        def scale(self) -> float:
            return by[0]

    it: Any = Scaled(weft.ones(1))

    def f(x: Any) -> Any:
        return x * it.scale()

    fast = weft.compile(f)
    warm(fast, ONE)
    assert runs(fast) > 0
    by[0] = 3.0
    for _ in range(4):
        assert fast(ONE).item() == 3
    Scaled.scale = lambda self: 4.0  # type: ignore[method-assign, assignment]
    for _ in range(4):
        assert fast(ONE).item() == 4


@pytest.mark.parametrize("base", [dict, list])
def test_a_slot_of_a_container(base: Any) -> None:
    """It is no key of the dict that has it."""

    class Kept(base):
        __slots__ = ("scale",)

    it: Any = Kept()

    def f(x: Any) -> Any:
        return x * getattr(it, "scale", 2.0)

    fast = weft.compile(f)
    warm(fast, ONE)
    assert runs(fast) > 0
    for scale in (3.0, None, 4.0):
        if scale is None:
            del it.scale
        else:
            it.scale = scale
        warm(fast, ONE)
        assert weft.equal(fast(ONE), f(ONE))


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("value", [1, 1.5, ("a",)])
def test_ellipsis_for_a_key(value: Any) -> None:
    """It does not stand for the size of a dict, or for its keys."""
    table = {...: value}

    def f(x: Any) -> Any:
        return x * table[...] if value != ("a",) else x * len(table[...])

    fast = weft.compile(f)
    warm(fast, ONE)
    table[...] = 2 * value
    assert weft.equal(fast(ONE), f(ONE))
