"""``Watch``: the page of a running program, and the hooks by which it sees the program's steps."""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
import warnings
import weakref

import weft
from weft import _C
from weft.optim import optimizer as optimizers

from .breakpoints import Breakpoint, Breakpoints
from .conditions import Scope
from .inspect import describe_tensor, describe_variables, user_frame
from .layers import Layers
from .page import page_file
from .recorder import StepRecorder
from .server import PageServer
from .state import Live, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any

    from typing_extensions import Self

    from weft import Tensor

__all__ = ["Stop", "Watch", "watch"]

SHARE = 0.03  # of the program's time that looking may take
COMMANDS = ("pause", "resume", "step", "pdb", "abort")


class Stop:
    """Where the program stands still, with its tensors.

    Attributes:
        reason: why it stopped, in words.
        op: name of the op that just ran; "" between steps.
        inputs, outputs: the tensors of that op.
        frame: the frame of the program's line.

    >>> weft.view.Stop("grad norm > 100", "add", [weft.ones(2)], [], None).reason
    'grad norm > 100'
    """

    def __init__(
        self, reason: str, op: str, inputs: list[Tensor], outputs: list[Tensor],
        frame: FrameType | None,
    ) -> None:  # fmt: skip
        """Keep what is given."""
        self.reason, self.op, self.frame = reason, op, frame
        self.inputs, self.outputs = inputs, outputs

    def facts(self, number: int) -> dict[str, Any]:
        """Return it for the page."""
        frame = self.frame
        with weft.no_grad():
            tensors = [describe_tensor(f"output {i}", t) for i, t in enumerate(self.outputs)]
            tensors += [describe_tensor(f"input {i}", t) for i, t in enumerate(self.inputs)]
            variables = describe_variables(frame)
        line = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
        return {
            "reason": self.reason, "op": number, "name": self.op, "line": line,
            "function": frame.f_code.co_name if frame is not None else "",
            "tensors": tensors, "variables": variables,
        }  # fmt: skip


class Watch:
    """A page on this machine that shows a program while it trains; ``weft.view.watch`` makes one.

    Attributes:
        url: where the page is, with the token that opens it.
        stopped: where the program stands still, or None.
        breakpoints: what stops it.

    >>> with weft.view.Watch(weft.nn.Linear(2, 1), open_browser=False) as page:
    ...     page.url.startswith("http://127.0.0.1:"), page.stopped
    (True, None)
    """

    def __init__(
        self,
        model: Any = None,
        *,
        port: int = 0,
        refreshes: float = 2.0,
        open_browser: bool = True,
    ) -> None:
        """Serve the page, and look at the steps of this thread from now on."""
        if model is not None and not isinstance(model, weft.nn.Module):
            raise TypeError(f"view.watch: takes a Module or nothing, not {type(model).__name__}")
        if not (isinstance(refreshes, (int, float)) and 0 < refreshes <= 30):
            raise ValueError(
                f"view.watch: refreshes must be above 0 and at most 30, got {refreshes!r}"
            )
        self.model, self.refreshes = model, refreshes
        self.stopped: Stop | None = None
        self.breakpoints = Breakpoints()
        self.live = Live()
        self._layers = Layers()
        self._thread: int | None = None  # that trains: the first to end a step
        self._step = 0
        self._recorder: StepRecorder | None = None
        self._scope = Scope()
        self._pause = self._manual = self._closed = self._seen_optimizer = False
        self._commands: list[str] = []
        self._next = 0.0  # when the next step may be shown
        self._last, self._last_cpu = time.perf_counter(), time.thread_time()
        self._usual: float | None = None  # seconds of a step that nobody looks at
        self._usual_cpu: float | None = None  # the same, of this thread's own time
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()
        self._model_hook: Any = None
        self._shows = 0
        self._calls = 0
        if model is not None:
            self._layers.take(model)
            self.live.tree = self._layers.tree
        if type(port) is not int or not 0 <= port < 65536:
            raise ValueError(f"view.watch: port must be an int from 0 to 65535, got {port!r}")
        try:
            self.server = PageServer(
                {"poll": self._poll, "command": self._command, "breakpoint": self._breakpoint,
                 "compiled": self._compiled},
                self._file, port,
            )  # fmt: skip
        except OSError as e:
            raise OSError(e.errno, f"view.watch: port {port}: {e.strerror}") from None
        self.url = self.server.url
        optimizers._watchers.append(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=functools.partial(_forget, weakref.ref(self)))
        self.live.tell(refreshes=refreshes, terminal=sys.stdin is not None and sys.stdin.isatty())
        print(f"weft: the live view is at {self.url}", file=sys.stderr)
        if open_browser and _can_open_browser():
            import webbrowser

            webbrowser.open(self.url)

    def __repr__(self) -> str:
        """Say where the page is, and what the program does."""
        return f"<Watch at {self.url}, {self.live.status['state']}, step {self._step}>"

    def __enter__(self) -> Self:
        """Return itself; the page closes at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and not isinstance(error, GeneratorExit):
            self.live.tell(state="failed", reason=f"{type(error).__name__}: {error}"[:2000])
        self.close()

    # ---- the program's side ---------------------------------------------------------------------

    def step(self, loss: Any = None) -> None:
        """Say that a step is over; needed where no optimiser's ``step`` is called from Python.

        From the first call on, only such calls end steps. ``loss`` is what the curve shows.

        >>> page = weft.view.watch(open_browser=False)
        >>> for _ in range(3):
        ...     page.step(loss=1.0)
        >>> page.live.status["step"]
        3
        >>> page.close()
        """
        self._manual = True
        if not self._is_mine():
            raise RuntimeError("Watch.step: steps must end on one thread")
        self._boundary(None, None if loss is None else float(loss))

    def pause(self) -> None:
        """Let the program stand still at the end of this step, until the page says otherwise."""
        self._pause = True

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page with what it shows now as one HTML file that needs nothing else.

        >>> import os, tempfile
        >>> with weft.view.watch(open_browser=False) as page, tempfile.TemporaryDirectory() as d:
        ...     page.save(os.path.join(d, "step.html"))
        ...     os.listdir(d)
        ['step.html']
        """
        from weft.serialization.atomic import write_file

        data = self._file()
        write_file(os.fspath(path), lambda file: file.write(data))

    def hold(self, forever: bool = False) -> None:
        """Keep the page for who looks at it: until it is closed there, or Ctrl-C.

        ``forever``: also while nobody looks.
        """
        self._end_recording()
        self.live.tell(state="ended")
        try:
            while not self._closed and (forever or self.live.is_open):
                time.sleep(0.2)
        except KeyboardInterrupt:
            pass

    def close(self) -> None:
        """Close the page, and leave the program as it was."""
        if self._closed:
            return
        self._closed = True
        self._end_recording()
        if self in optimizers._watchers:
            optimizers._watchers.remove(self)
        if self._model_hook is not None:
            self._model_hook.remove()
        if self.live.status["state"] != "failed":
            self.live.tell(state="ended")
        if self.live.is_open:
            time.sleep(0.2)  # for the pages to hear of it
        self.server.close()

    def _end_recording(self) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is not None and threading.get_ident() == self._thread:
            recorder.end()

    def _is_mine(self) -> bool:
        if self._thread is None:
            self._thread = threading.get_ident()
        return threading.get_ident() == self._thread

    def before_step(self, optimizer: Any) -> None:
        """An optimiser is about to change its parameters."""
        recorder = self._recorder
        if recorder is not None and self._is_mine():
            recorder.updating = True

    def after_step(self, optimizer: Any) -> None:
        """An optimiser has changed its parameters: a step is over."""
        if self._closed or not self._is_mine():
            return
        if self._recorder is not None:
            self._recorder.updating = False
        if self._manual:
            return
        if self._model_hook is not None and not self._seen_optimizer:
            self._model_hook.remove()
        self._seen_optimizer = True
        self._boundary(optimizer, None)

    def _before_model(self, module: Any, args: Any) -> None:
        """A call of the model: where there is no optimiser, a step."""
        if self._manual or self._closed or not self._is_mine():
            return
        self._calls += 1
        if not self._seen_optimizer and self._calls > 1:
            self._boundary(None, None)

    def _boundary(self, optimizer: Any, loss: float | None) -> None:
        """A step is over, and the next begins."""
        if (
            self._closed or _C._recorder() is not None
        ):  # inside of what is traced there are no steps
            return
        now = time.perf_counter()
        self.stopped = None
        took, recorder = now - self._last, self._recorder
        self._step += 1
        status = self.live.status
        status["step"] = self._step
        if recorder is not None:
            self._finish(recorder, optimizer, loss, took)
        else:
            self._usual = _slowly(self._usual, took)
            if self.live.is_open:
                self._usual_cpu = _slowly(self._usual_cpu, time.thread_time() - self._last_cpu)
            if loss is not None and self.live.is_open:
                self.live.add_point([self._step, loss, None, None, None])
        if self.breakpoints.all:
            self._check_step(recorder)
        if self._pause:
            self._stand_still("paused", "paused after this step", None, [], [])
        if self.live.is_open or self.breakpoints.need_ops:
            self._maybe_start(optimizer)
            self._last_cpu = time.thread_time()
        self._last = time.perf_counter()

    def _maybe_start(self, optimizer: Any) -> None:
        if _C._watching_recorder() is not None:  # another view looks at this step
            return
        now = time.perf_counter()
        if now < self._next and not self.breakpoints.need_ops and not self._pause:
            return
        if self.live.status["state"] in ("waiting", "ended"):
            self.live.tell(state="running")
        if optimizer is not None and optimizer not in self._known:
            self._known.add(optimizer)
            self._layers.take_optimizer(optimizer)
            self.live.tree = self._layers.tree
        with weft.no_grad():
            self._layers.remember()
        self.breakpoints.begin_step()
        look = self._look if self.breakpoints.need_ops else None
        self._recorder = StepRecorder(self._layers.names, look)
        self._recorder.begin()

    def _finish(
        self, recorder: StepRecorder, optimizer: Any, loss: float | None, took: float
    ) -> None:
        """Take what a step showed, and choose when the next one may be shown."""
        recorder.end()
        self._recorder = None
        began = time.thread_time()
        took_cpu = began - self._last_cpu
        if recorder.failed is not None:
            self.live.tell(trouble=f"{type(recorder.failed).__name__}: {recorder.failed}"[:500])
            warnings.warn(
                f"view.watch: {recorder.failed!r} while it looked at a step", stacklevel=3
            )
        with weft.no_grad():
            rows = self._layers.look()
        if loss is None:
            loss = recorder.loss
        known = {
            "loss": loss,
            "step": float(self._step),
            "memory": float(max(recorder.live, default=0)),
        }
        self._scope.numbers = {k: v for k, v in known.items() if v is not None}
        norm = self._layers.norm()
        ratios = sorted(self._layers.ratios.values())
        middle = ratios[len(ratios) // 2] if ratios else None
        self.live.add_point(
            [
                self._step,
                loss,
                norm if norm == norm else None,
                middle,
                max(recorder.live, default=0),
            ]
        )
        if recorder.ops:
            self.live.show(recorder.shown(self._step))
        now = time.perf_counter()
        usual = took if self._usual is None else self._usual
        more = 0.0 if self._usual_cpu is None else took_cpu - self._usual_cpu
        price = (
            max(more, (recorder.own - recorder.stood) / 1e9)
            + time.thread_time()
            - began
            + self.live.encoding
        )
        if self._shows < 2 and price < 0.2:  # what is done for the first time takes longer
            price = min(price, SHARE / self.refreshes)
        self._shows += 1
        self._next = now + max(1 / self.refreshes, price / SHARE)
        self.live.update(
            layers=rows,
            status={
                **self.live.status,
                "seconds": usual,
                "price": price,
                "every": self._next - now,
            },
        )

    # ---- stopping -------------------------------------------------------------------------------

    def _look(self, recorder: StepRecorder, args: Any, outs: Any) -> None:
        """An op has run: does a breakpoint stop the program here?"""
        scope = self._scope
        scope.numbers["step"] = float(self._step + 1)
        scope.numbers["memory"] = float(recorder.live[-1])
        if recorder.loss is not None:
            scope.numbers["loss"] = recorder.loss
        scope.norm, scope.ratio = self._layers.norm, self._layers.ratio
        hit = self.breakpoints.at_op(recorder, outs, scope)
        if hit is None:
            return
        inputs = [t for a in args for t in (a if type(a) is list else [a])]
        inputs = [t for t in inputs if isinstance(t, weft.Tensor)]
        self.live.show(recorder.shown(self._step + 1))
        self._stand_still("stopped", _why(hit), len(recorder.ops) - 1, inputs, list(outs))

    def _check_step(self, recorder: StepRecorder | None) -> None:
        scope = self._scope
        scope.numbers["step"] = float(self._step)
        if recorder is None:
            scope.numbers.pop("loss", None)
            scope.numbers["memory"] = float(_C._memory_stats()["live"])
            if self.breakpoints.need_gradients:
                with weft.no_grad():
                    self._layers.look_at_gradients()
        scope.norm, scope.ratio = self._layers.norm, self._layers.ratio
        hit = self.breakpoints.at_step(scope)
        if hit is not None:
            self._stand_still("stopped", _why(hit), None, [], [])

    def _stand_still(
        self, state: str, reason: str, number: int | None, inputs: list[Any], outs: list[Any]
    ) -> None:
        """Wait until the page says how to go on."""
        frame = user_frame()
        recorder = self._recorder
        name = recorder.ops[number].op if recorder is not None and number is not None else ""
        stop = self.stopped = Stop(reason, name, inputs, outs, frame)
        self._commands.clear()
        self._pause = False
        facts = stop.facts(-1 if number is None else number)
        points = [b.facts for b in self.breakpoints.all]
        status = {**self.live.status, "state": state, "reason": reason}
        self.live.update(stop=facts, status=status, breakpoints=points)
        print(f"weft: {reason}, at {facts['line']}; go on at {self.url}", file=sys.stderr)
        began = time.perf_counter_ns()
        try:
            command = self._wait()
        finally:
            self.stopped = None
            if recorder is not None:
                recorder.stood += time.perf_counter_ns() - began
            state = "ended" if self._closed else "running"
            status = {**self.live.status, "state": state, "reason": ""}
            self.live.update(stop=None, status=status)
        self._next = 0.0
        if command == "step":
            self._pause = True
        elif command == "abort":
            raise KeyboardInterrupt("the live view ended the program")
        elif command == "pdb" and frame is not None:
            self.stopped = stop  # until the step is over
            _debug(frame)

    def _wait(self) -> str:
        while not self._closed:
            with self.live.changed:
                if self._commands:
                    return self._commands.pop(0)
                self.live.changed.wait(0.2)
        return "resume"

    # ---- the page's side ------------------------------------------------------------------------

    def _poll(self, asked: dict[str, Any]) -> bytes:
        idle = self._step == 0 and self._model_hook is None and not self._closed
        if idle and self.model is not None and time.perf_counter() - self._last > 1.0:
            self._model_hook = self.model.register_forward_pre_hook(_ModelCalls(self))
        return self.live.poll(asked)

    def _command(self, asked: dict[str, Any]) -> bytes:
        command = asked.get("command")
        if command not in COMMANDS:
            raise ValueError(f"a command is one of {', '.join(COMMANDS)}, got {command!r}")
        if command == "pdb" and not self.live.status["terminal"]:
            raise ValueError("the program has no terminal for pdb")
        if self.live.status["state"] in ("stopped", "paused"):
            if command != "pause":
                with self.live.changed:
                    self._commands.append(command)
                    self.live.changed.notify_all()
        elif command in ("pause", "step"):
            self.pause()
        return encode({})

    def _breakpoint(self, asked: dict[str, Any]) -> bytes:
        action = asked.get("action")
        made: Breakpoint | None = None
        if action == "add":
            made = self.breakpoints.add(str(asked.get("kind")), asked.get("text") or "")
        elif action == "remove":
            self.breakpoints.remove(int(asked.get("number", -1)))
        elif action == "enable":
            self.breakpoints.enable(int(asked.get("number", -1)), bool(asked.get("enabled")))
        else:
            raise ValueError(f"action must be add, remove or enable, got {action!r}")
        self.live.update(breakpoints=[b.facts for b in self.breakpoints.all])
        return encode({} if made is None else made.facts)

    def _compiled(self, asked: dict[str, Any]) -> bytes:
        from .compiled import compiled_functions

        return encode({"functions": compiled_functions()})

    def _file(self) -> bytes:
        from .compiled import compiled_functions

        asked = self.live.asked
        data = self.live.poll({})
        self.live.asked = asked  # nobody looks at a file
        return page_file(data, encode({"functions": compiled_functions()}))


class _ModelCalls:
    """Tells a view of the calls of its model; in a copy of the model it tells nobody."""

    def __init__(self, page: Watch | None = None) -> None:
        self.page = page

    def __call__(self, module: Any, args: Any) -> None:
        if self.page is not None:
            self.page._before_model(module, args)

    def __reduce__(self) -> Any:
        return _ModelCalls, ()


def _forget(found: weakref.ref[Watch]) -> None:
    """In a process that was forked off: the page is the parent's."""
    page = found()
    if page is None or page._closed:
        return
    page._closed = True
    if page in optimizers._watchers:
        optimizers._watchers.remove(page)
    page._end_recording()
    page.server.socket.close()


def _can_open_browser() -> bool:
    """Whether there is a screen: without one Python would start a browser in the terminal."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _slowly(before: float | None, now: float) -> float:
    return now if before is None else before + 0.1 * (now - before)


def _why(hit: Breakpoint) -> str:
    if hit.kind == "op":
        _, module, op, nth = hit.text.split("|")
        which = f" number {int(nth) + 1}" if nth != "0" else ""
        return f"breakpoint on {op}{which} of {module or 'the program'}"
    if hit.kind == "module":
        return f"breakpoint on module {hit.text}"
    return f"breakpoint: {hit.text}"


def _debug(frame: FrameType) -> None:
    """Let Python's debugger take over at the next line of the program."""
    import pdb

    print("weft: pdb; c lets the program go on", file=sys.stderr)
    pdb.Pdb().set_trace(frame)


def watch(
    model: Any = None,
    *,
    port: int = 0,
    refreshes: float = 2.0,
    open_browser: bool = True,
) -> Watch:
    """Open a page that shows the program while it trains, and return what closes it again.

    The page shows the graph of the last step, forward and backward, with times, bytes and values;
    the loss, gradients and updates; memory; and it can stop the program and look at its tensors. It
    is served to this machine only, to who knows the address. A step is what lies between two calls
    of an optimiser's ``step``, of the model where there is no optimiser, or of ``Watch.step``.

    Args:
        model: the module to show; without one, those whose parameters an optimiser changes.
        port: of the page; 0 takes one that is free.
        refreshes: how many steps are shown a second, at most. Fewer are, where a step is so large
            that looking at it would take more than 3 % of the time.
        open_browser: open the page; its address is printed anyway.

    >>> net = weft.nn.Linear(2, 1)
    >>> optimizer = weft.optim.SGD(net.parameters(), lr=0.1)
    >>> with weft.view.watch(net, open_browser=False) as page:
    ...     for _ in range(3):
    ...         net(weft.ones(4, 2)).sum().backward()
    ...         optimizer.step()
    >>> page
    <Watch at http://127.0.0.1:..., ended, step 3>
    """
    return Watch(model, port=port, refreshes=refreshes, open_browser=open_browser)
