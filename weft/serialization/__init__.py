"""Saving and loading: weft's own files, ``.safetensors``, ``.npz``, and PyTorch's ``.pt``.

What is saved is data, and loading runs no code that a file brings. A file is replaced in one go:
whatever happens while it is written, either the old content or the new one is there afterwards.

>>> import os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "model.weft")
>>> weft.save({"weight": weft.ones(2), "epoch": 3}, path)
>>> weft.load(path)
{'weight': tensor([1., 1.]), 'epoch': 3}
"""

from __future__ import annotations

from .common import FileError
from .files import load, save
from .npz import load_npz, save_npz
from .safetensors import load_file, read_metadata, save_file
from .training import TrainingState

__all__ = [
    "FileError",
    "TrainingState",
    "load",
    "load_file",
    "load_npz",
    "read_metadata",
    "save",
    "save_file",
    "save_npz",
]
