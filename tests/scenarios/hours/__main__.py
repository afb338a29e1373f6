"""`python -m tests.scenarios.hours [NAME …]`: replays healthy hours, and prints what hangtop said of them. Right is: no alarm.

--alarms   lists each alarm, with its headline
--verify   hangtop is not asked; only whether each silence of an hour is announced in its log, or the run's own pace

Exit code 1 where trouble or too early an end was said, or a silence is unfair.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from hangtop.records.verdict import VerdictWord
from tests.scenarios.hours.catalog import HOURS
from tests.scenarios.hours.replay import Watched, replay
from tests.scenarios.hours.run import Hour, span
from tests.tables import table

WORDS: tuple[VerdictWord, ...] = ("running", "slow", "waiting", "stalled", "hung", "crashed")
"""Seconds for which each was said are a column."""
HEAD = ("hour", "alarms", *WORDS, "finished too early", "changes", "most in a minute", "CPU s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--alarms", action="store_true")
    parser.add_argument("--verify", action="store_true")
    given = parser.parse_args()
    os.environ["TZ"] = "UTC"  # the clock of the machine that hangtop runs on, wherever that is
    time.tzset()
    if unknown := sorted(set(given.names) - set(HOURS)):
        parser.error(f"no hour is named {', '.join(unknown)}; there are: {', '.join(HOURS)}")
    hours = [HOURS[name] for name in given.names or HOURS]
    return verify(hours) if given.verify else watch(hours, alarms=given.alarms)


def watch(hours: Sequence[Hour], *, alarms: bool) -> int:
    """Replay them, print a line for each and the total; whether any alarm was false."""
    print(table(HEAD, []), flush=True)
    seen: list[Watched] = []
    began = time.process_time()
    for hour in hours:
        before = time.process_time()
        seen.append(replay(hour))
        print(row(hour.name, seen[-1:], time.process_time() - before), flush=True)
    print(row(f"all {len(seen)}", seen, time.process_time() - began))
    if alarms:
        for watched in seen:
            for alarm in watched.alarms:
                print(f"{watched.name} from {span(alarm.at)} on for {alarm.seconds:.0f} s: {alarm.word}: {alarm.headline}")
    return 1 if any(watched.alarms or watched.finished_early_s for watched in seen) else 0


def row(title: str, seen: Sequence[Watched], cpu_s: float) -> str:
    """One line of the table: the sums over these hours, but of the flaps the worst minute."""
    cells = (
        title,
        sum(len(watched.alarms) for watched in seen),
        *[sum(watched.seconds(word) for watched in seen) for word in WORDS],
        sum(watched.finished_early_s for watched in seen),
        sum(len(watched.changes) for watched in seen),
        max(watched.worst_minute for watched in seen),
        f"{cpu_s:.1f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def verify(hours: Sequence[Hour]) -> int:
    """Print the silences that no log explains; whether there is one."""
    unfair = [(hour.name, at, silence_s) for hour in hours for at, silence_s in hour.told().unfair()]
    for name, at, silence_s in unfair:
        print(f"{name}: silent for {silence_s:.0f} s from {span(at)} on, and nothing tells why")
    return 1 if unfair else 0


if __name__ == "__main__":
    sys.exit(main())
