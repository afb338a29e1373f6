"""Rules over the log alone: it repeats itself, a rank stayed behind, stalled, slow; and what is said of a run that goes on."""

from __future__ import annotations

import math
from textwrap import shorten

from hangtop.common.text import clock, duration, numbered, some
from hangtop.common.text import pace as pace_words
from hangtop.diagnosis.facts.message_evidence import found, last_error_line, said_last, sentence
from hangtop.diagnosis.facts.missing_voice import missing_voices, unfinished
from hangtop.diagnosis.facts.named_voices import named_voices
from hangtop.diagnosis.facts.nccl_calls import odd_call, odd_callers
from hangtop.diagnosis.facts.node_voices import silent_nodes
from hangtop.diagnosis.facts.silence_limits import work_until
from hangtop.diagnosis.facts.stacks_in_log import printed_apart
from hangtop.diagnosis.facts.start_up import is_suspect, start_evidence, start_words
from hangtop.diagnosis.facts.step_time_evidence import slower
from hangtop.diagnosis.facts.watchdog_counts import launched_fewer
from hangtop.diagnosis.members.writer_presence import nobody_writes
from hangtop.diagnosis.rules.verdict_builders import silent_words, stage_kind
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
LONGEST_WORK = 70
MAKES_WORKERS = "actor_init"
EARLY_PART, EARLY_GAPS = 0.25, 10.0
"""A rank left behind is said after this part of the limit, and this many of the run's own step gaps."""
LONE_S = 600.0
"""After this long a rank comes late to any collective: it is torch's own limit for NCCL (c10d default_pg_nccl_timeout)."""

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
    for finding in only_complaints(snapshot):
        each = finding.count / max(1, len(named_voices(snapshot.state.tail)) if finding.every_s else 1)
        too_few = each < REPEATED or 0 < each * finding.every_s <= snapshot.stall_s
        if too_few or not _for_long(snapshot, finding):
            continue
        missing = missing_voices(snapshot) if finding.every_s or finding.patient else ()
        return Verdict(
            word="stalled",
            headline=f"Only one message keeps coming: {sentence(finding.text)}",
            refute="a step or another stage line appears",
            kind=_kind_of(finding),
            culprits=missing,
            evidence=(
                found(finding),
                Evidence("log", f"nothing else since {clock(finding.at)}" if finding.at is not None else "nothing else comes"),
            ),
            detail=finding.cause,
            message=finding.id,
        )
    return None


def _for_long(snapshot: Snapshot, finding: Finding) -> bool:
    """Whether the message has come alone for long. Where it says when it comes again, as who asks for a server that still starts,
    or only that something is waited for, it has as long as the stage may be silent."""
    until = snapshot.log.announced_until
    asks = until is not None and (_announced(snapshot) or until >= (finding.last_at or math.inf))
    return not (asks or finding.patient) or (snapshot.silence_s or 0.0) > snapshot.limit.stalled_s


def only_complaints(snapshot: Snapshot) -> tuple[Finding, ...]:
    """The messages that come when nothing moves, as far as nothing else comes."""
    waits = (finding for finding in snapshot.findings if finding.hang in ("hang", "slow"))
    return tuple(finding for finding in waits if _is_all_that_comes(snapshot, finding))


def _is_all_that_comes(snapshot: Snapshot, finding: Finding) -> bool:
    """No stage began since, no engine is being built within the time that this may take, and its last sighting is the end of
    the file."""
    stage = snapshot.stage
    builds = stage is not None and stage.id.startswith("engine_") and stage.id != "engine_ready"
    building = builds and (snapshot.silence_s or 0.0) <= snapshot.limit.stalled_s
    later = stage is not None and began_after(stage, finding)
    file = snapshot.log.files[finding.file] if finding.file < len(snapshot.log.files) else None
    return not building and not later and file is not None and file.size_bytes - finding.last_offset < LAST_LINES_BYTES


def left_behind(snapshot: Snapshot) -> Verdict | None:
    """A rank stopped steps ago, and the others have stopped too, for long by this run's own pace: they wait in a collective
    that it never entered.

    Stands before `never_ended`: a step less is a plainer sign than a line less.
    """
    pace = snapshot.log.pace
    behind = steps_behind(snapshot)
    if snapshot.silence_s is None or pace.p95_s is None or not behind or _announced(snapshot) or snapshot.only_beats:
        return None
    if snapshot.silence_s < max(snapshot.spec.stall_s * EARLY_PART, EARLY_GAPS * pace.p95_s):
        return None
    return _stalled_verdict(snapshot, behind)


def never_ended(snapshot: Snapshot) -> Verdict | None:
    """All ranks but few have ended what these began (a save, a communicator), and nothing is said since, for far longer than it
    took the others. Rank 0 may go on for all.

    Stands before `stalled`: the ceiling of a stage explains the silence of ranks that are all at work in it.
    """
    silence_s, least_s = snapshot.silence_s or 0.0, max(LONE_S, snapshot.stall_s)
    if silence_s <= least_s or _announced(snapshot) or snapshot.only_beats:
        return None
    unended = unfinished(snapshot)
    if not unended.ranks or 0 in unended.ranks or silence_s <= EARLY_GAPS * unended.took_s:
        return None
    return _stalled_verdict(snapshot, missing_voices(snapshot))


def stalled(snapshot: Snapshot) -> Verdict | None:
    """The log is silent, or says nothing new, for longer than the stage, the run's own pace or an announced wait explains.

    Stands before `slow`: both need silence, and this one more of it.
    """
    if snapshot.silence_s is None or snapshot.silence_s <= snapshot.limit.stalled_s or _announced(snapshot):
        return None
    if snapshot.only_beats:
        return None
    return _stalled_verdict(
        snapshot,
        launched_fewer(snapshot)
        or printed_apart(snapshot)
        or odd_callers(snapshot)
        or stragglers(snapshot)
        or missing_voices(snapshot)
        or silent_nodes(snapshot),
    )


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
        message=None if behind or (error := _last_cause(snapshot)) is None else error.id,
    )


def _last_cause(snapshot: Snapshot) -> Finding | None:
    """The known message that a silent run wrote before: a cause, else who was missing or waited for."""
    told = [finding for finding in snapshot.findings if finding.severity != "hint"]
    waits = (finding for finding in told if finding.patient and not finding.survived)
    return next((finding for finding in told if finding.role == "cause"), None) or next(waits, None)


def _stalled_headline(snapshot: Snapshot, behind: tuple[Culprit, ...]) -> str:
    since = f"{snapshot.silence_words} {snapshot.where}"
    if nobody_writes(snapshot.state):
        return f"{since}, and no process here writes the log: the run died, or runs elsewhere."
    if behind:
        numbers = [culprit.rank for culprit in behind if culprit.rank is not None]
        ranks = numbered("rank", numbers).capitalize() if numbers else ", ".join(culprit.name for culprit in behind)
        lower = f"{snapshot.silence_words[0].lower()}{snapshot.silence_words[1:]}"
        odd = odd_call(snapshot) if behind == odd_callers(snapshot) else None
        if odd is None:
            return f"{ranks} stayed behind; {lower}."
        if odd.resized:
            return f"{ranks} called {odd.operation} of another size than the others; {lower}."
        return f"{ranks} called another collective than the others; {lower}."
    if (snapshot.procs.leads or snapshot.copier is not None) and snapshot.procs.note:
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
    silence = Evidence("log", f"{silent_words(snapshot)}, {limit}{usual}{longest}")
    return (silence, *start_evidence(snapshot), *_made(snapshot), *_worth_telling(snapshot)[:2], *said_last(snapshot))


def _made(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """How many workers were made of those that the run wants, while it makes them."""
    making = snapshot.stage is not None and snapshot.stage.id == MAKES_WORKERS
    return (Evidence("log", f"{_workers(snapshot)} made"),) if making and _workers(snapshot) else ()


def _workers(snapshot: Snapshot) -> str:
    made, wanted = snapshot.log.workers or (0, 0)
    return f"{made:,} of {some(wanted, 'worker')}" if wanted and made < wanted else ""


def slow(snapshot: Snapshot) -> Verdict | None:
    """The log is silent for long, but within what this stage may take, or as it announced.

    Stands before `lost_one`: that rule tells of a run whose other ranks go on.
    """
    if snapshot.silence_s is None or snapshot.silence_s <= snapshot.limit.slow_s or snapshot.only_beats:
        return None
    limit = duration(snapshot.limit.stalled_s)
    until = f"the log announced a wait until {clock(snapshot.log.announced_until)}"
    why = until if _announced(snapshot) else f"{_what_may_take(snapshot)} {limit}"
    return Verdict(
        word="slow",
        headline=f"{_quiet_words(snapshot)} {snapshot.where}; {why}.",
        refute=f"still silent after {limit}",
        confidence="possible",
        evidence=(Evidence("log", f"{silent_words(snapshot)}, limit {limit}"), *start_evidence(snapshot), *_made(snapshot)),
        next=(("f", "follow"),),
        quiet="explained" if _announced(snapshot) or snapshot.silence_s <= snapshot.stall_s else "overdue",
    )


def _what_may_take(snapshot: Snapshot) -> str:
    work, until = snapshot.log.work, work_until(snapshot.log, snapshot.spec)
    if work is not None and until is not None and snapshot.now <= until:
        return f'"{shorten(work.text, LONGEST_WORK, placeholder=" …")}" may take'
    return "this stage may be silent for"


def _quiet_words(snapshot: Snapshot) -> str:
    return snapshot.silence_words if snapshot.beats else f"Quiet since {snapshot.silent_since}"


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
    unwritten_s = snapshot.unwritten_s
    alone = nobody_writes(snapshot.state) and unwritten_s is not None and unwritten_s > JUST_WRITTEN_S
    late = None if alone else start_words(snapshot)
    is_past = snapshot.stage is not None and snapshot.stage.done_at is not None
    starting = f"{late}." if late is not None else "Running." if is_past else "Starting."
    begun = starting if snapshot.log.bytes else "Nothing written yet." if snapshot.log.caught_up else "Reading the log."
    goes_on = "Running slower than before." if slower(snapshot.log) else "Running as before."
    headline = _with_errors(snapshot, goes_on if progress.step is not None else begun)
    if snapshot.only_beats and (snapshot.silence_s or 0.0) > snapshot.limit.slow_s:
        headline = f"{snapshot.silence_words}: output goes on, and its own pace does not tell whether that is usual."
    if alone:
        headline = f"No process here has the log open: it ended after {snapshot.silent_since}, or runs elsewhere."
    return Verdict(
        word="running",
        headline=headline,
        refute=f"silence for more than {duration(snapshot.limit.stalled_s)}",
        confidence="possible" if alone or is_suspect(snapshot) else "likely",
        culprits=stragglers(snapshot),
        evidence=(*(start_evidence(snapshot) if late and late not in headline else ()), *_worth_telling(snapshot)[:3]),
        detail=_running_detail(snapshot),
    )


def _with_errors(snapshot: Snapshot, headline: str) -> str:
    """The headline, and that errors were written which did not end the run: who wrote them lives. Of those that it survived
    before the last ones nobody knows the number."""
    told = [
        finding
        for finding in snapshot.findings
        if finding.role != "noise" and (finding.severity == "fatal" or _survived(finding))
    ]
    errors = "errors" if any(map(_survived, told)) else some(sum(finding.count for finding in told), "error")
    return f"{headline[:-1]}: {errors} reported, the run goes on." if told else headline


def _survived(finding: Finding) -> bool:
    return finding.survived and "crash" in finding.hang


def _running_detail(snapshot: Snapshot) -> str:
    parts = []
    steps = {rank.step for rank in snapshot.ranks if rank.step is not None}
    if late := [rank.rank for rank in steps_behind(snapshot) if rank.rank is not None]:
        parts.append(f"{numbered('rank', late).capitalize()} behind the others.")
    elif len(steps) == 1 and len(snapshot.ranks) > 1:
        parts.append(f"All {some(len(snapshot.ranks), 'rank')} in step {steps.pop():,}.")
    parts += [f"{fact.text}." for fact in _made(snapshot)]
    if snapshot.plan is not None and snapshot.plan.typical_s is not None:
        parts.append(f"This stage takes about {duration(snapshot.plan.typical_s)}.")
    longest, limit = snapshot.log.longest_silence_s, f"limit {duration(snapshot.limit.stalled_s)}."
    known = longest is not None and not math.isnan(longest)
    return " ".join((*parts, f"Longest silence so far {duration(longest)}, {limit}" if known else limit.capitalize()))


def _worth_telling(snapshot: Snapshot) -> tuple[Evidence, ...]:
    return tuple(found(finding) for finding in snapshot.findings if finding.severity != "hint")
