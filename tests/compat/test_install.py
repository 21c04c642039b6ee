"""`weft.compat.torch`: PyTorch's modules are weft's, missing names are reported with suggestions."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import weft
from weft.compat import names
from weft.compat import torch as compat
from weft.compat.version import TorchVersion

torch_is_here = importlib.util.find_spec("torch") is not None


@pytest.fixture
def installed() -> Iterator[types.ModuleType]:
    """`torch`, as long as a test runs."""
    compat.install()
    yield importlib.import_module("torch")
    compat.uninstall()


def run(source: str) -> dict[str, Any]:
    """Run a piece of a program."""
    scope: dict[str, Any] = {"__name__": "program"}
    exec(source, scope)
    return scope


def error(kind: type[BaseException], source: str) -> str:
    """The message of the error that a piece of a program raises."""
    with pytest.raises(kind) as caught:
        run(source)
    return str(caught.value)


def test_modules_are_the_same(installed: types.ModuleType) -> None:
    """Not copies: the modules and classes of weft themselves."""
    scope = run(
        "import torch, torch.nn as nn, torch.nn.functional as F, torch.optim.lr_scheduler as lr\n"
        "from torch import Tensor, optim\n"
        "from torch.autograd import Function, Variable\n"
        "from torch.utils.data import DataLoader\n"
        "from torch.nn.modules.linear import Linear\n"
        "from torch.nn.modules.batchnorm import _BatchNorm\n"
        "import torch.backends.cudnn as cudnn\n"
    )
    assert scope["nn"] is weft.nn is installed.nn
    assert scope["F"] is weft.nn.functional
    assert scope["lr"] is weft.optim.lr_scheduler
    assert scope["Tensor"] is weft.Tensor
    assert scope["Linear"] is weft.nn.Linear
    assert issubclass(weft.nn.BatchNorm2d, scope["_BatchNorm"])
    assert scope["DataLoader"] is weft.utils.data.DataLoader
    assert scope["cudnn"] is weft.backends.cudnn
    assert isinstance(installed.ones(1), installed.Tensor)


@pytest.mark.parametrize(
    "name",
    """torch.types torch.version torch.random torch.serialization torch._C torch.functional
    torch.cuda.amp torch.amp torch.accelerator torch.mps torch.xpu torch.cpu torch.nn.parallel
    torch.cpu.amp torch._dynamo torch.nn.intrinsic.qat
    torch.nn.parameter torch.nn.init torch.nn.utils.rnn torch.utils.checkpoint torch.jit
    torch.utils.data.dataset torch.utils.data.sampler torch.optim.optimizer torch.linalg torch.fft
    torch.autograd.functional torch.nn.modules torch.hub torch.utils.model_zoo""".split(),
)
def test_modules_import(installed: types.ModuleType, name: str) -> None:
    """What programs import, imports; and is reached as an attribute, too."""
    module = importlib.import_module(name)
    assert isinstance(module, types.ModuleType)
    assert isinstance(eval(name, {"torch": installed}), types.ModuleType)


def test_missing_names_are_told(installed: types.ModuleType) -> None:
    """An attribute is missing when it is used; the message names it and what is near."""
    text = error(AttributeError, "import torch; torch.relu7")
    assert text.startswith("weft lacks torch.relu7; nearest: torch.relu")
    text = error(AttributeError, "import torch.nn as nn; nn.Conv2D")
    assert text.startswith("weft lacks torch.nn.Conv2D; nearest: torch.nn.Conv2d")
    assert not hasattr(installed, "no_such_name")
    assert getattr(installed.nn, "no_such_name", 3) == 3


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("from torch import no_such", "weft lacks torch.no_such"),
        ("from torch.nn import Linaer", "weft lacks torch.nn.Linaer; nearest: torch.nn.Linear"),
        ("from torch.nn.parallel import DDP", "weft lacks torch.nn.parallel.DDP"),
        ("import torch.onnx", "weft lacks torch.onnx"),
        ("from torch.distributed import rpc", "weft lacks torch.distributed.rpc"),
        ("from torch.onnx import export", "weft lacks torch.onnx"),
    ],
)
def test_missing_imports_are_told(installed: types.ModuleType, source: str, text: str) -> None:
    """Imports raise an ImportError, which programs with alternatives catch."""
    assert text in error(ImportError, source)


def test_missing_modules_raise_a_module_error(installed: types.ModuleType) -> None:
    """A missing module is a ModuleNotFoundError, and naming weft's module."""
    with pytest.raises(ModuleNotFoundError) as caught:
        run("import torch.onnx")
    assert caught.value.name == "weft.onnx"


def test_weft_is_not_loaded_twice(installed: types.ModuleType) -> None:
    """No module of weft is imported a second time under PyTorch's name."""
    run("import torch.nn.linear")
    assert sys.modules["torch.nn.linear"] is sys.modules["weft.nn.linear"]
    modules = [m for n, m in sys.modules.items() if n.split(".")[0] == "torch"]
    assert {m.__name__.split(".")[0] for m in modules} <= {"torch", "weft"}


def test_star_import(installed: types.ModuleType) -> None:
    """`from torch import *` brings functions and types, and no modules."""
    scope = run("from torch import *")
    assert scope["zeros"] is weft.zeros
    assert "_C" not in scope and "os" not in scope


def test_version(installed: types.ModuleType) -> None:
    """The version is a string that compares by numbers; weft's own stays."""
    version = installed.__version__
    assert isinstance(version, str) and version.startswith("2.")
    assert version >= "1.10" and version > (2, 4) and version < "3" and not version < "2.9"
    assert tuple(int(n) for n in version.split("+")[0].split(".")) >= (2, 0, 0)
    assert installed.version.__version__ == version and installed.version.cuda is None
    assert weft.__version__ != version


def test_versions_compare_like_numbers() -> None:
    """Also with texts that are no versions, which raises as between unlike things."""
    assert TorchVersion("2.10") > "2.9" and TorchVersion("2.0") == (2,)
    assert TorchVersion("2.0") != "2.0.0" and hash(TorchVersion("a")) == hash("a")
    with pytest.raises(TypeError):
        TorchVersion("2.0") < object()  # noqa: B015


def test_uninstall_leaves_nothing() -> None:
    """Names, guards and the finder are gone."""
    finders = list(sys.meta_path)
    compat.install()
    compat.install()
    run("import torch.nn, torch.optim")
    assert len(sys.meta_path) == len(finders) + 1
    compat.uninstall()
    assert sys.meta_path == finders
    assert not [n for n in sys.modules if n.split(".")[0] == "torch"]
    with pytest.raises(AttributeError, match=r"module 'weft\.nn' has no attribute 'Foo'"):
        weft.nn.Foo  # noqa: B018


def test_real_torch_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """If PyTorch is imported already, a clear error."""
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    with pytest.raises(RuntimeError, match="torch is imported already"):
        compat.install()
    assert not compat.installed()


@pytest.mark.parametrize(
    "f",
    [
        lambda: names.find("torch.nn.Linear.forward"),
        lambda: names.find("torch.backends.cudnn.benchmark"),
        lambda: names.find("torch.float32.itemsize"),
    ],
)
def test_find(f: Callable[[], Any]) -> None:
    """Dotted names lead through modules, classes and values."""
    f()


def test_nearest_names_exist() -> None:
    """What is offered instead is there."""
    for wrong in ("torch.nn.Conv2D", "torch.optim.Addam", "torch.softmaxx", "torch.Tensor.veiw"):
        near = names.nearest(wrong)
        assert near and wrong not in near
        for name in near:
            names.find(name)
