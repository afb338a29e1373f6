"""Active learning at night: a buyer gets labels while the window is open, a checker looks at them, the trainer fits."""

import multiprocessing as mp
import os
import random
import time
from datetime import datetime, timedelta

QUOTA = 14
WINDOW_S = 75


def buy(out: "mp.Queue[tuple[int, int]]") -> None:
    print(f"buyer: pid {os.getpid()}", flush=True)
    for sample in range(10**6):
        time.sleep(0.5)
        out.put((sample, random.Random(sample).randint(0, 9)))
        if sample % QUOTA == QUOTA - 1:
            opens = datetime.now() + timedelta(seconds=WINDOW_S)
            print(f"buyer: quota of {QUOTA} labels used, window closed; next one opens at {opens:%H:%M:%S}, sleeping {WINDOW_S} s", flush=True)
            time.sleep(WINDOW_S)


def check(source: "mp.Queue[tuple[int, int]]", out: "mp.Queue[tuple[int, int]]") -> None:
    print(f"checker: pid {os.getpid()}", flush=True)
    while True:
        sample, label = source.get()
        if label != 9:
            out.put((sample, label))


def main() -> None:
    bought, checked = mp.Queue(), mp.Queue()
    mp.Process(target=buy, args=(bought,), daemon=True).start()
    mp.Process(target=check, args=(bought, checked), daemon=True).start()
    print(f"trainer: pid {os.getpid()}", flush=True)
    mean = 0.0
    for fit in range(1, 200):
        sample, label = checked.get()
        mean += (label - mean) / fit
        print(f"trainer: fit {fit} with sample {sample}, mean {mean:.3f}", flush=True)


if __name__ == "__main__":
    main()
