"""Proves that `make sanitize` and `make tsan` catch faults: plants some and expects the reports.

Run before the suite with the kinds of faults to plant; a sanitizer that sees nothing makes it fail.
"""

import subprocess
import sys

EXPECTED = {
    "heap": "AddressSanitizer: heap-",
    "ub": "runtime error:",
    "race": "ThreadSanitizer: data race",
}


def main() -> None:
    for kind in sys.argv[1:]:
        report = EXPECTED[kind]
        code = f"import weft._C as c; c._plant_fault({kind!r})"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        if run.returncode == 0 or report not in run.stderr:
            sys.exit(
                f"the planted fault {kind!r} was not caught (exit code {run.returncode}):\n"
                f"{run.stdout}{run.stderr}"
            )
        line = next(line for line in run.stderr.splitlines() if report in line)
        print(f"planted {kind}: caught: {line.strip()}")


if __name__ == "__main__":
    main()
