"""``weft.cuda.amp``: mixed precision on GPUs. Without one it is switched off, with a warning.

>>> with weft.cuda.amp.autocast(enabled=False):
...     y = weft.ones(2) @ weft.ones(2)
"""

from __future__ import annotations

import weft
from weft import amp
from weft.amp import custom_bwd, custom_fwd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """``weft.autocast("cuda", ...)``: without a GPU, nothing is cast.

    Args:
        enabled: whether to cast; without a GPU it warns that it does not.
        dtype: the dtype to cast to.
        cache_enabled: whether cast weights are kept.

    >>> with weft.cuda.amp.autocast(enabled=False):
    ...     print(weft.is_autocast_enabled("cuda"))
    False
    """

    def __init__(
        self, enabled: bool = True, dtype: Any = weft.float16, cache_enabled: bool = True
    ) -> None:
        """Keep the settings."""
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """``weft.amp.GradScaler("cuda", ...)``: without a GPU, nothing is scaled.

    >>> weft.cuda.amp.GradScaler(enabled=False).scale(weft.ones(1))
    tensor([1.])
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        """Keep the settings."""
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
