"""The examples in the docs of ``weft.audio``."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import weft

ROOT = Path(weft.__file__).parent
FILES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "audio").rglob("*.py")
)


@pytest.mark.parametrize("name", FILES)
def test_examples(name: str) -> None:
    """All examples of a file."""
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    out: list[str] = []
    for test in doctest.DocTestFinder().find(importlib.import_module(name), globs={"weft": weft}):
        weft.manual_seed(0)
        runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)


def test_public_names_have_examples() -> None:
    """Every function and class that they offer shows how it is used."""
    offered = [
        getattr(module, name)
        for module in map(importlib.import_module, FILES)
        for name in getattr(module, "__all__", ())
    ]
    missing = [x.__name__ for x in offered if ">>>" not in (x.__doc__ or "")]
    assert len(offered) > 50 and not missing, missing
