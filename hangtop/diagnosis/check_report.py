"""The answer of `hangtop check --json`, schema 1: the verdict with everything that stands behind it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.sources_seen import SourceSeen, sources_seen
from hangtop.diagnosis.waits_for import WaitsFor, waits_for
from hangtop.diagnosis.why import Why, why
from hangtop.records.advice import Advice
from hangtop.records.nodes import pid_there
from hangtop.records.rank import Rank
from hangtop.records.verdict import Confidence, Culprit, Evidence, Kind, StageNow, Verdict, VerdictWord

Shape = TypeVar("Shape", bound=Struct)


class ProgressReport(Struct, frozen=True):
    step: int | None
    total: int | None
    step_s: float | None
    eta_s: float | None
    metrics: Mapping[str, float | str]
    parts: Mapping[str, float]


class RankReport(Struct, frozen=True):
    """One rank. `state`: the process state letter; `place`: in the run's parallel groups (`{"pp": 1, "tp": 2}`)."""

    rank: int
    world: int | None
    pid: int | None
    host: str | None
    gpu: int | None
    actor: str | None
    stage: str | None
    step: int | None
    silence_s: float | None
    state: str | None
    why: str | None
    place: dict[str, int] | None


class FindingReport(Struct, frozen=True):
    id: str
    severity: str
    role: str
    rank: int | None
    offset: int
    text: str
    cause: str
    fixes: tuple[str, ...]
    count: int
    survived: bool


class SourceReport(Struct, frozen=True):
    """`age_s`: seconds since its last good reading. `problem` also says what is absent, and what one that is well misses."""

    ok: bool
    age_s: float | None
    problem: str | None


class LogSourceReport(SourceReport, frozen=True):
    """`lines` is null until they are counted."""

    bytes: int
    lines: int | None


class Report(Struct, frozen=True):
    """What `hangtop/SCHEMA.md` tells. Unknown is null."""

    schema: int
    at: str
    verdict: VerdictWord
    kind: Kind | None
    confidence: Confidence
    headline: str
    refute: str
    silence_s: float | None
    last_line: str | None
    framework: str
    stage: StageNow | None
    progress: ProgressReport
    ranks: tuple[RankReport, ...]
    culprits: tuple[Culprit, ...]
    evidence: tuple[Evidence, ...]
    findings: tuple[FindingReport, ...]
    sources: dict[str, SourceReport | LogSourceReport]
    why: Why
    advice: tuple[Advice, ...]
    waits_for: tuple[WaitsFor, ...]
    decided_by: tuple[str, ...]
    hints: tuple[Advice, ...]


def report(snapshot: Snapshot, verdict: Verdict, advice: tuple[Advice, ...] = ()) -> Report:
    """The report of one look. `advice`: of `hangtop.remedies`, which knows more than the rules; while the verdict is green, it is
    of hints beside it."""
    log, progress, stage = snapshot.log, snapshot.log.progress, verdict.stage
    return Report(
        schema=1,
        at=datetime.fromtimestamp(snapshot.now, UTC).isoformat(timespec="seconds"),
        verdict=verdict.word,
        kind=verdict.kind,
        confidence=verdict.confidence,
        headline=verdict.headline,
        refute=verdict.refute,
        silence_s=_rounded(verdict.silence_s),
        last_line=log.last_line,
        framework=log.framework,
        stage=stage and replace(stage, since_s=_rounded(stage.since_s), limit_s=_rounded(stage.limit_s)),
        progress=ProgressReport(
            progress.step,
            progress.total,
            _rounded(progress.step_s, 3),
            _rounded(progress.eta_s),
            # JSON has no NaN: it is given as text, because `null` would mean unknown and this is known to be broken
            {name: "nan" if value is None else value for name, value in progress.metrics.items()},
            {part.part: part.share for part in log.step_times.parts},
        ),
        ranks=tuple(_rank(rank, verdict, snapshot.now) for rank in snapshot.ranks),
        culprits=_culprits(snapshot, verdict),
        evidence=verdict.evidence,
        findings=tuple(
            _copied(FindingReport, finding, fixes=tuple(remedy.line() for remedy in finding.remedies))
            for finding in snapshot.findings
            if finding.role != "noise"
        ),
        sources={name: _source(name, seen, snapshot) for name, seen in sources_seen(snapshot.state, snapshot.now).items()},
        why=why(snapshot, verdict),
        advice=() if verdict.state.healthy else advice,
        waits_for=waits_for(snapshot, verdict),
        decided_by=tuple(fact.text for fact in verdict.evidence if fact.supports),
        hints=advice if verdict.state.healthy else (),
    )


def _culprits(snapshot: Snapshot, verdict: Verdict) -> tuple[Culprit, ...]:
    """A run that is one process, without a number anywhere, is rank 0 of one."""
    busy = [member for member in snapshot.members if member.does != "idle"] or snapshot.members
    one = not snapshot.ranks and not snapshot.aside and len(busy) == 1
    told = (culprit.told for culprit in verdict.culprits)
    return tuple(replace(culprit, rank=0) if one and culprit.rank is None else culprit for culprit in told)


def _rank(rank: Rank, verdict: Verdict, now: float) -> RankReport:
    why = next((", ".join(culprit.why) for culprit in verdict.culprits if culprit.rank == rank.rank), rank.why)
    pid = None if rank.pid is None else pid_there(rank.pid)
    silence_s, place = _rounded(rank.silence_s(now)), dict(rank.place) or None
    return _copied(RankReport, rank, pid=pid, silence_s=silence_s, why=why, place=place)


def _copied(shape: type[Shape], record: Struct, **other: object) -> Shape:
    """The fields of `shape` from those of `record` that are called the same, and `other`."""
    same = {name: getattr(record, name) for name in shape.__struct_fields__ if name not in other}
    return shape(**same, **other)


def _source(name: str, seen: SourceSeen, snapshot: Snapshot) -> SourceReport:
    age_s = _rounded(seen.age_s)
    if name == "log":
        return LogSourceReport(seen.ok, age_s, seen.problem, snapshot.log.bytes, snapshot.log.lines)
    return SourceReport(seen.ok, age_s, seen.problem)


def _rounded(seconds: float | None, digits: int = 1) -> float | None:
    return None if seconds is None else round(seconds, digits)
