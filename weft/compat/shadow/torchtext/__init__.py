"""``import torchtext`` in a process that a program of ``python -m weft run`` started: weft takes over."""

from weft.compat.torch import take_over

__weft_shadow__ = True
take_over(__name__)
