"""Who gets notices: an HTTP server and a mail server on this machine, which keep what they were sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """An HTTP receiver for Apprise's `json://`. `refuses`: so many requests are answered with 503 first."""

    def __init__(self, refuses: int = 0) -> None:
        self.got: list[dict[str, Any]] = []
        self.refused, self._refuses = 0, refuses
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if outer.refused < outer._refuses:
                    outer.refused += 1
                    self.send_response(503)
                else:
                    outer.got.append(json.loads(body))
                    self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"json://127.0.0.1:{self._server.server_port}/"

    @property
    def titles(self) -> list[str]:
        return [notice["title"] for notice in self.got]

    @contextmanager
    def listening(self) -> Iterator[Receiver]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


class Mailbox:
    """What an SMTP server was sent; the handler of aiosmtpd."""

    def __init__(self) -> None:
        self.got: list[Message] = []

    async def handle_DATA(self, _: object, __: object, envelope: Any) -> str:
        self.got.append(message_from_bytes(envelope.content))
        return "250 OK"
