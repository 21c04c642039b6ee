"""Files that try to do harm, for test_serialization_hostile.py."""

from __future__ import annotations

import io
import json
import pickle
import struct
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

CODE = [
    ("os", "system", "touch /tmp/weft-was-here"),
    ("posix", "system", "touch /tmp/weft-was-here"),
    ("nt", "system", "x"),
    ("subprocess", "Popen", "true"),
    ("subprocess", "check_output", "true"),
    ("builtins", "eval", "1"),
    ("builtins", "exec", "1"),
    ("builtins", "compile", "1"),
    ("builtins", "open", "/tmp/weft-was-here"),
    ("builtins", "getattr", "x"),
    ("builtins", "setattr", "x"),
    ("builtins", "delattr", "x"),
    ("builtins", "__import__", "os"),
    ("builtins", "globals", "x"),
    ("builtins", "apply", "x"),
    ("builtins", "map", "x"),
    ("builtins", "type", "x"),
    ("builtins", "object", "x"),
    ("builtins", "vars", "x"),
    ("builtins", "breakpoint", "x"),
    ("builtins", "memoryview", "x"),
    ("__builtin__", "eval", "1"),
    ("__builtin__", "file", "/tmp/weft-was-here"),
    ("importlib", "import_module", "os"),
    ("runpy", "run_path", "/tmp/x.py"),
    ("code", "interact", "x"),
    ("pty", "spawn", "sh"),
    ("socket", "create_connection", "x"),
    ("urllib.request", "urlopen", "http://127.0.0.1/"),
    ("webbrowser", "open", "http://127.0.0.1/"),
    ("shutil", "rmtree", "/tmp/x"),
    ("pickle", "loads", "x"),
    ("_pickle", "loads", "x"),
    ("marshal", "loads", "x"),
    ("types", "CodeType", "x"),
    ("types", "FunctionType", "x"),
    ("functools", "partial", "x"),
    ("operator", "attrgetter", "system"),
    ("operator", "methodcaller", "system"),
    ("itertools", "starmap", "x"),
    ("copyreg", "_reconstructor", "x"),
    ("copyreg", "__newobj__", "x"),
    ("collections", "namedtuple", "x"),
    ("codecs", "decode", "x"),
    ("_codecs", "decode", "x"),
    ("numpy", "load", "/tmp/x"),
    ("numpy", "memmap", "/tmp/x"),
    ("numpy.testing._private.utils", "runstring", "x"),
    ("numpy.lib.npyio", "load", "x"),
    ("numpy.core", "multiarray", "x"),
    ("torch", "load", "/tmp/x"),
    ("torch", "save", "/tmp/x"),
    ("torch.hub", "load", "/tmp/x"),
    ("torch.storage", "_load_from_bytes", "x"),
    ("torch._utils", "_rebuild_wrapper_subclass", "x"),
    ("torch._tensor", "_rebuild_from_type", "x"),
    ("torch.nn.modules.linear", "Linear", "x"),
    ("torch.jit", "load", "x"),
    ("torch._dynamo.guards", "GuardBuilder.get", "x"),
    ("weft", "load", "/tmp/x"),
    ("weft.serialization.files", "load", "/tmp/x"),
    ("weft", "os.system", "x"),
    ("collections", "OrderedDict.fromkeys", "x"),
    ("builtins", "bytes.fromhex", "00"),
    ("__main__", "Payload", "x"),
    ("", "", "x"),
    ("os.path", "../../x", "x"),
]


# A memo with two billion places (cpython#115952): no harm in a dict, so it loads.
LARGE_MEMO = b"\x80\x02]r\xff\xff\xff\x7f."


def text(value: str) -> bytes:
    """An instruction that pushes text."""
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def calls(module: str, name: str, arg: str) -> Iterator[bytes]:
    """Pickles that call ``module.name(arg)``, in the ways that there are."""
    head = f"c{module}\n{name}\n".encode()
    stacked = b"\x80\x04" + text(module) + text(name) + b"\x93"
    yield b"\x80\x02" + head + text(arg) + b"\x85R."  # GLOBAL, REDUCE
    yield stacked + text(arg) + b"\x85R."  # STACK_GLOBAL, REDUCE
    yield b"\x80\x02" + head + text(arg) + b"\x85\x81."  # NEWOBJ
    yield b"\x80\x04" + head + text(arg) + b"\x85}\x92."  # NEWOBJ_EX
    yield b"(" + text(arg) + f"i{module}\n{name}\n.".encode()  # INST
    yield b"(" + head + text(arg) + b"o."  # OBJ
    yield b"\x80\x02}" + head + b"b."  # BUILD with it as the state
    yield b"\x80\x02]" + head + b"a."  # as a value


def pickles() -> Iterator[bytes]:
    """Pickles that must not do what they try."""
    for code in CODE:
        yield from calls(*code)
    order = b"ccollections\nOrderedDict\n)R"
    for key in ("__class__", "__dict__", "__reduce__", "popitem", "__init__", "_metadata2"):
        yield b"\x80\x02" + order + b"}" + text(key) + b"K\x01sb."  # attributes of a dict
        yield b"\x80\x02" + order + b"}}" + text(key) + b"K\x01s\x86b."
    yield b"\x80\x02]" + b"}" + text("append") + b"K\x01sb."
    yield b"\x80\x02\x82\x01."  # EXT1
    yield b"\x80\x02P0\n."  # a persistent name as text
    yield b"\x80\x02" + text("x") + b"Q."  # a persistent name that is no storage
    yield b"\x80\x02K\x05)R."  # call a number
    yield b"\x80\x02" + order + b")R."  # call a dict
    yield b"\x80\x02cbuiltins\nbytes\nJ\xff\xff\xff\x7f\x85R."  # two gigabytes of zeros
    yield b"\x80\x02cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R."
    yield b"\x80\x02cbuiltins\nset\ncbuiltins\nrange\nJ\xff\xff\xff\x7f\x85R\x85R."
    yield b"\x80\x02ctorch\nSize\ncbuiltins\nrange\nJ\xff\xff\xff\x7f\x85R\x85R."
    yield b"\x80\x02cnumpy\ndtype\n" + text("V2000000000") + b"\x85R."
    yield b"\x80\x02cnumpy\ndtype\n" + text("O8") + b"\x85R."
    yield LARGE_MEMO
    yield b"\x80\x02X\xff\xff\xff\x7fabc."  # text that is longer than the file
    yield b"\x80\x04\x8d" + b"\xff" * 7 + b"\x7fabc."
    yield b"\x80\x02\x8b\xff\xff\xff\x7f1."  # a number of two gigabytes
    yield b"I" + b"9" * 100_000 + b"\n."  # a number that takes long to read
    yield b"L" + b"9" * 100_000 + b"L\n."
    yield b"(" * 50_000 + b"."
    yield b"]" + b"]a" * 0 + b"](a" * 1000 + b"."
    yield b")" + b"\x85" * 50_000 + b"}" + b"h\x00."  # a tuple in a tuple in a tuple ...
    yield b"}" + b")" + b"\x85" * 50_000 + b"K\x01s."  # ... as a key, whose hash recurses
    yield b"\x8f(" + b")" + b"\x85" * 50_000 + b"\x90."
    yield b"}]K\x01s."  # a list as a key
    yield b"."
    yield b""
    yield b"0" * 50
    yield b"(" + b"u" * 3 + b"."
    yield b"R."
    yield b"\x80\xff."


def storage_id(kind: str = "FloatStorage", key: str = "0", count: bytes = b"K\x01") -> bytes:
    """Instructions for a storage."""
    name = f"ctorch\n{kind}\n".encode()
    return b"(" + text("storage") + name + text(key) + text("cpu") + count + b"tQ"


def tensor(
    storage: bytes,
    offset: bytes = b"K\x00",
    size: bytes = b"K\x01\x85",
    stride: bytes = b"K\x01\x85",
) -> bytes:
    """Instructions for a tensor over one."""
    tail = b"\x89ccollections\nOrderedDict\n)R"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + offset + size + stride + tail + b"tR"


HUGE = b"\x8a\x08" + b"\xff" * 7 + b"\x7f"  # 2**63 - 1
MINUS = b"J\xff\xff\xff\xff"


def tensors() -> Iterator[bytes]:
    """Pickles with tensors that reach outside of their storages."""
    s = storage_id()
    for wrong in (
        tensor(s, offset=b"K\x01"),
        tensor(s, offset=HUGE),
        tensor(s, offset=MINUS),
        tensor(s, offset=b"N"),
        tensor(s, size=b"K\x02\x85"),
        tensor(s, size=HUGE + b"\x85"),
        tensor(s, size=MINUS + b"\x85"),
        tensor(s, size=HUGE + HUGE + b"\x86", stride=HUGE + HUGE + b"\x86"),
        tensor(s, size=b"K\x02\x85", stride=HUGE + b"\x85"),
        tensor(s, size=b"K\x02\x85", stride=MINUS + b"\x85"),
        tensor(s, stride=b")"),
        tensor(s, size=b"(" + b"K\x01" * 200 + b"t", stride=b"(" + b"K\x01" * 200 + b"t"),
        tensor(b"N"),
        tensor(b"]"),
        tensor(storage_id(count=b"K\x02")),
        tensor(storage_id(count=HUGE)),
        tensor(storage_id(count=MINUS)),
        tensor(storage_id("DoubleStorage")),
        tensor(storage_id(key="../../etc/passwd")),
        tensor(storage_id(key="1")),
        tensor(storage_id("BoolStorage", "bool", b"K\x04")),
        tensor(storage_id("OddStorage")),
        s,
    ):
        yield b"\x80\x02" + wrong + b"."


def torch_zip(data: bytes, **members: bytes) -> bytes:
    """A file of torch.save with this pickle."""
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("archive/data.pkl", data)
        z.writestr("archive/byteorder", "little")
        z.writestr("archive/data/0", struct.pack("<f", 1.5))
        z.writestr("archive/data/bool", b"\0\1\7\0")
        for name, value in members.items():
            z.writestr(f"archive/{name}", value)
    return f.getvalue()


LEGACY = b"".join(
    pickle.dumps(x, 2)
    for x in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True, "protocol_version": 1001})
)


def files() -> Iterator[bytes]:
    """All of them as files, in the new format and in the old one."""
    for data in (*pickles(), *tensors()):
        yield torch_zip(data)
        yield LEGACY + data + pickle.dumps([], 2)
    yield from zips()
    yield from others()
    yield from checkpoints()


def zips() -> Iterator[bytes]:
    """Zip files that lie about themselves."""
    good = torch_zip(b"\x80\x02K\x01.")
    for name in ("../../tmp/x", "/etc/passwd", "a\\b", "c:/x", "archive/../../x"):
        f = io.BytesIO()
        with zipfile.ZipFile(f, "w") as z:
            z.writestr("archive/data.pkl", b"\x80\x02K\x01.")
            z.writestr(name, b"x")
        yield f.getvalue()
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("archive/data.pkl", b"\x80\x02" + b"]0" * 5_000_000 + b"K\x01.")
    yield bomb.getvalue()
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("manifest.json", b"[" * 50_000_000)
        z.writestr("data.safetensors", b"0" * 50_000_000)
    yield bomb.getvalue()
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w") as z, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a name is there twice is the point
        for _ in range(2):
            z.writestr("archive/data.pkl", b"\x80\x02K\x01.")
    yield twice.getvalue()
    at = good.rindex(b"PK\x05\x06")
    central = good.index(b"PK\x01\x02")
    for offset, value in ((20, b"\xff\xff\xff\x7f"), (24, b"\xff\xff\xff\x7f"), (42, b"\xff" * 4)):
        lie = bytearray(good)
        lie[central + offset : central + offset + 4] = value  # sizes, and where a member is
        yield bytes(lie)
    for offset in (12, 16):  # how long the list is, and where
        lie = bytearray(good)
        lie[at + offset : at + offset + 2] = b"\xff\xff"
        yield bytes(lie)
    yield b"PK\x05\x06" + b"\0" * 18  # an empty zip
    yield b"PK\x03\x04" + b"\0" * 100


NAMES = """os.system system builtins.eval eval exec __import__ open subprocess.Popen weft.load
weft.os weft._C weft.nn.os weft.nn.functional weft.nn.init weft.nn.Parameter weft.nn.module.Module
weft.nn.Module weft.nn.__builtins__ weft.nn.functional.weft weft.manual_seed weft.nn.utils Path
Lambda keras.layers.Lambda Linear.load_from_checkpoint __class__ __reduce__ __dict__ . .. weft.""".split()


def checkpoints() -> Iterator[bytes]:
    """Files of weft that describe a module with the help of names that are none of layers."""
    for name in NAMES:
        entry = {"class": name, "arguments": {"x": ("data", "touch /tmp/weft-was-here")}}
        for value in (("function", name), ("class", name), ("module", 0), ("data", name)):
            yield described({"in_features": value}, [{**entry, "state_dict": None}])
        yield described({name: ("data", 1)}, [])
        yield described({"in_features": ("data", 1), "out_features": ("data", 1)}, [], {name: name})


def described(arguments: Any, modules: Any, state: Any = None) -> bytes:
    """A file of ``Linear.save_checkpoint`` with these parts."""
    import weft

    model = {"class": "weft.nn.Linear", "arguments": arguments, "modules": modules}
    file = io.BytesIO()
    weft.save({"model": {**model, "state_dict": state or {}}}, file)
    return file.getvalue()


def others() -> Iterator[bytes]:
    """Code and paths where the other formats have names and text."""
    import numpy

    for name in ("../../tmp/weft-was-here", "/etc/passwd", "__class__", "__import__('os')", "x\0y"):
        header = json.dumps({"__metadata__": {name: name}, name: 1}).encode()
        yield struct.pack("<Q", len(header)) + header
        yield torch_zip(b"\x80\x02K\x01.", **{name: b"x"})
    for value in (numpy.array([print]), numpy.array([{"a": 1}], dtype=object)):
        file = io.BytesIO()
        numpy.savez(file, x=value)  # with a pickle in it
        yield file.getvalue()
    link = io.BytesIO()
    with zipfile.ZipFile(link, "w") as z:
        info = zipfile.ZipInfo("archive/data.pkl")
        info.external_attr = 0o120777 << 16  # a symbolic link
        z.writestr(info, "/etc/passwd")
    yield link.getvalue()
    code = b'{"class_name": "Lambda", "config": {"function": "4wEAAAAAAAAA"}}'  # as in Keras' files
    yield struct.pack("<Q", len(code)) + code
    yield b"#!/bin/sh\ntouch /tmp/weft-was-here\n"
