"""Modes of gradients, hooks on what is kept, histories of inputs: compiled calls follow eager ones."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from typing import Any

import pytest
from jit.compile_calls import runs

import weft
from weft import nn

pytestmark = pytest.mark.filterwarnings("ignore:compile")


def test_grad_modes_inference_and_anomaly() -> None:
    """Each mode is a specialisation of its own, or runs eagerly; results say what mode they are from."""
    model = nn.Linear(3, 2)
    f = weft.compile(lambda x: model(x).tanh())
    x = weft.randn(4, 3)
    want = model(x).tanh()
    modes = [weft.enable_grad, weft.no_grad, weft.inference_mode, weft.autograd.detect_anomaly]
    for _ in range(2):
        for mode in modes:
            for _ in range(4):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    with mode():
                        got = f(x)
                assert weft.equal(got, want)
                assert got.requires_grad == (mode in (weft.enable_grad, modes[3]))
                assert got.is_inference() == (mode is weft.inference_mode)
    assert runs(f) >= 6


def test_grad_modes_inside() -> None:
    """Parts that are not recorded, detached, or recorded again."""

    def f(x: Any) -> Any:
        with weft.no_grad():
            a = x * 2
            with weft.enable_grad():
                b = x * 3
        with weft.set_grad_enabled(x.shape[0] > 2):
            c = x * 4
        return a, b, c, (a * b).detach() + c

    compiled = weft.compile(f)
    for turn in range(10):
        x = weft.randn(2 + turn % 2, requires_grad=True)
        y = x.detach().clone().requires_grad_()
        want, got = f(x), compiled(y)
        assert [t.requires_grad for t in want] == [t.requires_grad for t in got]
        for r, z in ((want, x), (got, y)):
            sum(t.sum() for t in r if t.requires_grad).backward()
            assert z.grad is not None
        assert weft.equal(x.grad, y.grad)
        assert all(weft.equal(a, b) for a, b in zip(want, got))


def test_saved_tensors_hooks() -> None:
    """They see what eager keeps, before and after it was captured; and are not in the way later."""
    packed = []

    def pack(t: Any) -> Any:
        packed.append(t)
        return t

    f = weft.compile(lambda x: (x * x).sum())
    for _ in range(3):
        with weft.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            x = weft.ones(2, requires_grad=True)
            f(x).backward()
            assert packed and x.grad.tolist() == [2.0, 2.0]
        packed.clear()
        for _ in range(4):
            f(x)
    assert runs(f) == 10 and not packed


def test_results_of_which_some_get_no_gradient() -> None:
    """What is not used has no part in the gradients: no NaN of 0 times infinity."""
    f = weft.compile(lambda x: (x * 2, x.sqrt(), x.log()))
    for turn in range(10):
        x = weft.zeros(2, requires_grad=True)
        results = f(x)
        if turn % 2:
            results[0].sum().backward()
            assert x.grad.tolist() == [2.0, 2.0]
        else:
            (results[0] + results[1]).sum().backward()
            assert x.grad.tolist() == [float("inf")] * 2
    assert runs(f) == 8


def test_histories_of_inputs() -> None:
    """A backward pass inside goes on along them; a result's does so outside."""
    p = nn.Parameter(weft.ones(2))
    inside = weft.compile(lambda h: h.sum().backward())
    outside = weft.compile(lambda h: h.sum() * 1)
    for k in (2.0, 2.0, 2.0, 2.0, 3.0, 3.0):
        p.grad = None
        inside(p * k)
        assert p.grad.tolist() == [k, k]
        p.grad = None
        outside(p * k).backward()
        assert p.grad.tolist() == [k, k]


def test_inputs_that_get_a_history() -> None:
    """An input that is changed by something with a gradient has one afterwards."""
    w = nn.Parameter(weft.ones(2))

    def f(x: Any) -> None:
        x.add_(w)

    compiled = weft.compile(f)
    for _ in range(5):
        x = weft.zeros(2)
        compiled(x)
        assert x.requires_grad
        x.sum().backward()
    assert w.grad.tolist() == [5.0, 5.0]
    g = weft.compile(lambda x: x.requires_grad_())
    for _ in range(5):
        x = weft.zeros(2)
        assert g(x) is x and x.requires_grad


def test_compiled_modules_are_called_from_several_lines() -> None:
    """As a critic is, with real and with made up images."""
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    compiled, x = weft.compile(model, fullgraph=True), weft.randn(4, 3)
    for _ in range(3):
        first = compiled(x)
        second = compiled(x + 1)
        assert weft.equal(first, model(x)) and weft.equal(second, model(x + 1))
    assert runs(compiled) == 4


def test_compiled_modules_honour_hooks_modes_and_keywords() -> None:
    """Hooks of the wrapper and of the module, set before and after calls were captured."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Tanh())
    compiled, x, seen = weft.compile(model), weft.randn(4, 3), []

    def check(change: Any = lambda y: y) -> None:
        for _ in range(4):
            weft.manual_seed(1)
            want = change(model(x))
            weft.manual_seed(1)
            assert weft.equal(compiled(x), want)
            weft.manual_seed(1)
            assert weft.equal(compiled(input=x), want)

    check()
    compiled.eval()
    check()
    outer = compiled.register_forward_hook(lambda m, i, o: seen.append(m) or o + 1)
    check(lambda y: y + 1)
    assert len(seen) == 8 and all(m is compiled for m in seen)
    outer.remove()
    with model[0].register_forward_hook(lambda m, i, o: o * 2):
        check()
    with model[2].register_forward_pre_hook(lambda m, i: (i[0] - 1,)):
        check()
    for factor in (2, 3):
        with nn.modules.module.register_module_forward_hook(lambda m, i, o, f=factor: o * f):
            check(lambda y, f=factor: y * f)  # the wrapper is a module too
    check()
    compiled.train()
    check()
    assert runs(compiled) >= 6 and list(inspect.signature(compiled.forward).parameters) == ["input"]


def test_settings_that_nobody_has_asked_for() -> None:
    """They are the same before and after the module that keeps them is loaded."""
    program = (
        "import sys, weft; from weft.jit.modes import settings; before = settings(); "
        "assert 'weft.compat.kernel_settings' not in sys.modules; "
        "weft.get_float32_matmul_precision(); assert settings() == before; "
        "weft.set_float32_matmul_precision('high'); assert settings() != before"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
