"""Starts workers and keeps them in step over their standard streams: a worker writes `sync STEP LOSS`, and goes on when it reads
`go MEAN`. What else it writes goes to the log. A worker that ends badly is started again from its last checkpoint."""

import os
import queue
import subprocess
import sys
import threading
import time

WORKERS, STEPS = 4, 60
RESTARTS = 3


def say(text: str) -> None:
    print(f"{time.strftime('%m/%d %H:%M:%S')} coordinator: {text}", flush=True)


class Worker:
    def __init__(self, number: int, inbox: "queue.Queue") -> None:
        self.number, self.inbox = number, inbox
        self.start()

    def start(self, *more: str) -> None:
        argv = [sys.executable, "-u", "worker.py", str(self.number), str(STEPS), *more]
        self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        say(f"worker {self.number} started, pid {self.child.pid}")
        threading.Thread(target=self.listen, args=(self.child,), daemon=True).start()

    def listen(self, child: "subprocess.Popen[str]") -> None:
        for line in child.stdout:
            if line.startswith("sync "):
                self.inbox.put((self, *line.split()[1:]))
            else:
                print(f"{time.strftime('%m/%d %H:%M:%S')} worker {self.number}: {line.rstrip()}", flush=True)
        self.inbox.put((self, "end", child.wait()))

    def go(self, mean: float) -> None:
        self.child.stdin.write(f"go {mean:.6f}\n")


def main() -> int:
    inbox: queue.Queue = queue.Queue()
    say(f"pid {os.getpid()}, {WORKERS} workers, {STEPS} steps")
    workers = [Worker(number, inbox) for number in range(WORKERS)]
    step, losses, ended, restarts = 1, {}, 0, 0
    while ended < WORKERS:
        worker, what, value = inbox.get()
        if what == "end":
            if value == 0:
                ended += 1
                continue
            restarts += 1
            say(f"worker {worker.number} exited with code {value} (restart {restarts} of {RESTARTS})")
            if restarts > RESTARTS:
                return 1
            worker.start("--resume", str(step))
            continue
        losses[worker] = float(value)
        if len(losses) == WORKERS:
            mean = sum(losses.values()) / WORKERS
            say(f"step {step}/{STEPS} mean loss {mean:.4f}")
            losses, step = {}, step + 1
            for other in workers:
                other.go(mean)
    say(f"all workers are done, {restarts} restarts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
