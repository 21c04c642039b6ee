"""Compiled functions for the page: their graphs before and after each pass, as text."""

from __future__ import annotations

import gc

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["compiled_functions"]

MOST, LONGEST = 40, 60_000


def compiled_functions() -> list[dict[str, Any]]:
    """Return name, reasons and graphs of each compiled function there is.

    >>> from weft.view.live.compiled import compiled_functions
    >>> def growth(x):
    ...     return x.exp() + x.exp()
    >>> fast = weft.compile(growth)
    >>> for _ in range(4):
    ...     _ = fast(weft.ones(8))
    >>> [growth] = [f for f in compiled_functions() if "growth" in f["name"]]
    >>> [p["name"] for p in growth["graphs"][0]["passes"]][:2]
    ['as captured', ...]
    """
    found = [o for o in gc.get_objects() if issubclass(type(o), _C.CompiledBase)]
    return [_facts(f) for f in found[-MOST:]]


def _facts(f: Any) -> dict[str, Any]:
    try:
        graphs, reasons = list(f.graphs), list(f.reasons)
    except RuntimeError:  # the program changes it at this moment
        graphs, reasons = [], ["it is being compiled: look again"]
    return {
        "name": f.name, "reasons": [str(r)[:1000] for r in reasons],
        "graphs": [_graph(g) for g in graphs[:MOST]],
    }  # fmt: skip


def _graph(graph: Any) -> dict[str, Any]:
    history = graph.history
    first = history[0].before if history else graph
    passes = [{"name": "as captured", "ops": len(first.nodes), "text": repr(first)[:LONGEST]}]
    text = passes[0]["text"]
    for step in history:
        after = repr(step.after)[:LONGEST]
        passes.append(
            {
                "name": step.name,
                "ops": len(step.after.nodes),
                "text": None if after == text else after,
            }
        )
        text = after
    inputs = ", ".join(repr(v) for v in graph.inputs)
    return {"title": f"graph({inputs})"[:300], "passes": passes}
