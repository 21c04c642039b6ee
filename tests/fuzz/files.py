"""Files of every format that weft reads, with something changed.

Loading gives a whole object or one exception class, and runs nothing that a file brings. What was
loaded of a program is run: it may raise what ops raise, and does nothing else.
"""

from __future__ import annotations

import base64
import copy
import functools
import io
import os
import random
import sys
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from fuzz import _kernels
from robustness import boundary
from robustness.crashes import limit_memory
from serialization.mutations import NUMBERS, SAFETENSORS, VALUES, Safetensors, in_bytes, mutants
from serialization.mutations_torch import TORCH, Torch
from serialization.mutations_zipped import NPY, NPZ, OWN, Npy, Npz, Own

import weft
from weft import jit, nn
from weft.serialization import FileError, load_file, load_npz

SHARE = 600
READERS: dict[str, tuple[Any, Any, Callable[[Any], Any]]] = {
    "safetensors": (Safetensors, SAFETENSORS, load_file),
    "own": (Own, OWN, weft.load),
    "npz": (Npz, NPZ, load_npz),
    "torch": (Torch, TORCH, weft.load),
    "npy": (Npy, NPY, lambda file: load_npz(_zipped(file.read()))),  # weft reads them in a zip only
}
PROGRAMS = 51  # how many programs there are: a number, so that cases can be made without them
HARMFUL = (
    "exec",
    "compile",
    "import",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
)
HARMFUL += ("os.fork", "socket.connect", "socket.bind", "os.remove", "os.rename", "shutil.rmtree")
CONTROL = ("cond", "while_loop", "scan")  # nodes that hold graphs


@functools.cache
def _names() -> tuple[str, ...]:
    """What a node may be called: any op, hidden or not, and nothing that there is."""
    return (*sorted(boundary.ops()), *CONTROL * 10, "nothing")


# ---- programs -----------------------------------------------------------------------------------


@functools.cache
def _programs() -> list[tuple[bytes, tuple[Any, ...]]]:
    """Files of ``jit.save``, and arguments to call what is loaded with."""
    from jit.script_modules import Mlp, Net, Recurrent
    from jit.script_programs import CASES

    F = nn.functional
    weft.manual_seed(0)
    x, image, row = weft.rand(3, 4), weft.rand(2, 2, 6, 6), weft.rand(4)
    index, half = weft.tensor([2, 0]), weft.rand(2, 1, 3).bfloat16()

    def decides(x: Any) -> Any:
        x = weft.cond(x.sum() > 0, weft.sin, weft.cos, (x,))
        _, x = weft.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (weft.tensor(0), x))
        return weft.scan(lambda c, y: (c + y, c * y), weft.zeros(x.shape[1:]), x)

    def mixed(x: Any) -> Any:
        y = x[1:, ::2] * 2 + x.softmax(1)[:2, :2]
        y = weft.cat([y, y.t()], 1).roll(1, 0).as_strided((2, 2), (2, 1))
        return y.cumsum(0), y.norm(), F.layer_norm(x, (4,)), x.index_select(0, index), x[index]

    def changes(x: Any) -> Any:
        y = x.clone()
        y.mul_(2).add_(row)
        y[0] = 1.0
        return y.sort().values, y.argmax(1), weft.eye(3), weft.arange(4), y.to(weft.int64)

    def attends(x: Any) -> Any:
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)

    def pools(x: Any) -> Any:
        return F.max_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1), F.pad(x, (1, 1)), x.mean((2, 3))

    def nests(x: Any) -> Any:
        def body(i: Any, rest: Any) -> Any:
            c, kept = rest["c"], rest["kept"]
            c = weft.cond(
                c.sum() > 3,
                lambda c: c * 0.5,
                lambda c: weft.scan(lambda s, y: (s + y, s * row), c[0], c, reverse=True)[1],
                (c,),
            )
            return i + 1, {"c": c + row, "kept": [c.tanh(), kept[0] + 1]}

        start = {"c": x, "kept": [x * 0, x * 0]}
        return weft.while_loop(lambda i, rest: (i < 4) & (rest["c"].sum() < 50), body,
                               (weft.tensor(0), start))  # fmt: skip

    def solves(x: Any) -> Any:
        a = (x @ x.t()).tril() + weft.eye(3) * 3
        y = weft.linalg.solve_triangular(a, x, upper=False)
        z = weft.linalg.solve_triangular(a.t(), x.t(), upper=True, left=False, unitriangular=True)
        return y.flatten(), z.movedim(0, 1), y.unflatten(1, (2, 2)), weft.fft.rfft2(x), x.bfloat16()

    def pads(x: Any) -> Any:
        y = [F.pad(x, (1, 2, 0, 1), mode=m) for m in ("reflect", "replicate", "circular")]
        y += [F.interpolate(x, 5, mode=m) for m in ("nearest", "bilinear", "bicubic", "area")]
        grid = x[:, :, :, :2].permute(0, 2, 3, 1)
        y += [F.grid_sample(x, grid, align_corners=False), F.fold(F.unfold(x, 2), (6, 6), 2)]
        return [
            *y,
            F.pixel_unshuffle(x, 2),
            F.adaptive_max_pool2d(x, 3),
            F.pad(x, (1, -1), value=2.0),
        ]

    def loses(x: Any) -> Any:
        logs, target = x.log_softmax(1), weft.tensor([1, 0, 3])
        bags = F.embedding_bag(weft.tensor([0, 2, 1, 1]), x, weft.tensor([0, 1]), mode="mean")
        ctc = F.ctc_loss(logs[:, None], weft.tensor([[1, 2]]), weft.tensor([3]), weft.tensor([2]))
        margins = (
            F.multi_margin_loss(x, target),
            F.multilabel_margin_loss(x, target[:, None].expand(3, 4)),
        )
        return F.nll_loss(logs, target, reduction="none"), bags, ctc, margins, weft.cdist(x, x)

    def block(*kernels: int) -> Any:
        """Convolutions with what follows them: in a frozen program these are joined."""
        layers: list[Any] = []
        for k in kernels:
            layers += [nn.Conv2d(2, 2, k, padding=k // 2, groups=1 + (k > 1), bias=False)]
            layers += [nn.BatchNorm2d(2), nn.SiLU() if k > 1 else nn.ReLU6()]
        return nn.Sequential(*layers)

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = block(1, 3, 1)

        def forward(self, x: Any) -> Any:
            return self.inside(x) + x

    flat = nn.Sequential(block(3), nn.Flatten())

    def scripted(x, n: int = 2):  # type: ignore[no-untyped-def]
        total = x.sum()
        for i in range(n):
            if total > 1:
                total = total - x[i].sum()
        return total * n

    made: list[tuple[Any, tuple[Any, ...]]] = [
        (jit.trace(mixed, x), (x,)),
        (jit.trace(changes, x), (x,)),
        (jit.trace(attends, image), (image,)),
        (jit.trace(pools, image), (image,)),
        (jit.trace(lambda x: (x * 2 + 1).tanh() * x, x), (x,)),
        (jit.trace(decides, x), (x,)),
        (jit.trace(Net().eval(), image[:, :, :5, :5]), (image[:, :, :5, :5],)),
        (jit.trace(Recurrent().eval(), weft.rand(4, 2, 3)), (weft.rand(4, 2, 3),)),
        (jit.freeze(jit.trace(Mlp().eval(), x[:2, :3])), (x[:2, :3],)),
        (jit.script(scripted), (x,)),
        (jit.script(Mlp()), (x[:2, :3],)),
        (jit.script(nn.LSTM(3, 4, 2)), (weft.rand(5, 2, 3),)),
        (jit.trace(nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()), image), (image,)),
        (jit.trace(nests, x), (x,)),
        (jit.trace(solves, x), (x,)),
        (jit.trace(pads, image), (image,)),
        (jit.trace(loses, x), (x,)),
        (jit.optimize_for_inference(jit.trace(Residual().eval(), image)), (image,)),
        (jit.optimize_for_inference(jit.trace(flat.eval(), image)), (image,)),
        (jit.trace(nn.LSTM(3, 4).bfloat16(), half), (half,)),
    ]  # fmt: skip
    made += [(jit.script(function), calls[0]) for function, calls in CASES]
    files = []
    for program, args in made:
        file = io.BytesIO()
        jit.save(program, file)
        files.append((file.getvalue(), args))
    assert len(files) == PROGRAMS
    return files


def _places(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where plain data stands in nested dicts and lists."""
    if isinstance(x, dict) and type(x) is dict:
        for key, value in x.items():
            yield from _places(value, (*path, key))
    elif isinstance(x, (list, tuple)):
        for i, value in enumerate(x):
            yield from _places(value, (*path, i))
    else:
        yield path


@functools.cache
def _content(number: int) -> Any:
    return weft.load(io.BytesIO(_programs()[number][0]))


def _lists(x: Any) -> Any:
    """The same with lists in the place of tuples, which cannot be changed."""
    if type(x) is dict:
        return {key: _lists(value) for key, value in x.items()}
    return [_lists(v) for v in x] if type(x) in (list, tuple) else x


def _changed(case: Any) -> bytes:
    """The file of a program with some data replaced."""
    content = _lists(_content(case["program"]))
    for path, value in case["changes"]:
        place = content
        for step in path[:-1]:
            place = place[step]
        if isinstance(value, str) and value.startswith(
            "="
        ):  # a text within a text: JSON of scripts
            old, _, new = value[1:].partition(">")
            value = str(place[path[-1]]).replace(old, new, 1)
        place[path[-1]] = boundary.decode(value) if isinstance(value, dict) else value
    file = io.BytesIO()
    weft.save(content, file)
    return file.getvalue()


def _change(content: Any, rng: random.Random) -> tuple[list[Any], Any]:
    path = rng.choice(list(_places(content)))
    old = content
    for step in path:
        old = old[step]
    kind = rng.random()
    if isinstance(old, str) and len(old) > 60:  # a function of a script, as JSON
        marks = [i for i, ch in enumerate(old) if ch in '0123456789"']
        at = rng.choice(marks)
        new = rng.choice(("", "-1", "null", "[]", '"x"', "9999999999", "true", old[at : at + 9]))
        return list(path), f"={old[at : at + rng.randrange(1, 8)]}>{new}"
    if isinstance(old, bool):
        return list(path), not old if kind < 0.7 else rng.choice(VALUES)
    if isinstance(old, int) and kind < 0.8:
        near = old + rng.choice((-2, -1, 1, 2))
        return list(path), near if kind < 0.2 else rng.choice(
            (*NUMBERS[:15], -2, -(2**63), -(2**31))
        )
    if isinstance(old, str) and kind < 0.8:
        return list(path), rng.choice(_names()) if kind < 0.5 else rng.choice(
            ("", "x", old + "_", "data")
        )
    if isinstance(old, weft.dtype):
        return list(path), {"dtype": rng.choice(list(boundary.DTYPES))}
    if isinstance(old, weft.Tensor):
        return list(path), boundary.hostile_tensor(boundary.encode(old), rng)
    return list(path), copy.deepcopy(rng.choice((*VALUES[:12], *NUMBERS[:15], {"float": "nan"})))


# ---- npy ----------------------------------------------------------------------------------------


def _zipped(npy: bytes) -> io.BytesIO:
    """A zip of one array."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("x.npy", npy)
    file.seek(0)
    return file


def _compare_with_numpy(data: bytes, loaded: Any) -> None:
    """What was loaded of an array is what NumPy reads; alone, it is refused."""
    try:
        weft.load(io.BytesIO(data))
        raise AssertionError("weft.load reads a single array")
    except FileError:
        pass
    if loaded is None:
        return
    want = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    made = loaded["x"].numpy()
    assert made.dtype == want.dtype.newbyteorder("=") and made.shape == want.shape
    assert made.tobytes() == want.astype(made.dtype).tobytes(), "other elements than NumPy's"


# ---- cases --------------------------------------------------------------------------------------


@functools.cache
def _mutants(name: str) -> Callable[[random.Random], bytes]:
    draft, changes, _ = READERS[name]
    return mutants(draft, changes)


def generate(rng: random.Random) -> Any:
    """Mostly a program with one to three things changed; else a file of another format."""
    if rng.random() < 0.1:
        return _kernels.generate(rng)
    if rng.random() < 0.3:
        name = rng.choice(sorted(READERS))
        return {"format": name, "data": base64.b64encode(_mutants(name)(rng)).decode()}
    number = rng.randrange(PROGRAMS)
    if rng.random() < 0.1:
        data = in_bytes(_programs()[number][0], rng)
        return {"format": "jit", "program": number, "data": base64.b64encode(data).decode()}
    content = _content(number)
    changes = [_change(content, rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    return {"format": "jit", "program": number, "changes": [list(c) for c in changes]}


def prepare() -> None:
    """Load now what is loaded late, and refuse what takes much memory."""
    for data, args in _programs():
        jit.load(io.BytesIO(data))(*args)
    for draft, _, load in READERS.values():
        load(io.BytesIO(draft().build()))
    _kernels.files()
    limit_memory(1 << 30)


@functools.cache
def _events() -> list[str]:
    """What happens that a file must not cause, once its first item is "watching"."""
    events: list[str] = []

    def hook(event: str, args: Any) -> None:
        if not events or events[0] != "watching":
            return
        writes = (
            event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if writes or event.startswith(HARMFUL):
            events.append(f"{event} {args!r:.200}")

    sys.addaudithook(hook)
    return events


def check(case: Any) -> None:
    """Load it, while what happens is watched; run what is loaded of a program."""
    events = _events()
    if case["format"] == "kernel":
        _kernels.check(case, events)
        return
    try:
        data = base64.b64decode(case["data"]) if "data" in case else _changed(case)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError):
        return  # what it would change is no longer there, or cannot be saved
    load = jit.load if case["format"] == "jit" else READERS[case["format"]][2]
    events[:] = ["watching"]
    try:
        loaded = load(io.BytesIO(data))
    except FileError:
        loaded = None
    finally:
        events, seen = events, events[1:]
        events.clear()
    assert not seen, f"a file made this happen: {seen}"
    if case["format"] == "npy":
        _compare_with_numpy(data, loaded)
    if case["format"] != "jit" or not callable(loaded):
        return
    try:
        loaded(*_programs()[case["program"]][1])
    except boundary.REFUSALS + (AttributeError, KeyError, AssertionError, NameError):
        pass


def shrink(case: Any) -> Iterator[Any]:
    """One change instead of several."""
    for i in range(len(case.get("changes", ())) if len(case.get("changes", ())) > 1 else 0):
        yield {**case, "changes": case["changes"][:i] + case["changes"][i + 1 :]}
