# Written by `python -m tools.stubs`. Do not edit.
from weft.compat.modules.backends.cuda import MatmulSwitches as MatmulSwitches
from weft.compat.modules.backends.cuda import is_built as is_built
from weft.compat.modules.backends.cuda import matmul as matmul
def cudnn_sdp_enabled() -> _bool:
    """Say whether the cudnn attention of GPUs is switched on."""
def enable_cudnn_sdp(enabled: _bool) -> None:
    """Switch the cudnn attention of GPUs; on a CPU see ``nn.attention``."""
def enable_flash_sdp(enabled: _bool) -> None:
    """Switch the flash attention of GPUs; on a CPU see ``nn.attention``."""
def enable_math_sdp(enabled: _bool) -> None:
    """Switch the math attention of GPUs; on a CPU see ``nn.attention``."""
def enable_mem_efficient_sdp(enabled: _bool) -> None:
    """Switch the mem_efficient attention of GPUs; on a CPU see ``nn.attention``."""
def flash_sdp_enabled() -> _bool:
    """Say whether the flash attention of GPUs is switched on."""
def math_sdp_enabled() -> _bool:
    """Say whether the math attention of GPUs is switched on."""
def mem_efficient_sdp_enabled() -> _bool:
    """Say whether the mem_efficient attention of GPUs is switched on."""
