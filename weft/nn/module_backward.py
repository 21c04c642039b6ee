"""How a full backward hook of a module sees the gradients that pass it."""

from __future__ import annotations

import warnings

from weft import Tensor, is_grad_enabled
from weft.autograd import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class BackwardHookFunction(Function):
    """The identity, which shows the gradients that pass to a function and takes what it returns."""

    @staticmethod
    def forward(
        ctx: Any, seen: Callable[..., Any], zeros: bool, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.seen = seen
        ctx.set_materialize_grads(zeros)
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, None, *ctx.seen(grads))


class BackwardHooks:
    """Full backward hooks of one call of a module: a gate at its inputs and one at its outputs."""

    def __init__(self, module: Any, hooks: list[Any], pre_hooks: list[Any]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: Any = None
        self.fired = False
        self.n_inputs = self.n_outputs = 0
        self.inputs: list[int] | None = None  # places of the gradients, if any input has one
        self.outputs: list[int] = []

    def setup_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Send the arguments of forward through the gate."""
        self.n_inputs = len(args)
        args, self.inputs = self._through(self._at_inputs, args, True)
        return args

    def setup_outputs(self, result: Any) -> Any:
        """Send what forward returned through the gate."""
        alone = isinstance(result, Tensor)
        results = (result,) if alone else result
        if not isinstance(results, tuple):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}",
                stacklevel=5,
            )
            self.hooks = []
            return result
        self.n_outputs = len(results)
        made, places = self._through(self._at_outputs, results, False)
        self.outputs = places or []
        if made is results:
            return result
        return made[0] if alone else self._like(results, made)

    @staticmethod
    def _like(before: tuple[Any, ...], after: tuple[Any, ...]) -> Any:
        """Keep named tuples what they are."""
        return type(before)(*after) if hasattr(before, "_fields") else after

    @staticmethod
    def _through(
        seen: Callable[..., Any], values: tuple[Any, ...], zeros: bool
    ) -> tuple[tuple[Any, ...], list[int] | None]:
        """Send values through a gate; with ``zeros`` a gradient that is missing is seen as such."""
        places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        if not is_grad_enabled() or not any(values[i].requires_grad for i in places):
            return values, None
        made = list(values)
        sent = [values[i] for i in places]
        for i, t in zip(places, BackwardHookFunction.apply(seen, zeros, *sent)):
            made[i] = t
        return tuple(made), places

    @staticmethod
    def _spread(places: list[int] | None, grads: Any, n: int) -> tuple[Any, ...]:
        full = [None] * n
        for i, g in zip(places or (), grads):
            full[i] = g
        return tuple(full)

    def _at_outputs(self, grads: Any) -> Any:
        """The gradients of the outputs: run the hooks before, or all, if inputs have none."""
        full = self._spread(self.outputs, grads, self.n_outputs)
        for hook in self.pre_hooks:
            answer = hook(self.module, full)
            if answer is None:
                continue
            full = self._checked(answer, self.n_outputs, "grad_output", "pre hook")
        self.grad_outputs, self.fired = full, True
        if self.inputs is None:
            if self.hooks:
                warnings.warn(
                    "Full backward hook is firing when gradients are computed with respect to "
                    "module outputs since no inputs require gradients.",
                    stacklevel=2,
                )
            none = (None,) * self.n_inputs
            for hook in self.hooks:
                answer = hook(self.module, none, full)
                if answer is not None and not (
                    isinstance(answer, tuple) and all(a is None for a in answer)
                ):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always "
                        "return None or None for all gradients."
                    )
            self.grad_outputs = None
        return [full[i] for i in self.outputs]

    def _at_inputs(self, grads: Any) -> Any:
        """The gradients of the inputs: run the hooks."""
        full = self._spread(self.inputs, grads, self.n_inputs)
        if self.grad_outputs is None and self.fired:
            return grads  # a derivative of the derivative: the hooks have had their say
        for hook in self.hooks:
            if self.grad_outputs is None:
                raise RuntimeError(
                    "Module backward hook for grad_input is called before the grad_output one. "
                    "This happens because the gradient in your nn.Module flows to the Module's "
                    "input without passing through the Module's output. Make sure that the output "
                    "depends on the input and that the loss is computed based on the output."
                )
            answer = hook(self.module, full, self.grad_outputs)
            if answer is not None:
                full = self._checked(answer, self.n_inputs, "grad_input", "hook")
        self.grad_outputs = None
        return [full[i] for i in self.inputs or ()]

    @staticmethod
    def _checked(answer: Any, n: int, what: str, kind: str) -> tuple[Any, ...]:
        answer = tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)
        if len(answer) != n:
            raise RuntimeError(
                f"Backward {kind} returned an invalid number of {what}, got {len(answer)}, but "
                f"expected {n}"
            )
        return answer


def first_tensor(result: Any) -> Any:
    """Find the tensor by whose node an old backward hook is called, or None.

    >>> weft.nn.module_backward.first_tensor({"a": (weft.ones(1), 2)})
    tensor([1.])
    """
    while not isinstance(result, Tensor):
        if isinstance(result, dict):
            result = next((v for v in result.values() if isinstance(v, (Tensor, tuple))), None)
        elif isinstance(result, (tuple, list)) and result:
            result = result[0]
        else:
            return None
    return result
