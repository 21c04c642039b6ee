"""The steps that random programs are made of: each resolved, called, and computed with NumPy.

A row says how raw numbers become arguments that fit the shapes (``resolve``, None where the step makes
no sense), how weft or PyTorch is called (``call``), and what the result is (``compute``). A view is
computed from *places*: an array of positions in memory, which NumPy's own indexing rearranges. All
other results are computed from values: complex ones, whose imaginary parts carry a derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Shape = tuple[int, ...]
Ints = list[int]
Args = list[Any]


@dataclass
class Step:
    """One kind of step."""

    kind: str  # "view", "value", "inplace", "geometry"
    tensors: int  # how many tensors it takes
    resolve: Callable[[list[Shape], Ints], Args | None]
    call: Callable[[Any, list[Any], Args], Any]
    compute: Callable[..., Any]  # of places (view, geometry) or values


STEPS: dict[str, Step] = {}


def _row(
    kind: str, name: str, resolve: Any, call: Any, compute: Any = None, *, tensors: int = 1
) -> None:
    STEPS[name] = Step(kind, tensors, resolve, call, compute)


def _method(name: str) -> Callable[[Any, list[Any], Args], Any]:
    return lambda lib, xs, args: getattr(xs[0], name)(*xs[1:], *args)


# ---- arguments that fit


def _dim(shape: Shape, n: int) -> int | None:
    return n % len(shape) if shape else None


def _two_dims(shapes: list[Shape], n: Ints) -> Args | None:
    rank = len(shapes[0])
    if rank < 2:
        return None
    a = n[0] % rank
    return [a, (a + 1 + n[1] % (rank - 1)) % rank]


def _slice(size: int, n: Ints) -> list[int]:
    start = n[0] % size
    return [start, start + 1 + n[1] % (size - start), 1 + n[2] % 2]


def _sliced(shapes: list[Shape], n: Ints) -> Args | None:
    dim = _dim(shapes[0], n[0])
    if dim is None or shapes[0][dim] == 0:
        return None
    return [dim, *_slice(shapes[0][dim], n[1:])]


def _key_of(dim: int, item: Any) -> Any:
    return (slice(None),) * dim + (item,)


def _selected(shapes: list[Shape], n: Ints) -> Args | None:
    dim = _dim(shapes[0], n[0])
    return None if dim is None or not shapes[0][dim] else [dim, n[1] % shapes[0][dim]]


def _narrowed(shapes: list[Shape], n: Ints) -> Args | None:
    found = _sliced(shapes, n)
    return found and [found[0], found[1], found[2] - found[1]]


def _expanded(shapes: list[Shape], n: Ints) -> Args | None:
    sizes = [s if s != 1 else 1 + n[i % len(n)] % 3 for i, s in enumerate(shapes[0])]
    return [[1 + n[5] % 2, *sizes]] if n[4] % 2 else [sizes]


def _reshaped(shapes: list[Shape], n: Ints) -> Args | None:
    numel = math.prod(shapes[0])
    if numel == 0:
        return None
    a = [d for d in range(1, numel + 1) if numel % d == 0]
    first = a[n[0] % len(a)]
    return [[[numel], [first, numel // first], [first, 1, numel // first]][n[1] % 3]]


def _diagonal(shapes: list[Shape], n: Ints) -> Args | None:
    dims = _two_dims(shapes, n)
    return dims and [n[2] % 3 - 1, *dims]


def _unfolded(shapes: list[Shape], n: Ints) -> Args | None:
    dim = _dim(shapes[0], n[0])
    if dim is None or not shapes[0][dim]:
        return None
    return [dim, 1 + n[1] % shapes[0][dim], 1 + n[2] % 2]


def _windows(p: np.ndarray, dim: int, size: int, step: int) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(p, size, dim)
    return windows[_key_of(dim, slice(None, None, step))]


def strided_places(sizes: Ints, strides: Ints, offset: int) -> np.ndarray:
    """Return the positions that a tensor of this geometry shows."""
    places = np.full(tuple(sizes), offset)
    for i, (size, stride) in enumerate(zip(sizes, strides)):
        places += (np.arange(size) * stride).reshape((-1,) + (1,) * (len(sizes) - i - 1))
    return places


def strided_arguments(memory: int, n: Ints) -> Args:
    """Return sizes, strides and an offset of as_strided that stay inside the memory."""
    sizes, strides, room = [], [], memory - 1
    for i in range(1 + n[0] % 2):
        size, stride = 1 + n[1 + i] % 3, n[3 + i] % 4
        if (size - 1) * stride > room:
            size, stride = 1, 1
        room -= (size - 1) * stride
        sizes.append(size)
        strides.append(stride)
    return [sizes, strides, n[5] % (room + 1)]


# ---- views

_row("view", "slice", _sliced, lambda lib, xs, a: xs[0][_key_of(a[0], slice(*a[1:]))],
     lambda p, a: p[_key_of(a[0], slice(*a[1:]))])  # fmt: skip
_row("view", "select", _selected, _method("select"), lambda p, a: p[_key_of(*a)])
_row("view", "narrow", _narrowed, _method("narrow"),
     lambda p, a: p[_key_of(a[0], slice(a[1], a[1] + a[2]))])  # fmt: skip
_row("view", "transpose", _two_dims, _method("transpose"), lambda p, a: p.swapaxes(*a))
_row("view", "movedim", _two_dims, _method("movedim"), lambda p, a: np.moveaxis(p, *a))
_row("view", "alias", lambda s, n: [], lambda lib, xs, a: xs[0][...], lambda p, a: p)
_row("view", "unsqueeze", lambda s, n: [n[0] % (len(s[0]) + 1)] if len(s[0]) < 4 else None,
     _method("unsqueeze"), lambda p, a: np.expand_dims(p, a[0]))  # fmt: skip
_row("view", "squeeze", lambda s, n: [], _method("squeeze"), lambda p, a: np.squeeze(p))
_row("view", "expand", _expanded, lambda lib, xs, a: xs[0].expand(a[0]),
     lambda p, a: np.broadcast_to(p, tuple(a[0])))  # fmt: skip
_row("view", "diagonal", _diagonal, _method("diagonal"), lambda p, a: np.diagonal(p, *a))
_row("view", "unfold", _unfolded, _method("unfold"), lambda p, a: _windows(p, *a))
_row("view", "view", _reshaped, lambda lib, xs, a: xs[0].view(a[0]),
     lambda p, a: p.reshape(a[0]))  # fmt: skip
_row("view", "as_strided", None, _method("as_strided"), lambda p, a: strided_places(*a))


def _cut(name: str, arguments: Callable[[Shape, int, Ints], Args], parts: Any) -> None:
    def resolve(shapes: list[Shape], n: Ints) -> Args | None:
        dim = _dim(shapes[0], n[0])
        if dim is None or not shapes[0][dim] or shapes[0][dim] > 6:
            return None
        return [*arguments(shapes[0], dim, n), dim]

    _row("view", name, resolve, _method(name), parts)


def _widths(p: np.ndarray, width: int, dim: int) -> list[np.ndarray]:
    return np.split(p, list(range(width, p.shape[dim], width)), dim)


_cut("split", lambda s, d, n: [1 + n[1] % s[d]], lambda p, a: _widths(p, *a))
_cut("chunk", lambda s, d, n: [1 + n[1] % s[d]],
     lambda p, a: _widths(p, -(-p.shape[a[1]] // a[0]), a[1]))  # fmt: skip
_cut("tensor_split", lambda s, d, n: [1 + n[1] % s[d]], lambda p, a: np.array_split(p, *a))
_cut("split_with_sizes", lambda s, d, n: [[n[1] % s[d], s[d] - n[1] % s[d]]],
     lambda p, a: np.split(p, [a[0][0]], a[1]))  # fmt: skip
_cut("unbind", lambda s, d, n: [], lambda p, a: list(np.moveaxis(p, a[0], 0)))

# ---- values


def _alike(shapes: list[Shape], n: Ints) -> Args | None:
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        return None
    return [] if math.prod(shape) <= 64 else None


def _pick(shapes: list[Shape], n: Ints) -> Args | None:
    """An index that NumPy calls advanced: (rank before it, places along one dimension)."""
    dim = _dim(shapes[0], n[0])
    if dim is None or not shapes[0][dim]:
        return None
    size = shapes[0][dim]
    rows = [(n[1] + i * (1 + n[2] % 2)) % size for i in range(1 + n[3] % size)]
    rows = list(dict.fromkeys(rows))
    if n[4] % 3 == 0:
        return [dim, [i in rows for i in range(size)], n[5] % 3]
    return [dim, rows, n[5] % 3]


def _key(args: Args, lib: Any = None) -> Any:
    dim, rows, how = args[:3]
    item = rows if lib is None or how == 1 else lib.tensor(rows)
    key = _key_of(dim, item)
    return (*key, ...) if how == 2 else key


def _reduced(shapes: list[Shape], n: Ints) -> Args | None:
    dim = _dim(shapes[0], n[0])
    return None if dim is None or not shapes[0][dim] else [dim]


def _placed(row: str, resolve: Any) -> Callable[[list[Shape], Ints], Args | None]:
    """Resolve like a view of the first tensor, if the second has its shape."""

    def found(shapes: list[Shape], n: Ints) -> Args | None:
        args = resolve(shapes[:1], n)
        if args is None:
            return None
        places = np.arange(math.prod(shapes[0])).reshape(shapes[0])
        return args if STEPS[row].compute(places, args).shape == shapes[1] else None

    return found


def _scattered(row: str) -> Callable[..., np.ndarray]:
    def compute(x: np.ndarray, src: np.ndarray, args: Args) -> np.ndarray:
        flat = x.reshape(-1).copy()
        places = np.arange(x.size).reshape(x.shape)
        flat[STEPS[row].compute(places, args)] = src
        return flat.reshape(x.shape)

    return compute


_none: Callable[[list[Shape], Ints], Args] = lambda s, n: []  # noqa: E731
_number: Callable[[list[Shape], Ints], Args] = lambda s, n: [(n[0] % 13 - 6) / 4]  # noqa: E731

_row("value", "add", _alike, lambda lib, xs, a: xs[0] + xs[1], lambda x, y, a: x + y, tensors=2)
_row("value", "mul", _alike, lambda lib, xs, a: xs[0] * xs[1], lambda x, y, a: x * y, tensors=2)
_row("value", "scale", _number, lambda lib, xs, a: xs[0] * a[0], lambda x, a: x * a[0])
_row("value", "sin", _none, _method("sin"), lambda x, a: np.sin(x))
_row("value", "tanh", _none, _method("tanh"), lambda x, a: np.tanh(x))
_row("value", "clone", _none, _method("clone"), lambda x, a: x.copy())
_row("value", "flip", _reduced, _method("flip"), lambda x, a: np.flip(x, a[0]))
_row("value", "sum", _reduced, _method("sum"), lambda x, a: x.sum(a[0]))
_row("value", "cumsum", _reduced, _method("cumsum"), lambda x, a: x.cumsum(a[0]))
_row("value", "pick", _pick, lambda lib, xs, a: xs[0][_key(a, lib)], lambda x, a: x[_key(a)])
_row("value", "stack", lambda s, n: [] if s[0] == s[1] and len(s[0]) < 4 else None,
     lambda lib, xs, a: lib.stack(xs), lambda x, y, a: np.stack((x, y)), tensors=2)  # fmt: skip
_row("value", "select_scatter", _placed("select", _selected),
     lambda lib, xs, a: lib.select_scatter(*xs, *a), _scattered("select"), tensors=2)  # fmt: skip
_row("value", "slice_scatter", _placed("slice", _sliced),
     lambda lib, xs, a: lib.slice_scatter(*xs, *a), _scattered("slice"), tensors=2)  # fmt: skip
_row("value", "diagonal_scatter", _placed("diagonal", _diagonal),
     lambda lib, xs, a: lib.diagonal_scatter(*xs, *a), _scattered("diagonal"),
     tensors=2)  # fmt: skip

# ---- in place


def _into(shapes: list[Shape], n: Ints) -> Args | None:
    try:
        return [] if np.broadcast_shapes(*shapes) == shapes[0] else None
    except ValueError:
        return None


def _pick_into(shapes: list[Shape], n: Ints) -> Args | None:
    args = _pick(shapes[:1], n)
    if args is None:
        return None
    target = np.empty(shapes[0])[_key(args)].shape
    return None if _into([target, shapes[1]], n) is None else args


def _slice_into(shapes: list[Shape], n: Ints) -> Args | None:
    args = _sliced(shapes[:1], n)
    if args is None:
        return None
    target = np.empty(shapes[0])[_key_of(args[0], slice(*args[1:]))].shape
    return None if _into([target, shapes[1]], n) is None else args


def _mask(shapes: list[Shape], n: Ints) -> Args | None:
    return [[(n[0] >> i % 8) % 2 == 1 for i in range(math.prod(shapes[0]))], n[1] % 5 / 2]


def _masked(x: np.ndarray, a: Args) -> np.ndarray:
    return np.where(np.reshape(a[0], x.shape), a[1], x)


def _with(x: np.ndarray, key: Any, value: Any) -> np.ndarray:
    y = x.copy()
    y[key] = value
    return y


def _added(x: np.ndarray, key: Any, value: Any) -> np.ndarray:
    y = x.copy()
    y[key] += value
    return y


def _set(target: Any, key: Any, value: Any) -> Any:
    target[key] = value
    return target


def _add_at(target: Any, key: Any, value: Any) -> Any:
    target[key] += value
    return target


def _iadd(target: Any, other: Any) -> Any:
    target += other
    return target


_row("inplace", "add_", _into, _method("add_"), lambda x, y, a: x + y, tensors=2)
_row("inplace", "mul_", _into, _method("mul_"), lambda x, y, a: x * y, tensors=2)
_row("inplace", "iadd", _into, lambda lib, xs, a: _iadd(*xs), lambda x, y, a: x + y, tensors=2)
_row("inplace", "copy_", _into, _method("copy_"), lambda x, y, a: y + 0 * x, tensors=2)
_row("inplace", "scale_", _number, _method("mul_"), lambda x, a: x * a[0])
_row("inplace", "shift_", _number, _method("add_"), lambda x, a: x + a[0])
_row("inplace", "sin_", _none, _method("sin_"), lambda x, a: np.sin(x))
_row("inplace", "tanh_", _none, _method("tanh_"), lambda x, a: np.tanh(x))
_row("inplace", "zero_", _none, _method("zero_"), lambda x, a: np.zeros_like(x))
_row("inplace", "fill_", _number, _method("fill_"), lambda x, a: np.full_like(x, a[0]))
_row("inplace", "masked_fill_", _mask,
     lambda lib, xs, a: xs[0].masked_fill_(lib.tensor(a[0]).reshape(xs[0].shape), a[1]),
     _masked)  # fmt: skip
_row("inplace", "set_rows", _pick_into, lambda lib, xs, a: _set(xs[0], _key(a, lib), xs[1]),
     lambda x, y, a: _with(x, _key(a), y), tensors=2)  # fmt: skip
_row("inplace", "add_rows", _pick_into, lambda lib, xs, a: _add_at(xs[0], _key(a, lib), xs[1]),
     lambda x, y, a: _added(x, _key(a), y), tensors=2)  # fmt: skip
_row("inplace", "set_slice", _slice_into,
     lambda lib, xs, a: _set(xs[0], _key_of(a[0], slice(*a[1:])), xs[1]),
     lambda x, y, a: _with(x, _key_of(a[0], slice(*a[1:])), y), tensors=2)  # fmt: skip
_row("inplace", "set_number", _pick, lambda lib, xs, a: _set(xs[0], _key(a, lib), 0.75),
     lambda x, a: _with(x, _key(a), 0.75))  # fmt: skip

# ---- geometry

_row("geometry", "t_", lambda s, n: [] if len(s[0]) == 2 else None, _method("t_"),
     lambda p, a: p.T)  # fmt: skip
_row("geometry", "transpose_", _two_dims, _method("transpose_"), lambda p, a: p.swapaxes(*a))
_row("geometry", "swapaxes_", _two_dims, _method("swapaxes_"), lambda p, a: p.swapaxes(*a))
_row("geometry", "unsqueeze_", lambda s, n: [n[0] % (len(s[0]) + 1)] if len(s[0]) < 4 else None,
     _method("unsqueeze_"), lambda p, a: np.expand_dims(p, a[0]))  # fmt: skip
_row("geometry", "squeeze_", _none, _method("squeeze_"), lambda p, a: np.squeeze(p))
