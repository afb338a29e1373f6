"""What one file says, as a value: the raw material that `join` makes a reading of."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hangtop.logs.extract.line_ranks import RankFacts
from hangtop.logs.extract.progress import ProgressSeen
from hangtop.logs.extract.stages import StageMark
from hangtop.logs.lines.block_lines import Writer
from hangtop.records.log import Finding, Pace, RaySaid, WrittenAt
from hangtop.records.parallel_layout import ParallelLayout

Kind = tuple[str, str]
"""Profile and id of a progress line."""


class WriterFacts(Struct, frozen=True):
    """One writer: its rank if it is known, its newest progress line of each kind, its newest stage mark in each profile."""

    writer: Writer
    rank: int | None
    sightings: tuple[ProgressSeen, ...]
    marks: Mapping[str, StageMark]
    last_at: float | None
    lines: int


class PaceFacts(Struct, frozen=True):
    """The pace by one kind of progress line, and the metrics on the way."""

    pace: Pace
    history: Mapping[str, tuple[float | None, ...]]


class FileFacts(Struct, frozen=True):
    """All that one file says. Which of it counts is decided over all files of the run.

    `findings` are those of all attempts. `times`: when their lines, and those of marks that come once, were written, by offset.
    """

    file: int
    bytes: int = 0
    rank: int | None = None
    scores: Mapping[str, int] = {}
    marks: tuple[StageMark, ...] = ()
    findings: tuple[Finding, ...] = ()
    times: Mapping[int, WrittenAt] = {}
    writers: tuple[WriterFacts, ...] = ()
    paces: Mapping[Kind, PaceFacts] = {}
    totals: Mapping[Kind, float] = {}
    ranks: tuple[RankFacts, ...] = ()
    world: int | None = None
    meshes: Mapping[str, ParallelLayout] = {}
    workers: tuple[int, int] | None = None
    announced_until: float | None = None
    undated_wait_s: float | None = None
    checkpoint_dir: str | None = None
    longest_silence_s: float | None = None
    last_line: str | None = None
    ray: RaySaid | None = None
