"""Zip files with limits: nothing is unpacked that was not measured before."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any

from .common import FileError, as_bytes, fill, read_exactly, size_of

if TYPE_CHECKING:
    from typing import BinaryIO

    from weft import Tensor

__all__ = ["Archive"]

_MOST_MEMBERS = 200_000


class Archive:
    """The stored (not compressed) members of a zip file, each checked against its CRC."""

    def __init__(self, f: BinaryIO, what: str, compressed: bool = False) -> None:
        """Read the list of members; refuse what cannot be right."""
        self.file, self.what, self.size = f, what, size_of(f)
        try:
            with zipfile.ZipFile(f) as z:
                infos = z.infolist()
        except (FileError, MemoryError):
            raise
        except Exception as e:  # zipfile has many ways to fail
            raise FileError(f"{what}: damaged, or cut short: {e or type(e).__name__}") from None
        self.members: dict[str, zipfile.ZipInfo] = {}
        if len(infos) > _MOST_MEMBERS:
            raise FileError(f"{what}: {len(infos)} members, more than {_MOST_MEMBERS}")
        for info in infos:
            self._check(info, compressed)
        total = sum(info.compress_size for info in infos)
        if total > self.size:
            raise FileError(f"{what}: members of {total} bytes overlap in {self.size} bytes")

    def _check(self, info: zipfile.ZipInfo, compressed: bool) -> None:
        name, where = info.filename, f"{self.what}: member {info.filename!r:.200}"
        parts = name.split("/")
        if name.startswith("/") or "\\" in name or "\0" in name or ".." in parts or ":" in parts[0]:
            raise FileError(f"{where}: not a name for a member")
        if name in self.members:
            raise FileError(f"{where}: there twice")
        if info.flag_bits & 0x1:
            raise FileError(f"{where}: encrypted")
        if info.compress_type != zipfile.ZIP_STORED:
            if not compressed or info.compress_type != zipfile.ZIP_DEFLATED:
                raise FileError(f"{where}: compressed, which such files are not")
        elif info.file_size != info.compress_size:
            raise FileError(f"{where}: {info.file_size} bytes, stored in {info.compress_size}")
        if info.header_offset < 0 or info.header_offset + 30 + info.compress_size > self.size:
            raise FileError(f"{where}: {info.compress_size} bytes do not fit into the file")
        self.members[name] = info

    def seek(self, name: str) -> int:
        """Go to where a member's data begin, and return how many bytes they are."""
        info = self.info(name)
        where = f"{self.what}: member {name!r:.200}"
        self.file.seek(info.header_offset)
        head = read_exactly(self.file, 30, where)
        if head[:4] != b"PK\x03\x04":
            raise FileError(f"{where}: no header at {info.header_offset}")
        name_size, extra_size = (int.from_bytes(head[i : i + 2], "little") for i in (26, 28))
        local = read_exactly(self.file, name_size, where)
        if local != info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437"):
            raise FileError(f"{where}: the header at {info.header_offset} has another name")
        self.file.seek(extra_size, 1)
        if self.file.tell() + info.compress_size > self.size:
            raise FileError(f"{where}: {info.compress_size} bytes do not fit into the file")
        return info.compress_size

    def info(self, name: str) -> zipfile.ZipInfo:
        """Return what the list says of a member."""
        if name not in self.members:
            raise FileError(f"{self.what}: no member {name!r:.200}")
        return self.members[name]

    def read(self, name: str, most: int) -> bytes:
        """Return a stored member of at most ``most`` bytes."""
        where = f"{self.what}: member {name!r:.200}"
        size = self.seek(name)
        info = self.info(name)
        if info.file_size > most:
            raise FileError(f"{where}: {info.file_size} bytes, more than {most}")
        data = read_exactly(self.file, size, where)
        self._check_crc(name, zlib.crc32(data))
        return data

    def fill(self, name: str, flat: Tensor) -> None:
        """Read a member into a tensor of the same number of bytes."""
        crc, where = _Crc(), f"{self.what}: member {name!r:.200}"
        size, info = self.seek(name), self.info(name)
        if info.file_size != len(as_bytes(flat)):
            raise FileError(f"{where}: {info.file_size} bytes, expected {len(as_bytes(flat))}")
        source: Any = self.file
        if info.compress_type == zipfile.ZIP_DEFLATED:
            source = _Inflated(self.file, size, where)
        fill(flat, source, where, crc)
        if source is not self.file and not source.at_end():
            raise FileError(f"{where}: decompresses to more than {info.file_size} bytes")
        self._check_crc(name, crc.value)

    def _check_crc(self, name: str, crc: int) -> None:
        if crc != self.info(name).CRC:
            raise FileError(f"{self.what}: member {name!r:.200}: the checksum is wrong")


class _Crc:
    """CRC-32 with the manners of a hash."""

    value = 0

    def update(self, data: Any) -> None:
        self.value = zlib.crc32(data, self.value)


class _Inflated:
    """A compressed member as a file to read from, which is decompressed a piece at a time."""

    def __init__(self, file: BinaryIO, size: int, where: str) -> None:
        self.file, self.left, self.where = file, size, where
        self.inflater, self.rest = zlib.decompressobj(-15), b""

    def read(self, count: int) -> bytes:
        """Return up to ``count`` bytes; none at the end."""
        made = b""
        while not made and not self.inflater.eof:
            if not self.rest:
                part = min(self.left, 1 << 16)
                self.rest = read_exactly(self.file, part, self.where)
                self.left -= part
                if not part:
                    break
            try:
                made = self.inflater.decompress(self.rest, count)
            except zlib.error as e:
                raise FileError(f"{self.where}: damaged: {e}") from None
            self.rest = self.inflater.unconsumed_tail
        return made

    def at_end(self) -> bool:
        """Say whether there is nothing more, and nothing is missing."""
        return not self.read(1) and self.inflater.eof
