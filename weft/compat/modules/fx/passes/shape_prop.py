"""ShapeProp: runs a graph once, and notes shape and dtype of each result."""

from __future__ import annotations

from typing import NamedTuple

import weft

from ..interpreter import Interpreter
from ..node import Node, map_aggregate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..graph_module import GraphModule

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What a tensor is like, without its values."""

    shape: weft.Size
    dtype: weft.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: weft.memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def _metadata(t: weft.Tensor) -> TensorMetadata:
    formats = (weft.contiguous_format, weft.channels_last, weft.channels_last_3d)
    dims = {weft.channels_last: 4, weft.channels_last_3d: 5}
    found = None
    for f in formats:
        if dims.get(f, t.dim()) == t.dim() and t.is_contiguous(memory_format=f):
            found = f
            break
    return TensorMetadata(t.shape, t.dtype, t.requires_grad, t.stride(), found, False, {})


class ShapeProp(Interpreter):
    """Notes in ``node.meta["tensor_meta"]`` what each result is like, for given inputs.

    >>> from weft.fx.passes.shape_prop import ShapeProp
    >>> gm = weft.fx.symbolic_trace(weft.nn.Linear(2, 3))
    >>> _ = ShapeProp(gm).propagate(weft.ones(4, 2))
    >>> gm.graph.output_node().meta["tensor_meta"].shape
    torch.Size([4, 3])
    """

    def __init__(self, gm: GraphModule, fake_mode: Any = None) -> None:
        """Take the module; ``fake_mode`` is not there."""
        if fake_mode is not None:
            raise NotImplementedError("ShapeProp: fake_mode")
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        """Run one node, and note what its result is like."""
        result = super().run_node(n)
        any_tensor = False

        def note(x: Any) -> Any:
            nonlocal any_tensor
            if isinstance(x, weft.Tensor):
                any_tensor = True
                return _metadata(x)
            return x

        meta = map_aggregate(result, note)
        if any_tensor:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph with example inputs; return its output."""
        return super().run(*args)
