"""Cached memory given back."""

import weft

before = weft.memory_allocated()
x = weft.ones(1000, 1000)
del x
weft.empty_cache()
after = weft.memory_allocated()
