"""``python -m weft launch``: a program in several processes, which mpiexec starts."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["command", "find_mpiexec", "main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m weft launch",
        description="Run a program in several processes, over MPI. Each finds RANK, WORLD_SIZE and "
        "LOCAL_RANK in its environment.",
        epilog="A program written for PyTorch: python -m weft launch -n 2 -m weft run train.py",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-n", "-np", "--nproc_per_node", "--nproc-per-node", dest="n", default="1", metavar="N",
        help="how many processes, on each host; auto: one for each core (default: 1)")  # fmt: skip
    add("--nnodes", default="1", help="must be 1: name the machines by --hosts instead")
    add("--standalone", action="store_true", help="on this machine alone, as without --hosts")
    add("--hosts", help="machines that share the work, such as a,b; each must have the program")
    add("-m", "--module", action="store_true", help="the program is the name of a module")
    add("program", help="a Python file, or with -m a module")
    add("args", nargs=argparse.REMAINDER, help="what the program is given")
    return parser


def find_mpiexec() -> str:
    """Return mpiexec: that of the environment of this Python, or the first on the path.

    The one beside this Python came with the MPI library that mpi4py loads.
    """
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    found = beside if os.access(beside, os.X_OK) else shutil.which("mpiexec")
    if found is None:
        raise FileNotFoundError(
            "weft launch: there is no mpiexec beside this Python or on the path: "
            "pip install weft[distributed]"
        )
    return found


def command(argv: Sequence[str], mpiexec: str, open_mpi: bool = False) -> list[str]:
    """Return the call of mpiexec that a command line asks for.

    >>> import sys
    >>> from weft.distributed.launch import command
    >>> words = command(["-n", "2", "train.py", "--lr", "0.1"], "mpiexec")
    >>> words[:3], words[-3:]
    (['mpiexec', '-n', '2'], ['train.py', '--lr', '0.1'])
    """
    parser = _parser()
    args = parser.parse_args(argv)
    if args.nnodes != "1":
        parser.error(f"--nnodes must be 1, got {args.nnodes}: name the machines by --hosts a,b")
    if args.standalone and args.hosts:
        parser.error("--standalone and --hosts exclude each other")
    count = str(len(os.sched_getaffinity(0))) if args.n in ("auto", "cpu") else args.n
    if not count.isdecimal() or int(count) < 1:
        parser.error(f"-n must be a positive number or auto, got {args.n}")
    hosts = args.hosts.split(",") if args.hosts else []
    words = [mpiexec, "-n", str(int(count) * max(len(hosts), 1))]
    if hosts:
        words += ["--host" if open_mpi else "-hosts", ",".join(f"{h}:{count}" for h in hosts)]
    if open_mpi and not hosts:
        words.append("--oversubscribe")
    program = ["-m", args.program] if args.module else [args.program]
    return [*words, sys.executable, "-m", "weft.distributed.started", *program, *args.args]


def main(argv: Sequence[str]) -> int:
    """Become the mpiexec that runs a program in several processes; return if that cannot be."""
    if argv[:1] in (["-h"], ["--help"]) or not argv:
        _parser().print_help()
        return 0 if argv else 2
    import importlib.util

    if importlib.util.find_spec("mpi4py") is None:
        print("weft launch: mpi4py is missing: pip install weft[distributed]", file=sys.stderr)
        return 1
    try:
        mpiexec = find_mpiexec()
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True).stdout
    words = command(argv, mpiexec, open_mpi="HYDRA" not in version)
    sys.stdout.flush()
    os.execve(mpiexec, words, _environment(int(words[2])))  # signals and exit code are mpiexec's


def _environment(processes: int) -> dict[str, str]:
    """What the processes find: as many threads as do not get in each other's way."""
    environment = dict(os.environ)
    cores = len(os.sched_getaffinity(0))
    environment.setdefault("OMP_NUM_THREADS", str(max(1, cores // processes)))
    return environment


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
