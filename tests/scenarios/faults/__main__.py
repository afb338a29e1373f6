"""`python -m tests.scenarios.faults [-v] [WORD …]`: all rows, or those whose names hold a word; `-v`: screens too."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.scenarios.faults.play import is_possible, play, rows


def main(words: list[str]) -> int:
    bad = count = 0
    for row in rows():
        if (words and not any(word in row.id for word in words)) or not is_possible(row):
            continue
        for size in row.sizes:
            with tempfile.TemporaryDirectory(prefix="hangtop-fault-") as folder:
                played = play(row, size, Path(folder))
            count += 1
            bad += bool(played.wrong)
            told = "; ".join(played.wrong) or "holds"
            seconds = f"said {played.said_s:.1f} s, key {played.key_s:.2f} s, quit {played.quit_s:.2f} s"
            print(f"{row.id} {size[0]}×{size[1]}: {told} ({seconds})", flush=True)
            if played.wrong and "-v" in sys.argv:
                print(played.screen, flush=True)
    print(f"{count - bad} of {count} hold")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main([word for word in sys.argv[1:] if word != "-v"]))
