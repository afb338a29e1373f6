"""What the logs tell: files, lines, stages, progress of each rank, findings."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hangtop.records.parallel_layout import ParallelLayout
from hangtop.records.step_times import Change, Growth, Peaks, StepTimes, Was
from hangtop.records.stopped import StoppedRun

LineKind = Literal["plain", "progress", "stage", "warning", "error", "border"]
"""`border`: no line of the file, but the place where it was rotated."""
FileStatus = Literal["ok", "closed", "binary", "waiting", "gone", "denied", "directory", "failed"]
"""`closed`: a pipe whose writer closed it; nothing more will come. `binary`: the file holds no text."""
Severity = Literal["fatal", "warning", "hint"]
Role = Literal["cause", "victim", "consequence", "summary", "evidence", "noise"]
ROLES: tuple[Role, ...] = ("cause", "victim", "evidence", "consequence", "summary", "noise")
"""In the order in which findings are listed: a summary says less than what it sums up."""


TRACEBACK = "py.traceback"
"""Id of the finding for a traceback as such."""

BESIDE = 1 << 20
"""The numbers of files beside the run's log begin here: output files of single workers, which tell only of their rank."""


class LogFile(Struct, frozen=True, omit_defaults=True):
    """One watched file. `scanned_bytes`: how much of it was read, from its start. `not_kept`: which bytes of a pipe were dropped,
    and why: its writer never waits for hangtop. `drain`: pid of the process that goes on reading a named pipe when hangtop
    ends."""

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


class LogLine(Struct, frozen=True, omit_defaults=True, array_like=True, gc=False):
    """One line as it may be shown: cleaned of control codes, `\\r` folded, `text` without its prefixes.

    `offset`: byte in its file. Below 0: the line stood in the file that was here before a rotation; -1 is the border. `colours`:
    those that the program gave its text, as in `hangtop.common.own_colours`."""

    file: int
    offset: int
    at: float | None
    rank: int | None
    prefix: str
    text: str
    kind: LineKind = "plain"
    colours: str = ""


class RankLog(Struct, frozen=True, omit_defaults=True, gc=False):
    """What the log says of one rank. `last_at`: unix time of its last line, `None` if no time is known.

    `metrics` by plain name; a value of `None` means NaN or infinite, which JSON cannot express.
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
    """The run entered a stage. `at` is unix time; `None` if the log tells no time there. `attempt` counts from 1."""

    id: str
    title: str
    profile: str
    file: int
    offset: int
    at: float | None = None
    done_at: float | None = None
    attempt: int = 1


class StagePlan(Struct, frozen=True, omit_defaults=True):
    """A stage of the run's framework: what the stage bar shows as still to come, and the limits to judge by.

    Seconds hold for the default stall limit. `steady`: the limit follows the run's own pace. `hint`: what is to be known of
    silence there.
    """

    id: str
    title: str
    typical_s: float | None = None
    slow_after_s: float | None = None
    stalled_after_s: float | None = None
    steady: bool = False
    hint: str = ""


class Pace(Struct, frozen=True, omit_defaults=True):
    """Seconds between steps of the run, measured in its own log.

    `mean_s`: the expected time of later steps: with pauses that come again and again (evaluation, checkpoints, a slow rank), but
    without a single pause long ago (a compilation, a hang that is over); `None` while there are too few steps to tell.
    `every`: the least number of steps between two step lines: a log may tell each tenth step, or be written in bursts.
    `was`: what a step took before it began to take `lately_s`, and until which step; `None` where that never changed.
    `grows`: where that is no single change but goes on. `peaks`: the steps among the last ones that take much longer than the
    others. `throughput`: where it fell for good. `lengths`: tokens of an answer, at first and of late.
    """

    steps: int = 0
    p50_s: float | None = None
    p95_s: float | None = None
    longest_s: float | None = None
    mean_s: float | None = None
    every: float = 1.0
    lately_s: float | None = None
    was: Was | None = None
    grows: Growth | None = None
    peaks: Peaks | None = None
    throughput: Change | None = None
    lengths: Change | None = None


class Progress(Struct, frozen=True, omit_defaults=True):
    """How far the run is. `metrics`: the latest values by plain name (loss, lr, grad_norm …); `history`: their recent past.
    `partial`: `total` is that of one round of several, an epoch or an evaluation: to reach it ends no run.
    `in_round`: so it may be, for the line names the epoch in which it counts, and not of how many.

    A value of `None` means NaN or infinite, which JSON cannot express; a metric that was never seen is missing.
    """

    step: int | None = None
    total: int | None = None
    step_s: float | None = None
    eta_s: float | None = None
    unit: str = "step"
    partial: bool = False
    in_round: bool = False
    metrics: dict[str, float | None] = {}
    history: dict[str, tuple[float | None, ...]] = {}


class Work(Struct, frozen=True, omit_defaults=True):
    """Work that a line named before it began: `Saving snapshot ...`. `at`: unix time of that line. `told_s`: how long it takes,
    as the line says; 0 where it says no number."""

    at: float | None
    text: str
    told_s: float = 0.0


class WrittenAt(Struct, frozen=True, omit_defaults=True, array_like=True):
    """When a line was written, in unix time: `about`, by the time in the line or in the nearest line that has one, and the bounds
    that its file proves. `None`: unknown."""

    about: float | None = None
    not_before: float | None = None
    not_after: float | None = None

    def surely_before(self, other: WrittenAt) -> bool:
        """Whether it was certainly not written after `other`."""
        return self.not_after is not None and other.not_before is not None and self.not_after <= other.not_before


def at_once(at: float | None) -> WrittenAt:
    """The line was written at exactly this time."""
    return WrittenAt(at, at, at)


Doubt = Literal["", "rank", "order", "attempt"]
"""What the times in several logs leave open about a message: which rank wrote it first, whether another message came before it,
or whether it belongs to the attempt that runs now."""


class Remedy(Struct, frozen=True, omit_defaults=True):
    """One thing to do. `paste`: what to set or run, if there is such a text, and `where` that goes (`AdviceWhere`)."""

    text: str
    where: str = ""
    paste: str = ""

    def line(self) -> str:
        """All of it in one line."""
        return f"{self.text}: {self.paste}" if self.paste else self.text


class Finding(Struct, frozen=True, omit_defaults=True):
    """A known message in the log. `offset`: byte offset of its first occurrence in file number `file`.

    `ranks`: of its writers; `about`: the ranks that its texts name. `remedies`: what to do in a run of this framework, in order.
    `folklore`: what the usual advice gets wrong. `cite`: the sources of cause and remedies.
    `hang`: what such a message does to a run, as its signature says: "crash", "hang", "hang-then-crash",
    "slow" … `at`: unix time in the line, or of its arrival; `written`: the bounds on that time. `survived`: the run went on
    after it. `pid`: of the process that it is about, where the message names one; on that one's node. `every_s`: each process
    that waits writes it again after so many seconds; 0 where that is not known. `outlived`: the run went on after messages like
    it before. `patient`: it only says that something is waited for, as is normal for as long as the stage may be silent.
    `witness`: it tells who waits, or for whom, and not why.
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
    about: tuple[int, ...] = ()
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
    pid: int | None = None
    every_s: float = 0.0
    outlived: bool = False
    patient: bool = False
    witness: bool = False

    @property
    def is_wait(self) -> bool:
        """Whether it says that the run waits: no cause of what broke afterwards."""
        return (self.severity, self.role, self.hang) == ("warning", "cause", "hang")


class RaySpeaker(Struct, frozen=True, array_like=True):
    """A Ray worker that wrote lines into the log: `(TaskRunner pid=1234, ip=10.0.0.4)`. `ip` is empty on the driver's own node.

    `at`: unix time of its last parsed line, `None` if no time is known."""

    name: str
    pid: int
    ip: str = ""
    at: float | None = None


class RaySaid(Struct, frozen=True, omit_defaults=True):
    """What the log says of the Ray session of its run, since a driver last joined or started one.

    `joined`: the `host:port` of the GCS that the driver joined; `started`: it started a session of its own. `dashboard`:
    `host:port`. `at`: unix time of that line; `stamp`: the time in it, as if it were UTC. `sessions`: names of the session
    folders mentioned since then. `submission`: id of the submitted job. `speakers`: the workers that wrote last.
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
    """All logs of a run. Each reading is complete, except that `ranks` and `tail` hold only what is new.

    `findings`: in the order of `hangtop.logs.finding_order`.
    `fresh`: forget the ranks and tail known so far (a new probe, or a replaced file).
    `caught_up`: false while older parts of a big file are being read; stages and findings may still be missing.
    `last_output_at`: unix time of the last byte of any file, without the slack of a network file system.
    `news_at`: since when all lines are heartbeats, spinners or the same counts again; `clockwork_since`: since when a clock could
    print all lines, those that are numbered evenly too (`None`: the last line was neither); `repeats`: such a line, `beat_s`:
    the longest pause between them; `beats_untimed`: nothing tells yet since when only they come; `beats_in_course`: such lines
    came between the steps, too, or are a bar of these that is drawn anew. `work`: what the run said last
    that it does now; `None` if it wrote other things since. `paused_until`: how long lines like its last one were followed by
    silence before, counted from that one.
    `problem`: a profile of the user that cannot be used; this reading is made without it.
    `stopped`: the last time that hangtop stopped the run with these logs.
    `ray`: `None` if the log does not mention Ray. `teacher_wait_s`: of the framework's profile; 0 if it asks no teacher.
    `start_normal_s`, `start_suspect_s`: of the profile too, 0 if they are not known. `workers`: made and wanted. `began_at`: that
    of the processes (`ProcessReading`) by which this reading tells the past from the present.
    """

    files: tuple[LogFile, ...]
    bytes: int = 0
    lines: int | None = None
    caught_up: bool = True
    scanned_part: float = 1.0
    last_output_at: float | None = None
    news_at: float | None = None
    clockwork_since: float | None = None
    repeats: str = ""
    beat_s: float = 0.0
    beats_untimed: bool = False
    beats_in_course: bool = False
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
    work: Work | None = None
    paused_until: float | None = None
    checkpoint_dir: str | None = None
    stack_dumps: str | None = None
    ranks: tuple[RankLog, ...] = ()
    tail: tuple[LogLine, ...] = ()
    fresh: bool = False
    problem: str | None = None
    stopped: StoppedRun | None = None
    ray: RaySaid | None = None
    teacher_wait_s: float = 0.0
    step_times: StepTimes = StepTimes()
    start_normal_s: float = 0.0
    start_suspect_s: float = 0.0
    began_at: float | None = None

    @property
    def told_at(self) -> float | None:
        """Unix time of the last line that may have told anything new."""
        return self.last_output_at if self.news_at is None else self.news_at

    @property
    def moved_at(self) -> float | None:
        """Unix time of the last line that no clock could have printed."""
        return self.told_at if self.clockwork_since is None else self.clockwork_since


class PageReading(Struct, frozen=True, omit_defaults=True, tag="page"):
    """The answer to a `PageAsk`: lines in file order, and whether they begin or end the file.

    A long search answers in parts, each with all lines found so far; the last part has `scanned_part` 1 or a `problem`.
    """

    ask: int
    lines: tuple[LogLine, ...] = ()
    at_start: bool = False
    at_end: bool = False
    scanned_part: float = 1.0
    problem: str | None = None
