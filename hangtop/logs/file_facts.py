"""What one file says, as values: the raw material of which `join_logs` makes a reading."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hangtop.logs.lines.block_lines import Writer
from hangtop.records.log import Finding, Pace, RankLog, RaySaid, WrittenAt
from hangtop.records.parallel_layout import ParallelLayout

Kind = tuple[str, str]
"""Profile and id of a progress line."""


class ProgressSeen(Struct, frozen=True):
    """One progress line, as it was read. `profile` and `kind` name the pattern; `counts`: it is the run's step, not a bar of
    loading; `coarse`: it is an epoch. `elapsed_s`: the bar's own clock. Values that the line does not carry are `None`."""

    profile: str
    kind: str
    offset: int
    at: float | None
    writer: Writer
    counts: bool
    coarse: bool = False
    step: float | None = None
    total: float | None = None
    step_s: float | None = None
    elapsed_s: float | None = None
    eta_s: float | None = None
    metrics: dict[str, float] = {}


class StageMark(Struct, frozen=True):
    """A stage marker that was seen. `done`: it ends the stage. `late`: it may be older than its place in the file, as lines that
    Ray has held back and bars that are drawn once more at their end: it never moves the run back. `been`: its writer had been in
    the stage that was seen just before, so it comes from there."""

    profile: str
    stage: str
    offset: int
    at: float | None
    writer: Writer
    done: bool = False
    late: bool = False
    been: bool = False


class WriterFacts(Struct, frozen=True):
    """One writer: its rank if it is known, its newest progress line of each kind, its newest stage mark in each profile."""

    writer: Writer
    rank: int | None
    progress: tuple[ProgressSeen, ...]
    marks: Mapping[str, StageMark]
    last_at: float | None
    lines: int


class PaceFacts(Struct, frozen=True):
    """The pace by one kind of progress line, and the metrics on the way."""

    pace: Pace
    history: Mapping[str, tuple[float | None, ...]]


class FileFacts(Struct, frozen=True):
    """All that one file says. Which of it counts is decided over all files of the run.

    `ranks`: of each its number and its process. `findings` are those of all attempts. `times`: when their lines, and those of
    marks that come once, were written, by offset.
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
    ranks: tuple[RankLog, ...] = ()
    world: int | None = None
    meshes: Mapping[str, ParallelLayout] = {}
    workers: tuple[int, int] | None = None
    announced_until: float | None = None
    undated_wait_s: float | None = None
    checkpoint_dir: str | None = None
    longest_silence_s: float | None = None
    last_line: str | None = None
    ray: RaySaid | None = None
