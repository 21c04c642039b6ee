"""Small files that ask for much memory or time, for test_serialization_hostile.py."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from random import Random
from typing import Any

from serialization.hostile import HUGE, storage_id, tensor, text
from serialization.mutations import Safetensors, entry
from serialization.mutations_torch import (
    ARRAY,
    ENCODED,
    NATIVE,
    Torch,
    array_state,
    call,
    data,
    name,
)
from serialization.mutations_zipped import Npz, Own


def length(rng: Random) -> int:
    """How large: mostly up to some thousand bytes, now and then up to the largest."""
    return int(2 ** rng.uniform(4, 18 if rng.random() < 0.02 else 11))


def large(rng: Random) -> int:
    """A number that would be too much."""
    return rng.choice((2**20, 2**28, 2**31, 2**32, 2**40, 2**48, 2**62, 2**63 - 1))


# ---- JSON ---------------------------------------------------------------------------------------


def heavy_json(rng: Random) -> bytes:
    """JSON that takes many times as much memory as text, or is deep, or has large numbers."""
    n = length(rng)
    return rng.choice(
        (
            lambda: b"[" * n,
            lambda: b'{"a":' * (n // 5),
            lambda: b"[" + b"[]," * (n // 3) + b"[]]",
            lambda: b"[" + b"{}," * (n // 3) + b"{}]",
            lambda: b"{" + b",".join(b'"%d":[]' % i for i in range(n // 9)) + b"}",
            lambda: b"[" + b"9" * n + b"]",
            lambda: b'["' + b"\\u00e9" * (n // 6) + b'"]',
            lambda: b"[" + b"1e999," * (n // 6) + b"1]",
        )
    )()


def safetensors_text(rng: Random) -> bytes:
    made = heavy_json(rng)
    return struct.pack("<Q", rng.choice((len(made), large(rng)))) + made


def safetensors_claims(rng: Random) -> bytes:
    draft, n = Safetensors(), large(rng)
    how = rng.randrange(4)
    if how == 0:
        draft.table["x"] = entry("F32", [n], 0, 4 * n)
    elif how == 1:
        draft.table["x"]["shape"] = [n, n, 0] if rng.random() < 0.5 else [n, n]
    elif how == 2:
        draft.table = {str(i): entry("F32", [0, n], 0, 0) for i in range(length(rng) // 60)}
        draft.data = b""
    else:
        draft.length = lambda _: n
    return draft.build()


def own_object(rng: Random) -> bytes:
    """Structures that use the same bytes again and again, and claims of tensors."""
    draft, n = Own(), length(rng)
    draft.table["2"] = entry("U8", [n], 26, 26 + n)
    draft.data = draft.data[:26] + bytes(n)
    raw = draft.manifest["tensors"][2]
    raw["shape"] = [n]
    how = rng.randrange(7)
    if how < 3:
        again = (
            {"bytes": 2},
            {"numpy.array": ["|u1", [n], "C", 2]},
            {"bytearray": 2},
        )[how]
        draft.manifest["object"] = [again] * (length(rng) // 20)
    elif how == 3:
        count = length(rng) // 130
        draft.manifest["tensors"] = [raw] * count
        draft.manifest["object"] = [{"bytes": i} for i in range(count)]
    elif how == 4:
        raw |= {"shape": [large(rng)], "stride": [0]}
        draft.manifest["object"] = rng.choice(({"tensor": 2}, {"bytes": 2}, {"Generator": 2}))
    elif how == 5:
        x = draft.manifest["tensors"][0]
        x |= {"shape": [large(rng), large(rng)], "stride": [0, 0], "parameter": True}
    else:
        number = "0x" + "f" * length(rng)
        draft.manifest["object"] = [{"int": number}, {"range": ["0x0", number, "0x1"]}]
    return draft.build()


def own_text(rng: Random) -> bytes:
    draft = Own()
    draft.manifest["object"] = "here"
    member = draft.zip().members[1]
    member.plain = member.plain.replace(b'"here"', heavy_json(rng))
    return draft.build()


# ---- zip and npz --------------------------------------------------------------------------------


def zip_claims(rng: Random) -> bytes:
    draft: Any = rng.choice((Own, Npz, Torch))()
    member = rng.choice(draft.zip().members)
    for place in rng.choice(((member.there,), (member.here,), (member.there, member.here))):
        place["size"] = large(rng)
        if rng.random() < 0.5:
            place["stored"] = large(rng)
        if rng.random() < 0.5:
            place["method"] = 8
    return draft.build()


@functools.cache
def compressed(megabytes: int, claim: int | None, fortran: bool) -> bytes:
    """Zeros, compressed a thousand times, in a file that may lie about how many they are."""
    draft, size = Npz(), megabytes << 20
    draft.deflated = True
    draft.heads[0] = {"descr": "|u1", "fortran_order": fortran, "shape": (size,)}
    draft.bodies[0] = bytes(size)
    member = draft.zip().members[0]
    if claim is not None:
        member.there["size"] = member.here["size"] = claim
    return draft.build()


def npz_compressed(rng: Random) -> bytes:
    size = rng.choice((30, 47, 49, 100)) if rng.random() < 0.02 else rng.choice((0, 1, 2))
    claim = rng.choice((None, None, 64, 1 << 20, 47 << 20, 2**31))
    return compressed(size, claim, rng.random() < 0.5)


def npz_heads(rng: Random) -> bytes:
    draft, n = Npz(), large(rng)
    shape = rng.choice(((n,), (n, n), (n, 0), (0, n), (1,) * 64))
    draft.heads[0] = {"descr": "<f4", "fortran_order": False, "shape": shape}
    if rng.random() < 0.3:
        draft.text = rng.choice(
            (lambda t: "(" * 60_000, lambda t: "9" * 60_000, lambda t: "1+" * 30_000)
        )
        draft.version = (2, 0)
    return draft.build()


def many_members(rng: Random) -> bytes:
    draft = Npz()
    members = draft.zip().members
    for i in range(length(rng) // 200):
        twin = type(members[0])(f"{i}.npy", members[1].plain)
        members.append(twin)
    return draft.build()


# ---- pickles ------------------------------------------------------------------------------------


def repeated(rng: Random) -> bytes:
    """Programs that make much of little by doing the same again and again."""
    n = length(rng)
    long = text("x" * length(rng)) + b"q\x00"
    times = n // 12
    encode = name("_codecs", "encode") + b"q\x01"
    buffer = name("numpy.core.numeric", "_frombuffer") + b"q\x01"
    items = data(list(range(min(n, 60_000)))).replace(b"q\x00", b"") + b"q\x00"
    wide = b"(" + b"K\x01" * min(n, 5000) + b"tq\x00"
    return rng.choice(
        (
            lambda: b"]" * n,
            lambda: b"}" * n,
            lambda: b"(" * n,
            lambda: b"\x8f" * n,
            lambda: b"N0" * (n // 2),
            lambda: b"]" + b"2" * n,
            lambda: text("x" * 1000) + b"2" * n,
            lambda: b")" + b"\x85" * n,
            lambda: b"]q\x00" + b"h\x00a" * (n // 3),
            lambda: b")" + b"2\x86" * (n // 2),  # doubles with each instruction
            lambda: long + encode + b"(" + b"h\x01h\x00\x85R" * times + b"l",
            lambda: long + name("builtins", "bytearray") + b"q\x01("
            + (b"h\x01h\x00" + text("latin1") + b"\x86R") * (times // 2) + b"l",
            lambda: data(bytes(n)) + b"q\x00" + NATIVE + b"q\x02" + buffer + b"("
            + (b"h\x01(h\x00h\x02J" + struct.pack("<i", n // 4) + b"\x85" + text("C") + b"tR") * (times // 3) + b"l",
            lambda: items + name("builtins", "set") + b"q\x01(" + b"h\x01h\x00\x85R" * times + b"l",
            lambda: items + name("builtins", "bytes") + b"q\x01(" + b"h\x01h\x00\x85R" * times + b"l",
            lambda: items + name("torch", "Size") + b"q\x01(" + b"h\x01h\x00\x85R" * times + b"l",
            lambda: b"](" + items + b"h\x00" * times + b"e\x85q\x05"
            + name("collections", "OrderedDict") + b"h\x05R",
            lambda: wide + b"}(" + b"h\x00K\x01" * times + b"u",  # keys that take long to hash
            lambda: wide + b"q\x02" + b"(h\x02h\x02h\x02tq\x02" * 40 + b"}h\x02K\x01s",
            lambda: b"".join(b"]r" + struct.pack("<I", i) for i in range(min(n, 60_000) // 6))
            + ARRAY + b"q\x00" + (b"h\x00" + array_state()) * (times // 20),
            lambda: ARRAY + array_state(shape=HUGE + b"\x85") * 3,
            lambda: b"I" + b"9" * n + b"\n",
            lambda: b"\x8b" + struct.pack("<I", n) + b"\x7f" * n,
        )
    )()  # fmt: skip


def claims(rng: Random) -> bytes:
    """Programs that speak of more than there is."""
    n = large(rng)
    count = b"\x8a\x08" + struct.pack("<q", n)
    length32 = struct.pack("<I", min(n, 2**31))
    flags = b"\x89" + name("collections", "OrderedDict") + b")R}" + text("neg") + b"\x88s"
    spread = b"(" + storage_id() + b"K\x00" + count + b"\x85K\x00\x85" + flags + b"tR"
    return rng.choice(
        (
            lambda: b"X" + length32 + b"abc",
            lambda: b"B" + length32 + b"abc",
            lambda: b"T" + length32 + b"abc",
            lambda: b"\x8b" + length32 + b"1",
            lambda: b"\x8d" + struct.pack("<Q", n) + b"abc",
            lambda: b"\x96" + struct.pack("<Q", n) + b"abc",
            lambda: b"]r" + length32,
            lambda: b"]p%d\n" % n,
            lambda: call("builtins", "bytes", count),
            lambda: call("builtins", "bytearray", count),
            lambda: call("builtins", "set", call("builtins", "range", count)),
            lambda: call("torch", "Size", call("builtins", "range", count)),
            lambda: call("builtins", "list", call("builtins", "range", count)),
            lambda: call("numpy", "dtype", text(f"V{n}")),
            lambda: ARRAY + array_state(shape=count + b"\x85"),
            lambda: call(
                "numpy.core.numeric", "_frombuffer", ENCODED, NATIVE, count + b"\x85", text("C")
            ),
            lambda: tensor(storage_id(count=count)),
            lambda: tensor(storage_id(), size=count + b"\x85", stride=b"K\x00\x85"),
            lambda: tensor(storage_id(), size=count + b"\x85"),
            lambda: name("torch._utils", "_rebuild_tensor_v2") + spread,
        )
    )()


def torch_program(rng: Random) -> bytes:
    draft = Torch()
    program = rng.choice((repeated, claims))(rng)
    draft.program = b"\x80\x02" + program + b"."
    draft.legacy = rng.random() < 0.3
    return draft.build()


KINDS: list[Callable[[Random], bytes]] = [
    safetensors_text,
    safetensors_claims,
    own_object,
    own_object,
    own_text,
    zip_claims,
    npz_compressed,
    npz_heads,
    many_members,
    *[torch_program] * 4,
]


def bomb(rng: Random) -> bytes:
    """One of them."""
    return rng.choice(KINDS)(rng)
