"""Which modules are called without Python, because their forward is one op.

A module with hooks or with a forward of its own is called as any other. In a ``Sequential``, a
linear layer and the activation behind it are one op.
"""

from __future__ import annotations

from weft import _C
from weft.nn import functional as F
from weft.nn.activation import GELU, Hardswish, Mish, ReLU, Sigmoid, SiLU, Tanh
from weft.nn.container import Sequential
from weft.nn.linear import Linear

_op = _C._op_function

_C._set_layer(Linear, Linear.forward, _op("linear"), ["weight", "bias"], "")
_C._set_layer(ReLU, ReLU.forward, _op("relu"), [], "inplace")
_C._set_layer(Sigmoid, Sigmoid.forward, _op("sigmoid"), [], "")
_C._set_layer(Tanh, Tanh.forward, _op("tanh"), [], "")

_C._set_sequence(Sequential, Sequential.forward, Linear)
for _kind in (ReLU, Sigmoid, Tanh, SiLU, Mish, Hardswish):
    _C._set_activation(_kind, _op(f"linear_{_kind.__name__.lower()}"), _kind.forward)
for _way, _name in (("none", "gelu"), ("tanh", "gelu_tanh")):
    _C._set_activation(GELU, _op(f"linear_{_name}"), GELU.forward, "approximate", _way)
for _function, _name in ((F.relu, "relu"), (F.gelu, "gelu"), (F.silu, "silu")):
    _C._set_activation(_function, _op(f"linear_{_name}"))
del _kind, _way, _name, _function
