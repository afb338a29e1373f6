"""Gives shards of numbers over HTTP, in pieces, as the bucket of a data set does."""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

PIECE = 4096
COLD = {"/shard-02-003": 7.0}
"""Shards on the cold tier: seconds a piece."""


class Shards(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        seed = int(self.path.replace("/shard-", "").replace("-", ""))
        body = np.random.default_rng(seed).normal(size=(512, 17)).astype("f4").tobytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for start in range(0, len(body), PIECE):
            time.sleep(COLD.get(self.path, 0.01))
            self.wfile.write(body[start : start + PIECE])


server = ThreadingHTTPServer(("127.0.0.1", 0), Shards)
with open(sys.argv[1], "w") as file:
    file.write(str(server.server_port))
server.serve_forever()
