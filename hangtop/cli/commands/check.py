"""`hangtop check`: one verdict, then exit."""

from __future__ import annotations

import asyncio
import time
from typing import TextIO

import msgspec

from hangtop.common import clock
from hangtop.common.text import duration, printable
from hangtop.diagnosis.check_report import report
from hangtop.diagnosis.members.ray_ownership import said_of, strangers
from hangtop.diagnosis.rules.log_health_rules import blind_if_unread, is_unread
from hangtop.diagnosis.snapshot import Snapshot, take_snapshot
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.headless import StackRequester, settled, states
from hangtop.monitor.monitor import Monitor
from hangtop.monitor.stack_requests import looks_in_this_silence, satisfied
from hangtop.records.log import LogReading
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

LOOK_AGAIN_S = 0.1
AT_LEAST_S = 0.3
"""Long enough to see a process; one look at the log takes milliseconds."""
AT_MOST_S = 5.0
"""After this a log that is still being read is judged by what is known; the report says how much was read. This limit and those
below count from the probe's first word, since the start alone may take long on a busy machine."""
UNREAD_AT_MOST_S = 12.0
"""After this a log of which nothing was read is "not read": on a busy machine it comes late, on a dead file system never."""
START_AT_MOST_S = 30.0
"""After this a probe that has said nothing is given up."""
STARTS = 10.0
"""A machine that starts the probe slowly is slow with all else: waits are at least so many times the start."""
QUIET_AT_MOST_S = 15.0
"""How long the sources and two looks at the stacks of a quiet run may take: without them a live run would be called stalled, a
hung one slow."""


async def verdict_once(feed: Feed, spec: WatchSpec, wait_s: float | None) -> tuple[Snapshot, Verdict]:
    """Watch until the sources have looked, or for `wait_s` seconds; less if the run has plainly ended or hangs."""
    started = time.monotonic()
    heard: float | None = None
    stack_requester = StackRequester(feed)
    monitor = Monitor(spec)
    snapshot = monitor.look(RunState(), clock.now(), draft=True)
    verdict = monitor.verdict
    async for state in states(feed, LOOK_AGAIN_S):
        snapshot = take_snapshot(state, spec, clock.now())
        verdict = monitor.judge(snapshot, draft=not (settled(state) and satisfied(snapshot)))
        stack_requester.follow(snapshot)
        at = time.monotonic()
        heard = heard or (at if state.health else None)
        watched_s, waited_s = at - started, at - (heard or started)
        ended = not (verdict.state.works or verdict.word == "blind")
        told = satisfied(snapshot) or (ended and proven(snapshot, verdict))
        enough = settled(state) and told and watched_s >= AT_LEAST_S
        if enough and (ended or watched_s >= (wait_s or 0.0)):
            break
        if watched_s >= (wait_s or 0.0) and waited_s >= _patience_s(snapshot, verdict, watched_s - waited_s, enough=enough):
            break
    return snapshot, blind_if_unread(snapshot, verdict)


def _patience_s(snapshot: Snapshot, verdict: Verdict, started_s: float, *, enough: bool) -> float:
    """How long to wait for what is missing. `started_s`: how long the probe took to its first word."""
    if not snapshot.state.health:
        return START_AT_MOST_S
    is_grave = snapshot.is_quiet or verdict.state.silent
    usual_s = UNREAD_AT_MOST_S if is_unread(snapshot) else QUIET_AT_MOST_S if is_grave and not enough else AT_MOST_S
    return max(usual_s, STARTS * started_s)


def proven(snapshot: Snapshot, verdict: Verdict) -> bool:
    """Whether a second look at the stacks adds nothing: the verdict is certain and names a numbered rank."""
    named = {rank.rank for rank in snapshot.ranks if not rank.by_order}
    return (
        verdict.confidence == "certain"
        and looks_in_this_silence(snapshot) >= 1
        and all(culprit.rank in named for culprit in verdict.culprits)
    )


def run(feed: Feed, spec: WatchSpec, *, wait_s: float | None, as_json: bool, out: TextIO) -> int:
    """Print the verdict and give the exit code of the contract."""
    snapshot, verdict = asyncio.run(verdict_once(feed, spec, wait_s))
    if as_json:
        out.write(msgspec.json.encode(report(snapshot, verdict)).decode() + "\n")
    else:
        lines = (*text(verdict), *cure(snapshot, verdict), *notes(snapshot, verdict))
        out.write("".join(f"{printable(line)}\n" for line in lines))
    out.flush()
    return verdict.state.exit_code


def cure(snapshot: Snapshot, verdict: Verdict) -> list[str]:
    """Cause and fixes of the message in the headline, else of the first one; nothing for a healthy run."""
    told = [finding for finding in snapshot.findings if finding.cause and finding.severity != "hint"]
    if not (verdict.state.trouble or verdict.word == "waiting") or not told:
        return []
    first = next((finding for finding in told if finding.id == verdict.message), told[0])
    fixes = [f"  {number}. {remedy.line()}" for number, remedy in enumerate(first.remedies, 1)]
    cause = [f"  {first.id}: {first.cause}"] if first.cause != verdict.detail else [f"  {first.id}"]
    return [*cause, *fixes]


def notes(snapshot: Snapshot, verdict: Verdict) -> list[str]:
    """What could not be read, and what would permit it, one a line; without what the headline says."""
    procs = snapshot.procs
    said = [problem for problem in (snapshot.log.problem, *(file.problem for file in snapshot.log.files)) if problem]
    said += not_kept(snapshot.log)
    said += [note for note in (procs.note, procs.missing_right) if note]
    said += [foreign] if (foreign := said_of(strangers(snapshot.state), snapshot.now)) else []
    said += [health.problem for name, health in snapshot.state.health.items() if health.problem and name != "log"]
    return [f"  ! {note}" for note in dict.fromkeys(said) if note not in verdict.headline]


def not_kept(log: LogReading | None) -> list[str]:
    """What was skipped of each pipe, whose writer never waits."""
    return [f"{file.path}: {file.not_kept}" for file in (log.files if log else ()) if file.not_kept]


def text(verdict: Verdict) -> list[str]:
    """The verdict in words: headline, evidence, refutation."""
    quiet = "" if verdict.silence_s is None else f"   quiet {duration(verdict.silence_s)}"
    stage = "" if verdict.stage is None else f"   {verdict.stage.title}"
    kind = f" · {verdict.kind}" if verdict.kind else ""
    lines = [f"{verdict.word.upper()}{quiet}{stage}   {verdict.confidence}{kind}", f"  {verdict.headline}"]
    if verdict.detail:
        lines.append(f"  {verdict.detail}")
    sign = {True: "+", False: "-", None: "?"}
    lines += [f"  {sign[fact.supports]} {fact.source:<7} {fact.text}" for fact in verdict.evidence]
    lines += [f"  > {culprit.name}: {', '.join(culprit.why)} ({culprit.confidence})" for culprit in verdict.culprits]
    if verdict.refute:
        lines.append(f"  - wrong if {verdict.refute}")
    return lines
