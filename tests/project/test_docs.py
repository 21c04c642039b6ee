"""The pages are true: the paths they name exist, and their programs print what stands below them."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import weft
import weft.__main__

ROOT = Path(__file__).resolve().parents[2]
USERS_FILES = ("data.md", "text.md", "vision.md")  # pages that name files of their readers
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *sorted(
        str(p.relative_to(ROOT))
        for p in (ROOT / "docs").rglob("*.md")
        if p.name not in USERS_FILES and p.parent.name != "reference"  # made for the site
    ),
)
TOP = {p.name for p in ROOT.iterdir()}
CODE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: str) -> str:
    """A page of the repository."""
    return (ROOT / page).read_text(encoding="utf-8")


def named_paths(page: str) -> list[tuple[str, str]]:
    """What a page names: (the folder of its heading, a path), from `code` and [text](links)."""
    found, folder = [], ""
    for line in CODE.sub("", text_of(page)).splitlines():
        if line.startswith("#"):
            heading = re.search(r"`([\w./]+/)`", line)
            folder = heading.group(1) if heading else ""
        links = re.findall(r"\]\(([^)#]+)", re.sub(r"`[^`]*`", "", line))
        links = [t for t in links if "://" not in t]
        for text in re.findall(r"`([^`]+)`", line) + links:
            if text in links or is_path(text, folder):
                found.append((folder, text))
    return found


def is_path(text: str, folder: str) -> bool:
    """Whether a piece of code is meant as a path of this repository."""
    if not re.fullmatch(r"[\w.*<>/+-]+", text) or text.startswith("weft.") or "//" in text:
        return False
    ending = re.search(r"(\.(py|cpp|h|md|toml|txt|gz|typed)|\*)$", text) is not None
    return text in TOP or text.rstrip("/") in TOP or "/" in text or (bool(folder) and ending)


def places(page: str, folder: str, text: str) -> list[Path]:
    """The files that a path may mean: from the heading, the root, the two rooms or the page."""
    pattern = re.sub(r"<\w+>", "*", text).rstrip("/")
    bases = (ROOT / folder, ROOT, ROOT / "csrc", ROOT / "weft", (ROOT / page).parent)
    return next((hits for base in bases if (hits := sorted(base.glob(pattern)))), [])


@pytest.mark.parametrize("page", PAGES)
def test_named_paths_exist(page: str) -> None:
    """Every path that a page names is there. What a build makes need not be."""
    made = re.compile(
        r"(build|(docs/)?reference|dist|\.venv[\w-]*|bench/results/latest\.\w+|weft/_C)(/|$)"
    )
    wrong = [t for f, t in named_paths(page) if not made.match(t) and not places(page, f, t)]
    assert not wrong, f"{page} names what is not there: {', '.join(wrong)}"


def test_pages_name_paths() -> None:
    """The search for paths finds them: an empty list would prove nothing."""
    for page in ("README.md", "CONTRIBUTING.md", "docs/map.md", "docs/one_op.md"):
        assert len(named_paths(page)) > 3


def snippets(page: str) -> list[tuple[str, str]]:
    """Python blocks that stand alone, each with the text block that shows what it prints."""
    blocks = CODE.findall(text_of(page))
    following = [*blocks[1:], ("", "")]
    return [
        (code, shown if kind == "text" else "")
        for (language, code), (kind, shown) in zip(blocks, following)
        if language == "python"
    ]


@pytest.mark.parametrize("number", range(len(snippets("README.md"))))
def test_readme_snippets_run(number: int) -> None:
    """A snippet, saved under the name in its first line, prints what the page shows."""
    code, shown = snippets("README.md")[number]
    name = code.splitlines()[0].removeprefix("#").strip()
    assert re.fullmatch(r"\w+\.py", name), f"the first line names the file: {name}"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    assert out.getvalue() == shown


def test_readme_names_every_target() -> None:
    """The table of targets is the Makefile's."""
    targets = set(re.findall(r"^([a-z-]+):.*## ", text_of("Makefile"), re.MULTILINE))
    listed = set(re.findall(r"^\| `make ([a-z-]+)` \|", text_of("README.md"), re.MULTILINE))
    assert listed == targets


def test_versions_agree() -> None:
    """One version, in the package, the project file and the change log."""
    project = text_of("pyproject.toml")
    assert 'dynamic = ["version"]' in project and 'input = "weft/__init__.py"' in project
    newest = re.search(r"^## (\d+\.\d+\.\d+)", text_of("CHANGELOG.md"), re.MULTILINE)
    assert newest and weft.__version__ == newest.group(1)


def test_dependencies_are_explained() -> None:
    """docs/dependencies.md has a word on each requirement of pyproject.toml."""
    page = text_of("docs/dependencies.md")
    project = text_of("pyproject.toml").split("[tool.", 1)[0]
    names = set(re.findall(r'"([a-z][\w-]*)\s*[><=]=[^"]*"', project))
    assert {"numpy", "nanobind"} <= names
    missing = sorted(n for n in names if f"`{n}`" not in page)
    assert not missing, f"docs/dependencies.md does not explain {', '.join(missing)}"


# ---- the command line ---------------------------------------------------------------------------


def test_command_line_tells_the_state(capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m weft` gives version, instruction set, threads, ops and memory."""
    assert weft.__main__.main([]) == 0
    lines = dict(re.split(r" {2,}", line) for line in capsys.readouterr().out.splitlines())
    assert lines["weft"].startswith(weft.__version__)
    assert lines["instruction set"] in ("base", "avx2", "avx512")
    assert int(lines["threads"]) == weft.get_num_threads()
    assert int(lines["ops"]) == len(weft.ops.registry())
    assert re.match(r"\S+ \w+ live, \S+ \w+ peak", lines["memory"])


def test_command_line_lists_ops(capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m weft ops` lists every op of the registry, and nothing else."""
    assert weft.__main__.main(["ops"]) == 0
    assert capsys.readouterr().out.split() == sorted(weft.ops.registry())


def test_command_line_prints_every_op(capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m weft ops NAME` prints the signature and the doc of each."""
    for name, info in weft.ops.registry().items():
        assert weft.__main__.main(["ops", name]) == 0
        out = capsys.readouterr().out
        assert out.startswith(info.signatures[0])
        assert info.doc.strip().splitlines()[0] in out


def test_command_line_helps_with_a_slip(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown name fails, and names what is near."""
    assert weft.__main__.main(["ops", "tahn"]) == 1
    assert "tanh" in capsys.readouterr().err
