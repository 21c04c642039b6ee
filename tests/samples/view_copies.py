"""Rows of views in memory of their own: what the views show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from samples import ROWS, S


def _all(sample: S) -> bool:
    return True


def _one_size(sample: S) -> bool:
    return len(sample.args) == 2  # not spread over the arguments


def _equal_parts(sample: S) -> bool:
    return isinstance(sample.args[1], int)


def _copy_row(view: str, fits: Callable[[S], bool]) -> None:
    row = ROWS[view]
    name = "alias_copy" if view == "clone" else view + "_copy"
    ROWS[name] = replace(row, name=name, make=lambda: [s for s in row.make() if fits(s)])


for _view in (
    "as_strided", "clone", "detach", "diagonal", "permute", "select", "split_with_sizes", "squeeze",
    "t", "transpose", "unbind", "unfold", "unsqueeze", "view_as_complex", "view_as_real",
):  # fmt: skip
    _copy_row(_view, _all)
_copy_row("expand", _one_size)
_copy_row("view", _one_size)
_copy_row("split", _equal_parts)
