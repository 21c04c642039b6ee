"""Files from strangers: they run nothing, crash nothing and take no memory that they do not need."""

from __future__ import annotations

import io
import json
import os
import random
import re
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from robustness.crashes import Tracer, in_child, limit_memory
from serialization import bombs, hostile
from serialization.mutations import Safetensors
from serialization.mutations_torch import Torch
from serialization.mutations_zipped import Npz, Own

import weft
from weft.serialization import FileError

SANITIZED = bool(os.environ.get("WEFT_SANITIZE"))


def apart(work: Callable[[Callable[[str], None]], None], folder: Path, *options: str) -> list[str]:
    """Let ``work`` note lines in a copy of this process, which may be traced; return them."""
    notes = folder / "notes"

    def run() -> None:
        lines: list[str] = []
        work(lines.append)
        notes.write_text("\n".join(lines))

    tracer = Tracer(folder / "calls.txt")
    status = tracer.run(run, *options) if options else in_child(run)
    if status is None:
        pytest.skip("no strace, or it may not trace")
    assert status == 0, f"it ended with the status {status}"
    return notes.read_text().splitlines()


def load(path: Any) -> str:
    """Load a file; if it is one of weft's, also as a checkpoint. Return what came of it."""
    try:
        weft.load(path)
        weft.nn.Linear.load_from_checkpoint(path)
        return "loaded"
    except (FileError, TypeError, RuntimeError) as e:
        return f"{type(e).__name__}: {e!s:.200}".replace("\n", " ")


@pytest.fixture
def exploits(tmp_path: Path) -> list[str]:
    """All files that try to do harm, in a folder."""
    (tmp_path / "files").mkdir()
    paths = []
    for i, content in enumerate(hostile.files()):
        paths.append(str(tmp_path / "files" / str(i)))
        Path(paths[-1]).write_bytes(content)
    weft.save([weft.ones(1)], tmp_path / "files" / "good")
    for path in (*paths[:1], tmp_path / "files" / "good"):  # what is loaded late is loaded now
        load(path)
    return paths


HARMLESS = ("builtins.id", "sys._getframe", "object.__getattr__")


def test_exploits_run_nothing(exploits: list[str], tmp_path: Path) -> None:
    """More than a thousand: refused, with no event of Python but opening the file itself (E3)."""

    def work(note: Callable[[str], None]) -> None:
        limit_memory(1 << 30)
        events: list[str] = []
        path = ""

        def hook(event: str, args: Any) -> None:
            reads = event == "open" and args[0] == path and not args[2] & ~os.O_CLOEXEC
            if path and not reads and event not in HARMLESS:
                events.append(f"{event} {args!r:.100}")

        sys.addaudithook(hook)
        for path in exploits:
            outcome = load(path)
            seen, path = events[:], ""
            events.clear()
            note(f"{outcome}; events: {seen}")

    lines = apart(work, tmp_path)
    assert len(lines) == len(exploits) > 1300
    for path, line in zip(exploits, lines):
        content = Path(path).read_bytes()
        assert line.endswith("events: []"), (content[:200], line)
        assert not line.startswith("loaded"), (content[:200], line)
    assert not os.path.exists("/tmp/weft-was-here")


def test_exploits_make_no_system_calls(exploits: list[str], tmp_path: Path, settled: None) -> None:
    """The system sees that 300 of them are opened to be read, and nothing else (E3)."""
    exploits = exploits[:: len(exploits) // 300]
    kinds = "trace=%file,%network,%process,write,pwrite64,sendfile,ftruncate,fchmod"

    def work(note: Callable[[str], None]) -> None:
        for path in exploits:
            try:
                weft.load(path)
            except FileError:
                pass

    apart(work, tmp_path, "-f", "-e", kinds)
    calls = (tmp_path / "calls.txt").read_text().splitlines()
    end = next(i for i, line in enumerate(calls) if str(tmp_path / "notes") in line)
    opened = 0
    for line in calls[:end]:
        if f'openat(AT_FDCWD, "{tmp_path}/files/' in line:
            assert "O_RDONLY|O_CLOEXEC" in line
            opened += 1
        else:
            assert re.search(r"newfstatat\(\d+, \"\"|<... |\+\+\+", line), line
    assert opened == len(exploits) >= 300


def test_bombs(tmp_path: Path) -> None:
    """10,000 small files that ask for much: memory and time stay near the file's size (E2)."""
    seed = int(os.environ.get("WEFT_SEED", "0"))
    count = 100_000 if os.environ.get("WEFT_SOAK") else 10_000
    rng = random.Random(seed)
    files = [bombs.bomb(rng) for _ in range(count)]
    for content in files[:100]:  # what is loaded late is loaded now
        load(io.BytesIO(content))

    def work(note: Callable[[str], None]) -> None:
        for i, content in enumerate(files):
            limit_memory((64 << 20) + len(content))
            begin = time.thread_time()
            try:
                weft.load(io.BytesIO(content))
            except FileError as e:
                if "no memory" in str(e):
                    note(f"{i}: {e}")
            except BaseException as e:
                note(f"{i}: {type(e).__name__}: {e!s:.100}")
            seconds = time.thread_time() - begin
            if seconds > (0.5 + 4e-6 * len(content)) * (10 if SANITIZED else 1):
                note(f"{i}: {seconds:.1f} s for {len(content)} bytes")

    print("seed", seed)
    assert apart(work, tmp_path) == []


@pytest.mark.parametrize(
    ("module", "name"), [("os", "system"), ("torch.nn.modules.linear", "Linear"), ("a.b", "C.d")]
)
def test_the_error_names_what_was_asked_for(module: str, name: str) -> None:
    """A user learns which class stood in the way."""
    for data in list(hostile.calls(module, name, "x"))[:2]:
        with pytest.raises(FileError, match=f"needs {module}.{name}, which is code"):
            weft.load(io.BytesIO(hostile.torch_zip(data)))


SEEDS: dict[str, bytes] = {}


def seeds() -> dict[str, bytes]:
    """A small good file of each format."""
    if not SEEDS:
        drafts: dict[str, Any] = {
            "own": Own,
            "safetensors": Safetensors,
            "npz": Npz,
            "torch": Torch,
        }
        SEEDS.update({name: draft().build() for name, draft in drafts.items()})
    return SEEDS


@pytest.mark.parametrize("name", ["own", "safetensors", "npz", "torch"])
def test_truncated_files_are_refused(name: str) -> None:
    """Every file is refused if any number of bytes at its end is missing."""
    data = seeds()[name]
    for end in range(len(data)):
        with pytest.raises(FileError):
            weft.load(io.BytesIO(data[:end]))


def manifest_of(change: Any) -> bytes:
    """A file of weft with a manifest that was changed, and right checksums."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(seeds()["own"])) as z, zipfile.ZipFile(made, "w") as new:
        manifest = json.loads(z.read("manifest.json"))
        change(manifest)
        new.writestr("data.safetensors", z.read("data.safetensors"))
        new.writestr("manifest.json", json.dumps(manifest))
    return made.getvalue()


def put(*path: Any, value: Any) -> Any:
    """A change of one place in the manifest."""

    def change(manifest: Any) -> None:
        for step in path[:-1]:
            manifest = manifest[step]
        manifest[path[-1]] = value

    return change


DEEP: Any = 1
for _ in range(100):
    DEEP = [DEEP]

CHANGES: list[tuple[Any, str]] = [
    (put("format", value="other"), "is not weft's"),
    (put("version", value=2), "version 2"),
    (put("version", value="x" * 1000), "version"),
    (put("data", value=None), "incomplete"),
    (put("data", "sha256", value="0" * 64), "checksum is wrong"),
    (put("tensors", value={}), "incomplete"),
    (put("tensors", 0, value=3), "does not describe a tensor"),
    (put("tensors", 0, "storage", value="9"), "no storage '9'"),
    (put("tensors", 0, "storage", value=["0"]), "no storage"),
    (put("tensors", 0, "dtype", value="object"), "no dtype"),
    (put("tensors", 0, "shape", value=[9, 9]), "reach element"),
    (put("tensors", 0, "shape", value=[2**56, 3]), "reach element"),
    (put("tensors", 0, "shape", value=[2**62, 3]), "expected a count"),
    (put("tensors", 0, "shape", value=[-1, 3]), "expected a count"),
    (put("tensors", 0, "shape", value=[6]), "1 sizes, but 2 strides"),
    (put("tensors", 0, "stride", value=[2**56, 1]), "reach element"),
    (put("tensors", 0, "stride", value=[2**62, 1]), "expected a count"),
    (put("tensors", 0, "offset", value=1), "reach element"),
    (put("tensors", 0, "offset", value=-1), "expected a count"),
    (put("tensors", 0, "offset", value=True), "expected a count"),
    (put("tensors", 1, "requires_grad", value=True), "cannot require a gradient"),
    (put("tensors", 0, "requires_grad", value=1), "requires_grad is 1"),
    (put("tensors", 0, "dtype", value="bool"), "neither 0 nor 1"),
    (put("object", value={"tensor": 99}), "tensor 99 of"),
    (put("object", value={"tensor": -1}), "expected a count"),
    (put("object", value={"odd": 1}), "unknown kind 'odd'"),
    (put("object", value={}), "an object with the keys"),
    (put("object", value={"tuple": 1}), "expected a list"),
    (put("object", value={"dict": [[1]]}), "expected a list of 2"),
    (put("object", value={"dict": [[1, 2], [1, 3]]}), "there twice"),
    (put("object", value={"dict": [[[1], 2]]}), "a list as a key"),
    (put("object", value={"set": [{"dict": []}]}), "a dict as a key"),
    (put("object", value=DEEP), "nested too deeply"),
    (put("object", value={"int": "zz"}), "the number 'zz'"),
    (put("object", value={"float": "1e5"}), "the number '1e5'"),
    (put("object", value={"complex": [1]}), "expected a list of 2"),
    (put("object", value={"bytes": "***"}), "manifest: bytes"),
    (put("object", value={"bytes": 0}), "holds no bytes"),
    (put("object", value={"dtype": "object"}), "the dtype 'object'"),
    (put("object", value={"device": "gpu"}), "the device 'gpu'"),
    (put("object", value={"Generator": "AAAA"}), "state of a generator"),
    (put("object", value={"numpy.array": ["|O", [1], "C", "AAAA"]}), "not one of numbers"),
    (put("object", value={"numpy.array": ["<f4", [9], "C", "AAAA"]}), "an array of shape"),
    (put("object", value={"numpy.array": ["<f4", [2**40, 2**40], "C", ""]}), "an array of shape"),
    (put("object", value={"Size": [-1]}), "expected a count"),
    (put("object", value={"range": ["0x0", "0x1", "0x0"]}), "range"),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_bad_manifests_are_refused(number: int) -> None:
    """Every rule of weft's own format, one file each; the checksums are right."""
    change, said = CHANGES[number]
    with pytest.raises(FileError, match=said):
        weft.load(io.BytesIO(manifest_of(change)))


def test_other_files_are_refused() -> None:
    """What is no model at all."""
    for data, said in (
        (b"", "empty"),
        (b"hello world", "neither a file of weft"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "neither a file of weft"),
        (b"\x80\x02}.", "not one of torch.save"),
        (b"\x80\x04\x95", "pickle"),
    ):
        with pytest.raises(FileError, match=said):
            weft.load(io.BytesIO(data))
