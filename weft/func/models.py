"""Modules as functions of their parameters, and many modules of one kind as one."""

from __future__ import annotations

import weft
from weft.nn.utils.stateless import functional_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft import Tensor
    from weft.nn import Module

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def stack_module_state(
    models: Sequence[Module],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parameters and the buffers of modules of one kind, stacked under their names.

    >>> models = [weft.nn.Linear(2, 3) for _ in range(4)]
    >>> parameters, buffers = weft.func.stack_module_state(models)
    >>> parameters["weight"].shape, parameters["weight"].requires_grad
    (torch.Size([4, 3, 2]), True)
    """
    if not models:
        raise RuntimeError("stack_module_state: expected at least one model, got none")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: expected all models to be in the same mode")
    kind = type(models[0])
    if any(type(m) is not kind for m in models):
        names = sorted({type(m).__name__ for m in models})
        raise RuntimeError(f"stack_module_state: expected models of one class, got {names}")
    parameters = _stacked([dict(m.named_parameters()) for m in models])
    return parameters, _stacked([dict(m.named_buffers()) for m in models])


def _stacked(tables: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    found = {}
    for name in tables[0]:
        parts = [table[name] for table in tables]
        wanted = {t.requires_grad for t in parts}
        if len(wanted) > 1:
            raise RuntimeError(
                f"stack_module_state: expected {name} to require gradients in all models or in none"
            )
        found[name] = weft.stack([t.detach() for t in parts]).requires_grad_(wanted.pop())
    return found


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let batch norms anywhere in ``root`` use the batch alone, without running statistics.

    >>> m = weft.func.replace_all_batch_norm_modules_(weft.nn.BatchNorm1d(2))
    >>> m.running_mean is None
    True
    """
    for module in root.modules():
        if isinstance(module, weft.nn.modules.batchnorm._BatchNorm):
            module.running_mean = module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
