"""Forward passes of usual networks beside ONNX Runtime, OpenVINO and PyTorch, on one thread.

PyTorch exports each network (``python -m bench.inference NETWORK BATCH``) to a file that both engines read,
with its own answer beside it. Every library has to give that answer before its calls are timed.
Times are CPU time: whether an engine works in the calling thread or in one of its own, all of it counts.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness import ENGINES, MEANS, ROOT, WRONG, Line, Mean, Row, Setup, Worker, register
from bench.memory import COMPILED
from bench.networks import NETWORKS, network
from bench.report import amount, as_json, geometric_mean, three_digits

BATCHES = (1, 16)
#: At batch 16 these take seconds a call: with ``WEFT_BENCH_INFERENCE_LARGE=1`` only.
LARGE = ("bert_base", "gpt2_prefill", "resnet50")
TOLERANCE = 1e-3  # of the largest number in the answer
OPSET = 20  # the newest one that this exporter knows
FOLDER = ROOT / "build" / "bench-inference"
#: How each library answers; the best way counts.
MODES = {
    "weft": ("compile", "optimized"),
    "torch": ("eager", "frozen"),
    "onnxruntime": ("run", "bound"),
    "openvino": ("latency",),
}
NAMES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "torch": "PyTorch"}

Work = Callable[[], object]


# ------------------------------------------------------------------------------- files and answers


def place(name: str, batch: int) -> Path:
    """The folder of a network's file and answer."""
    return FOLDER / f"{name}-{batch}"


def export(name: str, batch: int) -> None:
    """Write PyTorch's answer, then the network as ``model.onnx``."""
    import torch

    folder = place(name, batch)
    folder.mkdir(parents=True, exist_ok=True)
    made = network(name, torch, batch)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.savez(folder / "inputs.npz", *made.arrays)
        np.savez(folder / "answer.npz", *listed(made.model(*made.inputs)))
        inputs = tuple(made.inputs)
        names = [f"input{i}" for i in range(len(inputs))]
        file = folder / "model.onnx"
        options: dict[str, Any] = {"input_names": names, "opset_version": OPSET, "dynamo": False}
        torch.onnx.export(made.model, inputs, str(file), **options)


@contextmanager
def exported(name: str, size: str, workers: Mapping[str, Worker]) -> Iterator[None]:
    """The files of a row for as long as it is measured, made by an interpreter that has PyTorch."""
    batch = int(size.removeprefix("b"))
    folder = place(name, batch)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    why = "PyTorch is missing"
    able = [workers[label].library.python for label in (*ENGINES, "torch") if label in workers]
    for python in dict.fromkeys(able):
        command = [python, "-m", "bench.inference", name, str(batch)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode == 0:
            why = ""
            break
        why = (done.stderr.strip().splitlines() or ["the exporter died"])[-1]
    if why:
        (folder / "failed").write_text(why)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def onnx_file(name: str, batch: int) -> str:
    """The exported network; an error if there is none."""
    failed = place(name, batch) / "failed"
    if failed.exists():
        raise RuntimeError(f"no export: {failed.read_text()}")
    return str(place(name, batch) / "model.onnx")


def stored(name: str, batch: int, what: str) -> list[np.ndarray]:
    """A row's ``"inputs"`` or PyTorch's ``"answer"``."""
    with np.load(place(name, batch) / f"{what}.npz") as kept:
        return [kept[key] for key in kept.files]


def listed(answer: Any) -> list[np.ndarray]:
    """A network's answer as arrays: one tensor, or several."""
    given = answer if isinstance(answer, (tuple, list)) else [answer]
    return [np.asarray(one) for one in given]


def agree(name: str, batch: int, found: list[np.ndarray]) -> None:
    """Raise if an answer is not PyTorch's, as far as float32 can tell."""
    if not (place(name, batch) / "answer.npz").exists():
        return  # then there is no peer to be compared with either
    wanted = stored(name, batch, "answer")
    if [one.shape for one in found] != [one.shape for one in wanted]:
        shapes = f"{[one.shape for one in found]}, not {[one.shape for one in wanted]}"
        raise AssertionError(f"{WRONG}: shapes {shapes}")
    for mine, theirs in zip(found, wanted):
        error = float(np.abs(mine - theirs).max() / np.abs(theirs).max())
        if not error <= TOLERANCE:  # also if it is not a number
            raise AssertionError(f"{WRONG}: relative error {error:.1e}")


# ---------------------------------------------------------------------------- how libraries answer


def answer_weft(lib: Any, mode: str, name: str, batch: int) -> Work:
    """``weft.compile``, or ``optimize_for_inference`` of a trace."""
    made = network(name, lib, batch)
    given = made.inputs
    with lib.no_grad():
        if mode == "compile":
            model = lib.compile(made.model)
        else:
            model = lib.jit.optimize_for_inference(lib.jit.trace(made.model, tuple(given)))

    def forward() -> Any:
        with lib.no_grad():
            return model(*given)

    for _ in range(COMPILED):
        found = forward()
    agree(name, batch, listed(found))
    return forward


def answer_torch(lib: Any, mode: str, name: str, batch: int) -> Work:
    """Eager, or a trace that is frozen and optimised."""
    made = network(name, lib, batch)
    model, given = made.model, made.inputs
    if mode == "frozen":
        with lib.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = lib.jit.trace(model, tuple(given), check_trace=False)
            model = lib.jit.optimize_for_inference(traced)

    def forward() -> Any:
        with lib.no_grad():
            return model(*given)

    for _ in range(3):  # PyTorch's executor profiles two calls and optimises then
        found = forward()
    agree(name, batch, listed(found))
    return forward


def answer_onnxruntime(lib: Any, mode: str, name: str, batch: int) -> Work:
    """A session with arrays, or with inputs and outputs bound to memory that stays."""
    options = lib.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = lib.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    file = onnx_file(name, batch)
    session = lib.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    arrays = stored(name, batch, "inputs")
    given = {one.name: array for one, array in zip(session.get_inputs(), arrays)}
    agree(name, batch, session.run(None, given))
    if mode == "run":
        return partial(session.run, None, given)
    binding = session.io_binding()
    kept = {key: lib.OrtValue.ortvalue_from_numpy(array) for key, array in given.items()}
    for key, value in kept.items():
        binding.bind_ortvalue_input(key, value)
    for output in session.get_outputs():
        shape = [int(size) for size in output.shape]
        empty = lib.OrtValue.ortvalue_from_shape_and_type(shape, np.float32)
        binding.bind_ortvalue_output(output.name, empty)

    def forward(inputs: Any = (given, kept)) -> None:  # the binding does not own them
        session.run_with_iobinding(binding)

    forward()
    agree(name, batch, binding.copy_outputs_to_cpu())
    return forward


def answer_openvino(lib: Any, mode: str, name: str, batch: int) -> Work:
    """A request with inputs that stay where they are; float32 although the CPU may know bfloat16."""
    options = {
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
        "ENABLE_CPU_PINNING": False,
    }
    model = lib.Core().compile_model(onnx_file(name, batch), "CPU", options)
    request = model.create_infer_request()
    given = stored(name, batch, "inputs")
    for i, array in enumerate(given):
        request.set_input_tensor(i, lib.Tensor(array, shared_memory=True))

    def forward(inputs: Any = given) -> Any:  # the request does not own them
        return request.infer(share_outputs=True)

    for _ in range(2):
        found = forward()
    agree(name, batch, [found[output] for output in model.outputs])
    return forward


# ------------------------------------------------------------------------------------------- rows

GROUPS = {
    "layers": ("mlp", "lstm", "tcn"),
    "transformers": ("bert_small", "bert_base", "gpt2_prefill", "gpt2_decode", "vit_tiny"),
    "images": ("mobilenet_v2", "efficientnet_b0", "unet", "resnet18", "resnet50"),
}
ANSWERS: dict[str, Setup] = {
    "weft": answer_weft,
    "torch": answer_torch,
    "onnxruntime": answer_onnxruntime,
    "openvino": answer_openvino,
}


def _declare() -> None:
    large = os.environ.get("WEFT_BENCH_INFERENCE_LARGE") == "1"
    for group, names in GROUPS.items():
        for name in names:
            batches = BATCHES if large or name not in LARGE else BATCHES[:1]
            register(
                Row(
                    "inference",
                    group,
                    name,
                    {label: partial(answer, name=name) for label, answer in ANSWERS.items()},
                    sizes={f"b{batch}": {"batch": batch} for batch in batches},
                    quick=("b1",),
                    modes=MODES,
                    budget={"engines": 1.0},
                    clock="cpu",
                    around=partial(exported, name),
                )
            )
        MEANS[f"inference/{group}"] = Mean("engines", 1.0)
    MEANS["inference"] = Mean("engines", 1.0)


_declare()


# ------------------------------------------------------------------------------------------- table


def table(lines: list[Line], about: Mapping[str, Any]) -> str:
    """The rows as Markdown, the one in which the better engine is furthest ahead of weft first."""
    columns = {**NAMES, "engines": "better engine"}
    heads = ["network", *(f"weft, {mode}" for mode in MODES["weft"]), *NAMES.values()]
    heads += [f"{head} / weft" for head in columns.values()]
    text = ["# Inference beside ONNX Runtime, OpenVINO and PyTorch", ""]
    versions = ", ".join(
        f"{NAMES.get(label, label)} {version.split()[-1].split('-')[0]}"
        for label, version in about["libraries"].items()
        if label in ANSWERS
    )
    missing = ", ".join(NAMES[label] for label in NAMES if label in about["absent"])
    text += [
        f"{about['date']}, {about['cpu']}, {about['isa']}; {versions}; one thread each, minima of CPU "
        f"time, {about['others']:.0%} of the machine busy with other work; {about['command']}."
        + (f" Not installed: {missing}." if missing else ""),
        "",
        "A ratio is a peer's time over weft's, each in its best way: below 1 weft is slower. The *better",
        "engine* is the faster one of ONNX Runtime and OpenVINO. All answers are compared before calls are",
        "timed; an error stands in the place of a time. `b16` is batch 16.",
        "",
        "| " + " | ".join(heads) + " |",
        "| --- " * len(heads) + "|",
    ]
    for line in sorted(lines, key=_badness):
        cells = ["/".join(line.id.split("/")[2:])]
        cells += [_cell(line, "weft", mode, about) for mode in MODES["weft"]]
        cells += [_cell(line, label, "", about) for label in NAMES]
        ratios = [line.ratio(key) for key in columns]
        cells += [three_digits(ratio[0]) if ratio else "" for ratio in ratios]
        text.append("| " + " | ".join(cells) + " |")
    means = []
    for key in columns:
        found = [ratio[0] for line in lines if (ratio := line.ratio(key)) is not None]
        means.append(f"**{geometric_mean(found):.2f}**" if found else "")
    empty = [""] * (len(heads) - len(means) - 1)
    text.append("| " + " | ".join(["geometric mean", *empty, *means]) + " |")
    return "\n".join(text) + "\n"


def _badness(line: Line) -> float:
    """What rows are sorted by; those in which weft failed come first, those without a peer last."""
    ratio = line.ratio("engines")
    if ratio is not None:
        return ratio[0]
    return math.inf if line.best("weft") else -math.inf


def _cell(line: Line, label: str, mode: str, about: Mapping[str, Any]) -> str:
    """A library's time, the way that reached it, or why there is none."""
    if label in about["absent"]:
        return "not installed"
    timing = line.best(f"{label}:{mode}" if mode else label)
    if timing is None:
        why = line.errors.get(f"{label} {mode}") or line.errors.get(label) or "not measured"
        return why.replace("|", "/")[:80]
    way = f" ({timing.mode})" if not mode and len(MODES[label]) > 1 else ""
    return amount(timing.best) + way


def save(folder: Path, lines: list[Line], about: Mapping[str, Any]) -> bool:
    """Write ``inference.md`` and ``inference.json`` if all rows were measured; tell whether."""
    mine = [line for line in lines if line.family == "inference"]
    if {line.id.split("/")[2] for line in mine} != set(NETWORKS):
        return False
    (folder / "inference.md").write_text(table(mine, about))
    (folder / "inference.json").write_text(json.dumps(as_json(mine, about), indent=1) + "\n")
    return True


if __name__ == "__main__":
    export(sys.argv[1], int(sys.argv[2]))
