"""Modules rebuilt from files: arguments, nested modules, errors, and what is not kept alive."""

from __future__ import annotations

import copy
import doctest
import gc
import importlib
import inspect
import io
import pickle
import random
import weakref
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn import functional as F
from weft.serialization import FileError


class Encoder(nn.Module):
    """One layer, and a function that a file can name."""

    def __init__(self, width: int, *, act: Any = F.relu) -> None:
        super().__init__()
        self.layer, self.act = nn.Linear(width, width), act

    def forward(self, x: Any) -> Any:
        return self.act(self.layer(x))


class Net(nn.Module):
    """Keeps all of its arguments."""

    def __init__(self, first: Any, /, second: Any = 2, *rest: Any, named: Any = None, **more: Any):
        super().__init__()
        self.given = (first, second, rest, named, more)
        self.first = first
        self.parts = nn.ModuleList(part for part in rest if isinstance(part, nn.Module))


class Plain(nn.Module):
    """Has nothing but an argument by name."""

    def __init__(self, given: Any = None) -> None:
        super().__init__()
        self.given = given


def again(module: nn.Module, **arguments: Any) -> Any:
    """The module that is made of the file of another one."""
    return module._made.cls.load_from_checkpoint(saved(module), **arguments)


def saved(module: nn.Module) -> io.BytesIO:
    """The file of a module."""
    file = io.BytesIO()
    module.save_checkpoint(file)
    return io.BytesIO(file.getvalue())


def same(a: Any, b: Any) -> bool:
    """Whether two arguments are alike: type, value, tensors and arrays by their elements."""
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return type(a) is type(b) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (weft.Tensor, np.ndarray)):
        return a.dtype == b.dtype and a.tolist() == b.tolist()
    return type(a) is type(b) and bool(a == b)


VALUES: list[Any] = [
    *(1, -2.5, True, None, "text", 3j, b"bytes", range(3), ..., weft.float64, weft.Size([2])),
    *([1, [2, (3, {"a": {4}})]], OrderedDict(b=1, a=[2]), frozenset({1}), {1: {2: 3}}, (), []),
    *(weft.arange(3), [weft.ones(2), {"t": weft.zeros(1)}], np.arange(4), np.float32(0.5)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_data_come_back(value: Any) -> None:
    """Arguments of every kind of data, in every position."""
    made = again(Net(value, value, value, named=value, other=value))
    first, second, rest, named, more = made.given
    assert all(same(x, value) for x in (first, second, *rest, named, more["other"]))
    assert len(rest) == 1 and list(more) == ["other"]


def test_arguments_by_position_name_and_default() -> None:
    """However they were given; what was not given has the default of its time."""
    assert repr(again(nn.Linear(2, out_features=3, bias=False))) == repr(nn.Linear(2, 3, False))
    assert again(Net(1)).given == (1, 2, (), None, {})
    model = weft.load(saved(nn.Linear(2, 3)))["model"]
    assert model["class"] == "weft.nn.Linear"
    assert model["arguments"]["bias"] == ("data", True)


def test_state_is_exact() -> None:
    """All tensors bit for bit, in their dtypes; shared parameters stay shared."""
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 3)).bfloat16()
    net(weft.randn(4, 3).bfloat16())
    made = again(net)
    for (name, a), (other, b) in zip(net.state_dict().items(), made.state_dict().items()):
        assert (name, a.dtype, a.tolist()) == (other, b.dtype, b.tolist())

    made = again(Tied(4))
    assert made.a.weight is made.b.weight


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)
        self.b.weight = self.a.weight


def test_changed_arguments_do_not_matter() -> None:
    """A list that the constructor or its caller changes later is saved as it was given."""
    sizes = [3, 4]
    module = Plain(sizes)
    sizes.append(5)
    assert again(module).given == [3, 4]


def test_modules_among_the_arguments() -> None:
    """Weft's and the user's, nested, in containers; one that is given twice is made once."""
    one = Encoder(2, act=F.gelu)
    net = Net(one, nn.Tanh, one, nn.Sequential(nn.Linear(2, 2), one), named={"act": [nn.ReLU()]})
    made = again(net)
    first, second, (third, chain), named, _ = made.given
    assert first is third is chain[1] and second is nn.Tanh
    assert type(named["act"][0]) is nn.ReLU and first.act is F.gelu
    x = weft.randn(1, 2)
    assert (made.parts[1](x) == net.parts[1](x)).all()


def test_state_outside_of_the_tree_comes_along() -> None:
    """A module that is an argument but no child: its parameters are saved with it."""
    teacher = nn.Linear(2, 2)
    made = again(Plain([teacher]))
    assert (made.given[0].weight == teacher.weight).all()
    assert list(made.state_dict()) == []


def test_containers_are_saved_as_they_are() -> None:
    """What was added to a container, or removed, after it was made."""
    net = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
    net.append(nn.Linear(2, 3))
    del net[1]
    assert repr(again(net)) == repr(net)
    named = nn.Sequential(OrderedDict(first=nn.Linear(1, 2)))
    named.add_module("last", nn.ReLU())
    assert repr(again(named)) == repr(named)
    by_name = nn.ModuleDict({"a": nn.ReLU()})
    by_name["b"] = nn.ModuleList([nn.Linear(1, 1)])
    assert repr(again(by_name)) == repr(by_name)
    values = nn.ParameterList([weft.ones(2)]).append(weft.zeros(3))
    assert repr(again(values)) == repr(values)
    table = nn.ParameterDict({"b": weft.ones(2), "a": weft.ones(1)})
    assert repr(again(table)) == repr(table)
    inner = nn.Sequential()
    outer = Net(inner)
    inner.append(nn.Linear(1, 1))
    assert repr(again(outer)) == repr(outer)


class Block(nn.Sequential):
    """A container with a constructor of its own."""

    def __init__(self, width: int) -> None:
        super().__init__(nn.Linear(width, width), nn.ReLU())


def test_subclasses_of_containers() -> None:
    """Their own arguments are saved, not their children."""
    assert repr(again(Block(3))) == repr(Block(3))


def test_prototypes() -> None:
    """A module that is copied by the one that it is given to."""
    layer = nn.TransformerEncoderLayer(4, 2, 8, activation=F.gelu)
    net = nn.TransformerEncoder(layer, 2)
    for gone in (False, True):
        if gone:
            del layer
        x = weft.randn(3, 1, 4)
        assert (again(net).eval()(x) == net.eval()(x)).all()


def test_lazy_modules() -> None:
    """They are made lazy again, with the shapes of the file; without shapes there is no file."""
    layer = nn.LazyLinear(3)
    with pytest.raises(ValueError, match=r"LazyLinear: 'weight' has no shape yet: call the module"):
        layer.save_checkpoint(io.BytesIO())
    x = weft.ones(1, 2)
    expected = layer(x)
    assert type(layer) is nn.Linear
    assert (again(layer)(x) == expected).all()


def test_arguments_of_the_caller_come_first() -> None:
    """Given ones take the place of saved ones, also of those that the file could not hold."""
    assert again(nn.Dropout(0.5), p=0.25).p == 0.25
    assert again(Net(1, named=print), named=3, second=4, x=5).given == (1, 4, (), 3, {"x": 5})
    assert again(Net(1, 2, print), rest=(3, 4)).given[2] == (3, 4)
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        again(nn.Linear(2, 2), out_features=3)
    assert again(nn.Linear(2, 2), bias=False, strict=False).bias is None


class Hidden:
    """Not data."""


class OwnNew(nn.Module):
    """Takes the arguments to itself."""

    def __new__(cls, width: int = 1) -> Any:
        return super().__new__(cls)

    def __init__(self, width: int = 1) -> None:
        super().__init__()
        self.width = width


def local_module() -> nn.Module:
    """A module whose class has no name that could be looked up."""

    class Local(nn.Module):
        pass

    return Local()


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (
            Plain(Hidden()),
            r"given \(an object of type Hidden\). Pass it again: .*\(path, given=...\)",
        ),
        (Plain(lambda: 0), r"given \(the function <lambda>\)"),
        (Plain([1, {2: print}]), r"given \(the function print\)"),
        (Plain(Hidden), r"given \(the class Hidden\)"),
        (Plain(weft.load), r"given \(the function load\)"),
        (Plain(local_module()), r"given \(a local_module.<locals>.Local, a class that is not"),
        (Plain(random.Random(0)), r"given \(an object of type Random\)"),
        (Net(1, print, named=print), r"second \(.*\); named \(.*\). Pass it again"),
        (Plain(np.array(["text"])), r"given \(an object of type ndarray\)"),
        (OwnNew(3), r"does not know the arguments, because the class has a __new__"),
    ],
    ids=range(10),
)
def test_what_a_file_cannot_hold(module: nn.Module, said: str) -> None:
    """It is saved all the same; loading says which argument to pass."""
    with pytest.raises(TypeError, match=said):
        again(module)


def test_given_again() -> None:
    """As those errors say."""
    hidden = Hidden()
    assert again(Plain(hidden), given=hidden).given is hidden
    assert again(OwnNew(3), width=3).width == 3


def test_classes_must_be_right(tmp_path: Path) -> None:
    """Errors name the class to call, and files that hold no module."""
    path = tmp_path / "x.weft"
    Plain().save_checkpoint(path)
    with pytest.raises(TypeError, match=r"call it on the class of the saved module"):
        nn.Module.load_from_checkpoint(path)
    with pytest.raises(FileError, match=r"of class Plain, not of class Net: call Plain.load_from"):
        Net.load_from_checkpoint(path)
    with pytest.raises(TypeError, match=r"Plain\(\) takes no argument 'other'"):
        Plain.load_from_checkpoint(path, other=1)
    weft.save({"state_dict": {}}, path)
    with pytest.raises(FileError, match=r"x.weft: not a file of save_checkpoint"):
        Net.load_from_checkpoint(path)
    with pytest.raises(FileNotFoundError):
        Net.load_from_checkpoint(tmp_path / "missing")


def described(**changes: Any) -> io.BytesIO:
    """A file that describes a Plain with something changed."""
    model = {"class": "Plain", "arguments": {}, "modules": [], "state_dict": OrderedDict()}
    file = io.BytesIO()
    weft.save({"model": {**model, **changes}}, file)
    return io.BytesIO(file.getvalue())


def entry(name: Any, arguments: Any = None, state: Any = None) -> dict[str, Any]:
    """A module among the arguments."""
    return {"class": name, "arguments": arguments or {}, "state_dict": state}


@pytest.mark.parametrize(
    "changes",
    [
        {"arguments": 3},
        {"arguments": {"given": 3}},
        {"arguments": {"given": ("data",)}},
        {"arguments": {"given": ("data", 1, 2)}},
        {"arguments": {"given": ("eval", "1")}},
        {"arguments": {"given": ("module", 0)}},
        {"arguments": {"given": ("module", -1)}},
        {"arguments": {"given": ("module", True)}},
        {"arguments": {"given": ("module", "os.system")}},
        {"arguments": {"given": ("list", 3)}},
        {"arguments": {"given": ("dict", [1])}},
        {"arguments": {"given": ("dict", [(("list", []), ("data", 1))])}},
        {"arguments": {"given": ("set", [("data", [])])}},
        {"arguments": {"given": ("module", 0)}, "modules": 5},
        {"arguments": {"given": ("module", 0)}, "modules": [5]},
        {"arguments": {"given": ("module", 0)}, "modules": [{}]},
        {"arguments": {"given": ("module", 0)}, "modules": [entry(3)]},
        {"arguments": {"given": ("module", 0)}, "modules": [entry("Plain", [1])]},
        {
            "arguments": {"given": ("module", 0)},
            "modules": [entry("Plain", {"given": ("module", 0)})],
        },
        {"state_dict": 3},
        {"arguments": {"given": ("module", 0)}, "modules": [entry("Plain", state=3)]},
    ],
    ids=range(21),
)
def test_damaged_descriptions(changes: dict[str, Any]) -> None:
    """A file that was tampered with is refused with one kind of error."""
    with pytest.raises(FileError):
        Plain.load_from_checkpoint(described(**changes))


NAMES = """os.system system builtins.eval eval exec __import__ io.open open subprocess.Popen
weft.load weft.save weft.os weft._C weft.nn.os weft.nn.functional weft.nn.init weft.nn.Parameter
weft.nn.module.Module weft.nn.Module.load_from_checkpoint weft.nn.__builtins__ weft.nn.functional.weft
weft.nn.functional.math weft.manual_seed weft.random weft.nn.utils Hidden io pytest Path random.Random
test_names_run_nothing again copy.deepcopy Plain.load_from_checkpoint weft.nn weft . .. weft.""".split()


@pytest.mark.parametrize("kind", ["class", "function", "module"])
def test_names_run_nothing(kind: str) -> None:
    """A file names functions and classes of all sorts: none but layers and ops are found."""
    for name in NAMES:
        value: Any = 0 if kind == "module" else name
        file = described(arguments={"given": (kind, value)}, modules=[entry(name)])
        with pytest.raises(TypeError, match="given"):
            Plain.load_from_checkpoint(file)
    good = {"class": "weft.nn.ReLU", "function": "weft.nn.functional.relu", "module": 0}
    file = described(arguments={"given": (kind, good[kind])}, modules=[entry("weft.nn.ReLU")])
    assert Plain.load_from_checkpoint(file).given is not None


def test_a_class_that_has_changed() -> None:
    """An argument that the class lost is named, and one that it needs now."""
    with pytest.raises(TypeError, match=r"Plain\(\) takes no argument 'gone'"):
        Plain.load_from_checkpoint(described(arguments={"gone": ("data", 1)}))
    file = described(arguments={}, **{"class": "Encoder"})
    with pytest.raises(TypeError, match=r"the file has no 'width', which Encoder\(\) needs"):
        Encoder.load_from_checkpoint(file)


def test_the_rest_of_the_file(tmp_path: Path) -> None:
    """Optimiser, scheduler, numbers and other data, under their names."""
    path = tmp_path / "x.weft"
    net = nn.Linear(2, 1)
    optimizer = weft.optim.Adam(net.parameters(), lr=0.5)
    scheduler = weft.optim.lr_scheduler.StepLR(optimizer, 1)
    net(weft.ones(1, 2)).sum().backward()
    optimizer.step()
    scheduler.step()
    average = nn.Linear(2, 1)
    net.save_checkpoint(
        path, optimizer=optimizer, scheduler=scheduler, epoch=0, step=7, best=[0.5], average=average
    )
    made, rest = nn.Linear.load_from_checkpoint(path, return_rest=True)
    assert (made.weight == net.weight).all()
    assert set(rest) == {"optimizer", "scheduler", "epoch", "step", "best", "average"}
    assert (rest["epoch"], rest["step"], rest["best"]) == (0, 7, [0.5])
    other = weft.optim.Adam(made.parameters())
    other.load_state_dict(rest["optimizer"])
    assert other.param_groups[0]["lr"] == 0.05
    assert (other.state[made.weight]["exp_avg"] == optimizer.state[net.weight]["exp_avg"]).all()
    assert rest["scheduler"]["last_epoch"] == 1
    assert (rest["average"]["state_dict"]["weight"] == average.weight).all()
    net.save_checkpoint(path)
    assert nn.Linear.load_from_checkpoint(path, return_rest=True)[1] == {}
    with pytest.raises(TypeError, match="'model' is the module itself"):
        net.save_checkpoint(path, model=net)
    with pytest.raises(TypeError, match=r"obj\['how'\] is of type builtin_function_or_method"):
        net.save_checkpoint(path, how=print)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_know_how_they_were_made(copied: Any) -> None:
    """Copies and pickles can be saved as well, after the original is gone."""
    net = Net(Encoder(2), [1], nn.Linear(2, 2))
    twin = copied(net)
    assert twin._made is not net._made and twin.first._made is twin._made.args[0]
    del net
    gc.collect()
    made = again(twin)
    assert made.given[1] == [1] and (made.first.layer.weight == twin.first.layer.weight).all()
    shallow = copy.copy(twin)
    assert shallow._made.module is shallow and twin._made.module is twin


def test_nothing_else_is_kept_alive(settled: None) -> None:
    """Arguments that are not data, modules, and graphs behind tensors are free to go."""
    hidden, child, leaf = Hidden(), nn.Linear(2, 2), weft.ones(1, requires_grad=True)
    result = leaf * 2
    references = [weakref.ref(x) for x in (hidden, child, leaf)]
    modules = [nn.Identity(hidden, [child], (h for h in [hidden])), nn.Identity(child, result)]
    assert modules[1]._made.args[1].tolist() == [2]
    del hidden, child, result, leaf
    assert [r() for r in references] == [None, None, None]


def test_a_given_table_is_saved_once() -> None:
    """``from_pretrained`` keeps it as the weight, not as an argument too."""
    table = weft.rand(3, 2)
    for layer in (nn.Embedding.from_pretrained(table), nn.EmbeddingBag.from_pretrained(table)):
        assert "_weight" not in layer._made.kwargs
        assert (again(layer).weight == table).all()
    assert not again(nn.Embedding.from_pretrained(table)).weight.requires_grad


def test_odd_arguments_do_no_harm() -> None:
    """Lists in themselves, objects that refuse to be looked at, sets of modules."""

    class Shy:
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError("leave me alone")

    loop: list[Any] = []
    loop.append(loop)
    nn.Identity(loop, Shy(), {nn.ReLU(), nn.ReLU()}, {nn.ReLU(): 1}, x=Shy())


class Counted:
    """A base class that has a __new__."""

    count = 0

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        made.count = len(args) + len(kwargs)
        return made


class Both(nn.Module, Counted):
    """A module, and something else."""

    def __init__(self, a: int, b: int = 2) -> None:
        super().__init__()
        self.given = (a, b)


def test_other_bases_make_objects_too() -> None:
    """A __new__ behind Module's is called with the arguments."""
    made = again(Both(3, b=4))
    assert made.given == (3, 4) and made.count == 2
    bare: Any = object.__new__(Both)
    bare.__init__(1)
    with pytest.raises(TypeError, match="does not know the arguments"):
        Both.load_from_checkpoint(saved(bare))
    assert Both.load_from_checkpoint(saved(bare), a=5).given == (5, 2)


def test_signatures_are_seen() -> None:
    """Tools that ask a class for its arguments get those of its constructor."""
    assert list(inspect.signature(nn.Linear).parameters)[:2] == ["in_features", "out_features"]
    assert list(inspect.signature(Block).parameters) == ["width"]


def layers() -> dict[type, nn.Module]:
    """A module of each class of weft.nn, out of the examples in its docs."""
    found: dict[type, nn.Module] = {}
    new = nn.Module.__new__

    def noted(cls: Any, *args: Any, **kwargs: Any) -> Any:
        made = new(cls, *args, **kwargs)
        found.setdefault(cls, made)
        return made

    nn.Module.__new__ = noted  # type: ignore[assignment,method-assign]
    try:
        runner = doctest.DocTestRunner(verbose=False)
        finder = doctest.DocTestFinder()
        for cls in {c for c in vars(nn).values() if inspect.isclass(c)}:
            if issubclass(cls, nn.Module):
                for test in finder.find(cls, cls.__name__, globs={"weft": weft}):
                    runner.run(test, out=lambda text: None)
    finally:
        nn.Module.__new__ = new  # type: ignore[method-assign]
    return {c: m for c, m in found.items() if getattr(nn, c.__name__, None) is c}


def test_every_layer_comes_back() -> None:
    """All classes of weft.nn, made as in their docs."""
    importlib.import_module("weft.optim")
    found = layers()
    assert len(found) > 120
    for cls, module in found.items():
        if cls is nn.Module or any(map(nn.parameter.is_lazy, module.parameters())):
            continue
        made = again(module)
        assert repr(made) == repr(module) or "Lazy" in cls.__name__, cls
        state = module.state_dict()
        assert all((made.state_dict()[name] == state[name]).all() for name in state), cls
