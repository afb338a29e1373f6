"""`python -m tests.scenarios.unseen --batch K`: plays random runs, asks hangtop of each, and prints what it said and the scores.

--programs G of which group: plain (the default), or frameworks, which are programs on real libraries
--count N    how many runs (30)
--jobs J     how many at a time (2)
--verify     hangtop is not asked; only whether the runs are what they are meant to be
--out FILE   a line of JSON for each run, added to this file
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import msgspec

from tests.scenarios.unseen.case import Record
from tests.scenarios.unseen.catalog import GROUPS
from tests.scenarios.unseen.inject import A_BATCH, PLAIN, name_of, program_of
from tests.scenarios.unseen.truth import Named
from tests.scenarios.unseen.watch import become_reaper, end_all
from tests.tables import share, table

CASE_LIMIT_S = 900.0
"""From its start to its proof: a choice, twice what the waits within allow on an idle machine."""
LOCK_LIMIT_S = 1800.0
"""More, for a program that waits until no other of its sort runs: a choice."""
ALARMS = ("hung", "stalled", "crashed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--programs", choices=GROUPS, default=PLAIN)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    seeds = _seeds(given.batch, given.programs, given.count)
    records: list[Record] = []
    print(f"{'run':<8}{'right is':<18}{'to be named':<16}{'said':<10}{'named':<24}  judged", flush=True)
    become_reaper()
    try:
        with ThreadPoolExecutor(given.jobs) as pool:
            for record in pool.map(lambda seed: played(seed, given.programs, verify=given.verify), seeds):
                records.append(record)
                print(line(record), flush=True)
                if given.out:
                    with given.out.open("ab") as file:
                        file.write(msgspec.json.encode(record) + b"\n")
    finally:
        end_all()
    print(f"\n{table(('', 'runs', *HEAD), scores(records))}")
    return 0


def _seeds(batch: int, group: str, count: int) -> list[int]:
    """The first of this batch whose programs can be run here; says what is missing for others."""
    programs = {program: program.missing for program in GROUPS[group]}
    without = [program for program, missing in programs.items() if missing]
    if without:
        packages = sorted({package for program in without for package in programs[program]})
        print(f"{len(without)} of {len(programs)} programs are left out; not installed: {', '.join(packages)}", flush=True)
    if len(without) == len(programs):
        return []
    playable = (seed for seed in range(batch * A_BATCH, (batch + 1) * A_BATCH) if program_of(seed, group) not in without)
    return list(islice(playable, count))


def played(seed: int, group: str, *, verify: bool) -> Record:
    """The case of this seed, in a process of its own, which ends all that it began."""
    argv = [sys.executable, "-m", "tests.scenarios.unseen.case", str(seed), "--programs", group]
    argv += ["--verify"] if verify else []
    limit_s = CASE_LIMIT_S + (LOCK_LIMIT_S if program_of(seed, group).lock else 0.0)
    name = name_of(seed)
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=limit_s, check=False)
        return msgspec.json.decode(done.stdout, type=Record)
    except (subprocess.TimeoutExpired, msgspec.DecodeError) as problem:
        last = done.stderr.strip().splitlines()[-1:] if isinstance(problem, msgspec.DecodeError) else [str(problem)]
        return Record(name, seed, None, f"the suite failed: {''.join(last)}", (), None, None, (), "", 0.0, {})


def verdict_right(record: Record) -> bool:
    return record.said in record.verdicts


def culprits_right(record: Record) -> bool | None:
    """All that are to be named, and nobody else. Who has the same pid is the same; who is gone, or known by a log alone, goes by
    its rank. None where nobody is asked for."""
    if record.culprits is None:
        return None
    wanted, said = record.culprits, record.said_culprits
    met = all(any(_same(one, other) for other in said) for one in wanted)
    return met and all(any(_same(one, other) for one in wanted) for other in said)


def _same(wanted: Named, said: Named) -> bool:
    if wanted.pid is not None and wanted.pid == said.pid:
        return True
    return wanted.rank is not None and wanted.rank == said.rank


def line(record: Record) -> str:
    """One row: the name says nothing of what the run was."""
    if record.label is None:
        return f"{record.name:<8}thrown out" if record.said is not None else f"{record.name:<8}thrown out, {record.why}"
    judged = "" if record.said is None else "right" if verdict_right(record) else "WRONG verdict"
    if record.said is not None and culprits_right(record) is False:
        judged += ", wrong culprits"
    wanted, said = _people(record.culprits or ()), _people(record.said_culprits)
    return f"{record.name:<8}{'|'.join(record.verdicts):<18}{wanted:<16}{record.said or '-':<10}{said:<24}  {judged}"


def _people(people: Iterable[Named]) -> str:
    return ",".join(f"{'-' if rank is None else rank}({'-' if pid is None else pid})" for rank, pid in people) or "-"


HEAD = ("verdict right", "culprits exact", "live called hung", "live called hung, stalled or crashed")


def scores(records: Sequence[Record]) -> list[tuple[str, ...]]:
    """A row for all, and one for each label."""
    proven = [record for record in records if record.label is not None]
    parts = {"all": proven}
    for label in ("alive", "hung", "crashed", "finished"):
        parts[label] = [record for record in proven if record.label == label]
    rows = [(title, str(len(part)), *_marks(part)) for title, part in parts.items() if part]
    return [*rows, ("thrown out", str(len(records) - len(proven)), "", "", "", "")]


def _marks(part: Sequence[Record]) -> tuple[str, ...]:
    asked = [record for record in part if record.said is not None]
    live = [record for record in asked if record.label == "alive"]
    return (
        share(verdict_right(record) for record in asked),
        share(culprits_right(record) for record in asked),
        share(record.said == "hung" for record in live),
        share(record.said in ALARMS for record in live),
    )


if __name__ == "__main__":
    sys.exit(main())
