"""Starts three workers and shows what they do; a spinner turns while they compute."""

import itertools
import subprocess
import sys
import threading
import time

workers = [
    subprocess.Popen([sys.executable, "-u", "worker.py", "--index", str(index)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    for index in range(3)
]
state = {"text": "starting"}


def spin() -> None:
    for sign in itertools.cycle("|/-\\"):
        sys.stdout.write(f"\r{sign} {state['text']} ")
        sys.stdout.flush()
        time.sleep(0.5)


threading.Thread(target=spin, daemon=True).start()
for generation in range(1, 300):
    answers = []
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(f"{generation}\n")
        worker.stdin.flush()
    for index, worker in enumerate(workers):
        assert worker.stdout is not None
        state["text"] = f"generation {generation}: waiting for worker {index} (pid {worker.pid})"
        answers.append(float(worker.stdout.readline()))
    print(f"\rgeneration {generation} best {max(answers):.4f}                                  ", flush=True)
