"""What must be true after each program of the third document: tensors, training, data sets."""

from __future__ import annotations

from seeing import close, fell, losses, mean, mse_gradients, scalars, stepped

import weft


def b002_02(b, text):
    assert b.x.shape == (2, 3)
    assert b.x.dtype == weft.float32
    assert b.x.tolist() == [[1, 2, 3], [4, 5, 6]]


def b002_03(b, text):
    assert isinstance(b.v_x, weft.Tensor)
    assert b.v_x.equal(b.x)
    b.x[0, 0] = 7
    assert b.v_x[0, 0] == 7


def b002_04(b, text):
    assert close(b.y_pred, [[1.7], [3.5]])
    assert close(b.y_pred, b.x @ b.w + b.b)


def b002_05(b, text):
    weight, bias = mse_gradients(b.x, b.y_pred, b.y_true)
    assert close(b.model.weight.grad, weight)
    assert close(b.model.bias.grad, bias)


def b002_06(b, text):
    assert stepped(b.before, b.model.parameters(), 0.01)


def b002_07(b, text):
    assert b.loss < 0.1 * b.first_loss
    assert close(b.y_pred, b.y_true, within=0.5)


def b002_08(b, text):
    assert close(b.y_pred, b.x @ b.w.t() + b.b)


def b002_09(b, text):
    graph = weft.autograd.make_dot(b.y_pred, params=b.model)
    labels = {node.label for node in graph if node.kind == "parameter"}
    assert labels == {"weight", "bias"}
    assert [node.op for node in graph if node.kind == "op"] == ["LinearBackward0"]


def b002_11(b, text):
    assert len(b.losses) == 100
    assert fell(b.losses, to=0.95)
    y_pred, hidden = b.model(b.x, b.hidden)
    assert (y_pred.shape, hidden.shape) == ((10, 2), (1, 2))


def b002_16(b, text):
    assert sum(p.numel() for p in b.model.parameters()) == 62006
    assert b.model(weft.randn(2, 3, 32, 32)).shape == (2, 10)


def b002_17(b, text):
    assert text.splitlines()[-1] == f"Epoch 10, loss: {b.loss.item()}"
    assert len(losses(text)) == 10
    assert fell(losses(text))


def b002_18(b, text):
    assert close(scalars("log")["train_loss"], losses(text)[-10:])
    assert fell(losses(text))


def b002_20(b, text):
    printed = losses(text)[10:]  # ten are of the block that makes the loss
    assert len(b.train_dataset) == 100
    assert len(printed) == 20
    assert mean(printed[-5:]) < mean(printed[:5])


def b002_21(b, text):
    assert len(losses(text)) == 10
    assert fell(losses(text), to=0.5)
    batch = next(iter(weft.text.data.BucketIterator(b.test_data, batch_size=50, train=False)))
    assert (b.model(batch.text)[0].argmax(1) == batch.label).float().mean() > 0.9
