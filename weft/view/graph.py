"""``Graph``: nodes and edges to walk, and the ways to turn them into text and pictures."""

from __future__ import annotations

import os
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from weft import dtype

__all__ = ["Edge", "Graph", "Node"]

FORMATS = ("svg", "png", "pdf", "dot")


class Node:
    """One step of a graph, or a tensor that goes in or comes out.

    Attributes:
        id: its name in the graph, as ``n3``.
        label: what a picture shows first.
        op: the name of the op, as ``MulBackward0``; "" for tensors.
        kind: ``op``, ``leaf``, ``parameter``, ``buffer``, ``constant``, ``saved``, ``output``, or
            ``module`` for a module whose ops are not shown one by one.
        shape: of what it gives; None where it is not known.
        shapes: of all that it gives, if more than one.
        dtype: of what it gives; None where it is not known.
        module: the path of the module that made it, as ``Net.body.0``, or "".
        line: where the program made it, as ``train.py:12, in forward``, or "".
        attributes: further facts by name.
    """

    __slots__ = (
        "attributes", "dtype", "id", "kind", "label", "line", "module", "op", "shape", "shapes",
    )  # fmt: skip

    def __init__(
        self,
        id: str,
        label: str,
        kind: str,
        *,
        op: str = "",
        shapes: list[tuple[int, ...]] | None = None,
        dtype: dtype | None = None,
        module: str = "",
        line: str = "",
    ) -> None:
        self.id, self.label, self.kind, self.op = id, label, kind, op
        self.shapes = shapes or []
        self.shape = self.shapes[0] if self.shapes else None
        self.dtype, self.module, self.line = dtype, module, line
        self.attributes: dict[str, str] = {}

    @property
    def lines(self) -> list[str]:
        """The lines of text of its box in a picture.

        >>> weft.view.Node("n0", "w", "leaf", shapes=[(2, 3)], dtype=weft.float64).lines
        ['w', '[2, 3] float64']
        """
        text = ", ".join(str(list(s)) for s in self.shapes[:3])
        text += ", …" if len(self.shapes) > 3 else ""
        kind = str(self.dtype).rpartition(".")[2] if self.dtype is not None else "float32"
        under = " ".join([*([text] if text else []), *([] if kind == "float32" else [kind])])
        facts = [f"{name}: {value}" for name, value in self.attributes.items()]
        return [self.label, *([under] if under else []), *facts]

    @property
    def tooltip(self) -> str:
        """What a picture says of it under the mouse.

        >>> weft.view.Node("n0", "add", "op", module="Net.a", line="t.py:1").tooltip
        'add\\nmodule Net.a\\nt.py:1'
        """
        where = [f"module {self.module}"] if self.module else []
        return "\n".join([*self.lines, *where, *([self.line] if self.line else [])])

    def __repr__(self) -> str:
        """Return what is known of it, in a line."""
        where = [self.module, self.line]
        facts = [self.id, self.kind, *self.lines, *(text for text in where if text)]
        return f"<{'  '.join(facts)}>"


class Edge(NamedTuple):
    """From what gives a value to what takes it: the ids of two nodes.

    >>> weft.view.Edge("n0", "n1").dst
    'n1'
    """

    src: str
    dst: str


class Graph:
    """Nodes in the order of the program, and edges between them.

    Iterating gives the nodes. ``str(g)`` is the text of the graph in Graphviz's language. In a
    notebook it shows itself.

    Attributes:
        nodes: a list of ``Node``.
        edges: a list of ``Edge``.
        format: of pictures whose format is not given.
        name: the name of files that are not given one.

    >>> x = weft.ones(2, requires_grad=True)
    >>> g = weft.autograd.make_dot(x.exp())
    >>> len(g), [tuple(e) for e in g.edges]
    (3, [('n0', 'n1'), ('n1', 'n2')])
    """

    def __init__(self, name: str = "Digraph.gv") -> None:
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.name, self.format = name, "svg"
        self._found: dict[str, Node] = {}

    def add(self, label: str, kind: str, **facts: Any) -> Node:
        """Add a node, and return it; ``facts``: as ``Node`` takes them.

        >>> weft.view.Graph().add("x", "leaf").id
        'n0'
        """
        node = Node(f"n{len(self.nodes)}", label, kind, **facts)
        self.nodes.append(node)
        self._found[node.id] = node
        return node

    def connect(self, src: Node, dst: Node) -> None:
        """Add an edge.

        >>> g = weft.view.Graph()
        >>> g.connect(g.add("x", "leaf"), g.add("y", "output"))
        >>> g.edges
        [Edge(src='n0', dst='n1')]
        """
        self.edges.append(Edge(src.id, dst.id))

    def __iter__(self) -> Iterator[Node]:
        """Iterate over the nodes in the order of the program."""
        return iter(self.nodes)

    def __len__(self) -> int:
        """Count the nodes."""
        return len(self.nodes)

    def __getitem__(self, id: str) -> Node:
        """Return the node of an id."""
        if id not in self._found:
            raise KeyError(f"graph: there is no node {id!r} among {len(self.nodes)}")
        return self._found[id]

    def __repr__(self) -> str:
        """Return how large it is."""
        return f"<Graph of {len(self.nodes)} nodes and {len(self.edges)} edges>"

    def __str__(self) -> str:
        """Return the graph in Graphviz's language."""
        return self.source

    @property
    def graph(self) -> Graph:
        """The graph itself.

        >>> g = weft.view.Graph()
        >>> g.graph is g
        True
        """
        return self

    @property
    def source(self) -> str:
        """The graph in Graphviz's language.

        >>> weft.view.Graph().source.splitlines()[0]
        'digraph {'
        """
        from .dot import dot_text

        return dot_text(self)

    dot = source

    def collapse(self, depth: int) -> Graph:
        """Return the graph with one node for each module that is ``depth`` or more levels deep.

        >>> net = weft.nn.Sequential(weft.nn.Linear(2, 2), weft.nn.Softmax(-1))
        >>> [n.label for n in weft.view.graph(net, weft.ones(1, 2)).collapse(2)]
        ['input', '0', '1', 'output']
        """
        from .boxes import collapsed

        return collapsed(self, depth)

    def pipe(self, format: str | None = None, encoding: str | None = None) -> Any:
        """Return a picture as bytes; with ``encoding`` as text, for the formats that are text.

        >>> weft.view.Graph().pipe("svg")[:4]
        b'<svg'
        """
        format = _checked(format or self.format, "pipe")
        if format in ("png", "pdf"):
            from .raster import picture

            if encoding is not None:
                raise ValueError(f"pipe: {format} is no text and has no encoding, got {encoding!r}")
            return picture(self, format)
        if format == "svg":
            from .svg import svg_text

            text = svg_text(self)
        else:
            text = self.source
        data = text.encode("utf-8")
        return data if encoding is None else data.decode(encoding)

    def save(self, filename: str | None = None, directory: str | None = None) -> str:
        """Write the graph in Graphviz's language, and return the path of the file.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     os.path.basename(weft.view.Graph().save("net.gv", folder))
        'net.gv'
        """
        path = os.path.join(directory or "", os.fspath(filename or self.name))
        _write(path, self.source.encode("utf-8"))
        return path

    def render(
        self,
        filename: str | None = None,
        directory: str | None = None,
        view: bool = False,
        cleanup: bool = False,
        format: str | None = None,
    ) -> str:
        """Draw the graph into a file, and return its path.

        Args:
            filename: with an ending that is a format (``net.png``) this file alone is written.
                Else, as the graphviz package does, ``filename`` gets the text of the graph, and
                ``filename.<format>`` the picture.
            directory: where to write.
            view: open the picture in the browser.
            cleanup: remove the file with the text.
            format: ``svg``, ``png``, ``pdf`` or ``dot``; else what ``graph.format`` says.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = weft.view.Graph().render("net.svg", folder)
        ...     os.listdir(folder)
        ['net.svg']
        """
        name = os.fspath(filename or self.name)
        ending = os.path.splitext(name)[1][1:]
        if ending in FORMATS and format in (None, ending):
            path = os.path.join(directory or "", name)
            data = self.pipe(ending)
        else:
            format = _checked(format or self.format, "render")
            data = self.pipe(format)
            source = self.save(name, directory)
            path = f"{source}.{format}"
            if cleanup:
                os.remove(source)
        _write(path, data)
        if view:
            _open(path)
        return path

    def view(self, filename: str | None = None, directory: str | None = None) -> str:
        """Draw the graph as SVG, open it in the browser, and return the path of the file.

        Without a name the file is a temporary one, which stays for the browser to read.
        """
        if filename is None and directory is None:
            import tempfile

            handle, path = tempfile.mkstemp(prefix="weft-", suffix=".svg")
            os.close(handle)
            return self.render(path, view=True)
        name = os.fspath(filename or self.name)
        return self.render(name if name.endswith(".svg") else f"{name}.svg", directory, view=True)

    def _repr_svg_(self) -> str:
        return self.pipe("svg", "utf-8")


def _checked(format: str, caller: str) -> str:
    if format not in FORMATS:
        raise ValueError(f"{caller}: format must be one of {', '.join(FORMATS)}, got {format!r}")
    return format


def _write(path: str, data: bytes) -> None:
    """Write a file, all or nothing: a picture that is there stays until the new one is whole."""
    from weft.serialization.atomic import write_file

    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    write_file(path, lambda file: file.write(data))


def _open(path: str) -> None:
    import webbrowser
    from pathlib import Path

    if not webbrowser.open(Path(path).absolute().as_uri()):
        raise RuntimeError(f"view: found no browser to open; the picture is in {path}")
