"""The tables: one record type each, whose fields are the columns. The only owner of their names, types, units and meanings.

Times are unix seconds as `DOUBLE` (`to_timestamp(time_s)` makes a date of one); `run` is the name of the recording or log file.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct


def _column(text: str) -> Meta:
    return Meta(description=text)


Run = Annotated[str, _column("name of the recording or log file")]
At = Annotated[float, _column("unix time of the reading, seconds")]
Told = Annotated[float | None, _column("unix time in the line or of its arrival, seconds; NULL if no time is known")]
Host = Annotated[str, _column("name of the machine")]
Rank = Annotated[int | None, _column("number of the rank; NULL if it is none, or unknown")]
Pid = Annotated[int, _column("process id on its machine")]


class Line(Struct, frozen=True):
    """Lines of the logs: of a recording those that were shown, of a log file all."""

    run: Run
    time_s: Told
    file: Annotated[int, _column("number of the file")]
    byte: Annotated[int | None, _column("where it stands in its file; NULL for lines of a log file that is asked itself")]
    rank: Rank
    kind: Annotated[str, _column("plain, progress, stage, warning, error or border")]
    prefix: Annotated[str, _column("what the launcher put before the text")]
    text: Annotated[str, _column("the line without its prefix, cleaned of control codes")]


class Step(Struct, frozen=True):
    """Steps of the run as its log tells them; of a rank where a line names it."""

    run: Run
    time_s: Told
    rank: Rank
    step: Annotated[int, _column("number of the step, as written")]
    total: Annotated[int | None, _column("steps in all, where the log tells")]
    step_s: Annotated[float | None, _column("duration of one step as the log tells it, seconds")]
    counter: Annotated[str, _column("what counts it: PROFILE:LINE of a log file; in recordings run, or rank")]


class Metric(Struct, frozen=True):
    """Numbers that stand beside a step: loss, grad_norm, lr, throughput, times of its parts."""

    run: Run
    time_s: Told
    rank: Rank
    step: Annotated[int | None, _column("the step beside which it stands")]
    name: Annotated[str, _column("as written, but loss, lr and grad_norm have these plain names")]
    value: Annotated[float | None, _column("NULL for NaN and infinite values")]


class RankRow(Struct, frozen=True):
    """Each rank at each look at its processes: what it does, and how far behind it is."""

    run: Run
    time_s: At
    rank: Annotated[int, _column("number of the rank")]
    host: Annotated[str | None, _column("name of its machine")]
    pid: Annotated[int | None, _column("process id on its machine")]
    gpu: Annotated[int | None, _column("index of its GPU")]
    stage: Annotated[str | None, _column("id of its stage")]
    step: Annotated[int | None, _column("its last step")]
    lag: Annotated[int | None, _column("steps behind the rank that is furthest")]
    state: Annotated[str | None, _column("letter of proc(5); X when the process is gone")]
    cpu_percent: Annotated[float | None, _column("of one core")]
    rss_bytes: Annotated[int | None, _column("resident memory")]
    silence_s: Annotated[float | None, _column("seconds since its last line")]
    doing: Annotated[str | None, _column("what it does, in words")]
    status: Annotated[str | None, _column("what that is, in one word: works, waits, stands …")]


class StageRow(Struct, frozen=True):
    """Stages that the run entered, in order."""

    run: Run
    attempt: Annotated[int, _column("counts the starts of the run from 1")]
    id: Annotated[str, _column("id of the stage in its profile")]
    title: Annotated[str, _column("its title")]
    profile: Annotated[str, _column("the framework's profile")]
    time_s: Told
    done_at: Annotated[float | None, _column("unix time of its end, where the log tells one")]
    took_s: Annotated[float | None, _column("until its end, else until the next stage, seconds")]


class GpuRow(Struct, frozen=True):
    """Each GPU at each reading."""

    run: Run
    time_s: At
    host: Host
    gpu: Annotated[int, _column("index on its machine")]
    name: Annotated[str | None, _column("model")]
    status: Annotated[str, _column("ok, late, no answer, lost …")]
    util_percent: Annotated[float | None, _column("time in which a kernel ran")]
    used_bytes: Annotated[int | None, _column("memory in use")]
    total_bytes: Annotated[int | None, _column("memory in all")]
    power_w: Annotated[float | None, _column("power drawn")]
    limit_w: Annotated[float | None, _column("power limit")]
    temperature_c: Annotated[float | None, _column("temperature")]
    sm_clock_mhz: Annotated[int | None, _column("clock of the multiprocessors")]
    pcie_rx_bytes_s: Annotated[float | None, _column("bytes a second from the host")]
    pcie_tx_bytes_s: Annotated[float | None, _column("bytes a second to the host")]
    nvlink_rx_bytes_s: Annotated[float | None, _column("bytes a second over all links, received")]
    nvlink_tx_bytes_s: Annotated[float | None, _column("bytes a second over all links, sent")]
    xid: Annotated[int | None, _column("the driver's last error number")]
    throttle: Annotated[str, _column("reasons for which it is slowed down, with commas")]


class ProcessRow(Struct, frozen=True):
    """Each process of the run at each reading."""

    run: Run
    time_s: At
    host: Host
    pid: Pid
    ppid: Annotated[int, _column("its parent")]
    started_at: Annotated[float, _column("unix time of its start: tells it from a later one with the same pid")]
    rank: Rank
    role: Annotated[str, _column("launcher, rank, data worker, ray worker …")]
    name: Annotated[str, _column("short name")]
    command: Annotated[str, _column("command line")]
    state: Annotated[str, _column("letter of proc(5)")]
    wchan: Annotated[str | None, _column("where it waits in the kernel")]
    cpu_percent: Annotated[float | None, _column("of one core")]
    rss_bytes: Annotated[int | None, _column("resident memory")]
    read_b_s: Annotated[float | None, _column("bytes a second from storage")]
    write_b_s: Annotated[float | None, _column("bytes a second to storage")]
    threads: Annotated[int, _column("number of threads")]
    exit_code: Annotated[int | None, _column("0 to 255, or minus the signal that ended it")]


class ThreadRow(Struct, frozen=True):
    """Each thread in each look at the stacks."""

    run: Run
    time_s: At
    look: Annotated[int, _column("number of the look: its stacks belong together")]
    pid: Pid
    rank: Rank
    tid: Annotated[int | None, _column("thread id")]
    name: Annotated[str, _column("name of the thread")]
    main: Annotated[bool, _column("whether it is the main thread")]
    state: Annotated[str | None, _column("letter of proc(5)")]
    wait: Annotated[str | None, _column("kernel call it waits in: lock, sleep, poll, socket, pipe …")]
    wchan: Annotated[str | None, _column("where it waits in the kernel")]
    owns_gil: Annotated[bool, _column("whether it held the interpreter's lock")]


class StackRow(Struct, frozen=True):
    """Each frame of each thread in each look at the stacks; depth 0 is the innermost."""

    run: Run
    time_s: At
    look: Annotated[int, _column("number of the look")]
    pid: Pid
    rank: Rank
    tid: Annotated[int | None, _column("thread id")]
    main: Annotated[bool, _column("whether it is of the main thread")]
    depth: Annotated[int, _column("0 is the innermost frame")]
    function: Annotated[str, _column("qualified where the interpreter tells it")]
    file: Annotated[str, _column("source file")]
    line: Annotated[int, _column("line number")]


class ActorRow(Struct, frozen=True):
    """Each Ray actor at each reading."""

    run: Run
    time_s: At
    session: Annotated[str, _column("name of the Ray session")]
    id: Annotated[str | None, _column("id of the actor; NULL when only its process is known")]
    cls: Annotated[str, _column("class")]
    name: Annotated[str, _column("name, where it has one")]
    state: Annotated[str, _column("running, idle, resources, dead …")]
    method: Annotated[str | None, _column("the method that runs")]
    since: Annotated[float | None, _column("unix time since which that is so, or was first seen")]
    host: Annotated[str | None, _column("name of its machine")]
    pid: Annotated[int | None, _column("process id as Ray names it")]
    rank: Rank
    restarts: Annotated[int, _column("how often it was started again")]
    cpu_percent: Annotated[float | None, _column("of one core")]
    rss_bytes: Annotated[int | None, _column("resident memory")]
    death: Annotated[str, _column("why it is dead, in Ray's words")]


class CollectiveRow(Struct, frozen=True):
    """Collectives by member: launched as NCCL counts them, or enqueued and completed as torch's flight recorder does."""

    run: Run
    time_s: At
    source: Annotated[str, _column("ras (NCCL) or flight (recorder)")]
    communicator: Annotated[str, _column("id of the communicator or process group")]
    rank: Annotated[int, _column("rank in the communicator (ras), of the run (flight)")]
    host: Annotated[str | None, _column("name of its machine")]
    status: Annotated[str, _column("ok, missing, dead …, or the state of the last collective")]
    operation: Annotated[str, _column("AllReduce, Broadcast …; of flight the last one")]
    launched: Annotated[int | None, _column("collectives launched or enqueued")]
    completed: Annotated[int | None, _column("collectives completed; NULL where that is not told")]


class FindingRow(Struct, frozen=True):
    """Known messages in the logs, as they stand at the end."""

    run: Run
    id: Annotated[str, _column("id of the signature: hangtop explain ID")]
    severity: Annotated[str, _column("fatal, warning or hint")]
    role: Annotated[str, _column("cause, victim, evidence, consequence, summary or noise")]
    rank: Rank
    time_s: Told
    last_at: Annotated[float | None, _column("unix time of the last one")]
    count: Annotated[int, _column("how often it was written")]
    attempt: Annotated[int, _column("counts the starts of the run from 1")]
    file: Annotated[int, _column("number of the file")]
    byte: Annotated[int, _column("where the first one stands in its file")]
    text: Annotated[str, _column("the first one")]
    cause: Annotated[str, _column("what it means")]


class VerdictRow(Struct, frozen=True):
    """What was said of the run, from `time_s` on."""

    run: Run
    time_s: At
    word: Annotated[str, _column("running, slow, stalled, hung, waiting, crashed, finished or blind")]
    kind: Annotated[str | None, _column("what kind of hang")]
    confidence: Annotated[str, _column("certain, likely or possible")]
    headline: Annotated[str, _column("the sentence")]
    stage: Annotated[str | None, _column("id of the stage")]
    silence_s: Annotated[float | None, _column("seconds without anything new")]
    culprits: Annotated[str, _column("names, with commas")]
    rule: Annotated[str, _column("the rule that held")]


class HostRow(Struct, frozen=True):
    """The machine of the run at each reading."""

    run: Run
    time_s: At
    host: Host
    cores: Annotated[int, _column("number of cores")]
    load_1m: Annotated[float | None, _column("load average over one minute")]
    memory_bytes: Annotated[int | None, _column("memory in all")]
    available_bytes: Annotated[int | None, _column("memory that programs may still take")]
    cgroup_limit_bytes: Annotated[int | None, _column("limit of the run's control group")]
    cgroup_used_bytes: Annotated[int | None, _column("its use, without the page cache")]
    swap_used_bytes: Annotated[int | None, _column("swap in use")]
    oom_kills: Annotated[int | None, _column("processes killed for want of memory")]
    memory_stall_percent: Annotated[float | None, _column("of the last minute, in which nobody could work for want of memory")]
    io_stall_percent: Annotated[float | None, _column("of the last minute, in which nobody could work for want of storage")]


Row = (
    Line
    | Step
    | Metric
    | RankRow
    | StageRow
    | GpuRow
    | ProcessRow
    | ThreadRow
    | StackRow
    | ActorRow
    | CollectiveRow
    | FindingRow
    | VerdictRow
    | HostRow
)
TABLES: dict[str, type[Row]] = {
    "lines": Line,
    "steps": Step,
    "metrics": Metric,
    "ranks": RankRow,
    "stages": StageRow,
    "gpus": GpuRow,
    "processes": ProcessRow,
    "threads": ThreadRow,
    "stacks": StackRow,
    "actors": ActorRow,
    "collectives": CollectiveRow,
    "findings": FindingRow,
    "verdicts": VerdictRow,
    "host": HostRow,
}
NAMES: dict[type[Row], str] = {row: name for name, row in TABLES.items()}
SQL_TYPES: dict[type, str] = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}


class Column(Struct, frozen=True):
    """One column. `type`: of DuckDB."""

    name: str
    type: str
    text: str


def columns(row: type[Row]) -> Iterator[Column]:
    """The columns of a table, in order."""
    for name, hint in get_type_hints(row, include_extras=True).items():
        kind, meta = get_args(hint)
        yield Column(name, SQL_TYPES[_plain(kind)], meta.description)


def _plain(kind: Any) -> type:
    """The type without `None`."""
    optional = get_origin(kind) in (Union, UnionType)
    found: type = next(each for each in get_args(kind) if each is not type(None)) if optional else kind
    return found


def summary(row: type[Row]) -> str:
    """What the table holds, in one line."""
    return " ".join((row.__doc__ or "").split())
