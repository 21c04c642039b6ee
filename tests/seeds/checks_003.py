"""What must be true after each program of the fourth document: derivatives, networks, traces."""

from __future__ import annotations

from seeing import close, differentiable, fell, losses, ops

import weft
from weft.nn import functional as F


def _trained(b, text, to):
    """All losses are printed, and fall."""
    assert len(losses(text)) == 100
    assert fell(losses(text), to=to)
    assert abs(losses(text)[-1] - b.loss.item()) < 1e-6


def b003_01(b, text):
    assert b.z.tolist() == [4, 10, 18]
    assert b.x.grad.equal(b.y)
    assert b.y.grad.equal(b.x)
    assert text.startswith("tensor([ 4., 10., 18.]")


def b003_02(b, text):
    assert (b.x.grad.tolist(), b.y.grad.tolist()) == ([4, 5, 6], [1, 2, 3])
    assert text == "tensor([4., 5., 6.])\ntensor([1., 2., 3.])\n"
    assert differentiable(b.MyFunction.apply, 3, count=2)


def b003_03(b, text):
    _trained(b, text, to=0.95)
    assert all(later < earlier for earlier, later in zip(losses(text), losses(text)[1:]))


def b003_04(b, text):
    assert text == "tensor([4., 5., 6.])\ntensor([1., 2., 3.])\n"
    assert b.x.grad.equal(b.y)


def _same_function(b):
    """The static graph has the values and gradients of the dynamic one."""
    again = b.optimized_graph(b.x, b.y)
    assert again.equal(b.w)
    start = weft.ones(3)
    wanted = weft.autograd.grad(b.w, [b.x, b.y], start)
    got = weft.autograd.grad(again, [b.x, b.y], start)
    assert all(close(p, q) for p, q in zip(got, wanted))


def b003_05(b, text):
    assert ops(b.optimized_graph.graph) == ["mul", "add"]
    assert "mul(%x0, %x1)" in text
    _same_function(b)


def b003_06(b, text):
    assert ops(b.static_graph.graph) == ["mul", "exp", "mul", "mul", "add"]
    assert ops(b.optimized_graph.graph) == ["mul", "mul", "add"]
    assert text.count("mul(%x0, %x1)") == 1
    _same_function(b)


def b003_07(b, text):
    _trained(b, text, to=0.9)
    slope = 2 / 3 * (b.w - 10)
    assert close(b.x.grad, slope * b.y, within=0.02)
    assert close(b.y.grad, slope * (b.x + 1), within=0.02)
    assert f"x.grad: {b.x.grad}\n" in text


def b003_08(b, text):
    _trained(b, text, to=0.1)
    assert close(b.model(b.x), b.y, within=0.6)
    assert text.endswith(f"{b.model.linear.weight}\n{b.model.linear.bias}\n")


def b003_09(b, text):
    _trained(b, text, to=0.1)
    assert b.z.shape == (1, 10)
    assert str(b.model.fc2.weight) in text


def b003_10(b, text):
    assert b.output.item() == 2
    assert text == "tensor([2.])\n"
    assert differentiable(b.MyCustomOp.apply, 3)


def b003_11(b, text):
    assert ops(b.static_graph.graph) == ["add", "mean"]
    assert b.static_graph(b.x, b.y).equal(b.z)
    assert text == f"{b.z!r}\n"
    other = weft.randn(10, 10)
    assert close(b.static_graph(b.x, other), (b.x + other).mean())


def b003_12(b, text):
    _trained(b, text, to=0.1)
    assert str(b.model.fc2.weight) in text


def b003_13(b, text):
    from PIL import Image

    assert b.z.shape == (1, 10)
    assert text == f"{b.z}\n"
    for grey, value in ((0, -1.0), (255, 1.0)):
        image = b.transform(Image.new("L", (28, 28), grey))
        assert image.shape == b.x.shape[1:]
        assert (image == value).all()


def b003_14(b, text):
    x = b.x.detach().requires_grad_()
    weft.sigmoid(x).backward(b.grad_output)
    assert close(b.sigmoid_output, weft.sigmoid(x))
    assert close(b.x.grad, x.grad)
    assert differentiable(b.SigmoidFunction.apply, 4)


def b003_15(b, text):
    q = weft.nn.Parameter(weft.tensor([1.0, -2.0]))
    sgd = weft.optim.SGD([q], lr=0.1)
    for loss in b.losses:
        sgd.zero_grad()
        wanted = (q * q).sum()
        wanted.backward()
        sgd.step()
        assert abs(loss - wanted.item()) < 1e-6
    assert close(b.p, q)


def b003_16(b, text):
    assert (b.grad_x.tolist(), b.grad_y.tolist()) == ([3, 4], [1, 2])
    (second,) = weft.autograd.grad(b.grad_x.sum(), b.y)
    assert second.tolist() == [1, 1]
    assert text.count("grad_fn=") == 2


def b003_17(b, text):
    _trained(b, text, to=0.1)
    shapes = [tuple(p.shape) for p in b.model.parameters()]
    assert shapes == [(50, 10), (50,), (100, 50), (100,), (2, 100), (2,)]
    assert b.model(b.x).argmax(1).equal(b.y)


def b003_18(b, text):
    _trained(b, text, to=0.1)
    assert b.model(b.x).argmax(1).equal(b.y)


def b003_19(b, text):
    x = b.x.detach().requires_grad_()
    F.softplus(x).backward(b.grad_output)
    assert close(b.softplus_output, F.softplus(x))
    assert close(b.x.grad, x.grad)
    assert differentiable(b.SoftplusFunction.apply, 4)


def b003_20(b, text):
    assert close(b.y, b.x.detach().square())
    assert close(b.x.grad, 2 * b.x * b.grad_output)
    assert differentiable(b.MyCustomOperation.apply, 4)


def b003_21(b, text):
    assert close(b.z, b.x + b.y)
    assert close(b.w, b.x * b.y)
    assert text == f"{b.z}\n{b.w}\n"


def b003_22(b, text):
    _trained(b, text, to=0.9)
    assert b.z.shape == b.y.shape


def b003_23(b, text):
    _trained(b, text, to=0.9)
    assert b.z.shape == b.target_seq.shape
    encoded, hidden = b.model.encoder(b.input_seq)
    weights = b.model.attn(hidden[0], encoded)
    assert weights.shape == (32, 5)
    assert close(weights.sum(1), weft.ones(32))
