"""Where the time of a step goes now, and where it went earlier in the same run: medians over the steps that the logs tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from hangtop.common.level_shift import Shift, shift_of
from hangtop.common.median import median
from hangtop.logs.attempts import Attempts
from hangtop.logs.file_facts import FileFacts, TimesOfStep, TokenRate
from hangtop.records.step_times import Part, PartTime, SlowRank, StepTimes, Was, until

LATELY = 12
"""Of so many of the newest steps the medians are those of now, where nothing changed."""
LEAST_TOLD = 5
LEAST_RANKS = 3
"""Of two nobody knows which is the odd one."""
APART, LEAST_MORE_S = 1.5, 0.1
TOGETHER: frozenset[Part] = frozenset({"sync", "save", "evaluation"})
"""What takes as long for all."""
Told = TypeVar("Told", TimesOfStep, TokenRate)


def step_times_of(facts: Sequence[FileFacts], attempts: Attempts) -> StepTimes:
    """By the form of line that tells of most steps of this attempt, then of most parts."""
    told = [_present(rows, file, attempts) for file in facts for rows in file.step_times.values()]
    rows = max(told, key=lambda rows: (len(rows), len(rows[-1].parts) if rows else 0), default=())
    slow_rank = slow_rank_of(facts, attempts)
    rates = max((_present(file.token_rates, file, attempts) for file in facts), key=len, default=())
    times = StepTimes(slow_rank=slow_rank)
    if len(rows) >= LEAST_TOLD:
        step_s = median([row.total_s or 0.0 for row in rows[-LATELY:]])
        times = StepTimes(_parts(rows), len(rows), step_s=_rounded(step_s), slow_rank=slow_rank)
    if len(rates) < LEAST_TOLD:
        return times
    tokens = [rate.tokens_s for rate in rates]
    shift = shift_of(tokens)
    were = None if shift is None else Was(shift.before, until_at=rates[shift.at - 1].at)
    return replace(times, tokens_s=_now(tokens, shift), tokens_were=were)


def slow_rank_of(facts: Sequence[FileFacts], attempts: Attempts) -> SlowRank | None:
    """The rank that needs longest of its own, where each rank prints its times. What ranks do together takes as long for all: a
    collective in the backward pass too, in which the others wait for the slow one (traceopt-ai/traceml#252)."""
    told: dict[int, dict[Part, float]] = {}
    for file in facts:
        by_rank = max(file.own_times.values(), key=len, default={})
        is_present = attempts.is_present(file.file)
        for rank, own in by_rank.items():
            if own.told >= LEAST_TOLD and is_present(own.offset, own.at):
                told[rank] = {part: seconds for part, seconds in own.parts.items() if part not in TOGETHER}
    if len(told) < LEAST_RANKS:
        return None
    sums = {rank: sum(parts.values()) for rank, parts in told.items()}
    slowest = max(sums, key=sums.__getitem__)
    others_s = median([own_s for rank, own_s in sums.items() if rank != slowest])
    if sums[slowest] < APART * others_s or sums[slowest] - others_s < LEAST_MORE_S:
        return None
    others = [parts for rank, parts in told.items() if rank != slowest]
    more = {part: own_s - median([parts.get(part, 0.0) for parts in others]) for part, own_s in told[slowest].items()}
    return SlowRank(slowest, _rounded(sums[slowest]), _rounded(others_s), max(more, key=more.__getitem__))


def _present(told: Sequence[Told], file: FileFacts, attempts: Attempts) -> tuple[Told, ...]:
    is_present = attempts.is_present(file.file)
    return tuple(each for each in told if is_present(each.offset, each.at))


def _parts(rows: Sequence[TimesOfStep]) -> tuple[PartTime, ...]:
    names = dict.fromkeys(part for row in rows for part in row.parts)
    return tuple(sorted((_part(part, rows) for part in names), key=lambda part: -part.share))


def _part(part: Part, rows: Sequence[TimesOfStep]) -> PartTime:
    seconds = [row.parts.get(part, 0.0) for row in rows]
    shares = [min(1.0, part_s / (row.total_s or part_s or 1.0)) for part_s, row in zip(seconds, rows, strict=True)]
    shift = shift_of(shares)
    of_time = _rounded(_of_time(part, rows if shift is None else rows[shift.at :]))
    if shift is None:
        return PartTime(part, _rounded(_now(shares, None)), _rounded(_now(seconds, None)), of_time=of_time)
    was = until(_rounded(shift.before), [(row.step, row.at) for row in rows[shift.at - 1 :]])
    now_s, was_s = median(seconds[shift.at :]), median(seconds[: shift.at])
    return PartTime(part, _rounded(shift.now), _rounded(now_s), was, _rounded(was_s), of_time)


def _of_time(part: Part, rows: Sequence[TimesOfStep]) -> float:
    """Sums, for a loader whose workers deliver together lets most steps go at once and stops the next. Without the longest: a
    first step that compiles or fills a cache, or one save, is no habit."""
    told = sorted((row.parts.get(part, 0.0), row.total_s or 0.0) for row in rows)[:-1]
    whole_s = sum(max(part_s, total_s) for part_s, total_s in told)
    return sum(part_s for part_s, _ in told) / whole_s if whole_s else 0.0


def _now(values: Sequence[float], shift: Shift | None) -> float:
    return median(values[-LATELY:]) if shift is None else shift.now


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
