"""Breakpoints of the live view: where they stop a program, what it holds there, pdb, and how to go on."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import weft
from weft import _C, nn
from weft.view.live.recorder import Op

F = nn.functional


def small() -> tuple[nn.Module, Any, Any]:
    weft.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    return net, weft.randn(4, 8), weft.tensor([0, 1, 2, 0])


def stops_of(
    model: Any, loss_of: Any, kind: str, text: str, steps: int = 4
) -> list[dict[str, Any]]:
    """The stops of a short training, each ended at once as a page would."""
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
    found: list[dict[str, Any]] = []
    with weft.view.watch(model, open_browser=False) as view:

        def wait() -> str:
            found.append({**view.live.stop, "held": view.stopped})
            return "resume"

        view._wait = wait
        view.breakpoints.add(kind, text)
        for step in range(steps):
            optimizer.zero_grad()
            loss_of(step).backward()
            optimizer.step()
    return found


def test_breakpoint_on_a_condition_of_outputs() -> None:
    net, x, y = small()

    def loss_of(step: int) -> Any:
        return F.cross_entropy(net(x * (float("nan") if step == 2 else 1)), y)

    stops = stops_of(net, loss_of, "condition", "any output of 2 is not finite", steps=3)
    assert len(stops) == 1
    (stop,) = stops
    assert stop["name"] == "linear" and stop["function"] == "loss_of"
    assert stop["tensors"][0]["stats"][1] == 12 and "nan" in stop["tensors"][0]["text"]
    assert {v["name"]: v.get("text") for v in stop["variables"]}["step"] == "2"
    assert stop["held"].outputs[0].shape == (4, 3) and len(stop["held"].inputs) == 3


def test_breakpoint_on_a_module_stops_once_a_step() -> None:
    net, x, y = small()
    stops = stops_of(net, lambda step: F.cross_entropy(net(x), y), "module", "Sequential.2")
    assert [s["name"] for s in stops] == ["linear"] * len(stops) and len(stops) == 3


def test_breakpoint_on_an_op_of_the_backward_pass() -> None:
    net, x, y = small()
    key = "1|Sequential.2|matrix_product|1"
    stops = stops_of(net, lambda step: F.cross_entropy(net(x), y), "op", key)
    assert [s["name"] for s in stops] == ["matrix_product"] * 3
    assert "matrix_product number 2 of Sequential.2" in stops[0]["reason"]


def test_breakpoint_on_gradients_stops_when_it_begins_to_hold() -> None:
    net, x, y = small()

    def loss_of(step: int) -> Any:
        return F.cross_entropy(net(x), y) * (1e6 if step in (2, 3, 5) else 1)

    stops = stops_of(net, loss_of, "condition", "grad norm > 1000", steps=7)
    assert len(stops) == 2 and stops[0]["op"] == -1


def test_breakpoint_on_the_loss_sees_every_step() -> None:
    net, x, y = small()

    def loss_of(step: int) -> Any:
        return F.cross_entropy(net(x), y) * (float("inf") if step == 3 else 1)

    stops = stops_of(net, loss_of, "condition", "loss is not finite", steps=6)
    assert (
        len(stops) >= 1 and {v["name"]: v.get("text") for v in stops[0]["variables"]}["step"] == "3"
    )


def test_conditions_between_steps_cost_no_recording() -> None:
    net, x, y = small()
    seen = []

    def loss_of(step: int) -> Any:
        seen.append(_C._watching_recorder())
        return F.cross_entropy(net(x), y)

    assert len(stops_of(net, loss_of, "condition", "step == 2")) == 1
    assert seen == [None] * 4


def test_keys_of_ops() -> None:
    """The page finds an op by the same key as the program: random ops against a plain count."""
    from weft.view.live.breakpoints import op_key

    r = random.Random(1)
    ops = [Op(r.choice("ab"), r.randrange(2), "", r.choice(["", "N.x"]), -1) for _ in range(100)]
    keys = [op_key(ops, i) for i in range(100)]
    assert len(set(keys)) == 100
    assert keys[0].endswith("|0")


def run(
    code: str, *args: str, stdin: str = "", timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args, "-c", code] if code else [sys.executable, *args],
        input=stdin, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


PROGRAM = """
import weft
from weft import nn
net = nn.Linear(2, 1)
optimizer = weft.optim.SGD(net.parameters(), lr=0.1)
page = weft.view.watch(net, open_browser=False)
page._wait = lambda: "{command}"
page.breakpoints.add("module", "Linear")
for step in range({steps}):
    answer = net(weft.ones(1, 2))
    loss = answer.sum()
    loss.backward()
    optimizer.step()
print("ended", step)
"""


def test_pdb_takes_over_in_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(command="pdb", steps=2))
    got = run(
        "",
        str(file),
        stdin="p answer.shape, step\np 6 * 7\np page.stopped.inputs[1].shape\nn\np loss.item() == answer.item()\nc\n",
    )
    assert got.returncode == 0, got.stderr
    assert "(Pdb)" in got.stdout and "torch.Size([1, 1])" in got.stdout
    assert "torch.Size([1, 2])" in got.stdout
    assert "42" in got.stdout and "True" in got.stdout and "ended 1" in got.stdout
    assert "breakpoint on module Linear" in got.stderr


def test_abort_ends_the_program() -> None:
    got = run(PROGRAM.format(command="abort", steps=5))
    assert got.returncode != 0 and "KeyboardInterrupt" in got.stderr and "ended" not in got.stdout


def test_run_with_watch(tmp_path: Path) -> None:
    """``python -m weft run --watch script.py``, with the script's own arguments."""
    file = tmp_path / "script.py"
    file.write_text(
        "import sys, torch\nnet = torch.nn.Linear(2, 1)\nopt = torch.optim.SGD(net.parameters(), 0.1)\n"
        "for _ in range(3):\n    net(torch.ones(1, 2)).sum().backward()\n    opt.step()\n"
        "print('argv', sys.argv[1:])\n"
    )
    got = run("", "-m", "weft", "run", "--watch", str(file), "--watch", "x")
    assert got.returncode == 0, got.stderr
    assert "argv ['--watch', 'x']" in got.stdout and "http://127.0.0.1:" in got.stderr


def test_ctrl_c_ends_a_program_that_stands_still() -> None:
    import signal

    code = PROGRAM.format(command="", steps=5).replace('page._wait = lambda: ""', "")
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    lines = [child.stderr.readline(), child.stderr.readline()]
    assert "breakpoint on module" in lines[1], lines
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, rest = child.communicate(timeout=20)
    assert child.returncode != 0 and "KeyboardInterrupt" in rest
