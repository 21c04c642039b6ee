"""``python -m weft run``: a program for PyTorch, run as Python would run it, on weft."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import zipfile
from importlib.machinery import PathFinder, SourceFileLoader
from types import ModuleType

import weft
from weft.compat.torch import SHADOW, install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, TracebackType
    from typing import Any, NoReturn

__all__ = ["main", "run_module", "run_path"]

USAGE = """usage: python -m weft run [--watch] SCRIPT.py [ARGUMENT ...]
       python -m weft run [--watch] -m MODULE [ARGUMENT ...]

Run a program written for PyTorch on weft: torch, torchvision, torchtext and torchaudio mean weft.
--watch opens a page that shows it while it trains."""


def main(argv: Sequence[str]) -> int:
    """Run the program that a command line names; its end is that of this process."""
    if argv[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    watched = argv[:1] == ["--watch"]
    argv = argv[watched:]
    if not argv or argv == ["-m"] or (argv[0][:1] == "-" and argv[0] != "-m"):
        print(USAGE, file=sys.stderr)
        if argv:
            why = "-m needs a module" if argv == ["-m"] else f"unknown option {argv[0]}"
            print(f"python -m weft run: error: {why}", file=sys.stderr)
        return 2
    if watched:
        from weft.view import watch

        with watch() as page:
            _run(argv)
            page.hold()
    else:
        _run(argv)
    return 0


def _run(argv: Sequence[str]) -> None:
    if argv[0] == "-m":
        run_module(argv[1], argv[2:])
    else:
        run_path(argv[0], argv[1:])


def run_path(path: str, args: Sequence[str] = (), as_torch: bool = True) -> None:
    """Run a script, or a folder or zip file with a ``__main__.py``, as ``__main__``.

    ``as_torch`` lets torch mean weft in it.
    """
    if os.path.isdir(path) or (os.path.isfile(path) and zipfile.is_zipfile(path)):
        spec = PathFinder.find_spec("__main__", [path])
        if spec is None:
            _complain(f"can't find '__main__' module in {path!r}")
        _prepare([path, *args], path, as_torch)
        _execute(spec.loader.get_code("__main__"), spec.origin or path, spec.loader, spec)  # type: ignore
        return
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as e:
        _complain(f"can't open file {os.path.abspath(path)!r}: [Errno {e.errno}] {e.strerror}")
    full = os.path.abspath(path)
    _prepare([path, *args], os.path.dirname(full), as_torch)
    _execute(source, full, SourceFileLoader("__main__", full), None)


def run_module(name: str, args: Sequence[str] = (), as_torch: bool = True) -> None:
    """Run a module, or the ``__main__`` of a package, as ``__main__``."""
    _prepare(["-m", *args], os.getcwd(), as_torch)
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ModuleNotFoundError as e:
        _complain(f"Error while finding module specification for {name!r} ({e})")
    code = None if spec is None else spec.loader.get_code(spec.name)  # type: ignore[union-attr]
    if spec is None or code is None:
        _complain(f"No module named {name}")
    sys.argv[0] = spec.origin or name
    _execute(code, sys.argv[0], spec.loader, spec)


def _complain(message: str) -> NoReturn:
    print(f"{sys.executable}: {message}", file=sys.stderr)
    raise SystemExit(2 if message.startswith("can't open") else 1)


def _prepare(argv: list[str], folder: str, as_torch: bool) -> None:
    """Set the arguments and the path as Python does, and let torch mean weft.

    The shadow folder comes right after the program's: processes that multiprocessing starts get
    this path, import the program anew, and find weft there.
    """
    sys.argv[:] = argv
    if not getattr(sys.flags, "safe_path", False):
        if sys.path and sys.path[0] in ("", os.getcwd()):  # what `python -m weft` put there
            del sys.path[0]
        sys.path.insert(0, folder)
    if as_torch and SHADOW not in sys.path:
        sys.path.insert(1, SHADOW)
    home = os.path.dirname(os.path.dirname(os.path.abspath(weft.__file__)))
    if home not in sys.path:
        sys.path.append(home)
    if as_torch:
        install()
        weft.random.use("torch")  # the numbers that the program has with PyTorch


def _execute(code: CodeType | bytes, path: str, loader: Any, spec: Any) -> None:
    """Run code as the module ``__main__``; errors look as if Python had run it."""
    module = ModuleType("__main__")
    names = vars(module)
    names.update(__file__=path, __loader__=loader, __spec__=spec, __cached__=None)
    names["__package__"] = None if spec is None else spec.parent
    names["__builtins__"] = sys.modules["builtins"]
    if spec is None:
        names["__annotations__"] = {}
    runner = sys.modules["__main__"]  # kept alive: this function belongs to it
    sys.modules["__main__"] = module
    try:
        if isinstance(code, bytes):
            code = compile(code, path, "exec", dont_inherit=True)
        exec(code, names)
    except SystemExit:
        raise
    except BaseException:
        _leave_out_runner()
        raise
    finally:
        del runner


def _leave_out_runner() -> None:
    """Let the report of the error that ends the program begin with the program's own lines."""
    show = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        inside = False
        while trace is not None:
            here = trace.tb_frame.f_code.co_filename == __file__
            if inside and not here:
                break
            inside, trace = inside or here, trace.tb_next
        show(kind, error.with_traceback(trace), trace)

    sys.excepthook = hook
