"""How many floating-point operations an op makes, from the shapes of its arguments and results.

A multiplication with an addition counts as two. Ops that are not in the table count as none, as in
PyTorch's profiler: what they cost is memory traffic. The figures are those of the plain formula,
whatever algorithm runs (a Winograd convolution makes fewer, and so can seem faster than the peak).
"""

from __future__ import annotations

from math import prod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Shape = tuple[int, ...]
    # Of each argument: a shape, a list of them, or None for what is no tensor.
    Shapes = Sequence[Shape | Sequence[Shape | None] | None]
    Formula = Callable[[Any, Any], int]

__all__ = ["FORMULAS", "flops_of"]


def _product(inputs: Any, outputs: Any) -> int:
    """Rows times columns: each element of the result is an inner product."""
    a = inputs[0]
    return 2 * prod(outputs[0]) * (a[-1] if a else 1)


def _added_product(inputs: Any, outputs: Any) -> int:
    """The same behind a tensor that is added."""
    return 2 * prod(outputs[0]) * inputs[1][-1]


def _turned_product(inputs: Any, outputs: Any) -> int:
    """The same where either matrix may be transposed: the inner size is what both have besides the result's."""
    a, b, c = inputs[0], inputs[1], outputs[0]
    if len(a) < 2 or len(b) < 2 or len(c) < 2:
        return _product(inputs, outputs)
    inner = prod(a[-2:]) // max(c[-2], 1)
    return 2 * prod(c) * inner


def _sum_of_products(inputs: Any, outputs: Any) -> int:
    """The products of two batches, which are summed."""
    batch, rows, inner = inputs[1]
    return int(2 * batch * rows * inner * inputs[2][-1])


def _vectors(inputs: Any, outputs: Any) -> int:
    return 2 * prod(inputs[0])


def _matrix_vector(inputs: Any, outputs: Any) -> int:
    matrix = next(s for s in inputs if s is not None and len(s) == 2)
    return 2 * prod(matrix)


def _linear(inputs: Any, outputs: Any) -> int:
    weight = inputs[1]
    return 2 * prod(outputs[0]) * weight[-1]


def _per_place(weight: Shape) -> int:
    """Multiplications for one element of a convolution's result."""
    return prod(weight[1:])


def _convolve(inputs: Any, outputs: Any) -> int:
    return 2 * prod(outputs[0]) * _per_place(inputs[1])


def _convolve_input(inputs: Any, outputs: Any) -> int:
    """As many as forward, whose result has the shape of the gradient that arrives."""
    return 2 * prod(inputs[0]) * _per_place(inputs[1])


def _convolve_weight(inputs: Any, outputs: Any) -> int:
    return 2 * prod(inputs[0]) * _per_place(outputs[0])


def _convolve_chain(inputs: Any, outputs: Any) -> int:
    """Two convolutions; between them the image has as many places as behind them."""
    places = prod(outputs[0]) // max(outputs[0][1], 1)
    return sum(2 * places * prod(w) for w in inputs[1] if w is not None)


def _recur(inputs: Any, outputs: Any) -> int:
    """One product with the state for each step: the input's product is an op of its own."""
    return 2 * prod(inputs[0][:-1]) * prod(inputs[3])


def _recur_backward(inputs: Any, outputs: Any) -> int:
    return 2 * 2 * prod(inputs[0][:-1]) * prod(inputs[4])


def _attend(inputs: Any, outputs: Any) -> int:
    """Queries with keys, then weights with values."""
    query, key, value = inputs[:3]
    pairs = prod(query[:-1]) * key[-2]
    return 2 * pairs * (query[-1] + value[-1])


def _attend_backward(inputs: Any, outputs: Any) -> int:
    """The weights once more, and two products for each of the two forward."""
    query, key, value = inputs[1:4]
    pairs = prod(query[:-1]) * key[-2]
    return 2 * pairs * (3 * query[-1] + 2 * value[-1])


def _each(inputs: Any, outputs: Any) -> int:
    return prod(outputs[0])


FORMULAS: dict[str, Formula] = {
    **dict.fromkeys(("mm", "bmm", "matmul", "inner", "grouped_mm"), _product),
    **dict.fromkeys(("addmm", "baddbmm"), _added_product),
    **dict.fromkeys(("add", "sub", "mul", "div"), _each),
    **dict.fromkeys(("dot", "vdot", "row_dots"), _vectors),
    **dict.fromkeys(("convolve", "convolve_relu", "convolve_ending"), _convolve),
    "addbmm": _sum_of_products,
    "addmv": _matrix_vector,
    "attend": _attend,
    "attend_backward": _attend_backward,
    "convolve_chain": _convolve_chain,
    "convolve_input": _convolve_input,
    "convolve_weight": _convolve_weight,
    "matrix_product": _turned_product,
    "mv": _matrix_vector,
    "outer": _each,
    "quantized_convolve": _convolve,
    "quantized_linear": _linear,
    "quantized_recur": _recur,
    "recur": _recur,
    "recur_backward": _recur_backward,
}


def flops_of(name: str, inputs: Shapes, outputs: Shapes) -> int:
    """Return how many floating-point operations a call of an op makes; 0 where no rule is known.

    >>> from weft.profiler.flops import flops_of
    >>> flops_of("mm", [(2, 3), (3, 4)], [(2, 4)])
    48
    """
    formula = FORMULAS.get(name.removesuffix("_"))
    if formula is None and name.startswith("linear"):
        formula = None if name.startswith("linear_cross") else _linear
    if formula is None:
        return 0
    try:
        return int(formula(inputs, outputs))
    except (IndexError, StopIteration, TypeError, ValueError):  # a call of another form
        return 0
