"""``Live``: what the page can see. The program writes it, the server's threads read it.

The program leaves what it recorded and goes on; that it becomes JSON is the work of the thread that
serves a page, and only if there is one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import threading
import time

from .sources import excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .recorder import Shown

__all__ = ["Live", "encode", "graph_of", "values_of"]

MOST_POINTS, MOST_EXCERPTS = 4000, 400
OPEN_FOR = 3.0  # seconds after a page last asked, in which it counts as open
POLL = 8.0  # seconds that an answer may take while nothing happens


def encode(thing: Any) -> bytes:
    """Return JSON; numbers that it does not know are texts.

    >>> from weft.view.live.state import encode
    >>> encode({"loss": float("nan"), "max": 1.5})
    b'{"loss":"nan","max":1.5}'
    """
    return json.dumps(_plain(thing), separators=(",", ":"), allow_nan=False).encode()


def _plain(x: Any) -> Any:
    if isinstance(x, float):
        return x if math.isfinite(x) else str(x)
    if isinstance(x, (list, tuple)):
        return [_plain(y) for y in x]
    if isinstance(x, dict):
        return {str(k): _plain(y) for k, y in x.items()}
    return x


def graph_of(shown: Shown) -> dict[str, Any]:
    """Return the structure of a step, the same for steps that do the same, with its signature."""
    modules: dict[str, int] = {}
    lines: dict[str, int] = {}
    rows = []
    for op in shown.ops:
        module = modules.setdefault(op.module, len(modules))
        line = lines.setdefault(op.line, len(lines))
        rows.append(
            [op.op, op.phase, module, line, op.reads, op.outs, op.bytes, op.of, op.attributes]
        )
    text = json.dumps([rows, list(modules), list(lines)], separators=(",", ":"))
    return {
        "signature": hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest(),
        "rows": rows,
        "modules": list(modules),
        "lines": [
            excerpt(line) if i < MOST_EXCERPTS else {"file": line, "code": []}
            for i, line in enumerate(lines)
        ],
    }


def values_of(shown: Shown) -> dict[str, Any]:
    """Return what differs from step to step: times, live bytes and values of each op."""
    return {
        "step": shown.step, "ns": shown.nanoseconds, "live": shown.live,
        "stats": shown.summaries, "total": shown.total, "left_out": shown.left_out,
    }  # fmt: skip


class Live:
    """What the page can see, with a count of changes that pages wait for."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self.changed = threading.Condition()
        self.version = 0
        self.status: dict[str, Any] = {
            "state": "waiting", "step": 0, "program": os.path.basename(sys.argv[0] or "python"),
            "pid": os.getpid(),
        }  # fmt: skip
        self.points: list[list[Any]] = []
        self.dropped = 0
        self.layers: list[list[Any]] = []
        self.tree: list[list[Any]] = []
        self.breakpoints: list[dict[str, Any]] = []
        self.stop: dict[str, Any] | None = None
        self.shown: tuple[int, Shown] | None = None  # with a number of its own
        self.asked = -math.inf  # when a page last asked
        self.encoding = 0.0  # seconds that the last answers took to make
        self._waiting = 0
        self._cached: tuple[Any, Any, bytes, bytes] | None = None
        self._making = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether a page is there to look."""
        return self._waiting > 0 or time.monotonic() - self.asked < OPEN_FOR

    def update(self, **parts: Any) -> None:
        """Change attributes, and wake the pages that wait."""
        with self.changed:
            for name, value in parts.items():
                setattr(self, name, value)
            self.version += 1
            self.changed.notify_all()

    def show(self, shown: Shown) -> None:
        """Let the pages show a step."""
        self.shown = (self.shown[0] + 1 if self.shown else 0, shown)

    def tell(self, **status: Any) -> None:
        """Change the status, and wake the pages that wait."""
        self.update(status={**self.status, **status})

    def add_point(self, point: list[Any]) -> None:
        """Add a point to the curves; when there are very many, every second one goes."""
        with self.changed:
            self.points.append(point)
            if len(self.points) > MOST_POINTS:
                self.points = self.points[::2]
                self.dropped += 1

    def poll(self, asked: dict[str, Any]) -> bytes:
        """Answer a page: what it has not seen, as soon as there is something or a while has passed."""
        since = asked.get("version", -1)
        end = time.monotonic() + (POLL if since == self.version else 0)
        with self.changed:
            self._waiting += 1
            self.asked = time.monotonic()
            while self.version == since and (left := end - time.monotonic()) > 0:
                self.changed.wait(left)
            self._waiting -= 1
            self.asked = time.monotonic()
            whole = asked.get("dropped") != self.dropped
            first = asked.get("points", 0)
            first = 0 if whole or not isinstance(first, int) or first < 0 else first
            answer = {
                "version": self.version, "status": self.status, "tree": self.tree,
                "points": self.points[first:], "first": first, "dropped": self.dropped,
                "layers": self.layers, "breakpoints": self.breakpoints, "stop": self.stop,
            }  # fmt: skip
            shown = self.shown
        began = time.thread_time()
        head = encode(answer)
        if shown is None or asked.get("shown") == shown[0]:
            return head
        signature, graph, values = self._encoded(shown)
        parts = [head[:-1], b',"shown":%d,"values":' % shown[0], values]
        if asked.get("graph") != signature:
            parts += [b',"graph":', graph]
        self.encoding = time.thread_time() - began
        return b"".join([*parts, b"}"])

    def _encoded(self, shown: tuple[int, Shown]) -> tuple[str, bytes, bytes]:
        """Return signature, graph and values of a step, made once however many pages ask."""
        with self._making:
            cached = self._cached
            if cached is not None and cached[0] == shown[0]:
                return cached[1], cached[2], cached[3]
            graph = graph_of(shown[1])
            signature = graph["signature"]
            same = cached is not None and cached[1] == signature
            text = cached[2] if same and cached else encode(graph)
            values = encode(values_of(shown[1]))
            self._cached = (shown[0], signature, text, values)
            return signature, text, values
