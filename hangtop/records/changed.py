"""The difference between a reading and the previous one of its kind. Only recordings hold it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Changed(Struct, frozen=True, tag="changed"):
    """`kind`: the tag of the reading. `since`: `at` of the previous reading. `parts`: see `hangtop.feeds.recording_delta`."""

    kind: str
    since: float
    parts: dict[str, Any]
