"""Which panes a person has hidden, kept for each project: the folder of the run's log."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from platformdirs import user_state_path

from hangtop.records.watch_spec import WatchSpec


class PaneChoice(Struct, frozen=True):
    """`hidden`: ids of panes. `path`: where it is kept; `None`: nowhere."""

    hidden: frozenset[str] = frozenset()
    path: Path | None = None

    @property
    def text(self) -> str:
        """What is kept."""
        return msgspec.json.encode({"hidden": sorted(self.hidden)}).decode()


def pane_choice(spec: WatchSpec) -> PaneChoice:
    """What was chosen for this project before. It is read before the screen opens, which waits for no file system."""
    log = next((log for log in spec.logs if log != "-"), None)
    if log is None:
        return PaneChoice()
    project = os.path.dirname(os.path.abspath(log))
    path = user_state_path("hangtop") / "panes" / f"{hashlib.sha256(os.fsencode(project)).hexdigest()[:16]}.json"
    with suppress(OSError):  # it then cannot be kept, which is said when it is to be
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=dict[str, frozenset[str]])
    except (OSError, msgspec.DecodeError):  # nothing was hidden, or by a later version
        kept = {}
    return PaneChoice(kept.get("hidden", frozenset()), path)
