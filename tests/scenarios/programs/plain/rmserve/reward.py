"""Reward model behind a unix socket: a line of JSON with answers comes, a line with scores goes back."""

import json
import os
import socketserver
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

THREADS = 8
RELOAD_AFTER = 10**9
CHUNKS = 900

pool = ThreadPoolExecutor(THREADS)
model = threading.Lock()
scored = 0


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} reward: {text}", flush=True)


def score_one(answer: str) -> float:
    time.sleep(0.002 * len(answer) / 40)
    return answer.count("e") / max(1, len(answer))


def score_batch(answers: list[str]) -> list[float]:
    """The answers are cut into pieces first, then each is scored by itself."""
    time.sleep(sum(map(len, answers)) / 8000)
    return [future.result() for future in [pool.submit(score_one, answer) for answer in answers]]


def reload() -> None:
    """The next checkpoint of the reward model, from the share."""
    say("loading checkpoint step-2000")
    with Path("rm.bin").open("wb") as out:
        for _ in range(CHUNKS):
            out.write(os.urandom(4096))
            time.sleep(0.05)
    say("checkpoint step-2000 loaded")


class Scores(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        global scored
        for line in self.rfile:
            asked = json.loads(line)
            with model:
                scored += len(asked["answers"])
                if scored > RELOAD_AFTER and not Path("rm.bin").exists():
                    reload()
            scores = pool.submit(score_batch, asked["answers"]).result()
            self.wfile.write(json.dumps({"scores": scores}).encode() + b"\n")


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


if __name__ == "__main__":
    Path("rm.sock").unlink(missing_ok=True)
    with Server("rm.sock", Scores) as server:
        say(f"pid {os.getpid()}, {THREADS} threads")
        server.serve_forever()
