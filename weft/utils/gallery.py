"""The examples: ``python -m weft examples`` lists them, and runs one by its name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["examples", "listing", "run", "run_all"]

_SHARED = {"common", "__init__"}


def folder() -> Path:
    """Return where the examples are: in the package, or beside it in a source tree.

    >>> (folder() / "linear_regression.py").exists()
    True
    """
    package = Path(__file__).resolve().parents[1]
    inside = package / "examples"
    return inside if inside.is_dir() else package.parent / "examples"


def examples() -> dict[str, str]:
    """Return the name of each example and what its first lines say.

    >>> examples()["linear_regression"].splitlines()[0]
    'Fits a line to noisy points and draws it.'
    """
    import ast

    found = {}
    for path in sorted(folder().glob("*.py")):
        if path.stem not in _SHARED:
            found[path.stem] = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return found


def listing() -> str:
    """Return the examples as text: name, what it does, what it must reach.

    >>> "linear_regression" in listing()
    True
    """
    lines = []
    for name, doc in examples().items():
        goal = next((text for text in doc.splitlines() if text.startswith("Goal:")), "")
        lines += [f"{name:<22}{doc.splitlines()[0]}"] + ([f"{'':<22}{goal}"] if goal else [])
    return "\n".join(lines)


def run(name: str, arguments: list[str]) -> int:
    """Run an example in a process of its own, as ``python examples/NAME.py`` would.

    >>> run("no_such_example", [])
    Traceback (most recent call last):
    ...
    LookupError: weft has no example named 'no_such_example'; python -m weft examples lists them
    """
    import subprocess

    if name not in examples():
        import difflib

        near = difflib.get_close_matches(name, examples(), n=2)
        hint = (
            f"did you mean {' or '.join(near)}?" if near else "python -m weft examples lists them"
        )
        raise LookupError(f"weft has no example named '{name}'; {hint}")
    home = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, str(folder() / f"{name}.py"), *arguments]
    return subprocess.call(command, env={**os.environ, "PYTHONPATH": path})


def run_all(page: str) -> int:
    """Run all examples and write what they reached, with their pictures, to a page in Markdown.

    The pictures are stored beside the page, in ``pictures/gallery``. Returns how many examples failed.

    >>> run_all.__name__
    'run_all'
    """
    import json

    pictures = Path(page).resolve().parent / "pictures" / "gallery"
    os.environ["WEFT_GALLERY"] = str(pictures)
    lines = [
        "# The gallery",
        "",
        "Every example with what it reached when `make gallery` last ran all of them.",
        "`python -m weft examples NAME` runs one.",
    ]
    failed = 0
    for name, doc in examples().items():
        print(f"--- {name}", flush=True)
        code = run(name, [])
        failed += code != 0
        lines += ["", f"## {name}", "", doc.splitlines()[0]]
        record = pictures / f"{name}.json"
        if code == 0 and record.exists():
            told = json.loads(record.read_text())
            lines += [
                "",
                f"{told['what'].capitalize()}: **{told['value']:.4g}** (goal: {told['goal']}), "
                f"in {told['seconds']:.0f} s.",
            ]
            rows = told["table"]
            if rows:
                marks = ["| " + " | ".join(row) + " |" for row in rows]
                lines += [
                    "",
                    marks[0],
                    "| " + " | ".join("---" for _ in rows[0]) + " |",
                    *marks[1:],
                ]
        elif code:
            lines += ["", f"**Failed** with exit code {code}."]
        record.unlink(missing_ok=True)
        if (pictures / f"{name}.png").exists():
            lines += ["", f"![{name}](pictures/gallery/{name}.png)"]
    Path(page).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(examples()) - failed} of {len(examples())} examples reached their goal; {page}")
    return failed
