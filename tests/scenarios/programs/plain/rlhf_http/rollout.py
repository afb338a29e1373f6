"""Serves samples of the policy, and takes new weights."""

import json
import os
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOAD_S = 1.0
HIDDEN = 24
weights = [[0.0] * HIDDEN for _ in range(HIDDEN)]
busy = threading.Lock()


class Rollout(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            code, answer = 200, {"/generate": generate, "/weights": take}[self.path](asked)
        except ValueError as problem:
            code, answer = 422, {"problem": str(problem)}
        body = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def generate(asked):
    with busy:
        draw = random.Random(asked["seed"])
        return {"answers": ["".join(draw.choice("abcdef ") for _ in range(length)) for length in asked["lengths"]]}


def take(asked):
    busy.acquire()
    if len(asked["rows"]) != len(weights):
        raise ValueError(f"{len(asked['rows'])} rows, the model has {len(weights)}")
    weights[:] = asked["rows"]
    busy.release()
    return {"version": asked["version"]}


print(f"[rollout] pid {os.getpid()}: loading", flush=True)
ends = time.monotonic() + LOAD_S
while time.monotonic() < ends:
    sum(number * number for number in range(20_000))
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Rollout)
print("[rollout] serving", flush=True)
server.serve_forever()
