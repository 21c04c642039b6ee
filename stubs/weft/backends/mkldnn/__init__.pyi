# Written by `python -m tools.stubs`. Do not edit.
from weft.compat.modules.backends.mkldnn import enabled as enabled
from weft.compat.modules.backends.mkldnn import is_available as is_available
