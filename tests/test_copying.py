"""Tensors copied and pickled."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import weft


class Special(weft.Tensor):
    """A subclass, such as a parameter."""


def pickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled])
@pytest.mark.parametrize("kind", [weft.Tensor, Special])
def test_copies_are_alike_and_apart(duplicate: Callable[[Any], Any], kind: type) -> None:
    x = weft.arange(6.0).reshape(2, 3).t()
    if kind is Special:
        x = weft._C._make_subclass(Special, x, False)
        x.tag = "weights"
    x.requires_grad_()
    y = duplicate(x)
    assert type(y) is kind and y.requires_grad and y.is_leaf and y.tolist() == x.tolist()
    assert kind is weft.Tensor or y.tag == "weights"
    with weft.no_grad():
        y.zero_()
    assert x.sum() == 15
