"""``nn.attention.sdpa_kernel``: which way attention is computed."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft.nn import functional as F
from weft.nn.attention import SDPBackend, sdpa_kernel

MATH, FLASH = SDPBackend.MATH, SDPBackend.FLASH_ATTENTION
q = weft.randn(2, 3, 4, requires_grad=True)


def way(**how: Any) -> str:
    """Return the name of the node that attention leaves."""
    return F.scaled_dot_product_attention(q, q, q, **how).grad_fn.name()


NATIVE, PLAIN = way(), way(dropout_p=0.5)


@pytest.mark.parametrize(
    ("backends", "first", "expected"),
    [
        (MATH, False, PLAIN),
        (FLASH, False, NATIVE),
        (SDPBackend.EFFICIENT_ATTENTION, False, NATIVE),
        ([MATH, FLASH], False, NATIVE),
        ([MATH, FLASH], True, PLAIN),
        ([FLASH, MATH], True, NATIVE),
        ([SDPBackend.CUDNN_ATTENTION, MATH, FLASH], True, PLAIN),
    ],
)
def test_the_way(backends: Any, first: bool, expected: str) -> None:
    """The native op, or its twin; the order counts if it is asked to."""
    assert NATIVE != PLAIN
    with sdpa_kernel(backends, set_priority=first):
        assert way() == expected
    assert way() == NATIVE


def test_what_cannot_be_done() -> None:
    """What the allowed ways cannot do is an error."""
    with sdpa_kernel(FLASH):
        with pytest.raises(RuntimeError, match=r"No available kernel.*dropout_p=0\.5 and no mask"):
            way(dropout_p=0.5)
        with sdpa_kernel([FLASH, MATH]):
            assert way(dropout_p=0.5) == PLAIN
        with pytest.raises(RuntimeError, match="No available kernel"):
            way(attn_mask=weft.zeros(3, 3, requires_grad=True))
        assert F.scaled_dot_product_attention(*[q.half()] * 3).dtype == weft.float16
    for none in ([], SDPBackend.ERROR, [SDPBackend.CUDNN_ATTENTION, SDPBackend.OVERRIDEABLE]):
        with sdpa_kernel(none), pytest.raises(RuntimeError, match="No viable backend"):
            way()
    assert way(dropout_p=0.5) == PLAIN


def test_decorator_and_errors() -> None:
    """It also decorates; an error inside it does not outlast it; others are refused."""
    assert sdpa_kernel(MATH)(way)() == PLAIN
    with pytest.raises(ZeroDivisionError), sdpa_kernel(MATH):
        raise ZeroDivisionError
    assert way() == NATIVE
    for bad in ("MATH", None, [1]):
        with pytest.raises(AssertionError, match="must be an SDPBackend or a list"):
            sdpa_kernel(bad).__enter__()  # type: ignore[arg-type]
