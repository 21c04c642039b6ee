"""The page's server: on this machine only, for who has the token only; it reads what ``Live`` holds.

Every path begins with the token. Files come from a table of names; a path is never joined. GET has
no effect; what has one is a POST of JSON from the page itself.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["PageServer", "asset"]

ASSETS = {
    "": ("index.html", "text/html; charset=utf-8"),
    "live.js": ("live.js", "text/javascript; charset=utf-8"),
    "live.css": ("live.css", "text/css; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LARGEST_BODY = 64 * 1024
MOST_CONNECTIONS = 40
PER_SECOND = 20  # connections taken; more wait in the kernel, so that they cost no time here
PATIENCE = 10.0  # seconds for a client that neither reads nor writes


def asset(name: str) -> bytes:
    """Return a file of the page, as it is shipped.

    >>> from weft.view.live.server import asset
    >>> asset("index.html")[:15]
    b'<!doctype html>'
    """
    return resources.files("weft.view.live").joinpath("static").joinpath(name).read_bytes()


class PageServer(ThreadingHTTPServer):
    """Serves the page until ``close``; its threads never wait for the program nor it for them.

    ``calls`` are what the page may ask for: by name, a function of the JSON it sends that returns
    bytes of JSON. ``save`` gives the page as one file.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = False
    request_queue_size = 16

    def __init__(
        self,
        calls: dict[str, Callable[[dict[str, Any]], bytes]],
        save: Callable[[], bytes],
        port: int = 0,
    ) -> None:
        """Listen on a port of 127.0.0.1; 0 lets the system choose."""
        self.calls, self.save = calls, save
        self.token = secrets.token_urlsafe(24)  # 192 bits
        self.files = {name: (asset(file), kind) for name, (file, kind) in ASSETS.items()}
        self._open = 0
        self._lock = threading.Lock()
        self._budget, self._filled = float(PER_SECOND), time.monotonic()
        super().__init__(("127.0.0.1", port), _Handler)
        self.port = int(self.server_address[1])
        self.hosts = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        self.thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.5}, name="weft-page", daemon=True
        )
        self.thread.start()

    @property
    def url(self) -> str:
        """Where the page is, with its token."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def close(self) -> None:
        """Stop listening."""
        self.shutdown()
        self.server_close()

    def knows(self, token: str) -> bool:
        """Return whether a token is ours, in the same time for every wrong one."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a connection, unless there are too many; slow down where they come too fast."""
        now = time.monotonic()
        self._budget = min(self._budget + (now - self._filled) * PER_SECOND, PER_SECOND)
        self._filled = now
        self._budget -= 1
        if self._budget < 0:
            time.sleep(-self._budget / PER_SECOND)
        with self._lock:
            full = self._open >= MOST_CONNECTIONS
            self._open += not full
        if full:
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection on its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away or sends garbage is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE
    server_version, sys_version = "weft", ""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal is the program's."""

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)

    def do_GET(self) -> None:
        name = self._admitted()
        if name is None:
            return
        if {"Content-Length", "Transfer-Encoding"} & {h.title() for h in self.headers}:
            self._refuse(400, "a GET with a body")  # which would be read as the next request
        elif name == "save":
            page = self.server.save()
            self._send(200, page, "text/html; charset=utf-8", "weft-live-view.html")
        elif name in self.server.files:
            self._send(200, *self.server.files[name])
        else:
            self._refuse(404, "there is no such page")

    def do_POST(self) -> None:
        name = self._admitted()
        if name is None:
            return
        call = self.server.calls.get(name)
        if call is None:
            self._refuse(404, "there is no such page")
            return
        if self.headers.get("Origin") is None:
            self._refuse(403, "a POST without Origin")
            return
        length = self._length()
        if length is None:
            self._refuse(413, "Content-Length is missing or too large")
            return
        if self.headers.get_content_type() != "application/json":
            self._refuse(415, "not application/json")
            return
        try:
            body = self.rfile.read(length)
            if len(body) < length:
                self._refuse(400, "the body is shorter than Content-Length says")
                return
            asked = json.loads(body)
            if not isinstance(asked, dict):
                raise ValueError("not an object")
            answer = call(asked)
        except (ValueError, TypeError, OverflowError, RecursionError) as e:
            self._send(400, json.dumps({"error": str(e)}).encode(), "application/json")
            return
        self._send(200, answer, "application/json")

    def _length(self) -> int | None:
        """Return how long a body is; None where that is not said once, plainly, or it is too long."""
        lengths = self.headers.get_all("Content-Length") or []
        if len(lengths) != 1 or "Transfer-Encoding" in self.headers:
            return None
        length = lengths[0]
        plain = length.isascii() and length.isdigit() and len(length) <= len(str(LARGEST_BODY))
        return int(length) if plain and int(length) <= LARGEST_BODY else None

    def _admitted(self) -> str | None:
        """Return the name that is asked for; None where the answer was no."""
        hosts = self.headers.get_all("Host") or []
        origin = self.headers.get("Origin")
        empty, token, name = (*self.path.split("/", 2), "", "")[:3]
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            self._refuse(403, "not a host of this page")
        elif origin is not None and origin != f"http://{hosts[0]}":
            self._refuse(403, "a foreign origin")
        elif self.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            self._refuse(403, "a foreign site")
        elif empty or not self.server.knows(token):
            self._refuse(403, "the token is missing or wrong")
        elif self.path == f"/{token}":
            self._refuse(404, "there is no such page")
        else:
            return name
        return None

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what Python's server does not understand as all else is refused."""
        self._refuse(code, "this is no request that the page makes")

    def _refuse(self, code: int, why: str) -> None:
        self.close_connection = True
        self._send(code, why.encode(), "text/plain; charset=utf-8")

    def _send(self, code: int, body: bytes, kind: str, filename: str | None = None) -> None:
        self.request_version = (
            self.protocol_version
        )  # a line that makes no sense counts as HTTP/0.9: no headers
        self.send_response(code)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if filename is not None:
            self.send_header("Content-Disposition", f'attachment; filename="{filename}"')
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
