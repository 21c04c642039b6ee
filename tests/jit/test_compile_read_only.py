"""A program that would change read-only memory is not run: the error is that of the eager call."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft


def read_only(n: int = 4) -> weft.Tensor:
    array = np.arange(float(n), dtype=np.float32)
    array.flags.writeable = False
    return weft.from_numpy(array)


def add(x: weft.Tensor) -> weft.Tensor:
    return x.add_(1)


def copied(x: weft.Tensor) -> weft.Tensor:
    return x.cumsum_(0)  # by way of a tensor of its own


def viewed(x: weft.Tensor) -> weft.Tensor:
    x[1:3].mul_(2)
    return x * 3


def assigned(x: weft.Tensor) -> weft.Tensor:
    x[0] = 7.0
    return x.sum()


def fused(x: weft.Tensor) -> weft.Tensor:
    return x.mul_(2).add_(1).tanh_().neg()


def split(x: weft.Tensor) -> weft.Tensor:
    y = x * 2
    if y.sum() > 1:
        x.add_(1)
    return y


def late(x: weft.Tensor) -> weft.Tensor:
    y = (x * 2).tanh() + 1
    x.zero_()
    return y


CHANGING = [add, copied, viewed, assigned, fused, split, late]


@pytest.mark.parametrize("f", CHANGING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("calls", [1, 3, 6])
def test_the_error_is_that_of_eager(f: Callable[[weft.Tensor], weft.Tensor], calls: int) -> None:
    x = read_only()
    with pytest.raises(RuntimeError, match="read-only") as eager:
        f(x)
    compiled = weft.compile(f)
    for _ in range(calls):
        assert compiled(weft.arange(4.0)).tolist() == f(weft.arange(4.0)).tolist()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="read-only") as caught:
            compiled(x)
        assert str(caught.value).splitlines()[0] == str(eager.value).splitlines()[0]
        assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert compiled(weft.arange(4.0)).tolist() == f(weft.arange(4.0)).tolist()


@pytest.mark.parametrize("f", CHANGING, ids=lambda f: f.__name__)
def test_what_was_changed_before_the_error_is_changed_once(f: Any) -> None:
    def both(a: weft.Tensor, b: weft.Tensor) -> weft.Tensor:
        a.add_(1)
        if a.sum() > 1e9:
            return a
        return f(b) + 0

    compiled = weft.compile(both)
    for _ in range(5):
        compiled(weft.zeros(4), weft.arange(4.0))
    a = weft.zeros(4)
    with pytest.raises(RuntimeError, match="read-only"):
        compiled(a, read_only())
    assert a.tolist() == [1.0] * 4


def test_constants_and_what_is_only_read() -> None:
    held, count = read_only(), weft.zeros(1)

    @weft.compile
    def f(x: weft.Tensor) -> weft.Tensor:
        count.add_(1)
        return x * held

    for n in range(1, 6):
        assert f(read_only()).tolist() == [0.0, 1.0, 4.0, 9.0] and count.item() == n
    assert [v.ready for v in f.specializations] == [True]  # reading it is no reason not to compile


def test_a_trace_and_a_module_refuse_it_too() -> None:
    traced = weft.jit.trace(add, (weft.arange(4.0),))
    x = read_only()
    assert traced(weft.arange(4.0)).tolist() == [1.0, 2.0, 3.0, 4.0]
    for _ in range(3):
        with pytest.raises(RuntimeError, match="read-only"):
            traced(x)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_state_of_an_optimiser_that_is_read_only(optimizer: str) -> None:
    p = weft.nn.Parameter(weft.ones(4))
    options: dict[str, Any] = {"momentum": 0.9} if optimizer == "SGD" else {}
    opt = getattr(weft.optim, optimizer)([p], lr=0.1, **options)

    def step() -> None:
        p.grad = weft.ones(4)
        opt.step()

    step()
    for name, value in opt.state[p].items():
        if isinstance(value, weft.Tensor) and value.ndim:
            opt.state[p][name] = read_only()
    with pytest.raises(RuntimeError, match="read-only"):
        step()


def test_a_map_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    np.arange(4.0, dtype=np.float32).tofile(path)
    program = f"""
import numpy, weft
x = weft.from_numpy(numpy.memmap({os.fspath(path)!r}, numpy.float32, "r"))
f = weft.compile(lambda x: x.add_(1))
for _ in range(4):
    f(weft.arange(4.0))
try:
    f(x)
except RuntimeError as e:
    print("read-only" in str(e))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "True\n", done.stderr
    assert np.fromfile(path, np.float32).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_program_may_copy_from_it() -> None:
    """And what Python does between two programs of a call happens once."""
    held, steps = weft.zeros(4), []

    def f(x: weft.Tensor) -> weft.Tensor:
        y = x * 2
        if y.sum() > 1e9:
            return y
        held.copy_(x)
        return held + y

    compiled = weft.compile(f)
    for _ in range(5):
        assert compiled(read_only()).tolist() == [0.0, 3.0, 6.0, 9.0]
        steps.append(held.tolist())
    assert steps == [[0.0, 1.0, 2.0, 3.0]] * 5
    assert [v.ready and v.calls > 0 for v in compiled.specializations] == [True]
