"""Every public callable of weft by name, and what its parameters are called and take.

Names are found by walking the package; only what must not run in a fuzzer is listed, with a reason.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import types
from typing import Any

import weft
from weft.quantization.tensor import QuantizedTensor

# Modules whose callables do something to the world besides computing.
DENIED_MODULES = {
    "weft.compat": "runs programs",
    "weft.cuda": "asks for devices that are not there",
    "weft.distributed": "starts processes and waits for others",
    "weft.utils.gallery": "trains for minutes",
    "weft.hub": "reads from the network",
    "weft.jit": "keeps compiled code in files; has a fuzzer of its own",
    "weft.multiprocessing": "starts processes",
    "weft.serialization": "writes files; has a fuzzer of its own",
    "weft.text": "reads files and the network",
    "weft.train": "trains, writes files and draws on the terminal",
    "weft.utils.tensorboard": "writes files",
    "weft.utils.collect_env": "runs programs",
    "weft.utils.cpp_extension": "runs compilers",
    "weft.utils.data": "starts processes",
    "weft.utils.download": "reads from the network and writes files",
    "weft.vision": "reads files and the network",
    "weft.audio": "reads files",
    "weft.view": "opens a page in a browser",
    "weft.__main__": "is the command line",
    "weft.version": "is data",
    "weft.testing": "raises AssertionError by design",
}
# Parts of names, for the same reason.
DENIED = {
    "save": "writes files",
    "load": "reads files",
    "from_file": "maps files",
    "compile": "is not about one call; has a fuzzer of its own",
    "export": "writes files",
    "fork": "starts threads",
    "set_num": "starts threads",
    "set_default": "changes what later cases mean",
    "set_printoptions": "changes what later cases mean",
    "set_flush": "changes what later cases mean",
    "set_warn": "changes what later cases mean",
    "set_deterministic": "changes what later cases mean",
    "use_deterministic": "changes what later cases mean",
    "set_grad_enabled": "changes what later cases mean",
    "set_detect_anomaly": "changes what later cases mean",
    "set_multithreading": "changes what later cases mean",
    "set_float32_matmul": "changes what later cases mean",
    "set_autocast": "changes what later cases mean",
    "set_rng_state": "changes what later cases mean",
    "autocast_": "changes what later cases mean",
    "_fail_allocation": "makes later cases fail",
    "breakpoint": "waits for a person",
    "profile": "writes files",
}
SKIPPED_TYPES = (types.ModuleType,)


def _denied(module: str, name: str) -> bool:
    if any(module == m or module.startswith(m + ".") for m in DENIED_MODULES):
        return True
    return name.startswith("_") or any(part in name.lower() for part in DENIED)


def _modules() -> list[types.ModuleType]:
    found = [weft]
    for info in pkgutil.walk_packages(weft.__path__, "weft.", onerror=lambda name: None):
        parts = info.name.split(".")
        if any(p.startswith("_") for p in parts) or _denied(info.name, "x"):
            continue
        try:
            found.append(importlib.import_module(info.name))
        except ImportError:  # needs a package that is not installed
            continue
    return found


@functools.cache
def targets() -> dict[str, Any]:
    """All callables: functions by module, methods of tensors, classes."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for module in _modules():
        for name in sorted(set(dir(module)) | set(getattr(module, "__all__", ()))):
            value = getattr(module, name, None)
            if not callable(value) or isinstance(value, SKIPPED_TYPES) or _denied("", name):
                continue
            home = getattr(value, "__module__", None) or module.__name__
            if not home.startswith("weft") or _denied(home, "x") or id(value) in seen:
                continue
            if isinstance(value, type) and issubclass(value, (BaseException, type)):
                continue
            seen.add(id(value))
            found[f"{module.__name__}.{name}"] = value
    for kind in (weft.Tensor, QuantizedTensor):
        for name in sorted(dir(kind)):
            value = getattr(kind, name, None)
            special = name.startswith("__") and name not in _OPERATORS
            if callable(value) and not special and not _denied("", name.strip("_")):
                found[f"{kind.__name__}.{name}"] = value
    return found


_OPERATORS = {
    f"__{n}__"
    for n in (
        "add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv mod rmod pow "
        "rpow ipow matmul rmatmul and or xor invert neg abs lt le gt ge eq ne getitem setitem len iter bool "
        "int float complex index contains lshift rshift format repr array deepcopy"
    ).split()
}


class Parameter:
    """A parameter: its name, a word for its type ("" if unknown), whether it may be left out."""

    def __init__(self, name: str, kind: str, optional: bool, keyword: bool) -> None:
        self.name, self.kind, self.optional, self.keyword = name, kind, optional, keyword


def _of_text(text: str) -> list[Parameter]:
    """The parameters of a signature such as `sum.dim(Tensor input, int[] dim, *, bool keepdim=False)`."""
    inside = text[text.index("(") + 1 : text.rindex(") ->")]
    found, keyword = [], False
    for part in re.split(r", (?![^\[]*\])", inside):
        if part == "*":
            keyword = True
        elif part:
            kind, _, rest = part.partition(" ")
            name, equals, _ = rest.partition("=")
            found.append(Parameter(name, kind, bool(equals) or kind.endswith("?"), keyword))
    return found


def _of_python(value: Any) -> list[Parameter]:
    found = []
    for p in inspect.signature(value).parameters.values():
        if p.kind is p.VAR_KEYWORD or p.name == "self":
            continue
        kind = str(p.annotation) if p.annotation is not p.empty else ""
        optional = p.default is not p.empty or p.kind is p.VAR_POSITIONAL
        found.append(Parameter(p.name, kind, optional, p.kind is p.KEYWORD_ONLY))
    return found


@functools.cache
def overloads(name: str) -> list[list[Parameter]]:
    """The parameters of each way to call a target; empty if nothing is known."""
    value = targets()[name]
    doc = getattr(value, "__doc__", None)
    lines = doc.split("\n\n")[0].splitlines() if isinstance(doc, str) else []
    texts = [line for line in lines if re.match(r"^[\w.]+\(.*\) -> ", line)]
    try:
        ways = [_of_text(t) for t in texts] if texts else [_of_python(value)]
    except (TypeError, ValueError):
        return []
    if name.startswith("Tensor.") and texts:
        ways = [w[1:] if w and w[0].kind.startswith("Tensor") else w for w in ways]
    return ways
