"""Best of n: waits for the scores of all samplers, then the next step. Answers may be longer from step 15 on."""

import json
import os
import socket
import time
from pathlib import Path

STEPS = 300


def main() -> None:
    Path("trainer.sock").unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("trainer.sock")
    listener.listen()
    print(f"trainer: pid {os.getpid()}, waiting for samplers", flush=True)
    samplers = [listener.accept()[0].makefile("rw") for _ in range(3)]
    began = time.time()
    for step in range(1, STEPS + 1):
        for link in samplers:
            link.write(json.dumps({"step": step, "max_len": 60 if step < 15 else 4000}) + "\n")
            link.flush()
        scores = [score for link in samplers for score in json.loads(link.readline())["scores"]]
        print(f"[{time.time() - began:7.1f}s] global_step={step}/{STEPS} reward={sum(scores) / len(scores):.4f} best={max(scores):.4f}", flush=True)


if __name__ == "__main__":
    main()
