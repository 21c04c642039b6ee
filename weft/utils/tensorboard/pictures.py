"""Images, figures and videos as summaries of TensorBoard."""

from __future__ import annotations

from .arrays import array_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as e:
        raise ImportError("images need Pillow: pip install weft[vision]") from e
    return Image


def pixels_of(x: Any, dataformats: str, what: str) -> Any:
    """Return an image or a batch of them as one array of bytes, [height, width, 3 or 4].

    Args:
        x: bytes as they are, or other numbers in [0, 1].
        dataformats: a letter for each dimension: N, C, H, W; images of a batch become a grid.
        what: for messages.

    >>> from weft.utils.tensorboard.pictures import pixels_of
    >>> pixels_of(weft.ones(1, 2, 5), "CHW", "image").shape
    (2, 5, 3)
    """
    import numpy as np

    data, letters = array_of(x, what), dataformats.upper()
    if len(set(letters)) != len(letters) or not {"H", "W"} <= set(letters) <= set("NCHW"):
        raise ValueError(
            f"{what}: dataformats must name H, W and at most N, C, got {dataformats!r}"
        )
    if data.ndim != len(letters):
        raise ValueError(
            f"{what}: dataformats={dataformats!r} is for {len(letters)} dimensions, the image has "
            f"shape {list(data.shape)}"
        )
    for letter in "NC":
        if letter not in letters:
            data, letters = data[None], letter + letters
    data = data.transpose([letters.index(c) for c in "NHWC"])
    if data.shape[-1] not in (1, 3, 4) or 0 in data.shape:
        raise ValueError(
            f"{what}: takes images with 1, 3 or 4 channels and at least one pixel, got "
            f"shape {list(array_of(x, what).shape)} as {dataformats!r}"
        )
    if data.dtype != np.uint8:
        data = np.nan_to_num(data.astype(np.float32)) * 255.0
        data = data.clip(0, 255).astype(np.uint8)
    if data.shape[-1] == 1:
        data = np.repeat(data, 3, -1)
    return _grid(data)


def _grid(images: Any, columns: int = 8) -> Any:
    """Return images side by side, in rows of ``columns``."""
    import numpy as np

    n, h, w, c = images.shape
    columns = min(columns, n)
    rows = -(-n // columns)
    grid = np.zeros((rows * h, columns * w, c), images.dtype)
    for i in range(n):
        y, x = i // columns * h, i % columns * w
        grid[y : y + h, x : x + w] = images[i]
    return grid


def _image_summary(tag: str, data: bytes, height: int, width: int, channels: int) -> Any:
    from tensorboard.compat.proto.summary_pb2 import Summary

    proto = Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=data
    )
    return Summary(value=[Summary.Value(tag=tag, image=proto)])


def _png(picture: Any, tag: str) -> Any:
    import io

    file = io.BytesIO()
    picture.save(file, "PNG")
    channels = len(picture.getbands())
    return _image_summary(tag, file.getvalue(), picture.height, picture.width, channels)


def image(tag: str, x: Any, dataformats: str) -> Any:
    """Return the summary of an image, or of a batch as a grid.

    >>> from weft.utils.tensorboard.pictures import image
    >>> image("x", weft.zeros(3, 4, 5), "CHW").value[0].image.width
    5
    """
    pixels = pixels_of(x, dataformats, f"add_image: {tag!r}")
    return _png(_pillow().fromarray(pixels), tag)


def image_with_boxes(
    tag: str, x: Any, boxes: Any, rescale: float, dataformats: str, labels: Any
) -> Any:
    """Return the summary of an image with frames ``(left, top, right, bottom)``, in pixels.

    >>> from weft.utils.tensorboard.pictures import image_with_boxes
    >>> image_with_boxes("x", weft.zeros(3, 8, 8), [[1, 1, 4, 4]], 2, "CHW", None).value[0].image.width
    16
    """
    from PIL import ImageDraw

    what = f"add_image_with_boxes: {tag!r}"
    picture = _pillow().fromarray(pixels_of(x, dataformats, what))
    frames = array_of(boxes, what)
    if frames.ndim != 2 or frames.shape[1] != 4:
        raise ValueError(f"{what}: takes boxes of shape [n, 4], got {list(frames.shape)}")
    if isinstance(labels, str):
        labels = [labels]
    if labels is not None and len(labels) != len(frames):
        raise ValueError(f"{what}: got {len(labels)} labels for {len(frames)} boxes")
    if rescale != 1:
        size = int(picture.width * rescale), int(picture.height * rescale)
        picture = picture.resize(size)
    pen = ImageDraw.Draw(picture)
    for i, frame in enumerate(frames * rescale):
        left, top, right, bottom = (float(v) for v in frame)
        pen.rectangle([left, top, max(left, right), max(top, bottom)], outline="red", width=2)
        if labels is not None:
            pen.text((left + 3, top + 2), str(labels[i]), fill="red")
    return _png(picture, tag)


def figure(tag: str, figures: Any, close: bool) -> Any:
    """Return the summary of a matplotlib figure, or of several of one size as a grid."""
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    several = figures if isinstance(figures, (list, tuple)) else [figures]
    drawn = []
    for one in several:
        canvas = FigureCanvasAgg(one)
        canvas.draw()
        drawn.append(np.asarray(canvas.buffer_rgba())[..., :3].copy())
        if close:
            import matplotlib.pyplot as plt

            plt.close(one)
    if len({a.shape for a in drawn}) != 1:
        shapes = [list(a.shape) for a in drawn]
        raise ValueError(f"add_figure: {tag!r}: figures must have one size, got {shapes}")
    return _png(_pillow().fromarray(_grid(np.stack(drawn))), tag)


def video(tag: str, x: Any, fps: float) -> Any:
    """Return the summary of a video of shape [n, time, channel, height, width], as a GIF.

    >>> from weft.utils.tensorboard.pictures import video
    >>> video("x", weft.zeros(1, 2, 3, 4, 5), 4).value[0].image.encoded_image_string[:3]
    b'GIF'
    """
    import io

    data = array_of(x, f"add_video: {tag!r}")
    if data.ndim != 5 or 0 in data.shape:
        raise ValueError(
            f"add_video: {tag!r}: takes a video of shape [n, time, channel, height, width], got "
            f"{list(data.shape)}"
        )
    if not fps > 0:
        raise ValueError(f"add_video: {tag!r}: fps must be positive, got {fps}")
    library = _pillow()
    frames = []
    for t in range(data.shape[1]):
        pixels = pixels_of(data[:, t], "NCHW", f"add_video: {tag!r}")
        frames.append(library.fromarray(pixels[..., :3]))
    file = io.BytesIO()
    frames[0].save(
        file, "GIF", save_all=True, append_images=frames[1:], duration=1000 / fps, loop=0
    )
    return _image_summary(tag, file.getvalue(), frames[0].height, frames[0].width, 3)
