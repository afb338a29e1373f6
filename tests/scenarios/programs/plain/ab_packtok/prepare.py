"""Makes tokens of eight shards of text, two at a time, and counts them."""

import random
import subprocess
import sys
from pathlib import Path

SHARDS = {"a": 40, "b": 30, "c": 40, "d": 50, "e": 5000, "f": 5400, "g": 100, "h": 100}


def write(name: str, lines: int) -> None:
    rng = random.Random(name)
    syllables = [first + last for first in "bcdfghklmnprst" for last in ("a", "e", "io", "ur")]
    with open(f"{name}.txt", "w") as out:
        for _ in range(lines):
            out.write(" ".join("".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(30)) + "\n")


print(f"writing {len(SHARDS)} shards", flush=True)
for name, lines in SHARDS.items():
    write(name, lines)
print("tokenizing with 2 jobs", flush=True)
subprocess.run(["xargs", "-P", "2", "-n", "1", sys.executable, "-u", "tok.py"], input="\n".join(SHARDS), text=True, check=True)
print(f"{sum(path.stat().st_size for path in Path().glob('*.tok'))} bytes of tokens", flush=True)
