"""Names that nothing stood for when a call was captured, names that code computes, and classes that change."""

from __future__ import annotations

import builtins
import functools
import operator
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from jit.compile_calls import runs

import weft
from weft import nn

ONE = weft.ones(1)
SCALE = 1.0
CASES: dict[str, Callable[[], tuple[Any, Callable[[], Any]]]] = {}  # (f, what changes)


def case(make: Callable[[], tuple[Any, Callable[[], Any]]]) -> Any:
    CASES[make.__name__] = make
    return make


class Plain:
    """An object to put attributes on."""


def of_a_script(text: str, **members: Any) -> dict[str, Any]:
    """Run a small program in a module of its own."""
    members["__name__"] = "a_script_of_somebody"
    exec(text, members)
    return members


# ---- what was missing ----------------------------------------------------------------------------


@case
def attribute_that_is_tried() -> Any:
    c: Any = Plain()

    def f(x: Any) -> Any:
        try:
            return x * c.scale
        except AttributeError:
            return x

    return f, lambda: setattr(c, "scale", 3.0)


@case
def attribute_asked_for() -> Any:
    c = Plain()
    return lambda x: x * (3.0 if hasattr(c, "k") else 1.0), lambda: setattr(c, "k", 1)


@case
def attribute_of_a_layer() -> Any:
    layer = nn.Linear(1, 1)
    return lambda x: layer(x) * getattr(layer, "gain", 1.0), lambda: setattr(layer, "gain", 3.0)


@case
def buffer_of_a_module() -> Any:
    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * self.gain if hasattr(self, "gain") else x

    net = Net()
    return net, lambda: net.register_buffer("gain", weft.full((1,), 3.0))


@case
def attribute_of_the_class() -> Any:
    class C:
        pass

    c = C()
    return lambda x: x * getattr(c, "k", 1.0), lambda: setattr(C, "k", 3.0)


@case
def attribute_of_a_base() -> Any:
    class Base:
        pass

    class C(Base):
        pass

    c = C()
    return lambda x: x * getattr(c, "k", 1.0), lambda: setattr(Base, "k", 3.0)


@case
def attribute_of_a_module_class() -> Any:
    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * getattr(self, "k", 1.0)

    return Net(), lambda: setattr(Net, "k", 3.0)


@case
def attribute_of_an_optimizer() -> Any:
    op: Any = weft.optim.SGD([nn.Parameter(weft.ones(1))], lr=0.1)
    return lambda x: x * getattr(op, "gain", 1.0), lambda: setattr(op, "gain", 3.0)


@case
def attribute_of_a_tensor() -> Any:
    t: Any = weft.ones(1)
    return lambda x: x * getattr(t, "k", 1.0), lambda: setattr(t, "k", 3.0)


@case
def attribute_of_a_function() -> Any:
    def g() -> None: ...

    return lambda x: x * getattr(g, "k", 1.0), lambda: setattr(g, "k", 3.0)


@case
def attribute_of_a_python_module() -> Any:
    m = types.ModuleType("a_module_of_somebody")
    return lambda x: x * getattr(m, "k", 1.0), lambda: setattr(m, "k", 3.0)


@case
def attribute_in_front_of_a_function() -> Any:
    """`__getattr__` is not asked for what is there."""

    class C:
        def __getattr__(self, name: str) -> float:
            return 1.0

    c = C()
    return lambda x: x * c.k, lambda: setattr(c, "k", 3.0)


@case
def function_for_attributes() -> Any:
    class C:
        pass

    c = C()
    return (
        lambda x: x * getattr(c, "k", 1.0),
        lambda: setattr(C, "__getattr__", lambda self, name: 3.0),
    )


@case
def property_in_front_of_an_attribute() -> Any:
    class C:
        def __init__(self) -> None:
            self.k = 1.0

    c = C()
    return lambda x: x * c.k, lambda: setattr(C, "k", property(lambda self: 3.0))


@case
def method_of_an_operator() -> Any:
    class C:
        pass

    c = C()
    return lambda x: x * (1.0 if c else 3.0), lambda: setattr(C, "__bool__", lambda self: False)


@case
def global_that_is_tried() -> Any:
    text = "def f(x):\n    try: return x * SCALE\n    except NameError: return x"
    members = of_a_script(text)
    return members["f"], lambda: members.update(SCALE=3.0)


@case
def global_in_front_of_a_builtin() -> Any:
    members = of_a_script("def f(x): return x * max(1.0, 0.5)")
    return members["f"], lambda: members.update(max=lambda a, b: 3.0)


@case
def global_by_its_name() -> Any:
    members = of_a_script("def f(x): return x * globals().get('SCALE', 1.0)")
    return members["f"], lambda: members.update(SCALE=3.0)


@case
def builtin() -> Any:
    text = "def f(x):\n    try: return x * scale_of_all\n    except NameError: return x"
    return of_a_script(text)["f"], lambda: setattr(builtins, "scale_of_all", 3.0)


@case
def module_that_is_imported() -> Any:
    def f(x: Any) -> Any:
        try:
            import a_module_that_comes_later  # type: ignore[import-not-found]
        except ImportError:
            return x
        return x * a_module_that_comes_later.k

    made: Any = types.ModuleType("a_module_that_comes_later")
    made.k = 3.0
    return f, lambda: sys.modules.update(a_module_that_comes_later=made)


# ---- names that are computed ---------------------------------------------------------------------


@case
def computed_of_a_module() -> Any:
    m: Any = types.ModuleType("a_module_of_somebody")
    m.a1 = 1.0
    i = 1
    return lambda x: x * getattr(m, f"a{i}"), lambda: setattr(m, "a1", 3.0)


@case
def computed_of_a_class() -> Any:
    class C:
        a1 = 1.0

    i = 1
    return lambda x: x * getattr(C, "a" + str(i)), lambda: setattr(C, "a1", 3.0)


@case
def computed_and_missing() -> Any:
    class C:
        pass

    c, i = C(), 1
    return lambda x: x * getattr(c, f"a{i}", 1.0), lambda: setattr(C, "a1", 3.0)


@case
def computed_in_another_function() -> Any:
    m: Any = types.ModuleType("a_module_of_somebody")
    m.a1 = 1.0

    def get(of: Any, key: str) -> Any:
        return getattr(of, key)

    return lambda x: x * get(m, "a" + str(len("x"))), lambda: setattr(m, "a1", 3.0)


@case
def method_by_a_computed_name() -> Any:
    class Net(nn.Module):
        mode = "here"

        def forward(self, x: Any) -> Any:
            return getattr(self, f"forward_{self.mode}")(x)

        def forward_here(self, x: Any) -> Any:
            return x * SCALE

    return Net(), set_scale


@case
def getter_of_a_library() -> Any:
    c: Any = Plain()
    c.inner = Plain()
    c.inner.k = 1.0
    get = operator.attrgetter("inner.k")
    return lambda x: x * get(c), lambda: setattr(c.inner, "k", 3.0)


@case
def getter_made_inside() -> Any:
    c: Any = Plain()
    c.inner = Plain()
    c.inner.k = 1.0
    return (
        lambda x: x * operator.attrgetter("inner.k")(c),
        lambda: setattr(c.inner, "k", 3.0),
    )


@case
def caller_of_a_method() -> Any:
    class C:
        def k(self) -> float:
            return 1.0

    c, call = C(), operator.methodcaller("k")
    return lambda x: x * call(c), lambda: setattr(C, "k", lambda self: 3.0)


@case
def name_in_a_text() -> Any:
    c: Any = Plain()
    c.k = 1.0
    return lambda x: x * float("{.k}".format(c)), lambda: setattr(c, "k", 3.0)  # noqa: UP032


@case
def name_in_a_pattern() -> Any:
    text = "def f(x):\n  match c:\n    case C(k=1.0): return x\n    case _: return x * 3"
    c: Any = Plain()
    c.k = 1.0
    return of_a_script(text, C=Plain, c=c)["f"], lambda: setattr(c, "k", 2.0)


@case
def all_of_a_module() -> Any:
    m: Any = types.ModuleType("a_module_of_somebody")
    m.k = 1.0
    return lambda x: x * vars(m)["".join(["k"])], lambda: setattr(m, "k", 3.0)


# ---- code that is called by others ---------------------------------------------------------------


def set_scale(to: float = 3.0) -> None:
    global SCALE
    SCALE = to


def gradient_of(function: Any) -> Any:
    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        return weft.autograd.grad(function.apply(x).sum(), x)[0]

    return f


class Scaled(weft.autograd.Function):
    by = 1.0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:  # type: ignore[override]
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        return g * SCALE * Scaled.by


@case
def global_in_a_derivative() -> Any:
    return gradient_of(Scaled), set_scale


@case
def attribute_in_a_derivative() -> Any:
    return gradient_of(Scaled), lambda: setattr(Scaled, "by", 3.0)


@case
def derivative_that_is_replaced() -> Any:
    class Mine(Scaled):
        pass

    return gradient_of(Mine), lambda: setattr(Mine, "backward", staticmethod(lambda ctx, g: g * 3))


@case
def what_is_chosen_by_type() -> Any:
    @functools.singledispatch
    def scale(x: Any) -> float:
        return 1.0

    return lambda x: x * scale(1), lambda: scale.register(int, lambda x: 3.0)


@case
def code_chosen_by_type() -> Any:
    @functools.singledispatch
    def scale(x: Any) -> float:
        return 1.0

    scale.register(int, lambda x: SCALE)
    return lambda x: x * scale(1), set_scale


@case
def what_was_remembered() -> Any:
    values = [1.0]

    @functools.lru_cache
    def scale() -> float:
        return values[0]

    scale()
    values[0] = 3.0
    return lambda x: x * scale(), scale.cache_clear


# ---- classes that become others ------------------------------------------------------------------


@case
def bases() -> Any:
    class A(nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    class B(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 3

    class C(A):
        pass

    return C(), lambda: setattr(C, "__bases__", (B,))


@case
def attribute_of_a_metaclass() -> Any:
    class Meta(type):
        k = 1.0

    class C(metaclass=Meta):
        pass

    return lambda x: x * C.k, lambda: setattr(Meta, "k", 3.0)


@case
def metaclass() -> Any:
    class Meta(type):
        k = 1.0

    class Other(type):
        k = 3.0

    class C(metaclass=Meta):
        pass

    return lambda x: x * C.k, lambda: setattr(C, "__class__", Other)


@pytest.mark.parametrize("name", CASES)
def test_what_appears_or_changes_is_seen(name: str) -> None:
    """Calls are replayed without Python; after a change, they give what eager ones give."""
    f, change = CASES[name]()
    fast = weft.compile(f)
    try:
        for _ in range(4):
            before = fast(ONE)
        assert weft.equal(before, f(ONE)) and runs(fast) > 0
        change()
        after = f(ONE)
        assert not weft.equal(before, after)
        for _ in range(4):
            assert weft.equal(fast(ONE), after)
    finally:
        set_scale(1.0)
        Scaled.by = 1.0
        vars(builtins).pop("scale_of_all", None)
        sys.modules.pop("a_module_that_comes_later", None)


def test_what_no_code_names_may_appear() -> None:
    """New globals, attributes and methods that the function has no use for change nothing."""
    c: Any = Plain()
    c.k = 2.0
    members = of_a_script("def f(x): return x * c.k", c=c)
    fast = weft.compile(members["f"], fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(8):
            assert fast(ONE).item() == 2
            members[f"another_{i}"] = i
            setattr(c, f"another_{i}", i)
    (specialization,) = fast.specializations
    assert specialization.captures == 2 and runs(fast) == 6


def test_what_a_module_was_made_of() -> None:
    """A count that only `__init__` reads and changes is no reason to capture anew."""

    class Net(nn.Module):
        made = 0

        def __init__(self, start: Any) -> None:
            super().__init__()
            Net.made += 1

        def forward(self, x: Any) -> Any:
            return x * 2

    start: list[int] = []
    fast = weft.compile(Net(start), fullgraph=True)
    for i in range(8):
        assert fast(ONE).item() == 2
        start.append(i)
        Net(start)
    assert runs(fast) == 6


def test_parts_by_number_are_compiled() -> None:
    """`getattr(self, f"layer{i}")` needs no more of the class than methods of such names."""
    data = __import__("numpy").ones(3)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer0, self.layer1 = nn.Linear(2, 2), nn.Linear(2, 2)

        def load(self) -> Any:
            return data

        def forward(self, x: Any) -> Any:
            for i in range(2):
                x = getattr(self, f"layer{i}")(x)
            return x

    net = Net()
    fast = weft.compile(net, fullgraph=True)
    x = weft.ones(1, 2)
    for _ in range(4):
        assert weft.equal(fast(x), net(x))
    net.layer1 = nn.Linear(2, 2)
    for _ in range(4):
        assert weft.equal(fast(x), net(x))
    assert runs(fast) == 4


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.filterwarnings("ignore:compile")
def test_an_array_under_a_computed_name(computed: bool) -> None:
    """It cannot be watched, and may be what is looked for; not where a library is looked into."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table1 = __import__("numpy").ones(1)
            self.kind = "relu"

    class Looking(Net):
        def forward(self, x: Any) -> Any:
            return x * float(getattr(self, f"table{len(x)}")[0])

    class Choosing(Net):
        def forward(self, x: Any) -> Any:
            return getattr(nn.functional, self.kind)(x)

    net = Looking() if computed else Choosing()
    fast = weft.compile(net)
    for _ in range(4):
        fast(ONE)
    assert (runs(fast) > 0) is not computed
    net.table1[0] = 3.0
    assert weft.equal(fast(ONE), net(ONE))
