"""Frames over a unix socket: four bytes of length, then a pickle."""

import pickle
import socket
import struct


def put(link: socket.socket, thing: object) -> None:
    data = pickle.dumps(thing)
    link.sendall(struct.pack("<I", len(data)) + data)


def get(link: socket.socket) -> object:
    size = struct.unpack("<I", _all(link, 4))[0]
    return pickle.loads(_all(link, size))


def _all(link: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = link.recv(size)
        if not part:
            raise EOFError("peer closed")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
