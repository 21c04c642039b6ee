"""Writes what the pages take from the sources: the map, snippets of code, and the picture of speed.

``python docs/generate.py`` writes all of it anew; ``--check`` only says what is out of date. Needs nothing but
Python, and no build. `tests/project/test_docs_sources.py` fails where a page is out of date.

- `docs/map.md` has a line for each source file: the first sentence of its docstring or leading comment. The words on
  a folder are those of its ``__init__.py``, or the ones in `docs/folders.py`.
- A line ``<!-- source: weft/jit/specialize.py Stage -->`` above a block of code in any page under `docs/` names a file
  and something in it: a class, function, method or constant of Python, a struct or function of C++, an op by its name.
  Several names may follow each other. ``path /text/`` takes the statement that begins on the line with that text.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import chart
import folders

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (".py", ".cpp", ".h", ".js", ".css")
SKIPPED = {"__pycache__", "lib", "reference"}  # `docs/reference` is made for the site
SENTENCE = re.compile(r"(.+?(?<!e\.g)(?<!i\.e)[.?!])(?=\s|$)", re.DOTALL)


# ---- the first sentence of a file --------------------------------------------------------------


def python_words(path: Path) -> str:
    """The docstring of a Python file."""
    return ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""


def comment_words(path: Path) -> str:
    """The comment that a file of C++, JavaScript or CSS begins with."""
    found: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("//") or (found and not line.startswith("#") and path.suffix == ".css"):
            found.append(line.strip("/* "))
        elif line.startswith("/*"):
            found.append(line.strip("/* "))
            if line.endswith("*/"):
                break
        elif found or not line.startswith(("#pragma once", "#!")):
            break
    return "\n".join(found)


def page_words(path: Path) -> str:
    """The title of a page."""
    title = re.search(r"^# (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return title.group(1) + "." if title else ""


def words(path: Path) -> str:
    """What a file says of itself, whole."""
    if path.suffix == ".py":
        return python_words(path)
    return page_words(path) if path.suffix == ".md" else comment_words(path)


def sentence(text: str) -> str:
    """The first sentence of a text, as a cell of a table."""
    first = " ".join(text.split("\n\n")[0].split())
    found = SENTENCE.match(first)
    first = found.group(1) if found else first
    return first.removesuffix(".").replace("``", "`").replace("|", "\\|")


def paragraph(text: str) -> str:
    """The first paragraph of a text."""
    return " ".join(text.split("\n\n")[0].split()).replace("``", "`")


# ---- the map -----------------------------------------------------------------------------------


def listed(folder: str) -> Iterator[Path]:
    """The files of a folder that the map has a line for."""
    for path in sorted((ROOT / folder).iterdir()):
        name = str(path.relative_to(ROOT))
        if name in folders.FILES:
            yield path
        elif path.suffix in (*SOURCES, ".md") and path.name != "__init__.py" and folder != ".":
            yield path


def below(folder: str) -> Iterator[str]:
    """A folder and all below it that hold files for the map."""
    path = ROOT / folder
    if any(listed(folder)) or (path / "__init__.py").exists() or folder in folders.FOLDERS:
        yield folder
    if folder in folders.WHOLE:
        return
    for child in sorted(path.iterdir()):
        if child.is_dir() and child.name not in SKIPPED and not child.name.startswith("."):
            yield from below(f"{folder}/{child.name}")


def arranged(room: str) -> list[str]:
    """The folders of a room: those that `docs/folders.py` puts in order, then the others."""
    first = [f for f in folders.ORDER if f.startswith(room + "/")]
    rank = {f: i for i, f in enumerate(first)}

    def key(folder: str) -> tuple[int, str]:
        parts = folder.split("/")
        return rank.get("/".join(parts[:2]), len(first)) if len(parts) > 1 else -1, folder

    return sorted(below(room), key=key)


def about(folder: str) -> str:
    """The words on a folder."""
    init = ROOT / folder / "__init__.py"
    said = folders.FOLDERS.get(folder) or (paragraph(words(init)) if init.exists() else "")
    mirrored = "weft" + folder.removeprefix("tests")
    if not said and folder.startswith("tests/") and (ROOT / mirrored).exists():
        said = f"Tests of `{mirrored}/`."
    return said


def together(paths: list[Path]) -> list[list[Path]]:
    """Files of one name, such as a header and what it declares, in one line of the map."""
    groups: dict[str, list[Path]] = {}
    for p in paths:
        own = p.suffix in (".h", ".cpp")
        groups.setdefault(p.name.split(".")[0] if own else p.name, []).append(p)
    return [sorted(g, key=lambda p: (p.suffix != ".h", p.name)) for g in groups.values()]


def lines_of(folder: str, complaints: list[str]) -> Iterator[str]:
    """The section of the map on one folder."""
    said = about(folder)
    if not said:
        complaints.append(f"{folder}/ has no words: a docstring in __init__.py, or docs/folders.py")
    yield from (f"## `{folder}/`", "", said, "") if said else (f"## `{folder}/`", "")
    if folder in folders.WHOLE:
        return
    rows = []
    for group in together(list(listed(folder))):
        cells = [folders.FILES.get(str(p.relative_to(ROOT))) or sentence(words(p)) for p in group]
        text = next((c for c in cells if c), "")
        names = ", ".join(f"`{p.name}`" for p in group)
        if not text:
            complaints.append(f"{folder}/{group[0].name} does not say what it holds")
        rows.append(f"| {names} | {text} |")
    if rows:
        yield from ("| file | what it holds |", "| --- | --- |", *rows, "")


def tree() -> Iterator[str]:
    """The folders of the first level, each with its words."""
    yield from ("| folder | what it holds |", "| --- | --- |")
    for room, _ in folders.ROOMS:
        for folder in arranged(room):
            inside = room in ("weft", "csrc")
            if folder.count("/") == inside:
                yield f"| [`{folder}/`](#{anchor(folder)}) | {sentence(about(folder))} |"
    yield ""


def anchor(folder: str) -> str:
    """How a heading is named in a link."""
    return folder.replace("/", "")


def map_page() -> tuple[str, list[str]]:
    """The map, and what is missing in the sources to make it complete."""
    complaints: list[str] = []
    lines = [folders.INTRODUCTION, *tree(), "## The root", "", "| file | what it is |"]
    lines += ["| --- | --- |"]
    lines += [f"| `{n}` | {t} |" for n, t in folders.FILES.items() if (ROOT / n).parent == ROOT]
    lines += [f"| `{n}` | {t} |" for n, t in folders.HIDDEN.items()]
    for room, title in folders.ROOMS:
        lines += ["", f"# {title}", ""]
        for folder in arranged(room):
            lines += lines_of(folder, complaints)
        while not lines[-1]:
            lines.pop()
    gone = [
        n for n in (*folders.FILES, *folders.HIDDEN, *folders.FOLDERS) if not list(ROOT.glob(n))
    ]
    complaints += [f"docs/folders.py names {n}, which is not there" for n in gone]
    return "\n".join(lines) + "\n", complaints


# ---- snippets ----------------------------------------------------------------------------------

BLOCK = re.compile(
    r"<!-- source: (\S+) ([^>]+?) -->\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def snippet(path: str, name: str) -> str:
    """What a file has under a name, or at a text between slashes."""
    text = (ROOT / path).read_text("utf-8")
    if name.startswith("/"):
        return from_line(text, name.strip("/"))
    return from_python(text, name) if path.endswith(".py") else from_cpp(text, name)


def from_python(text: str, name: str) -> str:
    """A class, function (`Class.method`) or constant."""
    lines = text.splitlines()
    body: list[ast.stmt] = ast.parse(text).body
    found: ast.stmt | None = None
    for part in name.split("."):
        found = next((s for s in body if part in names_of(s)), None)
        if found is None:
            raise LookupError(f"{name} is not in the source")
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
    """A struct, class, enum, function or op: from the line that names it to the brace that closes it."""
    op = re.search(
        rf'^((?://.*\n)*)WEFT_OP ?{{\n  \.signature =\s+"{re.escape(name)}\(', text, re.MULTILINE
    )
    start = op or re.search(
        rf"^( *)(?:template .*\n *)?(?:struct|class|enum class|[\w:<>*& ]+) {re.escape(name)}\b[^;{{}}]*{{$",
        text,
        re.MULTILINE,
    )
    if start is None:
        raise LookupError(f"{name} is not in the source")
    margin = "" if op else start.group(1)
    end = text.index(f"\n{margin}}}", start.start())
    return textwrap.dedent(text[start.start() : text.index("\n", end + 1)])


def from_line(text: str, part: str) -> str:
    """The statement that begins on the line with a text: as many lines as its brackets need."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if part in line), None)
    if first is None:
        raise LookupError(f"no line has {part}")
    last, depth = first, 0
    for last in range(first, len(lines)):
        depth += sum((c in "([{") - (c in ")]}") for c in lines[last])
        if depth <= 0:
            break
    return textwrap.dedent("\n".join(lines[first : last + 1]))


def split_names(names: str) -> list[str]:
    """The names in a marker: words, and texts between slashes, which may hold spaces."""
    return re.findall(r"/[^/]+/|\S+", names)


def with_snippets(page: str) -> str:
    """A page with its blocks as the sources have them."""

    def block(match: re.Match[str]) -> str:
        path, names, language, _ = match.groups()
        code = "\n\n".join(snippet(path, name) for name in split_names(names))
        return f"<!-- source: {path} {names} -->\n```{language}\n{code}\n```"

    return BLOCK.sub(block, page)


# ---- all of it ---------------------------------------------------------------------------------


def pages() -> tuple[dict[Path, str], list[str]]:
    """Every page that is made from the sources, as it must be; and what is wrong with the sources."""
    text, complaints = map_page()
    made = {ROOT / "docs/map.md": text, chart.PICTURE: chart.speed()}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = path.read_text("utf-8")
        if BLOCK.search(text) and path.parent.name not in SKIPPED:
            try:
                made[path] = with_snippets(text)
            except (LookupError, OSError) as e:
                complaints.append(f"{path.relative_to(ROOT)}: {e}")
    return made, complaints


def main(arguments: list[str]) -> int:
    """Writes the pages, or with ``--check`` only names those that are out of date."""
    made, complaints = pages()
    for path, text in made.items():
        if not path.exists() or path.read_text("utf-8") != text:
            name = path.relative_to(ROOT)
            if "--check" in arguments:
                complaints.append(f"{name} is out of date: python docs/generate.py")
            else:
                path.write_text(text, "utf-8")
                print(f"wrote {name}")
    print(*complaints, sep="\n" if complaints else "", end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
