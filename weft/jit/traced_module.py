"""``TracedModule``: a module as the graph of one call, with live parameters."""

from __future__ import annotations

from .script.module import ScriptModule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .graph import Graph

__all__ = ["TracedModule"]


class TracedModule(ScriptModule):
    """What ``weft.jit.trace`` gives for a module: its graph, its parameters, its ``state_dict``.

    >>> traced = weft.jit.trace(weft.nn.Linear(2, 3), (weft.ones(1, 2),))
    >>> list(traced.state_dict()), [node.op for node in traced.graph]
    (['weight', 'bias'], ['linear'])
    """

    def forward(self, *args: Any) -> Any:
        graph = self.__dict__.get("_graph")
        if graph is None:
            raise RuntimeError(
                f"{self.original_name}: only the whole of a traced module can be called, not a part"
            )
        if not graph.frozen:
            for v, part, name in self._live_members():
                now = part.__dict__[name]
                if now is not v.constant or now.dtype != v.dtype:  # it was replaced, or converted
                    graph.put(v, now)
                    self.__dict__.pop("_others", None)  # which knows the tensors of the module
        others = self.__dict__.get("_others")
        if others is not None and graph.has_other_sizes(args):
            return others(args)
        return graph.run(*args)

    def _live_members(self) -> list[tuple[Any, Any, str]]:
        """Return the constants of the graph that are members, and where these are."""
        if "_live" not in self.__dict__:
            self.__dict__["_live"] = [
                (v, self.get_submodule(v.member.rpartition(".")[0]), v.member.rpartition(".")[2])
                for v in self.graph.constants
                if v.member
            ]
        return self.__dict__["_live"]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle it as other modules: it is data."""
        return object.__reduce_ex__(self, protocol)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without those that are found again, and what is not data."""
        state = super().__getstate__().items()
        return {name: x for name, x in state if name not in ("_live", "_others")}

    @property
    def graph(self) -> Any:
        """The ops of the traced call; None for a part of a traced module."""
        return self.__dict__.get("_graph")

    @property
    def code(self) -> str:
        """The ops of the traced call, one a line."""
        return repr(self.graph)

    def optimize(self) -> TracedModule:
        """Return the same module with its graph improved by all passes (``weft.jit.passes``).

        >>> traced = weft.jit.trace(weft.nn.Linear(2, 3), (weft.ones(1, 2),))
        >>> len(traced.optimize().graph.nodes)
        1
        """
        from .passes import run_passes

        made = like(self, {})
        made.__dict__["_graph"] = run_passes(self.graph)
        return made

    def members(self) -> dict[str, Any]:
        """Return parameters and buffers by their paths, also frozen ones.

        >>> traced = weft.jit.trace(weft.nn.Linear(2, 3), (weft.ones(1, 2),))
        >>> list(traced.members())
        ['weight', 'bias']
        """
        found = dict(self.named_parameters(remove_duplicate=False))
        found.update(self.named_buffers(remove_duplicate=False))
        for path, part in self.named_modules():
            for name in part.__dict__.get("_frozen", {}):
                found[f"{path}.{name}" if path else name] = part.__dict__[name]
        return found

    def _get_name(self) -> str:
        return "TracedModule"


def like(module: Any, made: dict[int, Any]) -> TracedModule:
    """Return a module without a class that shares the tensors of another one."""
    if id(module) in made:
        return made[id(module)]
    made[id(module)] = bare = TracedModule()
    bare.__dict__["_original"] = getattr(module, "original_name", type(module).__name__)
    bare.__dict__["training"] = module.training
    for name, p in module._parameters.items():
        bare._parameters[name] = p
    for name, b in module._buffers.items():
        bare._buffers[name] = b
    bare.__dict__["_non_persistent_buffers_set"] = set(module._non_persistent_buffers_set)
    for name, child in module._modules.items():
        bare._modules[name] = None if child is None else like(child, made)
    return bare


def traced_module(module: Any, graph: Graph) -> TracedModule:
    """Return a traced module; constants that are the module's tensors become its members."""
    bare = like(module, {})
    names = {t: name for name, t in reversed(list(bare.members().items()))}
    for v in graph.constants:
        v.member = names.get(v.constant)
    graph.training = module.training
    bare.__dict__["_graph"] = graph
    return bare
