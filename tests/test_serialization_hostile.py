"""Files from strangers: they run nothing, crash nothing and take no memory that they do not need."""

from __future__ import annotations

import base64
import io
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import hostile
import pytest

import weft
from weft.serialization import FileError, load_npz, save_file, save_npz

HERE = Path(__file__).resolve().parent


def load_apart(files: list[bytes]) -> list[list[Any]]:
    """Load files in a process that may do nothing else."""
    lines = "".join(json.dumps(base64.b64encode(data).decode()) + "\n" for data in files)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(weft.__file__).parents[1])])}
    done = subprocess.run(
        [sys.executable, str(HERE / "hostile.py")],
        input=lines,
        capture_output=True,
        text=True,
        env=env,
        timeout=300,
    )
    assert done.returncode == 0, (done.returncode, done.stdout[-500:], done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_hostile_files_run_nothing() -> None:
    """More than a thousand exploits: all refused, no code, no imports, no other file (E3, E2)."""
    files = list(hostile.files())
    assert len(files) > 1000
    begin = time.monotonic()
    outcomes = load_apart(files)
    assert len(outcomes) == len(files)
    assert time.monotonic() - begin < 120
    for data, (said, events, _, _) in zip(files, outcomes):
        assert not events, (data[:200], events)
        if hostile.LARGE_MEMO not in data:
            assert said.startswith("refused: load: <BytesIO>"), (data[:200], said)
    grown = outcomes[-1][2] - outcomes[0][2]
    assert grown < (300 << 20), grown
    assert not os.path.exists("/tmp/weft-was-here")


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
        x = {"x": weft.arange(6.0).reshape(2, 3), "b": weft.tensor([True, False])}
        own, safe, npz = io.BytesIO(), io.BytesIO(), io.BytesIO()
        weft.save({**x, "more": [1, (2, "text"), {3: None}]}, own)
        save_file(x, safe, {"text": "more"})
        save_npz(x, npz)
        t = (
            b"}("
            + hostile.text("x")
            + hostile.tensor(hostile.storage_id())
            + hostile.text("n")
            + b"K\x01u"
        )
        SEEDS.update(
            own=own.getvalue(),
            safetensors=safe.getvalue(),
            npz=npz.getvalue(),
            torch=hostile.torch_zip(b"\x80\x02" + t + b"."),
        )
    return SEEDS


def mutated(data: bytes, rng: random.Random) -> bytes:
    """``data`` with a few things changed: bits, numbers, pieces."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(made)) if made else 0
        kind = rng.randrange(6)
        if kind == 0 and made:
            made[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and made:
            made[at] = rng.choice((0, 1, 127, 128, 255))
        elif kind == 2:
            del made[at : at + rng.randrange(1, 20)]
        elif kind == 3:
            made[at:at] = made[at : at + rng.randrange(1, 20)]
        elif kind == 4:
            number = rng.choice((0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1))
            size = rng.choice((2, 4, 8))
            made[at : at + size] = (number & (256**size - 1)).to_bytes(size, "little")
        else:
            del made[at:]
    return bytes(made)


@pytest.mark.parametrize("name", ["own", "safetensors", "npz", "torch"])
def test_mutated_files_raise_one_error(name: str) -> None:
    """Random damage: a whole object, or FileError; nothing else (E1)."""
    rng, data = random.Random(name), seeds()[name]
    load = load_npz if name == "npz" else weft.load
    load(io.BytesIO(data))
    refused = 0
    for i in range(2500):
        damaged = mutated(data, rng)
        try:
            load(io.BytesIO(damaged))
        except FileError as e:
            refused += 1
            assert e.__cause__ is None, f"{i}: {e}\n{damaged!r}"  # a rule, not the net below them
        except Exception as e:
            pytest.fail(f"{i}: {type(e).__name__}: {e}\n{damaged!r}")
    assert refused > 1000


def test_mutated_pickles_raise_one_error() -> None:
    """Damage inside the pickle, in a zip that is whole: the machine itself is tested (E1)."""
    rng = random.Random(0)
    good = [*hostile.tensors(), b"\x80\x02" + hostile.tensor(hostile.storage_id()) + b"."]
    for i in range(4000):
        damaged = mutated(rng.choice(good), rng)
        data = hostile.torch_zip(damaged) if i % 4 else hostile.LEGACY + damaged
        try:
            weft.load(io.BytesIO(data))
        except FileError as e:
            assert e.__cause__ is None, f"{i}: {e}\n{damaged!r}"
        except Exception as e:
            pytest.fail(f"{i}: {type(e).__name__}: {e}\n{damaged!r}")


@pytest.mark.parametrize("name", ["own", "safetensors", "npz", "torch"])
def test_truncated_files_are_refused(name: str) -> None:
    """Every file is refused if any number of bytes at its end is missing."""
    data = seeds()[name]
    for end in range(len(data)):
        with pytest.raises(FileError):
            weft.load(io.BytesIO(data[:end]))


def manifest_of(change: Any) -> bytes:
    """A file of weft with a manifest that was changed, and right checksums."""
    import zipfile

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
    (put("tensors", 0, "shape", value=[2**62, 3]), "reach element"),
    (put("tensors", 0, "shape", value=[-1, 3]), "expected a count"),
    (put("tensors", 0, "shape", value=[6]), "1 sizes, but 2 strides"),
    (put("tensors", 0, "stride", value=[2**62, 1]), "reach element"),
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
    (put("object", value={"device": "cuda"}), "the device 'cuda'"),
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
