"""What is shipped is what its sources say: the bundle, the lock file, the tests of the front end."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import weft

LIVE = Path(weft.__file__).parent / "view" / "live"
WEB, STATIC = LIVE / "web", LIVE / "static"


def hash_of_sources() -> str:
    found = hashlib.sha256()
    for path in sorted((WEB / "src").iterdir()):
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


@pytest.mark.parametrize("name", ["live.js", "live.css"])
def test_the_bundle_was_built_from_these_sources(name: str) -> None:
    told = re.search(r"sources sha256 ([0-9a-f]{64})", (STATIC / name).read_text())
    assert told and told[1] == hash_of_sources(), "run `npm run build` in weft/view/live/web"


def test_files_that_are_copied_are_the_same() -> None:
    for name in ("index.html", "icon.svg"):
        assert (STATIC / name).read_bytes() == (WEB / "src" / name).read_bytes()
    assert sorted(p.name for p in STATIC.iterdir()) == [
        "icon.svg",
        "index.html",
        "live.css",
        "live.js",
    ]


def test_nothing_asks_for_a_network() -> None:
    """No address but those of XML names, and nothing that ends the element which holds the code."""
    for path in STATIC.iterdir():
        text = path.read_text()
        assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org"}, path
    code = (STATIC / "live.js").read_text()
    assert "</" not in code and "<!--" not in code and code.isascii()


def test_the_lock_file_names_no_host() -> None:
    text = (WEB / "package-lock.json").read_text()
    assert '"resolved"' not in text and "http" not in re.sub(r'"funding": \{[^}]*\}', "", text)
    lock = json.loads(text)
    wanted = json.loads((WEB / "package.json").read_text())["devDependencies"]
    assert lock["packages"][""]["devDependencies"] == wanted
    assert all("integrity" in p for name, p in lock["packages"].items() if name)


@pytest.mark.skipif(
    shutil.which("npm") is None or not (WEB / "node_modules").exists(),
    reason="Node and the front end's tools are not installed (npm ci in weft/view/live/web)",
)
def test_the_front_end() -> None:
    """Its types and its own tests; and a build gives the files that are checked in."""
    for step in (["run", "--silent", "check"], ["run", "--silent", "test"]):
        got = subprocess.run(
            ["npm", *step], cwd=WEB, capture_output=True, text=True, timeout=300, check=False
        )
        assert got.returncode == 0, got.stdout[-3000:] + got.stderr[-3000:]
    before = {p.name: p.read_bytes() for p in STATIC.iterdir()}
    subprocess.run(["node", "build.mjs"], cwd=WEB, check=True, timeout=120)
    assert {p.name: p.read_bytes() for p in STATIC.iterdir()} == before
