# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft import atleast_1d as atleast_1d
from weft import atleast_2d as atleast_2d
from weft import atleast_3d as atleast_3d
from weft import block_diag as block_diag
from weft import broadcast_shapes as broadcast_shapes
from weft import broadcast_tensors as broadcast_tensors
from weft import cartesian_prod as cartesian_prod
from weft import cdist as cdist
from weft import chain_matmul as chain_matmul
from weft import einsum as einsum
from weft import istft as istft
from weft import lu as lu
from weft import meshgrid as meshgrid
from weft import norm as norm
from weft import split as split
from weft import stft as stft
from weft import tensordot as tensordot
from weft import unique as unique
from weft import unique_consecutive as unique_consecutive
from weft import unravel_index as unravel_index
