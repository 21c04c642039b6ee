"""PyTorch's files that are nearly right: programs for the reader of pickles, whole and changed."""

from __future__ import annotations

import pickle
import pickletools
import struct
from collections.abc import Callable
from random import Random
from typing import Any

from serialization.hostile import HUGE, MINUS, pickles, storage_id, tensor, tensors, text
from serialization.mutations import NUMBERS, ZIP, Zip, in_bytes

# ---- programs -----------------------------------------------------------------------------------


def name(module: str, what: str) -> bytes:
    """Instructions for a global name."""
    return f"c{module}\n{what}\n".encode()


def call(module: str, what: str, *args: bytes) -> bytes:
    """Instructions that call a name."""
    return name(module, what) + b"(" + b"".join(args) + b"tR"


def data(x: Any) -> bytes:
    """Instructions for numbers, text and containers."""
    return pickle.dumps(x, 2)[2:-1]


ONE, NONE, EMPTY, LIST, DICT = b"K\x01", b"N", b")", b"]", b"}"
ORDERED = name("collections", "OrderedDict") + b")R"
FLOAT32 = call("numpy", "dtype", text("f4"), b"\x89\x88")
NATIVE = FLOAT32 + b"(K\x03" + text("<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
ARRAY = call(
    "numpy.core.multiarray", "_reconstruct", name("numpy", "ndarray"), b"K\x00\x85", text("b")
)
ENCODED = call("_codecs", "encode", text("\0\0\0\0"), text("latin1"))
STORAGE = storage_id()
TENSOR = tensor(STORAGE)


def array_state(
    shape: bytes = b"K\x01\x85", dtype: bytes = NATIVE, content: bytes = ENCODED
) -> bytes:
    """What completes an array."""
    return b"(K\x01" + shape + dtype + b"\x89" + content + b"tb"


def storage(kind: bytes, *rest: bytes) -> bytes:
    """A reference to a storage."""
    return b"(" + kind + b"".join(rest) + b"tQ"


FLOATS = name("torch", "FloatStorage")
V2 = name("torch._utils", "_rebuild_tensor_v2")
V3_TAIL = b"K\x00K\x01\x85K\x01\x85\x89" + ORDERED
PROGRAMS: list[bytes] = [
    # What data need.
    data({"a": [1, 2.5, ("x", None, True)], "b": {1: b"bytes"}}),
    data([2**70, -(2**40), "é", 1e300, [], {}, ()]),
    TENSOR,
    b"}(" + text("x") + TENSOR + text("n") + ONE + b"u",
    call("torch._utils", "_rebuild_tensor", STORAGE, b"K\x00K\x01\x85K\x01\x85"),
    call("torch._utils", "_rebuild_tensor_v3", STORAGE, V3_TAIL, name("torch", "float32")),
    call("torch._utils", "_rebuild_parameter", TENSOR, b"\x88", ORDERED),
    call(
        "torch._tensor",
        "_rebuild_from_type_v2",
        V2,
        name("torch", "Tensor"),
        b"(" + STORAGE + V3_TAIL + b"t",
        DICT,
    ),
    V2 + b"(" + STORAGE + V3_TAIL + b"}" + text("conj") + b"\x88stR",
    ORDERED + b"}" + text("_metadata") + ORDERED + b"sb",
    *(call("collections", kind) for kind in ("OrderedDict", "Counter")),
    call("collections", "defaultdict", name("builtins", "list")),
    *(call("builtins", kind, data([1, 2])) for kind in ("set", "frozenset", "bytes", "bytearray")),
    call("builtins", "complex", data(1.0), data(2.0)),
    call("__builtin__", "xrange", ONE, data(5)),
    call("builtins", "slice", ONE, NONE),
    call("torch", "Size", data((1, 2))),
    call("torch", "device", text("gpu"), ONE),
    name("torch", "float16"),
    ARRAY + array_state(),
    call("numpy.core.multiarray", "scalar", NATIVE, ENCODED),
    call("numpy._core.numeric", "_frombuffer", ENCODED, NATIVE, b"K\x01\x85", text("C")),
    # What they do not need, or not so: one for each rule.
    name("torch", "FloatStorage"),
    name("torch", "Tensor"),
    name("collections", "OrderedDict"),
    STORAGE,
    ARRAY,
    FLOAT32,
    *(name("torch", kind) for kind in ("uint16", "float8_e5m2", "complex32")),
    call("builtins", "eval", text("1")),
    *[b"\x80\x04" + text("os") + ONE + b"\x93"] * 2,
    name("torch", "float32") + b")R",
    ONE + b")R",
    name("collections", "OrderedDict") + LIST + b"R",
    name("collections", "OrderedDict") + b"(K\x01K\x02tR",
    *(call("builtins", "complex", text("x")) for _ in range(2)),
    LIST + ONE + ONE + b"s",
    DICT + ONE + b"a",
    DICT + b"(" + ONE + b"e",
    *[LIST + b"(" + ONE + b"\x90"] * 2,
    b"(" + b"\x85",
    b"\x85",
    ONE + DICT + b"b",
    ORDERED + data({"_metadata": 1, "x": 2}) + b"b",
    ORDERED + ONE + b"b",
    b"\x82\x01",
    b"\x80\x05\x98",
    *(
        b"}" + key + ONE + b"s"
        for key in (LIST, DICT, b"\x8f", b")" + b"\x85" * 12, ARRAY + array_state())
    ),
    *[b"}(" + ONE * 501 + b"t" + ONE + b"s"] * 2,
    b"\x8f(" + LIST + b"\x90",
    b"\x80\x04(" + LIST + b"\x91",
    # Storages and tensors.
    storage(text("storage")),
    storage(text("other"), FLOATS, text("0"), text("cpu"), ONE),
    text("storage") + b"Q",
    storage(text("storage"), ONE, text("0"), text("cpu"), ONE),
    storage(text("storage"), FLOATS, ONE, text("cpu"), ONE),
    storage(text("storage"), FLOATS, text("0"), text("cpu"), ONE, data((1, 2, 3))),
    *(tensor(storage_id(count=n)) for n in (MINUS, HUGE, b"K\x02", NONE)),
    *(tensor(storage_id(key=key)) for key in ("9", "../x", "byteorder", "")),
    *(tensor(storage_id(kind)) for kind in ("DoubleStorage", "ByteStorage", "UntypedStorage")),
    tensor(storage_id("BoolStorage", "bool", b"K\x04"), size=b"K\x04\x85"),
    tensor(ONE),
    tensor(TENSOR),
    *(
        tensor(STORAGE, size=size)
        for size in (HUGE + b"\x85", MINUS + b"\x85", b"K\x02\x85", ONE, TENSOR)
    ),
    *(tensor(STORAGE, stride=s) for s in (b")", MINUS + b"\x85", ONE, b"K\x01K\x01\x86")),
    *(tensor(STORAGE, offset=offset) for offset in (MINUS, HUGE, ONE, NONE, text("0"))),
    tensor(STORAGE, size=b"(" + ONE * 70 + b"t", stride=b"(" + ONE * 70 + b"t"),
    V2 + b"(" + STORAGE + b"K\x00K\x01\x85K\x01\x85\x89" + data({1: 2}) + b"tR",
    V2 + b"(" + STORAGE + b"K\x00K\x01\x85K\x01\x85" + ONE + ORDERED + b"tR",
    V2
    + b"("
    + storage_id("LongStorage", "long")
    + b"K\x00K\x01\x85K\x01\x85\x88"
    + ORDERED
    + b"tR",
    *[V2 + b"(" + STORAGE + V3_TAIL + data({"odd": 1}) + b"tR"] * 2,
    call("torch._utils", "_rebuild_tensor_v3", STORAGE, V3_TAIL, ONE),
    call("torch._utils", "_rebuild_tensor_v3", ONE, V3_TAIL, name("torch", "float32")),
    call("torch._utils", "_rebuild_parameter", ONE, b"\x88", ORDERED),
    call("torch._utils", "_rebuild_parameter", TENSOR, b"\x88", data({1: 2})),
    call("torch._tensor", "_rebuild_from_type_v2", V2, ONE, EMPTY, DICT),
    call(
        "torch._tensor",
        "_rebuild_from_type_v2",
        name("builtins", "set"),
        name("torch", "Tensor"),
        EMPTY,
        DICT,
    ),
    # The rest.
    call("collections", "defaultdict", name("builtins", "complex")),
    call("collections", "defaultdict", ONE),
    call("collections", "Counter", data([1])),
    *(call("builtins", kind, data("x")) for kind in ("set", "frozenset", "bytes", "bytearray")),
    *(call("builtins", "set", x) for x in (data([[1]]), data([{}]))),
    call("torch", "device", ONE),
    call("torch", "device", text("cpu"), text("x")),
    call("torch", "Size", ONE),
    call("_codecs", "encode", text("x"), text("rot13")),
    call("_codecs", "encode", ONE),
    *(call("numpy", "dtype", text(t)) for t in ("O8", "V9", "U4", "M8[s]", "x")),
    call("numpy", "dtype", ONE),
    FLOAT32 + b"(K\x03" + text("<") + DICT + b"NNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb",
    *[FLOAT32 + b"(K\x03" + text("x") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"] * 2,
    FLOAT32 + ONE + b"b",
    ARRAY + array_state(dtype=ONE),
    ARRAY + array_state(shape=ONE),
    *[ARRAY + array_state(content=LIST)] * 2,
    ARRAY + array_state(content=data(b"xx")),
    ARRAY + array_state(shape=HUGE + b"\x85"),
    ARRAY + array_state(dtype=call("numpy", "dtype", text("b1")), content=data(b"\x07")),
    ARRAY + ONE + b"b",
    call("numpy.core.multiarray", "scalar", ONE, ENCODED),
    call("numpy.core.multiarray", "scalar", NATIVE, ONE),
    *[call("numpy.core.multiarray", "_reconstruct", ONE, b"K\x00\x85", text("b"))] * 2,
    b"(" * 2000,
    b"]" + b"](a" * 200,
]
WHOLE = [b"\x80\x02" + program + b"." for program in PROGRAMS]
SEEDS = [*WHOLE, *tensors(), *(p for p in pickles() if len(p) < 5000)]
OLD = [  # for each rule of the old format
    tensor(storage_id(count=HUGE)),
    tensor(storage_id(count=data(2**40))),
    b"(" + TENSOR + tensor(storage_id(key="1")) + b"t",
    data([1, 2]),
]


def instructions(program: bytes) -> list[bytes]:
    """The program in pieces, one for each instruction."""
    starts = []
    try:
        for _, _, at in pickletools.genops(program):
            starts.append(at)
    except ValueError:
        pass
    ends = [*starts[1:], len(program)]
    return [program[a:b] for a, b in zip(starts, ends)]


SPLIT = {program: instructions(program) for program in SEEDS}
POOL = sorted({piece for pieces in SPLIT.values() for piece in pieces if len(piece) < 200})
POOL += [b"\x8a\x08" + struct.pack("<q", n) for n in (-1, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63))]


# ---- drafts -------------------------------------------------------------------------------------


class Torch:
    """A program, the storages it speaks of, and the zip or the old format around them."""

    def __init__(self) -> None:
        self.program = WHOLE[3]
        self.order = b"little"
        self.legacy = False
        self.head: Any = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}]
        self.keys: Any = ["0"]
        self.counts: Any = [1]
        self.zipped: Zip | None = None
        self.more: dict[str, bytes] = {}

    def zip(self) -> Zip:
        if self.zipped is None:
            members = {"archive/data.pkl": self.program, "archive/byteorder": self.order}
            members["archive/data/0"] = struct.pack("<f", 1.5)
            members["archive/data/bool"] = b"\0\1\7\0"
            members["archive/data/long"] = struct.pack("<q", 3)
            self.zipped = Zip(members | self.more)
        return self.zipped

    def build(self) -> bytes:
        if not self.legacy:
            return self.zip().build()
        start = b"".join(pickle.dumps(x, 2) for x in self.head)
        content = b"".join(struct.pack("<Qf", n % 2**64, 1.5) for n in self.counts)
        return start + self.program + pickle.dumps(self.keys, 2) + content


def change_program(draft: Any, rng: Random) -> None:
    """Another program, as it is or with one to three instructions changed."""
    program = rng.choice(WHOLE if rng.random() < 0.85 else SEEDS)
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 3))):
        pieces = list(SPLIT.get(program) or instructions(program)) or [b"."]
        at, how = rng.randrange(len(pieces)), rng.randrange(6)
        if how == 0:
            del pieces[at]
        elif how == 1:
            pieces.insert(at, rng.choice(POOL))
        elif how == 2:
            pieces.insert(at, pieces[rng.randrange(len(pieces))])
        elif how == 3:
            other = rng.randrange(len(pieces))
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif how == 4:
            pieces[at] = in_bytes(pieces[at], rng)
        else:
            pieces[at] = rng.choice(POOL)
        program = b"".join(pieces)
    draft.program = program


def change_order(draft: Any, rng: Random) -> None:
    draft.order = rng.choice((b"big", b"", b"middle", b"x" * 65, b"little "))


def in_old_format(draft: Any, rng: Random) -> None:
    """The format of PyTorch before 1.6, and changes of its parts."""
    draft.legacy = True
    part = rng.choice(("program", "old", "head", "keys", "counts", "none"))
    if part == "program":
        change_program(draft, rng)
    elif part == "old":
        draft.program = b"\x80\x02" + rng.choice(OLD) + b"."
    elif part == "head":
        draft.head[rng.randrange(3)] = rng.choice((0, 1000, {}, {"little_endian": False}, [], None))
    elif part == "keys":
        draft.keys = rng.choice((["9"], [], ["0", "0"], 3, [0], {"0": 1}, ["0", "1"]))
    elif part == "counts":
        draft.counts = rng.choice(([], [rng.choice(NUMBERS)], [1, 1]))


def more_members(draft: Any, rng: Random) -> None:
    named = rng.choice(
        ("archive/constants.pkl", "archive/code/x.py", "other/data.pkl", "archive/x")
    )
    draft.more[named] = b"more"


TORCH: list[Callable[[Any, Random], None]] = [
    *[change_program] * 130,
    *[in_old_format] * 15,
    *[change_order] * 3,
    *[more_members] * 2,
    *ZIP,
]
