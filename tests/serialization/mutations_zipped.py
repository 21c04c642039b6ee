"""Files of weft, ``.npz`` and ``.npy`` files that are nearly right: see mutations.py."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable
from random import Random
from typing import Any

from serialization.mutations import (
    VALUES,
    ZIP,
    Safetensors,
    Zip,
    anywhere,
    as_json,
    change_data,
    entry,
    in_bytes,
    nested,
    put,
)

# ---- weft's own format --------------------------------------------------------------------------

OBJECTS: list[Any] = [
    *({"tensor": n} for n in (0, 1, 2, 3, -1, 99, True, "0", None)),
    *({"dict": x} for x in (1, [1], [[1]], [[1, 2], [1, 3]], [[[1], 2]], [[{"dict": []}, 1]])),
    *({"OrderedDict": [], "attributes": x} for x in (1, {"tensor": 0}, {"odd": 1}, nested(80))),
    *({"tuple": x} for x in (1, [], {}, [{"tuple": [{"set": [[1]]}]}])),
    *({kind: [x]} for kind in ("set", "frozenset") for x in ([1], {"dict": []}, {"tensor": 0})),
    {"set": [{"tuple": [{"tuple": [{"frozenset": [[1]]}]}]}]},
    *({"int": x} for x in ("zz", 1, None, "0x", "9" * 5000, "-0x1", [])),
    *({"float": x} for x in ("1e5", 1, "inf", "nan", [], {})),
    *({"complex": x} for x in ([1], [1, 2], [1, "2"], [{"float": "x"}, 1], 3, [{}, {}])),
    *({"bytes": x} for x in ("***", "AAAA", 0, 1, 99, None, "é")),
    *({"bytearray": x} for x in ("*", 3)),
    *({"range": x} for x in (["0x0", "0x1", "0x0"], ["0x0"], ["0x0", "0x7", "0x1"], 1, [0, 1, 2])),
    *({"Size": x} for x in ([-1], [1, 2], 3, [2**63], ["1"])),
    *({"dtype": x} for x in ("object", "float32", 1, [], "os.system", "load")),
    *({"device": x} for x in ("gpu", "cpu", 1, [], "cpu:x")),
    *({"Generator": x} for x in ("AAAA", "", 0, 1, None)),
    *({"numpy.array": [x, [1], "C", "AAAAAA=="]} for x in ("|O", "<f4", "V8", "<U4", 3, "f" * 50)),
    *({"numpy.array": ["<f4", x, "C", "AAAAAA=="]} for x in ([9], [2**40] * 2, [1] * 40, -1, [-1])),
    *({"numpy.array": x} for x in (["<f4", [1], "X", "AAAAAA=="], ["<f4", [1], "F", 0], [], 1)),
    *[{"numpy.array": ["|b1", [1], "C", "Cg=="]}] * 3,
    {"numpy.scalar": ["<f4", [], "C", "AAAAAA=="]},
    {"numpy.scalar": ["|b1", [], "C", "Cg=="]},
    *({kind: 1} for kind in ("odd", "eval", "__class__", "__reduce__", "list", "module", "class")),
    *({}, {"tuple": [], "list": []}, nested(63), nested(70), nested(2000), "text", 1.5),
]


def deep_key(depth: int) -> Any:
    """A tuple in a tuple in a tuple, as a key."""
    key: Any = 1
    for _ in range(depth):
        key = {"tuple": [key]}
    return {"dict": [[key, 1]]}


OBJECTS += [deep_key(depth) for depth in (3, 9, 12, 50)]


RULES: tuple[Any, ...] = (  # one for each rule of the structure
    *({"tensor": 99}, {"dict": [[1, 2], [1, 3]]}, {"dict": [[1]]}, {"set": [{"dict": []}]}),
    *({"int": "zz"}, {"float": "1e5"}, {"complex": ["x", 1]}, {"bytes": "***"}, {"bytes": 0}),
    *({"range": ["0x0", "0x1", "0x0"]}, {"dtype": "object"}, {"device": "gpu"}, {"odd": 1}),
    *(
        {"Generator": "AAAA"},
        {"numpy.array": ["|O", [1], "C", "AAAA"]},
        {},
        deep_key(12),
        nested(70),
    ),
    *({"numpy.array": ["<f4", [9], "C", "AAAA"]}, {"numpy.scalar": ["|b1", [], "C", "Cg=="]}),
    *({"sparse": [[2], 1, 0, 0, False]}, {"sparse": [[2], 1, 0, False, False]}),
    [{"bytes": 2}] * 60,
)


class Own:
    """A manifest, the tensors it speaks of, and the zip around them."""

    def __init__(self) -> None:
        self.table: Any = {
            "0": entry("F32", [6], 0, 24),
            "1": entry("BOOL", [2], 24, 26),
            "2": entry("U8", [16], 26, 42),
        }
        self.data: Any = struct.pack("<6f", *range(6)) + b"\1\0" + bytes(range(16))
        self.text = self.length = None
        kept = {"offset": 0, "requires_grad": False, "parameter": False}
        x = {"storage": "0", "dtype": "float32", "shape": [2, 3], "stride": [3, 1], **kept}
        b = {"storage": "1", "dtype": "bool", "shape": [2], "stride": [1], **kept}
        raw = {"storage": "2", "dtype": "uint8", "shape": [16], "stride": [1], **kept}
        tree = {"dict": [["x", {"tensor": 0}], ["b", [{"tensor": 1}, {"tuple": [1, "text"]}]]]}
        self.manifest: Any = {"format": "weft", "version": 1, "made_by": "weft", "object": tree}
        self.manifest |= {"tensors": [x, b, raw], "data": {"member": "data.safetensors"}}
        self.hash = True
        self.zipped: Zip | None = None

    def zip(self) -> Zip:
        """The file as it is now; later changes are those of the zip."""
        if self.zipped is None:
            data = Safetensors.build(self)  # type: ignore[arg-type]
            if isinstance(self.manifest, dict) and isinstance(self.manifest.get("data"), dict):
                if self.hash:
                    self.manifest["data"]["sha256"] = hashlib.sha256(data).hexdigest()
            members = {"data.safetensors": data, "manifest.json": as_json(self.manifest)}
            self.zipped = Zip(members)
        return self.zipped

    def build(self) -> bytes:
        return self.zip().build()


def wrong_hash(draft: Any, rng: Random) -> None:
    draft.hash = False
    draft.manifest["data"]["sha256"] = rng.choice((*VALUES, "0" * 64))


TENSOR = ("storage", "dtype", "shape", "stride", "offset", "requires_grad", "parameter")
STORAGES = ("0", "1", "2", "9", ["0"], 0)
OWN: list[Callable[[Any, Random], None]] = [
    *(put("manifest", key) for key in ("format", "version", "object", "tensors", "data")),
    *[put("manifest", "object", among=tuple(OBJECTS))] * 12,
    *[put("manifest", "object", among=RULES)] * 15,
    *(put("manifest", "object", "dict", i, 1, among=tuple(OBJECTS)) for i in (0, 1)),
    *(put("manifest", "object", "dict", 0, 0, among=tuple(OBJECTS)) for _ in range(3)),
    *(put("manifest", "tensors", i) for i in (0, 1)),
    *(put("manifest", "tensors", i, key) for i in (0, 1, 2) for key in TENSOR),
    *(put("manifest", "tensors", i, "storage", among=STORAGES) for i in (0, 1, 2)),
    put("manifest", "tensors", 1, "requires_grad", among=(True,)),
    put("manifest", "tensors", 2, "dtype", among=("bool", "float64", "complex128", "int16")),
    put("manifest", "tensors", 0, "shape", among=([9, 9], [2**62, 3], [-1, 3], [6], [0, 2**62])),
    put("manifest", "tensors", 0, "stride", among=([2**62, 1], [-3, 1], [0, 0], [2**63, 1], [1])),
    put("manifest", "tensors", 1, "shape", among=([1] * 65, [0] * 65)),
    put("manifest", "tensors", 1, among=({**entry("F32", [1], 0, 4)},)),
    *[put("table", "0", "shape", among=([2, 3], [6, 1]))] * 2,
    anywhere("manifest"),
    wrong_hash,
    change_data,
]


def strange_shape(draft: Any, rng: Random) -> None:
    """Very many dimensions, or very many elements in one place."""
    rank = rng.choice((63, 64, 65, 100))
    shape = rng.choice(([1] * rank, [2**62, 4], [2**63 - 1, 2**63 - 1]))
    draft.manifest["tensors"][1] |= {"shape": shape, "stride": [0] * len(shape)}


OWN += [strange_shape, strange_shape, *ZIP]


# ---- npz ----------------------------------------------------------------------------------------


def npy(text: bytes, body: bytes, version: Any, length: int) -> bytes:
    """One array: the text of its head, and its data; ``length``: how much too long that text is said to be."""
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    size = struct.pack("<H", (len(text) + length) & 0xFFFF)
    if version in ((2, 0), (3, 0)):
        size = struct.pack("<I", (len(text) + length) & 0xFFFFFFFF)
    return b"\x93NUMPY" + bytes(version) + size + text + body


class Npz:
    """Arrays, each a head and data, and the zip around them."""

    def __init__(self) -> None:
        self.heads: Any = [
            {"descr": "<f4", "fortran_order": False, "shape": (2, 3)},
            {"descr": "|b1", "fortran_order": True, "shape": (2,)},
        ]
        self.bodies: Any = [struct.pack("<6f", *range(6)), b"\1\0"]
        self.version: Any = (1, 0)
        self.length = 0
        self.text: Callable[[str], str] = lambda text: text
        self.deflated = False
        self.zipped: Zip | None = None

    def zip(self) -> Zip:
        if self.zipped is None:
            arrays = {}
            for i, (head, body) in enumerate(zip(self.heads, self.bodies)):
                text = self.text(repr(head)).encode()
                arrays[f"{'xb'[i]}.npy"] = npy(text, body, self.version, self.length)
            self.zipped = Zip(arrays, self.deflated)
        return self.zipped

    def build(self) -> bytes:
        return self.zip().build()


def change_text(draft: Any, rng: Random) -> None:
    """The head of an array is a Python literal; these are other texts."""
    texts = (
        "",
        "{",
        "1",
        "__import__('os').system('true')",
        "(" * 5000,
        "{'descr': '<f4'}",
        "\xff" * 3,
    )
    texts += ("[].append(1)", "{**{}}", "lambda: 0", "'x' * 10**9", "{'a': 1j}", "9" * 5000)
    new = rng.choice(texts)
    draft.text = lambda text: new


def change_npy(draft: Any, rng: Random) -> None:
    """Version, length of the head, compression."""
    how = rng.randrange(4)
    if how == 0:
        draft.version = rng.choice(((1, 0), (2, 0), (3, 0), (0, 0), (9, 9), (255, 255)))
    elif how == 1:
        draft.length = rng.choice((-1, 1, 64, 100, 10_000, 60_000, -64))
    elif how == 2:
        draft.deflated = True
    else:
        i = rng.randrange(2)
        draft.bodies[i] = rng.choice((b"", b"\2\3", b"x" * 100, draft.bodies[i][:-1]))


DESCRIPTIONS = "<f4 >f4 |b1 <i8 |u1 <c16 <f2 >i2 |O |V8 <U4 |S3 <M8[s] <u2 <u4 <f16 <f12 x ".split(
    " "
)
SHAPES = (
    (),
    (6,),
    (-1,),
    (-1, -1),
    (3, 2),
    (0,),
    (2**62, 4),
    (1,) * 40,
    (10**12,),
    (2.0, 3),
    (True,),
    6,
)
NPZ: list[Callable[[Any, Random], None]] = [
    *(put("heads", i, "descr", among=(*DESCRIPTIONS, *VALUES[:9])) for i in (0, 1)),
    put("heads", 0, "descr", among=([("a", "<f4")], [("a", "<f4", 2)], ("<f4", (2,)), [])),
    *(put("heads", i, "shape", among=SHAPES) for i in (0, 1)),
    *(put("heads", i, "fortran_order") for i in (0, 1)),
    put("heads", 0, "more"),
    change_text,
    change_npy,
    change_npy,
    change_npy,
]


def foreign_dtype(draft: Any, rng: Random) -> None:
    """Numbers that NumPy has and weft does not have, in the right number of bytes."""
    draft.heads[1] |= {"descr": rng.choice(("<u2", ">u2")), "shape": (1,)}


def deflated(change: Callable[[Any, Random], None]) -> Callable[[Any, Random], None]:
    """The change in a zip that is compressed."""

    def both(draft: Any, rng: Random) -> None:
        draft.deflated = True
        change(draft, rng)

    return both


def claim(draft: Any, rng: Random) -> None:
    """An array that claims to be much larger than the file."""
    draft.deflated = True
    member = rng.choice(draft.zip().members)
    size = rng.choice((48 << 20, 49 << 20, 1 << 30, 2**32 - 2))
    member.there["size"] = member.here["size"] = size


NPZ += [*ZIP, *map(deflated, ZIP), claim, claim, foreign_dtype]


# ---- npy ----------------------------------------------------------------------------------------


class Npy:
    """One array, not in a zip."""

    def __init__(self) -> None:
        self.head: Any = {"descr": "<f4", "fortran_order": False, "shape": (2, 3)}
        self.body: Any = struct.pack("<6f", *range(6))
        self.version: Any = (1, 0)
        self.length = 0
        self.text: Callable[[bytes], bytes] = lambda text: text

    def build(self) -> bytes:
        return npy(self.text(repr(self.head).encode()), self.body, self.version, self.length)


WIDTHS = {
    "f2": 2,
    "f4": 4,
    "f8": 8,
    "i1": 1,
    "i2": 2,
    "i8": 8,
    "u1": 1,
    "u4": 4,
    "c8": 8,
    "c16": 16,
}


def other_array(draft: Any, rng: Random) -> None:
    """A right array of another dtype, shape, order of bytes and of dimensions."""
    kind = rng.choice(sorted(WIDTHS))
    shape = tuple(rng.choice((0, 1, 2, 3, 5)) for _ in range(rng.choice((0, 1, 2, 3, 4, 32, 33))))
    shape = shape if len(shape) < 5 else (1,) * len(shape)
    draft.head = {"descr": rng.choice("<>|") + kind, "fortran_order": rng.random() < 0.5}
    draft.head["shape"] = shape
    draft.body = rng.randbytes(WIDTHS[kind] * math.prod(shape))


def other_text(draft: Any, rng: Random) -> None:
    """A head with bytes changed, or written as NumPy does not write it."""
    how = rng.randrange(4)
    seed = rng.random()
    if how == 0:
        draft.text = lambda text: in_bytes(text, Random(seed))
    elif how == 1:
        old, new = rng.choice(
            ((b"'", b'"'), (b" ", b""), (b",", b", "), (b"(", b"["), (b"3", b"+3"), (b"2", b"0x2"))
        )
        draft.text = lambda text: text.replace(old, new)
    elif how == 2:
        old, new = rng.choice(
            (
                (b"3", b"3_0"),
                (b"2", b"02"),
                (b"False", b"0"),
                (b"2", "\u0662".encode()),
                (b"2", b"2L"),
            )
        )
        draft.text = lambda text: text.replace(old, new)
    else:
        more = rng.choice((b"\n", b"#", b" " * 5000, b"\0", b";", b"}", b"\x0c", b"'" * 100))
        draft.text = lambda text: more + text if seed < 0.3 else text + more


def other_body(draft: Any, rng: Random) -> None:
    body = draft.body
    draft.body = rng.choice((b"", body[:-1], body + b"x", body * 2, bytes(len(body)), b"\2\3"))


def other_version(draft: Any, rng: Random) -> None:
    draft.version = rng.choice(((1, 0), (2, 0), (3, 0), (1, 1), (0, 0), (4, 0), (255, 255)))


def other_length(draft: Any, rng: Random) -> None:
    draft.length = rng.choice((-64, -24, -1, 1, 24, 64, 10_000, 60_000, 2**31, 2**32 - 100))


NPY: list[Callable[[Any, Random], None]] = [
    *[other_array] * 6,
    *[other_text] * 4,
    *[other_body] * 2,
    *(other_version, other_length),
    put("head", "descr", among=(*DESCRIPTIONS, *VALUES[:9], [("a", "<f4")], ("<f4", (2,)))),
    *[put("head", "shape", among=SHAPES)] * 2,
    put("head", "fortran_order"),
    put("head", "more"),
]
