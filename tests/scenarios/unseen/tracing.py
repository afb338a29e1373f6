"""Which statements each process of a healthy run comes by, once it is warm.

`python -m tests.scenarios.unseen.tracing [NAME …]`: a marked copy of the program runs for a while. What was seen is kept in
`traces.json`; without a name, for the programs that have changed since. It is measured, so no two traces of a program are equal:
a seed stands for the same run only with the trace that is kept.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path

import msgspec

from tests.scenarios.unseen.catalog import CATALOG, HERE, Program, program
from tests.scenarios.unseen.place import START_S, place_for
from tests.scenarios.unseen.sites import with_marks
from tests.scenarios.unseen.watch import LogWatch, become_reaper

FILE = HERE / "traces.json"
WARM_STEPS = 4
"""Before a trace begins: a choice, past what comes only once at the start."""
WINDOW_S = 8.0
"""Of a trace: a choice, some dozens of steps."""
SAMPLE_LINES = 8


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
    """The kept trace of a program.

    Raises `LookupError` where there is none, or the program has changed since.
    """
    kept = traces().get(wanted.name)
    if kept is None or kept.source != digest(wanted):
        raise LookupError(f"{wanted.name} has no trace: python -m tests.scenarios.unseen.tracing {wanted.name}")
    return kept


def digest(wanted: Program) -> str:
    """Of its source."""
    return hashlib.sha256(wanted.path.read_bytes()).hexdigest()[:16]


def take(wanted: Program) -> Trace:
    """Run the marked copy; only in a process that may reap.

    Raises `TimeoutError` where it does not train.
    """
    with place_for(wanted) as place:
        place.fill(with_marks(wanted.path.read_text(encoding="utf-8")), {})
        watch = LogWatch(place.log, wanted.step, redrawn=wanted.redrawn)
        run = place.begin()
        ends = time.time() + START_S
        while watch.look() < WARM_STEPS * wanted.printers:
            if time.time() > ends or run.poll() is not None:
                raise TimeoutError(place.log.read_text(encoding="utf-8")[-800:] if place.log.is_file() else "no log")
            time.sleep(0.05)
        warm, before = time.time(), watch.steps
        time.sleep(WINDOW_S)
        over, steps = time.time(), watch.look() - before
        step_s = WINDOW_S / max(1, steps / wanted.printers)
        sample = tuple(watch.step_lines()[:SAMPLE_LINES])
        return Trace(digest(wanted), round(step_s, 3), sample, _windows(place.control, warm, over))


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


def keep(name: str, trace: Trace) -> None:
    """Add it to what is kept, a line for each program."""
    kept = {**traces(), name: trace}
    lines = [f"{json.dumps(name)}: {msgspec.json.encode(trace).decode()}" for name, trace in sorted(kept.items())]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main(names: list[str]) -> None:
    """Take the traces that are missing, or the named ones."""
    become_reaper()
    kept = traces()
    for known in [program(name) for name in names] or CATALOG:
        if not names and known.name in kept and kept[known.name].source == digest(known):
            continue
        if known.missing:
            print(f"{known.name}: left out; not installed: {', '.join(known.missing)}", flush=True)
            continue
        try:
            trace = take(known)
        except TimeoutError as problem:
            print(f"{known.name}: does not train: {problem}", flush=True)
            continue
        keep(known.name, trace)
        places = sum(map(len, trace.windows.values()))
        print(f"{known.name}: {trace.step_s:.2f} s a step, {len(trace.windows)} processes, {places} places", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
