"""Losses with a linear layer in them: adaptive softmax, and cross entropy of a linear map."""

from __future__ import annotations

import math
from collections import namedtuple

import weft
from weft.nn import functional as F
from weft.nn.container import ModuleList, Sequential
from weft.nn.linear import Linear
from weft.nn.loss import _Loss
from weft.nn.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["AdaptiveLogSoftmaxWithLoss", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]

_ASMoutput = namedtuple("_ASMoutput", ("output", "loss"))


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax over many classes, the rare ones in clusters with smaller projections.

    Args:
        in_features: size of the input.
        n_classes: how many classes there are, the frequent ones first.
        cutoffs: where one cluster ends and the next begins.
        div_value: by how much the projection shrinks from cluster to cluster.
        head_bias: whether the first layer has a bias.
        device: the CPU.
        dtype: the type of the parameters.

    >>> m = weft.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)
    >>> m(weft.randn(3, 8), weft.tensor([1, 7, 15])).output.shape
    torch.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cuts = list(cutoffs)
        if not cuts:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cuts != sorted(set(cuts))
            or min(cuts) <= 0
            or max(cuts) > n_classes - 1
            or any(int(c) != c for c in cuts)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = cuts + [n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        factory = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **factory),
                    Linear(width, size, bias=False, **factory),
                )
            )

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> Any:
        if target_.dim() == 1:
            if input_.dim() != 2:
                raise RuntimeError(
                    "1D target tensor expects 2D input tensors, but found inputs with size "
                    f"{input_.shape}"
                )
            if input_.shape[0] != target_.shape[0]:
                raise RuntimeError(
                    "Input and target should have the same size in the batch dimension."
                )
        elif target_.dim() == 0:
            if input_.dim() != 1:
                raise RuntimeError(
                    "0D target tensor expects 1D input tensors, but found inputs with size "
                    f"{input_.shape}"
                )
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        self._check_range(target)
        # The head gives the frequent classes, and one number for each cluster.
        head = weft.log_softmax(self.head(input), 1)
        cuts = [0, *self.cutoffs]
        places = target.clone()
        rest: Any = None
        for i, layer in enumerate(self.tail):
            low, high = cuts[i + 1], cuts[i + 2]
            inside = (target >= low) & (target < high)
            rows = inside.nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            places[rows] = self.shortlist_size + i
            chosen = weft.log_softmax(layer(input.index_select(0, rows)), 1)
            chosen = chosen.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            part = weft.zeros(target.shape, dtype=chosen.dtype).index_copy(0, rows, chosen)
            rest = part if rest is None else rest + part
        output = head.gather(1, places.unsqueeze(1)).squeeze(1)
        output = output if rest is None else output + rest
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _check_range(self, target: Tensor) -> None:
        """Refuse targets that are no class."""
        if target.numel() == 0:
            return
        low, high = int(target.min()), int(target.max())
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{low}, {high}] were found. "
            )

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """Return the logarithms of the probabilities of all classes."""
        head = weft.log_softmax(head_output, 1)
        parts = [head[:, : self.shortlist_size]]
        for i, layer in enumerate(self.tail):
            of_cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(weft.log_softmax(layer(input), 1) + of_cluster)
        return weft.cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the logarithms of the probabilities of all classes.

        >>> m = weft.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)
        >>> m.log_prob(weft.randn(3, 8)).exp().sum(1).round(decimals=3)
        tensor([1., 1., 1.], grad_fn=...)
        """
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each row.

        >>> m = weft.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)
        >>> m.predict(weft.randn(3, 8)).shape
        torch.Size([3])
        """
        head = self.head(input)
        best = head.argmax(1)
        if bool((best < self.shortlist_size).all()):
            return best
        return self._get_full_log_prob(input, head).argmax(1)


class LinearCrossEntropyOptions:
    """How PyTorch cuts the work of ``LinearCrossEntropyLoss`` into parts; weft needs no advice.

    >>> weft.nn.LinearCrossEntropyOptions(batch_chunk_size=8).batch_chunk_size
    8
    """

    def __init__(
        self,
        allow_retain_graph: bool = False,
        batch_chunk_size: int | None = None,
        chunking_method: str | None = "auto",
        acc_policy: str = "auto",
        acc_dtype: Any = None,
    ) -> None:
        self.allow_retain_graph = allow_retain_graph
        self.batch_chunk_size = batch_chunk_size
        self.chunking_method = chunking_method
        self.acc_policy = acc_policy
        self.acc_dtype = acc_dtype

    def __repr__(self) -> str:
        """Return the text that makes these options again."""
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"

    def __eq__(self, other: object) -> bool:
        """Options are equal if all of them are."""
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        """Hash by the settings."""
        return hash(tuple(vars(self).values()))


class LinearCrossEntropyLoss(_Loss):
    """Cross entropy of a linear map of the input.

    Args:
        in_features: size of the last dimension of the input.
        num_classes: how many classes there are.
        out_features: further dimensions of the target.
        bias: whether the linear map has a bias.
        device: the CPU.
        dtype: the type of the parameters.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        weight: one for each class.
        ignore_index: a target that does not count (default: -100, for classes).
        label_smoothing: how much of each target is spread over all classes.
        options: accepted; the result does not depend on them.

    >>> loss = weft.nn.LinearCrossEntropyLoss(4, 5)
    >>> loss(weft.randn(3, 4), weft.tensor([0, 1, 4])).shape
    torch.Size([])
    """

    weight: Any

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(reduction=reduction)
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be ({num_classes},), got {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        self.register_buffer("weight", weight)
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        size = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, size, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        w, b = self.linear.weight, self.linear.bias
        sizes = (self.num_classes, *self.out_features)
        if self.out_features:
            w = w.reshape(*sizes, w.shape[-1])
            b = None if b is None else b.reshape(sizes)
        return F.linear_cross_entropy(
            input,
            w,
            target,
            linear_bias=b,
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
