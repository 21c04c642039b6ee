"""Proves that `make sanitize` catches faults: plants one of each kind and expects the report.

Run by `make sanitize` before the suite; a sanitizer that sees nothing makes it fail.
"""

import subprocess
import sys

EXPECTED = {"heap": "AddressSanitizer: heap-", "ub": "runtime error:"}


def main() -> None:
    for kind, report in EXPECTED.items():
        code = f"import weft._C as c; c._plant_fault({kind!r}); print('survived')"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        if run.returncode == 0 or "survived" in run.stdout or report not in run.stderr:
            sys.exit(
                f"the planted fault {kind!r} was not caught (exit code {run.returncode}):\n"
                f"{run.stdout}{run.stderr}"
            )
        line = next(line for line in run.stderr.splitlines() if report in line)
        print(f"planted {kind}: caught: {line.strip()}")


if __name__ == "__main__":
    main()
