"""Saves in the background what is better than all before."""

import json
import queue
import sys
import threading
import time
from pathlib import Path


class Saver:
    def __init__(self) -> None:
        self.todo: queue.Queue[tuple[int, float]] = queue.Queue()
        self.best = 0.0
        threading.Thread(target=self.work, name="saver", daemon=True).start()

    def give(self, epoch: int, score: float) -> None:
        self.todo.put((epoch, score))

    def settle(self) -> None:
        """Until all is on the disk."""
        self.todo.join()

    def work(self) -> None:
        while True:
            epoch, score = self.todo.get()
            if score <= self.best:
                print(f"saver: epoch {epoch} is not better than {self.best:.4f}, not saved", file=sys.stderr)
                self.todo.task_done()
                continue
            self.best = score
            time.sleep(0.5)
            Path(f"tagger-{epoch}.json").write_text(json.dumps({"epoch": epoch, "score": score, "weights": [score] * 5000}))
            print(f"saver: tagger-{epoch}.json", file=sys.stderr)
            self.todo.task_done()
