"""The fuzzers run a fixed number of cases; what they once found stays fixed; they find planted faults."""

from __future__ import annotations

import importlib

import pytest
from fuzz import canary, runner
from fuzz.worker import case_of

SHARE = 200  # cases of a fuzzer that says no other number


@pytest.mark.parametrize("fuzzer", runner.fuzzers())
def test_a_share_of_cases(fuzzer: str) -> None:
    cases = getattr(importlib.import_module(f"fuzz.{fuzzer}"), "SHARE", SHARE)
    tally = runner.run(fuzzer, 0, cases=cases)
    assert not tally.findings, f"{tally}\n" + "\n".join(str(f) for f in tally.findings[:3])
    assert tally.cases == cases
    if fuzzer == "callables":  # calls that are all refused would find little
        assert tally.counts["returned a result"] > 0.3 * cases, tally


@pytest.mark.parametrize("found", runner.saved(), ids=lambda f: f"{f.fuzzer} {f.kind} {f.seed}")
def test_reproducers_stay_fixed(found: runner.Finding) -> None:
    again = runner.run_case(found.fuzzer, found.case)
    assert again is None, "\n".join(again)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("right", None),
        ("mismatch", "mismatch"),
        ("crash", "SIGSEGV"),
        ("hang", "hang"),
        ("slow", None),
        ("error", "undocumented KeyError"),
        ("memory", None),
    ],
)
def test_planted_faults_are_found(
    fault: str, kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "SLOW", 0.5)
    found = runner.run_case("canary", {"fault": fault, "steps": [7]})
    assert (found and found[0]) == kind


def test_a_crash_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SLOW", 0.5)
    cases = [case_of(canary, seed) for seed in range(40)]
    tally = runner.run("canary", 0, cases=len(cases))
    faults = [c["fault"] for c in cases]
    assert tally.cases == len(cases)
    assert tally.kinds["SIGSEGV"] == faults.count("crash") > 1
    assert tally.kinds["mismatch"] == faults.count("mismatch")
    assert [f.case for f in tally.findings if f.kind == "SIGSEGV"] == [
        c for c in cases if c["fault"] == "crash"
    ]


def test_findings_are_made_small() -> None:
    found = runner.Finding("canary", "mismatch", "", {"fault": "mismatch", "steps": [5, 7, 90, 7]})
    assert runner.minimise(found).case == {"fault": "mismatch", "steps": [7]}
