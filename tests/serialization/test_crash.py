"""A checkpoint is never lost: killed writers, failing disks, several writers at once."""

from __future__ import annotations

import errno
import io
import os
import random
import resource
import signal
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from robustness.crashes import SIZE, Tracer, fork, in_child, mount_small_disk, number_of, state

import weft
from weft.serialization import FileError, atomic

BIG = 300_000  # elements that take several writes


class Faults:
    """Counts the steps of a save and lets something happen at one of them."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, act: Callable[[str], None], at: int
    ) -> None:
        """Put a counter around each system call that saving makes."""
        self.count, self.at, self.act = 0, at, act
        self.seen: list[str] = []
        for name in ("open", "dup", "fchmod", "fsync", "link", "replace", "unlink", "close"):
            monkeypatch.setattr(atomic.os, name, self.around(name, getattr(os, name)))
        # io.FileIO.write is what the buffers call.
        monkeypatch.setattr(
            atomic._Counted, "write", self.around("write", atomic._Counted.write, True)
        )

    def around(self, name: str, call: Any, method: bool = False) -> Any:
        """Return ``call`` with the counter before it."""

        def counted(*args: Any, **kwargs: Any) -> Any:
            ours = method or name in ("dup", "fchmod", "link", "replace") or self.ours(args)
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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with checkpoint 1 in it."""
    (tmp_path / "folder").mkdir()
    weft.save(state(1), tmp_path / "folder" / "c.weft")
    return tmp_path / "folder" / "c.weft"


def trained(number: int, size: int = SIZE) -> Any:
    """A TrainingState that says which one it is, twice."""
    return weft.TrainingState(**state(number, size))


def save_state(number: int, path: Path, size: int = SIZE) -> None:
    """``weft.save``."""
    weft.save(state(number, size), path)


def save_training(number: int, path: Path, size: int = SIZE) -> None:
    """``TrainingState.save``, which also keeps the file before."""
    trained(number, size).save(path)


SAVERS = [save_state, save_training]


def allowed(path: Path) -> set[str]:
    """What may be in the folder after a save."""
    previous = f"{path.name}.previous"
    return {path.name, previous} if (path.parent / previous).exists() else {path.name}


@pytest.mark.parametrize("save", SAVERS)
def test_killed_at_every_step(save: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kill -9 before each step that saving makes in Python: the old or the new one loads (D1)."""
    outcomes = []
    for k in range(1, 100):

        def work(k: int = k) -> None:
            Faults(monkeypatch, lambda name: os.kill(os.getpid(), signal.SIGKILL), k)
            save(2, path)

        status = in_child(work)
        outcomes.append(number_of(path))
        save(1, path)  # also sweeps up
        assert set(os.listdir(path.parent)) == allowed(path)
        if status == 0:
            break
        assert os.WIFSIGNALED(status)
    assert len(outcomes) > 6
    assert outcomes == sorted(outcomes)  # old ones up to the replacement, new ones after it
    assert set(outcomes) == {1, 2}


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("save", SAVERS)
def test_ctrl_c_at_every_step(save: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KeyboardInterrupt before each step in Python: the old or the new one, and nothing else (C5)."""
    outcomes = []
    for k in range(1, 100):
        with monkeypatch.context() as patch:
            faults = Faults(patch, lambda name: signal.raise_signal(signal.SIGINT), k)
            try:
                save(2, path)
            except KeyboardInterrupt:
                assert faults.count >= k
            else:
                assert faults.count < k, faults.seen[k - 1]
                break
        outcomes.append(number_of(path))
        assert set(os.listdir(path.parent)) == allowed(path), faults.seen[k - 1]
        save(1, path)
    assert len(outcomes) > 6 and set(outcomes) <= {1, 2}


def traced(save: Callable[[int], None], path: Path) -> tuple[Tracer, list[tuple[str, int, str]]]:
    """A tracer, and the system calls of a save that replaces a file which replaced another."""
    tracer = Tracer(path.parent.parent / "calls.txt")
    for _ in range(2):
        save(1)
    calls = [c for c in tracer.calls(lambda: save(2)) if c[0] not in MEMORY]
    if not calls:
        pytest.skip("no strace, or it may not trace")
    return tracer, calls


MEMORY = {"mmap", "munmap", "mremap", "mprotect", "brk", "madvise", "futex"}  # their number varies


@pytest.mark.parametrize(("save", "size"), [(save_state, SIZE), (save_training, BIG)])
def test_killed_at_every_system_call(save: Any, size: int, path: Path) -> None:
    """kill -9 at each call that the system sees, one after the other: the old or the new (D1)."""
    tracer, calls = traced(lambda number: save(number, path, size), path)
    assert len(calls) > 30
    assert {"write", "fsync", "close", "rename"} <= {name for name, *_ in calls}
    save(1, path, size)
    outcomes = []
    for name, count, _ in calls:
        inject = f"inject={name}:signal=KILL:when={count}"
        status = tracer.run(lambda: save(2, path, size), "-e", inject)
        assert status is not None and os.WIFSIGNALED(status), (name, count)
        outcomes.append(number_of(path))
        if save is save_training:
            assert number_of(f"{path}.previous") in (1, 2)
        save(1, path, size)  # also sweeps up
        assert set(os.listdir(path.parent)) == allowed(path), (name, count)
    print(len(calls), "kills")
    assert outcomes == sorted(outcomes) and set(outcomes) == {1, 2}


def test_killed_at_random_times(path: Path) -> None:
    """kill -9 while saving in a loop, in the main thread and in another one (D2)."""
    seed = int(os.environ.get("WEFT_SEED", "0"))
    print("seed", seed)
    rng = random.Random(seed)
    last = 1

    says = -1  # a pipe, in which a dot stands for each save

    def work(save: Any) -> None:
        for number in range(last + 1, last + 100_000):
            save(number, path)
            os.write(says, b".")

    def work_behind(save: Any) -> None:
        thread = threading.Thread(target=work, args=(save,))
        thread.start()
        while thread.is_alive():
            weft.rand(50, 50) @ weft.rand(50, 50)

    for i in range(200):
        said, says = os.pipe()
        pid = fork(lambda i=i: (work, work_behind)[i % 2](SAVERS[i // 2 % 2]))
        os.read(said, 1)
        time.sleep(rng.uniform(0, 0.02))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(said), os.close(says)
        now = number_of(path)
        assert now > last
        if len(allowed(path)) > 1:
            assert number_of(f"{path}.previous") <= now
        last = now
    print("200 kills, at most", last, "saves")
    assert last >= 200
    weft.save(state(0), path)
    assert set(os.listdir(path.parent)) == allowed(path)


FAILING = "openat flock fchmod fcntl write fsync close link rename unlink".split()
INTERRUPTED = "openat flock fcntl write fsync close".split()  # others cannot be


@pytest.mark.parametrize("code", ["ENOSPC", "EIO", "EDQUOT", "EINTR"])
def test_errors_of_the_system_at_every_call(code: str, path: Path) -> None:
    """A real error code from each call: it is reported with the path, and the old file stays (D4)."""
    tracer, calls = traced(lambda number: save_training(number, path, BIG), path)

    def work() -> int:
        try:
            save_training(2, path, BIG)
        except OSError as e:
            right = e.errno == getattr(errno, code) and e.filename == str(path)
            return 10 if right else 11
        return 0

    names = [name for name, *_ in calls]
    close = names.index("close", names.index("fsync"))  # of the file that was written
    renamed = len(names) - 1 - names[::-1].index("rename")
    kinds = INTERRUPTED if code == "EINTR" else FAILING
    steps = [(i, *call) for i, call in enumerate(calls) if call[0] in kinds]
    for i, name, count, line in steps:
        save_training(1, path, BIG)
        status = tracer.run(work, "-e", f"inject={name}:error={code}:when={count}")
        assert status is not None
        result = os.waitstatus_to_exitcode(status)
        assert result in (0, 10), (name, count, line, result)
        essential = name in ("write", "fsync", "rename") or "O_CREAT" in line or i == close
        if essential and code != "EINTR":  # Python calls again after an interruption
            assert result == 10, (name, count, line)
        assert number_of(path) == (1 if result == 10 and i <= renamed else 2), (name, count)
        assert number_of(f"{path}.previous") in (1, 2)
    save_training(1, path, BIG)
    assert set(os.listdir(path.parent)) == allowed(path)
    print(len(steps), "errors")


def test_full_disk_of_many_sizes(path: Path) -> None:
    """A real file system that is full at some point of the save (D4)."""
    folder = path.parent.parent / "disk"
    folder.mkdir()

    def work(size: int) -> int:
        file = folder / "c.weft"
        if not mount_small_disk(folder, size):
            return 77
        save_training(1, file, 2000)
        try:
            save_training(2, file, BIG)
            result = 20
        except OSError as e:
            assert e.errno == errno.ENOSPC and e.filename == str(file), e
            assert "the old file is kept" in str(e)
            result = 10
        assert number_of(file) == result // 10
        assert set(os.listdir(folder)) == allowed(file)
        return result

    whole = 4 * BIG
    results = []
    for size in (65536, *range(131072, whole * 2, whole // 16)):
        results.append(os.waitstatus_to_exitcode(in_child(lambda size=size: work(size))))
    if 77 in results:
        pytest.skip("this system does not let us mount a file system")
    assert set(results) == {10, 20} and results == sorted(results), results


ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EINTR, errno.EROFS)


@pytest.mark.parametrize("code", ERRORS, ids=[errno.errorcode[e] for e in ERRORS])
@pytest.mark.parametrize("save", SAVERS)
def test_io_errors_at_every_step(
    save: Any, path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error at each step in Python: it is reported, and the old file is there (D4)."""
    steps, replaced = set(), False
    for k in range(1, 100):
        with monkeypatch.context() as patch:

            def fail(name: str) -> None:
                raise OSError(code, os.strerror(code))

            faults = Faults(patch, fail, k)
            try:
                save(2, path)
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
        replaced = replaced or faults.seen[: k - 1].count("replace") == 1 + (save is save_training)
        again = step == "write" and code == errno.EINTR  # as Python does after an interruption
        assert failed or again or step in ("close", "unlink", "open", "link"), step
        assert number_of(path) == (1 if failed and not replaced else 2)
        save(1, path)
        assert set(os.listdir(path.parent)) == allowed(path), step
    assert {"open", "write", "fsync", "replace"} <= steps


def test_short_writes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write may take only a part: the rest follows; if it cannot, that is an error (D4)."""
    for then in (0, errno.ENOSPC):
        for k in range(1, 100):
            count = 0

            def write(self: Any, data: Any, k: int = k, then: int = then) -> int:
                nonlocal count
                count += 1
                if then and count == k + 1:
                    raise OSError(then, os.strerror(then))
                part = memoryview(data)[: max(1, len(data) // 3)] if count == k else data
                return io.FileIO.write(self, part)

            with monkeypatch.context() as patch:
                patch.setattr(atomic._Counted, "write", write)
                try:
                    save_state(2, path, BIG)
                    saved = True
                except OSError as e:
                    saved = False
                    assert e.errno == then and e.filename == str(path)
            assert number_of(path) == (2 if saved else 1), k
            assert saved == (not then or count < k + 1)
            save_state(1, path)
            if count < k:
                break
        assert k > 6


def test_tiny_writes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that always takes a few bytes at a time gets all of them."""

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


def test_a_sweep_that_comes_before_the_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another save takes the new temporary file for a remnant: a second one is made."""
    import fcntl

    real, met = fcntl.flock, list[Path]()

    def flock(fd: int, how: int) -> None:
        if not met:
            met.extend(p for p in path.parent.iterdir() if p.name.endswith(".weft-tmp"))
            met[0].unlink()
            raise BlockingIOError(11, "taken")
        real(fd, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    weft.save(state(5), path)
    assert met and number_of(path) == 5
