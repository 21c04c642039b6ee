"""Scripted functions give what plain Python gives: values, gradients, errors, text."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from jit.script_programs import CASES, checks, factorial, helper, loops, text

import weft

NAMES = [f.__name__ for f, _ in CASES]


def same(a: Any, b: Any) -> bool:
    """Equal in type and value, tensors bit by bit."""
    if isinstance(a, weft.Tensor):
        return isinstance(b, weft.Tensor) and a.dtype == b.dtype and a.tolist() == b.tolist()
    if isinstance(a, (list, tuple)) and not isinstance(a, str):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


def fresh(x: Any) -> Any:
    """A copy that wants gradients."""
    if isinstance(x, weft.Tensor):
        return x.detach().clone().requires_grad_()
    return tuple(map(fresh, x)) if isinstance(x, tuple) else x


def leaves(x: Any) -> list[Any]:
    """The tensors in a result or in arguments."""
    if isinstance(x, weft.Tensor):
        return [x]
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ()
    return [t for p in parts for t in leaves(p)]


def gradients(f: Callable[..., Any], args: Any) -> Any:
    """The result, and the gradients of the sum of all that has some."""
    args = fresh(args)
    result = f(*args)
    outs = [t for t in leaves(result) if t.requires_grad]
    if outs:
        total = outs[0].sum()
        for t in outs[1:]:
            total = total + t.sum()
        total.backward()
    return result, [t.grad for t in leaves(args)]


@pytest.mark.parametrize("number", range(len(CASES)), ids=NAMES)
def test_equals_python(number: int) -> None:
    """Each construct: result and gradients are those of Python, also from a file."""
    f, calls = CASES[number]
    scripted = weft.jit.script(f)
    file = io.BytesIO()
    scripted.save(file)
    loaded = weft.jit.load(io.BytesIO(file.getvalue()))
    for args in calls:
        wanted = gradients(f, args)
        for g in (scripted, loaded):
            got = gradients(g, args)
            assert same(wanted[0], got[0]), (wanted[0], got[0])
            assert same(
                [g is not None and g for g in wanted[1]], [g is not None and g for g in got[1]]
            )


def test_equal_code_after_loading() -> None:
    """What is printed is the same before and after it was stored."""
    for f, _ in CASES:
        scripted, file = weft.jit.script(f), io.BytesIO()
        scripted.save(file)
        loaded = weft.jit.load(io.BytesIO(file.getvalue()))
        assert loaded.code == scripted.code and str(loaded.graph) == str(scripted.graph)


def test_the_code_is_python() -> None:
    """The printed code runs as Python, and gives the same."""
    import math

    space: dict[str, Any] = {"weft": weft, "math": math, "Tensor": weft.Tensor}
    exec("from typing import *", space)
    for f, calls in CASES:
        scripted = weft.jit.script(f)
        if f.__name__ in ("annotated", "where_am_i"):
            continue  # is_scripting is folded
        for running in scripted.program.functions.values():
            from weft.jit.script.text import code_of

            exec(code_of(running.function), space)
        for args in calls:
            assert same(f(*args), space[f.__name__](*args)), scripted.code


def test_listing() -> None:
    """The graph is text with lines of the user's file, and keeps control flow."""
    shown = str(weft.jit.script(loops).graph)
    assert "for i in range(n):" in shown and "if i == 1:" in shown
    assert "script_programs.py:" in shown and "i: int" in shown
    assert shown.count("total += x * i") == 1  # a loop, not its rounds


@pytest.mark.parametrize(
    ("f", "args", "error", "said"),
    [
        (loops, (1, 2), TypeError, "argument 'x' must be of type Tensor, not int"),
        (loops, (weft.ones(1), 2.0), TypeError, "argument 'n' must be of type int, not float"),
        (loops, (weft.ones(1),), TypeError, "missing the argument 'n'"),
        (loops, (weft.ones(1), 1, 2), TypeError, "takes 2 positional arguments but 3"),
        (checks, (weft.ones(1), 0), AssertionError, "n is 0"),
        (checks, (weft.ones(1), 9), ValueError, "too large"),
        (text, (1, "a", "b"), TypeError, "argument 'x' must be of type float"),
    ],
)
def test_errors_of_calls(f: Any, args: Any, error: Any, said: str) -> None:
    """Wrong arguments, assertions and raised errors."""
    with pytest.raises(error, match=said):
        weft.jit.script(f)(*args)


def test_whole_numbers_for_floats() -> None:
    """An int where a float is declared becomes one."""
    assert same(weft.jit.script(text)(1, 2, "a"), text(1, 2.0, "a"))


def inner(x):  # type: ignore[no-untyped-def]
    return x.reshape(2, 2)


def outer(x):  # type: ignore[no-untyped-def]
    y = x + 1
    return inner(y) * 2


def test_errors_show_the_lines() -> None:
    """An error inside shows each function's line with a caret."""
    with pytest.raises(RuntimeError) as caught:
        weft.jit.script(outer)(weft.ones(3))
    said = str(caught.value)
    assert f'File "{__file__}", line {inner.__code__.co_firstlineno + 1}, in inner' in said
    assert f"line {outer.__code__.co_firstlineno + 2}, in outer" in said
    assert "return x.reshape(2, 2)\n           ^^^^^^^^^^^^^^^" in said
    assert "return inner(y) * 2\n           ^^^^^^^^\n" in said + "\n"


def breaks_in_comprehension(x):  # type: ignore[no-untyped-def]
    return [t.reshape(7) for t in [x, x]]


def breaks_in_condition(x):  # type: ignore[no-untyped-def]
    y = x + 1
    while y:
        y = y - 1
    return y


def breaks_in_branch(x):  # type: ignore[no-untyped-def]
    if x.sum() < 0:
        return x
    elif x > 0:
        return -x
    return x


def breaks_in_items(x):  # type: ignore[no-untyped-def]
    for i in x.sum():
        x = x + i
    return x


@pytest.mark.parametrize(
    ("f", "line", "marked"),
    [
        (breaks_in_comprehension, 1, "t.reshape(7)"),
        (breaks_in_condition, 2, "y"),
        (breaks_in_branch, 3, "x > 0"),
        (breaks_in_items, 1, "x.sum()"),
    ],
)
def test_places_of_errors(f: Any, line: int, marked: str) -> None:
    """Conditions, what loops go over and comprehensions have places of their own."""
    with pytest.raises((RuntimeError, TypeError)) as caught:
        weft.jit.script(f)(weft.ones(2))
    *_, place, shown, caret = str(caught.value).split("\n")
    assert f"line {f.__code__.co_firstlineno + line}, in {f.__name__}" in place
    assert shown[caret.index("^") :][: caret.count("^")] == marked


def test_endless_recursion_is_an_error() -> None:
    """It ends with Python's own error, not with a crash."""
    with pytest.raises(RecursionError):
        weft.jit.script(factorial)(100_000)


def test_scripting_again_and_inside() -> None:
    """A scripted function is itself when scripted, and can be called by others."""
    scripted = weft.jit.script(helper)
    assert weft.jit.script(scripted) is scripted
    space = globals()
    space["scripted_helper"] = scripted
    assert weft.jit.script(calls_scripted)(weft.ones(1)).tolist() == [4.0]


def calls_scripted(x):  # type: ignore[no-untyped-def]
    return scripted_helper(x, 4)  # type: ignore[name-defined]  # noqa: F821


def test_what_cannot_be_scripted() -> None:
    """Classes, odd objects, unsupported arguments."""
    with pytest.raises(NotImplementedError, match=r"script\(Linear\): classes"):
        weft.jit.script(weft.nn.Linear)
    with pytest.raises(TypeError, match="takes a function or a module, not a int"):
        weft.jit.script(3)
    with pytest.raises(NotImplementedError, match="optimize"):
        weft.jit.script(helper, optimize=True)
    with pytest.raises(weft.jit.ScriptError, match="a lambda cannot be scripted"):
        weft.jit.script(lambda x: x)
    with pytest.raises(weft.jit.ScriptError, match="source cannot be found"):
        space: dict[str, Any] = {}
        exec("def f(x):\n  return x", space)
        weft.jit.script(space["f"])
    with pytest.raises(TypeError, match=r"saved by weft\.jit\.save"):
        import pickle

        pickle.dumps(weft.jit.script(helper))
    with pytest.raises(TypeError, match=r"Linear: scripted modules are saved by weft\.jit\.save"):
        pickle.dumps(weft.jit.script(weft.nn.Linear(1, 1)))


def test_copies_of_modules() -> None:
    """A deep copy has tensors of its own, a shallow one the same."""
    import copy

    scripted = weft.jit.script(weft.nn.Sequential(weft.nn.Linear(2, 2), weft.nn.ReLU()))
    deep, shallow = copy.deepcopy(scripted), copy.copy(scripted)
    x = weft.ones(1, 2)
    want = scripted(x)
    with weft.no_grad():
        for p in scripted.parameters():
            p.zero_()
    assert weft.equal(deep(x), want)
    assert shallow(x).tolist() == [[0.0, 0.0]]
