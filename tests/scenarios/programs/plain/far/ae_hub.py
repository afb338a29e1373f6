"""A hub of data: pages of rows. Page 14 is busy for its first six askers."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

asked = {}


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        page = int(self.path.rsplit("/", 1)[1])
        asked[page] = asked.get(page, 0) + 1
        busy = page == 14 and asked[page] <= 6
        body = b'{"error": "upstream is overloaded"}' if busy else json.dumps([f"row {page}-{n} " + "ab" * 40 for n in range(200)]).encode()
        self.send_response(503 if busy else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
print(server.server_port, flush=True)
server.serve_forever()
