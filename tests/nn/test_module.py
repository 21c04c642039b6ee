"""``Module``: attributes and their rules, the tree, conversion, copies, text, the cost of a call."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from collections import OrderedDict
from typing import Any

import pytest

import weft
from weft import nn


class Net(nn.Module):
    """One of everything: a parameter, two buffers, a child."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(weft.tensor(2.0))
        self.register_buffer("kept", weft.tensor(1.0))
        self.register_buffer("passing", weft.tensor(1.0), persistent=False)
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Any, *, shift: float = 0.0) -> Any:
        """Scale and shift."""
        return self.layer(x) * self.scale + shift


# ---- attributes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: setattr(m, "l", nn.Linear(1, 1)), "cannot assign module before"),
        (lambda m: setattr(m, "l", nn.Parameter(weft.ones(1))), "cannot assign parameters before"),
        (lambda m: setattr(m, "l", nn.Buffer(weft.ones(1))), "cannot assign buffer before"),
        (lambda m: m.register_buffer("l", weft.ones(1)), "cannot assign buffer before"),
        (lambda m: m.register_parameter("l", None), "cannot assign parameter before"),
    ],
)
def test_before_init(make: Any, message: str) -> None:
    """Members cannot be set before ``super().__init__()``; plain attributes can."""

    class Bad(nn.Module):
        def __init__(self) -> None:
            self.plain = 3
            make(self)

    with pytest.raises(AttributeError, match=message):
        Bad()


def test_init_takes_no_arguments() -> None:
    """What a subclass passes on by mistake is named."""
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        nn.Module(1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'a'"):
        nn.Module(a=1)


@pytest.mark.parametrize("kind", ["parameter", "buffer", "module"])
def test_names(kind: str) -> None:
    """Names are strings without dots, not empty, not taken."""
    m = nn.Module()
    m.taken = 3
    value: Any = {
        "parameter": nn.Parameter(weft.ones(1)),
        "buffer": weft.ones(1),
        "module": nn.ReLU(),
    }[kind]
    register = getattr(m, f"register_{kind}")
    with pytest.raises(TypeError, match=f"{kind} name should be a string. Got int"):
        register(3, value)
    with pytest.raises(KeyError, match=r't contain "\."'):
        register("a.b", value)
    with pytest.raises(KeyError, match="t be empty string"):
        register("", value)
    with pytest.raises(KeyError, match="attribute 'taken' already exists"):
        register("taken", value)


def test_wrong_kinds() -> None:
    """A parameter stays a parameter or None; so do buffers and children."""
    m = Net()
    with pytest.raises(TypeError, match=r"cannot assign 'torch.FloatTensor' as parameter 'scale'"):
        m.scale = weft.ones(1)
    with pytest.raises(TypeError, match="cannot assign 'int' as child module 'layer'"):
        m.layer = 3
    with pytest.raises(TypeError, match="cannot assign 'int' as buffer 'kept'"):
        m.kept = 3
    with pytest.raises(TypeError, match="object to parameter 'p'"):
        m.register_parameter("p", weft.ones(1))
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        m.add_module("p", 3)
    m.kept = weft.zeros(2)
    assert m._buffers["kept"] is m.kept and m.kept.shape == (2,)


def test_members_are_attributes() -> None:
    """The tables and the attributes are always the same, however they are changed."""
    m = nn.Linear(2, 2)
    assert m.weight is m._parameters["weight"]
    m._parameters["weight"] = other = nn.Parameter(weft.zeros(2, 2))
    assert m.weight is other
    del m._parameters["weight"]
    assert not hasattr(m, "weight")
    m.weight = other * 2  # an ordinary attribute now, as weight norm has it
    assert "weight" not in m.state_dict()
    m._parameters = OrderedDict(new=other)
    assert m.new is other and not hasattr(m, "bias")
    m._parameters.update(more=other)
    assert m._parameters.pop("new") is other and not hasattr(m, "new") and m.more is other
    m._parameters.clear()
    assert not hasattr(m, "more")


def test_change_of_kind() -> None:
    """An attribute moves between the tables as its values say."""
    m = nn.Module()
    m.x = 3
    m.x = nn.Parameter(weft.ones(1))
    assert list(m._parameters) == ["x"]
    m.x = None
    assert m.x is None and list(m._parameters) == ["x"] and list(m.parameters()) == []
    with pytest.raises(TypeError, match="cannot assign 'ReLU' as parameter 'x'"):
        m.x = nn.ReLU()
    del m.x
    m.x = nn.ReLU()
    assert list(m._parameters) == [] and list(m._modules) == ["x"]
    m.x = nn.Parameter(weft.ones(1))
    assert list(m._modules) == [] and isinstance(m.x, nn.Parameter)
    del m.x
    assert not hasattr(m, "x") and list(m._parameters) == []
    with pytest.raises(AttributeError, match="'Module' object has no attribute 'x'"):
        del m.x
    m.b = nn.Buffer(weft.ones(1), persistent=False)
    assert list(m.state_dict()) == [] and isinstance(m.b, nn.Buffer)
    m.b = weft.zeros(1)
    assert list(m.state_dict()) == []
    m.b = nn.Buffer(weft.ones(1))
    assert list(m.state_dict()) == ["b"]


def test_user_getattr() -> None:
    """A subclass may define ``__getattr__`` and ask ``super()``, as with PyTorch."""

    class Wrapper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = nn.Linear(3, 1)

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)  # type: ignore[misc]
            except AttributeError:
                return getattr(self.module, name)

    assert Wrapper().in_features == 3
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'zzz'"):
        Wrapper().zzz  # noqa: B018

    class Above(Wrapper):
        def __getattr__(self, name: str) -> Any:
            return getattr(super().__getattr__("module"), name)  # type: ignore[misc]

    assert Above().in_features == copy.deepcopy(Above()).in_features == 3

    class Strict(nn.Module):
        def __getattr__(self, name: str) -> Any:
            return super().__getattr__(name)  # type: ignore[misc]

    with pytest.raises(AttributeError, match="'Strict' object has no attribute 'zzz'"):
        Strict().zzz  # noqa: B018


def test_dir() -> None:
    """Parameters are listed, numbers are not."""
    assert {"weight", "bias"} <= set(dir(nn.Linear(1, 1)))
    assert "0" not in dir(nn.Sequential(nn.ReLU()))


def test_parameter() -> None:
    """What is a parameter, and what cannot be one."""
    x = weft.ones(2)
    p = nn.Parameter(x)
    assert p.data_ptr() == x.data_ptr() and p.requires_grad and p.is_leaf
    assert type(p * 2) is weft.Tensor and not isinstance(x, nn.Parameter)
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    with pytest.raises(RuntimeError, match="Only Tensors of floating point"):
        nn.Parameter(weft.ones(2, dtype=weft.int64))
    assert not nn.Parameter(weft.ones(2, dtype=weft.int64), requires_grad=False).requires_grad
    again = copy.deepcopy(p)
    assert type(again) is nn.Parameter and again is not p and again.requires_grad


# ---- the tree -----------------------------------------------------------------------------------


def test_walks() -> None:
    """Names, order, and what is shared counts once."""
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, shared)
    assert [n for n, _ in net.named_parameters()] == ["0.weight", "0.bias"]
    twice = [n for n, _ in net.named_parameters(remove_duplicate=False)]
    assert twice == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert [n for n, _ in net.named_modules()] == ["", "0"]
    assert [n for n, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1"]
    assert list(net.state_dict()) == twice
    assert len(list(net.parameters())) == 2 and len(list(net.children())) == 1
    assert list(net.parameters(recurse=False)) == []
    assert [n for n, _ in net.named_parameters(prefix="q")] == ["q.0.weight", "q.0.bias"]
    assert [n for n, _ in Net().named_buffers()] == ["kept", "passing"]


def test_paths() -> None:
    """Modules, parameters and buffers by path, with the errors that say what is missing."""
    net = nn.Sequential(Net())
    assert net.get_submodule("0.layer") is net[0].layer and net.get_submodule("") is net
    assert net.get_parameter("0.layer.bias") is net[0].layer.bias
    assert net.get_buffer("0.kept") is net[0].kept
    with pytest.raises(AttributeError, match="Net has no attribute `nope`"):
        net.get_submodule("0.nope.more")
    with pytest.raises(AttributeError, match="`scale` is not an nn"):
        net.get_submodule("0.scale")
    with pytest.raises(AttributeError, match="`kept` is not an nn"):
        net.get_parameter("0.kept")
    with pytest.raises(AttributeError, match="`scale` is not a buffer"):
        net.get_buffer("0.scale")
    net.set_submodule("0.layer", nn.Identity())
    assert isinstance(net[0].layer, nn.Identity)
    with pytest.raises(AttributeError, match="has no attribute `new`"):
        net.set_submodule("0.new", nn.Identity(), strict=True)


def test_modes() -> None:
    """train, eval, requires_grad_, zero_grad, apply reach everything."""
    net = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Linear(2, 1)))
    assert net.eval() is net and not net[0].training and not net[1][0].training
    with pytest.raises(ValueError, match="expected to be boolean"):
        net.train(3)  # type: ignore[arg-type]
    net(weft.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net[1][0].weight.grad.tolist() == [[0.0, 0.0]]
    net.zero_grad()
    assert net[1][0].weight.grad is None
    assert not any(p.requires_grad for p in net.requires_grad_(False).parameters())
    seen: list[str] = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Dropout", "Linear", "Sequential", "Sequential"]


def test_conversion() -> None:
    """dtypes change in place, gradients with them; numbers that count do not."""
    m = nn.Linear(2, 2)
    m(weft.ones(1, 2)).sum().backward()
    weight = m.weight
    m.register_buffer("steps", weft.tensor(3))
    assert m.double() is m and m.weight is weight
    assert weight.dtype == weft.float64 and weight.grad.dtype == weft.float64
    assert m.steps.dtype == weft.int64
    assert m.half().bias.dtype == weft.float16
    assert m.bfloat16().bias.dtype == weft.bfloat16
    assert m.to("cpu", weft.float32).bias.dtype == weft.float32
    assert m.to(weft.ones(1, dtype=weft.float64)).bias.dtype == weft.float64
    assert m.to(device="cpu", dtype=weft.float32).float().cpu().bias.dtype == weft.float32
    assert m.type("torch.DoubleTensor").steps.dtype == weft.float64
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        m.to(weft.int64)
    with pytest.raises(RuntimeError, match="weft has only the device 'cpu'"):
        m.cuda()
    with pytest.raises(RuntimeError, match="cuda"):
        m.to("cuda")
    with pytest.raises(TypeError, match="unexpected keyword argument 'dtyp'"):
        m.to(dtyp=weft.float32)


# ---- copies and text ----------------------------------------------------------------------------


def test_deepcopy() -> None:
    """A copy has its own tensors, the same sharing, and tables of its own."""
    net = nn.Sequential(OrderedDict(a=nn.Linear(2, 2), b=Net()))
    net.alias = net.a
    other = copy.deepcopy(net)
    assert other.alias is other.a and other.a is not net.a
    assert other.a.weight is other.a._parameters["weight"] is not net.a.weight
    assert (other.a.weight == net.a.weight).all()
    other.a._parameters["weight"] = nn.Parameter(weft.zeros(2, 2))
    assert other.a.weight.sum() == 0 and net.a.weight.abs().sum() > 0


def test_shallow_copy_and_pickle() -> None:
    """copy.copy shares the tensors; a pickle has its own; both work as modules."""
    m = Net()
    same = copy.copy(m)
    assert same.scale is m.scale
    same.scale = nn.Parameter(weft.zeros(()))
    assert same._parameters["scale"] is same.scale is not m.scale
    again = pickle.loads(pickle.dumps(m))
    assert list(again.state_dict()) == list(m.state_dict())
    assert again.layer.weight is again.layer._parameters["weight"]
    x = weft.randn(3, 2)
    assert (again(x) == m(x)).all()


def test_freed_at_once() -> None:
    """No cycle keeps a module: its memory goes with the last reference."""
    gc.disable()
    try:
        m = nn.Sequential(nn.Linear(2, 2), Net())
        seen = weakref.ref(m[1].layer.weight), weakref.ref(m)
        del m
        assert seen[0]() is None and seen[1]() is None
    finally:
        gc.enable()


def test_repr() -> None:
    """Trees print as PyTorch prints them."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Module()))
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=2, bias=True)\n"
        "  (1): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Module()\n"
        "  )\n"
        ")"
    )

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.child = nn.Tanh()

        def extra_repr(self) -> str:
            return "a=1\nb=2"

    assert repr(Both()) == "Both(\n  a=1\n  b=2\n  (child): Tanh()\n)"


# ---- the call -----------------------------------------------------------------------------------


def test_call() -> None:
    """Arguments arrive as they are given; forward may be replaced anywhere."""

    class Echo(nn.Module):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return args, kwargs

    m = Echo()
    assert m() == ((), {}) and m(1) == ((1,), {}) and m(1, 2, k=3) == ((1, 2), {"k": 3})
    assert m(input=1, x=2) == ((), {"input": 1, "x": 2}) and m(None) == ((None,), {})
    m.forward = lambda x: x + 1  # type: ignore[method-assign]
    assert m(1) == 2
    other = Echo()
    Echo.forward = lambda self, x: x + 5  # type: ignore[method-assign,assignment]
    assert other(1) == 6
    with pytest.raises(NotImplementedError, match=r"Module \[Module\] is missing the required"):
        nn.Module()(1)


def test_call_is_cheap() -> None:
    """A call without hooks runs no Python function but its forward."""

    class Empty(nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    m, called = Empty(), []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, arg: event == "call" and called.append(frame.f_code))
    try:
        m(1)
    finally:
        sys.setprofile(before)
    assert called == [Empty.forward.__code__]


@pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="notes came with Python 3.11")
def test_errors_name_the_module() -> None:
    """An error in a forward says in which module, by its path from the outermost."""
    net = nn.Sequential(OrderedDict(body=nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 5))))
    with pytest.raises(RuntimeError) as e:
        net(weft.ones(1, 2))
    linear = "Linear(in_features=4, out_features=5, bias=True)"
    assert e.value.__notes__ == [f"  in module Sequential.body.1: {linear}"]
    with pytest.raises(RuntimeError) as e:
        nn.Linear(2, 3)(weft.ones(3))
    assert e.value.__notes__[0].startswith("  in module Linear: Linear(in_features=2")

    class Guarded(nn.Module):
        def forward(self, x: Any) -> Any:
            try:
                return net(x)
            except RuntimeError:
                return None

    assert Guarded()(weft.ones(1, 2)) is None
