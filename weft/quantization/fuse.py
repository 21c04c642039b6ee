"""Layers that follow each other, joined into one."""

from __future__ import annotations

import copy

from weft.nn import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    Identity,
    Linear,
    ReLU,
)
from weft.nn.module import Module
from weft.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from weft.quantization.nn import intrinsic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["fuse_modules", "fuse_modules_qat"]

_BEHIND = {
    Linear: (BatchNorm1d, None, None, intrinsic.LinearReLU),
    Conv1d: (BatchNorm1d, intrinsic.ConvBn1d, intrinsic.ConvBnReLU1d, intrinsic.ConvReLU1d),
    Conv2d: (BatchNorm2d, intrinsic.ConvBn2d, intrinsic.ConvBnReLU2d, intrinsic.ConvReLU2d),
    Conv3d: (BatchNorm3d, intrinsic.ConvBn3d, intrinsic.ConvBnReLU3d, intrinsic.ConvReLU3d),
}


def fuse_modules(model: Module, modules_to_fuse: Sequence[Any], inplace: bool = False) -> Module:
    """Return a model in evaluation mode with some layers joined: the first of them is all of them.

    Joined are a convolution or linear layer with the batch norm behind it, with the ReLU behind it,
    or with both. The others become ``Identity``.

    Args:
        model: the model.
        modules_to_fuse: names of layers that follow each other, or a list of such lists.
        inplace: change the model itself instead of a copy.

    >>> n = weft.nn
    >>> model = n.Sequential(n.Conv2d(1, 2, 3), n.BatchNorm2d(2), n.ReLU()).eval()
    >>> fused = weft.quantization.fuse_modules(model, ["0", "1", "2"])
    >>> [type(m).__name__ for m in fused]
    ['ConvReLU2d', 'Identity', 'Identity']
    """
    return _fuse(model, modules_to_fuse, inplace, False)


def fuse_modules_qat(
    model: Module, modules_to_fuse: Sequence[Any], inplace: bool = False
) -> Module:
    """Return a model in training mode with some layers joined, for ``prepare_qat``.

    Args:
        model: the model.
        modules_to_fuse: names of layers that follow each other, or a list of such lists.
        inplace: change the model itself instead of a copy.

    >>> n = weft.nn
    >>> model = n.Sequential(n.Conv2d(1, 2, 3), n.BatchNorm2d(2))
    >>> type(weft.quantization.fuse_modules_qat(model, ["0", "1"])[0]).__name__
    'ConvBn2d'
    """
    return _fuse(model, modules_to_fuse, inplace, True)


def _fuse(model: Module, groups: Sequence[Any], inplace: bool, learns: bool) -> Module:
    model = model if inplace else copy.deepcopy(model)
    lists = [groups] if all(isinstance(name, str) for name in groups) else groups
    for names in lists:
        layers = [model.get_submodule(name) for name in names]
        _set(model, names[0], _joined(layers, learns))
        for name in names[1:]:
            _set(model, name, Identity())
    return model


def _set(model: Module, name: str, module: Module) -> None:
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, module)


def _joined(layers: list[Any], learns: bool) -> Module:
    kinds = [type(layer) for layer in layers]
    text = ", ".join(kind.__name__ for kind in kinds)
    if kinds[0] not in _BEHIND:
        raise NotImplementedError(f"fuse_modules: layers ({text}) cannot be joined")
    norm, with_norm, with_both, with_relu = _BEHIND[kinds[0]]
    allowed = [[norm], [ReLU], [norm, ReLU]]
    if kinds[1:] not in allowed:
        raise NotImplementedError(f"fuse_modules: layers ({text}) cannot be joined")
    if any(layer.training != learns for layer in layers):
        if learns:
            raise ValueError("fuse_modules_qat: the model must be in training mode: train()")
        raise ValueError(
            "fuse_modules: the model must be in evaluation mode: eval(); fuse_modules_qat joins "
            "layers that go on learning"
        )
    if kinds[1:] == [ReLU]:
        return with_relu(*layers).train(learns)
    if learns:
        kind = with_norm if len(layers) == 2 else with_both
        if kind is None:
            raise NotImplementedError(f"fuse_modules_qat: layers ({text}) cannot be joined")
        return kind(*layers).train(True)
    join = fuse_linear_bn_eval if kinds[0] is Linear else fuse_conv_bn_eval
    one = join(layers[0], layers[1])
    return one if len(layers) == 2 else with_relu(one, layers[2]).eval()
