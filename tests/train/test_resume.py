"""A training that is killed and resumed gives the bits of one that was left alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import nn
from weft.serialization.common import FileError
from weft.train import Callback, Checkpoint, CSVLog, EarlyStopping, Trainer

PROGRAM = Path(__file__).with_name("killable.py")
ROOT = Path(weft.__file__).parents[1]


@pytest.mark.parametrize("kind", ["tensors", "loader", "workers", "noisy", "accumulate"])
def test_killed_and_resumed(kind: str, tmp_path: Path) -> None:
    """Killed at random places until it is done; also while a checkpoint is being written."""
    command = [sys.executable, str(PROGRAM), str(tmp_path), kind]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 1
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    assert json.loads((killed / "done").read_text()) == json.loads((calm / "done").read_text())
    assert (killed / "log.csv").read_text() == (calm / "log.csv").read_text()
    kept = [sorted(p.name for p in f.glob("epoch-????.weft")) for f in (calm, killed)]
    assert kept[0] == kept[1] and len(kept[0]) == 2


# ---- files --------------------------------------------------------------------------------------


def data() -> tuple[Any, Any]:
    generator = weft.Generator().manual_seed(0)
    x = weft.rand(20, 3, generator=generator)
    return x, x.sum(1, keepdim=True)


def trainer_of(*callbacks: Callback, **options: Any) -> Trainer:
    weft.manual_seed(0)
    options = {"loss": "mse", "max_epochs": 6, "batch_size": 5, "lr": 0.05, **options}
    return Trainer(nn.Linear(3, 1), callbacks=callbacks, progress=False, **options)


class Says(Callback):
    """Gives results of its own choice."""

    def __init__(self, *values: float) -> None:
        self.values = values

    def on_epoch_end(self, trainer: Trainer) -> None:
        trainer.logs["score"] = self.values[trainer.epoch - 1]


def test_best_are_kept(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "new", monitor="score", mode="max", keep=2)
    trainer = trainer_of(checkpoint, Says(1, 5, 2, 4, float("nan"), 3))
    trainer.fit(data())
    names = sorted(p.name for p in checkpoint.folder.iterdir())
    assert names == ["epoch-0002.weft", "epoch-0004.weft", "last.weft", "last.weft.previous"]
    assert checkpoint.best_path == checkpoint.folder / "epoch-0002.weft"
    last = trainer.model.weight.clone()
    trainer.load_weights("best")
    saved = weft.load(checkpoint.best_path)["model"]["state_dict"]["weight"]
    assert weft.equal(trainer.model.weight, saved) and not weft.equal(saved, last)
    again = trainer_of(Checkpoint(tmp_path / "new", monitor="score", mode="max"), Says(0))
    again.load_weights("best")  # in a new process, say
    assert weft.equal(again.model.weight, saved)


def test_resume_from_a_path_and_for_longer(tmp_path: Path) -> None:
    whole = trainer_of(max_epochs=4)
    whole.fit(data())
    first = trainer_of(max_epochs=2)
    first.fit(data())
    first.save(tmp_path / "two.weft")
    weft.manual_seed(77)
    second = trainer_of(max_epochs=4)
    history = second.fit(data(), resume=tmp_path / "two.weft")
    assert history == whole.history and weft.equal(second.model.weight, whole.model.weight)
    with pytest.raises(FileNotFoundError, match=r"no file .*three\.weft"):
        trainer_of().fit(data(), resume=tmp_path / "three.weft")
    with pytest.raises(ValueError, match="needs one Checkpoint among the callbacks, got 0"):
        trainer_of().fit(data(), resume="last")
    with pytest.raises(FileNotFoundError, match="has saved no epoch yet"):
        trainer_of(Checkpoint(tmp_path)).fit(data(), resume="best")


def test_a_complete_training_is_not_trained_again(tmp_path: Path) -> None:
    first = trainer_of(Checkpoint(tmp_path))
    first.fit(data())
    second = trainer_of(Checkpoint(tmp_path))
    assert second.fit(data(), resume="last") == first.history
    assert weft.equal(second.model.weight, first.model.weight) and second.steps == 24


def test_early_stopping_is_resumed(tmp_path: Path) -> None:
    def callbacks() -> list[Callback]:
        stopping = EarlyStopping("score", patience=2, min_delta=0.5, mode="max")
        return [Says(1, 2, 2.4, 2.2, 9, 9), stopping, Checkpoint(tmp_path)]

    trainer = trainer_of(*callbacks())
    assert len(trainer.fit(data())) == 4
    assert "score has not become better for 2 epochs" in str(trainer.stopped)
    again = trainer_of(*callbacks())
    assert len(again.fit(data(), resume="last")) == 4  # it had stopped
    assert len(again.fit(data())) == 4  # anew: callbacks forget


def test_another_training_is_refused(tmp_path: Path) -> None:
    trainer_of(Checkpoint(tmp_path), metrics="mae").fit(data())
    with pytest.raises(FileError, match=r"metrics \['mae'\] and \['mse'\]"):
        trainer_of(Checkpoint(tmp_path), metrics="mse").fit(data(), resume="last")
    with pytest.raises(ValueError, match="the file has no 'scheduler'"):
        trainer_of(
            Checkpoint(tmp_path),
            metrics="mae",
            scheduler=lambda o: weft.optim.lr_scheduler.StepLR(o, 1),
        ).fit(data(), resume="last")


def test_a_damaged_file_falls_back_with_a_warning(tmp_path: Path) -> None:
    calm = trainer_of()
    calm.fit(data())
    trainer_of(Checkpoint(tmp_path)).fit(data())
    last = tmp_path / "last.weft"
    last.write_bytes(last.read_bytes()[:-50])
    trainer = trainer_of(Checkpoint(tmp_path))
    with pytest.warns(UserWarning, match="going on from .*previous"):
        trainer.fit(data(), resume="last")
    assert weft.equal(trainer.model.weight, calm.model.weight)


def test_monitors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no result 'val_los' to monitor: did you mean 'val_loss'"):
        trainer_of(EarlyStopping("val_los", mode="min")).fit(data(), validation=data())
    with pytest.raises(ValueError, match="less or more of 'score' better"):
        trainer_of(Says(*range(9)), Checkpoint(tmp_path, "score")).fit(data())
    with pytest.raises(ValueError, match="mode must be"):
        EarlyStopping(mode="least")


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "log.csv"
    trainer = trainer_of(CSVLog(path), metrics="mae", validate_every=2, max_epochs=3)
    history = trainer.fit(data(), validation=data())
    lines = path.read_text().splitlines()
    assert lines[0] == "epoch,loss,mae,val_loss,val_mae" and len(lines) == 4
    assert lines[1].endswith(",,")  # not validated
    assert [float(v) for v in lines[2].split(",")] == list(history[1].values())


def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    pytest.importorskip("weft.utils.tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = weft.train.TensorBoardLog(tmp_path, every_n_steps=2)
    history = trainer_of(log).fit(data(), validation=data())
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    losses = events.Scalars("train/loss")
    assert [e.step for e in losses] == [4, 8, 12, 16, 20, 24]
    assert [e.value for e in losses] == pytest.approx([row["loss"] for row in history])
    assert len(events.Scalars("validation/loss")) == 6
    assert [e.step for e in events.Scalars("train/batch_loss")] == list(range(2, 25, 2))


def test_tensorboard_after_a_stop(tmp_path: Path) -> None:
    """Steps that are trained again are there once."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    runs, saved = tmp_path / "runs", tmp_path / "two.weft"

    class Save(Callback):
        def on_epoch_end(self, trainer: Trainer) -> None:
            if trainer.epoch == 2:
                trainer.save(saved)

    for resume in (None, saved):
        trainer_of(weft.train.TensorBoardLog(runs), Save()).fit(data(), resume=resume)
    events = EventAccumulator(str(runs))
    events.Reload()
    assert [e.step for e in events.Scalars("train/loss")] == [4, 8, 12, 16, 20, 24]
