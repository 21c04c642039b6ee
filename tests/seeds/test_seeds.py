"""Every program of the documents behind weft, repaired, runs and gives the right result.

A program is a file ``bDOC_NN.py``; what must be true after it is the function of that name in
``checks_DOC.py``; docs/seeds.md says what was repaired. Programs that go on where another one ended
import it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import io
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import weft

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "seeds.md"
BLOCKS = sorted(path.stem for path in HERE.glob("b*.py"))
pytest.register_assert_rewrite("seeing", *sorted({f"checks_{block[1:4]}" for block in BLOCKS}))


# Programs that need what weft does not have yet. Each must leave this table when it begins to pass.
WAITING = {
    "b004_34": "weft has no amp.initialize yet",
}


def forget() -> None:
    """The next program that imports another one runs it again."""
    for name in [name for name in sys.modules if re.fullmatch(r"b\d{3}_\d\d", name)]:
        del sys.modules[name]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to run in, on one thread, with the programs in reach of each other."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    threads = weft.get_num_threads()
    weft.set_num_threads(1)
    forget()
    yield tmp_path
    forget()
    weft.set_num_threads(threads)


def check_of(block: str) -> Callable[[Any, str], None]:
    """What must be true after a program: a function of its names and of what it printed."""
    return getattr(importlib.import_module(f"checks_{block[1:4]}"), block)


def run(block: str) -> tuple[SimpleNamespace, str]:
    """Run a program: its names, and what it printed."""
    path = HERE / f"{block}.py"
    code = path.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": block, "__file__": str(path)}
    if "memory_allocated" in code:
        gc.collect()  # else garbage of other tests could go while it counts
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, str(path), "exec"), names)
    return SimpleNamespace(**names), out.getvalue()


def marked(block: str) -> Any:
    """A program as a parameter of a test; one that waits must fail."""
    missing = (AttributeError, ImportError, NotImplementedError)
    waits = WAITING.get(block)
    marks = [pytest.mark.filterwarnings("ignore" if waits else "error")]
    if waits:
        marks.append(pytest.mark.xfail(reason=waits, raises=missing, strict=True))
    return pytest.param(block, marks=marks)


@pytest.mark.parametrize("block", [marked(block) for block in BLOCKS])
def test_block(block: str, place: Path) -> None:
    """The program runs, without a warning, and what must be true is."""
    check = check_of(block)
    check(*run(block))


def rows() -> list[list[str]]:
    """The table of docs/seeds.md: program, what it shows, what was repaired, how it is checked."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if row[0].startswith("[")]


def test_page_and_programs_agree() -> None:
    """124 programs, one row and one check for each, no empty cell; those that wait are marked."""
    table = rows()
    assert len(table) == len(BLOCKS) == 124
    names = [f"[{block[1:]}](../tests/seeds/{block}.py)" for block in BLOCKS]
    assert [row[0] for row in table] == names
    assert all(len(row) == 4 and all(row) for row in table)
    waiting = {f"b{row[0][1:7]}" for row in table if row[3].startswith("waiting")}
    assert waiting == set(WAITING)
    for block, row in zip(BLOCKS, table):
        if block in WAITING:
            assert row[3].startswith(f"waiting: {WAITING[block]}. ")


def test_programs_say_what_they_show() -> None:
    """The first line of a program is what the page says of it."""
    for block, row in zip(BLOCKS, rows()):
        first = (HERE / f"{block}.py").read_text(encoding="utf-8").splitlines()[0]
        assert first == f'"""{row[1]}."""'


def test_checks_can_fail(place: Path) -> None:
    """Every program has a check of its own, and every check asserts."""
    for document in sorted({block[1:4] for block in BLOCKS}):
        module = importlib.import_module(f"checks_{document}")
        checks = {name for name in vars(module) if re.fullmatch(r"b\d{3}_\d\d", name)}
        assert checks == {block for block in BLOCKS if block[1:4] == document}
        for name in checks:
            source = inspect.getsource(getattr(module, name))
            assert "assert " in source or re.search(r"^    _\w+\(", source, re.MULTILINE), name
