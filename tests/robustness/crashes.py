"""Processes that are killed, or told of errors, while they save: for test_serialization_crash.py."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import weft

SIZE = 5000  # elements of a checkpoint, unless a test says otherwise


def state(number: int, size: int = SIZE) -> dict[str, Any]:
    """A checkpoint that says which one it is, twice."""
    return {"number": number, "x": weft.full((size,), float(number))}


def number_of(path: Path | str) -> int:
    """The number of a checkpoint, which must be whole."""
    made = weft.load(path)
    assert {"number", "x"} <= set(made)
    x = made["x"]["value"] if isinstance(made["x"], dict) else made["x"]
    assert (x == made["number"]).all()
    return made["number"]


def fork(work: Callable[[], Any]) -> int:
    """Run ``work`` in a copy of this process, which then ends with what it returns as its code."""
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            code = work() or 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def in_child(work: Callable[[], Any]) -> int:
    """Run ``work`` in a copy of this process; return its wait status."""
    return os.waitpid(fork(work), 0)[1]


def limit_memory(more: int) -> None:
    """Let this process, which should be a child, have no more memory than it has now, and some bytes."""
    if os.environ.get("WEFT_SANITIZE"):  # the sanitizers take memory of their own
        return
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, resource.getrlimit(resource.RLIMIT_AS)[1]))


def cpu_seconds(pid: int) -> float:
    """The CPU time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Tracer:
    """strace, attached to copies of this process, which does something at one of their calls."""

    def __init__(self, log: Path) -> None:
        self.log, self.program = log, shutil.which("strace")

    def run(self, work: Callable[[], Any], *options: str) -> int | None:
        """Run ``work`` in a traced child; return its wait status, or None if it cannot be traced."""
        if self.program is None:
            return None
        gate, key = os.pipe()
        heard, ready = os.pipe()

        def wait_and_work() -> Any:
            ctypes.CDLL(None).prctl(0x59616D61, -1)  # PR_SET_PTRACER: anyone may trace this
            os.close(key)
            os.write(ready, b"x")
            os.read(gate, 1)
            return work()

        pid = fork(wait_and_work)
        os.read(heard, 1)
        command = [self.program, "-p", str(pid), "-o", str(self.log), *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as strace:
            assert strace.stderr is not None
            attached = b"attached" in strace.stderr.readline()
            os.write(key, b"x")
            _, status = os.waitpid(pid, 0)
        for fd in (gate, key, heard, ready):
            os.close(fd)
        return status if attached else None

    def calls(self, work: Callable[[], Any]) -> list[tuple[str, int, str]]:
        """The system calls of ``work``: name, the how many-th of that name, and the line."""
        if self.run(work) is None:
            return []
        counts: Counter[str] = Counter()
        found = []
        for line in self.log.read_text().splitlines():
            name = line.split("(")[0]
            if name.isidentifier() and name not in ("exit_group", "restart_syscall"):
                counts[name] += 1
                found.append((name, counts[name], line))
        return found[1:]  # the first one reads the pipe


_NEWNS, _NEWUSER, _PRIVATE = 0x20000, 0x10000000, 0x44000  # of <sched.h> and <sys/mount.h>


def mount_small_disk(folder: Path, size: int) -> bool:
    """Mount a tmpfs of some bytes that only this process sees; say whether that was possible."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group, root = os.getuid(), os.getgid(), os.geteuid() == 0
    if libc.unshare(_NEWNS | (0 if root else _NEWUSER)):
        return False
    if not root:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1")):
            Path(f"/proc/self/{name}").write_text(text)
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    if libc.mount(b"none", b"/", None, _PRIVATE, None):
        return False
    return libc.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, b"size=%d" % size) == 0
