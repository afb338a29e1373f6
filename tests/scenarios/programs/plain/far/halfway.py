"""A mirror for files over HTTP that stops in the middle of one of them and keeps the connection."""

import argparse
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=40_000)
parser.add_argument("--stops-in", default="")
given = parser.parse_args()


class Handler(BaseHTTPRequestHandler):
    """Each file is the same bytes."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(given.size))
        self.end_headers()
        body = bytes(range(256)) * (given.size // 256 + 1)
        if given.stops_in and self.path.endswith(given.stops_in):
            self.wfile.write(body[: given.size // 2])
            self.wfile.flush()
            threading.Event().wait()
        self.wfile.write(body[: given.size])

    def log_message(self, *args: object) -> None:
        return


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
