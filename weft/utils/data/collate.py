"""Samples put together: numbers, arrays and tensors become a batch, containers stay containers."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import weft
from weft._environment import at_line

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]


def default_convert(data: Any) -> Any:
    """Return NumPy arrays as tensors, also those in containers, and all else as it is.

    >>> import numpy as np
    >>> weft.utils.data.default_convert({"x": np.arange(2), "name": "a"})
    {'x': tensor([0, 1]), 'name': 'a'}
    """
    if isinstance(data, weft.Tensor):
        return data
    if _is_numpy(data):
        return data if _is_text(data) else weft.as_tensor(data)
    if isinstance(data, Mapping):
        return _same_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(item) for item in data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _same_sequence(data, [default_convert(item) for item in data])
    return data


def default_collate(batch: Any) -> Any:
    """Return a batch of a list of samples.

    Tensors and arrays are stacked, numbers become a tensor (floats of float64), strings stay
    as they are. Of dicts, tuples and lists the items are put together one by one.

    >>> weft.utils.data.default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    >>> weft.utils.data.default_collate([{"x": 0.5}, {"x": 1.0}])
    {'x': tensor([0.5000, 1.0000], dtype=torch.float64)}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """Return a batch of a list of samples, by functions for the types of what is in them.

    Args:
        batch: the samples.
        collate_fn_map: functions by type, or by tuples of types. Each is called with the samples
            and, as ``collate_fn_map``, this dict. What no function is for is taken apart if it is
            a container.

    >>> numbers_as_list = {int: lambda batch, *, collate_fn_map: batch}
    >>> weft.utils.data.collate.collate([(1, 2), (3, 4)], collate_fn_map=numbers_as_list)
    [(1, 3), (2, 4)]
    """
    first = batch[0]
    functions = collate_fn_map or {}
    if type(first) in functions:
        return functions[type(first)](batch, collate_fn_map=collate_fn_map)
    for kind, function in functions.items():
        if isinstance(first, kind):
            return function(batch, collate_fn_map=collate_fn_map)
    if functions is default_collate_fn_map and _is_numpy(first):
        return _stack_arrays(batch)

    def each(columns: Any) -> list[Any]:
        return [collate(column, collate_fn_map=collate_fn_map) for column in columns]

    if isinstance(first, Mapping):
        columns = each([sample[key] for sample in batch] for key in first)
        return _same_mapping(first, dict(zip(first, columns)))
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*each(zip(*batch)))
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        sizes = [len(sample) for sample in batch]
        if any(size != sizes[0] for size in sizes):
            raise RuntimeError(
                f"default_collate: each element in list of batch should be of equal size, got "
                f"sequences of {_short(sizes)} items"
            )
        columns = each(zip(*batch))
        return columns if isinstance(first, tuple) else _same_sequence(first, columns)
    raise TypeError(_refused(type(first)))


def _refused(kind: Any) -> str:
    return at_line(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        f"{kind}"
    )


def _short(values: list[Any]) -> str:
    text = ", ".join(map(str, values[:10]))
    return f"[{text}{', …' if len(values) > 10 else ''}]"


# ---- what there are functions for ---------------------------------------------------------------


def _stack(batch: Any, *, collate_fn_map: Any = None) -> weft.Tensor:
    return weft.stack(list(batch))


def _float64(batch: Any, *, collate_fn_map: Any = None) -> weft.Tensor:
    return weft.tensor(batch, dtype=weft.float64)


def _integers(batch: Any, *, collate_fn_map: Any = None) -> weft.Tensor:
    return weft.tensor(batch)


def _as_it_is(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    weft.Tensor: _stack,
    float: _float64,
    int: _integers,
    str: _as_it_is,
    bytes: _as_it_is,
}


def _is_numpy(x: Any) -> bool:
    """Whether this is an array or a scalar of NumPy, which need not be loaded."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, (numpy.ndarray, numpy.generic))


def _is_text(x: Any) -> bool:
    return x.dtype.kind in "SUOV"


def _stack_arrays(batch: Any) -> weft.Tensor:
    first = batch[0]
    if _is_text(first):
        raise TypeError(_refused(first.dtype))
    if first.shape == ():
        return weft.as_tensor(batch)
    return weft.stack([weft.as_tensor(array) for array in batch])


# ---- containers of the same type ----------------------------------------------------------------


def _same_mapping(like: Any, items: dict[Any, Any]) -> Any:
    if type(like) is dict:
        return items
    try:
        if isinstance(like, MutableMapping):  # which may have more to it than its items
            made = copy.copy(like)
            made.update(items)
            return made
        return type(like)(items)
    except TypeError:  # its constructor wants something else
        return items


def _same_sequence(like: Any, items: list[Any]) -> Any:
    if type(like) is list:
        return items
    try:
        if isinstance(like, MutableSequence):
            made = copy.copy(like)
            for i, item in enumerate(items):
                made[i] = item
            return made
        return type(like)(items)
    except TypeError:
        return items
