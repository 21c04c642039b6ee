"""The examples in the docs of ``weft.vision`` and in its page give what they print."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import re
import sys
from pathlib import Path

import pytest

import weft
from weft.vision import datasets, transforms, utils

ROOT = Path(weft.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "vision.md"
FILES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "vision").rglob("*.py")
)


@pytest.mark.parametrize("name", FILES)
def test_examples(name: str) -> None:
    """All examples of a file."""
    importlib.import_module(name)
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    out: list[str] = []
    for test in doctest.DocTestFinder().find(sys.modules[name], globs={"weft": weft}):
        weft.manual_seed(0)
        runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)


def test_public_names_have_examples() -> None:
    """Every class and function that these parts offer shows how it is used."""
    parts = (datasets, transforms, transforms.functional, utils)
    offered = {
        f"{part.__name__}.{name}": x
        for part in parts
        for name, x in vars(part).items()
        if not name.startswith("_")
        and getattr(x, "__module__", "").startswith("weft.vision")
        and (inspect.isclass(x) or inspect.isfunction(x))
    }
    assert len(offered) > 80
    missing = [name for name, x in offered.items() if ">>>" not in (x.__doc__ or "")]
    assert not missing, missing


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The snippets of docs/vision.md, one after another, print what stands below them."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    scope: dict[str, object] = {}
    ran = 0
    for (language, code), (kind, shown) in zip(blocks, [*blocks[1:], ("", "")]):
        if language != "python":
            continue
        out = io.StringIO()
        weft.manual_seed(0)
        with contextlib.redirect_stdout(out):
            exec(compile(code, "docs/vision.md", "exec"), scope)
        assert out.getvalue() == (shown if kind == "text" else ""), code
        ran += 1
    assert ran >= 4
