"""Sums and products of activations as modules, so that they can be observed."""

from __future__ import annotations

import weft
from weft import _C, Tensor
from weft.nn.module import Module
from weft.quantization.nn.weights import StoredNumbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["FloatFunctional", "QFunctional"]

_round = _C._op_function("quantized_round")


def rounded(
    x: Tensor, scale: float, zero_point: int, other: Tensor | None = None, relu: bool = False
) -> Tensor:
    """Return x, or x + other, on a grid of bytes; with relu, what is not negative.

    >>> from weft.quantization.nn.functional import rounded
    >>> rounded(weft.tensor([0.3, 1.6]), 0.5, 0)
    tensor([0.5000, 1.5000])
    """
    given = [x] if other is None else [x, other]
    slopes = weft.is_grad_enabled() and any(t.requires_grad for t in given)
    alike = all(t.dtype is weft.float32 and t.shape == x.shape for t in given)
    if alike and not slopes:
        return _round(x, other, scale, zero_point, relu)
    y = x if other is None else x + other
    y = weft.relu(y) if relu else y
    return weft.fake_quantize_per_tensor_affine(y, scale, zero_point, 0, 255)


class _Functional(Module):
    """The functions; what they give passes ``_leave``."""

    def _leave(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError(f"{type(self).__name__} has no forward: call its add, mul, cat …")

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x + y."""
        return self._leave(weft.add(x, y))

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """Return x + y for a number y."""
        return weft.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x y, element by element."""
        return self._leave(weft.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """Return x y for a number y."""
        return weft.mul(x, y)

    def cat(self, x: Sequence[Tensor], dim: int = 0) -> Tensor:
        """Return tensors joined."""
        return self._leave(weft.cat(list(x), dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x + y where that is positive, else 0."""
        return self._leave(weft.relu(weft.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the matrix product."""
        return self._leave(weft.matmul(x, y))


class FloatFunctional(_Functional):
    """Functions whose results are observed once the model is prepared.

    >>> f = weft.quantization.nn.quantized.FloatFunctional()
    >>> f.add(weft.ones(2), weft.ones(2))
    tensor([2., 2.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process: Any = weft.nn.Identity()

    def _leave(self, y: Tensor) -> Tensor:
        return self.activation_post_process(y)


class QFunctional(_Functional, StoredNumbers):
    """The same functions; their results lie on a grid.

    >>> f = weft.quantization.nn.quantized.QFunctional()
    >>> f.add(weft.tensor([1.2]), weft.tensor([1.2]))
    tensor([2.])
    """

    _numbers = ("scale", "zero_point")

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.zero_point = 1.0, 0

    @classmethod
    def from_float(cls, mod: FloatFunctional) -> QFunctional:
        """Take the grid that the observer of a prepared module found."""
        from weft.quantization.nn.static import grid_of

        new = cls()
        new.scale, new.zero_point = grid_of(mod.activation_post_process)
        return new

    def _leave(self, y: Tensor) -> Tensor:
        return rounded(y, self.scale, self.zero_point)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x + y."""
        return rounded(x, self.scale, self.zero_point, y)

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x + y where that is positive, else 0."""
        return rounded(x, self.scale, self.zero_point, y, relu=True)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}"
