"""The tape: gradients of every kind of graph, leaves, modes, and looking into it."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import pytest

import weft
from weft import autograd


def equal(a: weft.Tensor, b: weft.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()


def leaf(*values: float) -> weft.Tensor:
    return weft.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def grad_of(x: weft.Tensor) -> list[float]:
    assert x.grad is not None
    return x.grad.tolist()


# ---- backward and grad --------------------------------------------------------------------------


def test_backward_adds_up() -> None:
    x = leaf()
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert grad_of(x) == [4, 8, 12]
    x.grad = None
    (x * x).backward(weft.tensor([1.0, 0.0, 2.0]))
    assert grad_of(x) == [2, 0, 12]


def test_backward_of_several_roots() -> None:
    x, y = leaf(), leaf(4.0, 5.0, 6.0)
    autograd.backward([(x * y).sum(), x * 2], [None, weft.ones(3)])
    assert grad_of(x) == [6, 7, 8] and grad_of(y) == [1, 2, 3]


def test_the_same_root_twice() -> None:
    x = leaf()
    y = (x * 2).sum()
    autograd.backward([y, y], retain_graph=True)
    assert grad_of(x) == [4, 4, 4]


def test_a_leaf_as_root() -> None:
    x = weft.tensor(3.0, requires_grad=True)
    x.backward()
    assert x.grad is not None and x.grad.item() == 1
    assert autograd.grad(x, x)[0].item() == 1


def test_diamond() -> None:
    x = leaf(2.0)
    a = x * 3
    b, c = a * a, a + 1
    (b * c).sum().backward()  # 9x^2 (3x + 1)
    assert grad_of(x) == [81 * 4 + 18 * 2]


def test_order_follows_the_making_also_with_late_leaves() -> None:
    """A leaf used first by an old node and again by a new one gets its whole gradient at once."""
    x, calls = leaf(1.0), []
    x.register_hook(lambda g: calls.append(g.item()))
    y = x * 2
    z = y
    for _ in range(5):
        z = z * 2
    (z + x * 10).sum().backward()
    assert calls == [74] and grad_of(x) == [74]


def test_grad_leaves_grad_alone() -> None:
    x, y = leaf(), leaf()
    gx, gy = autograd.grad((x * y * y).sum(), [x, y])
    assert gx.tolist() == [1, 4, 9] and gy.tolist() == [2, 8, 18]
    assert x.grad is None and y.grad is None


def test_grad_of_a_tensor_in_the_middle() -> None:
    x = leaf()
    y = x * 2
    z = (y * y).sum()
    gy, gx = autograd.grad(z, [y, x])
    assert gy.tolist() == [4, 8, 12] and gx.tolist() == [8, 16, 24]


def test_grad_of_a_root_itself() -> None:
    x = leaf()
    y = x.sum()
    assert autograd.grad(y, [y, x])[0].item() == 1


def test_grad_stops_at_its_inputs() -> None:
    """What lies behind the inputs is not walked: its saved tensors stay."""
    x = leaf()
    y = x.exp()
    autograd.grad((y * 2).sum(), y)
    y.sum().backward()
    assert x.grad is not None


def test_allow_unused_and_materialize() -> None:
    x, u = leaf(), weft.ones(2, requires_grad=True)
    y = x.sum()
    with pytest.raises(RuntimeError, match="not have been used"):
        autograd.grad(y, [x, u], retain_graph=True)
    assert autograd.grad(y, [x, u], retain_graph=True, allow_unused=True)[1] is None
    assert autograd.grad(y, [x, u], materialize_grads=True)[1].tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="does not require grad"):
        autograd.grad(x.sum(), weft.ones(1))


def test_grad_of_a_dict() -> None:
    x = leaf()
    assert autograd.grad(x.sum(), {"a": x})["a"].tolist() == [1, 1, 1]


def test_backward_of_some_inputs() -> None:
    x, y = leaf(), leaf()
    m = x * y
    m.sum().backward(inputs=[x], retain_graph=True)
    assert grad_of(x) == [1, 2, 3] and y.grad is None
    m.sum().backward(inputs=m, retain_graph=True)
    assert m.grad is not None and m.grad.tolist() == [1, 1, 1]
    assert grad_of(x) == [1, 2, 3] and y.grad is None
    with pytest.raises(RuntimeError, match="cannot be empty"):
        m.sum().backward(inputs=[])


def test_gradient_edges() -> None:
    x = leaf()
    y = x * 2
    edge = autograd.graph.get_gradient_edge(y)
    assert edge.node.name() == "MulBackward0" and edge.output_nr == 0
    z = (y * y).sum()
    assert autograd.grad(z, edge, retain_graph=True)[0].tolist() == [4, 8, 12]
    leaf_edge = autograd.graph.get_gradient_edge(x)
    assert autograd.grad(z, leaf_edge)[0].tolist() == [8, 16, 24]
    y = x * 3
    autograd.backward(autograd.graph.get_gradient_edge(y), weft.ones(3))
    assert grad_of(x) == [3, 3, 3]


def test_shapes_and_dtypes_of_given_gradients() -> None:
    x = leaf()
    y = x * 2
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        y.backward(weft.ones(2))
    with pytest.raises(RuntimeError, match="1 tensors and 2 gradients"):
        autograd.backward([y], [weft.ones(3), weft.ones(3)])
    with pytest.raises(TypeError, match="Tensors or None"):
        y.backward([1.0])  # type: ignore[arg-type]
    y.backward(weft.ones(3, dtype=weft.float64))
    assert x.grad is not None and x.grad.dtype == weft.float32


def test_a_given_gradient_is_not_changed() -> None:
    x, g = leaf(), weft.ones(3)
    x.backward(g)
    x.backward(g)
    assert g.tolist() == [1, 1, 1] and grad_of(x) == [2, 2, 2]


def test_broadcast_and_dtype() -> None:
    x = weft.ones(3, 1, requires_grad=True)
    b = weft.ones(4, dtype=weft.float64, requires_grad=True)
    y = x * b
    assert y.dtype == weft.float64
    y.sum().backward()
    assert x.grad is not None and b.grad is not None
    assert x.grad.shape == (3, 1) and x.grad.dtype == weft.float32 and grad_of(x) == [[4], [4], [4]]
    assert b.grad.dtype == weft.float64 and grad_of(b) == [3] * 4


# ---- the life of a graph ------------------------------------------------------------------------


def test_second_backward_needs_the_graph() -> None:
    x = leaf()
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    z = (x + 1).sum()  # keeps nothing: may be walked again
    z.backward()
    z.backward()


def test_a_node_that_keeps_nothing_can_be_freed_partly() -> None:
    x = leaf()
    a = x.exp()
    b, c = a.sum(), (a * 2).sum()
    b.backward()
    with pytest.raises(RuntimeError, match="ExpBackward0"):
        c.backward()


def test_third_order() -> None:
    x = weft.tensor(2.0, dtype=weft.float64, requires_grad=True)
    y = x**4
    got = []
    for _ in range(4):
        (y,) = autograd.grad(y, x, create_graph=True)
        got.append(y.item())
    assert got == [32, 48, 48, 24]


def test_higher_orders_of_a_composite() -> None:
    x = weft.tensor(0.3, dtype=weft.float64, requires_grad=True)
    (a,) = autograd.grad((x.sin() * x.exp()).tanh(), x, create_graph=True)
    (b,) = autograd.grad(a, x, create_graph=True)
    (c,) = autograd.grad(b, x)

    def f(v: float) -> float:
        t = weft.tensor(v, dtype=weft.float64, requires_grad=True)
        (g,) = autograd.grad((t.sin() * t.exp()).tanh(), t, create_graph=True)
        return autograd.grad(g, t)[0].item()

    h = 1e-5
    assert abs((f(0.3 + h) - f(0.3 - h)) / (2 * h) - c.item()) < 1e-6


def test_backward_with_create_graph() -> None:
    x = leaf(3.0)
    (x**3).sum().backward(create_graph=True)
    assert x.grad is not None and x.grad.requires_grad
    first = x.grad
    (second,) = autograd.grad(first.sum(), x)
    assert second.tolist() == [18]
    x.grad = None


def test_gradient_penalty() -> None:
    w, x = leaf(1.0, 2.0), weft.tensor([3.0, 4.0], requires_grad=True)
    (g,) = autograd.grad((w * x * x).sum(), x, create_graph=True)
    (g * g).sum().backward()  # (2wx)^2 -> 8 w x^2
    assert grad_of(w) == [72, 256]


# ---- leaves -------------------------------------------------------------------------------------


def test_leaves() -> None:
    x = leaf()
    assert x.is_leaf and x.grad_fn is None and x.requires_grad
    y = x * 2
    assert not y.is_leaf and y.requires_grad
    d = y.detach()
    assert d.is_leaf and not d.requires_grad and d.data_ptr() == y.data_ptr()
    with pytest.raises(RuntimeError, match="leaf"):
        y.requires_grad = False
    d.requires_grad_()
    assert d.requires_grad


def test_detach_in_place() -> None:
    x = leaf()
    y = x * 2
    assert y.detach_() is y
    assert y.is_leaf and not y.requires_grad
    with pytest.raises(RuntimeError, match="view"):
        (x * 2)[0].detach_()


def test_setting_grad() -> None:
    x = leaf()
    g = weft.ones(3)
    x.grad = g
    assert x.grad is g
    for wrong in (weft.ones(2), weft.ones(3, dtype=weft.float64)):
        with pytest.raises(RuntimeError, match="assigned grad"):
            x.grad = wrong
    with pytest.raises(TypeError, match="assigned grad"):
        x.grad = 1.0  # type: ignore[assignment]
    x.sum().backward()
    assert g.tolist() == [2, 2, 2]  # added to in place
    x.grad = None
    assert x.grad is None


def test_accumulation_does_not_share_memory() -> None:
    x, y = leaf(), leaf()
    (x + y).sum().backward()
    assert x.grad is not None and y.grad is not None
    x.grad.add_(1)
    assert grad_of(y) == [1, 1, 1]


def test_accumulation_is_in_place_without_create_graph() -> None:
    x = leaf()
    x.sum().backward()
    first = x.grad
    x.sum().backward()
    assert x.grad is first
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not first and first is not None and first.tolist() == [2, 2, 2]
    x.grad = None


def test_requires_grad_needs_a_floating_type() -> None:
    with pytest.raises(RuntimeError, match="floating point"):
        weft.ones(1, dtype=weft.int32, requires_grad=True)
    with pytest.raises(RuntimeError, match="floating point"):
        weft.ones(1, dtype=weft.bool).requires_grad = True


def test_variable() -> None:
    t = weft.ones(2)
    v = autograd.Variable(t, requires_grad=True)
    assert isinstance(v, autograd.Variable) and isinstance(t, autograd.Variable)
    assert v.requires_grad and not t.requires_grad and v.data_ptr() == t.data_ptr()
    (v * 3).sum().backward()
    assert grad_of(v) == [3, 3]


class Parameter(weft.Tensor):
    """Like nn.Parameter."""


def parameter() -> Any:
    return weft._C._make_subclass(Parameter, weft.ones(3), True)


def test_a_subclass_keeps_its_identity_while_only_the_graph_holds_it() -> None:
    p = parameter()
    p.tag = "weights"
    address, gone = id(p), weakref.ref(p)
    y = (p * p).sum()
    del p
    gc.collect()
    node = y.grad_fn
    while node.name() != "AccumulateGrad":
        node = node.next_functions[0][0]
    back = node.variable
    assert type(back) is Parameter and id(back) == address and back.tag == "weights"
    del node
    y.backward()
    assert grad_of(back) == [2, 2, 2]
    del back
    saved = (parameter() * 2).grad_fn
    assert type(saved.next_functions[0][0].variable) is Parameter
    del y, saved
    gc.collect()
    assert gone() is None


def test_a_subclass_survives_being_dropped_many_times() -> None:
    p = parameter()
    p.tag = 1
    y = (p * p).sum()
    node = y.grad_fn.next_functions[0][0].next_functions[0][0]
    del p
    for i in range(5):
        p = node.variable
        assert p.tag == i + 1
        p.tag += 1
        del p
        gc.collect()


# ---- modes --------------------------------------------------------------------------------------


def test_no_grad_and_enable_grad() -> None:
    x = leaf()
    with weft.no_grad():
        assert not weft.is_grad_enabled() and not (x * 2).requires_grad
        with weft.enable_grad():
            assert (x * 2).requires_grad
        made = weft.ones(1, requires_grad=True)
        assert made.requires_grad
    assert weft.is_grad_enabled()
    with weft.set_grad_enabled(False):
        assert not (x * 2).requires_grad

    @weft.no_grad()
    def f(t: weft.Tensor) -> weft.Tensor:
        return t * 2

    assert not f(x).requires_grad and weft.is_grad_enabled()
    with pytest.raises(ValueError, match="x"), weft.no_grad():
        raise ValueError("x")
    assert weft.is_grad_enabled()


def test_backward_restores_the_mode() -> None:
    x, seen = leaf(), []
    y = (x * x).sum()
    x.register_hook(lambda g: seen.append(weft.is_grad_enabled()))
    y.backward(retain_graph=True)
    y.backward(create_graph=True)
    assert seen == [False, True] and weft.is_grad_enabled()
    x.grad = None
    with weft.no_grad():
        z = leaf()
        with weft.enable_grad():
            w = (z * z).sum()
        w.backward()
        assert not weft.is_grad_enabled()
    assert grad_of(z) == [2, 4, 6]


def test_inference_mode() -> None:
    x = leaf()
    with weft.inference_mode():
        assert weft.is_inference_mode_enabled() and not weft.is_grad_enabled()
        y = x * 2
        assert y.is_inference() and not y.requires_grad
        y.add_(1)
    assert not weft.is_inference_mode_enabled() and weft.is_grad_enabled()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * y
    with pytest.raises(RuntimeError, match="inference tensor outside InferenceMode"):
        y.add_(1)
    with pytest.raises(RuntimeError, match="inference tensor"):
        y.requires_grad_()
    assert not (x + y).is_inference()  # nothing is kept: allowed
    (x * y.clone()).sum().backward()
    assert grad_of(x) == [3, 5, 7]
    with weft.inference_mode(), weft.inference_mode(False):
        assert (x * 2).requires_grad


# ---- looking into the graph ---------------------------------------------------------------------


def test_walking_the_graph() -> None:
    x, w = leaf(), leaf()
    y = ((x * w).exp() + x).sum()
    names, stack, seen = [], [y.grad_fn], set()
    while stack:
        n = stack.pop()
        if n is None or n in seen:
            continue
        seen.add(n)
        names.append(n.name())
        stack += [next_node for next_node, _ in n.next_functions]
    assert sorted(names)[:5] == ["AccumulateGrad"] * 2 + [
        "AddBackward0",
        "ExpBackward0",
        "MulBackward0",
    ]
    assert len(names) == 6 and y.grad_fn.name().startswith("Sum")
    (mul, slot), (acc, _) = y.grad_fn.next_functions[0][0].next_functions
    assert slot == 0 and mul.name() == "ExpBackward0"
    assert acc.variable is x and acc.next_functions == ()
    assert (x * 2).grad_fn.next_functions[1] == (None, 0)
    assert repr(mul).startswith("<ExpBackward0 object at")


def test_nodes_have_identity() -> None:
    x = leaf()
    y = x * 2
    z = y + 1
    assert y.grad_fn is y.grad_fn
    assert z.grad_fn.next_functions[0][0] is y.grad_fn
    assert y.grad_fn == y.grad_fn and hash(y.grad_fn) == hash(y.grad_fn)
    assert y.grad_fn != z.grad_fn
    with pytest.raises(AttributeError):
        _ = y.grad_fn.variable


def test_output_numbers() -> None:
    class Split(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: weft.Tensor) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: weft.Tensor, b: weft.Tensor) -> weft.Tensor:
            return 2 * a + 3 * b

    x = leaf()
    a, b = Split.apply(x)
    assert (a.output_nr, b.output_nr) == (0, 1) and a.grad_fn is b.grad_fn
    assert (b * 2).grad_fn.next_functions[0] == (b.grad_fn, 1)
    (b * 2).sum().backward()
    assert grad_of(x) == [6, 6, 6]


def test_saved_tensors_can_be_read() -> None:
    x, w = leaf(), leaf(4.0, 5.0, 6.0)
    y = x * w
    node = y.grad_fn
    assert node._saved_self.tolist() == [1, 2, 3] and node._saved_self.data_ptr() == x.data_ptr()
    assert node._saved_other.tolist() == [4, 5, 6]
    assert [t.tolist() for t in node.saved_tensors] == [[1, 2, 3], [4, 5, 6]]
    e = x.exp()
    assert equal(e.grad_fn._saved_result, e) and e.grad_fn._saved_result.grad_fn is e.grad_fn
    with pytest.raises(AttributeError, match="keeps no"):
        _ = e.grad_fn._saved_other
    e.sum().backward()
    with pytest.raises(RuntimeError, match="freed"):
        _ = e.grad_fn._saved_result


def test_saved_tensors_of_a_function() -> None:
    class Scale(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: weft.Tensor, k: float) -> weft.Tensor:
            ctx.save_for_backward(x)
            ctx.k = k
            return x * k

        @staticmethod
        def backward(ctx: Any, g: weft.Tensor) -> Any:
            return g * ctx.k, None

    x = leaf()
    y = Scale.apply(x, 3.0)
    assert y.grad_fn.name() == "ScaleBackward" and y.grad_fn.k == 3.0
    assert y.grad_fn.saved_tensors[0] is x
    y.sum().backward()
    assert grad_of(x) == [3, 3, 3]


def test_detect_anomaly_is_a_mode_with_an_end() -> None:
    x = weft.zeros(1, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with autograd.detect_anomaly(), pytest.raises(RuntimeError, match="nan"):
            ((x * 0) / x).sum().backward()
    ((x * 0) / x).sum().backward()
    with autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match="nan"):
        ((x * 0) / x).sum().backward()
    ((x * 0) / x).sum().backward()


def test_a_nested_backward() -> None:
    """backward inside backward, as checkpointing does it, over the same leaf."""

    class Again(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: weft.Tensor) -> weft.Tensor:
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx: Any, g: weft.Tensor) -> weft.Tensor:
            (x,) = ctx.saved_tensors
            with weft.enable_grad():
                inner = x.detach().requires_grad_()
                y = inner.exp()
            y.backward(g)
            assert inner.grad is not None
            return inner.grad

    x = leaf()
    (Again.apply(x * 2) * x).sum().backward()
    v = x.detach()
    expected = (2 * v).exp() * (1 + 2 * v)
    assert x.grad is not None and x.grad.tolist() == pytest.approx(expected.tolist())


def test_a_nested_backward_over_the_same_leaf() -> None:
    x, inner = leaf(), []
    y = x * 2
    other = (x * 5).sum()
    y.register_hook(lambda g: inner.append(autograd.grad(other, x, retain_graph=True)[0].tolist()))
    (x.sum() * 3 + (y * y).sum() + x.sum()).backward()  # x has a part of its gradient already
    assert inner == [[5, 5, 5]]
    assert grad_of(x) == [12, 20, 28]
