"""Batch and instance norms."""

from __future__ import annotations

import weft
from weft.nn import functional as F
from weft.nn import init
from weft.nn.lazy import LazyModuleMixin
from weft.nn.module import Module
from weft.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "SyncBatchNorm",
]


class ScaleAndShift(Module):
    """What norms share: a scale and a shift, each of which may be absent."""

    weight: Any
    bias: Any

    def reset_parameters(self) -> None:
        """Set scale to one and shift to zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _NormBase(ScaleAndShift):
    """What batch and instance norms share: scale, shift and running statistics."""

    _version = 2
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any
    _dims: tuple[int, ...] = ()

    def __init__(
        self, num_features: int, eps: float, momentum: float | None, affine: bool,
        track_running_stats: bool, device: Any, dtype: Any, bias: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        how = {"device": device, "dtype": dtype}
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = Parameter(weft.empty(num_features, **how)) if wanted else None
            self.register_parameter(name, value)
        track = track_running_stats
        self.register_buffer("running_mean", weft.zeros(num_features, **how) if track else None)
        self.register_buffer("running_var", weft.ones(num_features, **how) if track else None)
        count = weft.tensor(0, dtype=weft.int64) if track else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget what was seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set scale to one, shift to zero, and forget what was seen."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if self._dims and input.ndim not in self._dims:
            words = " or ".join(f"{d}D" for d in self._dims)
            raise ValueError(f"expected {words} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *args: Any
    ) -> None:
        """Files of version 1 do not count batches."""
        key = prefix + "num_batches_tracked"
        version = (local_metadata or {}).get("version")
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        share = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain mean of all batches
                share = 1.0 / float(self.num_batches_tracked)
        own = self.training or (self.running_mean is None and self.running_var is None)
        kept = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if kept else None,
            self.running_var if kept else None,
            self.weight, self.bias, own, share, self.eps,
        )  # fmt: skip


class BatchNorm1d(_BatchNorm):
    """Normalises channels over the batch: (N, C) or (N, C, L).

    y = (x - mean) / sqrt(var + eps) * weight + bias, with the mean and variance of the batch in
    training, and their running averages in evaluation.

    Args:
        num_features: the number C of channels.
        eps: added to the variance.
        momentum: the share of the present batch in the running averages; None: the mean of all.
        affine: whether there are weight and bias.
        track_running_stats: whether there are running averages.
        device: the CPU.
        dtype: the type of the parameters.
        bias: whether there is a bias.

    >>> weft.nn.BatchNorm1d(3)(weft.randn(4, 3)).shape
    torch.Size([4, 3])
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises channels over the batch: (N, C, H, W). Arguments are those of ``BatchNorm1d``.

    >>> weft.nn.BatchNorm2d(3)(weft.randn(4, 3, 2, 2)).shape
    torch.Size([4, 3, 2, 2])
    """

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises channels over the batch: (N, C, D, H, W). Arguments are those of ``BatchNorm1d``.

    >>> weft.nn.BatchNorm3d(3)(weft.randn(4, 3, 2, 2, 2)).shape
    torch.Size([4, 3, 2, 2, 2])
    """

    _dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """A batch norm over the batches of all processes; weft has one process.

    >>> weft.nn.SyncBatchNorm(3)(weft.randn(4, 3)).shape
    torch.Size([4, 3])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        if process_group is not None:
            raise NotImplementedError("SyncBatchNorm: process_group, since weft has one process")
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Return the module with every batch norm in it made a ``SyncBatchNorm``."""
        made = module
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            made = cls(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group,
            )  # fmt: skip
            for name in ("weight", "bias"):
                made.register_parameter(name, getattr(module, name))
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                made.register_buffer(name, getattr(module, name))
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        d = input.ndim - self._dims[0]
        if input.shape[d] != self.num_features:
            text = (
                f"expected input's size at dim={d} to match num_features ({self.num_features}), but "
                f"got: {input.shape[d]}."
            )
            if self.affine:
                raise ValueError(text)
            import warnings

            warnings.warn(text, stacklevel=2)
        unbatched = input.ndim == self._dims[0]
        y = F.instance_norm(
            input.unsqueeze(0) if unbatched else input,
            self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0, self.eps,
        )  # fmt: skip
        return y.squeeze(0) if unbatched else y


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each example: (N, C, L) or (C, L).

    Args:
        num_features: the number C of channels.
        eps: added to the variance.
        momentum: the share of the present batch in the running averages.
        affine: whether there are weight and bias.
        track_running_stats: whether there are running averages.
        device: the CPU.
        dtype: the type of the parameters.
        bias: whether there is a bias.

    >>> weft.nn.InstanceNorm1d(3)(weft.randn(4, 3, 5)).shape
    torch.Size([4, 3, 5])
    """

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of each example: (N, C, H, W). See ``InstanceNorm1d``.

    >>> weft.nn.InstanceNorm2d(3)(weft.randn(4, 3, 5, 5)).shape
    torch.Size([4, 3, 5, 5])
    """

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalises each channel of each example: (N, C, D, H, W). See ``InstanceNorm1d``.

    >>> weft.nn.InstanceNorm3d(3)(weft.randn(4, 3, 5, 5, 5)).shape
    torch.Size([4, 3, 5, 5, 5])
    """

    _dims = (4, 5)


# ---- channels from the first batch ---------------------------------------------------------------


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """Takes ``num_features`` from the first batch."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=bias)
        self.affine, self.track_running_stats = affine, track_running_stats
        how = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**how)
            if bias:
                self.bias = UninitializedParameter(**how)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**how)
            self.running_var = UninitializedBuffer(**how)
            self.num_batches_tracked = weft.tensor(0, dtype=weft.int64)

    def reset_parameters(self) -> None:
        """Reset, once there is anything to reset."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the channels from the first batch."""
        if not self.has_uninitialized_params():
            return
        unbatched = isinstance(self, _InstanceNorm) and input.ndim == self._dims[0]
        self.num_features = input.shape[0 if unbatched else 1]
        for t in (self.weight, self.bias, self.running_mean, self.running_var):
            if t is not None:
                t.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """A ``BatchNorm1d`` whose ``num_features`` are those of the first batch.

    >>> weft.nn.LazyBatchNorm1d()(weft.randn(4, 3)).shape
    torch.Size([4, 3])
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """A ``BatchNorm2d`` whose ``num_features`` are those of the first batch.

    >>> weft.nn.LazyBatchNorm2d()(weft.randn(4, 3, 2, 2)).shape
    torch.Size([4, 3, 2, 2])
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """A ``BatchNorm3d`` whose ``num_features`` are those of the first batch.

    >>> weft.nn.LazyBatchNorm3d()(weft.randn(4, 3, 2, 2, 2)).shape
    torch.Size([4, 3, 2, 2, 2])
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """An ``InstanceNorm1d`` whose ``num_features`` are those of the first batch.

    >>> weft.nn.LazyInstanceNorm1d()(weft.randn(4, 3, 5)).shape
    torch.Size([4, 3, 5])
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """An ``InstanceNorm2d`` whose ``num_features`` are those of the first batch.

    >>> weft.nn.LazyInstanceNorm2d()(weft.randn(4, 3, 5, 5)).shape
    torch.Size([4, 3, 5, 5])
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """An ``InstanceNorm3d`` whose ``num_features`` are those of the first batch.

    >>> weft.nn.LazyInstanceNorm3d()(weft.randn(4, 3, 5, 5, 5)).shape
    torch.Size([4, 3, 5, 5, 5])
    """

    cls_to_become = InstanceNorm3d
