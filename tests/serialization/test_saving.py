"""Files: what is saved comes back, what is damaged is named, and what is hostile runs nothing."""

from __future__ import annotations

import doctest
import importlib
import io
import json
import math
import pkgutil
import struct
import subprocess
import sys
import zipfile
from collections import Counter, OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import ALL_DTYPES

import weft
from weft.serialization import (
    FileError,
    load_file,
    load_npz,
    read_metadata,
    save_file,
    save_npz,
)
from weft.serialization.structure import plain_dtype


def again(obj: Any) -> Any:
    """What is loaded after ``obj`` was saved."""
    f = io.BytesIO()
    weft.save(obj, f)
    return weft.load(io.BytesIO(f.getvalue()))


def same(a: Any, b: Any) -> bool:
    """Whether two objects are alike: types, values, NaNs, tensors bit for bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, weft.Tensor):
        return (
            (a.dtype, a.shape, a.requires_grad) == (b.dtype, b.shape, b.requires_grad)
            and a.detach().contiguous().view(weft.uint8).tolist()
            == b.detach().contiguous().view(weft.uint8).tolist()
            if a.numel() and a.dim()
            else (a.dtype, a.shape, a.tolist()) == (b.dtype, b.shape, b.tolist())
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (float, complex)):
        return a == b or repr(a) == repr(b)
    return bool(a == b)


PLAIN: list[Any] = [
    *(None, True, False, 0, -1, 2**53, -(2**63), 10**5000, 1.5, -0.0, 5e-324, math.inf, -math.inf),
    *(
        math.nan,
        1 + 2j,
        complex(math.nan, -math.inf),
        "",
        "text",
        "é\n\0\U0001f600",
        b"",
        b"\0\xff",
    ),
    *(b"x" * 10_000, bytearray(b"abc"), ..., range(3), range(10**20, 0, -3)),
    *([], (), {}, set(), frozenset(), [[], [()]], (1, (2, [3])), {1, "a", None, (1, 2)}),
    *(frozenset({1, 2}), OrderedDict(b=1, a=2), Counter("aab"), {"b": 1, "a": 2}),
    {1: "int", 1.5: "float", None: "none", (1, "a"): "tuple", b"k": "bytes", frozenset({3}): "set"},
    *({"nested": [{"deep": ({"er": [1, 2, {3}]},)}]}, {"1": "text", 1: "number"}, {True: 1, "": 0}),
    *(weft.Size([2, 3]), weft.float32, weft.bool, weft.bfloat16, weft.device("cpu")),
    *(np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3).T, np.float32(1.5), np.int8(-3)),
    *(
        np.array([1 + 2j]),
        np.array(7.0),
        np.zeros((0, 3)),
        np.arange(3, dtype=">i4"),
        np.bool_(True),
    ),
    *(np.arange(5000), np.array([True, False])),
]


@pytest.mark.parametrize("number", range(len(PLAIN)))
def test_plain_objects_come_back(number: int) -> None:
    """Numbers, text, containers: type, value and order."""
    obj = PLAIN[number]
    assert same(again(obj), obj)
    assert same(again({"here": [obj]}), {"here": [obj]})


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_tensors_come_back(dtype: str) -> None:
    """Every dtype, and the shapes and layouts that tend to be forgotten."""
    x = (weft.arange(24) % 2).reshape(2, 3, 4).to(getattr(weft, dtype))
    for y in (x, x[1], x.transpose(0, 2), x[:, ::2], x[1, 2, 3], x[:0], x[0, 0, :1].expand(5)):
        made = again(y)
        assert same(made, y)
        assert made.stride() == y.stride()
    assert again(weft.empty(0, 3, 0)).shape == (0, 3, 0)


def test_special_values_come_back() -> None:
    """NaN, infinities and signed zeros keep their bits."""
    x = weft.tensor([math.nan, math.inf, -math.inf, -0.0, 1e-45])
    assert same(again(x), x)


def test_shared_memory_stays_shared() -> None:
    """Views of one storage see each other's changes after loading, as before."""
    x = weft.arange(12.0).reshape(3, 4)
    made = again({"x": x, "row": x[1], "bytes": x.view(weft.uint8), "again": x, "other": x.clone()})
    made["x"][1, 0] = 99
    assert made["row"].tolist() == [99, 5, 6, 7]
    assert made["again"] is made["x"]
    assert made["bytes"].view(weft.float32)[1, 0] == 99
    assert made["other"][1, 0] == 4


def test_only_the_used_part_is_saved() -> None:
    """A small view of a large tensor makes a small file."""
    f = io.BytesIO()
    x = weft.zeros(100_000)
    weft.save([x[10:20], x[30:35]], f)
    assert len(f.getvalue()) < 3000
    a, b = weft.load(io.BytesIO(f.getvalue()))
    assert (a.shape, b.shape, b.storage_offset() - a.storage_offset()) == ((10,), (5,), 20)


def test_views_of_odd_sizes_share() -> None:
    """A complex view of part of real numbers: the storage is no whole number of its elements."""
    x = weft.arange(5.0)
    pair = weft.view_as_complex(x[:4].reshape(2, 2))
    made = again([x, pair])
    made[0][0] = 7
    assert made[1].tolist() == [7 + 1j, 2 + 3j]


def test_parameters_and_grads() -> None:
    """Parameters stay parameters; what requires a gradient still does."""
    p = weft.nn.Parameter(weft.ones(2))
    frozen = weft.nn.Parameter(weft.ones(2), requires_grad=False)
    x = weft.ones(1, requires_grad=True)
    made = again([p, frozen, x, x.detach()])
    assert [type(m).__name__ for m in made] == ["Parameter", "Parameter", "Tensor", "Tensor"]
    assert [m.requires_grad for m in made] == [True, False, True, False]
    assert all(m.is_leaf for m in again([x * 2]))


def test_generators_resume() -> None:
    """A generator goes on where it was."""
    g = weft.Generator().manual_seed(5)
    weft.rand(3, generator=g)
    copy = again(g)
    assert weft.rand(4, generator=g).tolist() == weft.rand(4, generator=copy).tolist()


def test_state_dict_notes_survive() -> None:
    """The versions that a module notes on its state dict."""
    state = OrderedDict(w=weft.ones(1))
    state._metadata = OrderedDict({"": {"version": 2}})  # type: ignore[attr-defined]
    assert again(state)._metadata == {"": {"version": 2}}


class Thing:
    """Something that is not only data."""

    def state_dict(self) -> dict[str, int]:
        """What should be saved instead."""
        return {}


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        (Thing(), r"obj is of type .*Thing.*state_dict\(\) instead"),
        ({"a": [1, (Thing,)]}, r"obj\['a'\]\[1\]\[0\] is of type type"),
        ({"a": {Thing(): 1}}, r"key .* of obj\['a'\] is of type .*Thing"),
        ([lambda: 0], r"obj\[0\] is of type function"),
        ({"p": Pair(1, 2)}, r"obj\['p'\] is of type .*Pair.*_asdict"),
        ([np.array([object()])], r"obj\[0\] is a NumPy array of object"),
        ([np.array(["text"])], r"obj\[0\] is a NumPy array of <U4"),
        ([np.datetime64("2020-01-01")], r"obj\[0\] is a NumPy array of datetime64"),
        ({weft.ones(1): 1}, r"obj has a tensor as a key"),
    ],
)
def test_other_objects_are_refused(obj: Any, said: str) -> None:
    """The error says where in the structure it was, and of what type."""
    with pytest.raises(TypeError, match=said):
        weft.save(obj, io.BytesIO())


def test_large_keys_come_back() -> None:
    """What can be saved can be loaded: keys that are deep, or have many parts."""
    deep: Any = 1
    for _ in range(40):
        deep = (deep,)
    wide = {tuple(range(1000)): 1, deep: 2, frozenset(range(1000)): 3}
    assert again(wide) == wide
    assert again({deep}) == {deep}


def test_cycles_and_depth_are_refused() -> None:
    """A list in itself, and one in a thousand others."""
    loop: list[Any] = []
    loop.append({"self": loop})
    with pytest.raises(ValueError, match=r"obj\[0\]\['self'\] contains itself"):
        weft.save(loop, io.BytesIO())
    deep: Any = []
    for _ in range(1000):
        deep = [deep]
    with pytest.raises(ValueError, match="more than 64 containers"):
        weft.save(deep, io.BytesIO())
    twice = [1]
    assert again([twice, twice]) == [[1], [1]]
    with pytest.raises(ValueError, match="no valid Unicode"):
        weft.save("\ud800", io.BytesIO())


def test_arguments(tmp_path: Path) -> None:
    """Arguments of PyTorch that have a meaning here have it; others are refused by name."""
    path = tmp_path / "x.weft"
    weft.save(1, path)
    for where in (
        None,
        "cpu",
        weft.device("cpu"),
        lambda storage, place: storage,
        {"cuda:0": "cpu"},
    ):
        assert weft.load(path, map_location=where) == 1
    assert weft.load(str(path), weights_only=True) == weft.load(path, weights_only=False) == 1
    with pytest.raises(RuntimeError, match="cuda"):
        weft.load(path, map_location="cuda")
    with pytest.raises(NotImplementedError, match="mmap"):
        weft.load(path, mmap=True)
    with pytest.raises(NotImplementedError, match="pickle_module"):
        weft.load(path, pickle_module=json)
    with pytest.raises(NotImplementedError, match="pickle_module"):
        weft.save(1, path, pickle_module=json)
    with pytest.raises(FileNotFoundError):
        weft.load(tmp_path / "missing")
    with pytest.raises(TypeError, match="expected a path or a file"):
        weft.save(1, 3)
    with pytest.raises(TypeError, match="expected a path or a file"):
        weft.load(3)
    with pytest.raises(TypeError, match="open for text"):
        weft.load(io.StringIO("text"))


def test_open_files(tmp_path: Path) -> None:
    """Several objects in files that are open, also behind other bytes."""
    with open(tmp_path / "two", "wb") as f:
        f.write(b"head")
        weft.save([weft.ones(2)], f)
    with open(tmp_path / "two", "rb") as f:
        assert f.read(4) == b"head"
        assert same(weft.load(f), [weft.ones(2)])


# ---- safetensors and npz ------------------------------------------------------------------------


def test_safetensors_come_back(tmp_path: Path) -> None:
    """Every dtype that the format has; names and text in Unicode."""
    path = tmp_path / "x.safetensors"
    state = {
        f"é.{dtype}": (weft.arange(6) % 2).reshape(2, 3).to(getattr(weft, dtype)).t()
        for dtype in ALL_DTYPES
        if dtype != "complex128"
    }
    state |= {"empty": weft.empty(0, 2), "scalar": weft.tensor(3)}
    save_file(state, path, {"made by": "é"})
    made = load_file(path)
    assert set(made) == set(state)
    assert all(same(made[k], state[k]) for k in state)
    assert read_metadata(path) == {"made by": "é"}
    assert same(weft.load(path)["scalar"], weft.tensor(3))
    header = int.from_bytes(path.read_bytes()[:8], "little")
    assert header % 8 == 0
    with pytest.raises(TypeError, match="no complex128"):
        save_file({"x": weft.ones(1, dtype=weft.complex128)}, path)
    with pytest.raises(TypeError, match="no tensor"):
        save_file({"x": 3}, path)  # type: ignore[dict-item]
    assert set(load_file(path)) == set(state)


def safetensors_of(header: Any, data: bytes = b"", length: int | None = None) -> io.BytesIO:
    """A file with this head."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return io.BytesIO(struct.pack("<Q", len(text) if length is None else length) + text + data)


def entry(dtype: Any = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    """What a head says of one tensor."""
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


BAD_SAFETENSORS: list[tuple[Any, bytes, str]] = [
    (b"{}", b"rest", "0 bytes, but 4 bytes of data"),
    (b"[]", b"", "does not begin with"),
    (b"{" * 200_000, b"", "nested too deeply|not valid JSON"),
    (b'{"a":' * 5000 + b"1" + b"}" * 5000, b"", "nested too deeply|expected dtype"),
    (b"{\xff}", b"", "not valid JSON"),
    (b'{"a": NaN}', b"", "NaN is not JSON"),
    (b'{"a": {"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":1}', b"", "there twice"),
    ({"a": 1}, b"", "expected dtype, shape"),
    ({"a": {**entry(), "more": 1}}, b"1234", "expected dtype, shape"),
    ({"a": entry("F8_E4M3")}, b"1234", "no dtype 'F8_E4M3'"),
    ({"a": entry(["F32"])}, b"1234", "no dtype"),
    ({"a": entry(shape=[-1])}, b"1234", "expected a count"),
    ({"a": entry(shape=[True])}, b"1234", "expected a count"),
    ({"a": entry(shape=[1.0])}, b"1234", "expected a count"),
    ({"a": entry(shape=[2**64])}, b"1234", "expected a count"),
    ({"a": entry(shape=[2**62, 2**62])}, b"1234", "expected a count"),
    ({"a": entry(shape=[2**55, 2**55])}, b"1234", "does not take the 4 bytes"),
    ({"a": entry(shape=[1] * 100)}, b"1234", "bad shape"),
    ({"a": entry(shape="1")}, b"1234", "bad shape"),
    ({"a": entry(offsets=[4, 0])}, b"1234", "does not take"),
    ({"a": entry(offsets=[0, 8])}, b"12345678", "does not take the 8 bytes"),
    ({"a": entry(offsets=[0])}, b"1234", "bad data_offsets"),
    ({"a": entry(), "b": entry()}, b"1234", "overlaps"),
    ({"a": entry(offsets=[4, 8])}, b"12345678", "leaves 4 bytes"),
    ({"a": entry(offsets=[0, 4])}, b"123", "4 bytes, but 3 bytes of data"),
    ({"a": entry("BOOL", [4])}, b"\0\1\2\1", "neither 0 nor 1"),
    ({"__metadata__": {"a": 1}}, b"", "text to text"),
    ({"__metadata__": "x"}, b"", "text to text"),
]


@pytest.mark.parametrize("number", range(len(BAD_SAFETENSORS)))
def test_bad_safetensors_are_refused(number: int) -> None:
    """Every rule of the format, one file each."""
    header, data, said = BAD_SAFETENSORS[number]
    with pytest.raises(FileError, match=said):
        load_file(safetensors_of(header, data))


def test_lengths_of_headers_are_checked_before_memory_is_taken() -> None:
    """A head that claims to be larger than the file, or than anything sensible."""
    for length, said in ((1, "not valid JSON"), (50, "in a file of"), (2**63, "more than")):
        with pytest.raises(FileError, match=said):
            load_file(safetensors_of(b"{}  ", b"", length))
    with pytest.raises(FileError, match="too few"):
        load_file(io.BytesIO(b"1234"))


def test_npz(tmp_path: Path) -> None:
    """To NumPy and back, also compressed; objects and bombs are refused."""
    path = tmp_path / "x.npz"
    state = {d: (weft.arange(6) % 2).to(getattr(weft, d)) for d in ALL_DTYPES if d != "bfloat16"}
    save_npz(state, path)
    with np.load(path) as arrays:
        assert all((arrays[k] == state[k].numpy()).all() for k in state)
    assert all(same(load_npz(path)[k], state[k]) for k in state)
    np.savez_compressed(path, a=np.arange(1000).reshape(10, 100).T, b=np.arange(3, dtype=">f8"))
    made = weft.load(path)
    assert (made["a"].numpy() == np.arange(1000).reshape(10, 100).T).all()
    assert made["b"].tolist() == [0, 1, 2]
    np.savez(path, a=np.array([object()], dtype=object))
    with pytest.raises(FileError, match=r"the NumPy dtype '\|O' is not one of numbers"):
        weft.load(path)
    np.savez_compressed(path, a=np.zeros(60 << 20, dtype=np.int8))
    with pytest.raises(FileError, match="claim to hold"):
        weft.load(path)


def npz_of(body: bytes, name: str = "a.npy") -> io.BytesIO:
    """A zip with one member."""
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as z:
        z.writestr(name, body)
    return io.BytesIO(f.getvalue())


def test_bad_npy_is_refused() -> None:
    """Heads of arrays that lie."""

    def npy(head: str, data: bytes = b"") -> bytes:
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data

    for head in (
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",  # a number
        "{'descr': '<f4', 'fortran_order': False, 'shape': (01,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
        "__import__('os').system('true')",
        "(" * 5000,
        "",
    ):
        with pytest.raises(FileError):
            load_npz(npz_of(npy(head, b"1234")))
    good = npy("{'descr': '<i4', 'fortran_order': False, 'shape': ()}", b"\3\0\0\0")
    assert load_npz(npz_of(good))
    with pytest.raises(FileError, match="the head is damaged"):
        load_npz(npz_of(good.replace(b"<i4", b"<\xe64")))  # no text
    with pytest.raises(FileError, match="unknown version"):
        load_npz(npz_of(good.replace(b"\1\0", b"\1\1", 1)))
    with pytest.raises(FileError, match="neither a file of weft"):
        weft.load(io.BytesIO(good))


def test_examples_run() -> None:
    """The docs of weft.serialization."""
    flags, runs = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, 0
    package = weft.serialization
    names = [m.name for m in pkgutil.walk_packages(package.__path__, "weft.serialization.")]
    for name in ("weft.serialization", *names):
        module = importlib.import_module(name)
        done = doctest.testmod(module, extraglobs={"weft": weft}, optionflags=flags)
        assert not done.failed, name
        runs += done.attempted
    assert runs > 25


def test_saving_tensors_does_not_load_numpy(tmp_path: Path) -> None:
    """NumPy takes longer to load than all of weft, and is needed for arrays only."""
    code = (
        "import sys, weft; weft.save({'w': weft.ones(3)}, sys.argv[1]); weft.load(sys.argv[1]); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")]).returncode == 0


def test_numpy_parses_no_dtype_of_a_file() -> None:
    """Texts that NumPy would give to Python's parser are refused before."""
    for text in ("0", "2,f4", "(2,)f4", "f4,i4", "<f4 ", "M8[s]", ""):
        with pytest.raises(FileError, match="not one of numbers"):
            plain_dtype(text, "a file")
    assert plain_dtype("<f4", "a file") == np.dtype("float32")
