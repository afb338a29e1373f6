"""Documents to tokens, by `map` over a pool of processes as the libraries of data sets do it; then counts for a vocabulary."""

import argparse
import os
import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import Pool

from tqdm import tqdm

SHARDS = 24
LONG = {}
parser = argparse.ArgumentParser()
parser.add_argument("--pool", action="store_true")
parser.add_argument("--num-proc", type=int, default=4)
given = parser.parse_args()


def document(number):
    numbers = random.Random(number)
    return " ".join("".join(numbers.choices("etaoinshrdlu", k=numbers.randint(2, 9))) for _ in range(60))


def pieces(word, known):
    """The longest known piece first."""
    out, place = [], 0
    while place < len(word):
        for end in range(len(word), place, -1):
            if end - place == 1 or word[place:end] in known:
                out.append(word[place:end])
                place = end
                break
    return out


def tokenise(shard):
    known = {a + b for a in "etaoins" for b in "hrdlu"} | {"the", "tion", "ent", "and"}
    counts = Counter()
    before(shard)
    for number in range(LONG.get(shard, 700)):
        for word in document(shard * 100_000 + number).split():
            counts.update(pieces(word, known))
    return shard, counts


def before(shard):
    return


def hello():
    print(f"map worker {os.getpid()}", flush=True)


def shards():
    if given.pool:
        with Pool(given.num_proc, initializer=hello) as pool:
            yield from pool.imap_unordered(tokenise, range(SHARDS))
        return
    with ProcessPoolExecutor(given.num_proc, initializer=hello) as pool:
        for done in as_completed([pool.submit(tokenise, shard) for shard in range(SHARDS)]):
            yield done.result()


def main():
    whole = Counter()
    print(f"map of {SHARDS} shards (num_proc={given.num_proc}), pid {os.getpid()}", flush=True)
    for shard, counts in tqdm(shards(), total=SHARDS, desc="Map", mininterval=2):
        whole.update(counts)
        tqdm.write(f"shard {shard:05d}: {sum(counts.values())} tokens")
    print(f"vocabulary of {len(whole)}, most common {whole.most_common(3)}", flush=True)


if __name__ == "__main__":
    main()
