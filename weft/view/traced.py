"""``graph``: what a module or a function does in one call, from the ops that pass the dispatcher."""

from __future__ import annotations

import weft
from weft import _C
from weft.utils.pytree import find_named, tree_map_only

from .graph import Graph, Node
from .names import Names, split_origin
from .tape import make_dot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from weft.jit.graph import Value

__all__ = ["graph"]


def graph(
    what: Any,
    inputs: Any = (),
    *args: Any,
    params: Any = None,
    depth: int | None = None,
    unused: bool = False,
) -> Graph:
    """Return the graph of a module, a function, a static graph or a tensor.

    A module or function is called once, without gradients. Parameters, buffers, the random numbers
    to come and the inputs stay as they were.

    Args:
        what: a module, a function, ``weft.jit.Graph``, what ``weft.jit.trace`` returns, or a tensor
            (then this is ``make_dot``).
        inputs: what to call it with: a tensor, or a tuple of arguments, which may hold lists and
            dicts of tensors.
        args: further arguments.
        params: names of tensors, as ``make_dot`` takes them.
        depth: show modules of this depth as one node each; None shows every op.
        unused: show also ops on which no result depends, as the counting of batches.

    >>> net = weft.nn.Sequential(weft.nn.Linear(3, 2), weft.nn.Softmax(-1))
    >>> [(n.kind, n.label, n.module) for n in weft.view.graph(net, weft.ones(1, 3))]
    [('leaf', 'input', ''), ('parameter', '0.weight', ''), ('parameter', '0.bias', ''),
     ('op', 'linear', 'Sequential.0'), ('op', 'softmax', 'Sequential.1'), ('output', 'output', '')]
    """
    from weft.jit import Graph as StaticGraph

    names = Names()
    names.take(params, "view.graph")
    if isinstance(what, weft.Tensor):
        if args:
            raise TypeError("view.graph: a tensor is not called, so it takes no arguments")
        return make_dot(what, params, depth=depth)
    static = getattr(what, "graph", what)
    if not isinstance(static, StaticGraph):
        if not callable(what):
            raise TypeError(
                "view.graph: takes a Module, a function, a static graph or a Tensor, not "
                f"{type(what).__name__}"
            )
        if hasattr(what, "named_parameters"):
            names.take_module(what)
        static = record(what, (inputs, *args) if args else inputs)
    elif args:
        raise TypeError(
            "view.graph: a static graph is not called, so it takes no arguments; got "
            f"{1 + len(args)}"
        )
    made = from_static(static, names, unused)
    return made if depth is None else made.collapse(depth)


def record(func: Callable[..., Any], inputs: Any) -> Any:
    """Call ``func`` once, and return its ops as a static graph that is to be looked at, not run.

    >>> from weft.view.traced import record
    >>> [node.op for node in record(lambda x: x.exp() + 1, weft.ones(2))]
    ['exp', 'add']
    """
    from contextlib import nullcontext

    from weft.jit.recorder import Recorder

    class Watcher(Recorder):
        """Goes on where a graph that is to be run could not."""

        def read(self, what: str, line: str, t: Any) -> None:
            pass

        def lost(self, what: str, line: str) -> None:
            pass

    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    given = tree_map_only(weft.Tensor, lambda t: t.detach().clone(), given)
    watcher = Watcher()
    for name, t in _named_inputs(func, given):
        value = watcher.name(t, "x")
        value.name = name
        watcher.graph.inputs.append(value)
    if isinstance(func, weft.nn.Module):
        from weft.nn.summary import left_as_it_is

        scope: Any = left_as_it_is(func)
    else:
        scope = nullcontext()
    generator = weft.get_rng_state()
    try:
        with scope, weft.no_grad():
            _C._start_recording(watcher)
            try:
                result = func(*given)
            finally:
                _C._stop_recording()
    finally:
        weft.set_rng_state(generator)
    watcher.returns(result)
    return watcher.graph


def _named_inputs(func: Any, given: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    import inspect

    try:
        signature = inspect.signature(getattr(func, "forward", func))
        names = [p.name for p in signature.parameters.values() if p.kind < p.VAR_POSITIONAL]
    except (TypeError, ValueError):  # a function that is native
        names = []
    names += [f"input {i}" for i in range(len(names), len(given))]
    for name, x in zip(names, given):
        yield from find_named(x, weft.Tensor, name)


_PUBLIC = {  # what users call the ops that are parts of others; # is the number of dimensions
    "attend": "scaled_dot_product_attention",
    "convolve": "conv#d",
    "convolve_input": "conv_transpose#d",
    "cross_entropy_rows": "cross_entropy",
    "ctc_rows": "ctc_loss",
    "embedding_bags": "embedding_bag",
    "fold_windows": "fold",
    "gelu_erf": "gelu",
    "gelu_tanh": "gelu",
    "grid_read": "grid_sample",
    "huber": "huber_loss",
    "index.places": "index",
    "join": "cat",
    "log_loss": "binary_cross_entropy",
    "logistic_loss": "binary_cross_entropy_with_logits",
    "multi_margin_rows": "multi_margin_loss",
    "multilabel_margin_rows": "multilabel_margin_loss",
    "nll_classes": "nll_loss",
    "norm_channels": "batch_norm",
    "norm_groups": "group_norm",
    "norm_rows": "layer_norm",
    "pad_picked": "pad",
    "pool_adaptive": "adaptive_max_pool#d",
    "pool_fractional": "fractional_max_pool#d",
    "pool_largest": "max_pool#d",
    "pool_mean": "avg_pool#d",
    "pool_set": "max_unpool#d",
    "recur": "recurrent",
    "resample": "interpolate",
    "smooth_l1": "smooth_l1_loss",
    "squared_error": "mse_loss",
    "unfold_windows": "unfold",
    "view_at": "getitem",
}


def public_name(node: Any) -> str:
    """Return what a picture calls an op: the name that users know it by.

    >>> from weft.view.traced import public_name, record
    >>> [public_name(n) for n in record(weft.nn.MaxPool2d(2), weft.ones(1, 1, 2, 2))]
    ['max_pool2d']
    """
    name = _PUBLIC.get(node.op, node.op)
    if "#" in name:
        spatial = next((len(a) for a in node.args if type(a) in (tuple, list)), 2)
        name = name.replace("#", str(spatial))
    return name


def _shown_shapes(node: Any, used: set[Any]) -> list[tuple[int, ...]]:
    """The shapes of what an op gives; of what an inner op keeps for backward only where it is read."""
    outputs = node.outputs
    if node.op in _PUBLIC:
        outputs = [v for i, v in enumerate(outputs) if i == 0 or v in used]
    return [v.shape for v in outputs]


def _used(static: Any) -> list[Any]:
    """Return the nodes on which a result depends."""
    wanted = set(static.results())
    used = []
    for node in reversed(static.nodes):
        if any(v in wanted for v in node.outputs):
            used.append(node)
            wanted.update(node.inputs())
    return used[::-1]


def from_static(static: Any, names: Names, unused: bool = True) -> Graph:
    """Return the graph to look at of a static graph.

    >>> from weft.view.names import Names
    >>> from weft.view.traced import from_static
    >>> static = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
    >>> [n.label for n in from_static(static, Names())]
    ['x0', 'add', 'output']
    """
    made = Graph()
    at: dict[Value, Node] = {}
    for v in static.inputs:
        at[v] = made.add(v.name, "leaf", shapes=[v.shape], dtype=v.dtype)
    shown = static.nodes if unused else _used(static)
    used = {v for node in shown for v in node.inputs()} | set(static.results())
    for node in shown:
        for v in node.inputs():
            if v not in at:  # a tensor from outside, when it is first read
                name, kind = _outside(v, names)
                at[v] = made.add(name, kind, shapes=[v.shape], dtype=v.dtype)
        line, module = split_origin(node.line)
        label = public_name(node)
        label += "_" if node.inplace and not label.endswith("_") else ""
        step = made.add(
            label, "op", op=node.op, shapes=_shown_shapes(node, used), module=module, line=line,
            dtype=node.outputs[0].dtype if node.outputs else None,
        )  # fmt: skip
        for source in dict.fromkeys(at[v] for v in node.inputs()):
            made.connect(source, step)
        for v in node.outputs:
            at[v] = step
    _add_outputs(made, static.returned, at, names)
    return made


def _outside(v: Value, names: Names) -> tuple[str, str]:
    """Return the name and the kind of a value that no op makes."""
    member = (v.member, "parameter") if v.member else ("constant", "constant")
    return names.of(v.constant) or member if v.constant is not None else member


def _add_outputs(made: Graph, returned: Any, at: dict[Value, Node], names: Names) -> None:
    from weft.jit.graph import Value

    for name, v in find_named(returned, Value, "output"):
        if v not in at:  # what came from outside is returned as it is
            label, kind = _outside(v, names)
            at[v] = made.add(label, kind, shapes=[v.shape], dtype=v.dtype)
        node = made.add(name, "output", shapes=[v.shape], dtype=v.dtype)
        made.connect(at[v], node)
