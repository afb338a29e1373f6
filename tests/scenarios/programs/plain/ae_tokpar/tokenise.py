"""Tokenises a corpus with three processes; one more writes the shards as Parquet."""

import multiprocessing as mp
import os
import random
import time

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema([("doc", pa.int64()), ("tokens", pa.list_(pa.uint16())), ("source", pa.string())])
SHARD_ROWS = 400


def documents(part: int, count: int):
    rng = random.Random(part)
    for number in range(count):
        words = [rng.choice(["lorem", "ipsum", "dolor", "sit", "amet", "\u00e9t\u00e9"]) for _ in range(rng.randint(20, 60))]
        if part == 1 and number == 950:
            words.append("\U0001f9a5")  # the only sloth of the corpus
        yield part * 1_000_000 + number, words


def tokenise(part: int, count: int, out) -> None:
    for doc, words in documents(part, count):
        tokens = [ord(letter) for word in words for letter in word]
        time.sleep(0.004)
        out.put({"doc": doc, "tokens": tokens, "source": f"part-{part}"})
    out.put(None)


def write(rows_in, parts: int, told) -> None:
    rows, shard, open_parts = [], 0, parts
    while open_parts:
        row = rows_in.get()
        if row is None:
            open_parts -= 1
            continue
        rows.append(row)
        if len(rows) == SHARD_ROWS:
            pq.write_table(pa.Table.from_pylist(rows, SCHEMA), f"shard-{shard:05d}.parquet")
            print(f"{time.strftime('%H:%M:%S')} writer: shard-{shard:05d}.parquet, {sum(len(r['tokens']) for r in rows)} tokens", flush=True)
            rows, shard = [], shard + 1
    told.put(shard)


def main() -> None:
    queue, told = mp.Queue(maxsize=256), mp.Queue()
    parts = 3
    writer = mp.Process(target=write, args=(queue, parts, told), name="writer")
    writer.start()
    workers = [mp.Process(target=tokenise, args=(part, 4000, queue), name=f"tok-{part}") for part in range(parts)]
    for worker in workers:
        worker.start()
    print(f"tokenise: main {os.getpid()}, writer {writer.pid}, workers {', '.join(str(w.pid) for w in workers)}", flush=True)
    shards = told.get()
    print(f"tokenise: {shards} shards", flush=True)


if __name__ == "__main__":
    main()
