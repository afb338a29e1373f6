"""Servers in the place of a Ray dashboard that answer as none should."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

HEAD = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n"


def _endless(client: socket.socket) -> None:
    client.sendall(HEAD % b"200 OK" + b"\r\n{")
    while True:
        client.sendall(b'"a":1,' * 10_000)


def _whole(status: bytes, body: bytes, more: bytes = b"") -> Callable[[socket.socket], None]:
    return lambda client: client.sendall(HEAD % status + more + b"Content-Length: %d\r\n\r\n" % len(body) + body)


ANSWERS: dict[str, Callable[[socket.socket], None]] = {
    "silent": lambda client: threading.Event().wait(30) and None,
    "garbage": lambda client: client.sendall(bytes(range(256)) * 64),
    "html": _whole(b"200 OK", b"<html><body>It works!</body></html>"),
    "unauthorized": _whole(b"401 Unauthorized", b"{}"),
    "error": _whole(b"500 Internal Server Error", b"Traceback: broken"),
    "endless": _endless,
    "redirect": _whole(b"302 Found", b"", b"Location: file:///etc/passwd\r\n"),
    "deep": _whole(b"200 OK", b"[" * 200_000 + b"]" * 200_000),
}


@contextmanager
def answering(how: str) -> Iterator[str]:
    """Its address, HOST:PORT, while it answers so; `closed`: where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        if how == "closed":
            server.close()
        else:
            threading.Thread(target=_serve, args=(server, ANSWERS[how]), daemon=True).start()
        yield f"{host}:{port}"


def _serve(server: socket.socket, answer: Callable[[socket.socket], None]) -> None:
    with suppress(OSError):  # the test has closed it
        while True:
            client, _ = server.accept()
            threading.Thread(target=_one, args=(client, answer), daemon=True).start()


def _one(client: socket.socket, answer: Callable[[socket.socket], None]) -> None:
    with client, suppress(OSError):
        client.recv(65_536)
        answer(client)
