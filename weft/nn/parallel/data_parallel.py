"""One module on several devices: of which weft has one."""

from __future__ import annotations

from weft.nn.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Calls a module: on a machine without GPUs, as in PyTorch, this wrapper does no more.

    Args:
        module: what to call; its parameters are below ``module.`` in the state dict.
        device_ids: the GPUs that would share the work; without one, there is nothing to choose.
        output_device: the GPU that would collect the results.
        dim: along which batches would be cut.

    >>> m = weft.nn.DataParallel(weft.nn.Linear(2, 1))
    >>> m(weft.ones(3, 2)).shape, list(m.state_dict())
    (torch.Size([3, 1]), ['module.weight', 'module.bias'])
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
