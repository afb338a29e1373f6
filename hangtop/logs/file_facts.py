"""What one file says, as values: the raw material of which `join_logs` makes a reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from hangtop.logs.lines.block_lines import Writer
from hangtop.records.log import Finding, Pace, RankLog, RaySaid, Work, WrittenAt
from hangtop.records.parallel_layout import ParallelLayout
from hangtop.records.step_times import Part

Kind = tuple[str, str]
"""Profile and id of a progress line."""


class Round(NamedTuple):
    """The epoch, trial or fold in which a line counts: `Epoch 3/10: 100%|`. `total`: of how many, if the line says it."""

    number: int
    total: int | None


class ProgressSeen(Struct, frozen=True, gc=False):
    """One progress line, as it was read. `profile` and `kind` name the pattern; `counts`: it is the run's step, not a bar of
    loading; `coarse`: it is an epoch. `elapsed_s`: the bar's own clock;
    `round`: the epoch in which it counts. Values that the line does not carry are `None`."""

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
    round: Round | None = None
    metrics: dict[str, float] = {}


class StageMark(Struct, frozen=True, gc=False):
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


class WriterFacts(Struct, frozen=True, gc=False):
    """One writer: its rank if it is known, its newest progress line of each kind, its newest stage mark in each profile."""

    writer: Writer
    rank: int | None
    progress: tuple[ProgressSeen, ...]
    marks: Mapping[str, StageMark]
    last_at: float | None
    lines: int


class PaceFacts(Struct, frozen=True):
    """The pace by one kind of progress line, and the metrics on the way. `in_rounds`: its count began again after its total.
    `unfinished`: offset and time of the newest line of a longer count, which has not reached its total."""

    pace: Pace
    history: Mapping[str, tuple[float | None, ...]]
    in_rounds: bool = False
    unfinished: tuple[int, float | None] | None = None


class TimesOfStep(Struct, frozen=True):
    """Where the time of one step went. `total_s`: all of it; `None` where nothing tells. `parts`: seconds."""

    offset: int
    at: float | None
    step: float | None
    total_s: float | None
    parts: Mapping[Part, float]


class OwnTimes(NamedTuple):
    """The times that one rank prints: how many, the place and time of the last, and means of late of each part, in seconds."""

    offset: int
    at: float | None
    told: int
    parts: Mapping[Part, float]


class TokenRate(NamedTuple):
    """What an engine generates, as one line tells it."""

    offset: int
    at: float | None
    tokens_s: float


class FileFacts(Struct, frozen=True):
    """All that one file says. Which of it counts is decided over all files of the run.

    `ranks`: of each its number and its process. `findings` are those of all attempts. `times`: when their lines, and those of
    marks that come once, were written, by offset. `idle_s`: for how long before its last line it told nothing new; `clockwork_s`:
    nothing that a clock could not print; `new_at`, `moved_at`: the unix time since when, if it is known. `repeats`: the line that
    kept coming; `beat_s`: the longest pause between such lines; `beats_untimed`: nothing tells yet since when only such lines
    come; `beats_in_course`: all of these came between the steps, too. `begun_again`: offset and time of lines with which another
    attempt may begin. `works`: what each writer does, as it said last. `paused_until`: how long silence like that after its last
    line lasted before. `step_times`: samples over the whole file, oldest first, by the form of the line; `token_rates`: so too;
    `own_times`: of each rank, by the form of the line.
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
    works: tuple[Work, ...] = ()
    begun_again: tuple[tuple[int, float | None], ...] = ()
    paused_until: float | None = None
    checkpoint_dir: str | None = None
    stack_dumps: str | None = None
    longest_silence_s: float | None = None
    last_line: str | None = None
    idle_s: float = 0.0
    clockwork_s: float = 0.0
    new_at: float | None = None
    moved_at: float | None = None
    repeats: str = ""
    beat_s: float = 0.0
    beats_untimed: bool = False
    beats_in_course: bool = False
    ray: RaySaid | None = None
    step_times: Mapping[str, tuple[TimesOfStep, ...]] = {}
    own_times: Mapping[str, Mapping[int, OwnTimes]] = {}
    token_rates: tuple[TokenRate, ...] = ()
