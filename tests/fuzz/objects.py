"""Python objects that raise, lie, recurse and change things while weft reads them.

A case is a call and a tree of data: nested containers, arrays, buffers, tensors and hostile objects,
whose methods act before they answer. Where nothing in it is hostile and it is all numbers, the result
of ``weft.tensor`` is compared with what plain Python makes of it. Otherwise any exception will do,
except those that tell of a broken interpreter, and weft must work as before afterwards.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import weft

_F = weft.nn.functional

# ---- the calls ------------------------------------------------------------------------------------


def _hooked(x: Any, a: Any) -> Any:
    leaf = weft.ones(3, requires_grad=True)
    y = leaf.neg()
    y.register_hook(lambda g: a)
    y.sum().backward()
    return leaf.grad


def _node_hooked(x: Any, a: Any) -> Any:
    leaf = weft.ones(3, requires_grad=True)
    y = leaf.neg()
    y.grad_fn.register_hook(lambda given, grads: a)
    y.sum().backward()
    return leaf.grad


def _custom(x: Any, a: Any) -> Any:
    class Own(weft.autograd.Function):
        @staticmethod
        def forward(ctx: Any, t: Any) -> Any:
            return t * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return a

    leaf = weft.ones(3, requires_grad=True)
    Own.apply(leaf).sum().backward()
    return leaf.grad


def _put(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


_CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "tensor": lambda x, a, b: weft.tensor(a),
    "tensor of a dtype": lambda x, a, b: weft.tensor(a, dtype=weft.int32),
    "as_tensor": lambda x, a, b: weft.as_tensor(a),
    "asarray": lambda x, a, b: weft.asarray(a),
    "asarray, copied": lambda x, a, b: weft.asarray(a, copy=True),
    "Tensor": lambda x, a, b: weft.Tensor(a),
    "new_tensor": lambda x, a, b: x.new_tensor(a),
    "from_numpy": lambda x, a, b: weft.from_numpy(a),
    "frombuffer": lambda x, a, b: weft.frombuffer(a, dtype=weft.float32),
    "from_dlpack": lambda x, a, b: weft.from_dlpack(a),
    "get": lambda x, a, b: x[a],
    "get, several": lambda x, a, b: x[a, b],
    "set": lambda x, a, b: _put(x, a, 1.0),
    "set from": lambda x, a, b: _put(x, 0, a),
    "set both": lambda x, a, b: _put(x, a, b),
    "slice": lambda x, a, b: x[a:b],
    "index_put": lambda x, a, b: x.index_put((a,), b),
    "index": lambda x, a, b: x.index_select(0, a),
    "cat": lambda x, a, b: weft.cat(a),
    "cat with": lambda x, a, b: weft.cat([x, a]),
    "stack": lambda x, a, b: weft.stack(a),
    "stack at": lambda x, a, b: weft.stack([x, x], a),
    "view": lambda x, a, b: x.view(a),
    "reshape": lambda x, a, b: x.reshape(a, b),
    "permute": lambda x, a, b: x.permute(a),
    "expand": lambda x, a, b: x.expand(a),
    "zeros": lambda x, a, b: weft.zeros(a),
    "full": lambda x, a, b: weft.full((2,), a),
    "sum": lambda x, a, b: x.sum(a),
    "split": lambda x, a, b: x.split(a),
    "pad": lambda x, a, b: _F.pad(x, a),
    "add": lambda x, a, b: x + a,
    "radd": lambda x, a, b: a + x,
    "compare": lambda x, a, b: x == a,
    "matmul": lambda x, a, b: x @ a,
    "where": lambda x, a, b: weft.where(x > 0, a, b),
    "clamp": lambda x, a, b: x.clamp(a, b),
    "masked_fill": lambda x, a, b: x.masked_fill(x > 0, a),
    "einsum": lambda x, a, b: weft.einsum("ij,jk", a, b),
    "meshgrid": lambda x, a, b: weft.meshgrid(a),
    "interpolate": lambda x, a, b: _F.interpolate(x[None, None], a),
    "one_hot": lambda x, a, b: _F.one_hot(a),
    "set_": lambda x, a, b: x.set_(a),
    "resize_": lambda x, a, b: x.resize_(a),
    "hook": lambda x, a, b: _hooked(x, a),
    "node hook": lambda x, a, b: _node_hooked(x, a),
    "Function": lambda x, a, b: _custom(x, a),
    "grad": lambda x, a, b: weft.autograd.grad(x.requires_grad_().sum(), a, b),
    "backward": lambda x, a, b: (x.requires_grad_() * 2).backward(a),
    "load_state_dict": lambda x, a, b: weft.nn.Linear(2, 2).load_state_dict(a),
    "optimizer": lambda x, a, b: weft.optim.SGD(a, lr=0.1),
    "Sequential": lambda x, a, b: weft.nn.Sequential(weft.nn.ReLU(), a)(x),
    "compiled": lambda x, a, b: weft.compile(lambda t, s: t * 2)(x, a),
    "module": lambda x, a, b: weft.nn.Linear(3, 2)(a),
    "dataclass of a loader": lambda x, a, b: weft.utils.data.default_collate([a, b]),
}

_OFTEN = ("tensor", "as_tensor", "get", "set", "view", "zeros", "index_put") * 3

# ---- hostile objects --------------------------------------------------------------------------------

_METHODS = (
    *("__len__", "__getitem__", "__iter__", "__index__", "__int__", "__float__", "__bool__"),
    *("__complex__", "__array__", "__array_interface__", "__dlpack__", "__eq__", "__hash__"),
    *("item", "tolist", "dtype", "shape", "__class__", "__contains__", "detach", "__radd__"),
)
_ACTS = (
    *(
        "nothing",
        "clear",
        "grow",
        "shrink",
        "nest",
        "contain itself",
        "replace",
        "collect",
        "compute",
    ),
    *("read again", "resize", "drop"),
)
_ANSWERS = ("usual", "raise", "self", "other type", "huge", "negative", "none", "interrupt")
_ERRORS = (ValueError, TypeError, IndexError, KeyError, RuntimeError, OverflowError, StopIteration)
_OTHER = ("text", b"bytes", None, 1.5, 7, [1.0], (), {}, object, 2**70, -(2**63), float("nan"), 1j)
_MOST_ACTS = 30  # of a case: what grows stays small


class _World:
    """What hostile objects act on: the containers of the case by number, a tensor, and a count."""

    def __init__(self) -> None:
        self.containers: dict[int, Any] = {}
        self.x = weft.arange(12.0).reshape(3, 4)
        self.acts = 0

    def act(self, kind: str, target: int) -> None:
        self.acts += 1
        at = self.containers.get(target)
        if self.acts > _MOST_ACTS or kind == "nothing":
            return
        if kind == "collect":
            gc.collect()
        elif kind == "compute":
            ((weft.ones(8, 8, requires_grad=True) @ weft.ones(8, 8)).sum()).backward()
        elif kind == "resize":
            self.x.resize_(self.acts % 3, 2)
        elif kind == "drop":
            self.containers.clear()
        elif isinstance(at, list):
            self._change(kind, at)
        elif isinstance(at, dict) and kind in ("clear", "grow"):
            at.clear() if kind == "clear" else at.update({i: i for i in range(50)})

    def _change(self, kind: str, at: list[Any]) -> None:
        if kind == "clear":
            at.clear()
        elif kind == "grow":
            at.extend([1.0] * 100)
        elif kind == "shrink":
            del at[len(at) // 2 :]
        elif kind == "nest":
            at[:] = [[1.0, 2.0]] * len(at)
        elif kind == "contain itself":
            at[:] = [at] * len(at)
        elif kind == "replace":
            at[:] = [object() for _ in at]
        elif kind == "read again":
            with contextlib.suppress(Exception):
                weft.tensor(at)


def _answer(self: Any, name: str, how: str, value: Any, i: Any) -> Any:
    """What a method of a hostile object returns."""
    if name == "__getitem__" and isinstance(i, int) and i >= 5:
        raise IndexError(i)  # or list() would never end
    if how == "raise":
        raise _ERRORS[len(name) % len(_ERRORS)](name)
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "self":
        return self
    if how == "none":
        return None
    if how == "other type":
        return _OTHER[(len(name) + value) % len(_OTHER)]
    if how == "huge":
        return 6 if name == "__len__" else 2**62
    if how == "negative":
        return -1
    usual = {
        "__len__": 3, "__index__": value, "__int__": value, "__float__": float(value), "item": value,
        "__bool__": True, "__complex__": complex(value), "tolist": [1.0, 2.0], "__hash__": 5,
        "__eq__": True, "dtype": np.dtype("float32"), "shape": (3,), "__class__": float,
        "__contains__": True, "detach": self, "__radd__": 1,
    }  # fmt: skip
    if name in usual:
        return usual[name]
    if name == "__iter__":
        return iter([1.0, 2.0, 3.0])
    if name == "__array__":
        return np.ones(3, np.float32)
    if name == "__dlpack__":
        return weft.ones(3).__dlpack__()
    if name == "__array_interface__":
        return {"shape": (value,), "typestr": "<f4", "data": b"\0" * 4 * abs(value), "version": 3}
    return 1.0  # __getitem__


def _hostile(world: _World, spec: dict[str, Any]) -> Any:
    """An object whose methods act and then answer, each in its way."""

    def method(name: str, how: list[Any]) -> Any:
        def f(self: Any, *args: Any, **kwargs: Any) -> Any:
            world.act(how[0], how[2])
            return _answer(self, name, how[1], how[3], args[0] if args else None)

        attribute = name in ("dtype", "shape", "__array_interface__", "__class__")
        return property(f) if attribute else f

    members = {name: method(name, how) for name, how in spec["methods"].items()}
    bases = {"object": (), "list": (list,), "tuple": (tuple,), "float": (float,), "int": (int,)}
    base: tuple[type, ...] = bases[spec["base"]]
    made = type("Hostile", base, members)
    return made([1.0, 2.0]) if spec["base"] in ("list", "tuple") else made()


# ---- the tree ----------------------------------------------------------------------------------------

_NUMBERS = (0, 1, 2, -1, 3, 0.5, -2.5, True, False, 7, 1.5, 255)
_ARRAYS: dict[str, Callable[[], Any]] = {
    "float": lambda: np.arange(3.0, dtype=np.float32),
    "matrix": lambda: np.arange(6.0).reshape(2, 3),
    "whole": lambda: np.array([0, 1, 2]),
    "unsigned": lambda: np.array([0, 1], np.uint16),
    "truth": lambda: np.array([True, False, True]),
    "none": lambda: np.zeros((0, 3), np.float32),
    "scalar": lambda: np.float32(2.5),
    "0-d": lambda: np.array(1),
    "reversed": lambda: np.arange(4.0)[::-1],
    "stepped": lambda: np.arange(8.0)[::2],
    "big endian": lambda: np.arange(3, dtype=">i4"),
    "objects": lambda: np.array([1, "a", None], object),
    "records": lambda: np.zeros(2, [("a", "f4"), ("b", "i8")]),
    "text": lambda: np.array(["a", "b"]),
    "dates": lambda: np.array(["2020-01-01"], "datetime64[D]"),
    "read-only": lambda: np.broadcast_to(np.float32(1), (3,)),
    "deep": lambda: np.zeros([1] * 32, np.float32),
    "unaligned": lambda: np.frombuffer(b"\0" * 13, np.uint8)[1:].view(np.float32),
}
_BUFFERS: dict[str, Callable[[], Any]] = {
    "bytes": lambda: b"\0" * 12,
    "bytearray": lambda: bytearray(12),
    "array": lambda: array.array("d", [1.0, 2.0]),
    "memoryview": lambda: memoryview(bytearray(12)).cast("f"),
    "stepped view": lambda: memoryview(bytearray(12))[::2],
    "reversed view": lambda: memoryview(bytearray(12))[::-1],
    "2-d view": lambda: memoryview(bytearray(12)).cast("B", (3, 4)),
    "released view": lambda: _released(),
    "c array": lambda: (ctypes.c_float * 3)(),
    "c structure": lambda: (ctypes.c_char * 3)(),
    "capsule": lambda: weft.ones(3).__dlpack__(),
    "used capsule": lambda: _used(),
}
_TENSORS: dict[str, Callable[[], Any]] = {
    "vector": lambda: weft.arange(3.0),
    "scalar": lambda: weft.tensor(1),
    "whole": lambda: weft.tensor([0, 1]),
    "mask": lambda: weft.tensor([True, False, True]),
    "matrix": lambda: weft.ones(3, 4, requires_grad=True),
    "none": lambda: weft.zeros(0),
    "one": lambda: weft.tensor([[2.0]]),
    "complex": lambda: weft.tensor([1j]),
    "sparse": lambda: weft.eye(3).to_sparse(),
    "expanded": lambda: weft.ones(1).expand(3),
}


def _released() -> memoryview:
    view = memoryview(bytearray(4))
    view.release()
    return view


def _used() -> Any:
    capsule = weft.ones(3).__dlpack__()
    weft.from_dlpack(capsule)
    return capsule


def _methods(rng: random.Random) -> dict[str, Any]:
    names = rng.sample(_METHODS, rng.choice((1, 1, 2, 2, 3, 5)))
    if rng.random() < 0.5:  # as NumPy's scalars, which have no length
        names = [*(n for n in names if n != "__len__"), "item", "dtype"]
    if rng.random() < 0.3:
        names.append("__index__")
    weights = (12, 1, 1, 1, 1, 1, 1, 0.2)
    return {
        name: [
            "nothing" if name == "dtype" else rng.choice(_ACTS), rng.choices(_ANSWERS, weights)[0],
            rng.choice((0, 0, 0, 1, 1, 2, 3)), rng.choice((0, 1, 2)),
        ]
        for name in names
    }  # fmt: skip


def _tree(rng: random.Random, depth: int, count: list[int]) -> Any:
    kind = rng.random()
    if depth < 3 and (kind < 0.45 or (depth == 0 and kind < 0.7)):
        count[0] += 1
        number = count[0] - 1
        parts = [_tree(rng, depth + 1, count) for _ in range(rng.choice((0, 1, 2, 2, 3, 3, 4)))]
        what = rng.choices(("list", "tuple", "dict", "set", "range"), (8, 3, 1, 0.2, 0.2))[0]
        return {what: parts, "number": number}
    if kind < 0.6:
        return {"hostile": {"methods": _methods(rng), "base": rng.choices(
            ("object", "list", "tuple", "float", "int"), (8, 1, 1, 1, 1))[0]}}  # fmt: skip
    if kind < 0.64:
        return {"ref": rng.randrange(4)}
    for name, pool, end in (
        ("array", _ARRAYS, 0.7), ("buffer", _BUFFERS, 0.74), ("tensor", _TENSORS, 0.82),
    ):  # fmt: skip
        if kind < end:
            return {name: rng.choice(sorted(pool))}
    if kind < 0.84:
        return {"other": rng.randrange(len(_OTHER))}
    return rng.choice(_NUMBERS)


def _build(world: _World, tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    if "hostile" in tree:
        return _hostile(world, tree["hostile"])
    if "ref" in tree:
        return world.containers.get(tree["ref"], 1.0)
    if "array" in tree:
        return _ARRAYS[tree["array"]]()
    if "buffer" in tree:
        return _BUFFERS[tree["buffer"]]()
    if "tensor" in tree:
        return _TENSORS[tree["tensor"]]()
    if "other" in tree:
        return _OTHER[tree["other"] % len(_OTHER)]
    (what,) = [k for k in tree if k != "number"]
    parts = tree[what]
    if what == "list":
        made = world.containers[
            tree["number"]
        ] = []  # known before its items, which may refer to it
        made.extend(_build(world, p) for p in parts)
        return made
    items = [_build(world, p) for p in parts]
    if what == "range":
        return range(len(items))
    if what == "set":
        return {i for i, _ in enumerate(items)}
    if what == "dict":
        world.containers[tree["number"]] = table = {f"k{i}": v for i, v in enumerate(items)}
        return table
    return tuple(items)


# ---- what it should be --------------------------------------------------------------------------------


def _shape(tree: Any) -> tuple[int, ...] | None:
    """The shape of nested lists and tuples of numbers; None if they are none."""
    if isinstance(tree, (bool, int, float)):
        return ()
    if not isinstance(tree, dict) or not ({"list", "tuple"} & tree.keys()):
        return None
    parts = tree.get("list", tree.get("tuple"))
    shapes = {_shape(p) for p in parts}
    if len(shapes) > 1 or None in shapes:
        return None
    return (len(parts), *(shapes.pop() or ())) if shapes else (0,)


def _flat(tree: Any) -> Iterator[float]:
    if not isinstance(tree, dict):
        yield float(tree)
        return
    for part in tree.get("list", tree.get("tuple")):
        yield from _flat(part)


def generate(rng: random.Random) -> Any:
    """A call with two trees of data."""
    count = [0]
    return {
        "call": rng.choice((*sorted(_CALLS), *_OFTEN)),
        "a": _tree(rng, 0, count),
        "b": _tree(rng, rng.choice((0, 1, 3)), count),
    }


def check(case: Any) -> None:
    """Make the call; what comes of it is whole, and weft works afterwards."""
    world = _World()
    a, b = _build(world, case["a"]), _build(world, case["b"])
    world.acts = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = _CALLS[case["call"]](world.x, a, b)
            _look(result)
    except SystemError as e:
        raise AssertionError(f"SystemError: {e}") from None
    except (Exception, KeyboardInterrupt):
        result = None
    else:
        shape = _shape(case["a"])
        if case["call"] in ("tensor", "as_tensor", "asarray") and shape is not None:
            assert tuple(result.shape) == shape, f"shape {tuple(result.shape)}, not {shape}"
            assert result.double().flatten().tolist() == list(_flat(case["a"])), "other numbers"
    _look(world.x)
    assert weft.tensor([[1.0, 2.0], [3.0, 4.0]]).sum().item() == 10


def _look(x: Any, depth: int = 0) -> None:
    """Read all elements of a result: those that lie outside of its memory would be seen."""
    if isinstance(x, weft.Tensor):
        if x.numel() <= 1 << 16:
            x.detach().to_dense().clone().sum().item()
    elif isinstance(x, (list, tuple)) and depth < 3:
        for part in x[:20]:
            _look(part, depth + 1)
