"""What the panes are given: the view of a recording; and a row as it reads."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace as changed

from hangtop.diagnosis.judge import diagnose
from hangtop.records import wire
from hangtop.render.view import CALM, View
from hangtop.state.run_state import RunState, fold

RECORDINGS = Path(__file__).parent.parent / "recordings"


def view_of(name: str, later_s: float = 0.0) -> View:
    """The view at the end of a recording, or some time after."""
    first, *rest = (RECORDINGS / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    spec, state, at = wire.decode_header(first).spec, RunState(), 0.0
    for line in rest:
        reading = wire.decode_reading(line)
        state, at = fold(state, reading), reading.at
    now = at + later_s
    verdict = diagnose(changed(state, heard_at=now), spec, now)
    return View(state, verdict, spec, now, "train.log", CALM.next(verdict, now))


def plain(row) -> str:
    return "".join(text for text, _ in row).rstrip()


def roles(row, word: str) -> str:
    return next(role for text, role in row if word in text)
