"""What the map (`docs/map.md`) says beside the first sentences of files: words on folders, and their order."""

# ruff: noqa: E501

from __future__ import annotations

INTRODUCTION = """# The map

Every folder and every source file, each with the first sentence of its docstring or comment. `python docs/generate.py` writes
this page; a test fails when it is out of date. To see how the parts work together, begin with
[docs/architecture](architecture/README.md).

Two halves: `csrc/` is what runs (C++20), `weft/` is what you call (Python). Paths in a table are those of the heading above it.
"""

# The rooms of the house and their titles, in the order of the page.
ROOMS = (
    ("weft", "Python: what you call"),
    ("csrc", "C++: what runs"),
    ("tests", "Tests"),
    ("bench", "Benchmarks"),
    ("examples", "Examples"),
    ("tools", "Programs of the project"),
    ("stubs", "Type stubs"),
    ("docs", "Documentation"),
)

# Folders in the order in which one reads them. Those that are missing here follow in the order of the alphabet.
ORDER = (
    "weft/ops",
    "weft/linalg",
    "weft/fft",
    "weft/special",
    "weft/signal",
    "weft/sparse",
    "weft/masked",
    "weft/nested",
    "weft/autograd",
    "weft/func",
    "weft/nn",
    "weft/optim",
    "weft/distributions",
    "weft/jit",
    "weft/amp",
    "weft/quantization",
    "weft/serialization",
    "weft/utils",
    "weft/distributed",
    "weft/multiprocessing",
    "weft/train",
    "weft/view",
    "weft/profiler",
    "weft/debug",
    "weft/vision",
    "weft/text",
    "weft/audio",
    "weft/testing",
    "weft/compat",
    "csrc/bind",
    "csrc/ops",
    "csrc/tape",
    "csrc/loops",
    "csrc/simd",
    "csrc/exec",
    "csrc/core",
)

# Folders whose files are not listed: their words say enough.
WHOLE = {
    "weft/view/live/static",
    "weft/view/live/web",
    "bench/results",
    "docs/pictures",
    "docs/pictures/site",
    "docs/pictures/gallery",
    "stubs",
    "tests/fuzz/reproducers",
    "tests/scripts",
    "tests/seeds",
}

FOLDERS = {
    "weft": "The package: what `import weft` gives.",
    "csrc": "The native module `weft._C`. Includes point one way: `bind → tape → ops → loops → simd → core`.",
    "csrc/bind": "The Python bindings: the only files that know Python. A call begins here.",
    "csrc/ops": "What weft can do: one table row or one form per op, by family; and the dispatcher that every op passes.",
    "csrc/tape": "Recording and the backward pass: nodes, views, the walk back. It knows no op.",
    "csrc/loops": "Kernels: pointers, sizes and strides. They check nothing, and throw nothing but Ctrl-C and lack of memory. "
    "A file `*.isa.cpp` is compiled once per instruction set.",
    "csrc/simd": "Vector types and operations: one header per instruction set, and the list of the sets. Intrinsics stand nowhere "
    "else.",
    "csrc/exec": "Static programs: instructions, memory plan and schedule, which run without Python.",
    "csrc/core": "What a tensor is: element types, sizes, storage, allocator, graph nodes. It knows no op and no Python.",
    "tests": "The tests. The folders are those of `weft/`, and a few for what concerns all of it.",
    "tests/amp": "Mixed precision: what is cast, what is kept, loss scaling, overflow.",
    "tests/audio": "Sound files, good and damaged; features against SciPy and formulas.",
    "tests/autograd": "Gradients, hooks, modes, `Function`, `gradcheck`, views.",
    "tests/compat": "PyTorch's names, `weft run`, `weft check`, a machine without a GPU.",
    "tests/data": "Data sets, samplers, loaders; workers that are killed; resuming.",
    "tests/distributed": "A group of one process, the launcher, ranks that end.",
    "tests/distributed/ranks": "Programs that several ranks run.",
    "tests/distributions": "Samples against exact moments and quantiles; argument checks; transforms.",
    "tests/func": "Derivatives of functions, `vmap`, modules as functions.",
    "tests/fuzz": "Fuzzers, the runner that watches them and reduces what they find to small reproducers (`make fuzz`).",
    "tests/fuzz/reproducers": "What the fuzzers have found, as cases that must stay fixed.",
    "tests/jit": "Traces, scripts, graphs, passes, code generation, and `weft.compile`.",
    "tests/nn": "Layers, modules, hooks, state, initialisation, `nn.utils`.",
    "tests/optim": "Optimisers against their formulas, schedules, resuming.",
    "tests/parity": "The same work in weft and PyTorch (`make parity`).",
    "tests/project": "The project itself: its rules, its pages, its examples.",
    "tests/multiprocessing": "Tensors in memory that processes share; spawn.",
    "tests/robustness": "What must not happen: hostile arguments and objects, impossible sizes, signals, threads, fork, leaks.",
    "tests/tensor": "Tensors: printing, copying, storage.",
    "tests/quantization": "int8 products bit for bit, layers, observers, quantisation-aware training.",
    "tests/scripts": "Programs written for PyTorch, which `tests/parity/test_scripts.py` runs on both.",
    "tests/seeds": "The programs of `docs/seeds.md`, each run and its result checked.",
    "tests/tensorboard": "Logs, read back by TensorBoard's own loader and server.",
    "tests/testing": "`weft.testing`: what passes, what fails, what the message says.",
    "tests/text": "Fields, vocabularies, iterators and data sets from files of their formats.",
    "tests/train": "The trainer against a plain loop, metrics against scikit-learn, resuming after SIGKILL.",
    "tests/typing": "What type checkers and editors say about programs that use weft.",
    "tests/utils": "Archives, downloads, pytrees.",
    "weft/view/live/static": "The page of the live view as it is shipped; `make page` writes it.",
    "weft/view/live/web": "The page's sources in TypeScript, with their tests and tools.",
    "tests/view": "Drawings of graphs; the live view: recording, stopping, its server, its page in a Chromium.",
    "tests/vision": "Datasets, downloads from a local server, transforms, images, models, ops.",
    "bench/results": "What was measured, as Markdown and JSON.",
    "examples": "Programs of one file, each with a goal that it must reach (`make gallery`).",
    "tools": "Programs that write files of the project. What the pages need is in `docs/`.",
    "stubs": "What editors and type checkers read: `.pyi` files, which `python -m tools.stubs` writes.",
    "docs": "The pages, and what makes the site of them (`make docs`).",
    "docs/architecture": "How weft is built: begin here.",
    "docs/notes": "Decisions: what was chosen, instead of what, with the measurements.",
    "docs/pictures": "Pictures on the pages, and the style of the site.",
    "docs/pictures/gallery": "What the examples drew.",
    "weft/compat/modules": "Modules that programs for PyTorch ask for, such as `weft.cuda` and `weft.backends`.",
    "weft/compat/shadow": "Packages named `torch` and so on, on the path of processes that a program of `weft run` starts.",
}

# Files of the root, and files that cannot say themselves what they are. Paths are from the root.
FILES = {
    "README.md": "the first page",
    "CONTRIBUTING.md": "how to change weft, and where to open what",
    "CHANGELOG.md": "what each version brought",
    "LICENSE": "Apache-2.0",
    "Makefile": "everything a developer does; `make` lists it",
    "pyproject.toml": "the package, its requirements, and the settings of pytest, ruff and mypy",
    "CMakeLists.txt": "how `weft/_C` is built: once per instruction set for `*.isa.cpp`, once for the rest",
    "tests/robustness/tsan.supp": "What ThreadSanitizer does not report",
    "weft/utils/data/digits.csv.gz": "The bundled handwritten digits",
    "weft/py.typed": "Says that the package has types",
}
HIDDEN = {
    ".ci/run": "what must pass before a change is merged",
    ".clang-format": "the style of C++",
    ".pre-commit-config.yaml": "the checks before a commit",
}
