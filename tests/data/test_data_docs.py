"""The examples in the docs of ``weft.utils.data`` and on its page give what they print."""

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
from weft.utils import data

ROOT = Path(weft.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "data.md"
FILES = ["weft.utils", "weft.random"] + sorted(
    f"weft.utils.data.{path.stem}" if path.stem != "__init__" else "weft.utils.data"
    for path in (ROOT / "utils" / "data").glob("*.py")
)


@pytest.mark.parametrize("name", FILES)
def test_examples(name: str) -> None:
    """All examples of a file."""
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    out: list[str] = []
    for test in doctest.DocTestFinder().find(module, globs={"weft": weft}):
        weft.manual_seed(0)
        runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)


def test_public_names_have_examples() -> None:
    """Every class and function that weft.utils.data offers shows how it is used."""
    offered = [getattr(data, name) for name in data.__all__]
    shown = [x for x in offered if inspect.isclass(x) or inspect.isfunction(x)]
    assert len(shown) > 15
    assert [x.__name__ for x in shown if ">>>" not in (x.__doc__ or "")] == []


def test_the_page_prints_what_it_shows() -> None:
    """The programs of docs/data.md run, one after another, and print the text below them."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    names: dict[str, object] = {"__name__": "__main__"}
    for i, (language, code) in enumerate(blocks):
        if language != "python":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, f"{PAGE.name}, block {i}", "exec"), names)
        following = blocks[i + 1] if i + 1 < len(blocks) else ("", "")
        assert out.getvalue() == (following[1] if following[0] == "text" else "")
