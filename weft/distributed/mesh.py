"""Sockets between the processes of one machine, one for each pair: messages that find their place.

Nothing blocks and no thread is needed: ``progress`` sends and receives what is possible now, in
both directions at once. What comes before it is expected waits in memory of its own, so that two
ranks may send to each other as much as they like. A peer that ends closes its socket.
"""

from __future__ import annotations

import hmac
import os
import secrets
import select
import socket
import struct
import time
from collections import deque

from .store import DistStoreError, Store, owned
from .work import DistBackendError, PeerEnded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Mesh", "Transfer", "connect"]

_HEADER = struct.Struct("<16sIQ")  # the group, the tag, the bytes that follow
_BUFFER = 1 << 22  # bytes that the system may keep on the way
_AT_ONCE = 64  # reads from one peer before the next one has its turn


class Transfer:
    """A message that is sent or expected; ``owner`` keeps its memory alive until it is done."""

    __slots__ = ("done", "memory", "owner", "peer")

    def __init__(self, peer: int, memory: memoryview, owner: Any) -> None:
        """Take the rank at the other end, the bytes, and what they belong to."""
        self.peer, self.memory, self.owner, self.done = peer, memory, owner, False


class _Peer:
    """What is under way to and from one process."""

    def __init__(self, rank: int, sock: socket.socket) -> None:
        self.rank, self.socket, self.fd = rank, sock, sock.fileno()
        self.out: deque[tuple[memoryview, Transfer | None]] = deque()  # the transfer that it ends
        self.header = bytearray(_HEADER.size)
        self.hole = memoryview(self.header)  # what is to be filled next
        self.key: tuple[bytes, int] | None = None  # group and tag of the message being read
        self.into: Transfer | None = None  # None: a message that nobody expects yet
        self.early = bytearray()
        self.full = False  # the system takes no more for now


class Mesh:
    """The connections of this process to all others of its program, by rank."""

    def __init__(self, rank: int, peers: dict[int, socket.socket]) -> None:
        """Take connected sockets."""
        self.rank, self.size = rank, len(peers) + 1
        self.gone: dict[int, float] = {}  # rank: when its socket was closed
        self.closed = False
        self.made: dict[tuple[int, ...], int] = {}  # how many groups of these ranks there were
        self._poll = select.epoll()  # which threads may share
        self._peers: dict[int, _Peer] = {}
        self._by_fd: dict[int, _Peer] = {}
        self._expected: dict[tuple[bytes, int, int], deque[Transfer]] = {}
        self._early: dict[tuple[bytes, int], deque[tuple[int, bytearray]]] = {}
        for r, sock in peers.items():
            sock.setblocking(False)
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                sock.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
            self._peers[r] = self._by_fd[sock.fileno()] = peer = _Peer(r, sock)
            self._poll.register(peer.fd, select.EPOLLIN)
        owned(self)

    # ---- messages -------------------------------------------------------------------------------

    def send(
        self, to: int, group: bytes, tag: int, parts: list[memoryview], owner: Any
    ) -> Transfer:
        """Start to send one message that lies in several places."""
        transfer = Transfer(to, memoryview(b""), owner)
        peer = self._peers[to]
        if to in self.gone:
            return transfer  # never done: ``check`` says why
        parts = [part for part in parts if len(part)]
        header = _HEADER.pack(group, tag, sum(map(len, parts)))
        views = [memoryview(header), *parts]
        peer.out.extend((view, None) for view in views[:-1])
        peer.out.append((views[-1], transfer))
        self._write(peer)
        return transfer

    def expect(
        self, source: int, group: bytes, tag: int, memory: memoryview, owner: Any
    ) -> Transfer:
        """Say where the next message of a rank goes; it may have come already."""
        transfer = Transfer(source, memory, owner)
        early = self._early.get((group, tag), ())
        for i, (rank, data) in enumerate(early):
            if rank == source:
                del early[i]  # type: ignore[union-attr]  # not the empty tuple
                self._fill(transfer, data)
                return transfer
        self._expected.setdefault((group, source, tag), deque()).append(transfer)
        return transfer

    def take(self, sources: list[int], group: bytes, tag: int) -> tuple[int, bytearray] | None:
        """Take the first whole message that has come from any of these ranks."""
        early = self._early.get((group, tag), ())
        for i, (rank, data) in enumerate(early):
            if rank in sources:
                del early[i]  # type: ignore[union-attr]  # not the empty tuple
                return rank, data
        return None

    def check(self, transfers: list[Transfer]) -> None:
        """Raise if one of these can never be done."""
        lost = [t.peer for t in transfers if not t.done and t.peer in self.gone]
        if lost:
            raise PeerEnded(min(lost, key=lambda rank: (self.gone[rank], rank)))

    def _fill(self, transfer: Transfer, data: bytearray) -> None:
        if len(data) != len(transfer.memory):
            raise DistBackendError(
                f"rank {self.rank} expects {len(transfer.memory)} bytes of rank {transfer.peer}, "
                f"which has sent {len(data)}"
            )
        transfer.memory[:] = data
        transfer.done, transfer.owner = True, None

    # ---- what the sockets take and give ---------------------------------------------------------

    def progress(self) -> None:
        """Send and receive what is possible without waiting."""
        for fd, events in () if self.closed else self._poll.poll(0):
            peer = self._by_fd[fd]
            if events & select.EPOLLOUT:
                self._write(peer)
            if events & ~select.EPOLLOUT:
                self._read(peer)

    def wait(self, seconds: float) -> None:
        """Wait until ``progress`` has something to do, at most so long."""
        if self.closed or len(self.gone) == len(self._peers):
            time.sleep(seconds)
        else:
            self._poll.poll(seconds)

    def _write(self, peer: _Peer) -> None:
        while peer.out:
            views = [view for view, _ in (peer.out[i] for i in range(min(len(peer.out), 8)))]
            try:
                sent = peer.socket.sendmsg(views, (), socket.MSG_NOSIGNAL)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                peer.out.clear()  # what it has sent before its end may still be read
                break
            while sent or (peer.out and not len(peer.out[0][0])):
                view, transfer = peer.out.popleft()
                if sent < len(view):
                    peer.out.appendleft((view[sent:], transfer))
                    break
                sent -= len(view)
                if transfer is not None:
                    transfer.done, transfer.owner = True, None
        if peer.full != bool(peer.out):
            peer.full = bool(peer.out)
            self._poll.modify(peer.fd, select.EPOLLIN | (select.EPOLLOUT if peer.full else 0))

    def _read(self, peer: _Peer) -> None:
        for _ in range(_AT_ONCE):
            try:
                count = peer.socket.recv_into(peer.hole)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                count = 0
            if count == 0:
                self._lose(peer)
                return
            peer.hole = peer.hole[count:]
            while not len(peer.hole):
                self._filled(peer)

    def _filled(self, peer: _Peer) -> None:
        """Go from a header to what follows, and from that to the next header."""
        if peer.key is None:
            group, tag, size = _HEADER.unpack(peer.header)
            peer.key = (group, tag)
            waiting = self._expected.get((group, peer.rank, tag))
            if waiting and len(waiting[0].memory) == size:
                peer.into = waiting.popleft()
                peer.hole = peer.into.memory
            else:
                peer.early = bytearray(size)
                peer.hole = memoryview(peer.early)
            return
        group, tag = peer.key
        transfer, data = peer.into, peer.early
        peer.key, peer.into, peer.early = None, None, bytearray()
        peer.hole = memoryview(peer.header)
        if transfer is not None:
            transfer.done, transfer.owner = True, None
            return
        waiting = self._expected.get((group, peer.rank, tag))
        if waiting:  # expected since it began to come
            self._fill(waiting.popleft(), data)
        else:
            self._early.setdefault((group, tag), deque()).append((peer.rank, data))

    def _lose(self, peer: _Peer) -> None:
        self.gone[peer.rank] = time.monotonic()
        self._poll.unregister(peer.fd)
        del self._by_fd[peer.fd]
        peer.socket.close()
        peer.out.clear()

    def forget(self, group: bytes) -> None:
        """Drop what has come for a group that is no more."""
        self._early = {k: v for k, v in self._early.items() if k[0] != group}
        self._expected = {k: v for k, v in self._expected.items() if k[0] != group}

    def close(self) -> None:
        """Close all connections; what was sent still arrives."""
        self.closed = True
        self._poll.close()
        for peer in self._peers.values():
            peer.socket.close()
            self.gone.setdefault(peer.rank, time.monotonic())
        self._by_fd.clear()


# ---- how processes meet -------------------------------------------------------------------------


def connect(store: Store, rank: int, size: int, what: str) -> Mesh:
    """Connect this process to all others, who find each other through a store.

    The sockets have abstract names, which leave nothing behind. Each end asks the system whose
    process the other is: only those of the same user are let in, and only if they know the token
    that rank 0 has put into the store.
    """
    if store.add(f"rank {rank} is here", 1) != 1:
        raise DistStoreError(
            f"{what}: there are two processes of rank {rank}, or the store is left from another run"
        )
    said = store.compare_set("size", "", str(size)).decode()
    if said != str(size):
        raise ValueError(f"{what}: rank {rank} says world_size {size}, another rank {said}")
    store.ask("join", b"ended", b"%d" % rank)
    if rank == 0:
        store.set("token", secrets.token_bytes(16))
    deadline = time.monotonic() + store.timeout.total_seconds()
    token = _told(store, "token", 0, what, deadline)
    peers: dict[int, socket.socket] = {}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        name = "weft-" + secrets.token_hex(16)
        listener.bind("\0" + name)
        listener.listen(size)
        store.set(f"address {rank}", name)
        for r in range(rank):
            address = _told(store, f"address {r}", r, what, deadline).decode()
            peers[r] = owned(_call(address, rank, r, token, what))
        while missing := [r for r in range(rank + 1, size) if r not in peers]:
            _look_around(store, missing, what, deadline)
            _admit(listener, peers, missing, token)
    return Mesh(rank, peers)


def _told(store: Store, key: str, by: int, what: str, deadline: float) -> bytes:
    """Wait for what another rank puts into the store."""
    while not store.check([key]):
        _look_around(store, [by], what, deadline)
        time.sleep(0.01)
    return store.get(key)


def _look_around(store: Store, missing: list[int], what: str, deadline: float) -> None:
    """Raise if a rank has ended before all have met, or if it takes too long."""
    if store.check(["ended"]):
        raise DistBackendError(
            f"{what}: rank {store.get('ended').decode()} has ended before all ranks were there"
        )
    if time.monotonic() > deadline:
        raise DistStoreError(
            f"{what}: the ranks {missing} did not come within {store.timeout.total_seconds():g} s"
        )


def _same_user(sock: socket.socket) -> bool:
    told = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return bool(struct.unpack("3i", told)[1] == os.getuid())


def _call(name: str, rank: int, other: int, token: bytes, what: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(60)
        sock.connect("\0" + name)
        if not _same_user(sock):
            raise ConnectionError("it belongs to another user")
        sock.sendall(token + struct.pack("<I", rank))
        if sock.recv(1) != b"y":
            raise ConnectionError("it closed the connection")
        return sock
    except OSError as error:
        sock.close()
        raise DistBackendError(f"{what}: rank {rank} cannot reach rank {other}: {error}") from error


def _admit(
    listener: socket.socket, peers: dict[int, socket.socket], missing: list[int], token: bytes
) -> None:
    """Let in one process that is missing, or refuse a stranger; do not wait long."""
    listener.settimeout(0.1)
    try:
        sock, _ = listener.accept()
    except TimeoutError:
        return
    sock.settimeout(10)
    try:
        said = sock.recv(len(token) + 4, socket.MSG_WAITALL) if _same_user(sock) else b""
        if hmac.compare_digest(said[: len(token)], token) and len(said) == len(token) + 4:
            other = struct.unpack("<I", said[len(token) :])[0]
            if other in missing:
                sock.sendall(b"y")
                peers[other] = owned(sock)
                return
    except OSError:
        pass
    sock.close()
