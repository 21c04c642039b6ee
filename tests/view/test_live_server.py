"""The page's server: who may ask, what is answered, and that nobody can hold up the program."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import nn
from weft.optim import optimizer as optimizers
from weft.view.live import server as serving
from weft.view.live.page import page_file
from weft.view.live.server import ASSETS, PageServer

PAYLOADS = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "'\"><svg onload=alert(1)>", "javascript:alert(1)", "<!--<script>", "]]><x>", "\u2028\u2029",
    "${alert(1)}", "{{7*7}}", "&lt;b&gt;", "<iframe srcdoc='<script>alert(1)</script>'>", "\x00\x1b[31m",
]  # fmt: skip


@pytest.fixture
def page() -> Iterator[Any]:
    with weft.view.watch(open_browser=False) as made:
        yield made


class Connection(http.client.HTTPConnection):
    """Sends a path as it is given, byte for byte."""

    def _encode_request(self, request: str) -> bytes:
        return request.encode("latin-1")


def ask(
    page: Any,
    path: str,
    method: str = "GET",
    body: Any = None,
    headers: dict[str, str] | None = None,
    plain: bool = False,
) -> tuple[int, bytes, dict[str, str]]:
    """One request, with the page's own headers unless others are given."""
    port = page.server.port
    connection = Connection("127.0.0.1", port, timeout=20)
    given = {} if plain else {"Host": f"127.0.0.1:{port}"}
    if method == "POST" and not plain:
        given |= {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json"}
    given |= headers or {}
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    if method == "POST" and "Content-Length" not in given:
        given["Content-Length"] = str(len(data))
    for name, value in given.items():
        connection.putheader(name, value)
    connection.endheaders(data)
    answer = connection.getresponse()
    found = answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()}
    connection.close()
    return found


def inside(page: Any, name: str = "") -> str:
    return f"/{page.server.token}/{name}"


# ---- I1: this machine only -----------------------------------------------------------------------


def test_only_this_machine_listens(page: Any) -> None:
    """The socket is one of 127.0.0.1, and what is printed is what is bound."""
    port = f"{page.server.port:04X}"
    found = []
    for table in ("tcp", "tcp6"):
        if os.path.exists(f"/proc/net/{table}"):
            rows = Path(f"/proc/net/{table}").read_text().splitlines()[1:]
            found += [
                r.split()[1]
                for r in rows
                if r.split()[3] == "0A" and r.split()[1].endswith(f":{port}")
            ]
    assert found == [f"0100007F:{port}"]
    assert page.url == f"http://127.0.0.1:{page.server.port}/{page.server.token}/"
    outside = socket.gethostbyname(socket.gethostname())
    if not outside.startswith("127."):
        with (
            pytest.raises(OSError),
            socket.create_connection((outside, page.server.port), timeout=3),
        ):
            pass


def test_the_port_is_free_again_and_may_be_chosen() -> None:
    with weft.view.watch(open_browser=False) as first:
        port = first.server.port
        with pytest.raises(OSError, match=f"view.watch: port {port}: Address already in use"):
            weft.view.watch(open_browser=False, port=port)
        assert optimizers._watchers == [first]  # what could not be opened does not watch
        for bad in (-1, 65536, 2.5, "8000"):
            with pytest.raises(ValueError, match="port must be an int from 0 to 65535"):
                weft.view.watch(open_browser=False, port=bad)  # type: ignore[arg-type]
    time.sleep(0.05)
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", port), timeout=3):
        pass


# ---- I2: token, host, origin -----------------------------------------------------------------------


def test_the_token_is_long_random_and_needed(page: Any) -> None:
    import base64

    assert len(base64.urlsafe_b64decode(page.server.token)) * 8 >= 128
    with weft.view.watch(open_browser=False) as other:
        assert other.server.token != page.server.token
        wrong = ["", "x", page.server.token[:-1], page.server.token + "x", page.server.token.swapcase(),
                 other.server.token, "%00", page.server.token.replace(page.server.token[0], "~"), "é"]  # fmt: skip
    for token in wrong:
        for name in ("", "live.js", "save", "poll"):
            path = f"/{token}/{name}".encode().decode("latin-1")
            assert ask(page, path)[0] == 403, path
            assert ask(page, path, "POST", {})[0] == 403, path
    assert ask(page, "/")[0] == ask(page, "/live.js")[0] == ask(page, "/favicon.ico")[0] == 403
    assert ask(page, inside(page))[0] == 200


def test_foreign_hosts_and_origins_are_refused(page: Any) -> None:
    """Rebinding: a name of the attacker's that leads here; and pages of other origins."""
    port = page.server.port
    hosts = [
        "evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", "",
        f"127.0.0.1:{port}.evil.example", f"localhost.evil.example:{port}", f"LOCALHOST.:{port}",
        f"[::1]:{port}", f"0.0.0.0:{port}", f"127.0.0.1:{port},x", f"user@127.0.0.1:{port}", f"127.1:{port}",
    ]  # fmt: skip
    for host in hosts:
        assert ask(page, inside(page), headers={"Host": host})[0] == 403, host
        assert (
            ask(page, inside(page, "command"), "POST", {"command": "pause"}, {"Host": host})[0]
            == 403
        )
    origins = ["null", "http://evil.example", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}",
               f"http://localhost:{port}", "http://127.0.0.1", f"http://127.0.0.1:{port}/", "file://"]  # fmt: skip
    for origin in origins:
        assert ask(page, inside(page), headers={"Origin": origin})[0] == 403, origin
        assert (
            ask(page, inside(page, "command"), "POST", {"command": "pause"}, {"Origin": origin})[0]
            == 403
        )
    for site in ("cross-site", "same-site"):
        assert ask(page, inside(page), headers={"Sec-Fetch-Site": site})[0] == 403
    assert ask(page, inside(page), plain=True)[0] == 403  # no Host at all
    local = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
    assert ask(page, inside(page, "poll"), "POST", {}, local)[0] == 200
    assert not page._pause


def test_what_has_an_effect_is_a_post_of_the_page_itself(page: Any) -> None:
    for name in ("command", "breakpoint", "poll", "compiled"):
        assert ask(page, inside(page, name))[0] == 404
        for method in ("PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"):
            assert ask(page, inside(page, name), method)[0] == 501
    port = page.server.port
    plain = {"Host": f"127.0.0.1:{port}", "Content-Type": "application/json"}
    path = inside(page, "command")
    assert ask(page, path, "POST", {"command": "pause"}, plain, plain=True)[0] == 403  # no Origin
    assert ask(page, path, "POST", {"command": "pause"}, {"Content-Type": "text/plain"})[0] == 415
    assert ask(page, path, "POST", b"{", {})[0] == 400
    assert ask(page, path, "POST", b"[]", {})[0] == 400
    assert ask(page, path, "POST", b"[" * 20000, {})[0] == 400
    assert ask(page, path, "POST", b"", {"Content-Length": str(1 << 20)})[0] == 413
    assert ask(page, path, "POST", b"", {"Content-Length": "-1"})[0] == 413
    assert ask(page, path, "POST", {"command": "os.system"})[0] == 400
    assert not page._pause
    assert ask(page, path, "POST", {"command": "pause"})[0] == 200
    assert page._pause


def test_headers_of_every_answer(page: Any) -> None:
    for path, method in [
        (inside(page), "GET"),
        (inside(page, "save"), "GET"),
        (inside(page, "x"), "GET"),
        ("/", "GET"),
        (inside(page, "poll"), "POST"),
    ]:
        _, _, headers = ask(page, path, method, {} if method == "POST" else None)
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store" and headers["x-frame-options"] == "DENY"
        assert not any(name.startswith("access-control") for name in headers)
        assert "Python" not in headers.get("server", "")


# ---- requests byte by byte -------------------------------------------------------------------------


def raw(page: Any, request: bytes) -> bytes:
    """All that the server answers to these bytes."""
    with socket.create_connection(("127.0.0.1", page.server.port), timeout=20) as s:
        answer = b""
        try:
            s.sendall(request)
            s.shutdown(socket.SHUT_WR)
            while part := s.recv(1 << 16):
                answer += part
        except ConnectionError:  # it was refused before all was read
            pass
        return answer


def request(page: Any, line: str, *more: str, body: bytes = b"") -> bytes:
    host = f"127.0.0.1:{page.server.port}"
    head = [line, f"Host: {host}", f"Origin: http://{host}", "Content-Type: application/json"]
    return "\r\n".join([*head, *more, "", ""]).encode("latin-1") + body


@pytest.mark.parametrize(
    ("method", "more", "body", "code"),
    [
        ("POST", ["Content-Length: 2"], b"{}", 200),
        ("POST", ["Content-Length: 20"], b"{}", 400),  # the rest never comes
        ("POST", ["Content-Length: 2", "Content-Length: 9"], b"{}", 413),
        ("POST", ["Content-Length: 2", "Transfer-Encoding: chunked"], b"2\r\n{}\r\n0\r\n\r\n", 413),
        ("POST", ["Content-Length: " + "9" * 5000], b"{}", 413),  # more digits than int() takes
        ("POST", ["Content-Length: +2"], b"{}", 413),
        ("POST", ["Content-Length: -1"], b"{}", 413),
        ("POST", ["Content-Length: \xb2"], b"{}", 413),
        ("POST", ["Content-Length: 60000"], b"[" * 60000, 400),
        ("POST", ["Content-Length: 4"], b'"\xff\xff"', 400),
        ("GET", ["Content-Length: 24"], b"GET /abc HTTP/1.1\r\n\r\n", 400),
        ("GET", ["Transfer-Encoding: chunked"], b"0\r\n\r\n", 400),
        ("HEAD", [], b"", 501),
        ("<script>", [], b"", 501),
        ("GET", ["a: b"] * 200, b"", 431),
    ],
)
def test_bodies_and_methods(
    page: Any, method: str, more: list[str], body: bytes, code: int
) -> None:
    """Each has one answer, with the headers of every answer; a body is never taken for a request."""
    path = inside(page, "poll" if method == "POST" else "")
    answer = raw(page, request(page, f"{method} {path} HTTP/1.1", *more, body=body))
    head, _, rest = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % code) and b"Content-Security-Policy" in head
    assert answer.count(b"HTTP/1.1 ") == 1 and b"<script>" not in rest
    assert method != "HEAD" or not rest


def test_garbled_requests_are_answered(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever bytes come: nothing, or answers with a status and the headers of every answer."""
    monkeypatch.setattr(serving, "PER_SECOND", 10**6)
    rng = random.Random(5)
    good = request(page, f"POST {inside(page, 'poll')} HTTP/1.1", "Content-Length: 2", body=b"{}")
    for _ in range(150):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(data) + 1)
            change = rng.choice(("replace", "drop", "insert", "repeat"))
            if change == "replace":
                data[at : at + 1] = bytes([rng.randrange(256)])
            elif change == "drop":
                del data[at : at + rng.randrange(20)]
            elif change == "insert":
                data[at:at] = rng.randbytes(rng.randrange(30))
            else:
                data[at:at] = data[rng.randrange(len(data)) :][:40]
        answer = raw(page, bytes(data))
        assert not answer or answer.startswith(b"HTTP/1.1 ")
        assert answer.count(b"HTTP/1.1 ") == answer.count(b"Content-Security-Policy")
    assert raw(page, good).startswith(b"HTTP/1.1 200 ")


def test_tokens_are_compared_in_constant_time(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the function that is made for it, and by nothing else."""
    seen = []
    real = serving.hmac.compare_digest

    def compare(a: bytes, b: bytes) -> bool:
        seen.append((a, b))
        return real(a, b)

    monkeypatch.setattr(serving.hmac, "compare_digest", compare)
    assert ask(page, "/abc/")[0] == 403 and ask(page, inside(page))[0] == 200
    assert [a for a, _ in seen] == [b"abc", page.server.token.encode()]


# ---- I3: no path leads out -------------------------------------------------------------------------


def traversals(count: int) -> Iterator[str]:
    r = random.Random(9)
    dots = [
        "..",
        "%2e%2e",
        "%252e%252e",
        ".%2e",
        "%c0%ae%c0%ae",
        "%uff0e%uff0e",
        "．．",
        "....",
        "..%00",
        "..;",
        ". .",
    ]
    bars = ["/", "%2f", "\\", "%5c", "%252f", "//", "/./", "%c0%af", "∕"]
    ends = [
        "etc/passwd", "live.js", "index.html", "../../weft/__init__.py", "server.py", "__pycache__",
        "static/live.js", "", "save/../live.js", "live.js%00.html", "live.js/", "LIVE.JS", "live.js?x=1",
        "live.js#x", "%6cive.js", "live%2ejs", "C:\\Windows\\win.ini", "file:///etc/passwd",
    ]  # fmt: skip
    yield from ("/etc/passwd", "//etc/passwd", "/proc/self/environ", "a" * 5000)
    for _ in range(count):
        path = "".join(r.choice(dots) + r.choice(bars) for _ in range(r.randrange(0, 6)))
        yield path + r.choice(ends[:-3] if path == "" else ends)


def test_no_path_leads_out_of_the_table(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 ways to write one; none opens a file, whatever it looks like."""
    opened: list[Any] = []
    watching = [True]

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if (
            watching[0]
            and event == "open"
            and threading.current_thread() is not threading.main_thread()
        ):
            opened.append(args[0])

    sys.addaudithook(hook)
    port, token = page.server.port, page.server.token
    monkeypatch.setattr(serving, "PER_SECOND", 10**9)
    page.server._budget = 1e9
    sent = 0
    connection = Connection("127.0.0.1", port, timeout=20)
    for path in traversals(5000):
        if path in ASSETS or path == "save":
            continue
        raw = (
            f"/{token}/{path}".encode().decode("latin-1").replace(" ", "%20").replace("\x00", "%00")
        )
        connection.putrequest("GET", raw, skip_host=True)
        connection.putheader("Host", f"127.0.0.1:{port}")
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 404 and b"root:" not in body, (path, answer.status)
        sent += 1
    watching[0] = False
    assert sent > 4000 and not opened, opened[:5]


# ---- I4: names are text ------------------------------------------------------------------------------


def test_a_saved_page_holds_payloads_as_data_only() -> None:
    for payload in PAYLOADS:
        text = page_file(json.dumps({"name": payload}).encode(), b"{}").decode()
        start = text.index('id="saved">') + len('id="saved">')
        data = text[start : text.index("</script>", start)]
        assert json.loads(data) == {"name": payload}
        assert "<" not in data and ">" not in data and "&" not in data
        assert text.count("<script") == 3


def test_the_front_end_makes_no_markup_of_strings() -> None:
    web = Path(weft.__file__).parent / "view" / "live" / "web" / "src"
    code = "".join(p.read_text() for p in web.glob("*.ts"))
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "createContextualFragment",
        "DOMParser",
    ):
        assert way not in code, way


# ---- I5: it does not disturb --------------------------------------------------------------------------


def training(seconds: float, until: threading.Event | None = None) -> list[float]:
    """How long steps take, one by one."""
    weft.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = weft.optim.SGD(net.parameters(), lr=0.01)
    x, y = weft.randn(32, 64), weft.randint(0, 4, (32,))
    took, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end and not (until is not None and until.is_set()):
        began = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        took.append(time.perf_counter() - began)
    return took


CLIENTS = """
import json, random, socket, sys, time
kind, port, token, count, seconds = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), float(sys.argv[5])
r = random.Random(1)
end = time.monotonic() + seconds
body = json.dumps({"version": -1}).encode()
poll = (f"POST /{token}/poll HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nOrigin: http://127.0.0.1:{port}\\r\\n"
        f"Content-Type: application/json\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n").encode() + body
sockets = []
print("ready", flush=True)
while time.monotonic() < end:
    try:
        if len(sockets) < count:
            s = socket.create_connection(("127.0.0.1", port), timeout=2)
            sockets.append(s)
            s.settimeout(0.05)
        s = r.choice(sockets)
        if kind == "garbage":
            s.sendall(r.choice([r.randbytes(r.randrange(1, 400)), b"GET " + b"A" * 70000,
                                poll[: r.randrange(len(poll))], b"\\r\\n" * 9]))
            sockets.remove(s); s.close()
        elif kind == "slow":       # asks, and never reads
            s.sendall(poll)
        elif kind == "readers":
            s.sendall(poll)
            try:
                s.recv(1 << 16)
            except TimeoutError:
                pass
    except OSError:
        sockets = [x for x in sockets if x is not s] if sockets else []
    time.sleep(0.002)
"""


def start(kind: str, page: Any, count: int, seconds: float) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        [sys.executable, "-c", CLIENTS, kind, str(page.server.port), page.server.token, str(count), str(seconds)],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == b"ready\n"
    return child


@pytest.mark.parametrize("kind, count", [("slow", 10), ("readers", 50), ("garbage", 20)])
def test_no_client_holds_up_the_program(kind: str, count: int) -> None:
    """No step ever waits for a client; the server lives on; a client that is killed is no news."""
    with weft.view.watch(open_browser=False) as page:
        child = start(kind, page, count, 20)
        took = training(3.0)
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()
        took += training(0.5)
        assert len(took) > 100 and max(took) < 10, (len(took), max(took))  # clients stay for 20 s
        assert page.server.thread.is_alive()
        end = time.monotonic() + 15
        status = 0
        while status != 200 and time.monotonic() < end:  # threads that still wait for the dead ones
            try:
                status = ask(page, inside(page))[0]
            except (OSError, http.client.HTTPException):
                time.sleep(0.2)
        assert status == 200


def test_memory_does_not_grow_with_requests(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(serving, "PER_SECOND", 10**9)
    for _ in range(50):
        ask(page, inside(page, "poll"), "POST", {})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(300):
        ask(page, inside(page, "poll"), "POST", {})
        ask(page, "/x/y")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 64 << 20, grown
    assert threading.active_count() < 60


def test_a_very_long_step_is_sent_in_time(page: Any) -> None:
    """20,000 ops in one step: the program goes on while the page is made, and it is whole."""
    x = weft.zeros(2, requires_grad=True)
    optimizer = weft.optim.SGD([x], lr=0.1)

    def step(n: int) -> None:
        y = x
        for _ in range(n):
            y = y + 1
        y.sum().backward()
        optimizer.step()

    step(1)
    page.live.asked = float("inf")
    step(1)
    step(20_000)
    while page.live.shown is None or len(page.live.shown[1].ops) < 20_000:
        page._next = 0.0
        step(20_000)
    _, body, _ = ask(page, inside(page, "poll"), "POST", {})
    answer = json.loads(body)
    assert len(answer["graph"]["rows"]) == len(answer["values"]["ns"]) >= 20_000
    again = json.loads(
        ask(page, inside(page, "poll"), "POST", {"graph": answer["graph"]["signature"]})[1]
    )
    assert "graph" not in again and "values" in again


def test_a_poll_waits_for_news_and_no_longer(page: Any) -> None:
    first = json.loads(ask(page, inside(page, "poll"), "POST", {})[1])
    threading.Timer(0.3, lambda: page.live.tell(state="running")).start()
    began = time.perf_counter()
    second = json.loads(ask(page, inside(page, "poll"), "POST", {"version": first["version"]})[1])
    assert 0.2 < time.perf_counter() - began < 5 and second["status"]["state"] == "running"


@pytest.mark.parametrize(
    "junk", [{"points": "x"}, {"points": -5}, {"version": [1]}, {"graph": {}}, {"dropped": None}]
)
def test_strange_polls_are_answered(page: Any, junk: dict[str, Any]) -> None:
    status, body, _ = ask(page, inside(page, "poll"), "POST", junk)
    assert status == 200 and "status" in json.loads(body)


def test_strange_breakpoints_are_refused(page: Any) -> None:
    strange: list[dict[str, Any]] = [
        {}, {"action": "add"}, {"action": "add", "kind": "x", "text": "y"}, {"action": "remove", "number": "x"},
        {"action": "remove", "number": None}, {"action": "enable", "number": [1]},
        {"action": "remove", "number": float("inf")},
        {"action": "add", "kind": "condition", "text": 5}, {"action": "add", "kind": "module", "text": " "},
    ]  # fmt: skip
    for body in strange:
        assert ask(page, inside(page, "breakpoint"), "POST", body)[0] == 400, body
    for _ in range(60):
        ask(
            page,
            inside(page, "breakpoint"),
            "POST",
            {"action": "add", "kind": "module", "text": "a"},
        )
    assert len(page.breakpoints.all) == 50


def test_a_page_of_nothing_can_be_saved(page: Any, tmp_path: Path) -> None:
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes()[:15] == b"<!doctype html>"
    status, body, headers = ask(page, inside(page, "save"))
    assert status == 200 and headers["content-disposition"].startswith("attachment")
    assert body[:15] == b"<!doctype html>" and page.server.token.encode() not in body


def test_many_servers_come_and_go() -> None:
    before = threading.active_count()
    for _ in itertools.repeat(None, 5):
        server = PageServer({}, lambda: b"")
        server.close()
    assert threading.active_count() <= before + 1
    assert shutil.which(sys.executable) is not None
