# Written by `python -m tools.stubs`. Do not edit.
from . import quantization as quantization
