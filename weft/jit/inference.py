"""``optimize_for_inference``: frozen, folded, joined, and run as a static program."""

from __future__ import annotations

from weft import _C

from .freeze import freeze, freeze_graph
from .graph import Graph
from .op_schema import is_random
from .passes import INFERENCE, run_passes
from .passes.rebuild import copied
from .recorder import TracerWarning
from .trace import TracedFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["optimize_for_inference"]


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """Return what was traced or scripted as fast as it gets, for calls that only compute results.

    A module is set to the mode of evaluation, as in PyTorch, and frozen. Then the passes of
    ``weft.jit.passes.INFERENCE`` compute what does not depend on the inputs, fold batch norms into
    the layers before them, join layers with activations, sums and padding, let convolutions in a row
    work on a few lines of the image at a time, and leave out dropout and what leads to no result.
    Results differ from the module's by the rounding of folded batch norms only, and where padding
    with zeros meets weights that are not finite. Where gradients of inputs are wanted, ops run one by
    one.

    A traced module or function becomes one graph. A scripted module becomes a graph for each kind
    of inputs (shapes, dtypes, layouts, other arguments) when it is first called with them: its
    loops and its branches on sizes and numbers are settled then. Calls that branch on the values of
    tensors, or change attributes, are run by the interpreter; ``.reasons`` says why.

    Args:
        mod: what ``jit.trace``, ``jit.script`` or ``jit.freeze`` returned.
        other_methods: methods of a scripted module to keep besides ``forward``.

    >>> net = weft.nn.Sequential(weft.nn.Conv2d(1, 2, 3), weft.nn.BatchNorm2d(2), weft.nn.ReLU())
    >>> x = weft.randn(1, 1, 5, 5)
    >>> fast = weft.jit.optimize_for_inference(weft.jit.trace(net.eval(), x))
    >>> [node.op for node in fast.graph]
    ['convolve_relu']
    >>> weft.allclose(fast(x), net(x), atol=1e-6)
    True
    """
    if isinstance(mod, TracedFunction):
        graph = copied(mod.graph)
        held: list[Any] = [v.constant for v in graph.constants]
        freeze_graph(graph, {t: t.detach().clone() for t in held})
        return TracedFunction(_improved(graph), mod.__name__)
    if not isinstance(mod, _C.ModuleBase) or "_methods" not in mod.__dict__:
        raise RuntimeError(
            "optimize_for_inference: takes what jit.script or jit.trace returned, not a "
            f"{type(mod).__name__}: script or trace it first"
        )
    from .inference_module import InferenceModule
    from .traced_module import TracedModule

    if isinstance(mod, InferenceModule):
        return mod
    frozen = freeze(mod.eval(), preserved_attrs=other_methods)
    if not isinstance(frozen, TracedModule):
        return InferenceModule(frozen)
    if frozen.graph is None:
        raise RuntimeError(
            f"optimize_for_inference: {frozen.original_name} is a part of a traced module, which "
            "cannot be called: give the whole"
        )
    made = TracedModule()
    made.__dict__.update(_original=frozen.original_name, training=False, _is_frozen=True)
    made.__dict__["_graph"] = _improved(frozen.graph)
    return made


def _improved(graph: Graph) -> Graph:
    made = run_passes(graph, INFERENCE)
    for v in made.constants:
        v.member = None  # the modules that had them are gone
    _warn_of_training(made)
    return made


def _warn_of_training(graph: Graph) -> None:
    """Warn of what a trace in the mode of training holds and evaluation would not."""
    random = {node.op for node in graph if is_random(node)}
    own = {node.op for node in graph if node.op == "norm_channels" and node.args[5]}
    if graph.training and (random or own):
        import warnings

        warnings.warn(
            "optimize_for_inference: the module was traced in the mode of training, and its graph "
            f"keeps what it did there ({', '.join(sorted(random | own))}): trace it after .eval()",
            TracerWarning,
            stacklevel=4,
        )
