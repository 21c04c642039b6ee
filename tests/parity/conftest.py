"""Parity runs only where PyTorch is installed (`make parity`); elsewhere the header says so."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # helpers and samples

HAVE_TORCH = "torch" in sys.modules or find_spec("torch") is not None
collect_ignore_glob = [] if HAVE_TORCH else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings of PyTorch are not weft's to mend."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("default"))


def pytest_report_header() -> str:
    """One line at the top of the run."""
    return "parity: " + (
        "with PyTorch" if HAVE_TORCH else "left out, torch is not installed (make parity)"
    )
