"""Pytrees beside PyTorch's: the same leaves, structures and errors."""

from __future__ import annotations

import random

import pytest
import torch.utils._pytree as theirs
from utils.test_pytree import random_tree

from weft.utils import _pytree as ours


@pytest.mark.parametrize("seed", range(100))
def test_random_trees(seed: int) -> None:
    rng = random.Random(seed)
    tree, other = random_tree(rng), random_tree(rng)
    for name in ("tree_leaves", "tree_is_leaf"):
        assert getattr(ours, name)(tree) == getattr(theirs, name)(tree)
    (a, spec), (b, want) = ours.tree_flatten(tree), theirs.tree_flatten(tree)
    assert a == b and (spec.num_leaves, spec.num_nodes) == (want.num_leaves, want.num_nodes)
    assert ours.treespec_pprint(spec) == theirs.treespec_pprint(want)
    assert ours.treespec_pprint(spec) == repr(spec.unflatten([ours._Star()] * spec.num_leaves))
    paths = [ours.keystr(path) for path, _ in ours.tree_leaves_with_path(tree)]
    assert paths == [theirs.keystr(path) for path, _ in theirs.tree_leaves_with_path(tree)]
    equal = ours.tree_structure(other) == spec
    assert equal == (theirs.tree_structure(other) == want)
    results = []
    for lib, s in ((ours, spec), (theirs, want)):
        spread = lib._broadcast_to_and_flatten(other, s)
        try:
            up_to = s.flatten_up_to(other)
        except ValueError:
            up_to = ValueError
        results.append((spread, up_to))
    assert results[0] == results[1]


@pytest.mark.parametrize("tree", [1, [1, (2,)], {"a": [1, {"b": 2}]}, ()])
def test_text(tree: object) -> None:
    assert ours.treespec_dumps(ours.tree_structure(tree)) == theirs.treespec_dumps(
        theirs.tree_structure(tree)
    )


def test_every_public_name_is_there() -> None:
    missing = {"FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn",
               "FromDumpableContextFn"}  # names of types  # fmt: skip
    structseq = {"is_structseq", "is_structseq_class", "is_structseq_instance"}
    assert {n for n in theirs.__all__ if not hasattr(ours, n)} <= missing | structseq
