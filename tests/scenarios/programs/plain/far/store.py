"""An object store for a test bench: PUT and GET over HTTP, at the pace of a bad line."""

import argparse
import socket
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser()
parser.add_argument("--up", type=int, default=10**9, help="bytes a second that are taken")
parser.add_argument("--down", type=int, default=10**9, help="bytes a second that are given")
parser.add_argument("--quota", type=int, default=0, help="bytes that are taken before it waits for somebody to make room")
parser.add_argument("--opens-after", type=float, default=0.0)
given = parser.parse_args()


class Handler(BaseHTTPRequestHandler):
    """Keeps nothing."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        left = int(self.headers["Content-Length"])
        taken = 0
        while left:
            while given.quota and taken >= given.quota:
                time.sleep(5)
            piece = self.rfile.read(min(left, max(1, given.up // 4), 65536))
            left, taken = left - len(piece), taken + len(piece)
            if given.up < 10**9:
                time.sleep(len(piece) / given.up)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_PUT

    def do_GET(self) -> None:
        size = int(self.path.rsplit("-", 1)[1])
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        while size:
            piece = min(size, max(1, given.down // 4), 65536)
            self.wfile.write(b"4" * (piece - 1) + b"\n")
            size -= piece
            if given.down < 10**9:
                time.sleep(piece / given.down)

    def log_message(self, *args: object) -> None:
        return


class Server(ThreadingHTTPServer):
    """With small buffers, as far away machines seem to have."""

    def get_request(self) -> tuple[socket.socket, object]:
        request, address = super().get_request()
        request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
        return request, address


server = Server(("127.0.0.1", 0), Handler, bind_and_activate=False)
server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
server.server_bind()
print(server.server_port, flush=True)
time.sleep(given.opens_after)
server.server_activate()
server.serve_forever()
