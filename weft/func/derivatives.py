"""``grad``, Jacobians, Hessians and their products with vectors, by reverse-mode differentiation.

They may be nested: ``grad(grad(f))``. Arguments and results are tensors or nested tuples, lists and
dictionaries of them. What a function gives back depends on whatever it read that requires a
gradient, as in any program.
"""

from __future__ import annotations

import functools

import weft
from weft import _C
from weft.utils.pytree import find_tensors, tree_flatten, tree_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from weft import Tensor

    ArgNums: TypeAlias = int | tuple[int, ...]

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


class _Recorded:
    """One call of a function on copies of its arguments, kept to be differentiated."""

    def __init__(
        self, func: Callable[..., Any], args: Any, named: dict[str, Any], argnums: Any,
        has_aux: bool, name: str,
    ) -> None:  # fmt: skip
        """Call ``func`` with fresh tensors in the places ``argnums``."""
        self.name = name
        args = list(args)
        self.single = isinstance(argnums, int)
        places = _places(argnums, len(args), name)
        self.inputs, self.input_spec = tree_flatten(
            args[places[0]] if self.single else tuple(args[i] for i in places)
        )
        for x in self.inputs:
            if not isinstance(x, weft.Tensor):
                raise TypeError(f"{name}: expected tensors to differentiate by, got {type(x)}")
            if not (x.is_floating_point() or x.is_complex()):
                raise RuntimeError(
                    f"{name}: only floating point inputs have derivatives: {x.dtype}"
                )
        with weft.enable_grad():
            self.xs = [x.view_as(x) if _C._wants_grad(x) else _fresh(x) for x in self.inputs]
            tree = self.input_spec.unflatten(self.xs)
            for i, value in zip(places, (tree,) if self.single else tree):
                args[i] = value
            result = func(*args, **named)
        self.aux = None
        if has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(
                    f"{name}: with has_aux=True the function must return (output, aux), got "
                    f"{type(result)}"
                )
            result, self.aux = result
        self.ys, self.output_spec = tree_flatten(result)
        for y in self.ys:
            if not isinstance(y, weft.Tensor):
                raise RuntimeError(
                    f"{name}: expected the function to return tensors, got {type(y)}"
                )
        # Whether results matter to something outside: another transform, or a parameter.
        aux = find_tensors(self.aux)
        mine = {id(x) for x in self.xs}
        self.watched = _reaches_others([*self.ys, *aux], mine)

    def out(self, tree: Any) -> Any:
        """Return results as others see them."""
        if self.watched:
            return tree
        return tree_map(lambda t: t.detach() if isinstance(t, weft.Tensor) else t, tree)

    def output(self) -> Any:
        """Return what the function returned."""
        return self.out(self.output_spec.unflatten(self.ys))

    def back(self, vectors: list[Any], create_graph: bool = False, keep: bool = True) -> list[Any]:
        """Return the product of ``vectors`` with the Jacobian, one for each input."""
        pairs = [(y, v) for y, v in zip(self.ys, vectors) if y.requires_grad]
        if not pairs:
            return [weft.zeros_like(x) for x in self.xs]
        with weft.enable_grad():
            return list(
                weft.autograd.grad(
                    [y for y, _ in pairs], self.xs, [v for _, v in pairs], retain_graph=keep,
                    create_graph=create_graph or self.watched, materialize_grads=True,
                )
            )  # fmt: skip

    def as_inputs(self, found: list[Any]) -> Any:
        """Return one tensor for each input in the structure of the inputs."""
        return self.input_spec.unflatten(found)

    def with_aux(self, *results: Any, has_aux: bool) -> Any:
        """Return the results, and what the function returned besides."""
        if has_aux:
            results = (*results, self.out(self.aux))
        return results if len(results) > 1 else results[0]


def _fresh(x: Tensor) -> Tensor:
    return x.detach().requires_grad_()


def _places(argnums: Any, count: int, name: str) -> list[int]:
    asked = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(asked, tuple) or not asked or not all(isinstance(i, int) for i in asked):
        raise RuntimeError(f"{name}: argnums must be an int or a tuple of ints, got {argnums!r}")
    found = [i + count if i < 0 else i for i in asked]
    for i in found:
        if not 0 <= i < count:
            raise RuntimeError(f"{name}: argnums={argnums!r}, but there are {count} arguments")
    if len(set(found)) != len(found):
        raise RuntimeError(f"{name}: argnums={argnums!r} names an argument twice")
    return found


def _reaches_others(tensors: list[Tensor], mine: set[int]) -> bool:
    """Say whether leaves other than ours require gradients that flow through these tensors."""
    todo = [t.grad_fn for t in tensors if t.grad_fn is not None]
    if any(t.grad_fn is None and _C._wants_grad(t) and id(t) not in mine for t in tensors):
        return True
    seen = set(todo)
    while todo:
        node = todo.pop()
        variable = getattr(node, "variable", None)
        if variable is not None:
            if id(variable) not in mine:
                return True
            continue
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                todo.append(following)
    return False


def grad_and_value(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that gives the gradient of ``func`` and its value.

    Args:
        func: a function that returns a tensor without dimensions, or that and something else.
        argnums: which arguments the gradient is for.
        has_aux: ``func`` returns ``(output, aux)``; the result is ``(gradient, (output, aux))``.

    >>> weft.func.grad_and_value(lambda x: (x * x).sum())(weft.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """

    @functools.wraps(func)
    def differentiated(*args: Any, **named: Any) -> Any:
        call = _Recorded(func, args, named, argnums, has_aux, "grad")
        if len(call.ys) != 1 or call.ys[0].dim() or not isinstance(call.output(), weft.Tensor):
            shapes = [list(y.shape) for y in call.ys]
            raise RuntimeError(
                f"grad: expected the function to return one tensor without dimensions, got {shapes}"
            )
        found = call.back([weft.ones_like(call.ys[0])], keep=call.watched)
        value = call.with_aux(call.output(), has_aux=has_aux)
        return call.out(call.as_inputs(found)), value

    return differentiated


def grad(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that gives the gradient of ``func``.

    Args:
        func: a function that returns a tensor without dimensions.
        argnums: which arguments the gradient is for: one, or a tuple of them.
        has_aux: ``func`` returns ``(output, aux)``; the result is ``(gradient, aux)``.

    >>> weft.func.grad(weft.func.grad(weft.sin))(weft.tensor(0.5))
    tensor(-0.4794)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def differentiated(*args: Any, **named: Any) -> Any:
        found, value = both(*args, **named)
        return (found, value[1]) if has_aux else found

    return differentiated


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return ``func(*primals)`` and the function that multiplies a vector with its Jacobian.

    Args:
        func: a function of ``primals``.
        primals: where it is differentiated.
        has_aux: ``func`` returns ``(output, aux)``; ``aux`` is given back as a third result.

    >>> y, back = weft.func.vjp(weft.exp, weft.zeros(2))
    >>> back(weft.tensor([1.0, 3.0]))
    (tensor([1., 3.]),)
    """
    call = _Recorded(func, primals, {}, tuple(range(len(primals))), has_aux, "vjp")

    def back(*cotangents: Any) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        vectors, spec = tree_flatten(given)
        _check_structure("vjp", "outputs", call.output_spec, spec)
        _check_shapes("vjp", call.ys, vectors)
        outside = any(v.requires_grad for v in vectors)
        found = call.as_inputs(call.back(vectors, create_graph=outside))
        return found if outside else call.out(found)

    results = call.with_aux(call.output(), has_aux=has_aux)
    return (results[0], back, results[1]) if has_aux else (results, back)


def _check_structure(name: str, what: str, wanted: Any, got: Any) -> None:
    if wanted != got:
        raise RuntimeError(f"{name}: expected vectors in the structure of the {what}")


def _check_shapes(name: str, tensors: list[Tensor], vectors: list[Any]) -> None:
    for t, v in zip(tensors, vectors):
        if not isinstance(v, weft.Tensor) or v.shape != t.shape:
            got = list(v.shape) if isinstance(v, weft.Tensor) else type(v)
            raise RuntimeError(f"{name}: expected a vector of shape {list(t.shape)}, got {got}")


class _Forward:
    """Products of a Jacobian with vectors, by a walk back through the walk back.

    The product of a vector with the Jacobian is linear in that vector; its derivative, times
    another vector, is the product wanted.
    """

    def __init__(self, call: _Recorded) -> None:
        """Walk back once, from vectors that can be differentiated by."""
        self.call = call
        self.starts = [weft.zeros_like(y).detach().requires_grad_() for y in call.ys]
        self.found = call.back(list(self.starts), create_graph=True)

    def times(self, tangents: list[Any]) -> list[Any]:
        """Return the product with ``tangents``, one for each output."""
        call = self.call
        pairs = [(b, t) for b, t in zip(self.found, tangents) if b.requires_grad]
        if not pairs:
            return [weft.zeros_like(y) for y in call.ys]
        outside = call.watched or any(t.requires_grad for t in tangents)
        with weft.enable_grad():
            return list(
                weft.autograd.grad(
                    [b for b, _ in pairs], self.starts, [t for _, t in pairs], retain_graph=True,
                    create_graph=outside, materialize_grads=True,
                )
            )  # fmt: skip


def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return ``func(*primals)`` and the product of its Jacobian with ``tangents``.

    Args:
        func: a function of ``primals``.
        primals: a tuple of arguments.
        tangents: the vector, in the structure of ``primals``.
        strict: raise if an output does not depend on the inputs.
        has_aux: ``func`` returns ``(output, aux)``; ``aux`` is given back as a third result.

    >>> weft.func.jvp(weft.exp, (weft.zeros(2),), (weft.tensor([1.0, 3.0]),))
    (tensor([1., 1.]), tensor([1., 3.]))
    """
    if not isinstance(primals, tuple) or not primals:
        raise RuntimeError(f"jvp: expected a tuple of primals, got {type(primals)}")
    call = _Recorded(func, primals, {}, tuple(range(len(primals))), has_aux, "jvp")
    if strict and not all(y.requires_grad for y in call.ys):
        raise RuntimeError("jvp: strict=True, but an output does not depend on the inputs")
    product = _pusher(call, "jvp")(*tangents)
    results = call.with_aux(call.output(), has_aux=has_aux)
    return (results[0], product, results[1]) if has_aux else (results, product)


def _pusher(call: _Recorded, name: str) -> Callable[..., Any]:
    """Return the function that multiplies the Jacobian of a recorded call with tangents."""
    forward = _Forward(call)

    def push(*tangents: Any) -> Any:
        vectors, spec = tree_flatten(tangents)
        _check_structure(name, "inputs", call.input_spec, spec)
        _check_shapes(name, call.xs, vectors)
        product = call.output_spec.unflatten(forward.times(vectors))
        return product if any(v.requires_grad for v in vectors) else call.out(product)

    return push


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return ``func(*primals)`` and the linear function that is closest to ``func`` there.

    >>> y, push = weft.func.linearize(weft.exp, weft.zeros(2))
    >>> push(weft.tensor([1.0, 3.0]))
    tensor([1., 3.])
    """
    call = _Recorded(func, primals, {}, tuple(range(len(primals))), False, "linearize")
    return call.output(), _pusher(call, "linearize")


def _unit_vectors(like: list[Tensor], k: int) -> Any:
    """Yield, for each element of ``like[k]``, tensors that are zero but for a one there."""
    zeros: list[Any] = [weft.zeros_like(t).detach() for t in like]
    for i in range(like[k].numel()):
        unit = weft.zeros(like[k].numel(), dtype=like[k].dtype)
        unit[i] = 1
        yield [*zeros[:k], unit.reshape(like[k].shape), *zeros[k + 1 :]]


def _block(rows: list[Tensor], first: Tensor, second: Tensor, dtype: Any) -> Tensor:
    """Join what was found for each element of ``first``, of the shape of ``second``."""
    empty = weft.zeros((0, *second.shape), dtype=dtype)
    return (weft.stack(rows) if rows else empty).reshape((*first.shape, *second.shape))


def jacrev(
    func: Callable[..., Any],
    argnums: ArgNums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that gives the Jacobian of ``func``, a walk back for each output element.

    Args:
        func: a function of tensors.
        argnums: which arguments to differentiate by.
        has_aux: ``func`` returns ``(output, aux)``; the result is ``(jacobian, aux)``.
        chunk_size: how many walks to make at once; weft makes one at a time.

    >>> weft.func.jacrev(lambda x: x * x)(weft.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_chunk(chunk_size, "jacrev")

    @functools.wraps(func)
    def jacobian(*args: Any, **named: Any) -> Any:
        call = _Recorded(func, args, named, argnums, has_aux, "jacrev")
        blocks = []
        for k, y in enumerate(call.ys):
            rows = [call.back(units) for units in _unit_vectors(call.ys, k)]
            parts = [_block([row[i] for row in rows], y, x, x.dtype) for i, x in enumerate(call.xs)]
            blocks.append(call.as_inputs(parts))
        found = call.out(call.output_spec.unflatten(blocks))
        return call.with_aux(found, has_aux=has_aux)

    return jacobian


def jacfwd(
    func: Callable[..., Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Return a function that gives the Jacobian of ``func``, a product for each input element.

    Args:
        func: a function of tensors.
        argnums: which arguments to differentiate by.
        has_aux: ``func`` returns ``(output, aux)``; the result is ``(jacobian, aux)``.
        chunk_size: how many products to compute at once; weft computes one at a time.
        randomness: ``func`` is called once, so that its random numbers are always the same.

    >>> weft.func.jacfwd(lambda x: x * x)(weft.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_chunk(chunk_size, "jacfwd")
    if randomness not in ("error", "same", "different"):
        raise RuntimeError(f"jacfwd: randomness must be error, same or different: {randomness!r}")

    @functools.wraps(func)
    def jacobian(*args: Any, **named: Any) -> Any:
        call = _Recorded(func, args, named, argnums, has_aux, "jacfwd")
        forward = _Forward(call)
        columns = [
            [forward.times(units) for units in _unit_vectors(call.xs, i)]
            for i, _ in enumerate(call.xs)
        ]
        blocks = []
        for k, y in enumerate(call.ys):
            parts = []
            for x, column in zip(call.xs, columns):
                block = _block([c[k] for c in column], x, y, y.dtype)
                n = y.dim()
                parts.append(block.permute(*range(block.dim() - n, block.dim()), *range(x.dim())))
            blocks.append(call.as_inputs(parts))
        found = call.out(call.output_spec.unflatten(blocks))
        return call.with_aux(found, has_aux=has_aux)

    return jacobian


def _check_chunk(chunk_size: int | None, name: str) -> None:
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"{name}: chunk_size must be greater than 0, got {chunk_size}")


def hessian(func: Callable[..., Any], argnums: ArgNums = 0) -> Callable[..., Any]:
    """Return a function that gives the second derivatives of ``func``.

    >>> weft.func.hessian(lambda x: (x**3).sum())(weft.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacrev(jacrev(func, argnums), argnums)
