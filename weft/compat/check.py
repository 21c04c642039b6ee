"""``python -m weft check``: which names of PyTorch programs use, and which of them weft lacks."""

from __future__ import annotations

import argparse
import os
import sys
import tokenize

from weft.compat.names import nearest
from weft.compat.uses import Keyword, Use, uses_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

__all__ = ["main", "python_files", "report", "table"]


def main(argv: Sequence[str]) -> int:
    """Check files and folders; return 1 if weft lacks something or a file cannot be read, else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m weft check",
        description="List which names of torch, torchvision, torchtext and torchaudio programs "
        "use, and which of them weft lacks. Nothing is run.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, or a folder of files")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--lacking", action="store_true", help="leave out what weft has")
    args = parser.parse_args(argv)
    missing = [path for path in args.paths if not os.path.exists(path)]
    if missing:
        parser.error(f"no such file or folder: {', '.join(missing)}")
    reports = [report(path) for path in python_files(args.paths)]
    lacking = sum(r["lacking"] for r in reports)
    unread = sum(r["error"] is not None for r in reports)
    if args.json:
        import json

        print(json.dumps({"files": reports, "lacking": lacking}, indent=2))
    else:
        for r in reports:
            print(table(r, only_lacking=args.lacking))
        if len(reports) != 1:
            more = f", {unread} of them cannot be read" if unread else ""
            print(f"{len(reports)} files{more}, {lacking} lacking")
    return 1 if lacking or unread else 0


def python_files(paths: Sequence[str]) -> Iterator[str]:
    """Return the files among paths, and the Python files below folders, in order.

    >>> from weft.compat.check import python_files
    >>> list(python_files(["setup.py"]))
    ['setup.py']
    """
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, folders, files in os.walk(path):
            folders[:] = sorted(d for d in folders if d[0] != "." and d != "__pycache__")
            yield from (os.path.join(folder, f) for f in sorted(files) if f.endswith(".py"))


def report(path: str) -> dict[str, Any]:
    """Return what a file uses, as plain data."""
    uses: list[Use] = []
    keywords: list[Keyword] = []
    error = None
    try:
        if path.endswith(".ipynb"):
            raise ValueError("a notebook: make a script of it, jupyter nbconvert --to script")
        with tokenize.open(path) as file:  # in the encoding that its first lines declare
            uses, keywords = uses_of(file.read(), path)
    except SyntaxError as e:
        error = f"line {e.lineno}: {e.msg}" if e.lineno else str(e.msg)
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as e:
        error = f"{type(e).__name__}: {e}"
    names = [
        {
            "name": u.name,
            "lines": u.lines,
            "present": u.present,
            "guarded": u.guarded,
            "nearest": [] if u.present else near(u.name),
        }
        for u in uses
    ]
    lacking = sum(not (u.present or u.guarded) for u in uses) + len(keywords)
    return {
        "file": path,
        "names": names,
        "keywords": [vars(k) for k in keywords],
        "error": error,
        "lacking": lacking,
    }


def near(name: str) -> list[str]:
    """Return what there is in the place of a lacking name.

    >>> from weft.compat.check import near
    >>> near("torch.nn.Conv2D")[0]
    'torch.nn.Conv2d'
    """
    return nearest(name)


def table(found: dict[str, Any], only_lacking: bool = False) -> str:
    """Return a report as text: what is lacking first, then what is there.

    >>> from weft.compat.check import table
    >>> print(table({"file": "a.py", "names": [], "keywords": [], "error": None, "lacking": 0}))
    a.py: 0 names of PyTorch, none lacking
    """
    rows: list[tuple[str, str, str]] = []
    for n in sorted(found["names"], key=lambda n: (n["present"], n["name"])):
        if n["present"]:
            note = ""
        else:
            note = "lacking" + (", in a try" if n["guarded"] else "")
            note += f"; nearest: {', '.join(n['nearest'])}" if n["nearest"] else ""
        if not (only_lacking and n["present"]):
            rows.append((n["name"], _lines(n["lines"]), note))
    for k in found["keywords"]:
        takes = ", ".join(k["takes"])
        rows.insert(
            0, (f"{k['name']}({k['keyword']}=)", str(k["line"]), f"lacking; takes: {takes}")
        )
    lacking = found["lacking"] or "none"
    head = f"{found['file']}: {len(found['names'])} names of PyTorch, {lacking} lacking"
    if found["error"]:
        head = f"{found['file']}: cannot be read: {found['error']}"
    width = max((len(name) for name, _, _ in rows), default=0)
    lines_width = max((len(lines) for _, lines, _ in rows), default=0)
    body = [f"  {n:<{width}}  {at:<{lines_width}}  {note}".rstrip() for n, at, note in rows]
    return "\n".join([head, *body])


def _lines(lines: list[int], most: int = 6) -> str:
    shown = ", ".join(map(str, lines[:most]))
    return shown + (" …" if len(lines) > most else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
