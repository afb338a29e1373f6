"""`python -m tests.scenarios.guard [PROOF …]`: real runs under a real guard, with nobody there.

recovered  a run that hangs is stacked, bundled, told of, started again once and finishes: five times in a row
slow       a run that is slow and alive is left alone all its life
killed     a guard that is killed at 20 moments goes on each time, and never does a thing twice: its run is started again by its
           own command, then by that of the policy; and killed at each moment between the stop and the start of the latter
week       a week of a run, replayed: every event once, memory and descriptors as in its first hours

Exit code 1 where one of them fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.scenarios.guard.half_done import MOMENTS, faults_of_half_done
from tests.scenarios.guard.killed import faults_of_kills
from tests.scenarios.guard.unattended import faults_of_recovery, run_of, unattended
from tests.scenarios.guard.week import faults_of_week

TIMES, KILLS = 5, 20
BY_COMMAND = """
[restart]
command = {command}
"""


def recovered(folder: Path) -> Iterator[tuple[str, list[str]]]:
    for number in range(1, TIMES + 1):
        place = folder / str(number)
        place.mkdir()
        yield f"recovered, time {number}", faults_of_recovery(unattended("hang", place))


def slow(folder: Path) -> Iterator[tuple[str, list[str]]]:
    watched = unattended("slow", folder)
    faults = [f"deeds {watched.deeds}"] if watched.deeds != [("notify", True)] else []
    faults += (
        [f"words {watched.words}"] if {"hung", "stalled", "crashed"} & {*watched.words} or "slow" not in watched.words else []
    )
    yield "slow", faults + ([f"exit code {watched.code}"] if watched.code else [])


def killed(folder: Path) -> Iterator[tuple[str, list[str]]]:
    for name, restart in {"by its own command": "", "by the command of the policy": BY_COMMAND}.items():
        place = folder / name.replace(" ", "-")
        place.mkdir()
        policy = restart.format(command=json.dumps(run_of("hang", place)))
        yield f"killed {KILLS} times, started again {name}", faults_of_kills(place, KILLS, policy)
    for moment in MOMENTS:
        place = folder / moment
        place.mkdir()
        yield f"killed at “{moment}”", faults_of_half_done(place, moment)


def week(folder: Path) -> Iterator[tuple[str, list[str]]]:
    yield "week", faults_of_week(folder)


PROOFS: dict[str, Callable[[Path], Iterator[tuple[str, list[str]]]]] = {
    "recovered": recovered,
    "slow": slow,
    "killed": killed,
    "week": week,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proofs", nargs="*", metavar="PROOF")
    names = parser.parse_args().proofs or list(PROOFS)
    if unknown := sorted(set(names) - set(PROOFS)):
        parser.error(f"no proof is named {', '.join(unknown)}; there are: {', '.join(PROOFS)}")
    failed = False
    for name in names:
        with TemporaryDirectory(prefix="hangtop-guard-") as folder:
            for title, faults in PROOFS[name](Path(folder)):
                print(f"{title}: {'; '.join(faults) or 'as it should be'}", flush=True)
                failed = failed or bool(faults)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
