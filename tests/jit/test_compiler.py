"""``weft.compiler``, and what surrounds compiled calls."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import weft
from weft import nn


def test_disabled_functions_run_in_every_call() -> None:
    seen = []

    @weft.compiler.disable
    def note(x: Any) -> None:
        seen.append(x.sum().item())

    @weft.compile
    def f(x: Any) -> Any:
        y = x * 2
        note(y)
        return y + 1

    with pytest.warns(UserWarning, match="note, which is disabled"):
        results = [f(weft.ones(2) * i)[0].item() for i in range(12)]
    assert results == [2 * i + 1 for i in range(12)] and seen == [4 * i for i in range(12)]


def test_reset_forgets_everything() -> None:
    f, model = weft.compile(lambda x: x + 1), weft.compile(nn.Linear(2, 1))
    for _ in range(3):
        f(weft.ones(2)), model(weft.ones(1, 2))
    assert f.specializations and model.compiled.specializations
    weft.compiler.reset()
    assert not f.specializations and not model.compiled.specializations
    assert f(weft.ones(2)).tolist() == [2, 2]


def test_calls_are_made_again_after_an_activation_checkpoint() -> None:
    x = weft.ones(3, requires_grad=True)
    weft.utils.checkpoint.checkpoint(weft.sin, x, use_reentrant=False).sum().backward()
    f = weft.compile(lambda x: x * 2)
    for _ in range(6):
        f(weft.ones(3))
    assert f.report().specializations[0]["calls"] == 4


def test_warnings_about_modules_name_the_line_of_the_call() -> None:
    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[x > 0]

    model = weft.compile(Net())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(20):
            model(weft.ones(2))
    assert [w.filename for w in caught] == [__file__]
