"""Tensors copied and pickled."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft.nn import functional as F


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


@pytest.mark.parametrize(
    "f",
    [
        lambda x: F.adaptive_avg_pool2d(x, 4),
        lambda x: F.adaptive_avg_pool1d(x[0], None),
        lambda x: F.adaptive_avg_pool3d(x, (4, 4, 4)),
        lambda x: F.interpolate(x, 4, mode="area"),
        lambda x: F.pixel_shuffle(x, 1),
        lambda x: F.pixel_unshuffle(x, 1),
        lambda x: F.channel_shuffle(x, 1),
        lambda x: F.channel_shuffle(x, 4),
        lambda x: F.unfold(x, 1),
        lambda x: weft.chain_matmul(x[0, 0]),
    ],
)
def test_ops_that_have_nothing_to_do_copy(f: Callable[[Any], Any]) -> None:
    """What is done to a result is not done to the input, as in PyTorch."""
    x = weft.arange(128.0).reshape(2, 4, 4, 4)
    before = x.clone()
    f(x).zero_()
    assert weft.equal(x, before)
    x.requires_grad_()
    f(x).sum().backward()
    assert x.grad is not None and set(x.grad.unique().tolist()) <= {0.0, 1.0}
