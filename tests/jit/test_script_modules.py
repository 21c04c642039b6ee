"""Scripted, traced and frozen modules: same results, same state, live parameters."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from jit.script_modules import Base, Derived, Mlp, Net, made

import weft
from weft import jit, nn

KINDS = [type(m).__name__ for m, _ in made()]


def near(a: Any, b: Any) -> bool:
    """Equal up to rounding: traces of recurrent layers are made of steps."""
    if isinstance(a, weft.Tensor):
        return weft.allclose(a, b, atol=1e-6)
    parts = [x.values() if isinstance(x, dict) else x for x in (a, b)]
    return all(map(near, *parts))


def flat(x: Any) -> list[Any]:
    """The numbers of all tensors in a result."""
    if isinstance(x, weft.Tensor):
        return [x.tolist()]
    return [v for part in (x.values() if isinstance(x, dict) else x) for v in flat(part)]


def total(x: Any) -> Any:
    """The sum of all tensors in a result."""
    if isinstance(x, weft.Tensor):
        return x.sum()
    return sum(total(p) for p in (x.values() if isinstance(x, dict) else x))


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_scripted_modules(number: int) -> None:
    """Results, gradients, state and modes are those of the module."""
    module, inputs = made()[number]
    twin = copy.deepcopy(module)
    scripted = jit.script(twin)
    assert isinstance(scripted, jit.ScriptModule) and isinstance(scripted, nn.Module)
    assert list(scripted.state_dict()) == list(module.state_dict())
    assert [n for n, _ in scripted.named_parameters()] == [n for n, _ in module.named_parameters()]
    for mode in (False, True):
        module.train(mode)
        scripted.train(mode)
        weft.manual_seed(1)
        wanted = module(*inputs)
        weft.manual_seed(1)
        got = scripted(*inputs)
        assert flat(wanted) == flat(got)
    total(wanted).backward()
    total(got).backward()
    for (name, p), q in zip(module.named_parameters(), scripted.parameters()):
        assert (p.grad is None) == (q.grad is None), name
        assert p.grad is None or p.grad.tolist() == q.grad.tolist(), name


def test_parameters_are_shared_and_modes_are_not() -> None:
    """Training the scripted module trains the module; eval() of one is not that of the other."""
    module = Net()
    scripted = jit.script(module)
    for p, q in zip(module.parameters(), scripted.parameters()):
        assert p is q
    scripted.eval()
    assert module.training and module.blocks[0].body[1].training
    assert not scripted.blocks[0].body[1].training
    optimizer = weft.optim.SGD(scripted.parameters(), lr=0.1)
    total(scripted(weft.ones(1, 2, 4, 4))).backward()
    optimizer.step()
    module.eval()
    x = weft.randn(1, 2, 4, 4)
    assert flat(module(x)) == flat(scripted(x))


def test_methods_and_attributes() -> None:
    """Exported methods, attributes that change, unused methods, deep copies."""
    scripted = jit.script(Mlp()).eval()
    scripted(weft.ones(1, 3), 2)
    assert scripted.calls == 1 and scripted.describe() == "1 calls of width 4"
    other = copy.deepcopy(scripted)
    other(weft.ones(1, 3))
    assert (scripted.calls, other.calls) == (1, 2) and other.describe() == "2 calls of width 4"
    with pytest.raises(AttributeError, match="has no attribute 'odd'"):
        assert scripted.odd
    assert scripted.original_name == "Mlp" and "def forward(self, x: Tensor, times: int = 1)" in (
        scripted.code
    )
    assert jit.script(scripted) is scripted
    assert "original_name=Mlp" in repr(scripted)


class ReadsOddly(nn.Module):
    """Reads what is no data."""

    def __init__(self) -> None:
        super().__init__()
        self.thing = object()
        self.layer = nn.Linear(1, 1)

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self.thing


class SetsNew(ReadsOddly):
    """Sets what __init__ did not."""

    def forward(self, x):  # type: ignore[no-untyped-def]
        self.fresh = x
        return x


class CallsMissing(ReadsOddly):
    """Calls what is not there."""

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self.absent(x)


class Inner(ReadsOddly):
    """Reads internals."""

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self._parameters


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (ReadsOddly, "'thing' of ReadsOddly is an object of type object"),
        (SetsNew, "self.fresh is not there yet: set it in __init__"),
        (CallsMissing, "CallsMissing has no method 'absent'"),
        (Inner, "'_parameters' belongs to weft.nn.Module itself"),
    ],
)
def test_errors(cls: Any, said: str) -> None:
    """What modules cannot do in scripted code, with the line."""
    with pytest.raises(jit.ScriptError, match=said) as caught:
        jit.script(cls())
    assert f"line {cls.forward.__code__.co_firstlineno + 1}, in forward" in str(caught.value)


def test_hooks_are_not_left_out() -> None:
    """A module with hooks is refused."""
    module = Base()
    module.register_forward_hook(lambda *args: None)
    with pytest.raises(jit.ScriptError, match="has hooks"):
        jit.script(module)


class Old(jit.ScriptModule):
    """The older way."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(weft.ones(2))

    @jit.script_method
    def forward(self, x, n: int):  # type: ignore[no-untyped-def]
        for _ in range(n):
            x = x + self.weight
        return x


def test_script_method() -> None:
    """Methods of subclasses of ScriptModule are compiled when they are called."""
    old = Old()
    assert old(weft.zeros(2), 3).tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="argument 'n' must be of type int"):
        old(weft.zeros(2), weft.ones(1))


# ---- trace --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_traced_modules(number: int) -> None:
    """The graph gives the module's results, and sees updates of its parameters."""
    module, inputs = made()[number]
    module.eval()
    traced = jit.trace(module, inputs)
    assert isinstance(traced, jit.TracedModule)
    assert list(traced.state_dict()) == list(module.state_dict())
    if not isinstance(module, Mlp):  # which counts in a buffer
        assert near(traced(*inputs), module(*inputs))
    with weft.no_grad():
        for p in module.parameters():
            p.mul_(1.5)
    state = {name: t.clone() for name, t in module.state_dict().items()}
    wanted = module(*inputs)
    module.load_state_dict(state)
    assert near(traced(*inputs), wanted)
    assert "= member " in repr(traced.graph) and traced.code == repr(traced.graph)


def test_traced_parameters_may_be_replaced() -> None:
    """Conversion makes new tensors, which the graph uses; gradients reach the parameters."""
    traced = jit.trace(nn.Linear(2, 1), weft.ones(1, 2))
    traced.weight = nn.Parameter(weft.ones(1, 2) * 3)
    traced(weft.ones(1, 2)).sum().backward()
    assert traced.weight.grad.tolist() == [[1.0, 1.0]]


def test_trace_warns_of_chance() -> None:
    """Dropout in the mode of training."""
    with pytest.warns(jit.TracerWarning, match="forget to call .eval()"):
        jit.trace(nn.Dropout(), weft.ones(3))


def test_trace_arguments() -> None:
    """PyTorch's arguments work or are refused by name."""
    layer, x = nn.Linear(2, 2), weft.ones(1, 2)
    jit.trace(layer, x, check_trace=True, check_inputs=[(x * 2,)], check_tolerance=1e-6)
    both = jit.trace(lambda x: {"y": layer(x), "z": [x]}, x, strict=False)(x)
    assert both["y"].equal(layer(x)) and both["z"][0].equal(x)
    for name, value in (("optimize", False), ("example_kwarg_inputs", {"x": x})):
        with pytest.raises(NotImplementedError, match=name):
            jit.trace(layer, x, **{name: value})
    with pytest.raises(RuntimeError, match="only the whole of a traced module"):
        jit.trace(nn.Sequential(layer), x).get_submodule("0")(x)


class Named(nn.ModuleDict):
    """Layers by name, whose forward goes over them in each way."""

    def forward(self, x):
        for layer in self.values():
            x = layer(x)
        for name, layer in self.items():
            if name != "second":
                x = layer(x)
        return x * len(list(self.keys()))


def test_methods_of_a_dict_of_modules() -> None:
    """A module that is a ModuleDict goes over its own layers."""
    net, x = Named({"first": nn.Linear(2, 2), "second": nn.Tanh()}), weft.randn(1, 2)
    assert jit.script(net)(x).equal(net(x))


# ---- freeze -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_frozen_modules(number: int) -> None:
    """Same results, no parameters; later updates of the module are not seen."""
    module, inputs = made()[number]
    module.eval()
    for make in (jit.script, lambda m: jit.trace(m, inputs)):
        source = make(copy.deepcopy(module))
        frozen = jit.freeze(source)
        wanted = module(*inputs)
        assert list(frozen.parameters()) == [] and frozen.state_dict() == {}
        with weft.no_grad():
            for p in source.parameters():
                p.zero_()
        result = frozen(*inputs)
        assert near(result, wanted) and not total(result).requires_grad
        with pytest.raises(RuntimeError, match="cannot be trained"):
            frozen.train()


def test_freeze_arguments() -> None:
    """Only scripted modules in the mode of evaluation; methods are kept when asked for."""
    with pytest.raises(RuntimeError, match=r"call \.eval\(\) before"):
        jit.freeze(jit.script(Mlp()))
    with pytest.raises(RuntimeError, match=r"takes what jit\.script or jit\.trace returned"):
        jit.freeze(Derived())
    scripted = jit.script(Mlp()).eval()
    assert not hasattr(jit.freeze(scripted), "describe")
    assert jit.freeze(scripted, ["describe"]).describe() == "0 calls of width 4"
    with pytest.raises(ValueError, match="preserved_attrs names 'nothing'"):
        jit.freeze(scripted, ["nothing"])


def test_the_object_of_a_method_may_have_any_name() -> None:
    class Net(nn.Module):
        def __init__(me) -> None:
            super().__init__()
            me.scale = 3.0

        def forward(me, x: weft.Tensor, h: weft.Tensor | None = None) -> weft.Tensor:
            if h is None:
                h = me.twice(x)
            return h

        def twice(me, x: weft.Tensor) -> weft.Tensor:
            return x * 2 * me.scale

    assert weft.jit.script(Net())(weft.ones(1)).item() == 6
