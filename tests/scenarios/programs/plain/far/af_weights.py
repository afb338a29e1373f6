"""A mirror of weights. Shard 3 is not there at the first asking; shard 5 comes slowly, and with a second argument stops in its middle."""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RATE, STOPS_AT = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None
SIZE = 600_000
asked = {}


class Weights(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        shard = int(self.path.rsplit("-", 1)[1])
        asked[shard] = asked.get(shard, 0) + 1
        if shard == 3 and asked[shard] == 1:
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("content-length", str(SIZE))
        self.end_headers()
        sent = 0
        while sent < SIZE:
            if shard == 5:
                time.sleep(0.25)
                if STOPS_AT is not None and sent >= STOPS_AT:
                    time.sleep(86400)
            part = min(RATE // 4 if shard == 5 else SIZE, SIZE - sent)
            self.wfile.write(bytes(part))
            sent += part

    def log_message(self, *_) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Weights)
print(server.server_port, flush=True)
server.serve_forever()
