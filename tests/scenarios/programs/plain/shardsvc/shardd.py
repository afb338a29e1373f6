"""Serves shards out of a folder, not faster than the disk behind it."""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PIECE = 1024
PAUSE_S = {"shard-0104": 0.004}


class Shards(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.strip("/")
        size = manifest[name]
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        sent = 0
        with Path("shards", name).open("rb") as source:
            while sent < size:
                piece = source.read(PIECE)
                self.wfile.write(piece)
                sent += len(piece)
                time.sleep(PAUSE_S.get(name, 0.004))

    def log_message(self, *_: object) -> None:
        """Only errors."""


if __name__ == "__main__":
    manifest = json.loads(Path("shards/manifest.json").read_text())
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shards)
    print(f"[shardd] serving {len(manifest)} shards at port {sys.argv[1]}, pid {os.getpid()}", file=sys.stderr, flush=True)
    server.serve_forever()
