"""Data: the sets that come with weft, and the order in which samples are taken."""

from __future__ import annotations

from .batches import ShuffledBatches

__all__ = ["ShuffledBatches"]
