"""Runs an example whose networks are compiled: ``python tests/project/compiled_example.py FILE [ARGUMENTS]``.

Every call of a module from outside of any other goes through ``weft.compile``, one compiled function
for each module. At the end it says how many of these calls were replayed without Python.
"""

from __future__ import annotations

import runpy
import sys
import warnings
from pathlib import Path
from typing import Any

import weft
from weft import nn

compiled: dict[int, tuple[Any, Any]] = {}  # by the id of a module: itself, and what calls it
inside = False


def call(module: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a module, the outermost one as a compiled function."""
    global inside
    if inside:
        return plain(module, *args, **kwargs)
    if id(module) not in compiled:
        compiled[id(module)] = module, weft.compile(lambda *a, **k: plain(module, *a, **k))
    inside = True
    try:
        return compiled[id(module)][1](*args, **kwargs)
    finally:
        inside = False


plain = nn.Module.__call__

if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    warnings.filterwarnings("ignore", message="compile: ")
    nn.Module.__call__ = call  # type: ignore[method-assign]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        facts = [v for _, f in compiled.values() for v in f.report().specializations]
        reasons = {reason for _, f in compiled.values() for reason in f.reasons}
        print(f"compiled: {sum(v['calls'] for v in facts)} calls replayed", *sorted(reasons))
