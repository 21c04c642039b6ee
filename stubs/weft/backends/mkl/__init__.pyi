# Written by `python -m tools.stubs`. Do not edit.
from weft.compat.modules.backends.mkl import is_available as is_available
