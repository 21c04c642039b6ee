"""Numbers that only a fresh process can give: its peak memory, what its first calls cost."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any


def in_fresh_process(function: Callable[..., float], *arguments: Any) -> float:
    """What a function of a module returns in a process that has done nothing else.

    The arguments go there as text.

    >>> import math
    >>> in_fresh_process(math.hypot, 3, 4)
    5.0
    """
    name = function.__name__
    program = f"from {function.__module__} import {name}; print({name}(*{arguments!r}))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=tempfile.gettempdir(),
        check=True,
        stdout=subprocess.PIPE,
    )
    return float(done.stdout.split()[-1])
