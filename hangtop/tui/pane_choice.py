"""Which panes a person has hidden, moved and sized, kept for each project: the folder of the run's log."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from hangtop.records.watch_spec import WatchSpec
from hangtop.system.own_folders import state_folder


class PaneChoice(Struct, frozen=True):
    """Of panes by id: the `hidden` ones, the `order` (those that it does not name come behind), and how many `lines` a sized one
    has. `left`: the part of the width that the left one of two has. `path`: where it is kept; `None`: nowhere."""

    hidden: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    lines: dict[str, int] = {}
    left: float | None = None
    path: Path | None = None

    @property
    def text(self) -> str:
        """What is kept."""
        kept = _Kept(tuple(sorted(self.hidden)), self.order, self.lines, self.left)
        return msgspec.json.encode(kept).decode()

    def in_order(self, ids: Iterable[str]) -> list[str]:
        """These panes in the order that was chosen."""
        return sorted(ids, key=lambda id_: self.order.index(id_) if id_ in self.order else len(self.order))

    def put(self, id_: str, place: str, ids: Sequence[str]) -> PaneChoice:
        """This pane where the other is, which makes room. `ids`: all panes."""
        order = self.in_order(ids)
        at = order.index(place)
        order.remove(id_)
        order.insert(at, id_)
        return replace(self, order=tuple(order))

    def moved(self, id_: str, by: int, ids: Sequence[str]) -> PaneChoice:
        """This pane one place on or back among those in sight. `ids`: all panes."""
        seen = [each for each in self.in_order(ids) if each not in self.hidden]
        at = seen.index(id_) + by
        return self.put(id_, seen[at], ids) if 0 <= at < len(seen) else self

    def usual(self) -> PaneChoice:
        """The usual order and sizes."""
        return replace(self, order=(), lines={}, left=None)


class _Kept(Struct, frozen=True, omit_defaults=True):
    """A file that says more than a screen can be is damaged."""

    hidden: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    lines: dict[str, Annotated[int, Meta(ge=2, le=1_000)]] = {}
    left: Annotated[float, Meta(ge=0.0, le=1.0)] | None = None


def pane_choice(spec: WatchSpec) -> PaneChoice:
    """What was chosen for this project before. It is read before the screen opens, which waits for no file system."""
    log = next((log for log in spec.logs if log != "-"), None)
    if log is None:
        return PaneChoice()
    project = os.path.dirname(os.path.abspath(log))
    path = state_folder() / "panes" / f"{hashlib.sha256(os.fsencode(project)).hexdigest()[:16]}.json"
    with suppress(OSError):  # it then cannot be kept, which is said when it is to be
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
    except (OSError, ValueError, RecursionError):  # nothing was chosen, by a later version, or the file is damaged
        kept = _Kept()
    return PaneChoice(frozenset(kept.hidden), kept.order, kept.lines, kept.left, path)
