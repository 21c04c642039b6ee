"""``python -m weft launch``: the command line, and what the processes find."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from distributed.mpi import ROOT, run_ranks

from weft.__main__ import main
from weft.distributed.launch import command

TORCH = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.parallel.distributed import DistributedDataParallel
from torch.distributed.distributed_c10d import get_world_size
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group(backend="gloo")
torch.manual_seed(dist.get_rank())
model = DDP(torch.nn.Linear(3, 1))
loss = model(torch.ones(2, 3) * (dist.get_rank() + 1)).sum()
loss.backward()
assert DDP is DistributedDataParallel and get_world_size() == 2
if dist.get_rank() == 0:
    print(torch.__version__, model.module.weight.grad)
dist.destroy_process_group()
"""


def test_environment_of_processes() -> None:
    """RANK and related variables, the arguments, the folder of the program."""
    code, text = run_ranks(2, "environment.py", "--lr", "0.1")
    assert code == 0, text
    assert text.splitlines() == [
        "(['--lr', '0.1'], ['0', '2', '0', '2'], 1, '__main__')",
        "(['--lr', '0.1'], ['1', '2', '1', '2'], 1, '__main__')",
        "helper_beside_program",
    ]


def test_the_page_shows_a_program_that_runs(tmp_path: Path) -> None:
    """The program of docs/distributed.md prints what stands below it."""
    page = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
    program = tmp_path / "train.py"
    program.write_text(re.search(r"```python\n(.*?)```", page, re.DOTALL).group(1))
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL).group(1)
    assert run_ranks(2, str(program)) == (0, shown)


def test_a_program_for_pytorch(tmp_path: Path) -> None:
    """`launch -m weft run` lets torch mean weft in all processes."""
    program = tmp_path / "train.py"
    program.write_text(TORCH)
    code, text = run_ranks(2, "-m", "weft", "run", str(program))
    assert code == 0, text
    assert text == "2.13.0+weft tensor([[3., 3., 3.]])\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["-n", "3", "a.py", "-n", "4"], ["-n", "3", "a.py", "-n", "4"]),
        (["--nproc_per_node=2", "--nnodes=1", "--standalone", "a.py"], ["-n", "2", "a.py"]),
        (["--nproc-per-node", "2", "-m", "pkg.train", "x"], ["-n", "2", "-m", "pkg.train", "x"]),
        (["-np", "2", "--hosts", "a,b", "a.py"], ["-n", "4", "-hosts", "a:2,b:2", "a.py"]),
    ],
)
def test_command_lines(argv: list[str], words: list[str]) -> None:
    """What mpiexec is given, apart from Python's own words."""
    found = command(argv, "mpiexec")
    at = found.index("weft.distributed.started")
    assert found[1 : at - 2] + found[at + 1 :] == words


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["-n", "0", "a.py"], "-n must be a positive number or auto, got 0"),
        (["--nnodes", "2", "a.py"], "--nnodes must be 1, got 2: name the machines by --hosts"),
        (["--standalone", "--hosts", "a", "a.py"], "exclude each other"),
        (["-n", "2"], "required: program"),
    ],
)
def test_wrong_command_lines(
    argv: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong, in a line."""
    with pytest.raises(SystemExit, match="2"):
        command(argv, "mpiexec")
    assert text in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The options, and how a program for PyTorch is started."""
    assert main(["launch", "--help"]) == 0
    assert "-m weft run train.py" in capsys.readouterr().out


def test_missing_program() -> None:
    """A file that is not there ends the run."""
    code, text = run_ranks(2, "no_such_program.py")
    assert code != 0 and "can't open file" in text
