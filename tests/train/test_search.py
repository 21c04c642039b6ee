"""The search for hyper-parameters: spaces, pruning, storage, errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import nn
from weft.train import Callback, Trainer, search

optuna = pytest.importorskip("optuna")
SPACE = {
    "lr": {"log": [1e-4, 1e-1]},
    "width": {"int": [8, 32, 8]},
    "drop": {"uniform": [0.0, 0.5]},
    "act": {"choice": ["relu", "tanh"]},
}


def test_spaces_and_the_best() -> None:
    seen: list[dict[str, Any]] = []

    def objective(params: dict[str, Any]) -> float:
        seen.append(params)
        return abs(params["drop"] - 0.25)

    found = search(objective, SPACE, trials=15, seed=0, progress=False)
    assert all(1e-4 <= p["lr"] <= 1e-1 and 0 <= p["drop"] <= 0.5 for p in seen)
    assert {p["width"] for p in seen} <= {8, 16, 24, 32} and {p["act"] for p in seen} == {
        "relu",
        "tanh",
    }
    assert found.best_params == min(seen, key=lambda p: abs(p["drop"] - 0.25))
    assert found.best_value == min(t["value"] for t in found.trials)
    assert [t["params"] for t in found.trials] == seen
    lines = found.table().splitlines()
    assert lines[0].split() == ["trial", "state", "value", "lr", "width", "drop", "act"]
    assert len(lines) == 16 and float(lines[1].split()[2]) == pytest.approx(
        found.best_value, rel=1e-5
    )
    again = search(objective, SPACE, trials=15, seed=0, progress=False)
    assert again.best_params == found.best_params
    most = search(
        lambda p: p["x"],
        {"x": {"int": [0, 9]}},
        trials=8,
        direction="maximize",
        seed=1,
        progress=False,
    )
    assert most.best_value == max(t["value"] for t in most.trials)


def data() -> tuple[Any, Any]:
    x = weft.rand(40, 3, generator=weft.Generator().manual_seed(0))
    return x, (x.sum(1) > 1.5).long()


def test_trainers_are_built_fitted_and_pruned() -> None:
    epochs: list[int] = []

    class Count(Callback):
        def on_epoch_end(self, trainer: Trainer) -> None:
            epochs[-1] = trainer.epoch

    def build(params: dict[str, Any]) -> Trainer:
        epochs.append(0)
        weft.manual_seed(0)
        return Trainer(
            nn.Linear(3, 2),
            loss="cross_entropy",
            metrics="accuracy",
            lr=params["lr"],
            optimizer="sgd",
            max_epochs=6,
            callbacks=Count(),
            progress=False,
        )

    space = {"lr": {"log": [1e-4, 3.0]}}
    found = search(build, space, trials=14, train=data(), validation=data(), seed=0, progress=False)
    states = [t["state"] for t in found.trials]
    assert set(states) == {"complete", "pruned"} and states.count("complete") >= 5
    assert all((n == 6) == (state == "complete") for n, state in zip(epochs, states))
    assert found.best_params["lr"] > 0.01
    unpruned = search(
        build,
        space,
        trials=7,
        train=data(),
        monitor="accuracy",
        prune=False,
        seed=0,
        progress=False,
    )
    assert {t["state"] for t in unpruned.trials} == {"complete"}
    assert unpruned.best_value == max(t["value"] for t in unpruned.trials)  # more is better


def test_storage_is_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[float] = []

    def objective(params: dict[str, Any]) -> float:
        calls.append(params["x"])
        if len(calls) == 4:
            raise KeyboardInterrupt
        return params["x"]

    def go(trials: int) -> Any:
        return search(
            objective, {"x": {"uniform": [0, 1]}}, trials=trials, seed=0, storage=tmp_path / "s.db"
        )

    with pytest.raises(KeyboardInterrupt):
        go(6)
    assert len(calls) == 4
    found = go(6)
    assert len(set(calls)) == len(calls) == 7  # nothing is drawn twice
    assert [t["state"] for t in found.trials] == ["complete"] * 3 + ["fail"] + ["complete"] * 3
    assert go(6).best_params == found.best_params and len(calls) == 7
    shown = capsys.readouterr()
    assert "trial 0 gives" in shown.out and shown.err == ""
    with pytest.raises(ValueError, match="looks for minimize, not maximize"):
        search(
            objective, {"x": {"uniform": [0, 1]}}, storage=tmp_path / "s.db", direction="maximize"
        )


def test_errors() -> None:
    def fails(error: type[Exception], match: str, *args: Any, **options: Any) -> None:
        with pytest.raises(error, match=match):
            search(*args, trials=1, progress=False, **options)

    one: Any = lambda params: 1.0  # noqa: E731
    fails(ValueError, "unknown 'logg': did you mean 'log'", one, {"x": {"logg": [1, 2]}})
    fails(
        ValueError, "'x' must be a dict with one of uniform, log, int, choice", one, {"x": [1, 2]}
    )
    fails(ValueError, "log needs .* 0 < low <= high, got .0, 1.", one, {"x": {"log": [0, 1]}})
    fails(ValueError, "choice needs at least one value", one, {"x": {"choice": []}})
    fails(ValueError, "direction must be", one, {}, direction="up")
    words: Any = lambda params: "a"  # noqa: E731
    rule = "trial 0 with {'x': 1} failed: the objective must return a number, got str"
    fails(RuntimeError, rule, words, {"x": {"int": [1, 1]}})
    fails(RuntimeError, "must return a Trainer, got float", one, {}, train=data())
    fails(ValueError, "validation and monitor are for", one, {}, monitor="loss")
    fails(ValueError, "less or more of 'mine' better", one, {}, train=data(), monitor="mine")


def test_without_optuna() -> None:
    code = (
        "import sys; sys.modules['optuna'] = None\n"
        "import weft.train\n"
        "try: weft.train.search(lambda p: 0.0, {})\n"
        "except ImportError as e: print(e)"
    )
    root = Path(weft.__file__).parents[1]
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert "pip install weft[search]" in out.stdout, out.stderr
