"""In recordings alone: what differs between a reading and the one before of its kind."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Changed(Struct, frozen=True, tag="changed"):
    """`kind`: the tag of the readings. `since`: `at` of the one that this is told against. `parts`: see
    `hangtop.feeds.recording_delta`."""

    kind: str
    since: float
    parts: dict[str, Any]
