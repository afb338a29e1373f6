"""Rows of a recording: its readings in order, each folded into the state as the screen did, judged as the screen judged. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from hangtop.common.secrets.redactor import Redactor
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.monitor.monitor import Monitor
from hangtop.query.tables import (
    ActorRow,
    CollectiveRow,
    FindingRow,
    GpuRow,
    HostRow,
    Line,
    Metric,
    ProcessRow,
    RankRow,
    Row,
    StackRow,
    StageRow,
    Step,
    ThreadRow,
    VerdictRow,
)
from hangtop.records.gpu import GpuReading
from hangtop.records.health import Rewind
from hangtop.records.host import HostReading
from hangtop.records.log import Finding, LogReading, StageEvent
from hangtop.records.nccl import NcclReading
from hangtop.records.nodes import pid_there
from hangtop.records.process import ProcessReading
from hangtop.records.ray.cluster import RayReading
from hangtop.records.reading import Reading
from hangtop.records.stack import StacksReading
from hangtop.records.verdict import Verdict, VerdictChanged
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold

LOOK_EVERY_S = 1.0
"""The screen judges about as often. A day of it takes a minute to judge again."""


class RecordedRows:
    """The rows of one recording, reading by reading. `pictured`: only those that a picture of the whole run shows."""

    def __init__(self, run: str, spec: WatchSpec, look_every_s: float = LOOK_EVERY_S, *, pictured: bool = False) -> None:
        self._run, self.look_every_s, self._pictured = run, look_every_s, pictured
        self._state = RunState()
        self._said: list[VerdictChanged] = []
        self._monitor = Monitor(spec, (self._said.append,))
        self._looked_at = 0.0
        self._snapshot: Snapshot | None = None
        self._told: dict[int | None, int] = {}

    def read(self, reading: Reading) -> Iterator[Row]:
        """The rows that this reading makes."""
        if isinstance(reading.value, Rewind):
            return
        self._state = fold(self._state, reading)
        if not self._pictured:
            yield from self._of_value(reading)
        elif isinstance(reading.value, LogReading):
            yield from self._steps(reading.value, reading.at)
        if self._state.log is not None and reading.at - self._looked_at >= self.look_every_s:
            yield from self._look(reading.at)

    def end(self) -> Iterator[Row]:
        """What stands at the end: the last verdict, stages and findings."""
        if self._state.log is None:
            return
        if (last := self._state.heard_at or 0.0) > self._looked_at:
            yield from self._look(last)
        yield from stage_rows(self._run, self._state.log.stages)
        yield from (finding_row(self._run, finding) for finding in self._state.log.findings)

    def _of_value(self, reading: Reading) -> Iterator[Row]:
        match reading.value:
            case LogReading() as log:
                yield from self._of_log(log, reading.at)
            case ProcessReading() as processes:
                yield from self._of_processes(processes, reading)
            case GpuReading() as gpus:
                yield from gpu_rows(self._run, gpus, reading.at, reading.host)
            case HostReading() as machine:
                yield host_row(self._run, machine, reading.at, reading.host)
            case StacksReading() as stacks:
                yield from stack_rows(self._run, stacks, self._ranks_by_pid())
            case RayReading() as ray:
                yield from actor_rows(self._run, ray, reading.at)
            case NcclReading() as nccl:
                yield from collective_rows(self._run, nccl, reading.at)

    def _of_log(self, log: LogReading, at: float) -> Iterator[Row]:
        for line in log.tail:
            yield Line(self._run, line.at, line.file, line.offset, line.rank, line.kind, line.prefix, line.text)
        yield from self._steps(log, at)

    def _steps(self, log: LogReading, at: float) -> Iterator[Row]:
        progress = log.progress
        yield from self._step(None, progress.step, progress.total, progress.step_s or log.pace.lately_s, at, progress.metrics)
        for rank in log.ranks:
            yield from self._step(rank.rank, rank.step, rank.total, rank.step_s, rank.step_at, rank.metrics)

    def _step(
        self,
        rank: int | None,
        step: int | None,
        total: int | None,
        step_s: float | None,
        at: float | None,
        metrics: dict[str, float | None],
    ) -> Iterator[Row]:
        if step is None or self._told.get(rank) == step:
            return
        self._told[rank] = step
        yield Step(self._run, at, rank, step, total, step_s, "run" if rank is None else "rank")
        yield from (Metric(self._run, at, rank, step, name, value) for name, value in metrics.items())

    def _of_processes(self, reading: ProcessReading, whole: Reading) -> Iterator[Row]:
        for each in reading.processes:
            yield ProcessRow(
                run=self._run,
                time_s=whole.at,
                host=whole.host,
                pid=pid_there(each.pid),
                ppid=pid_there(each.ppid),
                started_at=each.started_at,
                rank=each.rank,
                role=each.role,
                name=each.name,
                command=each.command,
                state=each.state,
                wchan=each.wchan,
                cpu_percent=each.cpu_percent,
                rss_bytes=each.rss_bytes,
                read_b_s=each.read_b_s,
                write_b_s=each.write_b_s,
                threads=each.threads,
                exit_code=each.exit_code,
            )

    def _look(self, at: float) -> Iterator[Row]:
        self._looked_at = at
        self._snapshot = snapshot = self._monitor.look(self._state, at)
        yield from (verdict_row(self._run, change.at, change.verdict) for change in self._said)
        self._said.clear()
        yield from rank_rows(self._run, snapshot)

    def _ranks_by_pid(self) -> dict[int, int]:
        ranks = () if self._snapshot is None else self._snapshot.ranks
        return {rank.pid: rank.rank for rank in ranks if rank.pid is not None}


def rank_rows(run: str, snapshot: Snapshot) -> Iterator[RankRow]:
    """Each rank as this look shows it."""
    status = {member.rank: member for member in (*snapshot.members, *snapshot.aside) if member.rank is not None}
    for rank in snapshot.ranks:
        member = status.get(rank.rank)
        yield RankRow(
            run=run,
            time_s=snapshot.now,
            rank=rank.rank,
            host=rank.host,
            pid=None if rank.pid is None else pid_there(rank.pid),
            gpu=rank.gpu,
            stage=rank.stage,
            step=rank.step,
            lag=rank.lag,
            state=rank.state,
            cpu_percent=rank.cpu_percent,
            rss_bytes=None if rank.process is None else rank.process.rss_bytes,
            silence_s=rank.silence_s(snapshot.now),
            doing=rank.doing if member is None else member.text,
            status=None if member is None else member.status,
        )


def stage_rows(run: str, stages: Iterable[StageEvent]) -> Iterator[StageRow]:
    """The stages in order; one without an end of its own lasts until the next one of its attempt begins."""
    events = tuple(stages)
    for event, after in pairwise((*events, None)):
        assert event is not None
        until = after.at if after is not None and after.attempt == event.attempt else None
        end = event.done_at if event.done_at is not None else until
        took_s = None if event.at is None or end is None else max(0.0, end - event.at)
        yield StageRow(run, event.attempt, event.id, event.title, event.profile, event.at, event.done_at, took_s)


def finding_row(run: str, finding: Finding) -> FindingRow:
    """One known message. One of a log file is as it lies on disk."""
    redactor = Redactor()
    return FindingRow(
        run=run,
        id=finding.id,
        severity=finding.severity,
        role=finding.role,
        rank=finding.rank,
        time_s=finding.at,
        last_at=finding.last_at,
        count=finding.count,
        attempt=finding.attempt,
        file=finding.file,
        byte=finding.offset,
        text=redactor.text(finding.text),
        cause=redactor.text(finding.cause),
    )


def verdict_row(run: str, at: float, verdict: Verdict) -> VerdictRow:
    """What was said from `at` on."""
    return VerdictRow(
        run=run,
        time_s=at,
        word=verdict.word,
        kind=verdict.kind,
        confidence=verdict.confidence,
        headline=verdict.headline,
        stage=None if verdict.stage is None else verdict.stage.id,
        silence_s=verdict.silence_s,
        culprits=", ".join(culprit.with_node for culprit in verdict.culprits),
        rule=verdict.rule,
    )


def gpu_rows(run: str, reading: GpuReading, at: float, host: str) -> Iterator[GpuRow]:
    """Each GPU of a node."""
    for gpu in reading.gpus:
        yield GpuRow(
            run=run,
            time_s=at,
            host=host,
            gpu=gpu.index,
            name=gpu.name,
            status=gpu.status,
            util_percent=gpu.util_percent,
            used_bytes=gpu.used_bytes,
            total_bytes=gpu.total_bytes,
            power_w=gpu.power_w,
            limit_w=gpu.limit_w,
            temperature_c=gpu.temperature_c,
            sm_clock_mhz=gpu.sm_clock_mhz,
            pcie_rx_bytes_s=gpu.pcie_rx_bytes_s,
            pcie_tx_bytes_s=gpu.pcie_tx_bytes_s,
            nvlink_rx_bytes_s=gpu.nvlink_rx_bytes_s,
            nvlink_tx_bytes_s=gpu.nvlink_tx_bytes_s,
            xid=gpu.xid,
            throttle=", ".join(gpu.throttle),
        )


def host_row(run: str, machine: HostReading, at: float, host: str) -> HostRow:
    """The machine."""
    return HostRow(
        run=run,
        time_s=at,
        host=host,
        cores=machine.cores,
        load_1m=machine.load_1m,
        memory_bytes=machine.memory_bytes,
        available_bytes=machine.available_bytes,
        cgroup_limit_bytes=machine.cgroup_limit_bytes,
        cgroup_used_bytes=machine.cgroup_used_bytes,
        swap_used_bytes=machine.swap_used_bytes,
        oom_kills=machine.oom_kills,
        memory_stall_percent=machine.memory_stall_percent,
        io_stall_percent=machine.io_stall_percent,
    )


def stack_rows(run: str, reading: StacksReading, ranks: dict[int, int]) -> Iterator[ThreadRow | StackRow]:
    """Each thread of a look, and its frames. `ranks`: by pid."""
    for stack in reading.stacks:
        pid, rank = pid_there(stack.pid), stack.rank if stack.rank is not None else ranks.get(stack.pid)
        for thread in stack.threads:
            is_main = thread is stack.main
            yield ThreadRow(
                run=run,
                time_s=stack.at,
                look=reading.ask,
                pid=pid,
                rank=rank,
                tid=thread.tid,
                name=thread.name,
                main=is_main,
                state=thread.state,
                wait=thread.wait,
                wchan=thread.wchan,
                owns_gil=thread.owns_gil,
            )
            for depth, frame in enumerate(thread.frames):
                yield StackRow(
                    run, stack.at, reading.ask, pid, rank, thread.tid, is_main, depth, frame.function, frame.file, frame.line
                )


def actor_rows(run: str, ray: RayReading, at: float) -> Iterator[ActorRow]:
    """Each actor of each cluster."""
    for cluster in ray.clusters:
        for actor in cluster.actors:
            yield ActorRow(
                run=run,
                time_s=at,
                session=cluster.session,
                id=actor.id,
                cls=actor.cls,
                name=actor.name,
                state=actor.state,
                method=actor.method,
                since=actor.since,
                host=actor.host,
                pid=actor.ray_pid or actor.pid,
                rank=actor.rank,
                restarts=actor.restarts,
                cpu_percent=actor.cpu_percent,
                rss_bytes=actor.rss_bytes,
                death="" if actor.death is None else f"{actor.death.cause}: {actor.death.detail}".removesuffix(": "),
            )


def collective_rows(run: str, nccl: NcclReading, at: float) -> Iterator[CollectiveRow]:
    """What NCCL and torch's flight recorder have counted."""
    for communicator in nccl.communicators:
        for member in communicator.ranks:
            counts: dict[str, int | None] = {**(member.counts or communicator.most)} or {"": None}
            for operation, launched in counts.items():
                yield CollectiveRow(
                    run, at, "ras", communicator.id, member.rank, member.host, member.status, operation, launched, None
                )
    for dump in nccl.dumps:
        for group in dump.groups:
            yield CollectiveRow(
                run=run,
                time_s=dump.at,
                source="flight",
                communicator=group.name or group.id,
                rank=dump.rank,
                host=None,
                status=group.state or "",
                operation=group.operation or "",
                launched=group.enqueued,
                completed=group.completed,
            )
