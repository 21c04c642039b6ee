"""Files that are nearly right: built of parts, one or two of which are changed. For tests of readers.

Each format has a draft, which knows how its parts fit together, and a list of changes of a draft:
safetensors and zip here, weft's own and ``.npz`` in mutations_zipped.py, PyTorch's in
mutations_torch.py.
What follows from a part (lengths, checksums) is made after the change, so that it reaches deep; the
changes of lengths and checksums themselves are in the lists too.
"""

from __future__ import annotations

import copy
import json
import re
import struct
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

NUMBERS = (-1, 0, 1, 2, 3, 6, 7, 100, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**56, 2**62)
NUMBERS += (2**63 - 1, 2**63, 2**64, 2**64 - 1)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    1.5,
    1e300,
    "",
    "x",
    "0",
    [],
    {},
    [1],
    {"a": 1},
    *NUMBERS,
)


def nested(depth: int) -> str:
    """What stands for a list in a list in a list, until it becomes JSON."""
    return f"@{depth}"


def as_json(x: Any) -> bytes:
    """JSON, with lists in place of what ``nested`` returned."""
    text = json.dumps(x, separators=(",", ":")).encode()
    if b'"@' in text:
        text = re.sub(rb'"@(\d+)"', lambda m: b"[" * int(m[1]) + b"1" + b"]" * int(m[1]), text)
    return text


def in_bytes(data: bytes, rng: Random) -> bytes:
    """``data`` with a few things changed that know nothing of its parts: bits, numbers, pieces."""
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
            size = rng.choice((2, 4, 8))
            number = rng.choice(NUMBERS) & (256**size - 1)
            made[at : at + size] = number.to_bytes(size, "little")
        else:
            del made[at:]
    return bytes(made)


def put(*path: Any, among: tuple[Any, ...] = VALUES) -> Callable[[Any, Random], None]:
    """A change that puts some value at a place in nested dicts and lists, or removes it."""

    def change(draft: Any, rng: Random) -> None:
        place = vars(draft)
        for step in path[:-1]:
            place = place[step]
        if rng.random() < 0.05 and isinstance(place, dict):
            place.pop(path[-1], None)
        else:
            place[path[-1]] = copy.deepcopy(rng.choice(among))

    return change


def anywhere(name: str) -> Callable[[Any, Random], None]:
    """A change at a random place within one part of a draft."""

    def change(draft: Any, rng: Random) -> None:
        place: Any = vars(draft)
        key: Any = name
        while rng.random() < 0.8 and isinstance(place[key], (dict, list)) and place[key]:
            place = place[key]
            key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        place[key] = copy.deepcopy(rng.choice((*VALUES, nested(5), nested(80), nested(3000))))

    return change


# ---- safetensors --------------------------------------------------------------------------------


def entry(dtype: Any, shape: Any, begin: Any, end: Any) -> dict[str, Any]:
    """What a header says of one tensor."""
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


class Safetensors:
    """A header, the data behind it, and the length before it."""

    def __init__(self) -> None:
        self.table: Any = {
            "__metadata__": {"text": "more"},
            "x": entry("F32", [2, 3], 0, 24),
            "h": entry("BF16", [2], 24, 28),
            "b": entry("BOOL", [2], 28, 30),
        }
        self.data: Any = struct.pack("<6f2H", *range(6), 0x3F80, 0) + b"\1\0"
        self.text: Callable[[bytes], bytes] | None = None
        self.length: Callable[[int], int] | None = None

    def build(self) -> bytes:
        text = as_json(self.table)
        text = text if self.text is None else self.text(text)
        length = len(text) if self.length is None else self.length(len(text))
        return struct.pack("<Q", length % 2**64) + text + self.data


def rewrite(old: bytes, new: bytes) -> Callable[[Any, Random], None]:
    """A change of the header's text, which JSON knows nothing of."""

    def change(draft: Any, rng: Random) -> None:
        draft.text = lambda text: text.replace(old, new, 1)

    return change


def change_length(draft: Any, rng: Random) -> None:
    number = rng.choice((*NUMBERS, 100 << 20, (100 << 20) + 1, 101 << 20))
    draft.length = rng.choice(
        (lambda n: number, lambda n: n + number, lambda n: n - 1, lambda n: n + 30)
    )


def change_data(draft: Any, rng: Random) -> None:
    how = rng.randrange(4)
    if how == 0:
        draft.data = draft.data[: rng.randrange(len(draft.data))]
    elif how == 1:
        draft.data += bytes(rng.randrange(1, 40))
    elif how == 2:
        draft.data = draft.data[:-1] + bytes([rng.randrange(256)])
    else:
        draft.data = b""


def change_names(draft: Any, rng: Random) -> None:
    name = rng.choice(
        ("", "x" * 1000, "../../x", "é\0", "__metadata__", "__class__", "constructor")
    )
    draft.table[name] = draft.table.pop(rng.choice(("x", "h", "b")))


DTYPES = (
    "F64",
    "F32",
    "F16",
    "BF16",
    "I64",
    "I8",
    "U8",
    "BOOL",
    "C64",
    "F8_E4M3",
    "U64",
    "f32",
    "",
)
SAFETENSORS: list[Callable[[Any, Random], None]] = [
    *(put("table", name, among=(*VALUES, entry("U8", [0], 30, 30))) for name in "xhb"),
    *(put("table", name, "dtype", among=(*DTYPES, *VALUES)) for name in "xhb"),
    *(put("table", name, "shape") for name in "xhb"),
    *(put("table", name, "shape", 0) for name in "xhb"),
    put("table", "x", "shape", among=([1] * 65, [0] * 65, [2**32, 2**32], [2**62, 4, 0], [3, 2])),
    *(put("table", name, "data_offsets") for name in "xhb"),
    *(put("table", name, "data_offsets", i) for name in "xhb" for i in (0, 1)),
    *(put("table", name, "data_offsets", among=([0, 24], [4, 28], [24, 0])) for name in "xb"),
    put("table", "x", "more"),
    put("table", "__metadata__"),
    put("table", "__metadata__", "text"),
    put("table", "new", among=(entry("F32", [0], 0, 0), entry("U8", [2], 30, 32))),
    anywhere("table"),
    change_names,
    change_length,
    change_data,
    rewrite(b'"h"', b'"x"'),
    rewrite(b'"dtype"', b'"shape"'),
    rewrite(b"24", b"NaN"),
    rewrite(b"24", b"-Infinity"),
    rewrite(b"24", b"024"),
    rewrite(b"24", b"24.0"),
    rewrite(b"24", b"9" * 5000),
    rewrite(b"x", b"\xff"),
    rewrite(b"{", b" {"),
    rewrite(b"{", b"\xef\xbb\xbf{"),
    rewrite(b"{", b"[" * 200_00),
    rewrite(b"{", b'{"a":' * 200_00),
    rewrite(b"}", b""),
    rewrite(b"}", b"} {}"),
    rewrite(b",", b",,"),
]


# ---- zip ----------------------------------------------------------------------------------------


class Member:
    """One file in a zip: what the list says of it, and what stands before its data."""

    def __init__(self, name: str, data: bytes, deflated: bool = False) -> None:
        self.name: Any = name.encode()
        self.plain = data
        self.method = 8 if deflated else 0
        self.listed_only = False
        self.there: dict[str, Any] = {}  # lies in the list
        self.here: dict[str, Any] = {}  # lies before the data

    def header(self, lies: dict[str, Any], stored: bytes, offset: int | None) -> bytes:
        name, extra = lies.get("name", self.name), lies.get("extra", b"")
        fields = (
            lies.get("flags", 0),
            lies.get("method", self.method),
            0,
            33,
            lies.get("crc", zlib.crc32(self.plain)) & 0xFFFFFFFF,
            lies.get("stored", len(stored)) & 0xFFFFFFFF,
            lies.get("size", len(self.plain)) & 0xFFFFFFFF,
            len(name),
            lies.get("extra_size", len(extra)) & 0xFFFF,
        )
        if offset is None:
            start = struct.pack("<4s5H3I2H", lies.get("sign", b"PK\3\4"), 20, *fields)
        else:
            at = lies.get("offset", offset) & 0xFFFFFFFF
            rest = struct.pack("<3H2I", 0, 0, 0, 0, at)
            start = struct.pack("<4s6H3I2H", b"PK\1\2", 20, 20, *fields) + rest
        return start + name + extra


class Zip:
    """Members, and the end of the file that says where their list is."""

    def __init__(self, members: dict[str, bytes], deflated: bool = False) -> None:
        self.members = [Member(name, data, deflated) for name, data in members.items()]
        self.end: dict[str, Any] = {}
        self.before = self.after = b""
        self.wide: dict[str, int] | None = None  # of the end in 64 bits

    def build(self) -> bytes:
        out, listed = bytearray(self.before), bytearray()
        for member in self.members:
            stored = member.plain
            if member.method == 8:
                deflater = zlib.compressobj(1, zlib.DEFLATED, -15)
                stored = deflater.compress(stored) + deflater.flush()
            stored = member.here.get("data", stored)
            listed += member.header(member.there, stored, len(out))
            if member.listed_only:
                continue
            out += member.header(member.here, stored, None) + stored
        at, end = len(out), self.end
        count, size = len(self.members), len(listed)
        out += listed
        if self.wide is not None:
            w = {"count": count, "size": size, "offset": at, "place": len(out), **self.wide}
            w = {key: value % 2**64 for key, value in w.items()}
            record = (44, 45, 45, 0, 0, w["count"], w["count"], w["size"], w["offset"])
            out += struct.pack("<4sQ2H2I4Q", b"PK\6\6", *record)
            out += struct.pack("<4sIQI", b"PK\6\7", 0, w["place"], 1)
            count, size, at = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF
        counts = [end.get("count", count) & 0xFFFF] * 2
        sizes = (end.get("size", size) & 0xFFFFFFFF, end.get("offset", at) & 0xFFFFFFFF)
        comment = end.get("comment", 0) & 0xFFFF
        return (
            bytes(out + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, *counts, *sizes, comment))
            + self.after
        )


def lie(where: str, key: str, among: tuple[Any, ...] = NUMBERS) -> Callable[[Any, Random], None]:
    """A change of what a zip says of one of its members."""

    def change(draft: Any, rng: Random) -> None:
        member = rng.choice(draft.zip().members)
        for place in {"both": ("here", "there")}.get(where, (where,)):
            getattr(member, place)[key] = rng.choice(among)

    return change


def lie_at_end(key: str) -> Callable[[Any, Random], None]:
    """A change of the end of a zip."""

    def change(draft: Any, rng: Random) -> None:
        draft.zip().end[key] = rng.choice(NUMBERS)

    return change


def lie_widely(draft: Any, rng: Random) -> None:
    """An end in 64 bits, which may be wrong."""
    key = rng.choice(("count", "size", "offset", "place", "none"))
    draft.zip().wide = {key: rng.choice(NUMBERS)}


def wide_member(draft: Any, rng: Random) -> None:
    """Sizes of a member in 64 bits, which may be wrong."""
    member = rng.choice(draft.zip().members)
    size = len(member.plain)
    sizes = [rng.choice((size, size, n)) for n in (rng.choice(NUMBERS), size + 1)]
    length = rng.choice((16, 16, 16, 8, 4, 0, 100))
    extra = struct.pack("<2H2Q", 1, length, *(n % 2**64 for n in sizes))
    member.there |= {"extra": extra, "size": 2**32 - 1, "stored": 2**32 - 1}


def change_members(draft: Any, rng: Random) -> None:
    """One more member, one less, one twice, another order."""
    members = draft.zip().members
    how = rng.randrange(5)
    if how == 0:
        del members[rng.randrange(len(members))]
    elif how == 1:
        members.append(members[rng.randrange(len(members))])
    elif how == 2:
        members.append(Member(rng.choice(NAMES[:-1]), b"more"))
    elif how == 3:
        members.reverse()
    else:
        members[rng.randrange(len(members))].plain += b"more"


def surround(draft: Any, rng: Random) -> None:
    """Bytes before or behind the zip."""
    part = rng.choice((b"x", b"PK\3\4", b"\0" * 100, b"PK\5\6" + b"\0" * 18))
    setattr(draft.zip(), rng.choice(("before", "after")), part)


def overlap(draft: Any, rng: Random) -> None:
    """Members whose data are in one place."""
    members = draft.zip().members
    for i in range(rng.choice((1, 20, 60))):
        twin = copy.copy(members[0])
        twin.listed_only, twin.name = True, b"archive/%d.npy" % i
        twin.there = {"offset": len(draft.zip().before)}
        members.append(twin)


def beyond_the_end(draft: Any, rng: Random) -> None:
    """A member whose name goes on behind the end of the file."""
    member = rng.choice(draft.zip().members)
    member.listed_only = True
    size = len(draft.zip().build())
    draft.zip().after = struct.pack("<4s5H3I2H", b"PK\3\4", 20, *[0] * 7, 500, 0)
    member.there |= {"offset": size, "size": 0, "stored": 0, "crc": 0}


NAMES = (
    "../x",
    "/x",
    "a\\b",
    "c:/x",
    "x\0y",
    "",
    "x/../../y",
    "é",
    "x/data.pkl",
    "code/x",
    "x.npy",
)
NAMES += ("y/constants.pkl", "archive/code/x.py", "manifest.json", "x" * 300)
ZIP: list[Callable[[Any, Random], None]] = [
    lie("both", "name", tuple(n.encode() for n in NAMES)),
    lie("there", "name", tuple(n.encode() for n in NAMES)),
    lie("both", "flags", (1, 1, 8, 0x800, 0x41, 0xFFFF)),
    lie("both", "method", (8, 8, 12, 14, 93, 99, 0)),
    lie("there", "crc"),
    lie("there", "size"),
    lie("there", "stored"),
    lie("both", "size"),
    lie("both", "stored"),
    lie("there", "offset"),
    lie("there", "offset", (1, 40, 100, 200)),
    lie("here", "sign", (b"PK\1\2", b"XXXX")),
    lie("here", "name", (b"other", b"")),
    lie("here", "extra_size"),
    lie("there", "extra_size"),
    lie("here", "data", (b"", b"x", b"\xff" * 50, b"\x03\x00", b"x" * 5000)),
    *(lie_at_end(key) for key in ("count", "size", "offset", "comment")),
    lie_widely,
    wide_member,
    change_members,
    surround,
    overlap,
    beyond_the_end,
]


# ---- all of them --------------------------------------------------------------------------------


def mutants(kind: Any, changes: list[Callable[[Any, Random], None]]) -> Callable[[Random], bytes]:
    """Files of one format, each with something changed."""
    good = kind().build()

    def make(rng: Random) -> bytes:
        if rng.random() < 0.06:
            return in_bytes(good, rng) if rng.random() < 0.7 else good[: rng.randrange(8)]
        draft = kind()
        for _ in range(rng.choice((1, 1, 1, 2))):
            try:
                rng.choice(changes)(draft, rng)
            except (TypeError, KeyError, IndexError, AttributeError, ValueError):
                pass  # what it would change is no longer there
        try:
            return draft.build()
        except (TypeError, AttributeError, KeyError, ValueError):
            return in_bytes(good, rng)

    return make
