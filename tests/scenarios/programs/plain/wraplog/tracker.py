"""A tracker for one desk: keeps what it is told in memory, and writes it into files of fifty."""

import http.server
import json
import os
import threading
from pathlib import Path

lock = threading.Lock()
rows: list[dict[str, float]] = []


def roll() -> None:
    """The rows so far go to the disk."""
    with lock:
        Path(f"rows-{rows[0]['step']}.json").write_text(json.dumps(rows))
        rows.clear()


def add(row: dict[str, float]) -> None:
    with lock:
        rows.append(row)
        if len(rows) >= 50:
            roll()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        add(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
Path("tracker.port").write_text(str(server.server_address[1]))
Path("tracker.pid").write_text(str(os.getpid()))
server.serve_forever()
