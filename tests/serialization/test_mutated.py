"""Files that are nearly right: each is loaded as a whole or refused by a rule, and every rule is met.

WEFT_SOAK=1 in the environment makes a million files of each format instead of the numbers below.
"""

from __future__ import annotations

import ast
import functools
import io
import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from serialization.hostile import torch_zip
from serialization.mutations import SAFETENSORS, Safetensors, mutants
from serialization.mutations_torch import TORCH, Torch, call, data
from serialization.mutations_zipped import NPZ, OWN, Npz, Own

import weft
from weft.serialization import FileError, archive, common, load_file, load_npz, pickles

pytestmark = pytest.mark.filterwarnings("ignore:invalid escape")  # in text of mutated pickles

FORMATS: dict[str, tuple[Any, Any, Any, int]] = {
    "safetensors": (Safetensors, SAFETENSORS, load_file, 60_000),
    "own": (Own, OWN, weft.load, 25_000),
    "npz": (Npz, NPZ, load_npz, 25_000),
    "torch": (Torch, TORCH, weft.load, 40_000),
}
READERS = "archive common files npz weft_file pickles safetensors structure torch_file".split()
ENOUGH = 100  # times that each rule must have been met

# Rules that no file of these sizes can break: the last nets, and limits, which have tests below.
NETS = {
    "no memory for",
    "sizes that no tensor can have",  # the product of two is too large beside a third of 0
    "bytes, expected",
    "sets the state of",
    "ends without STOP",
    "as a value, which is not only data",  # of a name; of other things it is met
    "damaged: {type(e).__name__}: {e}",
    "where only arrays are expected",  # of read_plain: tests/vision has its files
}
LIMITS = {"members, more than", "bytes of JSON, more than", "more than {_MOST} instructions"}
LIMITS |= {"copies its data too often"}

Place = tuple[str, int]


@functools.cache
def outcomes(name: str) -> Counter[Place]:
    """Load the files of one format; return how often each line has refused one."""
    draft, changes, load, count = FORMATS[name]
    seed = os.environ.get("WEFT_SEED", "0")
    count = 1_000_000 if os.environ.get("WEFT_SOAK") else count
    make, rng = mutants(draft, changes), Random(f"{name} {seed}")
    met: Counter[Place] = Counter()
    load(io.BytesIO(draft().build()))
    for i in range(count):
        data = make(rng)
        try:
            load(io.BytesIO(data))
        except FileError as e:
            assert e.__cause__ is None, f"{name} {i}, seed {seed}: {e}\n{data!r}"  # a rule, no net
            trace: Any = e.__traceback__
            while trace.tb_next is not None:
                trace = trace.tb_next
            met[os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_lineno] += 1
        except Exception as e:
            pytest.fail(f"{name} {i}, seed {seed}: {type(e).__name__}: {e}\n{data!r}")
    return met


@pytest.mark.parametrize("name", FORMATS)
def test_mutated_files_raise_one_error(name: str) -> None:
    """A whole object, or FileError; nothing else (E1)."""
    refused = sum(outcomes(name).values())
    print(f"{name}: {refused} files refused, by {len(outcomes(name))} rules")
    assert refused > 10_000


def rules() -> dict[Place, tuple[int, str]]:
    """The places in the readers that refuse a file: where each ends, and what it says."""
    found = {}
    for name in READERS:
        path = Path(common.__file__).with_name(f"{name}.py")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                called = ast.unparse(node.exc.func)
                if called in ("FileError", "self.wrong"):
                    place = path.name, node.lineno
                    found[place] = (node.end_lineno or 0, ast.unparse(node.exc))
    return found


def test_every_rule_is_met() -> None:
    """No rule of the readers without a hundred files that it refused (E1)."""
    met = sum((outcomes(name) for name in FORMATS), Counter[Place]())
    seldom, exempt = [], set()
    for (file, begin), (end, text) in rules().items():
        count = sum(n for (f, line), n in met.items() if f == file and begin <= line <= end)
        net = next((part for part in NETS | LIMITS if part in text), None)
        if count < ENOUGH and net is not None:
            exempt.add(net)
        elif count < ENOUGH and "nested too deeply" not in text:
            seldom.append(f"{file}:{begin} was met {count} times: {text}")
    print(f"{len(rules())} rules, {len(exempt)} of them nets and limits")
    assert not seldom, "\n".join(seldom)
    assert exempt == NETS | LIMITS


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that only large files would reach, made small."""
    monkeypatch.setattr(pickles, "_MOST", 100)
    with pytest.raises(FileError, match="more than 100 instructions"):
        weft.load(io.BytesIO(torch_zip(b"\x80\x02" + b"N0" * 60 + b"N.")))
    monkeypatch.setattr(pickles, "_PLAIN", -10_000)
    program = data("x" * 300) + call("_codecs", "encode", b"h\x00") * 20
    with pytest.raises(FileError, match="copies its data too often"):
        weft.load(io.BytesIO(torch_zip(b"\x80\x02(" + program + b"t.")))
    monkeypatch.setattr(archive, "_MOST_MEMBERS", 1)
    with pytest.raises(FileError, match="2 members, more than 1"):
        weft.load(io.BytesIO(Npz().build()))
    monkeypatch.setattr(common, "LARGEST_HEADER", 10)
    with pytest.raises(FileError, match="bytes of JSON, more than 10"):
        load_file(io.BytesIO(Safetensors().build()))
