"""Every example in a docstring of weft gives what it prints: all modules, the native module, and the ops."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import reference

import weft

PACKAGE = Path(weft.__file__).parent
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Packages on the path of programs that `weft run` starts. They stand in for PyTorch's, and are not imported here.
STAND_INS = "weft.compat.shadow."
# The modules that need an extra of weft: their examples are left out where it is not installed.
NEEDS = {
    "weft.train.tuning": "optuna",
    "weft.utils.tensorboard": "tensorboard",
    "weft.distributed.mpi": "mpi4py",
}
NAMES = {"weft": weft, "torch": weft}
# Programs and inner modules: their examples see what they define, as those of private functions do.
INNER = ("weft.__main__", "weft.utils.gallery", "weft.ops.signatures")


def module_names() -> Iterator[str]:
    """All modules of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__").replace(".compat.modules.", ".")
        if not name.startswith((STAND_INS, "weft.examples")):
            yield name


def docstrings(source: str) -> Iterator[tuple[str, str, int]]:
    """The docstrings in a source: of what, the text, the line."""
    defined = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, defined) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", ""), text, node.body[0].lineno - 1


def examples(module: ModuleType, name: str) -> list[doctest.DocTest]:
    """The examples of a module: those that its objects show, and all others that its source has.

    The second kind is that of functions which a decorator has replaced.
    """
    own = {**vars(module), **NAMES}
    found = doctest.DocTestFinder().find(module, name, globs=own)
    found = [test for test in found if test.examples]
    seen = {inspect.cleandoc(test.docstring or "") for test in found}
    path = inspect.getsourcefile(module)
    assert path is not None
    for of, text, line in docstrings(Path(path).read_text("utf-8")):
        if ">>>" in text and inspect.cleandoc(text) not in seen:
            parser = doctest.DocTestParser()
            found.append(parser.get_doctest(text, own, f"{name}.{of}", path, line))
    for test in found:
        private = test.name.rpartition(".")[2].startswith("_") or name in INNER
        test.globs = dict(own if private else NAMES)
    return found


def failures(tests: list[doctest.DocTest]) -> str:
    """What examples print that they should not."""
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    out: list[str] = []
    for test in tests:
        weft.manual_seed(0)
        runner.run(test, out=out.append)
    return "".join(out)


def module_of(name: str) -> ModuleType:
    """A module; a function may have its name too, as ``weft.compile`` has."""
    for prefix, package in NEEDS.items():
        if name.startswith(prefix):
            pytest.importorskip(package)
    importlib.import_module(name)
    return sys.modules[name]


# Public names without an example: what one is given and does not make, and names for annotations.
SHOWN_ELSEWHERE = """
jit.Final jit.Graph jit.Node jit.Value view.Node random.Generator compat.torch.take_over
utils.pytree.GetAttrKey utils.pytree.LeafSpec utils.pytree.MappingKey utils.pytree.NodeDef
utils.pytree.SequenceKey utils.pytree.TreeSpec vision.models.GoogLeNetOutputs
vision.models.InceptionOutputs nn.utils.clip_grad_norm
nn.functional.fractional_max_pool2d_with_indices nn.functional.fractional_max_pool3d_with_indices
nn.functional.scaled_grouped_mm nn.functional.scaled_mm
profiler.ExecutionTraceObserver utils.benchmark.CallgrindStats utils.benchmark.FunctionCount
utils.benchmark.FunctionCounts utils.benchmark.FuzzedParameter utils.benchmark.FuzzedSparseTensor
utils.benchmark.FuzzedTensor utils.benchmark.Fuzzer utils.benchmark.ParameterAlias utils.benchmark.timer
""".split()


@pytest.mark.parametrize("name", " ".join(reference.MODULES.values()).split())
def test_public_names_have_examples(name: str) -> None:
    """Every class and function of the API reference shows how it is used; in-place twins by their op."""
    registry = weft.ops.registry()
    missing = []
    for n, x in reference.public(module_of(f"weft.{name}")):
        called = getattr(x, "__name__", n)  # of an alias: the op that it stands for
        ops = (f"{name}.{n}".replace(".", "_").removesuffix("_"), n.removesuffix("_"), called)
        docs = [getattr(x, "__doc__", None), *(registry[o].doc for o in ops if o in registry)]
        error = inspect.isclass(x) and issubclass(x, BaseException)
        if not error and not any(">>>" in (d or "") for d in docs):
            missing.append(f"{name}.{n}")
    assert set(missing) <= set(SHOWN_ELSEWHERE), missing


@pytest.fixture
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that an example writes go into an empty folder."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", list(module_names()))
@pytest.mark.filterwarnings("ignore:.* is deprecated")  # which has an example too
@pytest.mark.usefixtures("_apart")
def test_examples_of_modules(name: str) -> None:
    """The examples of a module."""
    said = failures(examples(module_of(name), name))
    assert not said, said


@pytest.mark.filterwarnings("ignore:.* is deprecated")  # which has an example too
@pytest.mark.usefixtures("_apart")
def test_examples_of_ops() -> None:
    """The examples of all ops of the registry, native or not."""
    parser = doctest.DocTestParser()
    registry = weft.ops.registry()
    tests = [
        parser.get_doctest(info.doc or "", dict(NAMES), name, None, 0)
        for name, info in registry.items()
    ]
    assert len(tests) > 600
    said = failures(tests)
    assert not said, said


@pytest.mark.usefixtures("_apart")
def test_examples_of_the_native_module() -> None:
    """The examples of classes and functions that are written in C++ and are no ops."""
    parser = doctest.DocTestParser()
    native = weft._C
    tests = []
    for name in dir(native):
        x = getattr(native, name)
        inner = [getattr(x, n, None) for n in dir(x)] if inspect.isclass(x) else []
        for y in (x, *inner):
            doc = getattr(y, "__doc__", None)
            if isinstance(doc, str) and ">>>" in doc:
                tests.append(parser.get_doctest(doc, dict(NAMES), f"_C.{name}", None, 0))
    said = failures(tests)
    assert not said, said


def test_all_lines_are_found() -> None:
    """As many ``>>>`` are run as the sources of weft have in docstrings, and a wrong one is found."""
    module = (
        weft.ops.order if hasattr(weft.ops, "order") else importlib.import_module("weft.ops.order")
    )
    source = Path(inspect.getsourcefile(module) or "").read_text("utf-8")
    run = sum(len(test.examples) for test in examples(module, "weft.ops.order"))
    assert run == source.count("\n    >>> ") > 10
    wrong = doctest.DocTestParser().get_doctest(">>> weft.ones(1)\n2", dict(NAMES), "x", None, 0)
    assert "tensor([1.])" in failures([wrong])
