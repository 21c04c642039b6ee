"""Hooks of modules: order, arguments, what they may change, and when they run."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import nn


class Scale(nn.Module):
    """x·a and x·k, or their sum with y; fails for k = 0."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Parameter(weft.tensor(2.0))

    def forward(self, x: Any, y: Any = None, *, k: float = 1) -> Any:
        """Multiply."""
        if k == 0:
            raise ValueError("k is zero")
        return (x * self.a, x * k) if y is None else x * self.a + y * k


def leaf() -> Any:
    """A tensor that wants a gradient."""
    return weft.tensor([1.0, 2.0], requires_grad=True)


def test_forward_hooks_in_order() -> None:
    """Pre-hooks, forward, hooks; ``prepend`` puts one first; removed ones are gone."""
    m, seen = Scale(), []
    handles = [
        m.register_forward_pre_hook(lambda m, a: seen.append("pre")),
        m.register_forward_pre_hook(
            lambda m, a, k: seen.append(("pre first", k)), prepend=True, with_kwargs=True
        ),
        m.register_forward_hook(lambda m, a, out: seen.append("after")),
        m.register_forward_hook(
            lambda m, a, k, out: seen.append(("after first", len(a))),
            prepend=True,
            with_kwargs=True,
        ),
    ]
    m(leaf(), k=3)
    assert seen == [("pre first", {"k": 3}), "pre", ("after first", 1), "after"]
    for handle in handles:
        handle.remove()
        handle.remove()
    seen.clear()
    m(leaf())
    assert seen == []


def test_forward_hooks_change_values() -> None:
    """What hooks return takes the place of arguments and output."""
    m = Scale()
    x = weft.ones(1)
    with m.register_forward_pre_hook(lambda m, a: a[0] * 10):
        assert m(x)[0].item() == 20
    with m.register_forward_pre_hook(lambda m, a, k: (a, {"k": 7}), with_kwargs=True):
        assert m(x)[1].item() == 7
    with m.register_forward_hook(lambda m, a, out: "new"):
        assert m(x) == "new"
    bad = m.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple"):
        m(x)
    bad.remove()


def test_always_call() -> None:
    """Such a hook sees a call that fails; what it raises itself becomes a warning."""
    m, seen = Scale(), []
    m.register_forward_hook(lambda m, a, out: seen.append("usual"))
    handle = m.register_forward_hook(lambda m, a, out: seen.append(out), always_call=True)
    with pytest.raises(ValueError, match="k is zero"):
        m(leaf(), k=0)
    assert seen == [None]
    seen.clear()
    with m.register_forward_hook(lambda m, a, out: 1 / 0, prepend=True):
        with pytest.raises(ZeroDivisionError):
            m(leaf(), weft.zeros(2))
    assert seen[0].tolist() == [2, 4]  # forward itself did not fail
    handle.remove()
    m.register_forward_hook(lambda m, a, out: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="silenced"), pytest.raises(ValueError, match="k is zero"):
        m(leaf(), k=0)


def test_full_backward_hooks() -> None:
    """They see gradients of all positional inputs and outputs, and may replace them."""
    m, seen = Scale(), []
    before = m.register_full_backward_pre_hook(lambda m, go: seen.append(("pre", go)))
    after = m.register_full_backward_hook(lambda m, gi, go: seen.append(("full", gi, go)))
    x = leaf()
    m(x, 5, k=2).sum().backward()
    assert [entry[0] for entry in seen] == ["pre", "full"]
    grad_input, grad_output = seen[1][1:]
    assert grad_input[0].tolist() == [2, 2] and grad_input[1] is None
    assert len(grad_output) == 1 and grad_output[0].tolist() == [1, 1]
    assert x.grad.tolist() == [2, 2] and m.a.grad.item() == 3
    seen.clear()
    m(leaf())[0].sum().backward()
    assert seen[0][1][1] is None  # nothing came back to the second output
    before.remove()
    after.remove()

    x = leaf()
    with m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,)):
        m(x)[0].sum().backward()
    assert x.grad.tolist() == [4, 4]
    x = leaf()
    with m.register_full_backward_pre_hook(lambda m, go: tuple(g * 3 for g in go)):
        sum(t.sum() for t in m(x)).backward()
    assert x.grad.tolist() == [9, 9]
    x = leaf()
    with m.register_full_backward_hook(lambda m, gi, go: [gi[0] * 2]):  # a list is as good
        m(x)[0].sum().backward()
    assert x.grad.tolist() == [4, 4]
    with m.register_full_backward_hook(lambda m, gi, go: seen.append(gi)):
        m(leaf(), weft.ones(2)).sum().backward()
    assert seen[-1][1].tolist() == [0, 0]  # of a tensor that wants no gradient: zeros
    with m.register_full_backward_hook(lambda m, gi, go: gi + gi):
        out = m(leaf())[0].sum()
        with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2"):
            out.backward()


def test_full_backward_hooks_without_input_gradient() -> None:
    """Then they run when the outputs' gradients are known, and cannot return any."""
    m, seen = Scale(), []
    with m.register_full_backward_hook(lambda m, gi, go: seen.append(gi)):
        out = m(weft.ones(2))[0].sum()
        with pytest.warns(UserWarning, match="no inputs require gradients"):
            out.backward()
    assert seen == [(None,)] and m.a.grad.item() == 2
    with m.register_full_backward_hook(lambda m, gi, go: (weft.ones(2),)):
        out = m(weft.ones(2))[0].sum()
        with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="should always return"):
            out.backward()
    with weft.no_grad(), m.register_full_backward_hook(lambda m, gi, go: 1 / 0):
        assert m(leaf())[0].grad_fn is None


def test_full_backward_hooks_twice() -> None:
    """Hooks also run, and can be differentiated through, in derivatives of derivatives."""
    m = nn.Sequential(nn.Tanh())
    m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
    x = weft.tensor([0.3], dtype=weft.float64, requires_grad=True)
    (g,) = weft.autograd.grad(m(x).sum(), x, create_graph=True)
    (gg,) = weft.autograd.grad(g.sum(), x)
    y = x.detach().tanh()
    assert weft.allclose(g.detach(), 2 * (1 - y * y))
    assert weft.allclose(gg, -4 * y * (1 - y * y))


def test_kinds_do_not_mix() -> None:
    """A module has full backward hooks or old ones; outputs must be tensors or tuples."""
    m, seen = Scale(), []
    m.register_full_backward_hook(lambda *a: None)
    with pytest.raises(RuntimeError, match="Cannot use both"):
        m.register_backward_hook(lambda *a: None)
    m = Scale()
    m.register_backward_hook(lambda m, gi, go: seen.append(go))
    m(leaf(), leaf()).sum().backward()
    assert seen[0][0].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Cannot use both"):
        m.register_full_backward_hook(lambda *a: None)

    class Dict(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"y": x * 2}

    d, x = Dict(), leaf()
    d.register_full_backward_hook(lambda m, gi, go: 1 / 0)
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple"):
        out = d(x)["y"]
    out.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_global_hooks() -> None:
    """They see every module while they are registered, and none after."""
    hooks = nn.modules.module
    net, seen = nn.Sequential(nn.ReLU(), nn.Identity()), []

    def note(kind: str) -> Any:
        return lambda m, *rest: seen.append((kind, type(m).__name__))

    handles = [
        hooks.register_module_forward_pre_hook(note("pre")),
        hooks.register_module_forward_hook(note("fwd")),
        hooks.register_module_full_backward_pre_hook(note("bpre")),
        hooks.register_module_full_backward_hook(note("bwd")),
    ]
    try:
        net(leaf()).sum().backward()
        with pytest.raises(RuntimeError, match="as a global Module hook"):
            hooks.register_module_backward_hook(note("old"))
    finally:
        for handle in handles:
            handle.remove()
    order = [kind + " " + name[0] for kind, name in seen]
    assert order[:6] == ["pre S", "pre R", "fwd R", "pre I", "fwd I", "fwd S"]
    assert order[6:] == ["bpre S", "bpre I", "bwd I", "bpre R", "bwd R", "bwd S"]
    seen.clear()
    net(leaf())
    assert seen == []


def test_registration_hooks() -> None:
    """They see members arrive, and may put another in their place."""
    hooks, seen = nn.modules.module, []
    handles = [
        hooks.register_module_parameter_registration_hook(lambda m, n, p: seen.append(n)),
        hooks.register_module_buffer_registration_hook(lambda m, n, b: seen.append(n)),
        hooks.register_module_module_registration_hook(lambda m, n, c: nn.Tanh()),
    ]
    try:
        m = nn.Module()
        m.p = nn.Parameter(weft.ones(1))
        m.register_buffer("b", weft.ones(1))
        m.c = nn.ReLU()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["p", "b"] and isinstance(m.c, nn.Tanh)


def test_tables_may_be_used_directly() -> None:
    """Programs that clear or fill ``_forward_hooks`` themselves get what they ask for."""
    m = nn.Identity()
    m.register_forward_hook(lambda m, a, out: 1)
    m._forward_hooks.clear()
    assert m(0) == 0
    m._forward_hooks[-1] = lambda m, a, out: 2
    assert m(0) == 2
    m._forward_hooks = type(m._forward_hooks)()
    assert m(0) == 0
