"""Pages that are made from the sources are up to date: the map, and snippets of code (`docs/generate.py`)."""

from __future__ import annotations

from pathlib import Path

import folders
import generate
import pytest

MADE, COMPLAINTS = generate.pages()


@pytest.mark.parametrize("page", MADE, ids=lambda p: str(p.relative_to(generate.ROOT)))
def test_pages_are_up_to_date(page: Path) -> None:
    """A page is what the sources say; `python docs/generate.py` writes it anew."""
    assert page.read_text("utf-8") == MADE[page], "run python docs/generate.py"


def test_every_file_says_what_it_holds() -> None:
    """Each source file has a first sentence, each folder has words; snippets name what is there."""
    assert not COMPLAINTS, "\n".join(COMPLAINTS)


def test_the_map_has_every_source() -> None:
    """Found in another way than the map finds them."""
    page = generate.map_page()[0]
    for room, _ in folders.ROOMS:
        for path in sorted((generate.ROOT / room).rglob("*.py")):
            folder = str(path.parent.relative_to(generate.ROOT))
            whole = any(folder == w or folder.startswith(w + "/") for w in folders.WHOLE)
            if path.name == "__init__.py" or whole or "__pycache__" in folder or "/lib" in folder:
                continue
            section = page.split(f"\n## `{folder}/`\n", 1)[1].split("\n## ", 1)[0]
            assert f"`{path.name}`" in section, path


def test_a_new_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without words is named, a file with words gets a line; headers speak for their sources."""
    (tmp_path / "weft/new").mkdir(parents=True)
    (tmp_path / "weft/new/silent.py").write_text("x = 1\n")
    (tmp_path / "weft/new/both.h").write_text("#pragma once\n// What both\n// hold. And more.\n")
    (tmp_path / "weft/new/both.isa.cpp").write_text("int x;\n")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(folders, "FOLDERS", {"weft": "All."})
    for name in ("FILES", "HIDDEN"):
        monkeypatch.setattr(folders, name, {})
    monkeypatch.setattr(folders, "ROOMS", (("weft", "Python"),))
    page, complaints = generate.map_page()
    assert "| `both.h`, `both.isa.cpp` | What both hold |" in page
    assert [c.split(" ")[0] for c in complaints] == ["weft/new/", "weft/new/silent.py"]


def test_a_snippet_that_has_changed_is_found() -> None:
    """A block is written anew from what the marker names."""
    page = "<!-- source: weft/jit/guards.py item_or_absent -->\n```python\ndef item_or_absent(): ...\n```"
    assert generate.with_snippets(page) != page
    assert "DictItem(owner, key" in generate.with_snippets(page)


def test_a_snippet_that_is_gone_is_found() -> None:
    """A marker that names nothing fails by name."""
    page = "<!-- source: csrc/ops/call.cpp no_such_thing -->\n```cpp\n```"
    with pytest.raises(LookupError, match="no_such_thing"):
        generate.with_snippets(page)
