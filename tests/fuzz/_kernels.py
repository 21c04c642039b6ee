"""Files of the cache of compiled kernels, with something changed: for files.py.

They hold machine code. Damaged ones are compiled anew, and results are the same. Not among the cases:
other code with the right checksum. Who can write that as this user can run code without it.
"""

from __future__ import annotations

import functools
import os
import random
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from robustness.crashes import in_child
from serialization.mutations import in_bytes

import weft
from weft import _C
from weft.jit.codegen import cache

# Of each kernel its text, its input, and the same by ops.
KERNELS: tuple[tuple[str, Any, Callable[[Any], Any]], ...] = (
    (
        "v0: float32; v1: float32 = mul(v0, 2.25); v2: float32 = tanh(v1); return v2",
        weft.arange(-9.0, 9.0),
        lambda x: (x * 2.25).tanh(),
    ),
    (
        "v0: float64; v1: float64 = exp(v0); v2: float64 = add(v1, v0); return v2",
        weft.arange(-9.0, 9.0, dtype=weft.float64),
        lambda x: x.exp() + x,
    ),
    (
        "v0: int64; v1: int64 = mul(v0, 3); v2: int64 = neg(v1); return v2",
        weft.arange(-9, 9),
        lambda x: -(x * 3),
    ),
)
DAMAGES = ("anywhere", "head", "body", "cut", "longer", "another", "other key", "noise", "missing")
KINDS = ("folder", "link", "loose link", "pipe", "socket", "sparse", "open to others", "no rights")
KINDS += ("of another user", "in a loose folder", "in a file", "in a linked folder")
WRONG = {3: "raises", 11: "reads other code", 12: "computes something else", 13: "is not mended"}
WRONG |= {14: "does what reading must not do"}
SECONDS = 20  # by the clock, until a child is taken to hang


def generate(rng: random.Random) -> Any:
    """A kernel, and what happens to its file."""
    how = rng.choice(DAMAGES if rng.random() < 0.8 else KINDS)
    return {
        "format": "kernel",
        "kernel": rng.randrange(len(KERNELS)),
        "how": how,
        "seed": rng.randrange(10**9),
    }


def _run(number: int) -> bytes:
    text, x, _ = KERNELS[number]
    (y,) = _C._call_op("fused", ([x], text), False)
    return y.numpy().tobytes()


@functools.cache
def files() -> tuple[Path, ...]:
    """Where an untouched file of each kernel is. Nothing is linked in this process: children do that."""
    import atexit

    root = Path(tempfile.mkdtemp(prefix="weft-kernels-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    found = []
    for i in range(len(KERNELS)):
        os.environ["WEFT_CACHE"] = str(root / str(i))
        assert in_child(lambda i=i: not _run(i)) == 0
        found += (root / str(i)).glob("*.o")
    assert len(found) == len(KERNELS)
    return tuple(found)


def _damaged(how: str, good: bytes, number: int, rng: random.Random) -> bytes:
    """The bytes of a file with something changed."""
    line = good.index(b"\n") + 1
    if how == "anywhere":
        return in_bytes(good, rng)
    if how == "head":
        return in_bytes(good[:line], rng) + good[line:]
    if how == "body":
        return good[:line] + in_bytes(good[line:], rng)
    if how == "cut":
        return good[: rng.randrange(len(good))]
    if how == "longer":
        return good + rng.choice((b"\0", b"\n", good, good[line:], bytes(5000)))
    other = files()[(number + 1) % len(KERNELS)].read_bytes()
    if how == "another":  # with its own checksum, below this key or its own
        return good[:line] + other[line:] if rng.random() < 0.5 else other
    if how == "other key":
        words = good[:line].split(b" ")
        words[rng.randrange(len(words))] = rng.choice((b"", b"0", b"weft", b"0" * 64, b"\xff"))
        return b" ".join(words) + good[line:]
    return rng.randbytes(rng.choice((1, 100, len(good), 511, 512, 513)))


def _replace(path: Path, how: str) -> None:
    """Make of a file something that is no file of this user alone."""
    aside = path.with_suffix(".aside")
    if how in ("folder", "link", "loose link", "pipe", "socket"):
        path.rename(aside)
    if how == "folder":
        path.mkdir()
    elif how == "link":
        path.symlink_to(aside)
    elif how == "loose link":
        path.symlink_to(path)
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "socket":
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(str(path))
    elif how == "sparse":
        os.truncate(path, 1 << 40)
    elif how == "open to others":
        path.chmod(0o620)
    elif how == "no rights":
        path.chmod(0)
    elif how == "of another user" and os.getuid() == 0:
        os.chown(path, 54321, -1)
    elif how == "in a loose folder":
        path.parent.chmod(0o777)
    elif how == "in a file":
        shutil.rmtree(path.parent)
        path.parent.write_bytes(b"")
    elif how == "in a linked folder":
        path.parent.rename(path.parent.with_name("elsewhere"))
        path.parent.symlink_to("elsewhere")


def check(case: Any, events: list[str]) -> None:
    """Use the kernel in a process that has not used it yet; ``events``: what it does while it reads."""
    number, how = case["kernel"], case["how"]
    source = files()[number]
    good = source.read_bytes()
    code = good[good.index(b"\n") + 1 :]
    want = KERNELS[number][2](KERNELS[number][1]).numpy().tobytes()

    def work() -> int:
        signal.alarm(SECONDS)
        events[:] = ["watching"]
        data = cache.read(source.stem)
        seen = events[1:]
        events.clear()
        if seen:
            return 14
        if data not in (None, code):
            return 11
        if _run(number) != want:
            return 12
        return 13 if how in DAMAGES and cache.read(source.stem) != code else 0

    with tempfile.TemporaryDirectory(prefix="weft-kernels-") as root:
        path = Path(root, "cache", source.name)
        path.parent.mkdir(mode=0o700)
        if how != "missing":
            data = good
            if how in DAMAGES:
                data = _damaged(how, good, number, random.Random(case["seed"]))
            path.write_bytes(data)
            path.chmod(0o600)
        if how in KINDS:
            _replace(path, how)
        os.environ["WEFT_CACHE"] = str(path.parent)
        status = in_child(work)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        raise AssertionError(f"a kernel's file that is changed ({how}) ends the process by {name}")
    result = os.WEXITSTATUS(status)
    assert not result, f"a kernel's file that is changed ({how}): {WRONG.get(result, result)}"
