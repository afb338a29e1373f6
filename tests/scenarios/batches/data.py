"""A batch as data: hand-written runs, each with its label, what proves it, and who is to be named."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec

PROGRAMS = Path(__file__).parents[1] / "programs" / "plain"
ALARMS = ("hung", "stalled", "crashed")


class Who(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A process that may be named: by its rank, by a pid that the log says, by its command line. Of several, any is enough."""

    rank: int | None = None
    said: str | None = None
    """A regular expression; its first group is the pid."""
    cmd: str | None = None
    """A regular expression that only its command line matches, the run's and the helpers' processes taken together."""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run. `name` says nothing of what it is."""

    name: str
    title: str
    label: Literal["alive", "hung", "crashed", "finished"]
    verdict: tuple[str, ...]
    folder: str
    """Below `programs/plain`; the run starts in a copy of it."""
    start: str
    step: str
    """A regular expression: what counts as a step in the log."""
    mark: str | None = None
    """The question is not asked before this stands in the log (else: before the first step)."""
    ask: Literal["silent", "talks", "ended"] = "silent"
    wait_s: float = 2.0
    """From that moment to the question."""
    log: str = "train.log"
    earlier: str | None = None
    """A file of the folder that becomes the log before the start: what earlier attempts wrote."""
    edit: tuple[tuple[str, str, str], ...] = ()
    """File, text, the text in its place: what makes this run out of a program that others are made of too."""
    helpers: tuple[str, ...] = ()
    """Programs that do not belong to the run, started before it elsewhere; each says its port, or anything, as its first line."""
    environment: dict[str, str] = {}
    """`{0}` is what the first helper said."""
    exits: int | None = None
    """The code of a run that crashed and is over."""
    culprits: tuple[tuple[Who, ...], ...] = ()
    """Of each group one at least is to be named, and nobody outside all groups. Nobody is asked for where there are none."""
    needs: tuple[str, ...] = ()
    """Modules without which it cannot be played here."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Those of them that are not installed."""
        return tuple(module for module in self.needs if find_spec(module) is None)


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    case: tuple[Case, ...]


Pair = tuple[int | None, int | None]


class Record(msgspec.Struct, frozen=True):
    """What came of one run. `headline` tells of the run: not for those who write rules."""

    name: str
    label: str | None
    """None: it was not proven, and is thrown out."""
    why: str
    verdicts: tuple[str, ...] = ()
    culprits: tuple[tuple[Pair, ...], ...] = ()
    said: str | None = None
    said_culprits: tuple[Pair, ...] = ()
    headline: str = ""
    seconds: float = 0.0
    timeline: dict[str, float] = {}


def read(path: Path) -> tuple[Case, ...]:
    """All runs of a batch."""
    return msgspec.toml.decode(path.read_bytes(), type=File).case


def verdict_right(record: Record) -> bool:
    """Whether the word is one of those that are right."""
    return record.said in record.verdicts


def culprits_right(record: Record) -> bool | None:
    """One of each group, and nobody else; None where nobody is asked for."""
    if not record.culprits:
        return None
    met = all(any(same(one, other) for one in group for other in record.said_culprits) for group in record.culprits)
    return met and all(any(same(one, other) for group in record.culprits for one in group) for other in record.said_culprits)


def same(wanted: Pair, said: Pair) -> bool:
    """Who has the same pid is the same; who is gone goes by rank."""
    if wanted[1] is not None and wanted[1] == said[1]:
        return True
    return wanted[0] is not None and wanted[0] == said[0]
