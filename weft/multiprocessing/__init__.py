"""Python's ``multiprocessing``, whose queues, pipes and arguments carry tensors in shared memory.

Everything of Python's module is here. A tensor that goes to another process through one of its queues, pipes, pools or
as an argument is moved into memory that both see: nothing is copied, and what one writes the other reads. ``spawn``
starts processes and raises in the parent what one of them raised.

>>> import weft.multiprocessing as mp
>>> queue = mp.get_context("fork").SimpleQueue()
>>> x = weft.zeros(3)
>>> queue.put(x)
>>> y = queue.get()
>>> x.is_shared(), y.fill_(1.0), x
(True, tensor([1., 1., 1.]), tensor([1., 1., 1.]))
"""

from __future__ import annotations

import multiprocessing as _python
from multiprocessing import *  # noqa: F403

from . import sharing
from .processes import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)
from .sharing import (
    get_all_sharing_strategies,
    get_sharing_strategy,
    set_sharing_strategy,
)

__all__ = [
    *_python.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]

sharing.register()
