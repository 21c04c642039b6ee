"""Names and paths of PyTorch that lead to the same code."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import pytest

import weft
from weft import nn

PATHS = """
module:Module module:_addindent module:register_module_forward_hook batchnorm:_BatchNorm
batchnorm:_NormBase conv:_ConvNd conv:_ConvTransposeNd utils:_pair utils:_ntuple loss:_Loss
loss:_WeightedLoss activation:ReLU activation:MultiheadAttention linear:Linear sparse:Embedding
rnn:LSTM pooling:_MaxPoolNd pooling:_AdaptiveAvgPoolNd pooling:_AvgPoolNd padding:_ReflectionPadNd
dropout:_DropoutNd instancenorm:_InstanceNorm container:Sequential normalization:LayerNorm
upsampling:Upsample pixelshuffle:PixelShuffle transformer:Transformer adaptive:_ASMoutput
lazy:LazyModuleMixin flatten:Flatten fold:Fold distance:CosineSimilarity
channelshuffle:ChannelShuffle linear_cross_entropy:LinearCrossEntropyLoss
""".split()


def test_modules_by_pytorchs_paths() -> None:
    """Each file is there in a program that begins with its import."""
    lines = [
        f"from weft.nn.modules.{file} import {name}"
        for file, name in (path.split(":") for path in PATHS)
    ]
    for text in ("\n".join(lines), *lines[:3]):
        subprocess.run([sys.executable, "-c", text], check=True)


def test_one_home() -> None:
    """A path is another name of the same file."""
    assert importlib.import_module("weft.nn.modules.conv") is sys.modules["weft.nn.conv"]
    assert nn.modules.linear.Linear is nn.Linear is nn.modules.Linear
    assert issubclass(nn.AvgPool1d, nn.modules.pooling._AvgPoolNd)
    with pytest.raises(AttributeError, match=r"weft\.nn\.modules.*no attribute 'Linaer'"):
        _ = nn.modules.Linaer


def test_common_types() -> None:
    """Annotations by PyTorch's names can be read at run time."""
    from typing import get_args

    assert get_args(nn.common_types._size_2_t) == (int, tuple[int, int])
    assert get_args(nn.common_types._ratio_any_t) == (float, tuple[float, ...])


def test_factory_kwargs() -> None:
    """Only what makes a tensor, and each once."""
    assert nn.factory_kwargs(None) == {}
    given: dict[str, Any] = {"dtype": weft.float64, "factory_kwargs": {"device": "cpu"}}
    assert weft.empty(1, **nn.factory_kwargs(given)).dtype == weft.float64
    assert "factory_kwargs" in given
    with pytest.raises(TypeError, match="unexpected keyword argument 'bias'"):
        nn.factory_kwargs({"bias": True})
    with pytest.raises(TypeError, match="dtype is given twice"):
        nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"dtype": 2}})


def test_container() -> None:
    """The old container holds children by name."""
    with pytest.warns(FutureWarning, match="deprecated"):
        m = nn.Container(a=nn.ReLU(), b=None)
    assert list(m._modules) == ["a", "b"] and isinstance(m.a, nn.ReLU)


def test_data_parallel() -> None:
    """Without GPUs it calls the module, whichever devices are named."""
    m = nn.Linear(2, 1)
    both = nn.DataParallel(m, device_ids=[0, 1], output_device=0, dim=1)
    x = weft.ones(3, 2)
    assert weft.equal(both(x), m(x)) and weft.equal(both(input=x), m(x))
    assert both.device_ids == [] and both.module is m


def test_prelu_is_a_method() -> None:
    """``Tensor.prelu`` is ``nn.functional.prelu``."""
    x, w = weft.tensor([[-1.0, 2.0]]), weft.tensor([0.5, 0.25])
    assert x.prelu(w).tolist() == [[-0.5, 2]] == nn.functional.prelu(x, w).tolist()
    with pytest.raises(TypeError, match="prelu"):
        x.prelu(0.5)
