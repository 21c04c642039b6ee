"""Metrics over batches are those of scikit-learn over all samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import weft
from weft.train import metrics as M

sk = pytest.importorskip("sklearn.metrics")


def scores(n: int = 83, classes: int = 5, seed: int = 0) -> tuple[Any, Any]:
    """Scores with many ties, and labels; the last class never occurs."""
    rng = np.random.default_rng(seed)
    table = np.round(rng.normal(size=(n, classes)), 1).astype(np.float32)
    return table, rng.integers(0, classes - 1, n)


def stream(metric: M.Metric, output: Any, target: Any, batch: int = 10) -> Any:
    """Result of a metric that was given batches, saved and restored in between."""
    metric.update(weft.tensor(output[:1]), weft.tensor(target[:1]))
    metric.reset()
    for i in range(0, len(target), batch):
        metric.update(weft.tensor(output[i : i + batch]), weft.tensor(target[i : i + batch]))
        state = metric.state_dict()
        metric.reset()
        metric.load_state_dict(state)
    return metric.compute()


def softmax(x: Any) -> Any:
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_accuracy_and_top_k() -> None:
    table, true = scores()
    assert stream(M.Accuracy(), table, true) == sk.accuracy_score(true, table.argmax(1))
    distinct = table + np.linspace(0, 0.01, 5, dtype=np.float32)  # the order of ties is free
    for k in (2, 3):
        expected = sk.top_k_accuracy_score(true, distinct, k=k, labels=range(5))
        assert stream(M.Accuracy(top_k=k), distinct, true) == pytest.approx(expected)


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
def test_counts(name: str, average: str) -> None:
    table, true = scores()
    function = getattr(sk, f"{name}_score")
    expected = function(true, table.argmax(1), average=average, zero_division=0)
    assert stream(M.by_name(f"{name}_{average}"), table, true) == pytest.approx(expected)
    each = stream(M.by_name(f"{name}_per_class"), table, true)
    expected = function(true, table.argmax(1), average=None, labels=range(5), zero_division=0)
    np.testing.assert_allclose(each.numpy(), expected)


def test_macro_leaves_out_classes_that_do_not_occur() -> None:
    found, true = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])
    table = np.eye(7, dtype=np.float32)[found]
    expected = sk.f1_score(true, found, average="macro")
    assert stream(M.F1("macro"), table, true, 3) == pytest.approx(expected)


def test_binary_scores() -> None:
    rng = np.random.default_rng(1)
    probability = rng.random(60).astype(np.float32)
    true = (rng.random(60) < probability).astype(np.float32)
    found = probability > 0.5
    assert stream(M.F1(), probability, true) == pytest.approx(sk.f1_score(true, found))
    assert stream(M.Precision(), probability[:, None], true) == pytest.approx(
        sk.precision_score(true, found)
    )
    logits = np.log(probability / (1 - probability))
    assert stream(M.Accuracy(threshold=0.0), logits, true) == sk.accuracy_score(true, found)
    assert stream(M.AUC(), probability, true) == pytest.approx(sk.roc_auc_score(true, probability))
    assert stream(M.AveragePrecision(), probability[:, None], true[:, None]) == pytest.approx(
        sk.average_precision_score(true, probability)
    )


def test_confusion_matrix_grows() -> None:
    found, true = np.array([0, 2, 1, 4, 4, 0]), np.array([0, 1, 1, 4, 3, 2])
    matrix = stream(M.ConfusionMatrix(), found, true, 2)
    np.testing.assert_array_equal(matrix.numpy(), sk.confusion_matrix(true, found))
    table, true = scores()
    matrix = stream(M.ConfusionMatrix(), table, true)
    expected = sk.confusion_matrix(true, table.argmax(1), labels=range(5))
    np.testing.assert_array_equal(matrix.numpy(), expected)


def test_confusion_matrix_refuses_labels_out_of_range() -> None:
    with pytest.raises(ValueError, match="labels must be from 0 to 2, got 0 to 3"):
        M.ConfusionMatrix(num_classes=3)(weft.tensor([0, 1]), weft.tensor([3, 1]))
    with pytest.raises(ValueError, match="got -1 to 1"):
        M.ConfusionMatrix()(weft.tensor([0, 1]), weft.tensor([-1, 1]))


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_ranking_of_several_classes(average: str) -> None:
    table, _ = scores()
    true = np.arange(len(table)) % 5
    p = softmax(table)
    expected = sk.roc_auc_score(true, p, multi_class="ovr", average=average)
    assert stream(M.AUC(average), table, true) == pytest.approx(expected, abs=1e-12)
    assert stream(M.AUC(average), p, true) == pytest.approx(expected, abs=1e-12)
    expected = sk.average_precision_score(np.eye(5)[true], p, average=average)
    assert stream(M.AveragePrecision(average), table, true) == pytest.approx(expected, abs=1e-12)


def test_ranking_with_ties_and_without_a_class() -> None:
    rng = np.random.default_rng(2)
    coarse, true = np.round(rng.random(200), 1), rng.integers(0, 2, 200)
    assert stream(M.AUC(), coarse, true) == pytest.approx(sk.roc_auc_score(true, coarse))
    expected = sk.average_precision_score(true, coarse)
    assert stream(M.AveragePrecision(), coarse, true) == pytest.approx(expected)
    assert math.isnan(stream(M.AUC(), coarse, np.zeros(200, int)))
    table, true = scores()
    each = stream(M.AUC(None), table, true)
    assert each.isnan().tolist() == [False] * 4 + [True]


def test_regression() -> None:
    rng = np.random.default_rng(3)
    true = rng.normal(1e4, 1.0, size=(50, 3))  # far from zero: sums of squares would lose digits
    y = true + rng.normal(0, 0.3, size=(50, 3))
    for metric, function in (
        (M.MSE(), sk.mean_squared_error),
        (M.MAE(), sk.mean_absolute_error),
        (M.RMSE(), sk.root_mean_squared_error),
        (M.R2(), sk.r2_score),
    ):
        expected = function(true[:, 0], y[:, 0])
        assert stream(metric, y[:, 0], true[:, 0]) == pytest.approx(expected, rel=1e-10)
    assert stream(M.R2(), y, true) == pytest.approx(sk.r2_score(true, y), rel=1e-10)
    flat = np.ones(5)
    assert stream(M.R2(), flat, flat) == sk.r2_score(flat, flat) == 1.0
    assert stream(M.R2(), flat + 1, flat) == sk.r2_score(flat, flat + 1) == 0.0


def test_perplexity() -> None:
    table, true = scores()
    expected = math.exp(sk.log_loss(true, softmax(table), labels=range(5)))
    assert stream(M.Perplexity(), table, true) == pytest.approx(expected)
    padded = np.where(np.arange(len(true)) % 3 == 0, -100, true)
    kept = padded != -100
    expected = math.exp(sk.log_loss(true[kept], softmax(table[kept]), labels=range(5)))
    assert stream(M.Perplexity(), table, padded) == pytest.approx(expected)


def test_ignored_targets() -> None:
    table, true = scores()
    padded = np.where(np.arange(len(true)) % 4 == 0, -1, true)
    kept = padded != -1
    expected = sk.accuracy_score(true[kept], table[kept].argmax(1))
    assert stream(M.Accuracy(ignore_index=-1), table, padded) == expected
    assert stream(M.Recall("micro", ignore_index=-1), table, padded) == pytest.approx(expected)


def test_segments() -> None:
    """Scores ``[N, C, T]`` and labels ``[N, T]``."""
    rng = np.random.default_rng(4)
    table, true = rng.normal(size=(12, 3, 7)), rng.integers(0, 3, (12, 7))
    found = table.argmax(1).ravel()
    assert stream(M.Accuracy(), table, true) == sk.accuracy_score(true.ravel(), found)
    expected = sk.f1_score(true.ravel(), found, average="macro")
    assert stream(M.F1(), table, true) == pytest.approx(expected)


def test_without_batches() -> None:
    for name in ("accuracy", "f1", "auc", "average_precision", "mse", "rmse", "r2", "perplexity"):
        assert math.isnan(M.by_name(name).compute()), name


def test_wrong_shapes_name_both() -> None:
    for metric in (M.Accuracy(), M.F1(), M.AUC(), M.MSE(), M.R2(), M.Perplexity()):
        with pytest.raises(ValueError, match=r"\[4, 3, 2\].*\[4, 5\]"):
            metric.update(weft.ones(4, 3, 2), weft.ones(4, 5))


def test_names() -> None:
    assert list(M.named(["accuracy", "top3", M.F1()])) == ["accuracy", "top3", "f1"]
    assert (
        M.named({"mine": lambda y, t: (y - t).abs().max()})["mine"](
            weft.tensor([1.0, 3.0]), weft.zeros(2)
        )
        == 3.0
    )
    with pytest.raises(ValueError, match="unknown name 'acuracy': did you mean 'accuracy'"):
        M.named("acuracy")
    with pytest.raises(ValueError, match="twice"):
        M.named(["accuracy", "accuracy"])
    with pytest.raises(TypeError, match="a function needs a name"):
        M.named([lambda y, t: 0.0])
    with pytest.raises(ValueError, match="average must be one of"):
        M.F1("mean")
