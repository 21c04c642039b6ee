"""Bytes in use, and their peak."""

import weft

before = weft.memory_allocated()
x = weft.ones(1000, 1000)
allocated = weft.memory_allocated()
peak = weft.max_memory_allocated()
