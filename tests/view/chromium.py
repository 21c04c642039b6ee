"""A Chromium without a window, driven over the DevTools protocol through two pipes: nothing but Python is needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
    "--disable-extensions --disable-background-networking --disable-component-update "
    "--disable-sync --disable-default-apps --mute-audio --hide-scrollbars --remote-debugging-pipe"
).split()


def find_chromium() -> str | None:
    """The path of a Chromium, by WEFT_CHROMIUM or from PATH."""
    given = os.environ.get("WEFT_CHROMIUM")
    return given or next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """A browser with one page."""

    def __init__(self, size: tuple[int, int] = (1500, 940)) -> None:
        path = find_chromium()
        assert path is not None
        self.folder = tempfile.mkdtemp(prefix="weft-chromium-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in (to_read, to_write)]
        null = os.open(os.devnull, os.O_RDWR)
        args = [
            path,
            *FLAGS,
            f"--user-data-dir={self.folder}",
            f"--window-size={size[0]},{size[1]}",
        ]
        actions = [
            (os.POSIX_SPAWN_DUP2, high[0], 3), (os.POSIX_SPAWN_DUP2, high[1], 4),
            (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2),
        ]  # fmt: skip
        self.pid = os.posix_spawn(
            path, [*args, "about:blank"], os.environ, file_actions=actions, setpgroup=0
        )
        for fd in (to_read, to_write, null, *high):
            os.close(fd)
        self._count = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        self.base = ""
        self.session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(*size)

    def _message(self, patience: float) -> dict[str, Any]:
        end = time.monotonic() + patience
        while b"\0" not in self._rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError("Chromium does not answer")
            got = os.read(self._read, 1 << 20)
            if not got:
                raise ConnectionError("Chromium has gone")
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def call(self, method: str, **params: Any) -> Any:
        """Calls a method of the protocol; events that come meanwhile are kept."""
        self._count += 1
        asked: dict[str, Any] = {"id": self._count, "method": method, "params": params}
        if self.session is not None:
            asked["sessionId"] = self.session
        os.write(self._write, json.dumps(asked).encode() + b"\0")
        while True:
            got = self._message(60)
            if got.get("id") == self._count:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def resize(self, width: int, height: int) -> None:
        """Sets the size of the page."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def open(self, url: str) -> None:
        """Goes to a page."""
        self.base = url
        self.events.clear()
        found = self.call("Page.navigate", url=url)
        assert not found.get("errorText"), found["errorText"]

    def js(self, code: str) -> Any:
        """The value of an expression; of a promise, what it gives."""
        found = self.call(
            "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description"))
        return found["result"].get("value")

    def until(self, code: str, patience: float = 30.0) -> Any:
        """Waits until an expression is true."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                if found := self.js(code):
                    return found
            except RuntimeError:  # the page is not there yet
                pass
            time.sleep(0.05)
        raise AssertionError(f"never true: {code}")

    def mouse(self, x: float, y: float, clicks: int = 1) -> None:
        """Clicks at a place."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for n in range(1, clicks + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call(
                    "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=n
                )

    def drag(self, x: float, y: float, dx: float, dy: float) -> None:
        """Drags with the left button."""
        self.call(
            "Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1
        )
        for part in (0.5, 1.0):
            self.call(
                "Input.dispatchMouseEvent",
                type="mouseMoved",
                x=x + dx * part,
                y=y + dy * part,
                button="left",
            )
        self.call(
            "Input.dispatchMouseEvent",
            type="mouseReleased", x=x + dx, y=y + dy, button="left", clickCount=1,
        )  # fmt: skip

    def wheel(self, x: float, y: float, by: float) -> None:
        """Turns the wheel."""
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by)

    def click(self, selector: str) -> None:
        """Clicks in the middle of an element."""
        box = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect(); "
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        self.mouse(*box)

    def type(self, text: str) -> None:
        """Types into what has the focus."""
        self.call("Input.insertText", text=text)

    def key(self, name: str, code: int) -> None:
        """Presses a key."""
        text = {"text": "\r"} if name == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            extra = text if kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind, key=name, code=name, windowsVirtualKeyCode=code, **extra,
            )  # fmt: skip

    def picture(self, path: str) -> None:
        """Writes what is seen as a PNG."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self) -> list[str]:
        """Errors of scripts and of the page's policy since it was opened."""
        self.js("1")  # lets what is on the way arrive
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(
                    str(params["exceptionDetails"].get("exception", {}).get("description"))
                )
            if event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
                entry = params["entry"]
                if not entry.get("url") or entry["url"].startswith(
                    self.base
                ):  # not of a page before
                    found.append(entry["text"])
        return found

    def close(self) -> None:
        """Ends it, with all its processes."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self.folder, ignore_errors=True)


def version() -> str:
    """What the browser calls itself."""
    path = find_chromium()
    assert path is not None
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
