"""Messages over a socket: four bytes of length, then as many bytes; each is acknowledged."""

import socket
import struct


def send(line: socket.socket, body: bytes) -> None:
    line.sendall(struct.pack("!I", len(body)))
    line.sendall(body)


def receive(line: socket.socket) -> bytes | None:
    head = _exactly(line, 4)
    return None if head is None else _exactly(line, struct.unpack("!I", head)[0])


def _exactly(line: socket.socket, size: int) -> bytes | None:
    got = bytearray()
    while len(got) < size:
        part = line.recv(min(65536, size - len(got)))
        if not part:
            return None
        got += part
    return bytes(got)
