"""``python -m weft doctor``: whether weft works here, what it uses, and what could be better.

Each check returns findings: ``ok``, a ``note`` (nothing is wrong, but it is good to know) or a
``problem``, which makes the exit code 1. Nothing is changed and nothing is downloaded.
"""

from __future__ import annotations

import importlib.util
import os
import platform
from importlib import metadata
from typing import NamedTuple

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["EXTRAS", "Finding", "examine", "main"]

# The extras that users install, the modules that each brings, and what it is for.
EXTRAS: dict[str, tuple[tuple[str, ...], str]] = {
    "vision": (("PIL",), "image files"),
    "audio": (("soundfile",), "sound files"),
    "tensorboard": (("tensorboard",), "logs for TensorBoard"),
    "search": (("optuna",), "search for hyper-parameters"),
    "distributed": (("mpi4py",), "training in several processes"),
    "examples": (("matplotlib", "gymnasium", "sklearn"), "the gallery of examples"),
}
NEEDED = {  # module: the package that brings it
    "numpy": "numpy",
    "tqdm": "tqdm",
    "llvmlite": "llvmlite",
    "scipy_openblas32": "scipy-openblas32",
}
MARKS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}


class Finding(NamedTuple):
    """One thing that was found.

    Attributes:
        level: ``ok``, ``note`` or ``problem``.
        subject: what was looked at.
        text: what was found.
        advice: what to do, or "".
    """

    level: str
    subject: str
    text: str
    advice: str = ""

    def __str__(self) -> str:
        """Return it as a line, the advice below."""
        line = f"{MARKS[self.level]}  {self.subject:<20}{self.text}"
        return f"{line}\n{'':<29}-> {self.advice}" if self.advice else line


# ---- what is installed --------------------------------------------------------------------------


def _weft() -> Iterator[Finding]:
    text = f"{weft.__version__} in {os.path.dirname(os.path.abspath(weft.__file__))}"
    yield Finding("ok", "weft", text)
    try:
        installed = metadata.version("weft")
    except metadata.PackageNotFoundError:
        installed = weft.__version__  # a source tree on the path
    if installed != weft.__version__:
        yield Finding(
            "problem", "weft", f"version {installed} is installed as well, and another is imported",
            "leave the folder of the sources, or uninstall one of them",
        )  # fmt: skip


def _python() -> Iterator[Finding]:
    text = f"{platform.python_version()} ({platform.python_implementation()}), {platform.machine()}"
    yield Finding("ok", "Python", text)


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "?"


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _packages() -> Iterator[Finding]:
    missing = [package for module, package in NEEDED.items() if not _is_there(module)]
    there = [f"{p} {_version_of(p)}" for m, p in NEEDED.items() if p not in missing]
    if there:
        yield Finding("ok", "packages", ", ".join(there))
    if missing:
        advice = f"pip install {' '.join(missing)}"
        yield Finding("problem", "packages", f"missing: {', '.join(missing)}", advice)


def _extras() -> Iterator[Finding]:
    for extra, (modules, purpose) in EXTRAS.items():
        missing = [module for module in modules if not _is_there(module)]
        if not missing:
            yield Finding("ok", f"weft[{extra}]", purpose)
        else:
            text = f"not installed ({', '.join(missing)}): {purpose}"
            yield Finding("note", f"weft[{extra}]", text, f'pip install "weft[{extra}]"')


def _torch() -> Iterator[Finding]:
    version = _version_of("torch")
    if version == "?":
        text = "not installed: weft does not need it"
        yield Finding("ok", "PyTorch", text)
    else:
        text = f"{version} is installed as well; weft does not use it"
        advice = "programs that import torch run on weft with: python -m weft run PROGRAM"
        yield Finding("ok", "PyTorch", text, advice)


# ---- the machine --------------------------------------------------------------------------------


def _instructions() -> Iterator[Finding]:
    from weft.__main__ import instruction_set

    used = instruction_set()
    wish = os.environ.get("WEFT_ISA")
    if wish:
        text, advice = f"{used}, because WEFT_ISA={wish}", "unset WEFT_ISA for the fastest"
        yield Finding("note", "instructions", text, advice)
    elif used == "base":
        text = "base: this processor has no AVX2, or weft was built without it; it will be slow"
        yield Finding("note", "instructions", text)
    else:
        yield Finding("ok", "instructions", used)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def cpu_quota(text: str) -> float | None:
    """Return the CPUs that a cgroup's ``cpu.max`` allows; None for no limit.

    >>> from weft.utils.doctor import cpu_quota
    >>> cpu_quota("150000 100000"), cpu_quota("max 100000"), cpu_quota("")
    (1.5, None, None)
    """
    words = text.split()
    if len(words) != 2 or not (words[0] + words[1]).isdigit() or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])


def _threads() -> Iterator[Finding]:
    threads, cpus = weft.get_num_threads(), os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cpus
    quota = cpu_quota(_read("/sys/fs/cgroup/cpu.max"))
    text = f"{threads} of {cpus} CPUs"
    text += f", affinity leaves {allowed}" if allowed < cpus else ""
    text += f", the cgroup {quota:g}" if quota is not None else ""
    asked = os.environ.get("OMP_NUM_THREADS")
    text += f", OMP_NUM_THREADS={asked}" if asked else ""
    free = min(allowed, max(1, -int(-quota // 1))) if quota is not None else allowed
    first = asked.partition(",")[0].strip() if asked else "1"  # "4,2": 4, and 2 in each
    if not (first.isdecimal() and int(first)):
        yield Finding(
            "note", "threads", text, "OMP_NUM_THREADS is not a positive number: it is ignored"
        )
    elif threads > free:
        advice = f"weft.set_num_threads({free}): more threads than CPUs make each other wait"
        yield Finding("note", "threads", text, advice)
    elif threads < free:
        yield Finding("note", "threads", text, f"weft.set_num_threads({free}) would use all")
    else:
        yield Finding("ok", "threads", text)


def _memory() -> Iterator[Finding]:
    from weft.__main__ import size

    facts = dict(line.split(":", 1) for line in _read("/proc/meminfo").splitlines() if ":" in line)
    free = facts.get("MemAvailable", "").split()
    text = f"{size(int(free[0]) * 1024)} available" if free else "not known"
    limit, used = _read("/sys/fs/cgroup/memory.max"), _read("/sys/fs/cgroup/memory.current")
    if limit.strip().isdigit() and used.strip().isdigit():
        left = max(int(limit) - int(used), 0)
        text += f"; the cgroup allows {size(int(limit))}, of which {size(left)} are left"
        if left < 1 << 28:
            yield Finding("note", "memory", text, "little is left: batches must be small")
            return
    yield Finding("ok", "memory", text)


def _kernels() -> Iterator[Finding]:
    from weft.jit.codegen.cache import directory

    place = directory()
    if place is None:
        text = "there is no place for compiled kernels: each process compiles its own"
        yield Finding("note", "kernel cache", text, "set HOME or WEFT_CACHE to a folder")
        return
    above = place
    while not os.path.exists(above) and os.path.dirname(above) != above:
        above = os.path.dirname(above)
    if os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK):
        yield Finding("ok", "kernel cache", place)
    else:
        advice = "set WEFT_CACHE to a folder that can be written"
        yield Finding("note", "kernel cache", f"{place} cannot be written", advice)


# ---- whether it works ---------------------------------------------------------------------------


def _wrong() -> Iterator[Finding]:
    """Compute what is known: a product, a decomposition, a gradient, a compiled function."""
    x = weft.arange(6.0).reshape(2, 3)
    if (x @ x.mT).tolist() != [[5.0, 14.0], [14.0, 50.0]]:
        yield Finding("problem", "arithmetic", "a product of matrices is wrong")
    if not weft.allclose(weft.linalg.inv(2 * weft.eye(3)), weft.eye(3) / 2):
        yield Finding("problem", "arithmetic", "an inverse is wrong")
    w = weft.ones(3, requires_grad=True)
    (w * w).sum().backward()
    if w.grad.tolist() != [2.0, 2.0, 2.0]:
        yield Finding("problem", "gradients", "a derivative is wrong")
    f = weft.compile(lambda t: (t * 2 + 1).tanh().sum())
    given = weft.linspace(-1, 1, 1000)
    values = {f(given).item() for _ in range(4)}
    if values != {(given * 2 + 1).tanh().sum().item()}:
        yield Finding("problem", "compiler", f"a compiled function gives other numbers: {values}")


def _works() -> Iterator[Finding]:
    wrong = list(_wrong())
    text = "products, decompositions, gradients and the compiler work"
    yield from wrong or [Finding("ok", "self-test", text)]


CHECKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "weft": _weft,
    "Python": _python,
    "packages": _packages,
    "instructions": _instructions,
    "threads": _threads,
    "memory": _memory,
    "kernel cache": _kernels,
    "PyTorch": _torch,
    "self-test": _works,
    "extras": _extras,
}


def examine() -> list[Finding]:
    """Return all findings; a check that fails is one of them.

    >>> from weft.utils.doctor import examine
    >>> [finding.subject for finding in examine()][:2]
    ['weft', 'Python']
    """
    found: list[Finding] = []
    for subject, check in CHECKS.items():
        try:
            found += check()
        except Exception as error:
            found.append(Finding("problem", subject, f"{type(error).__name__}: {error}"))
    return found


def main() -> int:
    """Print the findings; return 1 if one is a problem.

    >>> from weft.utils.doctor import main
    >>> code = main()  # doctest: +ELLIPSIS
    ok       weft            ...
    """
    found = examine()
    for finding in found:
        print(finding)
    problems = sum(finding.level == "problem" for finding in found)
    notes = sum(finding.level == "note" for finding in found)
    print()
    if problems:
        print(f"{problems} problem{'s' * (problems > 1)}: weft will not work as it should.")
    else:
        more = f"; {notes} note{'s' * (notes > 1)} above" if notes else ""
        print(f"weft is well{more}.")
    return 1 if problems else 0
