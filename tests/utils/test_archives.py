"""Archives that are too large, damaged or odd; checksums; where fetched files go."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from weft.serialization import FileError
from weft.utils.download import check_file, checksum, download_url, extract_archive, fetch


def zip_of(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in members.items():
            z.writestr(name, data)
    return path


def test_an_archive_may_not_fill_the_disk(tmp_path: Path) -> None:
    """Bytes and members are counted over all files; what is too much leaves no file."""
    path = zip_of(tmp_path / "a.zip", one=bytes(3000), two=bytes(3000))
    with pytest.raises(FileError, match=r"a\.zip: unpacks to more than 5000 bytes \(max_bytes\)"):
        extract_archive(path, tmp_path / "x", max_bytes=5000)
    assert os.listdir(tmp_path / "x") == ["one"]
    with pytest.raises(FileError, match=r"more than 1 files and folders \(max_files\)"):
        extract_archive(path, tmp_path / "y", max_files=1)
    assert len(extract_archive(path, tmp_path / "z", max_bytes=6000, max_files=2)) == 2
    (tmp_path / "b.gz").write_bytes(gzip.compress(bytes(5001)))
    with pytest.raises(FileError, match="max_bytes"):
        extract_archive(tmp_path / "b.gz", max_bytes=5000)
    assert not (tmp_path / "b").exists()


def test_the_default_limit_grows_with_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousandfold growth is refused, an ordinary one is not."""
    monkeypatch.setattr("weft.utils.download._ROOM", 10_000)
    with pytest.raises(FileError, match="unpacks to more than"):
        extract_archive(zip_of(tmp_path / "bomb.zip", a=bytes(3_000_000)))
    assert extract_archive(zip_of(tmp_path / "plain.zip", b=os.urandom(20_000)))


@pytest.mark.parametrize("kind", ["zip", "gz"])
def test_refused_archives_are_closed(kind: str, tmp_path: Path) -> None:
    """At once: not when the error, which knows where it was raised, is gone."""
    path = tmp_path / f"a:b.{kind}"
    if kind == "zip":
        zip_of(path, **{"a:b": b"data"})
    else:
        path.write_bytes(gzip.compress(b"data"))
    opened = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileError, match="outside of"):
        extract_archive(path)
    try:
        extract_archive(path)
    except FileError as e:
        assert e.__traceback__ is not None and len(os.listdir("/proc/self/fd")) == opened


def test_files_that_are_there_stay(tmp_path: Path) -> None:
    """Unless they are to be overwritten."""
    path = zip_of(tmp_path / "a.zip", note=b"new")
    (tmp_path / "note").write_text("mine")
    assert extract_archive(path) == [str(tmp_path / "note")]
    assert (tmp_path / "note").read_text() == "mine"
    extract_archive(path, overwrite=True)
    assert (tmp_path / "note").read_text() == "new"


def test_the_name_tells_gz_from_tar(tmp_path: Path) -> None:
    """Zeros in gzip look like an empty tar archive, and are a file."""
    (tmp_path / "zeros.gz").write_bytes(gzip.compress(bytes(20_000)))
    assert extract_archive(tmp_path / "zeros.gz") == [str(tmp_path / "zeros")]
    assert (tmp_path / "zeros").read_bytes() == bytes(20_000)


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tar.bz2", "tar.xz", "zip", "gz"])
def test_damage_is_told(tmp_path: Path, kind: str) -> None:
    """Whatever bytes change: it unpacks, or the error is about this file; never another error."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        info = tarfile.TarInfo("d/a")
        info.size = 600
        tar.addfile(info, io.BytesIO(random.Random(1).randbytes(600)))
    packed = {
        "tar": bytes,
        "tar.gz": gzip.compress,
        "tar.bz2": bz2.compress,
        "tar.xz": lzma.compress,
    }
    if kind == "zip":
        whole = zip_of(tmp_path / "w.zip", a=b"a" * 300, b=os.urandom(100)).read_bytes()
    else:
        whole = packed.get(kind, gzip.compress)(plain.getvalue())
    damaged = tmp_path / f"damaged.{kind}"
    rng, refused = random.Random(0), 0
    for i in range(60):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        damaged.write_bytes(data if i % 2 else data[: rng.randrange(len(data))])
        try:
            extract_archive(damaged, tmp_path / "to", overwrite=True)
        except FileError as e:
            refused += 1
            assert str(damaged) in str(e)
        except (IsADirectoryError, NotADirectoryError):
            pass  # a name in it changed to that of a folder
    assert refused >= 10


def test_a_password_is_told(tmp_path: Path) -> None:
    """An encrypted member."""
    data = bytearray(zip_of(tmp_path / "a.zip", a=b"secret").read_bytes())
    data[6] |= 1  # the flag, in the member and in the list of members
    data[data.index(b"PK\1\2") + 8] |= 1
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(FileError, match="password"):
        extract_archive(tmp_path / "a.zip")


def test_checksums(tmp_path: Path) -> None:
    """Both must fit; of SHA-256 the first digits are enough."""
    path = tmp_path / "a"
    path.write_bytes(b"hello")
    md5, sha = checksum(path), checksum(path, "sha256")
    assert md5 == "5d41402abc4b2a76b9719d911017c592" and sha.startswith("2cf24dba")
    assert check_file(path, md5.upper(), sha) and check_file(path, sha256=sha[:8])
    assert not check_file(path, md5[:8]) and not check_file(path, md5, "00")
    assert not check_file(tmp_path / "b")


def test_fetch_checks_all_and_makes_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong checksum of either rule leaves the old file; the bar can be switched off."""
    (tmp_path / "a").write_bytes(b"hello")
    url, to = (tmp_path / "a").as_uri(), tmp_path / "deep" / "b"
    fetch(url, to, checksum(tmp_path / "a"), "2cf24dba", progress=False)
    assert to.read_bytes() == b"hello" and capsys.readouterr().err == ""
    (tmp_path / "a").write_bytes(b"other")
    with pytest.raises(
        RuntimeError, match=f"invalid hash value.*expected 2cf24dba.*put it at {to}"
    ):
        fetch(url, to, sha256="2cf24dba")
    assert to.read_bytes() == b"hello"


def test_names_of_urls(tmp_path: Path) -> None:
    """What follows a question mark is no part of the name; a URL without one needs filename=."""
    (tmp_path / "a b").write_bytes(b"hello")
    path = download_url((tmp_path / "a b").as_uri(), tmp_path / "to", progress=False)
    assert path == str(tmp_path / "to" / "a b")
    (tmp_path / "c").write_bytes(b"here")
    assert download_url("https://example.com/x/c?raw=1", tmp_path) == str(tmp_path / "c")
    with pytest.raises(ValueError, match="give filename="):
        download_url("https://example.com/", tmp_path)
    with pytest.raises(ValueError, match="at least one URL"):
        download_url([], tmp_path)
