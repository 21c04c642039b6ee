"""``SummaryWriter``: what is written is what TensorBoard's own loader reads."""

from __future__ import annotations

import io
import math
import os
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.util.tensor_util import make_ndarray

import weft
from weft import nn
from weft.utils.tensorboard import SummaryWriter


@pytest.fixture
def writer(tmp_path: Path) -> Any:
    """A writer whose file is closed in the end."""
    w = SummaryWriter(tmp_path)
    yield w
    w.close()


def events(folder: Path | str) -> list[Any]:
    """All events of the files in a folder, in order."""
    files = sorted(p for p in os.listdir(folder) if "tfevents" in p)
    return [e for f in files for e in EventFileLoader(os.path.join(folder, f)).Load()]


def accumulated(w: SummaryWriter) -> EventAccumulator:
    """What TensorBoard makes of a folder."""
    w.flush()
    found = EventAccumulator(w.log_dir, size_guidance={"tensors": 0, "images": 0})
    return found.Reload()


def value_of(w: SummaryWriter, tag: str) -> Any:
    """The one value of a tag, as it is in the file."""
    w.flush()
    all_values = [v for e in events(w.log_dir) for v in e.summary.value if v.tag == tag]
    assert len(all_values) == 1
    return all_values[0]


def tensor_of(w: SummaryWriter, tag: str) -> np.ndarray:
    """The array of the one value of a tag."""
    return np.asarray(make_ndarray(value_of(w, tag).tensor))


def image_of(w: SummaryWriter, tag: str) -> np.ndarray:
    """The pixels of an image: the loader gives width, height and bytes."""
    width, height, data = tensor_of(w, tag)[:3]
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    assert pixels.shape[:2] == (int(height), int(width))
    return pixels


def test_scalars(writer: SummaryWriter) -> None:
    """Steps, times and values come back, from numbers, tensors and arrays."""
    given = [1, 2.5, weft.tensor(3.0), weft.tensor([4], dtype=weft.int64), np.float32(5)]
    for step, value in enumerate(given):
        writer.add_scalar("loss", value, step, walltime=100.0 + step)
    writer.add_scalar("half", weft.tensor(0.5, dtype=weft.bfloat16, requires_grad=True))
    found = [(e.step, e.wall_time, e.value) for e in accumulated(writer).Scalars("loss")]
    assert found == [(i, 100.0 + i, float(v)) for i, v in enumerate([1, 2.5, 3, 4, 5])]
    assert tensor_of(writer, "half") == 0.5


def test_scalar_styles(writer: SummaryWriter) -> None:
    """Plain, new style and 64 bits."""
    third = 1 / 3
    writer.add_scalar("old", third, 1)
    writer.add_scalar("new", third, 1, new_style=True)
    writer.add_scalar("double", third, 1, double_precision=True)
    assert tensor_of(writer, "old") == tensor_of(writer, "new") == np.float32(third)
    assert tensor_of(writer, "double").dtype == np.float64
    assert tensor_of(writer, "double") == third


def test_scalars_that_are_not_finite(writer: SummaryWriter) -> None:
    """NaN and infinity are written as they are."""
    for name, value in (("nan", math.nan), ("inf", math.inf), ("minus", -math.inf)):
        writer.add_scalar(name, weft.tensor(value), 0)
    assert math.isnan(tensor_of(writer, "nan"))
    assert tensor_of(writer, "inf") == math.inf and tensor_of(writer, "minus") == -math.inf


def test_scalar_errors(writer: SummaryWriter) -> None:
    """What is not one number is refused by name."""
    with pytest.raises(ValueError, match=r"add_scalar: 'a': takes one number.*\[2\]"):
        writer.add_scalar("a", weft.ones(2))
    with pytest.raises(TypeError, match=r"add_scalar: 'a'.*str"):
        writer.add_scalar("a", "1")
    with pytest.raises(TypeError, match="complex64"):
        writer.add_scalar("a", weft.tensor(1j))


def test_add_scalars(writer: SummaryWriter) -> None:
    """Each line of a chart has a folder."""
    writer.add_scalars("run/loss", {"train": 1.0, "test": 2.0}, 7)
    writer.add_scalars("run/loss", {"train": 0.5}, 8)
    writer.flush()
    for name, wanted in (("train", [(7, 1.0), (8, 0.5)]), ("test", [(7, 2.0)])):
        found = EventAccumulator(f"{writer.log_dir}/run_loss_{name}").Reload()
        assert [(e.step, e.value) for e in found.Scalars("run/loss")] == wanted


def test_histogram(writer: SummaryWriter) -> None:
    """Counts of all bins add up to the values between them."""
    x = weft.tensor([-3.0, -3.0, 0.0, 1e-3, 2.0, 50.0])
    writer.add_histogram("w", x, 3)
    writer.add_histogram("few", weft.arange(100.0), bins="auto", max_bins=4)
    buckets = tensor_of(writer, "w")  # left, right, count
    assert buckets[:, 2].sum() == 6
    for value, count in ((-3.0, 2), (1e-3, 1), (2.0, 1), (50.0, 1)):
        inside = [c for a, b, c in buckets if a <= value <= b and c > 0]
        assert inside == [count]
    few = tensor_of(writer, "few")
    assert few[:, 2].sum() == 100 and (few[:, 2] > 0).sum() <= 4


def test_histogram_of_odd_values(writer: SummaryWriter) -> None:
    """Empty ones raise; NaN and infinity are left out and named."""
    with pytest.raises(ValueError, match=r"add_histogram: 'w'.*empty"):
        writer.add_histogram("w", weft.ones(0))
    with pytest.raises(ValueError, match="all 2 values are NaN or infinite"):
        writer.add_histogram("w", weft.tensor([math.nan, math.inf]))
    with pytest.warns(UserWarning, match="left out 1 of 3"):
        writer.add_histogram("w", weft.tensor([1.0, math.nan, 2.0]))
    assert tensor_of(writer, "w")[:, 2].sum() == 2


def test_histogram_raw(writer: SummaryWriter) -> None:
    """Buckets as they are given."""
    writer.add_histogram_raw("r", 0.0, 2.0, 5, 6.0, 8.0, [0.0, 1.0, 2.0], [0, 2, 3], 1)
    assert tensor_of(writer, "r").tolist() == [[0, 1, 2], [1, 2, 3]]
    with pytest.raises(ValueError, match="1 and 2"):
        writer.add_histogram_raw("r", 0.0, 1.0, 1, 1.0, 1.0, [1.0], [1, 2])


def test_images(writer: SummaryWriter) -> None:
    """Floats in [0, 1] and bytes, in every order of dimensions."""
    x = weft.zeros(3, 2, 4)
    x[0], x[1, 0, 3] = 1.0, 0.5
    writer.add_image("chw", x)
    writer.add_image("hwc", x.permute(1, 2, 0), dataformats="HWC")
    writer.add_image("bytes", (x * 255).to(weft.uint8))
    writer.add_image("hw", weft.tensor([[0.0, 2.0, math.nan]]), dataformats="HW")
    wanted = np.zeros((2, 4, 3), np.uint8)
    wanted[..., 0], wanted[0, 3, 1] = 255, 127
    for tag in ("chw", "hwc", "bytes"):
        assert np.array_equal(image_of(writer, tag), wanted)
    assert image_of(writer, "hw")[0, :, 0].tolist() == [0, 255, 0]


def test_image_grid(writer: SummaryWriter) -> None:
    """A batch becomes rows of eight."""
    x = weft.arange(10).reshape(10, 1, 1, 1).expand(10, 1, 2, 3).to(weft.uint8)
    writer.add_images("grid", x)
    pixels = image_of(writer, "grid")
    assert pixels.shape == (4, 24, 3)
    assert pixels[0, ::3, 0].tolist() == list(range(8))
    assert pixels[2, ::3, 0].tolist() == [8, 9, 0, 0, 0, 0, 0, 0]


def test_image_errors(writer: SummaryWriter) -> None:
    """Wrong shapes are told with the rule and the shape."""
    with pytest.raises(ValueError, match=r"'CHW' is for 3 dimensions.*\[4, 4\]"):
        writer.add_image("x", weft.ones(4, 4))
    with pytest.raises(ValueError, match=r"1, 3 or 4 channels.*\[5, 4, 4\]"):
        writer.add_image("x", weft.ones(5, 4, 4))
    with pytest.raises(ValueError, match="dataformats must name"):
        writer.add_image("x", weft.ones(3, 4, 4), dataformats="CHX")


def test_image_with_boxes(writer: SummaryWriter) -> None:
    """Frames are drawn where they are."""
    writer.add_image_with_boxes(
        "b",
        weft.zeros(3, 40, 60),
        weft.tensor([[10.0, 5.0, 30.0, 35.0]]),
        labels=["cat"],
        rescale=2,
    )
    pixels = image_of(writer, "b")
    assert pixels.shape == (80, 120, 3)
    assert pixels[10, 40].tolist() == [255, 0, 0] and pixels[75, 10].tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="2 labels for 1 boxes"):
        writer.add_image_with_boxes("b", weft.zeros(3, 4, 4), weft.ones(1, 4), labels=["a", "b"])


def test_figure(writer: SummaryWriter) -> None:
    """A figure of matplotlib is drawn and closed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(2, 1), dpi=50)
    axes.plot([0, 1], [0, 1])
    writer.add_figure("f", figure)
    pixels = image_of(writer, "f")
    assert pixels.shape == (50, 100, 3) and pixels.min() < 255 and not plt.get_fignums()


def test_video(writer: SummaryWriter) -> None:
    """A GIF with a frame for each moment."""
    x = weft.zeros(2, 3, 3, 4, 5)
    x[:, 1] = 1.0
    x[:, 2] = 0.5
    writer.add_video("v", x, fps=2)
    data = tensor_of(writer, "v")[2]
    gif = Image.open(io.BytesIO(data))
    assert (gif.format, gif.n_frames, gif.size) == ("GIF", 3, (10, 4))
    assert gif.info["duration"] == 500
    with pytest.raises(ValueError, match=r"\[3, 3, 4, 5\]"):
        writer.add_video("v", x[0])


def test_audio(writer: SummaryWriter) -> None:
    """A wav file with the samples."""
    x = weft.linspace(-1, 1, 100)
    writer.add_audio("a", x[None], sample_rate=8000)
    data = tensor_of(writer, "a").reshape(-1)[0]
    with wave.open(io.BytesIO(data)) as f:
        assert (f.getframerate(), f.getnchannels(), f.getnframes()) == (8000, 1, 100)
        samples = np.frombuffer(f.readframes(100), "<i2") / 32767
    assert np.abs(samples - x.numpy()).max() < 1e-4
    with pytest.raises(ValueError, match=r"\[2, 100\]"):
        writer.add_audio("a", weft.zeros(2, 100))
    with pytest.warns(UserWarning, match="are cut"):
        writer.add_audio("loud", x * 2)


def test_text(writer: SummaryWriter) -> None:
    """Text, under the tag that the text plugin knows."""
    writer.add_text("note", "# größer", 2)
    assert tensor_of(writer, "note/text_summary").tolist() == ["# größer".encode()]
    assert accumulated(writer).PluginTagToContent("text").keys() == {"note/text_summary"}


class Net(nn.Module):
    """Modules in modules, a loop, a dict in and out, and None."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        self.rnn = nn.LSTM(4, 2)

    def forward(self, x: Any, extra: Any = None) -> Any:
        h = self.body(x["a"]) + x["b"]
        for _ in range(2):
            h = h.tanh()
        return {"y": self.rnn(h[None])[0], "nothing": None}


def test_graph(writer: SummaryWriter) -> None:
    """Ops are in the scopes of their modules, with shapes and inputs; the model stays as it is."""
    net = Net()
    state = {k: v.clone() for k, v in net.state_dict().items()}
    writer.add_graph(net, ({"a": weft.ones(5, 3), "b": weft.ones(4)}, None))
    nodes = {n.name: n for n in accumulated(writer).Graph().node}
    linear = nodes["Net/body/0/linear"]
    assert list(linear.input) == ["input/x__a__", "Net/body/0/weight", "Net/body/0/bias"]
    shape = linear.attr["_output_shapes"].list.shape[0]
    assert [d.size for d in shape.dim] == [5, 4]
    assert nodes["Net/body/0/weight"].op == "Parameter" and nodes["Net/tanh_1"].op == "tanh"
    assert nodes["output/output__y__"].op == "Output"
    assert all(i in nodes for n in nodes.values() for i in n.input)
    assert b"test_writer.py:" in linear.attr["line"].s
    assert all(weft.equal(v, net.state_dict()[k]) for k, v in state.items())
    with pytest.raises(ValueError, match="input_to_model"):
        writer.add_graph(net)


def test_purge_and_reopen(tmp_path: Path) -> None:
    """Events from before a crash are hidden; a closed writer begins another file."""
    with SummaryWriter(tmp_path, filename_suffix=".a") as w:
        for step in range(5):
            w.add_scalar("x", step, step)
    with SummaryWriter(tmp_path, purge_step=3, filename_suffix=".b") as w:
        w.add_scalar("x", 30, 3)
    w.add_scalar("x", 40, 4)
    w.close()
    assert len(os.listdir(tmp_path)) == 3
    starts = [e for e in events(tmp_path) if e.HasField("session_log")]
    assert [e.step for e in starts] == [3]
    seen = [(e.step, e.value) for e in EventAccumulator(str(tmp_path)).Reload().Scalars("x")]
    assert seen == [(0, 0), (1, 1), (2, 2), (3, 30), (4, 40)]


def test_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder, one under runs/ with the comment at its end."""
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_lr1") as w:
        assert w.get_logdir().startswith("runs/") and w.get_logdir().endswith("_lr1")
        assert w.file_writer is not None and w.file_writer.get_logdir() == w.get_logdir()
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_nothing_is_lost_at_exit(tmp_path: Path) -> None:
    """A program that ends without close() has written everything; its forks do not wait for it."""
    code = (
        "import sys; from weft.utils.tensorboard import SummaryWriter\n"
        "w = SummaryWriter(sys.argv[1])\n"
        "for i in range(5): w.add_scalar('x', i, i)\n"
        "import os; child = os.fork()\n"
        "if child: os.waitpid(child, 0)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=600)
    assert [e.step for e in EventAccumulator(str(tmp_path)).Reload().Scalars("x")] == [*range(5)]


def test_without_tensorboard() -> None:
    """The import names what to install."""
    code = (
        "import sys; sys.modules['tensorboard'] = None\n"
        "try:\n    import weft.utils.tensorboard\n"
        "except ImportError as e:\n    print(e)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install weft[tensorboard]" in out.stdout
