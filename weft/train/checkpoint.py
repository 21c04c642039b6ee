"""``Checkpoint``: saves a training so that it can go on after any stop."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.serialization.training import PREVIOUS

from .callback import Monitor

if TYPE_CHECKING:
    from .trainer import Trainer

__all__ = ["Checkpoint"]


class Checkpoint(Monitor):
    """Saves all that a training needs: the last state, and those of the best epochs.

    Args:
        folder: where files are written; it is made if it is not there. ``last.weft`` is the last
            state (the one before it stays as ``last.weft.previous``), ``epoch-0007.weft`` one of
            the best.
        monitor: by which result epochs are the best; by default ``val_loss`` if there is
            validation, else ``loss``.
        mode: "min" or "max"; by default as the metric says.
        keep: how many of the best epochs are kept; 0 for none.
        every_n_steps: save the last state also after this many steps of the optimiser.

    ``Trainer.fit(..., resume="last")`` goes on from the last state bit for bit, also from the
    middle of an epoch. Each file is written in one go: a kill at any time leaves the file before.

    >>> import tempfile
    >>> checkpoint = weft.train.Checkpoint(tempfile.mkdtemp())
    >>> trainer = weft.train.Trainer(
    ...     weft.nn.Linear(1, 1), loss="mse", callbacks=checkpoint, max_epochs=2, progress=False
    ... )
    >>> _ = trainer.fit((weft.ones(4, 1), weft.ones(4, 1)))
    >>> checkpoint.best_path.name, checkpoint.last_path.name
    ('epoch-0002.weft', 'last.weft')
    """

    order = 100

    def __init__(
        self,
        folder: str | os.PathLike[str],
        monitor: str | None = None,
        mode: str | None = None,
        keep: int = 1,
        every_n_steps: int | None = None,
    ) -> None:
        super().__init__(monitor, mode)
        if keep < 0 or (every_n_steps is not None and every_n_steps < 1):
            raise ValueError(
                "Checkpoint: keep must be at least 0 and every_n_steps at least 1, got "
                f"{keep} and {every_n_steps}"
            )
        self.folder, self.keep, self.every_n_steps = Path(folder), keep, every_n_steps
        self.reset()

    def reset(self) -> None:
        """Forget the best epochs; their files stay until they are overwritten."""
        self.best: list[tuple[float, int]] = []  # values and epochs, the best first
        self._saved_step = 0

    @property
    def last_path(self) -> Path:
        """Where the last state is."""
        return self.folder / "last.weft"

    @property
    def best_path(self) -> Path | None:
        """Where the state of the best epoch is; None if there is none yet."""
        return self._path(self.best[0][1]) if self.best else None

    def _path(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:04}.weft"

    def on_fit_begin(self, trainer: Trainer) -> None:
        """Make the folder."""
        super().on_fit_begin(trainer)
        self.folder.mkdir(parents=True, exist_ok=True)

    def on_batch_end(self, trainer: Trainer) -> None:
        """Save in the middle of an epoch, if it is time."""
        every = self.every_n_steps
        if every and trainer.steps - self._saved_step >= every:
            self._save_last(trainer)

    def on_epoch_end(self, trainer: Trainer) -> None:
        """Save the epoch if it is one of the best, remove the one that no longer is, save."""
        value = self.value(trainer) if self.keep else None
        if value is not None and value == value:
            entry = (value, trainer.epoch)
            ranked = sorted([*self.best, entry], key=lambda e: (self.sign * e[0], e[1]))
            self.best, dropped = ranked[: self.keep], ranked[self.keep :]
            if entry in self.best:
                trainer.save(self._path(trainer.epoch))
            for _, epoch in dropped:
                path = self._path(epoch)
                path.unlink(missing_ok=True)
                path.with_name(path.name + PREVIOUS).unlink(missing_ok=True)
        self._save_last(trainer)

    def _save_last(self, trainer: Trainer) -> None:
        self._saved_step = trainer.steps
        trainer.save(self.last_path)

    def state_dict(self) -> dict[str, Any]:
        """Return the best epochs."""
        return {"best": [list(entry) for entry in self.best], "saved_step": self._saved_step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned."""
        self.best = [(value, epoch) for value, epoch in state_dict["best"]]
        self._saved_step = state_dict["saved_step"]

    def __repr__(self) -> str:
        """Return the folder and what is watched."""
        return f"Checkpoint({str(self.folder)!r}, monitor={self.monitor!r}, keep={self.keep})"
