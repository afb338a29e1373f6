"""Three workers count words, each over its own table in shared memory; in some rounds they also even out with the next worker."""

import ctypes
import multiprocessing as mp
import os
import random
import time

EVEN_OUT = set()
"""Rounds in which a worker moves half of its surplus to the next, with both tables locked."""
WORKERS, WORDS = 3, 512


def work(number, tables, locks, orders, done):
    dice = random.Random(number)
    following = (number + 1) % WORKERS
    while (turn := orders.get()) is not None:
        with locks[number]:
            for _ in range(2000):
                tables[number][dice.randrange(WORDS)] += 1
            if turn in EVEN_OUT:
                time.sleep(0.5)
                with locks[following]:
                    for word in range(WORDS):
                        surplus = max(tables[number][word] - tables[following][word], 0) // 2
                        tables[number][word] -= surplus
                        tables[following][word] += surplus
        done.put((turn, number))


def main():
    context = mp.get_context("fork")
    tables = [context.RawArray(ctypes.c_long, WORDS) for _ in range(WORKERS)]
    locks = [context.Lock() for _ in range(WORKERS)]
    orders = [context.Queue() for _ in range(WORKERS)]
    done = context.Queue()
    for number in range(WORKERS):
        worker = context.Process(target=work, args=(number, tables, locks, orders[number], done))
        worker.start()
        print(f"counter {number}: pid {worker.pid}", flush=True)
    print(f"collector: pid {os.getpid()}", flush=True)
    for turn in range(1, 301):
        for order in orders:
            order.put(turn)
        for _ in range(WORKERS):
            done.get()
        print(f"round {turn} of 300, {sum(map(sum, tables))} words", flush=True)
        time.sleep(0.1)
    for order in orders:
        order.put(None)


main()
