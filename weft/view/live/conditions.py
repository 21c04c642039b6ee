"""``Condition``: what a breakpoint waits for, in words: a small language of its own, not Python.

    any output of layer3 is not finite        loss > 5 or loss is nan
    any gradient of net.*.norm is inf         grad norm of head > 100
    absmax of layer3 > 1e4                    step == 200 and memory > 1.5 GB
    update ratio > 0.1                        not (loss < 2 * 3)

Names of modules are paths as ``named_modules`` gives them; ``*`` stands for any part of one.
"""

from __future__ import annotations

import math
import re
from fnmatch import fnmatchcase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    Answer = Callable[["Scope"], Any]

__all__ = ["Condition", "ConditionError", "Scope", "matches"]

LONGEST, DEEPEST = 500, 40
STATISTICS = ("min", "max", "mean", "std", "absmax")
UNITS = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<quoted>'[^']*'|\"[^\"]*\")"
    r"|(?P<word>(?:[A-Za-z_]|\*\.)[\w.*]*)|(?P<sign><=|>=|==|!=|[<>()+\-*/]))"
)
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip


class ConditionError(ValueError):
    """A text that is no condition; says where and what would do.

    >>> from weft.view.live.conditions import Condition
    >>> Condition("loss is large")
    Traceback (most recent call last):
    weft.view.live.conditions.ConditionError: expected finite, nan, inf or zero, got 'large' ...
    """


class Scope:
    """What a condition may ask for; a step fills it in, and an op that just ran.

    Attributes:
        numbers: ``loss``, ``step``, ``memory``, as far as they are known.
        module: path of the module of the op that just ran; None between ops.
        backward: whether that op is one of the backward pass.
        statistic: returns min, max, mean, std, absmax, or how many elements are nan, inf, zero or
            not finite, over all elements of that op's results.
        norm: returns the norm of the gradient of the parameters of some modules.
        ratio: returns the largest ratio of update and weight of these.
    """

    def __init__(self) -> None:
        """Begin with nothing known."""
        self.numbers: dict[str, float] = {}
        self.module: str | None = None
        self.backward = False
        self.statistic: Callable[[str], float] = lambda name: math.nan
        self.norm: Callable[[str], float] = lambda path: math.nan
        self.ratio: Callable[[str], float] = lambda path: math.nan


def matches(path: str, module: str) -> bool:
    """Return whether a module is the one that a condition names, or in it.

    The outermost part of a module's path, the class of the model, may be left out.

    >>> from weft.view.live.conditions import matches
    >>> matches("layer3", "Net.layer3.conv"), matches("*.conv", "Net.layer3.conv")
    (True, True)
    >>> matches("layer", "Net.layer3")
    False
    """
    parts = module.split(".")
    for first in (0, 1):
        for last in range(len(parts), first, -1):
            if fnmatchcase(".".join(parts[first:last]), path):
                return True
    return False


class Condition:
    """A condition that was understood; ``holds`` says whether it does.

    Attributes:
        text: what the user wrote.
        of_ops: it asks for results of ops, so it is to be looked at after each op.
        of_gradients: it asks for gradient norms or update ratios.

    >>> from weft.view.live.conditions import Condition, Scope
    >>> scope = Scope()
    >>> scope.numbers["loss"] = 7.0
    >>> Condition("stop when loss > 5").holds(scope)
    True
    """

    def __init__(self, text: str) -> None:
        """Read the text; ConditionError where it is none."""
        if len(text) > LONGEST:
            raise ConditionError(f"a condition has at most {LONGEST} characters, got {len(text)}")
        self.text = text
        self.of_ops = self.of_gradients = self.of_updates = False
        self._tokens = _tokens(text)
        self._at = self._depth = 0
        for word in ("stop", "when"):
            self._skip(word)
        self._answer = self._either()
        if self._peek():
            self._complain("the end")
        if self._kind != "truth":
            raise ConditionError(f"{text!r} is a number: compare it with another, as in > 100")

    def holds(self, scope: Scope) -> bool:
        """Return whether it holds now; what is not known makes it false."""
        if self.of_ops and scope.module is None:
            return False
        try:
            return bool(self._answer(scope))
        except (KeyError, ZeroDivisionError, OverflowError):
            return False

    # ---- reading --------------------------------------------------------------------------------

    def _peek(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _skip(self, word: str) -> bool:
        if self._peek().lower() != word:
            return False
        self._at += 1
        return True

    def _complain(self, wanted: str) -> NoReturn:
        got = repr(self._peek()) if self._peek() else "the end"
        where = self._tokens[self._at][1] if self._at < len(self._tokens) else len(self.text)
        raise ConditionError(f"expected {wanted}, got {got} at character {where} of {self.text!r}")

    def _need(self, word: str) -> None:
        if not self._skip(word):
            self._complain(repr(word))

    def _either(self) -> Answer:
        parts = [self._both()]
        while self._skip("or"):
            self._must("truth")
            parts.append(self._both())
            self._must("truth")
        return parts[0] if len(parts) == 1 else lambda s: any(p(s) for p in parts)

    def _both(self) -> Answer:
        parts = [self._negated()]
        while self._skip("and"):
            self._must("truth")
            parts.append(self._negated())
            self._must("truth")
        return parts[0] if len(parts) == 1 else lambda s: all(p(s) for p in parts)

    def _negated(self) -> Answer:
        if not self._skip("not"):
            return self._comparison()
        self._deeper()
        inner = self._negated()
        self._must("truth")
        return lambda s: not inner(s)

    def _must(self, kind: str) -> None:
        if self._kind != kind:
            self._complain("a comparison" if kind == "truth" else "a number")

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ConditionError(f"a condition is nested at most {DEEPEST} deep")

    def _comparison(self) -> Answer:
        words = [self._peek().lower()]
        if words[0] in ("any", "output", "gradient") or (
            words[0] == "grad" and self._after().lower() != "norm"
        ):
            return self._quantified()
        left = self._sum()
        if self._peek() in _COMPARE:
            self._must("number")
            compare = _COMPARE[self._take()]
            right = self._sum()
            self._must("number")
            self._kind = "truth"
            return lambda s: compare(left(s), right(s))
        if self._kind == "number" and self._skip("is"):
            wanted = self._property()
            return lambda s: wanted(float(left(s)))
        return left

    def _after(self) -> str:
        return self._tokens[self._at + 1][0] if self._at + 1 < len(self._tokens) else ""

    def _quantified(self) -> Answer:
        """Read ``any output of layer3 is not finite``, or the same of a gradient."""
        self._skip("any")
        backward = self._peek().lower() in ("gradient", "grad")
        if not backward and self._peek().lower() != "output":
            self._complain("output or gradient")
        self._take()
        path = self._path() if self._skip("of") else "*"
        self._need("is")
        negated = self._skip("not")
        kind = self._take().lower()
        counts = {"nan": "nan", "inf": "inf", "zero": "zero", "finite": "finite"}
        if kind not in counts:
            self._at -= 1
            self._complain("finite, nan, inf or zero")
        self.of_ops, self._kind = True, "truth"

        def answer(s: Scope) -> bool:
            if s.backward != backward or s.module is None or not matches(path, s.module):
                return False
            found, elements = s.statistic(counts[kind]), s.statistic("elements")
            return found < elements if negated else elements > 0 and found > 0

        return answer

    def _property(self) -> Callable[[float], bool]:
        negated = self._skip("not")
        tests: dict[str, Callable[[float], bool]] = {
            "finite": math.isfinite, "nan": math.isnan, "inf": math.isinf,
            "zero": lambda x: x == 0,
        }  # fmt: skip
        test = tests.get(self._peek().lower())
        if test is None:
            self._complain("finite, nan, inf or zero")
        self._take()
        self._kind = "truth"
        return lambda x: test(x) != negated

    def _sum(self) -> Answer:
        left = self._product()
        while self._peek() in ("+", "-"):
            self._must("number")
            sign = 1.0 if self._take() == "+" else -1.0
            left = (lambda a, b, k: lambda s: a(s) + k * b(s))(left, self._product(), sign)
            self._must("number")
        return left

    def _product(self) -> Answer:
        left = self._atom()
        while self._peek() in ("*", "/"):
            self._must("number")
            times, right = self._take() == "*", self._atom()
            self._must("number")
            left = (
                (lambda a, b: lambda s: a(s) * b(s))
                if times
                else (lambda a, b: lambda s: a(s) / b(s))
            )(left, right)
        return left

    def _atom(self) -> Answer:
        if self._skip("("):
            self._deeper()
            inner = self._either()
            self._need(")")
            return inner
        if self._skip("-"):
            self._deeper()
            inner = self._atom()
            self._must("number")
            return lambda s: -inner(s)
        self._kind = "number"
        token = self._peek()
        if token[:1].isdigit() or (token[:1] == "." and token[1:2].isdigit()):
            value = float(self._take()) * UNITS.get(self._peek().lower(), 1.0)
            if self._peek().lower() in UNITS:
                self._take()
            return lambda s: value
        return self._quantity()

    def _quantity(self) -> Answer:
        word = self._peek().lower()
        if word in ("loss", "step", "memory"):
            self._take()
            return lambda s: s.numbers[word]
        if word in ("nan", "inf"):
            self._take()
            number = float(word)
            return lambda s: number
        if word in ("grad", "update"):
            self._take()
            self._need("norm" if word == "grad" else "ratio")
            path = self._path() if self._skip("of") else "*"
            self.of_gradients = True
            if word == "grad":
                return lambda s: s.norm(path)
            self.of_updates = True
            return lambda s: s.ratio(path)
        if word in STATISTICS:
            self._take()
            self._need("of")
            if self._peek().lower() == "output":
                self._take()
                self._need("of")
            path, self.of_ops = self._path(), True

            def statistic(s: Scope) -> float:
                if s.module is None or s.backward or not matches(path, s.module):
                    return math.nan
                return s.statistic(word)

            return statistic
        self._complain(
            "a number, loss, step, memory, grad norm, update ratio, any output, any gradient, or "
            "one of " + ", ".join(STATISTICS)
        )

    def _path(self) -> str:
        token = self._take()
        if token[:1] in ("'", '"'):
            token = token[1:-1]
        elif not re.fullmatch(r"[\w.*]+", token):
            self._at -= 1
            self._complain("the path of a module")
        return token


def _tokens(text: str) -> list[tuple[str, int]]:
    found, at = [], 0
    end = len(text.rstrip())
    while at < end:
        m = _TOKEN.match(text, at)
        if m is None:
            rest = text[at:].lstrip()[:1]
            raise ConditionError(f"{rest!r} means nothing at character {at} of {text!r}")
        found.append((m.group().strip(), m.end() - len(m.group().strip())))
        at = m.end()
    return found
