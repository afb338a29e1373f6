"""A rollout server: POST /generate, POST /load_weights. One scheduler thread decodes whatever is admitted, token by token, in
continuous batching; a sequence is admitted when there are enough free cache blocks for its longest answer."""

import argparse
import json
import os
import random
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BLOCK = 16
TOTAL_BLOCKS = 4096


@dataclass
class Sequence:
    """A prompt that is being answered."""

    prompt: str
    max_tokens: int
    tokens: list[int] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def blocks(self) -> int:
        return (len(self.prompt) + self.max_tokens) // BLOCK + 1


class Engine:
    """Waiting, running, and the blocks that are free."""

    def __init__(self) -> None:
        self.waiting: list[Sequence] = []
        self.running: list[Sequence] = []
        self.free = TOTAL_BLOCKS
        self.temperature = 1.0
        self.lock = threading.Lock()
        threading.Thread(target=self.loop, name="scheduler", daemon=True).start()

    def submit(self, sequence: Sequence) -> None:
        with self.lock:
            self.waiting.append(sequence)
        sequence.done.wait()

    def loop(self) -> None:
        while True:
            with self.lock:
                while self.waiting and self.waiting[0].blocks <= self.free:
                    sequence = self.waiting.pop(0)
                    self.free -= sequence.blocks
                    self.running.append(sequence)
            if not self.running:
                time.sleep(0.02)
                continue
            for sequence in list(self.running):
                sequence.tokens.append(self.decode(sequence))
                if len(sequence.tokens) >= sequence.max_tokens:
                    self.running.remove(sequence)
                    self.free += sequence.blocks
                    sequence.done.set()

    def decode(self, sequence: Sequence) -> int:
        """A little attention over all that was said so far."""
        scores = [((key * 31 + len(sequence.tokens)) % 97) * self.temperature for key in sequence.tokens[-2048:]]
        for _ in range(6):
            scores = [score * 0.5 + 0.1 for score in scores]
        return int(sum(scores)) % 50_000 + random.randrange(10)


engine = Engine()


class Handler(BaseHTTPRequestHandler):
    """One thread a request, as the web server has it."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/generate":
            sequence = Sequence(asked["prompt"], asked["max_tokens"])
            engine.submit(sequence)
            self.answer({"tokens": sequence.tokens})
        else:
            engine.temperature = 1.0 / (1.0 + asked["norm"])
            self.answer({"version": asked["version"]})

    def answer(self, thing: object) -> None:
        body = json.dumps(thing).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        print(f"{time.strftime('%H:%M:%S')} {given.name} {self.address_string()} {format % args}", flush=True)


parser = argparse.ArgumentParser()
parser.add_argument("--name", required=True)
parser.add_argument("--port-file", type=Path, required=True)
given = parser.parse_args()
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"{given.name} (pid {os.getpid()}) serves on port {server.server_port}, {TOTAL_BLOCKS} blocks", flush=True)
given.port_file.with_suffix(".part").write_text(str(server.server_port))
given.port_file.with_suffix(".part").rename(given.port_file)
server.serve_forever()
