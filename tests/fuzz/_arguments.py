"""Arguments that a fuzzer describes in JSON's types, and makes when a case runs.

A description is a plain value, or a list of a word and what it needs: ``["tensor", shape, dtype, layout, fill,
requires_grad]``, ``["list", ...]``, ``["object", name]``, ``["same", i]`` (argument number i once more). One of a
known call is ``{"call": ..., "seed": ..., "grad": ...}``, with boundary.py's description in it.
"""

from __future__ import annotations

import math
import random
from typing import Any

from robustness import boundary

import weft

DTYPES = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split()
LAYOUTS = ("plain", "transposed", "stepped", "offset", "expanded", "channels_last")
SAME_ELEMENTS = ("plain", "transposed", "stepped", "offset", "channels_last")  # of these layouts
OTHER_LAYOUTS = ("sparse", "csr", "csc", "read_only", "parameter", "quantized", "by channel")
FILLS = ("small", "whole", "unit", "zero", "one", "nan", "infinite", "huge", "tiny", "negative")
SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (0,),
    (1,),
    (2,),
    (3,),
    (5,),
    (2, 3),
    (3, 3),
    (4, 4),
    (0, 3),
    (3, 0),
    (1, 1),
    (2, 3, 4),
    (1, 3, 8),
    (2, 4, 4, 4),
    (1, 2, 5, 5),
    (1, 1, 4, 4, 4),
    (1, 2, 1, 2, 1, 2),
    (17,),
    (64,),
    (7, 9),
)
RARE_SHAPES = ((1,) * 64, (2,) + (1,) * 63, (1,) * 65, (0,) * 6, (300, 1), (70000,), (1, 70, 0))
EDGES = (-1, 0, 1, 2, 3, -2, 5, 7, 64, 65, 127, 255, 256, -129)
HUGE = tuple(
    s * n + d
    for n in (2**31, 2**32, 2**40, 2**53, 2**56, 2**62, 2**63)
    for d in (-1, 0, 1)
    for s in (1, -1)
)
REALS = (0.0, -0.0, 0.5, 1.0, -1.5, 2.5, 1e-300, 1e300, 1e-8, 3.0, 1e19, -1e19)
WORDS = (
    "mean",
    "sum",
    "none",
    "reflect",
    "replicate",
    "circular",
    "constant",
    "zeros",
    "same",
    "valid",
    "nearest",
    "bilinear",
    "linear",
    "area",
    "bicubic",
    "trilinear",
    "border",
    "fro",
    "nuc",
    "floor",
    "trunc",
    "left",
    "right",
    "ij",
    "xy",
    "prod",
    "amax",
    "amin",
    "tanh",
    "relu",
    "gelu",
    "i,i->",
    "ij,jk->ik",
    "...",
    "",
    "\0",
    "ä" * 1000,
    "backward",
    "ortho",
    "forward",
    "lower",
    "complete",
    "reduced",
    "r",
    "cpu",
    "cuda",
    "sobol",
    "linear_congruential",
    "max",
)


# ---- objects that mean harm ---------------------------------------------------------------------


class Raises:
    """Raises whatever it is asked for."""

    def _no(self, *args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError("asked")

    __index__ = __float__ = __int__ = __len__ = __getitem__ = __iter__ = __bool__ = item = _no
    __array__ = __eq__ = __complex__ = tolist = _no
    __hash__ = object.__hash__


class Lies:
    """Is longer than what it holds, and of another type each time."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, i: int) -> int:
        if i > 0:
            raise IndexError
        return 2

    def __index__(self) -> int:
        return 2**70

    def __float__(self) -> float:
        return math.nan


class Mutates:
    """Changes the list that it is in when it is read."""

    def __init__(self, holder: list[Any]) -> None:
        self.holder = holder

    def __index__(self) -> int:
        self.holder.clear()
        return 1

    def __float__(self) -> float:
        self.holder.extend([1.0] * 1000)
        return 1.0

    def item(self) -> float:
        self.holder.clear()
        return 1.0


class Endless:
    """A sequence without an end."""

    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, i: int) -> Any:
        return self


def _object(name: str) -> Any:
    if name == "mutates":
        held: list[Any] = [1, 2]
        held[1:] = [Mutates(held), 3, 4]
        return held
    if name == "cycle":
        own: list[Any] = [1]
        own.append(own)
        return own
    made = {
        "raises": Raises,
        "lies": Lies,
        "endless": Endless,
        "bytes": lambda: b"\xff\x00",
        "set": lambda: {1, 2},
        "function": lambda: lambda *a, **k: a[0] if a else None,
        "generator": weft.Generator,
        "type": lambda: int,
        "module": lambda: weft.nn.Linear(3, 2),
        "slice": lambda: slice(None, None, 2),
        "ellipsis": lambda: ...,
        "range": lambda: range(3),
        "dict": lambda: {"a": weft.ones(2)},
        "size": lambda: weft.Size([2, 3]),
        "backwards": lambda: slice(3, None, -1),
        "far": lambda: slice(-(2**63), 2**63 - 1, 2**62),
        "complex": lambda: 1 + 2j,
    }
    return made[name]()


OBJECTS = (
    "raises lies endless mutates cycle bytes set function generator type module slice ellipsis range dict size "
    "backwards far complex"
).split()


# ---- descriptions to values ---------------------------------------------------------------------


def _numbers(n: int, fill: str, seed: int) -> list[float]:
    rng = random.Random(seed)
    if fill == "small":
        return [rng.uniform(-2, 2) for _ in range(n)]
    if fill == "whole":
        return [float(rng.randrange(0, 4)) for _ in range(n)]
    if fill == "unit":
        return [rng.uniform(0.05, 0.95) for _ in range(n)]
    if fill == "negative":
        return [float(rng.randrange(-3, 1)) for _ in range(n)]
    odd = {
        "zero": 0.0,
        "one": 1.0,
        "nan": math.nan,
        "infinite": math.inf,
        "huge": 1e30,
        "tiny": 1e-42,
    }[fill]
    return [odd if fill in ("zero", "one") or rng.random() < 0.5 else 1.0 for _ in range(n)]


def _laid_out(t: weft.Tensor, layout: str) -> weft.Tensor:
    """The same elements with other strides, or in another layout."""
    n = t.dim()
    if layout == "transposed" and n >= 2:
        return t.transpose(0, n - 1).contiguous().transpose(0, n - 1)
    if layout == "stepped" and n and t.numel():
        wide = weft.zeros(*t.shape[:-1], 2 * t.shape[-1], dtype=t.dtype)
        wide[..., ::2] = t
        return wide[..., ::2]
    if layout == "offset" and t.numel():
        return weft.cat([weft.zeros(3, dtype=t.dtype), t.reshape(-1)])[3:].view(t.shape)
    if layout == "expanded" and n and t.numel():
        return t.reshape(-1)[:1].expand(t.shape) if t.numel() == 1 else t[:1].expand(t.shape)
    if layout == "channels_last" and n == 4:
        return t.contiguous(memory_format=weft.channels_last)
    if layout == "sparse" and n:
        return t.to_sparse()
    if layout == "csr" and n == 2:
        return t.to_sparse_csr()
    if layout == "csc" and n == 2:
        return t.to_sparse_csc()
    if layout == "read_only" and t.dtype != weft.bfloat16:
        array = t.numpy().copy()
        array.flags.writeable = False
        return weft.as_tensor(array)
    return t


def quantized(t: weft.Tensor, by_channel: bool) -> Any:
    """The same numbers, nearly, as a quantised tensor."""
    if not by_channel or not t.dim():
        return weft.quantize_per_tensor(t, 0.05, 7, weft.qint8)
    scales = weft.full((t.shape[0],), 0.05)
    return weft.quantize_per_channel(t, scales, weft.zeros_like(scales).long(), 0, weft.quint8)


def tensor_of(description: list[Any], layout: str | None = None) -> Any:
    """The tensor that is described; `layout` instead of its own lays the same elements out otherwise."""
    _, shape, dtype, own, fill, grad = description
    kind = getattr(weft, dtype)
    count = math.prod(shape)
    if count > 1 << 18:
        raise ValueError("more elements than a case may have")
    values = _numbers(count, fill, 17 * len(shape) + count)
    if not (kind.is_floating_point or kind.is_complex):
        values = [
            0 if v != v else max(-(2**62), min(2**62, int(max(-1e18, min(1e18, v)))))
            for v in values
        ]  # type: ignore[misc]
        if kind is not weft.int64:
            values = [v % 100 for v in values]
    t = weft.tensor(values, dtype=kind).reshape(shape)
    if own == "expanded":  # the elements are those of the view, however they lie
        t = _laid_out(t, own) if layout is None else _laid_out(t, own).clone()
    t = _laid_out(t, own if layout is None else layout)
    if own in ("quantized", "by channel") and kind.is_floating_point:  # of a class of its own
        return quantized(t.float(), own == "by channel")
    if own == "parameter" and (kind.is_floating_point or kind.is_complex):
        return weft.nn.Parameter(t)
    return t.requires_grad_() if grad and (kind.is_floating_point or kind.is_complex) else t


def value_of(description: Any, made: list[Any], layout: str | None = None) -> Any:
    """What is described; `made` holds the arguments in front of it."""
    if isinstance(description, dict) and "call" in description:
        return _of_call(description, layout)
    if not isinstance(description, list):
        return description
    word = description[0]
    if word == "tensor":
        return tensor_of(description, layout)
    if word in ("list", "tuple"):
        parts = [value_of(d, made, layout) for d in description[1:]]
        return parts if word == "list" else tuple(parts)
    if word == "real":
        return float(description[1])
    if word == "dtype":
        return getattr(weft, description[1])
    if word == "wide":  # a view of one element, as large as can be
        return weft.ones(1).expand(description[1])
    if word == "same":
        return made[description[1]] if description[1] < len(made) else None
    return _object(description[1])


def _of_call(description: dict[str, Any], layout: str | None) -> Any:
    """An argument as boundary.py describes it; its tensors lie as asked, and may want gradients."""

    def finish(x: Any) -> Any:
        if isinstance(x, list):
            return [finish(v) for v in x]
        if not isinstance(x, weft.Tensor) or x.is_sparse:
            return x
        x = x if layout is None else _laid_out(x.clone(), layout)
        floats = x.dtype.is_floating_point or x.dtype.is_complex
        return x.requires_grad_() if description["grad"] and floats else x

    return finish(boundary.decode(description["call"], description["seed"]))


# ---- descriptions at random ---------------------------------------------------------------------


def a_tensor(rng: random.Random, shape: Any = None, dtype: str | None = None) -> list[Any]:
    """A tensor, most of the time one that ops take."""
    if shape is None:
        shape = rng.choice(RARE_SHAPES) if rng.random() < 0.04 else rng.choice(SHAPES)
    if dtype is None:
        dtype = "float32" if rng.random() < 0.6 else rng.choice(DTYPES)
    layout = "plain" if rng.random() < 0.5 else rng.choice(LAYOUTS)
    if rng.random() < 0.08:
        layout = rng.choice(OTHER_LAYOUTS)
    fill = rng.choice(FILLS[:3]) if rng.random() < 0.8 else rng.choice(FILLS)
    return ["tensor", list(shape), dtype, layout, fill, rng.random() < 0.25]


def anything(rng: random.Random, depth: int = 0) -> Any:
    """Something nasty."""
    pick = rng.random()
    if pick < 0.2:
        return rng.choice(EDGES)
    if pick < 0.32:
        return rng.choice(HUGE)
    if pick < 0.4:
        return ["real", rng.choice(["nan", "inf", "-inf", *map(str, REALS)])]
    if pick < 0.46:
        return rng.choice([None, True, False])
    if pick < 0.52:
        return rng.choice(WORDS)
    if pick < 0.56:
        return ["dtype", rng.choice(DTYPES)]
    if pick < 0.6:
        return ["wide", rng.choice([2**20, 2**31, 2**40, 2**56])]
    if pick < 0.68:
        return ["object", rng.choice(OBJECTS)]
    if pick < 0.82 and depth < 2:
        count = rng.choice([0, 1, 2, 2, 3, 4, 70])
        return [rng.choice(["list", "tuple"]), *(anything(rng, depth + 1) for _ in range(count))]
    return a_tensor(rng)


def _few(rng: random.Random, low: int, high: int) -> Any:
    if rng.random() < 0.1:
        return rng.choice(HUGE)
    return rng.randint(low, high)


def _numbers_for(name: str, rng: random.Random) -> Any:
    """An int, or a few of them, as a parameter of that name wants."""
    if "dim" in name or "axis" in name:
        return _few(rng, -3, 3)
    if name in (
        "size",
        "shape",
        "sizes",
        "repeats",
        "output_size",
        "kernel_size",
        "normalized_shape",
        "dims",
        "n",
        "s",
    ):
        return _few(rng, 0, 5)
    if name in (
        "padding",
        "pad",
        "output_padding",
        "offset",
        "diagonal",
        "shifts",
        "start",
        "ignore_index",
    ):
        return _few(rng, -2, 3)
    return _few(rng, 0, 6)


def fitting(name: str, kind: str, rng: random.Random, shape: Any) -> Any:
    """Something that a parameter of that name and type takes, most of the time."""
    plain = kind.replace("?", "").replace("weft.", "")
    if plain.startswith(
        (
            "Tensor[]",
            "Sequence[Tensor",
            "list[Tensor",
            "Iterable[Tensor",
            "TensorList",
            "tuple[Tensor",
        )
    ):
        return ["list", *(a_tensor(rng, shape) for _ in range(rng.randint(1, 3)))]
    if "Tensor" in plain or name in (
        "input",
        "other",
        "x",
        "tensor",
        "target",
        "weight",
        "mat2",
        "value",
    ):
        index = name in ("index", "indices", "target", "labels", "offsets", "lengths")
        same = shape if rng.random() < 0.6 else None
        return a_tensor(rng, same, "int64" if index and rng.random() < 0.8 else None)
    if "bool" in plain:
        return rng.random() < 0.5
    if "int[]" in plain or "int..." in plain or "Sequence[int" in plain or "tuple[int" in plain:
        if rng.random() < 0.3:
            return _numbers_for(name, rng)
        return [
            "list",
            *(_numbers_for(name, rng) for _ in range(rng.choice([0, 1, 2, 2, 3, 4, 6]))),
        ]
    if plain.startswith("int") or "int" in plain.split(" | "):
        return _numbers_for(name, rng)
    if "float" in plain or "Scalar" in plain:
        return ["real", str(rng.choice(REALS))] if rng.random() < 0.7 else rng.choice(EDGES)
    if "dtype" in plain:
        return ["dtype", rng.choice(DTYPES)]
    if "str" in plain:
        return rng.choice(WORDS)
    if "Callable" in plain or name in ("func", "callable", "fn"):
        return ["object", "function"]
    if "Module" in plain:
        return ["object", "module"]
    if "Generator" in plain:
        return ["object", "generator"]
    return anything(rng)
