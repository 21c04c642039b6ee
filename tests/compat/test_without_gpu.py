"""What programs meet on a machine without GPU: `cuda`, `backends`, devices, `amp`, `compile`."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft


def test_cpu_amp_is_loaded_when_it_is_asked_for() -> None:
    """`weft.cpu.amp` needs no import of its own."""
    code = "import weft; print(weft.cpu.amp.autocast.__name__, hasattr(weft.cpu, 'cuda'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["autocast", "False"], done.stderr


def test_cuda_answers() -> None:
    """Questions have answers, and seeds are taken."""
    assert not weft.cuda.is_available() and weft.cuda.device_count() == 0
    assert weft.device("cuda" if weft.cuda.is_available() else "cpu").type == "cpu"
    for f in (weft.cuda.manual_seed, weft.cuda.manual_seed_all):
        assert f(0) is None
    assert weft.cuda.empty_cache() is None and weft.cuda.memory_allocated() == 0
    with weft.cuda.device(None), weft.cuda.stream(None):
        pass


@pytest.mark.parametrize(
    "f",
    [
        lambda: weft.ones(1).cuda(),
        lambda: weft.ones(1).to("cuda"),
        lambda: weft.ones(1).to(device=weft.device("cuda:1")),
        lambda: weft.zeros(1, device="cuda"),
        lambda: weft.tensor([1.0], device=weft.device("cuda")),
        lambda: weft.nn.Linear(1, 1).cuda(),
        lambda: weft.nn.Linear(1, 1).to("cuda"),
        lambda: weft.nn.Linear(1, 1, device="mps"),
        lambda: weft.cuda.synchronize(),
        lambda: weft.cuda.current_device(),
        lambda: weft.cuda.get_device_name(0),
        lambda: weft.cuda.set_device(0),
        lambda: weft.cuda.Event(enable_timing=True),
        lambda: weft.cuda.device(0).__enter__(),
        lambda: weft.set_default_device("cuda"),
        lambda: weft.accelerator.synchronize(),
        lambda: weft.mps.synchronize(),
        lambda: weft.load(io.BytesIO(), map_location="cuda"),
        lambda: weft.load(io.BytesIO(), map_location={"cpu": "cuda:0"}),
    ],
)
def test_what_needs_a_gpu_says_so(f: Callable[[], Any]) -> None:
    """The error says what there is, and how to write a program that runs anywhere."""
    with pytest.raises(RuntimeError, match=r"'cpu'.*torch\.cuda\.is_available"):
        f()


def test_devices_can_be_named() -> None:
    """A device object is only a name; unknown ones are refused."""
    assert weft.device("cuda", 1) == weft.device("cuda:1") != weft.device("cpu")
    assert str(weft.device("mps")) == "mps" and repr(weft.device("cuda", 0)).endswith("index=0)")
    for wrong in ("gpu", "cuda:x"):
        with pytest.raises(RuntimeError):
            weft.device(wrong)
    with pytest.raises(RuntimeError, match="twice"):
        weft.device("cuda:0", 1)
    with weft.device("cpu"):
        assert weft.ones(1).device.type == "cpu"
    with pytest.raises(RuntimeError, match="'cpu'"), weft.device("cuda"):
        pass
    assert weft.accelerator.current_accelerator() is None
    assert weft.get_device_module() is weft.cpu


def test_map_location(tmp_path: Path) -> None:
    """All forms that mean the CPU are taken."""
    path = tmp_path / "x.pt"
    weft.save({"a": weft.ones(2)}, path)
    for where in (None, "cpu", weft.device("cpu"), {"cuda:0": "cpu"}, lambda storage, at: storage):
        assert weft.load(path, map_location=where)["a"].tolist() == [1.0, 1.0]


def test_pinned_memory() -> None:
    """There is nothing to pin memory for; asking whether it is pinned is fine."""
    assert not weft.ones(1).is_pinned()
    with pytest.raises(RuntimeError, match="pin"):
        weft.ones(1).pin_memory()
    assert weft.ones(1).to("cpu", non_blocking=True).item() == 1.0


def test_switches() -> None:
    """Settings are kept, and wrong ones refused."""
    weft.backends.cudnn.benchmark = True
    assert weft.backends.cudnn.benchmark
    with weft.backends.cudnn.flags(enabled=False):
        assert not weft.backends.cudnn.benchmark and not weft.backends.cudnn.enabled
    assert weft.backends.cudnn.benchmark and weft.backends.cudnn.enabled
    weft.backends.cudnn.benchmark = False
    weft.backends.cuda.matmul.allow_tf32 = True
    weft.backends.cuda.matmul.allow_tf32 = False
    with pytest.raises(AttributeError):
        weft.backends.cuda.matmul.no_such = 1
    weft.backends.cuda.enable_flash_sdp(False)
    assert not weft.backends.cuda.flash_sdp_enabled()
    weft.backends.cuda.enable_flash_sdp(True)
    with pytest.raises(ValueError, match="medium"):
        weft.set_float32_matmul_precision("low")
    weft.use_deterministic_algorithms(True, warn_only=True)
    assert weft.is_deterministic_algorithms_warn_only_enabled()
    assert weft.get_deterministic_debug_mode() == 1
    weft.set_deterministic_debug_mode(0)
    with pytest.raises(RuntimeError):
        weft.set_num_interop_threads(0)


def test_default_tensor_type() -> None:
    """By class and by name; others are refused."""
    try:
        weft.set_default_tensor_type(weft.DoubleTensor)
        assert weft.ones(1).dtype == weft.float64
        weft.set_default_tensor_type("torch.HalfTensor")
        assert weft.ones(1).dtype == weft.float16
    finally:
        weft.set_default_tensor_type("torch.FloatTensor")
    for wrong in (weft.LongTensor, "torch.cuda.FloatTensor", "torch.Nothing"):
        with pytest.raises(TypeError):
            weft.set_default_tensor_type(wrong)


# ---- amp ----------------------------------------------------------------------------------------


def test_autocast() -> None:
    """Off, it changes nothing; on, for a device that is not there, it warns. tests/amp/ has the rest."""
    with weft.autocast("cpu", enabled=False), weft.cuda.amp.autocast(enabled=False):
        assert (weft.ones(2, 2) @ weft.ones(2)).dtype == weft.float32

    @weft.autocast("cpu", dtype=weft.bfloat16, enabled=False)
    def f(x: Any) -> Any:
        return x + 1

    assert f(1) == 2 and f.__name__ == "f"
    with pytest.warns(UserWarning, match="not available"), weft.autocast("cuda"):
        assert not weft.is_autocast_enabled()
    with pytest.warns(UserWarning, match="not available"):
        weft.cuda.amp.autocast()
    with pytest.raises(RuntimeError, match="device_type"):
        weft.autocast("gpu")


def scaled_step(scaler: Any, grad: float) -> float:
    """One step of SGD with a given gradient; the weight starts at 1."""
    p = weft.nn.Parameter(weft.ones(1))
    sgd = weft.optim.SGD([p], lr=0.5)
    scaler.scale((p * grad).sum()).backward()
    scaler.step(sgd)
    scaler.update()
    return p.item()


def test_grad_scaler() -> None:
    """Scales and unscales; leaves out steps with infinite gradients; the scale adapts."""
    scaler = weft.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    assert scaled_step(scaler, 1.0) == 0.5 and scaler.get_scale() == 8.0
    assert scaled_step(scaler, 1.0) == 0.5 and scaler.get_scale() == 16.0
    assert scaled_step(scaler, float("inf")) == 1.0 and scaler.get_scale() == 8.0
    other = weft.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    p = weft.nn.Parameter(weft.ones(1))
    sgd = weft.optim.SGD([p], lr=0.5)
    scaler.scale(p.sum()).backward()
    scaler.unscale_(sgd)
    assert p.grad.item() == 1.0
    with pytest.raises(RuntimeError, match="already"):
        scaler.unscale_(sgd)
    scaler.step(sgd)
    with pytest.raises(RuntimeError, match="already"):
        scaler.step(sgd)


def test_grad_scaler_switched_off() -> None:
    """Without a GPU, that for GPUs warns and does nothing."""
    with pytest.warns(UserWarning, match="not available"):
        scaler = weft.cuda.amp.GradScaler()
    assert not scaler.is_enabled() and scaler.get_scale() == 1.0 and scaler.state_dict() == {}
    assert scaled_step(scaler, 1.0) == 0.5


# ---- compile ------------------------------------------------------------------------------------


def test_compile_takes_what_programs_give_it() -> None:
    """As a function and as a decorator, with all arguments, and nothing is said."""
    model = weft.nn.Linear(2, 1)
    x = weft.randn(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @weft.compile(fullgraph=True, dynamic=False, backend="inductor", mode="max-autotune")
        def f(x: Any) -> Any:
            return x * 2

        assert weft.equal(f(x), x * 2) and weft.compile(f, options={"max_autotune": True})(3) == 6
        want = model(x)
        assert weft.equal(weft.compile(model)(x), want)
        model.compile(mode="reduce-overhead")
        assert weft.equal(model(x), want)
    eager = weft.compile(model, backend="eager")
    assert (
        next(iter(eager.state_dict())).startswith("_orig_mod.")
        and not eager.compiled.specializations
    )
    assert weft.equal(eager(x), want) and weft.compile(model, disable=True) is model
    with pytest.raises(RuntimeError, match="mode or options"):
        weft.compile(f, mode="default", options={})
    with pytest.raises(RuntimeError, match="unknown mode 'fast'"):
        weft.compile(f, mode="fast")
    with pytest.raises(NotImplementedError, match="backend='tvm'"):
        weft.compile(f, backend="tvm")
    with pytest.raises(TypeError, match="int"):
        weft.compile(3)


# ---- hub ----------------------------------------------------------------------------------------


def test_hub(tmp_path: Path) -> None:
    """Fetched once, checked against the hash in its name, and kept."""
    import hashlib

    source = tmp_path / "source.pth"
    weft.save({"w": weft.arange(3)}, source)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
    named = source.rename(tmp_path / f"net-{digest}.pth")
    folder = tmp_path / "kept"
    url = named.as_uri()
    for _ in range(2):
        state = weft.hub.load_state_dict_from_url(
            url, model_dir=str(folder), progress=False, check_hash=True
        )
        assert state["w"].tolist() == [0, 1, 2]
        named.unlink(missing_ok=True)  # the second time from the folder
    with pytest.raises(RuntimeError, match="could not fetch"):
        weft.hub.load_state_dict_from_url(url, model_dir=str(tmp_path / "x"), progress=False)
    wrong = tmp_path / "net-00000000.pth"
    weft.save({}, wrong)
    with pytest.raises(RuntimeError, match="invalid hash value"):
        weft.hub.load_state_dict_from_url(
            wrong.as_uri(), model_dir=str(folder), progress=False, check_hash=True
        )
    assert not (folder / wrong.name).exists()
    with pytest.raises(NotImplementedError, match=r"hub\.load"):
        weft.hub.load("pytorch/vision", "resnet18")
