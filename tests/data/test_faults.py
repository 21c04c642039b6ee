"""Workers that die, fail or hang, and loaders that are left in the middle: nothing stays behind.

A dead or stopped worker ends in an error within ``LONGEST`` seconds (F1). How long that takes by the clock depends on
how busy the machine is, so two other things are measured: the seconds that the loader waits in vain while a worker is
dead or stopped, and the CPU time that it takes. Together they are what a loader takes on an idle machine.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from data.loading import Count, Fault, Images, Numbers, OwnError

from weft.utils.data import DataLoader
from weft.utils.data.pool import PATIENCE, Pool

TESTS = Path(__file__).resolve().parents[1]
LONGEST = 5.0  # seconds of waiting and CPU time from a fault to its error
HANG = 120.0  # seconds by the clock after which a test gives up, on the busiest machine


def shared_names() -> set[str]:
    """What lies in shared memory under a name."""
    return set(os.listdir("/dev/shm"))


def others_use(name: str) -> bool:
    """Whether a process that has nothing to do with this test has it open, or it is gone by now."""
    path = Path("/dev/shm", name)
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            if maps.parent.name != str(os.getpid()) and str(path) in maps.read_text():
                return True
    return not path.exists()


def workers() -> list[int]:
    """The workers of this process, by number."""
    found = [p for p in multiprocessing.active_children() if "weft-data" in p.name]
    return [p.pid for p in sorted(found, key=lambda p: p.name) if p.pid]


def wait_until(condition: Any) -> None:
    """Wait, but not for ever."""
    end = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def state_of(pid: int) -> str:
    """The letter of a process's state; nothing if there is none."""
    try:
        return re.sub(r".*\) ", "", Path(f"/proc/{pid}/stat").read_text())[:1]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be noticed does not."""
    return state_of(pid) not in ("", "Z", "X")


def dead(pid: int) -> bool:
    """Whether a child has ended with all its threads, so that all its files are closed."""
    try:
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT  # it is left for the loader to reap
        return os.waitid(os.P_PID, pid, how) is not None
    except ChildProcessError:
        return state_of(pid) == ""


class Watched:
    """The poll of a pool. It fails if a dead or stopped worker is not seen in time.

    A worker that was dead when the poll began must wake it: not one time-out may pass. One that is stopped sends
    nothing, and is found by looking at it after time-outs; these add up to what the loader waits in vain.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool, self.real = pool, pool._poll
        self.in_vain, self.begin = 0.0, None  # seconds; the CPU time when a fault was first there

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def poll(self, milliseconds: float) -> list[tuple[int, int]]:
        present = [w for w in self.pool.workers if not w.gone]
        ended = [w for w in present if dead(w.process.pid)]
        ready = self.real.poll(milliseconds)
        stopped = [w for w in present if w.waiting and state_of(w.process.pid) in ("T", "t")]
        if not ready:
            assert not ended, f"{ended[0]} had ended, and a time-out passed before that was seen"
            self.in_vain += milliseconds / 1000 if stopped else 0.0
        if ended or stopped:
            now = time.process_time()
            self.begin = now if self.begin is None else self.begin
            taken = now - self.begin + self.in_vain
            assert taken + PATIENCE <= LONGEST, f"{taken} s, and the time to end all workers"
        return ready


@pytest.fixture(autouse=True)
def _watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pools of this process are watched."""
    init = Pool.__init__

    def watched(self: Pool, *args: Any) -> None:
        init(self, *args)
        self._poll = Watched(self)  # type: ignore[assignment]

    monkeypatch.setattr(Pool, "__init__", watched)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No worker, no open file and no name in shared memory is left by a test."""
    gc.collect()
    names = shared_names()
    files = len(os.listdir("/proc/self/fd"))
    yield
    gc.collect()
    assert workers() == []
    # Names of other programs, which end now, may be nobody's for a moment. What this process left would stay.
    end = time.monotonic() + 30
    while left := [name for name in shared_names() - names if not others_use(name)]:
        assert time.monotonic() < end, left
        time.sleep(0.05)
    assert len(os.listdir("/proc/self/fd")) <= files


def consume(loader: Any) -> None:
    """Take all batches."""
    for _ in loader:
        pass


@pytest.mark.parametrize("fault", ["SIGKILL", "SIGSEGV", "SIGBUS", "SIGTERM", "SIGSTOP", "exit"])
def test_a_worker_dies(fault: str, tmp_path: Path) -> None:
    """The error names the worker, its process, the signal and the samples."""
    persistent = fault in ("SIGBUS", "SIGTERM")
    loader = DataLoader(
        Fault(12, 6, fault, tmp_path), 2, num_workers=2, persistent_workers=persistent
    )
    with pytest.raises(RuntimeError) as caught:
        consume(loader)
    text = str(caught.value)
    pid = int((tmp_path / "pid").read_text())
    assert f"DataLoader worker 1 (pid {pid})" in text
    assert "the samples [6, 7]" in text
    assert ("exit code 3" if fault == "exit" else fault) in text
    if fault == "SIGKILL":
        assert "memory runs out" in text
    del caught, loader


def test_an_end_that_wakes_nobody_would_be_seen() -> None:
    """A canary: a loader that hears nothing of its workers' ends would fail in these tests."""

    class Deaf:
        def modify(self, file: int, events: int) -> None:
            pass

        def poll(self, milliseconds: float) -> list[tuple[int, int]]:
            return []

    batches = iter(DataLoader(Fault(4, 0, "sleep"), 2, num_workers=1))
    batches.pool._poll.real = Deaf()
    pid = workers()[0]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: dead(pid))
    with pytest.raises(AssertionError, match="a time-out passed before that was seen"):
        consume(batches)


def test_a_long_timeout_is_not_waited_for() -> None:
    """Whatever ``timeout`` says, a worker that is killed while it loads a batch ends the wait."""
    batches = iter(DataLoader(Fault(4, 0, "sleep"), 2, num_workers=1, timeout=100_000))
    os.kill(workers()[0], signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"worker 0 \(pid \d+\) .* SIGKILL .* \[0, 1\]"):
        consume(batches)


def test_killed_between_batches_and_between_epochs() -> None:
    loader = DataLoader(Numbers(40), 2, num_workers=2, persistent_workers=True)
    batches = iter(loader)
    next(batches)
    os.kill(workers()[0], signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"worker \d \(pid \d+\) exited .* SIGKILL .* \[\d+, "):
        consume(batches)
    with pytest.raises(RuntimeError, match="ended after an earlier error"):
        next(batches)
    assert len(list(loader)) == 20  # with new workers
    os.kill(workers()[1], signal.SIGKILL)
    wait_until(lambda: len(workers()) == 1)
    with pytest.raises(RuntimeError, match=r"worker 1 .* SIGKILL"):
        consume(loader)
    assert len(list(loader)) == 20


def test_killed_in_a_stream() -> None:
    batches = iter(DataLoader(Count(1000), 2, num_workers=2))
    next(batches)
    os.kill(workers()[0], signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"SIGKILL .* batch \d+ of its part of the stream"):
        consume(batches)


@pytest.mark.parametrize("seed", range(12))
def test_killed_at_any_moment(seed: int) -> None:
    """A signal at a random time, to a random worker of a random loader."""
    dice = random.Random(seed)
    dataset = dice.choice([Images(400), Count(4000), Numbers(4000)])
    batches = iter(
        DataLoader(
            dataset,
            2,
            num_workers=dice.choice([1, 2, 3]),
            persistent_workers=dice.random() < 0.5,
            prefetch_factor=dice.choice([1, 2, 5]),
            in_order=dice.random() < 0.5,
        )
    )
    name = dice.choice(["SIGKILL", "SIGKILL", "SIGUSR1", "SIGTERM"])
    victim = dice.choice(workers())
    for _ in range(dice.choice([0, 1, 20])):
        next(batches)
    os.kill(victim, getattr(signal, name))
    with pytest.raises(RuntimeError, match=rf"\(pid {victim}\) exited unexpectedly: .* {name}"):
        consume(batches)


@pytest.mark.parametrize(("fault", "kind"), [("key", KeyError), ("value", ValueError)])
@pytest.mark.parametrize("batched", [False, True])
def test_exceptions_arrive(fault: str, kind: type[Exception], batched: bool) -> None:
    """The same type, with the worker's traceback and the indices; then it goes on."""
    loader = DataLoader(Fault(8, 5, fault), 2 if batched else None, num_workers=2)
    batches, found = iter(loader), []
    with pytest.raises(kind) as caught:
        for batch in batches:
            found.append(batch)
    text = str(caught.value)
    where = "the samples [4, 5]" if batched else "the sample 5"
    assert f"Caught {kind.__name__} in DataLoader worker process" in text
    assert where in text and "bad sample" in text
    assert "\n" in text and "loading.py" in text and "in harm" in text
    assert len(found) == (2 if batched else 5)
    assert len(list(batches)) == (1 if batched else 2)
    del caught


def test_exceptions_that_are_not_made_of_a_text() -> None:
    with pytest.raises(OwnError) as caught:
        list(DataLoader(Fault(4, 2, "own"), num_workers=1))
    assert caught.value.number == 7
    assert "the samples [2]" in str(caught.value.__cause__) and "in harm" in str(
        caught.value.__cause__
    )
    with pytest.raises(OSError, match="bad sample"):
        list(DataLoader(Fault(4, 2, "os"), num_workers=1))


def test_exceptions_of_a_type_that_cannot_be_sent() -> None:
    class Local(Exception):
        pass

    class Raises(Numbers):
        def __getitem__(self, index: int) -> Any:
            raise Local("here")

    with pytest.raises(RuntimeError, match=r"Caught Local .* \[0\](.|\n)*here"):
        list(DataLoader(Raises(2), num_workers=1, multiprocessing_context="fork"))


def test_a_result_that_cannot_be_pickled() -> None:
    loader = DataLoader(Fault(4, 2, "unpicklable"), batch_size=None, num_workers=1)
    with pytest.raises(Exception, match=r"the sample 2(.|\n)*[Pp]ickle") as caught:
        list(loader)
    del caught


def test_timeout() -> None:
    loader = DataLoader(Fault(4, 1, "sleep"), 2, num_workers=1, timeout=0.3)
    with pytest.raises(RuntimeError, match=r"timed out after 0.3 seconds: .* worker 0 .* \[0, 1\]"):
        consume(loader)


# ---- left in the middle -------------------------------------------------------------------------


def test_break_deletion_and_exceptions_in_the_loop() -> None:
    loader = DataLoader(Images(40), batch_size=2, num_workers=2)
    for _ in loader:
        break
    assert workers() == []
    batches = iter(loader)
    next(batches)
    assert len(workers()) == 2
    del batches
    assert workers() == []
    with contextlib.suppress(ZeroDivisionError):
        for _ in loader:
            1 / 0  # noqa: B018
    gc.collect()
    assert workers() == []
    iter(loader)  # not even begun
    assert workers() == []


def test_busy_workers_are_ended_too() -> None:
    batches = iter(DataLoader(Fault(4, 1, "sleep"), num_workers=2))
    assert next(batches).item() == 0
    begin = time.monotonic()
    del batches
    assert time.monotonic() - begin < HANG  # it would sleep five times as long


def test_persistent_workers_end_with_their_loader() -> None:
    loader = DataLoader(Numbers(4), num_workers=2, persistent_workers=True)
    for _ in loader:
        break
    assert len(workers()) == 2
    del loader
    assert workers() == []


# ---- the end of the whole program ---------------------------------------------------------------


def program(text: str) -> subprocess.Popen[str]:
    """A program that prints the processes of its workers, as its first line."""
    head = f"""
        import os, signal, sys, time
        sys.path.insert(0, {str(TESTS)!r})
        import multiprocessing
        from data.loading import *
        from weft.utils.data import DataLoader
        def tell():
            print(*(p.pid for p in multiprocessing.active_children()), flush=True)
    """
    code = textwrap.dedent(head) + textwrap.dedent(text)
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def told(p: subprocess.Popen[str]) -> list[int]:
    """The workers of a program."""
    assert p.stdout is not None
    pids = [int(word) for word in p.stdout.readline().split()]
    assert len(pids) == 2
    return pids


def watches(pid: int, other: int) -> bool:
    """Whether a process has a descriptor of another one, which tells it of that one's end.

    Or may be without one: old systems have none, and workers look twice a second instead.
    """
    try:
        os.close(os.pidfd_open(pid))
    except (OSError, AttributeError):
        return True
    with contextlib.suppress(OSError):
        for info in Path(f"/proc/{pid}/fdinfo").iterdir():
            with contextlib.suppress(OSError):
                if re.search(rf"^Pid:\s*{other}$", info.read_text(), re.MULTILINE):
                    return True
    return False


@pytest.mark.parametrize(("start", "busy"), [("fork", 0), ("fork", 1), ("forkserver", 1)])
def test_the_parent_is_killed(start: str, busy: int) -> None:
    dataset = "Fault(100, 1, 'sleep')" if busy else "Images(100)"
    p = program(f"""
        if __name__ == "__main__":
            batches = iter(DataLoader({dataset}, num_workers=2, multiprocessing_context={start!r}))
            next(batches)
            tell()
            signal.pause()
    """)
    with p:
        pids = told(p)
        assert all(map(alive, pids))
        wait_until(lambda: all(watches(pid, p.pid) for pid in pids))  # no time-out is involved
        p.kill()
        wait_until(lambda: not any(map(alive, pids)))


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("where", ["in the loader", "in the loop"])
def test_ctrl_c(where: str) -> None:
    dataset = "Fault(100, 1, 'sleep')" if where == "in the loader" else "Images(100)"
    p = program(f"""
        told = False
        try:
            for _ in DataLoader({dataset}, num_workers=2):
                if not told:
                    tell()
                told = True
                {"time.sleep(0)" if where == "in the loader" else "while True: time.sleep(0.01)"}
        except KeyboardInterrupt:
            pass
        print(multiprocessing.active_children())
    """)
    with p:
        pids = told(p)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=HANG)
        assert out == "[]\n", err
        assert not any(map(alive, pids)) and p.returncode == 0


def test_the_program_ends_without_a_word() -> None:
    """With iterations and persistent workers still there, and an error in the loop."""
    p = program("""
        kept = iter(DataLoader(Images(100), num_workers=1))
        loader = DataLoader(Images(100), num_workers=1, persistent_workers=True)
        for batch in loader:
            next(kept)
            tell()
            raise ValueError("in the loop")
    """)
    with p:
        pids = told(p)
        out, err = p.communicate(timeout=HANG)
        assert out == "" and err.endswith("ValueError: in the loop\n") and err.count("Error") == 1
        assert not any(map(alive, pids))
