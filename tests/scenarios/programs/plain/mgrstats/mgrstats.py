"""Four processes read files of ratings and add up what they find in one table, which a manager holds."""

import os
import struct
import time
from multiprocessing import Manager, Process
from pathlib import Path

from native import means

FILES, ROWS = 48, 3000


def make_files():
    folder = Path("ratings")
    folder.mkdir(exist_ok=True)
    for k in range(FILES):
        pairs = b"".join(struct.pack("<if", row % 50, (row * k) % 5 + 1) for row in range(ROWS))
        (folder / f"part-{k:02}.bin").write_bytes(b"rows %d\n" % ROWS + pairs)
    (folder / "part-22.bin").write_bytes(b"")
    return sorted(folder.iterdir())


def work(number, files, table, guard):
    print(f"reader {number} pid {os.getpid()}: {len(files)} files", flush=True)
    for file in files:
        body = file.read_bytes()
        time.sleep(0.3)
        with guard:
            for item, mean in means(body).items():
                count, total = table.get(item, (0, 0.0))
                table[item] = (count + 1, total + mean)
        print(f"reader {number}: {file.name} added, {len(table)} items", flush=True)


if __name__ == "__main__":
    files = make_files()
    with Manager() as manager:
        table, guard = manager.dict(), manager.Lock()
        readers = [Process(target=work, args=(n, files[n::4], table, guard)) for n in range(4)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        print(f"{len(table)} items from {FILES} files", flush=True)
