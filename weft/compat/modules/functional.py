"""``weft.functional``: functions of tensors by PyTorch's name for the module that has them."""

from __future__ import annotations

import weft

__all__ = """
atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist
chain_matmul einsum istft lu meshgrid norm split stft tensordot unique unique_consecutive
unravel_index
""".split()

globals().update({_name: getattr(weft, _name) for _name in __all__})
