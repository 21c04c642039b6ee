"""Derivatives of functions: Jacobians, Hessians, and their products with vectors.

All take ``func`` and its ``inputs`` (a tensor or a tuple of tensors), and run it on copies that
require gradients. Results have the structure of inputs and outputs: a tensor for a tensor, a tuple
for a tuple. With ``create_graph=True`` they can be differentiated again.

``strict=True`` raises where an output does not depend on an input; else the answer there is zeros.
"""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from weft import Tensor

    Tensors: TypeAlias = Tensor | tuple[Tensor, ...]
    Func: TypeAlias = Callable[..., Tensors]

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(
    func: Func,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return ``func(*inputs)`` and the product of ``v`` with the Jacobian.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: where it is differentiated.
        v: the vector, of the shape of the outputs; may be None for one output of one element.
        create_graph: make results that can be differentiated.
        strict: raise where an output does not depend on an input.

    >>> from weft.autograd.functional import vjp
    >>> vjp(lambda x: x * x, weft.tensor([1.0, 2.0]), weft.tensor([1.0, 1.0]))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with weft.enable_grad():
        xs, x_tuple = _variables(inputs, create_graph, "vjp")
        ys, y_tuple = _call(func, xs, "vjp", strict)
        if v is None:
            if len(ys) != 1 or ys[0].numel() != 1:
                raise RuntimeError(
                    "The vector v can only be None if the user-provided function returns a single "
                    "Tensor with a single element."
                )
            vs: tuple[Any, ...] = (weft.ones_like(ys[0]),)
        else:
            vs = _vector(v, ys, y_tuple, create_graph, "vjp")
    with weft.set_grad_enabled(create_graph or weft.is_grad_enabled()):
        grads = _grad(ys, xs, vs, create_graph)
        product = _filled(grads, xs, strict, create_graph, "back")
    return _finish(ys, y_tuple, create_graph), _finish(product, x_tuple, create_graph)


def jvp(
    func: Func,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return ``func(*inputs)`` and the product of the Jacobian with ``v``.

    It is computed by two walks backward: the product of a vector with the Jacobian is linear in
    that vector, so its derivative, multiplied by ``v``, is the product wanted.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: where it is differentiated.
        v: the vector, of the shape of the inputs; may be None for one input of one element.
        create_graph: make results that can be differentiated.
        strict: raise where an output does not depend on an input.

    >>> from weft.autograd.functional import jvp
    >>> jvp(lambda x: x * x, weft.tensor([1.0, 2.0]), weft.tensor([1.0, 0.0]))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    with weft.enable_grad():
        xs, x_tuple = _variables(inputs, create_graph, "jvp")
        vs = _vector_like_inputs(v, xs, x_tuple, create_graph, "jvp")
        ys, y_tuple = _call(func, xs, "jvp", strict)
        dummies = tuple(weft.zeros_like(y).detach().requires_grad_() for y in ys)
        back = _grad(ys, xs, dummies, True)
        _filled(back, xs, strict, create_graph, "back")
    with weft.set_grad_enabled(create_graph or weft.is_grad_enabled()):
        product = _filled(
            _grad(back, dummies, vs, create_graph), dummies, strict, create_graph, "back_trick"
        )
    return _finish(ys, y_tuple, create_graph), _finish(product, y_tuple, create_graph)


def jacobian(
    func: Func,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of ``func``: for output and input, a tensor of both shapes joined.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: where it is differentiated.
        create_graph: make a result that can be differentiated.
        strict: raise where an output does not depend on an input.
        vectorize: accepted; weft computes row after row all the same.
        strategy: ``"reverse-mode"``: a walk for each element of the outputs; ``"forward-mode"``
            (with ``vectorize=True``): a walk for each element of the inputs.

    Returns:
        A tensor; or, with tuples of outputs or inputs, a tuple (for outputs) of tuples (for
        inputs) of them.

    >>> from weft.autograd.functional import jacobian
    >>> jacobian(lambda x: x * x, weft.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    for flag, wanted in (("create_graph", create_graph), ("strict", strict)):
        if wanted and strategy == "forward-mode":
            error = NotImplementedError if flag == "create_graph" else RuntimeError
            raise error(
                f'autograd.functional.jacobian: `{flag}=True` and `strategy="forward-mode"` are '
                f"not supported together. Please either set `{flag}=False` or "
                '`strategy="reverse-mode"`.'
            )
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only "
            "implemented for `vectorize=True`."
        )
    if vectorize and strict:
        raise RuntimeError(
            "autograd.functional.jacobian: `strict=True` and `vectorize=True` are not supported "
            "together. Please either set `strict=False` or `vectorize=False`."
        )
    with weft.enable_grad():
        xs, x_tuple = _variables(inputs, create_graph, "jacobian")
        ys, y_tuple = _call(func, xs, "jacobian", strict)
        if strategy == "forward-mode":
            blocks = _columns(xs, ys)
        else:
            blocks = [_rows(k, y, xs, create_graph, strict) for k, y in enumerate(ys)]
    rows = tuple(_finish(tuple(row), x_tuple, create_graph) for row in blocks)
    return rows if y_tuple else rows[0]


def _rows(
    k: int, y: Tensor, xs: tuple[Tensor, ...], create_graph: bool, strict: bool
) -> list[Tensor]:
    """Return the Jacobian of output ``y`` with respect to each input, one walk for each element."""
    found: list[list[Tensor]] = [[] for _ in xs]
    flat = y.reshape(-1)
    for j in range(flat.numel()):
        grads = _grad((flat[j],), xs, (None,), create_graph)
        for i, (x, g) in enumerate(zip(xs, grads)):
            if strict:
                _strict_row(k, i, g, create_graph)
            found[i].append(weft.zeros_like(x) if g is None else g)
    return [
        (weft.stack(rows) if rows else weft.zeros((0, *x.shape), dtype=x.dtype)).reshape(
            (*y.shape, *x.shape)
        )
        for rows, x in zip(found, xs)
    ]


def _strict_row(k: int, i: int, g: Tensor | None, create_graph: bool) -> None:
    """Raise if a row of the Jacobian, or its own derivative, is zero by construction."""
    if g is None:
        raise RuntimeError(
            f"Output {k} of the user-provided function is independent of input {i}. This is not "
            "allowed in strict mode."
        )
    if create_graph and not g.requires_grad:
        raise RuntimeError(
            "The jacobian of the user-provided function is independent of input "
            f"{i}. This is not allowed in strict mode when create_graph=True."
        )


def _columns(xs: tuple[Tensor, ...], ys: tuple[Tensor, ...]) -> list[list[Tensor]]:
    """Return the Jacobian with one walk for each element of the inputs, as ``jvp`` does it."""
    dummies = tuple(weft.zeros_like(y).detach().requires_grad_() for y in ys)
    back = _grad(ys, xs, dummies, True)
    blocks: list[list[Tensor]] = [[] for _ in ys]
    for x, b in zip(xs, back):
        columns: list[list[Tensor]] = [[] for _ in ys]
        for j in range(x.numel()):
            unit = weft.zeros(x.numel(), dtype=x.dtype)
            unit[j] = 1
            grads = _grad((b,), dummies, (unit.reshape(x.shape),), False, True)
            for column, g, y in zip(columns, grads, ys):
                column.append(weft.zeros_like(y) if g is None else g)
        for block, column, y in zip(blocks, columns, ys):
            whole = weft.stack(column, -1) if column else weft.zeros((*y.shape, 0), dtype=y.dtype)
            block.append(whole.reshape((*y.shape, *x.shape)))
    return blocks


def hessian(
    func: Func,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the Hessian of ``func``, a function with one output of one element.

    Args:
        func: a function of tensors that returns a tensor of one element.
        inputs: where it is differentiated.
        create_graph: make a result that can be differentiated.
        strict: raise where the first derivative does not depend on an input.
        vectorize: accepted; weft computes row after row all the same.
        outer_jacobian_strategy: how the Jacobian of the gradient is computed.

    >>> from weft.autograd.functional import hessian
    >>> hessian(lambda x: (x**3).sum(), weft.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    if outer_jacobian_strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    _, x_tuple = _as_tuple(inputs, "inputs", "hessian")

    def gradient(*xs: Tensor) -> Any:
        y = _single(func, xs, "hessian", strict)
        found = _filled(_grad((y,), xs, (None,), True), xs, strict, True, "hessian")
        return found if x_tuple else found[0]

    return jacobian(
        gradient,
        inputs,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )


def vhp(
    func: Func,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return ``func(*inputs)`` and the product of ``v`` with the Hessian.

    Args:
        func: a function of tensors that returns a tensor of one element.
        inputs: where it is differentiated.
        v: the vector, of the shape of the inputs; may be None for one input of one element.
        create_graph: make results that can be differentiated.
        strict: raise where the function or its derivative does not depend on an input.

    >>> from weft.autograd.functional import vhp
    >>> vhp(lambda x: (x**3).sum(), weft.tensor([1.0, 2.0]), weft.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with weft.enable_grad():
        xs, x_tuple, vs, y, first = _first_derivative(func, inputs, v, create_graph, strict, "vhp")
    with weft.set_grad_enabled(create_graph or weft.is_grad_enabled()):
        grads = _grad(first, xs, vs, create_graph)
        product = _filled(grads, xs, strict, create_graph, "double_back")
    return _finish((y,), False, create_graph), _finish(product, x_tuple, create_graph)


def hvp(
    func: Func,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return ``func(*inputs)`` and the product of the Hessian with ``v``.

    The Hessian of a function with continuous second derivatives is symmetric; there ``vhp`` gives
    the same with less work.

    Args:
        func: a function of tensors that returns a tensor of one element.
        inputs: where it is differentiated.
        v: the vector, of the shape of the inputs; may be None for one input of one element.
        create_graph: make results that can be differentiated.
        strict: raise where the function or its derivative does not depend on an input.

    >>> from weft.autograd.functional import hvp
    >>> hvp(lambda x: (x**3).sum(), weft.tensor([1.0, 2.0]), weft.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with weft.enable_grad():
        xs, x_tuple, vs, y, first = _first_derivative(func, inputs, v, create_graph, strict, "hvp")
        dummies = tuple(weft.zeros_like(x).detach().requires_grad_() for x in xs)
        second = _grad(first, xs, dummies, True)
        _filled(second, xs, strict, create_graph, "double_back")
    with weft.set_grad_enabled(create_graph or weft.is_grad_enabled()):
        grads = _grad(second, dummies, vs, create_graph)
        product = _filled(grads, dummies, strict, create_graph, "double_back_trick")
    return _finish((y,), False, create_graph), _finish(product, x_tuple, create_graph)


def _first_derivative(
    func: Func, inputs: Tensors, v: Tensors | None, create_graph: bool, strict: bool, name: str
) -> tuple[Any, ...]:
    """Return the inputs, whether they were a tuple, the vector, the result and its derivative."""
    xs, x_tuple = _variables(inputs, create_graph, name)
    vs = _vector_like_inputs(v, xs, x_tuple, create_graph, name)
    y = _single(func, xs, name, strict)
    first = _filled(_grad((y,), xs, (None,), True), xs, strict, True, "jacobian")
    return xs, x_tuple, vs, y, first


# ---- arguments and results --------------------------------------------------------------------


def _as_tuple(values: Any, what: str, name: str) -> tuple[tuple[Tensor, ...], bool]:
    """Return a tensor or a tuple of tensors as a tuple, and whether it was one."""
    if isinstance(values, weft.Tensor):
        return (values,), False
    owner = f"The {what} given to {name}"
    if not isinstance(values, tuple):
        raise TypeError(
            f"{owner} must be either a Tensor or a tuple of Tensors but the given {what} has type "
            f"{type(values)}."
        )
    for i, value in enumerate(values):
        if not isinstance(value, weft.Tensor):
            raise TypeError(
                f"{owner} must be either a Tensor or a tuple of Tensors but the value at index "
                f"{i} has type {type(value)}."
            )
    return values, True


def _variables(inputs: Any, create_graph: bool, name: str) -> tuple[tuple[Tensor, ...], bool]:
    """Return the inputs as new tensors that require gradients, linked to the old if wanted."""
    xs, is_tuple = _as_tuple(inputs, "inputs", name)
    if create_graph:
        fresh = (x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in xs)
    else:
        fresh = (x.detach().requires_grad_() for x in xs)
    return tuple(fresh), is_tuple


def _call(
    func: Func, xs: tuple[Tensor, ...], name: str, strict: bool
) -> tuple[tuple[Tensor, ...], bool]:
    """Return the outputs of ``func``, and whether they were a tuple."""
    ys, is_tuple = _as_tuple(func(*xs), "outputs of the user-provided function", name)
    if strict:
        for k, y in enumerate(ys):
            if not y.requires_grad:
                raise RuntimeError(
                    f"Output {k} of the user-provided function does not require gradients. The "
                    "outputs must be computed in a differentiable manner from the input when "
                    "running in strict mode."
                )
    return ys, is_tuple


def _single(func: Func, xs: tuple[Tensor, ...], name: str, strict: bool) -> Tensor:
    """Return the output of a function that has one, of one element."""
    ys, is_tuple = _call(func, xs, name, strict)
    if is_tuple:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if ys[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )
    return ys[0]


def _vector(
    v: Any, like: tuple[Tensor, ...], is_tuple: bool, create_graph: bool, name: str
) -> tuple[Tensor, ...]:
    """Return ``v`` as a tuple, after checking that it has the structure and shapes of ``like``."""
    vs, _ = _as_tuple(v, "v", name)
    if not create_graph:
        vs = tuple(x.detach() for x in vs)
    if len(vs) != len(like):
        if is_tuple:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(vs)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(vs, like)):
        if a.shape != b.shape:
            entry = f"Entry {i} in v" if is_tuple else "v"
            raise RuntimeError(f"{entry} has invalid size: should be {b.shape} but got {a.shape}.")
    return vs


def _vector_like_inputs(
    v: Any, xs: tuple[Tensor, ...], is_tuple: bool, create_graph: bool, name: str
) -> tuple[Tensor, ...]:
    """Return ``v`` checked against the inputs, or 1 for one input of one element."""
    if v is not None:
        return _vector(v, xs, is_tuple, create_graph, name)
    if len(xs) != 1 or xs[0].numel() != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function is a single "
            "Tensor with a single element."
        )
    return (weft.ones_like(xs[0]).detach(),)


def _grad(
    ys: Sequence[Tensor | None],
    xs: tuple[Tensor, ...],
    vs: Sequence[Tensor | None],
    create_graph: bool,
    retain_graph: bool = True,
) -> tuple[Tensor | None, ...]:
    """Like ``autograd.grad``, with None for inputs that were not used and outputs left out."""
    pairs = [(y, v) for y, v in zip(ys, vs) if y is not None and y.requires_grad]
    if not pairs:
        return (None,) * len(xs)
    found: tuple[Tensor | None, ...] = weft.autograd.grad(
        [y for y, _ in pairs],
        xs,
        [v for _, v in pairs],
        retain_graph=retain_graph,
        create_graph=create_graph,
        allow_unused=True,
    )
    return found


def _filled(
    grads: Sequence[Tensor | None],
    like: tuple[Tensor, ...],
    strict: bool,
    create_graph: bool,
    stage: str,
) -> tuple[Tensor, ...]:
    """Put zeros in the place of missing gradients or, if ``strict``, say what is independent."""
    if strict:
        for i, g in enumerate(grads):
            if g is None:
                raise RuntimeError(_MISSING[stage].format(i=i))
            if create_graph and not g.requires_grad:
                raise RuntimeError(_CONSTANT[stage].format(i=i))
    return tuple(weft.zeros_like(x).detach() if g is None else g for g, x in zip(grads, like))


_LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with "
    "respect to input {i} is independent of the input. This is not allowed in strict mode. You "
    "should ensure that your function is twice differentiable and that the jacobian depends on "
    "the inputs (this would be violated by a linear function for example)."
)
_OUTPUT = (
    "The output of the user-provided function is independent of input {i}. This is not allowed in "
    "strict mode."
)
_AGAIN = (
    "The {what} of the user-provided function is independent of input {{i}}. This is not allowed "
    "in strict mode when create_graph=True."
)
# What a gradient that is missing means, by the stage of the computation.
_MISSING = {
    "back": _OUTPUT,
    "jacobian": _OUTPUT,
    "hessian": _LINEAR,
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the "
    "grad_outputs when using the double backward trick to compute forward mode gradients. This is "
    "not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This "
    "is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} "
    "in the grad_jacobian. This is not allowed in strict mode as it prevents from using the "
    "double backward trick to replace forward mode AD.",
}
# What a gradient without a history means, where one was asked for.
_CONSTANT = {
    "back": _AGAIN.format(what="jacobian"),
    "jacobian": _LINEAR,
    "hessian": _LINEAR,
    "back_trick": _AGAIN.format(what="jacobian"),
    "double_back": _AGAIN.format(what="hessian"),
    "double_back_trick": _AGAIN.format(what="hessian"),
}


def _finish(values: tuple[Tensor, ...], is_tuple: bool, create_graph: bool) -> Any:
    """Return results in the caller's structure, without history unless it was asked for."""
    if not create_graph:
        values = tuple(x.detach() for x in values)
    return values if is_tuple else values[0]


def __getattr__(name: str) -> Any:
    if name != "make_dot":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from weft.view import make_dot

    return make_dot
