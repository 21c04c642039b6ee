"""What must be true after each program of the second document: graphs, gradients, regression."""

from __future__ import annotations

import os

import numpy as np
from seeing import close, fell, is_picture, losses, mse_gradients, ops, stepped

import weft


def b001_03(b, text):
    layer = b.linear_layer
    assert close(b.output_tensor, b.input_tensor @ layer.weight.t() + layer.bias)
    assert b.output_tensor.shape == (10, 3)


def b001_04(b, text):
    weight, bias = mse_gradients(b.input_tensor, b.output_tensor, b.target)
    assert close(b.linear_layer.weight.grad, weight)
    assert close(b.linear_layer.bias.grad, bias)


def b001_05(b, text):
    assert b.between >= b.before + 4 * (50 + 18 + 30)
    assert b.after == b.before


def b001_08(b, text):
    weight, _ = mse_gradients(b.input_tensor, b.output_tensor, b.target)
    assert close(b.linear_layer.weight.grad, weight)
    assert text == f"{b.linear_layer.weight.grad}\n"


def b001_13(b, text):
    z = b.x @ b.linear.weight.t() + b.linear.bias
    assert close(b.output, 1 / (1 + (-z).exp()))
    assert "grad_fn=<SigmoidBackward0>" in text


def _chain_rule(b):
    slope = 2 * (b.output - b.y) * b.output * (1 - b.output)
    assert close(b.x.grad, slope @ b.linear.weight)
    assert close(b.y.grad, -2 * (b.output - b.y))


def b001_14(b, text):
    _chain_rule(b)
    assert text == f"{b.x.grad}\n"


def b001_15(b, text):
    b.output = b.sigmoid(b.linear(b.x))
    _chain_rule(b)
    assert ops(b.optimized.graph) == ["linear", "sigmoid", "sub", "pow", "sum"]
    assert all(op in text for op in ops(b.optimized.graph))
    again = b.optimized(b.x, b.y)
    assert again.equal(b.loss)
    assert weft.autograd.grad(again, b.x)[0].equal(b.x.grad)


def b001_16(b, text):
    assert close(b.output, [[1.0, 1.7], [1.6, 3.1]])
    assert "1.6000, 3.1000" in text


def b001_17(b, text):
    slope = (b.output - b.y) / 2
    assert close(b.x.grad, slope @ b.layer.weight)
    assert close(b.y.grad, -slope.sum(1, keepdim=True))
    assert text.endswith(f"{b.x.grad}\n")


def b001_18(b, text):
    assert stepped([b.before], [b.layer.weight], 0.01)
    assert b.loss_function(b.layer(b.x), b.y.expand(2, 2)) < b.loss


def b001_19(b, text):
    assert close(b.output_sigmoid, 1 / (1 + (-b.x).exp()))
    assert b.output_relu.equal(b.x)
    e = (2 * b.x).exp()
    assert close(b.output_tanh, (e - 1) / (e + 1))
    assert text.count("tensor(") == 3


def b001_20(b, text):
    assert b.x.shape == b.y.shape == (100, 1)
    slope, begin = np.polyfit(b.x[:, 0], b.y[:, 0], 1)
    assert abs(slope - 1) < 0.2
    assert abs(begin) < 1
    assert is_picture("linear_data.png")


def b001_21(b, text):
    expected = "LinearModel(\n  (linear): Linear(in_features=1, out_features=1, bias=True)\n)\n"
    assert text == expected


def b001_22(b, text):
    assert len(losses(text)) == 10
    assert fell(losses(text))
    assert losses(text)[-1] < 2
    assert abs(b.model.linear.weight.item() - 1) < 0.2


def b001_23(b, text):
    assert abs(b.output_new.item() - 5) < 1
    assert text.endswith(f"Predicted Output: {b.output_new.item()}\n")


def b001_24(b, text):
    assert is_picture("prediction.png")
    assert os.path.getsize("prediction.png") > 5000
    assert [t.get_text() for t in b.legend.get_texts()] == ["Actual", "Predicted"]


def b001_28(b, text):
    assert b.x.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert b.x.dtype == weft.float32
    assert b.y.shape == b.z.shape == (2, 3)
    assert len(set(b.y.flatten().tolist())) == 6
    assert (b.z == 1).all()
    assert text == f"{b.x}\n{b.y}\n{b.z}\n"


def b001_29(b, text):
    pairs = list(zip(b.x.flatten().tolist(), b.y.flatten().tolist()))
    assert close(b.result_add.flatten(), [x + y for x, y in pairs])
    assert close(b.result_sub.flatten(), [x - y for x, y in pairs])
    assert close(b.result_mul.flatten(), [x * y for x, y in pairs])
    assert close(b.result_div.flatten(), [x / y for x, y in pairs])


def b001_30(b, text):
    assert close(b.output, 2 * b.y)
    assert text.endswith(f"{b.output}\n")


def b001_31(b, text):
    assert b.x.grad.tolist() == [[0.0] * 3] * 2
    assert b.y.grad.tolist() == [[2.0] * 3] * 2


def b001_32(b, text):
    assert stepped(b.before, b.model.parameters(), 0.01)


def b001_33(b, text):
    assert b.x.shape == b.y.shape == (100, 1)
    slope = ((b.x * b.y).sum() / (b.x * b.x).sum()).item()
    assert abs(slope - 2) < 0.4


def b001_34(b, text):
    assert text.splitlines()[1:3] == [
        "  (0): Linear(in_features=1, out_features=1, bias=True)",
        "  (1): ReLU()",
    ]
    assert sum(p.numel() for p in b.model.parameters()) == 4


def b001_35(b, text):
    assert len(losses(text)) == 10
    assert fell(losses(text))


def b001_36(b, text):
    w, c, v, d = (p.item() for p in b.model.parameters())
    assert abs(b.new_output.item() - (v * max(2 * w + c, 0) + d)) < 1e-5
    assert text.endswith(f"Predicted Output: {b.new_output.item()}\n")
