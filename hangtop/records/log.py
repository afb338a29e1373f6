"""What is known from the logs: files, lines, stages, progress of each rank, findings."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hangtop.records.parallel_layout import ParallelLayout
from hangtop.records.stopped import StoppedRun

LineKind = Literal["plain", "progress", "stage", "warning", "error"]
FileStatus = Literal["ok", "closed", "binary", "waiting", "gone", "denied", "directory", "failed"]
"""`closed`: a pipe whose writer closed it, so that nothing more will come. `binary`: it holds no text."""
Severity = Literal["fatal", "warning", "hint"]
Role = Literal["cause", "victim", "consequence", "summary", "evidence", "noise"]
ROLES: tuple[Role, ...] = ("cause", "victim", "evidence", "consequence", "summary", "noise")
"""In the order in which they are told: a summary says least of what it sums up."""


TRACEBACK = "py.traceback"
"""Id of the finding that stands for a traceback as such."""

BESIDE = 1 << 20
"""Files beside the run's log have numbers from here on: a worker's own output file, which tells of its rank alone."""


class LogFile(Struct, frozen=True, omit_defaults=True):
    """One watched file. `scanned_bytes` is how much of it has been read from its start on. `not_kept`: what of a pipe was not
    read, and why, for its writer never waits for us. `drain`: who reads a named pipe on when hangtop has gone."""

    path: str
    status: FileStatus = "ok"
    size_bytes: int = 0
    scanned_bytes: int = 0
    lines: int | None = None
    modified_at: float | None = None
    rank: int | None = None
    problem: str | None = None
    network: str | None = None
    slack_s: float = 0.0
    not_kept: str | None = None
    drain: int | None = None


class LogLine(Struct, frozen=True, omit_defaults=True, array_like=True):
    """One line as it may be shown: cleaned of control codes, `\\r` folded, `text` without its prefixes."""

    file: int
    offset: int
    at: float | None
    rank: int | None
    prefix: str
    text: str
    kind: LineKind = "plain"


class RankLog(Struct, frozen=True, omit_defaults=True):
    """What the log says of one rank. `last_at`: unix time of its last line, `None` when no clock is known.

    `metrics` by plain name; `None` there means NaN or infinite, which JSON cannot carry.
    """

    rank: int
    world: int | None = None
    local_rank: int | None = None
    host: str | None = None
    pid: int | None = None
    actor: str | None = None
    stage: str | None = None
    step: int | None = None
    total: int | None = None
    step_at: float | None = None
    step_s: float | None = None
    last_at: float | None = None
    lines: int = 0
    metrics: dict[str, float | None] = {}


class StageEvent(Struct, frozen=True, omit_defaults=True):
    """A stage was entered. `at` is unix time; `None` when the log carries no clock there. `attempt` counts restarts from 1."""

    id: str
    title: str
    profile: str
    file: int
    offset: int
    at: float | None = None
    done_at: float | None = None
    attempt: int = 1


class StagePlan(Struct, frozen=True, omit_defaults=True):
    """A stage that the run's framework has, in order: what the stage bar shows as still to come, and the limits to judge by.

    Seconds hold for the default stall limit. `steady`: the limit follows the run's own pace.
    """

    id: str
    title: str
    typical_s: float | None = None
    slow_after_s: float | None = None
    stalled_after_s: float | None = None
    steady: bool = False
    recurs: bool = False
    causes: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()


class Pace(Struct, frozen=True, omit_defaults=True):
    """Seconds between steps of the run, learned from its own log.

    `mean_s`: what the steps to come may take: with the pauses that come again and again (evaluation, checkpoints, a rank that is
    waited for), but without one that came once, long ago (a compilation, a hang that is over); `None` as long as nobody can know.
    `every`: so many steps lie between two that are told, at the least: a log may tell each tenth, or be written in bursts.
    """

    steps: int = 0
    p50_s: float | None = None
    p95_s: float | None = None
    longest_s: float | None = None
    mean_s: float | None = None
    every: float = 1.0


class Progress(Struct, frozen=True, omit_defaults=True):
    """How far the run is. `metrics`: the latest values by plain name (loss, lr, grad_norm …); `history`: their recent past.

    `None` as a value means NaN or infinite, which JSON cannot carry; a metric that was never seen is not there at all.
    """

    step: int | None = None
    total: int | None = None
    step_s: float | None = None
    eta_s: float | None = None
    unit: str = "step"
    metrics: dict[str, float | None] = {}
    history: dict[str, tuple[float | None, ...]] = {}


class WrittenAt(Struct, frozen=True, omit_defaults=True, array_like=True):
    """When a line was written, in unix time: `about`, by its own clock or that of the nearest line that has one, and the bounds
    that its file proves. `None`: nothing tells."""

    about: float | None = None
    not_before: float | None = None
    not_after: float | None = None

    def surely_before(self, other: WrittenAt) -> bool:
        """Whether nothing that is known lets it be later than `other`."""
        return self.not_after is not None and other.not_before is not None and self.not_after <= other.not_before


def at_once(at: float | None) -> WrittenAt:
    """What a time alone says of a line."""
    return WrittenAt(at, at, at)


Doubt = Literal["", "rank", "order", "attempt"]
"""What the times in several logs do not tell of a message: which of its ranks said it first, whether another message came before
it, whether it is of the attempt that runs now."""


class Remedy(Struct, frozen=True, omit_defaults=True):
    """One thing to do. `paste`: what to set or run, if that can be said; `where`: environment, config, command or code."""

    text: str
    where: str = ""
    paste: str = ""

    def line(self) -> str:
        """All of it in one line."""
        return f"{self.text}: {self.paste}" if self.paste else self.text


class Finding(Struct, frozen=True, omit_defaults=True):
    """A known message that was found. `offset` is the byte offset of its first sighting in file number `file`.

    `remedies`, in order, hold for the run's framework. `folklore`: what the usual advice gets wrong. `cite`: where cause and
    remedies are known from. `hang`, as its signature says: "crash", "hang", "hang-then-crash", "slow" … what such a message
    does to a run. `at`: its own time, or that of its arrival; `written`: what else its file tells of that. `survived`: the
    run went on well after it.
    """

    id: str
    severity: Severity
    role: Role
    offset: int
    text: str
    file: int = 0
    rank: int | None = None
    at: float | None = None
    last_offset: int = 0
    last_at: float | None = None
    count: int = 1
    ranks: tuple[int, ...] = ()
    groups: dict[str, str] = {}
    attempt: int = 1
    survived: bool = False
    written: WrittenAt = WrittenAt()
    doubt: Doubt = ""
    hang: str = ""
    cause: str = ""
    folklore: str = ""
    remedies: tuple[Remedy, ...] = ()
    cite: tuple[str, ...] = ()


class RaySpeaker(Struct, frozen=True, array_like=True):
    """A process of Ray that spoke in the log: `(TaskRunner pid=1234, ip=10.0.0.4)`. `ip` is empty on the driver's own node.

    `at`: unix time of its last line that was read, `None` when no clock is known."""

    name: str
    pid: int
    ip: str = ""
    at: float | None = None


class RaySaid(Struct, frozen=True, omit_defaults=True):
    """What the log says of the Ray session that its run lives in, by Ray's last word that a driver joins or starts one.

    `joined`: the `host:port` of the GCS that it joined; `started`: it started a session of its own. `dashboard`: `host:port`.
    `at`: unix time of that word, `stamp`: its clock as it stands there, as if it were UTC. `sessions`: folders that were named
    since, by their last part. `submission`: id of the submitted job. `speakers`: the latest.
    """

    joined: str | None = None
    started: bool = False
    dashboard: str | None = None
    at: float | None = None
    stamp: float | None = None
    sessions: tuple[str, ...] = ()
    submission: str | None = None
    speakers: tuple[RaySpeaker, ...] = ()


class LogReading(Struct, frozen=True, omit_defaults=True, tag="log"):
    """All the logs of a run. Everything is the whole truth but `ranks` and `tail`, which hold only what is new.

    `findings`: in the order of `hangtop.logs.finding_order`, which nobody needs to make again.
    `fresh` starts over: ranks and tail known before are forgotten (a new probe, or a file replaced).
    `caught_up` is false while older parts of a big file are still being read: stages and findings may still be missing.
    `last_output_at` is the unix time of the last byte of any file, network slack not included.
    `problem`: a profile of the person's that cannot be used; what is said here holds without it.
    `beside`: files beside the log, numbered from `BESIDE` on. They speak in `ranks` and `findings`, and nowhere else.
    `stopped`: the last time that hangtop stopped the run with these logs.
    `ray`: `None` where nothing of Ray was said. `teacher_wait_s`: of the framework's profile; 0 where it asks no teacher.
    """

    files: tuple[LogFile, ...]
    bytes: int = 0
    lines: int | None = None
    caught_up: bool = True
    scanned_part: float = 1.0
    last_output_at: float | None = None
    last_line: str | None = None
    framework: str = "generic"
    profiles: tuple[str, ...] = ()
    attempt: int = 1
    world: int | None = None
    mesh: ParallelLayout | None = None
    workers: tuple[int, int] | None = None
    stages: tuple[StageEvent, ...] = ()
    plan: tuple[StagePlan, ...] = ()
    progress: Progress = Progress()
    pace: Pace = Pace()
    findings: tuple[Finding, ...] = ()
    longest_silence_s: float | None = None
    announced_until: float | None = None
    checkpoint_dir: str | None = None
    ranks: tuple[RankLog, ...] = ()
    tail: tuple[LogLine, ...] = ()
    fresh: bool = False
    problem: str | None = None
    beside: tuple[LogFile, ...] = ()
    stopped: StoppedRun | None = None
    ray: RaySaid | None = None
    teacher_wait_s: float = 0.0


class PageReading(Struct, frozen=True, omit_defaults=True, tag="page"):
    """The answer to a `PageAsk`: lines in file order, and whether the file goes on before and after them.

    A long search answers in parts, each with all `found` lines so far; the last part has `scanned_part` 1 or a `problem`.
    """

    ask: int
    lines: tuple[LogLine, ...] = ()
    at_start: bool = False
    at_end: bool = False
    found: int | None = None
    scanned_part: float = 1.0
    problem: str | None = None
