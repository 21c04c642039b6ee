"""Machine code of fused groups: every row equals eager bit for bit, layouts, the cache on the disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jit.codegen_rows import ROWS, check, count_of, same

import weft
from weft import _C
from weft.jit.codegen import cache, loop, machine_code
from weft.jit.codegen.fused_group import parse

CHAIN = (
    "v0: float32; v1: float32; v2: float32 = mul(v0, v1); v3: float32 = tanh(v2); "
    "v4: float32 = add(v3, 0.5); return v3, v4"
)
TESTS = Path(__file__).parent.parent


def fused(text: str, *inputs: weft.Tensor) -> tuple[weft.Tensor, ...]:
    """Run a group."""
    return _C._call_op("fused", (list(inputs), text), False)


def python(program: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    path = os.pathsep.join([str(Path(weft.__file__).parent.parent), str(TESTS)])
    whole = {**os.environ, "PYTHONPATH": path, **env}
    return subprocess.run(
        [sys.executable, "-c", program], env=whole, capture_output=True, text=True, timeout=600
    )


@pytest.fixture(autouse=True)
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row and its derivatives give eager's bits, on special numbers and on random ones."""
    monkeypatch.setenv("WEFT_CACHE", "")
    for kind in sorted(ROWS[name].kinds):
        check(name, kind)


@pytest.mark.parametrize("isa", ["avx2", "base"])
def test_lesser_instruction_sets(isa: str) -> None:
    """The same with the loops that eager has for lesser machines."""
    done = python(
        "import runpy; runpy.run_module('jit.codegen_rows', run_name='__main__')", WEFT_ISA=isa
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 400


def test_rows_name_what_eager_has() -> None:
    """A row has no more derivatives than its op has operands, and its op exists."""
    known = {row["name"] for row in _C._ops()}
    for name, row in ROWS.items():
        assert name in known and len(row.back) <= count_of(name)


CASTS = ["float32", "float64", "int32", "int64", "bool"]


@pytest.mark.parametrize("before", CASTS)
@pytest.mark.parametrize("after", CASTS)
def test_casts(before: str, after: str) -> None:
    """Casts give eager's bits, also out of range and for NaN."""
    x = weft.tensor(
        [0.0, -0.0, 1.9, -1.9, 3e9, -3e9, 1e19, float("nan"), float("inf"), 1e-300, 7.0]
    )
    x = x.double().to(getattr(weft, before))
    (y,) = fused(f"v0: {before}; v1: {after} = cast(v0, {after}); return v1", x)
    assert same(y, x.to(getattr(weft, after)))


def layouts() -> dict[str, tuple[weft.Tensor, weft.Tensor]]:
    """Pairs of operands that lie in odd ways."""
    wide = weft.randn(40, 90)
    return {
        "one": (weft.randn(1), weft.randn(1)),
        "few": (weft.randn(5), weft.randn(5)),
        "lanes and one": (weft.randn(17), weft.randn(17)),
        "transposed": (wide.t(), wide.t()),
        "one of two transposed": (wide.t(), weft.randn(90, 40)),
        "every other": (wide[:, ::2], wide[:, 1::2]),
        "every other row": (wide[::2], wide[1::2]),
        "expanded": (weft.randn(90).expand(40, 90), wide),
        "expanded column": (weft.randn(40, 1).expand(40, 90), wide),
        "row": (wide, weft.randn(90)),
        "column": (wide, weft.randn(40, 1)),
        "short rows": (weft.randn(300, 7), weft.randn(7)),
        "short columns": (weft.randn(300, 7), weft.randn(300, 1)),
        "number": (wide, weft.randn(())),
        "both ways": (weft.randn(40, 1), weft.randn(90)),
        "in the middle": (weft.randn(6, 1, 70), weft.randn(6, 5, 70)),
        "many": (weft.randn(3, 1, 2, 1, 5), weft.randn(1, 4, 1, 2, 5)),
        "channels last": (weft.randn(2, 8, 5, 5).to(memory_format=weft.channels_last),) * 2,
        "empty": (weft.randn(0, 3), weft.randn(0, 3)),
        "no dimensions": (weft.randn(()), weft.randn(())),
        "large": (weft.randn(70001), weft.randn(70001)),
        "large rows": (weft.randn(700, 129), weft.randn(129)),
    }


@pytest.mark.parametrize("name", layouts())
def test_layouts(name: str) -> None:
    """Operands in any layout; results lie as eager's do."""
    x, y = layouts()[name]
    got = fused(CHAIN, x, y)
    middle = (x * y).tanh()
    for a, b in zip(got, (middle, middle + 0.5)):
        assert same(a, b) and a.stride() == b.stride()


@pytest.mark.parametrize(
    "op", ["sum(v2, None)", "mean(v2, None)", "amax(v2, None, False)", "amin(v2)"]
)
@pytest.mark.parametrize("name", [n for n in layouts() if n != "empty"])
def test_whole_reductions(op: str, name: str) -> None:
    """A reduction at the end gives eager's bits, however much there is and however it lies."""
    x, y = layouts()[name]
    text = f"v0: float32; v1: float32; v2: float32 = mul(v0, v1); v3: float32 = {op}; return v2, v3"
    product, got = fused(text, x, y)[:2]  # what lies otherwise is a third result, then reduced
    want = getattr(x * y, op.partition("(")[0])()
    assert same(product, x * y) and same(got, want)


@pytest.mark.parametrize("shape", [(3, 24), (2, 100000), (5, 4097), (500, 70), (2, 3, 64), (90,)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reductions_of_rows(shape: tuple[int, ...], dtype: str) -> None:
    """The last dimension is reduced as eager does it, also where eager cuts rows into chunks."""
    x = weft.randn(shape, dtype=getattr(weft, dtype))
    text = f"v0: {dtype}; v1: {dtype} = exp(v0); v2: {dtype} = sum.dim(v1, (-1,), True, None); return v2"
    (got,) = fused(text, x)
    assert same(got, x.exp().sum(-1, keepdim=True))


def test_threads() -> None:
    """The number of threads changes no bit."""
    x, y = weft.randn(300_000), weft.randn(300_000)
    text = CHAIN.replace("return v3, v4", "v5: float32 = sum(v4, None); return v3, v4, v5")
    before = weft.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            weft.set_num_threads(threads)
            found.append(fused(text, x, y))
    finally:
        weft.set_num_threads(before)
    for others in found[1:]:
        assert all(same(a, b) for a, b in zip(found[0], others))


def test_derivative() -> None:
    """The op has the derivative of the ops that it stands for, twice."""
    x, y = weft.randn(6, requires_grad=True), weft.randn(6, requires_grad=True)
    (got,) = weft.autograd.grad(fused(CHAIN, x, y)[1].sum(), x, create_graph=True)
    (want,) = weft.autograd.grad(((x * y).tanh() + 0.5).sum(), x, create_graph=True)
    assert weft.equal(got, want)
    again = [weft.autograd.grad(g.square().sum(), (x, y)) for g in (got, want)]
    assert all(weft.allclose(a, b) for a, b in zip(*again))


@pytest.mark.parametrize(
    "text",
    [
        "", "return v0", "v0: float32", "v1: float32; return v1", "v0: float32; return v1",
        "v0: float16; return v0", "v0: float32; v1: float32 = mul(v0, v7); return v1",
        "v0: float32; v1: float32 = __import__('os'); return v1",
        "v0: float32; import os; return v0", "v0: float32; v1: float32 = mul(v0, v0.x); return v1",
        "v0: float32; v1: float32 = mul(*v0); return v1", "v0: float32; (",
    ],
)  # fmt: skip
def test_bad_texts(text: str) -> None:
    """What is no group is refused; nothing of it is run."""
    with pytest.raises((ValueError, RuntimeError)):
        fused(text, weft.ones(3))


@pytest.mark.parametrize(
    "text",
    [
        "v1: bool = gt(v0, 0.5); v2: float32 = exp(v0); v3: float32 = sum.dim(v2, (1,), True); return v1",
        "v1: float32 = exp(v0); v2: float32 = sum.dim(v1, (1,), True); return v2, v2",
        "v1: float32 = exp(v0); v2: float32 = sum.dim(v1, (1,), True); return v2, v1",
        "v1: float32 = exp(v0); v2: float32 = sum(v1, None); v3: float32 = neg(v2); return v3",
        "v1: float32 = exp(v0); v2: float32 = sum(v1, None); v3: float32 = neg(v1); return v3",
        "v1: float32 = exp(v0); v2: float32 = sum(); return v2",
        "v1: float32 = nothing(v0); return v1",
        "v1: float32 = where(v0); return v1",
        "v1: float32 = expand(1.0); return v1",
        "v1: float32 = pointwise_gradient('tanh', 7, v0); return v1",
    ],
)
def test_steps_that_no_loop_can_have(text: str) -> None:
    """Unknown ops, missing arguments, and reductions that are not the last thing that is given."""
    for sizes in ((3, 200), (40, 1), (1, 1)):
        with pytest.raises((ValueError, RuntimeError, TypeError)):
            fused(f"v0: float32; {text}", weft.rand(sizes))


def test_bad_inputs() -> None:
    """Other dtypes, counts and shapes than the group was made for are refused."""
    fused(CHAIN, weft.ones(3), weft.ones(3))
    with pytest.raises(RuntimeError, match="takes 2 tensors, got 1"):
        fused(CHAIN, weft.ones(3))
    with pytest.raises(RuntimeError, match="input 1 must be float32, got int64"):
        fused(CHAIN, weft.ones(3), weft.ones(3, dtype=weft.int64))
    with pytest.raises(RuntimeError, match="fused"):
        fused(CHAIN, weft.ones(3), weft.ones(4))
    once = "v0: float32; v1: once[float32]; v2: float32 = mul(v0, v1); return v2"
    with pytest.raises(RuntimeError, match="one element along its last dimension"):
        fused(once, weft.ones(3), weft.ones(3))


def test_text_comes_back() -> None:
    """A group that is read and written is the same text."""
    assert str(parse(CHAIN)) == CHAIN
    odd = "v0: bool; v1: float32 = where(v0, -inf, 1e-05); v2: float32 = expand(nan, (2, 3)); return v1, v2"
    assert str(parse(odd)) == odd


# ---- the cache


def kernel(number: float) -> loop.Loop:
    """A loop that no other test has."""
    text = f"v0: float32; v1: float32 = mul(v0, {number}); v2: float32 = exp(v1); return v2"
    return loop.write(parse(text), _C._isa())


def key_of(place: Path) -> str:
    (file,) = place.glob("*.o")
    return file.stem


def test_cache_is_used(kernels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was compiled once is read the next time, not compiled."""
    machine_code.function(kernel(998.25))
    data = cache.read(key_of(kernels))
    assert data is not None
    monkeypatch.setattr(machine_code, "_living", {})
    monkeypatch.setattr(
        machine_code._Machine, "object_of", lambda *_: pytest.fail("compiled again")
    )
    monkeypatch.setattr(machine_code._Machine, "load", lambda self, got, name: got == data)
    assert machine_code.function(kernel(998.25)) is True


def spoil(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "one bit":
        data[-100] ^= 1
        path.write_bytes(data)
    elif how == "longer":
        path.write_bytes(bytes(data) + b"x")
    elif how == "other key":
        path.write_bytes(data.replace(path.stem.encode(), b"0" * 64, 1))
    elif how == "noise":
        path.write_bytes(os.urandom(len(data)))
    elif how == "writable by others":
        path.chmod(0o666)
    elif how == "a link":
        path.rename(path.with_suffix(".elsewhere"))
        path.symlink_to(path.with_suffix(".elsewhere"))
    elif how == "a directory":
        path.unlink()
        path.mkdir()
    elif how == "a pipe":
        path.unlink()
        os.mkfifo(path)
    elif how == "directory writable by others":
        path.parent.chmod(0o777)


HOW = ["cut", "empty", "one bit", "longer", "other key", "noise", "writable by others", "a link",
       "a directory", "a pipe", "directory writable by others"]  # fmt: skip


@pytest.mark.parametrize("how", HOW)
def test_spoilt_files_are_not_run(how: str, kernels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not as it was written is compiled anew."""
    number = 1000.37 + HOW.index(how)
    machine_code.function(kernel(number))
    key = key_of(kernels)
    spoil(kernels / f"{key}.o", how)
    opened = os.listdir("/proc/self/fd")
    assert cache.read(key) is None and os.listdir("/proc/self/fd") == opened
    compiled = []
    real = machine_code._Machine.object_of
    monkeypatch.setattr(machine_code, "_living", {})
    monkeypatch.setattr(
        machine_code._Machine,
        "object_of",
        lambda self, text: compiled.append(1) or real(self, text),
    )
    monkeypatch.setattr(machine_code._Machine, "load", lambda self, data, name: 1)
    assert machine_code.function(kernel(number)) == 1 and compiled


def test_file_of_another_user(kernels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only files of this user are run."""
    cache.write("a" * 64, b"data")
    assert cache.read("a" * 64) == b"data"
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    assert cache.read("a" * 64) is None


@pytest.mark.parametrize("place", ["", "/proc/nowhere", "/dev/null/kernels"])
def test_no_place_for_a_cache(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a directory that can be written, code is made all the same."""
    monkeypatch.setenv("WEFT_CACHE", place)
    number = 20.0 + len(place)
    text = f"v0: float32; v1: float32 = mul(v0, {number}); v2: float32 = neg(v1); return v2"
    assert fused(text, weft.ones(2))[0].tolist() == [-number, -number]


def test_cache_is_bounded(kernels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit the oldest files go; none is longer than a file may be."""
    monkeypatch.setattr(cache, "_LIMIT", 10_000)
    for i in range(12):
        cache.write(f"{i:064d}", b"x" * 2000)
        os.utime(kernels / f"{i:064d}.o", (i, i))
    left = sorted(p.stem for p in kernels.glob("*.o"))
    assert 3 <= len(left) <= 5 and left[-1] == f"{11:064d}"
    cache.write("b" * 64, b"x" * (cache._LONGEST + 1))
    assert cache.read("b" * 64) is None


def test_cache_removes_nothing_but_kernels(kernels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that is used for other things too keeps them, however large they are."""
    monkeypatch.setattr(cache, "_LIMIT", 10_000)
    kernels.mkdir(mode=0o700)
    for name in ("main.o", "train.out", "notes.old.txt"):
        (kernels / name).write_bytes(b"x" * 20_000)
    left = kernels / f"{'c' * 64}.o.123"  # of a process that was killed
    left.write_bytes(b"x" * 20_000)
    os.utime(left, (0, 0))
    cache.write("d" * 64, b"x")
    names = ["main.o", "notes.old.txt", "train.out"]
    assert sorted(p.name for p in kernels.iterdir()) == [f"{'d' * 64}.o", *names]


TWO = """
import weft, sys
x = weft.arange(100.0) / 50
texts = [f"v0: float32; v1: float32 = mul(v0, {k}.5); v2: float32 = tanh(v1); return v2" for k in range(3)]
for k, text in enumerate(texts):
    (y,) = weft._C._call_op("fused", ([x], text), False)
    assert weft.equal(y, (x * (k + 0.5)).tanh())
print("whole")
"""


def test_two_processes_at_once(kernels: Path) -> None:
    """Two processes that make the same kernels at the same time both get whole ones."""
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(weft.__file__).parent.parent),
        "WEFT_CACHE": str(kernels),
    }
    running = [
        subprocess.Popen([sys.executable, "-c", TWO], env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [p.communicate(timeout=600)[0].strip() for p in running] == ["whole", "whole"]
    files = list(kernels.iterdir())
    assert len(files) == 3 and all(cache.read(p.stem) is not None for p in files)
    assert python(TWO, WEFT_CACHE=str(kernels)).stdout.strip() == "whole"


def test_llvm_is_not_imported_before_it_is_needed() -> None:
    """``import weft``, traces and passes do without it."""
    program = """
import sys, weft
g = weft.jit.trace(lambda x: x * 2 + 1, (weft.ones(2),)).graph
fused = weft.jit.passes.fuse(g)
assert not any(name.startswith("llvmlite") for name in sys.modules)
fused.run(weft.ones(2))
assert "llvmlite.binding" in sys.modules
"""
    done: Any = python(program)
    assert done.returncode == 0, done.stderr
