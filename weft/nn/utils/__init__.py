"""Helpers for modules and their parameters: clipping, packing, norms, parametrizations, fusion."""

# ruff: noqa: F401 (what is imported here is what weft.nn.utils offers)
from __future__ import annotations

from . import parametrizations, parametrize, rnn, stateless
from .clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from .init import no_init, skip_init
from .memory_format import (
    convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format,
)
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm


def __getattr__(name: str):  # type: ignore[no-untyped-def]  # the type depends on the name
    """Load what prunes on first use: most programs do not prune."""
    if name in ("prune", "pruning_utils"):
        import importlib

        return importlib.import_module(f"weft.nn.utils.{name}")
    raise AttributeError(f"module 'weft.nn.utils' has no attribute '{name}'")
