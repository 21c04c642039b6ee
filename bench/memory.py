"""Peak memory of a training step: how much a fresh process grows, seen by the kernel.

The same for every library. What counts is everything that a task brings into memory after a small
network of the same kind has been trained, which loads what a library loads late: weights, data,
gradients, state of the optimiser, activations, workspaces, generated code, and what allocators keep.
The kernel counts to within some hundred kilobytes, so tasks below a megabyte say little.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.models import Setting, build

WARM, STEPS = 2, 3  # steps that aren't looked at, and those that are
COMPILED = 6  # calls after which a compiled function runs as it will


def growth(module: str, name: str, setting: dict[str, Any], compiled: bool = False) -> int:
    """Train a small network, then the task; return how far the second went above the first."""
    lib = importlib.import_module(module)
    lib.set_num_threads(2)
    small = ["lenet" if name in ("lenet", "resnet18") else "mlp"]
    if compiled:
        small.append("linear_regression")  # its error is one kernel: loads the code generator
    for other in small:
        train(lib, build(other, Setting(lib, **setting), batch=2), compiled)
    gc.collect()
    give_back()
    before = resident("VmRSS")
    task = build(name, Setting(lib, **setting))
    step = train(lib, task, compiled)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark counts from here
    for _ in range(STEPS):
        step()
    return max(resident("VmHWM") - before, os.sysconf("SC_PAGE_SIZE"))


def give_back() -> None:
    """Let malloc return what is free, so that nothing grows into it unseen."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def train(lib: Any, task: Any, compiled: bool) -> Callable[[], Any]:
    """Take the first steps of a task; return the function that takes one."""
    step: Callable[[], Any] = lib.compile(task.step) if compiled else task.step
    for _ in range(COMPILED if compiled else WARM):
        step()
    return step


def resident(field: str) -> int:
    """``VmRSS`` or ``VmHWM`` of this process, in bytes.

    >>> resident("VmRSS") > 1e6
    True
    """
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    assert found is not None
    return 1024 * int(found[1])
