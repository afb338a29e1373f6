"""How fast the run goes, learned from its own steps: gaps between the first sight of each step, and the losses on the way."""

from __future__ import annotations

from collections import deque
from itertools import islice, pairwise
from math import inf, isfinite

from msgspec import Struct

from hangtop.common.level_shift import shift_of
from hangtop.common.median import median, quantile
from hangtop.common.trend import trend_of
from hangtop.common.whole_history import WholeHistory
from hangtop.logs.extract.steps.peaks import StepGap, peaks_of
from hangtop.logs.file_facts import ProgressSeen
from hangtop.records.log import Pace
from hangtop.records.step_times import Change, Growth, Was, until

_GAPS = 256
_HISTORY = 120
_COUNTS = 8
HEALTHY_STEPS = 3
"""A run that makes this many steps after an error has survived it."""
_COARSE_S = 10.0  # bars show whole seconds: for shorter gaps their own rate is more exact
_SHOWN = ("loss", "grad_norm", "reward")
_THROUGHPUT, _LENGTH = "throughput", "response_length"
_ENDS = 6
"""So many numbers at each end of a history tell what was and what is."""
_GREW = 1.5
"""A step that takes this many times what it took is slower."""
_ENOUGH = 10
"""Fewer gaps do not tell how long later steps take: the first evaluation, or barrier of all ranks, may still be ahead."""
_ALIKE = 0.5
"""A gap longer than this fraction of the longest one is a pause of the same kind: such pauses come again."""
_NEAR_END = 0.9
"""A count that has come so far of its total may begin its next round."""
_MATTERS = 1.5
"""A pause that makes the mean longer by this factor dominates it."""

# When a loss jumps.
WINDOW, LEAST = 32, 8
FACTOR = 3.0
"""A jump is at least this many times the median of the window. Published spikes of pretraining reach 2 to 10 times (PaLM
§5.1)."""
RECORD = 2.5
"""And at least this many times the largest loss in the window: a loss that is noisy by nature, as with small batches, does not
jump."""
SMALL = 0.1
"""A loss that is nearly zero multiplies easily."""


class PaceMeter:
    """The pace by one kind of progress line. With many writers, the furthest one sets it.

    `lines`: how many lines told a higher step than all before, whatever the increase; a count that begins again at its lowest
    step, well below where it was, proves as much as a few of them. `coarse`: they count epochs. `in_rounds`:
    the count reached its total and began again with the same one: it is of an epoch or an evaluation, not of the run.
    """

    def __init__(self) -> None:
        self._gaps: deque[tuple[float, float]] = deque(maxlen=_GAPS)  # seconds, steps
        self._lines: deque[StepGap] = deque(maxlen=_GAPS)  # the same, but for those of bars: now a rate, now whole seconds
        self._whole: WholeHistory[tuple[ProgressSeen, float]] = WholeHistory()  # the line behind a gap, seconds a step
        self._kept: ProgressSeen | None = None
        self._longest: float | None = None
        self._every: float | None = None
        self._top: ProgressSeen | None = None
        # The next gap is measured from here: steps written in one burst have no gap between them.
        self._since: ProgressSeen | None = None
        self._lowest: float | None = None
        self.steps = self.lines = 0
        self.coarse = False
        self.in_rounds = False
        self._counts: dict[float, ProgressSeen] = {}
        self._losses = LossWatch()
        self._told: dict[str, WholeHistory[tuple[ProgressSeen, float]]] = {_THROUGHPUT: WholeHistory(), _LENGTH: WholeHistory()}
        self.history: dict[str, deque[float]] = {name: deque(maxlen=_HISTORY) for name in _SHOWN}

    def add(self, seen: ProgressSeen, *, late: bool = False) -> LossSpike | None:
        """Takes in one progress line, in file order. Returns the jump of the loss if one begins here.

        `late`: the line was held back and may be older than the lines above it.
        """
        top, step = self._top, seen.step
        if step is not None:
            self._lowest = step if self._lowest is None else min(self._lowest, step)
        self.coarse = seen.coarse
        if step is None:
            return self._remember(seen)
        if seen.total is not None:
            self._counts.pop(seen.total, None)
            self._counts[seen.total] = seen
            if len(self._counts) > _COUNTS:
                del self._counts[next(iter(self._counts))]
        if top is None or top.step is None or step > top.step:
            if top is not None and top.step is not None:
                self.steps += int(step - top.step)
                self.lines += not late
            if self._since is None or self._gap(self._since, seen):
                self._since = seen
            self._keep(seen)
            self._top = seen
            return self._remember(seen)
        if step < top.step and seen.writer == top.writer:
            anew = step <= (self._lowest or 0.0) and top.step - step >= HEALTHY_STEPS * (self._every or 1.0)
            if anew and not _at_end(top):  # another attempt: what the one before told is no past of this one
                for values in self.history.values():
                    values.clear()
                self._lines.clear()
                self._whole, self._told = WholeHistory(), {name: WholeHistory() for name in self._told}
            self.in_rounds |= seen.total is not None and seen.total == top.total and top.step >= seen.total
            self._top = self._since = self._kept = seen  # a new epoch or a new attempt counts from its beginning
            self.lines += 0 if late else HEALTHY_STEPS if anew else 1
        return None

    def pace(self) -> Pace:
        """The pace up to now; empty as long as no line tells a time."""
        if not self._gaps:
            return Pace(steps=self.steps, throughput=self._throughput(), lengths=self._lengths())
        gaps = [seconds / steps for seconds, steps in self._gaps]
        ordered = sorted(gaps)
        lately_s, was = self._changed()
        mean_s = self._mean_s(gaps, ordered)
        return Pace(
            self.steps,
            quantile(ordered, 0.5),
            quantile(ordered, 0.95),
            self._longest,
            mean_s,
            self._every or 1.0,
            lately_s,
            was,
            self._grows() if was is not None else None,
            peaks_of(self._lines),
            self._throughput(),
            self._lengths(),
        )

    def unfinished(self) -> tuple[int, float | None] | None:
        """Offset and time of the newest line of a count that is longer than the latest one, and has not reached its total: the
        latest is an evaluation within it."""
        latest = next(reversed(self._counts), None)
        longer = [
            seen for total, seen in self._counts.items() if latest is not None and total > latest and (seen.step or 0.0) < total
        ]
        newest = max(longer, key=lambda seen: seen.offset, default=None)
        return None if newest is None else (newest.offset, newest.at)

    def values(self) -> dict[str, tuple[float | None, ...]]:
        """The last values of each metric, oldest first; `None` for one that was not finite."""
        return {
            name: tuple(value if isfinite(value) else None for value in values) for name, values in self.history.items() if values
        }

    def _changed(self) -> tuple[float | None, Was | None]:
        """Seconds a step of late and before, where they changed for good since the count began; else nothing."""
        told = self._whole.items()
        shift = shift_of([step_s for _, step_s in told])
        if shift is None:
            return None, None
        return shift.now, until(shift.before, [(seen.step, seen.at) for seen, _ in told[shift.at - 1 :]])

    def _grows(self) -> Growth | None:
        """Where steps take longer and longer, in one count: not the change that one place of it explains."""
        told = [(seen.step, step_s) for seen, step_s in self._whole.items() if seen.step is not None]
        if any(after[0] <= before[0] for before, after in pairwise(told)):
            return None
        trend = trend_of(told)
        if trend is None or trend.last < _GREW * trend.first or trend.first <= 0:
            return None
        return Growth(trend.slope, trend.first, trend.last, int(told[0][0]))

    def _throughput(self) -> Change | None:
        """Where it fell for good."""
        told = self._told[_THROUGHPUT].items()
        shift = shift_of([value for _, value in told])
        if shift is None or shift.before < _GREW * shift.now:
            return None
        return Change(shift.before, shift.now, until(shift.before, [(seen.step, seen.at) for seen, _ in told[shift.at - 1 :]]))

    def _lengths(self) -> Change | None:
        told = [value for _, value in self._told[_LENGTH].items()]
        return Change(median(told[:_ENDS]), median(told[-_ENDS:])) if len(told) >= 2 * _ENDS else None

    def _mean_s(self, gaps: list[float], ordered: list[float]) -> float | None:
        """The mean gap; without the longest one if no other is like it and the run made twice as many steps after it as before.
        `None` while there are too few gaps, or while a recent one dominates: it may be the first of many pauses, or a hang that
        is over."""
        if len(gaps) < _ENOUGH:
            return None
        seconds, steps = sum(gap[0] for gap in self._gaps), sum(gap[1] for gap in self._gaps)
        mean_s = seconds / steps
        if ordered[-2] >= _ALIKE * ordered[-1]:
            return mean_s
        at = gaps.index(ordered[-1])
        longest_s, across = self._gaps[at]
        without_s = (seconds - longest_s) / (steps - across)
        is_over = 3 * sum(gap[1] for gap in islice(self._gaps, at)) < steps
        return without_s if is_over or mean_s < _MATTERS * without_s else None

    def _gap(self, before: ProgressSeen, after: ProgressSeen) -> bool:
        """Takes in the time between two steps; false when none has passed."""
        steps = (after.step or 0.0) - (before.step or 0.0)
        gap = _between(before, after, steps)
        if gap is None or gap < 0 or steps <= 0:
            return True
        if gap:
            self._gaps.append((gap, steps))
            if (before.at is not None and after.at is not None) or after.elapsed_s is None:
                self._lines.append(StepGap(after.step or 0.0, gap / steps, steps, after.at))
            self._longest = max(self._longest or 0.0, gap / steps)
            self._every = min(self._every or steps, steps)
        return gap > 0

    def _keep(self, seen: ProgressSeen) -> None:
        """Takes in the time since the line that was kept last, for the past of the pace: never now by one clock and then by
        another, so that a change of the clock is no change of the pace."""
        kept = self._kept
        if kept is not None:
            steps = (seen.step or 0.0) - (kept.step or 0.0)
            by_bar = (kept.at is None or seen.at is None) and kept.elapsed_s is not None and seen.elapsed_s is not None
            gap = (seen.elapsed_s or 0.0) - (kept.elapsed_s or 0.0) if by_bar else _between(kept, seen, steps)
            if gap is not None and (gap == 0 or 0 < gap < _COARSE_S * by_bar):
                return
            if gap is not None and gap > 0 and steps > 0:
                self._whole.add(seen.offset, (seen, gap / steps))
        self._kept = seen

    def _remember(self, seen: ProgressSeen) -> LossSpike | None:
        for name, history in self._told.items():
            if isfinite(value := seen.metrics.get(name, inf)):
                history.add(seen.offset, (seen, value))
        for name, values in self.history.items():
            if name in seen.metrics:
                values.append(seen.metrics[name])
        loss = seen.metrics.get("loss")
        return self._losses.add(seen.step, loss) if loss is not None and isfinite(loss) else None


def _at_end(seen: ProgressSeen) -> bool:
    """Whether a count that begins anew after this line is its next round: the last line of a round may come some steps before
    its total."""
    return seen.step is not None and seen.total is not None and seen.step >= _NEAR_END * seen.total


def _between(before: ProgressSeen, after: ProgressSeen, steps: float) -> float | None:
    """Seconds between two progress lines that are `steps` apart: by the clock of the log, else by the bar's own, else by the step
    time that the line tells."""
    if before.at is not None and after.at is not None:
        return after.at - before.at
    if before.elapsed_s is not None and after.elapsed_s is not None and before.writer == after.writer:
        gap = after.elapsed_s - before.elapsed_s
        if gap >= _COARSE_S or after.step_s is None:
            return gap
    return None if after.step_s is None else after.step_s * steps


class LossSpike(Struct, frozen=True):
    """A loss that left its `usual` value (the median of the window) at `step`, which is `None` where the line does not tell
    it."""

    step: float | None
    usual: float
    loss: float

    @property
    def text(self) -> str:
        where = "" if self.step is None else f"step {self.step:,.0f}: "
        return f"{where}loss {self.loss:.4g}, {self.loss / self.usual:.1f} times the usual {self.usual:.4g}"


class LossWatch:
    """The losses of one run, step by step. A jump, to several times the usual value, is reported once; its losses do not enter
    the window.

    Only a loss that is always above zero and calm is judged, as the cross-entropy of language modelling is. A policy loss crosses
    zero, and a reward or a KL may multiply in one step of a healthy run: those are not judged.
    """

    def __init__(self) -> None:
        self._window: deque[float] = deque(maxlen=WINDOW)
        self._high: deque[float] = deque(maxlen=LEAST)

    def add(self, step: float | None, loss: float) -> LossSpike | None:
        """Takes in the next loss. Returns the jump if one begins here."""
        if len(self._window) < LEAST or min(self._window) < SMALL:
            self._window.append(loss)
            return None
        if loss <= RECORD * max(self._window) or loss <= FACTOR * (usual := median(self._window)):
            self._window.append(loss)
            self._high.clear()
            return None
        self._high.append(loss)
        if len(self._high) == LEAST:  # it stays that high: this is its new usual value
            self._window, self._high = deque(self._high, maxlen=WINDOW), deque(maxlen=LEAST)
        return LossSpike(step, usual, loss) if len(self._high) == 1 else None
