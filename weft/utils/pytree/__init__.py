"""Pytrees: nested containers of values, flattened into a list of leaves and put together again.

A container (tuple, list, dict, named tuple, OrderedDict, defaultdict, deque, or a class given to
:func:`register_pytree_node`) is a node; everything else, None too, is a leaf. Every walk of weft over
nested data goes through this module. The names and rules are those of ``torch.utils._pytree``.

>>> from weft.utils import pytree
>>> leaves, spec = pytree.tree_flatten({"a": 1, "b": (2, [3])})
>>> leaves
[1, 2, 3]
>>> pytree.tree_unflatten([n * 10 for n in leaves], spec)
{'a': 10, 'b': (20, [30])}
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque

from weft import _C

from .nodes import (
    SUPPORTED_NODES,
    GetAttrKey,
    MappingKey,
    NodeDef,
    SequenceKey,
    is_namedtuple_class,
    is_structseq_class,
    key_get,
    keystr,
    node_def,
    register_pytree_node,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from weft import Tensor

    PyTree = Any
    IsLeaf = Callable[[Any], bool] | None

__all__ = [
    "SUPPORTED_NODES",
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "SequenceKey",
    "TreeSpec",
    "broadcast_leaves",
    "find_named",
    "find_tensors",
    "is_namedtuple_class",
    "is_structseq_class",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]


# ---- structure ---------------------------------------------------------------------------------


class TreeSpec:
    """The structure of a pytree without its leaves. Equal structures are equal and hash alike."""

    __slots__ = ("_children", "_definition", "context", "num_leaves", "num_nodes", "type")

    def __init__(
        self,
        type: Any,
        context: Any,
        children_specs: Iterable[TreeSpec],
        definition: NodeDef | None = None,
    ) -> None:
        """Describe a node by its type, its context and its children.

        ``definition``: how it is made, where it is not the one that is registered for its type.
        """
        self.type, self.context = type, context
        self._children = tuple(children_specs)
        self._definition = definition
        self.num_nodes: int = 1 + sum(child.num_nodes for child in self._children)
        self.num_leaves: int = sum(child.num_leaves for child in self._children)

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The structures of the children."""
        return list(self._children)

    def children(self) -> list[TreeSpec]:
        """Return the structures of the children."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """Return the structure of one child."""
        return self._children[index]

    @property
    def num_children(self) -> int:
        """How many children the node has."""
        return len(self._children)

    def is_leaf(self) -> bool:
        """Say whether it is a leaf."""
        return False

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the pytree of this structure that has these leaves."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten: got {len(given)} leaves for a structure of "
                f"{self.num_leaves}: {self}"
            )
        return self._made(iter(given))

    def _made(self, leaves: Iterator[Any]) -> Any:
        definition = self._definition or SUPPORTED_NODES[self.type]
        return definition.unflatten_fn([c._made(leaves) for c in self._children], self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return what of ``tree`` stands where this structure has leaves."""
        found: list[Any] = []
        self._match(tree, found)
        return found

    def _match(self, tree: Any, found: list[Any]) -> None:
        kind: Any = type(tree)
        definition = self._definition if self._definition is not None else node_def(kind)
        named = None if definition is None else definition.type
        if {named, self.type} <= _DICTS:  # of which the keys count, not their order
            return self._match_dict(tree, found)
        if named is not self.type:
            raise ValueError(f"Node type mismatch; expected {self.type}, but got {kind}.")
        children, context = definition.flatten_fn(tree)  # type: ignore[union-attr]
        children = list(children)
        if len(children) != len(self._children):
            raise ValueError(
                f"Node arity mismatch; expected {len(self._children)}, but got {len(children)}."
            )
        if context != self.context and self.type is not deque:
            raise ValueError(f"Node context mismatch; expected {self.context}, but got {context}.")
        for spec, child in zip(self._children, children):
            spec._match(child, found)

    def _match_dict(self, tree: Any, found: list[Any]) -> None:
        keys = self.context[1] if self.type is defaultdict else self.context
        missing = {key for key in keys if key not in tree}
        extra = {key for key in tree if key not in keys}
        if missing or extra:
            parts = [f"missing key(s): {missing}"] if missing else []
            parts += [f"extra key(s): {extra}"] if extra else []
            raise ValueError(f"Node keys mismatch; {'; '.join(parts)}.")
        for key, spec in zip(keys, self._children):
            spec._match(tree[key], found)

    def __eq__(self, other: object) -> bool:
        """Compare structures: types, contexts and children."""
        if self is other:
            return True
        if not isinstance(other, TreeSpec) or self.num_nodes != other.num_nodes:
            return NotImplemented if not isinstance(other, TreeSpec) else False
        return (
            self.type is other.type
            and self.context == other.context
            and self._children == other._children
        )

    def __hash__(self) -> int:
        """Return a number that equal structures share."""
        return hash((self.type, _hashable(self.context), self._children))

    def __repr__(self) -> str:
        """Return type, context and children; ``*`` stands for a leaf."""
        return f"TreeSpec({self.type.__name__}, {self.context}, [{', '.join(map(repr, self._children))}])"


_DICTS = {dict, OrderedDict, defaultdict}


def _hashable(context: Any) -> Any:
    """Return what of a context can be hashed: equal contexts give equal results."""
    if isinstance(context, (list, tuple)):
        return tuple(map(_hashable, context))
    try:
        hash(context)
    except TypeError:
        return type(context)
    return context


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        """Describe a leaf: it has neither type nor children."""
        self.type = self.context = self._definition = None
        self._children = ()
        self.num_nodes = self.num_leaves = 1

    def is_leaf(self) -> bool:
        """Say whether it is a leaf."""
        return True

    def _made(self, leaves: Iterator[Any]) -> Any:
        return next(leaves)

    def _match(self, tree: Any, found: list[Any]) -> None:
        found.append(tree)

    def __repr__(self) -> str:
        """Return ``*``."""
        return "*"


LEAF = LeafSpec()


# ---- flatten and unflatten ---------------------------------------------------------------------


def tree_flatten(
    tree: PyTree, is_leaf: IsLeaf = None, *, lookup: Callable[[type], NodeDef | None] = node_def
) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a pytree from left to right, and its structure.

    Args:
        tree: nested containers.
        is_leaf: says of an object whether it is to be a leaf, although it may be a container.
        lookup: which classes are nodes, where others than the registered ones are to be.

    >>> from weft.utils import pytree
    >>> pytree.tree_flatten((1, [2, None]))
    ([1, 2, None], TreeSpec(tuple, None, [*, TreeSpec(list, None, [*, *])]))
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf, lookup)


# No closure that calls itself: that would be a reference cycle, which keeps leaves (and with them
# graphs) alive until Python collects garbage.
def _flatten(
    x: Any, leaves: list[Any], is_leaf: IsLeaf, lookup: Callable[[type], NodeDef | None]
) -> TreeSpec:
    definition = None if is_leaf is not None and is_leaf(x) else lookup(type(x))
    if definition is None:
        leaves.append(x)
        return LEAF
    children, context = definition.flatten_fn(x)
    specs = [_flatten(child, leaves, is_leaf, lookup) for child in children]
    return TreeSpec(definition.type, context, specs, None if lookup is node_def else definition)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Return the pytree of a structure that has these leaves.

    >>> from weft.utils import pytree
    >>> pytree.tree_unflatten([5, 6], pytree.tree_structure([None, {"x": None}]))
    [5, {'x': 6}]
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten: treespec must be a TreeSpec, not {type(treespec).__name__}"
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Iterate over the leaves of a pytree.

    >>> from weft.utils import pytree
    >>> list(pytree.tree_iter({"a": [1], "b": 2}))
    [1, 2]
    """
    definition = None if is_leaf is not None and is_leaf(tree) else node_def(type(tree))
    if definition is None:
        yield tree
        return
    for child in definition.flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a pytree.

    >>> from weft.utils import pytree
    >>> pytree.tree_leaves({"a": [1], "b": 2})
    [1, 2]
    """
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the structure of a pytree.

    >>> from weft.utils import pytree
    >>> pytree.tree_structure([1, 2]).num_leaves
    2
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Say whether an object is a leaf.

    >>> from weft.utils import pytree
    >>> pytree.tree_is_leaf(1), pytree.tree_is_leaf([])
    (True, False)
    """
    return (is_leaf is not None and is_leaf(tree)) or node_def(type(tree)) is None


# ---- map ---------------------------------------------------------------------------------------


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Return a pytree with ``func`` applied to each leaf; ``rests`` have at least its structure.

    >>> from weft.utils import pytree
    >>> pytree.tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(r) for r in rests]))


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call ``func`` for each leaf, for what it does; return the pytree itself.

    >>> from weft.utils import pytree
    >>> pytree.tree_map_(print, [1, (2,)])
    1
    2
    [1, (2,)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    for _ in map(func, leaves, *[spec.flatten_up_to(r) for r in rests]):
        pass
    return tree


def _predicate(which: Any) -> Callable[[Any], bool]:
    """Return what says whether a leaf is meant: by a class, a tuple or union of them, or a function."""
    if isinstance(which, (type, tuple)) or hasattr(which, "__args__"):
        return lambda x: isinstance(x, which)
    if callable(which):
        return which
    raise TypeError(f"expected a type, a tuple of types or a function, got {which!r}")


def tree_map_only(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """Return a pytree with ``func`` applied to the leaves of some types, or that a function selects.

    >>> from weft.utils import pytree
    >>> pytree.tree_map_only(int, lambda n: n + 1, [1, "a", (2,)])
    [2, 'a', (3,)]
    """
    meant = _predicate(type_or_types_or_pred)
    return tree_map(lambda x: func(x) if meant(x) else x, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """Call ``func`` for the leaves of some types, for what it does; return the pytree itself.

    >>> from weft.utils import pytree
    >>> pytree.tree_map_only_(int, print, [1, "a"])
    1
    [1, 'a']
    """
    meant = _predicate(type_or_types_or_pred)
    return tree_map_(lambda x: func(x) if meant(x) else x, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Say whether ``pred`` holds for every leaf.

    >>> from weft.utils import pytree
    >>> pytree.tree_all(lambda n: n > 0, [1, (2, 3)])
    True
    """
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Say whether ``pred`` holds for a leaf.

    >>> from weft.utils import pytree
    >>> pytree.tree_any(lambda n: n > 2, [1, (2, 3)])
    True
    """
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Say whether ``pred`` holds for every leaf of some types.

    >>> from weft.utils import pytree
    >>> pytree.tree_all_only(int, lambda n: n > 0, [1, "a"])
    True
    """
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Say whether ``pred`` holds for a leaf of some types.

    >>> from weft.utils import pytree
    >>> pytree.tree_any_only(int, lambda n: n > 1, [1, "a"])
    False
    """
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def broadcast_leaves(prefix: PyTree, spec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """Return a value for each leaf of ``spec``: a leaf of ``prefix`` stands for all below it.

    None: ``prefix`` does not fit.

    >>> from weft.utils import pytree
    >>> pytree.broadcast_leaves((0, None), pytree.tree_structure(("a", ["b", "c"])))
    [0, None, None]
    """
    leaves, above = tree_flatten(prefix, is_leaf)
    try:
        parts = above.flatten_up_to(spec.unflatten([0] * spec.num_leaves))
    except ValueError:
        return None
    counts = [tree_structure(part).num_leaves for part in parts]
    return [leaf for leaf, count in zip(leaves, counts) for _ in range(count)]


# ---- paths -------------------------------------------------------------------------------------


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """Return (path, leaf) for each leaf, and the structure.

    >>> from weft.utils import pytree
    >>> pytree.tree_flatten_with_path({"a": 1})[0]
    [((MappingKey(key='a'),), 1)]
    """
    return list(_paths(tree, (), is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> list[tuple[tuple[Any, ...], Any]]:
    """Return (path, leaf) for each leaf.

    >>> from weft.utils import pytree
    >>> pytree.tree_leaves_with_path([7])
    [((SequenceKey(idx=0),), 7)]
    """
    return list(_paths(tree, (), is_leaf))


def _paths(tree: PyTree, path: tuple[Any, ...], is_leaf: IsLeaf) -> Iterator[Any]:
    definition = None if is_leaf is not None and is_leaf(tree) else node_def(type(tree))
    if definition is None:
        yield path, tree
        return
    if definition.flatten_with_keys_fn is None:
        raise ValueError(
            f"tree_flatten_with_path: {definition.type} was registered without flatten_with_keys_fn"
        )
    for key, child in definition.flatten_with_keys_fn(tree)[0]:
        yield from _paths(child, (*path, key), is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Return a pytree with ``func(path, leaf, ...)`` for each leaf.

    >>> from weft.utils import pytree
    >>> pytree.tree_map_with_path(lambda path, x: pytree.keystr(path) + str(x), {"a": [1]})
    {'a': ["['a'][0]1"]}
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    return spec.unflatten(map(func, paths, leaves, *[spec.flatten_up_to(r) for r in rests]))


# ---- search ------------------------------------------------------------------------------------


def _items(x: Any) -> Iterable[tuple[Any, Any]]:
    """Return keys and children of a container, subclasses of dict, list and tuple included."""
    if isinstance(x, dict):
        return x.items()
    if isinstance(x, (list, tuple, deque)):
        return enumerate(x)
    definition = node_def(type(x))
    return () if definition is None else enumerate(definition.flatten_fn(x)[0])


def find_tensors(x: Any) -> Iterator[Tensor]:
    """Iterate over the tensors in nested containers, subclasses of dict, list and tuple included.

    For walks that only read: a subclass of a container can be looked into, but not always be made.

    >>> from weft.utils import pytree
    >>> [t.item() for t in pytree.find_tensors({"a": weft.tensor(1), "b": [2, weft.tensor(3)]})]
    [1, 3]
    """
    if isinstance(x, _C.Tensor):
        yield x
        return
    for _, child in _items(x):
        yield from find_tensors(child)


def find_named(x: Any, kind: type, name: str) -> Iterator[tuple[str, Any]]:
    """Iterate over the objects of a class in such containers, each with its name.

    >>> from weft.utils import pytree
    >>> list(pytree.find_named({"a": [1, "b"]}, int, "x"))
    [("x['a'][0]", 1)]
    """
    if isinstance(x, kind):
        yield name, x
        return
    for key, child in _items(x):
        yield from find_named(child, kind, f"{name}[{key!r}]")
