"""``weft.autograd``: ``backward``, ``grad``, and modes, hooks and functions around them.

The walk itself is native. The one call that starts it is::

    weft._C._run_backward(tensors, grads, retain_graph, create_graph, inputs, allow_unused,
                          accumulate) -> tuple | None

with ``tensors`` and ``grads`` tuples of equal length (``grads`` holds tensors only, of the shapes
of ``tensors``), ``inputs`` a tuple or None, the flags plain bools. ``accumulate=True`` adds to
``.grad`` of the leaves, or of ``inputs`` only if these are given, and returns None;
``accumulate=False`` returns a tuple with the gradient of each of ``inputs``, None where
``allow_unused`` and the input was not used.
"""

from __future__ import annotations

import weft
from weft import _C

from . import function, grad_mode, variable
from .function import Function
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .variable import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from weft import Tensor
    from weft.view import make_dot as make_dot

    from . import anomaly as anomaly
    from . import anomaly as anomaly_mode
    from . import functional as functional
    from . import graph as graph
    from . import profiler as profiler
    from .anomaly import detect_anomaly as detect_anomaly
    from .anomaly import set_detect_anomaly as set_detect_anomaly

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "anomaly",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "make_dot",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "variable",
]

# Loaded when first asked for: the name, the module it lives in, the attribute there if not itself.
_LATER = {
    "anomaly": ("anomaly", None),
    "anomaly_mode": ("anomaly", None),
    "detect_anomaly": ("anomaly", "detect_anomaly"),
    "functional": ("functional", None),
    "graph": ("graph", None),
    "make_dot": (".view", "make_dot"),
    "profiler": ("profiler", None),
    "set_detect_anomaly": ("anomaly", "set_detect_anomaly"),
}


# While weft.debug.nan_origin is on: what runs instead of the native walk, with its arguments.
_checked_backward: Any = None


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _LATER[name]
    found = import_module(f".{module}", __name__)
    globals()[name] = found if attribute is None else getattr(found, attribute)
    return globals()[name]


def backward(
    tensors: Tensor | Iterable[Tensor],
    grad_tensors: Tensor | Iterable[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Iterable[Tensor | None] | None = None,
    inputs: Tensor | Iterable[Tensor] | None = None,
) -> None:
    """Add the gradient of ``tensors`` to the ``.grad`` of the leaves that led to them.

    Args:
        tensors: what is differentiated.
        grad_tensors: for each of them the vector of the vector-Jacobian product; may be None for
            tensors with one element.
        retain_graph: keep the graph for another walk (default: the value of ``create_graph``).
        create_graph: record the walk itself, for derivatives of higher order.
        grad_variables: an old name of ``grad_tensors``.
        inputs: only these get a gradient.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> weft.autograd.backward([(x * x).sum(), x.sum()])
    >>> x.grad
    tensor([3., 5.])
    """
    if grad_variables is not None:
        import warnings

        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    wanted = None if inputs is None else _as_tuple(inputs)
    if wanted is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _as_tuple(tensors)
    run = _C._run_backward if _checked_backward is None else _checked_backward
    run(
        roots,
        _start_gradients(roots, grad_tensors, "backward"),
        bool(create_graph if retain_graph is None else retain_graph),
        bool(create_graph),
        wanted,
        True,
        True,
    )


def grad(
    outputs: Tensor | Iterable[Tensor],
    inputs: Tensor | Iterable[Tensor] | dict[str, Tensor],
    grad_outputs: Tensor | Iterable[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradient of ``outputs`` with respect to each of ``inputs``; no ``.grad`` changes.

    Args:
        outputs: what is differentiated.
        inputs: with respect to what; a dict gives a dict of the same keys.
        grad_outputs: for each output the vector of the vector-Jacobian product; may be None for
            tensors with one element.
        retain_graph: keep the graph for another walk (default: the value of ``create_graph``).
        create_graph: record the walk itself, for derivatives of higher order.
        only_inputs: must be True.
        allow_unused: give None for inputs that were not used, instead of raising (default: the
            value of ``materialize_grads``).
        is_grads_batched: ``grad_outputs`` hold several vectors along their first dimension, and so
            do the results; weft walks back once for each.
        materialize_grads: give zeros for inputs that were not used.

    >>> x = weft.tensor(3.0, requires_grad=True)
    >>> (g,) = weft.autograd.grad(x**3, x, create_graph=True)
    >>> weft.autograd.grad(g, x)
    (tensor(18.),)
    """
    if is_grads_batched:
        return _grad_of_each(
            outputs, inputs, grad_outputs, bool(retain_graph), create_graph, only_inputs,
            allow_unused, materialize_grads,
        )  # fmt: skip
    if not only_inputs:
        raise ValueError("autograd.grad: only_inputs must be True; use autograd.backward instead")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    keys = list(inputs) if isinstance(inputs, dict) else None
    wanted = tuple(inputs.values()) if isinstance(inputs, dict) else _as_tuple(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    roots = _as_tuple(outputs)
    grads = _C._run_backward(
        roots,
        _start_gradients(roots, grad_outputs, "grad"),
        bool(create_graph if retain_graph is None else retain_graph),
        bool(create_graph),
        wanted,
        bool(materialize_grads if allow_unused is None else allow_unused),
        False,
    )
    if materialize_grads:
        if any(g is None and not isinstance(x, weft.Tensor) for g, x in zip(grads, wanted)):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge"
            )
        grads = tuple(weft.zeros_like(x) if g is None else g for g, x in zip(grads, wanted))
    return grads if keys is None else dict(zip(keys, grads))


def _grad_of_each(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any,
    retain_graph: bool,
    create_graph: bool,
    only_inputs: bool,
    allow_unused: bool | None,
    materialize_grads: bool,
) -> Any:
    """Return the gradients for each slice of the vectors, stacked."""
    vectors = _as_tuple(grad_outputs) if grad_outputs is not None else ()
    sizes = {v.shape[0] if v.dim() else None for v in vectors if v is not None}
    if len(sizes) != 1 or None in sizes:
        raise RuntimeError(
            "autograd.grad: is_grads_batched=True needs grad_outputs with a first dimension of "
            f"the same length, got shapes {[v if v is None else list(v.shape) for v in vectors]}"
        )
    (count,) = sizes
    if not count:
        raise RuntimeError("autograd.grad: is_grads_batched=True needs at least one vector, got 0")
    keys = list(inputs) if isinstance(inputs, dict) else None
    wanted = tuple(inputs.values()) if isinstance(inputs, dict) else inputs
    rows = []
    for i in range(count):
        slices = tuple(v if v is None else v[i] for v in vectors)
        keep = retain_graph or create_graph or i + 1 < count
        rows.append(
            grad(
                outputs, wanted, slices, keep, create_graph, only_inputs, allow_unused,
                materialize_grads=materialize_grads,
            )
        )  # fmt: skip
    found = tuple(None if column[0] is None else weft.stack(column) for column in zip(*rows))
    return found if keys is None else dict(zip(keys, found))


def _as_tuple(tensors: Any) -> tuple[Any, ...]:
    """Return one tensor, one GradientEdge (a named tuple) or an iterable of them as a tuple."""
    if isinstance(tensors, weft.Tensor) or hasattr(tensors, "_fields"):
        return (tensors,)
    return tuple(tensors)


def _start_gradients(
    roots: Sequence[Any], given: Tensor | Iterable[Tensor | None] | None, caller: str
) -> tuple[Tensor, ...]:
    """Return the gradient from which each walk starts, as given or 1 for a single element."""
    if given is None:
        grads: tuple[Any, ...] = (None,) * len(roots)
    else:
        grads = (given,) if isinstance(given, weft.Tensor) else tuple(given)
        if len(grads) != len(roots):
            raise RuntimeError(
                f"autograd.{caller}: got {len(roots)} tensors and {len(grads)} gradients"
            )
    return tuple([_start_gradient(i, y, g) for i, (y, g) in enumerate(zip(roots, grads))])


def _made_at(y: Tensor) -> str:
    """Return where ``y`` was made and where we are now, to end a message with."""
    node = y.grad_fn
    made = f"\n  it was made by {node.name()} at {node.origin}" if node is not None else ""
    return f"{made}\n  at {_C._here()}"


def _start_gradient(index: int, y: Any, g: Any) -> Any:
    """Return the gradient of one root, checked, or made of ones."""
    if not isinstance(y, weft.Tensor):  # a GradientEdge has no shape to check with
        if g is None:
            raise RuntimeError("grad can be implicitly created only for Tensor outputs")
        return g
    if g is None:
        if y.requires_grad and y.numel() != 1:
            raise RuntimeError(
                "grad can be implicitly created only for scalar outputs: tensor "
                f"{index} has shape {list(y.shape)}; give its gradient, or reduce it first, as "
                f"by .sum(){_made_at(y)}"
            )
        if y.requires_grad and y.is_complex():
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got {y.dtype}"
            )
        return weft.ones_like(y)
    if not isinstance(g, weft.Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g.shape != y.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {g.shape} and "
            f"output[{index}] has a shape of {y.shape}.{_made_at(y)}"
        )
    if g.is_complex() != y.is_complex():
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            f"dtype. Mismatch in dtype: grad_output[{index}] has a dtype of {g.dtype} and "
            f"output[{index}] has a dtype of {y.dtype}."
        )
    return g
