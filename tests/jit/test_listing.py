"""The listing of the compiler's files in docs/architecture/compiler.md names what is there."""

from __future__ import annotations

import re
from pathlib import Path

import weft

JIT = Path(weft.__file__).parent / "jit"
PAGE = Path(__file__).parents[2] / "docs" / "architecture" / "compiler.md"


def test_it_has_every_file_and_no_other() -> None:
    listing = PAGE.read_text("utf-8").partition("```\nweft/jit/\n")[2].partition("```")[0]
    found = [path for folder in (".", "compile") for path in (JIT / folder).glob("*.py")]
    names = sorted(path.name for path in found if path.name != "__init__.py")
    assert sorted(re.findall(r"\w+\.py", listing)) == names
    folders = {p.parent.name for p in JIT.glob("*/__init__.py")}
    assert set(re.findall(r"^  (\w+)/", listing, re.MULTILINE)) == folders
