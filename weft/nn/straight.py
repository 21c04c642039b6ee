"""Which modules are called without Python, because their forward is one op.

A module with hooks or with a forward of its own is called as any other. In a ``Sequential``, a
linear layer and the ReLU behind it are one op.
"""

from __future__ import annotations

from weft import _C
from weft.nn.activation import ReLU, Sigmoid, Tanh
from weft.nn.container import Sequential
from weft.nn.linear import Linear

_op = _C._op_function

_C._set_layer(Linear, Linear.forward, _op("linear"), ["weight", "bias"], "")
_C._set_layer(ReLU, ReLU.forward, _op("relu"), [], "inplace")
_C._set_layer(Sigmoid, Sigmoid.forward, _op("sigmoid"), [], "")
_C._set_layer(Tanh, Tanh.forward, _op("tanh"), [], "")
_C._set_sequence(Sequential, Sequential.forward, Linear, ReLU, ReLU.forward, _op("linear_relu"))
