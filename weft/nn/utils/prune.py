"""Pruning: parts of a parameter set to zero by a mask.

A pruned parameter ``name`` becomes the parameter ``name_orig`` and the buffer ``name_mask``; before
each forward a hook makes ``name`` their product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from numbers import Integral, Real

import weft
from weft.nn.utils.convert_parameters import parameters_to_vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from weft import Tensor
    from weft.nn.module import Module

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def _check_amount(amount: Any) -> None:
    """Refuse what is neither a share nor a count."""
    if not isinstance(amount, Real):
        raise TypeError(f"amount must be an int or a float, got {amount!r}")
    if float(amount) < 0 or (float(amount) > 1 and not isinstance(amount, Integral)):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative int"
        )


def _count(amount: Any, size: int) -> int:
    """Return how many of ``size`` are pruned."""
    count = int(amount) if isinstance(amount, Integral) else round(amount * size)
    if count > size:
        raise ValueError(f"amount={count} should not be more than the {size} that can be pruned")
    return count


def _slices(t: Tensor, dim: int) -> int:
    """Return how many slices ``t`` has along ``dim``."""
    if t.ndim <= 1:
        raise ValueError(
            "structured pruning needs a tensor of more than one dimension, got shape "
            f"{list(t.shape)}"
        )
    if not -t.ndim <= dim < t.ndim:
        raise IndexError(f"invalid dim {dim} for a tensor of shape {list(t.shape)}")
    return t.shape[dim]


def _along(dim: int, index: Any, ndim: int) -> tuple[Any, ...]:
    """Return the index that takes ``index`` along one dimension and all of the others."""
    where: list[Any] = [slice(None)] * ndim
    where[dim] = index
    return tuple(where)


def _same_shape(scores: Tensor, t: Tensor) -> None:
    if scores.shape != t.shape:
        raise AssertionError(
            "importance_scores should have the shape of what is pruned, got "
            f"{list(scores.shape)} and {list(t.shape)}"
        )


def _hooks(module: Module, name: str | None = None) -> list[tuple[int, BasePruningMethod]]:
    """Return the pruning hooks of a module with their keys, or those of one tensor."""
    return [
        (key, hook)
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and name in (None, hook._tensor_name)
    ]


class BasePruningMethod(ABC):
    """How a mask is made; a subclass defines ``compute_mask`` and ``PRUNING_TYPE``.

    >>> class FirstRow(weft.nn.utils.prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask[0] = 0
    ...         return mask
    >>> m = weft.nn.Linear(2, 2, bias=False)
    >>> method = FirstRow.apply(m, "weight")
    >>> m.weight_mask
    tensor([[0., 0.],
            [1., 1.]])
    """

    PRUNING_TYPE: str  # "unstructured", "structured" (along ``self.dim``) or "global"
    _tensor_name: str

    @property
    def recomputes(self) -> str:
        """The name of the tensor that is made before each forward."""
        return self._tensor_name

    def __call__(self, module: Module, inputs: Any) -> None:
        """Set the tensor to its pruned value, before a forward."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask for scores ``t``; what ``default_mask`` prunes stays pruned."""

    def apply_mask(self, module: Module) -> Tensor:
        """Return the tensor of a module times its mask."""
        original = getattr(module, self._tensor_name + "_orig")
        mask: Tensor = getattr(module, self._tensor_name + "_mask")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prune a parameter of a module, and keep it pruned in each forward.

        Args:
            module: whose parameter it is.
            name: of the parameter.
            args: given to the constructor of this class.
            importance_scores: by which entries are judged, in the place of the parameter.
            kwargs: given to the constructor too.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        _same_shape(importance_scores, original)
        earlier = _hooks(module, name)
        if not earlier:
            mask = method.compute_mask(importance_scores, weft.ones_like(original))
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        else:
            [(key, before)] = earlier
            both = PruningContainer(*(before if isinstance(before, PruningContainer) else [before]))
            both.add_pruning_method(method)
            method = both
            default = getattr(module, name + "_mask").detach().clone()
            mask = method.compute_mask(importance_scores, default)
            del module._forward_pre_hooks[key]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """Return a pruned copy of a tensor.

        >>> prune = weft.nn.utils.prune
        >>> prune.L1Unstructured(amount=1).prune(weft.tensor([1.0, -3.0, 2.0]))
        tensor([ 0., -3.,  2.])
        """
        if importance_scores is None:
            importance_scores = t
        _same_shape(importance_scores, t)
        if default_mask is None:
            default_mask = weft.ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor an ordinary parameter; its zeros stay until it is changed."""
        name = self._tensor_name
        pruned = self.apply_mask(module).detach()
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = pruned
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several prunings of one tensor; the last one acts on what the others left.

    >>> m = weft.nn.utils.prune.l1_unstructured(weft.nn.Linear(4, 2), "weight", 0.5)
    >>> m = weft.nn.utils.prune.l1_unstructured(m, "weight", 0.5)
    >>> m.weight_mask.sum()
    tensor(2.)
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add a method, which must be for the same tensor."""
        if method is not None:
            if not isinstance(method, BasePruningMethod):
                raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
            if method._tensor_name != self._tensor_name:
                raise ValueError(
                    "this PruningContainer takes methods for the parameter named "
                    f"'{self._tensor_name}', got one for '{method._tensor_name}'"
                )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Let the last method prune what ``default_mask`` has left."""
        method, left = self._pruning_methods[-1], None
        if method.PRUNING_TYPE == "unstructured":
            left = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError('PRUNING_TYPE "structured" needs the attribute `dim`')
            _slices(t, method.dim)
            others = [d for d in range(t.ndim) if d != method.dim % t.ndim]
            left = _along(method.dim, default_mask.sum(others) != 0, t.ndim)
        elif method.PRUNING_TYPE == "global":
            left = ...
        else:
            raise ValueError(f"unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask = default_mask.to(t.dtype, copy=True)
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(t.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask and the original.

    >>> m = weft.nn.Linear(2, 2)
    >>> method = weft.nn.utils.prune.Identity.apply(m, "bias")
    >>> m.bias_mask
    tensor([1., 1.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask as it is."""
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes entries at random.

    Args:
        amount: their share (a float) or their count (an int).

    >>> weft.nn.utils.prune.RandomUnstructured(amount=0.5).prune(weft.ones(4)).sum()
    tensor(2.)
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask without some entries."""
        return _without_lowest(weft.rand_like(t), default_mask, self.amount)


def _without_lowest(scores: Tensor, mask: Tensor, amount: float) -> Tensor:
    """Return a mask without the entries of the lowest scores."""
    count = _count(amount, scores.numel())
    made = mask.clone(memory_format=weft.contiguous_format)
    if count:
        made.view(-1)[weft.topk(scores.reshape(-1), count, largest=False).indices] = 0
    return made


class L1Unstructured(BasePruningMethod):
    """Prunes the entries nearest to zero.

    Args:
        amount: their share (a float) or their count (an int).

    >>> weft.nn.utils.prune.L1Unstructured(amount=0.5).prune(weft.tensor([1.0, -2.0]))
    tensor([ 0., -2.])
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask without the smallest entries."""
        return _without_lowest(t.abs(), default_mask, self.amount)

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: float, importance_scores: Tensor | None = None
    ) -> BasePruningMethod:
        """Prune a parameter of a module."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


def _without_slices(scores: Tensor, mask: Tensor, count: int, dim: int, t: Tensor) -> Tensor:
    """Return a mask without the slices of the lowest scores."""
    if count == 0:
        return mask
    kept = weft.topk(scores, scores.numel() - count).indices
    made = weft.zeros_like(t)
    made[_along(dim, kept, t.ndim)] = 1
    return made * mask.to(made.dtype)


class RandomStructured(BasePruningMethod):
    """Prunes whole slices at random.

    Args:
        amount: their share (a float) or their count (an int).
        dim: along which they lie.

    >>> weft.nn.utils.prune.RandomStructured(amount=1, dim=0).prune(weft.ones(2, 3)).sum()
    tensor(3.)
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask without some slices."""
        size = _slices(t, self.dim)
        count = _count(self.amount, size)
        return _without_slices(weft.rand(size), default_mask, count, self.dim, t)


class LnStructured(BasePruningMethod):
    """Prunes the slices of the smallest norms.

    Args:
        amount: their share (a float) or their count (an int).
        n: the order of the norm, as ``weft.norm`` takes it.
        dim: along which they lie.

    >>> t = weft.tensor([[1.0, 1.0], [2.0, 3.0]])
    >>> weft.nn.utils.prune.LnStructured(amount=1, n=2, dim=0).prune(t)
    tensor([[0., 0.],
            [2., 3.]])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask without the slices of the smallest norms."""
        count = _count(self.amount, _slices(t, self.dim))
        others = [d for d in range(t.ndim) if d != self.dim % t.ndim]
        norms = weft.norm(t, p=self.n, dim=others)
        return _without_slices(norms, default_mask, count, self.dim, t)

    @classmethod
    def apply(  # type: ignore[override]
        cls,
        module: Module,
        name: str,
        amount: float,
        n: Any,
        dim: int,
        importance_scores: Tensor | None = None,
    ) -> BasePruningMethod:
        """Prune a parameter of a module."""
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is zero.

    >>> prune = weft.nn.utils.prune
    >>> prune.CustomFromMask(weft.tensor([1, 0])).prune(weft.tensor([5.0, 7.0]))
    tensor([5., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of both masks."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"the mask should have the shape {list(default_mask.shape)}, got "
                f"{list(self.mask.shape)}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Make the mask and the original of a parameter, and prune nothing.

    >>> m = weft.nn.utils.prune.identity(weft.nn.Linear(2, 1), "weight")
    >>> list(m.state_dict())
    ['bias', 'weight_orig', 'weight_mask']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune entries of a parameter at random: a share (float) or a count (int).

    >>> m = weft.nn.utils.prune.random_unstructured(weft.nn.Linear(4, 2), "weight", amount=3)
    >>> m.weight_mask.sum()
    tensor(5.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prune the entries of a parameter that are nearest to zero.

    Args:
        module: whose parameter it is.
        name: of the parameter.
        amount: the share of entries (a float) or their count (an int).
        importance_scores: by which entries are judged, in the place of the parameter.

    >>> m = weft.nn.utils.prune.l1_unstructured(weft.nn.Linear(4, 2), "weight", amount=0.5)
    >>> (m.weight == 0).sum()
    tensor(4)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune slices of a parameter along ``dim`` at random: a share (float) or a count (int).

    >>> m = weft.nn.utils.prune.random_structured(weft.nn.Linear(4, 2), "weight", 1, dim=0)
    >>> m.weight_mask.sum()
    tensor(4.)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: float,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the slices of a parameter that have the smallest norms.

    Args:
        module: whose parameter it is.
        name: of the parameter.
        amount: the share of slices (a float) or their count (an int).
        n: the order of the norm, as ``weft.norm`` takes it.
        dim: along which the slices lie.
        importance_scores: by which entries are judged, in the place of the parameter.

    >>> m = weft.nn.utils.prune.ln_structured(weft.nn.Linear(4, 2), "weight", 0.5, n=2, dim=0)
    >>> m.weight_mask.sum()
    tensor(4.)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one.

    Args:
        parameters: pairs of a module and the name of a parameter.
        pruning_method: a class whose type is "unstructured".
        importance_scores: by such pairs; by which entries are judged, in the place of a parameter.
        kwargs: given to the constructor of the class.

    >>> net = weft.nn.Sequential(weft.nn.Linear(2, 4), weft.nn.Linear(4, 2))
    >>> pairs = [(net[0], "weight"), (net[1], "weight")]
    >>> prune = weft.nn.utils.prune
    >>> prune.global_unstructured(pairs, prune.L1Unstructured, amount=4)
    >>> sum(int((m.weight == 0).sum()) for m in net)
    4
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured: parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured: importance_scores must be of type dict")
    given = importance_scores or {}
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'global_unstructured: only methods of PRUNING_TYPE "unstructured" are supported, got '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    pairs = list(parameters)
    tensors = [getattr(module, name) for module, name in pairs]
    scores = [given.get(pair, tensor) for pair, tensor in zip(pairs, tensors)]
    masks = [
        getattr(module, name + "_mask", weft.ones_like(tensor))
        for (module, name), tensor in zip(pairs, tensors)
    ]
    method._tensor_name = "all"
    one = PruningContainer(method)
    mask = one.compute_mask(parameters_to_vector(scores), parameters_to_vector(masks))
    parts = mask.split([tensor.numel() for tensor in tensors])
    for (module, name), tensor, part in zip(pairs, tensors, parts):
        custom_from_mask(module, name, part.view_as(tensor))


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter where a mask is zero.

    >>> m = weft.nn.utils.prune.custom_from_mask(weft.nn.Linear(1, 2), "bias", weft.eye(2)[0])
    >>> m.bias_mask
    tensor([1., 0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter an ordinary one; its zeros stay until it is changed.

    >>> m = weft.nn.utils.prune.random_unstructured(weft.nn.Linear(2, 1), "weight", 1)
    >>> list(weft.nn.utils.prune.remove(m, "weight").state_dict())
    ['bias', 'weight']
    """
    for key, hook in _hooks(module, name):
        hook.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(f"remove: parameter '{name}' of {module} is not pruned")


def is_pruned(module: Module) -> bool:
    """Say whether a module, or one below it, has a pruned parameter.

    >>> weft.nn.utils.prune.is_pruned(weft.nn.Linear(2, 1))
    False
    """
    return any(_hooks(part) for part in module.modules())
