"""Four workers score answers and write into one table, whose lock they share. A gate lets an operator pause them."""

import multiprocessing as mp
import os
import random
import time
from multiprocessing.synchronize import Event, Lock

ANSWERS = 240


def score(answer: int) -> float:
    time.sleep(0.12 + 0.02 * random.Random(answer).random())
    return (answer * 7919 % 1000) / 1000


def worker(number: int, answers: "mp.Queue[int | None]", lock: Lock, gate: Event) -> None:
    print(f"scorer {number}: pid {os.getpid()}", flush=True)
    while (answer := answers.get()) is not None:
        gate.wait()
        value = score(answer)
        with lock, open("table.tsv", "a") as table:
            table.write(f"{answer}\t{value}\n")
            if answer % 8 == 0:
                print(f"scored {answer}/{ANSWERS} mean so far {value:.3f}", flush=True)


def main() -> None:
    answers: mp.Queue[int | None] = mp.Queue()
    lock, gate = mp.Lock(), mp.Event()
    gate.set()
    crew = [mp.Process(target=worker, args=(number, answers, lock, gate)) for number in range(4)]
    for one in crew:
        one.start()
    for answer in range(1, ANSWERS + 1):
        answers.put(answer)
    for _ in crew:
        answers.put(None)
    for one in crew:
        one.join()
    print("table complete", flush=True)


if __name__ == "__main__":
    main()
