"""Files fetched from a server of this machine: whole and checked, or not at all."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.server
import io
import os
import socket
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from vision.image_files import cifar10, idx, mnist

from weft.serialization.common import FileError
from weft.vision import datasets
from weft.vision.datasets.utils import (
    check_integrity,
    download_and_extract_archive,
    download_url,
    extract_archive,
)


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


class Server:
    """A server with files; ``cut`` ends an answer early, ``moved`` sends on, ``asked`` counts."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut: dict[str, int] = {}
        self.moved: dict[str, str] = {}
        self.asked: list[str] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                if self.path in outer.moved:
                    self.send_response(302)
                    self.send_header("Location", outer.moved[self.path])
                    self.end_headers()
                elif self.path not in outer.files:
                    self.send_error(404)
                else:
                    data = outer.files[self.path]
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data[: outer.cut.get(self.path, len(data))])

            def log_message(self, *args: object) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A running server, reached without a proxy."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Server()
    thread = threading.Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()


def closed_port() -> int:
    with contextlib.closing(socket.socket()) as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def test_download_writes_the_file(server: Server, tmp_path: Path) -> None:
    """It is fetched once; with another checksum, again."""
    server.files["/a.bin"] = data = os.urandom(3_000_000)
    for _ in range(2):
        download_url(server.url + "/a.bin", tmp_path / "deep" / "er", md5=md5(data))
    assert (tmp_path / "deep/er/a.bin").read_bytes() == data
    assert server.asked == ["/a.bin"]
    (tmp_path / "deep/er/a.bin").write_bytes(b"damaged")
    download_url(server.url + "/a.bin", tmp_path / "deep" / "er", "a.bin", md5(data))
    assert check_integrity(tmp_path / "deep/er/a.bin", md5(data))


def test_wrong_checksum_leaves_nothing(server: Server, tmp_path: Path) -> None:
    """The error names URL, both checksums and the place of the file."""
    server.files["/a.bin"] = b"not what was published"
    with pytest.raises(RuntimeError) as e:
        download_url(server.url + "/a.bin", tmp_path, md5="0" * 32)
    message = str(e.value)
    for part in (
        server.url + "/a.bin",
        md5(server.files["/a.bin"]),
        "0" * 32,
        str(tmp_path / "a.bin"),
    ):
        assert part in message
    assert os.listdir(tmp_path) == []


def test_interrupted_download_leaves_nothing(server: Server, tmp_path: Path) -> None:
    """A connection that ends early; an older file stays."""
    server.files["/a.bin"], server.cut["/a.bin"] = os.urandom(2_500_000), 1_200_000
    with pytest.raises(RuntimeError, match=r"interrupted after 1200000 of 2500000 bytes"):
        download_url(server.url + "/a.bin", tmp_path)
    assert os.listdir(tmp_path) == []
    (tmp_path / "a.bin").write_bytes(b"old")
    with pytest.raises(RuntimeError, match="interrupted"):
        download_url(server.url + "/a.bin", tmp_path, md5="0" * 32)
    assert os.listdir(tmp_path) == ["a.bin"] and (tmp_path / "a.bin").read_bytes() == b"old"


def test_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network the error says which URL, why, and where to put the file by hand."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    url = f"http://127.0.0.1:{closed_port()}/a.gz"
    with pytest.raises(RuntimeError, match=r"[Cc]onnection refused") as e:
        download_url(url, tmp_path, md5="ab" * 16)
    assert url in str(e.value) and f"put it at {tmp_path / 'a.gz'}" in str(e.value)
    assert "ab" * 16 in str(e.value)


def test_mirrors_are_tried_in_turn(server: Server, tmp_path: Path) -> None:
    """The first that has the file; all causes, if none has."""
    server.files["/two/a"] = b"data"
    download_url([server.url + "/one/a", server.url + "/two/a"], tmp_path)
    assert (tmp_path / "a").read_bytes() == b"data"
    with pytest.raises(RuntimeError, match=r"(?s)/one/b: .*404.*/two/b: .*404"):
        download_url([server.url + "/one/b", server.url + "/two/b"], tmp_path)


def test_redirects_are_limited(server: Server, tmp_path: Path) -> None:
    """A few are followed; a circle ends."""
    server.files["/a"] = b"data"
    server.moved = {"/b": "/a", "/c": "/b", "/round": "/round"}
    download_url(server.url + "/c", tmp_path)
    assert (tmp_path / "c").read_bytes() == b"data"
    with pytest.raises(RuntimeError, match="/round"):
        download_url(server.url + "/round", tmp_path)
    with pytest.raises(RuntimeError, match="302"):
        download_url(server.url + "/c", tmp_path / "d", max_redirect_hops=1)


def test_the_bar_shows_progress(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name of the file and all of it."""
    server.files["/a.bin"] = bytes(100)
    download_url(server.url + "/a.bin", tmp_path)
    err = capsys.readouterr().err
    assert "a.bin" in err and "100%" in err


def test_mnist_download(server: Server, tmp_path: Path) -> None:
    """Four packed files are fetched, checked and unpacked; a second time nothing is asked for."""
    images = mnist(tmp_path / "source", packed=True)
    found = []
    for path in sorted((tmp_path / "source/MNIST/raw").iterdir()):
        server.files[f"/m/{path.name}"] = path.read_bytes()
        found.append((path.name, md5(path.read_bytes())))

    class Small(datasets.MNIST):
        mirrors = [server.url + "/gone/", server.url + "/m/"]  # noqa: RUF012
        resources = found

    data = Small(tmp_path, download=True)
    np.testing.assert_array_equal(data.data.numpy(), images)
    assert len(server.asked) == 8
    assert len(Small(tmp_path, train=False, download=True)) == 3
    assert len(server.asked) == 8
    raw = tmp_path / "Small/raw"
    assert (raw / "train-images-idx3-ubyte").read_bytes() == idx(images)
    (raw / "train-images-idx3-ubyte").unlink()  # the packed one is still there, and whole
    assert len(Small(tmp_path, download=True)) == 7 and len(server.asked) == 8


def test_emnist_download(server: Server, tmp_path: Path) -> None:
    """One archive with packed files in a folder."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for part in ("train", "test"):
            images = gzip.compress(idx(np.zeros((2, 28, 28), np.uint8)))
            labels = gzip.compress(idx(np.array([3, 4], np.uint8)))
            z.writestr(f"gzip/emnist-digits-{part}-images-idx3-ubyte.gz", images)
            z.writestr(f"gzip/emnist-digits-{part}-labels-idx1-ubyte.gz", labels)
    server.files["/gzip.zip"] = out.getvalue()

    class Small(datasets.EMNIST):
        url = server.url + "/gzip.zip"
        md5 = md5(out.getvalue())

    assert Small(tmp_path, "digits", train=False, download=True).targets.tolist() == [3, 4]
    assert Small(tmp_path, "digits", download=True).classes[3] == "3"
    assert server.asked == ["/gzip.zip"]


def test_cifar_download(server: Server, tmp_path: Path) -> None:
    """An archive is fetched and unpacked; a damaged batch is mended by a new download."""
    (tmp_path / "source").mkdir()
    rows = cifar10(tmp_path / "source")
    folder = tmp_path / "source/cifar-10-batches-py"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        tar.add(folder, "cifar-10-batches-py")
    server.files["/c.tar.gz"] = out.getvalue()

    def listed(*names: str) -> list[list[str]]:
        return [[name, md5((folder / name).read_bytes())] for name in names]

    class Small(datasets.CIFAR10):
        url = server.url + "/c.tar.gz"
        tgz_md5 = md5(out.getvalue())
        train_list = listed(*(f"data_batch_{i}" for i in range(1, 6)))
        test_list = listed("test_batch")
        meta = datasets.CIFAR10.meta | {"md5": listed("batches.meta")[0][1]}

    data = Small(tmp_path, download=True)
    assert len(data) == len(rows) and len(server.asked) == 1
    batch = tmp_path / "cifar-10-batches-py/data_batch_1"
    batch.write_bytes(batch.read_bytes()[:50])
    with pytest.raises(FileError, match="data_batch_1"):
        Small(tmp_path)
    assert len(Small(tmp_path, download=True)) == 20
    assert len(server.asked) == 1  # the archive was still there, and whole


# ---- archives -------------------------------------------------------------------------------------


def tar_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def test_archives_are_unpacked(server: Server, tmp_path: Path) -> None:
    """tar.gz and zip with folders, gz with one file."""
    tar_of(tmp_path / "a.tar.gz", (tarfile.TarInfo("d/e/f.txt"), b"tar"))
    assert extract_archive(tmp_path / "a.tar.gz", tmp_path / "out") == str(tmp_path / "out")
    assert (tmp_path / "out/d/e/f.txt").read_bytes() == b"tar"
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as z:
        z.writestr("g/h.txt", "zip")
        z.writestr("empty/", "")
    extract_archive(tmp_path / "a.zip", remove_finished=True)
    assert (tmp_path / "g/h.txt").read_bytes() == b"zip" and (tmp_path / "empty").is_dir()
    assert not (tmp_path / "a.zip").exists()
    server.files["/i.txt.gz"] = gzip.compress(b"gz")
    download_and_extract_archive(server.url + "/i.txt.gz", tmp_path)
    assert (tmp_path / "i.txt").read_bytes() == b"gz"


@pytest.mark.parametrize(
    "name", ["../out.txt", "/tmp/out.txt", "a/../../out.txt", "a\\..\\b", "c:x"]
)
def test_archives_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    """A path that leads outside is refused, in tar and in zip."""
    (tmp_path / "in").mkdir()
    tar = tar_of(tmp_path / "a.tar.gz", (tarfile.TarInfo(name), b"harm"))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as z:
        z.writestr(name, "harm")
    for archive in (tar, tmp_path / "a.zip"):
        with pytest.raises(FileError, match="outside"):
            extract_archive(archive, tmp_path / "in")
    assert os.listdir(tmp_path / "in") == [] and not (tmp_path / "out.txt").exists()


def test_links_and_damage_are_refused(tmp_path: Path) -> None:
    """A link in a tar; archives that are cut; files that are none."""
    link = tarfile.TarInfo("a")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with pytest.raises(FileError, match="'a' is a link"):
        extract_archive(tar_of(tmp_path / "l.tar.gz", (link, b"")), tmp_path / "in")
    whole = tar_of(tmp_path / "w.tar.gz", (tarfile.TarInfo("a"), os.urandom(100_000)))
    (tmp_path / "c.tar.gz").write_bytes(whole.read_bytes()[:50_000])
    with pytest.raises(FileError, match=r"c\.tar\.gz: damaged archive"):
        extract_archive(tmp_path / "c.tar.gz", tmp_path / "in")
    assert not (tmp_path / "in/a").exists()
    (tmp_path / "n.txt").write_text("nothing")
    with pytest.raises(FileError, match="not an archive"):
        extract_archive(tmp_path / "n.txt")
    (tmp_path / "n.gz").write_text("nothing")
    with pytest.raises(FileError, match=r"n\.gz: damaged"):
        extract_archive(tmp_path / "n.gz")
