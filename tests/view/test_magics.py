"""``%load_ext weft`` in a shell of IPython; what needs no IPython is tested without it."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import pytest

import weft
from weft.view.notebook import ProfileReport, options


@pytest.fixture
def shell() -> Any:
    """A shell of its own, with weft's magics."""
    pytest.importorskip("IPython", reason="IPython is not installed: pip install weft[notebook]")
    from IPython.core.interactiveshell import InteractiveShell

    made = InteractiveShell()
    made.history_manager.enabled = False
    assert made.run_cell("%load_ext weft\nimport weft").success
    return made


def test_profile_shows_verdict_and_table(shell: Any) -> None:
    done = shell.run_cell("%%profile\nx = weft.rand(200, 200)\ny = (x @ x).sum()")
    assert done.success and isinstance(done.result, ProfileReport)
    verdict, table = done.result.parts()
    assert "%" in verdict
    assert "matmul" in table and "rand" in table
    assert shell.user_ns["y"].shape == ()  # the cell ran where cells run
    assert f"<p>{verdict}</p>" in done.result._repr_html_()


def test_profile_by_line_and_by_module(shell: Any) -> None:
    shell.run_cell("layer = weft.nn.Linear(3, 2)")
    by_line = shell.run_cell(
        "%%profile --by line --rows 1\nx = weft.ones(4, 3)\nlayer(x).sum()"
    ).result
    assert "Line" in str(by_line) and "more" in str(by_line)
    by_module = shell.run_cell("%%profile --by module\nlayer(weft.ones(4, 3))").result
    assert "Linear" in str(by_module)


def test_profile_keeps_the_profile_under_a_name(shell: Any) -> None:
    assert shell.run_cell("%%profile prof\nweft.ones(3).exp()").success
    prof = shell.user_ns["prof"]
    assert prof.flame().startswith("<svg") and "exp" in {a.key for a in prof.key_averages()}


def test_an_error_in_the_cell_is_that_of_the_cell(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    done = shell.run_cell("%%profile\nweft.ones(2) + weft.ones(3)")
    assert done.result is None
    assert "add: the size of tensor a (2) must match" in capsys.readouterr().out
    assert shell.run_cell("%%profile\nweft.ones(2)").result is not None  # the recording has ended


def test_options_that_are_not_there(shell: Any) -> None:
    assert isinstance(shell.run_cell("%%profile --by colour\n1").error_in_exec, ValueError)


@pytest.mark.parametrize(
    "line", ["--by", "--by ops", "--rows", "--rows 0", "--rows -1", "a b", "--x"]
)
def test_wrong_options(line: str) -> None:
    with pytest.raises(ValueError, match=r"%%profile: .* got"):
        options(line)


def test_options_in_any_order() -> None:
    draw = random.Random(3)
    for _ in range(200):
        by, rows, name = draw.choice(["op", "module", "line"]), draw.randint(1, 99), "prof"
        words = [f"--by {by}", f"--rows {rows}", name]
        draw.shuffle(words)
        count = draw.randint(0, 3)
        given = words[:count]
        expected = (
            by if words[0:count].count(f"--by {by}") else "op",
            rows if f"--rows {rows}" in given else 12,
            name if name in given else "",
        )
        assert options("  ".join(given)) == expected


def test_html_is_escaped() -> None:
    class Fake:
        def verdict(self) -> str:
            return "<b>"

        def report(self, group_by: str, row_limit: int) -> str:
            return f"{group_by} & {row_limit}"

    assert ProfileReport(Fake(), "op", 3)._repr_html_() == "<p>&lt;b&gt;</p><pre>op &amp; 3</pre>"


def test_weft_does_not_import_ipython() -> None:
    code = "import sys, weft; weft.load_ipython_extension; print('IPython' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
    assert weft.load_ipython_extension.__module__ == "weft.view.notebook"
