"""Peak memory of a training step: how much a fresh process grows, seen by the kernel.

The same for every library. What counts is everything that a task brings into memory after a small
network of the same kind has been trained, which loads what a library loads late: weights, data,
gradients, state of the optimiser, activations, workspaces, generated code, and what allocators keep.
The kernel counts to within some hundred kilobytes, so tasks below a megabyte say little.
"""

from __future__ import annotations

import gc
import importlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.models import Setting, build

WARM, STEPS = 2, 3  # steps that aren't looked at, and those that are


def peak_in_fresh_process(lib: Any, name: str, **setting: Any) -> float:
    """Bytes by which a process grows that trains the task ``name`` in ``lib``."""
    program = (
        f"from bench.memory import growth; print(growth({lib.__name__!r}, {name!r}, {setting}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=tempfile.gettempdir(),
        check=True,
        stdout=subprocess.PIPE,
    )
    return float(done.stdout)


def growth(module: str, name: str, setting: dict[str, Any]) -> int:
    """Train a small network, then the task; return how far the second went above the first."""
    lib = importlib.import_module(module)
    lib.set_num_threads(2)
    small = {"lenet": "lenet", "resnet18": "lenet"}.get(name, "mlp")
    train(build(small, Setting(lib, **setting), batch=2), WARM)
    gc.collect()
    before = resident("VmRSS")
    task = build(name, Setting(lib, **setting))
    train(task, WARM)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark counts from here
    train(task, STEPS)
    return max(resident("VmHWM") - before, os.sysconf("SC_PAGE_SIZE"))


def train(task: Any, steps: int) -> None:
    """Take some steps."""
    for _ in range(steps):
        task.step()


def resident(field: str) -> int:
    """``VmRSS`` or ``VmHWM`` of this process, in bytes.

    >>> resident("VmRSS") > 1e6
    True
    """
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    assert found is not None
    return 1024 * int(found[1])
