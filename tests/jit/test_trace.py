"""Traces: printed, walked, verified, and run again with equal results."""

from __future__ import annotations

import inspect
import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import pytest

import weft


def line() -> str:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno}"


def equal(a: weft.Tensor, b: weft.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()


def mlp(x: weft.Tensor, w: weft.Tensor) -> weft.Tensor:
    return (x @ w).tanh().sum(0)


def views(x: weft.Tensor) -> weft.Tensor:
    return x.t()[1:].reshape(-1) * x[0, 0]


def in_place(x: weft.Tensor) -> weft.Tensor:
    y = x * 2
    y.add_(1)
    y[0].mul_(3)
    y[:, 1] = 7
    return y.exp_()


def several(x: weft.Tensor) -> Any:
    low, high = x.unbind(1)[:2]
    return {"low": low, "rest": (high * 2, [x + 1])}


def indexed(x: weft.Tensor) -> weft.Tensor:
    return x[weft.tensor([1, 0]), :2] + x[x > 100].sum()


def joined(x: weft.Tensor) -> weft.Tensor:
    return weft.cat([x, x * 2], 0) + weft.stack([x, x]).reshape(-1, x.shape[1])


def made_inside(x: weft.Tensor) -> weft.Tensor:
    return x + weft.ones(4) * weft.arange(4.0)


FUNCTIONS: list[tuple[Callable[..., Any], list[tuple[int, ...]]]] = [
    (mlp, [(3, 4), (4, 2)]),
    (views, [(3, 4)]),
    (in_place, [(3, 4)]),
    (several, [(3, 4)]),
    (indexed, [(3, 4)]),
    (joined, [(3, 4)]),
    (made_inside, [(3, 4)]),
]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, weft.Tensor):
        return equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))


@pytest.mark.parametrize(("f", "shapes"), FUNCTIONS, ids=lambda v: getattr(v, "__name__", ""))
def test_a_trace_gives_equal_results_on_new_inputs(f: Callable[..., Any], shapes: Any) -> None:
    traced = weft.jit.trace(f, tuple(weft.randn(*s) for s in shapes), check_trace=True)
    traced.graph.verify()
    for _ in range(3):
        inputs = [weft.randn(*s) for s in shapes]
        expected = f(*[t.clone() for t in inputs])
        assert same(traced(*[t.clone() for t in inputs]), expected)


def test_a_trace_prints() -> None:
    def f(x: weft.Tensor) -> weft.Tensor:
        return x.exp() + 1

    made = f"{__file__}:{inspect.getsourcelines(f)[1] + 1}"
    traced = weft.jit.trace(f, (weft.ones(2, 3),))
    text = repr(traced.graph)
    assert text.splitlines()[0] == "graph(%x0: float32[2, 3]):"
    assert "= exp(%x0)" in text and f"# {made}, in f" in text
    assert "add(" in text and "float32[2, 3]" in text
    assert text.splitlines()[-1].strip().startswith("return %")
    assert repr(traced).startswith("<traced f>\ngraph(")


def test_a_trace_can_be_walked() -> None:
    graph = weft.jit.trace(mlp, (weft.ones(3, 4), weft.ones(4, 2))).graph
    ops = [n.op for n in graph]
    assert ops[1] == "tanh" and ops[2].startswith("sum") and len(ops) == 3
    first, second, third = graph.nodes
    assert list(first.inputs()) == graph.inputs
    assert list(second.inputs()) == first.outputs and second.outputs[0].producer is second
    assert third.outputs[0].shape == (2,) and third.outputs[0].dtype == weft.float32
    assert graph.outputs == third.outputs
    assert second.outputs[0].kind == "float32[3, 2]"


def test_verify_finds_a_broken_graph() -> None:
    graph = weft.jit.trace(lambda x: (x + 1).exp(), (weft.ones(1),)).graph
    graph.nodes.reverse()
    with pytest.raises(ValueError, match="read before it is made"):
        graph.verify()
    graph.nodes.reverse()
    graph.verify()
    graph.nodes[0].op = "nonsense"
    with pytest.raises(ValueError, match="no op named 'nonsense'"):
        graph.verify()
    graph = weft.jit.trace(lambda x: (x + 1).exp(), (weft.ones(1),)).graph
    graph.nodes.pop()
    with pytest.raises(ValueError, match="never made"):
        graph.verify()


def test_wrong_inputs() -> None:
    f = weft.jit.trace(lambda x: x + 1, (weft.ones(2, 3),))
    with pytest.raises(
        RuntimeError, match=r"%x0 was traced as float32\[2, 3\], got float32\[3, 2\]"
    ):
        f(weft.ones(3, 2))
    with pytest.raises(
        RuntimeError, match=r"got int64\[2, 3\]\. A trace is one call.*weft\.jit\.script"
    ):
        f(weft.ones(2, 3, dtype=weft.int64))
    with pytest.raises(TypeError, match="takes 1 tensors, got 2"):
        f(weft.ones(2, 3), weft.ones(2, 3))
    with pytest.raises(TypeError, match=r"example_inputs\[0\] must be a Tensor, not int"):
        weft.jit.trace(lambda x: x, (3,))


def test_errors_inside_leave_no_recorder_behind() -> None:
    with pytest.raises(RuntimeError, match="must match"):
        weft.jit.trace(lambda x: x + weft.ones(5), (weft.ones(3),))
    f = weft.jit.trace(lambda x: x * 2, (weft.ones(3),))
    assert len(f.graph.nodes) == 1
    with pytest.raises(RuntimeError, match="already being taken"):
        weft.jit.trace(lambda x: weft.jit.trace(lambda y: y, (x,))(x), (weft.ones(3),))
    assert len(weft.jit.trace(lambda x: x * 2, (weft.ones(3),)).graph.nodes) == 1


def test_tensors_from_outside_are_constants_by_reference() -> None:
    w = weft.ones(3)
    f = weft.jit.trace(lambda x: x * w, (weft.ones(3),))
    assert len(f.graph.constants) == 1 and f.graph.constants[0].constant is w
    assert "= constant" in repr(f.graph)
    w.mul_(5)
    assert f(weft.ones(3)).tolist() == [5, 5, 5]


def test_random_ops_are_drawn_anew() -> None:
    def noisy(x: weft.Tensor) -> weft.Tensor:
        return x + weft.randn(4) + weft.empty(4).uniform_(0, 1)

    f = weft.jit.trace(noisy, (weft.zeros(4),))
    x = weft.ones(4)
    weft.manual_seed(3)
    expected = noisy(x)
    weft.manual_seed(3)
    got = f(x)
    assert equal(got, expected)
    assert not equal(f(x), got)


def test_in_place_on_an_input_changes_the_callers_tensor() -> None:
    def f(x: weft.Tensor) -> weft.Tensor:
        x.mul_(2)
        return x + 1

    example = weft.ones(2)
    traced = weft.jit.trace(f, (example,))
    assert example.tolist() == [1, 1]  # the example is not touched
    x = weft.ones(2)
    assert traced(x).tolist() == [3, 3] and x.tolist() == [2, 2]


def test_out_is_replayed() -> None:
    def f(x: weft.Tensor) -> weft.Tensor:
        buffer = weft.zeros(3)
        view = buffer[1:]
        weft.mul(x, 2, out=buffer)
        return view + 1

    traced = weft.jit.trace(f, (weft.ones(3),))
    x = weft.tensor([1.0, 2.0, 3.0])
    assert traced(x).tolist() == f(x).tolist() == [5, 7]


def test_a_trace_can_be_differentiated() -> None:
    traced = weft.jit.trace(lambda x: (x * x).exp().sum(), (weft.ones(3),))
    x = weft.tensor([0.1, 0.2, 0.3], requires_grad=True)
    y = weft.tensor([0.1, 0.2, 0.3], requires_grad=True)
    traced(x).backward()
    (y * y).exp().sum().backward()
    assert x.grad is not None and y.grad is not None and equal(x.grad, y.grad)


def test_a_trace_of_a_training_step_includes_backward() -> None:
    def step(w: weft.Tensor, x: weft.Tensor) -> weft.Tensor:
        (g,) = weft.autograd.grad((w * x).tanh().sum(), w)
        return w.detach() - 0.1 * g

    w = weft.ones(3, requires_grad=True)
    traced = weft.jit.trace(step, (w, weft.ones(3)))
    x = weft.tensor([0.5, 1.0, 2.0])
    assert equal(traced(w, x), step(w, x))


def test_structures_come_back() -> None:
    Pair = namedtuple("Pair", "a b")
    f = weft.jit.trace(lambda x: Pair(x + 1, [x, (3, "text", None)]), (weft.ones(1),))
    out = f(weft.ones(1))
    assert out[0].item() == 2 and out[1][1] == (3, "text", None)


def test_an_input_returned_as_it_is() -> None:
    f = weft.jit.trace(lambda x: x, (weft.ones(1),))
    x = weft.zeros(1)
    assert f(x) is x and f.graph.nodes == []


def test_inference_and_no_grad_inside_a_trace() -> None:
    def f(x: weft.Tensor) -> weft.Tensor:
        with weft.no_grad():
            return x * 2

    traced = weft.jit.trace(f, (weft.ones(2, requires_grad=True),))
    assert traced(weft.ones(2)).tolist() == [2, 2]


# ---- run writes into given outputs --------------------------------------------------------------


def test_parts_without_gradient_stay_without() -> None:
    def f(x: weft.Tensor) -> weft.Tensor:
        with weft.no_grad():
            scale = x.abs().max()
        return x / scale

    traced = weft.jit.trace(f, (weft.ones(3),))
    x = weft.tensor([1.0, -2.0, 4.0], requires_grad=True)
    traced(x).sum().backward()
    assert x.grad.tolist() == [0.25, 0.25, 0.25]
    assert "no_grad" in repr(traced.graph.nodes[0])


def test_views_in_place_take_the_name_of_the_view() -> None:
    def f(x: weft.Tensor) -> weft.Tensor:
        y = x * 2
        y.unsqueeze_(0)
        y.t_()
        return y + 1

    traced = weft.jit.trace(f, (weft.ones(3),))
    x = weft.arange(3.0)
    assert traced(x).tolist() == f(x).tolist() == [[1], [3], [5]]


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (lambda x: x.sum().item(), "item"),
        (lambda x: 1 if x.sum() > 0 else 2, "bool"),
        (lambda x: float(x.sum()), "item"),
        (lambda x: x.tolist()[0], "tolist"),
        (lambda x: float(x.numpy()[0]), "numpy"),
    ],
)
def test_values_that_become_python_numbers_are_warned_of(read: Any, name: str) -> None:
    with pytest.warns(weft.jit.TracerWarning, match=name) as caught:
        weft.jit.trace(lambda x: x * read(x), (weft.ones(3),))
    assert "test_trace.py" in str(caught[0].message)


def test_printing_is_no_part_of_the_program(capsys: Any) -> None:
    def f(x: weft.Tensor) -> weft.Tensor:
        print(x)
        return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(weft.jit.trace(f, (weft.ones(3),)).graph.nodes) == 1
    assert "tensor([1., 1., 1.])" in capsys.readouterr().out


class Twice(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: weft.Tensor) -> weft.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: weft.Tensor) -> weft.Tensor:
        return g * 100


def _assign_data(x: weft.Tensor) -> weft.Tensor:
    y = x + 1
    y.data = weft.zeros(3)
    return y


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: (x + 1).resize_(2), "resize_"),
        (lambda x: (x + 1).detach_(), "detach_"),
        (_assign_data, "data"),
        (Twice.apply, "Twice"),
    ],
)
def test_what_a_graph_cannot_hold_is_refused(f: Any, name: str) -> None:
    with pytest.raises(NotImplementedError, match=name):
        weft.jit.trace(f, (weft.ones(3),))
    assert weft.jit.trace(lambda x: x * 2, (weft.ones(3),))(weft.ones(3)).tolist() == [2, 2, 2]


def test_parts_keep_their_gradient() -> None:
    """Split, chunk and unbind in a trace are differentiated as in eager."""
    for cut in (lambda x: x.split(2), lambda x: x.chunk(2), lambda x: x.unbind(0)):
        f = weft.jit.trace(lambda x, cut=cut: cut(x * 2)[1].exp(), (weft.ones(4),))
        x = weft.randn(4, requires_grad=True)
        want = weft.autograd.grad(cut(x * 2)[1].exp().sum(), x)[0]
        assert weft.equal(weft.autograd.grad(f(x).sum(), x)[0], want)


def test_named_results_stay_named() -> None:
    f = weft.jit.trace(lambda x: {"best": weft.max(x, 1)}, (weft.ones(2, 3),))
    best = f(weft.tensor([[1.0, 3.0, 2.0], [6.0, 5.0, 4.0]]))["best"]
    assert best.values.tolist() == [3, 6] and best.indices.tolist() == [1, 0]
