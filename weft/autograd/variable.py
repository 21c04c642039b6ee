"""``Variable``: the old name of a tensor, which programs still use."""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["Variable"]


class _VariableMeta(type):
    """Makes every tensor an instance of ``Variable``."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, weft.Tensor)

    def __call__(
        cls,
        data: Tensor | None = None,
        requires_grad: bool = False,
        volatile: bool | None = None,
    ) -> Tensor:
        """Return a new tensor that shares the memory of ``data`` and has no history."""
        if volatile is not None:
            import warnings

            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                stacklevel=2,
            )
        if data is None:
            data = weft.empty(0)
        if not isinstance(data, weft.Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(bool(requires_grad))


class Variable(metaclass=_VariableMeta):
    """A tensor under its old name: ``Variable(t)`` gives a tensor, and every tensor is a Variable.

    >>> x = weft.autograd.Variable(weft.ones(2), requires_grad=True)
    >>> x
    tensor([1., 1.], requires_grad=True)
    >>> isinstance(x, weft.autograd.Variable)
    True
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:  # pragma: no cover - the metaclass answers
        raise TypeError("Variable is made by calling it")
