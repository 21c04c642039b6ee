"""Files of PyTorch, read by weft: the same objects, in every format and protocol."""

from __future__ import annotations

import io
import math
import struct
import warnings
import zipfile
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest
import torch

import weft
from weft.serialization import FileError

DTYPES = (
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
).split()
# How torch.save can write: zip or the old format, and the protocols of pickle.
WAYS = [(new, protocol) for new in (True, False) for protocol in (2, 3, 4, 5)]


def name_of(dtype: Any) -> str:
    """float32 for weft.float32 and torch.float32."""
    return str(dtype).rpartition(".")[2]


def bits(x: Any) -> tuple[Any, ...]:
    """What must be equal of two tensors."""
    flat = x.detach().resolve_conj().resolve_neg() if isinstance(x, torch.Tensor) else x.detach()
    lib = torch if isinstance(x, torch.Tensor) else weft
    flat = flat.reshape(-1).clone(memory_format=lib.contiguous_format)
    data = flat.view(lib.uint8).tolist() if flat.numel() else []
    return name_of(x.dtype), tuple(x.shape), bool(x.requires_grad), data


def equal(ours: Any, theirs: Any) -> bool:
    """Whether weft's object is what PyTorch's is."""
    if isinstance(theirs, torch.Tensor):
        parameter = isinstance(theirs, torch.nn.Parameter)
        return parameter == (type(ours).__name__ == "Parameter") and bits(ours) == bits(theirs)
    if isinstance(theirs, torch.dtype):
        return name_of(ours) == name_of(theirs)
    if isinstance(theirs, torch.Size):
        return type(ours) is weft.Size and tuple(ours) == tuple(theirs)
    if isinstance(theirs, torch.device):
        return type(ours) is weft.device
    if type(ours) is not type(theirs):
        return False
    if isinstance(theirs, np.ndarray):
        return ours.shape == theirs.shape and ours.tobytes() == theirs.astype(ours.dtype).tobytes()
    if isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(equal(ours[k], theirs[k]) for k in theirs)
    if isinstance(theirs, float) and math.isnan(theirs):
        return math.isnan(ours)
    return bool(ours == theirs)


def trained() -> tuple[Any, Any, Any]:
    """A model, an optimiser and a scheduler after two steps."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 3),
        torch.nn.BatchNorm2d(3),
        torch.nn.Flatten(),
        torch.nn.LazyLinear(2),
    )
    x = torch.randn(4, 1, 6, 6)
    model(x)
    optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3])
    for _ in range(2):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        scheduler.step()
    return model, optimizer, scheduler


def objects() -> dict[str, Any]:
    """What people save."""
    model, optimizer, scheduler = trained()
    x = torch.arange(24.0).reshape(2, 3, 4)
    with_notes = torch.nn.Parameter(torch.ones(2))
    with_notes.note = "kept by PyTorch only"
    return {
        "number": 3,
        "plain": [
            1,
            -5,
            2**31,
            10**30,
            2.5,
            math.inf,
            math.nan,
            None,
            True,
            "é",
            b"\0\xff",
            1 + 2j,
        ],
        "containers": [(), (1,), (1, 2, 3, 4), {}, {"a": {1: (2,)}}, {1, 2}, frozenset("ab"), []],
        "more": [OrderedDict(b=1, a=2), Counter("aab"), defaultdict(list, a=[1]), bytearray(b"x")],
        "ranges": [range(3), slice(1, None, 2)],
        "kinds": [torch.Size([1, 2]), torch.device("cpu"), *(getattr(torch, d) for d in DTYPES)],
        "dtypes": {d: (torch.arange(6) % 2).to(getattr(torch, d)) for d in DTYPES},
        "views": [x, x[1], x.transpose(0, 2), x[:, ::2], x[1, 2, 3], x[:0], x[0, 0, :1].expand(5)],
        "grads": [torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(2)), with_notes],
        "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
        "lazy bits": [torch.tensor([1 + 2j]).conj(), torch.tensor([1 + 2j]).conj().imag],
        "special": torch.tensor([math.nan, math.inf, -math.inf, -0.0, 1e-45]),
        "empty": [torch.empty(0), torch.empty(0, 3), torch.tensor(1.0)],
        "numpy": [np.arange(6).reshape(2, 3), np.arange(6.0).reshape(2, 3).T, np.array(3)],
        "numpy numbers": [np.float32(1.5), np.int64(3), np.bool_(True), np.complex64(1j)],
        "numpy big": [np.arange(3, dtype=">i4"), np.zeros((0, 2))],
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "checkpoint": {"model": model.state_dict(), "epoch": 3, "rng": torch.get_rng_state()},
    }


OBJECTS = list(objects())


@pytest.mark.parametrize("name", OBJECTS)
def test_files_of_torch_are_read(name: str) -> None:
    """Everything that torch.save writes of data comes back equal."""
    theirs = objects()[name]
    for new, protocol in WAYS:
        f = io.BytesIO()
        torch.save(theirs, f, _use_new_zipfile_serialization=new, pickle_protocol=protocol)
        ours = weft.load(io.BytesIO(f.getvalue()))
        assert equal(ours, theirs), (name, new, protocol, ours)


@pytest.mark.parametrize("new", [True, False])
def test_shared_storages_stay_shared(new: bool) -> None:
    """Views and doubles see each other's changes, as after torch.load."""
    x = torch.arange(12.0).reshape(3, 4)
    f = io.BytesIO()
    torch.save({"x": x, "row": x[1], "again": x}, f, _use_new_zipfile_serialization=new)
    made = weft.load(io.BytesIO(f.getvalue()))
    made["x"][1, 0] = 99
    assert made["row"].tolist() == [99, 5, 6, 7]
    assert made["again"] is made["x"]


def test_versions_of_a_state_dict_are_kept() -> None:
    """What Module.state_dict notes on its result."""
    state = trained()[0].state_dict()
    f = io.BytesIO()
    torch.save(state, f)
    assert weft.load(io.BytesIO(f.getvalue()))._metadata == state._metadata


def test_big_endian_files_are_read() -> None:
    """A file that says so is turned round."""
    f, made = io.BytesIO(), io.BytesIO()
    torch.save({"f": torch.tensor([1.5]), "c": torch.tensor([1 + 2j]), "i": torch.tensor([3])}, f)
    sizes = {"0": ">f", "1": ">ff", "2": ">q"}
    values: dict[str, tuple[Any, ...]] = {"0": (1.5,), "1": (1.0, 2.0), "2": (3,)}
    with zipfile.ZipFile(io.BytesIO(f.getvalue())) as z, zipfile.ZipFile(made, "w") as new:
        for name in z.namelist():
            key = name.rpartition("/")[2]
            data = z.read(name)
            if name.endswith("/byteorder"):
                data = b"big"
            elif "/data/" in name:
                data = struct.pack(sizes[key], *values[key])
            new.writestr(name, data)
    loaded = weft.load(io.BytesIO(made.getvalue()))
    assert [loaded[k].tolist() for k in "fci"] == [[1.5], [1 + 2j], [3]]


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        (torch.nn.Linear(1, 1), "needs torch.nn.modules.linear.Linear"),
        ([torch.nn.Linear], "needs torch.nn.modules.linear.Linear"),
        ({"f": print}, "needs (builtins|__builtin__).print"),
        ([torch.Tensor], "torch.Tensor as a value"),
        (torch.ones(2).to_sparse(), "needs torch._utils._rebuild_sparse_tensor"),
        (torch.tensor([1], dtype=torch.uint16), "torch.uint16, a dtype that weft does not have"),
        (torch.ones(2).untyped_storage(), "Storage as a value"),
        (np.array(["text"]), "not one of numbers"),
        (np.array([object], dtype=object), "not one of numbers"),
    ],
)
def test_code_is_refused_by_name(obj: Any, said: str) -> None:
    """What is not only data."""
    for new in (True, False):
        f = io.BytesIO()
        torch.save(obj, f, _use_new_zipfile_serialization=new)
        with pytest.raises(FileError, match=said):
            weft.load(io.BytesIO(f.getvalue()))


def test_programs_are_refused() -> None:
    """TorchScript brings code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = io.BytesIO()
        torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), f)
    with pytest.raises(FileError, match="TorchScript"):
        weft.load(io.BytesIO(f.getvalue()))


def test_a_run_of_torch_goes_on_in_weft() -> None:
    """The state of an optimiser of PyTorch, loaded into weft's: the next step is the same."""
    p = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    theirs = torch.optim.AdamW([p], lr=0.1, amsgrad=True)
    for _ in range(3):
        p.grad = 2 * p.detach()
        theirs.step()
    f = io.BytesIO()
    torch.save({"p": p, "optimizer": theirs.state_dict()}, f)
    made = weft.load(io.BytesIO(f.getvalue()))
    q = made["p"]
    ours = weft.optim.AdamW([q], lr=0.5)
    ours.load_state_dict(made["optimizer"])
    for _ in range(3):
        p.grad, q.grad = 2 * p.detach(), 2 * q.detach()
        theirs.step()
        ours.step()
    assert np.allclose(q.detach().numpy(), p.detach().numpy(), rtol=1e-12, atol=0)
