"""``weft.nn.functional``: the functions that layers are made of."""

# ruff: noqa: F401, F403 (what is imported here is what this folder offers)
from .activation import *
from .conv import *
from .linear import *
from .pooling import *
from .pooling_more import *
