"""Who holds which block of memory: Python's objects and autograd's graph, walked together."""

from __future__ import annotations

import gc

import weft
from weft import _C

from .memory_paths import Paths, reachable_from, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Block", "Holder", "Survey"]


class Holder:
    """A tensor that a variable leads to, and what lives because of it.

    Attributes:
        path: the way to it, as ``losses[3]``.
        scope: where that variable is; empty for a global of the program.
        kind: ``"parameter"``, ``"gradient"``, ``"buffer"``, ``"optimizer state"`` or ``"tensor"``.
        text: its dtype and shape.
        bytes: of its own block, 0 where another holder has it too and came first.
        graph_bytes: of blocks that only its graph keeps for backward.
        nodes: of its graph, without those that another holder came first to.
        source: the line that made it, as ``train.py:88``; empty where it is not known.
        module: the layer that it belongs to, or in which it was made.
        also: further ways to it.

    >>> x = weft.ones(1000, requires_grad=True).exp()
    >>> [(h.path, h.bytes, h.nodes) for h in weft.memory.report().holders if h.path == "x"]
    [('x', 4032, 2)]
    """

    def __init__(self, path: str, scope: str, kind: str, text: str) -> None:
        """Make a holder of nothing."""
        self.path, self.scope, self.kind, self.text = path, scope, kind, text
        self.bytes = self.graph_bytes = self.nodes = 0
        self.source = self.module = ""
        self.also: list[str] = []

    @property
    def total(self) -> int:
        """All bytes that live because of it."""
        return self.bytes + self.graph_bytes

    def __repr__(self) -> str:
        """Return the most important of it."""
        return f"<Holder {self.path} {self.kind} {self.text} bytes={self.total} nodes={self.nodes}>"


class Block:
    """A block of memory that is in use: its address, its bytes, who holds it, and which line made it.

    >>> x = weft.ones(1000)
    >>> [b.asked for b in weft.memory.report().blocks if b.holder.path == "x"]
    [4000]
    """

    __slots__ = ("address", "asked", "bytes", "holder", "kind", "module", "source")

    def __init__(self, address: int, asked: int, bytes: int, holder: Holder | None) -> None:
        """Keep where it is and whose it is."""
        self.address, self.asked, self.bytes, self.holder = address, asked, bytes, holder
        self.kind = self.module = self.source = ""


class Survey:
    """All blocks with their holders, at one moment.

    >>> from weft.debug.memory_graph import Survey
    >>> kept = [weft.ones(1000) for _ in range(3)]
    >>> survey = Survey()
    >>> [h.path for h in survey.holders if h.path.startswith("kept")]
    ['kept[0]', 'kept[1]', 'kept[2]']
    """

    def __init__(self, lines: dict[int, tuple[str, str]] | None = None) -> None:
        """Look at everything.

        Args:
            lines: of blocks by address, the line and the module that allocated them.
        """
        self.holders: list[Holder] = []
        self.blocks: list[Block] = []
        self.foreign = 0  # bytes of memory that is not the allocator's
        self._lines = lines or {}
        collecting = gc.isenabled()
        gc.disable()
        try:
            self._look()
        finally:
            if collecting:
                gc.enable()
        self.found = sum(b.bytes for b in self.blocks)
        self.unreached = self.stats["live"] - self.found  # native memory: compiled programs, caches

    def _look(self) -> None:
        _C._show_all_to_collector()
        everything = gc.get_objects()
        paths = self._paths = Paths()
        kinds = (weft.Tensor, paths.node_type)
        roots = [o for o in everything if issubclass(type(o), kinds)]
        self._things, self._storages, numbers = _C._owned_graph(roots)
        self.stats = _C._memory_stats()
        self._number = {id(o): i for o, i in zip(roots, numbers)}
        self._object = {i: o for o, i in zip(roots, numbers) if isinstance(o, weft.Tensor)}
        self._of: dict[int, Holder] = {}  # of things
        self._seen: set[int] = set()  # storages
        paths.from_program()
        self._take()
        self._take_unreachable(everything, roots)
        for i, thing in enumerate(self._things):
            if i not in self._of and thing[0] == "tensor":
                self._of[i] = lone = self._holder(
                    "(no variable)", "held by native code", thing, "tensor"
                )
                self._own(i, lone, lone.kind)
        del (
            self._paths,
            self._things,
            self._storages,
            self._object,
            self._number,
            self._of,
            self._lines,
        )

    def _take_unreachable(self, everything: list[Any], roots: list[Any]) -> None:
        """Name what no variable leads to: cycles, or what only native code holds."""
        paths = self._paths
        left = [o for o in roots if id(o) not in paths.came and self._number[id(o)] not in self._of]
        if not left:
            return
        hidden = {id(everything), id(roots)}
        pool = {id(o): o for o in everything if id(o) not in paths.came and id(o) not in hidden}
        around = reachable_from(left, pool)
        held = {id(x) for o in around.values() for x in gc.get_referents(o)}

        def order(o: Any) -> tuple[bool, bool, bool]:
            plain = type(o).__module__ == "builtins" and type(o).__name__ != "generator"
            native = issubclass(type(o), (weft.Tensor, paths.node_type))
            return id(o) in held, native, plain

        paths.held[id(pool)] = pool
        for o in sorted(around.values(), key=order):
            if id(o) in paths.came:
                continue
            name = getattr(o, "__qualname__", "") if type(o).__name__ == "generator" else ""
            text = f"({type(o).__name__}{' ' + name if name else ''})"
            paths.from_root(o, text, "no variable leads there: a cycle, or held by native code")
            self._take()

    def _take(self) -> None:
        """Give what was met, and what hangs on it natively, to its holders."""
        paths = self._paths
        while paths.tensors:
            new, paths.tensors = paths.tensors, []
            waiting = []
            for o in new:
                i = self._number.get(id(o))
                if i is None or i in self._of:
                    continue
                came = paths.came[id(o)]
                path, scope = paths.path(came)
                holder = self._holder(path, scope, self._things[i], self._kind(o, came))
                holder.module = paths.module_of(came)
                holder.also = [paths.path(c)[0] for c in paths.also.get(id(o), ())]
                self._of[i] = holder
                self._own(i, holder, holder.kind)
                waiting.append(i)
            self._spread(waiting)

    def _kind(self, o: Any, came: tuple[int, str, Any]) -> str:
        if issubclass(type(o), self._paths.parameter):
            return "parameter"
        chain = self._paths.chain(came)
        if any(holder in self._paths.optimizers for holder, _, _ in chain):
            return "optimizer state"
        return "buffer" if came[1] == "part" else "tensor"

    def _holder(self, path: str, scope: str, thing: Any, kind: str) -> Holder:
        text = "node"
        if thing[0] == "tensor":
            dtype, sizes = thing[4][3:]
            text = f"{str(dtype).rpartition('.')[2]} {tuple(sizes)}"
        holder = Holder(path, scope, kind, text)
        holder.nodes = int(thing[0] == "node")
        self.holders.append(holder)
        return holder

    def _origin(self, thing: Any) -> tuple[str, str]:
        """Return the line and the module of what made a tensor, or of a node."""
        node = thing
        if thing[0] == "tensor":
            if thing[4][2] < 0:
                return "", ""
            node = self._things[thing[4][2]]
        if node[0] != "node":
            return "", ""
        _, file, line, _, module = node[4][:5]
        return f"{shown_file(file)}:{line}" if file else "", module

    def _own(self, i: int, holder: Holder, kind: str, maker: Any = None) -> None:
        """Give the storage of a tensor to a holder, if nobody has it."""
        thing = self._things[i]
        source, module = self._origin(thing)
        if thing[0] != "tensor":
            holder.source, holder.module = holder.source or source, holder.module or module
            return
        address, asked, size = self._storages[thing[4][0]] if thing[4][0] >= 0 else (0, 0, 0)
        if not source and address in self._lines:
            source, module = self._lines[address]
        if not source and maker is not None:
            source, module = self._origin(maker)
        if kind != "saved for backward":
            holder.source, holder.module = holder.source or source, holder.module or module
        if thing[4][0] in self._seen or thing[4][0] < 0:
            return
        self._seen.add(thing[4][0])
        if not size:
            self.foreign += asked
            return
        block = Block(address, asked, size, holder)
        block.kind, block.source = kind, source
        block.module = module or (holder.module if kind != "saved for backward" else "")
        self.blocks.append(block)
        if kind == "saved for backward":
            holder.graph_bytes += size
        else:
            holder.bytes += size

    def _spread(self, waiting: list[int]) -> None:
        """Walk natively from tensors that have a holder, all at the same speed."""
        paths = self._paths
        for i in waiting:
            kind, _, owned, objects, facts = self._things[i]
            holder = self._of[i]
            grad = facts[1] if kind == "tensor" else -1
            for j in owned:
                if j in self._of or (j in self._object and id(self._object[j]) in paths.came):
                    continue
                below = self._things[j]
                if j == grad:
                    holder_of = self._holder(holder.path + ".grad", holder.scope, below, "gradient")
                    holder_of.module = holder.module
                    self._own(j, holder_of, "gradient")
                else:
                    holder_of = holder
                    if below[0] == "tensor":
                        self._own(j, holder, "saved for backward", self._things[i])
                    holder.nodes += below[0] == "node"
                self._of[j] = holder_of
                waiting.append(j)
            for o in objects:
                how = (
                    ("hook", getattr(o, "__qualname__", type(o).__name__))
                    if kind == "hook"
                    else ("graph", None)
                )
                paths.from_holder(o, holder.path, holder.scope, *how)
