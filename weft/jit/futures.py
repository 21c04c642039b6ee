"""``fork`` and ``wait``: calls that run concurrently on threads.

Long kernels of weft release Python's lock, so two of them use two cores. A forked call is given to
a thread that is idle, and otherwise runs at once where it was forked. So no call ever waits for a
thread, and forks within forks cannot lock each other out.
"""

from __future__ import annotations

import os
import threading

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Future", "fork", "wait"]


class Future:
    """A result that may still be on its way.

    >>> future = weft.jit.fork(weft.add, weft.ones(2), 1)
    >>> future.wait()
    tensor([2., 2.])
    >>> future.done()
    True
    """

    def __init__(self) -> None:
        """Start without a result."""
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._result: Any = None
        self._error: BaseException | None = None
        self._trace: Any = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def __class_getitem__(cls, item: Any) -> type[Future]:
        """``Future[Tensor]``, for annotations."""
        return cls

    def done(self) -> bool:
        """Say whether there is a result, or an exception."""
        return self._done.is_set()

    def wait(self) -> Any:
        """Wait for the result and return it, or raise the exception of the call."""
        self._done.wait()
        return self.value()

    def value(self) -> Any:
        """Return the result, which must be there, or raise the exception of the call."""
        if not self._done.is_set():
            raise RuntimeError("Future.value: there is no result yet: call wait()")
        if self._error is not None:
            raise self._error.with_traceback(self._trace)
        return self._result

    def set_result(self, result: Any) -> None:
        """Give the result to those who wait.

        >>> future = weft.jit.Future()
        >>> future.set_result(3)
        >>> future.wait()
        3
        """
        self._set(result, None)

    def set_exception(self, error: BaseException) -> None:
        """Let those who wait get an exception."""
        if not isinstance(error, BaseException):
            raise TypeError(f"set_exception: {error!r:.100} is no exception")
        self._set(None, error)

    def _set(self, result: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._done.is_set():
                raise RuntimeError("Future: the result was set before")
            self._result, self._error = result, error
            self._trace = None if error is None else error.__traceback__
            self._done.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call ``callback`` with this future when there is a result; at once if there is."""
        with self._lock:
            if not self._done.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Return the future of what ``callback`` makes of this one when there is a result.

        >>> weft.jit.fork(weft.ones, 2).then(lambda f: f.value() * 3).wait()
        tensor([3., 3.])
        """
        following = Future()
        self.add_done_callback(lambda f: _complete(following, callback, (f,), {}))
        return following

    def __repr__(self) -> str:
        """Say whether there is a result."""
        return f"<Future, {'done' if self.done() else 'running'}>"


def _complete(future: Future, f: Callable[..., Any], args: Any, named: Any) -> None:
    """Call a function, and give what comes of it to a future."""
    try:
        result = f(*args, **named)
    except BaseException as e:
        future.set_exception(e)
        return
    future.set_result(result)


class _Worker:
    """A thread that runs one call after the other."""

    def __init__(self) -> None:
        self.wake = threading.Semaphore(0)
        self.work: Any = None
        threading.Thread(target=self.run, name="weft fork", daemon=True).start()

    def run(self) -> None:
        while True:
            self.wake.acquire()
            future, modes, f, args, named = self.work
            self.work = None
            _C._set_grad_enabled(modes[0])
            _C._set_inference_mode(modes[1])
            _C._set_autocast(*modes[2])
            try:
                # The thread is idle again before anyone can see the result.
                result, error = f(*args, **named), None
            except BaseException as e:
                result, error = None, e
            _C._forget_casts()
            _pool.give_back(self)
            future._set(result, error)
            del future, modes, f, args, named, result, error


class _Pool:
    """The threads; there are as many as cores, besides the one that forks."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start without threads: a forked process has none of its parent's."""
        self.lock = threading.Lock()
        self.idle: list[_Worker] = []
        self.count = 0
        self.most = max(len(os.sched_getaffinity(0)), 2)

    def take(self) -> _Worker | None:
        with self.lock:
            if self.idle:
                return self.idle.pop()
            if self.count == self.most:
                return None
            self.count += 1
        return _Worker()

    def give_back(self, worker: _Worker) -> None:
        with self.lock:
            self.idle.append(worker)


_pool = _Pool()
os.register_at_fork(after_in_child=_pool.reset)


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Start ``func(*args, **kwargs)`` beside what follows, and return its ``Future``.

    The call has the gradient mode and the autocast of the caller, and gradients flow through its result. Random
    numbers that calls draw beside each other come in no fixed order. While a trace is taken or a
    compiled function is captured, and when all threads are busy, the call runs at once.

    >>> left = weft.jit.fork(lambda x: x * 2, weft.ones(2))
    >>> right = weft.ones(2) * 3
    >>> weft.jit.wait(left) + right
    tensor([5., 5.])
    """
    if not callable(func):
        raise TypeError(f"fork: takes a function or a module, not a {type(func).__name__}")
    future = Future()
    worker = None if _C._recorder() is not None else _pool.take()
    if worker is None:
        try:
            future.set_result(func(*args, **kwargs))
        except Exception as e:
            future.set_exception(e)
        return future
    modes = _C._grad_enabled(), _C._inference_mode(), _C._autocast_state()
    worker.work = future, modes, func, args, kwargs
    worker.wake.release()
    return future


def wait(future: Future) -> Any:
    """Wait for the result of ``fork`` and return it; an exception of the call is raised here.

    >>> weft.jit.wait(weft.jit.fork(weft.ones, 2))
    tensor([1., 1.])
    """
    if not isinstance(future, Future):
        raise TypeError(f"wait: takes what fork returned, not a {type(future).__name__}")
    return future.wait()
