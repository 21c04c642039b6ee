"""``freeze``: a copy for inference, whose parameters are constants."""

from __future__ import annotations

import copy

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .graph import Graph

__all__ = ["freeze"]


def freeze(
    mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True
) -> Any:
    """Return a copy of a scripted or traced module whose parameters are constants.

    The copy has no parameters and an empty ``state_dict``, and cannot be trained.

    Args:
        mod: what ``jit.script`` or ``jit.trace`` returned, in the mode of evaluation.
        preserved_attrs: methods to keep besides ``forward``.
        optimize_numerics: whether results may change by rounding; they do not, either way.

    >>> scripted = weft.jit.script(weft.nn.Linear(2, 1).eval())
    >>> frozen = weft.jit.freeze(scripted)
    >>> list(frozen.parameters()), frozen(weft.ones(1, 2)).equal(scripted(weft.ones(1, 2)))
    ([], True)
    """
    if not isinstance(mod, _C.ModuleBase) or "_methods" not in mod.__dict__:
        raise RuntimeError(
            f"freeze: takes what jit.script or jit.trace returned, not a {type(mod).__name__}"
        )
    if mod.training:
        raise RuntimeError("freeze: the module is in the mode of training: call .eval() before")
    made = copy.deepcopy(mod)
    methods = made.__dict__["_methods"]
    for name in preserved_attrs or ():
        if name not in methods and not hasattr(made, name):
            raise ValueError(f"freeze: preserved_attrs names {name!r}, which is not there")
    keep = _called(methods, {"forward", *(preserved_attrs or ())})
    made.__dict__["_methods"] = {name: m for name, m in methods.items() if name in keep}
    freeze_in_place(made)
    return made


def _called(methods: dict[str, Any], names: set[str]) -> set[str]:
    """Return names of methods with those that they call."""
    from .script import tree

    waiting, found = list(names), set(names)
    while waiting:
        running = methods.get(waiting.pop())
        for node in () if running is None else running.function.walk():
            if isinstance(node, tree.CallMethod) and node.name not in found:
                found.add(node.name)
                waiting.append(node.name)
    return found


def freeze_in_place(module: Any) -> None:
    """Turn the parameters and buffers of a module into constants."""
    if module.training:
        module.eval()
    constants: dict[Any, Any] = {}  # tensors that are shared stay so
    for part in module.modules():
        frozen = part.__dict__.setdefault("_frozen", {})
        for kind in ("parameters", "buffers"):
            table = getattr(part, f"_{kind}")
            for name, t in list(table.items()):
                if t is None:
                    continue
                del table[name]
                constant = constants.setdefault(t, t.detach() if kind == "parameters" else t)
                part.__dict__[name] = constant
                frozen[name] = kind
        part.__dict__["_is_frozen"] = True
        part.__dict__.pop("_live", None)
    graph = module.__dict__.get("_graph")
    if graph is not None:
        freeze_graph(graph, constants)


def freeze_graph(graph: Graph, constants: dict[Any, Any]) -> None:
    """Let the constants of a graph be those that were frozen, by what they were."""
    for v in graph.constants:
        t: Any = v.constant
        v.constant = constants.setdefault(t, t.detach() if t.requires_grad else t)
    graph.frozen = True
    graph.forget()
