"""Passes over graphs: ``shape_prop``, ``split_module``."""

from __future__ import annotations

from . import shape_prop, split_module

__all__ = ["shape_prop", "split_module"]
