"""fork and wait: results, errors, gradients, modes, and no deadlock."""

from __future__ import annotations

import os
import threading
import traceback
from typing import Any

import pytest

import weft
from weft.jit import fork, wait


def test_runs_beside() -> None:
    """Two forked calls meet: each waits for the other, which one thread could not do."""
    meeting = threading.Barrier(2)

    def call() -> int:
        meeting.wait(timeout=600)
        return threading.get_ident()

    a, b = fork(call), fork(call)
    assert wait(a) != wait(b)


def test_gradients_flow() -> None:
    """Through results that other threads made."""
    x = weft.ones(3, requires_grad=True)
    parts = [fork(lambda n: (x * n).exp(), n) for n in range(4)]
    sum(wait(p).sum() for p in parts).backward()
    twin = weft.ones(3, requires_grad=True)
    sum((twin * n).exp().sum() for n in range(4)).backward()
    assert x.grad.tolist() == twin.grad.tolist()


def test_modes_are_the_callers() -> None:
    """No gradients in, none out; and the thread forgets it."""
    x = weft.ones(1, requires_grad=True)
    with weft.no_grad():
        assert not fork(lambda: x * 2).wait().requires_grad
        assert fork(weft.is_grad_enabled).wait() is False
    assert fork(weft.is_grad_enabled).wait() is True
    with weft.inference_mode():
        assert fork(weft.is_inference_mode_enabled).wait() is True
    assert fork(weft.is_inference_mode_enabled).wait() is False


def test_errors_come_with_their_traceback() -> None:
    """The exception is the call's own, and shows where it was raised; every time."""

    def fails() -> None:
        raise KeyError("odd key")

    future = fork(fails)
    for _ in range(2):
        with pytest.raises(KeyError, match="odd key") as caught:
            future.wait()
        assert "in fails" in "".join(traceback.format_tb(caught.value.__traceback__))


def test_nested_forks_do_not_lock() -> None:
    """Many more forks within forks than threads."""

    def tree(depth: int) -> int:
        if depth == 0:
            return 1
        return sum(f.wait() for f in [fork(tree, depth - 1) for _ in range(3)])

    assert tree(6) == 3**6


def test_future() -> None:
    """Set by hand, followed, asked too early, set twice."""
    future: Any = weft.jit.Future()
    assert not future.done() and "running" in repr(future)
    with pytest.raises(RuntimeError, match="no result yet"):
        future.value()
    after, seen = future.then(lambda f: f.value() + 1), []
    future.add_done_callback(seen.append)
    future.set_result(1)
    future.add_done_callback(seen.append)
    assert (future.wait(), after.wait(), seen) == (1, 2, [future, future])
    with pytest.raises(RuntimeError, match="set before"):
        future.set_result(2)
    failed: Any = weft.jit.Future[int]()
    failed.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        failed.then(lambda f: f.value()).wait()
    with pytest.raises(TypeError, match="is no exception"):
        weft.jit.Future().set_exception("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes what fork returned"):
        wait(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes a function or a module"):
        fork(3)  # type: ignore[arg-type]


def test_while_tracing() -> None:
    """Forked calls are part of the trace."""
    traced = weft.jit.trace(lambda x: fork(weft.exp, x).wait() + 1, (weft.ones(2),))
    assert [n.op for n in traced.graph] == ["exp", "add"]
    assert not weft.jit.is_tracing()


def test_after_a_fork_of_the_process() -> None:
    """A child process has threads of its own."""
    fork(weft.ones, 1).wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if fork(weft.ones, 2).wait().tolist() == [1.0, 1.0] else 1)
    assert os.waitpid(child, 0)[1] == 0
