"""The examples in the docs of ``weft.jit``, and on its page, give what they print."""

from __future__ import annotations

import doctest
import importlib
import re
import sys
from pathlib import Path

import pytest

import weft

ROOT = Path(weft.__file__).parent
FILES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "jit").rglob("*.py")
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", FILES)
def test_examples(name: str) -> None:
    """All examples of a file."""
    importlib.import_module(name)
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    out: list[str] = []
    for test in doctest.DocTestFinder().find(sys.modules[name], globs={"weft": weft}):
        weft.manual_seed(0)
        runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)


def test_page() -> None:
    """The examples of docs/script.md."""
    page = Path(__file__).parents[2] / "docs" / "script.md"
    failed, count = doctest.testfile(
        str(page), module_relative=False, optionflags=OPTIONS, globs={"weft": weft}
    )
    assert count > 10 and not failed


def test_architecture_names_every_file() -> None:
    """The listing in docs/architecture/compiler.md has the files of weft.jit and weft.jit.compile, and no other."""
    page = Path(__file__).parents[2] / "docs" / "architecture" / "compiler.md"
    listing = page.read_text("utf-8").partition("```\nweft/jit/\n")[2].partition("```")[0]
    found = [path for folder in (".", "compile") for path in (ROOT / "jit" / folder).glob("*.py")]
    names = sorted(path.name for path in found if path.name != "__init__.py")
    assert sorted(re.findall(r"[\w]+\.py", listing)) == names
    folders = {p.parent.name for p in (ROOT / "jit").glob("*/__init__.py")}
    assert set(re.findall(r"^  (\w+)/", listing, re.MULTILINE)) | {"script"} == folders
