"""``torch.utils._pytree``: the names of :mod:`weft.utils.pytree` that PyTorch keeps private, and text.

>>> from weft.utils import _pytree
>>> _pytree.treespec_pprint(_pytree.tree_structure({"a": (1, [2])}))
"{'a': (*, [*])}"
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple

from . import pytree
from .pytree import *  # noqa: F403
from .pytree import (
    LEAF,
    SUPPORTED_NODES,
    LeafSpec,
    TreeSpec,
    broadcast_leaves,
    is_namedtuple_class,
    node_def,
    register_pytree_node,
    tree_is_leaf,
    tree_leaves,
)
from .pytree.nodes import _defaultdict_flatten, _dict_flatten, _sequence_flatten  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    *pytree.__all__,
    "Context",
    "KeyPath",
    "PyTree",
    "PyTreeSpec",
    "arg_tree_leaves",
    "is_namedtuple",
    "is_namedtuple_instance",
    "register_dataclass",
    "treespec_dict",
    "treespec_dumps",
    "treespec_leaf",
    "treespec_loads",
    "treespec_pprint",
    "treespec_tuple",
]

PyTree = Any
Context = Any
KeyPath = tuple[Any, ...]
PyTreeSpec = TreeSpec
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
_LEAF_SPEC = LEAF
_broadcast_to_and_flatten = broadcast_leaves
_is_leaf = tree_is_leaf
_list_flatten = _tuple_flatten = _sequence_flatten
_ordereddict_flatten = _odict_flatten = _dict_flatten


def _unflatten_of(kind: Any) -> Callable[[Any, Any], Any]:
    return SUPPORTED_NODES[kind].unflatten_fn


_tuple_unflatten, _list_unflatten = _unflatten_of(tuple), _unflatten_of(list)
_dict_unflatten, _defaultdict_unflatten = _unflatten_of(dict), _unflatten_of(defaultdict)
_ordereddict_unflatten = _odict_unflatten = _unflatten_of(OrderedDict)
_deque_unflatten, _namedtuple_unflatten = _unflatten_of(deque), _unflatten_of(namedtuple)
_deque_flatten = SUPPORTED_NODES[deque].flatten_fn
_namedtuple_flatten = SUPPORTED_NODES[namedtuple].flatten_fn
_register_pytree_node = _private_register_pytree_node = register_pytree_node


def _get_node_type(tree: Any) -> Any:
    """Return the key of ``SUPPORTED_NODES`` for an object: its class, or ``namedtuple``."""
    found = node_def(type(tree))
    return type(tree) if found is None else found.type


def _deregister_pytree_node(cls: type) -> None:
    """Let objects of a class be leaves again."""
    del SUPPORTED_NODES[cls]
    _NAMES.pop(cls, None)


def is_namedtuple_instance(obj: Any) -> bool:
    """Say whether an object is a named tuple.

    >>> import collections
    >>> weft.utils._pytree.is_namedtuple_instance(collections.namedtuple("P", "x")(1))
    True
    """
    kind: Any = type(obj)
    return is_namedtuple_class(kind)


def is_namedtuple(obj: Any) -> bool:
    """Say whether an object or a class is a named tuple.

    >>> weft.utils._pytree.is_namedtuple((1, 2))
    False
    """
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the leaves of the arguments of a call.

    >>> weft.utils._pytree.arg_tree_leaves(1, [2], a=3)
    [1, 2, 3]
    """
    return [leaf for part in (*args, *kwargs.values()) for leaf in tree_leaves(part)]


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Let objects of a dataclass be nodes.

    Args:
        cls: the dataclass.
        field_names: the fields that are children (all).
        drop_field_names: fields that are left out, and get their defaults when an object is made.
        serialized_type_name: the name of the class in ``treespec_dumps``.

    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: int
    ...     y: int
    >>> weft.utils._pytree.register_dataclass(Point)
    >>> weft.utils.pytree.tree_map(lambda n: n + 1, Point(1, 2))
    Point(x=2, y=3)
    """
    import dataclasses

    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"register_dataclass: {cls!r} is no dataclass")
    every = [f.name for f in dataclasses.fields(cls) if f.init]
    dropped = set(drop_field_names or ())
    if unknown := (set(field_names or ()) | dropped) - set(every):
        raise ValueError(f"register_dataclass: {cls.__name__} has no field {sorted(unknown)}")
    names = [n for n in (every if field_names is None else field_names) if n not in dropped]
    if field_names is not None and set(every) != set(names) | dropped:
        left_out = sorted(set(every) - set(names) - dropped)
        raise ValueError(
            f"register_dataclass: fields {left_out} of {cls.__name__} are neither in field_names "
            "nor in drop_field_names"
        )

    def flatten(x: Any) -> tuple[list[Any], Any]:
        return [getattr(x, name) for name in names], None

    def flatten_with_keys(x: Any) -> tuple[list[Any], Any]:
        return [(pytree.GetAttrKey(name), getattr(x, name)) for name in names], None

    def unflatten(children: Iterable[Any], _: Any) -> Any:
        return cls(**dict(zip(names, children)))

    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


def treespec_leaf() -> TreeSpec:
    """Return the structure of a leaf.

    >>> weft.utils._pytree.treespec_leaf()
    *
    """
    return LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """Return the structure of a tuple of structures.

    >>> weft.utils._pytree.treespec_tuple([weft.utils._pytree.treespec_leaf()])
    TreeSpec(tuple, None, [*])
    """
    return TreeSpec(tuple, None, iterable)


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """Return the structure of a dict of structures.

    >>> weft.utils._pytree.treespec_dict(a=weft.utils._pytree.treespec_leaf())
    TreeSpec(dict, ['a'], [*])
    """
    members = dict(mapping, **kwargs)
    return TreeSpec(dict, list(members), members.values())


# ---- text --------------------------------------------------------------------------------------


class _Named(NamedTuple):
    """How a type is written: its name, and its context as data of JSON and back."""

    name: str
    dump: Callable[[Any], Any]
    load: Callable[[Any], Any]


def _no_dump(context: Any) -> Any:
    raise NotImplementedError(
        f"treespec_dumps: a context of type {type(context).__name__} is not data of JSON: register "
        "the class with to_dumpable_context and from_dumpable_context"
    )


def _as_is(context: Any) -> Any:
    return context


_PROTOCOL = 1
_NAMES: dict[Any, _Named] = {
    cls: _Named(f"{cls.__module__}.{cls.__name__}", _as_is, _as_is)
    for cls in (tuple, list, dict, OrderedDict, deque)
}


def register_names(
    cls: type,
    name: str | None,
    dump: Callable[[Any], Any] | None,
    load: Callable[[Any], Any] | None,
) -> None:
    """Let structures with nodes of a class be written as text."""
    _NAMES[cls] = _Named(
        name or f"{cls.__module__}.{cls.__qualname__}", dump or _as_is, load or _as_is
    )


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return a structure as JSON.

    Args:
        treespec: the structure.
        protocol: the version of the format; 1 is the only one.

    >>> weft.utils._pytree.treespec_dumps(weft.utils._pytree.treespec_leaf())
    '[1, {"type": null, "context": null, "children_spec": []}]'
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"treespec_dumps: expected a TreeSpec, not {type(treespec).__name__}")
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"treespec_dumps: unknown protocol {protocol}; there is {_PROTOCOL}")
    return json.dumps([_PROTOCOL, _dumped(treespec)])


def _dumped(spec: TreeSpec) -> dict[str, Any]:
    if isinstance(spec, LeafSpec):
        return {"type": None, "context": None, "children_spec": []}
    named = _NAMES.get(spec.type)
    if named is None:
        raise NotImplementedError(
            f"treespec_dumps: {spec.type} has no serialized_type_name in register_pytree_node"
        )
    try:
        context = json.dumps(named.dump(spec.context))
    except TypeError:
        _no_dump(spec.context)
    children = [_dumped(child) for child in spec.children_specs]
    return {"type": named.name, "context": context, "children_spec": children}


def treespec_loads(serialized: str) -> TreeSpec:
    """Return the structure that ``treespec_dumps`` wrote.

    >>> from weft.utils import _pytree
    >>> spec = _pytree.tree_structure({"a": [1, 2]})
    >>> _pytree.treespec_loads(_pytree.treespec_dumps(spec)) == spec
    True
    """
    protocol, data = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ValueError(f"treespec_loads: unknown protocol {protocol}; there is {_PROTOCOL}")
    return _loaded(data, {named.name: cls for cls, named in _NAMES.items()})


def _loaded(data: dict[str, Any], classes: dict[str, Any]) -> TreeSpec:
    if data["type"] is None:
        return LEAF
    if data["type"] not in classes:
        raise NotImplementedError(f"treespec_loads: no class is registered as {data['type']!r}")
    cls = classes[data["type"]]
    context = _NAMES[cls].load(json.loads(data["context"]))
    return TreeSpec(cls, context, [_loaded(child, classes) for child in data["children_spec"]])


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return a structure as a pytree with ``*`` for its leaves.

    >>> weft.utils._pytree.treespec_pprint(weft.utils._pytree.tree_structure([1, (2,)]))
    '[*, (*,)]'
    """
    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))
