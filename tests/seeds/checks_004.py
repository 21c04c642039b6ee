"""What must be true after each program of the fifth document: networks in use, tools, speed."""

from __future__ import annotations

import math
import re

import numpy as np
from seeing import (
    accuracy,
    close,
    fell,
    is_picture,
    losses,
    mean,
    ops,
    right,
    scalars,
    stepped,
    zero_share,
)

import weft
from weft import nn
from weft.nn import functional as F


def b004_01(b, text):
    assert len(losses(text)) == 10
    assert fell(losses(text), to=0.8)
    wanted = (b.model(b.x).argmax(1) == b.y).sum().item()
    assert b.correct == wanted > 16
    assert accuracy(text) == 100 * wanted / 32


def b004_02(b, text):
    assert len(losses(text)) == 20
    assert fell(losses(text), to=0.5)
    assert b.h.shape == (1, 32, 50)
    assert b.h.grad_fn is None
    assert accuracy(text) >= 90


def b004_03(b, text):
    assert len(losses(text)) == 40
    assert fell(losses(text), to=0.1)
    assert b.outputs.shape == (32, 12, 10)
    assert accuracy(text) >= 90


def b004_04(b, text):
    assert b.c.item() == 5
    assert b.c.dtype == weft.int64


def b004_05(b, text):
    first, second = b.model.fc1, b.model.fc2
    hidden = b.x @ first.weight.t() + first.bias
    assert close(b.y, hidden @ second.weight.t() + second.bias)
    modules = {node.module for node in weft.autograd.make_dot(b.y) if node.kind == "op"}
    assert modules == {"SimpleGraph.fc1", "SimpleGraph.fc2"}


def b004_06(b, text):
    slope = (b.y_hat.softmax(1) - F.one_hot(b.y, 10)) / 10
    assert close(b.model.fc2.bias.grad, slope.sum(0))
    assert close(b.model.fc2.weight.grad, slope.t() @ b.model.fc1(b.x))
    assert close(b.model.fc1.bias.grad, (slope @ b.model.fc2.weight).sum(0))


def b004_07(b, text):
    assert (len(b.train_data), len(b.test_data)) == (800, 200)
    assert len(losses(text)) == 16
    assert fell(losses(text), to=0.8, over=2)
    assert "Finished Training\nAccuracy of the network on the 200 test images" in text
    assert accuracy(text) == 100 * b.correct / b.total > 60


def b004_08(b, text):
    assert len(losses(text)) == 30
    assert fell(losses(text), to=0.3)
    assert accuracy(text) == 100 * b.correct / b.total >= 80
    assert b.total == 84
    assert b.RNN(13, 16, 28)(weft.randn(2, 9, 13)).shape == (2, 28)


def _relu_picture(b):
    assert is_picture("Digraph.gv.png")
    assert [node.kind for node in b.dot] == ["leaf", "op", "output"]
    assert b.dot.nodes[1].op == "ReluBackward0"


def b004_09(b, text):
    _relu_picture(b)
    assert b.dot.nodes[0].label == "x"


def _clamped(b, text):
    assert (b.y >= 0).all()
    assert b.y.equal(weft.where(b.x > 0, b.x, 0.0))
    assert text == f"{b.y}\n"


def b004_10(b, text):
    _clamped(b, text)
    numbers = [float(x) for x in re.findall(r"\d\.\d+", text)]
    assert close(b.y.flatten(), numbers, within=1e-4)


def b004_11(b, text):
    assert len(losses(text)) == 40
    assert text.splitlines()[5].startswith("Epoch [2/10], Step [2/4], Loss: ")
    assert fell(losses(text), to=0.3, over=4)


def b004_12(b, text):
    logged = scalars("log")
    assert set(logged) == {"Loss/train", "Accuracy/train"}
    assert [len(values) for values in logged.values()] == [40, 40]
    assert close(logged["Loss/train"][-1], b.loss.item())


def b004_13(b, text):
    _relu_picture(b)


def b004_14(b, text):
    lines = text.splitlines()
    assert len(lines) == len(b.dot.graph.nodes) == 3
    assert "leaf" in lines[0]
    assert "Relu" in lines[1]
    assert "output" in lines[2]


def b004_15(b, text):
    _clamped(b, text)


def b004_16(b, text):
    told = b.answers.getvalue()
    assert str(b.y.tolist()) in told
    assert "'ReluBackward0'" in told
    assert "b004_16.py(" in told
    assert b.x.grad.equal((b.x > 0).float())


def b004_17(b, text):
    assert len(losses(text)) == 80  # half of them are of the block that makes the model
    assert fell(losses(text), to=0.3, over=4)
    slope = (b.outputs.softmax(1) - F.one_hot(b.y, 3)) / len(b.y)
    assert close(b.model.weight.grad, slope.t() @ b.x)


def b004_18(b, text):
    logged = scalars("log")
    assert mean(logged["Accuracy/train"][-4:]) >= 0.9
    assert fell(logged["Loss/train"], over=4)


def _images_told_apart(b, text, count, at_least=90):
    assert fell(losses(text), to=0.3)
    assert b.total == count
    assert accuracy(text) == 100 * b.correct / b.total >= at_least


def b004_19(b, text):
    _images_told_apart(b, text, 40)


def b004_20(b, text):
    assert next(iter(b.test_loader))[0].shape == (8, 1, 54, 54)
    _images_told_apart(b, text, 30)


def b004_21(b, text):
    _images_told_apart(b, text, 40)


def _network(b):
    """Build the network of the document, and run it on images of its size."""
    model, x = b.CNN(), weft.randn(4, 3, 54, 54)
    return model, x, model(x)


def b004_22(b, text):
    model, _, scores = _network(b)
    assert scores.shape == (4, 10)
    assert sum(p.numel() for p in model.parameters()) == 2771210


def b004_23(b, text):
    assert len(losses(text)) == 20
    assert fell(losses(text), to=0.1)
    assert right(b.model, b.train_loader) >= 0.9


def b004_24(b, text):
    model = b.CNN()
    seen = []
    model.bn1.register_forward_hook(lambda module, inputs, output: seen.append(output))
    assert model(weft.randn(8, 3, 54, 54)).shape == (8, 10)
    flat = seen[0].transpose(0, 1).flatten(1)
    assert close(flat.mean(1), weft.zeros(32), within=1e-4)
    assert close(flat.var(1, correction=0), weft.ones(32), within=1e-2)


def b004_25(b, text):
    assert len(b.train_data) == 20
    versions = [b.train_data[0][0] for _ in range(20)]
    assert {tuple(v.shape) for v in versions} == {(3, 32, 32)}
    assert len({tuple(v.flatten().tolist()) for v in versions}) > 10
    whole = weft.tensor(b.train_data.data[0]).permute(2, 0, 1) / 255
    padded = F.pad(whole, (4, 4, 4, 4))
    for version in versions:
        sides = (version, version.flip(2))
        found = any(
            padded[:, i : i + 32, j : j + 32].equal(side)
            for side in sides
            for i in range(9)
            for j in range(9)
        )
        assert found


def _rates(b):
    """The learning rates of 100 epochs."""
    rates = []
    for _ in range(100):
        rates.append(b.scheduler.get_last_lr()[0])
        b.optimizer.step()
        b.scheduler.step()
    return rates


def b004_26(b, text):
    cosine = [(1 + math.cos(math.pi * t / 100)) / 2 for t in range(100)]
    assert np.allclose(_rates(b), [1e-6 + (1e-3 - 1e-6) * c for c in cosine], atol=1e-12)


def b004_27(b, text):
    assert b.model is not b.trained
    same = zip(b.model.state_dict().values(), b.trained.state_dict().values(), strict=True)
    assert all(p.equal(q) for p, q in same)
    assert accuracy(text) == 100 * b.correct / b.total >= 90


def b004_28(b, text):
    assert b.outputs.grad_fn is None
    found = weft.cat(b.predictions)
    assert len(found) == 20
    assert found.bincount(minlength=10).tolist() == [2] * 10


def _quantized(model, original, x):
    kinds = [type(layer) for layer in model.modules()]
    assert nn.Linear not in kinds and nn.Conv2d not in kinds
    assert not list(model.parameters())
    ints = [b for name, b in model.named_buffers() if name.endswith("weight_int8")]
    assert ints and all(b.dtype == weft.int8 for b in ints)
    scores = original(x)
    assert close(model(x), scores, within=0.05 * scores.abs().max().item())


def b004_29(b, text):
    _quantized(b.model, b.original, weft.randn(2, 3, 54, 54))


def _pruned(model):
    for layer in (model.conv1, model.fc1, model.fc2):
        weight, original = layer.weight.detach(), layer.weight_orig.detach()
        assert abs(zero_share(weight) - 0.2) < 1e-3
        kept = layer.weight_mask.bool()
        assert original[kept].abs().min() >= original[~kept].abs().max()
        assert weight[kept].equal(original[kept])


def b004_30(b, text):
    _pruned(b.model)


def b004_31(b, text):
    x = weft.randn(2, 3, 54, 54)
    assert b.model(x).equal(b.model.module(x))
    assert {p.device.type for p in b.model.parameters()} == {"cpu"}
    assert all(name.startswith("module.") for name in b.model.state_dict())


def b004_32(b, text):
    x = weft.randn(2, 3, 54, 54)
    assert close(weft.jit.load("model_scripted.pt")(x), b.model(x))


def b004_33(b, text):
    model, x, _ = _network(b)
    for layer in (model.conv1, model.fc1, model.fc2):
        nn.init.zeros_(layer.bias)
    assert close(model(2 * x), 2 * model(x), within=1e-4)


def b004_34(b, text):
    assert {p.dtype for p in b.model.parameters()} == {weft.float32}
    assert b.outputs.dtype in (weft.bfloat16, weft.float16, weft.float32)
    assert b.criterion(b.model(b.x).float(), b.y) < b.loss


def b004_35(b, text):
    assert np.allclose(_rates(b), [1e-3 * 0.1 ** (t // 30) for t in range(100)])


def b004_36(b, text):
    from PIL import Image

    noise = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    versions = []
    for seed in (0, 1, 0):
        weft.manual_seed(seed)
        versions.append(b.transform(Image.fromarray(noise)))
    assert versions[0].shape == (3, 32, 32)
    assert 0 <= versions[0].min() < versions[0].max() <= 1
    assert versions[0].equal(versions[2])
    assert not versions[0].equal(versions[1])


def b004_37(b, text):
    model, x, scores = _network(b)
    moved = model.bn1.running_mean.clone()
    assert moved.abs().max() > 0
    model.eval()
    assert not close(model(x), scores)
    assert model.bn1.running_mean.equal(moved)


def b004_38(b, text):
    _pruned(b.model)
    assert right(b.model, b.train_loader) >= 0.9


def b004_39(b, text):
    b.model(weft.randn(2, 3, 54, 54)).sum().backward()
    assert close(b.model.module.fc2.bias.grad, [2.0] * 10)
    assert all(p.grad is not None for p in b.model.parameters())


def b004_40(b, text):
    model, x, scores = _network(b)
    pooled = F.max_pool2d(F.conv2d(x, model.conv1.weight, model.conv1.bias), 2)
    hidden = pooled.reshape(4, -1) @ model.fc1.weight.t() + model.fc1.bias
    wanted = hidden @ model.fc2.weight.t() + model.fc2.bias
    assert close(scores, wanted, within=1e-4)


def b004_41(b, text):
    counts = [sum(isinstance(m, nn.Conv2d) for m in model.modules()) for model in b.models]
    assert counts == [1, 2, 3, 4, 5]
    assert min(b.accuracies) > 0.3


def b004_42(b, text):
    assert set(b.results) == {"SGD", "Adam"}
    for accuracies in b.results.values():
        assert len(accuracies) == 10
        assert accuracies[-1] >= max(0.9, accuracies[0])
    assert b.results["SGD"] is not b.results["Adam"]


def b004_43(b, text):
    assert not b.dist.is_initialized()
    assert all(p.grad is not None for p in b.model.parameters())


def b004_44(b, text):
    assert {p.device.type for p in b.model.parameters()} == {"cpu"}
    assert b.after < b.before


def b004_45(b, text):
    wanted = b.model(b.input_tensor)
    assert close(b.traced_model(b.input_tensor), wanted)
    assert close(b.scripted_model(b.input_tensor), wanted)
    assert "linear" in str(b.scripted_model.graph)


def b004_46(b, text):
    x = weft.randn(4, 10)
    for _ in range(2):
        assert b.fused_model(x).equal(b.module(x))
    assert ops(b.fused_model.graph) == ["linear", "linear"]
    assert b.fused_model.fc1.weight is b.module.fc1.weight
    b.fused_model(x).sum().backward()
    assert all(p.grad is not None for p in b.module.parameters())


def b004_47(b, text):
    _quantized(b.quantized_model, b.original, weft.randn(4, 10))


def b004_48(b, text):
    x = weft.randn(4, 10)
    for _ in range(2):
        assert close(b.optimized_model(x), b.model(x))
    assert len(b.optimized_model.graphs) == 1 and b.optimized_model.reasons == []
    assert list(b.optimized_model.parameters()) == []


def b004_49(b, text):
    assert b.after == b.before
    assert weft.ones(1000, 1000).sum() == 1e6


def b004_50(b, text):
    assert 4_000_000 <= b.allocated - b.before < 4_500_000
    assert b.peak >= b.allocated


def b004_51(b, text):
    assert b.total == 2e6
    assert b.allocated == b.before
    assert b.peak - b.before >= 8_000_000


def b004_52(b, text):
    assert b.output.dtype == weft.float16
    assert close(b.output.float(), b.expected, within=1e-2)


def b004_53(b, text):
    assert close(b.fused_model(b.input_tensor), b.model(b.input_tensor))
    assert len(ops(b.fused_model.graph)) < 3


def b004_54(b, text):
    assert sorted(weft.cat([y for _, y, _ in b.batches]).tolist()) == list(range(10))
    assert [len(x) for x, _, _ in b.batches] == [4, 4, 2]
    assert all(scores.equal(b.model(x)) for x, _, scores in b.batches)


def b004_55(b, text):
    assert all(close(g, p.grad) for g, p in zip(b.before, b.model.parameters(), strict=True))


def b004_56(b, text):
    x = weft.randn(3, 4)
    assert b.model(x).equal(b.model.module(x))
    assert list(b.model.state_dict()) == ["module.fc.weight", "module.fc.bias"]


def b004_57(b, text):
    assert stepped(b.before, b.model.parameters(), 0.1)
