"""Why steps take longer than they did, in the run's own numbers: which part of a step grew, and since when. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hangtop.common.text import count, metric, moment, pace
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import LogReading
from hangtop.records.step_times import Part, PartTime, StepTimes, Was
from hangtop.records.verdict import Evidence

WORDS: dict[Part, str] = {
    "data": "loading of data",
    "forward": "the forward pass",
    "backward": "the backward pass",
    "training": "training",
    "optimizer": "the optimizer",
    "sync": "synchronisation",
    "save": "saving",
    "generation": "generation",
    "reward": "the reward",
    "logprobs": "log-probabilities",
    "teacher": "the teacher",
    "evaluation": "evaluation",
    "other": "other work",
}
PAGES: dict[Part, str] = {
    "data": "slow_data",
    "forward": "slow_steps",
    "backward": "slow_steps",
    "training": "slow_update",
    "optimizer": "slow_optimizer",
    "sync": "slow_network",
    "save": "slow_save",
    "generation": "slow_generation",
    "reward": "slow_reward",
    "logprobs": "slow_update",
    "teacher": "slow_reward",
    "evaluation": "slow_save",
    "other": "slow_steps",
}
"""The place that tells why a part takes long, and what to do."""
SLOWER = 1.5
"""A step is slower when it takes this many times what it took: less is a longer batch, or a neighbour on the machine."""
SHARE_GREW, PART_GREW = 0.15, 1.3
"""A part explains it when its share grew by this much of a step, and its own seconds by this factor: a share also grows where
another part got faster."""
LEAST_STEP_S = 0.05
LEAST_LOOKS = 6
"""Looks at stacks: fewer are one moment, not a share of the time."""
MOST_PARTS = 4
PER_STEPS = 100
SLOW_TOKENS_S, MOSTLY = 100.0, 0.5
"""Generation that takes most of a step at fewer tokens a second is slow (troubleshooting guide of LightRFT, "generation is too
slow")."""


def grown(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """What changed for the worse and stayed so, the part of the step first; nothing where the run goes as it always did."""
    log = snapshot.log
    parts, tokens = _parts(log.step_times, snapshot.now), _tokens(log.step_times, snapshot.now)
    return (
        *(Evidence("log", line, page=PAGES[part]) for part, line in parts),
        *(Evidence("log", line, page="slow_generation") for line in tokens),
        *(
            Evidence("log", line, page="slow_steps" if log.pace.grows is None else "growing_steps")
            for line in _pace(log, snapshot.now)
        ),
        *(Evidence("log", line, page="slow_steps") for line in _throughput(log, snapshot.now)),
    )


def grown_parts(times: StepTimes) -> tuple[Part, ...]:
    """Those that take a larger share than they did, and longer."""
    return tuple(part.part for part in times.parts if part.was is not None and part.was_s is not None and _grew(part))


def breakdown(log: LogReading) -> Evidence | None:
    """Where the time of a step goes now; `None` where the log does not tell."""
    told = [f"{WORDS[part.part]} {percent(part.share)}" for part in log.step_times.parts[:MOST_PARTS] if part.share >= 0.01]
    return Evidence("log", f"of a step: {', '.join(told)}", page="slow_steps") if told else None


def seen_parts(snapshot: Snapshot) -> Evidence | None:
    """Where the ranks were seen in the looks at their stacks; `None` before there are enough of them."""
    pids = {member.pid for member in snapshot.members}
    looks = [seen for look in snapshot.state.seen_in if (seen := [part for pid, part in look.items() if pid in pids])]
    if len(looks) < LEAST_LOOKS:
        return None
    parts = Counter(part for seen in looks for part in seen)
    told = [f"{WORDS[part]} {percent(times / parts.total())}" for part, times in parts.most_common(MOST_PARTS)]
    ((first, times),) = parts.most_common(1)
    page = PAGES[first] if times >= MOSTLY * parts.total() else "slow_steps"
    return Evidence("stacks", f"in {len(looks)} looks the ranks were in: {', '.join(told)}", page=page)


def slower(log: LogReading) -> bool:
    """Whether steps take longer for good than they did."""
    was, now_s = log.pace.was, log.pace.lately_s
    return was is not None and now_s is not None and now_s >= max(LEAST_STEP_S, SLOWER * was.value)


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _parts(times: StepTimes, now: float) -> Iterator[tuple[Part, str]]:
    for part in sorted(times.parts, key=_more_s, reverse=True):
        if part.was is not None and part.was_s is not None and _grew(part):
            seconds = f"{pace(part.part_s)} s, before {pace(part.was_s)} s"
            then = f"it was {percent(part.was.value)} {_until(part.was, now)}"
            yield part.part, f"{percent(part.share)} of the step is {WORDS[part.part]}, {then} ({seconds})"


def _grew(part: PartTime) -> bool:
    was, was_s = part.was, part.was_s or 0.0
    return was is not None and part.share - was.value >= SHARE_GREW and part.part_s >= PART_GREW * was_s


def _more_s(part: PartTime) -> float:
    return part.part_s - (part.part_s if part.was_s is None else part.was_s)


def _pace(log: LogReading, now: float) -> Iterator[str]:
    grows = log.pace.grows
    if grows is not None and grows.last_s >= LEAST_STEP_S:
        more = f"{pace(PER_STEPS * grows.by_step_s)} s more each {PER_STEPS} steps"
        yield f"a step takes {pace(grows.last_s)} s, at first {pace(grows.first_s)} s: {more}"
    elif slower(log) and log.pace.was is not None:
        yield f"a step takes {pace(log.pace.lately_s)} s, it took {pace(log.pace.was.value)} s {_until(log.pace.was, now)}"


def _throughput(log: LogReading, now: float) -> Iterator[str]:
    fell = log.pace.throughput
    if fell is not None and fell.until is not None and not slower(log):
        yield f"the throughput is {metric(fell.now)}, it was {metric(fell.was)} {_until(fell.until, now)}"


def _tokens(times: StepTimes, now: float) -> Iterator[str]:
    tokens_s, were = times.tokens_s, times.tokens_were
    if tokens_s is None:
        return
    generation = next((part.share for part in times.parts if part.part == "generation"), 0.0)
    if were is not None and were.value >= SLOWER * tokens_s:
        yield f"the engine generates {tokens_s:,.0f} tokens a second, it was {were.value:,.0f} {_until(were, now)}"
    elif tokens_s < SLOW_TOKENS_S and generation >= MOSTLY:
        yield f"generation takes {percent(generation)} of the step, at {tokens_s:,.0f} tokens a second"


def _until(was: Was, now: float) -> str:
    if was.until_step is not None:
        return f"until {'about ' if was.about else ''}step {count(was.until_step)}"
    return "before" if was.until_at is None else f"until {moment(was.until_at, now)}"
