"""Snippets of sources in the pages are what the sources say.

A line `<!-- source: weft/jit/specialize.py Stage -->` above a block of code names a file, and a class, function,
constant or struct in it, or several. `WEFT_WRITE_DOCS=1 pytest tests/project/test_docs_sources.py`
writes the blocks again.
"""

from __future__ import annotations

import ast
import os
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"<!-- source: (\S+) ([^>]+?) -->\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
PAGES = sorted(p for p in (ROOT / "docs").rglob("*.md") if BLOCK.search(p.read_text("utf-8")))


def snippet(path: str, name: str) -> str:
    """What a file has under a name."""
    text = (ROOT / path).read_text("utf-8")
    return from_python(text, name) if path.endswith(".py") else from_cpp(text, name)


def from_python(text: str, name: str) -> str:
    """A class, function (`Class.method`) or constant, without docstrings of its parts."""
    lines = text.splitlines()
    body: list[ast.stmt] = ast.parse(text).body
    found: ast.stmt | None = None
    for part in name.split("."):
        found = next(s for s in body if part in names_of(s))
        body = getattr(found, "body", [])
    assert found is not None
    first = min([found.lineno, *[d.lineno for d in getattr(found, "decorator_list", [])]])
    return textwrap.dedent("\n".join(lines[first - 1 : found.end_lineno]))


def names_of(s: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    if isinstance(s, (ast.ClassDef, ast.FunctionDef)):
        return [s.name]
    targets = s.targets if isinstance(s, ast.Assign) else [getattr(s, "target", None)]
    return [t.id for t in targets if isinstance(t, ast.Name)]


def from_cpp(text: str, name: str) -> str:
    """A struct, class, enum or function: from the line that names it to the brace that closes it."""
    start = re.search(
        rf"^( *)(?:struct|class|enum class|[\w:<>*& ]+) {name}\b[^;\n]*{{$", text, re.MULTILINE
    )
    assert start is not None, f"{name} is not there"
    end = text.index(f"\n{start.group(1)}}}", start.start())
    return textwrap.dedent(text[start.start() : text.index("\n", end + 1)])


def written(page: str) -> str:
    """A page with its blocks as the sources have them."""

    def block(match: re.Match[str]) -> str:
        path, names, language, _ = match.groups()
        code = "\n\n".join(snippet(path, name) for name in names.split())
        return f"<!-- source: {path} {names} -->\n```{language}\n{code}\n```"

    return BLOCK.sub(block, page)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_snippets_are_those_of_the_sources(page: Path) -> None:
    text = page.read_text("utf-8")
    if os.environ.get("WEFT_WRITE_DOCS"):
        page.write_text(written(text), "utf-8")
    assert page.read_text("utf-8") == written(text)


def test_a_snippet_that_has_changed_is_found() -> None:
    page = "<!-- source: weft/jit/guards.py item_or_absent -->\n```python\ndef item_or_absent(): ...\n```"
    assert written(page) != page
    assert "DictItem(owner, key" in written(page)
