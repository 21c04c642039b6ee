"""The programs of the guides in `docs/` run, one after another, and print the text that stands below them."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

import weft

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GUIDES = (
    "audio",
    "data",
    "distributions",
    "quantization",
    "text",
    "vision",
    "amp",
    "view",
    "index",
)
NEEDS = {"audio": "soundfile", "vision": "PIL"}


def programs(page: str) -> list[tuple[str, str | None]]:
    """The programs of a page, each with the text block below it, if there is one."""
    blocks = BLOCK.findall((DOCS / page).read_text("utf-8"))
    return [
        (code, shown if kind == "text" else None)
        for (language, code), (kind, shown) in zip(blocks, [*blocks[1:], ("", "")])
        if language == "python"
    ]


@pytest.mark.parametrize("guide", GUIDES)
def test_guides_print_what_they_show(
    guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All programs of a page, in one session, in an empty folder."""
    if guide in NEEDS:
        pytest.importorskip(NEEDS[guide])
    monkeypatch.chdir(tmp_path)
    found = programs(f"{guide}.md")
    assert found
    session: dict[str, object] = {"__name__": "__main__", "weft": weft}
    for code, shown in found:
        weft.manual_seed(0)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, f"docs/{guide}.md", "exec"), session)
        if shown is not None:
            assert out.getvalue() == shown, code


def test_examples_of_the_guide_to_scripts() -> None:
    """docs/script.md is written as a session of the interpreter."""
    failed, count = doctest.testfile(
        str(DOCS / "script.md"),
        module_relative=False,
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
        globs={"weft": weft},
    )
    assert count > 10 and not failed
