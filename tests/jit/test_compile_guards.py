"""What a compiled function must notice before it makes a call again: each line was a wrong number once."""

from __future__ import annotations

import collections
import subprocess
import sys
import warnings
import weakref
from typing import Any

import pytest
from jit.compile_calls import warm

import weft
from weft import nn

torch: Any = weft


def one() -> Any:
    return weft.ones(1)


# ---- tensors that became others -----------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 5, 100_000])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_parameter_of_another_shape(rows: int, optimizer: Any) -> None:
    """A weight that has got other rows: a step like an eager one, or the same error."""

    def run(wrap: Any) -> Any:
        net = nn.Linear(4, 3, bias=False)
        weft.nn.init.ones_(net.weight)
        x, op = weft.ones(1, 4), optimizer(net.parameters(), lr=0.1)

        @wrap
        def step(x: Any) -> None:
            op.zero_grad()
            net(x).sum().backward()
            op.step()

        warm(step, x)
        net.weight.data = weft.ones(rows, 4)
        try:
            for _ in range(3):
                step(x)
        except RuntimeError as e:
            return type(e), net.weight.grad.shape
        return net.weight.tolist(), net.weight.grad.shape

    assert run(weft.compile) == run(lambda f: f)


def test_parameter_of_another_dtype() -> None:
    """A float32 program does not go on with float64 weights."""
    net, x = nn.Linear(2, 2), weft.ones(1, 2)
    fast = weft.compile(net)
    warm(fast, x)
    net.weight.data = net.weight.data.double()
    net.bias.data = net.bias.data.double()
    assert fast(x.double()).dtype is weft.float64
    with pytest.raises(RuntimeError):
        fast(x)


def test_optimizer_state_of_another_shape() -> None:
    """State that no longer fits is refused as in eager."""
    net, x = nn.Linear(2, 2), weft.ones(1, 2)
    op = torch.optim.Adam(net.parameters(), lr=0.1)

    @weft.compile
    def step(x: Any) -> None:
        op.zero_grad()
        net(x).sum().backward()
        op.step()

    warm(step, x)
    for s in op.state.values():
        s["exp_avg"].data = weft.zeros(1)
    with pytest.raises(RuntimeError):
        step(x)


def test_embedding_that_grew() -> None:
    """Backward outside of the call, through a table that has got rows."""
    table, i = nn.Embedding(2, 1), weft.tensor([0])
    fast = weft.compile(table)
    for _ in range(4):
        table.zero_grad()
        fast(i).sum().backward()
    table.weight.data = weft.ones(4, 1)
    for _ in range(4):
        table.zero_grad()
        fast(i).sum().backward()
        assert table.weight.grad.tolist() == [[1], [0], [0], [0]]


# ---- gradients ----------------------------------------------------------------------------------


def test_gradient_of_the_argument_that_was_given() -> None:
    """Gradients arrive at the tensor of this call, whatever was given before."""

    @weft.compile
    def f(x: Any) -> Any:
        loss = (x * x).sum()
        loss.backward()
        return loss

    a, b = (weft.ones(3, requires_grad=True) for _ in range(2))
    warm(f, a)
    assert a.grad.tolist() == [8] * 3
    for k in range(1, 5):
        f(b)
        assert b.grad.tolist() == [2 * k] * 3 and a.grad.tolist() == [8] * 3
    f(a)
    assert a.grad.tolist() == [10] * 3


def test_gradient_read_of_an_argument_in_a_list() -> None:
    """`.grad` of an argument is that of this call's."""

    @weft.compile
    def f(tensors: Any) -> Any:
        return tensors[0].grad * 2

    made = []
    for k in range(6):
        t = weft.ones(2, requires_grad=True)
        t.grad = weft.full((2,), float(k))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.append(f([t]).tolist())
    assert made == [[2.0 * k] * 2 for k in range(6)]


@pytest.mark.parametrize("op", [weft.prod, lambda x: x.cumprod(0).sum(), lambda x: x.prod(0)])
@pytest.mark.filterwarnings("ignore:compile")
def test_gradient_of_products_with_zeros(op: Any) -> None:
    """A derivative that looks for zeros looks in every call."""

    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        return weft.autograd.grad(op(x), x)[0]

    fast = weft.compile(f)
    warm(fast, weft.tensor([2.0, 3.0, 4.0]))
    for z in ([0.0, 3.0, 4.0], [0.0, 0.0, 4.0], [1.0, 2.0, 3.0]):
        assert weft.equal(fast(weft.tensor(z)), f(weft.tensor(z)))


@pytest.mark.parametrize("op", [weft.prod, lambda x: x.cumprod(0).sum()])
@pytest.mark.filterwarnings("ignore:compile")
def test_gradient_of_products_outside(op: Any) -> None:
    """The same where the backward pass is not part of the call."""
    fast = weft.compile(op)
    for data in [[2.0, 3.0, 4.0]] * 4 + [[0.0, 3.0, 4.0], [0.0, 0.0, 4.0]]:
        x, y = (weft.tensor(data, requires_grad=True) for _ in range(2))
        fast(x).backward()
        op(y).backward()
        assert weft.equal(x.grad, y.grad)


@pytest.mark.filterwarnings("ignore:compile")
def test_part_of_an_argument_with_history_is_set() -> None:
    """Where a part of it was overwritten, no gradient goes on."""

    @weft.compile
    def f(x: Any) -> None:
        x[0] = 5.0

    for _ in range(5):
        a = weft.ones(2, requires_grad=True)
        b = a * 2
        f(b)
        (b * b).sum().backward()
        assert a.grad.tolist() == [0, 8]


@pytest.mark.filterwarnings("ignore:compile")
def test_results_that_share_memory() -> None:
    """A change in place of one is seen by the gradients of the other."""

    @weft.compile
    def f(x: Any) -> Any:
        h = x * 1
        return h, h[0]

    for _ in range(5):
        a = weft.ones(2, requires_grad=True)
        h, v = f(a)
        v.mul_(5)
        (h * h).sum().backward()
        assert a.grad.tolist() == [50, 2]


@pytest.mark.filterwarnings("ignore:compile")
def test_several_views_are_changed_in_place() -> None:
    """Each is a view like any other, also where a compiled function returns it."""
    f = weft.compile(lambda x: (x * 1).chunk(2))
    for _ in range(5):
        x = weft.ones(2, requires_grad=True)
        p, q = f(x)
        p.mul_(5)
        (p + q).sum().backward()
        assert x.grad.tolist() == [5, 1]


# ---- Python --------------------------------------------------------------------------------------


def test_forward_replaced_on_a_module() -> None:
    """Methods that are replaced on one module are seen, in a tree of them too."""
    net, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), weft.ones(1, 2)
    fast = weft.compile(net)
    warm(fast, x)
    net[0].forward = lambda x: x * 100
    for _ in range(4):
        assert weft.equal(fast(x), weft.full((1, 2), 100.0))


def test_method_replaced_on_a_module() -> None:
    """The same of a method that forward calls."""

    class Net(nn.Module):
        def helped(self, x: Any) -> Any:
            return x

        def forward(self, x: Any) -> Any:
            return self.helped(x) + 1

    net = Net()
    fast = weft.compile(net)
    warm(fast, one())
    net.helped = lambda x: x * 7
    assert fast(one()).item() == 8


def test_attribute_of_a_function() -> None:
    def scale() -> None: ...

    scale.by = 1.0  # type: ignore[attr-defined]
    f = weft.compile(lambda x: x * scale.by)  # type: ignore[attr-defined]
    warm(f, one())
    scale.by = 3.0  # type: ignore[attr-defined]
    assert f(one()).item() == 3


def test_defaults_and_code_of_a_function() -> None:
    def scaled(x: Any, by: float = 1.0) -> Any:
        return x * by

    f = weft.compile(lambda x: scaled(x))
    warm(f, one())
    scaled.__defaults__ = (3.0,)
    assert f(one()).item() == 3
    warm(f, one())
    scaled.__code__ = (lambda x, by: x * by * 2).__code__
    assert f(one()).item() == 6


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
def test_order_of_a_dict(kind: Any) -> None:
    d = kind(a=1.0, b=3.0)
    f = weft.compile(lambda x: x * next(iter(d.values())))
    warm(f, one())
    d["a"] = d.pop("a")
    assert f(one()).item() == 3


def test_what_a_weak_reference_leads_to() -> None:
    class Scale:
        by = 1.0

    scale = Scale()
    ref = weakref.ref(scale)
    f = weft.compile(lambda x: x * ref().by)  # type: ignore[union-attr]
    warm(f, one())
    scale.by = 3.0
    assert f(one()).item() == 3


@pytest.mark.filterwarnings("ignore:compile")
def test_attribute_of_an_argument() -> None:
    """A tensor with attributes of its own is not taken for another one."""

    def tagged(v: float) -> Any:
        x = one()
        x.tag = v
        return x

    f = weft.compile(lambda x: x * x.tag)
    for _ in range(4):
        f(tagged(1.0))
    assert f(tagged(3.0)).item() == 3


@pytest.mark.filterwarnings("ignore:compile")
def test_attribute_that_an_argument_gets() -> None:
    f = weft.compile(lambda x: x * getattr(x, "tag", 1.0))
    x = one()
    warm(f, x)
    x.tag = 3.0
    assert f(x).item() == 3


@pytest.mark.filterwarnings("ignore:compile")
def test_where_an_argument_lies() -> None:
    f = weft.compile(lambda x: x * (1 if x.storage_offset() == 0 else 3))
    warm(f, one())
    assert f(weft.ones(2)[1:]).item() == 3


# ---- calls that differ each time ------------------------------------------------------------------


def test_arguments_that_are_new_in_each_call(shipped_price: None) -> None:
    """They are not captured for ever: one program takes them all."""
    fast = weft.compile(lambda x, step: x * step)
    for i in range(200):
        assert fast(one(), i).item() == i
    assert sum(v.captures for v in fast.specializations) < 50
    assert [d.captures for d in fast.any_size] == [2] and not fast.reasons
    for _ in range(4):  # one that comes again is worth a capture
        assert fast(one(), 7).item() == 7


def test_many_shapes_that_come_again() -> None:
    """Kinds beyond the first are captured once they come twice."""
    fast = weft.compile(lambda x: x * 2 + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            for n in range(1, 41):
                assert weft.equal(fast(weft.ones(n)), weft.full((n,), 3.0))
    assert sum(v.ready for v in fast.specializations) >= 30


# ---- changes in place ----------------------------------------------------------------------------


def test_weights_changed_in_place_without_a_graph() -> None:
    """`p -= lr * p.grad`, clipping of weights and moving averages are part of a program."""

    def run(wrap: Any) -> Any:
        weft.manual_seed(0)
        net, average = nn.Linear(3, 2), nn.Linear(3, 2)

        @wrap
        def step(x: Any) -> Any:
            net.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            with weft.no_grad():
                for p, q in zip(net.parameters(), average.parameters()):
                    p -= 0.1 * p.grad
                    p.clamp_(-0.5, 0.5)
                    q.mul_(0.9).add_(p, alpha=0.1)
            return loss

        losses = [step(weft.ones(2, 3) * k).item() for k in range(8)]
        return losses, [p.tolist() for n in (net, average) for p in n.parameters()]

    made = []

    def compiled(f: Any) -> Any:
        made.append(weft.compile(f, fullgraph=True))
        return made[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(compiled) == run(lambda f: f)
    assert any(v.ready for v in made[0].specializations)


# ---- errors --------------------------------------------------------------------------------------


def test_an_error_names_the_line_of_the_op() -> None:
    """Also when the call is replayed without Python: the op's line, then the call's."""
    table = nn.Embedding(3, 2)

    def look(i: Any) -> Any:
        found = table(i)
        return found * 2

    fast = weft.compile(look)
    warm(fast, weft.tensor([1]))
    with pytest.raises(IndexError, match=r"index 9 .*\n  at .*, in look.*\n  at .*test_an_error"):
        fast(weft.tensor([9]))


# ---- what one call leaves for the next -----------------------------------------------------------


def test_a_call_with_shared_memory_between_others() -> None:
    """Calls after it give what they gave before it."""

    def f(x: Any, y: Any) -> Any:
        x.add_(1)
        return x * 2, y * 3

    fast = weft.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(10):
            a = weft.ones(4)
            given = (a, a.view(4)) if i == 5 else (a, weft.ones(4))
            b = weft.ones(4)
            same = (b, b.view(4)) if i == 5 else (b, weft.ones(4))
            assert all(weft.equal(p, q) for p, q in zip(f(*same), fast(*given)))


def test_inputs_that_overlap_in_a_call_with_decisions() -> None:
    """What is changed through one of them is seen through the other."""

    def f(x: Any, y: Any) -> Any:
        before = (y * 2).cumsum(0)
        x.add_(1)
        total = before.sum() + (y * 2).cumsum(0).sum()
        return total + 1 if total > -1e9 else total

    fast = weft.compile(f)
    for _ in range(6):
        fast(weft.ones(4), weft.ones(4))
    for _ in range(4):
        x, y = weft.ones(4), weft.ones(4)
        assert f(x, x[0:4]).item() == fast(y, y[0:4]).item()


@pytest.mark.parametrize("unused", [False, True])
def test_two_states_with_an_optimizer_without_state(unused: bool) -> None:
    """Modes that alternate are captured once each, also where a parameter never has any state."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.0))
    parameters = [*net.parameters(), *([nn.Parameter(weft.ones(1))] if unused else [])]
    op = (torch.optim.Adam if unused else torch.optim.SGD)(parameters, lr=0.1)

    @weft.compile
    def step(x: Any) -> None:
        op.zero_grad()
        net(x).sum().backward()
        op.step()

    for i in range(20):
        net.train(i % 2 == 0)
        step(weft.ones(1, 2))
    assert sum(v.captures for v in step.specializations) <= 6


KEEPS = """
import weft
kept = []

@weft.ops.primitive("keeps_its_array(Tensor input) -> Tensor")
class keeps_its_array:
    derivative = "none"
    infer = staticmethod(lambda input: [(input.shape, input.dtype)])

    @staticmethod
    def run(input):
        kept.append(input)
        return (input * 1,)

fast = weft.compile(lambda x: keeps_its_array(x * 2) + 1)
for i in range(6):
    fast(weft.full((3,), float(i)))
fast.forget()
assert [a.tolist() for a in kept] == [[2.0 * i] * 3 for i in range(6)], kept
"""


def test_an_op_in_python_keeps_what_it_was_given() -> None:
    """Arrays that it keeps stay what they were. In a process of its own: ops stay."""
    subprocess.run([sys.executable, "-c", KEEPS], check=True)


def test_the_same_tensor_for_two_arguments() -> None:
    """Its gradient is the sum of both."""

    @weft.compile
    def f(a: Any, b: Any) -> None:
        (a * b).sum().backward()

    for _ in range(5):
        f(*[weft.ones(2, requires_grad=True) for _ in range(2)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            a = weft.ones(2, requires_grad=True)
            f(a, a)
            assert a.grad.tolist() == [2, 2]


def test_hooks_that_are_exchanged() -> None:
    net = nn.Linear(2, 2)
    hook = net.register_forward_hook(lambda m, i, o: o * 2)
    fast = weft.compile(lambda x: net(x))
    x = weft.ones(1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm(fast, x)
        hook.remove()
        net.register_forward_hook(lambda m, i, o: o * 3)
        assert weft.equal(fast(x), net(x))


def test_order_of_modules() -> None:
    parts = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Tanh()})

    def f(x: Any) -> Any:
        for part in parts.values():
            x = part(x)
        return x

    fast, x = weft.compile(f), weft.ones(1, 2)
    warm(fast, x)
    parts["a"] = parts.pop("a")
    assert weft.equal(fast(x), f(x))


def test_attributes_of_parameters() -> None:
    net = nn.Linear(2, 1, bias=False)

    def f(x: Any) -> Any:
        return net(x) * getattr(net.weight, "gain", 1.0)

    fast, x = weft.compile(f), weft.ones(1, 2)
    warm(fast, x)
    for gain in (2.0, 3.0):
        net.weight.gain = gain
        for _ in range(4):
            assert weft.equal(fast(x), f(x))


def test_another_class() -> None:
    """Of an object, and a method that a class gets which its base had."""

    class Base(nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    class Layer(Base):
        pass

    class Other(Base):
        def forward(self, x: Any) -> Any:
            return x * 5

    layer = Layer()
    fast = weft.compile(lambda x: layer(x))
    warm(fast, one())
    Layer.forward = lambda self, x: x * 3  # type: ignore[method-assign]
    assert fast(one()).item() == 3
    warm(fast, one())
    layer.__class__ = Other  # type: ignore[assignment]
    assert fast(one()).item() == 5
