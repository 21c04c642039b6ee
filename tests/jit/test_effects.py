"""The table of side effects: all that the interpreter has is in it or refused by name, and calls are judged by it."""

from __future__ import annotations

import base64
import binascii
import bisect
import builtins
import collections
import contextlib
import contextvars
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import gc
import hashlib
import heapq
import importlib
import inspect
import io
import itertools
import json
import logging
import math
import mmap
import operator
import os
import pathlib
import pickle
import random
import re
import resource
import secrets
import statistics
import string
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import types
import typing
import uuid
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from jit.compile_calls import runs

import weft
from weft.jit import effects

pytestmark = pytest.mark.filterwarnings("ignore:compile")
ONE = weft.ones(1)


# ---- the table -----------------------------------------------------------------------------------

NATIVE = (types.BuiltinFunctionType, types.MethodDescriptorType, types.ClassMethodDescriptorType)
LISTED = """
    builtins math cmath operator _operator itertools functools _functools collections _collections
    time random _random os posix sys io _io gc re _sre json _json struct _struct array datetime
    decimal threading _thread weakref _weakref contextvars queue _queue socket _socket select signal
    copy pickle marshal heapq bisect statistics string zlib hashlib binascii unicodedata types typing
    dataclasses enum abc _abc warnings _warnings logging mmap ctypes resource fcntl uuid subprocess
    tempfile pathlib inspect zoneinfo locale atexit errno faulthandler tracemalloc codecs csv
""".split()


def natives(module: Any) -> Iterator[str]:
    """The names of the C functions of a module, and of the methods of its C classes."""
    for value in vars(module).values():
        if isinstance(value, types.BuiltinFunctionType):
            yield effects.name_of_call(value)
        elif isinstance(value, type) and not isinstance(value, enum.EnumMeta):  # written in Python
            for key, inner in vars(value).items():
                inner = getattr(inner, "__func__", inner)
                if isinstance(getattr(inner, "__self__", None), types.ModuleType):
                    yield effects.name_of_call(inner)
                elif isinstance(inner, NATIVE):
                    yield f"{value.__module__}.{value.__qualname__}.{key}"


def imported(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:  # of another system
            return types.ModuleType(name)


@pytest.mark.parametrize("name", LISTED)
def test_every_native_function_has_an_effect(name: str) -> None:
    """No C function of these modules is unknown."""
    assert [f for f in natives(imported(name)) if effects.effect_of(f) is None] == []


def test_every_builtin_has_an_effect() -> None:
    """Functions have rows of their own: one that a later Python brings is refused until it has."""
    functions = [v for v in vars(builtins).values() if isinstance(v, types.BuiltinFunctionType)]
    assert len(functions) > 40
    for f in functions:
        name = effects.name_of_call(f)
        assert name in effects.EFFECTS or f is open, name
    assert "builtins" not in effects.EFFECTS
    for cls in vars(builtins).values():
        if isinstance(cls, type):
            assert effects.effect_of_class(cls) is not None or cls is object, cls


def test_the_standard_library_is_known_or_refused_by_name() -> None:
    """All of it is known for these versions; what a later one brings is refused by name."""
    left_out = {
        "antigravity",
        "this",
        "idlelib",
        "turtle",
        "tkinter",
        "lib2to3",
        "__main__",
        "test",
    }
    count = 0
    for module in sorted(sys.stdlib_module_names - left_out):
        if "test" in module or module.startswith("xx"):
            continue
        for name in natives(imported(module)):
            count += 1
            if effects.effect_of(name) is None:
                assert name in effects.refusal(name)
                assert sys.version_info >= (3, 14), name
    assert count > 1000


def test_rows_are_not_contradictory() -> None:
    """No name has two rows; what they have is one of four words."""
    rows = [f"{o}.{n}" if o else n for _, o, names in effects._ROWS for n in names.split()]
    assert [n for n, k in collections.Counter(rows).items() if k > 1] == []
    kinds = {effects.PURE, effects.IMMUTABLE, effects.STATEFUL, effects.EFFECT}
    assert {*effects.EFFECTS.values()} == kinds


class Drawing(random.Random):
    def random(self) -> float:
        return super().random()


class Counted(dict):  # type: ignore[type-arg]
    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key, default)


def test_names_of_calls() -> None:
    """By the class that defines a method, not by a subclass that overrides it."""
    for function, name in (
        ([].append, "builtins.list.append"),
        (dict.fromkeys, "builtins.dict.fromkeys"),
        (Counted.fromkeys, "builtins.dict.fromkeys"),
        (super(Counted, Counted()).get, "builtins.dict.get"),
        (super(Drawing, Drawing()).random, "_random.Random.random"),
        (Counted.__new__, "builtins.dict.__new__"),
        (int.mro, "builtins.type.mro"),
        (str.maketrans, "maketrans"),
        (datetime.datetime.now, "datetime.datetime.now"),
        (math.sqrt, "math.sqrt"),
        (os.getpid, f"{os.name}.getpid"),
        (np.array, "numpy.array"),
    ):
        assert effects.name_of_call(function) == name


# ---- calls that are refused ----------------------------------------------------------------------

variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=1)
drawing = Drawing(0)
local = threading.local()

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "print": (lambda: print(end=""), r"print\(\) at"),
    "open": (lambda: open(os.devnull).close(), r"open\(\) at"),
    "time": (time.time, r"time.time\(\) at"),
    "datetime": (datetime.datetime.now, r"datetime.now\(\) at"),
    "random": (random.random, "draws from Python's random"),
    "a subclass of Random": (lambda: drawing.random(), "Drawing|Python's random"),
    "uuid": (uuid.uuid4, r"urandom\(\) at"),
    "secrets": (lambda: secrets.randbits(3), r"urandom|random"),
    "os": (os.getcwd, r"getcwd\(\) at"),
    "environment": (lambda: os.environ.get("HOME"), r"os\.\w+\(\) at"),
    "usage": (lambda: resource.getrusage(resource.RUSAGE_SELF), r"resource.getrusage\(\) at"),
    "process": (lambda: subprocess.run(["true"], check=True), r"\(\) at"),
    "file": (lambda: tempfile.TemporaryFile().close(), r"\(\) at"),
    "references": (lambda: sys.getrefcount(ONE), r"sys.getrefcount\(\) at"),
    "garbage": (gc.get_count, r"gc.get_count\(\) at"),
    "threads": (sys.getswitchinterval, r"sys.getswitchinterval\(\) at"),
    "context": (variable.get, "ContextVar"),
    "thread": (lambda: threading.Thread(target=int).start(), r"\(\) at"),
    "subclasses": (lambda: len(Counted.__subclasses__()), r"type.__subclasses__\(\) at"),
    "warning": (lambda: warnings.warn("careful", stacklevel=1), r"warnings.warn\(\) at"),
    "pickle to a file": (lambda: pickle.dump(1, io.BytesIO()), "pickle.dump|BytesIO"),
    "thread-local": (lambda: getattr(local, "x", 1), "a _local|local"),
    "called from C": (lambda: list(map(print, [])), "builtins.print has a side effect"),
    "a key": (lambda: sorted([], key=random.random), "Random.random has a side effect"),
    "an operand": (lambda: functools.reduce(print, [], 1), "builtins.print has a side effect"),
    "mapped memory": (lambda: mmap.mmap(-1, 10).close(), "mmap"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:careful")
@pytest.mark.parametrize("name", REFUSED)
def test_calls_that_are_refused(name: str) -> None:
    """They happen in every call, and the reason names them."""
    do, reason = REFUSED[name]

    def f(x: Any) -> Any:
        do()
        return x * 2

    compiled = weft.compile(f)
    for _ in range(4):
        assert compiled(ONE).item() == 2
    assert runs(compiled) == 0
    assert re.search(reason, compiled.reasons[0]), compiled.reasons


def test_functions_that_are_not_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are refused by name, until somebody says that they are pure."""
    monkeypatch.delitem(effects.EFFECTS, "binascii")

    def f(x: Any) -> Any:
        return x * (binascii.crc_hqx(b"", 2))

    compiled = weft.compile(f)
    for _ in range(4):
        assert compiled(ONE).item() == 2
    assert runs(compiled) == 0
    assert "not known what binascii.crc_hqx does" in compiled.reasons[0]
    with pytest.raises(RuntimeError, match=r"binascii\.crc_hqx"):
        weft.compile(f, fullgraph=True)(ONE)
    assert weft.compiler.allow_in_graph(binascii.crc_hqx) is binascii.crc_hqx
    monkeypatch.delitem(effects.EFFECTS, "binascii.crc_hqx", raising=True)
    monkeypatch.setitem(effects.EFFECTS, "binascii.crc_hqx", effects.PURE)
    compiled = weft.compile(f)
    for _ in range(4):
        assert compiled(ONE).item() == 2
    assert runs(compiled) == 2


def test_classes_that_are_not_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hook sees a call of a class: code that names one which is unknown is refused."""
    monkeypatch.delitem(effects.EFFECTS, "_struct")
    maker = struct.Struct
    compiled = weft.compile(lambda x: x * maker("i").size)
    for _ in range(4):
        assert compiled(ONE).item() == 4
    assert "not known what _struct.Struct does" in compiled.reasons[0]


def test_memory_that_a_class_maps() -> None:
    compiled = weft.compile(lambda x: x * mmap.mmap(-1, 10)[0])
    for _ in range(4):
        assert compiled(ONE).item() == 0
    assert compiled.reasons == ["mmap.mmap has a side effect"]


def test_the_context_of_decimal() -> None:
    def f(x: Any) -> Any:
        return x * float(decimal.Decimal(1) / 3)

    compiled = weft.compile(f)
    try:
        for precision in (28, 28, 28, 28, 3, 3, 3, 28, 28):
            decimal.getcontext().prec = precision
            assert weft.equal(compiled(ONE), f(ONE))
    finally:
        decimal.getcontext().prec = 28
    assert runs(compiled) > 0 and not compiled.reasons


# ---- calls that compile --------------------------------------------------------------------------


@dataclasses.dataclass
class Point:
    x: float
    y: float = 2.0


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@functools.lru_cache
def cached(n: int) -> int:
    return n + 1


@functools.singledispatch
def dispatched(x: Any) -> float:
    return 1.0


@dispatched.register
def _(x: int) -> float:
    return 2.0


lock, rlock = threading.Lock(), threading.RLock()
logger = logging.getLogger("weft.test_effects")
Pair = collections.namedtuple("Pair", "a b")
pattern = re.compile(r"(\d+)")
generator = np.random.default_rng(0)


def locked(lock: Any) -> int:
    with lock:
        return 2


def suppressed() -> int:
    with contextlib.suppress(KeyError), contextlib.nullcontext():
        return {}["a"]  # type: ignore[no-any-return]
    return 3


def stacked() -> int:
    with contextlib.ExitStack() as stack:
        stack.callback(int)
        return 2


IDIOMS: dict[str, Callable[[], float]] = {
    "math": lambda: math.sqrt(2.0) + math.prod((2, 3)) + math.gcd(4, 6) + math.floor(2.5),
    "operator": lambda: operator.add(1, 2) + operator.itemgetter(0)([3]),
    "itertools": lambda: sum(itertools.chain([1], itertools.repeat(2, 3))) + len(list(itertools.product("ab", "cd"))),
    "pairs": lambda: sum(a * b for a, b in itertools.islice(zip([1, 2], [3, 4]), 2)),
    "reduce": lambda: functools.reduce(operator.mul, [1, 2, 3]) + functools.partial(int, "7")(),
    "cached": lambda: cached(3),
    "singledispatch": lambda: dispatched(1) + dispatched("a"),
    "sorted": lambda: sorted([(2, 1), (1, 2)], key=lambda p: p[0])[0][1] + max([1, 2], key=abs),
    "containers": lambda: len({"a": 1} | {"b": 2}) + [3, 1, 2].index(1) + len({1} | {2}),
    "list methods": lambda: sum([x for x in [1, 2, 3] if not [x].append(1) and x > 1]),  # type: ignore[func-returns-value]
    "text": lambda: len(" a,b ".strip().upper().split(",")) + len(f"{3.14159:.2f}") + len("a".join("xyz")),
    "bytes": lambda: int.from_bytes((3).to_bytes(2, "little"), "little") + len(bytes(3).hex()),
    "re": lambda: int(pattern.findall("a12")[0]) + len(re.sub("a", "bb", "aa")) + int(re.match("(1)", "1")[1]),  # type: ignore[index]
    "json": lambda: len(json.dumps({"a": [1, 2.5]})) + json.loads("[1]")[0],
    "struct": lambda: struct.unpack("<i", struct.pack("<i", 7))[0] + struct.calcsize("d"),
    "copies": lambda: len(copy.copy([1])) + len(copy.deepcopy({"a": [1]})["a"]),
    "dataclass": lambda: Point(1.0).y + dataclasses.replace(Point(1.0), x=4.0).x + len(dataclasses.asdict(Point(1.0))),
    "Counter": lambda: collections.Counter("aab")["a"] + collections.Counter("aab").most_common(1)[0][1],
    "deque": lambda: collections.deque([1, 2], maxlen=2).popleft(),
    "defaultdict": lambda: len(collections.defaultdict(list, a=[1])["b"]),
    "OrderedDict": lambda: next(iter(collections.OrderedDict(a=1).values())),
    "namedtuple": lambda: Pair(1, 2)._replace(a=3).a,
    "date": lambda: (datetime.date(2020, 1, 2) - datetime.date(2020, 1, 1)).days + datetime.timedelta(days=1).days,
    "Decimal": lambda: float(decimal.Decimal("0.1") + decimal.Decimal(1).quantize(decimal.Decimal("0.1"))),
    "Fraction": lambda: float(fractions.Fraction(1, 3) + 1),
    "hash": lambda: len(hashlib.sha256(b"a").hexdigest()) + zlib.crc32(b"a") % 7,
    "base64": lambda: len(base64.b64encode(b"abc")),
    "bisect": lambda: bisect.bisect([1, 2, 3], 2),
    "heap": lambda: heapq.nsmallest(1, [3, 1, 2])[0] + heapq.heappop([1, 2]),
    "statistics": lambda: statistics.mean([1, 2, 3]) + statistics.median([1, 5, 2]),
    "template": lambda: len(string.Template("$a").substitute(a="bc")) + len(textwrap.dedent("  a")),
    "enum": lambda: Colour.RED.value + Colour["BLUE"].value + len(Colour),
    "lock": lambda: locked(lock) + locked(rlock),
    "contextlib": lambda: suppressed() + stacked(),
    "garbage": lambda: min(gc.collect(), 0),
    "logging": lambda: len([logger.debug("quiet"), logger.isEnabledFor(logging.DEBUG)]),
    "typing": lambda: typing.cast(float, 2.0) + len(typing.get_args(list[int])),
    "isinstance": lambda: float(isinstance([], collections.abc.Sequence)) + issubclass(bool, int),
    "signature": lambda: len(inspect.signature(dispatched).parameters),
    "namespace": lambda: types.SimpleNamespace(a=2).a,
    "path": lambda: len(pathlib.PurePath("a") .joinpath("b").parts),
    "UUID": lambda: uuid.UUID(int=7).int,
    "pickle": lambda: pickle.loads(pickle.dumps([1, 2]))[1],
    "weakref": lambda: weakref.ref(Colour)().RED.value,  # type: ignore[misc]
    "numpy": lambda: float(np.sqrt(4.0) + np.prod((2, 3)) + np.arange(3).sum() + np.float32(1) + np.pi),
    "getattr": lambda: getattr(math, "pi") + hasattr(math, "tau") + callable(len),  # noqa: B009
    "conversions": lambda: int("3") + float("2.5") + len(str(3)) + len(repr([1])) + round(2.7) + divmod(7, 2)[0],
    "generator": lambda: next(x for x in range(3) if x) + sum(x for x in range(4)),
    "exceptions": lambda: raised(),
    "sizes": lambda: sys.getsizeof(0) // 100 + sys.maxsize % 2 + len(sys.intern("a")),
}  # fmt: skip


def raised() -> int:
    try:
        raise ValueError("a").with_traceback(None)
    except ValueError as e:
        return len(e.args)


@pytest.mark.parametrize("name", IDIOMS)
def test_idioms_that_compile(name: str) -> None:
    """What Python computes with its own library needs no ops, and a replay leaves it out."""
    idiom = IDIOMS[name]

    def f(x: Any) -> Any:
        return x * idiom()

    compiled = weft.compile(f)
    for _ in range(4):
        assert weft.equal(compiled(ONE), f(ONE))
    assert not compiled.reasons
    assert runs(compiled) == 2
