"""Which folder of csrc/ may include which."""

from __future__ import annotations

import re
from pathlib import Path

CSRC = Path(__file__).resolve().parents[2] / "csrc"

# A folder of csrc may include headers of these folders and its own. exec/ and tape/ lie side by side.
INCLUDES = {
    "core": (),
    "loops": ("core",),
    "ops": ("loops", "core"),
    "tape": ("ops", "loops", "core"),
    "exec": ("ops", "loops", "core"),
    "bind": ("exec", "tape", "ops", "loops", "core"),
}
INCLUDE = re.compile(r"^#include [\"<](\w+)(?:/|\.h)", re.MULTILINE)


def test_includes_point_one_way() -> None:
    """A file includes what INCLUDES allows; only bind/ includes Python's headers."""
    assert {p.name for p in CSRC.iterdir() if p.is_dir()} == set(INCLUDES)
    wrong = []
    for path in sorted(p for p in CSRC.rglob("*") if p.suffix in (".h", ".cpp")):
        folder = path.parent.name
        for target in INCLUDE.findall(path.read_text("utf-8")):
            upward = target in INCLUDES and target not in (folder, *INCLUDES[folder])
            if upward or (target in ("nanobind", "Python") and folder != "bind"):
                wrong.append(f"{path.relative_to(CSRC)} includes {target}")
    assert not wrong, "\n".join(wrong)
