"""A parameter server over HTTP: GET /weights, POST /push; a round ends when all workers have pushed."""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORKERS = int(sys.argv[2])
weights = [0.0] * 32
pushed: list[list[float]] = []
version = 0
lock = threading.Lock()
complete = threading.Condition(lock)


class Handler(BaseHTTPRequestHandler):
    """One thread a request."""

    def do_GET(self) -> None:
        wanted = int(self.path.rsplit("=", 1)[1])
        with complete:
            complete.wait_for(lambda: version >= wanted)
            self.answer({"version": version, "weights": weights})

    def do_POST(self) -> None:
        global version
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with complete:
            pushed.append(body["grad"])
            if len(pushed) == WORKERS:
                for index in range(32):
                    weights[index] -= 0.1 * sum(grad[index] for grad in pushed) / WORKERS
                pushed.clear()
                version += 1
                print(f"[server] round {version} |w|={sum(abs(w) for w in weights):.4f}", flush=True)
                complete.notify_all()
        self.answer({})

    def answer(self, thing: object) -> None:
        data = json.dumps(thing).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        return


print(f"[server] pid {os.getpid()}, {WORKERS} workers", flush=True)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
