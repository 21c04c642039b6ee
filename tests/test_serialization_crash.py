"""A checkpoint is never lost: killed writers, failing disks, several writers at once."""

from __future__ import annotations

import errno
import io
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.serialization import FileError, atomic


class Faults:
    """Counts the steps of a save and lets something happen at one of them."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, act: Callable[[str], None], at: int
    ) -> None:
        """Put a counter around each system call that saving makes."""
        self.count, self.at, self.act = 0, at, act
        self.seen: list[str] = []
        for name in ("open", "dup", "fchmod", "fsync", "replace", "unlink", "close"):
            monkeypatch.setattr(atomic.os, name, self.around(name, getattr(os, name)))
        # io.FileIO.write is what the buffers call.
        monkeypatch.setattr(
            atomic._Counted, "write", self.around("write", atomic._Counted.write, True)
        )

    def around(self, name: str, call: Any, method: bool = False) -> Any:
        """Return ``call`` with the counter before it."""

        def counted(*args: Any, **kwargs: Any) -> Any:
            ours = method or name in ("dup", "fchmod", "replace") or self.ours(args)
            if ours and threading.current_thread() is threading.main_thread():
                self.count += 1
                self.seen.append(name)
                if self.count == self.at:
                    self.act(name)
            return call(*args, **kwargs)

        return counted

    @staticmethod
    def ours(args: tuple[Any, ...]) -> bool:
        """Not what other parts of Python open and close."""
        return bool(args) and (isinstance(args[0], int) or "weft" in str(args[0]))


def state(number: int) -> dict[str, Any]:
    """A checkpoint that says which one it is, twice."""
    return {"number": number, "x": weft.full((5000,), float(number))}


def number_of(path: Path) -> int:
    """The number of a checkpoint, which must be whole."""
    made = weft.load(path)
    assert set(made) == {"number", "x"}
    assert (made["x"] == made["number"]).all()
    return made["number"]


def in_child(work: Callable[[], None]) -> int:
    """Run ``work`` in a copy of this process; return its wait status."""
    pid = os.fork()
    if pid == 0:
        status = 3
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with checkpoint 1 in it."""
    (tmp_path / "folder").mkdir()
    weft.save(state(1), tmp_path / "folder" / "c.weft")
    return tmp_path / "folder" / "c.weft"


def test_killed_at_every_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kill -9 before each system call of a save: the old or the new one loads (D1)."""
    outcomes = []
    for k in range(1, 100):

        def work(k: int = k) -> None:
            Faults(monkeypatch, lambda name: os.kill(os.getpid(), signal.SIGKILL), k)
            weft.save(state(2), path)

        status = in_child(work)
        outcomes.append(number_of(path))
        weft.save(state(1), path)  # also sweeps up
        assert sorted(os.listdir(path.parent)) == ["c.weft"]
        if status == 0:
            break
        assert os.WIFSIGNALED(status)
    assert len(outcomes) > 6
    assert outcomes == sorted(outcomes)  # old ones up to the replacement, new ones after it
    assert set(outcomes) == {1, 2}


SAVER = """
import os, sys, weft, weft.serialization
x = weft.full((5000,), 2.0)
os.path.exists("/this is where saving begins")
weft.save({"number": 2, "x": x}, sys.argv[1])
"""


def test_killed_at_every_system_call(path: Path) -> None:
    """The same with strace, which sees what Python does not (D1)."""
    strace = shutil.which("strace")
    env = {**os.environ, "PYTHONPATH": str(Path(weft.__file__).parents[1]), "PYTHONHASHSEED": "0"}
    log = path.parent.parent / "calls.txt"

    def run(*options: str) -> int:
        command = [str(strace), "-o", str(log), *options, sys.executable, "-c", SAVER, str(path)]
        return subprocess.run(command, env=env, capture_output=True, check=False).returncode

    if strace is None or run() != 0:
        pytest.skip("no strace, or it may not trace")
    counts: Counter[str] = Counter()
    kills, begun = [], False
    for line in log.read_text().splitlines():
        call = line.split("(")[0]
        counts[call] += 1
        begun = begun or "this is where saving begins" in line
        if begun and call in ("openat", "flock", "fchmod", "write", "fsync", "close", "rename"):
            kills.append((call, counts[call]))
    assert len(kills) >= 12
    outcomes = set()
    for call, when in kills:
        weft.save(state(1), path)
        assert run("-e", f"inject={call}:signal=KILL:when={when}") != 0
        outcomes.add(number_of(path))
    assert outcomes == {1, 2}
    weft.save(state(1), path)
    assert os.listdir(path.parent) == ["c.weft"]


def test_killed_at_random_times(path: Path) -> None:
    """kill -9 while saving in a loop (D2)."""
    seed = int(os.environ.get("WEFT_SEED", "0"))
    print("seed", seed)
    rng = random.Random(seed)
    last = 1

    def work() -> None:
        for number in range(last + 1, last + 1000):
            weft.save(state(number), path)

    for _ in range(100):
        pid = os.fork()
        if pid == 0:
            try:
                work()
            finally:
                os._exit(0)
        time.sleep(rng.uniform(0.001, 0.03))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        now = number_of(path)
        assert now >= last
        last = now
    assert last > 1
    weft.save(state(0), path)
    assert os.listdir(path.parent) == ["c.weft"]


ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS)


@pytest.mark.parametrize("code", ERRORS, ids=[errno.errorcode[e] for e in ERRORS])
def test_io_errors_at_every_step(path: Path, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error at each system call: it is reported, and the old file is there (D4)."""
    steps, replaced = set(), False
    for k in range(1, 100):
        with monkeypatch.context() as patch:

            def fail(name: str) -> None:
                raise OSError(code, os.strerror(code))

            faults = Faults(patch, fail, k)
            try:
                weft.save(state(2), path)
                failed = False
            except OSError as e:
                failed = True
                assert e.errno == code
                assert e.filename in (str(path), None) or "weft" in str(e.filename)
        if len(faults.seen) < k:
            assert not failed
            break
        step = faults.seen[k - 1]
        steps.add(step)
        replaced = replaced or "replace" in faults.seen[: k - 1]
        if not failed:
            assert step in ("close", "unlink", "open"), step  # closing the lock, sweeping
        assert number_of(path) in ((1, 2) if replaced else (1,))
        weft.save(state(1), path)
        assert os.listdir(path.parent) == ["c.weft"], step
    assert {"open", "write", "fsync", "replace"} <= steps


def test_short_writes_are_continued(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes a few bytes at a time gets all of them."""

    def write(self: Any, data: Any) -> int:
        return io.FileIO.write(self, bytes(data)[:777])

    monkeypatch.setattr(atomic._Counted, "write", write)
    weft.save(state(2), path)
    assert number_of(path) == 2


def test_full_disk(path: Path) -> None:
    """A limit of the system on the size of files: the error names the file, the old one stays."""

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            weft.save(state(2), path)
        except OSError as e:
            assert e.errno == errno.EFBIG and e.filename == str(path), e
            assert "the old file is kept" in str(e)
            os._exit(0)
        os._exit(4)

    assert in_child(work) == 0
    assert number_of(path) == 1
    assert os.listdir(path.parent) == ["c.weft"]
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left"):
            weft.save(state(2), "/dev/full")


def test_exceptions_keep_the_old_file(path: Path) -> None:
    """An object that cannot be saved, met after others were."""
    with pytest.raises(TypeError):
        weft.save({"x": weft.ones(5000), "f": print}, path)
    assert number_of(path) == 1
    assert os.listdir(path.parent) == ["c.weft"]


def test_read_only_folder(tmp_path: Path) -> None:
    """No permission: the system's error."""
    if os.geteuid() == 0:
        with pytest.raises(FileNotFoundError):
            weft.save(1, tmp_path / "missing" / "x")
        return
    os.chmod(tmp_path, 0o500)
    with pytest.raises(PermissionError):
        weft.save(1, tmp_path / "x")


def test_modes_and_links_are_kept(path: Path) -> None:
    """The permissions of the file it replaces; a link stays a link; new files obey the umask."""
    os.chmod(path, 0o640)
    link = path.parent / "link"
    link.symlink_to(path)
    weft.save(state(5), link)
    assert link.is_symlink() and number_of(path) == 5
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    before = os.umask(0o027)
    try:
        weft.save(state(1), path.parent / "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((path.parent / "new").stat().st_mode) == 0o640


def test_only_own_remains_are_swept(path: Path) -> None:
    """Temporary files of other files, of the living, and strangers stay."""
    folder = path.parent
    strange = [".c.weft.weft-tmp", ".c.weft.zzzz.weft-tmp", ".d.weft.0123456789abcdef.weft-tmp"]
    for name in [*strange, ".c.weft.0123456789abcdef.weft-tmp"]:
        (folder / name).write_bytes(b"x")
    fd, living = atomic._create(str(folder), "c.weft")
    weft.save(state(2), path)
    names = set(os.listdir(folder))
    assert names == {"c.weft", *strange, os.path.basename(living)}
    os.close(fd)
    weft.save(state(3), path)
    assert set(os.listdir(folder)) == {"c.weft", *strange}


def test_several_writers(path: Path) -> None:
    """Processes and threads that save to one file: at any time, one of them is in it."""
    pids = []
    for who in range(3):
        pid = os.fork()
        if pid == 0:
            try:
                for i in range(30):
                    weft.save(state(1000 * who + i), path)
            finally:
                os._exit(0)
        pids.append(pid)
    errors: list[BaseException] = []

    def work(who: int) -> None:
        try:
            for i in range(30):
                weft.save(state(1000 * who + i), path)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(who,)) for who in (7, 8)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        number_of(path)
    for thread in threads:
        thread.join()
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]
    assert not errors
    number_of(path)
    assert os.listdir(path.parent) == ["c.weft"]


# ---- damage -------------------------------------------------------------------------------------


@pytest.fixture
def whole() -> bytes:
    """A small checkpoint."""
    f = io.BytesIO()
    weft.save({"x": weft.arange(20.0), "y": [1, (2.5, "text")], "z": weft.tensor([True])}, f)
    return f.getvalue()


def outcome(data: bytes) -> Any:
    """What is loaded, or None if it is refused; anything else fails the test."""
    try:
        made = weft.load(io.BytesIO(data))
    except FileError as e:
        assert "load: <BytesIO>" in str(e)
        return None
    return {k: v.tolist() if isinstance(v, weft.Tensor) else v for k, v in made.items()}


def test_truncation_is_seen(whole: bytes) -> None:
    """Cut anywhere (in the tests of readers, at every byte of many formats)."""
    assert outcome(whole) is not None
    assert {k for k in range(len(whole)) if outcome(whole[:k]) is not None} == set()


def test_flipped_bits_are_seen(whole: bytes) -> None:
    """Each bit of a small file: an error, or what was saved (dates of members do not matter)."""
    right = outcome(whole)
    harmless = flips = 0
    for at in range(len(whole)):
        for bit in range(8) if at % 8 == 0 else (at % 8,):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << bit
            made = outcome(bytes(damaged))
            assert made is None or made == right, (at, bit)
            harmless += made is not None
            flips += 1
    assert harmless < 0.15 * flips


def test_damage_names_the_file(path: Path) -> None:
    """Errors say which file, and what is wrong with it."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(FileError, match=f"load: {path}: damaged, or cut short"):
        weft.load(path)
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(FileError, match=r"data\.safetensors: the checksum is wrong"):
        weft.load(path)
