"""Points for TensorBoard's projector: tables of tab-separated values, a sprite, a config."""

from __future__ import annotations

import os

from .arrays import array_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def folder_name(tag: str) -> str:
    """Return a tag as the name of a folder.

    >>> from weft.utils.tensorboard.embeddings import folder_name
    >>> folder_name("a/b c")
    'a%2Fb%20c'
    """
    from urllib.parse import quote

    return quote(tag, safe="").replace(".", "%2E")


def write_points(path: str, points: Any) -> int:
    """Write a matrix, and return how many rows it has."""
    import numpy as np

    data = array_of(points, "add_embedding: mat")
    if data.ndim != 2:
        raise ValueError(
            f"add_embedding: mat should be 2D, where mat.size(0) is the number of data points; "
            f"got shape {list(data.shape)}"
        )
    np.savetxt(path, data, delimiter="\t", fmt="%.8g")
    return len(data)


def _cell(x: Any) -> str:
    return str(x).replace("\t", " ").replace("\n", " ").replace("\r", " ")


def write_labels(path: str, labels: Any, header: list[str] | None, count: int) -> None:
    """Write a label for each point, or several if there is a header."""
    rows = list(labels)
    if len(rows) != count:
        raise ValueError(
            f"add_embedding: #labels should equal with #data points: {len(rows)} and {count}"
        )
    lines = []
    if header:
        lines.append("\t".join(map(_cell, header)))
        for i, row in enumerate(rows):
            if len(row) != len(header):
                raise ValueError(
                    f"add_embedding: metadata[{i}] has {len(row)} entries, metadata_header has "
                    f"{len(header)}"
                )
            lines.append("\t".join(map(_cell, row)))
    else:
        lines += map(_cell, rows)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join([*lines, ""]))


def write_sprite(path: str, images: Any, count: int) -> tuple[int, int]:
    """Write small images as one square of them, and return width and height of each."""
    import math

    import numpy as np

    from .pictures import _pillow, pixels_of

    data = array_of(images, "add_embedding: label_img")
    if data.ndim != 4 or len(data) != count:
        raise ValueError(
            f"add_embedding: label_img must have shape [{count}, channel, height, width], got "
            f"{list(data.shape)}"
        )
    side = math.ceil(math.sqrt(count))
    missing = side * side - count
    data = np.concatenate([data, np.zeros((missing, *data.shape[1:]), data.dtype)])
    rows = [pixels_of(row, "NCHW", "add_embedding: label_img") for row in _in_rows(data, side)]
    _pillow().fromarray(np.concatenate(rows)).save(path)
    return data.shape[3], data.shape[2]


def _in_rows(data: Any, side: int) -> list[Any]:
    """Return each row of the square as one wide image, in a batch of one."""
    rows = []
    for i in range(side):
        row = data[i * side : (i + 1) * side]
        n, c, h, w = row.shape
        rows.append(row.transpose(1, 2, 0, 3).reshape(1, c, h, n * w))
    return rows


def write_config(log_dir: str, entries: list[dict[str, Any]]) -> None:
    """Write the list of all embeddings of a folder, for the projector to find them."""
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    config = ProjectorConfig()
    for entry in entries:
        info = config.embeddings.add()
        info.tensor_name, info.tensor_path = entry["name"], entry["points"]
        if "labels" in entry:
            info.metadata_path = entry["labels"]
        if "sprite" in entry:
            info.sprite.image_path = entry["sprite"]
            info.sprite.single_image_dim.extend(entry["size"])
    with open(os.path.join(log_dir, "projector_config.pbtxt"), "w", encoding="utf-8") as f:
        f.write(text_format.MessageToString(config))
