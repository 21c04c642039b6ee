"""``_foreach_add`` and related ops: an op over lists of tensors."""

from __future__ import annotations

import pytest

import weft


def lists() -> tuple[list[weft.Tensor], list[weft.Tensor]]:
    return [weft.ones(2), weft.full((3,), 2.0)], [weft.full((2,), 0.5), weft.ones(3)]


def test_out_of_place_gives_a_tuple_and_leaves_the_list() -> None:
    a, b = lists()
    got = weft._foreach_add(a, b, alpha=2)
    assert isinstance(got, tuple) and [x.tolist() for x in got] == [[2.0] * 2, [4.0] * 3]
    assert [x.tolist() for x in a] == [[1.0] * 2, [2.0] * 3]


def test_in_place_changes_the_tensors() -> None:
    a, b = lists()
    assert weft._foreach_mul_(a, [3.0, 4.0]) is None
    weft._foreach_addcdiv_(a, b, [weft.ones(2), weft.full((3,), 2.0)], -2.0)
    weft._foreach_maximum_(a, 2.5)
    assert [x.tolist() for x in a] == [[2.5] * 2, [7.0] * 3]
    weft._foreach_copy_(b, a)
    weft._foreach_zero_(a)
    assert b[1].tolist() == [7.0] * 3 and a[0].tolist() == [0.0] * 2


def test_values_for_each_and_norms() -> None:
    a, b = lists()
    got = weft._foreach_addcmul(a, b, b, scalars=[4.0, 1.0])
    assert [x.tolist() for x in got] == [[2.0] * 2, [3.0] * 3]
    assert weft._foreach_norm(a, 1)[1].item() == 6.0


def test_lists_must_fit() -> None:
    a, b = lists()
    with pytest.raises(RuntimeError, match="same number of tensors, got 2 and 1"):
        weft._foreach_add(a, b[:1])
    with pytest.raises(RuntimeError, match="at least one tensor"):
        weft._foreach_sqrt([])
    with pytest.raises(AttributeError, match="_foreach_nothing"):
        weft._foreach_nothing  # noqa: B018
    with pytest.raises(TypeError, match="unknown arguments"):
        weft._foreach_addcmul(a, b, b, weight=1)
