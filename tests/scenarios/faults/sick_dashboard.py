"""Servers in the place of a Ray dashboard that answer as none should."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

HEAD = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n"


def _endless(client: socket.socket) -> None:
    client.sendall(HEAD % b"200 OK" + b"\r\n{")
    while True:
        client.sendall(b'"a":1,' * 10_000)


def _whole(status: bytes, body: bytes, more: bytes = b"") -> Callable[[socket.socket], None]:
    return lambda client: client.sendall(HEAD % status + more + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def _drops(client: socket.socket) -> None:
    client.sendall(HEAD % b"200 OK" + b"Content-Length: 1000\r\n\r\n{")
    for _ in range(60):
        time.sleep(1)
        client.sendall(b" ")


ANSWERS: dict[str, Callable[[socket.socket], None]] = {
    "silent": lambda client: threading.Event().wait(30) and None,
    "garbage": lambda client: client.sendall(bytes(range(256)) * 64),
    "html": _whole(b"200 OK", b"<html><body>It works!</body></html>"),
    "unauthorized": _whole(b"401 Unauthorized", b"{}"),
    "error": _whole(b"500 Internal Server Error", b"Traceback: broken"),
    "endless": _endless,
    "redirect": _whole(b"302 Found", b"", b"Location: file:///etc/passwd\r\n"),
    "drip": _drops,
    "hangs up": lambda client: None,
    "cut": lambda client: client.sendall(HEAD % b"200 OK" + b"Content-Length: 1000\r\n\r\n{"),
    "null": _whole(b"200 OK", b"null"),
    "other types": _whole(b"200 OK", b'{"result": 7, "data": {"result": {"total": "many"}}, "version": []}'),
    "not found": _whole(b"404 Not Found", b"{}"),
    "busy": _whole(b"503 Service Unavailable", b"{}"),
    "no content": _whole(b"204 No Content", b""),
    "tls": lambda client: client.sendall(b"\x15\x03\x01\x00\x02\x02\x46"),
    "long head": lambda client: client.sendall(HEAD % b"200 OK" + b"X: " + b"a" * (4 << 20) + b"\r\n\r\n{}"),
    "negative": lambda client: client.sendall(HEAD % b"200 OK" + b"Content-Length: -5\r\n\r\n{}"),
    "chunks": lambda client: client.sendall(HEAD % b"200 OK" + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"),
    "zipped": _whole(b"200 OK", gzip.compress(b"[" * (1 << 20)), b"Content-Encoding: gzip\r\n"),
    "escapes": _whole(b"500 \x1b]0;owned\x07", b"\x1b[2J\x1b]0;owned\x07"),
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
