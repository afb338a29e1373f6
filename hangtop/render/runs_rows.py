"""The runs of this machine, two rows each: verdict, silence and log; then what is said of it. Pure."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hangtop.common import text
from hangtop.common.text import some
from hangtop.monitor.look_at_run import RunLook
from hangtop.monitor.told_state import ToldState
from hangtop.records.runs import RunCandidate
from hangtop.records.verdict import VerdictWord
from hangtop.render.spans import BLANK, Row, Span, align, between, cut, dotted
from hangtop.render.status_segment import brief_badge, step_of
from hangtop.render.verdict_labels import verdict_label
from hangtop.translations import say

BADGE_CELLS = 22
INDENT = 3 + BADGE_CELLS
ROWS_EACH = 2
OLD_S = 30.0
"""A look that is older tells its age: of many runs each has its turn."""
ALARMS: tuple[VerdictWord, ...] = ("hung", "crashed", "stalled")


def head_row(runs: Sequence[RunCandidate], looks: Mapping[str, RunLook], width: int) -> Row:
    """How many runs there are, and how many of them stand."""
    words = Counter(look.told.word for run in runs if (look := looks.get(run.log)) and look.told)
    grave = dotted(((say(f"{words[word]} {word}"), "bad bold"),) for word in ALARMS if words[word])
    left: Row = ((" hangtop  ", "muted"), (say(f"{some(len(runs), 'run')} on this machine"), "ink bold"))
    return between(left, (*grave, (" ", "")), width)


def run_rows(run: RunCandidate, look: RunLook | None, now: float, width: int, *, chosen: bool) -> list[Row]:
    """Both rows of one run. `look`: `None` until the first one has ended."""
    mark: Span = (" ▸ " if chosen else "   ", "accent bold")
    told = None if look is None else look.told
    face = ("…", "muted") if told is None else brief_badge(told, now, filled=False)
    name: Row = ((os.path.join(os.path.dirname(run.log), ""), "muted"), (os.path.basename(run.log), "ink bold"))
    first = (mark, align(face[0], BADGE_CELLS - 1, face[1]), (" ", ""), *name, ("   ", ""), *_facts(run, told, now))
    second: Row = ((" " * INDENT, ""), _said(run, look))
    return [cut(first, width), cut(second, width)]


def _facts(run: RunCandidate, told: ToldState | None, now: float) -> Row:
    """What kind of run it is, and how far."""
    step = "" if told is None else step_of(told)
    quiet_s = None if run.log_modified_at is None else max(0.0, now - run.log_modified_at)
    parts = (
        run.framework,
        say(some(run.ranks, "rank")) if run.ranks else "",
        say(f"step {step}") if step else "",
        say(f"quiet {text.duration(quiet_s)}") if told is None and quiet_s is not None else "",
        say(f"seen {text.duration(now - told.at)} ago") if told is not None and now - told.at > OLD_S else "",
    )
    return dotted(((part, "muted"),) for part in parts if part)


def _said(run: RunCandidate, look: RunLook | None) -> Span:
    """The headline; until there is one, the command of the run."""
    if look is None:
        return f"{run.command} {say(f'via {run.via}')}" if run.via else run.command, "muted"
    if look.told is None:
        return look.problem, "warn"
    return say(look.told.headline), "ink" if verdict_label(look.told.verdict).fill else "muted"


class RunList(Struct, frozen=True):
    """`shown`: the rows that fit; each run has `rows_each` of them. `first`: the number of the first run in them."""

    shown: tuple[Row, ...]
    first: int
    rows_each: int

    def run_at(self, y: int) -> int | None:
        """The number of the run in this row, if one stands there."""
        return self.first + y // self.rows_each if 0 <= y < len(self.shown) else None


def run_list(
    runs: Sequence[RunCandidate], looks: Mapping[str, RunLook], chosen: int, now: float, width: int, height: int
) -> RunList:
    """As many runs as fit, the chosen one among them; a blank row between where there is room for all."""
    gap = [BLANK] if height >= (ROWS_EACH + 1) * len(runs) else []
    rows_each = ROWS_EACH + len(gap)
    room = max(1, height // rows_each)
    first = min(max(0, chosen - room + 1), max(0, len(runs) - room))
    rows: list[Row] = []
    for number, run in enumerate(runs[first : first + room], first):
        rows += [*run_rows(run, looks.get(run.log), now, width, chosen=number == chosen), *gap]
    return RunList(tuple(rows[:height]), first, rows_each)
