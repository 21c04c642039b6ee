"""The nodes of pytrees: which classes are containers, how they are taken apart and made, and keys."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import NamedTuple

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "SUPPORTED_NODES",
    "GetAttrKey",
    "MappingKey",
    "NodeDef",
    "SequenceKey",
    "is_namedtuple_class",
    "is_structseq_class",
    "key_get",
    "keystr",
    "node_def",
    "register_pytree_node",
]


# ---- keys: how a child is reached from its parent ----------------------------------------------


class MappingKey(NamedTuple):
    """A key of a dict."""

    key: Any

    def __str__(self) -> str:
        """Return it as an index."""
        return f"[{self.key!r}]"

    def get(self, parent: Any) -> Any:
        """Return the child of ``parent``."""
        return parent[self.key]


class SequenceKey(NamedTuple):
    """A position in a tuple, list or deque."""

    idx: int

    def __str__(self) -> str:
        """Return it as an index."""
        return f"[{self.idx}]"

    def get(self, parent: Any) -> Any:
        """Return the child of ``parent``."""
        return parent[self.idx]


class GetAttrKey(NamedTuple):
    """The name of an attribute, or of a field of a named tuple."""

    name: str

    def __str__(self) -> str:
        """Return it as an attribute."""
        return f".{self.name}"

    def get(self, parent: Any) -> Any:
        """Return the child of ``parent``."""
        return getattr(parent, self.name)


def keystr(kp: tuple[Any, ...]) -> str:
    """Return a path of keys as Python would write it.

    >>> from weft.utils import pytree
    >>> [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path({"a": [1, 2]})]
    ["['a'][0]", "['a'][1]"]
    """
    return "".join(map(str, kp))


def key_get(obj: Any, kp: tuple[Any, ...]) -> Any:
    """Return what a path of keys leads to in ``obj``.

    >>> from weft.utils import pytree
    >>> pytree.key_get({"a": [1, 2]}, (pytree.MappingKey("a"), pytree.SequenceKey(1)))
    2
    """
    return functools.reduce(lambda parent, key: key.get(parent), kp, obj)


# ---- node types --------------------------------------------------------------------------------


class NodeDef(NamedTuple):
    """How nodes of a type are taken apart and made: children and context, and back."""

    type: Any
    flatten_fn: Callable[[Any], tuple[Any, Any]]
    unflatten_fn: Callable[[Any, Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[Any, Any]] | None = None


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def _sequence_flatten(x: Any) -> tuple[list[Any], None]:
    return list(x), None


def _sequence_flatten_with_keys(x: Any) -> tuple[list[Any], None]:
    return [(SequenceKey(i), child) for i, child in enumerate(x)], None


def _dict_flatten(d: Any) -> tuple[list[Any], list[Any]]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: Any) -> tuple[list[Any], list[Any]]:
    return [(MappingKey(key), child) for key, child in d.items()], list(d)


def _namedtuple_flatten_with_keys(x: Any) -> tuple[list[Any], type]:
    return [(GetAttrKey(name), child) for name, child in zip(x._fields, x)], type(x)


def _defaultdict_flatten(d: Any) -> tuple[list[Any], list[Any]]:
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_flatten_with_keys(d: Any) -> tuple[list[Any], list[Any]]:
    return _dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]


def _deque_flatten_with_keys(d: Any) -> tuple[list[Any], int | None]:
    return _sequence_flatten_with_keys(d)[0], d.maxlen


for _definition in (
    NodeDef(tuple, _sequence_flatten, lambda xs, _: tuple(xs), _sequence_flatten_with_keys),
    NodeDef(list, _sequence_flatten, lambda xs, _: list(xs), _sequence_flatten_with_keys),
    NodeDef(
        _C.Size, _sequence_flatten, lambda xs, _: _C.Size(tuple(xs)), _sequence_flatten_with_keys
    ),
    NodeDef(dict, _dict_flatten, lambda xs, keys: dict(zip(keys, xs)), _dict_flatten_with_keys),
    NodeDef(
        OrderedDict,
        _dict_flatten,
        lambda xs, keys: OrderedDict(zip(keys, xs)),
        _dict_flatten_with_keys,
    ),
    NodeDef(
        defaultdict,
        _defaultdict_flatten,
        lambda xs, context: defaultdict(context[0], zip(context[1], xs)),
        _defaultdict_flatten_with_keys,
    ),
    NodeDef(
        deque,
        lambda d: (list(d), d.maxlen),
        lambda xs, maxlen: deque(xs, maxlen=maxlen),
        _deque_flatten_with_keys,
    ),
    # All named tuples share one entry: their context is their class.
    NodeDef(
        namedtuple,
        lambda x: (list(x), type(x)),
        lambda xs, cls: cls(*xs),
        _namedtuple_flatten_with_keys,
    ),
):
    SUPPORTED_NODES[_definition.type] = _definition


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Any, Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[Any, Any]] | None = None,
) -> None:
    """Let objects of a class be nodes.

    Args:
        cls: the class itself; subclasses stay leaves.
        flatten_fn: returns the children of an object and a context, which can be compared.
        unflatten_fn: makes an object from children and context.
        serialized_type_name: the name of the class in ``treespec_dumps``.
        to_dumpable_context: returns a context as data of JSON.
        from_dumpable_context: returns the context that such data stand for.
        flatten_with_keys_fn: as ``flatten_fn``, with (key, child) instead of each child.

    >>> from weft.utils import pytree
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda xs, _: Pair(*xs))
    >>> pytree.tree_leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"register_pytree_node: {cls} is already registered as pytree node")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"register_pytree_node: {cls.__name__} needs both to_dumpable_context and "
            "from_dumpable_context, or none of them"
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None or to_dumpable_context is not None:
        from weft.utils._pytree import register_names

        register_names(cls, serialized_type_name, to_dumpable_context, from_dumpable_context)


@functools.lru_cache(maxsize=1024)
def is_namedtuple_class(cls: type) -> bool:
    """Say whether a class is one that ``collections.namedtuple`` made, or derived from one.

    >>> import collections
    >>> from weft.utils import pytree
    >>> pytree.is_namedtuple_class(collections.namedtuple("P", "x y"))
    True
    """
    fields = getattr(cls, "_fields", None)
    return (
        issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(type(name) is str for name in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


@functools.lru_cache(maxsize=1024)
def is_structseq_class(cls: type) -> bool:
    """Say whether a class is a struct sequence, as the results of ``weft.max`` are.

    >>> from weft.utils import pytree
    >>> pytree.is_structseq_class(type(weft.ones(2, 2).max(0)))
    True
    """
    counts = [getattr(cls, name, None) for name in ("n_fields", "n_sequence_fields")]
    return issubclass(cls, tuple) and all(type(n) is int for n in counts) and counts[0] == counts[1]


def node_def(kind: type) -> NodeDef | None:
    """Return how objects of a class are taken apart; None: they are leaves.

    >>> from weft.utils import pytree
    >>> pytree.node_def(list).type, pytree.node_def(int)
    (<class 'list'>, None)
    """
    found = SUPPORTED_NODES.get(kind)
    if found is None and issubclass(kind, tuple):
        if is_namedtuple_class(kind):
            return SUPPORTED_NODES[namedtuple]
        if is_structseq_class(kind):  # what ops with several results return
            register_pytree_node(kind, _sequence_flatten, lambda xs, _: kind(xs))
            return SUPPORTED_NODES[kind]
    return found
