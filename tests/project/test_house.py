"""The house keeps its own rules.

Every op has a row, a doc that runs, a derivative or a reason; public functions are typed and
documented; files stay small; nothing leans on PyTorch; no code of one instruction set leaks.
"""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import resolve
from samples import ROWS

import weft

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 600
LONGER_FILES: dict[str, str] = {}  # file: why it may be longer. Meant to stay empty.
TORCH_ALLOWED = ("tests/parity", "tests/fuzz", "tests/scripts", "bench")
DOCUMENTED_ONCE = {
    "forward",
    "backward",
    "setup_context",
    "extra_repr",
    "jvp",
    "vjp",
}  # by their base class

# PyTorch's ops that ordinary programs use most, without nn.functional.
CORE = """
abs add sub mul div neg exp log log2 log1p sqrt rsqrt square reciprocal pow sin cos atan atan2
tanh sigmoid erf floor ceil round trunc sign clamp clamp_min clamp_max maximum minimum remainder
floor_divide lerp addcmul addcdiv nan_to_num __radd__ __rmul__ __rsub__ __rdiv__ eq ne lt le gt ge
isnan isinf isfinite isclose allclose equal logical_and logical_or logical_not bitwise_and
bitwise_or bitwise_not where sum mean prod std var var_mean amax amin max min argmax argmin all
any logsumexp norm median count_nonzero quantile cumsum cumprod softmax log_softmax __getitem__
index_put index_select index_add gather scatter scatter_add scatter_reduce masked_fill
masked_select take_along_dim nonzero select narrow reshape view flatten squeeze unsqueeze permute
transpose t T movedim expand broadcast_to repeat repeat_interleave tile cat stack hstack vstack
split chunk unbind unfold flip roll diag diagonal tril triu meshgrid as_strided contiguous clone
zeros ones full empty arange linspace eye zeros_like ones_like full_like empty_like new_zeros
new_ones to float double half bfloat16 int long bool item fill zero_ randn randint rand_like
randn_like bernoulli multinomial normal uniform matmul mm bmm dot addmm baddbmm outer tensordot
einsum cdist linalg.norm linalg.vector_norm linalg.inv linalg.det linalg.solve linalg.cholesky
linalg.qr linalg.svd linalg.eigh linalg.eigvalsh linalg.solve_triangular sort argsort topk unique
unique_consecutive searchsorted bucketize bincount real imag conj view_as_real view_as_complex
fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 stft istft
""".split()


def complain(problems: list[str]) -> None:
    """Fails with a list, one problem a line."""
    assert not problems, f"{len(problems)} problems\n" + "\n".join(problems[:60])


# ---- ops ---------------------------------------------------------------------------------------


def registry() -> dict[str, Any]:
    """Every op weft has."""
    return weft.ops.registry()


def row_of(name: str) -> Any:
    """The row of an op; the registry may write linalg_inv for linalg.inv, and add_ for add."""
    dotted = name
    for module in ("linalg", "fft", "special", "signal.windows", "nn.functional"):
        dotted = dotted.replace(module.replace(".", "_") + "_", module + ".")
    return next((ROWS[n] for n in (name, dotted, name.removesuffix("_")) if n in ROWS), None)


def test_core_ops_exist() -> None:
    """Every core op is there, as a function or a method."""
    complain([f"weft has no {n}" for n in CORE if resolve(weft, n) is None])


def test_core_ops_have_rows() -> None:
    """Every core op has a full row: samples and a twin."""
    complain(
        [f"no row for {n}" for n in CORE if n not in ROWS]
        + [f"{n}: no samples" for n in CORE if n in ROWS and not ROWS[n].samples()]
        + [f"{n}: no twin" for n in CORE if n in ROWS and ROWS[n].twin is None]
    )


def test_ops_have_rows() -> None:
    """Every op of the registry has a row in samples.py."""
    complain([f"{n}: no row in tests/samples/<family>.py" for n in registry() if row_of(n) is None])


def test_rows_have_ops() -> None:
    """Every row is that of an op."""
    complain([f"weft has no {n}" for n in ROWS if resolve(weft, n) is None])


def test_ops_have_docs() -> None:
    """Every op says what it does and shows it."""
    complain(
        [
            f"{n}: the doc has no example (>>>)" if info.doc else f"{n}: no doc"
            for n, info in registry().items()
            if ">>>" not in (info.doc or "")
        ]
    )


def test_ops_have_derivatives() -> None:
    """A derivative, or the reason why there is none; never none where the row checks one."""
    problems = []
    for name, info in registry().items():
        row = row_of(name)
        if info.derivative is not True and not (
            isinstance(info.derivative, str) and info.derivative.strip()
        ):
            problems.append(f"{name}: neither a derivative nor a reason")
        elif row is not None and row.grad and info.derivative is not True:
            problems.append(
                f"{name}: the row checks a derivative, the registry says {info.derivative!r}"
            )
    complain(problems)


def test_forms_are_declared() -> None:
    """What the registry says of method, in-place and out= is what the tensor type has."""
    problems = []
    for name, info in registry().items():
        base = name.removesuffix("_") if not name.startswith("__") else name
        has = hasattr(weft.Tensor, name)
        has_ = any(hasattr(owner, name + "_") for owner in (weft.Tensor, weft))
        if bool(info.method) != has:
            problems.append(f"{name}: method={info.method}, but Tensor.{name} is {has}")
        if base == name and "." not in name and bool(info.inplace) != has_:
            problems.append(f"{name}: inplace={info.inplace}, but Tensor.{name}_ is {has_}")
        if info.kind not in ("primitive", "composed"):
            problems.append(f"{name}: kind={info.kind!r}")
        if not info.signatures:
            problems.append(f"{name}: no signature")
    complain(problems)


# ---- sources -----------------------------------------------------------------------------------


def sources(folder: str, *endings: str) -> Iterator[tuple[str, Path]]:
    """Hand-written files below a folder, with their names from the root."""
    for path in sorted((ROOT / folder).rglob("*")):
        parts = path.relative_to(ROOT).parts
        inside = not any(
            p.startswith(".") or p in ("build", "dist", "seeds", "__pycache__", "lib")
            for p in parts
        )
        if path.is_file() and path.suffix in endings and inside:
            yield "/".join(parts), path


def test_files_are_short() -> None:
    """No file of csrc, weft or tests is longer than 600 lines."""
    print("allowed to be longer:", LONGER_FILES or "none")
    problems = []
    for folder in ("csrc", "weft", "tests"):
        for name, path in sources(folder, ".py", ".cpp", ".h", ".js", ".css", ".html"):
            lines = len(path.read_text().splitlines())
            if lines > LONGEST and name not in LONGER_FILES:
                problems.append(f"{name}: {lines} lines")
    complain(problems)


def test_nothing_imports_torch() -> None:
    """Only parity tests and benchmarks know PyTorch."""
    problems = []
    for name, path in sources(".", ".py"):
        if name.startswith(TORCH_ALLOWED):
            continue
        for node in ast.walk(ast.parse(path.read_text(), name)):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [a.name for a in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            if any(n.split(".")[0] == "torch" for n in names):
                problems.append(f"{name}:{node.lineno} imports torch")
    complain(problems)


# Words of older texts, for which the field has others: docs/glossary.md.
OLD_WORDS = re.compile(
    r"\b(?:its|their) kin\b|weft has not\b|otherwise now|plain twins?\b|told apart|made again\b"
)


def test_words() -> None:
    """Sources and pages use the words of the glossary."""
    problems = []
    pages = [("README.md", ROOT / "README.md"), ("CHANGELOG.md", ROOT / "CHANGELOG.md")]
    for folder in ("weft", "csrc", "docs", "examples"):
        pages += sources(folder, ".py", ".cpp", ".h", ".md")
    for name, path in pages:
        if name != "docs/glossary.md" and not name.startswith("docs/reference/"):
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                if found := OLD_WORDS.search(line):
                    problems.append(f"{name}:{number}: {found.group()!r} (docs/glossary.md)")
    complain(problems)


Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def public(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The public functions of a module, and the public methods of its public classes."""
    for node in body:
        if isinstance(node, (*Function, ast.ClassDef)) and not node.name.startswith("_"):
            if isinstance(node, ast.ClassDef):
                yield from public(node.body, f"{prefix}{node.name}.")
            else:
                yield prefix + node.name, node
        elif isinstance(node, (ast.If, ast.Try)):
            yield from public(node.body, prefix)


def decorators(node: Any) -> set[str]:
    """The last names of a function's decorators."""
    return {ast.unparse(d).split("(")[0].split(".")[-1] for d in node.decorator_list}


def test_public_functions_are_typed_and_documented() -> None:
    """Every public Python function of weft has types, a return type and a docstring."""
    problems = []
    for name, path in sources("weft", ".py"):
        for full, node in public(ast.parse(path.read_text(), name).body):
            a = node.args
            args = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
            free = {"self", "cls"} if "." in full else set()
            untyped = [x.arg for x in args if x.annotation is None and x.arg not in free]
            where = f"{name}:{node.lineno} {full}"
            if untyped or node.returns is None:
                problems.append(f"{where}: untyped {', '.join(untyped) or 'result'}")
            inherited = "." in full and node.name in DOCUMENTED_ONCE
            if (
                not inherited
                and not decorators(node) & {"overload", "setter", "deleter"}
                and not ast.get_docstring(node)
            ):
                problems.append(f"{where}: no docstring")
    complain(problems)


# ---- objects -----------------------------------------------------------------------------------


def test_instruction_sets_do_not_leak() -> None:
    """An object for avx2 or avx512 exports no inline code that other CPUs could be given."""
    own = {"sanitize", "tsan"}  # builds that only run on the machine that made them
    objects = [p for p in (ROOT / "build").rglob("*.isa.cpp*.o") if not own & set(p.parts)]
    if not objects or shutil.which("nm") is None:
        pytest.skip("no build folder with *.isa.cpp objects, or no nm")
    problems = []
    for path in objects:
        isa = next((i for i in ("avx2", "avx512") if f"weft_{i}.dir" in str(path)), None)
        if isa is None:
            continue  # base: runs everywhere
        out = subprocess.run(
            ["nm", "--defined-only", str(path)], capture_output=True, text=True, check=True
        ).stdout
        for kind, symbol in (
            line.split()[1:3] for line in out.splitlines() if len(line.split()) == 3
        ):
            if kind in "Wu" and f"{len(isa)}{isa}" not in symbol:
                problems.append(f"{path.name} ({isa}) exports the weak {symbol}")
    complain(sorted(set(problems)))


WHOLE = "compat.introspection compat.kernel_settings ops.control sparse.compressed storage".split()


def test_names_that_are_loaded_late_are_those_that_modules_declare() -> None:
    """``weft.__getattr__`` knows names without loading their modules; these must have them, and no others."""
    by_module: dict[str, set[str]] = {}
    for name, module in weft._LAZY_FROM.items():
        by_module.setdefault(module, set()).add(name)
    for module, names in by_module.items():
        loaded = importlib.import_module(f"weft.{module}")
        assert not [n for n in names if not hasattr(loaded, n)], module
        if module in WHOLE:
            assert names == set(loaded.__all__), module
    for name in weft._LAZY:
        importlib.import_module(f"weft.{name}")
