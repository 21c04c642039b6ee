"""The page as one file: its code, its style and what it shows, and nothing that asks for a network."""

from __future__ import annotations

import base64
import hashlib

from .server import asset

__all__ = ["page_file"]


def page_file(data: bytes, compiled: bytes) -> bytes:
    """Return the page that shows this data, both JSON, without a server.

    Its policy lets only the code that weft ships run, whatever the data says.

    >>> from weft.view.live.page import page_file
    >>> b"</script><b>" in page_file(b'{"version":"</script><b>"}', b"{}")
    False
    """
    script, style = asset("live.js"), asset("live.css")
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts: list[str | bytes] = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        "<title>weft live view</title>\n<style>",
        style,
        '</style>\n</head>\n<body>\n<script type="application/json" id="saved">',
        _inert(data),
        '</script>\n<script type="application/json" id="saved-compiled">',
        _inert(compiled),
        "</script>\n<script>",
        script,
        "</script>\n</body>\n</html>\n",
    ]
    return b"".join(p.encode() if isinstance(p, str) else p for p in parts)


def _source(code: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code).digest()).decode()}'"


def _inert(data: bytes) -> bytes:
    """Return JSON in which nothing can end the element that holds it."""
    return data.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
