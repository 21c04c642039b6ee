"""All transforms, as PyTorch's module of this name has them."""

from __future__ import annotations

from . import transform, transforms_numbers, transforms_vectors
from .transform import *  # noqa: F403
from .transforms_numbers import *  # noqa: F403
from .transforms_vectors import *  # noqa: F403

__all__ = [
    *transform.__all__,
    *transforms_numbers.__all__,
    *transforms_vectors.__all__,
]
