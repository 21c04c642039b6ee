"""What must be true after each program of the first document: an overview of dynamic graphs."""

from __future__ import annotations

from seeing import close, fell, mean, right

import weft


def b000_01(b, text):
    assert b.outputs.shape == (1, 2)
    assert b.criterion(b.model(b.x), b.y) < b.loss


def b000_02(b, text):
    assert close(b.outputs, b.model(b.x))
    assert "linear" in str(b.scripted_model.graph)


def b000_03(b, text):
    assert (len(b.train_data), len(b.valid_data), len(b.test_data)) == (48, 8, 8)
    assert fell(b.losses, to=0.1)
    b.model.eval()
    ((src, trg),) = b.batchify(b.test_data, 8)
    said = b.model(src, trg, teacher_forcing_ratio=0).argmax(2)
    assert (said == trg[:, 1:]).float().mean() > 0.8


def b000_04(b, text):
    assert b.train_data.classes == list("0123456789")
    assert next(iter(b.train_loader))[0].shape == (16, 1, 28, 28)
    assert fell(b.losses, to=0.5, over=3)
    assert right(b.model, b.test_loader) > 0.6


def b000_05(b, text):
    assert len(b.lengths) == b.num_episodes
    assert mean(b.lengths[-20:]) > 1.5 * mean(b.lengths[:20])
    assert b.model(weft.zeros(4)).shape == (2,)
