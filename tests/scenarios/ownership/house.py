"""Plays rows of the matrix from outside: each room in namespaces of its own, and its outcomes as they come."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Collection, Iterator
from contextlib import suppress

import msgspec

from tests.fakes.ray_cluster import missing as ray_missing
from tests.scenarios.ownership import rooms
from tests.scenarios.ownership.case import Matrix, Outcome, Row

ROOM_S = 30.0


def missing(known: Matrix, row: Row) -> str | None:
    """Why this row cannot be played here."""
    needs = next(scene.needs for scene in known.scene if scene.name == row.scene)
    if needs == "cc" and shutil.which("cc") is None:
        return "no C compiler (cc) here, so the stand-in NVIDIA driver cannot be built"
    return rooms.missing() or (ray_missing() if needs == "ray" else None)


def outcomes(room: str, rows: Collection[Row]) -> Iterator[Outcome]:
    """One for each row, whatever happens in there; the room is empty and gone at the end."""
    waiting = {row.name for row in rows}
    inside = rooms.entered("tests.scenarios.ownership.play", room, *waiting)
    try:
        assert inside.stdout is not None
        for line in inside.stdout:
            with suppress(json.JSONDecodeError, msgspec.ValidationError):  # what somebody else prints there
                outcome = msgspec.json.decode(line, type=Outcome)
                waiting.discard(outcome.name)
                yield outcome
        code = inside.wait(ROOM_S)
        for name in sorted(waiting):
            yield Outcome(name, (f"it was never played: the room ended with exit code {code}",))
    finally:
        if inside.poll() is None:  # else its number may be somebody else's by now
            os.killpg(inside.pid, signal.SIGKILL)
            inside.wait(ROOM_S)
        if inside.stdout is not None:
            inside.stdout.close()
