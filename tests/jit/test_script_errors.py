"""What cannot be scripted says so: the construct, the line, the caret, what to write instead."""

# ruff: noqa: F821, B007, E731, F841

# ruff: noqa: UP006, UP035

from __future__ import annotations

from typing import Any, List

import pytest
from jit.script_programs import helper

import weft
import weft as torch

TENSOR = weft.ones(2)
TABLE = {"a": 1}


class Thing:
    """Not data."""


def b_lambda(x):
    f = lambda y: y
    return x


def b_try(x):
    try:
        x = x + 1
    except ValueError:
        pass
    return x


def b_generator(x):
    return sum(v for v in [1, 2])


def b_set(x):
    return {1, 2}


def b_walrus(x):
    if (n := 3) > 2:
        return n
    return 4


def b_nested(x):
    def inner(y):
        return y

    return inner(x)


def b_class(x):
    return Thing()


def b_global(x):
    global TABLE
    return x


def b_import(x):
    import os  # noqa: F401

    return x


def b_yield(x):
    yield x


def b_unknown(x):
    return missing(x)


def b_unknown_value(x):
    return x + missing


def b_tensor_outside(x):
    return x + TENSOR


def b_dict_outside(x):
    return x + TABLE["a"]


def b_open(x):
    return open("f")


def b_eval(x):
    return eval("x")


def b_unassigned(x, n: int):
    if n > 0:
        y = x
    return y


def b_after_loop(x, n: int):
    for i in range(n):
        y = x
    return y


def b_types(x, n: int):
    if n > 0:
        return n
    return "text"


def b_no_return(x, n: int):
    if n > 0:
        return x


def b_declared(n: int) -> str:
    return n


def b_annotation(x: Thing):
    return x


def b_varargs(*xs):
    return xs


def b_kwargs(x):
    return helper(**{"x": x})  # noqa: PIE804


def b_count(x):
    return helper(x, 1, 2)


def b_missing_argument(x):
    return helper(n=3)


def b_odd_argument(x):
    return helper(x, m=3)


def b_call_int(n: int):
    return n(3)


def b_call_tensor(x):
    y = x + 1
    return y(x)


def b_len(x):
    return len(x, x)


def b_method(x):
    return x.numpy()


def b_private(x):
    return x.__class__


def b_loop_else(x):
    for i in range(3):
        pass
    else:
        x = x + 1
    return x


def b_with(x):
    with open("f") as f:
        return x


def b_raise(x):
    raise Thing()


def b_redeclared(n: int):
    k: int = 0
    k = "a"
    return k


def b_index_int(n: int):
    return n[0]


def b_del(x):
    del x
    return 1


def b_load(x):
    return torch.load("file")


def b_default(x, n: int = "a"):  # type: ignore[assignment]
    return x


def b_list_type(x) -> List[int]:
    return ["a"]


ROWS: list[tuple[Any, int, str, str]] = [  # function, line in it, marked text, what is said
    (b_lambda, 1, "lambda y: y", "a lambda cannot be scripted: write a def"),
    (b_try, 1, "try:", "try cannot be scripted: test with if"),
    (b_generator, 1, "(v for v in [1, 2])", "write a list comprehension"),
    (b_set, 1, "{1, 2}", "a set cannot be scripted: use a dict or a list"),
    (b_walrus, 1, "n := 3", "assign on a line of its own"),
    (b_nested, 1, "def inner(y):", "move it to the top of the file"),
    (b_class, 1, "Thing()", "Thing is a class"),
    (b_global, 1, "global TABLE", "pass the value and return it"),
    (b_import, 1, "import os", "import at the top of the file"),
    (b_yield, 1, "yield x", "collect the values in a list"),
    (b_unknown, 1, "missing", "the name 'missing' is not known here"),
    (b_unknown_value, 1, "missing", "the name 'missing' is not known here"),
    (b_tensor_outside, 1, "TENSOR", "is a tensor from outside"),
    (b_dict_outside, 1, "TABLE", "is a dict from outside"),
    (b_open, 1, 'open("f")', "open is not a function of weft, of math"),
    (b_eval, 1, 'eval("x")', "eval is not a function of weft"),
    (b_unassigned, 3, "y", "'y' has no value on some path"),
    (b_after_loop, 3, "y", "'y' has no value on some path"),
    (b_types, 3, 'return "text"', "is of type str, but line"),
    (b_no_return, 2, "return x", "another path ends without a return"),
    (b_declared, 1, "return n", "of type int, but the function returns str"),
    (b_annotation, 0, "Thing", "the type 'Thing' is not one of scripted code"),
    (b_varargs, 0, "xs", "name every parameter"),
    (b_kwargs, 1, '{"x": x}', "write the arguments by name"),
    (b_count, 1, "helper(x, 1, 2)", "takes 2 arguments, here are 3"),
    (b_missing_argument, 1, "helper(n=3)", "is not given its argument 'x'"),
    (b_odd_argument, 1, "helper(x, m=3)", "has no parameter 'm'"),
    (b_call_int, 1, "n", "a int cannot be called"),
    (b_call_tensor, 2, "y", "a Tensor cannot be called"),
    (b_len, 1, "len(x, x)", "len: too many positional arguments"),
    (b_method, 1, "x.numpy()", "no method 'numpy'"),
    (b_private, 1, "x.__class__", "no attribute '__class__'"),
    (b_loop_else, 4, "x = x + 1", "set a flag before break"),
    (b_with, 1, 'open("f")', "with is for the modes of gradients"),
    (b_raise, 1, "raise Thing()", "raise is for these"),
    (b_redeclared, 2, "k", "'k' is declared as int, and is given a str"),
    (b_index_int, 1, "n[0]", "a int has no items"),
    (b_del, 1, "x", "del is for items"),
    (b_load, 1, 'torch.load("file")', "load is not a function that scripted code may call"),
    (b_default, 0, '"a"', "the default of 'n' is no int"),
    (b_list_type, 1, 'return ["a"]', "of type List[str], but the function returns List[int]"),
]


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[r[0].__name__ for r in ROWS])
def test_errors(number: int) -> None:
    """Type, file, line, the line's text, a caret below the construct, and the advice."""
    function, line, marked, said = ROWS[number]
    with pytest.raises(weft.jit.ScriptError) as caught:
        weft.jit.script(function)
    message = str(caught.value)
    first, place, shown, caret = message.split("\n")
    assert said in first, message
    at = function.__code__.co_firstlineno + line
    assert place == f'  File "{__file__}", line {at}, in {function.__name__}'
    width = caret.count("^")
    assert shown[caret.index("^") :][:width] == marked, message


def decorated(f: Any) -> Any:
    """A decorator that stands around."""
    from functools import wraps

    @wraps(f)
    def g(*args: Any) -> Any:
        return f(*args)

    return g


@decorated
def with_decorator(x):
    return x


def test_decorators_are_not_left_out() -> None:
    """Scripting the inner function would change what it does."""
    with pytest.raises(weft.jit.ScriptError, match="a decorator stands around"):
        weft.jit.script(with_decorator)


def test_deep_expressions() -> None:
    """There is a limit, with an error of its own."""
    import linecache

    text = "def deep(x):\n    return " + "-(" * 150 + "x" + ")" * 150 + "\n"
    linecache.cache["<deep>"] = (len(text), None, text.splitlines(True), "<deep>")
    space: dict[str, Any] = {}
    exec(compile(text, "<deep>", "exec"), space)
    with pytest.raises(weft.jit.ScriptError, match="more than 100 expressions within each other"):
        weft.jit.script(space["deep"])
