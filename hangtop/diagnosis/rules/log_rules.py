"""Rules over the log alone: it repeats itself, a rank stayed behind, stalled, slow; and what is said of a run that goes on."""

from __future__ import annotations

import math

from hangtop.common.text import clock, duration, numbered, some
from hangtop.common.text import pace as pace_words
from hangtop.diagnosis.facts.message_evidence import found, last_error_line, said_last, sentence
from hangtop.diagnosis.members.writer_presence import nobody_writes
from hangtop.diagnosis.rules.verdict_builders import stage_kind
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.stragglers import steps_behind, stragglers
from hangtop.logs.finding_order import began_after
from hangtop.records.log import Finding
from hangtop.records.verdict import Culprit, Evidence, Kind, Verdict

LEAST_STEP_S = 0.05
"""Lines that came in one burst tell nothing of how long a step takes."""
JUST_WRITTEN_S = 10.0
"""A writer may open its log anew for each line; after this the log has no writer here."""
REPEATED = 3
"""A message that comes when nothing moves counts from this often on."""
LAST_LINES_BYTES = 2048
EARLY_PART, EARLY_GAPS = 0.25, 10.0
"""A rank left behind is said after this part of the limit, and this many of the run's own step gaps."""

KIND_OF_CATEGORY: dict[str, Kind] = {
    "nccl": "nccl",
    "dl": "dataloader",
    "dist": "rendezvous",
    "fs": "io_blocked",
    "ray": "resources",
}
"""What a finding of this id prefix says of the kind of a hang; anything else is `unknown`."""


def repeats_itself(snapshot: Snapshot) -> Verdict | None:
    """Lines keep coming, but all are one message that comes when nothing moves. An example is vLLM's "No available shared
    memory broadcast block": normal while an engine compiles, a hang once the engine was ready.

    Stands before `stalled`: lines keep coming, so that no limit of silence is ever reached.
    """
    for finding in snapshot.findings:
        if finding.hang not in ("hang", "slow") or finding.count < REPEATED or not _is_all_that_comes(snapshot, finding):
            continue
        return Verdict(
            word="stalled",
            headline=f"Only one message keeps coming: {sentence(finding.text)}",
            refute="a step or another stage line appears",
            kind=_kind_of(finding),
            evidence=(found(finding), Evidence("log", f"nothing else since {clock(finding.at)}")),
            detail=finding.cause,
            message=finding.id,
        )
    return None


def _is_all_that_comes(snapshot: Snapshot, finding: Finding) -> bool:
    """No stage began since, no engine is being built, and its last sighting is the end of the file."""
    stage = snapshot.stage
    building = stage is not None and stage.id.startswith("engine_") and stage.id != "engine_ready"
    later = stage is not None and began_after(stage, finding)
    file = snapshot.log.files[finding.file] if finding.file < len(snapshot.log.files) else None
    return not building and not later and file is not None and file.size_bytes - finding.last_offset < LAST_LINES_BYTES


def left_behind(snapshot: Snapshot) -> Verdict | None:
    """A rank stopped steps ago, and the others have stopped too, for long by this run's own pace: they wait in a collective
    that it never entered.

    Stands before `stalled`: the log names who is missing long before the limit is reached.
    """
    pace = snapshot.log.pace
    behind = steps_behind(snapshot)
    if snapshot.silence_s is None or pace.p95_s is None or not behind or _announced(snapshot):
        return None
    if snapshot.silence_s < max(snapshot.spec.stall_s * EARLY_PART, EARLY_GAPS * pace.p95_s):
        return None
    return _stalled_verdict(snapshot, behind)


def stalled(snapshot: Snapshot) -> Verdict | None:
    """The log is silent for longer than the stage, the run's own pace or an announced wait explains.

    Stands before `slow`: both need silence, and this one more of it.
    """
    if snapshot.silence_s is None or snapshot.silence_s <= snapshot.limit.stalled_s or _announced(snapshot):
        return None
    return _stalled_verdict(snapshot, stragglers(snapshot))


def _stalled_verdict(snapshot: Snapshot, behind: tuple[Culprit, ...]) -> Verdict:
    return Verdict(
        word="stalled",
        headline=_stalled_headline(snapshot, behind),
        refute=_stalled_refute(snapshot),
        kind=_kind(snapshot),
        confidence="likely" if behind else "possible",
        culprits=behind,
        evidence=_stall_evidence(snapshot),
        next=(("/", "filter the log"), ("e", "errors and stages")),
        detail=_usual_cause(snapshot),
        message=None if behind or (error := _last_cause(snapshot)) is None else error.id,
    )


def _last_cause(snapshot: Snapshot) -> Finding | None:
    """The known message that a silent run wrote before."""
    return next((finding for finding in snapshot.findings if finding.role == "cause" and finding.severity != "hint"), None)


def _stalled_headline(snapshot: Snapshot, behind: tuple[Culprit, ...]) -> str:
    since = f"No output since {snapshot.silent_since} {snapshot.where}"
    if nobody_writes(snapshot.state):
        return f"{since}, and no process here writes the log: the run died, or runs elsewhere."
    if behind:
        ranks = numbered("rank", (culprit.rank for culprit in behind if culprit.rank is not None))
        return f"{ranks.capitalize()} stayed behind; no output since {snapshot.silent_since}."
    if snapshot.procs.leads and snapshot.procs.note:
        return f"{since}; {snapshot.procs.note}."
    error = _last_cause(snapshot) or last_error_line(snapshot)
    return f"{since}; the cause is not known yet." if error is None else f"{since}; before it: {sentence(error.text)}"


def _stalled_refute(snapshot: Snapshot) -> str:
    pids = " ".join(f"--pid {pid}" for pid in snapshot.procs.leads[:3])
    may_be = f"a process that may be the run is at work: {pids} shows it"
    return f"new output, or {may_be if pids else 'a sign of life that hangtop cannot see from here'}"


def _kind(snapshot: Snapshot) -> Kind:
    hanging = [finding for finding in snapshot.findings if finding.hang in ("hang", "hang-then-crash", "either")]
    if hanging:
        return _kind_of(hanging[0])
    if nobody_writes(snapshot.state):
        return "dead_process"
    meets = snapshot.stage is not None and snapshot.stage.id == "dist_init"
    return "rendezvous" if meets else stage_kind(snapshot) or "unknown"


def _kind_of(finding: Finding) -> Kind:
    return KIND_OF_CATEGORY.get(finding.id.partition(".")[0], "unknown")


def _stall_evidence(snapshot: Snapshot) -> tuple[Evidence, ...]:
    limit = f"limit {duration(snapshot.limit.stalled_s)}"
    pace = snapshot.log.pace
    usual = "" if not pace.p50_s or pace.p50_s < LEAST_STEP_S else f"; a step takes {pace_words(pace.p50_s)} s"
    longest = "" if not usual or pace.longest_s is None else f" and never took more than {duration(pace.longest_s)}"
    silence = Evidence("log", f"silent since {snapshot.silent_since}, {limit}{usual}{longest}")
    return (silence, *_worth_telling(snapshot)[:2], *said_last(snapshot))


def slow(snapshot: Snapshot) -> Verdict | None:
    """The log is silent for long, but within what this stage may take, or as it announced.

    Stands before `lost_one`: that rule tells of a run whose other ranks go on.
    """
    if snapshot.silence_s is None or snapshot.silence_s <= snapshot.limit.slow_s:
        return None
    limit = duration(snapshot.limit.stalled_s)
    until = f"the log announced a wait until {clock(snapshot.log.announced_until)}"
    why = until if _announced(snapshot) else f"this stage may be silent for {limit}"
    return Verdict(
        word="slow",
        headline=f"Quiet since {snapshot.silent_since} {snapshot.where}; {why}.",
        refute=f"still silent after {limit}",
        confidence="possible",
        evidence=(Evidence("log", f"silent since {snapshot.silent_since}, limit {limit}"),),
        next=(("f", "follow"),),
        detail=_usual_cause(snapshot),
    )


def announced(snapshot: Snapshot) -> Verdict | None:
    """The run is quiet, but its log said for how long.

    Stands before `rendezvous`: who waits as the log said misses nobody.
    """
    return slow(snapshot) if snapshot.is_quiet and _announced(snapshot) else None


def _announced(snapshot: Snapshot) -> bool:
    return snapshot.log.announced_until is not None and snapshot.now <= snapshot.log.announced_until


def running(snapshot: Snapshot) -> Verdict:
    """Nothing speaks against it."""
    progress = snapshot.log.progress
    if snapshot.state.log is None:
        return Verdict(word="running", headline="Reading the log.", refute="", confidence="possible")
    begun = "Starting." if snapshot.log.bytes else "Nothing written yet." if snapshot.log.caught_up else "Reading the log."
    headline = "Running as before." if progress.step is not None else begun
    alone = nobody_writes(snapshot.state) and snapshot.silence_s is not None and snapshot.silence_s > JUST_WRITTEN_S
    if alone:
        headline = f"No process here has the log open: it ended after {snapshot.silent_since}, or runs elsewhere."
    return Verdict(
        word="running",
        headline=headline,
        refute=f"silence for more than {duration(snapshot.limit.stalled_s)}",
        confidence="possible" if alone else "likely",
        culprits=stragglers(snapshot),
        evidence=_worth_telling(snapshot)[:3],
        detail=_running_detail(snapshot),
    )


def _running_detail(snapshot: Snapshot) -> str:
    parts = []
    steps = {rank.step for rank in snapshot.ranks if rank.step is not None}
    if late := [rank.rank for rank in steps_behind(snapshot) if rank.rank is not None]:
        parts.append(f"{numbered('rank', late).capitalize()} behind the others.")
    elif len(steps) == 1 and len(snapshot.ranks) > 1:
        parts.append(f"All {some(len(snapshot.ranks), 'rank')} in step {steps.pop():,}.")
    if snapshot.plan is not None and snapshot.plan.typical_s is not None:
        parts.append(f"This stage takes about {duration(snapshot.plan.typical_s)}.")
    longest, limit = snapshot.log.longest_silence_s, f"limit {duration(snapshot.limit.stalled_s)}."
    known = longest is not None and not math.isnan(longest)
    return " ".join((*parts, f"Longest silence so far {duration(longest)}, {limit}" if known else limit.capitalize()))


def _usual_cause(snapshot: Snapshot) -> str:
    """Why this stage is silent for long, most often."""
    return next(iter(snapshot.plan.causes), "") if snapshot.plan is not None else ""


def _worth_telling(snapshot: Snapshot) -> tuple[Evidence, ...]:
    return tuple(found(finding) for finding in snapshot.findings if finding.severity != "hint")
