"""The examples in the docs of ``weft.nn`` give what they print, and every class has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import sys
from pathlib import Path

import pytest

import weft
from weft import nn

ROOT = Path(weft.__file__).parent
FILES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "nn").rglob("*.py")
    if "functional" not in path.parts
)


@pytest.mark.parametrize("name", FILES)
def test_examples(name: str) -> None:
    """All examples of a file."""
    importlib.import_module(name)
    module = sys.modules[name]
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    out: list[str] = []
    for test in doctest.DocTestFinder().find(module, globs={"weft": weft}):
        weft.manual_seed(0)
        runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)


def test_classes_have_examples() -> None:
    """Every module that weft.nn offers shows how it is used."""
    classes = [c for c in vars(nn).values() if inspect.isclass(c) and issubclass(c, nn.Module)]
    assert len(classes) > 120
    missing = [c.__name__ for c in classes if ">>>" not in (c.__doc__ or "")]
    assert not missing, missing
