"""no_grad and its relations: as blocks, as decorators, nested, in generators, in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import weft

MODES = {
    "no_grad": (weft.no_grad, False),
    "enable_grad": (weft.enable_grad, True),
    "set_grad_enabled(False)": (partial(weft.set_grad_enabled, False), False),
    "set_grad_enabled(True)": (partial(weft.set_grad_enabled, True), True),
    "inference_mode": (weft.inference_mode, False),
    "inference_mode(False)": (partial(weft.inference_mode, False), True),
}
every_mode = pytest.mark.parametrize(("make", "inside"), MODES.values(), ids=list(MODES))
both = pytest.mark.parametrize("outside", [True, False])


def recording() -> bool:
    """What the tape does, not what a flag says."""
    done = (weft.ones(1, requires_grad=True) * 2).requires_grad
    assert done == weft.is_grad_enabled()
    return done


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    left = weft.is_grad_enabled(), weft.is_inference_mode_enabled()
    weft.set_grad_enabled(True)
    assert left == (True, False), "a test left the mode switched"


@every_mode
@both
def test_block(make: Callable[[], Any], inside: bool, outside: bool) -> None:
    with weft.set_grad_enabled(outside):
        with make():
            assert recording() == inside
        assert recording() == outside
        with pytest.raises(KeyError), make():
            raise KeyError
        assert recording() == outside


@every_mode
@both
def test_decorator(make: Callable[[], Any], inside: bool, outside: bool) -> None:
    with weft.set_grad_enabled(outside):

        @make()
        def f(a: int, *, b: int = 0) -> tuple[int, bool]:
            "doc"
            if a < 0:
                raise KeyError
            return a + b, recording()

        assert recording() == outside  # also set_grad_enabled, which switches when it is made
        assert f(1, b=2) == (3, inside)
        assert (f.__name__, f.__doc__) == ("f", "doc")
        assert f.__wrapped__(1) == (1, outside)  # type: ignore[attr-defined]
        with pytest.raises(KeyError):
            f(-1)
        assert recording() == outside


@pytest.mark.parametrize("bare", [weft.no_grad, weft.enable_grad, weft.inference_mode])
def test_decorator_without_parentheses(bare: Any) -> None:
    @bare
    def f(x: int) -> tuple[int, bool]:
        return x, recording()

    assert f(3) == (3, bare is weft.enable_grad)


def test_one_object_can_be_entered_again_and_shared() -> None:
    off = weft.no_grad()
    with off:
        with weft.enable_grad():
            with off:
                assert not recording()
            assert recording()
        assert not recording()
    assert recording()

    @off
    def f(depth: int) -> bool:
        with weft.enable_grad():
            return f(depth - 1) if depth else recording()

    assert f(3)
    assert recording()


def test_set_grad_enabled_acts_at_once_and_as_a_block() -> None:
    weft.set_grad_enabled(False)
    assert not recording()
    weft.set_grad_enabled(True)
    switch = weft.set_grad_enabled(False)
    with switch:
        assert not recording()
        with switch:
            assert not recording()
        assert not recording()
    assert recording()
    with switch:
        assert not recording()
    assert recording()
    with pytest.raises(TypeError, match="must be bool, not int"):
        weft.set_grad_enabled(1)  # type: ignore[arg-type]


def test_inference_mode_is_seen_and_left() -> None:
    with weft.inference_mode():
        assert weft.is_inference_mode_enabled()
        with weft.inference_mode(False):
            assert not weft.is_inference_mode_enabled()
            assert recording()
        assert weft.is_inference_mode_enabled()
    assert not weft.is_inference_mode_enabled()


def test_generator_has_its_mode_and_its_caller_the_callers() -> None:
    @weft.no_grad()
    def gen() -> Any:
        got = []
        try:
            while len(got) < 2:
                got.append((yield recording()))
            yield "raise now"
        except KeyError:
            yield recording()
        finally:
            seen.append(recording())
        return got

    seen: list[bool] = []
    g = gen()
    assert next(g) is False
    assert recording()
    assert g.send("a") is False
    assert g.send("b") == "raise now"
    assert g.throw(KeyError()) is False
    assert recording()
    with pytest.raises(StopIteration) as end:
        next(g)
    assert end.value.value == ["a", "b"]
    assert seen == [False]

    g = gen()
    next(g)
    g.close()  # runs the generator's own clean-up, in its mode
    assert seen == [False, False]
    assert recording()

    @weft.no_grad()
    def delegating() -> Any:
        value = yield from inner()
        yield value

    def inner() -> Any:
        yield recording()
        return "end"

    assert list(delegating()) == [False, "end"]


def test_decorating_a_class_warns() -> None:
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @weft.no_grad()
        class Made:
            def __init__(self) -> None:
                self.recorded = recording()

    assert Made().recorded is False


def test_each_thread_has_its_own_mode() -> None:
    seen = []
    with weft.no_grad():
        thread = threading.Thread(target=lambda: seen.append(recording()))
        thread.start()
        thread.join()
    assert seen == [True]
