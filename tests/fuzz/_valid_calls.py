"""Calls that succeed, as data, by target: those of the examples in docstrings and of samples.py.

Examples run with every call noted: of functions, of methods of tensors, of classes, and of what the
classes made. A call with an argument that is no data (a module, a function) is left out.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import functools
import gc
import io
import random
import warnings
from typing import Any

import numpy as np
from fuzz._targets import targets
from robustness import boundary

import weft

Call = dict[str, Any]  # {"args": [...], "kwargs": {...}, "then": [...]}
MOST = 8  # of a target


class _Notes(ast.NodeTransformer):
    """Writes ``_call(f, ...)`` for ``f(...)``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals"):
            return node
        name = ast.copy_location(ast.Name("_call", ast.Load()), node)
        return ast.copy_location(ast.Call(name, [node.func, *node.args], node.keywords), node)


def _is_data(x: Any) -> bool:
    if isinstance(x, weft.Tensor):
        return type(x) is weft.Tensor and x.numel() <= boundary.LARGEST
    if type(x) in (list, tuple):
        return len(x) < 100 and all(map(_is_data, x))
    return type(x) in (bool, int, float, complex, str, type(None), weft.dtype, weft.Size)


class _Collector:
    """Notes the calls that are made of targets."""

    def __init__(self) -> None:
        self.calls: dict[str, list[Call]] = {}
        self.made: dict[int, tuple[Any, Call]] = {}  # objects of classes, and how they were made
        self.names = {id(value): name for name, value in targets().items()}

    def note(self, name: str, args: Any, kwargs: dict[str, Any]) -> Call | None:
        """Keep a call; None if it is no data or known."""
        if name not in targets() or not _is_data(list(args)) or not _is_data([*kwargs.values()]):
            return None
        call: Call = {
            "args": [boundary.encode(a) for a in args],
            "kwargs": {k: boundary.encode(v) for k, v in kwargs.items()},
            "then": [],
        }
        kept = self.calls.setdefault(name, [])
        if len(kept) >= MOST or call in kept:
            return None
        kept.append(call)
        return call

    def call(self, f: Any, *args: Any, **kwargs: Any) -> Any:
        """Make a call, and keep it if it succeeds."""
        before = [boundary.encode(a) if _is_data(a) else None for a in args]
        result = f(*args, **kwargs)
        owner = getattr(f, "__self__", None)
        if id(f) in self.names:
            kept = self.note(self.names[id(f)], args, kwargs)
            if kept is not None and isinstance(f, type):
                self.made[id(result)] = result, kept
            if kept is not None and len(before) == len(kept["args"]):
                kept["args"] = before  # as they were: the call may have changed them
        elif isinstance(owner, weft.Tensor):
            self.note(f"Tensor.{getattr(f, '__name__', '')}", (owner, *args), kwargs)
        elif id(f) in self.made and not kwargs and all(map(_is_data, args)):
            self.made[id(f)][1]["then"] = before
        return result


def _run_example(doc: str, place: dict[str, Any]) -> None:
    """Run the example of a docstring; what it prints, and whether it ends, does not matter."""
    for example in doctest.DocTestParser().get_examples(doc):
        if example.exc_msg is None:
            tree = ast.fix_missing_locations(_Notes().visit(ast.parse(example.source)))
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(tree, "<an example>", "exec"), place)


def _of_samples(collector: _Collector) -> None:
    import samples
    from helpers import cast, lift, resolve

    for name, row in sorted(samples.ROWS.items()):
        f = resolve(weft, name)
        for sample in row.samples()[:4] if f else ():
            dtype = "float32" if "f" in row.dtypes else "int64"
            lifted = lift(weft, cast(sample, dtype), dtype)
            with contextlib.suppress(Exception):
                collector.call(f, *lifted.args, **lifted.kwargs)


def valid_calls(target: str) -> list[Call]:
    """Calls of a target that succeed, or that do for one of the same name: add, Tensor.add_."""
    if own := _noted().get(target):
        return own
    return [] if isinstance(targets()[target], type) else _by_last_name().get(_last(target), [])


def _last(target: str) -> str:
    name = target.rpartition(".")[2].strip("_")
    return name[1:] if name[1:] in _SWAPPED else name


_SWAPPED = {"add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"}  # radd, iadd


@functools.cache
def _by_last_name() -> dict[str, list[Call]]:
    found: dict[str, list[Call]] = {}
    for name, calls in sorted(_noted().items()):
        if not isinstance(targets()[name], type):
            found.setdefault(_last(name), []).extend(calls)
    return found


@functools.cache
def _noted() -> dict[str, list[Call]]:
    """Calls that succeed, up to eight of each target that any is known of."""
    collector = _Collector()
    state = weft.get_rng_state(), random.getstate(), np.random.get_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _of_samples(collector)
        for _, value in sorted(targets().items()):
            doc = getattr(value, "__doc__", None)
            if isinstance(doc, str) and ">>>" in doc:
                weft.manual_seed(0)
                place = {"weft": weft, "_call": collector.call}
                with contextlib.suppress(Exception):
                    _run_example(doc, place)
                collector.made.clear()
    weft.set_rng_state(state[0])
    random.setstate(state[1])
    np.random.set_state(state[2])
    gc.collect()
    return collector.calls
