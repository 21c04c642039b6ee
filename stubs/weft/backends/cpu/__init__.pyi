# Written by `python -m tools.stubs`. Do not edit.
from weft.compat.modules.backends.cpu import get_cpu_capability as get_cpu_capability
