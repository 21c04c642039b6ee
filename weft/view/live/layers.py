"""Parameters of the watched program: their names, gradient norms, and how far a step moves them."""

from __future__ import annotations

import math

import weft
from weft import _C

from .conditions import matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["Layers", "find_roots"]

SAMPLE = 2048  # elements that stand for a larger parameter
MOST = 2000


def find_roots(wanted: set[int]) -> list[Any]:
    """Return the outermost modules there are that hold one of these parameters, given by ``id``.

    >>> from weft.view.live.layers import find_roots
    >>> net = weft.nn.Linear(2, 2)
    >>> find_roots({id(net.weight)}) == [net]
    True
    """
    import gc

    found = [m for m in gc.get_objects() if issubclass(type(m), weft.nn.Module)]
    modules = [m for m in found if "_modules" in vars(m)]
    inner = {id(child) for m in modules for child in m._modules.values()}
    roots = [m for m in modules if id(m) not in inner]
    return [m for m in roots if any(id(p) in wanted for p in m.parameters())]


class Layers:
    """The parameters that are watched, and what is known of them after the last step.

    Attributes:
        names: path of each parameter, by ``id``.
        tree: (path, class, what it says of itself, parameters of its own) of each module.
        norms: of gradients, by path.
        ratios: of an update and the weight it changed, by path.
    """

    def __init__(self) -> None:
        """Nothing is known."""
        self.names: dict[int, str] = {}
        self.tree: list[list[Any]] = []
        self.norms: dict[str, float] = {}
        self.ratios: dict[str, float] = {}
        self._parameters: list[tuple[str, Tensor]] = []
        self._roots: list[Any] = []
        self._before: dict[str, Tensor] = {}

    def take(self, model: Any) -> None:
        """Watch the parameters of a module, under the name of its class."""
        if any(model is root for root in self._roots):
            return
        self._roots.append(model)
        head = type(model).__name__
        for path, m in model.named_modules():
            own = sum(p.numel() for p in m.parameters(recurse=False))
            full = f"{head}.{path}" if path else head
            self.tree.append([full, type(m).__name__, str(m.extra_repr())[:120], own])
        for name, p in model.named_parameters():
            if id(p) not in self.names:
                self.names[id(p)] = f"{head}.{name}"
                self._parameters.append((f"{head}.{name}", p))
        for name, b in model.named_buffers():
            self.names.setdefault(id(b), f"{head}.{name}")

    def take_optimizer(self, optimizer: Any) -> None:
        """Watch what an optimiser changes, under the names of the modules that hold it."""
        wanted = {id(p) for group in optimizer.param_groups for p in group["params"]}
        if wanted <= self.names.keys():
            return
        for root in find_roots(wanted):
            self.take(root)
        for i, group in enumerate(optimizer.param_groups):
            for k, p in enumerate(group["params"]):
                if id(p) not in self.names:
                    self.names[id(p)] = f"group {i}.{k}"
                    self._parameters.append((f"group {i}.{k}", p))

    def remember(self) -> None:
        """Keep some elements of each parameter, to see later how far they moved."""
        self._before = {name: _C._sample(p, SAMPLE) for name, p in self._parameters[:MOST]}

    def look(self) -> list[list[Any]]:
        """Return (path, shape, weight norm, gradient norm, update ratio) of each parameter."""
        rows: list[list[Any]] = []
        self.ratios = {}
        self.look_at_gradients()
        for name, p in self._parameters[:MOST]:
            now, before = _C._sample(p, SAMPLE), self._before.get(name)
            weight = _norm(now)
            if before is not None and before.shape == now.shape:
                moved = _norm(now - before)
                self.ratios[name] = moved / weight if weight else (math.inf if moved else 0.0)
            scale = math.sqrt(p.numel() / max(now.numel(), 1))
            ratio = self.ratios.get(name)
            rows.append([name, list(p.shape), weight * scale, self.norms.get(name), ratio])
        self._before = {}
        return rows

    def look_at_gradients(self) -> None:
        """Measure the norm of every gradient, over all its elements."""
        self.norms = {}
        for name, p in self._parameters[:MOST]:
            g = p.grad
            if g is not None:
                self.norms[name] = _norm(g.coalesce().values() if g.is_sparse else g)

    def norm(self, path: str = "*") -> float:
        """Return the norm of the gradients of some modules together."""
        found = [n for name, n in self.norms.items() if path == "*" or matches(path, name)]
        return math.sqrt(sum(n * n for n in found)) if found else math.nan

    def ratio(self, path: str = "*") -> float:
        """Return the largest update ratio of some modules."""
        found = [r for name, r in self.ratios.items() if path == "*" or matches(path, name)]
        return max(found, default=math.nan)


def _norm(x: Tensor) -> float:
    """Return the norm of all elements, and leave them as they lie in memory."""
    if x.dim() < 3 and x.dtype in (weft.float32, weft.float64):  # it cannot lie channels last
        return float(weft.linalg.vector_norm(x))
    _, nans, infinite, _, _, _, _, squares = _C._statistics(x)
    return math.nan if nans else math.inf if infinite else math.sqrt(squares)
