"""``show``: a graph before and after each pass, as text and as a page to look at."""

from __future__ import annotations

from .graph import Graph, Step
from .op_schema import is_view
from .passes import run_passes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

__all__ = ["show"]


def show(thing: Any, path: str | os.PathLike[str] | None = None) -> None:
    """Print a graph before and after each pass, with its ops and the bytes that they write.

    Args:
        thing: what ``weft.compile`` or ``jit.optimize``, ``fuse``, ``optimize_for_inference`` returned; a
            ``jit.Graph``; or what ``jit.trace`` returned: then the passes of ``jit.optimize`` are
            shown. Anything else with a ``graph`` or ``graphs`` of that kind will do.
        path: write a page there too, one HTML file with pictures of the graphs, and nothing in it
            that asks for a network.

    >>> weft.jit.show(weft.jit.trace(lambda x: x.exp() + x.exp() * 1, (weft.ones(2),)))
    graph(%x0: float32[2]): 4 ops, 32 bytes written, 0 bytes of constants
    graph(%x0: float32[2]):
      %v1: float32[2] = exp(%x0)  # ...
      %v2: float32[2] = exp(%x0)  # ...
      %v3: float32[2] = mul(%v2, 1)  # ...
      %v4: float32[2] = add(%v1, %v3)  # ...
      return %v4
    <BLANKLINE>
    simplify: 4 -> 3 ops, 32 -> 24 bytes written, 0 bytes of constants
    ...
    share: 3 -> 2 ops, 24 -> 16 bytes written, 0 bytes of constants
    ...
    remove_dead: nothing to do
    """
    graphs = _graphs(thing)
    print("\n\n".join(map(_text, graphs)) if graphs else _nothing(thing))
    if path is not None:
        from weft.serialization.atomic import write_file

        from .html_page import page

        data = page([(_title(g), g.history) for g in graphs]).encode("utf-8")
        write_file(path, lambda file: file.write(data))


def _graphs(thing: Any) -> list[Graph]:
    """Return the graphs of something, each with the passes that it went through."""
    found: list[Any] = [thing]
    if not isinstance(thing, Graph):
        several = getattr(thing, "graphs", None)
        found = [getattr(thing, "graph", None)] if several is None else list(several)
    for g in found:
        if not isinstance(g, Graph):
            raise TypeError(
                "show: takes a Graph or what jit.trace, optimize, fuse and optimize_for_inference "
                f"return, not a {type(thing).__name__}"
            )
    return [g if g.history else run_passes(g) for g in found]


def _nothing(thing: Any) -> str:
    if why := getattr(thing, "reasons", []):
        return "\n".join(f"runs as it is written: {reason}" for reason in why)
    more = getattr(thing, "calls_until_graph", None)
    if more is None:
        return "no graph yet: call it first"
    return f"no graph yet: call it {more} more {'time' if more == 1 else 'times'} with such inputs"


def _title(graph: Graph) -> str:
    return f"graph({', '.join(map(repr, graph.inputs))})"


def _text(graph: Graph) -> str:
    first = graph.history[0].before
    parts = [f"{_title(graph)}: {facts(first)}\n{first!r}"]
    for step in graph.history:
        if step.before is step.after or repr(step.before) == repr(step.after):
            parts.append(f"{step.name}: nothing to do")
        else:
            parts.append(f"{step.name}: {change(step)}\n{step.after!r}")
    return "\n\n".join(parts)


def facts(graph: Graph) -> str:
    """Return how large a graph is: ops, bytes that they write, bytes of constants.

    >>> from weft.jit.display import facts
    >>> facts(weft.jit.trace(lambda x: (x + 1).view(-1), (weft.ones(2, 3),)).graph)
    '2 ops, 24 bytes written, 0 bytes of constants'
    """
    ops, written, constants = counts(graph)
    return f"{ops} ops, {written:,} bytes written, {constants:,} bytes of constants"


def change(step: Step) -> str:
    """Return how a pass changed these numbers.

    >>> from weft.jit.display import change
    >>> f = weft.jit.optimize(lambda x: x.exp() + x.exp(), (weft.ones(2),))
    >>> [change(step) for step in f.graph.history if step.name == "share"]
    ['3 -> 2 ops, 24 -> 16 bytes written, 0 bytes of constants']
    """
    names = ("ops", "bytes written", "bytes of constants")
    pairs = zip(counts(step.before), counts(step.after), names)
    return ", ".join(
        f"{a:,} {name}" if a == b else f"{a:,} -> {b:,} {name}" for a, b, name in pairs
    )


def counts(graph: Graph) -> tuple[int, int, int]:
    """Return the number of ops, the bytes that they write, and the bytes of constants."""
    written = sum(_bytes(v) for node in graph if not is_view(node) for v in node.outputs)
    return len(graph.nodes), written, sum(map(_bytes, graph.constants))


def _bytes(v: Any) -> int:
    size = v.dtype.itemsize
    for n in v.shape:
        size *= n
    return size
