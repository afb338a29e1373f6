"""Runs the suites of the evaluation against a fresh server for each model version; logs are lines of JSON."""

import json
import os
import random
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime

import requests

SUITES = {"smoke": 40, "recall": 120, "robustness": 120}
VERSIONS = (("v41", 260), ("v42", 300), ("v43-large", 5200))


def emit(event: str, **fields) -> None:
    print(json.dumps({"ts": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": "info", "event": event, **fields}), flush=True)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def until_ready(base: str, server: subprocess.Popen, limit_s: float = 900) -> float:
    began = time.monotonic()
    while time.monotonic() - began < limit_s:
        if server.poll() is not None:
            raise RuntimeError(f"server ended with {server.returncode}")
        try:
            if requests.get(f"{base}/health", timeout=2).json()["ready"]:
                return time.monotonic() - began
        except requests.RequestException:
            time.sleep(1)
    raise TimeoutError(base)


def main() -> None:
    random.seed(0)
    for version, size in VERSIONS:
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        environment = os.environ | {"EVAL_PORT": str(port), "INDEX_SIZE": str(size)}
        server = subprocess.Popen([sys.executable, "server.py"], env=environment)
        emit("server.starting", version=version, port=port, pid=server.pid)
        emit("server.ready", version=version, warmup_s=round(until_ready(base, server), 1))
        with requests.Session() as session:
            for suite, count in SUITES.items():
                hits = 0
                for _ in range(count):
                    answer = session.post(f"{base}/search", json={"vector": [random.random() for _ in range(16)]}, timeout=30)
                    hits += answer.json()["id"] % 3 == 0
                emit("suite.done", version=version, suite=suite, n=count, score=round(hits / count, 4))
        server.terminate()
        server.wait()
    emit("run.done", versions=len(VERSIONS))


main()
