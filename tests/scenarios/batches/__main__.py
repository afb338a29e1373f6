"""`python -m tests.scenarios --from FILE [NAME …]`: plays the runs of a batch, asks hangtop of each once, and prints the scores.

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
from pathlib import Path

import msgspec

from tests.scenarios.batches.data import ALARMS, Pair, Record, culprits_right, read, verdict_right
from tests.scenarios.unseen.watch import become_reaper, end_all
from tests.tables import table

CASE_LIMIT_S = 1000.0
HEAD = ("verdict right", "culprits exact", "live called hung", "live called hung, stalled or crashed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--from", dest="file", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    wanted = [case for case in read(given.file) if not given.names or case.name in given.names]
    names = [case.name for case in wanted if not case.missing]
    if without := [case for case in wanted if case.missing]:
        packages = sorted({module for case in without for module in case.missing})
        print(f"{len(without)} of {len(wanted)} runs are left out; not installed: {', '.join(packages)}", flush=True)
    records: list[Record] = []
    print(f"{'run':<8}{'right is':<24}{'to be named':<26}{'said':<10}{'named':<24}  judged", flush=True)
    become_reaper()
    try:
        with ThreadPoolExecutor(given.jobs) as pool:
            for record in pool.map(lambda name: played(given.file, name, verify=given.verify), names):
                records.append(record)
                print(line(record, why=given.verify), flush=True)
                if given.out:
                    with given.out.open("ab") as file:
                        file.write(msgspec.json.encode(record) + b"\n")
    finally:
        end_all()
    print(f"\n{table(('', 'runs', *HEAD), scores(records))}")
    return 0


def played(file: Path, name: str, *, verify: bool) -> Record:
    """One run, in a process of its own, which ends all that it began."""
    argv = [sys.executable, "-m", "tests.scenarios.batches.play", str(file), name, *(["--verify"] if verify else [])]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=CASE_LIMIT_S, check=False)
    except subprocess.TimeoutExpired as late:
        return Record(name, None, str(late))
    try:
        return msgspec.json.decode(done.stdout, type=Record)
    except msgspec.DecodeError:
        return Record(name, None, f"the suite failed: {''.join(done.stderr.strip().splitlines()[-1:])}")


def line(record: Record, *, why: bool) -> str:
    """One row: it says nothing of what the run was."""
    if record.label is None:
        return f"{record.name:<8}thrown out" + (f": {record.why}" if why else "")
    judged = "proven" if record.said is None else "right" if verdict_right(record) else "WRONG verdict"
    if record.said is not None and culprits_right(record) is False:
        judged += ", wrong culprits"
    wanted = " ".join("/".join(map(person, group)) for group in record.culprits) or "-"
    said = ",".join(map(person, record.said_culprits)) or "-"
    return f"{record.name:<8}{'|'.join(record.verdicts):<24}{wanted:<26}{record.said or '-':<10}{said:<24}  {judged}"


def person(pair: Pair) -> str:
    """Rank and pid."""
    return f"{'-' if pair[0] is None else pair[0]}({'-' if pair[1] is None else pair[1]})"


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
        _share(verdict_right(record) for record in asked),
        _share(culprits_right(record) for record in asked),
        _share(record.said == "hung" for record in live),
        _share(record.said in ALARMS for record in live),
    )


def _share(marks: Iterable[bool | None]) -> str:
    judged = [mark for mark in marks if mark is not None]
    return f"{sum(judged)} of {len(judged)}" if judged else "-"


if __name__ == "__main__":
    sys.exit(main())
