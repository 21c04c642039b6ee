"""Values for parameters to begin with. All functions change their tensor in place and return it."""

from __future__ import annotations

import functools
import math
import warnings

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from weft import Generator, Tensor

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_GAINS = {
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4.0,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor that keeps the variance of signals through a nonlinearity.

    Args:
        nonlinearity: its name, as a function of ``weft.nn.functional``.
        param: the negative slope of ``"leaky_relu"``.

    >>> weft.nn.init.calculate_gain("leaky_relu", 0.0) == 2**0.5
    True
    """
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers spread evenly between ``a`` and ``b``.

    >>> x = weft.nn.init.uniform_(weft.empty(100), 2, 3)
    >>> bool(((x >= 2) & (x <= 3)).all())
    True
    """
    with weft.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with normally distributed numbers.

    >>> weft.nn.init.normal_(weft.empty(2, 3), mean=1.0, std=0.1).shape
    torch.Size([2, 3])
    """
    with weft.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normally distributed numbers, drawn again where outside of ``[a, b]``.

    >>> x = weft.nn.init.trunc_normal_(weft.empty(100), a=-1.0, b=1.0)
    >>> bool((x.abs() <= 1).all())
    True
    """

    def cdf(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=2,
        )
    inside = cdf((b - mean) / std) - cdf((a - mean) / std)
    with weft.no_grad():
        if inside > 0.3:
            return _truncate_normal(tensor, mean, std, a, b, generator)
        return _accept_uniform(tensor, mean, std, a, b, generator)


def _truncate_normal(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Draw normal numbers, and again those that lie outside."""
    low, high = (tensor.new_tensor(x).item() for x in (a, b))  # as the dtype holds them
    tensor.normal_(mean, std, generator=generator)
    while bool((outside := (tensor < low) | (tensor > high)).any()):
        again = weft.empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(weft.where(outside, again, tensor))
    return tensor


def _accept_uniform(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Draw uniform numbers, each accepted with the odds of its density over the largest in ``[a, b]``."""
    top = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def refused(x: Tensor) -> Tensor:
        density = x.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(top)
        return weft.empty_like(x).uniform_(generator=generator).log_() > density

    pending = refused(tensor.uniform_(a, b, generator=generator))
    while bool(pending.any()):
        again = weft.empty_like(tensor).uniform_(a, b, generator=generator)
        tensor.copy_(weft.where(pending, again, tensor))
        pending = weft.where(pending, refused(again), pending)
    return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number.

    >>> weft.nn.init.constant_(weft.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    with weft.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    >>> weft.nn.init.ones_(weft.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    >>> weft.nn.init.zeros_(weft.empty(2))
    tensor([0., 0.])
    """
    with weft.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity.

    >>> weft.nn.init.eye_(weft.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with weft.no_grad():
        return tensor.copy_(weft.eye(*tensor.shape, dtype=tensor.dtype))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it keeps its input, in each of ``groups``.

    >>> weft.nn.init.dirac_(weft.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tuple(tensor.shape)
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    with weft.no_grad():
        tensor.zero_()
        middle = tuple(size // 2 for size in sizes[2:])
        for g in range(groups):
            for d in range(min(per_group, sizes[1])):
                tensor[(g * per_group + d, d, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return how many inputs reach an output of a layer with this weight, and the other way."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """Return the fan that ``mode`` asks for."""
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill evenly between ±gain·sqrt(6 / (fan_in + fan_out)): Glorot and Bengio.

    >>> x = weft.nn.init.xavier_uniform_(weft.empty(3, 3))
    >>> bool((x.abs() <= 1).all())
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = gain * math.sqrt(6.0 / float(fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill normally with deviation gain·sqrt(2 / (fan_in + fan_out)): Glorot and Bengio.

    >>> weft.nn.init.xavier_normal_(weft.empty(3, 5)).shape
    torch.Size([3, 5])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """The deviation of He's rule, or None for a tensor without elements."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill evenly between ±gain·sqrt(3 / fan): He and others.

    Args:
        tensor: a weight.
        a: the negative slope of the ``leaky_relu`` behind it.
        mode: ``"fan_in"`` keeps variances on the way forward, ``"fan_out"`` on the way back.
        nonlinearity: what follows.
        generator: the source of random numbers.

    >>> x = weft.nn.init.kaiming_uniform_(weft.empty(3, 6), nonlinearity="relu")
    >>> bool((x.abs() <= 1).all())
    True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill normally with deviation gain / sqrt(fan): He and others.

    Args:
        tensor: a weight.
        a: the negative slope of the ``leaky_relu`` behind it.
        mode: ``"fan_in"`` keeps variances on the way forward, ``"fan_out"`` on the way back.
        nonlinearity: what follows.
        generator: the source of random numbers.

    >>> weft.nn.init.kaiming_normal_(weft.empty(3, 6), mode="fan_out").shape
    torch.Size([3, 6])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a (half) orthogonal matrix, times ``gain``; further dimensions count as columns.

    >>> q = weft.nn.init.orthogonal_(weft.empty(2, 4))
    >>> weft.allclose(q @ q.T, weft.eye(2), atol=1e-6)
    True
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    with weft.no_grad():
        flat = weft.empty(rows, columns, dtype=tensor.dtype).normal_(0, 1, generator=generator)
        q, r = weft.linalg.qr(flat.t() if rows < columns else flat)
        q = q * weft.diagonal(r).sign()  # makes the distribution uniform
        q = q.t() if rows < columns else q
        return tensor.copy_(q.reshape(tensor.shape)).mul_(gain)


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Fill a matrix normally, with a share ``sparsity`` of each column zero.

    >>> x = weft.nn.init.sparse_(weft.empty(10, 2), sparsity=0.3)
    >>> (x == 0).sum(0)
    tensor([3, 3])
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with weft.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[weft.randperm(rows)[:zeros], column] = 0
    return tensor


def _old_name(f: Callable[..., Any]) -> Callable[..., Any]:
    """The name without underscore, which warns."""
    name = f.__name__.removesuffix("_")

    @functools.wraps(f)
    def old(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`nn.init.{name}` is now deprecated in favor of `nn.init.{f.__name__}`.",
            FutureWarning,
            stacklevel=2,
        )
        return f(*args, **kwargs)

    old.__name__ = name
    return old


uniform = _old_name(uniform_)
normal = _old_name(normal_)
constant = _old_name(constant_)
eye = _old_name(eye_)
dirac = _old_name(dirac_)
xavier_uniform = _old_name(xavier_uniform_)
xavier_normal = _old_name(xavier_normal_)
kaiming_uniform = _old_name(kaiming_uniform_)
kaiming_normal = _old_name(kaiming_normal_)
orthogonal = _old_name(orthogonal_)
sparse = _old_name(sparse_)
