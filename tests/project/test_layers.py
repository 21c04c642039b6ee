"""Which file may import which: the layers of both halves as data, and a test that reads every import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CSRC, WEFT = ROOT / "csrc", ROOT / "weft"

# A folder of csrc may include headers of these folders and its own. exec/ and tape/ lie side by side.
INCLUDES = {
    "core": (),
    "simd": ("core",),
    "loops": ("simd", "core"),
    "ops": ("loops", "simd", "core"),
    "tape": ("ops", "loops", "core"),
    "exec": ("ops", "loops", "core"),
    "bind": ("exec", "tape", "ops", "loops", "simd", "core"),
}
# Headers whose functions a higher layer defines: the only way in which a lower one calls it.
UPWARD = {"core/interpreter.h": "bind", "ops/recording.h": "tape"}
# Files outside of bind/ know no Python, files outside of simd/ no vector instruction. The two named here read and set
# how the CPU rounds, for which there is no vector.
PYTHON = re.compile(r'#include [<"](Python\.h|nanobind/|bind/)')
INTRINSICS = re.compile(r"\b_mm\d*_\w+|\b__m(128|256|512)[di]?\b|#include <\w*mmintrin\.h>")
CPU_STATE = {"loops/helpers.cpp", "bind/threads.cpp"}

# weft's packages from the lowest layer to the highest: when it is loaded, one may import what lies below it. (What is
# imported inside a function, or for type checkers only, is free.) All of them may import weft itself and weft._C.
LAYERS = (
    "__version__ _environment",
    "autograd printing random storage special masked multiprocessing",
    "utils",
    "ops",
    "tensor fft linalg signal",
    "nn sparse testing",
    "optim serialization distributions func quantization audio text vision",
    "amp distributed jit train",
    "compat profiler view",
    "debug",
    "__main__",
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
# What imports upward all the same: (file or folder, package) and why.
EXCEPTIONS = {
    (
        "nn/parallel",
        "distributed",
    ): "DistributedDataParallel is a layer, by PyTorch's name, made of communication",
    ("autograd/profiler.py", "profiler"): "PyTorch's older name of weft.profiler",
    ("utils/flop_counter.py", "profiler"): "PyTorch's place for the count of operations",
    ("utils/bottleneck", "profiler"): "a command by PyTorch's name: the profiler on a program",
    ("utils/bottleneck", "compat"): "a command by PyTorch's name: the profiler on a program",
}


def sources() -> list[Path]:
    """Return all C++ files."""
    return sorted(p for p in CSRC.rglob("*") if p.suffix in (".h", ".cpp", ".inc"))


def test_every_folder_has_a_layer():
    """A new folder of csrc or package of weft must be given its place."""
    folders = {p.name for p in CSRC.iterdir() if p.is_dir()}
    assert folders == set(INCLUDES)
    packages = {p.stem for p in WEFT.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert packages - {"__init__"} == set(LEVEL) - {"__version__"}


def test_includes_point_one_way():
    """bind -> tape, exec -> ops -> loops -> simd -> core."""
    wrong = []
    for path in sources():
        folder = path.relative_to(CSRC).parts[0]
        for target in re.findall(r'#include "(\w+)/', path.read_text()):
            if target != folder and target not in INCLUDES[folder]:
                wrong.append(f"{path.relative_to(CSRC)} includes {target}/")
    assert not wrong, "\n".join(wrong)


def test_nothing_below_calls_upward_through_pointers():
    """What a lower layer needs of a higher one is a function that UPWARD declares, not a global pointer that is set."""
    for header, above in UPWARD.items():
        text = (CSRC / header).read_text()
        assert f"{above}/" in text, f"{header} must say that {above}/ defines its functions"
    pointer = re.compile(r"^(?:extern )?[\w:<>&*, ]+ \(\*g_\w+\)\(", re.MULTILINE)
    found = [str(p.relative_to(CSRC)) for p in sources() if pointer.search(p.read_text())]
    assert not found, found


def test_python_is_known_to_bind_only_and_vectors_to_simd_only():
    """Includes of Python's headers, and intrinsics."""
    wrong = []
    for path in sources():
        name, text = path.relative_to(CSRC).as_posix(), path.read_text()
        if not name.startswith("bind/") and PYTHON.search(text):
            wrong.append(f"{name} knows Python")
        if not name.startswith("simd/") and name not in CPU_STATE and INTRINSICS.search(text):
            wrong.append(f"{name} has intrinsics: {INTRINSICS.search(text).group()}")
    assert not wrong, "\n".join(wrong)


def loaded(nodes: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that run when a module is loaded."""
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.If):
            if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
                yield from loaded(node.body)
            yield from loaded(node.orelse)
        elif isinstance(node, ast.Try):
            yield from loaded([*node.body, *node.orelse, *node.finalbody])
            for handler in node.handlers:
                yield from loaded(handler.body)
        elif isinstance(node, ast.With):
            yield from loaded(node.body)


def imported(package: tuple[str, ...], node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the names at weft's top level that an import of a module in ``package`` reads."""
    if isinstance(node, ast.Import):
        paths = [tuple(alias.name.split(".")) for alias in node.names]
        yield from (path[1] for path in paths if path[0] == "weft" and len(path) > 1)
        return
    module = tuple(node.module.split(".")) if node.module else ()
    path = (*package[: len(package) - node.level + 1], *module) if node.level else module
    if path[:1] != ("weft",):
        return
    yield from [path[1]] if len(path) > 1 else [alias.name for alias in node.names]


def upward(level: dict[str, int]) -> set[tuple[str, str]]:
    """Return what imports a package of its own layer or of a higher one: (file, package)."""
    found = set()
    for path in sorted(WEFT.rglob("*.py")):
        parts = path.relative_to(WEFT).with_suffix("").parts
        if parts[0] == "__init__":
            continue
        for node in loaded(ast.parse(path.read_text()).body):
            for name in imported(("weft", *parts[:-1]), node):
                if name != parts[0] and level.get(name, -1) >= level[parts[0]]:
                    found.add((path.relative_to(WEFT).as_posix(), name))
    return found


def test_packages_import_downward():
    """Each package imports those of lower layers only, but for the exceptions, which must still be needed."""
    found = upward(LEVEL)
    excused = {
        (f, name): k for f, name in found for k in EXCEPTIONS if f.startswith(k[0]) and name == k[1]
    }
    wrong = [f"weft/{file} imports weft.{name}" for file, name in sorted(found - set(excused))]
    assert not wrong, "\n".join(wrong)
    assert set(excused.values()) == set(EXCEPTIONS), "an exception is not needed any more"


def test_the_rule_finds_what_it_forbids():
    """With two layers exchanged, imports that are right now are reported; relative ones are read as well."""
    level = {**LEVEL, "nn": LEVEL["ops"], "ops": LEVEL["nn"]}
    assert any(name == "ops" and file.startswith("nn/") for file, name in upward(level))
    tree = ast.parse(
        "from . import a\nfrom .. import _C\nfrom ..ops import b\nimport weft.nn.functional\nimport math"
    )
    names = [list(imported(("weft", "jit"), node)) for node in loaded(tree.body)]
    assert names == [["jit"], ["_C"], ["ops"], ["nn"], []]


@pytest.mark.parametrize(
    "text", ["__m512i v;", "x = _mm256_add_ps(a, b);", "#include <immintrin.h>"]
)
def test_intrinsics_are_recognised(text):
    """In declarations, calls and includes."""
    assert INTRINSICS.search(text)
