"""``SummaryWriter``: what a training tells TensorBoard."""

from __future__ import annotations

import os
import time
import weakref

from . import embeddings, pictures, summaries
from .files import FileWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

__all__ = ["SummaryWriter"]


def _close_all(writers: dict[str, FileWriter], process: int) -> None:
    for writer in writers.values() if process == os.getpid() else ():
        writer.close()


class SummaryWriter:
    """Writes scalars, images, graphs and more into a folder that TensorBoard shows.

    Tags group by what stands before a ``/``. ``global_step`` is the place on the axis of steps, and
    ``walltime`` the time of the event, in seconds; the default is now.

    Args:
        log_dir: the folder; the default is ``runs/<date>_<time>_<host><comment>``.
        comment: ends the name of the default folder.
        purge_step: TensorBoard hides events of this step and later from before a crash.
        max_queue: how many events may wait before adding one waits too.
        flush_secs: how often to write to disk.
        filename_suffix: ends the names of event files.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with weft.utils.tensorboard.SummaryWriter(folder) as writer:
    ...         for step in range(3):
    ...             writer.add_scalar("train/loss", 1 / (step + 1), step)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if log_dir is None:
            import socket
            from datetime import datetime

            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step = purge_step
        self.max_queue, self.flush_secs = max_queue, flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._points: list[dict[str, Any]] = []
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        """Return the writer of the folder; after ``close`` it begins another file."""
        if self.file_writer is None or self.all_writers is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.log_dir: self.file_writer}
            # Nothing is lost without close(). In a forked process the writing thread is not there.
            weakref.finalize(self, _close_all, self.all_writers, os.getpid())
            if self.purge_step is not None:
                from tensorboard.compat.proto.event_pb2 import Event, SessionLog

                start = Event(session_log=SessionLog(status=SessionLog.START))
                self.file_writer.add_event(Event(file_version="brain.Event:2"), self.purge_step)
                self.file_writer.add_event(start, self.purge_step)
                self.purge_step = None
        return self.file_writer

    def _open(self, folder: str) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _add(self, summary: Any, step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(summary, step, walltime)

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add a number, which may be NaN or infinite.

        Args:
            tag: its name.
            scalar_value: a number, or a tensor or array with one element.
            global_step: the step.
            walltime: the time.
            new_style: as a tensor, which TensorBoard loads faster.
            double_precision: as a tensor of 64 bits.
        """
        made = summaries.scalar(tag, scalar_value, new_style, double_precision)
        self._add(made, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add several numbers to one chart; each gets a folder, and so a line of its own."""
        now = time.time() if walltime is None else walltime
        base = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(base, f"{main_tag.replace('/', '_')}_{tag}")
            if folder not in self.all_writers:
                self.all_writers[folder] = self._open(folder)
            made = summaries.scalar(main_tag, value, False, False)
            self.all_writers[folder].add_summary(made, global_step, now)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add a tensor as it is."""
        self._add(summaries.tensor(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add how values are spread. NaN and infinite ones are left out, with a warning.

        Args:
            tag: its name.
            values: a tensor of any shape, not empty.
            global_step: the step.
            bins: ``tensorflow`` (each bin a tenth wider than the last), a name that
                ``numpy.histogram`` knows, or borders.
            walltime: the time.
            max_bins: join bins until there are no more.
        """
        self._add(summaries.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a histogram that is counted already; a bucket reaches up to its limit."""
        made = summaries.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self._add(made, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add an image with 1, 3 or 4 channels: bytes, or other numbers in [0, 1]."""
        self._add(pictures.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add a batch of images, as a grid."""
        self._add(pictures.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """Add an image with frames ``(left, top, right, bottom)`` in pixels, and their labels."""
        made = pictures.image_with_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(made, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Add a figure of matplotlib, or a list of them; ``close`` closes it afterwards."""
        self._add(pictures.figure(tag, figure, close), global_step, walltime)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Add videos of shape [n, time, channel, height, width], as one moving GIF."""
        self._add(pictures.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Add a sound of one channel, with samples in [-1, 1]."""
        self._add(summaries.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a text, which TensorBoard reads as Markdown."""
        self._add(summaries.text(tag, text_string), global_step, walltime)

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Add what a module does when it is called: its ops, in the scopes of its modules.

        Args:
            model: a module or a function. It is called once, and left as it is.
            input_to_model: a tensor, or a tuple of arguments.
            verbose: print the graph.
            use_strict_trace: for PyTorch's sake; lists and dicts are followed either way.
        """
        from weft import view

        from .graphs import graph_def

        if input_to_model is None:
            raise ValueError("add_graph: input_to_model is needed, to call the model with")
        graph = view.graph(model, input_to_model)
        if verbose:
            print(*graph, sep="\n")
        self._get_file_writer().add_graph(graph_def(graph))

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: list[str] | None = None,
    ) -> None:
        """Add points for the projector.

        Args:
            mat: a matrix with a point in each row.
            metadata: a label for each point, or with a header a list of them.
            label_img: an image for each point: [n, channel, height, width].
            global_step: the step.
            tag: its name.
            metadata_header: names of the labels.
        """
        base = self._get_file_writer().get_logdir()
        step = str(0 if global_step is None else int(global_step)).zfill(5)
        folder = f"{step}/{embeddings.folder_name(tag)}"
        os.makedirs(os.path.join(base, folder), exist_ok=True)
        entry: dict[str, Any] = {"name": f"{tag}:{step}", "points": f"{folder}/tensors.tsv"}
        count = embeddings.write_points(os.path.join(base, entry["points"]), mat)
        if metadata is not None:
            entry["labels"] = f"{folder}/metadata.tsv"
            path = os.path.join(base, entry["labels"])
            embeddings.write_labels(path, metadata, metadata_header, count)
        elif metadata_header:
            raise ValueError("add_embedding: metadata_header is given without metadata")
        if label_img is not None:
            entry["sprite"] = f"{folder}/sprite.png"
            path = os.path.join(base, entry["sprite"])
            entry["size"] = embeddings.write_sprite(path, label_img, count)
        self._points = [e for e in self._points if e["name"] != entry["name"]] + [entry]
        embeddings.write_config(base, self._points)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add precision against recall, from labels (0 or 1) and predictions in [0, 1]."""
        made = summaries.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(made, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add precision against recall that is counted already, at each threshold."""
        if weights is not None:
            raise NotImplementedError(
                "add_pr_curve_raw: weights must be None: the counts that are given are weighted"
            )
        rows = (
            true_positive_counts, false_positive_counts, true_negative_counts,
            false_negative_counts, precision, recall,
        )  # fmt: skip
        self._add(summaries.pr_curve_raw(tag, rows, num_thresholds), global_step, walltime)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show the scalars of these tags as lines of one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show three scalars as one chart: a value between its bounds."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Add charts: ``{category: {title: [kind, tags]}}``, kind ``Multiline`` or ``Margin``."""
        self._add(summaries.custom_scalars(layout), None, None)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: dict[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add points in space; arrays are of shape [batch, number, 3]."""
        made = summaries.mesh(tag, vertices, colors, faces, config_dict)
        self._add(made, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Add hyperparameters and what came of them, in a folder of their own.

        Args:
            hparam_dict: values by name: numbers, strings or bools.
            metric_dict: results by name.
            hparam_domain_discrete: the values that were to choose from, by name.
            run_name: the folder; the default is the time.
            global_step: the step of the results.
        """
        for given in (hparam_dict, metric_dict):
            if not isinstance(given, dict):
                raise TypeError(
                    "add_hparams: hparam_dict and metric_dict should be dictionary, got "
                    f"{type(given).__name__}"
                )
        made = summaries.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        writer = self._open(folder)
        try:
            for summary in made:
                writer.add_summary(summary, global_step)
            for tag, value in metric_dict.items():
                writer.add_summary(summaries.scalar(tag, value, False, False), global_step)
        finally:
            writer.close()

    def flush(self) -> None:
        """Wait until everything is on disk."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write what waits, and close the files."""
        _close_all(self.all_writers or {}, os.getpid())
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
