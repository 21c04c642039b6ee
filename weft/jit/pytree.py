"""The structure of arguments and results of a captured call: its containers, as pytrees.

Beside the nodes of :mod:`weft.utils.pytree`, these are containers: dataclasses and subclasses of
OrderedDict whose items and attributes are all there is to them (each replay makes a new one), and
subclasses of tuple and list that have the constructor of tuple or list.
"""

from __future__ import annotations

import functools
from collections import OrderedDict

from weft import _C
from weft.utils import pytree
from weft.utils.pytree import NodeDef, TreeSpec, tree_flatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["containers_in", "flatten", "is_nested", "nesting", "node_def"]

_HEAP = 1 << 9  # the flag of classes that Python code has made


def flatten(x: Any) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of arguments or results, and their structure.

    Equal structures have the same keys: 1, 1.0 and True are three.

    >>> import collections
    >>> leaves, spec = weft.jit.pytree.flatten(collections.OrderedDict(a=1, b=2))
    >>> leaves, list(spec.unflatten([3, 4]).items())
    ([1, 2], [('a', 3), ('b', 4)])
    """
    return tree_flatten(x, lookup=node_def)


def containers_in(x: Any) -> Iterator[Any]:
    """Iterate over the containers of arguments or results.

    >>> list(weft.jit.pytree.containers_in([1, (2,)]))
    [[1, (2,)], (2,)]
    """
    definition = node_def(type(x))
    if definition is not None:
        yield x
        for child in definition.flatten_fn(x)[0]:
            yield from containers_in(child)


def is_nested(spec: TreeSpec) -> bool:
    """Say whether a structure is one of tuples, lists and dicts with keys of text."""
    if spec.is_leaf():
        return True
    if spec.type is dict and not all(type(k) is str for k in spec.context):
        return False
    return spec.type in (tuple, list, dict) and all(map(is_nested, spec.children()))


def nesting(spec: TreeSpec) -> Any:
    """Return a structure as C++ takes it apart."""
    if spec.is_leaf():
        return None
    parts = [nesting(child) for child in spec.children()]
    return (spec.type, parts, *((spec.context,) if spec.type is dict else ()))


def node_def(kind: type) -> NodeDef | None:
    """Return how objects of a class are flattened; None: they are leaves.

    >>> weft.jit.pytree.node_def(dict).type
    <class 'dict'>
    """
    if kind is dict:
        return _DICT
    found = None if kind is OrderedDict else pytree.node_def(kind)
    return _other_node_def(kind) if found is None else found


@functools.lru_cache(maxsize=256)
def _other_node_def(kind: Any) -> NodeDef | None:
    if _can_be_made(kind):
        return NodeDef(kind, _object_flatten, functools.partial(_object_unflatten, kind))
    for base in (tuple, list):
        if issubclass(kind, base) and (kind.__new__, kind.__init__) == (
            base.__new__,
            base.__init__,
        ):
            return NodeDef(kind, lambda x: (list(x), None), lambda parts, _: kind(parts))
    return None


class _Keys(tuple[object, ...]):
    """Keys of a dict that are not all strings: equal keys of different types or signs differ."""

    def _facts(self) -> tuple[object, ...]:
        return tuple((type(k), repr(k) if isinstance(k, (float, complex)) else k) for k in self)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Keys and self._facts() == other._facts()

    def __hash__(self) -> int:
        return tuple.__hash__(self)


def _keys(d: Any) -> tuple[object, ...]:
    return tuple(d) if all(type(key) is str for key in d) else _Keys(d)


_DICT = NodeDef(
    dict, lambda d: (list(d.values()), _keys(d)), lambda parts, keys: dict(zip(keys, parts))
)


@functools.lru_cache(maxsize=256)
def _can_be_made(kind: Any) -> bool:
    """Say whether items and attributes are all there is to an object of a class."""
    if kind is OrderedDict:
        return True
    base: Any = OrderedDict if issubclass(kind, OrderedDict) else object
    mine = kind.__mro__[: kind.__mro__.index(base)]
    return (
        hasattr(kind, "__dataclass_fields__")
        and "__dict__" in dir(kind)
        and not hasattr(kind, "__del__")
        and not issubclass(kind, _C.ModuleBase)
        and all(c.__flags__ & _HEAP and not c.__dict__.get("__slots__") for c in mine)
    )


def _object_flatten(x: Any) -> tuple[list[Any], Any]:
    own = vars(x)
    if not isinstance(x, OrderedDict):
        return list(own.values()), ((), tuple(own))
    keys = tuple(OrderedDict.keys(x))
    items = [OrderedDict.__getitem__(x, key) for key in keys]
    return [*items, *own.values()], (_keys(keys), tuple(own))


def _object_unflatten(kind: Any, parts: list[Any], context: Any) -> Any:
    """Return an object with these items and attributes; no constructor runs."""
    keys, names = context
    values = iter(parts)
    base: Any = OrderedDict if issubclass(kind, OrderedDict) else object
    made = base.__new__(kind)
    for key in keys:
        base.__setitem__(made, key, next(values))
    made.__dict__.update(zip(names, values))
    return made
