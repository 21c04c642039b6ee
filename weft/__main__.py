"""The command line: ``python -m weft`` and its commands.

python -m weft                   version, instruction set, threads, ops, memory
python -m weft doctor            whether weft works here, what it uses, what could be better
python -m weft ops               every op, by name
python -m weft ops NAME          the signatures and the doc of one op
python -m weft run SCRIPT ...    run a program written for PyTorch (also -m MODULE; --watch before
                                 it opens a page that shows the program while it trains)
python -m weft check FILE ...    list the names of PyTorch it uses, and which of them weft lacks
python -m weft profile SCRIPT ... run a program and print where its time goes
python -m weft memory SCRIPT ...  run a program and print what holds memory, and what the peak was
python -m weft launch -n 2 SCRIPT ...  run a program in several processes, over MPI
python -m weft examples          the examples, by name
python -m weft examples NAME ... runs one
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import textwrap

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.ops import OpInfo


def instruction_set() -> str:
    """Return the set of instructions that the loops use here: base, avx2 or avx512.

    >>> instruction_set() in ("base", "avx2", "avx512")
    True
    """
    if hasattr(weft._C, "_isa"):
        return weft._C._isa()
    # The rule of csrc/loops/choose.cpp, as long as the native module does not tell.
    best = "base"
    if platform.machine() in ("x86_64", "AMD64") and os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            flags = next((set(line.split()) for line in f if line.startswith("flags")), set())
        if flags >= {"avx2", "fma", "bmi2"}:
            best = "avx2"
            if flags >= {"avx512f", "avx512dq", "avx512bw", "avx512vl"}:
                best = "avx512"
    sets = ("base", "avx2", "avx512")
    wish = os.environ.get("WEFT_ISA", best)
    return min(best, wish, key=sets.index) if wish in sets else best


def summary() -> str:
    """Return the state of this weft as text.

    >>> summary().splitlines()[0].split()[0]
    'weft'
    """
    stats = weft._C._memory_stats()
    lines = {
        "weft": f"{weft.__version__}, Python {platform.python_version()}",
        "package": os.path.dirname(os.path.abspath(weft.__file__)),
        "instruction set": instruction_set(),
        "threads": str(weft.get_num_threads()),
        "ops": str(len(weft.ops.registry())),
        "memory": f"{size(stats['live'])} live, {size(stats['peak'])} peak, "
        f"{size(stats['cached'])} kept for reuse",
    }
    return "\n".join(f"{name:<16}  {text}" for name, text in lines.items())


def size(bytes: int) -> str:
    """Return a number of bytes in the unit that suits it.

    >>> size(3 << 20)
    '3.0 MiB'
    """
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    power = min(max(bytes.bit_length() - 1, 0) // 10, len(units) - 1)
    return f"{bytes / 1024**power:.1f} {units[power]}" if power else f"{bytes} B"


def listing(ops: dict[str, OpInfo], width: int = 80) -> str:
    """Return the names of ops in columns.

    >>> listing({"exp": None, "add": None})
    'add  exp'
    """
    names = sorted(ops)
    column = max(map(len, names)) + 2
    across = max(1, width // column)
    rows = [names[i : i + across] for i in range(0, len(names), across)]
    return "\n".join("".join(f"{n:<{column}}" for n in row).rstrip() for row in rows)


def page(info: OpInfo) -> str:
    """Return the signatures, the doc and the forms of an op.

    >>> print(page(weft.ops.registry()["tanh"]).splitlines()[0])
    tanh(Tensor input) -> Tensor
    """
    forms = ["function"]
    forms += [f"method Tensor.{info.name}"] if info.method else []
    forms += [f"in place: {info.name}_"] if info.inplace else []
    forms += ["out="] if info.out else []
    forms += ["a view of its input"] if info.view else []
    derivative = "yes" if info.derivative is True else f"none: {info.derivative}"
    head, _, rest = info.doc.strip().partition("\n")
    return "\n".join(
        [
            *info.signatures,
            "",
            *f"{head}\n{textwrap.dedent(rest)}".strip().splitlines(),
            "",
            f"forms       {', '.join(forms)}",
            f"derivative  {derivative}",
        ]
    )


def find(ops: dict[str, OpInfo], name: str) -> OpInfo | None:
    """Return an op by its name: also linalg.inv for linalg_inv, and add_ for add.

    >>> find(weft.ops.registry(), "weft.tanh_").name
    'tanh'
    """
    plain = name.removeprefix("weft.").removeprefix("Tensor.").replace(".", "_")
    return ops.get(plain) or ops.get(plain.removesuffix("_"))


def run_examples(args: argparse.Namespace) -> int:
    """List the examples, run one or all of them, and return the exit code.

    >>> run_examples(argparse.Namespace(name="no_such_example", options=[], page=None))
    1
    """
    from weft.utils import gallery

    if args.page:
        return min(gallery.run_all(args.page), 1)
    if args.name is None:
        print(gallery.listing())
        return 0
    try:
        return gallery.run(args.name, args.options)
    except LookupError as error:
        print(error, file=sys.stderr)
        return 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ["run"]:  # what follows is the program's
        from weft.compat.run import main as run

        return run(argv[1:])
    if argv[:1] == ["check"]:
        from weft.compat.check import main as check

        return check(argv[1:])
    if argv[:1] == ["profile"]:
        from weft.profiler.command import main as profile

        return profile(argv[1:])
    if argv[:1] == ["memory"]:
        from weft.debug.memory_command import main as memory

        return memory(argv[1:])
    if argv[:1] == ["launch"]:
        from weft.distributed.launch import main as launch

        return launch(argv[1:])
    parser = argparse.ArgumentParser(prog="python -m weft", description="What this weft is.")
    parser.add_argument("--version", action="version", version=f"weft {weft.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("info", help="version, instruction set, threads, ops, memory (default)")
    commands.add_parser("doctor", help="whether weft works here, and what could be better")
    commands.add_parser("run", help="run a program written for PyTorch")
    commands.add_parser("check", help="list the names of PyTorch that programs use")
    commands.add_parser("profile", help="run a program and print where its time goes")
    commands.add_parser("memory", help="run a program and print what holds its memory")
    commands.add_parser("launch", help="run a program in several processes")
    ops_parser = commands.add_parser("ops", help="list the ops, or print the doc of one")
    ops_parser.add_argument("name", nargs="?", help="an op, such as softmax or linalg.inv")
    gallery = commands.add_parser("examples", help="list the examples, or run one")
    gallery.add_argument("name", nargs="?", help="an example, such as linear_regression")
    gallery.add_argument("options", nargs=argparse.REMAINDER, help="what it is given")
    gallery.add_argument("--page", help="run all of them and write what they reached to this page")
    args = parser.parse_args(argv)
    if args.command == "examples":
        return run_examples(args)
    if args.command == "doctor":
        from weft.utils.doctor import main as doctor

        return doctor()
    if args.command != "ops":
        print(summary())
        return 0
    ops = weft.ops.registry()
    if args.name is None:
        print(listing(ops))
        return 0
    info = find(ops, args.name)
    if info is not None:
        print(page(info))
        return 0
    import difflib

    near = difflib.get_close_matches(args.name, ops, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    print(f"weft has no op named '{args.name}'{hint}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # `python -m weft ops | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
