"""What a user sees: a bar on a terminal, a line for each epoch elsewhere, or nothing."""

from __future__ import annotations

import os
import re
import struct
import sys
from pathlib import Path

import pytest

import weft
from weft import nn
from weft.train import Callback, Checkpoint, Trainer

ROOT = Path(weft.__file__).parents[1]
PROGRAM = """
import sys, time
import weft
from weft.train import Callback, Trainer

class Slow(Callback):
    def on_batch_begin(self, trainer):
        time.sleep(0.03)
        if trainer.epoch == 2 and trainer.batch_index == 1:
            trainer.print("a word {in} between")

trainer = Trainer(weft.nn.Linear(3, 2), loss="cross_entropy", metrics="accuracy", max_epochs=2,
                  callbacks=Slow(), batch_size=4)
x = weft.rand(32, 3)
data = x, (x.sum(1) > 1.5).long()
trainer.fit(data, validation=data)
trainer.test(data)
trainer.predict(x)
import threading
assert threading.active_count() == 1
"""


def on_terminal(columns: int) -> str:
    """What the program writes to a terminal of some width."""
    pty = pytest.importorskip("pty")
    import fcntl
    import termios

    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        env = {**os.environ, "PYTHONIOENCODING": "utf-8", "TERM": "xterm"}
        env.pop("COLUMNS", None)
        os.execve(sys.executable, [sys.executable, "-c", PROGRAM], env)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    out = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        out += piece
    os.close(terminal)
    assert os.waitpid(child, 0)[1] == 0, out.decode()
    return out.decode()


def test_bar() -> None:
    out = on_terminal(120)
    lines = [line.split("\r")[-1] for line in out.split("\r\n")]  # what stays on the screen
    results = r"loss \d\.\d{4}  accuracy \d\.\d{4}"
    final = rf"/2 \|█+\| 8/8  \d\d:\d\d  {results}  val_{results.replace('acc', 'val_acc')}"
    assert re.fullmatch("epoch 1" + final, lines[0])
    assert lines[1] == "a word {in} between"
    assert re.fullmatch("epoch 2" + final, lines[2])
    assert re.fullmatch(rf"test \|█+\| 8/8  \d\d:\d\d  {results}", lines[3])
    drawn = out.replace("\r\n", "\r").split("\r")
    running = [
        line for line in drawn if re.match(r"epoch 1/2 .* \d/8  \d\d:\d\d  \d\d:\d\d left", line)
    ]
    assert 2 <= len(running) <= 9  # about ten times a second, at most once for each batch
    assert all("loss" in line for line in running)
    assert len(max(drawn, key=len)) <= 120


def test_narrow_terminal() -> None:
    lines = [line.split("\r")[-1] for line in on_terminal(50).split("\r\n")]
    assert "val_accuracy" in lines[0] and "█" not in lines[0]  # in full, without the bar


def fit(progress: bool, *callbacks: Callback) -> None:
    trainer = Trainer(
        nn.Linear(3, 1), loss="mse", max_epochs=2, progress=progress, callbacks=callbacks
    )
    trainer.fit((weft.ones(8, 3), weft.ones(8, 1)))


class Stops(Callback):
    def on_epoch_end(self, trainer: Trainer) -> None:
        trainer.logs["matrix"] = [[1, 2]]
        trainer.stop("that is enough")


def test_lines_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    fit(True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"epoch 1/2  \d+\.\d s  loss \d.*", lines[0])
    fit(True, Stops())
    first, last = capsys.readouterr().out.splitlines()
    assert last == "that is enough" and "matrix" not in first


def test_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    fit(False, Stops())
    assert capfd.readouterr() == ("", "")


def test_resumed_trainings_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def go(epochs: int) -> str:
        trainer = Trainer(
            nn.Linear(3, 1), loss="mse", max_epochs=epochs, callbacks=Checkpoint(tmp_path)
        )
        trainer.fit((weft.ones(8, 3), weft.ones(8, 1)), resume="last")
        return capsys.readouterr().out.splitlines()[0]

    assert go(1).startswith("epoch 1/1")
    assert go(2).endswith("last.weft: going on after epoch 1 of 2")
    assert go(2).endswith("last.weft: the training is complete, with 2 epochs")
