"""Messages of a loader and its workers: small ones through a socket, large ones in shared memory.

The memory of tensors and arrays is not pickled: it goes into a file without a name (``memfd``),
whose descriptor is sent. The receiver maps it, so what arrives lies where the worker wrote it, and
is given back when the last tensor on it is gone. As there is no name, nothing can be left behind.
"""

from __future__ import annotations

import array
import errno
import mmap
import os
import pickle
import resource
import select
import socket
import struct
import sys
from collections import deque
from typing import Any

FILE_FROM = 32768  # bytes of tensors from which on a file is quicker than the socket
ALIGNED = 64
RECEIVED_AT_ONCE = 1 << 18
_HEADER = struct.Struct("<BBIQQQQ")  # kind, in a file, epoch, serial, sizes, pickle, memory
_NO_FILE = (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.ENOMEM, errno.ETOOMANYREFS)


class Message:
    """What was sent, still pickled: its kind, the epoch and the serial number it belongs to."""

    __slots__ = ("_buffers", "_pickled", "epoch", "kind", "serial")

    def __init__(self, kind: int, epoch: int, serial: int, pickled: Any, buffers: Any) -> None:
        self.kind, self.epoch, self.serial = kind, epoch, serial
        self._pickled, self._buffers = pickled, buffers

    def load(self) -> Any:
        """Return the content."""
        return pickle.loads(self._pickled, buffers=self._buffers)


class Channel:
    """One end of a pair of sockets."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._received = bytearray()
        self._files: deque[int] = deque()
        self._to_send: deque[tuple[memoryview, list[int]]] = deque()

    def fileno(self) -> int:
        """Return the descriptor, to wait for."""
        return self.socket.fileno()

    def close(self) -> None:
        """End the conversation, also if another process has this end by a fork."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other end was first
        self.socket.close()
        while self._files:
            os.close(self._files.popleft())

    # ---- sending --------------------------------------------------------------------------------

    def send(self, kind: int, epoch: int, serial: int, content: Any) -> None:
        """Send a message, and wait until it is on its way."""
        head, memory, file = _packed(kind, epoch, serial, content, True)
        if file is not None:
            try:
                sent = self._send_some(memoryview(head), [file], 0)
            except OSError as e:
                if e.errno not in _NO_FILE:
                    raise
                head, memory, _ = _packed(kind, epoch, serial, content, False)
                sent = 0
            finally:
                os.close(file)
            head = head[sent:]
        for piece in (head, *memory):
            self.socket.sendall(piece)

    def post(self, kind: int, epoch: int, serial: int, content: Any) -> None:
        """Send a message as far as that needs no waiting; ``flush`` sends the rest."""
        head, memory, _ = _packed(kind, epoch, serial, content, False)
        self._to_send.extend((memoryview(piece).cast("B"), []) for piece in (head, *memory))
        self.flush()

    def flush(self) -> bool:
        """Send what is left, without waiting; return whether all is sent."""
        while self._to_send:
            piece, files = self._to_send[0]
            try:
                sent = self._send_some(piece, files, socket.MSG_DONTWAIT)
            except (BlockingIOError, InterruptedError):
                return False
            if sent == len(piece):
                self._to_send.popleft()
            else:
                self._to_send[0] = (piece[sent:], [])
        return True

    def _send_some(self, piece: memoryview, files: list[int], flags: int) -> int:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        return self.socket.sendmsg([piece], rights, flags)

    # ---- receiving ------------------------------------------------------------------------------

    def wait(self) -> None:
        """Wait until there is something to receive."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        poll.poll()

    def receive(self) -> list[Message]:
        """Return what has arrived, without waiting; raise EOFError if the other end is closed."""
        messages: list[Message] = []
        while True:
            try:
                data, rights, flags, _ = self.socket.recvmsg(
                    RECEIVED_AT_ONCE,
                    socket.CMSG_SPACE(64),
                    socket.MSG_DONTWAIT | getattr(socket, "MSG_CMSG_CLOEXEC", 0),
                )
            except (BlockingIOError, InterruptedError):
                return messages
            except ConnectionError:
                data, rights, flags = b"", [], 0
            for _, _, descriptors in rights:
                whole = len(descriptors) - len(descriptors) % array.array("i").itemsize
                self._files.extend(array.array("i", descriptors[:whole]))
            if flags & socket.MSG_CTRUNC:
                raise OSError(
                    errno.EMFILE,
                    "DataLoader: too many open files to receive a batch from a worker; raise the "
                    f"limit (ulimit -n), which is {_most_files()}",
                )
            if not data:
                if messages:
                    return messages  # and the end the next time
                raise EOFError
            self._received += data
            while (message := self._next()) is not None:
                messages.append(message)

    def _next(self) -> Message | None:
        """The first message, if all of it is there."""
        received = self._received
        if len(received) < _HEADER.size:
            return None
        kind, in_file, epoch, serial, count, pickled, inline = _HEADER.unpack_from(received)
        sizes_end = _HEADER.size + 8 * count
        pickle_end = sizes_end + pickled
        end = pickle_end + (0 if in_file else inline)
        if len(received) < end:
            return None
        sizes = struct.unpack_from(f"<{count}Q", received, _HEADER.size)
        content = bytes(received[sizes_end:pickle_end])
        memory: Any = received[pickle_end:end]
        del received[:end]
        if in_file:
            memory = _mapped(self._files.popleft(), inline)
        whole, buffers, begin = memoryview(memory), [], 0
        for size in sizes:
            buffers.append(whole[begin : begin + size])
            begin = _aligned(begin + size)
        return Message(kind, epoch, serial, content, buffers)


def _aligned(n: int) -> int:
    return -(-n // ALIGNED) * ALIGNED


def _packed(
    kind: int, epoch: int, serial: int, content: Any, may_use_file: bool
) -> tuple[bytes, list[Any], int | None]:
    """A message as its head, the memory that follows it, and the file with that memory, if any."""
    taken: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(content, 5, buffer_callback=taken.append)
    buffers = [b.raw() for b in taken]
    sizes = [len(b) for b in buffers]
    total = sum(map(_aligned, sizes))
    file = _written(buffers) if may_use_file and total >= FILE_FROM else None
    memory: list[Any] = []
    if file is None:
        for b in buffers:
            memory += [b, bytes(_aligned(len(b)) - len(b))]
    head = _HEADER.pack(kind, file is not None, epoch, serial, len(sizes), len(pickled), total)
    return head + struct.pack(f"<{len(sizes)}Q", *sizes) + pickled, [m for m in memory if m], file


def _written(buffers: list[memoryview]) -> int | None:
    """A file in memory with these contents; None if the system has none, or no room for it."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        file = os.memfd_create("weft-batch")
    except OSError as e:
        if e.errno in _NO_FILE:
            return None
        raise
    try:
        begin = 0
        for b in buffers:
            done = 0
            while done < len(b):  # by write, which fails for lack of room; a mapping would crash
                done += os.pwrite(file, b[done:], begin + done)
            begin = _aligned(begin + len(b))
        os.ftruncate(file, begin)
    except OSError as e:
        os.close(file)
        if e.errno in _NO_FILE:
            return None
        raise
    return file


def _mapped(file: int, size: int) -> Any:
    """The memory of a file, which is closed."""
    flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
    try:
        if sys.version_info >= (3, 13):
            return mmap.mmap(file, size, flags, trackfd=False)
        if _files_are_plenty(file):  # a mapping keeps a descriptor open
            return mmap.mmap(file, size, flags)
        memory = bytearray(size)
        done = 0
        while done < size:
            done += os.preadv(file, [memoryview(memory)[done:]], done)
        return memory
    finally:
        os.close(file)


def _files_are_plenty(file: int) -> bool:
    """Whether less than half of the descriptors are in use; the smallest free one tells."""
    try:
        free = os.dup(file)
    except OSError:
        return False
    os.close(free)
    return free < _most_files() // 2


def _most_files() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
