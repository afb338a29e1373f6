"""Which statements each process of a healthy run comes by, once it is warm.

`python -m tests.scenarios.unseen.tracing [NAME …]`: a marked copy of the program runs for a while. What was seen is kept in
`traces.json`; a program that has changed since is run anew.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from tests.scenarios.unseen.catalog import CATALOG, HERE, Program, program
from tests.scenarios.unseen.place import Place
from tests.scenarios.unseen.sites import with_marks
from tests.scenarios.unseen.watch import LogWatch, become_reaper, end_all

FILE = HERE / "traces.json"
WARM_STEPS = 4
WINDOW_S = 8.0
START_S = 120.0


class Trace(msgspec.Struct, frozen=True):
    """What one healthy run showed."""

    source: str
    """The program's digest."""
    step_s: float
    sample: tuple[str, ...]
    """Some of its step lines."""
    windows: dict[str, dict[int, tuple[int, int]]]
    """By process and place: how often it had been there when the run was warm, and when the trace ended."""


def traces() -> dict[str, Trace]:
    """All that are kept."""
    return msgspec.json.decode(FILE.read_bytes(), type=dict[str, Trace]) if FILE.exists() else {}


def trace_of(wanted: Program) -> Trace:
    """The kept trace of a program, or a new one, which is not kept."""
    kept = traces().get(wanted.name)
    return kept if kept is not None and kept.source == digest(wanted) else take(wanted)


def digest(wanted: Program) -> str:
    """Of its source."""
    return hashlib.sha256(wanted.path.read_bytes()).hexdigest()[:16]


def take(wanted: Program) -> Trace:
    """Run the marked copy; only in a process that may reap."""
    with TemporaryDirectory(prefix="run-") as folder, TemporaryDirectory(prefix="ctl-") as control:
        place = Place(wanted, Path(folder), Path(control))
        place.fill(with_marks(wanted.path.read_text(encoding="utf-8")), {})
        watch = LogWatch(place.log, wanted.step)
        run = place.begin()
        try:
            ends = time.time() + START_S
            while watch.look() < WARM_STEPS * wanted.printers:
                if time.time() > ends or run.poll() is not None:
                    raise TimeoutError(
                        f"{wanted.name} does not train: {(place.log.read_text() if place.log.is_file() else '')[-800:]}"
                    )
                time.sleep(0.05)
            warm, before = time.time(), watch.steps
            time.sleep(WINDOW_S)
            over, steps = time.time(), watch.look() - before
        finally:
            end_all()
        sample = tuple(watch.step_lines()[:8])
        step_s = WINDOW_S / max(1, steps / wanted.printers)
        return Trace(digest(wanted), round(step_s, 3), sample, _windows(Path(control), warm, over))


def _windows(control: Path, warm: float, over: float) -> dict[str, dict[int, tuple[int, int]]]:
    windows: dict[str, dict[int, tuple[int, int]]] = {}
    for file in sorted(control.glob("*.marks")):
        head, *marks = file.read_text(encoding="utf-8").splitlines()
        counts: dict[int, tuple[int, int]] = {}
        for mark in marks:
            word, when = mark.split()
            site, moment = int(word), float(when)
            low, high = counts.get(site, (0, 0))
            if moment < over:
                counts[site] = (low + (moment < warm), high + 1)
        late = {site: window for site, window in counts.items() if window[1] > window[0]}
        if late:
            windows.setdefault(json.loads(head)["key"], {}).update(late)
    return windows


def main(names: list[str]) -> None:
    """Take the traces that are missing, or the named ones."""
    become_reaper()
    kept = traces()
    for known in [program(name) for name in names] or CATALOG:
        if not names and known.name in kept and kept[known.name].source == digest(known):
            continue
        try:
            kept[known.name] = take(known)
        except TimeoutError as problem:
            print(f"{known.name}: FAILED {problem}", flush=True)
            continue
        trace = kept[known.name]
        places = sum(map(len, trace.windows.values()))
        print(f"{known.name}: {trace.step_s:.2f} s a step, {len(trace.windows)} processes, {places} places", flush=True)
        FILE.write_bytes(msgspec.json.format(msgspec.json.encode(dict(sorted(kept.items()))), indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
