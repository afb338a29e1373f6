"""A labelling service with a quota: so many answers, then 429 until the window is over."""

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

QUOTA, WINDOW_S = int(sys.argv[1]), float(sys.argv[2])
lock = threading.Lock()
given, opens = 0, 0.0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        global given, opens
        with lock:
            if given >= QUOTA and not opens:
                opens = time.monotonic() + WINDOW_S
            if opens and time.monotonic() >= opens:
                given, opens = 0, 0.0
            refused = bool(opens)
            given += not refused
        time.sleep(0.1)
        self.send_response(429 if refused else 200)
        if refused:
            self.send_header("Retry-After", str(max(1, round(opens - time.monotonic() + 1))))
        self.send_header("Content-Length", "1")
        self.end_headers()
        self.wfile.write(b"1")

    def log_message(self, *args: object) -> None:
        return


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
