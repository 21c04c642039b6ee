"""``fuse``: a module whose consecutive layers are one op each, with the same live parameters."""

from __future__ import annotations

from weft import nn

from .graph_cache import GraphCache
from .passes import LAYERS, run_passes
from .recorder import TracerWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .graph import Graph

__all__ = ["FusedModule", "fuse"]


def fuse(module: Any, example_inputs: Any = None) -> FusedModule:
    """Return a module that does what ``module`` does, with its layers joined where they can be.

    The first call runs the module as it is written and takes its graph; the passes of
    ``weft.jit.passes.LAYERS`` join a linear layer with the activation behind it, and share and leave
    out what they can. Later calls run that graph: without gradients as a static program, else op by
    op on the tape. Inputs of other shapes get a graph of their own when calls with them have taken
    so long that it pays. Results are the same, bit for bit. Parameters, buffers, children and modes
    are those of ``module`` itself: either can be trained. A call that cannot be a graph, such as one
    that branches on the values of a tensor, runs as it is written, and a ``TracerWarning`` says why,
    once. As with ``weft.jit.trace``, what the module does besides
    computing (printing, numbers that it reads from elsewhere) happens when a graph is taken.

    Args:
        module: any module.
        example_inputs: take the graph for these now: a tensor, or a tuple of arguments. The call
            leaves buffers and random numbers as they were.

    >>> class Net(weft.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc1, self.fc2 = weft.nn.Linear(4, 8), weft.nn.Linear(8, 2)
    ...     def forward(self, x):
    ...         return self.fc2(weft.relu(self.fc1(x)))
    >>> net, x = Net(), weft.randn(3, 4)
    >>> fused = weft.jit.fuse(net, x)
    >>> [node.op for node in fused.graph]
    ['linear_relu', 'linear']
    >>> fused(x).equal(net(x)), fused.fc1.weight is net.fc1.weight
    (True, True)
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"fuse: takes a Module, not a {type(module).__name__}")
    made = FusedModule(module._graphs.module if isinstance(module, FusedModule) else module)
    if example_inputs is not None:
        from .trace import as_inputs

        made._take(as_inputs(example_inputs))
    return made


class FusedModule(nn.Module):
    """What ``weft.jit.fuse`` gives: another way to call a module.

    Attributes:
        graph: the graph that was used last; None before the first call.
        graphs: all that are kept, one for each kind of call.
        reasons: why calls ran as they are written.

    >>> fused = weft.jit.fuse(weft.nn.Linear(2, 3))
    >>> fused.graph, fused(weft.ones(1, 2)).shape, len(fused.graphs), fused.reasons
    (None, torch.Size([1, 3]), 1, [])
    """

    def __init__(self, module: Any) -> None:
        super().__init__()
        d = self.__dict__
        for name in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            d[name] = module.__dict__[name]
        d.pop("training")
        d["_graphs"] = GraphCache(module, _joined)
        d["_graphs"].tell = _warn

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._graphs(args, kwargs)

    def _take(self, inputs: tuple[Any, ...]) -> None:
        from weft.nn.summary import left_as_it_is

        with left_as_it_is(self._graphs.module):
            self._graphs(inputs, {})

    @property
    def graph(self) -> Graph | None:
        """The graph that was used last; None before the first call."""
        return next(reversed(self._graphs.graphs()), None)

    @property
    def graphs(self) -> list[Graph]:
        """The graphs of all kinds of calls."""
        return self._graphs.graphs()

    @property
    def reasons(self) -> list[str]:
        """Why calls ran as they are written."""
        return list(self._graphs.reasons)

    # ---- everything else is the module's

    @property
    def training(self) -> bool:  # type: ignore[override]
        """The mode of the module."""
        return self._graphs.module.training

    def train(self, mode: bool = True) -> Any:
        """Set the mode of the module and its parts."""
        self._graphs.module.train(mode)
        return self

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Return the state of the module."""
        return self._graphs.module.state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load the state of the module."""
        return self._graphs.module.load_state_dict(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """Find attributes of the module."""
        if name.startswith("__") or "_graphs" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return getattr(self._graphs.module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the module."""
        setattr(self._graphs.module, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._graphs.module, name)

    def __deepcopy__(self, memo: Any) -> FusedModule:
        """Copy the module; its graphs are taken anew."""
        import copy

        made = memo[id(self)] = FusedModule(copy.deepcopy(self._graphs.module, memo))
        return made

    def __reduce__(self) -> Any:
        return fuse, (self._graphs.module,)

    def extra_repr(self) -> str:
        return f"original_name={type(self._graphs.module).__name__}"


def _joined(graph: Graph) -> Graph:
    return run_passes(graph, LAYERS)


def _warn(why: str) -> None:
    import warnings

    warnings.warn(f"fuse: {why}: such calls run as they are written", TracerWarning, stacklevel=2)
