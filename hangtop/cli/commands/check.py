"""`hangtop check`: one verdict, then exit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TextIO

import msgspec

from hangtop.common import clock
from hangtop.common.secrets.redactor import Redactor
from hangtop.common.text import duration, printable, some
from hangtop.diagnosis.check_report import report
from hangtop.diagnosis.facts.last_words import may_be_over
from hangtop.diagnosis.rules.log_health_rules import blind_if_unread, is_unread
from hangtop.diagnosis.snapshot import Snapshot, take_snapshot
from hangtop.diagnosis.sources_seen import NOT_YET, sources_seen
from hangtop.diagnosis.why import Why, why
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.headless import StackRequester, ray_looked, settled, states
from hangtop.monitor.monitor import Monitor
from hangtop.monitor.stack_requests import looks_in_this_silence, satisfied
from hangtop.records.advice import Advice, causes_of
from hangtop.records.log import LogReading
from hangtop.records.verdict import Evidence, Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from hangtop.translations import say, say_comment, say_paste

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
MOST_CAUSES = 3
"""Causes that are printed; `--json` and the page of the place hold all."""
TOLD_BESIDE = ("procs", "stacks", "ray")
"""Sources whose blindness may change the verdict."""
QUIET_AT_MOST_S = 20.0
"""How long the sources, two looks at the stacks and a watch of the waits of a quiet run may take: without them a live run would
be called stalled or hung, a hung one slow. So it may take until nobody can be
between two lines of a log that is over."""
WATCH_AT_MOST_S = 25.0
"""How much longer, while a watch goes on: that of bytes that nobody takes is the longest, 24 s."""


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
        told = satisfied(snapshot) or (ended and verdict.word != "finished" and proven(snapshot, verdict))
        enough = settled(state) and ray_looked(state) and told and watched_s >= AT_LEAST_S
        if enough and (ended or watched_s >= (wait_s or 0.0)):
            break
        if watched_s >= (wait_s or 0.0) and waited_s >= _patience_s(snapshot, verdict, watched_s - waited_s, enough=enough):
            break
    return snapshot, blind_if_unread(snapshot, verdict)


def _patience_s(snapshot: Snapshot, verdict: Verdict, started_s: float, *, enough: bool) -> float:
    """How long to wait for what is missing. `started_s`: how long the probe took to its first word."""
    if not snapshot.state.health:
        return START_AT_MOST_S
    is_grave = snapshot.is_quiet or verdict.state.silent or snapshot.log.beats_untimed or may_be_over(snapshot)
    usual_s = UNREAD_AT_MOST_S if is_unread(snapshot) else QUIET_AT_MOST_S if is_grave and not enough else AT_MOST_S
    waits = snapshot.state.waits
    watch_s = WATCH_AT_MOST_S if is_grave and waits is not None and not waits.done else 0.0
    return max(usual_s, STARTS * started_s) + watch_s


def proven(snapshot: Snapshot, verdict: Verdict) -> bool:
    """Whether a second look at the stacks adds nothing: the verdict is certain and names a numbered rank. Of one that is stopped
    a watch tells whether somebody lets it go on."""
    named = {rank.rank for rank in snapshot.ranks if not rank.by_order}
    return (
        verdict.confidence == "certain"
        and verdict.kind != "stopped"
        and looks_in_this_silence(snapshot) >= 1
        and all(culprit.rank in named for culprit in verdict.culprits)
    )


def run(feed: Feed, spec: WatchSpec, *, wait_s: float | None, as_json: bool, with_why: bool = False, out: TextIO) -> int:
    """Print the verdict and give the exit code of the contract."""
    snapshot, verdict = asyncio.run(verdict_once(feed, spec, wait_s))
    told, problem = advised(snapshot, verdict)
    if as_json:
        shown = Redactor().tree(msgspec.to_builtins(report(snapshot, verdict, told)))
        out.write(msgspec.json.encode(shown).decode() + "\n")
    else:
        lines = [*text(verdict, told), *advice_lines(told), *notes(snapshot, verdict)]
        lines += [f"  ! {problem}"] if problem else []
        lines += reasons(why(snapshot, verdict)) if with_why else []
        out.write("".join(f"{printable(line)}\n" for line in lines))
    out.flush()
    return verdict.state.exit_code


def advised(snapshot: Snapshot, verdict: Verdict) -> tuple[tuple[Advice, ...], str]:
    """The advice, and why the user's own places are left out, if they are. A green verdict does without the catalogue."""
    if not verdict.advised:
        return (), ""
    from hangtop.remedies.advise import advice
    from hangtop.remedies.catalogue import usable_places

    return advice(snapshot, verdict, snapshot.spec.config_dir), usable_places(snapshot.spec.config_dir)[1]


def advice_lines(told: Sequence[Advice]) -> list[str]:
    """Causes, the likeliest first, what tells each from the others, and what to do about it."""
    lines: list[str] = []
    causes = causes_of(told)
    for number, ((place, cause), dos) in enumerate(list(causes.items())[:MOST_CAUSES], 1):
        lines.append(f"  {say(f'why {number}')}: {say(cause)}" + (f"   [{place}]" if place else ""))
        lines += [f"    {say('tell')}: {say_comment(asked)}" for asked in dos[0].tell_apart]
        lines += [
            f"    {count}. {': '.join(filter(None, (say(each.words), say_paste(each.paste, each.where))))}"
            for count, each in enumerate(dos, 1)
        ]
    more = len(causes) - MOST_CAUSES
    return [*lines, f"  {say(some(more, 'more cause'))}: hangtop explain {told[0].place}"] if more > 0 else lines


def notes(snapshot: Snapshot, verdict: Verdict) -> list[str]:
    """What could not be read, and what would permit it, one a line; without what the headline says."""
    seen = sources_seen(snapshot.state, snapshot.now)
    said = [problem for problem in (snapshot.log.problem, *(file.problem for file in snapshot.log.files)) if problem]
    said += not_kept(snapshot.log)
    beside = [name for name in TOLD_BESIDE if name in seen and not _absent(snapshot, name)]
    said += [problem for name in beside if (problem := seen[name].problem) and problem != NOT_YET]
    said += [health.problem for name, health in snapshot.state.health.items() if health.problem and name != "log"]
    return [f"  ! {say(note)}" for note in dict.fromkeys(said) if note not in verdict.headline]


def _absent(snapshot: Snapshot, name: str) -> bool:
    return snapshot.state.health[name].absent is not None


def not_kept(log: LogReading | None) -> list[str]:
    """What was skipped of each pipe, whose writer never waits."""
    return [f"{file.path}: {file.not_kept}" for file in (log.files if log else ()) if file.not_kept]


def text(verdict: Verdict, told: Sequence[Advice] = ()) -> list[str]:
    """The verdict in words: headline, evidence, refutation. `told`: the advice that follows, which says the cause."""
    quiet = "" if verdict.silence_s is None else f"   {say(f'quiet {duration(verdict.silence_s)}')}"
    stage = "" if verdict.stage is None else f"   {say(verdict.stage.title)}"
    kind = f" · {say(verdict.kind)}" if verdict.kind else ""
    lines = [
        f"{say(verdict.word.upper())}{quiet}{stage}   {say(verdict.confidence)}{kind}",
        f"  {say(verdict.headline)}",
    ]
    if verdict.detail and not any(verdict.detail in each.cause for each in told):
        lines.append(f"  {say(verdict.detail)}")
    lines += map(_fact, verdict.evidence)
    lines += [
        f"  > {culprit.with_node}: {', '.join(map(say, culprit.why))} ({say(culprit.confidence)})" for culprit in verdict.culprits
    ]
    if verdict.refute:
        lines.append(f"  - {say(f'wrong if {verdict.refute}')}")
    return lines


def reasons(why: Why) -> list[str]:
    """The rule that decided, and all facts."""
    return [f"  {say('why')}: {why.rule or say('no rule')}. {say(why.meaning)}", *map(_fact, why.facts)]


def _fact(fact: Evidence) -> str:
    sign = {True: "+", False: "-", None: "?"}[fact.supports]
    return f"  {sign} {fact.source:<7} {say(fact.text)}" + (f"   [{fact.page}]" if fact.page else "")
