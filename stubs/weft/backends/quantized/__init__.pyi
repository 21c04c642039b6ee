# Written by `python -m tools.stubs`. Do not edit.
from weft.compat.modules.backends.quantized import engine as engine
from weft.compat.modules.backends.quantized import supported_engines as supported_engines
