"""Guards: each kind holds, notices what it guards, and says what it is; replays after any change equal eager."""

from __future__ import annotations

import collections
import random
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import _C, nn
from weft.jit import guards as g

pytestmark = pytest.mark.filterwarnings("ignore:compile")


class Plain:
    pass


class Slotted:
    __slots__ = ("a", "b")


class Base:
    pass


class Derived(Base):
    pass


def cell_of(value: Any) -> Any:
    return (lambda: value).__closure__[0]  # type: ignore[index]


def empty_cell() -> Any:
    return types.CellType()


def function() -> Any:
    def f(x: int = 1, *, y: int = 2) -> int:
        return x + y

    return f


def slotted() -> Any:
    x = Slotted()
    x.a = 1
    return x


def plain() -> Any:
    x: Any = Plain()
    x.a = 1
    return x


def classes() -> Any:
    return type("C", (Base,), {"a": 1})


# What makes an object, the guard on it, its text, and changes that it must notice.
KINDS: dict[str, tuple[Callable[[], Any], Callable[[Any], g.Guard], str, list[Any]]] = {
    "DictItem": (
        lambda: {"a": 1.0},
        lambda d: g.DictItem(d, "a", 1.0, "d['a']"),
        "d['a'] is 1.0",
        [
            lambda d: d.update(a=2.0),
            lambda d: d.pop("a"),
            lambda d: d.clear(),
            lambda d: d.__setitem__("a", 1),
            lambda d: d.update(a=True),
            lambda d: d.popitem(),
            lambda d: d.__ior__({"a": 3}),
            lambda d: d.__delitem__("a"),
        ],
    ),
    "DictItem of an ordered dict": (
        lambda: collections.OrderedDict(a=1, b=2),
        lambda d: g.DictItem(d, "a", 1, "d['a']"),
        "d['a'] is 1",
        [lambda d: d.update(a=2), lambda d: d.popitem(last=False)],
    ),
    "DictItem of an object": (
        plain,
        lambda x: g.DictItem(x.__dict__, "a", 1, "x.a"),
        "x.a is 1",
        [
            lambda x: setattr(x, "a", 2),
            lambda x: delattr(x, "a"),
            lambda x: vars(x).update(a=3),
            lambda x: object.__setattr__(x, "a", 4),
        ],
    ),
    "DictItem of a class": (
        classes,
        lambda c: g.DictItem(c, "a", 1, "C.a"),
        "C.a is 1",
        [lambda c: setattr(c, "a", 2), lambda c: delattr(c, "a")],
    ),
    "Absent": (
        dict,
        lambda d: g.Absent(d, "a", "d['a']"),
        "d['a'] is absent",
        [lambda d: d.update(a=None), lambda d: d.setdefault("a", 1)],
    ),
    "NoneOf": (
        classes,
        lambda c: g.NoneOf(c, ("b", "c"), "an attribute of C"),
        "an attribute of C is absent: b, c",
        [lambda c: setattr(c, "c", None)],
    ),
    "Keys": (
        lambda: {"a": 1, "b": 2},
        lambda d: g.Keys(d, ("a", "b"), "the keys of d"),
        "the keys of d are 'a', 'b'",
        [lambda d: d.pop("a"), lambda d: d.update(c=1), lambda d: d.update(a=d.pop("a"))],
    ),
    "Keys of an ordered dict": (
        lambda: collections.OrderedDict(a=1, b=2),
        lambda d: g.Keys(d, ("a", "b"), "the keys of d"),
        "the keys of d are 'a', 'b'",
        [lambda d: d.move_to_end("a")],
    ),
    "Members": (
        classes,
        lambda c: g.Members(c, {"a": c.a}, "a member of C"),
        "a member of C is the same: a",
        [lambda c: setattr(c, "a", 2.5), lambda c: delattr(c, "a")],
    ),
    "Mro": (
        lambda: type("C", (Derived,), {}),
        lambda c: g.Mro(c, "the bases of C"),
        "the bases of C are Derived, Base, object",
        [lambda c: setattr(c, "__bases__", (Base,))],
    ),
    "ListItem": (
        lambda: [1, 2],
        lambda x: g.ListItem(x, 1, 2, "x[1]"),
        "x[1] is 2",
        [lambda x: x.pop(), lambda x: x.reverse(), lambda x: x.__setitem__(1, 2.0)],
    ),
    "DequeItem": (
        lambda: collections.deque([1, 2]),
        lambda x: g.DequeItem(x, 1, 2, "x[1]"),
        "x[1] is 2",
        [lambda x: x.pop(), lambda x: x.rotate()],
    ),
    "Elements": (
        lambda: {1},
        lambda x: g.Elements(x, "the elements of x"),
        "the elements of x are 1",
        [lambda x: x.add(2), lambda x: x.clear()],
    ),
    "Length": (
        lambda: [1],
        lambda x: g.Length(x, "the length of x"),
        "the length of x is 1",
        [lambda x: x.append(1), lambda x: x.clear()],
    ),
    "CellIs": (
        lambda: cell_of(1.5),
        lambda c: g.CellIs(c, "'x'"),
        "'x' is 1.5",
        [lambda c: setattr(c, "cell_contents", 2), lambda c: delattr(c, "cell_contents")],
    ),
    "CellEmpty": (
        empty_cell,
        lambda c: g.CellEmpty(c, "'x'"),
        "'x' is unbound",
        [lambda c: setattr(c, "cell_contents", None)],
    ),
    "AttributeIs": (
        slotted,
        lambda x: g.AttributeIs(x, "a", 1, "x.a"),
        "x.a is 1",
        [lambda x: setattr(x, "a", 2), lambda x: delattr(x, "a")],
    ),
    "AttributeMissing": (
        slotted,
        lambda x: g.AttributeMissing(x, "b", "x.b"),
        "x.b is absent",
        [lambda x: setattr(x, "b", None)],
    ),
    "NamespaceIs": (
        plain,
        lambda x: g.NamespaceIs(x, x.__dict__, "the __dict__ of x"),
        "the __dict__ of x is the same dict",
        [lambda x: setattr(x, "__dict__", {"a": 1})],
    ),
    "FunctionIs": (
        function,
        lambda f: g.FunctionIs(f, "the code of f"),
        "the code of f are the same",
        [
            lambda f: setattr(f, "__defaults__", (2,)),
            lambda f: setattr(f, "__defaults__", None),
            lambda f: setattr(f, "__kwdefaults__", {"y": 2}),
            lambda f: setattr(f, "__code__", (lambda x=0: x).__code__),
        ],
    ),
    "TypeIs": (
        plain,
        lambda x: g.TypeIs(x, "the class of x"),
        "the class of x is Plain",
        [lambda x: setattr(x, "__class__", Base)],
    ),
    "Answer": (
        lambda: [1],
        lambda x: g.Answer(lambda: len(x), 1, "len(x)"),
        "len(x) is 1",
        [lambda x: x.append(2)],
    ),
    "TensorMeta": (
        lambda: weft.ones(2, 3),
        lambda t: g.TensorMeta(t, "the shape of t"),
        "the shape of t is the same",
        [
            lambda t: t.requires_grad_(),
            lambda t: setattr(t, "data", weft.ones(3, 2)),
            lambda t: setattr(t, "data", weft.ones(2, 3).double()),
            lambda t: setattr(t, "data", weft.ones(3, 2).t()),
            lambda t: setattr(t, "own", 1),
        ],
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_notices_what_it_guards(name: str) -> None:
    make, guard_on, text, changes = KINDS[name]
    for change in changes:
        x = make()
        guard = guard_on(x)
        assert str(guard) == text
        assert repr(guard) == f"{name.split()[0]}({text})"
        native = g.native([guard])
        assert native.failing() == native.failing() == -1  # the second time by its count
        change(x)
        assert native.failing() == 0
        assert not guard.holds()


def test_every_kind_is_tested() -> None:
    kinds = {kind for kind in g.__all__ if kind[0].isupper()} - {"Guard"}
    assert {name.split()[0] for name in KINDS} == kinds


def test_equal_values() -> None:
    """Numbers and texts may be other objects; NaN is itself, zeros have signs, True is not 1."""
    d: dict[str, Any] = {}
    for value, same, others in (
        (float("nan"), float("nan"), [0.0]),
        (0.0, 0.0, [-0.0, 0, False]),
        (1, 1, [1.0, True]),
        (("a", 10**20), ("a", 10**20), [("a",), ["a", 10**20], ("a", 1e20)]),
        ("text", "".join(["te", "xt"]), [b"text"]),
    ):
        d["a"] = value
        guard = g.DictItem(d, "a", value, "a")
        d["a"] = same
        assert guard.holds()
        for other in others:
            d["a"] = other
            assert not guard.holds()


def test_the_first_that_fails() -> None:
    d, x = {"a": 1}, [1]
    guards = [g.ListItem(x, 0, 1, "x"), g.DictItem(d, "a", 1, "a"), g.Keys(d, ("a",), "keys")]
    assert g.failing(guards) is None
    d["b"] = 2
    assert g.failing(guards) is guards[2]
    x[0] = 2
    assert g.by_kind(guards) == {
        "ListItem": ["x is 1"],
        "DictItem": ["a is 1"],
        "Keys": ["keys are 'a'"],
    }


def test_wrong_arguments() -> None:
    native = _C.Guards()
    for call in (
        lambda: native.dict_item(1, 2, 3),
        lambda: native.keys({}, ["a"]),
        lambda: native.cell_is(1, 2),
        lambda: native.function_is(len, 1, 2, 3),
        lambda: native.mro_is(1, ()),
        lambda: native.list_item((), 0, 1),
        lambda: native.list_item([], -1, 1),
        lambda: native.tensor_meta(1),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()


# ---- counts of changes ---------------------------------------------------------------------------

this = sys.modules[__name__]
a_global = 0


def store_global() -> None:
    global a_global
    a_global += 1


CHANGES: dict[str, Callable[[dict[Any, Any]], Any]] = {
    "set": lambda d: d.__setitem__("a", 2),
    "add": lambda d: d.__setitem__("new", 2),
    "update": lambda d: d.update(a=2),
    "delete": lambda d: d.__delitem__("a"),
    "pop": lambda d: d.pop("a"),
    "popitem": lambda d: d.popitem(),
    "clear": lambda d: d.clear(),
    "setdefault": lambda d: d.setdefault("new", 2),
    "or": lambda d: d.__ior__({"a": 2}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_of_a_dict_are_counted(name: str) -> None:
    """The interpreter reports each of them; where it does not, nothing is counted."""
    d: dict[Any, Any] = {"a": 1}
    before, after = _C._dict_changes(d, lambda: CHANGES[name](d))
    assert before != after
    x: Any = Plain()
    x.a = 1
    counted = _C._dict_changes(x.__dict__, lambda: CHANGES[name](x.__dict__))
    assert counted is None or counted[0] != counted[1]


def test_changes_of_modules_are_counted() -> None:
    for change in (store_global, lambda: setattr(this, "a_global", -1)):
        before, after = _C._dict_changes(vars(this), change)
        assert before != after


def test_many_sets_of_guards_on_one_dict() -> None:
    """One that goes does not end the count for others; a dict that dies is forgotten."""
    for _ in range(3):
        d = {"a": 1}
        natives = [g.native([g.DictItem(d, "a", 1, "a")]) for _ in range(4)]
        assert [n.failing() for n in natives] == [-1] * 4
        del natives[1:3]
        d["a"] = 2
        assert [n.failing() for n in natives] == [0, 0]
        del natives
        d["a"] = 3
        _C._dict_changes(d, lambda: None)


# ---- replays -------------------------------------------------------------------------------------

REACHED: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "the __dict__ of an object": (
        plain, lambda x, o: x * o.a, lambda o: setattr(o, "__dict__", {"a": 3}),
    ),
    "the __dict__ of a module": (
        lambda: nn.Linear(1, 1),
        lambda x, o: x * o.training,
        lambda o: setattr(o, "__dict__", {**o.__dict__, "training": False}),
    ),
    "the __dict__ of a function": (
        lambda: setattr(f := function(), "z", 1) or f,  # type: ignore[func-returns-value]
        lambda x, o: x * o.z,
        lambda o: setattr(o, "__dict__", {"z": 3}),
    ),
    "the shape of a tensor": (
        lambda: weft.ones(2, 2),
        lambda x, o: x * o.shape[0],
        lambda o: setattr(o, "data", weft.ones(5, 2)),
    ),
    "an item at ...": (
        lambda: {...: 2}, lambda x, o: x * o[...], lambda o: o.update({...: 3}),
    ),
    "a slot of a dict": (
        lambda: setattr(o := SlottedDict(a=1), "b", 1) or o,  # type: ignore[func-returns-value]
        lambda x, o: x * o.b,
        lambda o: setattr(o, "b", 3),
    ),
    "a deque": (
        lambda: collections.deque([1.0, 2.0]), lambda x, o: x * o[0], lambda o: o.rotate(),
    ),
}  # fmt: skip


class SlottedDict(dict):  # type: ignore[type-arg]
    __slots__ = ("b",)


@pytest.mark.parametrize("calls", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("name", REACHED)
def test_replays_after_a_change_equal_eager(name: str, calls: int) -> None:
    """Whenever it comes: before a program is made, before its guards are checked, after replays."""
    make, use, change = REACHED[name]
    o, x = make(), weft.ones(1)
    f = weft.compile(lambda x: use(x, o))
    for _ in range(calls):
        assert weft.equal(f(x), use(x, o))
    change(o)
    for _ in range(4):
        assert weft.equal(f(x), use(x, o))
    assert not f.reasons


def test_the_report_lists_guards_by_kind() -> None:
    scale, parts = 2.5, [1.0]
    f = weft.compile(lambda x: x * scale + len(parts))
    for _ in range(4):
        f(weft.ones(1))
    (facts,) = f.report().specializations
    assert facts["guards"]["CellIs"] == ["'parts' is the same list", "'scale' is 2.5"]
    assert facts["guards"]["Length"] == ["the length of 'parts' is 1"]
    assert "    CellIs (2): 'parts' is the same list; 'scale' is 2.5\n" in f"{f.report()}\n"


# ---- any slot that can be reached ----------------------------------------------------------------


def make_tree(rng: random.Random, depth: int) -> Any:
    """Objects of all kinds in each other, with numbers at the ends."""
    if depth == 0:
        return float(rng.randint(1, 9))
    parts = [make_tree(rng, depth - 1) for _ in range(2)]
    kind = rng.randrange(8)
    if kind == 0:
        return dict(zip("ab", parts))
    if kind == 1:
        return collections.OrderedDict(zip("ab", parts))
    if kind == 2:
        return parts
    if kind == 3:
        return collections.deque(parts)
    if kind == 4:
        return tuple(parts)
    made: Any = {5: Plain, 6: Slotted, 7: nn.Identity}[kind]()
    made.a, made.b = parts
    return made


def total(x: Any) -> float:
    """A number that depends on every slot, and on the order of items."""
    if isinstance(x, float):
        return x
    if isinstance(x, dict):
        parts = [total(v) for v in x.values()]
    elif isinstance(x, (list, tuple, collections.deque)):
        parts = [total(v) for v in x]
    else:
        parts = [total(x.a), total(x.b) if hasattr(x, "b") else 0.5]
    return sum(p * (i + 1) for i, p in enumerate(parts))


def change_slot(rng: random.Random, x: Any) -> None:
    """Change something in a tree, somewhere."""
    if isinstance(x, tuple):
        inner = [v for v in x if not isinstance(v, float)]
        return change_slot(rng, rng.choice(inner)) if inner else None
    parts = list(x.values() if isinstance(x, dict) else x) if hasattr(x, "__len__") else [x.a]
    inner = [v for v in parts if not isinstance(v, float)]
    if inner and rng.random() < 0.6:
        return change_slot(rng, rng.choice(inner))
    new = make_tree(rng, rng.randrange(2))
    if isinstance(x, collections.OrderedDict) and x and rng.random() < 0.5:
        x.move_to_end(next(iter(x)))
    elif isinstance(x, dict):
        rng.choice([lambda: x.update(a=new), lambda: x.update(c=new), lambda: x.pop("a", None)])()
    elif isinstance(x, (list, collections.deque)):
        change = [lambda: x.append(new), lambda: x.reverse(), lambda: x.__setitem__(0, new)]
        rng.choice(change)()
    elif isinstance(x, Plain) and rng.random() < 0.4:
        x.__dict__ = {"a": new, "b": 1.0}
    elif isinstance(x, Plain) and rng.random() < 0.3:
        x.__class__ = Base
    else:
        del x.a  # a module takes no number in the place of a child
        x.a = new


@pytest.mark.parametrize("seed", range(30))
def test_replays_after_random_changes_equal_eager(seed: int) -> None:
    """Any slot that a function can reach may change, at any time: it gives what eager calls give."""
    rng = random.Random(seed)
    tree, x = [make_tree(rng, 3)], weft.ones(1)
    f = weft.compile(lambda x: x * total(tree))
    for _ in range(12):
        for _ in range(rng.randint(1, 5)):
            assert f(x).item() == (x * total(tree)).item()
        change_slot(rng, tree[0])
