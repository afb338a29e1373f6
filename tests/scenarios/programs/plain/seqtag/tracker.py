"""Takes metrics over HTTP and answers when they are on disk. One thread writes, in the order of arrival."""

import argparse
import json
import os
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

rows: "queue.Queue[tuple[dict, threading.Event]]" = queue.Queue()


def digits(value: float) -> str:
    """Three figures, and the power of ten."""
    return f"{value:.2e}"


def write() -> None:
    with Path("metrics.jsonl").open("a") as out:
        while True:
            row, written = rows.get()
            out.write(json.dumps({key: digits(value) for key, value in row.items()}) + "\n")
            out.flush()
            written.set()


class Metrics(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        row = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        written = threading.Event()
        rows.put((row, written))
        written.wait()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port-file", type=Path, required=True)
    given = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    given.port_file.write_text(str(server.server_address[1]))
    print(f"tracker: http://127.0.0.1:{server.server_address[1]} (pid {os.getpid()})", flush=True)
    threading.Thread(target=write, name="writer", daemon=True).start()
    server.serve_forever()
