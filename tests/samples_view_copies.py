"""Rows of views in memory of their own: what the views show, and nothing of their own."""

from __future__ import annotations

from dataclasses import replace

from samples import ROWS

for _view in (
    "as_strided", "detach", "diagonal", "expand", "permute", "select", "split", "split_with_sizes",
    "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "view", "view_as_complex",
    "view_as_real",
):  # fmt: skip
    ROWS[_view + "_copy"] = replace(ROWS[_view], name=_view + "_copy")
ROWS["alias_copy"] = replace(ROWS["clone"], name="alias_copy")
