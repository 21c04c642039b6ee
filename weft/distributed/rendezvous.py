"""Where the processes of one machine meet: ``env://``, ``tcp://``, ``file://`` or a store."""

from __future__ import annotations

import os
from datetime import timedelta
from urllib.parse import parse_qs, unquote, urlsplit

from .local import LocalWire, settle
from .mesh import connect
from .start import LAUNCH
from .store import DistStoreError, FileStore, PrefixStore, Store, TCPStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["MeetingPlace", "meeting_place"]


def meeting_place(init_method: Any, store: Any, what: str) -> MeetingPlace:
    """Return where to meet, after a look at the form of what was given.

    >>> from weft.distributed.rendezvous import meeting_place
    >>> meeting_place("tcp://127.0.0.1:29500?rank=1", None, "init_process_group").said
    {'rank': 1}
    """
    if store is not None and not isinstance(store, Store):
        raise TypeError(f"{what}: store must be a Store of weft.distributed, got {store!r}")
    if store is not None and init_method is not None:
        raise ValueError(f"{what}: give either init_method or store, got both")
    method = "env://" if init_method is None else str(init_method)
    if not method.startswith(("env://", "tcp://", "file://")):
        raise ValueError(
            f"{what}: init_method must begin with env://, tcp:// or file://, got {init_method!r}"
        )
    return MeetingPlace(method, store)


class MeetingPlace:
    """A store that is not open yet."""

    def __init__(self, method: str, store: Store | None) -> None:
        """Take an address, or a store that is there."""
        self.method, self.store = method, store
        asked = parse_qs(urlsplit(method).query)
        self.said = {key: int(asked[key][0]) for key in ("rank", "world_size") if key in asked}

    def meet(self, rank: int, size: int, seconds: float, what: str) -> LocalWire:
        """Wait for all processes; return the connection to them.

        The store is needed until all have met. One that was made for this is then closed.
        """
        store = self.store or self._open(rank, size, seconds, what)
        store.meetings += 1
        inner = PrefixStore(f"meeting {store.meetings}", store)
        inner.timeout = timedelta(seconds=seconds)
        try:
            wire = LocalWire(connect(inner, rank, size, what), list(range(size)))
            if rank == 0 and self.store is None and isinstance(store, FileStore):
                os.unlink(store.path)  # before the others can make it anew
            request, _ = wire.exchange(b"here")
            if not settle(request, wire.mesh, seconds):
                raise DistStoreError(f"{what}: not all of {size} ranks came within {seconds:g} s")
            return wire
        finally:
            if self.store is None and isinstance(store, TCPStore):
                store.close()

    def _open(self, rank: int, size: int, seconds: float, what: str) -> Store:
        url = urlsplit(self.method)
        if url.scheme == "file":
            if not url.path:
                raise ValueError(f"{what}: init_method names no file, got {self.method!r}")
            return FileStore(unquote(url.path), size)
        if url.scheme == "tcp":
            host, port = url.hostname, url.port
            if host is None or port is None:
                raise ValueError(f"{what}: init_method must be tcp://address:port, got "
                                 f"{self.method!r}")  # fmt: skip
        else:
            host, port = self._environment(rank, size, what)
        guests = size - 1 if rank == 0 else None
        return TCPStore(
            host, port, size, rank == 0, timedelta(seconds=seconds), False, guests=guests
        )

    def _environment(self, rank: int, size: int, what: str) -> tuple[str, int]:
        missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if not os.environ.get(name)]
        if missing:
            raise RuntimeError(
                f"{what}: rank {rank} of {size} processes is asked for, but the environment has no "
                f"{' and no '.join(missing)} where they can meet. Set MASTER_ADDR=127.0.0.1 and "
                f"MASTER_PORT to a free port in each process, or start the program by {LAUNCH}"
            )
        port = os.environ["MASTER_PORT"]
        if not port.isdecimal():
            raise ValueError(f"{what}: MASTER_PORT must be a number, got {port!r}")
        return os.environ["MASTER_ADDR"], int(port)
