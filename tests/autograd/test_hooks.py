"""Hooks on tensors, nodes and leaves: when they run, what they may change, and how they go."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import weft


def leaf(*values: float) -> weft.Tensor:
    return weft.tensor(values or (1.0, 2.0), requires_grad=True)


def grad_of(x: weft.Tensor) -> list[float]:
    assert x.grad is not None
    return x.grad.tolist()


def test_a_hook_sees_the_whole_gradient_once() -> None:
    x, seen = leaf(), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y * 3 + y * 4).sum().backward()
    assert seen == [[7, 7]] and grad_of(x) == [14, 14]


def test_a_hook_may_replace_the_gradient() -> None:
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g + 1)  # in order
    y.sum().backward()
    assert grad_of(x) == [22, 22]
    x.grad = None
    x.register_hook(lambda g: -g)
    (x * 5).sum().backward()
    assert grad_of(x) == [-5, -5]


def test_hooks_count_for_grad_too() -> None:
    x = leaf()
    x.register_hook(lambda g: g * 2)
    assert weft.autograd.grad(x.sum(), x)[0].tolist() == [2, 2]
    y = x * 1
    y.register_hook(lambda g: g * 3)
    assert weft.autograd.grad(y.sum(), y)[0].tolist() == [3, 3]


def test_what_a_hook_returns_is_checked() -> None:
    x = leaf()
    for wrong, kind, text in (
        (weft.ones(3), RuntimeError, "shape"),
        (weft.ones(2, dtype=weft.float64), RuntimeError, "dtype"),
        ("x", TypeError, "Tensor"),
    ):
        y = x * 2
        y.register_hook(lambda g, wrong=wrong: wrong)
        with pytest.raises(kind, match=text):
            y.sum().backward()
    with pytest.raises(TypeError, match="callable"):
        x.register_hook(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        weft.ones(1).register_hook(print)


def test_handles() -> None:
    x, seen = leaf(), []
    first = x.register_hook(lambda g: seen.append(1))
    second = x.register_hook(lambda g: seen.append(2))
    assert first.id != second.id
    first.remove()
    first.remove()
    x.sum().backward()
    assert seen == [2]
    second.remove()
    with x.register_hook(lambda g: seen.append(3)):
        x.sum().backward()
    x.sum().backward()
    assert seen == [2, 3]


def test_a_handle_outlives_its_tensor_and_keeps_nothing() -> None:
    x = leaf()
    gone = weakref.ref(x)
    handle = x.register_hook(lambda g: None)
    del x
    gc.collect()
    assert gone() is None
    handle.remove()


def test_a_hook_may_remove_itself_and_add_others() -> None:
    x, seen = leaf(), []

    def once(g: weft.Tensor) -> None:
        seen.append("once")
        handle.remove()
        x.register_hook(lambda g: seen.append("new"))

    handle = x.register_hook(once)
    x.sum().backward()
    assert seen == ["once"]
    x.sum().backward()
    assert seen == ["once", "new"]


def test_hooks_on_an_intermediate_survive_its_python_object() -> None:
    x, seen = leaf(), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    z = y * 3
    del y
    gc.collect()
    z.sum().backward()
    assert seen == [[3, 3]]


def test_hooks_stay_with_the_value_before_an_in_place_change() -> None:
    x, seen = leaf(), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.mul_(5)
    y.sum().backward()
    assert seen == [[5, 5]]  # of x * 2


def test_node_hooks() -> None:
    x, log = leaf(), []
    y = x.exp()
    y.grad_fn.register_prehook(lambda outs: log.append(("pre", len(outs), outs[0].tolist())))
    y.grad_fn.register_hook(lambda ins, outs: log.append(("post", len(ins), outs[0].tolist())))
    (y * 2).sum().backward()
    assert log == [("pre", 1, [2, 2]), ("post", 1, [2, 2])]


def test_node_hooks_may_replace_gradients() -> None:
    x, w = leaf(), leaf()
    y = x * w
    y.grad_fn.register_prehook(lambda outs: (outs[0] * 10,))
    y.grad_fn.register_hook(lambda ins, outs: (ins[0], None))
    y.sum().backward()
    assert grad_of(x) == [10, 20] and w.grad is None
    y = x * w
    y.grad_fn.register_hook(lambda ins, outs: (ins[0],))
    with pytest.raises(RuntimeError, match="1 gradients, expected 2"):
        y.sum().backward()


def test_node_hook_on_an_accumulator() -> None:
    x, log = leaf(), []
    y = x * 2
    acc = y.grad_fn.next_functions[0][0]
    acc.register_prehook(lambda outs: log.append(outs[0].tolist()))
    handle = acc.register_hook(lambda ins, outs: log.append(grad_of(x)))
    y.sum().backward(retain_graph=True)
    handle.remove()
    y.sum().backward()
    assert log == [[2, 2], [2, 2], [2, 2]]


def test_post_accumulate_hooks() -> None:
    x, log = leaf(), []

    def step(p: weft.Tensor) -> None:
        assert p is x
        log.append(grad_of(p))
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 2 + x * 3).sum().backward()
    assert log == [[5, 5]] and x.grad is None
    handle.remove()
    x.sum().backward()
    assert log == [[5, 5]] and grad_of(x) == [1, 1]
    with pytest.raises(RuntimeError, match="non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(step)


def test_post_accumulate_hooks_do_not_run_for_grad() -> None:
    x, log = leaf(), []
    x.register_post_accumulate_grad_hook(lambda p: log.append(p))
    weft.autograd.grad(x.sum(), x)
    assert not log


def test_the_order_of_all_kinds() -> None:
    x, log = leaf(), []
    y = x * 2
    y.register_hook(lambda g: log.append("tensor"))
    y.grad_fn.register_prehook(lambda g: log.append("node before"))
    y.grad_fn.register_hook(lambda a, b: log.append("node after"))
    x.register_hook(lambda g: log.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    y.sum().backward()
    assert log == ["tensor", "node before", "node after", "leaf", "accumulated"]


def test_hooks_with_create_graph_are_recorded() -> None:
    x = leaf(3.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = weft.autograd.grad(y.sum(), x, create_graph=True)  # 2 x * x
    assert g.tolist() == [18]
    assert weft.autograd.grad(g.sum(), x)[0].tolist() == [12]


def test_an_exception_in_a_hook_leaves_a_usable_graph() -> None:
    x = leaf()
    y = x * 2
    z = (y * y).sum()

    def fail(g: Any) -> None:
        raise KeyError("mine")

    handle = y.register_hook(fail)
    with pytest.raises(KeyError, match="mine"):
        z.backward(retain_graph=True)
    assert x.grad is None and weft.is_grad_enabled()
    handle.remove()
    z.backward()
    assert grad_of(x) == [8, 16]


# ---- on saved tensors ---------------------------------------------------------------------------


def test_saved_tensors_hooks() -> None:
    x, log = leaf(), []

    def pack(t: weft.Tensor) -> list[Any]:
        log.append(("pack", t.tolist()))
        return t.tolist()

    def unpack(values: list[Any]) -> weft.Tensor:
        log.append(("unpack", values))
        return weft.tensor(values)

    with weft.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * x
    z = y.exp()  # outside: kept as it is
    z.sum().backward()
    assert [kind for kind, _ in log] == ["pack", "pack", "unpack", "unpack"]
    expected = 2 * x.detach() * (x.detach() ** 2).exp()
    assert x.grad is not None and x.grad.tolist() == pytest.approx(expected.tolist())


def test_nested_saved_tensors_hooks_use_the_innermost() -> None:
    x, log = leaf(), []
    hooks = weft.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: log.append("outer") or t, lambda t: t):
        with hooks(lambda t: log.append("inner") or t, lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    assert log == ["inner", "outer"]
    with (
        weft.autograd.graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        hooks(lambda t: t, lambda t: t),
    ):
        pass


def test_a_packed_tensor_may_change() -> None:
    """What a pack hook made its own copy of is not checked for later changes."""
    x = leaf()
    y = x * 1
    with weft.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        z = y * y
    y.add_(100)
    z.sum().backward()
    assert grad_of(x) == [2, 4]
