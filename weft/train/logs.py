"""Results in files: CSV, TensorBoard."""

from __future__ import annotations

import csv
import io
import os
from typing import TYPE_CHECKING, Any

from weft.serialization.atomic import write_file

from .callback import Callback

if TYPE_CHECKING:
    from typing import BinaryIO

    from .trainer import Trainer

__all__ = ["CSVLog", "TensorBoardLog"]


class CSVLog(Callback):
    """Writes the results of all epochs to a CSV file, one line for each epoch.

    Args:
        path: the file. It is written anew, in one go, after each epoch: it is whole at any time,
            and after a resumed training it has each epoch once.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "log.csv")
    >>> trainer = weft.train.Trainer(
    ...     weft.nn.Linear(1, 1),
    ...     loss="mse",
    ...     lr=0.0,
    ...     callbacks=weft.train.CSVLog(path),
    ...     max_epochs=1,
    ...     progress=False,
    ... )
    >>> _ = trainer.fit((weft.ones(4, 1), weft.ones(4, 1)))
    >>> with open(path) as file:
    ...     file.readline()
    'epoch,loss\\n'
    """

    order = 50

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    def on_epoch_end(self, trainer: Trainer) -> None:
        """Write the file."""
        names = list(dict.fromkeys(name for row in trainer.history for name in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(trainer.history)
        os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)

        def write(file: BinaryIO) -> None:
            file.write(text.getvalue().encode("utf-8"))

        write_file(self.path, write)


class TensorBoardLog(Callback):
    """Writes the results of each epoch, and losses in between, for TensorBoard.

    Args:
        folder: where event files are written.
        every_n_steps: also write the loss of a batch after this many steps; None for epochs alone.

    Results of training are below ``train/``, those of validation below ``validation/``; they are
    numbered by steps of the optimiser. Needs ``pip install weft[tensorboard]``.

    >>> weft.train.TensorBoardLog("runs/first").folder
    'runs/first'
    """

    order = 50

    def __init__(self, folder: str | os.PathLike[str], every_n_steps: int | None = 50) -> None:
        if every_n_steps is not None and every_n_steps < 1:
            raise ValueError(
                f"TensorBoardLog: every_n_steps must be at least 1, got {every_n_steps}"
            )
        self.folder, self.every_n_steps = os.fspath(folder), every_n_steps
        self.writer: Any = None
        self._written = 0

    def reset(self) -> None:
        """Begin with the first step."""
        self._written = 0

    def on_fit_begin(self, trainer: Trainer) -> None:
        """Open the log; after a resumed state, steps that come again replace those in the log."""
        from weft.utils.tensorboard import SummaryWriter

        purge = trainer.steps + 1 if trainer.resumed else None
        self.writer = SummaryWriter(self.folder, purge_step=purge)

    def on_batch_end(self, trainer: Trainer) -> None:
        """Write the loss, if it is time."""
        every = self.every_n_steps
        if every and trainer.steps - self._written >= every:
            self._written = trainer.steps
            self.writer.add_scalar("train/batch_loss", trainer.last_loss, trainer.steps)

    def on_epoch_end(self, trainer: Trainer) -> None:
        """Write the results."""
        for name, value in trainer.logs.items():
            if isinstance(value, (int, float)):
                validated = name.startswith("val_")
                tag = f"validation/{name[4:]}" if validated else f"train/{name}"
                self.writer.add_scalar(tag, value, trainer.steps)
        self.writer.flush()

    def on_fit_end(self, trainer: Trainer) -> None:
        """Close the log."""
        self.writer.close()

    def on_exception(self, trainer: Trainer) -> None:
        """Close the log."""
        if self.writer is not None:
            self.writer.close()

    def state_dict(self) -> dict[str, Any]:
        """Return the last step written."""
        return {"written": self._written}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned."""
        self._written = state_dict["written"]
