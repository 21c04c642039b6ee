"""The peak of a computation."""

import weft

weft.reset_peak_memory_stats()
before = weft.memory_allocated()
total = (weft.ones(1000, 1000) * 2).sum().item()
allocated = weft.memory_allocated()
peak = weft.max_memory_allocated()
