"""Starts the trainer and its rollout workers, joins what they write into one log with a prefix, and starts a worker that has died
again after a pause. The run is over when the trainer is."""

import argparse
import os
import subprocess
import sys
import threading
import time

WORKERS = 3


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} [supervisor] {text}", flush=True)


def start(name: str, argv: list[str]) -> "subprocess.Popen[str]":
    child = subprocess.Popen([sys.executable, "-u", *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def copy() -> None:
        assert child.stdout is not None
        for line in child.stdout:
            print(f"{time.strftime('%H:%M:%S')} [{name}] {line.rstrip()}", flush=True)

    threading.Thread(target=copy, daemon=True).start()
    return child


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pause", type=float, default=5.0, help="seconds before a worker is started again")
    parser.add_argument("--restarts", type=int, default=10)
    given = parser.parse_args()
    say(f"pid {os.getpid()}, up to {given.restarts} restarts")
    trainer = start("trainer", ["trainer.py", "--workers", str(WORKERS)])
    workers = {number: start(f"rollout-{number}", ["rollout.py", str(number)]) for number in range(WORKERS)}
    left, due = given.restarts, dict[int, float]()
    while trainer.poll() is None:
        for number, child in list(workers.items()):
            if child.poll() is not None and number not in due:
                say(f"rollout-{number} exited with code {child.returncode}, restarting in {given.pause:g} s ({left} restarts left)")
                due[number], left = time.time() + given.pause, left - 1
            if number in due and time.time() > due[number] and left > 0:
                del due[number]
                workers[number] = start(f"rollout-{number}", ["rollout.py", str(number), "--attempt", "2"])
                say(f"rollout-{number} restarted as pid {workers[number].pid}")
        time.sleep(0.2)
    for child in workers.values():
        child.terminate()
    say(f"trainer exited with code {trainer.returncode}")
    return trainer.returncode


if __name__ == "__main__":
    sys.exit(main())
