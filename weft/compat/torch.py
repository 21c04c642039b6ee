"""``install()``: makes ``import torch``, ``import torchvision`` and so on give weft.

>>> import weft.compat.torch
>>> weft.compat.torch.install()
>>> import importlib
>>> importlib.import_module("torch.nn") is weft.nn
True
>>> weft.compat.torch.uninstall()
"""

from __future__ import annotations

import importlib
import os
import sys

from weft.compat.finder import Finder
from weft.compat.names import ROOTS

__all__ = ["SHADOW", "install", "installed", "take_over", "uninstall"]

# A folder with packages `torch`, `torchvision` and so on, each of which calls `take_over`. On sys.path, it makes
# processes that import the program anew (multiprocessing's spawn) find weft, too.
SHADOW = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shadow")

_finders: list[Finder] = []


def install() -> None:
    """Make ``torch``, ``torchvision``, ``torchtext`` and ``torchaudio`` mean weft.

    Doing it twice does no more. If PyTorch itself was imported before, it raises: half of a
    program on each would not work.

    >>> from weft.compat.torch import install, installed, uninstall
    >>> install()
    >>> installed()
    True
    >>> uninstall()
    """
    if _finders:
        return
    for name in ROOTS:
        module = sys.modules.get(name)
        if module is not None and not hasattr(module, "__weft_shadow__"):
            raise RuntimeError(
                f"weft.compat.torch.install: {name} is imported already, from "
                f"{getattr(module, '__file__', 'somewhere')}: install weft's before any import "
                "of it, or start the program by python -m weft run"
            )
    finder = Finder()
    sys.meta_path.insert(0, finder)
    _finders.append(finder)


def uninstall() -> None:
    """Undo ``install``; modules that a program holds on to stay as they are.

    >>> weft.compat.torch.uninstall()
    """
    while _finders:
        finder = _finders.pop()
        sys.meta_path.remove(finder)
        finder.release()


def installed() -> bool:
    """Say whether ``import torch`` gives weft.

    >>> weft.compat.torch.installed()
    False
    """
    return bool(_finders)


def take_over(name: str) -> None:
    """Replace a package of the shadow folder, which is being imported, by weft's module."""
    install()
    sys.modules.pop(name)
    importlib.import_module(name)
