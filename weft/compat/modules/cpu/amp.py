"""``weft.cpu.amp``: mixed precision on the CPU, by its older names.

>>> with weft.cpu.amp.autocast():
...     (weft.ones(2, 2) @ weft.ones(2, 2)).dtype
torch.bfloat16
"""

from __future__ import annotations

import weft
from weft import amp

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """``weft.autocast("cpu", ...)``.

    Args:
        enabled: whether to cast.
        dtype: the dtype to cast to.
        cache_enabled: whether cast weights are kept.

    >>> with weft.cpu.amp.autocast(dtype=weft.float16):
    ...     (weft.ones(2, 2) @ weft.ones(2, 2)).dtype
    torch.float16
    """

    def __init__(
        self,
        enabled: bool = True,
        dtype: weft.dtype = weft.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        """Keep the settings."""
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """``weft.amp.GradScaler("cpu", ...)``.

    >>> weft.cpu.amp.GradScaler(init_scale=4.0).scale(weft.ones(1))
    tensor([4.])
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
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
