"""Parts of labels; one part has to be made first, and until it is there the answer is 503."""

import http.server
import sys
import time

MAKING = {"4": 40.0}
asked = {}


class Labels(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        part = self.path.strip("/")
        first = asked.setdefault(part, time.monotonic())
        ready = time.monotonic() - first >= MAKING.get(part, 0.0)
        self.send_response(200 if ready else 503)
        self.end_headers()
        if ready:
            self.wfile.write(" ".join(str((int(part) + at) % 3) for at in range(600)).encode())

    def log_message(self, *args):
        pass


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Labels).serve_forever()
