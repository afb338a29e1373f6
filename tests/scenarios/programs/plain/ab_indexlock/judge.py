"""Judges answers over HTTP: a thread a request, and one that scores what has come."""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

pending: list[tuple[str, threading.Event, dict[str, float]]] = []
come = threading.Condition()


def score() -> None:
    rounds = 0
    while True:
        with come:
            come.wait()
            batch = pending[:]
            pending.clear()
        for text, ready, told in batch:
            told["score"] = sum(map(ord, text)) % 101 / 100
            ready.set()
        rounds += 1
        if rounds % 22 == 0:
            calibrate()


def calibrate() -> None:
    """Fits the scale of the scores again."""
    ends = time.monotonic() + 1.5
    scale = 1.0
    while time.monotonic() < ends:
        scale = 0.5 * (scale + 2 / scale)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        ready: threading.Event = threading.Event()
        told: dict[str, float] = {}
        with come:
            pending.append((text, ready, told))
            come.notify()
        ready.wait()
        data = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        return


threading.Thread(target=score, daemon=True).start()
print(f"judge: pid {os.getpid()}, port {sys.argv[1]}", flush=True)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
