"""The examples in the docs of ``weft.distributions`` give what they print, and every class has one."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import re
from pathlib import Path

import pytest

import weft

ROOT = Path(weft.__file__).parent
PATHS = [*(ROOT / "distributions").rglob("*.py")]
FILES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PATHS
)


@pytest.mark.parametrize("name", FILES)
def test_examples(name: str) -> None:
    """All examples of a file."""
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    out: list[str] = []
    for test in doctest.DocTestFinder().find(module, globs={"weft": weft}):
        weft.manual_seed(0)
        runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)


@pytest.mark.parametrize("name", FILES)
def test_public_names_have_examples(name: str) -> None:
    """Every class and function that a file offers shows how it is used."""
    module = importlib.import_module(name)
    offered = [vars(module).get(n) for n in getattr(module, "__all__", ())]
    missing = [
        x.__name__
        for x in offered
        if (inspect.isclass(x) or inspect.isfunction(x))
        and x.__module__ == name
        and not x.__name__.startswith("_")
        and ">>>" not in (x.__doc__ or "")
    ]
    assert not missing, missing


def test_page() -> None:
    """The programs of docs/distributions.md print what stands below them."""
    page = (Path(__file__).parents[2] / "docs" / "distributions.md").read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", page, re.DOTALL)
    assert len(programs) == 1
    for code, shown in programs:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, {})
        assert out.getvalue() == shown
