"""``python -m weft doctor``: what it finds, what it advises, and its exit code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.utils import doctor
from weft.utils.doctor import EXTRAS, NEEDED, Finding, cpu_quota, examine

ROOT = Path(__file__).resolve().parents[2]


def one(subject: str) -> Finding:
    """The finding on a subject."""
    (found,) = [f for f in examine() if f.subject == subject]
    return found


def test_this_machine_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the tests run, there is no problem: exit code 0, a line for each check."""
    assert doctor.main() == 0
    text = capsys.readouterr().out
    for subject in doctor.CHECKS:
        assert subject == "extras" or f"  {subject}" in text
    assert "weft is well" in text and weft.__version__ in text


def test_command() -> None:
    """The command prints the same, and its exit code says whether there is a problem."""
    run = [sys.executable, "-m", "weft", "doctor"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "self-test" in done.stdout
    broken = "import sys; sys.modules['llvmlite'] = None; from weft.utils.doctor import main"
    code = f"{broken}; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "missing: llvmlite" in done.stdout and "pip install llvmlite" in done.stdout


def test_lists_are_those_of_the_project() -> None:
    """Each extra for users and each requirement of pyproject.toml is looked at, and no others."""
    text = (ROOT / "pyproject.toml").read_text()
    section = text.split("[project.optional-dependencies]")[1].split("\n\n")[0]
    extras = set(re.findall(r"^(\w+) = ", section, re.MULTILINE))
    ours = {"build", "docs", "test", "lint", "parity", "inference", "types", "notebook"}
    known = set(EXTRAS) | ours
    assert set(EXTRAS) <= extras, "an extra that pyproject.toml does not have"
    assert extras <= known, "add it to EXTRAS, or here if users do not install it"
    (needed,) = re.findall(r"^dependencies = \[(.*)\]$", text, re.MULTILINE)
    assert set(re.findall(r'"([\w-]+)', needed)) == set(NEEDED.values())


def test_missing_extra_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is named with the command that installs it; that is no problem."""
    monkeypatch.setitem(sys.modules, "soundfile", None)
    found = one("weft[audio]")
    assert found.level == "note" and "soundfile" in found.text
    assert found.advice == 'pip install "weft[audio]"'
    assert doctor.main() == 0


def test_wrong_numbers_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which weft computes wrong numbers is reported, one on which it works is not."""
    monkeypatch.setattr(weft.linalg, "inv", lambda x: x)
    assert [f.text for f in examine() if f.level == "problem"] == ["an inverse is wrong"]
    assert not [f for f in examine() if f.subject == "self-test"]
    assert doctor.main() == 1


def test_a_check_that_fails_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception inside a check is shown and does not end the others."""
    monkeypatch.setattr(doctor.os, "cpu_count", lambda: 1 / 0)
    found = one("threads")
    assert (found.level, found.text) == ("problem", "ZeroDivisionError: division by zero")
    assert one("self-test").level == "ok"


def test_kernel_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder that is there or can be made is fine; a file in its place is not."""
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "a" / "b"))
    assert one("kernel cache").level == "ok"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "file" / "b"))
    assert one("kernel cache").level == "note"
    monkeypatch.setenv("WEFT_CACHE", "")
    assert "no place" in one("kernel cache").text
    assert not (tmp_path / "a").exists()  # nothing is made


def test_threads_and_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    """More threads than CPUs, fewer, and a choice by hand are worth a note."""
    free = len(os.sched_getaffinity(0))
    monkeypatch.setattr(doctor, "_read", lambda path: "")
    monkeypatch.setattr(weft, "get_num_threads", lambda: free + 1)
    assert f"set_num_threads({free})" in one("threads").advice
    monkeypatch.setattr(weft, "get_num_threads", lambda: free)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert one("threads").level == "ok"
    for ignored in ("abc", "0", "-2", "2.5"):
        monkeypatch.setenv("OMP_NUM_THREADS", ignored)
        assert "not a positive number" in one("threads").advice
    for taken in (f"{free}", f" {free}", f"{free},2"):
        monkeypatch.setenv("OMP_NUM_THREADS", taken)
        assert one("threads").level == "ok"
    half = {"/sys/fs/cgroup/cpu.max": "50000 100000"}
    monkeypatch.setattr(doctor, "_read", lambda path: half.get(path, ""))
    monkeypatch.setattr(weft, "get_num_threads", lambda: 1)
    assert one("threads").level == "ok" and "the cgroup 0.5" in one("threads").text
    monkeypatch.setenv("WEFT_ISA", "base")
    assert "WEFT_ISA=base" in one("instructions").text


def test_memory_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a cgroup is reported, and little free memory is worth a note."""
    files = {
        "/proc/meminfo": "MemTotal: 4 kB\nMemAvailable:    2048 kB\n",
        "/sys/fs/cgroup/memory.max": "1073741824\n",
        "/sys/fs/cgroup/memory.current": "1073000000\n",
    }
    monkeypatch.setattr(doctor, "_read", lambda path: files.get(path, ""))
    found = one("memory")
    assert found.level == "note" and "2.0 MiB available" in found.text and "1.0 GiB" in found.text
    files["/sys/fs/cgroup/memory.current"] = "0"
    assert one("memory").level == "ok"


@given(st.text(alphabet="0123456789max -.", max_size=20))
def test_quota_of_any_text(text: str) -> None:
    """Whatever the file says, the quota is a positive number of CPUs or none."""
    quota = cpu_quota(text)
    assert quota is None or quota >= 0


@given(st.integers(1, 10**7), st.integers(1, 10**6))
def test_quota(quota: int, period: int) -> None:
    """The quota is that many periods."""
    assert cpu_quota(f"{quota} {period}\n") == quota / period
    assert cpu_quota(f"max {period}") is None


def test_two_installations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version installed than the one imported is a problem."""
    monkeypatch.setattr(doctor.metadata, "version", lambda name: "9.9")
    assert [f.level for f in examine() if f.subject == "weft"] == ["ok", "problem"]
