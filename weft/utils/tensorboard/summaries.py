"""Summaries of TensorBoard: scalars, histograms, text, sound, curves, meshes, layouts."""

from __future__ import annotations

import functools

from .arrays import array_of, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _summary(tag: str, metadata: Any = None, **value: Any) -> Any:
    from tensorboard.compat.proto.summary_pb2 import Summary

    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, **value)])


def _tensor(array: Any) -> Any:
    from tensorboard.util.tensor_util import make_tensor_proto

    return make_tensor_proto(array)


def scalar(tag: str, x: Any, new_style: bool, double_precision: bool) -> Any:
    """Return the summary of one number: a plain one, or a tensor of the scalar plugin.

    >>> from weft.utils.tensorboard.summaries import scalar
    >>> scalar("loss", weft.tensor(0.5), False, False).value[0].simple_value
    0.5
    """
    import numpy as np
    from tensorboard.plugins.scalar.metadata import create_summary_metadata

    value = number_of(x, f"add_scalar: {tag!r}")
    if not (new_style or double_precision):
        return _summary(tag, simple_value=value)
    kind = np.float64 if double_precision else np.float32
    return _summary(tag, create_summary_metadata("", ""), tensor=_tensor(np.array(value, kind)))


def tensor(tag: str, x: Any) -> Any:
    """Return the summary of any tensor of numbers.

    >>> from weft.utils.tensorboard.summaries import tensor
    >>> len(tensor("x", weft.ones(2, 3)).value[0].tensor.tensor_shape.dim)
    2
    """
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

    plugin = SummaryMetadata.PluginData(plugin_name="tensor")
    proto = _tensor(array_of(x, f"add_tensor: {tag!r}"))
    return _summary(tag, SummaryMetadata(plugin_data=plugin), tensor=proto)


@functools.cache
def _wide_bins() -> Any:
    """Borders of bins from -1e20 to 1e20, each a tenth larger than the one before."""
    import numpy as np

    up = 1e-12 * 1.1 ** np.arange(776)  # 1e20 and some more
    return np.concatenate([-up[::-1], [0.0], up])


def histogram(tag: str, values: Any, bins: Any, max_bins: int | None) -> Any:
    """Return the summary of how values are spread.

    Args:
        tag: its name.
        values: at least one.
        bins: ``tensorflow``, another name that ``numpy.histogram`` knows, or borders.
        max_bins: join bins until there are no more.

    >>> from weft.utils.tensorboard.summaries import histogram
    >>> list(histogram("w", [0.0, 1.0, 1.0, 2.0], [0, 1, 2], None).value[0].histo.bucket)
    [0.0, 1.0, 3.0]
    """
    import warnings

    import numpy as np

    what = f"add_histogram: {tag!r}"
    x = array_of(values, what).reshape(-1).astype(np.float64)
    if x.size == 0:
        raise ValueError(f"{what}: the values are empty, a histogram needs at least one")
    finite = x[np.isfinite(x)]
    if finite.size == 0:
        raise ValueError(f"{what}: all {x.size} values are NaN or infinite")
    if finite.size < x.size:
        text = f"{what}: left out {x.size - finite.size} of {x.size} values, NaN or infinite"
        warnings.warn(text, UserWarning, stacklevel=3)
    borders = _wide_bins() if isinstance(bins, str) and bins == "tensorflow" else bins
    counts, limits = np.histogram(finite, bins=borders)
    if max_bins is not None and len(counts) > max_bins:
        if max_bins < 1:
            raise ValueError(f"{what}: max_bins must be at least 1, got {max_bins}")
        each = -(-len(counts) // max_bins)
        starts = np.arange(0, len(counts), each)
        counts = np.add.reduceat(counts, starts)
        limits = np.append(limits[starts], limits[-1])
    used = np.flatnonzero(counts)
    if used.size == 0:
        raise ValueError(f"{what}: none of {finite.size} values is in the given bins")
    first, last = used[0], used[-1] + 1
    # TensorBoard reads each bin as reaching up to its limit: one empty bin says where the first begins.
    return histogram_raw(
        tag, float(finite.min()), float(finite.max()), int(finite.size), float(finite.sum()),
        float(finite.dot(finite)), limits[first : last + 1], [0, *counts[first:last]],
    )  # fmt: skip


def histogram_raw(
    tag: str, min: float, max: float, num: int, sum: float, sum_squares: float,
    bucket_limits: Any, bucket_counts: Any,
) -> Any:  # fmt: skip
    """Return the summary of a histogram that is counted already.

    >>> from weft.utils.tensorboard.summaries import histogram_raw
    >>> histogram_raw("w", 0, 1, 2, 1, 1, [0, 1], [1, 1]).value[0].histo.num
    2.0
    """
    from tensorboard.compat.proto.summary_pb2 import HistogramProto

    limits = [float(v) for v in array_of(bucket_limits, f"{tag!r}: bucket_limits").reshape(-1)]
    counts = [float(v) for v in array_of(bucket_counts, f"{tag!r}: bucket_counts").reshape(-1)]
    if len(limits) != len(counts):
        raise ValueError(
            f"add_histogram_raw: {tag!r}: len(bucket_limits) != len(bucket_counts), "
            f"see the document: {len(limits)} and {len(counts)}"
        )
    proto = HistogramProto(
        min=float(min), max=float(max), num=float(num), sum=float(sum),
        sum_squares=float(sum_squares), bucket_limit=limits, bucket=counts,
    )  # fmt: skip
    return _summary(tag, histo=proto)


def text(tag: str, content: str) -> Any:
    """Return the summary of a text in Markdown.

    >>> from weft.utils.tensorboard.summaries import text
    >>> text("note", "**done**").value[0].tag
    'note/text_summary'
    """
    import numpy as np
    from tensorboard.plugins.text.metadata import create_summary_metadata

    proto = _tensor(np.array([str(content).encode("utf-8")], dtype=object))
    return _summary(f"{tag}/text_summary", create_summary_metadata("", ""), tensor=proto)


def audio(tag: str, sound: Any, sample_rate: int) -> Any:
    """Return the summary of a sound with one channel, in [-1, 1].

    >>> from weft.utils.tensorboard.summaries import audio
    >>> audio("tone", weft.zeros(100), 8000).value[0].audio.length_frames
    100
    """
    import io
    import warnings
    import wave

    import numpy as np
    from tensorboard.compat.proto.summary_pb2 import Summary

    what = f"add_audio: {tag!r}"
    x = array_of(sound, what)
    shape, x = list(x.shape), np.squeeze(x)
    if x.ndim != 1:
        raise ValueError(f"{what}: takes a sound of shape [samples] or [1, samples], got {shape}")
    if not np.isfinite(x).all():
        raise ValueError(f"{what}: the sound holds NaN or infinite samples")
    if np.abs(x).max() > 1:
        warnings.warn(f"{what}: samples beyond [-1, 1] are cut", UserWarning, stacklevel=3)
        x = x.clip(-1, 1)
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(int(sample_rate))
        out.writeframes((x * 32767.0).astype("<i2").tobytes())
    proto = Summary.Audio(
        sample_rate=float(sample_rate), num_channels=1, length_frames=len(x),
        encoded_audio_string=file.getvalue(), content_type="audio/wav",
    )  # fmt: skip
    return _summary(tag, audio=proto)


def pr_curve(tag: str, labels: Any, predictions: Any, thresholds: int, weights: Any) -> Any:
    """Return the summary of precision against recall, from labels and probabilities.

    >>> from weft.utils.tensorboard.summaries import pr_curve
    >>> made = pr_curve("pr", [1, 0], [0.9, 0.2], 3, None).value[0]
    >>> [d.size for d in made.tensor.tensor_shape.dim]
    [6, 3]
    """
    import numpy as np

    what = f"add_pr_curve: {tag!r}"
    truth = array_of(labels, what).reshape(-1).astype(np.float64)
    p = array_of(predictions, what).reshape(-1).astype(np.float64)
    if truth.shape != p.shape:
        raise ValueError(f"{what}: got {truth.size} labels and {p.size} predictions")
    if p.size and not (p.min() >= 0 and p.max() <= 1):
        raise ValueError(f"{what}: predictions must be in [0, 1], got {p.min()} to {p.max()}")
    if thresholds < 2:
        raise ValueError(f"{what}: num_thresholds must be at least 2, got {thresholds}")
    w = np.ones(1) if weights is None else array_of(weights, what).reshape(-1).astype(np.float64)
    if w.size not in (1, p.size):
        raise ValueError(f"{what}: got {w.size} weights for {p.size} predictions")
    bucket = np.floor(p * (thresholds - 1)).astype(np.int64)
    positive = np.bincount(bucket, truth * w, thresholds)
    negative = np.bincount(bucket, (1 - truth) * w, thresholds)
    tp, fp = (np.cumsum(counts[::-1])[::-1] for counts in (positive, negative))
    tn, fn = fp[0] - fp, tp[0] - tp
    small = 1e-7
    precision, recall = tp / np.maximum(small, tp + fp), tp / np.maximum(small, tp + fn)
    return pr_curve_raw(tag, (tp, fp, tn, fn, precision, recall), thresholds)


def pr_curve_raw(tag: str, rows: Any, thresholds: int) -> Any:
    """Return the summary of a curve whose counts, precision and recall are known.

    >>> from weft.utils.tensorboard.summaries import pr_curve_raw
    >>> pr_curve_raw("pr", [[1, 0]] * 6, 2).value[0].tag
    'pr'
    """
    import numpy as np
    from tensorboard.plugins.pr_curve.metadata import create_summary_metadata

    what = f"add_pr_curve: {tag!r}"
    all_rows = [array_of(row, what).reshape(-1).astype(np.float32) for row in rows]
    if {row.size for row in all_rows} != {thresholds}:
        sizes = [row.size for row in all_rows]
        raise ValueError(f"{what}: num_thresholds is {thresholds}, but the rows have {sizes}")
    metadata = create_summary_metadata(tag, "", thresholds)
    return _summary(tag, metadata, tensor=_tensor(np.stack(all_rows)))


def mesh(tag: str, vertices: Any, colors: Any, faces: Any, config: dict[str, Any] | None) -> Any:
    """Return the summary of points in space, with colours and triangles if given.

    >>> from weft.utils.tensorboard.summaries import mesh
    >>> mesh("points", weft.ones(1, 4, 3), None, None, None).value[0].tag
    'points_VERTEX'
    """
    import json

    import numpy as np
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    parts = {MeshPluginData.VERTEX: vertices, MeshPluginData.FACE: faces}
    parts[MeshPluginData.COLOR] = colors
    kinds = {MeshPluginData.FACE: np.int32, MeshPluginData.COLOR: np.uint8}
    there = {kind: x for kind, x in parts.items() if x is not None}
    bits = metadata.get_components_bitmask(list(there))
    values = []
    for kind, x in there.items():
        data = array_of(x, f"add_mesh: {tag!r}").astype(kinds.get(kind, np.float32))
        if data.ndim != 3 or data.shape[2] != 3:
            raise ValueError(
                f"add_mesh: {tag!r}: takes arrays of shape [batch, number, 3], got "
                f"{list(data.shape)} for {MeshPluginData.ContentType.Name(kind)}"
            )
        about = metadata.create_summary_metadata(
            tag, tag, kind, bits, data.shape, json_config=json.dumps(config or {}, sort_keys=True)
        )
        name = metadata.get_instance_name(tag, kind)
        values.append(Summary.Value(tag=name, metadata=about, tensor=_tensor(data)))
    return Summary(value=values)


def custom_scalars(layout: dict[str, dict[str, Any]]) -> Any:
    """Return the summary of charts: ``{category: {title: [kind, tags]}}``.

    >>> from weft.utils.tensorboard.summaries import custom_scalars
    >>> custom_scalars({"all": {"both": ["Multiline", ["train", "test"]]}}).value[0].tag
    'custom_scalars__config__'
    """
    import numpy as np
    from tensorboard.plugins.custom_scalar import layout_pb2, metadata

    categories = []
    for category, charts in layout.items():
        made = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise ValueError(
                        f"add_custom_scalars: {title!r}: a Margin chart takes 3 tags (value, lower, "
                        f"upper), got {len(tags)}"
                    )
                series = layout_pb2.MarginChartContent.Series(
                    value=tags[0], lower=tags[1], upper=tags[2]
                )
                content = layout_pb2.MarginChartContent(series=[series])
                made.append(layout_pb2.Chart(title=title, margin=content))
            elif kind == "Multiline":
                lines = layout_pb2.MultilineChartContent(tag=[str(t) for t in tags])
                made.append(layout_pb2.Chart(title=title, multiline=lines))
            else:
                raise ValueError(
                    f"add_custom_scalars: {title!r}: a chart is 'Multiline' or 'Margin', got {kind!r}"
                )
        categories.append(layout_pb2.Category(title=category, chart=made))
    data = layout_pb2.Layout(category=categories).SerializeToString()
    proto = _tensor(np.array(data, dtype=object))
    return _summary(metadata.CONFIG_SUMMARY_TAG, metadata.create_summary_metadata(), tensor=proto)


def hparams(values: dict[str, Any], metrics: Any, discrete: dict[str, list[Any]] | None) -> Any:
    """Return three summaries: the experiment, and the start and the end of this session.

    >>> from weft.utils.tensorboard.summaries import hparams
    >>> [s.value[0].tag for s in hparams({"lr": 0.1}, ["loss"], None)]
    ['_hparams_/experiment', '_hparams_/session_start_info', '_hparams_/session_end_info']
    """
    import time

    from google.protobuf import struct_pb2
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    infos = []
    plain = {}
    for name, value in values.items():
        if value is None:
            continue
        if not isinstance(value, (bool, int, float, str)):
            value = number_of(value, f"add_hparams: {name!r}")
        kind = (
            api_pb2.DATA_TYPE_BOOL if isinstance(value, bool)
            else api_pb2.DATA_TYPE_STRING if isinstance(value, str)
            else api_pb2.DATA_TYPE_FLOAT64
        )  # fmt: skip
        plain[name] = value
        domain = None
        if discrete is not None and name in discrete:
            domain = struct_pb2.ListValue()
            domain.extend(discrete[name])
        infos.append(api_pb2.HParamInfo(name=name, type=kind, domain_discrete=domain))
    for name in discrete or {}:
        if name not in values:
            raise ValueError(
                f"add_hparams: hparam_domain_discrete names {name!r}, no hyperparameter"
            )
    named = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag)) for tag in metrics]
    now = time.time()
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=named, time_created_secs=now)
    start = plugin_data_pb2.SessionStartInfo(start_time_secs=now)
    for name, value in plain.items():
        if isinstance(value, bool):
            start.hparams[name].bool_value = value
        elif isinstance(value, str):
            start.hparams[name].string_value = value
        else:
            start.hparams[name].number_value = value
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.STATUS_SUCCESS, end_time_secs=now)
    parts = {
        metadata.EXPERIMENT_TAG: {"experiment": experiment},
        metadata.SESSION_START_INFO_TAG: {"session_start_info": start},
        metadata.SESSION_END_INFO_TAG: {"session_end_info": end},
    }
    return [
        _summary(
            tag,
            metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(**content)),
            tensor=metadata.NULL_TENSOR,
        )
        for tag, content in parts.items()
    ]
