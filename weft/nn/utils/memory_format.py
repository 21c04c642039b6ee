"""The order in memory of the weights of convolutions."""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft.nn.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Module, memory_format: Any, kinds: tuple[str, ...]) -> Module:
    for child in module.modules():
        if any(base.__name__ in kinds for base in type(child).__mro__):
            weight: Any = child.weight
            with weft.no_grad():
                weight.data = weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Store the weights of all 2-d convolutions in the given order.

    >>> m = weft.nn.Conv2d(2, 3, 1)
    >>> convert = weft.nn.utils.convert_conv2d_weight_memory_format
    >>> convert(m, weft.channels_last).weight.is_contiguous(memory_format=weft.channels_last)
    True
    """
    return _convert(module, memory_format, ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Store the weights of all 3-d convolutions in the given order.

    >>> m = weft.nn.Conv3d(2, 3, 1)
    >>> convert = weft.nn.utils.convert_conv3d_weight_memory_format
    >>> convert(m, weft.channels_last_3d) is m
    True
    """
    return _convert(module, memory_format, ("Conv3d", "ConvTranspose3d"))
