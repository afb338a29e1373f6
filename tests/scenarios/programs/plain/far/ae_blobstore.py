"""An object store at the end of a thin line: each connection is read at a fixed rate."""

import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RATE = int(sys.argv[1]) if len(sys.argv) > 1 else 48_000


class Put(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        left = int(self.headers["content-length"])
        while left:
            piece = self.rfile.read(min(left, RATE // 10))
            if not piece:
                return
            left -= len(piece)
            if left > 1000:
                time.sleep(0.1)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_) -> None:
        pass


class Server(ThreadingHTTPServer):
    def server_bind(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
        super().server_bind()


server = Server(("127.0.0.1", 0), Put)
threading.Thread(target=server.serve_forever).start()
print(server.server_port, flush=True)
