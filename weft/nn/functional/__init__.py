"""``weft.nn.functional``: the functions that layers are made of."""

# ruff: noqa: F401, F403 (what is imported here is what this folder offers)
from .activation import *
from .attention import *
from .conv import *
from .cross_entropy import *
from .distance import *
from .dropout import *
from .embedding import *
from .fold import *
from .grid import *
from .linear import *
from .loss import *
from .norm import *
from .padding import *
from .pooling import *
from .pooling_more import *
from .resize import *
