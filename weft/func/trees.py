"""Nested tuples, lists and dictionaries: taken apart into leaves, and put together again."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["flatten", "spread", "tree_map", "unflatten"]

LEAF = object()


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a tree from left to right, and its shape for ``unflatten``.

    >>> from weft.func.trees import flatten, unflatten
    >>> leaves, shape = flatten({"a": 1, "b": (2, [3])})
    >>> leaves
    [1, 2, 3]
    >>> unflatten([n * 10 for n in leaves], shape)
    {'a': 10, 'b': (20, [30])}
    """
    leaves: list[Any] = []

    def walk(node: Any) -> Any:
        if isinstance(node, dict):
            return type(node), list(node), [walk(value) for value in node.values()]
        if isinstance(node, (tuple, list)):
            return type(node), None, [walk(value) for value in node]
        leaves.append(node)
        return LEAF

    return leaves, walk(tree)


def unflatten(leaves: list[Any], shape: Any) -> Any:
    """Return the tree of this shape that has these leaves.

    >>> from weft.func.trees import flatten, unflatten
    >>> unflatten([5, 6], flatten([None, {"x": None}])[1])
    [5, {'x': 6}]
    """
    rest = iter(leaves)

    def build(node: Any) -> Any:
        if node is LEAF:
            return next(rest)
        kind, keys, parts = node
        values = [build(part) for part in parts]
        if keys is not None:
            return kind(zip(keys, values))
        return kind(*values) if hasattr(kind, "_fields") else kind(values)

    return build(shape)


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return the tree with ``function`` applied to each leaf.

    >>> from weft.func.trees import tree_map
    >>> tree_map(lambda n: n + 1, (1, [2]))
    (2, [3])
    """
    leaves, shape = flatten(tree)
    return unflatten([function(leaf) for leaf in leaves], shape)


def spread(prefix: Any, shape: Any, what: str) -> list[Any]:
    """Return one value for each leaf of ``shape``: a leaf of ``prefix`` stands for all below it.

    >>> from weft.func.trees import flatten, spread
    >>> spread((0, None), flatten(("a", ["b", "c"]))[1], "in_dims")
    [0, None, None]
    """
    if not isinstance(prefix, (tuple, list, dict)):
        return [prefix] * _count(shape)
    keys = list(prefix) if isinstance(prefix, dict) else None
    parts = list(prefix.values()) if isinstance(prefix, dict) else list(prefix)
    if shape is LEAF or len(shape[2]) != len(parts) or (keys is not None and shape[1] != keys):
        raise ValueError(f"{what}={prefix!r} does not fit the structure that it is given for")
    return [value for part, node in zip(parts, shape[2]) for value in spread(part, node, what)]


def _count(shape: Any) -> int:
    return 1 if shape is LEAF else sum(_count(part) for part in shape[2])
