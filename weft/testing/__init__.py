"""``weft.testing``: assertions that tensors are close, and random tensors to test with.

>>> weft.testing.assert_close(weft.ones(2) / 3 * 3, weft.ones(2))
"""

from __future__ import annotations

from .close import assert_allclose, assert_close
from .create import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
