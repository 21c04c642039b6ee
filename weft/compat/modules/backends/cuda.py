"""``weft.backends.cuda``: switches of GPU kernels, of which weft has none."""

from __future__ import annotations

__all__ = ["is_built", "matmul"]

_ATTENTION = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


class MatmulSwitches:
    """How exact products of matrices on a GPU have to be.

    >>> weft.backends.cuda.matmul.allow_tf32
    False
    """

    __slots__ = (
        "allow_bf16_reduced_precision_reduction",
        "allow_fp16_accumulation",
        "allow_fp16_reduced_precision_reduction",
        "allow_tf32",
    )

    def __init__(self) -> None:
        """Start with PyTorch's defaults."""
        self.allow_tf32 = self.allow_fp16_accumulation = False
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True


matmul = MatmulSwitches()


def is_built() -> bool:
    """Say whether weft was built for GPUs.

    >>> weft.backends.cuda.is_built()
    False
    """
    return False


def _switch(kind: str) -> None:
    def enable(enabled: bool) -> None:
        _ATTENTION[kind] = bool(enabled)

    def is_enabled() -> bool:
        return _ATTENTION[kind]

    enable.__doc__ = f"Switch the {kind} attention of GPUs; on a CPU see ``nn.attention``."
    is_enabled.__doc__ = f"Say whether the {kind} attention of GPUs is switched on."
    for name, f in ((f"enable_{kind}_sdp", enable), (f"{kind}_sdp_enabled", is_enabled)):
        f.__name__ = f.__qualname__ = name
        globals()[name] = f
        __all__.append(name)


for _kind in _ATTENTION:
    _switch(_kind)
