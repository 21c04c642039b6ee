"""Files that try to do harm, for test_serialization_hostile.py; run as a program, it loads them.

As a program it forbids itself, by an audit hook, everything that loading data does not need:
code, imports, processes, sockets, other files. Then it loads what it is given on standard input,
a line of JSON for each file, and prints what came of it.
"""

from __future__ import annotations

import base64
import io
import json
import pickle
import pickletools
import resource
import struct
import sys
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
    yield b"(" * 200_000 + b"."
    yield b"]" + b"]a" * 0 + b"](a" * 1000 + b"."
    yield b")" + b"\x85" * 200_000 + b"}" + b"h\x00."  # a tuple in a tuple in a tuple ...
    yield b"}" + b")" + b"\x85" * 200_000 + b"K\x01s."  # ... as a key, whose hash recurses
    yield b"\x8f(" + b")" + b"\x85" * 200_000 + b"\x90."
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
    with zipfile.ZipFile(twice, "w") as z:
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


FORBIDDEN = (
    "exec",
    "compile",
    "import",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket",
    "ctypes",
    "open",
    "os.remove",
    "os.rename",
    "os.mkdir",
    "pickle.find_class",
    "code.__new__",
    "object.__setattr__",
    "marshal",
    "shutil",
    "urllib",
)


def main() -> None:
    """Load what comes in, and say what happened."""
    import weft

    assert weft.load(io.BytesIO(torch_zip(b"\x80\x02" + tensor(storage_id()) + b"."))).item() == 1.5
    for warm in (LEGACY, b"PK\x03\x04" + b"\0" * 30):
        try:
            weft.load(io.BytesIO(warm))
        except weft.serialization.FileError:
            pass
    lines = sys.stdin.readlines()
    limit = 1 << 30
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + limit, used + limit))
    events: list[str] = []
    armed = False

    def hook(event: str, args: Any) -> None:
        if armed and event.startswith(FORBIDDEN):
            events.append(f"{event} {args!r:.200}")

    sys.addaudithook(hook)
    for line in lines:
        data = base64.b64decode(json.loads(line))
        f = io.BytesIO(data)
        armed = True
        try:
            weft.load(f)
            said = "loaded"
        except weft.serialization.FileError as e:
            said = f"refused: {e!s:.300}"
        except BaseException as e:
            said = f"{type(e).__name__}: {e!s:.300}"
        armed = False
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps([said, events[:], peak, len(data)]), flush=True)
        events.clear()


assert pickletools  # it is imported before the hook is set

if __name__ == "__main__":
    main()
