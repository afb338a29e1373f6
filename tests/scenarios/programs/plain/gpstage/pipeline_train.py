"""Four stages in a row, each a process: micro-batches go forward through pipes, gradients come back. A log for each stage."""

import math
import multiprocessing as mp
import os
import random
import threading
import time
from pathlib import Path

STAGES, MICRO, STEPS = 4, 4, 240
STEPS_PER_EPOCH = 40
SLOTS = 8
ROWS = 4200


class Stage:
    def __init__(self, index: int, back, forth) -> None:
        self.index, self.back, self.forth = index, back, forth
        self.out = Path(f"logs/stage{index}.log").open("w", buffering=1)
        self.slots = threading.BoundedSemaphore(SLOTS)
        self.kept = {}
        self.rng = random.Random(index)
        self.weight = 1.0

    def say(self, text: str) -> None:
        self.out.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} | stage {self.index} | {text}\n")

    def forward(self, number: int, x: float) -> float:
        self.slots.acquire()
        time.sleep(0.03)
        self.kept[number] = x
        return math.tanh(self.weight * x) + 0.5 * x

    def backward(self, number: int, grad: float) -> float:
        time.sleep(0.03)
        x = self.kept.pop(number)
        if abs(grad) > 3.5 and self.index == 2:
            self.say(f"gradient {grad:.2f} is out of range, micro-batch {number} left out")
            self.slots.release()
            return 0.0
        self.weight -= 0.01 * grad * x
        self.slots.release()
        return grad * (0.5 + self.weight * (1 - math.tanh(self.weight * x) ** 2))

    def shuffle(self, epoch: int) -> list[float]:
        """A new order of the rows, kept in a file."""
        self.say(f"epoch {epoch}: shuffling")
        rows = []
        with Path(f"order-{epoch}.txt").open("w") as out:
            for row in range(ROWS if epoch > 1 else 50):
                rows.insert(self.rng.randrange(len(rows) + 1), self.rng.gauss(0, 1) if row % 40 else 100.0)
                out.write(f"{row}\n")
                time.sleep(0.01)
        return rows

    def main(self) -> None:
        self.say(f"pid {os.getpid()}")
        rows, epoch = [], 0
        for step in range(1, STEPS + 1):
            if self.index == 0 and (step - 1) % STEPS_PER_EPOCH == 0:
                epoch += 1
                rows = self.shuffle(epoch)
            outs = []
            for number in range(MICRO):
                x = rows[self.rng.randrange(len(rows))] if self.index == 0 else self.back.recv()
                outs.append(self.forward(number, x))
                if self.forth:
                    self.forth.send(outs[-1])
            loss = 0.0
            for number in range(MICRO):
                grad = self.forth.recv() if self.forth else 2 * (outs[number] - 0.3)
                loss += 0.0 if self.forth else (outs[number] - 0.3) ** 2
                grad = self.backward(number, grad)
                if self.back:
                    self.back.send(grad)
            if self.index == STAGES - 1:
                self.say(f"step {step}/{STEPS} loss {loss / MICRO:.5f}")
            elif step % 20 == 0:
                self.say(f"weight {self.weight:.4f} after {step} steps")


def start(index: int, back, forth) -> None:
    Stage(index, back, forth).main()


def main() -> None:
    Path("logs").mkdir(exist_ok=True)
    pipes = [mp.Pipe() for _ in range(STAGES - 1)]
    stages = []
    for index in range(STAGES):
        back = pipes[index - 1][1] if index else None
        forth = pipes[index][0] if index < STAGES - 1 else None
        stages.append(mp.Process(target=start, args=(index, back, forth), name=f"stage{index}"))
        stages[-1].start()
    for stage in stages:
        stage.join()


if __name__ == "__main__":
    main()
