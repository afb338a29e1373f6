"""`python -m tests.scenarios.ownership [TEXT …]`: plays the rows whose name holds any TEXT, or all, two rooms at a time, and
prints a table and the score. `--gate`: only those that every test run plays. `--misses`: only those that are known to fail.
`-v`: what hangtop said, too."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.scenarios.ownership.case import Matrix, Outcome, Row, matrix
from tests.scenarios.ownership.house import missing, outcomes

ROOMS_AT_ONCE = 2


def chosen(known: Matrix, words: Sequence[str]) -> list[Row]:
    texts = [word for word in words if not word.startswith("-")]
    rows = [row for row in known.row if not texts or any(text in row.name for text in texts)]
    if "--gate" in words:
        rows = [row for row in rows if row.gate]
    return [row for row in rows if row.miss] if "--misses" in words else rows


def main(words: Sequence[str]) -> int:
    known, began = matrix(), time.monotonic()
    rows = chosen(known, words)
    for row in rows:
        if why := missing(known, row):
            print(f"skipped: {row.name}: {why}")
    playable = [row for row in rows if missing(known, row) is None]
    by_room = {room: [row for row in playable if known.room_of(row) == room] for room in known.rooms()}
    by_name = {row.name: row for row in rows}
    results: list[Outcome] = []

    def play(room: str) -> None:
        for outcome in outcomes(room, by_room[room]):
            results.append(outcome)
            print(told(by_name[outcome.name], outcome, "-v" in words), flush=True)

    with ThreadPoolExecutor(ROOMS_AT_ONCE) as pool:
        list(pool.map(play, [room for room, asked in by_room.items() if asked]))
    failed = [outcome for outcome in results if outcome.faults]
    unknown = [outcome for outcome in failed if not by_name[outcome.name].miss]
    mended = [outcome for outcome in results if not outcome.faults and by_name[outcome.name].miss]
    print(f"\n{len(results) - len(failed)} of {len(results)} rows hold, in {time.monotonic() - began:.0f} s; ", end="")
    print(f"{len(failed) - len(unknown)} known misses, {len(mended)} of the known misses hold now")
    return 1 if unknown or mended else 0


def told(row: Row, outcome: Outcome, fully: bool) -> str:
    mark = ("miss" if row.miss else "FAIL") if outcome.faults else "ok"
    lines = [f"{mark:<5}{outcome.seconds:>6.1f} s  {outcome.name}{'  (seen)' if row.seen else ''}"]
    lines += [f"{'':14}! {fault}" for fault in outcome.faults]
    if fully:
        lines += [f"{'':14}. {text}".replace("\n", f"\n{'':16}") for text in outcome.said]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
