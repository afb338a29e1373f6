"""Writes a model's rows into four packs at once, each pack by a process of its own."""

import multiprocessing as mp
import os
import struct
import time

PACKS = 4
ROWS = 60


def pack(number: int, rows: mp.Queue) -> None:
    print(f"packer {number} up, process {os.getpid()}", flush=True)
    with open(f"pack-{number}.bin", "wb") as file:
        while (row := rows.get()) is not None:
            file.write(struct.pack(f"{len(row)}f", *row))
    print(f"packer {number} closed pack-{number}.bin", flush=True)


def main() -> None:
    queues = [mp.Queue(maxsize=8) for _ in range(PACKS)]
    packers = [mp.Process(target=pack, args=(number, queue)) for number, queue in enumerate(queues)]
    for packer in packers:
        packer.start()
    print(f"export {os.getpid()}: {ROWS} rows to {PACKS} packs", flush=True)
    for row in range(ROWS):
        queues[row % PACKS].put([float(row)] * 512)
        time.sleep(0.15)
        if row % 5 == 4:
            print(f"  {100 * (row + 1) // ROWS:3d} % of rows", flush=True)
    for number in range(1, PACKS):
        queues[number - 1].put(None)
    for packer in packers:
        packer.join()
    with open("packs.txt", "w") as index:
        index.writelines(f"pack-{number}.bin\n" for number in range(PACKS))
    print("packs.txt written", flush=True)


if __name__ == "__main__":
    main()
