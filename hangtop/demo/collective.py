"""Collectives over a socket: every rank sends its number to the launcher and waits until the numbers of all ranks are in."""

from __future__ import annotations

import selectors
import socket
import struct
from contextlib import suppress

_NUMBER = struct.Struct("!d")


class ProcessGroup:
    """One rank's side of the process group. A call returns when all `world` ranks have made the same call."""

    def __init__(self, port: int, rank: int, world: int) -> None:
        self.world = world
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.settimeout(None)
        self.all_reduce(float(rank))

    def all_reduce(self, value: float) -> float:
        """The sum over all ranks. Raises `ConnectionError` when the launcher is gone."""
        self._socket.sendall(_NUMBER.pack(value))
        answer = self._socket.recv(_NUMBER.size, socket.MSG_WAITALL)
        if len(answer) < _NUMBER.size:
            raise ConnectionError("connection closed by peer")
        return float(_NUMBER.unpack(answer)[0])

    def barrier(self) -> None:
        """Wait until all ranks are here."""
        self.all_reduce(0.0)


class Hub:
    """The launcher's side: adds up what the ranks send, and answers all of them once the last number is in."""

    def __init__(self, world: int) -> None:
        self._world = world
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=world)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._sent: dict[socket.socket, float] = {}

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def serve(self, seconds: float) -> None:
        """Wait this long for something to come, and deal with it."""
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._listener:
                self._selector.register(self._listener.accept()[0], selectors.EVENT_READ)
            elif isinstance(key.fileobj, socket.socket):
                self._take(key.fileobj)

    def _take(self, rank: socket.socket) -> None:
        try:
            number = rank.recv(_NUMBER.size, socket.MSG_WAITALL)
        except ConnectionError:
            number = b""
        if len(number) < _NUMBER.size:
            self._selector.unregister(rank)
            self._sent.pop(rank, None)
            rank.close()
            return
        self._sent[rank] = _NUMBER.unpack(number)[0]
        if len(self._sent) == self._world:
            total = _NUMBER.pack(sum(self._sent.values()))
            for one in self._sent:
                with suppress(ConnectionError):  # its end is seen at the next look
                    one.sendall(total)
            self._sent.clear()
