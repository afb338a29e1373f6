"""A line of JSON is a message."""

import json
import socket
import time
from pathlib import Path
from typing import Any


class Peer:
    def __init__(self, link: socket.socket) -> None:
        self.link, self.file = link, link.makefile("r")

    def send(self, **message: Any) -> None:
        self.link.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> Any:
        line = self.file.readline()
        if not line:
            raise ConnectionError("closed")
        return json.loads(line)


def dial() -> Peer:
    path = Path("broker.port")
    while not path.exists() or not path.read_text():
        time.sleep(0.1)
    return Peer(socket.create_connection(("127.0.0.1", int(path.read_text()))))
