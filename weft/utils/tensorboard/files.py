"""``FileWriter``: one event file, and what is put into it."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class FileWriter:
    """Writes events into a file of a folder, in a thread of its own.

    Args:
        log_dir: the folder; it is made if it is not there.
        max_queue: how many events may wait before adding one waits too.
        flush_secs: how often to write to disk.
        filename_suffix: ends the name of the file.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     weft.utils.tensorboard.FileWriter(folder, filename_suffix=".mine").close()
    ...     os.listdir(folder)[0][-5:]
    '.mine'
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self.event_writer: Any = EventFileWriter(
            os.fspath(log_dir), max_queue, flush_secs, filename_suffix
        )

    def get_logdir(self) -> str:
        """Return the folder."""
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Add an event of TensorBoard; step and time are set here."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add a summary of TensorBoard."""
        from tensorboard.compat.proto.event_pb2 import Event

        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_def: Any, walltime: float | None = None) -> None:
        """Add a graph of TensorBoard."""
        from tensorboard.compat.proto.event_pb2 import Event

        self.add_event(Event(graph_def=graph_def.SerializeToString()), None, walltime)

    def flush(self) -> None:
        """Wait until all events are on disk."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.event_writer.close()
