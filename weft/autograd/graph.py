"""The recorded graph from Python: nodes, edges, and hooks on what nodes save.

Native: ``weft._C.Node``; ``_push_saved_hooks(pack, unpack)`` and ``_pop_saved_hooks()`` (a stack
of the thread, whose top is called for each tensor that a node saves and each time it is read);
``_increment_version(t)``.
"""

from __future__ import annotations

from _thread import _local
from collections import namedtuple

import weft
from weft import _C
from weft._C import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any

    from weft import Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "save_on_cpu",
    "saved_tensors_hooks",
]

GradientEdge = namedtuple(
    "GradientEdge", ("node", "output_nr", "ownership_token"), defaults=(None,)
)
GradientEdge.__doc__ = """The place of a tensor in the graph: output ``output_nr`` of ``node``."""


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return where the gradient of ``tensor`` arrives; good for ``inputs=`` of ``autograd.grad``.

    >>> x = weft.ones(2, requires_grad=True)
    >>> weft.autograd.graph.get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    node = tensor.grad_fn
    if node is not None:
        return GradientEdge(node, tensor.output_nr, None)
    with weft.enable_grad():  # a leaf: its accumulator is what follows a view of it
        view = tensor.expand(tensor.shape)
    return GradientEdge(view.grad_fn.next_functions[0][0], 0, None)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Tell autograd that the data of ``tensor`` (or of several) was changed behind its back.

    >>> x = weft.ones(2)
    >>> weft.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for t in (tensor,) if isinstance(tensor, weft.Tensor) else tensor:
        _C._increment_version(t)


class _Hooks(_local):
    """How many hooks are active in this thread, and why none may be, if so."""

    depth = 0
    refusal: str | None = None


_hooks = _Hooks()


class saved_tensors_hooks:
    """Change how tensors are kept for backward, inside a ``with`` block.

    Args:
        pack_hook: takes each tensor that is saved and returns anything.
        unpack_hook: takes that back and returns a tensor of the same content.

    >>> sizes = []
    >>> def pack(t):
    ...     sizes.append(t.numel())
    ...     return t
    >>> x = weft.ones(3, requires_grad=True)
    >>> with weft.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
    ...     y = x.exp()
    >>> sizes
    [3]
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if _hooks.refusal is not None:
            raise RuntimeError(_hooks.refusal)
        _C._push_saved_hooks(self.pack_hook, self.unpack_hook)
        _hooks.depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _hooks.depth -= 1
        _C._pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors on the CPU. In weft they are there already: this changes nothing.

    Args:
        pin_memory: accepted for PyTorch's sake, without effect.
        device_type: accepted for PyTorch's sake, without effect.

    >>> x = weft.ones(2, requires_grad=True)
    >>> with weft.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        super().__init__(lambda t: t, lambda t: t)

    def __enter__(self) -> None:
        if _hooks.refusal is not None:
            raise RuntimeError(_hooks.refusal)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


class disable_saved_tensors_hooks:
    """Refuse saved-tensor hooks inside a ``with`` block.

    Args:
        error_message: what the RuntimeError says.

    >>> with weft.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     with weft.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    ...         pass
    Traceback (most recent call last):
    RuntimeError: no hooks here
    """

    __slots__ = ("_before", "error_message")

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message
        self._before: Any = None

    def __enter__(self) -> None:
        if _hooks.depth:
            raise RuntimeError(self.error_message)
        self._before = (_hooks.refusal, self._before)
        _hooks.refusal = self.error_message

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _hooks.refusal, self._before = self._before
