"""Stores: keys and values that several processes of one machine share, by which they find each other.

A store holds bytes and never runs what it holds: nothing is unpickled. ``TCPStore`` listens on the
loopback address only.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import threading
import time
import weakref
from datetime import timedelta

from .work import DistError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    Closable = TypeVar("Closable", bound=Any)

__all__ = ["DistStoreError", "FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]

_MAGIC, _REFUSED = b"weft store 1", b"weft refuses"
_LENGTH = struct.Struct("<I")
_LONGEST = 1 << 24  # bytes of one request
_HELLO = 10.0  # seconds that a stranger has to say who it is


class DistStoreError(DistError):
    """A store could not be reached, or a key did not come in time.

    >>> issubclass(weft.distributed.DistStoreError, weft.distributed.DistError)
    True
    """


class Table(dict[bytes, bytes]):
    """The contents of a store, and what each request does with them."""

    def apply(self, op: str, key: bytes, *values: bytes) -> bytes:
        """Do what is asked; return the answer."""
        if op == "set":
            self[key] = values[0]
        elif op == "get":
            return self[key]
        elif op == "add":
            self[key] = b"%d" % (int(self.get(key, b"0")) + int(values[0]))
            return self[key]
        elif op == "check":
            return b"1" if all(k in self for k in (key, *values)) else b""
        elif op == "delete":
            return b"" if self.pop(key, None) is None else b"1"
        elif op == "compare":
            if self.get(key, b"") == values[0]:
                self[key] = values[1]
            return self.get(key, values[0])
        elif op == "count":
            return b"%d" % len(self)
        elif op == "join":
            pass  # what a server remembers; others do not see who ends
        else:
            raise ValueError(f"a store does not know {op!r}")
        return b""


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class Store:
    """Keys and values between processes; see ``TCPStore``, ``FileStore`` and ``HashStore``.

    >>> store = weft.distributed.HashStore()
    >>> store.set("name", "weft")
    >>> store.get("name")
    b'weft'
    """

    def __init__(self) -> None:
        """Wait five minutes for a key, unless ``set_timeout`` says otherwise."""
        self.timeout = timedelta(minutes=5)
        self.meetings = 0  # how many groups have met here

    def ask(self, op: str, key: bytes, *values: bytes) -> bytes:
        """Do one thing with the contents; subclasses say where they are."""
        raise NotImplementedError(f"{type(self).__name__} holds nothing")

    def set_timeout(self, timeout: timedelta) -> None:
        """Say how long ``get`` and ``wait`` wait.

        >>> import datetime
        >>> weft.distributed.HashStore().set_timeout(datetime.timedelta(seconds=1))
        """
        self.timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Put a value under a key.

        >>> weft.distributed.HashStore().set("a", b"1")
        """
        self.ask("set", _bytes(key), _bytes(value))

    def get(self, key: str) -> bytes:
        """Return the value of a key, once it is there.

        >>> store = weft.distributed.HashStore()
        >>> store.set("a", "1")
        >>> store.get("a")
        b'1'
        """
        self.wait([key])
        return self.ask("get", _bytes(key))

    def add(self, key: str, amount: int) -> int:
        """Add to the number under a key, which begins with 0; return the sum.

        >>> store = weft.distributed.HashStore()
        >>> store.add("a", 2), store.add("a", 3)
        (2, 5)
        """
        return int(self.ask("add", _bytes(key), b"%d" % amount))

    def check(self, keys: Iterable[str]) -> bool:
        """Say whether all keys are there.

        >>> weft.distributed.HashStore().check(["a"])
        False
        """
        names = [_bytes(key) for key in keys]
        return not names or self.ask("check", *names) == b"1"

    def wait(self, keys: Iterable[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there.

        >>> store = weft.distributed.HashStore()
        >>> store.set("a", "1")
        >>> store.wait(["a"])
        """
        names, began, pause = list(keys), time.monotonic(), 1e-3
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        while not self.check(names):
            if time.monotonic() - began > seconds:
                missing = [key for key in names if not self.check([key])]
                raise DistStoreError(
                    f"{type(self).__name__}: {', '.join(missing)} did not come within {seconds:g} s"
                )
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)

    def delete_key(self, key: str) -> bool:
        """Take a key out; say whether it was there.

        >>> weft.distributed.HashStore().delete_key("a")
        False
        """
        return self.ask("delete", _bytes(key)) == b"1"

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Put ``desired`` under a key that has ``expected``, or is missing if that is empty.

        The result is what the key has afterwards.

        >>> weft.distributed.HashStore().compare_set("a", "", "1")
        b'1'
        """
        return self.ask("compare", _bytes(key), _bytes(expected), _bytes(desired))

    def num_keys(self) -> int:
        """Return how many keys there are.

        >>> weft.distributed.HashStore().num_keys()
        0
        """
        return int(self.ask("count", b""))


class HashStore(Store):
    """A store for the threads of one process.

    >>> store = weft.distributed.HashStore()
    >>> store.set("a", "1")
    >>> store.get("a")
    b'1'
    """

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__()
        self._table, self._lock = Table(), threading.Lock()

    def ask(self, op: str, key: bytes, *values: bytes) -> bytes:
        """Do one thing with the contents."""
        with self._lock:
            return self._table.apply(op, key, *values)


class PrefixStore(Store):
    """Another store, each of whose keys begins with a prefix.

    >>> store = weft.distributed.HashStore()
    >>> weft.distributed.PrefixStore("mine", store).set("a", "1")
    >>> store.get("mine/a")
    b'1'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        """Take the prefix and the store."""
        super().__init__()
        self._prefix, self.underlying_store = _bytes(prefix) + b"/", store
        self.timeout = store.timeout

    def ask(self, op: str, key: bytes, *values: bytes) -> bytes:
        """Do one thing with the contents."""
        if op == "check":
            values = tuple(self._prefix + value for value in values)
        return self.underlying_store.ask(op, self._prefix + key, *values)


class FileStore(Store):
    """A store in a file of this machine, which only its owner can read. It is not removed.

    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = weft.distributed.FileStore(os.path.join(folder.name, "store"), 1)
    >>> store.set("a", "1")
    >>> store.get("a")
    b'1'
    >>> folder.cleanup()
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        """Take the path; ``world_size`` is how many processes use it, for a reader."""
        super().__init__()
        self.path, self.world_size = os.fspath(file_name), world_size

    def ask(self, op: str, key: bytes, *values: bytes) -> bytes:
        """Do one thing with the contents, while no other process does."""
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(fd, "r+b") as file:
            fcntl.flock(fd, fcntl.LOCK_EX)
            table = Table()
            found = _fields(file.read())
            table.update(zip(found[::2], found[1::2], strict=True))
            before = dict(table)
            answer = table.apply(op, key, *values)
            if table != before:
                file.seek(0)
                file.write(_packed(*(part for item in table.items() for part in item)))
                file.truncate()
            return answer


def _packed(*fields: bytes) -> bytes:
    return b"".join(_LENGTH.pack(len(field)) + field for field in fields)


def _fields(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        if len(data) < at + 4 or len(data) < at + 4 + _LENGTH.unpack_from(data, at)[0]:
            raise DistStoreError("a store has data that weft did not write")
        size = _LENGTH.unpack_from(data, at)[0]
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found


# ---- over the loopback address ------------------------------------------------------------------

_open: weakref.WeakSet[Any] = weakref.WeakSet()


def owned(thing: Closable) -> Closable:
    """Return what a forked process closes at once: its other end must see this process end."""
    _open.add(thing)
    return thing


def _leave_to_parent() -> None:
    for thing in list(_open):
        thing.close()


os.register_at_fork(after_in_child=_leave_to_parent)


def this_machine(host: str) -> bool:
    """Say whether a name or an address means this machine.

    >>> from weft.distributed.store import this_machine
    >>> this_machine("localhost")
    True
    """
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in found:
        with socket.socket(family, kind, protocol) as probe:
            try:
                probe.bind(address)
            except OSError:
                continue
            return True
    return False


def _say(sock: socket.socket, *fields: bytes) -> None:
    body = _packed(*fields)
    sock.sendall(_LENGTH.pack(len(body)) + body)


def _hear(sock: socket.socket) -> list[bytes]:
    size = _LENGTH.unpack(_exactly(sock, 4))[0]
    if size > _LONGEST:
        raise DistStoreError(f"a store takes no request of {size} bytes")
    return _fields(_exactly(sock, size))


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = sock.recv(min(size - len(data), 1 << 16))
        if not part:
            raise ConnectionError("the connection was closed")
        data += part
    return bytes(data)


class _Server:
    """Answers the requests of other processes, a thread to each."""

    def __init__(self, port: int, guests: int | None) -> None:
        """Listen; after so many ``guests`` listen no more."""
        try:
            self.socket = owned(socket.create_server(("127.0.0.1", port), backlog=128))
        except OSError as error:
            raise DistStoreError(
                f"TCPStore: rank 0 cannot listen on port {port} of this machine ({error.strerror}): "
                "choose another MASTER_PORT"
            ) from error
        self.port = self.socket.getsockname()[1]
        self.table, self.lock, self.guests = Table(), threading.Lock(), guests
        self.arrived = 0
        if guests == 0:
            self.socket.close()
        else:
            threading.Thread(target=self._accept, daemon=True, name="weft store").start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self.socket.accept()
            except OSError:
                return  # closed
            threading.Thread(
                target=self._serve, args=(owned(sock),), daemon=True, name="weft store"
            ).start()

    def _serve(self, sock: socket.socket) -> None:
        joined: list[bytes] = []  # the key and the value that are set when this guest ends
        with sock:
            try:
                sock.settimeout(_HELLO)
                if _exactly(sock, len(_MAGIC)) != _MAGIC:
                    return  # a stranger
                size = _LENGTH.unpack(_exactly(sock, 4))[0]
                if self.guests is not None and size != self.guests + 1:
                    sock.sendall(_REFUSED)
                    return
                sock.settimeout(None)
                with self.lock:
                    self.arrived += 1
                    if self.arrived == self.guests:
                        self.close()
                sock.sendall(_MAGIC)
                while True:
                    op, *fields = _hear(sock)
                    if op == b"join":
                        joined = fields
                    _say(sock, self._answer(op.decode(), *fields))
            except (OSError, ValueError, TypeError, KeyError, DistError):
                pass  # gone, or not one of us: the others go on
        if joined:
            self._answer("set", *joined)

    def _answer(self, op: str, *fields: bytes) -> bytes:
        with self.lock:
            return self.table.apply(op, *fields)

    def close(self) -> None:
        """Listen no more."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept
        except OSError:
            pass
        self.socket.close()


class TCPStore(Store):
    """A store that one process of this machine serves to the others, at a port.

    Args:
        host_name: a name or an address of this machine; the loopback address is what is used.
        port: where the master listens; 0: at a free port, which ``port`` tells.
        world_size: how many processes use it, if it is known.
        is_master: serve; all others connect.
        timeout: how long to wait for the master, and for keys (default: five minutes).
        wait_for_workers: wait until ``world_size`` processes have come.

    >>> store = weft.distributed.TCPStore("localhost", 0, is_master=True)
    >>> other = weft.distributed.TCPStore("localhost", store.port)
    >>> other.set("a", "1")
    >>> store.get("a")
    b'1'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = timedelta(minutes=5),
        wait_for_workers: bool = True,
        *,
        guests: int | None = None,
    ) -> None:
        """Listen or connect; ``guests``: how many others will come, after which nobody can."""
        super().__init__()
        if not this_machine(host_name):
            raise DistStoreError(
                f"TCPStore: {host_name!r} is not an address of this machine. Several machines work "
                "together over MPI: python -m weft launch --hosts a,b program.py"
            )
        self.host, self.timeout, self._lock = host_name, timeout, threading.Lock()
        self._server = _Server(port, guests) if is_master else None
        self._socket = None if self._server else owned(self._connect(port, world_size or 0))
        self.port = self._server.port if self._server else port
        weakref.finalize(self, (self._server or self._socket).close)  # type: ignore[union-attr]
        if wait_for_workers and world_size and world_size > 0:
            self.set(f"worker {self.add('workers', 1)}", "1")
            self.wait([f"worker {world_size}"])

    def _connect(self, port: int, size: int) -> socket.socket:
        """Wait for the master, which may begin later."""
        deadline = time.monotonic() + self.timeout.total_seconds()
        while True:
            try:
                return self._greeted(port, size)
            except OSError as error:
                if time.monotonic() > deadline:
                    raise DistStoreError(
                        f"TCPStore: nobody serves port {port} of this machine within "
                        f"{self.timeout.total_seconds():g} s. Does rank 0 run?"
                    ) from error
                time.sleep(0.01)

    def _greeted(self, port: int, size: int) -> socket.socket:
        """Connect once, and say of how many processes this is one."""
        sock = socket.create_connection(("127.0.0.1", port), timeout=_HELLO)
        try:
            if sock.getsockname() == sock.getpeername():  # TCP can connect a free port to itself
                raise ConnectionError("nobody listens")
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(_MAGIC + _LENGTH.pack(size))
            answer = _exactly(sock, len(_MAGIC))
            if answer != _MAGIC:
                raise DistStoreError(
                    f"TCPStore: rank 0 has another world_size than {size}"
                    if answer == _REFUSED
                    else f"TCPStore: what listens on port {port} is no store of weft"
                )
            sock.settimeout(None)
            return sock
        except BaseException:
            sock.close()
            raise

    def ask(self, op: str, key: bytes, *values: bytes) -> bytes:
        """Do one thing with the contents."""
        if self._server is not None:
            return self._server._answer(op, key, *values)
        assert self._socket is not None
        with self._lock:
            try:
                _say(self._socket, op.encode(), key, *values)
                return _hear(self._socket)[0]
            except OSError as error:
                raise DistStoreError(
                    f"TCPStore: the process that serves port {self.port} has ended, or has refused "
                    f"{op} {key.decode(errors='replace')!r}"
                ) from error

    def close(self) -> None:
        """Listen no more, or leave."""
        if self._server is not None:
            self._server.close()
        if self._socket is not None:
            self._socket.close()
