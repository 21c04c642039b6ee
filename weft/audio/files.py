"""Sound files, read and written by soundfile (libsndfile): WAV, FLAC, OGG, MP3 and more."""

from __future__ import annotations

import importlib
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    from weft import Tensor

    File = str | os.PathLike[str] | BinaryIO

__all__ = ["AudioMetaData", "info", "load", "save"]

_BLOCK = 1 << 18  # frames read at once: what a header promises is not believed
_UNKNOWN_LENGTH = (0xFFFFFFFF, 0x7FFFFFFF)  # what programs write that do not know it yet
# Of each subtype of libsndfile: the encoding by torchaudio's name, bits, the dtype of whole numbers.
_SUBTYPES: dict[str, tuple[str, int, str | None]] = {
    "PCM_S8": ("PCM_S", 8, None), "PCM_U8": ("PCM_U", 8, "uint8"), "PCM_16": ("PCM_S", 16, "int16"),
    "PCM_24": ("PCM_S", 24, "int32"), "PCM_32": ("PCM_S", 32, "int32"),
    "FLOAT": ("PCM_F", 32, "float32"), "DOUBLE": ("PCM_F", 64, "float64"),
    "ULAW": ("ULAW", 8, None), "ALAW": ("ALAW", 8, None),
    "VORBIS": ("VORBIS", 0, None), "OPUS": ("OPUS", 0, None), "MPEG_LAYER_III": ("MP3", 0, None),
}  # fmt: skip
# Of each format: what libsndfile calls it, and the subtypes by (encoding, bits); None: the default.
_WAV = {(e, b): s for s, (e, b, _) in _SUBTYPES.items() if e in ("PCM_S", "PCM_F") and b > 8}
_WAV |= {("PCM_U", 8): "PCM_U8", ("ULAW", 8): "ULAW", ("ALAW", 8): "ALAW"}
_FORMATS: dict[str, tuple[str, dict[tuple[str, int], str]]] = {
    "wav": ("WAV", _WAV),
    "flac": ("FLAC", {("PCM_S", 16): "PCM_16", ("PCM_S", 24): "PCM_24", ("PCM_S", 8): "PCM_S8"}),
    "ogg": ("OGG", {("VORBIS", 0): "VORBIS", ("OPUS", 0): "OPUS"}),
    "vorbis": ("OGG", {("VORBIS", 0): "VORBIS"}),
    "mp3": ("MP3", {("MP3", 0): "MPEG_LAYER_III"}),
}
_BY_DTYPE = {
    "float32": ("PCM_F", 32), "float64": ("PCM_F", 64), "int16": ("PCM_S", 16),
    "int32": ("PCM_S", 32), "uint8": ("PCM_U", 8),
}  # fmt: skip


@dataclass
class AudioMetaData:
    """What a sound file says of itself.

    Args:
        sample_rate: frames in a second.
        num_frames: how many frames there are.
        num_channels: samples in a frame.
        bits_per_sample: 0 where the encoding has no such number.
        encoding: 'PCM_S', 'PCM_U', 'PCM_F', 'ULAW', 'ALAW', 'FLAC', 'MP3', 'VORBIS', 'OPUS' or
            'UNKNOWN'.

    >>> weft.audio.AudioMetaData(16000, 8000, 1, 16, "PCM_S").num_frames
    8000
    """

    sample_rate: int
    num_frames: int
    num_channels: int
    bits_per_sample: int
    encoding: str


def _soundfile() -> Any:
    try:
        return importlib.import_module("soundfile")
    except (ImportError, OSError) as e:  # OSError: the package without its library
        raise ImportError(
            "weft.audio reads and writes sound files with soundfile, which cannot be imported: "
            "pip install weft[audio]"
        ) from e


def _only(name: str, backend: str | None, buffer_size: int = 4096) -> None:
    if backend not in (None, "soundfile"):
        raise NotImplementedError(f"{name}: backend={backend!r}: the only one is 'soundfile'")
    if buffer_size != 4096:
        raise NotImplementedError(f"{name}: buffer_size={buffer_size} is not supported")


@contextmanager
def _opened(name: str, uri: File, format: str | None) -> Iterator[Any]:
    """Give an open sound file; errors name it."""
    soundfile = _soundfile()
    if isinstance(uri, (str, os.PathLike)):
        shown = repr(os.fspath(uri))
        if not os.path.exists(uri):
            raise FileNotFoundError(f"{name}: there is no file {shown}")
        if os.path.isdir(uri):
            raise IsADirectoryError(f"{name}: {shown} is a directory, not a sound file")
        if os.path.getsize(uri) == 0:
            raise RuntimeError(f"{name}: {shown} is empty")
    elif hasattr(uri, "read"):
        shown = f"<{type(uri).__name__}>"
    else:
        raise TypeError(f"{name}: expected a path or an open file, got {type(uri).__name__}")
    try:
        with soundfile.SoundFile(uri) as file:
            if format is not None:
                wanted = _FORMATS.get(format.lower(), (format.upper(), {}))[0]
                if file.format not in (wanted, f"{wanted}EX"):
                    raise ValueError(f"{name}: {shown} has the format {file.format}, not {format}")
            size = re.search(r"^data *: (\d+) \(should be (\d+)\)", file.extra_info, re.MULTILINE)
            if size and int(size[1]) > int(size[2]) and int(size[1]) not in _UNKNOWN_LENGTH:
                raise RuntimeError(
                    f"{name}: {shown} is cut off: its header tells of {size[1]} bytes of sound, "
                    f"and there are {size[2]}"
                )
            yield file
    except soundfile.LibsndfileError as e:
        text = getattr(e, "error_string", str(e))
        raise RuntimeError(f"{name}: {shown} cannot be read as a sound file: {text}") from None


def info(uri: File, format: str | None = None, backend: str | None = None) -> AudioMetaData:
    """Return what a sound file says of itself.

    Args:
        uri: a path, or a file open for reading.
        format: the format that it must have, such as 'wav'; None: any.
        backend: None or 'soundfile'.

    >>> import io
    >>> file = io.BytesIO()
    >>> weft.audio.save(file, weft.zeros(2, 100), 8000, format="wav")
    >>> _ = file.seek(0)
    >>> weft.audio.info(file)
    AudioMetaData(sample_rate=8000, num_frames=100, num_channels=2, bits_per_sample=32,
                  encoding='PCM_F')
    """
    _only("info", backend)
    with _opened("info", uri, format) as file:
        encoding, bits, _ = _SUBTYPES.get(file.subtype, ("UNKNOWN", 0, None))
        encoding = "FLAC" if file.format == "FLAC" else encoding
        return AudioMetaData(file.samplerate, file.frames, file.channels, bits, encoding)


def load(
    uri: File,
    frame_offset: int = 0,
    num_frames: int = -1,
    normalize: bool = True,
    channels_first: bool = True,
    format: str | None = None,
    buffer_size: int = 4096,
    backend: str | None = None,
) -> tuple[Tensor, int]:
    """Return the samples of a sound file, and how many there are in a second.

    Args:
        uri: a path, or a file open for reading.
        frame_offset: how many frames to skip.
        num_frames: how many to read at most; -1: all.
        normalize: samples as float32 from -1 to 1. If not, samples of WAV files keep the dtype of
            the file: uint8, int16, int32 (also for 24 bits), float32 or float64.
        channels_first: (channels, frames), else (frames, channels).
        format: the format that the file must have, such as 'wav'; None: any.
        buffer_size: must be the default.
        backend: None or 'soundfile'.

    >>> import io
    >>> file = io.BytesIO()
    >>> weft.audio.save(file, weft.tensor([[0.5, -0.25]]), 8000, format="wav")
    >>> _ = file.seek(0)
    >>> weft.audio.load(file)
    (tensor([[ 0.5000, -0.2500]]), 8000)
    """
    import numpy as np

    _only("load", backend, buffer_size)
    if frame_offset < 0:
        raise ValueError(f"load: frame_offset must not be negative, got {frame_offset}")
    if num_frames < -1 or num_frames == 0:
        raise ValueError(f"load: num_frames must be -1 or positive, got {num_frames}")
    with _opened("load", uri, format) as file:
        kind = "float32"
        if not normalize and file.format in ("WAV", "WAVEX"):
            known = _SUBTYPES.get(file.subtype, ("", 0, None))[2]
            if known is None:
                raise NotImplementedError(
                    f"load: normalize=False is not supported for samples of type {file.subtype}"
                )
            kind = known
        start = min(frame_offset, file.frames)
        wanted = file.frames - start if num_frames == -1 else min(num_frames, file.frames - start)
        if start:
            file.seek(start)
        parts, left = [], wanted
        while left > 0:
            read_as = "int16" if kind == "uint8" else kind
            part = file.read(min(left, _BLOCK), dtype=read_as, always_2d=True)
            if not len(part):
                raise RuntimeError(
                    f"load: the file is cut off: it tells of {file.frames} frames, "
                    f"and ends after {file.frames - left}"
                )
            parts.append((part // 256 + 128).astype(np.uint8) if kind == "uint8" else part)
            left -= len(part)
        samples = np.concatenate(parts) if parts else np.zeros((0, file.channels), kind)
        rate = file.samplerate
    return weft.from_numpy(samples.T.copy() if channels_first else samples), rate


def save(
    uri: File,
    src: Tensor,
    sample_rate: int,
    channels_first: bool = True,
    format: str | None = None,
    encoding: str | None = None,
    bits_per_sample: int | None = None,
    buffer_size: int = 4096,
    backend: str | None = None,
    compression: float | int | None = None,
) -> None:
    """Write samples to a sound file. A path is replaced in one go, or not at all.

    Args:
        uri: a path, or a file open for writing.
        src: samples (channels, frames): float32 or float64 from -1 to 1, int16, int32 or uint8.
        sample_rate: frames in a second.
        channels_first: whether channels come first in ``src``, else (frames, channels).
        format: 'wav', 'flac', 'ogg', 'vorbis' or 'mp3'; None: by the ending of the path.
        encoding: 'PCM_S', 'PCM_U', 'PCM_F', 'ULAW' or 'ALAW' for WAV, 'VORBIS' or 'OPUS' for OGG;
            None: for WAV by the dtype of ``src``, unless ``bits_per_sample`` tells.
        bits_per_sample: 8, 16, 24, 32 or 64; None: 16 for FLAC, else by encoding or dtype.
        buffer_size: must be the default.
        backend: None or 'soundfile'.
        compression: must be None.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "silence.flac")
    >>> weft.audio.save(path, weft.zeros(1, 8000), 8000)
    >>> weft.audio.info(path).bits_per_sample
    16
    """
    _only("save", backend, buffer_size)
    if compression is not None:
        raise NotImplementedError(f"save: compression={compression} is not supported")
    if src.ndim != 2:
        raise ValueError(f"save: src must have two dimensions, got the shape {tuple(src.shape)}")
    if not isinstance(sample_rate, int) or sample_rate <= 0:
        raise ValueError(f"save: sample_rate must be a positive int, got {sample_rate!r}")
    dtype = str(src.dtype).rpartition(".")[2]
    if dtype not in _BY_DTYPE:
        raise ValueError(f"save: src must be one of {', '.join(_BY_DTYPE)}, got {dtype}")
    if format is None and not isinstance(uri, (str, os.PathLike)):
        raise ValueError("save: an open file needs a format, such as format='wav'")
    kind = (format or os.path.splitext(os.fspath(uri))[1][1:]).lower()  # type: ignore[arg-type]
    if kind not in _FORMATS:
        raise ValueError(f"save: the format must be one of {', '.join(_FORMATS)}, got {kind!r}")
    container, _ = _FORMATS[kind]
    subtype = _subtype(kind, dtype, encoding, bits_per_sample)
    samples = src.detach().numpy()
    samples = samples.T if channels_first else samples
    if dtype == "uint8":
        samples = (samples.astype("int16") - 128) * 256
    from weft.serialization.atomic import write_file

    soundfile = _soundfile()

    def write(file: Any) -> None:
        try:
            soundfile.write(file, samples, sample_rate, subtype, format=container)
        except soundfile.LibsndfileError as e:
            text = getattr(e, "error_string", str(e))
            raise RuntimeError(
                f"save: {samples.shape[1]} channels at {sample_rate} Hz cannot be written as "
                f"{container} ({subtype}): {text}"
            ) from None

    write_file(uri, write)


def _subtype(kind: str, dtype: str, encoding: str | None, bits: int | None) -> str:
    """Return what libsndfile calls the samples of a file."""
    choices = _FORMATS[kind][1]
    if kind == "wav":
        if encoding is None and bits is None:
            asked = _BY_DTYPE[dtype]
        elif encoding is None:
            asked = ("PCM_U" if bits == 8 else "PCM_S", bits or 0)
        else:
            usual = {"PCM_S": 16, "PCM_U": 8, "PCM_F": 32}.get(encoding, 8)
            asked = (encoding, usual if bits is None else bits)
    else:
        first = next(iter(choices))
        asked = (encoding or first[0], first[1] if bits is None else bits)
    if asked not in choices:
        have = ", ".join(f"{e} {b}".removesuffix(" 0") for e, b in choices)
        raise ValueError(
            f"save: {kind} has no encoding={encoding!r} with bits_per_sample={bits}; it has {have}"
        )
    return choices[asked]
