"""``weft.testing`` beside ``torch.testing``: the same passes, the same errors in the same words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import weft

NAN, INF = float("nan"), float("inf")

# What to compare, made with either library.
CASES: list[Callable[[Any], tuple[Any, Any, dict[str, Any]]]] = [
    lambda t: (t.tensor([1.0, 2, 3]), t.tensor([1.0, 2.5, 3.5]), {}),
    lambda t: (t.tensor([[1, 2], [3, 4]]), t.tensor([[1, 2], [3, 5]]), {}),
    lambda t: (t.tensor([[1.0, 2.0], [3.0, 4.0]]), t.tensor([[1.0, 9.0], [3.0, 0.0]]), {}),
    lambda t: (t.tensor([1.0]), t.tensor([1.0 + 1e-6]), {}),
    lambda t: (t.tensor([1.0]), t.tensor([1.0 + 2e-5]), {}),
    lambda t: (t.ones(3, dtype=t.float64), t.ones(3, dtype=t.float64) + 1.5e-7, {}),
    lambda t: (t.ones(3, dtype=t.float64), t.ones(3, dtype=t.float64) + 2.5e-7, {}),
    lambda t: (t.tensor([1.0], dtype=t.float16), t.tensor([1.01], dtype=t.float16), {}),
    lambda t: (t.tensor([1.0], dtype=t.bfloat16), t.tensor([1.01], dtype=t.bfloat16), {}),
    lambda t: (t.tensor([1.0], dtype=t.bfloat16), t.tensor([1.03], dtype=t.bfloat16), {}),
    lambda t: (1.0, 1.1, {}),
    lambda t: (1, 2, {}),
    lambda t: (1, 1.0, {}),
    lambda t: (1, 1.0, {"check_dtype": False}),
    lambda t: (1 + 1j, 1 + 1.1j, {}),
    lambda t: (INF, INF, {}),
    lambda t: (INF, -INF, {}),
    lambda t: (1.0, INF, {"rtol": 1, "atol": 1}),
    lambda t: (NAN, NAN, {}),
    lambda t: (NAN, NAN, {"equal_nan": True}),
    lambda t: (np.float64(1), 1.0, {}),
    lambda t: (np.ones(2), np.ones(2), {}),
    lambda t: (np.ones(2), np.zeros(2), {}),
    lambda t: (np.ones(2), t.ones(2), {}),
    lambda t: (t.tensor(1.0), 1.0, {}),
    lambda t: (1, t.tensor(1), {}),
    lambda t: (t.tensor([1.0]), [1.0], {}),
    lambda t: ([1, 2], [1, 3], {}),
    lambda t: ([1], [1, 2], {}),
    lambda t: ([[1]], [[1, 2]], {}),
    lambda t: ((1, 2), [1, 2], {}),
    lambda t: ([], [], {}),
    lambda t: ([1.0, t.ones(1)], [2.0, 3], {}),
    lambda t: ([[1.0, [2.0]]], [[1.0, [3.0]]], {}),
    lambda t: ({"a": 1}, {"b": 1}, {}),
    lambda t: ({"a": 1, "c": 2}, {"a": 1}, {}),
    lambda t: ({"a": t.ones(1)}, {"a": t.zeros(1)}, {}),
    lambda t: ({"a": [1, t.ones(2)]}, {"a": [1, t.zeros(2)]}, {}),
    lambda t: ({1: 2}, [1], {}),
    lambda t: (set(), set(), {}),
    lambda t: ("a", "a", {}),
    lambda t: ("ab", ["a", "b"], {}),
    lambda t: (None, None, {}),
    lambda t: (None, 1, {}),
    lambda t: ([None], [None], {}),
    lambda t: (True, False, {}),
    lambda t: (True, True, {}),
    lambda t: (t.tensor(True), t.tensor(False), {}),
    lambda t: (t.tensor(1.0), t.tensor(2.0), {}),
    lambda t: (t.ones(2), t.ones(3), {}),
    lambda t: (t.ones(2), t.ones(2, dtype=t.float64), {}),
    lambda t: (t.ones(2), t.ones(2, dtype=t.float64), {"check_dtype": False}),
    lambda t: (t.tensor([1, 2], dtype=t.int32), t.tensor([1.0, 2]), {"check_dtype": False}),
    lambda t: (t.tensor([1, 2], dtype=t.int32), t.tensor([1.0, 3]), {"check_dtype": False}),
    lambda t: (t.ones(2, 3), t.ones(3, 2).t(), {"check_stride": True}),
    lambda t: (t.ones(2, 3), t.ones(3, 2).t(), {}),
    lambda t: (t.tensor([NAN]), t.tensor([NAN]), {}),
    lambda t: (t.tensor([NAN]), t.tensor([NAN]), {"equal_nan": True}),
    lambda t: (t.tensor([1.0, 2, 3]), t.tensor([1.0, INF, NAN]), {}),
    lambda t: (t.ones(1), t.zeros(1), {"rtol": 1}),
    lambda t: (t.ones(1), t.zeros(1), {"atol": 1}),
    lambda t: (t.zeros(1), t.ones(1), {"atol": 0.5, "rtol": 0}),
    lambda t: (t.zeros(1), t.ones(1), {"atol": 0.5, "rtol": 0.5}),
    lambda t: (t.ones(1), t.zeros(1), {"msg": "hello"}),
    lambda t: (t.ones(1), t.zeros(1), {"msg": lambda m: "see: " + m}),
    lambda t: (t.ones(0), t.ones(0), {}),
    lambda t: (t.tensor([1 + 1j]), t.tensor([1 + 2j]), {}),
    lambda t: (t.tensor([200], dtype=t.uint8), t.tensor([100], dtype=t.uint8), {}),
    lambda t: (t.tensor([100], dtype=t.uint8), t.tensor([200], dtype=t.uint8), {}),
    lambda t: (t.nn.Parameter(t.ones(1)), t.ones(1), {}),
    lambda t: (t.nn.Parameter(t.ones(1)), t.ones(1), {"allow_subclasses": False}),
    lambda t: (t.ones(2).to_sparse(), t.ones(2), {}),
    lambda t: (t.ones(2).to_sparse(), t.ones(2), {"check_layout": False}),
    lambda t: (t.ones(2).to_sparse(), t.zeros(2), {"check_layout": False}),
    lambda t: (t.ones(2).to_sparse(), t.ones(2).to_sparse(), {}),
    lambda t: (t.ones(2).to_sparse(), t.zeros(2).to_sparse(), {}),
    lambda t: (t.tensor([0.0, 1]).to_sparse(), t.tensor([1.0, 0]).to_sparse(), {}),
    lambda t: (t.tensor([0.0, 1]).to_sparse(), t.tensor([0.0, 2]).to_sparse(), {}),
]


def outcome(compare: Callable[..., None], a: Any, e: Any, kwargs: Any) -> tuple[str, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compare(a, e, **kwargs)
    except (AssertionError, TypeError, ValueError) as error:
        return type(error).__name__, str(error) if isinstance(error, AssertionError) else ""
    return "passes", ""


@pytest.mark.parametrize("number", range(len(CASES)))
def test_assert_close(number: int) -> None:
    """The same result; for values that differ the same message."""
    theirs = outcome(torch.testing.assert_close, *CASES[number](torch))
    assert outcome(weft.testing.assert_close, *CASES[number](weft)) == theirs


@pytest.mark.parametrize(
    "make",
    [
        lambda t: (t.ones(1), 1.0, {}),
        lambda t: (t.ones(1), [1.0], {}),
        lambda t: (t.tensor([1.0]), t.tensor([1.00009]), {}),
        lambda t: (t.tensor([1.0]), t.tensor([1.0002]), {}),
        lambda t: (t.ones(2, dtype=t.float64), t.ones(2), {}),
        lambda t: (t.ones(1), t.zeros(1), {"msg": "hello"}),
        lambda t: (t.tensor([1, 2]), [1, 3], {}),
        lambda t: (t.tensor([NAN]), t.tensor([NAN]), {}),
        lambda t: (t.tensor(1.0), 2.0, {"rtol": 1}),
        lambda t: (np.ones(2), t.ones(2, dtype=t.float64), {}),
        lambda t: (t.ones(1, dtype=t.complex64), t.ones(1, dtype=t.complex64) + 1e-6, {}),
    ],
)
def test_assert_allclose(make: Callable[[Any], Any]) -> None:
    """The older function has other tolerances."""
    theirs = outcome(torch.testing.assert_allclose, *make(torch))
    assert outcome(weft.testing.assert_allclose, *make(weft)) == theirs


@pytest.mark.parametrize("dtype", "bool uint8 int8 int64 float16 bfloat16 float32 float64".split())
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"low": 1},
        {"high": 3.2, "low": 0.5},
        {"low": 2, "high": 1},
        {"low": NAN},
        {"low": -5, "high": 300},
        {"low": -5, "high": -1},
        {"low": 0, "high": 2, "exclude_zero": True},
        {"requires_grad": True},
        {"noncontiguous": True},
        {"noncontiguous": True, "memory_format": "channels_last"},
        {"memory_format": "channels_last"},
        {"low": 1e6, "high": 1e7},
    ],
)
def test_make_tensor(dtype: str, options: dict[str, Any]) -> None:
    """The same shape, strides and bounds, or the same error."""

    def made(t: Any) -> Any:
        more = {k: getattr(t, v) if isinstance(v, str) else v for k, v in options.items()}
        try:
            x = t.testing.make_tensor(2, 50, 3, 4, dtype=getattr(t, dtype), device="cpu", **more)
        except ValueError:
            return "ValueError"
        low, high = (float(f(x.detach().to(t.float64))) for f in (t.min, t.max))
        step = max((high - low) / 20, 0 if x.dtype.is_floating_point else 1)
        return (tuple(x.shape), x.stride(), str(x.dtype), x.requires_grad), low, high, step

    theirs, ours = made(torch), made(weft)
    if theirs == "ValueError":
        assert ours == theirs
    else:
        assert ours[0] == theirs[0]
        assert abs(ours[1] - theirs[1]) <= theirs[3] and abs(ours[2] - theirs[2]) <= theirs[3]
