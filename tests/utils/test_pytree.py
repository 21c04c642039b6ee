"""``weft.utils.pytree``: nested containers, flattened and put together again."""

from __future__ import annotations

import collections
import dataclasses
import doctest
import random
from typing import Any

import pytest

import weft
from weft.utils import _pytree, pytree

Point = collections.namedtuple("Point", "x y")


def random_tree(rng: random.Random, depth: int = 4) -> Any:
    """Return nested containers of numbers, with None, empty containers and tensors among them."""
    if depth == 0 or rng.random() < 0.3:
        return rng.choice([rng.random(), None, "text", rng.randrange(9)])
    parts = [random_tree(rng, depth - 1) for _ in range(rng.randrange(4))]
    keys = [rng.choice(["a", "b", 1, (2, 3)]) for _ in parts]
    kind = rng.randrange(7)
    if kind == 3:
        return Point(random_tree(rng, depth - 1), random_tree(rng, depth - 1))
    if kind == 4:
        return collections.OrderedDict(zip(keys, parts))
    if kind == 5:
        return collections.deque(parts, maxlen=rng.choice([None, 5]))
    if kind == 6:
        return collections.defaultdict(list, zip(keys, parts))
    return [tuple(parts), parts, dict(zip(keys, parts))][kind]


def plain_leaves(x: Any) -> list[Any]:
    """The leaves, by a walk that shares nothing with the module."""
    if isinstance(x, dict):
        return [leaf for v in x.values() for leaf in plain_leaves(v)]
    if isinstance(x, (tuple, list, collections.deque)):
        return [leaf for v in x for leaf in plain_leaves(v)]
    return [x]


@pytest.mark.parametrize("seed", range(200))
def test_random_trees(seed: int) -> None:
    rng = random.Random(seed)
    tree = random_tree(rng)
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == plain_leaves(tree) == pytree.tree_leaves(tree)
    assert spec.num_leaves == len(leaves)
    again = spec.unflatten(leaves)
    assert again == tree and repr(again) == repr(tree)
    assert pytree.tree_structure(again) == spec and hash(pytree.tree_structure(again)) == hash(spec)
    assert pytree.tree_map(lambda a, b: a is b, tree, again) == spec.unflatten([True] * len(leaves))
    for path, leaf in pytree.tree_leaves_with_path(tree):
        assert pytree.key_get(tree, path) is leaf
    other = random_tree(rng)
    assert (pytree.tree_structure(other) == spec) == (
        repr(pytree.tree_map(lambda _: 0, other)) == repr(pytree.tree_map(lambda _: 0, tree))
    )


def test_what_is_a_node() -> None:
    class Mine(dict):
        pass

    assert pytree.tree_leaves([None, (), Mine(a=1)]) == [None, Mine(a=1)]
    pair = weft.max(weft.tensor([[1, 2]]), 1)
    leaves, spec = pytree.tree_flatten(pair)
    assert spec.unflatten(leaves).values is pair.values
    shape = weft.ones(2, 3).shape
    assert type(pytree.tree_map(lambda n: n + 1, shape)) is weft.Size
    assert pytree.tree_leaves([1, [2, 3]], is_leaf=lambda x: x == [2, 3]) == [1, [2, 3]]


def test_searches_look_into_subclasses() -> None:
    class Output(collections.OrderedDict):
        pass

    t = weft.ones(1)
    found = Output(a=[t, 1], b=Output(c=t))
    assert [x is t for x in pytree.find_tensors(found)] == [True, True]
    assert [name for name, _ in pytree.find_named(found, weft.Tensor, "y")] == [
        "y['a'][0]",
        "y['b']['c']",
    ]


def test_structures_that_differ() -> None:
    with pytest.raises(ValueError, match="got 1 leaves for a structure of 2"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))
    with pytest.raises(TypeError, match="must be a TreeSpec, not int"):
        pytree.tree_unflatten([1], 3)  # type: ignore[arg-type]
    for tree, other, message in (
        ([1, 2], [1], "arity mismatch; expected 2, but got 1"),
        ([1], (1,), "type mismatch"),
        ({"a": 1}, {"b": 1}, r"missing key\(s\): {'a'}; extra key\(s\): {'b'}"),
        (Point(1, 2), collections.namedtuple("Point", "x y")(1, 2), "context mismatch"),
    ):
        with pytest.raises(ValueError, match=message):
            pytree.tree_map(lambda a, b: a, tree, other)
    assert pytree.tree_map(lambda a, b: a + b, {"a": 1, "b": 2}, {"b": 20, "a": 10}) == {
        "a": 11,
        "b": 22,
    }
    assert pytree.broadcast_leaves((0, 1), pytree.tree_structure((1, 2, 3))) is None


def test_registered_classes() -> None:
    @dataclasses.dataclass
    class Config:
        x: Any
        y: Any = 7

    assert len(pytree.tree_leaves(Config(1, 2))) == 1
    _pytree.register_dataclass(Config, drop_field_names=["y"])
    try:
        assert pytree.tree_map(lambda n: n * 2, [Config(1, 2)]) == [Config(2, 7)]
        assert pytree.keystr(pytree.tree_leaves_with_path(Config(1))[0][0]) == ".x"
        with pytest.raises(ValueError, match="already registered"):
            _pytree.register_dataclass(Config)
        with pytest.raises(NotImplementedError, match="serialized_type_name"):
            _pytree.treespec_dumps(pytree.tree_structure(Config(1)))
    finally:
        _pytree._deregister_pytree_node(Config)
    with pytest.raises(TypeError, match="no dataclass"):
        _pytree.register_dataclass(int)


@pytest.mark.parametrize("module", [pytree, pytree.nodes, _pytree])
def test_examples(module: Any) -> None:
    found = doctest.testmod(module, extraglobs={"weft": weft})
    assert found.attempted and not found.failed
