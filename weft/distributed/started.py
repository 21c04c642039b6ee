"""What mpiexec runs for ``python -m weft launch``: sets rank and world size, then runs the program.

MPI is started before the program: an error in its first lines ends the other processes, too.
"""

from __future__ import annotations

import os
import sys

from .start import environment, others

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str]) -> None:
    """Run a program, or with ``-m`` a module, as one of several processes."""
    from weft.compat.run import run_module, run_path

    os.environ.update(environment())
    others()
    if argv[0] == "-m":
        run_module(argv[1], argv[2:], as_torch=False)
    else:
        run_path(argv[0], argv[1:], as_torch=False)


if __name__ == "__main__":
    main(sys.argv[1:])
