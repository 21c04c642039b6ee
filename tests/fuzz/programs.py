"""Random programs of views, in-place changes, hooks and collections against two oracles.

A program is a list of steps over registers that hold small float64 tensors. It runs on weft and,
in step with it, on a model made of NumPy arrays: one array of values for each memory, which all tensors
on it share, and one array of derivatives for each *family*, a base with its views. What is detached, or
seen or written under ``no_grad``, belongs to another family: values are shared, derivatives are not.
Derivatives come from finite differences with an imaginary step, which have no rounding error; second
ones from central differences of those. Where PyTorch is importable, it runs the same program.

A step that weft refuses for one of the reasons in ``_REFUSALS`` is left out.
"""

from __future__ import annotations

import gc
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

import weft

from ._program_ops import STEPS, strided_arguments, strided_places

try:
    import torch
except ImportError:
    torch = None

_SHAPES = [(4,), (6,), (2, 3), (3, 2), (2, 2, 2), (4, 2), (1, 3), (), (2, 1, 2)]
_WEIGHTS = {"view": 8, "value": 6, "inplace": 8, "geometry": 3}
_EXTRA = ["as_strided", "reshape", "flatten", "contiguous", "detach", "data", "gc", "as_strided"]
_STEP = 1e-50  # imaginary: nothing is subtracted, so it may be as small as one likes
_HUGE = 1e4

# Why weft may refuse a step or a backward pass, as its messages say it.
_REFUSALS = {
    "leaf": "a leaf Variable that requires grad|a view of a leaf Variable",
    "shared memory": "refers to a single memory location|whose elements share memory",
    "not viewable": "view size is not compatible",
    "kept value changed": "modified by an inplace operation",
    "view made under no_grad": "view was created in no_grad mode",
    "beyond the base": "reaches beyond its base",
    "read twice": "backward through the graph a second time",
}
_seen: Counter[str] = Counter()  # what happened, for a summary of many cases


def generate(rng: random.Random) -> Any:
    """Return one program: leaves, steps, what is asked of it at the end."""
    pure = rng.random() < 0.4  # of nothing that cuts the graph: can be differentiated twice
    kinds = [[n for n, s in STEPS.items() if s.kind == kind] for kind in _WEIGHTS]
    steps = []
    leaves = [[list(rng.choice(_SHAPES)), rng.random() < 0.85] for _ in range(rng.randint(1, 3))]
    for at in range(rng.randint(3, 30)):
        if at < len(leaves) and rng.random() < 0.7:
            steps.append(
                {
                    "op": rng.choice(["scale", "sin", "clone"]),
                    "on": [len(leaves) - 1, 0],
                    "n": [9] * 6,
                }
            )
            continue
        if rng.random() < 0.12:
            name = rng.choice(_EXTRA)
            if pure and name in ("detach", "data"):
                name = "reshape"
        else:
            name = rng.choice(rng.choices(kinds, list(_WEIGHTS.values()))[0])
        step = {
            "op": name,
            "on": [_recent(rng), rng.randrange(100)],
            "n": [rng.randrange(1000) for _ in range(6)],
        }
        if not pure and rng.random() < 0.08:
            step["no_grad"] = True
        if not pure and rng.random() < 0.06:
            step["hook"] = rng.choice([0.5, 2.0, -1.0])
        if rng.random() < 0.06:
            step["retain"] = True
        steps.append(step)
    return {
        "seed": rng.randrange(2**31),
        "leaves": leaves,
        "steps": steps,
        "outputs": [_recent(rng) for _ in range(rng.randint(1, 4))],
        "ask": rng.choice(
            ["second", "second", "grad", "twice"] if pure else ["backward", "grad", "twice"]
        ),
    }


def _recent(rng: random.Random) -> int:
    """A register, counted from the newest; new ones more often."""
    return int(rng.random() ** 2 * 12)


def shrink(case: Any) -> Iterator[Any]:
    """Yield smaller programs: fewer steps, outputs, leaves, flags."""
    steps = case["steps"]
    size = len(steps) // 2
    while size:
        for at in range(0, len(steps), size):
            yield {**case, "steps": steps[:at] + steps[at + size :]}
        size //= 2
    for key in ("outputs", "leaves"):
        for i in range(len(case[key]) if len(case[key]) > 1 else 0):
            yield {**case, key: case[key][:i] + case[key][i + 1 :]}
    for i, step in enumerate(steps):
        for flag in ("no_grad", "hook", "retain"):
            if flag in step:
                less = {k: v for k, v in step.items() if k != flag}
                yield {**case, "steps": [*steps[:i], less, *steps[i + 1 :]]}
    if case["ask"] != "grad":
        yield {**case, "ask": "grad"}


# ---- the model


class _Memory:
    """Values that all tensors on it share, and a derivative for each family and direction."""

    def __init__(self, size: int) -> None:
        self.values = np.zeros(size)
        self.slopes: list[np.ndarray] = []

    def family(self) -> int:
        self.slopes.append(np.zeros((2, len(self.values))))
        return len(self.slopes) - 1


class _Handle:
    """A tensor of the model: which memory, which family, which places."""

    def __init__(self, memory: _Memory, family: int, places: np.ndarray) -> None:
        self.memory, self.family, self.places = memory, family, places

    def values(self) -> np.ndarray:
        return self.memory.values[self.places]

    def along(self, k: int) -> np.ndarray:
        """Values with the derivative along direction k in their imaginary parts."""
        slope = self.memory.slopes[self.family][k][self.places]
        return self.values() + 1j * _STEP * slope

    def write(self, values: np.ndarray, slopes: list[np.ndarray] | None) -> None:
        """Change the values, which all families share, and the derivatives of this one if given."""
        self.memory.values[self.places] = values
        if slopes is not None:
            for k in range(2):
                self.memory.slopes[self.family][k][self.places] = slopes[k]


def _computed(compute: Any, args: Any, xs: list[_Handle]) -> tuple[np.ndarray, list[np.ndarray]]:
    values = np.asarray(compute(*[x.values() for x in xs], args))
    slopes = [np.imag(compute(*[x.along(k) for x in xs], args)) / _STEP for k in range(2)]
    return values, slopes


class _Model:
    """Runs steps that are resolved: (name, registers, arguments, flags, what weft said of it)."""

    def __init__(self, leaves: list[np.ndarray], wanted: list[bool], seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.registers: list[_Handle] = []
        self.directions: list[np.ndarray] = []
        for value, wants in zip(leaves, wanted):
            handle = self.fresh(value, [value.size, *_contiguous(value.shape)])
            slopes = rng.standard_normal((2, *value.shape)) * wants
            handle.write(value, list(slopes))
            self.directions.append(slopes)
            self.registers.append(handle)

    def fresh(self, values: np.ndarray, layout: list[Any]) -> _Handle:
        size, strides, offset = layout
        memory = _Memory(size)
        handle = _Handle(memory, memory.family(), strided_places(values.shape, strides, offset))
        memory.values[handle.places] = values
        return handle

    def run(self, step: dict[str, Any]) -> None:
        name, args, said = step["op"], step["args"], step["said"]
        xs = [self.registers[i] for i in step["on"]]
        recorded = not step.get("no_grad")
        row = STEPS.get(name)
        kind = row.kind if row else said["kind"]
        if kind == "view":
            self.view(
                xs[0], row.compute(xs[0].places, args) if row else said["places"](xs[0]), said
            )
        elif kind == "geometry":
            xs[0].places = row.compute(xs[0].places, args)
        elif kind == "inplace":
            values, slopes = _computed(row.compute, args, xs)
            xs[0].write(values, slopes if recorded else None)
        elif kind == "value":
            values, slopes = _computed(row.compute if row else lambda x, a: x.reshape(a), args, xs)
            handle = self.fresh(values, said["layout"])
            scale = step.get("hook", 1.0)
            handle.write(values, [scale * s for s in slopes] if recorded else None)
            self.registers.append(handle)

    def view(self, x: _Handle, places: Any, said: dict[str, Any]) -> None:
        if said.get("same"):
            self.registers.append(x)
            return
        family = x.memory.family() if said.get("cut") else x.family
        for p in places[:3] if isinstance(places, list) else [places]:
            self.registers.append(_Handle(x.memory, family, np.asarray(p)))

    def loss(self, outputs: list[int]) -> list[float]:
        """Return the derivatives of the loss along the directions."""
        found = np.zeros(2)
        for i in outputs:
            x = self.registers[i]
            for k in range(2):
                found[k] += (
                    x.memory.slopes[x.family][k][x.places] * _weights(x.places.shape)
                ).sum()
        return list(found)


def _contiguous(shape: tuple[int, ...]) -> list[Any]:
    strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    return [strides, 0]


def _weights(shape: tuple[int, ...]) -> np.ndarray:
    return np.cos(1.0 + np.arange(int(np.prod(shape)))).reshape(shape)


# ---- a library


def _called(lib: Any, registers: list[Any], step: dict[str, Any]) -> list[Any]:
    """Run one resolved step; return the new registers."""
    name, args = step["op"], step["args"]
    xs = [registers[i] for i in step["on"]]
    with lib.no_grad() if step.get("no_grad") else nullcontext():
        if name in STEPS:
            made = STEPS[name].call(lib, xs, args)
            kind = STEPS[name].kind
        elif name == "gc":
            gc.collect()
            return []
        else:
            kind = "view"
            made = {
                "reshape": lambda: xs[0].reshape(args),
                "flatten": lambda: xs[0].flatten(),
                "contiguous": lambda: xs[0].contiguous(),
                "detach": lambda: xs[0].detach(),
                "data": lambda: xs[0].data,
            }[name]()
    if kind in ("inplace", "geometry"):
        return []
    found = list(made)[:3] if isinstance(made, (tuple, list)) else [made]
    for t in found:
        if "hook" in step and t.requires_grad:
            t.register_hook(lambda g, k=step["hook"]: g * k)
        if "retain" in step and t.requires_grad and not t.is_leaf:
            t.retain_grad()
    return found


def _leaves(lib: Any, values: list[np.ndarray], wanted: list[bool]) -> list[Any]:
    made = [lib.tensor(v.tolist(), dtype=lib.float64) for v in values]
    return [t.requires_grad_() if wants else t for t, wants in zip(made, wanted)]


def _finish(
    lib: Any, leaves: list[Any], registers: list[Any], case: Any, outputs: list[int], along: Any
) -> list[list[np.ndarray]]:
    """Return gradients of the leaves, of the first order and where asked for of the second."""
    loss: Any = 0.0
    for i in outputs:
        weights = lib.from_numpy(_weights(tuple(registers[i].shape)))
        loss = loss + (registers[i] * weights).sum()
    inputs = [t for t in leaves if t.requires_grad]
    if not inputs or not loss.requires_grad:
        return [[np.zeros(tuple(t.shape)) for t in leaves]]
    if case["ask"] in ("backward", "twice"):
        loss.backward(retain_graph=case["ask"] == "twice")
        if case["ask"] == "twice":
            loss.backward()
        half = 0.5 if case["ask"] == "twice" else 1.0
        return [[_array(t.grad, t) * half for t in leaves]]
    second = case["ask"] == "second"
    found = lib.autograd.grad(loss, inputs, create_graph=second, allow_unused=True)
    by_leaf = dict(zip([id(t) for t in inputs], found))
    first = [_array(by_leaf.get(id(t)), t) for t in leaves]
    if not second:
        return [first]
    total: Any = 0.0
    for t, d in zip(leaves, along):
        g = by_leaf.get(id(t))
        if g is not None:
            total = total + (g * lib.from_numpy(np.asarray(d))).sum()
    if isinstance(total, float) or not total.requires_grad:
        return [first, [np.zeros(tuple(t.shape)) for t in leaves]]
    again = lib.autograd.grad(total, inputs, allow_unused=True)
    by_leaf = dict(zip([id(t) for t in inputs], again))
    return [first, [_array(by_leaf.get(id(t)), t) for t in leaves]]


def _array(t: Any, like: Any = None) -> np.ndarray:
    return np.zeros(tuple(like.shape)) if t is None else t.detach().numpy().copy()


# ---- one program


class _Run:
    """A program on weft, with the model in step."""

    def __init__(self, case: Any) -> None:
        rng = np.random.default_rng(case["seed"])
        self.case = case
        self.wanted = [wants for _, wants in case["leaves"]]
        self.values = [rng.uniform(-1, 1, tuple(shape)) for shape, _ in case["leaves"]]
        self.leaves = _leaves(weft, self.values, self.wanted)
        self.registers = list(self.leaves)
        self.model = _Model(self.values, self.wanted, case["seed"])
        self.plan: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self.origins: dict[int, str] = {}  # "data": a view of what .data gave
        self.overlapped = (
            False  # an operand shared memory with what was written: PyTorch may be wrong
        )
        self.rewritten = False  # something was changed in place
        self.untracked = False  # something was written through .data: nobody knows of it

    def resolved(self, step: dict[str, Any]) -> dict[str, Any] | None:
        count = len(self.registers)
        name = step["op"]
        on = [max(0, count - 1 - n) % count for n in step["on"]]
        on[1] = step["on"][1] % count
        row = STEPS.get(name)
        if row and row.kind == "inplace" and not step.get("no_grad"):
            on[0] = self.writable(on[0])
        handles = [self.model.registers[i] for i in on]
        if handles[0].places.size == 0:
            return None
        if name == "as_strided":
            args: Any = strided_arguments(len(handles[0].memory.values), step["n"])
        elif row:
            args = row.resolve([h.places.shape for h in handles[: row.tensors]], step["n"])
        else:
            args = list(handles[0].places.shape)
            if name == "reshape":
                args = STEPS["view"].resolve([handles[0].places.shape], step["n"])
                args = args and args[0]
            elif name == "flatten":
                args = [handles[0].places.size]
        shared = len(np.unique(handles[0].places)) < handles[0].places.size
        if args is None or (shared and name.startswith(("set_", "add_rows"))):
            return None  # one place would be written and left at once
        flags = {k: v for k, v in step.items() if k in ("no_grad", "hook", "retain")}
        if not row or row.kind != "value":
            flags.pop("hook", None)
        if row and row.kind == "geometry" and any(t is self.registers[on[0]] for t in self.leaves):
            return None  # gradients of the shape that it had would not fit
        return {"op": name, "on": on[: row.tensors if row else 1], "args": args, **flags}

    def writable(self, at: int) -> int:
        """The register, or the next older one, that lies in no leaf's memory; else the same."""
        leaves = [h.memory for h, w in zip(self.model.registers, self.wanted) if w]
        older = [i for i in range(at, -1, -1) if self.model.registers[i].memory not in leaves]
        return older[0] if older else at

    def step(self, raw: dict[str, Any]) -> None:
        step = self.resolved(raw)
        if step is None:
            return
        xs = [self.registers[i] for i in step["on"]]
        wanted = bool(xs[0].requires_grad)
        row = STEPS.get(step["op"])
        try:
            made = _called(weft, self.registers, step)
        except (RuntimeError, IndexError) as error:
            self.refused.append(_reason(error, step))
            return
        step["said"] = self.said(step, made, xs, wanted)
        self.registers += made
        self.model.run(step)
        self.plan.append(step)
        self.rewritten |= bool(row) and row.kind in ("inplace", "geometry")
        memories = [self.model.registers[i].memory for i in step["on"]]
        if row and row.kind == "inplace" and memories.count(memories[0]) > 1:
            self.overlapped = True
        if row and row.kind == "inplace" and "data" in step["said"]["origin"]:
            self.untracked = True
        if made:
            self.compare(made, self.model.registers[-len(made) :], step)
        else:
            self.compare(xs[:1], [self.model.registers[step["on"][0]]], step)

    def said(self, step: Any, made: list[Any], xs: list[Any], wanted: bool) -> dict[str, Any]:
        """What the model cannot know by itself: layouts, and whether reshape copied."""
        name = step["op"]
        said: dict[str, Any] = {"origin": self.origins.get(step["on"][0], "")}
        if name == "gc":
            return {**said, "kind": "none"}
        row = STEPS.get(name)
        kind = row.kind if row else "view"
        if made and not row:
            shares = made[0]._storage_ptr() == xs[0]._storage_ptr() or name in ("detach", "data")
            kind = "view" if shares else "value"
            shape = tuple(step["args"])
            said["places"] = lambda x: x.places.reshape(shape)
            if made[0] is xs[0]:
                said["same"] = True
        said["kind"] = kind
        if kind == "view":
            cut = step.get("no_grad") and wanted and not said.get("same")
            said["cut"] = bool(cut) or name in ("detach", "data")
            for i in range(len(made)):
                at = len(self.registers) + i
                self.origins[at] = "data" if name == "data" else said["origin"]
        if kind == "value":
            t = made[0]
            said["layout"] = [t._storage_bytes() // 8, list(t.stride()), t.storage_offset()]
        return said

    def compare(self, tensors: list[Any], handles: list[_Handle], step: Any) -> None:
        for t, h in zip(tensors, handles):
            got, want = _array(t), h.values()
            assert got.shape == want.shape and np.allclose(got, want, 1e-9, 1e-9), (
                f"{step['op']} gave {got.tolist()}, expected {want.tolist()}\n{self.text()}"
            )

    def known_difference(self) -> str:
        """Why gradients may differ from PyTorch's; nothing if they may not."""
        if self.untracked:
            return "a change through .data"
        for s in self.plan:
            if s["op"] == "as_strided":
                return (
                    "as_strided, of whose elements outside of its input PyTorch drops the gradient"
                )
            if s.get("no_grad") and s["op"] in STEPS and STEPS[s["op"]].kind == "geometry":
                return "a change of geometry under no_grad, which PyTorch's history does not follow"
        return ""

    def text(self) -> str:
        """The program as it ran."""
        lines = [f"leaves {[list(v.shape) for v in self.values]} wanted {self.wanted}"]
        lines += [
            f"  {s['op']} on {s['on']} {s['args']}"
            + "".join(f" {k}={s[k]}" for k in ("no_grad", "hook", "retain") if k in s)
            for s in self.plan
        ]
        return "\n".join(lines)


def _reason(error: Exception, step: Any) -> str:
    for name, pattern in _REFUSALS.items():
        if re.search(pattern, str(error)):
            return name
    raise AssertionError(f"refused for no known reason: {step and step['op']}: {error}")


def check(case: Any) -> None:
    """Run a program; raise AssertionError where weft differs from an oracle."""
    if not gc.get_freeze_count():
        gc.freeze()  # what the libraries made is not looked at again and again
    run = _Run(case)
    for raw in case["steps"]:
        run.step(raw)
        if any(np.abs(h.values()).max(initial=0) > _HUGE for h in run.model.registers[-3:]):
            break
    count = len(run.registers)
    outputs = sorted({max(0, count - 1 - n) for n in case["outputs"]})
    along = [d[0] for d in run.model.directions]
    try:
        found = _finish(weft, run.leaves, run.registers, case, outputs, along)
    except RuntimeError as error:
        run.refused.append(_reason(error, None))
        found = None
    _seen.update(["programs", *[f"refused: {r}" for r in run.refused]])
    if found is not None and not run.untracked:
        _compare_slopes(run, found, outputs)
    if torch is not None:
        _compare_with_torch(run, found, outputs, along)


def _compare_slopes(run: _Run, found: Any, outputs: list[int]) -> None:
    for k, want in enumerate(run.model.loss(outputs)):
        got = sum((g * d[k]).sum() for g, d in zip(found[0], run.model.directions))
        assert abs(got - want) <= 1e-8 * (1 + abs(want)), (
            f"directional derivative {got}, finite differences {want}\n{run.text()}"
        )
    _seen["first order checked"] += 1
    if len(found) < 2:
        return
    eps, sides = 1e-5, []
    for sign in (1, -1):
        moved = [v + sign * eps * d[1] for v, d in zip(run.values, run.model.directions)]
        model = _Model(moved, run.wanted, run.case["seed"])
        for step in run.plan:
            model.run(step)
        sides.append(model.loss(outputs)[0])
    want = (sides[0] - sides[1]) / (2 * eps)
    got = sum((g * d[1]).sum() for g, d in zip(found[1], run.model.directions))
    scale = 1 + abs(want) + abs(sides[0])
    assert abs(got - want) <= 1e-5 * scale, (
        f"second derivative {got}, finite differences {want}\n{run.text()}"
    )
    _seen["second order checked"] += 1


def _laid_out_alike(t: Any, step: Any) -> bool:
    size, strides, offset = step["said"]["layout"]
    whole = size == t.untyped_storage().nbytes() // 8 and offset == t.storage_offset()
    return whole and all(n < 2 or a == b for n, a, b in zip(t.shape, t.stride(), strides))


def _compare_with_torch(run: _Run, found: Any, outputs: list[int], along: Any) -> None:
    leaves = _leaves(torch, run.values, run.wanted)
    registers = list(leaves)
    for step in run.plan:
        try:
            made = _called(torch, registers, step)
        except (RuntimeError, IndexError) as error:
            _seen["PyTorch refuses: " + str(error).split(".")[0][:60]] += 1
            return
        if made and "layout" in step["said"] and not _laid_out_alike(made[0], step):
            _seen[f"other layout than PyTorch's: {step['op']}"] += 1
            return
        registers += made
    for i, (mine, other) in enumerate(zip(run.registers, registers)):
        a, b = _array(mine), _array(other)
        if run.overlapped and not np.allclose(a, b, 1e-9, 1e-9):
            _seen["differs from PyTorch after an operand that overlaps what is written"] += 1
            return
        assert a.shape == b.shape and np.allclose(a, b, 1e-9, 1e-9), (
            f"register {i} is {a.tolist()}, in PyTorch {b.tolist()}\n{run.text()}"
        )
    try:
        want = _finish(torch, leaves, registers, run.case, outputs, along)
    except RuntimeError as error:
        _seen["PyTorch refuses: " + str(error).split(".")[0][:60]] += 1
        return
    if found is None:
        _seen["weft refuses backward, PyTorch does not"] += 1
        return
    for order, (mine, other) in enumerate(zip(found, want)):
        for i, (a, b) in enumerate(zip(mine, other)):
            if not np.allclose(a, b, 1e-8, 1e-8):
                if why := run.known_difference():  # finite differences have decided already
                    _seen[f"differs from PyTorch after {why}"] += 1
                    return
                raise AssertionError(
                    f"gradient {i} of order {order + 1} is {a.tolist()}, in PyTorch {b.tolist()}\n"
                    + run.text()
                )
    _compare_retained(run, registers)
    _seen["compared with PyTorch"] += 1


def _compare_retained(run: _Run, registers: list[Any]) -> None:
    for i, (mine, other) in enumerate(zip(run.registers, registers)):
        if i < len(run.leaves) or not (mine.retains_grad and other.retains_grad):
            continue
        a, b = _array(mine.grad, mine), _array(other.grad, other)
        if a.shape != b.shape or (run.rewritten and not np.allclose(a, b, 1e-8, 1e-8)):
            _seen["retained gradient differs from PyTorch after a change in place"] += 1
            continue
        assert np.allclose(a, b, 1e-8, 1e-8), (
            f"the retained gradient of register {i} is {a.tolist()}, in PyTorch {b.tolist()}\n"
            + run.text()
        )
