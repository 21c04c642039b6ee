"""Machine code of fused loops: it is there while somebody uses it, and goes with the last."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from robustness.test_threads import together

import weft
from weft import _C
from weft.jit.codegen import machine_code


@pytest.fixture(autouse=True)
def _only_those_in_use() -> Any:
    gc.collect()
    _C._forget_recent_fused()
    yield
    gc.collect()
    _C._forget_recent_fused()


def compiled(number: float) -> Any:
    """A function of one fused loop, which has this number in it."""
    fast = weft.compile(lambda x: (x * number).tanh() + 1)
    x = weft.ones(70)
    for _ in range(4):
        fast(x)
    assert weft.equal(fast(x), (x * number).tanh() + 1)
    return fast


def test_a_kernel_goes_with_its_last_program() -> None:
    """Two programs of one loop share it; after both are gone there is no code for it."""
    before = _C._fused_count()
    first, second = compiled(1.625), compiled(1.625)
    assert _C._fused_count() == before + 1
    del first
    gc.collect()
    _C._forget_recent_fused()
    assert _C._fused_count() == before + 1
    assert weft.equal(second(weft.ones(70)), (weft.ones(70) * 1.625).tanh() + 1)
    del second
    gc.collect()
    _C._forget_recent_fused()
    assert _C._fused_count() == before


def test_those_that_were_used_last_wait_for_the_next_program() -> None:
    """A function that is captured again finds its kernels."""
    before = _C._fused_count()
    fast = compiled(1.375)
    fast.forget()
    gc.collect()
    assert _C._fused_count() == before + 1
    for number in range(200):
        weft.jit.codegen.make(
            f"v0: float32; v1: float32 = mul(v0, {number}.625); v2: float32 = exp(v1); return v2"
        )
    assert _C._fused_count() <= before + 128


def test_engines_go_with_their_last_function() -> None:
    """LLVM's memory is freed when no function of an engine is used."""
    engines = weakref.WeakSet[Any]()
    load = machine_code._Machine.load

    def noted(self: Any, data: bytes, name: str) -> Any:
        made = load(self, data, name)
        engines.add(made._engine)
        return made

    machine_code._Machine.load = noted  # type: ignore[method-assign]
    try:
        for number in range(3 * machine_code._MOST):
            weft.jit.codegen.make(
                f"v0: float32; v1: float32 = mul(v0, {number}.375); v2: float32 = neg(v1); return v2"
            )
        assert len(engines) >= 3
        _C._forget_recent_fused()
        gc.collect()
        assert len(engines) <= 1  # the one that has room
    finally:
        machine_code._Machine.load = load  # type: ignore[method-assign]


def test_a_kernel_stays_while_a_graph_needs_it() -> None:
    """The node of an op that ran by itself keeps the kernel for its derivative."""
    text = "v0: float32; v1: float32 = mul(v0, 2.875); v2: float32 = exp(v1); return v2"
    x = weft.ones(3, requires_grad=True)
    (y,) = _C._call_op("fused", ([x], text), False)
    _C._forget_recent_fused()
    gc.collect()
    assert _C._has_fused(text)
    y.sum().backward()
    want = weft.ones(3, requires_grad=True)
    (want * 2.875).exp().sum().backward()
    assert weft.equal(x.grad, want.grad)
    del y
    gc.collect()
    assert not _C._has_fused(text)


def test_threads_make_and_drop_kernels() -> None:
    """Programs come and go in several threads, with the same loops; all answers are right."""

    def work(i: int) -> bool:
        for k in range(6):
            compiled(0.125 + (i + k) % 3)
            if k % 2:
                _C._forget_recent_fused()
        return True

    assert all(together(work, 4))
