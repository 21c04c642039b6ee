"""What weft weighs: installed under 200 MB, its wheel under 60 MB."""

from __future__ import annotations

from bench.harness import ROOT, Line, Timing, Worker, WorkerError

INSTALLED_LIMIT = 200e6
WHEEL_LIMIT = 60e6


def _bytes(value: float) -> list[Timing]:
    return [Timing("eager", 0, [value])]


def measure(workers: dict[str, Worker]) -> list[Line]:
    """Weigh each package's folder, the same with what it requires, and weft's newest wheel."""
    package: dict[str, list[Timing]] = {}
    needed: dict[str, list[Timing]] = {}
    errors: dict[str, str] = {}
    for label, worker in workers.items():
        if label == "bare":
            continue
        try:
            answer = worker.ask(cmd="size")
        except WorkerError as error:
            errors[label] = str(error)
            continue
        package[label] = _bytes(answer["package"])
        needed[label] = _bytes(answer["needed"])
    lines = [
        Line("size", "size", "size/package", 0, "B", package, {}, INSTALLED_LIMIT, errors),
        Line("size", "size", "size/with_requirements", 0, "B", needed, {}, INSTALLED_LIMIT, errors),
    ]
    wheels = sorted(ROOT.glob("dist/weft-*.whl"), key=lambda wheel: wheel.stat().st_mtime)
    wheel = Line("size", "size", "size/wheel", 0, "B", {}, {}, WHEEL_LIMIT)
    if wheels:
        wheel.timings = {"weft": _bytes(wheels[-1].stat().st_size)}
    else:
        wheel.skipped = "no wheel in dist/"
    return [*lines, wheel]
