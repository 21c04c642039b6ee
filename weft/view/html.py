"""What Jupyter shows of tensors, modules, summaries, reports and trainings: small pieces of HTML.

Each is the ``_repr_html_`` of its object and is loaded when a notebook first asks. All text is
escaped: a name or value that looks like HTML is shown as it is written. Colours are those of the
page, so that they suit dark pages too.
"""

from __future__ import annotations

import math
from html import escape

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from weft import Tensor
    from weft.nn import Module
    from weft.nn.summary import Summary

__all__ = ["History", "module_html", "summary_html", "tensor_html", "text_html"]

SHOWN = 8  # rows and columns of a matrix, half of them from its end
COUNTED = 1_000_000  # elements up to which the least, the mean and the greatest are computed
CHILDREN = 200  # modules of a tree that are shown
CURVES = ("#4c78a8", "#e45756", "#54a24b", "#b279a2", "#f58518", "#72b7b2")
_MONO = "font-family:monospace;font-size:90%"
_FAINT = "opacity:.65;font-size:90%"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 0) -> str:
    """Return a table of cells that are HTML; the first ``left`` columns are text."""

    def line(cells: Sequence[str], tag: str) -> str:
        text = ' style="text-align:left"'
        return "".join(f"<{tag}{text if i < left else ''}>{c}</{tag}>" for i, c in enumerate(cells))

    top = f"<thead><tr>{line(head, 'th')}</tr></thead>" if head else ""
    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f'<table style="{_MONO};text-align:right">{top}<tbody>{body}</tbody></table>'


def text_html(title: str, text: str) -> str:
    """Return a text under a title, each as it is written.

    >>> from weft.view.html import text_html
    >>> text_html("a < b", "x")[:22]
    '<div><b>a &lt; b</b><p'
    """
    return f"<div><b>{escape(title)}</b>{_pre(text)}</div>"


def _pre(text: str) -> str:
    return f'<pre style="{_MONO};white-space:pre-wrap">{escape(text)}</pre>'


# ---- tensors ------------------------------------------------------------------------------------


def tensor_html(t: Tensor) -> str:
    """Return type, shape and elements of a tensor: a vector or matrix as a table.

    >>> from weft.view.html import tensor_html
    >>> "float32 (2, 3)" in tensor_html(weft.ones(2, 3))
    True
    """
    facts = [f"{str(t.dtype).rpartition('.')[2]} {_shape(t.shape)}"]
    if t.layout is not weft.strided:
        facts.append(str(t.layout).rpartition(".")[2])
    if t.grad_fn is not None:
        facts.append(f"grad_fn={t.grad_fn.name()}")
    elif t.requires_grad:
        facts.append("requires_grad")
    head = f"<b>{escape(type(t).__name__)}</b> {escape(' · '.join(facts))}"
    plain = type(t).__repr__ is weft.Tensor.__repr__
    if not (plain and t.layout is weft.strided and not t.is_quantized and 1 <= t.ndim <= 2):
        return f"<div>{head}{_pre(repr(t))}</div>"
    with weft.no_grad():
        values = t.detach()
        return f"<div>{head}{_statistics(values)}{_elements(values)}</div>"


def _shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _statistics(t: Tensor) -> str:
    """Return the least, the mean and the greatest of many numbers."""
    if not SHOWN < t.numel() <= COUNTED or t.is_complex() or t.dtype == weft.bool:
        return ""
    low, mean, high = t.min().item(), t.double().mean().item(), t.max().item()
    return f'<div style="{_FAINT}">from {low:.4g} to {high:.4g}, mean {mean:.4g}</div>'


def _places(n: int) -> list[int | None]:
    """Return the places that are shown of n; None stands for those between."""
    if n <= SHOWN:
        return [*range(n)]
    half = SHOWN // 2
    return [*range(half), None, *range(n - half, n)]


def _elements(t: Tensor) -> str:
    """Return the elements as a table with the places at its edges."""
    matrix = t if t.ndim == 2 else t.unsqueeze(0)
    rows, columns = _places(matrix.shape[0]), _places(matrix.shape[1])
    if not matrix.numel():
        return f'<div style="{_FAINT}">no elements</div>'
    faint = "<small>{}</small>"
    lines = []
    for i in rows:
        edge = [faint.format("…" if i is None else i)] if t.ndim == 2 else []
        cells = ["…" if i is None or j is None else _number(matrix[i, j].item()) for j in columns]
        lines.append([*edge, *cells])
    head = [faint.format("…" if j is None else j) for j in columns]
    return _table([""] * (t.ndim - 1) + head, lines)


def _number(x: Any) -> str:
    if isinstance(x, complex):
        return escape(f"{x.real:.4g}{x.imag:+.4g}j")
    return escape(f"{x:.4g}" if isinstance(x, float) else str(x))


# ---- modules and summaries ----------------------------------------------------------------------


def module_html(module: Module) -> str:
    """Return the tree of a module, to be folded and unfolded, with the parameters of each part.

    >>> from weft.view.html import module_html
    >>> module_html(weft.nn.Linear(2, 3)).count("<details")
    0
    """
    left = [CHILDREN]
    return f'<div style="{_MONO}">{_branch("", module, left, 0)}</div>'


def _branch(name: str, module: Module, left: list[int], depth: int) -> str:
    own = type(module).__repr__ is not weft.nn.Module.__repr__
    extra = "…" if own and module._modules else repr(module) if own else module.extra_repr()
    text = escape(extra) if own else f"{escape(module._get_name())}({escape(extra)})"
    before = f"<b>{escape(name)}</b>: " if name else ""
    numbers = sum(p.numel() for p in module.parameters() if not weft.nn.parameter.is_lazy(p))
    count = f' <span style="{_FAINT}">{numbers:,} parameters</span>' if numbers else ""
    line = f"{before}{text}{count}"
    if not module._modules:
        return f"<div>{line}</div>"
    inside = []
    for child, part in module._modules.items():
        left[0] -= 1
        if left[0] < 0:
            inside.append("<div>…</div>")
            break
        if part is not None:
            inside.append(_branch(child, part, left, depth + 1))
    opened = " open" if depth < 2 else ""
    body = f'<div style="margin-left:1.5em">{"".join(inside)}</div>'
    return f"<details{opened}><summary>{line}</summary>{body}</details>"


def summary_html(summary: Summary) -> str:
    """Return the table of a summary, with its totals below.

    >>> from weft.view.html import summary_html
    >>> model = weft.nn.Sequential(weft.nn.Linear(2, 3))
    >>> "Output shape" in summary_html(weft.summary(model, weft.ones(1, 2)))
    True
    """
    head, *lines = summary.lines()
    cells = [[escape(c).replace("  ", "&nbsp;&nbsp;") for c in line] for line in lines]
    totals = "".join(f"<div>{escape(total)}</div>" for total in summary.totals())
    return f'<div>{_table(head, cells, left=2)}<div style="{_FAINT}">{totals}</div></div>'


# ---- trainings ----------------------------------------------------------------------------------


class History(list):
    """The results of all epochs, a dict for each; a notebook shows their table and curves.

    >>> from weft.view.html import History
    >>> history = History([{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}])
    >>> history[-1]["loss"], "<svg" in history._repr_html_()
    (0.25, True)
    """

    def _repr_html_(self) -> str:
        names = list(dict.fromkeys(str(name) for row in self for name in row))
        rows = [
            ["…"] * len(names) if i is None else self._cells(i, names) for i in _places(len(self))
        ]
        return f"<div>{self._curves()}{_table([escape(n) for n in names], rows)}</div>"

    def _cells(self, i: int, names: list[str]) -> list[str]:
        row = {str(name): value for name, value in self[i].items()}
        return [_number(row[name]) if name in row else "" for name in names]

    def _curves(self) -> str:
        """Return the results over the epochs, each from its least to its greatest value."""
        series: dict[str, list[tuple[int, float]]] = {}
        for i, row in enumerate(self):
            for name, value in row.items():
                number = isinstance(value, (int, float)) and not isinstance(value, bool)
                if number and name not in ("epoch", "lr", "seconds") and math.isfinite(value):
                    series.setdefault(str(name), []).append((i, float(value)))
        drawn = [(n, points) for n, points in series.items() if len(points) > 1][: len(CURVES)]
        if not drawn:
            return ""
        lines, labels = [], []
        for color, (name, points) in zip(CURVES, drawn):
            low, high = min(y for _, y in points), max(y for _, y in points)
            places = " ".join(
                f"{4 + 312 * i / (len(self) - 1):.1f},{84 - 78 * (y - low) / (high - low or 1):.1f}"
                for i, y in points
            )
            lines.append(
                f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{places}"/>'
            )
            text = f"{escape(name)} ({low:.3g} to {high:.3g})"
            labels.append(f'<span style="color:{color}">{text}</span>')
        frame = '<rect x="1" y="1" width="318" height="88" fill="none" stroke="currentColor" opacity=".3"/>'
        picture = f'<svg width="320" height="90" viewBox="0 0 320 90">{frame}{"".join(lines)}</svg>'
        return f"<div>{picture}</div><div>{' · '.join(labels)}</div>"
