"""``search``: the hyper-parameters that give the best result, found with Optuna."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any

from .callback import Monitor, hooks_of, in_order
from .metrics.names import by_name, nearest
from .trainer import Trainer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Pruning", "SearchResult", "search"]

_KINDS = ("uniform", "log", "int", "choice")


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as e:
        raise ImportError("weft.train.search needs Optuna: pip install weft[search]") from e
    return optuna


class Pruning(Monitor):
    """Reports a result of each epoch to a trial, and ends the trial when it is a poor one.

    Args:
        trial: the trial that ``search`` gives to an objective.
        monitor: the result's name; by default ``val_loss`` if there is validation, else ``loss``.
        mode: "min" or "max"; must be what the search looks for.

    Attributes:
        best: the best value of the monitored result so far.

    >>> def objective(params, trial):
    ...     model = weft.nn.Linear(1, 1)
    ...     pruning = weft.train.Pruning(trial)
    ...     trainer = weft.train.Trainer(
    ...         model, loss="mse", lr=params["lr"], max_epochs=1, callbacks=pruning, progress=False
    ...     )
    ...     return trainer.fit((weft.ones(4, 1), weft.ones(4, 1)))[-1]["loss"]
    >>> found = weft.train.search(
    ...     objective, {"lr": {"log": [1e-3, 1e-1]}}, trials=1, progress=False
    ... )
    >>> list(found.best_params)
    ['lr']
    """

    order = 90

    def __init__(self, trial: Any, monitor: str | None = None, mode: str | None = None) -> None:
        super().__init__(monitor, mode)
        self.trial = trial
        self.best: float | None = None

    def on_epoch_end(self, trainer: Trainer) -> None:
        """Report the result, and end the trial if others were better at this time."""
        value = self.value(trainer)
        if value is None:
            return
        if self.better(value, self.best):
            self.best = value
        self.trial.report(value, trainer.epoch)
        if self.trial.should_prune():
            raise _optuna().TrialPruned(f"{self.watched} {value} after epoch {trainer.epoch}")


class SearchResult:
    """What a search has found.

    Attributes:
        best_params: the hyper-parameters of the best trial.
        best_value: its result.
        trials: a dict for each trial: "number", "state" ("complete", "pruned", "fail" or
            "running"), "value", "params".
        study: Optuna's own object, for its plots and statistics.

    >>> found = weft.train.search(
    ...     lambda params: (params["x"] - 1) ** 2,
    ...     {"x": {"uniform": [0, 2]}},
    ...     trials=3,
    ...     seed=0,
    ...     progress=False,
    ... )
    >>> found.best_value == min(trial["value"] for trial in found.trials)
    True
    """

    def __init__(self, study: Any) -> None:
        self.study = study
        self.trials: list[dict[str, Any]] = [
            {
                "number": trial.number,
                "state": trial.state.name.lower(),
                "value": trial.value,
                "params": dict(trial.params),
            }
            for trial in study.trials
        ]
        done = any(trial["state"] == "complete" for trial in self.trials)
        self.best_value: float | None = study.best_value if done else None
        self.best_params: dict[str, Any] = dict(study.best_params) if done else {}

    def table(self) -> str:
        """Return all trials as text, the best first.

        >>> found = weft.train.search(
        ...     lambda params: params["x"], {"x": {"int": [3, 3]}}, trials=1, progress=False
        ... )
        >>> print(found.table())
        trial  state     value  x
            0  complete  3      3
        """
        sign = 1 if self.study.direction.name == "MINIMIZE" else -1
        ranked = sorted(
            self.trials,
            key=lambda t: (t["state"] != "complete", t["value"] is None, sign * (t["value"] or 0)),
        )
        names = list(dict.fromkeys(name for trial in self.trials for name in trial["params"]))
        rows = [["trial", "state", "value", *names]]
        for trial in ranked:
            values = [trial["value"], *(trial["params"].get(name, "") for name in names)]
            rows.append([str(trial["number"]), trial["state"], *map(_cell, values)])
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = []
        for row in rows:
            cells = [row[0].rjust(widths[0])]
            cells += [cell.ljust(width) for cell, width in zip(row[1:], widths[1:])]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return the best trial and how many there were."""
        return (
            f"SearchResult(best_value={self.best_value}, best_params={self.best_params}, "
            f"{len(self.trials)} trials)"
        )


def _cell(x: Any) -> str:
    if x is None:
        return "-"
    return f"{x:.6g}" if isinstance(x, float) else str(x)


def search(
    objective: Callable[..., Any],
    space: Mapping[str, Mapping[str, Any]],
    trials: int = 20,
    *,
    train: Any = None,
    validation: Any = None,
    monitor: str | None = None,
    direction: str | None = None,
    prune: bool = True,
    timeout: float | None = None,
    seed: int | None = None,
    storage: str | os.PathLike[str] | None = None,
    name: str = "search",
    progress: bool = True,
) -> SearchResult:
    """Try hyper-parameters, and return those with the best result.

    Args:
        objective: ``objective(params)`` or ``objective(params, trial)`` returns the result, a
            number. With ``train`` it returns a ``Trainer`` instead, which is then fitted; its
            result is the best value of ``monitor``, and poor trials are ended early.
        space: for each hyper-parameter one of ``{"uniform": [low, high]}``, ``{"log": [low, high]}``,
            ``{"int": [low, high]}`` or ``{"int": [low, high, step]}`` (``high`` included), and
            ``{"choice": [a, b, ...]}``.
        trials: how many there are to be, those that ``storage`` has already included; trials
            that failed do not count.
        train: data for ``Trainer.fit``.
        validation: the same.
        monitor: the result that counts; by default ``val_loss`` if there is validation, else
            ``loss``.
        direction: "minimize" or "maximize"; by default as the monitored metric says, else
            "minimize".
        prune: end trials that are worse than the median of the others at the same epoch.
        timeout: begin no more trials after this many seconds.
        seed: of the choice of hyper-parameters.
        storage: a SQLite file that keeps all trials: the same call again goes on with them.
        name: of the search in that file.
        progress: print a line for each trial.

    Needs ``pip install weft[search]``.

    >>> x = weft.rand(32, 2)
    >>> def build(params):
    ...     model = weft.nn.Linear(2, 1)
    ...     return weft.train.Trainer(
    ...         model, loss="mse", lr=params["lr"], max_epochs=2, progress=False
    ...     )
    >>> found = weft.train.search(
    ...     build,
    ...     {"lr": {"log": [1e-3, 1e-1]}},
    ...     trials=2,
    ...     train=(x, x[:, :1]),
    ...     seed=0,
    ...     progress=False,
    ... )
    >>> 1e-3 <= found.best_params["lr"] <= 1e-1
    True
    """
    optuna = _optuna()
    _check_space(space)
    if direction not in ("minimize", "maximize", None):
        raise ValueError(f"search: direction must be minimize or maximize, got {direction!r}")
    if train is None and (validation is not None or monitor is not None):
        raise ValueError("search: validation and monitor are for a search with train=...")
    direction = direction or _direction(monitor)
    run = _Run(objective, space, train, validation, monitor, direction, progress)
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # trials are reported here
    try:
        study = _study(optuna, direction, prune, seed, storage, name)
        done = [trial for trial in study.trials if trial.state.name in ("COMPLETE", "PRUNED")]
        if len(done) < trials:
            study.optimize(run, n_trials=trials - len(done), timeout=timeout)
    finally:
        optuna.logging.set_verbosity(verbosity)
    return SearchResult(study)


def _study(
    optuna: Any,
    direction: str,
    prune: bool,
    seed: int | None,
    storage: str | os.PathLike[str] | None,
    name: str,
) -> Any:
    url = None if storage is None else f"sqlite:///{os.path.abspath(os.fspath(storage))}"
    study = optuna.create_study(
        storage=url,
        study_name=name,
        direction=direction,
        pruner=optuna.pruners.MedianPruner() if prune else optuna.pruners.NopPruner(),
        load_if_exists=True,
    )
    if study.direction.name.lower() != direction:
        raise ValueError(
            f"search: {name!r} in {storage} looks for {study.direction.name.lower()}, not {direction}"
        )
    # A search that goes on must not draw the same numbers again.
    study.sampler = optuna.samplers.TPESampler(
        seed=None if seed is None else (seed + len(study.trials)) % 2**32
    )
    return study


def _check_space(space: Mapping[str, Mapping[str, Any]]) -> None:
    for name, spec in space.items():
        if not hasattr(spec, "items") or len(spec) != 1:
            raise ValueError(
                f"search: {name!r} must be a dict with one of {', '.join(_KINDS)}, as in "
                f"{{'log': [1e-4, 1e-1]}}, got {spec!r}"
            )
        kind, values = next(iter(spec.items()))
        if kind not in _KINDS:
            raise ValueError(f"search: {name!r}: unknown {kind!r}: {nearest(str(kind), _KINDS)}")
        values = list(values)
        allowed = {"int": (2, 3), "choice": range(1, 10**6)}.get(kind, (2,))
        ranged = kind == "choice" or (len(values) >= 2 and values[0] <= values[1])
        if len(values) not in allowed or not ranged or (kind == "log" and values[0] <= 0):
            rule = {
                "choice": "at least one value",
                "log": "[low, high] with 0 < low <= high",
                "int": "[low, high] or [low, high, step] with low <= high",
            }.get(kind, "[low, high] with low <= high")
            raise ValueError(f"search: {name!r}: {kind} needs {rule}, got {values!r}")


def _suggest(trial: Any, space: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    params = {}
    for name, spec in space.items():
        kind, values = next(iter(spec.items()))
        if kind == "choice":
            params[name] = trial.suggest_categorical(name, list(values))
        elif kind == "int":
            step = values[2] if len(values) > 2 else 1
            params[name] = trial.suggest_int(name, values[0], values[1], step=step)
        else:
            params[name] = trial.suggest_float(name, values[0], values[1], log=kind == "log")
    return params


def _direction(monitor: str | None) -> str:
    """Which way a result is better, by its name."""
    if monitor is None or monitor.endswith("loss"):
        return "minimize"
    try:
        metric = by_name(monitor.removeprefix("val_"))
    except ValueError:
        raise ValueError(
            f"search: is less or more of {monitor!r} better? Give direction='minimize' or "
            "direction='maximize'"
        ) from None
    return "maximize" if metric.higher_is_better else "minimize"


def _trainer(x: Any) -> Trainer:
    if not isinstance(x, Trainer):
        raise TypeError(
            f"search: with train=... the function must return a Trainer, got {type(x).__name__}"
        )
    return x


class _Run:
    """One trial."""

    def __init__(
        self,
        objective: Callable[..., Any],
        space: Mapping[str, Mapping[str, Any]],
        train: Any,
        validation: Any,
        monitor: str | None,
        direction: str,
        progress: bool,
    ) -> None:
        self.objective, self.space, self.monitor = objective, space, monitor
        self.train, self.validation = train, validation
        self.mode, self.progress = direction[:3], progress
        self.takes_trial = _takes_two(objective)

    def __call__(self, trial: Any) -> float:
        optuna = _optuna()
        params = _suggest(trial, self.space)
        try:
            value = self._value(trial, params)
        except optuna.TrialPruned as e:
            self._tell(f"trial {trial.number} ended early ({e}): {params}")
            raise
        except Exception as e:
            raise RuntimeError(f"search: trial {trial.number} with {params} failed: {e}") from e
        self._tell(f"trial {trial.number} gives {_cell(value)}: {params}")
        return value

    def _value(self, trial: Any, params: dict[str, Any]) -> float:
        result = self.objective(params, trial) if self.takes_trial else self.objective(params)
        if self.train is None:
            if isinstance(result, bool) or not hasattr(result, "__float__"):
                raise TypeError(
                    f"the objective must return a number, got {type(result).__name__}; to return a "
                    "Trainer give search(..., train=...)"
                )
            return float(result)
        trainer = _trainer(result)
        pruning = Pruning(trial, self.monitor, self.mode)
        trainer.callbacks = in_order([*trainer.callbacks, pruning])
        trainer.hooks = hooks_of(trainer.callbacks)
        trainer.fit(self.train, self.validation)
        if pruning.best is None:
            raise ValueError(f"no epoch has a result {pruning.watched!r} that is a number")
        return pruning.best

    def _tell(self, text: str) -> None:
        if self.progress:
            print(text, flush=True)


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [
        p
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return len(needed) == 2
