"""Places for the members of one box: layers from top to bottom, few crossings, straight lines.

After Sugiyama: each item goes below all that it reads; lines over several layers get a bend in
each; the order within layers follows the mean place of the neighbours, up and down a few times; the
places come as near to those means as the order and the widths allow. All steps take time in
proportion to the number of items and bends, but for sorting.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

GAP_X, GAP_Y = 18.0, 26.0
PORT_GAP = 8.0  # between the border of a box and its first layer
STRAIGHT = 1e5  # how much more a bend keeps its place than an item: else long lines drift
BENDS_PER_ITEM, BENDS_MORE = 10, 20000  # at most so many; lines beyond that go straight


class Link(NamedTuple):
    """A line between two items; it leaves and arrives so far from their middles.

    Links of the same ``src`` and ``out`` share their way as long as they can.
    """

    src: int
    dst: int
    out: float = 0.0
    into: float = 0.0


class Placed(NamedTuple):
    """Where items are: their middles, and the size of all together; and the way of each link.

    A way begins where it leaves the one it shares. It is a list of points; between points with
    different ``x`` it is meant to be a curve that leaves and arrives upright.
    """

    x: list[float]
    y: list[float]
    width: float
    height: float
    ways: list[list[tuple[float, float]]]


class _Layers:
    """Items and bends by layer, and the lines between neighbouring layers."""

    def __init__(self, widths: Sequence[float], layer: list[int], links: Sequence[Link]) -> None:
        self.width = list(widths)
        self.layer = list(layer)
        self.items = len(widths)
        # For each item or bend: (other, where it meets that one, where it meets this one).
        self.up: list[list[tuple[int, float, float]]] = [[] for _ in widths]
        self.down: list[list[tuple[int, float, float]]] = [[] for _ in widths]
        self.bends: list[list[int]] = [[] for _ in links]  # of each link, those it does not share
        self.starts: list[int | None] = [None for _ in links]  # the bend it leaves a shared way at
        self._add_bends(links)
        count = max(self.layer, default=-1) + 1
        self.rows: list[list[int]] = [[] for _ in range(count)]
        for v, row in enumerate(self.layer):
            self.rows[row].append(v)

    def _add_bends(self, links: Sequence[Link]) -> None:
        left = BENDS_PER_ITEM * self.items + BENDS_MORE
        chains: dict[tuple[int, float], list[int]] = {}
        spans = [self.layer[k.dst] - self.layer[k.src] - 1 for k in links]
        for i in sorted(range(len(links)), key=lambda i: spans[i]):
            link, span = links[i], spans[i]
            chain = chains.setdefault((link.src, link.out), [])
            if left < span - len(chain):
                self._join(link.src, link.dst, link.out, link.into)
                continue
            shared = min(len(chain), span)
            for k in range(shared, span):
                bend = len(self.width)
                self.width.append(2.0)
                self.layer.append(self.layer[link.src] + k + 1)
                self.up.append([])
                self.down.append([])
                above, out = (chain[-1], 0.0) if chain else (link.src, link.out)
                self._join(above, bend, out, 0.0)
                chain.append(bend)
                left -= 1
            last, out = (chain[span - 1], 0.0) if span else (link.src, link.out)
            self._join(last, link.dst, out, link.into)
            self.bends[i] = chain[shared:span]
            self.starts[i] = chain[shared - 1] if shared else None

    def _join(self, a: int, b: int, out: float, into: float) -> None:
        self.down[a].append((b, into, out))
        self.up[b].append((a, out, into))

    def order(self, sweeps: int) -> None:
        """Order rows by the mean place of neighbours."""
        place = [0.0] * len(self.width)
        for row in self.rows:
            for i, v in enumerate(row):
                place[v] = float(i)
        for sweep in range(sweeps):
            downward = sweep % 2 == 0
            near = self.up if downward else self.down
            for row in self.rows if downward else reversed(self.rows):
                if len(row) < 2:
                    continue
                wanted = {}
                for v in row:
                    around = near[v]
                    if around:
                        total = sum(place[u] + 0.001 * at for u, at, _ in around)
                        wanted[v] = total / len(around)
                    else:
                        wanted[v] = place[v]
                row.sort(key=wanted.__getitem__)
                for i, v in enumerate(row):
                    place[v] = float(i)

    def spread(self, sweeps: int) -> list[float]:
        """Return a place for each item and bend: near its neighbours, apart from the next."""
        x = [0.0] * len(self.width)
        for row in self.rows:
            at = 0.0
            for v in row:
                x[v] = at + self.width[v] / 2
                at += self.width[v] + GAP_X
            for v in row:
                x[v] -= at / 2
        for sweep in range(sweeps):
            downward = sweep % 2 == 0
            for row in self.rows if downward else reversed(self.rows):
                both = sweep == sweeps - 1
                self._place(row, x, self.up if downward else self.down, both)
        return x

    def _place(self, row: list[int], x: list[float], near: list, both: bool) -> None:
        """Place a row by least squares, in its order: neighbours that overlap move as one block."""
        blocks: list[list[float]] = []  # place of the first, weight, how many
        shift, before = 0.0, None
        offsets = []
        for v in row:
            if before is not None:
                shift += (self.width[before] + self.width[v]) / 2 + GAP_X
            offsets.append(shift)
            before = v
            around = near[v]
            if both:
                around = self.up[v] + self.down[v]
            if v >= self.items:  # a bend stays under the one above, else under what it comes from
                around = [n for n in around if n[0] >= self.items] or around
            if around:
                wanted = sum(x[u] + at - mine for u, at, mine in around) / len(around)
                weight = STRAIGHT if v >= self.items else 1.0 + len(around)
            else:
                wanted, weight = x[v], 0.1
            block = [wanted - shift, weight, 1]
            while blocks and blocks[-1][0] > block[0]:
                last = blocks.pop()
                sum_weight = last[1] + block[1]
                mean = (last[0] * last[1] + block[0] * block[1]) / sum_weight
                block = [mean, sum_weight, last[2] + block[2]]
            blocks.append(block)
        i = 0
        for place, _, count in blocks:
            for _ in range(int(count)):
                x[row[i]] = place + offsets[i]
                i += 1


def layers_of(count: int, links: Sequence[Link], top: set[int], bottom: set[int]) -> list[int]:
    """Return the layer of each item: below all that it reads, and sources close to their readers.

    >>> from weft.view.layered import Link, layers_of
    >>> layers_of(4, [Link(0, 1), Link(1, 2), Link(3, 2)], set(), set())
    [0, 1, 2, 1]
    """
    after: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    for link in links:
        after[link.src].append(link.dst)
        waits[link.dst] += 1
    source = [n == 0 for n in waits]
    layer = [0 if v in top or not top else 1 for v in range(count)]
    ready = [v for v in range(count) if waits[v] == 0]
    for v in ready:  # grows while it is read
        for u in after[v]:
            layer[u] = max(layer[u], layer[v] + 1)
            waits[u] -= 1
            if waits[u] == 0:
                ready.append(u)
    if len(ready) < count:
        raise ValueError("view: the graph has a cycle, and cannot be drawn in layers")
    for v in range(count):
        if source[v] and after[v] and v not in top:
            layer[v] = min(layer[u] for u in after[v]) - 1
    last = max((layer[v] for v in range(count) if v not in bottom), default=-1) + 1
    for v in bottom:
        layer[v] = last
    return layer


def arrange(
    sizes: Sequence[tuple[float, float]], links: Sequence[Link], top: set[int], bottom: set[int]
) -> Placed:
    """Place items of these sizes; those in ``top`` and ``bottom`` are on the border.

    >>> from weft.view.layered import Link, arrange
    >>> p = arrange([(20, 10), (20, 10)], [Link(0, 1)], set(), set())
    >>> p.x, p.y, p.width, p.height
    ([10.0, 10.0], [5.0, 41.0], 20.0, 46.0)
    """
    if not sizes:
        return Placed([], [], 0.0, 0.0, [])
    layer = layers_of(len(sizes), links, top, bottom)
    grid = _Layers([w for w, _ in sizes], layer, links)
    small = len(grid.width) < 3000
    grid.order(12 if small else 4)
    x = grid.spread(10 if small else 4)
    left = min(x[v] - grid.width[v] / 2 for v in range(len(x)))
    right = max(x[v] + grid.width[v] / 2 for v in range(len(x)))
    x = [at - left for at in x]
    tops, heights = [], []
    at = 0.0
    for i, row in enumerate(grid.rows):
        height = max((sizes[v][1] for v in row if v < len(sizes)), default=0.0)
        tops.append(at)
        heights.append(height)
        if i + 1 < len(grid.rows):
            border = any(v in top for v in row) or any(v in bottom for v in grid.rows[i + 1])
            at += height + (PORT_GAP if border else GAP_Y)
    y = [tops[layer[v]] + heights[layer[v]] / 2 for v in range(len(sizes))]
    ways = []
    for i, link in enumerate(links):
        a, b = link.src, link.dst
        xa, xb = x[a] + link.out, x[b] + link.into
        way = [(xa, y[a] + sizes[a][1] / 2), (xa, tops[layer[a]] + heights[layer[a]])]
        start = grid.starts[i]
        if start is not None:
            way = [(x[start], tops[grid.layer[start]] + heights[grid.layer[start]])]
        for bend in grid.bends[i]:
            at = tops[grid.layer[bend]]
            way += [(x[bend], at), (x[bend], at + heights[grid.layer[bend]])]
        way += [(xb, tops[layer[b]]), (xb, y[b] - sizes[b][1] / 2)]
        ways.append(_without_repeats(way))
    return Placed(x[: len(sizes)], y, right - left, tops[-1] + heights[-1], ways)


def _without_repeats(way: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Leave out points that are the same as the one before, or between two on an upright line."""
    kept: list[tuple[float, float]] = []
    for p in way:
        if kept and abs(kept[-1][0] - p[0]) < 0.05 and abs(kept[-1][1] - p[1]) < 0.05:
            continue
        if len(kept) > 1 and abs(kept[-1][0] - p[0]) < 0.05 and abs(kept[-2][0] - p[0]) < 0.05:
            kept.pop()
        kept.append(p)
    return kept
