"""The stage bar: finished stages and how long they took, the present one against its limit, those to come."""

from __future__ import annotations

from itertools import zip_longest

from msgspec import Struct

from hangtop.common import text
from hangtop.records.log import LogReading, StageEvent
from hangtop.records.verdict import StageNow, Verdict
from hangtop.render.spans import BLANK, Row, cut, width_of
from hangtop.render.under_mouse import joined
from hangtop.render.verdict_labels import verdict_label
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.widgets.row_widget import RowWidget

GAP: Row = (("   ", ""),)
ALIKE_S = 15.0
"""A stage that was silent after its first seconds was silent all along."""
LAST_STAGE = "train_loop"
NESTED_IN = {"engine_": "rollout_init"}
"""Stages whose id starts so belong to another stage, and get no chip once they are done."""


class DoneStage(Struct, frozen=True):
    title: str
    took_s: float | None


def done_stages(log: LogReading, now: StageNow | None) -> tuple[DoneStage, ...]:
    """Finished stages of this attempt in the order of their first entry, with the time of their latest stay; each title once."""
    events = [event for event in log.stages if event.attempt == log.attempt]
    last = max((n for n, event in enumerate(events) if now is not None and event.id == now.id), default=len(events) - 1)
    ids = {event.id for event in events}
    took: dict[str, DoneStage] = {}
    for event, following in zip_longest(events[: last + 1], events[1 : last + 2]):
        if not _nested(event.id, ids):
            took[event.id] = DoneStage(event.title, _stay_s(event, following))
    left = {stage.title: stage for id_, stage in took.items() if now is None or id_ != now.id}
    return tuple(stage for title, stage in left.items() if now is None or title != now.title)


def stages_to_come(log: LogReading, now: StageNow | None) -> tuple[str, ...]:
    """Titles of the planned stages that follow, up to the training loop."""
    ids = [stage.id for stage in log.plan]
    first = ids.index(now.id) + 1 if now is not None and now.id in ids else len(ids)
    last = ids.index(LAST_STAGE) + 1 if LAST_STAGE in ids else len(ids)
    entered = {word for event in log.stages if event.attempt == log.attempt for word in (event.id, event.title)}
    to_come = (stage for stage in log.plan[first:last] if not stage.id.startswith(tuple(NESTED_IN)))
    return tuple(dict.fromkeys(stage.title for stage in to_come if entered.isdisjoint((stage.id, stage.title))))


def chip(view: View, verdict: Verdict) -> Row:
    """The present stage, with its limit if one applies."""
    stage = verdict.stage
    if stage is None:
        return BLANK
    look = verdict_label(verdict)
    if verdict.word == "finished":
        return (("✓ ", "ok"), (say(stage.title), "muted"))
    if look.fill:
        return ((f" ▸ {say(stage.title)}{_times(verdict)} ", "bad bold reverse" if view.lit else "bad bold"),)
    role = "warn bold" if look.role == "warn" else "accent bold"
    return ((f"▸ {say(stage.title)}{_times(verdict)}", role),)


def _times(verdict: Verdict) -> str:
    """Time in the stage and its limit. A limit is one of silence, so a different silence is named too."""
    stage = verdict.stage
    assert stage is not None
    silence_s, limit_s, since_s = verdict.silence_s, verdict.limit_s, stage.since_s
    if stage.id != LAST_STAGE and since_s is not None and limit_s is not None:
        silent_all_along = silence_s is not None and since_s - silence_s < ALIKE_S
        if since_s <= limit_s or silent_all_along:
            return f" {text.duration(since_s)} / {text.duration(limit_s)}"
    since = "" if since_s is None else f" {text.duration(text.coarse(since_s) if since_s >= 5 else since_s)}"
    if not verdict.state.healthy and silence_s is not None and limit_s is not None:
        return say(f"{since}  quiet {text.duration(silence_s)} / {text.duration(limit_s)}")
    return since


def stage_row(view: View, width: int) -> Row:
    """On a narrow screen finished stages fold to `✓ 5 stages 1:16`, then those to come are dropped."""
    if view.state.log is None or view.verdict is None:
        return ((" ", ""), (say("reading …"), "muted"))
    chips = stage_chips(view, width)
    row = _joined([row for row, _ in chips])
    return ((" ", ""), *(row if width_of(row) <= width - 2 else cut(row, width - 2)))


def stage_chips(view: View, width: int) -> list[tuple[Row, str]]:
    """What stands in the bar, and what is told of each: as much as fits."""
    log, verdict = view.state.log, view.verdict
    if log is None or verdict is None:
        return []
    done = done_stages(log, verdict.stage)
    each = [(_done_chip(stage.title, stage.took_s), _took(stage)) for stage in done]
    known = [stage.took_s for stage in done if stage.took_s is not None]
    all_done = _done_chip(text.some(len(done), "stage"), sum(known) if known else None)
    folded = [(all_done, ", ".join(map(_took, done)))] if len(done) > 1 else each
    now = [(row, _now_told(verdict)) for row in (chip(view, verdict),) if row]
    titles = stages_to_come(log, verdict.stage)
    later: list[tuple[Row, str]] = [
        ((("· ", "faint"), (say(title), "stale")), joined((say(title), say("to come")))) for title in titles
    ]
    for chips in ([*each, *now, *later], [*folded, *now, *later], [*folded, *now]):
        if width_of(_joined([row for row, _ in chips])) <= width - 2:
            return chips
    return now


def _took(stage: DoneStage) -> str:
    return say(stage.title) if stage.took_s is None else f"{say(stage.title)} {text.duration(stage.took_s)}"


def _now_told(verdict: Verdict) -> str:
    stage, silence_s, limit_s = verdict.stage, verdict.silence_s, verdict.limit_s
    if stage is None:
        return ""
    return joined(
        (
            say(stage.title),
            "" if stage.since_s is None else say(f"for {text.duration(text.coarse(stage.since_s))}"),
            "" if silence_s is None else say(f"quiet {text.age(text.coarse(silence_s))}"),
            "" if limit_s is None else say(f"may be quiet for {text.duration(limit_s)}"),
        )
    )


def _joined(chips: list[Row]) -> Row:
    row: Row = ()
    for part in chips:
        row = (*row, *GAP, *part) if row else part
    return row


def _done_chip(title: str, took_s: float | None) -> Row:
    took = f" {text.duration(took_s)}" if took_s is not None else ""
    return (("✓ ", "ok"), (say(title), "muted"), (took, "stale"))


def _stay_s(event: StageEvent, following: StageEvent | None) -> float | None:
    left_at = event.done_at if event.done_at is not None else following.at if following else None
    return None if event.at is None or left_at is None else max(0.0, left_at - event.at)


def _nested(id_: str, entered: set[str]) -> bool:
    return any(id_.startswith(start) and outer in entered for start, outer in NESTED_IN.items())


class StageBar(RowWidget):
    def show(self, view: View) -> None:
        self.paint((stage_row(view, self.size.width),))

    def told(self, x: int, y: int) -> str:
        end = 1  # the bar begins with a blank
        for chip_row, told in stage_chips(self.hangtop.view, self.size.width):
            if end <= x < (end := end + width_of(chip_row)):
                return told
            end += width_of(GAP)
        return ""
