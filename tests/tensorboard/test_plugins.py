"""What TensorBoard's plugins read: curves, meshes, layouts, hyperparameters, points; the server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.pr_curve import metadata as curve_metadata
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.util.tensor_util import make_ndarray

import weft
from weft import nn
from weft.utils.tensorboard import SummaryWriter


def loaded(folder: Path | str) -> EventAccumulator:
    """What TensorBoard makes of a folder."""
    return EventAccumulator(str(folder)).Reload()


def tensor_of(found: EventAccumulator, tag: str) -> Any:
    """The array of the only event of a tag."""
    (event,) = found.Tensors(tag)
    return make_ndarray(event.tensor_proto)


def test_pr_curve(tmp_path: Path) -> None:
    """Counts at each threshold are those of a direct count."""
    labels = weft.tensor([1, 0, 1, 1, 0])
    p = weft.tensor([0.9, 0.8, 0.6, 0.1, 0.2])
    with SummaryWriter(tmp_path) as w:
        w.add_pr_curve("pr", labels, p, 1, num_thresholds=201)
        w.add_pr_curve("weighted", labels, p, 1, num_thresholds=3, weights=weft.full((5,), 2.0))
        w.add_pr_curve_raw("raw", [1, 0], [1, 0], [0, 1], [0, 1], [0.5, 0], [1, 0], 0, 2)
        with pytest.raises(ValueError, match="5 labels and 4 predictions"):
            w.add_pr_curve("bad", labels, p[:4])
        with pytest.raises(ValueError, match=r"must be in \[0, 1\]"):
            w.add_pr_curve("bad", labels, p * 2)
    found = loaded(tmp_path)
    rows = tensor_of(found, "pr")
    assert rows.shape == (6, 201)
    for i in range(0, 201, 7):
        above = np.floor(p.numpy().astype(np.float64) * 200) >= i
        truth = labels.numpy() == 1
        assert rows[:4, i].tolist() == [
            (above & truth).sum(), (above & ~truth).sum(),
            (~above & ~truth).sum(), (~above & truth).sum(),
        ]  # fmt: skip
    assert tensor_of(found, "weighted")[:, 0].tolist()[:2] == [6, 4]
    assert tensor_of(found, "raw")[4].tolist() == [0.5, 0]
    content = found.SummaryMetadata("pr").plugin_data.content
    assert curve_metadata.parse_plugin_metadata(content).num_thresholds == 201


def test_mesh(tmp_path: Path) -> None:
    """Vertices, colours and faces, each under its own tag."""
    points, faces = weft.rand(1, 4, 3), weft.tensor([[[0, 1, 2], [1, 2, 3]]])
    colors = weft.randint(0, 256, (1, 4, 3))
    with SummaryWriter(tmp_path) as w:
        w.add_mesh("m", points, colors, faces, {"camera": {"fov": 75}}, 1)
        with pytest.raises(ValueError, match=r"\[4, 3\]"):
            w.add_mesh("m", points[0])
    found = loaded(tmp_path)
    tags = sorted(found.PluginTagToContent("mesh"))
    assert tags == ["m_COLOR", "m_FACE", "m_VERTEX"]
    assert np.array_equal(tensor_of(found, "m_VERTEX"), points.numpy())
    assert tensor_of(found, "m_FACE").tolist() == faces.tolist()
    about = found.SummaryMetadata("m_VERTEX").plugin_data.content
    assert json.loads(mesh_metadata.parse_plugin_metadata(about).json_config)["camera"]


def test_custom_scalars(tmp_path: Path) -> None:
    """The layout comes back as the plugin's own message."""
    layout = {
        "losses": {"both": ["Multiline", ["train", "test"]]},
        "bounds": {"band": ["Margin", ["mean", "low", "high"]]},
    }
    with SummaryWriter(tmp_path) as w:
        w.add_custom_scalars(layout)
        with pytest.raises(ValueError, match="'Pie'"):
            w.add_custom_scalars({"a": {"b": ["Pie", []]}})
        with pytest.raises(ValueError, match="3 tags"):
            w.add_custom_scalars_marginchart(["a", "b"])
    data = tensor_of(loaded(tmp_path), "custom_scalars__config__").item()
    read = layout_pb2.Layout.FromString(data)
    assert [c.title for c in read.category] == ["losses", "bounds"]
    assert list(read.category[0].chart[0].multiline.tag) == ["train", "test"]
    assert read.category[1].chart[0].margin.series[0].upper == "high"


def test_hparams(tmp_path: Path) -> None:
    """Experiment, session and results, in a run of their own."""
    values = {"lr": 0.1, "layers": 3, "act": "relu", "bias": True, "none": None}
    with SummaryWriter(tmp_path) as w:
        w.add_hparams(values, {"acc": 0.9}, {"act": ["relu", "tanh"]}, run_name="r1", global_step=5)
        with pytest.raises(TypeError, match="dictionary"):
            w.add_hparams([1], {})  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'other'"):
            w.add_hparams({}, {}, {"other": [1]})
    found = loaded(tmp_path / "r1")
    content = found.PluginTagToContent("hparams")
    start = hparams_metadata.parse_session_start_info_plugin_data(
        content["_hparams_/session_start_info"]
    )
    assert start.hparams["lr"].number_value == 0.1 and start.hparams["bias"].bool_value is True
    assert start.hparams["act"].string_value == "relu" and "none" not in start.hparams
    about = hparams_metadata.parse_experiment_plugin_data(content["_hparams_/experiment"])
    assert [m.name.tag for m in about.metric_infos] == ["acc"]
    domains = {h.name: list(h.domain_discrete) for h in about.hparam_infos}
    assert domains["act"] == ["relu", "tanh"]
    (event,) = found.Scalars("acc")
    assert event.step == 5 and event.value == np.float32(0.9)


def test_embedding(tmp_path: Path) -> None:
    """Tables, sprite and config are files that the projector reads."""
    mat = weft.arange(15.0).reshape(5, 3) / 4
    pictures = weft.arange(5).reshape(5, 1, 1, 1).expand(5, 3, 2, 2).to(weft.uint8) * 50
    with SummaryWriter(tmp_path) as w:
        w.add_embedding(mat, ["a", "b\tc", "d", "e", "f"], pictures, 2, "my/points")
        rows = [[i, i * i] for i in range(5)]
        w.add_embedding(mat, rows, tag="two", metadata_header=["n", "square"])
        with pytest.raises(ValueError, match="1 and 5"):
            w.add_embedding(mat, ["only one"])
        with pytest.raises(ValueError, match="should be 2D"):
            w.add_embedding(mat[0])
    config = text_format.Parse((tmp_path / "projector_config.pbtxt").read_text(), ProjectorConfig())
    first, second = config.embeddings
    assert (first.tensor_name, first.tensor_path) == (
        "my/points:00002",
        "00002/my%2Fpoints/tensors.tsv",
    )
    assert np.array_equal(np.loadtxt(tmp_path / first.tensor_path), mat.numpy())
    labels = (tmp_path / first.metadata_path).read_text().splitlines()
    assert labels == ["a", "b c", "d", "e", "f"]
    assert (tmp_path / second.metadata_path).read_text().splitlines()[:3] == [
        "n\tsquare", "0\t0", "1\t1",
    ]  # fmt: skip
    sprite = np.asarray(Image.open(tmp_path / first.sprite.image_path))
    assert list(first.sprite.single_image_dim) == [2, 2] and sprite.shape == (6, 6, 3)
    assert sprite[::2, ::2, 0].reshape(-1)[:5].tolist() == [0, 50, 100, 150, 200]


def fetched(url: str, patience: float = 300.0) -> bytes:
    """What a server answers, once it does."""
    end = time.monotonic() + patience
    while True:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return bytes(answer.read())
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def test_real_server(tmp_path: Path) -> None:
    """The real TensorBoard, on a free port of this machine alone, serves scalars and the graph."""
    net = nn.Sequential(nn.Linear(3, 2), nn.Softmax(-1))
    with SummaryWriter(tmp_path / "run") as w:
        for step in range(3):
            w.add_scalar("loss", 1.0 / (step + 1), step)
        w.add_graph(net, weft.ones(1, 3))
    command = [
        sys.executable, "-m", "tensorboard.main", "--logdir", str(tmp_path), "--port", "0",
        "--host", "127.0.0.1", "--load_fast", "false", "--reload_interval", "1",
    ]  # fmt: skip
    log = tmp_path / "server.log"
    with open(log, "wb") as out:
        server = subprocess.Popen(
            command, stdout=out, stderr=out, env={**os.environ, "PYTHONWARNINGS": "ignore"}
        )
    try:
        base = address_of(server, log)
        end = time.monotonic() + 300
        while "run" not in json.loads(fetched(f"{base}data/plugin/scalars/tags")):
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.2)
        rows = json.loads(fetched(f"{base}data/plugin/scalars/scalars?tag=loss&run=run"))
        assert [(step, value) for _, step, value in rows] == [
            (0, 1.0), (1, 0.5), (2, float(np.float32(1 / 3))),
        ]  # fmt: skip
        graph = fetched(f"{base}data/plugin/graphs/graph?run=run&conceptual=false").decode()
        assert '"Sequential/0/linear"' in graph and '"Sequential/1/softmax"' in graph
    finally:
        server.kill()
        server.wait()


def address_of(server: Any, log: Path) -> str:
    """The address that the server prints when it is ready."""
    import re

    end = time.monotonic() + 300
    while time.monotonic() < end and server.poll() is None:
        found = re.search(r"http://[\w.]+:\d+/", log.read_text())
        if found:
            return found.group(0)
        time.sleep(0.1)
    raise AssertionError(f"TensorBoard did not start:\n{log.read_text()}")
