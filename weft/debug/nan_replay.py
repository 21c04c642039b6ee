"""Computing a recorded step again, node by node, to find the first value that is not finite.

The graph of a step knows the calls, their lines and modules, and what backward needs. While
``nan_origin`` is on it keeps the other inputs too, so that each call can be recomputed from the
leaves. Nothing of this costs time before a step has failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import weft
from weft import _C
from weft.autograd.graph import Node
from weft.view.names import Names, split_origin

from .nan_report import LONGEST, Birth, Link, look_at, peak_of, slice_at

if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

    Place = tuple[Node, int]

__all__ = ["Forward", "birth_of_gradient", "birth_of_value"]


class Forward:
    """The forward pass behind some places of a graph, computed again.

    Attributes:
        births: the births that each node's results go back to; none where they are finite.
        own: the birth of which a node is itself the origin.
        peaks: the largest magnitude of each node's results, where they are known.
    """

    def __init__(self, roots: list[Any]) -> None:
        """``roots``: tensors that have a graph, or places in one."""
        self.truth: dict[Place, Tensor] = {
            (t.grad_fn, t.output_nr): t.detach() for t in roots if isinstance(t, weft.Tensor)
        }
        self.births: dict[Node, list[Birth]] = {}
        self.own: dict[Node, Birth] = {}  # of which it is itself the origin
        self.made: list[Birth] = []
        self.deliberate: set[Birth] = set()
        self.peaks: dict[Node, float] = {}
        self.parents: dict[Node, list[Node]] = {}
        self.unknown: list[str] = []
        self._infinite: set[Node] = set()  # results with infinities and without NaN
        self._values: dict[Place, Tensor] = {}
        self.refused: dict[Node, str] = {}  # compiled calls that cannot be unfolded, and why
        self.nodes = _nodes_behind(
            [t.grad_fn if isinstance(t, weft.Tensor) else t.node for t in roots], self.refused
        )
        self._uses: dict[Node, int] = {}
        self._known_slots: dict[Node, list[int]] = {}

    def run(self) -> Forward:
        """Compute all nodes, the oldest first."""
        for node in self.nodes:
            for place in node.next_functions:
                if place[0] is not None:
                    self._uses[place[0]] = self._uses.get(place[0], 0) + 1
            self._learn(node)
        for node, slot in self.truth:
            self._known_slots.setdefault(node, []).append(slot)
        state = weft.get_rng_state()
        try:
            with weft.no_grad():
                for node in self.nodes:
                    self._visit(node)
        finally:
            weft.set_rng_state(state)
        return self

    def _learn(self, node: Node) -> None:
        """Take what the node kept: values that are as they were in the step."""
        try:
            kept = node._saved()
        except RuntimeError:  # changed in place since, or freed
            return
        for t in kept:
            if isinstance(t, weft.Tensor) and t.grad_fn is not None:
                self.truth.setdefault((t.grad_fn, t.output_nr), t.detach())

    def _visit(self, node: Node) -> None:
        places = [p for p in node.next_functions if p[0] is not None]
        self.parents[node] = [p[0] for p in places]
        name, args = _call(node)
        given = [(label, a, self._value(a)) for label, a in _tensors_of(args)]
        outs = self._results(node, name, args)
        known = [t for t in outs if t is not None]
        for slot, t in enumerate(outs):
            if t is not None:
                self._values[(node, slot)] = t
        if known:
            self.peaks[node] = max((peak_of(t) for t in known if _inexact(t)), default=0.0)
        if not known:
            self.births[node] = self._inherited(places)
        elif all(_C._all_finite(t) for t in known):
            self.births[node] = []
        else:
            bad = next(t for t in known if not _C._all_finite(t))
            self._trace(node, name, args, given, bad, places)
        for parent in set(self.parents[node]):
            self._uses[parent] -= self.parents[node].count(parent)
            if not self._uses[parent]:
                for key in [k for k in self._values if k[0] == parent]:
                    del self._values[key]

    def _inherited(self, places: list[Any]) -> list[Birth]:
        found: list[Birth] = []
        for node, _ in places:
            found += [b for b in self.births.get(node, []) if b not in found]
        return found

    def _trace(
        self, node: Node, name: str, args: Any, given: list[Any], bad: Tensor, places: Any
    ) -> None:
        """Say where a result that is not finite comes from."""
        line, module = split_origin(getattr(node, "origin", None) or "")
        inherited = self._inherited(places)
        for label, a, t in given:
            if t is None or _C._all_finite(t) or _is_place(a):
                continue
            outer = Birth(name, "input", line, module, look_at(label, t), [])
            outer.index, outer.values = slice_at(t, [], label)
            self._add(outer, outer.output.nans == 0)
            inherited.append(outer)
        only_infinite = look_at("", bad).nans == 0
        if only_infinite:
            self._infinite.add(node)
        if inherited:
            self.births[node] = inherited
            if not only_infinite:
                for birth in inherited:
                    if not birth.output.nans and not birth.became:
                        birth.became = f"{name} at {line}" + (
                            f", in module {module}" * bool(module)
                        )
            return
        named = [(label, t) for label, _, t in given if t is not None]
        birth = Birth(
            name, "forward", line, module, look_at("output", bad),
            [look_at(label, t) for label, t in named],
        )  # fmt: skip
        birth.index, birth.values = slice_at(bad, named, "output")
        birth.note = _limit_note(bad) if birth.output.infinities else ""
        if any(t is None for _, _, t in given):
            birth.note = "not all of its inputs could be computed again"
        asked = birth.output.nans == 0 and _asks_for_infinity(args)
        if birth.output.infinities and not asked:
            birth.chain = self._chain(node, name, line, module)
        self._add(birth, asked)
        self.own[node] = birth
        self.births[node] = [birth]

    def _add(self, birth: Birth, deliberate: bool) -> None:
        self.made.append(birth)
        if deliberate:
            self.deliberate.add(birth)

    def _chain(self, node: Node, name: str, line: str, module: str) -> list[Link]:
        """Return the largest magnitudes that led to an overflow in ``node``."""
        links = [Link(name, line, module, float("inf"))]
        while len(links) < LONGEST:
            parents = [p for p in self.parents.get(node, []) if self.peaks.get(p, 0.0) > 0.0]
            if not parents:
                break
            node = max(parents, key=lambda p: self.peaks[p])
            where, path = split_origin(getattr(node, "origin", None) or "")
            if not where or self.peaks[node] > links[-1].largest:
                break
            links.append(Link(_call(node)[0], where, path, self.peaks[node]))
        return links[::-1]

    def first(self, births: list[Birth]) -> Birth | None:
        """Return the oldest one; one that nobody asked for, if there is one."""
        wanted = set(births)
        ordered = [b for b in self.made if b in wanted]
        return next((b for b in ordered if b not in self.deliberate), next(iter(ordered), None))

    def _value(self, a: Any) -> Tensor | None:
        if not _is_place(a):
            return a.detach() if isinstance(a, weft.Tensor) else None
        node, slot = a
        if node.name() == "AccumulateGrad":
            return node.variable.detach()
        return self.truth.get((node, slot), self._values.get((node, slot)))

    def _results(self, node: Node, name: str, args: list[Any] | None) -> list[Tensor | None]:
        """Return what a node gave, None where it cannot be known."""
        if node.name() == "AccumulateGrad":
            return [node.variable.detach()]
        slots = self._known_slots.get(node, [])
        made = self._compute(node, name, args)
        count = max([len(made), *(slot + 1 for slot in slots)])
        outs: list[Tensor | None] = [*made, *[None] * (count - len(made))]
        for slot in slots:
            outs[slot] = self.truth[(node, slot)]
        return outs

    def _compute(self, node: Node, name: str, args: list[Any] | None) -> list[Tensor | None]:
        if node in self.refused:
            self.unknown.append(f"the compiled call at {node.origin} ({self.refused[node]})")
            return []
        if node.name() == "CompiledBackward0":  # unfolded: it stands for what it leads to
            return [self._value(p) for p in node.next_functions]
        parts = _C._parts_of(node)
        if parts is not None:
            x = self._value(node.next_functions[0])
            if x is None:
                return []
            dim, widths = parts
            return list(x.split(list(widths), dim) if len(widths) else x.unbind(dim))
        if args is None:
            self.unknown.append(f"{name} at {node.origin}")
            return []
        values = [self._filled(a) for a in args]
        if any(_missing(a, v) for a, v in zip(args, values)):
            return []
        try:
            return list(_C._call_op(name, tuple(values), False))
        except (RuntimeError, TypeError, ValueError, IndexError):  # an input was not kept
            self.unknown.append(f"{name} at {node.origin}")
            return []

    def _filled(self, a: Any) -> Any:
        if isinstance(a, list):
            return [self._filled(x) for x in a]
        return self._value(a) if _is_place(a) or isinstance(a, weft.Tensor) else a


def _missing(asked: Any, value: Any) -> bool:
    if isinstance(asked, list):
        return any(x is None or _missing(x, v) for x, v in zip(asked, value))
    return value is None and asked is not None


def _is_place(a: Any) -> bool:
    return type(a) is tuple and len(a) == 2 and isinstance(a[0], Node)


def _inexact(t: Tensor) -> bool:
    return t.is_floating_point() or t.is_complex()


def _call(node: Node) -> tuple[str, list[Any] | None]:
    """Return the name of the op of a node, and its arguments if they can be known."""
    if _C._parts_of(node) is not None:
        return node.name().split("Backward")[0].lower(), list(node.next_functions)
    try:
        call = _C._call_of(node)
    except RuntimeError:  # freed
        call = None
    if call is None:
        name = node.name()
        name = "compiled call" if name == "CompiledBackward0" else name.split("Backward")[0]
        return name, None
    return call[0], list(call[3])


def _tensors_of(args: list[Any] | None) -> list[tuple[str, Any]]:
    """Return the arguments that are tensors, or places of them, with names to show."""
    found = []
    for a in args or ():
        found += a if isinstance(a, list) else [a]
    found = [a for a in found if _is_place(a) or isinstance(a, weft.Tensor)]
    return [("input" if len(found) == 1 else f"input {i}", a) for i, a in enumerate(found)]


def _asks_for_infinity(args: list[Any] | None) -> bool:
    """Whether a call was given an infinity to write, as ``masked_fill(mask, -inf)``."""
    return any(isinstance(a, float) and a in (float("inf"), -float("inf")) for a in args or ())


def _limit_note(t: Tensor) -> str:
    if t.dtype in (weft.float16, weft.bfloat16):
        return f"{str(t.dtype).split('.')[-1]} ends at {weft.finfo(t.dtype).max:.6g}"
    return ""


def _nodes_behind(roots: list[Node], refused: dict[Node, str]) -> list[Node]:
    """Return the nodes that lead to ``roots``, the oldest first, compiled calls unfolded."""
    seen: set[Node] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.name() == "CompiledBackward0":
            try:
                _C._unfold(node)
            except (RuntimeError, NotImplementedError) as e:
                refused[node] = str(e)
        waiting += [n for n, _ in node.next_functions if n is not None]
    return sorted(seen, key=lambda n: n._sequence_nr())


def birth_of_value(t: Tensor) -> Birth | None:
    """Return where a tensor with a graph first became NaN or infinite, or None if it did not."""
    forward = Forward([t]).run()
    birth = forward.first(forward.births.get(t.grad_fn, []))
    if birth is not None and forward.unknown:
        some = ", ".join(forward.unknown[:3])
        birth.note = (birth.note + "; " * bool(birth.note)) + f"not computed again: {some}"
    return birth


class _Backward:
    """A backward pass taken again, each node looked at."""

    def __init__(self, roots: list[Any], forward: Forward) -> None:
        self.roots, self.forward = roots, forward
        self.arrived: dict[Node, list[Birth]] = {}
        self.made: list[Birth] = []
        self.peaks: dict[Node, float] = {}
        self.from_node: dict[Node, Node] = {}

    def run(self, grads: list[Tensor]) -> dict[Node, Tensor]:
        """Walk back, and return the gradients of the leaves."""
        leaves = [n for n in self.forward.nodes if n.name() == "AccumulateGrad"]
        handles = [
            node.register_hook(self._hook(node))
            for node in self.forward.nodes
            if node.name() != "AccumulateGrad"
        ]
        try:
            found = _C._run_backward(
                tuple(self.roots), tuple(grads), True, False,
                tuple(n.variable for n in leaves), True, False,
            )  # fmt: skip
        finally:
            for handle in handles:
                handle.remove()
        return {n: g for n, g in zip(leaves, found) if g is not None}

    def _hook(self, node: Node) -> Any:
        def look(results: Any, given: Any) -> None:
            with weft.no_grad():
                self._look(node, results, given)

        return look

    def _look(self, node: Node, results: Any, given: Any) -> None:
        given = [g for g in given if g is not None]
        bad = [g for g in results if g is not None and not _C._all_finite(g)]
        self.peaks[node] = max((peak_of(g) for g in results if g is not None), default=0.0)
        births = self.arrived.get(node, [])
        if bad and all(_C._all_finite(g) for g in given):
            births = self._born(node, bad[0], given)
        elif bad and not births:
            births = [self._summed(node, given)]
        for (parent, _), g in zip(node.next_functions, results):
            if parent is None or g is None:
                continue
            before = self.from_node.get(parent)
            if before is None or self.peaks[before] < self.peaks[node]:
                self.from_node[parent] = node
            if not _C._all_finite(g):
                waiting = self.arrived.setdefault(parent, [])
                waiting += [b for b in births if b not in waiting]

    def _born(self, node: Node, bad: Tensor, given: list[Tensor]) -> list[Birth]:
        """A node gave a gradient that is not finite for those that were."""
        name, (line, module) = _call(node)[0], split_origin(node.origin or "")
        saved = _fields(node)
        earlier = self.forward.own.get(node)
        for _, t in saved:
            if earlier is None and not _C._all_finite(t) and t.grad_fn is not None:
                earlier = self.forward.first(self.forward.births.get(t.grad_fn, []))
        if earlier is not None:
            if not earlier.note:
                earlier.note = f"it did not reach the loss: backward of {name} at {line} met it"
            if earlier not in self.made:
                self.made.append(earlier)
            return [earlier]
        named = [*saved, *(("gradient", g) for g in given)]
        output = "its gradient"
        birth = Birth(
            name, "backward", line, module, look_at(output, bad),
            [look_at(label, t) for label, t in named],
        )  # fmt: skip
        birth.index, birth.values = slice_at(bad, named, output)
        if birth.output.infinities:
            birth.note = _limit_note(bad)
            birth.chain = self._chain(node)
        self.made.append(birth)
        return [birth]

    def _summed(self, node: Node, given: list[Tensor]) -> Birth:
        """Finite gradients from several ops, or none that was seen, add up to what is not."""
        name, (line, module) = _call(node)[0], split_origin(node.origin or "")
        bad = next(g for g in given if not _C._all_finite(g))
        label = f"sum of the gradients of the output of {name}"
        birth = Birth(label, "backward", line, module, look_at("the sum", bad), [])
        birth.index, birth.values = slice_at(bad, [], "the sum")
        self.made.append(birth)
        return birth

    def _chain(self, node: Node) -> list[Link]:
        links: list[Link] = []
        current: Node | None = node
        while current is not None and len(links) < LONGEST:
            peak = self.peaks.get(current, 0.0)
            if links and peak > links[-1].largest:
                break
            line, module = split_origin(current.origin or "")
            links.append(Link(f"backward of {_call(current)[0]}", line, module, peak))
            current = self.from_node.get(current)
        return links[::-1]


def birth_of_gradient(roots: list[Any], grads: list[Tensor]) -> Birth | None:
    """Return where a gradient of the leaves behind ``roots`` first became NaN or infinite."""
    forward = Forward([t for t in roots if getattr(t, "grad_fn", t) is not None]).run()
    backward = _Backward(roots, forward)
    found = backward.run(grads)
    bad = [n for n, g in found.items() if not _C._all_finite(g)]
    births = [b for b in backward.made if any(b in backward.arrived.get(n, []) for n in bad)]
    birth = next((b for b in births if b not in forward.deliberate), next(iter(births), None))
    if birth is None and bad:
        g = found[bad[0]]
        birth = Birth(
            "sum of gradients", "backward", "the end of backward", "", look_at("sum", g), []
        )
    if birth is not None:
        birth.reached = [f"the gradient of {name}" for name in _names([n.variable for n in bad])]
    return birth


def _fields(node: Node) -> list[tuple[str, Tensor]]:
    try:
        return [(name, t) for name, t in node._saved_fields() if _inexact(t)]
    except RuntimeError:  # changed in place since
        return []


def _names(leaves: list[Tensor]) -> list[str]:
    names = Names()
    names.take_all_modules(leaves)
    found = [names.of(t) for t in leaves]
    return [
        pair[0] if pair is not None else f"a leaf of shape {list(t.shape)}"
        for pair, t in zip(found, leaves)
    ]
