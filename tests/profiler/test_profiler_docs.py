"""The examples in the docs of the profiler and of the benchmark tools run, and every public name has one."""

from __future__ import annotations

import doctest
import importlib
import warnings

import pytest

import weft

MODULES = (
    "weft.profiler",
    *(
        f"weft.profiler.{name}"
        for name in "chrome command events flame flops peak profile recording table verdict".split()
    ),
    "weft.autograd.profiler",
    "weft.utils.benchmark",
    "weft.utils.benchmark.compare",
    "weft.utils.benchmark.measurement",
    "weft.utils.benchmark.timer",
    "weft.utils.flop_counter",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = doctest.testmod(
            module,
            extraglobs={"weft": weft},
            optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
        )
    assert not found.failed


def test_public_names_are_there() -> None:
    for module in (weft.profiler, weft.utils.benchmark, weft.autograd.profiler):
        for name in module.__all__:
            assert getattr(module, name).__doc__
