"""Convolutions with int8 weights."""

from __future__ import annotations

from weft import _C, Tensor
from weft.nn import functional as F
from weft.nn.conv import _Conv as FloatConv
from weft.nn.conv import _tuple
from weft.nn.utils.init import skip_init
from weft.quantization.kinds import qint8
from weft.quantization.nn.weights import Int8Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Int8Conv"]

_convolve = _C._op_function("quantized_convolve")


class Int8Conv(Int8Layer):
    """What convolutions with int8 weights share: their settings and their weight.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: size of a window.
        stride: distance of windows.
        padding: elements added on all sides, or "same" or "valid".
        dilation: distance of the elements of a window.
        groups: cuts the channels into parts that do not see each other.
        bias: whether a number is added to each channel.
        padding_mode: "zeros", "reflect", "replicate" or "circular".

    >>> weft.quantization.nn.dynamic.Conv2d(4, 8, 3).weight_int8.shape
    torch.Size([8, 4, 3, 3])
    """

    _n = 0
    _float: Any = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        super().__init__()
        # The settings are checked and completed by the layer of floats itself.
        as_float = skip_init(
            self._float, in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
            bias, padding_mode,
        )  # fmt: skip
        for name in (
            "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups",
            "padding_mode", "output_padding", "transposed",
        ):  # fmt: skip
            setattr(self, name, getattr(as_float, name))
        self._borders = as_float._reversed_padding_repeated_twice
        self._make_weight(as_float.weight.shape, bias)

    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Any
    dilation: tuple[int, ...]
    groups: int
    padding_mode: str
    output_padding: tuple[int, ...]

    @classmethod
    def from_float(cls, mod: FloatConv, qconfig: Any = None) -> Any:
        """Return the quantised form of a convolution.

        Args:
            mod: the layer.
            qconfig: what observes its weight (default: its own ``qconfig``, or one per channel).

        >>> q = weft.quantization.nn.dynamic.Conv2d.from_float(weft.nn.Conv2d(1, 2, 3, padding=1))
        >>> q.padding
        (1, 1)
        """
        new = cls._like(mod)
        new._take_config(mod, qconfig)
        return new

    @classmethod
    def _like(cls, mod: FloatConv) -> Any:
        return cls(
            mod.in_channels, mod.out_channels, mod.kernel_size, mod.stride, mod.padding,
            mod.dilation, mod.groups, mod.bias is not None, mod.padding_mode,
        )  # fmt: skip

    def _convolve(self, x: Tensor, *grids: Any) -> Tensor:
        """Convolve; ``grids`` are the last arguments of the op."""
        if x.dim() not in (self._n + 1, self._n + 2):
            raise RuntimeError(
                f"{type(self).__name__}: Expected {self._n + 1}D (unbatched) or {self._n + 2}D "
                f"(batched) input, but got input of size: {list(x.shape)}"
            )
        batched = x.dim() == self._n + 2
        x = x if batched else x.unsqueeze(0)
        padding = self.padding
        if self.padding_mode != "zeros" or isinstance(padding, str):
            mode = "constant" if self.padding_mode == "zeros" else self.padding_mode
            x = F.pad(x, self._borders, mode=mode) if any(self._borders) else x
            padding = _tuple(0, self._n)
        y = _convolve(
            x, self.weight_int8, self.weight_scale, self.bias_float, self.stride, padding,
            self.dilation, self.groups, *grids,
        )  # fmt: skip
        return y if batched else y.squeeze(0)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}{self._grid_text()}"
        )
        if self.padding != (0,) * self._n:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self._n:
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias_float is None:
            text += ", bias=False"
        return text

    def _grid_text(self) -> str:
        return f", dtype={qint8}, qscheme={self._scheme()}"
