"""What Python does with sizes in real programs, eager and compiled for any size, call by call.

Each row makes its state anew for either side. After every call all that can be seen must agree bit for bit: the
result or the error, the state, the arguments and their gradients, the random numbers; and no symbol may be left.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import json
import math
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from jit.compile_lockstep import bits

import weft
import weft.nn.functional as F
from weft import nn

SIZES = (5, 6, 9, 2, 7, 12, 3, 16, 1, 8, 5, 31, 4, 0, 6, 1, 2, 9)
MANY = tuple((7 * i * i + 3 * i) % 23 + 1 for i in range(40))


def rows_of(n: int, turn: int) -> tuple[Any, ...]:
    return (weft.randn(n, 4),)


def content(x: Any) -> Any:
    """All that is in an object, with the classes of numbers and keys."""
    if isinstance(x, weft.Tensor):
        return bits(x)
    if isinstance(x, dict):
        return type(x).__name__, [(content(k), content(v)) for k, v in x.items()]
    if isinstance(x, (list, tuple, collections.deque)):
        return type(x).__name__, [content(v) for v in x]
    if isinstance(x, set):
        return sorted(repr((type(v).__name__, v)) for v in x)
    if isinstance(x, functools.partial):
        return content(x.args), content(x.keywords)
    if isinstance(x, types.FunctionType):
        return content([x.__defaults__, [c.cell_contents for c in x.__closure__ or ()]])
    if hasattr(x, "__dict__") and not isinstance(x, type):
        return content(vars(x))
    return type(x).__name__, repr(x)


def outcome(f: Any, args: tuple[Any, ...], seen: Callable[[], Any], back: bool) -> Any:
    """Make a call, and return all that can be seen after it."""
    try:
        result = f(*args)
        if back and result.requires_grad:
            result.square().sum().backward()
        found = content(result)
    except (RuntimeError, ValueError, IndexError, TypeError, ZeroDivisionError) as e:
        found = type(e).__name__, str(e).partition("\n")[0], content(e.args[1:])
    grads = [content(a.grad) for a in args if isinstance(a, weft.Tensor)]
    return found, content(seen()), content(args), grads, weft.get_rng_state().tolist()


def compared(
    make: Callable[[], tuple[Any, Callable[[], Any]]],
    args_of: Callable[[int, int], tuple[Any, ...]] = rows_of,
    back: bool = False,
) -> Any:
    """Compare eager and compiled calls; return the function that was compiled with ``dynamic=True``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dynamic, sizes in ((None, MANY), (True, SIZES)):
            sides = []
            for wrap in (lambda f: f, lambda f: weft.compile(f, dynamic=dynamic)):  # noqa: B023
                weft.manual_seed(99)
                f, seen = make()
                sides.append((wrap(f), seen))
            for turn, n in enumerate(sizes):
                outcomes = []
                for f, seen in sides:
                    weft.manual_seed(turn)
                    outcomes.append(outcome(f, args_of(n, turn), seen, back))
                assert outcomes[0] == outcomes[1], (turn, n)
    return sides[1][0]


# ---- errors that the function handles ------------------------------------------------------------


def falls_back(x: Any) -> Any:
    try:
        return x.view(-1, 8).sum(0)
    except RuntimeError:
        return x


def looks_for_a_row(x: Any) -> Any:
    try:
        y = x[7]
    except IndexError:
        y = x.sum(0)
    return y * x.shape[0]


def suppresses(x: Any) -> Any:
    y = x
    with contextlib.suppress(RuntimeError):
        y = x.view(-1, 8)
    return y * 2


def cleans_up(x: Any) -> Any:
    try:
        y = x.reshape(x.shape[0] // 2, 2, 4)
    except RuntimeError:
        y = x * 3
    finally:
        x.mul_(2)
    return y


@pytest.mark.parametrize("f", [falls_back, looks_for_a_row, suppresses, cleans_up])
def test_errors_that_the_function_handles(f: Any) -> None:
    compared(lambda: (f, lambda: None))


def test_an_error_comes_with_the_state_that_eager_leaves() -> None:
    def make() -> Any:
        state = {"calls": 0, "sum": weft.zeros(4), "changed": weft.zeros(4)}

        def f(x: Any) -> Any:
            state["calls"] += 1
            state["changed"].add_(1)
            state["sum"] = state["sum"] + weft.rand(4)
            y = x.view(-1, 8)
            state["calls"] += 1
            return y * state["calls"]

        return f, lambda: state

    compared(make)


# ---- numbers of sizes that the function keeps ----------------------------------------------------


class Pair(NamedTuple):
    rows: int
    half: float


@dataclasses.dataclass(frozen=True)
class Frozen:
    rows: int


class Slotted:
    __slots__ = ("rows",)

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __repr__(self) -> str:
        return f"{type(self.rows).__name__} {self.rows}"


KEPT: dict[str, Callable[[int], Any]] = {
    "number": lambda n: n / 2,
    "tuple": lambda n: (n, n + 1),
    "nested": lambda n: {"a": [(n, n * 2)], "b": {"c": n}},
    "key": lambda n: {n: n, (n, 1): 2},
    "set": lambda n: {n, n + 1},
    "deque": lambda n: collections.deque([n, 2], maxlen=3),
    "default dict": lambda n: collections.defaultdict(int, a=n),
    "ordered dict": lambda n: collections.OrderedDict([(n, n), (100, n)]),
    "counter": lambda n: collections.Counter([n, n]),
    "named tuple": lambda n: Pair(n, n / 2),
    "dataclass": lambda n: [Frozen(n)],
    "slots": lambda n: Slotted(n),
    "partial": lambda n: functools.partial(max, n, key=n),
    "closure": lambda n: lambda: n,
    "default": lambda n: lambda k=n: k,
    "namespace": lambda n: types.SimpleNamespace(a=n),
}


@pytest.mark.parametrize("name", KEPT)
def test_no_symbol_stays_in_what_the_function_keeps(name: str) -> None:
    def make() -> Any:
        state: dict[str, Any] = {"kept": None}

        def f(x: Any) -> Any:
            state["kept"] = KEPT[name](x.shape[0])
            return x * 2

        return f, lambda: state

    compared(make)


def test_no_symbol_stays_in_a_class() -> None:
    def make() -> Any:
        class Counter:
            rows = 0

        def f(x: Any) -> Any:
            Counter.rows = x.shape[0]
            return x * Counter.rows

        return f, lambda: Counter.rows

    compared(make)


def test_a_result_with_sizes_as_keys() -> None:
    compared(lambda: (lambda x: {x.shape[0]: x, "n": dict.fromkeys(x.shape, 1)}, lambda: None))


def test_a_derivative_in_python_that_keeps_a_size() -> None:
    class Scale(weft.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.rows = x.shape[0]
            return x * ctx.rows

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.rows

    def leaf(n: int, turn: int) -> tuple[Any, ...]:
        return (weft.randn(n, 4, requires_grad=True),)

    compared(lambda: (Scale.apply, lambda: None), leaf, back=True)


# ---- arguments -----------------------------------------------------------------------------------

ARGUMENTS: dict[str, tuple[Callable[..., Any], Callable[[int, int], tuple[Any, ...]]]] = {
    "a list that grows": (lambda xs: xs.append(1), lambda n, t: ([weft.randn(n, 2)],)),
    "a list in another order": (
        lambda xs: xs.insert(0, xs.pop()),
        lambda n, t: ([weft.randn(n, 2), weft.randn(2)],),
    ),
    "a dict that grows": (lambda d: d.update(b=d["a"] * 2), lambda n, t: ({"a": weft.randn(n)},)),
    "a dict of numbers": (
        lambda x, d: x[: d["at"] + 1] * d["scale"],
        lambda n, t: (weft.randn(n, 4), {"at": t % 3, "scale": 0.5}),
    ),
    "an error after a change": (
        lambda xs: (xs.append(1), json.dumps(xs[0].shape[0]))[1],
        lambda n, t: ([weft.randn(n, 2)],),
    ),
    "zeros with a sign": (
        lambda x, k: (x, str(k), k == 0, math.copysign(1.0, k)),
        lambda n, t: (weft.randn(n, 4), [-0.0, 0.0][t % 2]),
    ),
    "another shape in place": (lambda x: x.t_() * x.shape[1], rows_of),
    "a copy of another shape": (lambda x: x.clone().unsqueeze_(0).shape[1] * x, rows_of),
    "a hook": (
        lambda x: (x.register_hook(lambda g: g * 2), x * x.shape[0])[1],
        lambda n, t: (weft.randn(n, 4, requires_grad=True),),
    ),
    "in place": (lambda x: x.mul_(x.shape[0])[: x.shape[0] // 2].zero_(), rows_of),
    "the same twice": (
        lambda x, y: (x.mul_(2), y + x.shape[0])[1],
        lambda n, t: (lambda x: (x, x if t % 2 else x.clone()))(weft.randn(n, 4)),
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name: str) -> None:
    f, args_of = ARGUMENTS[name]
    compared(lambda: (f, lambda: None), args_of, back=name == "a hook")


def test_a_list_that_is_given_is_the_callers() -> None:
    given: list[Any] = []

    @functools.partial(weft.compile, dynamic=True)
    def f(xs: Any) -> Any:
        given.append(xs)
        return xs[0] * 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(1, 6):
            xs = [weft.ones(n), 3]
            f(xs)
            assert given[-1] is xs


# ---- idioms --------------------------------------------------------------------------------------

IDIOMS: dict[str, Callable[..., Any]] = {
    "type": lambda x: (type(x.shape[0]) is int, type(x.shape[0]).__name__, x * 1),
    "text": lambda x: (f"{x.shape[0]:>5} {x.shape}", "ab" * x.shape[0], str(x.size()), x * 1),
    "json": lambda x: (json.dumps(list(x.shape)), x * 1),
    "math": lambda x: x * math.sqrt(x.shape[0]) + math.gcd(x.shape[0], 12) + math.prod(x.shape),
    "power": lambda x: (2 ** -x.shape[0], pow(2, x.shape[0], 5), x.shape[0] ** 0.5, x * 1),
    "rounding": lambda x: (round(x.shape[0] / 7, 2), divmod(x.shape[0], 3), -x.shape[0] // 4),
    "division by zero": lambda x: 12 // x.shape[0],
    "bits": lambda x: (~x.shape[0], x.shape[0] << 2, x.shape[0] & 3, x.shape[0].bit_length()),
    "order": lambda x: (sorted([x.shape[0], 4]), min(x.shape), max(3, *x.shape), sum(x.shape)),
    "shapes": lambda x: (x.shape[::-1], x.shape + (3,), x.shape == x.t().shape, x.shape.numel()),
    "reshaped": lambda x: x.view(*x.shape[:-1], -1, 2).transpose(0, 1).reshape(-1, *x.shape[:1]),
    "parts": lambda x: [part.sum() * len(part) for part in x.split(2)],
    "interpolated": lambda x: F.interpolate(x[None, None], scale_factor=1.5) if len(x) else x,
}


@pytest.mark.parametrize("name", IDIOMS)
def test_idioms(name: str) -> None:
    compared(lambda: (IDIOMS[name], lambda: None))


class Decoder(nn.Module):
    """Attention to all that came before, kept in a list of tuples and counted in a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(4, 12)
        self.cache = [(weft.zeros(1, 0, 4), weft.zeros(1, 0, 4))]
        self.at = {"rows": 0}

    def forward(self, x: Any) -> Any:
        q, k, v = self.project(x).chunk(3, -1)
        before = self.cache[0]
        k, v = weft.cat([before[0], k], 1), weft.cat([before[1], v], 1)
        self.cache[0] = (k.detach(), v.detach())
        self.at["rows"] += x.shape[1]
        mask = weft.ones(q.shape[1], k.shape[1], dtype=weft.bool).tril(k.shape[1] - q.shape[1])
        scores = (q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).masked_fill(~mask, -math.inf)
        return scores.softmax(-1) @ v * self.at["rows"]


def test_a_cache_of_keys_and_values() -> None:
    def make() -> Any:
        decoder = Decoder()
        return decoder.forward, lambda: [decoder.cache, decoder.at, list(decoder.parameters())]

    compiled = compared(make, lambda n, t: (weft.randn(1, n % 3 + 1, 4),), back=True)
    assert sum(d.replays for d in compiled.any_size) > 5
