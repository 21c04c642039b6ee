"""``python -m tools.stubs`` writes ``stubs/``; with ``--check`` it says what is out of date."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.stubs.modules import (
    PACKAGE,
    STUBBED,
    alias_stub,
    facade_stub,
    native_stub,
    package,
    package_stub,
    place_of,
)

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "stubs" / "weft"
# Modules whose names are made as they are imported, or get more keywords than their source shows.
DYNAMIC = ("weft", "weft.linalg", "weft.fft", "weft.special", "weft.signal.windows")
FACADES = PACKAGE / "compat" / "modules"


def passing_on() -> list[str]:
    """Return the packages that import names to pass them on, and have no ``__all__``."""
    found = []
    for path in sorted(PACKAGE.rglob("__init__.py")):
        folder = path.parent.relative_to(PACKAGE)
        text = path.read_text()
        if "compat" in folder.parts or not folder.parts or "import" not in text:
            continue
        if "\n__all__" not in text:
            found.append(".".join(("weft", *folder.parts)))
    return found


def facades() -> list[str]:
    """Return the names of the modules that lie in weft/compat/modules."""
    found = []
    for path in sorted(FACADES.rglob("*.py")):
        parts = path.relative_to(FACADES).with_suffix("").parts
        found.append(".".join(("weft", *(parts[:-1] if parts[-1] == "__init__" else parts))))
    return sorted(found)


def files() -> dict[str, str]:
    """Return the text of each stub by its path below ``stubs/weft``."""
    described = {*DYNAMIC, *passing_on()}
    described |= {name.rpartition(".")[0] for name in described} - {""}  # no folder without its own
    STUBBED.update((*described, *facades()))
    texts = {"_C.pyi": native_stub()}
    for name in sorted(described):
        module = package(name)
        file = Path(place_of(module).replace(".", "/")).relative_to("weft")
        is_package = Path(module.__file__ or "").name == "__init__.py"
        texts[str(file / "__init__.pyi" if is_package else f"{file}.pyi")] = package_stub(module)
    for name, module in sorted(sys.modules.items()):
        # weft.nn.modules.conv is weft.nn.conv, under PyTorch's name for it
        if name.startswith("weft.nn.modules.") and module.__name__ != name:
            file = Path(name.replace(".", "/")).relative_to("weft")
            texts[str(file / "__init__.pyi")] = alias_stub(module)
    for name in facades():
        file = Path(name.replace(".", "/")).relative_to("weft")
        texts[str(file / "__init__.pyi")] = facade_stub(package(name))
    return texts


def main(argv: Sequence[str] | None = None) -> int:
    """Write the stubs, or say which are out of date; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.stubs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if out of date")
    args = parser.parse_args(argv)
    texts = files()
    present = {str(p.relative_to(STUBS)) for p in STUBS.rglob("*.pyi")}
    stale = [name for name, text in texts.items() if name not in present]
    stale += [n for n in present if texts.get(n) != (STUBS / n).read_text()]
    if args.check:
        for name in sorted(stale):
            print(f"stubs/weft/{name} is out of date: run python -m tools.stubs", file=sys.stderr)
        return min(len(stale), 1)
    for name in present - set(texts):
        (STUBS / name).unlink()
    for name, text in texts.items():
        path = STUBS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    print(f"{len(texts)} stubs in {STUBS.relative_to(ROOT)}, {len(stale)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
