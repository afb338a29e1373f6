"""Messages: a length and JSON."""

import json
import socket
import struct
from typing import Any

PORT_FILE = "trainer.port"


def send(link: socket.socket, thing: object) -> None:
    data = json.dumps(thing).encode()
    link.sendall(struct.pack("!I", len(data)) + data)


def receive(link: socket.socket) -> Any:
    """Raises `ConnectionError` where the other side has left."""
    (size,) = struct.unpack("!I", exactly(link, 4))
    return json.loads(exactly(link, size))


def exactly(link: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (piece := link.recv(size - len(data))):
            raise ConnectionError("the other side has left")
        data += piece
    return data
