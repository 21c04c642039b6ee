"""Normalisation: over the batch, a layer, groups of channels, one instance."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import functional, in_autocast, like, need_floating, prod, wide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


_norm_channels, _norm_rows = _C._op_function("norm_channels"), _C._op_function("norm_rows")
_norm_groups = _C._op_function("norm_groups")


def _scaled(
    x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Return (x - mean) / sqrt(var + eps) * weight + bias."""
    scale = weft.rsqrt(var + eps)
    y = (x - mean) * (scale if weight is None else scale * weight)
    return y if bias is None else y + bias


def _several_values(name: str, size: Sequence[int]) -> None:
    if size[0] * prod(size[2:]) == 1:
        raise ValueError(
            f"{name}: Expected more than 1 value per channel when training, got input size "
            f"{list(size)}"
        )


def _channels(name: str, x: Tensor, **given: Tensor | None) -> None:
    for what, t in given.items():
        if t is not None and t.numel() != x.shape[1]:
            raise RuntimeError(
                f"{name}: {what} should contain {x.shape[1]} elements not {t.numel()}"
            )


def _columns(t: Tensor | None, n: int) -> Tensor | None:
    """Return a vector of channels in the shape of an input with n dimensions."""
    return None if t is None else wide(t).reshape(1, -1, *[1] * (n - 2))


def _track(running: Tensor | None, now: Tensor, momentum: float) -> None:
    """Move a running statistic towards the present one."""
    if running is not None:
        with weft.no_grad():
            new = like(now.detach().reshape(running.shape), running)
            running.mul_(1 - momentum).add_(new * momentum)


def plain_batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None,
    bias: Tensor | None, training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the normalised input, and the mean and variance it was normalised with."""
    x = wide(input)
    if training:
        dims = [0, *range(2, x.ndim)]
        var, mean = weft.var_mean(x, dims, correction=0, keepdim=True)
        count = x.numel() // max(x.shape[1], 1)
        if count:
            _track(running_mean, mean, momentum)
            _track(running_var, var * (count / max(count - 1, 1)), momentum)
    else:
        mean, var = _columns(running_mean, x.ndim), _columns(running_var, x.ndim)
    y = _scaled(x, mean, var, _columns(weight, x.ndim), _columns(bias, x.ndim), eps)
    return like(y, input), mean, var


@functional
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel by its mean and variance over the batch, or by the running ones.

    >>> x = weft.tensor([[1.0], [3.0]])
    >>> weft.nn.functional.batch_norm(x, None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    need_floating(input, "batch_norm")
    if input.ndim < 2:
        if input.numel() == 0:
            return input.clone()
        raise RuntimeError(f"batch_norm: expected at least 2D input, got {input.ndim}D input")
    if (running_mean is None) != (running_var is None):
        raise ValueError(
            "batch_norm: running_mean and running_var must either both be None or neither be None"
        )
    if training:
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
        _several_values("batch_norm", input.shape)
    elif running_mean is None or running_var is None:
        raise RuntimeError(
            "batch_norm: running_mean and running_var must be defined in evaluation mode"
        )
    _channels(
        "batch_norm", input, running_mean=running_mean, running_var=running_var, weight=weight,
        bias=bias,
    )  # fmt: skip
    if not training:
        args = (weight, bias, running_mean, running_var, False, eps)
        return _norm_channels(input, *args)[0]
    y, mean, var = _norm_channels(input, weight, bias, None, None, True, eps)
    count = input.numel() // max(input.shape[1], 1)
    if count and running_mean is not None:
        _track(running_mean, mean, momentum)
        _track(running_var, var * (count / max(count - 1, 1)), momentum)
    return y


@functional
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each example by its own mean and variance.

    >>> weft.nn.functional.instance_norm(weft.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    need_floating(input, "instance_norm")
    if use_input_stats:
        if prod(input.shape[2:]) == 1:
            raise ValueError(
                "instance_norm: Expected more than 1 spatial element when training, got input size "
                f"{list(input.shape)}"
            )
    elif running_mean is None or running_var is None:
        raise RuntimeError(
            "instance_norm: Expected running_mean and running_var to be defined when "
            "use_input_stats is false"
        )
    if (running_mean is None) != (running_var is None):
        raise ValueError(
            "instance_norm: running_mean and running_var must either both be None or neither be None"
        )
    _channels(
        "instance_norm", input, running_mean=running_mean, running_var=running_var, weight=weight,
        bias=bias,
    )  # fmt: skip
    if not use_input_stats:
        return _norm_channels(input, weight, bias, running_mean, running_var, False, eps)[0]
    if running_mean is None:
        return _norm_groups(input, weight, bias, max(input.shape[1], 1), eps)[0]
    return plain_instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def plain_instance_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None,
    bias: Tensor | None, use_input_stats: bool, momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    """Return the input, each channel of each example normalised."""
    x = wide(input)
    if use_input_stats:
        dims = list(range(2, x.ndim))
        var, mean = weft.var_mean(x, dims, correction=0, keepdim=True)
        count = prod(x.shape[2:])
        _track(running_mean, mean.mean(0), momentum)
        if running_var is not None:
            unbiased = var * (count / (count - 1)) if count > 1 else var
            _track(running_var, unbiased.mean(0), momentum)
    else:
        mean, var = _columns(running_mean, x.ndim), _columns(running_var, x.ndim)
    y = _scaled(x, mean, var, _columns(weight, x.ndim), _columns(bias, x.ndim), eps)
    return like(y, input)


def _last_dims(
    name: str, input: Tensor, normalized_shape: Sequence[int], **given: Tensor | None
) -> list[int]:
    """Return the dimensions to normalise over."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    n = len(shape)
    if n == 0:
        raise RuntimeError(
            f"{name}: Expected normalized_shape to be at least 1-dimensional, i.e., containing at "
            f"least one element, but got normalized_shape = {shape}"
        )
    for what, t in given.items():
        if t is not None and list(t.shape) != shape:
            raise RuntimeError(
                f"{name}: Expected {what} to be of same shape as normalized_shape, but got {what} "
                f"of shape {list(t.shape)} and normalized_shape = {shape}"
            )
    if input.ndim < n or list(input.shape[-n:]) != shape:
        raise RuntimeError(
            f"{name}: Given normalized_shape={shape}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but got input of size {list(input.shape)}"
        )
    return list(range(input.ndim - n, input.ndim))


def plain_layer_norm(
    input: Tensor, dims: list[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the normalised input, its mean, and one over its standard deviation."""
    x = wide(input)
    var, mean = weft.var_mean(x, dims, correction=0, keepdim=True)
    scale = weft.rsqrt(var + eps)
    y = (x - mean) * scale
    if weight is not None:
        y = y * wide(weight)
    if bias is not None:
        y = y + wide(bias)
    return like(y, input), mean, scale


@functional
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over the last dimensions, whose sizes are normalized_shape.

    >>> weft.nn.functional.layer_norm(weft.tensor([1.0, 3.0]), (2,))
    tensor([-1.0000,  1.0000])
    """
    need_floating(input, "layer_norm")
    dims = _last_dims("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    count = prod(input.shape[dims[0] :])
    return _norm_rows(input, weight, bias, count, eps)[0]


@functional
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divide by the root of the mean square over the last dimensions.

    >>> weft.nn.functional.rms_norm(weft.tensor([3.0, -3.0]), (2,), eps=0.0)
    tensor([ 1., -1.])
    """
    need_floating(input, "rms_norm", complex=True)
    dims = _last_dims("rms_norm", input, normalized_shape, weight=weight)
    x = wide(input)
    eps = weft.finfo(x.dtype).eps if eps is None else eps  # as in PyTorch, not that of input
    y = x * weft.rsqrt((x * x).mean(dims, keepdim=True) + eps)
    return like(y if weight is None else y * wide(weight), input)


@functional
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise groups of channels of each example.

    >>> weft.nn.functional.group_norm(weft.tensor([[1.0, 3.0, 5.0, 9.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    need_floating(input, "group_norm")
    if input.ndim < 2:
        raise RuntimeError(
            f"group_norm: Expected at least 2 dimensions for input tensor but received {input.ndim}"
        )
    if num_groups <= 0 or input.shape[1] % num_groups:
        raise RuntimeError(
            "group_norm: Expected number of channels in input to be divisible by num_groups, but "
            f"got input of shape {list(input.shape)} and num_groups={num_groups}"
        )
    if input.numel() == num_groups:
        n, c, *rest = input.shape
        _several_values("group_norm", [n * c // num_groups, num_groups, *rest])
    _channels("group_norm", input, weight=weight, bias=bias)
    return _norm_groups(input, weight, bias, num_groups, eps)[0]


def plain_group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Return the input, normalised in groups of channels."""
    n, c = input.shape[:2]
    x = wide(input)
    grouped = x.reshape(n, num_groups, c // num_groups * prod(x.shape[2:]))
    var, mean = weft.var_mean(grouped, -1, correction=0, keepdim=True)
    y = ((grouped - mean) * weft.rsqrt(var + eps)).reshape(x.shape)
    if weight is not None:
        y = y * _columns(weight, y.ndim)
    if bias is not None:
        y = y + _columns(bias, y.ndim)
    return like(y, input)


@functional
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide by a power of the mean square of neighbouring channels.

    >>> weft.nn.functional.local_response_norm(weft.ones(1, 1, 1), 1, alpha=3.0, beta=0.5)
    tensor([[[0.5000]]])
    """
    if input.ndim < 3:
        raise ValueError(
            "local_response_norm: Expected 3D or higher dimensionality input "
            f"(got {input.ndim} dimensions)"
        )
    if input.numel() == 0:
        return input
    if input.ndim > 3:  # means of volumes
        input = in_autocast(input, weft.float32)
    around = [0, 0] * (input.ndim - 2) + [size // 2, (size - 1) // 2]
    squares = weft.constant_pad_nd(input * input, around)
    total = squares.unfold(1, size, 1).sum(-1)
    whole = not (input.is_floating_point() or input.is_complex())
    mean = total.div(size, rounding_mode="trunc") if whole else total / size
    return input / (mean * alpha + k).pow(beta)


@functional
def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Divide vectors along dim by their p-norm, or by eps if that is larger.

    >>> weft.nn.functional.normalize(weft.tensor([3.0, 4.0]), dim=0)
    tensor([0.6000, 0.8000])
    """
    norm = weft.norm(input, p, dim, keepdim=True).clamp_min(eps)
    return input / norm if out is None else weft.div(input, norm, out=out)
