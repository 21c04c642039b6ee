"""Logs for TensorBoard, written by TensorBoard's own code.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     with weft.utils.tensorboard.SummaryWriter(folder) as writer:
...         writer.add_scalar("loss", 0.5, 1)
"""

from __future__ import annotations

from importlib.util import find_spec as _find_spec

if _find_spec("tensorboard") is None:
    raise ImportError(
        "weft.utils.tensorboard needs the package tensorboard: pip install weft[tensorboard]"
    )

from .files import FileWriter
from .writer import SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
