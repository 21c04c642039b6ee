"""The examples in the docs of the memory tools run."""

from __future__ import annotations

import doctest
import importlib

import pytest

import weft

MODULES = "memory memory_graph memory_paths memory_picture memory_report memory_track"


@pytest.mark.parametrize("name", MODULES.split())
def test_examples(name: str) -> None:
    module = importlib.import_module(f"weft.debug.{name}")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testmod(module, extraglobs={"weft": weft}, optionflags=flags)
    assert found.attempted
    assert not found.failed
