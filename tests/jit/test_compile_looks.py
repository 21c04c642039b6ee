"""What a function looks at without an op: tensors it can reach, arguments as objects, settings, libraries."""

from __future__ import annotations

import collections
import ctypes
import math
import multiprocessing
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from jit.compile_calls import runs

import weft
from weft import nn

ONE = weft.ones(1)
torch: Any = weft


def check(f: Any, change: Callable[[], Any], *args: Any, again: bool = True) -> None:
    """Compile, call, change something: then calls give what eager ones give."""
    fast = weft.compile(f)
    for _ in range(4):
        before = fast(*args)
    assert weft.equal(before, f(*args)) and (runs(fast) > 0) == again
    change()
    after = f(*args)
    assert not weft.equal(before, after)
    for _ in range(4):
        assert weft.equal(fast(*args), after)


# ---- tensors that no op reads --------------------------------------------------------------------

LOOKS: dict[str, tuple[Callable[[Any], float], Callable[[], Any]]] = {
    "shape": (lambda t: t.shape[0], lambda: weft.ones(5, 2)),
    "size": (lambda t: t.size(0), lambda: weft.ones(5, 2)),
    "len": (len, lambda: weft.ones(5, 2)),
    "numel": (lambda t: t.numel(), lambda: weft.ones(5, 2)),
    "ndim": (lambda t: t.ndim, lambda: weft.ones(2, 2, 1)),
    "dtype": (lambda t: 1 if t.dtype == weft.float32 else 3, lambda: weft.ones(2, 2).double()),
    "stride": (lambda t: t.stride(0), lambda: weft.ones(2, 2).t()),
    "layout": (lambda t: 1 if t.is_contiguous() else 3, lambda: weft.ones(2, 2).t()),
}


@pytest.mark.parametrize("name", LOOKS)
def test_shape_and_dtype(name: str) -> None:
    look, made = LOOKS[name]
    t = weft.ones(2, 2)

    def change() -> None:
        t.data = made()

    check(lambda x: x * look(t), change, ONE)


def test_whether_a_tensor_wants_a_gradient() -> None:
    net = nn.Linear(1, 1)
    check(
        lambda x: x * sum(p.requires_grad for p in net.parameters()),
        lambda: net.bias.requires_grad_(False),
        ONE,
    )


def test_whether_a_tensor_is_a_leaf() -> None:
    t, w = weft.ones(1), weft.ones(1, requires_grad=True)
    check(lambda x: x * (3 if t.is_leaf else 1), lambda: t.mul_(w), ONE)


@pytest.mark.filterwarnings("ignore:compile")
def test_versions_and_bases() -> None:
    """They differ between tensors that are alike otherwise: such calls run eagerly."""
    t = weft.ones(1)
    check(lambda x: x * (1 if t._version == 0 else 3), lambda: t.add_(1), ONE, again=False)
    f = weft.compile(lambda x: x * (1 if x._base is None else 3))
    for _ in range(4):
        assert f(ONE).item() == 1
    assert f(weft.ones(2)[:1]).item() == 3
    assert any("_base" in reason for reason in f.reasons)


# ---- which object an argument is -----------------------------------------------------------------


def told_apart() -> dict[str, Any]:
    t = weft.ones(1)
    return {
        "is": (lambda x: x * (3 if x is t else 1), t),
        "is not": (lambda x: x * (1 if x is not t else 3), t),
        "in a list": (lambda x, ts=[t]: x * (3 if any(x is u for u in ts) else 1), t),
        "key": (lambda x, d={t: 3.0}: x * d.get(x, 1.0), t),
        "element": (lambda x, s={t}: x * (3 if x in s else 1), t),
        "after a decision": (lambda x: x * (3 if x is t else 1) if x.sum() > 0 else x, t),
    }


@pytest.mark.parametrize("name", told_apart())
@pytest.mark.filterwarnings("ignore:compile")
def test_an_argument_that_is_a_known_tensor(name: str) -> None:
    f, t = told_apart()[name]
    fast = weft.compile(f)
    for _ in range(3):
        for _ in range(4):
            assert fast(weft.ones(1)).item() == 1
        for _ in range(4):
            assert fast(t).item() == 3
    assert runs(fast) >= 10  # the others are replayed all the same


@pytest.mark.filterwarnings("ignore:compile")
def test_two_arguments_that_are_the_same() -> None:
    f = weft.compile(lambda x, y: x * 3 if x is y else x * y)
    for _ in range(4):
        assert f(weft.ones(1), weft.ones(1)).item() == 1
    assert f(ONE, ONE).item() == 3
    assert runs(f) == 2


def test_comparing_with_none_costs_nothing() -> None:
    """Calls that are given a tensor that the function can see are replayed."""
    t = weft.ones(1)
    f = weft.compile(lambda x, y=None: x * 2 if y is None else x * y + t)
    for _ in range(4):
        f(weft.ones(1))
    f(t)
    assert runs(f) == 3


# ---- arguments that are equal, and not the same --------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (0.0, -0.0),
        (complex(0.0, 1.0), complex(-0.0, 1.0)),
        (complex(1.0, 0.0), complex(1.0, -0.0)),
        (1, True),
        (1, 1.0),
        ({1: 0}, {True: 0}),
        ({1: 0}, {1.0: 0}),
        ({0.0: 0}, {-0.0: 0}),
        ((0.0,), (-0.0,)),
    ],
)
def test_equal_arguments(first: Any, second: Any) -> None:
    """Numbers of another kind, zeros of another sign."""
    f = weft.compile(lambda x, k: x * len(repr(k)))
    for k in (first, second, first, second):
        for _ in range(3):
            assert f(ONE, k).item() == len(repr(k))
    assert runs(f) == 8


@pytest.mark.filterwarnings("ignore:compile")
def test_not_a_number() -> None:
    f = weft.compile(lambda x, k: x * (3 if k != k else 1))
    for k in (math.nan, 1.0, float("nan")):
        for _ in range(3):
            assert f(ONE, k).item() == (1 if k == 1 else 3)


def test_numbers_with_attributes() -> None:
    class Number(int):
        pass

    n: Any = Number(1)
    n.k = 1.0
    check(lambda x: x * n.k, lambda: setattr(n, "k", 3.0), ONE)


def test_order_and_kind_of_elements() -> None:
    s: set[Any] = {0, 8}  # in one place of the table: who came first is first

    def turn() -> None:
        s.clear()
        s.update([8])
        s.update([0])

    check(lambda x: x * (1 + next(iter(s))), turn, ONE)
    u: set[Any] = {1}

    def exchange() -> None:
        u.clear()
        u.add(True)

    check(lambda x: x * (3 if any(v is True for v in u) else 1), exchange, ONE)


# ---- what cannot be watched ----------------------------------------------------------------------


class Struct(ctypes.Structure):
    _fields_ = [("value", ctypes.c_double)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: ctypes.c_double(1.0),
        lambda: Struct(1.0),
        lambda: multiprocessing.Value("d", 1.0),
        lambda: multiprocessing.Value("d", 1.0, lock=False),
    ],
)
@pytest.mark.filterwarnings("ignore:compile")
def test_memory_of_others(make: Any) -> None:
    """It is said that calls run eagerly."""
    c = make()
    check(lambda x: x * c.value, lambda: setattr(c, "value", 3.0), ONE, again=False)
    array = (ctypes.c_double * 2)(1.0, 1.0)
    check(lambda x: x * array[0], lambda: array.__setitem__(0, 3.0), ONE, again=False)


# ---- settings, and libraries that are patched ----------------------------------------------------


def test_settings() -> None:
    before = weft.get_num_threads()
    try:
        check(lambda x: x * weft.get_num_threads(), lambda: weft.set_num_threads(before + 1), ONE)
    finally:
        weft.set_num_threads(before)
    try:
        check(
            lambda x: x * (3 if torch.are_deterministic_algorithms_enabled() else 1),
            lambda: torch.use_deterministic_algorithms(True),
            ONE,
        )
    finally:
        torch.use_deterministic_algorithms(False)


layer = nn.Linear(1, 1)
softplus = nn.Softplus()
PATCHED: dict[str, tuple[Any, str, Any]] = {
    "function": (weft, "relu", lambda x: weft.relu(x)),
    "functional": (nn.functional, "gelu", lambda x: weft.nn.functional.gelu(x)),
    "inside of a layer": (nn.functional, "softplus", lambda x: softplus(x)),
    "math": (math, "sqrt", lambda x: x * math.sqrt(4.0)),
    "switch": (
        torch.backends.cudnn,
        "benchmark",
        lambda x: x * bool(torch.backends.cudnn.benchmark),
    ),
}
CLASSES: dict[str, tuple[Any, str, Any]] = {
    "method": (weft.Tensor, "relu", lambda x: x.relu()),
    "layer": (nn.Linear, "forward", lambda x: layer(x)),
    "container": (nn.Sequential, "forward", nn.Sequential(layer)),
}


@pytest.mark.parametrize("name", PATCHED)
def test_libraries_that_are_patched(name: str, monkeypatch: Any) -> None:
    where, key, f = PATCHED[name]
    other = True if key == "benchmark" else lambda *args, **kwargs: 9.0 * ONE
    check(f, lambda: monkeypatch.setattr(where, key, other), ONE)


@pytest.mark.parametrize("name", CLASSES)
def test_classes_of_weft_that_are_patched(name: str, monkeypatch: Any) -> None:
    where, key, f = CLASSES[name]
    check(f, lambda: monkeypatch.setattr(where, key, lambda self, *args: 9.0 * ONE), ONE)


def test_a_method_that_tensors_get(monkeypatch: Any) -> None:
    def f(x: Any) -> Any:
        try:
            return x.nobody_has_this()
        except AttributeError:
            return x

    check(
        f,
        lambda: monkeypatch.setattr(
            weft.Tensor, "nobody_has_this", lambda self: self * 3, raising=False
        ),
        ONE,
    )


# ---- comparing is quick where nothing changed ----------------------------------------------------


def test_changes_that_do_not_matter() -> None:
    """Dicts and classes that change elsewhere are compared anew, and found to be the same."""

    class Scale:
        by = 2.0
        count = 0

    values = collections.OrderedDict(by=1.0)
    holder = types.SimpleNamespace(scale=Scale, values=values, turn=0)
    f = weft.compile(lambda x: x * holder.scale.by * holder.values["by"], fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(8):
            assert f(ONE).item() == 2
            Scale.count, values["by"] = i, 1.0
    assert runs(f) == 6
    values["by"] = 3.0
    assert f(ONE).item() == 6
    Scale.by = 1.0
    assert f(ONE).item() == 3


def test_what_libraries_exchange_themselves() -> None:
    """`catch_warnings` puts another list in the place of `warnings.filters`: nothing is captured anew."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.filters = 4

        def forward(self, x: Any) -> Any:
            if self.filters != 4:
                warnings.warn("other filters", stacklevel=1)
            return x * self.filters

    fast = weft.compile(Net(), fullgraph=True)
    for _ in range(8):
        with warnings.catch_warnings():
            assert fast(ONE).item() == 4
    assert runs(fast) == 6


def test_an_argument_that_is_known_from_the_start() -> None:
    """It is said at once that calls run eagerly, and why."""
    t, mark = weft.ones(1), object()
    f = weft.compile(lambda x: x * (3 if x is mark else 1) + t)
    f(t)
    with pytest.warns(UserWarning, match="tensor that it knows"):
        f(t)
    assert [f(t).item() for _ in range(8)] == [2.0] * 8
    assert sum(v.captures for v in f.specializations) == 1
    for _ in range(4):
        f(weft.ones(1))
    assert runs(f) == 2
