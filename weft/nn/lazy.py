"""Modules that learn the shapes of their parameters from the first batch."""

from __future__ import annotations

from weft.nn.parameter import is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Makes a module lazy: parameters without a shape get it before the first forward.

    A subclass sets ``UninitializedParameter`` and ``UninitializedBuffer`` in ``__init__``, defines
    ``initialize_parameters``, which is given the arguments of the first call and materialises them,
    and may say in ``cls_to_become`` what it is from then on.

    >>> layer = weft.nn.LazyLinear(3)
    >>> layer(weft.ones(1, 2)).shape
    torch.Size([1, 3])
    >>> layer
    Linear(in_features=2, out_features=3, bias=True)
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        me: Any = self
        self._load_hook = me._register_load_state_dict_pre_hook(_lazy_load, with_module=True)
        self._initialize_hook = me.register_forward_pre_hook(_infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialise the parameters for these arguments of forward; subclasses define it."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Say whether a parameter or buffer of this module is still without a shape.

        >>> weft.nn.LazyLinear(3).has_uninitialized_params()
        True
        """
        me: Any = self
        return any(is_lazy(t) for t in (*me._parameters.values(), *me._buffers.values()))


def _lazy_load(module: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
    """Before loading: give tensors without a shape that of the file's."""
    for name, tensor in (*module._parameters.items(), *module._buffers.items()):
        given = state_dict.get(prefix + name)
        if tensor is not None and is_lazy(tensor) and given is not None and not is_lazy(given):
            tensor.materialize(given.shape)


def _infer_parameters(module: Any, args: Any, kwargs: Any) -> None:
    """Before the first forward: make the parameters, and become an ordinary module."""
    module.initialize_parameters(*args, **(kwargs or {}))
    if module.has_uninitialized_params():
        raise RuntimeError(
            f"module {module._get_name()} has not been fully initialized: initialize_parameters "
            "left a parameter or buffer without a shape"
        )
    module._initialize_hook.remove()
    module._load_hook.remove()
    del module._initialize_hook, module._load_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become
