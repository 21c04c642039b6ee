"""How a tensor becomes text: PyTorch's output, character for character.

A tensor is written in four steps: take the elements that will be shown (``_shown``), choose one
way of writing numbers for all of them (``_real_style``), lay the words out in brackets
(``_layout``), add what else should be known (``_facts``).

>>> import weft
>>> weft.tensor([[1.0, -2.5], [3.0, 4.0]], dtype=weft.float64)
tensor([[ 1.0000, -2.5000],
        [ 3.0000,  4.0000]], dtype=torch.float64)
"""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Any

    from weft import Tensor

    Write = Callable[[Any], str]

__all__ = ["get_printoptions", "printoptions", "set_printoptions", "tensor_repr"]

_INF = float("inf")
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": _INF, "edgeitems": 3, "linewidth": 80},
}
_options: dict[str, Any] = {**_PROFILES["default"], "sci_mode": None}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; what is not given stays as it is.

    Args:
        precision: digits after the point (4).
        threshold: number of elements above which only the edges are shown (1000).
        edgeitems: elements shown at each edge of a summarised dimension (3).
        linewidth: characters in a line (80).
        profile: ``"default"``, ``"short"`` or ``"full"``, applied before the other arguments.
        sci_mode: True or False to force scientific notation on or off; None (also when it is
            not given) lets the values decide.

    >>> weft.set_printoptions(precision=2)
    >>> weft.tensor([1.12345])
    tensor([1.12])
    >>> weft.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in _PROFILES:
            known = ", ".join(map(repr, _PROFILES))
            raise ValueError(f"set_printoptions: profile must be one of {known}, got {profile!r}")
        _options.update(_PROFILES[profile])
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    _options.update((name, value) for name, value in given.items() if value is not None)
    _options["sci_mode"] = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return a copy of the options that :func:`set_printoptions` sets.

    >>> weft.printing.get_printoptions()["edgeitems"]
    3
    """
    return dict(_options)


class printoptions:
    """Print with other options inside a ``with`` block; takes ``set_printoptions``' arguments.

    >>> with weft.printing.printoptions(precision=1):
    ...     print(weft.tensor([0.25]))
    tensor([0.2])
    """

    __slots__ = ("_before", "_change")

    def __init__(self, **change: Any) -> None:
        self._change = change
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._before.append(dict(_options))
        set_printoptions(**self._change)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _options.update(self._before.pop())


def tensor_repr(t: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the text of ``t``, as ``repr`` and ``str`` give it.

    Only elements that are shown are read: a tensor of a billion elements prints at once.

    Args:
        t: the tensor.
        tensor_contents: text to show in the place of the elements.

    >>> weft.printing.tensor_repr(weft.arange(2000))
    'tensor([   0,    1,    2,  ..., 1997, 1998, 1999])'
    >>> weft.printing.tensor_repr(weft.zeros(2, 0))
    'tensor([], size=(2, 0))'
    """
    kind = type(t)
    plain = kind is weft.Tensor or kind.__name__ == "Parameter"
    if (recorder := weft._C._recorder()) is not None:
        recorder.shown(weft._C._here())
    head = "tensor(" if plain else f"{kind.__name__}("
    if t.layout is not weft.strided and tensor_contents is None:
        return _sparse_repr(t, head)
    if tensor_contents is not None:
        body = tensor_contents
    elif t.numel() == 0:
        body = "[]"
    else:
        tracing = weft._C._pause_recording()  # looking at a tensor is no part of a traced program
        try:
            body = _elements(t.detach(), len(head))
        finally:
            if tracing:
                weft._C._resume_recording()
    return _with_facts(head + body, _facts(t), len(head))


def _sparse_repr(t: Tensor, head: str) -> str:
    """Return the text of a sparse tensor: its indices and values, then the facts."""
    shown = {"indices": t._indices(), "values": t._values()}
    if t.layout is weft.sparse_csr:
        shown = {"crow_indices": t.crow_indices(), "col_indices": t.col_indices()}
    elif t.layout is weft.sparse_csc:
        shown = {"ccol_indices": t.ccol_indices(), "row_indices": t.row_indices()}
    values = shown["values"] = t._values() if t.is_sparse else t.detach().values()
    space = " " * len(head)
    parts = []
    for name, part in shown.items():
        start = f"{name}=tensor("
        tracing = weft._C._pause_recording()
        try:
            body = _elements(part, len(head + start)) if part.numel() else "[]"
        finally:
            if tracing:
                weft._C._resume_recording()
        size = "" if part.numel() else f", size={tuple(part.shape)}"
        parts.append(f"{start}{body}{size})")
    facts = [f"nnz={t._nnz()}"]
    if not (t.dtype in (weft.int64, weft.bool) or _obvious_dtype(t, values.numel() == 0)):
        facts.append(f"dtype={t.dtype}")
    facts += [f"layout={t.layout}", *_history(t)]
    first = f"size={tuple(t.shape)}"
    text = head + f",\n{space}".join([*parts, first])
    return _with_facts(text, facts, len(head), len(space + first))


# ---- which elements are shown -----------------------------------------------------------------


def _elements(t: Tensor, indent: int) -> str:
    """Return the elements of ``t`` in brackets, starting in column ``indent``."""
    edge = _options["edgeitems"] if t.numel() > _options["threshold"] else None
    shown = _shown(t, edge)
    values = list(_leaves(shown))
    if t.is_complex():
        write, width = _complex_style(values)
    elif t.is_floating_point():
        write, width = _real_style(values)
    else:
        width = max(map(len, map(str, values)), default=0)
        write = _padded(width)
    return _layout(shown, len(t.shape), write, width, indent)


def _shown(t: Tensor, edge: int | None) -> Any:
    """Return ``t`` as nested lists; with ``edge``, long dimensions keep their ends around `...`."""
    shape = t.shape
    if edge is None or max(shape, default=0) <= 2 * edge:
        return t.tolist()
    n = shape[0]
    if max(shape[1:], default=0) <= 2 * edge:
        ends = t[:edge].tolist(), t[n - edge :].tolist()
    elif n <= 2 * edge:
        return [_shown(t[i], edge) for i in range(n)]
    else:
        ends = (
            [_shown(t[i], edge) for i in range(edge)],
            [_shown(t[i], edge) for i in range(n - edge, n)],
        )
    return [*ends[0], ..., *ends[1]]


def _leaves(shown: Any) -> Iterator[Any]:
    """Yield the elements of the nested lists."""
    if not isinstance(shown, list):
        yield shown
    elif shown and isinstance(shown[0], list):
        for row in shown:
            if row is not ...:
                yield from _leaves(row)
    else:
        yield from (value for value in shown if value is not ...)


# ---- how a number is written ------------------------------------------------------------------


def _padded(width: int) -> Write:
    """Return ``str``, right-aligned to ``width``."""
    return lambda value: str(value).rjust(width)


def _real_style(values: list[float]) -> tuple[Write, int]:
    """Return how to write these floats, and the width of the widest that is neither 0, inf nor nan.

    Whole numbers are written ``3.``, others with ``precision`` digits, and all of them in
    scientific notation when they span more than three decades, are huge, or are tiny.
    """
    telling = [v for v in values if v and v - v == 0]  # inf - inf and nan - nan are not 0
    whole = all(v.is_integer() for v in telling)
    if not telling:
        return _whole(1), 1
    low, high = min(map(abs, telling)), max(map(abs, telling))
    sci = _options["sci_mode"]
    if sci is None:
        sci = high / low > 1000 or high > 1e8 or (not whole and low < 1e-4)
    spec = f".{_options['precision']}{'e' if sci else 'f'}"
    write = _whole if whole and not sci else _spec(spec)
    width = max(1, *map(len, map(write(0), telling)))
    return write(width), width


def _whole(width: int) -> Write:
    """Write a whole number with its point and no digit after it."""

    def write(value: float) -> str:
        text = f"{value:.0f}"
        return (text + "." if value - value == 0 else text).rjust(width)

    return write


def _spec(spec: str) -> Callable[[int], Write]:
    """Write a number after a format specification."""
    return lambda width: lambda value: format(value, spec).rjust(width)


def _complex_style(values: list[complex]) -> tuple[Write, int]:
    """Return how to write these complex numbers: each part in its own style."""
    real, real_width = _real_style([v.real for v in values])
    imag, imag_width = _real_style([v.imag for v in values])

    def write(value: complex) -> str:
        second = imag(value.imag).lstrip() + "j"
        return real(value.real) + (second if second[0] == "-" else "+" + second)

    return write, real_width + imag_width + 1


# ---- brackets, lines, facts -------------------------------------------------------------------


def _layout(shown: Any, dims: int, write: Write, width: int, indent: int) -> str:
    """Return nested lists, ``dims`` deep, as text whose first bracket is in column ``indent``."""
    if dims == 0:
        return write(shown)
    if dims == 1:
        return _line(shown, write, width, indent)
    rows = (
        "..." if row is ... else _layout(row, dims - 1, write, width, indent + 1) for row in shown
    )
    return "[" + ("," + "\n" * (dims - 1) + " " * (indent + 1)).join(rows) + "]"


def _line(shown: list[Any], write: Write, width: int, indent: int) -> str:
    """Return one innermost list, broken into as many lines as it needs."""
    if shown == [...]:
        return "[...]"
    words = [" ..." if value is ... else write(value) for value in shown]
    count = max(1, (_options["linewidth"] - indent) // (width + 2))
    lines = (", ".join(words[i : i + count]) for i in range(0, len(words), count))
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _facts(t: Tensor) -> list[str]:
    """Return what follows the elements: size, dtype, where the gradient goes."""
    facts = []
    empty = t.numel() == 0
    if len(t.shape) != 1 if empty else not _options["edgeitems"]:
        facts.append(f"size={tuple(t.shape)}")
    if not _obvious_dtype(t, empty):
        facts.append(f"dtype={t.dtype}")
    return facts + _history(t)


def _history(t: Tensor) -> list[str]:
    """Return where the gradient goes."""
    grad_fn = t.grad_fn
    if grad_fn is not None:
        return [f"grad_fn=<{grad_fn.name().rpartition('::')[2]}>"]
    return ["requires_grad=True"] if t.requires_grad else []


def _obvious_dtype(t: Tensor, empty: bool) -> bool:
    """Say whether ``weft.tensor`` would give the printed elements this dtype anyway."""
    default = weft.get_default_dtype()
    if t.dtype == default:
        return True
    if empty:
        return False
    if t.is_complex():
        return t.dtype == (weft.complex128 if default == weft.float64 else weft.complex64)
    return t.dtype in (weft.int64, weft.bool)


def _with_facts(text: str, facts: list[str], indent: int, column: int | None = None) -> str:
    """Close the bracket after the facts; a fact that does not fit starts a new line."""
    if column is None:
        column = len(text) - text.rfind("\n") + 1
    for fact in facts:
        if column + len(fact) + 2 > _options["linewidth"]:
            text += ",\n" + " " * indent + fact
            column = indent + len(fact)
        else:
            text += ", " + fact
            column += len(fact) + 2
    return text + ")"
