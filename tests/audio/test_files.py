"""Sound files: written by Python's ``wave`` and read by weft, and the other way round."""

from __future__ import annotations

import io
import os
import struct
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft import audio


def write_wav(path: Path, samples: Any, rate: int = 8000) -> None:
    """A file by the standard library: samples (frames, channels) of int16, int32 or uint8."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(samples.dtype.itemsize)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())


def read_wav(path: Path) -> tuple[bytes, tuple[int, int, int, int]]:
    """What the standard library reads: bytes, channels, width, rate, frames."""
    with wave.open(str(path), "rb") as file:
        p = file.getparams()
        return file.readframes(p.nframes), (p.nchannels, p.sampwidth, p.framerate, p.nframes)


def noise(kind: str, channels: int = 2, frames: int = 100) -> Any:
    """Samples over the whole range of a dtype."""
    limits = np.iinfo(kind)
    rng = np.random.default_rng(0)
    return rng.integers(limits.min, limits.max, (frames, channels), kind, endpoint=True)


SCALES = {"int16": (2.0**15, 0), "int32": (2.0**31, 0), "uint8": (2.0**7, 128)}


@pytest.mark.parametrize("kind", SCALES)
def test_load_what_wave_wrote(tmp_path: Path, kind: str) -> None:
    """As floats from -1 to 1, and as they are."""
    samples, path = noise(kind), tmp_path / "a.wav"
    write_wav(path, samples, 11025)
    floats, rate = audio.load(path)
    scale, middle = SCALES[kind]
    assert rate == 11025 and floats.dtype == weft.float32 and floats.shape == (2, 100)
    np.testing.assert_allclose(
        floats.numpy(), (samples.astype(float).T - middle) / scale, atol=1e-7
    )
    whole, _ = audio.load(str(path), normalize=False, channels_first=False)
    assert str(whole.dtype) == f"torch.{kind}" or str(whole.dtype).endswith(kind)
    np.testing.assert_array_equal(whole.numpy(), samples)


@pytest.mark.parametrize("kind", SCALES)
def test_wave_reads_what_was_saved(tmp_path: Path, kind: str) -> None:
    """Whole numbers keep their width and their bytes."""
    samples, path = noise(kind, 3), tmp_path / "a.wav"
    audio.save(path, weft.tensor(samples.T.copy()), 22050)
    data, (channels, width, rate, frames) = read_wav(path)
    assert (channels, width, rate, frames) == (3, samples.dtype.itemsize, 22050, 100)
    assert data == samples.tobytes()


def test_save_floats_as_16_bits(tmp_path: Path) -> None:
    """Scaled by 2^15, and cut at the ends of the range."""
    path = tmp_path / "a.wav"
    x = weft.tensor([[0.0, 0.5, -1.0, 2.0, -3.0]])
    audio.save(path, x, 8000, encoding="PCM_S", bits_per_sample=16)
    data, (_, width, _, _) = read_wav(path)
    assert width == 2 and list(struct.unpack("<5h", data)) == [0, 16384, -32768, 32767, -32768]


@pytest.mark.parametrize(
    ("arguments", "encoding", "bits", "error"),
    [
        ({}, "PCM_F", 32, 0.0),
        ({"encoding": "PCM_F", "bits_per_sample": 64}, "PCM_F", 64, 0.0),
        ({"bits_per_sample": 8}, "PCM_U", 8, 2**-7),
        ({"bits_per_sample": 24}, "PCM_S", 24, 2**-22),
        ({"encoding": "PCM_S"}, "PCM_S", 16, 2**-14),
        ({"encoding": "PCM_S", "bits_per_sample": 32}, "PCM_S", 32, 2**-22),
        ({"encoding": "ULAW"}, "ULAW", 8, 0.04),
        ({"encoding": "ALAW"}, "ALAW", 8, 0.04),
        ({"format": "flac"}, "FLAC", 16, 2**-14),
        ({"format": "flac", "bits_per_sample": 24}, "FLAC", 24, 2**-22),
        ({"format": "ogg"}, "VORBIS", 0, 0.1),
        ({"format": "mp3"}, "MP3", 0, 0.2),
    ],
)
def test_round_trips(arguments: dict[str, Any], encoding: str, bits: int, error: float) -> None:
    """Every encoding, through a file in memory: what it says of itself, and its samples."""
    x = 0.5 * weft.sin(weft.arange(8000) * (2 * np.pi * 440 / 16000)).expand(2, -1)
    file = io.BytesIO()
    audio.save(file, x, 16000, **{"format": "wav", **arguments})
    file.seek(0)
    told = audio.info(file)
    assert (told.sample_rate, told.num_channels) == (16000, 2)
    assert (told.encoding, told.bits_per_sample) == (encoding, bits)
    file.seek(0)
    y, rate = audio.load(file)
    assert rate == 16000 and y.shape[0] == 2
    if encoding != "MP3":  # which adds silence at both ends
        assert told.num_frames == y.shape[1] == 8000
        assert float((x - y).abs().max()) <= error
    else:
        assert y.shape[1] >= 8000 and float(y.abs().max()) == pytest.approx(0.5, abs=error)


def test_parts(tmp_path: Path) -> None:
    """Frames from the middle, beyond the end, and none."""
    samples, path = noise("int16", 1, 50), tmp_path / "a.wav"
    write_wav(path, samples)
    part, _ = audio.load(path, frame_offset=10, num_frames=5, normalize=False)
    np.testing.assert_array_equal(part[0].numpy(), samples[10:15, 0])
    part, _ = audio.load(path, frame_offset=45, num_frames=500, normalize=False)
    np.testing.assert_array_equal(part[0].numpy(), samples[45:, 0])
    assert audio.load(path, frame_offset=99)[0].shape == (1, 0)
    for wrong in ({"frame_offset": -1}, {"num_frames": 0}, {"num_frames": -2}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            audio.load(path, **wrong)


def test_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is read in several parts is whole."""
    file, x = io.BytesIO(), weft.rand(2, 1000)
    audio.save(file, x, 8000, format="wav")
    file.seek(0)
    monkeypatch.setattr("weft.audio.files._BLOCK", 64)
    assert weft.equal(audio.load(file)[0], x)


# ---- files that are none ------------------------------------------------------------------------


def wav_bytes(frames: int = 1000) -> bytes:
    """A good file."""
    file = io.BytesIO()
    audio.save(file, weft.zeros(1, frames, dtype=weft.int16), 8000, format="wav")
    return file.getvalue()


@pytest.mark.parametrize("read", [audio.load, audio.info])
def test_missing_empty_and_foreign_files(tmp_path: Path, read: Any) -> None:
    """Errors of their kind, which name the file."""
    with pytest.raises(FileNotFoundError, match=r"none\.wav"):
        read(tmp_path / "none.wav")
    with pytest.raises(IsADirectoryError, match="directory"):
        read(tmp_path)
    for content, message in (
        (b"", "empty"), (b"no sound" * 20, "cannot be read"), (wav_bytes()[:30], "cannot be read"),
        (b"RIFF" + b"\xff" * 100, "cannot be read"), (os.urandom(2000), "cannot be read"),
    ):  # fmt: skip
        path = tmp_path / "bad.wav"
        path.write_bytes(content)
        with pytest.raises(RuntimeError, match=f"bad.wav.*{message}"):
            read(path)
    with pytest.raises(TypeError, match="int"):
        read(5)


@pytest.mark.parametrize("left", [44, 45, 100, 1043])
def test_cut_wav(tmp_path: Path, left: int) -> None:
    """A file that is shorter than its header tells is not taken for a short sound."""
    path = tmp_path / "cut.wav"
    path.write_bytes(wav_bytes()[:left])
    with pytest.raises(RuntimeError, match=r"cut\.wav.* cut off.*2000 bytes"):
        audio.load(path)


def test_streamed_wav(tmp_path: Path) -> None:
    """A writer that did not know the length left the largest number: what is there is read."""
    data = bytearray(wav_bytes())
    data[4:8] = data[40:44] = b"\xff" * 4
    path = tmp_path / "streamed.wav"
    path.write_bytes(data)
    assert audio.load(path)[0].shape == (1, 1000)


def test_cut_flac(tmp_path: Path) -> None:
    """The decoder notices, or the frames are counted."""
    path = tmp_path / "cut.flac"
    audio.save(path, weft.rand(1, 100_000) - 0.5, 8000)
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(RuntimeError, match="cut"):
        audio.load(path)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_raise_or_load(tmp_path: Path, seed: int) -> None:
    """Random bytes in a header: an error of Python, or a sound; never a crash or a huge array."""
    rng = np.random.default_rng(seed)
    data = bytearray(wav_bytes())
    for _ in range(4):
        data[int(rng.integers(0, 44))] = int(rng.integers(0, 256))
    path = tmp_path / "damaged.wav"
    path.write_bytes(data)
    try:
        x, rate = audio.load(path)
    except (RuntimeError, ValueError):
        return
    assert x.numel() <= 16_000 and rate > 0


def test_format_is_checked(tmp_path: Path) -> None:
    """A file of another format than was asked for is refused."""
    path = tmp_path / "a.wav"
    path.write_bytes(wav_bytes())
    assert audio.load(path, format="wav")[1] == 8000
    with pytest.raises(ValueError, match="WAV, not flac"):
        audio.load(path, format="flac")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"src": weft.zeros(5)}, ValueError, "two dimensions"),
        ({"src": weft.zeros(1, 5, dtype=weft.int64)}, ValueError, "int64"),
        ({"sample_rate": 0}, ValueError, "positive"),
        ({"sample_rate": 8000.5}, ValueError, "positive"),
        ({"format": "aiff2"}, ValueError, "aiff2"),
        ({"encoding": "PCM_S", "bits_per_sample": 12}, ValueError, "bits_per_sample=12"),
        ({"format": "flac", "encoding": "PCM_F"}, ValueError, "flac"),
        ({"format": None}, ValueError, "format"),
        ({"compression": 3}, NotImplementedError, "compression"),
        ({"backend": "sox"}, NotImplementedError, "sox"),
        ({"buffer_size": 1}, NotImplementedError, "buffer_size"),
        ({"format": "mp3", "sample_rate": 7}, RuntimeError, "7 Hz"),
    ],
)
def test_save_refuses(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    """What cannot be written, by the name of the argument."""
    given = {"src": weft.zeros(1, 5), "sample_rate": 8000, "format": "wav", **arguments}
    with pytest.raises(error, match=message):
        audio.save(io.BytesIO(), **given)


def test_failed_save_keeps_the_old_file(tmp_path: Path) -> None:
    """All or nothing."""
    path = tmp_path / "a.mp3"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError):
        audio.save(path, weft.zeros(1, 5), 7)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.mp3"]


def test_without_soundfile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error names the extra to install."""
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(ImportError, match=r"weft\[audio\]"):
        audio.load(tmp_path / "a.wav")
