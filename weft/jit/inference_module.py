"""``InferenceModule``: a scripted module as static graphs, one for each kind of inputs."""

from __future__ import annotations

from .graph_cache import GraphCache
from .passes import INFERENCE, run_passes
from .script.module import ScriptModule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .graph import Graph

__all__ = ["InferenceModule"]


class InferenceModule(ScriptModule):
    """What ``weft.jit.optimize_for_inference`` gives for a scripted module.

    Attributes:
        graph: the graph that was used last; before the first call, the program.
        graphs: all that are kept, one for each kind of call.
        reasons: why calls were run by the interpreter.

    >>> scripted = weft.jit.script(weft.nn.Linear(2, 3).eval())
    >>> fast = weft.jit.optimize_for_inference(scripted)
    >>> fast(weft.ones(1, 2)).equal(scripted(weft.ones(1, 2))), len(fast.graphs), fast.reasons
    (True, 1, [])
    """

    def __init__(self, frozen: Any) -> None:
        super().__init__()
        self.__dict__.update(
            _inner=frozen, _original=frozen.original_name, training=False, _is_frozen=True
        )
        private = not frozen._methods.keys() - {"forward"}  # others may change it
        self.__dict__["_graphs"] = GraphCache(frozen, _for_inference, private, rounds=True)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._graphs(args, kwargs)

    def __getattr__(self, name: str) -> Any:
        """Find the methods and attributes that were kept."""
        if name.startswith("__") or "_inner" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return getattr(self._inner, name)

    def __deepcopy__(self, memo: Any) -> InferenceModule:
        """Copy the module; its graphs are taken anew."""
        import copy

        made = memo[id(self)] = InferenceModule(copy.deepcopy(self._inner, memo))
        return made

    @property
    def graph(self) -> Any:
        """The graph that was used last; before the first call, the program as text."""
        return next(reversed(self._graphs.graphs()), self._inner.graph)

    @property
    def graphs(self) -> list[Graph]:
        """The graphs of all kinds of calls."""
        return self._graphs.graphs()

    @property
    def reasons(self) -> list[str]:
        """Why calls were run by the interpreter."""
        return list(self._graphs.reasons)

    @property
    def code(self) -> str:
        """The program as Python-like source."""
        return self._inner.code


def _for_inference(graph: Graph) -> Graph:
    graph.frozen = True
    return run_passes(graph, INFERENCE)
