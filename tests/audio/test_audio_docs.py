"""The examples in the docs of ``weft.audio`` and in its page give what they print."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest

import weft

ROOT = Path(weft.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "audio.md"
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


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The snippets of docs/audio.md, one after another, print what stands below them."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    scope: dict[str, object] = {}
    for (language, code), (_, shown) in pairwise(blocks):
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, "docs/audio.md", "exec"), scope)
            assert out.getvalue() == shown, code
    assert "mfcc" in scope
