"""The stubs say what weft has: they are fresh, what they import is there, and valid calls fit them."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from samples import ROWS, F

import weft

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "stubs" / "weft"


def test_stubs_are_fresh() -> None:
    """What the generator would write is what is checked in."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.stubs", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_generator_sees_stale_stubs(tmp_path: Path) -> None:
    """The check fails for a stub that was changed by hand."""
    code = (
        "import sys, tools.stubs.__main__ as m, pathlib, shutil\n"
        f"shutil.copytree(m.STUBS, {str(tmp_path / 'weft')!r})\n"
        f"m.STUBS = pathlib.Path({str(tmp_path / 'weft')!r})\n"
        "(m.STUBS / 'fft' / '__init__.pyi').write_text('x: int')\n"
        "sys.exit(m.main(['--check']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "stubs/weft/fft/__init__.pyi is out of date: run python -m tools.stubs"
    ]


def stub_names() -> list[str]:
    """The paths of all stubs."""
    return sorted(str(p.relative_to(STUBS)) for p in STUBS.rglob("*.pyi"))


@pytest.mark.parametrize("name", stub_names())
def test_what_stubs_name_is_there(name: str) -> None:
    """Each public name of a stub exists at run time, and so does all that it imports from weft."""
    tree = ast.parse((STUBS / name).read_text())
    dotted = ".".join(("weft", *Path(name).with_suffix("").parts)).removesuffix(".__init__")
    module = importlib.import_module(dotted)
    missing = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "weft").startswith("weft"):
            place = dotted if node.level else node.module
            source = importlib.import_module(place or "")
            for alias in node.names:
                private = alias.name.startswith("_") or alias.asname != alias.name
                if not private and not hasattr(source, alias.name):
                    missing.append(f"{place}.{alias.name}")
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_":
            missing += [] if hasattr(module, node.name) else [node.name]
    assert not missing


# ---- valid calls fit ----------------------------------------------------------------------------


def signature_of(node: ast.FunctionDef) -> inspect.Signature:
    """The signature that a definition of a stub has."""
    a = node.args
    P = inspect.Parameter
    plain = [*a.posonlyargs, *a.args]
    late = len(plain) - len(a.defaults)
    found = [
        P(
            x.arg,
            P.POSITIONAL_ONLY if i < len(a.posonlyargs) else P.POSITIONAL_OR_KEYWORD,
            default=... if i >= late else P.empty,
        )
        for i, x in enumerate(plain)
    ]
    found += [P(a.vararg.arg, P.VAR_POSITIONAL)] if a.vararg else []
    found += [
        P(x.arg, P.KEYWORD_ONLY, default=P.empty if default is None else ...)
        for x, default in zip(a.kwonlyargs, a.kw_defaults)
    ]
    found += [P(a.kwarg.arg, P.VAR_KEYWORD)] if a.kwarg else []
    return inspect.Signature(found)


@functools.cache
def declared() -> dict[str, list[inspect.Signature]]:
    """The signatures in the stubs by name: weft.softmax, weft.Tensor.softmax, weft.linalg.inv."""
    found: dict[str, list[inspect.Signature]] = {}
    places = {"weft": "__init__", "weft.Tensor": "_C", "weft.linalg": "linalg/__init__"}
    places |= {"weft.fft": "fft/__init__", "weft.special": "special/__init__"}
    for prefix, file in places.items():
        body = ast.parse((STUBS / f"{file}.pyi").read_text()).body
        if prefix == "weft.Tensor":
            body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == "Tensor").body
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(f"{prefix}.{node.name}", []).append(signature_of(node))
    return found


def fits(signature: inspect.Signature, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether a call fits a signature."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def test_calls_of_samples_fit() -> None:
    """Every valid call of every sample row fits a signature of the stubs: number and names."""
    tried, problems = 0, []
    for row in ROWS.values():
        for sample in row.samples():
            forms = [f"weft.{row.name}"]
            if row.method and not isinstance(sample, F):
                forms.append(f"weft.Tensor.{row.name}")
            for form in forms:
                signatures = declared().get(form, [])
                tried += bool(signatures)
                if signatures and not any(fits(s, sample.args, sample.kwargs) for s in signatures):
                    problems.append(f"{form}{sample}")
    assert tried > 2000
    assert not problems, problems[:20]


def test_calls_of_samples_fit_at_run_time() -> None:
    """The same for what ``inspect.signature`` says of native ops."""
    tried, problems = 0, []
    for row in ROWS.values():
        f = getattr(weft, row.name, None)
        if type(f) is not weft._C.Op:
            continue
        signature = inspect.signature(f)
        for sample in row.samples():
            tried += 1
            if not fits(signature, sample.args, sample.kwargs):
                problems.append(f"{row.name}{sample} {signature}")
    assert tried > 500
    assert not problems, problems[:20]


def test_all_native_ops_have_signatures() -> None:
    """``inspect.signature`` works on every op, method and native method; it costs no import."""
    native = (weft._C.Op, type(weft.Tensor.numel))
    found = {
        name: inspect.signature(value)
        for holder in (weft, weft.Tensor)
        for name, value in vars(holder).items()
        if isinstance(value, native) and not name.startswith("__")
    }
    assert len(found) > 500
    assert all(str(signature).startswith("(") for signature in found.values())
    assert str(inspect.signature(weft.softmax)) == (
        "(input: 'Tensor', dim: 'int', *, dtype: 'dtype | None' = None, out=None) -> 'Tensor'"
    )
    assert str(inspect.signature(weft.ones(1).softmax)).startswith("(dim: 'int', *, dtype")
    assert str(inspect.signature(weft.Tensor.size)) == "(self, /, dim=None)"
    code = "import weft, sys; print('inspect' in sys.modules, 'weft.ops.signatures' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1] == "False"


def test_lazy_names_are_listed() -> None:
    """``dir(weft)`` has what is loaded on first use, and asking for each works."""
    assert {"optim", "cuda", "compile", "FloatTensor", "einsum"} <= set(dir(weft))
    missing = [name for name in dir(weft) if not hasattr(weft, name)]
    assert not missing


def test_typed_training_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The typed program, which checkers read in strict mode, also trains."""
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        training = importlib.import_module("training")
    finally:
        sys.path.pop(0)
    assert training.main() > 0.95
    assert "loss" in capsys.readouterr().out


def test_installed_stubs_hide_no_module(tmp_path: Path) -> None:
    """Beside the sources, as a wheel has them, the folders of stubs are no modules of their own."""
    package = tmp_path / "weft"
    shutil.copytree(STUBS, package)
    for path in (ROOT / "weft").rglob("*"):
        target = package / path.relative_to(ROOT / "weft")
        if path.suffix in (".py", ".so") and "__pycache__" not in path.parts:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(path)
    names = [
        ".".join(("weft", *Path(name).with_suffix("").parts)).removesuffix(".__init__")
        for name in stub_names()
    ]
    code = (
        "import importlib, sys, weft\n"
        "assert weft.__file__.startswith(sys.argv[1]), weft.__file__\n"
        "for name in sys.argv[2:]:\n"
        "    assert importlib.import_module(name).__file__, name\n"
        "assert not weft.cuda.is_available()"
    )
    run = [sys.executable, "-c", code, str(tmp_path), *names]
    done = subprocess.run(
        run, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
