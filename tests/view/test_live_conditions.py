"""Conditions of breakpoints: what they say, what they refuse, and random ones against Python."""

from __future__ import annotations

import math
import random

import pytest

from weft.view.live.conditions import DEEPEST, LONGEST, Condition, ConditionError, Scope, matches


def scope(**numbers: float) -> Scope:
    s = Scope()
    s.numbers = dict(numbers)
    return s


def at(module: str, backward: bool = False, **numbers: float) -> Scope:
    s = scope(loss=1.0, step=3.0, memory=1e9)
    s.module, s.backward = module, backward
    s.statistic = lambda name: numbers.get(name, 0.0)
    return s


@pytest.mark.parametrize(
    "text, holds",
    [
        ("loss > 5", True),
        ("stop when loss > 5 and step == 3", True),
        ("STOP WHEN Loss > 5", True),
        ("loss is finite", True),
        ("loss is not finite", False),
        ("loss is nan or memory > 1.5 GB", True),
        ("memory < 1 GiB", False),
        ("grad norm > 100", False),
        ("grad norm of head * 3 > 100", True),
        ("update ratio of head > .1", True),
        ("not (loss < 2*3)", True),
        ("not loss < 2 * 3 and step != 4", True),
        ("-loss < -6.5", True),
        ("loss / 0 > 1", False),
        ("1 / 0 > 1 or loss > 5", False),
        ("grad norm is zero", False),
        ("loss == nan", False),
        ("loss < inf", True),
    ],
)
def test_of_steps(text: str, holds: bool) -> None:
    s = scope(loss=7.0, step=3.0, memory=2e9)
    s.norm = lambda path: {"*": 50.0, "head": 40.0}[path]
    s.ratio = lambda path: 0.2
    assert Condition(text).holds(s) is holds


def test_what_is_not_known_is_false() -> None:
    assert not Condition("loss > 5").holds(scope())
    assert not Condition("loss < 5").holds(scope())
    assert not Condition("grad norm > 0").holds(scope())


@pytest.mark.parametrize(
    "text, module, backward, holds",
    [
        ("any output of layer3 is not finite", "Net.layer3.conv", False, True),
        ("any output of layer3 is not finite", "Net.layer3", False, True),
        ("any output of layer3 is not finite", "Net.layer31", False, False),
        ("any output of layer3 is not finite", "Net.layer3.conv", True, False),
        ("any gradient of layer3 is nan", "Net.layer3.conv", True, True),
        ("any gradient is inf", "Net.layer3.conv", True, False),
        ("any output is nan", "", False, True),
        ("any output of *.conv is nan", "Net.layer3.conv", False, True),
        ("any output of 'layer3.conv' is nan", "Net.layer3.conv", False, True),
        ("any output of 3 is nan", "Net.3", False, True),
        ("absmax of layer3 > 1e4", "Net.layer3.conv", False, True),
        ("absmax of output of layer3 > 1e4", "Net.layer3.conv", False, True),
        ("max of layer3 < -1", "Net.layer3.conv", False, False),
        ("mean of other > 0 or std of layer3 > 1", "Net.layer3", False, True),
        ("any output of layer3 is nan and step == 3", "Net.layer3", False, True),
        ("any output of layer3 is nan and step == 4", "Net.layer3", False, False),
    ],
)
def test_of_ops(text: str, module: str, backward: bool, holds: bool) -> None:
    numbers = {"finite": 9.0, "elements": 10.0, "nan": 1.0, "absmax": 2e4, "max": 3.0, "std": 2.0}
    condition = Condition(text)
    assert condition.of_ops
    assert condition.holds(at(module, backward, **numbers)) is holds
    assert not condition.holds(scope(loss=1.0, step=3.0))  # between ops there is nothing to ask


@pytest.mark.parametrize(
    "text",
    [
        "", "loss", "1 +", "loss >", "loss > 5 or", "loss is big", "any thing of x is nan",
        "import os", "__import__('os')", "loss.real > 1", "loss > 5; step", "(loss > 5", "loss > 5)",
        "any output of layer3 is", "grad > 5", "max > 5", "loss > 5 > 4", "loss + (step > 3) > 1",
        "(loss > 5) > 1", "not 5", "lambda: 1 > 0", "loss > 5 and 3", "x[0] > 1", "loss = 5",
        "any output of () is nan", "'loss' > 5", "\x00", "loss > 5 €",
    ],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        Condition(text)


def test_long_and_deep_ones_are_refused_and_do_not_overflow() -> None:
    for text in ("(" * 400 + "1", "not " * 120 + "loss > 1", "-" * 400 + "1 > 1"):
        with pytest.raises(ConditionError, match=f"{DEEPEST} deep"):
            Condition(text)
    with pytest.raises(ConditionError, match=str(LONGEST)):
        Condition("loss > 1 or " * 100 + "loss > 1")


def test_random_conditions_against_python() -> None:
    """The oracle is Python's own eval of a text of the same tree."""
    r = random.Random(5)

    def number(depth: int) -> tuple[str, str]:
        kind = r.randrange(6 if depth else 2)
        if kind == 0:
            text = repr(round(r.uniform(0, 9), 2))
            return text, text
        if kind == 1:
            return (name := r.choice(["loss", "step", "memory"])), name
        if kind == 2:
            a, b = number(depth - 1)
            return f"-{a}", f"-{b}"
        (a, pa), (b, pb) = number(depth - 1), number(depth - 1)
        sign = r.choice("+-*")
        return f"({a} {sign} {b})", f"({pa} {sign} {pb})"

    def truth(depth: int) -> tuple[str, str]:
        kind = r.randrange(4 if depth else 1)
        if kind == 0:
            (a, pa), (b, pb) = number(2), number(2)
            sign = r.choice(["<", ">", "<=", ">=", "==", "!="])
            return f"{a} {sign} {b}", f"({pa} {sign} {pb})"
        if kind == 1:
            a, pa = truth(depth - 1)
            return f"not ({a})", f"(not {pa})"
        (a, pa), (b, pb) = truth(depth - 1), truth(depth - 1)
        word = r.choice(["and", "or"])
        return f"({a}) {word} ({b})", f"({pa} {word} {pb})"

    found = {True: 0, False: 0}
    while sum(found.values()) < 400:
        text, python = truth(3)
        if len(text) > LONGEST:
            continue
        values = {
            "loss": r.uniform(-5, 5),
            "step": float(r.randrange(9)),
            "memory": r.uniform(0, 9),
        }
        expected = bool(eval(python, {"__builtins__": {}}, dict(values)))
        assert Condition(text).holds(scope(**values)) is expected, text
        found[expected] += 1
    assert min(found.values()) > 50


def test_random_bytes_are_conditions_or_errors() -> None:
    r = random.Random(6)
    words = (
        "any output gradient of is not finite nan loss step ( ) + * > 1.5 'a' layer3.* GB".split()
    )
    for _ in range(3000):
        text = " ".join(r.choice(words) for _ in range(r.randrange(12)))
        try:
            Condition(text).holds(at("Net.a"))
        except ConditionError:
            pass


def test_paths() -> None:
    assert matches("*", "") and matches("Net", "Net.a.b") and matches("a", "Net.a.b")
    assert matches("a.*.c", "Net.a.b.c") and matches("Net.a", "Net.a")
    assert not matches("b", "Net.a.b") and not matches("a.b.c", "Net.a.b")
    assert not matches("", "Net") and math.isnan(Scope().norm("*"))
