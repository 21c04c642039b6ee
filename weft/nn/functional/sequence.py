"""One recurrent layer over a whole sequence: a native op, and what differentiates it."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.autograd import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Again = Callable[..., list[Tensor]]

_recur = _C._op_function("recur")
_recur_backward = _C._op_function("recur_backward")
CELLS = {"RNN_TANH": 0, "RNN_RELU": 1, "GRU": 2, "LSTM": 3}


class Sequence(Function):
    """All states of a layer, and the cells of an LSTM; the derivative is one op as well.

    ``sizes`` says how many rows each step has, if they are packed. Derivatives of higher order
    run the steps again, one after the other: ``again`` returns what the op does.
    """

    _pure = True

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        h: Tensor,
        c: Tensor | None,
        weight: Tensor,
        bias: Tensor | None,
        sizes: Tensor | None,
        mode: str,
        reverse: bool,
        again: Again,
    ) -> Any:
        ctx.set_materialize_grads(False)
        output, cells, kept = _recur(x, h, c, weight, bias, sizes, CELLS[mode], reverse)
        ctx.save_for_backward(x, h, c, weight, bias, output, cells, kept)
        ctx.sizes, ctx.mode, ctx.reverse, ctx.again = sizes, mode, reverse, again
        return (output, cells) if mode == "LSTM" else output

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, grad_cells: Tensor | None = None) -> Any:
        *inputs, output, cells, kept = ctx.saved_tensors
        if grad is None:
            grad = weft.zeros_like(output)
        if weft.is_grad_enabled():
            grads = _by_steps(ctx, inputs, grad, grad_cells)
        else:
            _, h, c, weight, bias = inputs
            first = ctx.needs_input_grad[1] or ctx.needs_input_grad[2]
            dx, states, dw, db = _recur_backward(
                *(grad, grad_cells, h, c, weight, output, cells, kept),
                *(ctx.sizes, CELLS[ctx.mode], ctx.reverse, first),
            )
            dh = states[0] if first else None
            dc = states[1] if first and c is not None else None
            grads = [dx, dh, dc, dw, None if bias is None else db]
        return (*grads, None, None, None, None)


def _by_steps(
    ctx: Any, inputs: list[Tensor | None], grad: Tensor, grad_cells: Tensor | None
) -> list[Tensor | None]:
    """Differentiate the steps instead of the sequence, so that the result has derivatives too."""
    results = ctx.again(*inputs)
    given: list[Tensor | None] = [grad]
    if len(results) > 1:
        given.append(weft.zeros_like(results[1]) if grad_cells is None else grad_cells)
    wanted = [t for t in inputs if t is not None and t.requires_grad]
    found = weft.autograd.grad(results, wanted, given, create_graph=True, allow_unused=True)
    by_input = {id(t): g for t, g in zip(wanted, found)}
    return [None if t is None else by_input.get(id(t)) for t in inputs]
