"""How calls of weft's functions are written into a graph: with PyTorch's arguments."""

from __future__ import annotations

import functools
import inspect

import weft
import weft.nn.functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["as_recorded"]

# Functions of torch.nn.functional that are native in PyTorch: their calls stay as they are written.
_NATIVE = frozenset(
    "adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d "
    "conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity "
    "elu_ gelu hardshrink hardtanh_ leaky_relu_ linear logsigmoid native_channel_shuffle one_hot "
    "pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_ "
    "scaled_dot_product_attention selu_ softplus softshrink threshold_".split()
)
_AS_METHOD = frozenset(("sigmoid", "tanh"))  # there, F.tanh(x) is x.tanh()
_TOP_LEVEL = frozenset("cdist norm stft tensordot".split())


def as_recorded(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return the target, args and kwargs of the node for a call.

    A layer function's call names every argument that has a default.

    >>> from weft.fx.calls import as_recorded
    >>> as_recorded(weft.nn.functional.relu, (1,), {})[1:]
    ((1,), {'inplace': False})
    """
    if f is weft.split and len(args) > 1:  # native here, a function of Python there
        return f, args[:2], {"dim": args[2] if len(args) > 2 else 0, **kwargs}
    name = f.__name__
    layer = getattr(F, name, None) is f
    if layer and name in _AS_METHOD:
        return name, args, kwargs
    if (layer and name not in _NATIVE) or (name in _TOP_LEVEL and getattr(weft, name, 0) is f):
        return (f, *_with_defaults(f, args, kwargs))
    return f, args, kwargs


@functools.cache
def _signature(f: Callable[..., Any]) -> inspect.Signature:
    from .intercept import original_of

    return inspect.signature(original_of(f))


def _with_defaults(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    bound = _signature(f).bind(*args, **kwargs)
    bound.apply_defaults()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in bound.signature.parameters.values():
        value = bound.arguments[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            positional.append(value)
        else:
            named[parameter.name] = value
    return tuple(positional), named
