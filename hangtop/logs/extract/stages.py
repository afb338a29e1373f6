"""The stage machine: it puts the stage markers in a log into an ordered list of stages, through skips, nesting and restarts."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from hangtop.logs.catalog.profile import STAGE_IDS, Profile, Stage
from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.extract.steps.progress import StepLine
from hangtop.logs.file_facts import FileFacts, ProgressSeen, StageMark
from hangtop.logs.lines.block_lines import Line, Writer
from hangtop.records.log import Finding, StageEvent, StagePlan

_KEPT_RECURRING = 256
_KEPT_ONCE = 2_048
_SHOWN = 64
_ORDER = {stage: number for number, stage in enumerate(STAGE_IDS)}
TRAINING = "train_loop"
GRAPHS = "engine_graphs"
OWN_BARS = frozenset({GRAPHS, "validation"})
_NAMELESS = re.compile(r"\s*\d{1,3}%\|")
PEERS_S = 2.0
"""For this long after one rank has begun to save or evaluate, others may still write the step that all have just finished."""


class StageMarks(Extractor):
    """All marks of one file, of every profile: which of them count is known only once the framework is.

    `starts`: how many may begin a new attempt, an upper bound until the framework is known."""

    def __init__(self, ranks: RankTable) -> None:
        self._ranks = ranks
        self._once: list[StageMark] = []
        self._recurring: deque[StageMark] = deque(maxlen=_KEPT_RECURRING)
        self._stage: tuple[str, bool, bool] = ("", False, False)
        self._line, self._from = -1, ""
        self._repeated: list[tuple[StageMark, Stage]] = []
        self._profiles: set[tuple[str, bool]] = set()
        self._entered: dict[str, set[Writer]] = {}
        self._aside: tuple[str, float] | None = None
        self._is_over = False
        self._bar: ProgressSeen | None = None
        self._trained: float | None = None
        self.latest: dict[Writer, dict[str, StageMark]] = {}
        self.starts = 0

    def read(self, found: FoundLine) -> None:
        for marker in found.markers:
            writer, late = self._ranks.ranked(found.line.writer), found.is_full_bar
            found.is_first |= self.add(marker.profile, marker.stage, found.line, writer, done=marker.done, late=late)

    def add_step(self, step: StepLine) -> None:
        """A step proves the stages that its line stands for. A bar is drawn once more when its loop ends, also where that is far
        from its total: behind the word of an end only the second draw proves that the run goes on."""
        late = step.is_full_bar or (self._is_over and self._goes_on(step.seen))
        self._is_over, self._bar = False, step.seen if step.seen.elapsed_s is not None else self._bar
        aside = self._draws_own_bar(step.line.text, step.seen.total)
        for profile, stage in step.stages:
            if stage.id == TRAINING:
                if aside:
                    continue
                self._trained = step.seen.total
            self.add(profile, stage, step.line, self._ranks.ranked(step.line.writer), late=late)

    def _draws_own_bar(self, text: str, total: float | None) -> bool:
        """Whether a bar without words is that of the stage which has just begun, and no step of the training: an engine captures
        graphs behind such a bar, and an evaluation draws one of another length than the training's."""
        stage, done, _ = self._stage
        if done or stage not in OWN_BARS or _NAMELESS.match(text) is None:
            return False
        return stage == GRAPHS or (self._trained is not None and total != self._trained)

    def _goes_on(self, seen: ProgressSeen) -> bool:
        """Whether it is the bar that was drawn last, no other loop's."""
        bar = self._bar
        if bar is None or seen.elapsed_s is None or (seen.step or 0.0) < (bar.step or 0.0):
            return False
        return (bar.profile, bar.kind, bar.total, bar.writer) == (seen.profile, seen.kind, seen.total, seen.writer)

    def add_facts(self, facts: FileFacts) -> FileFacts:
        return replace(facts, marks=self.all())

    def add(self, profile: Profile, stage: Stage, line: Line, writer: Writer, *, done: bool = False, late: bool = False) -> bool:
        """Takes in a marker, by `writer`. Marks that repeat the latest one are not kept. Returns whether this one is, so that its
        time is of interest."""
        if line.offset != self._line:  # several profiles may know the same line
            self._line, self._from, self._repeated = line.offset, self._stage[0], []
        been = writer in self._entered.get(self._from, ())
        mark = StageMark(profile.name, stage.id, line.offset, line.at, writer, done, late or line.prefix.repeated > 0, been)
        self._is_over = self._is_over or (stage.ends_run and not done)
        if not done:
            self.latest.setdefault(line.writer, {})[profile.name] = mark
            if stage.id == TRAINING and self._is_behind(line, writer):
                return False
            passed = stage.id in self._entered and been and not (stage.recurs or stage.id == TRAINING)
            self.starts += (stage.restarts or passed) and self._stage[0] != stage.id and bool(self._entered) and not mark.late
            self._entered.setdefault(stage.id, set()).add(writer)
            self._aside = (stage.id, line.at) if stage.recurs and stage.id != TRAINING and line.at is not None else None
        if self._stage != (stage.id, done, mark.late):
            self._stage = (stage.id, done, mark.late)
            self._profiles = set()
        elif (profile.name, been) in self._profiles:
            self._repeated.append((mark, stage))
            return False
        self._profiles.add((profile.name, been))
        repeated, self._repeated = self._repeated, []
        for known, its_stage in repeated:  # another profile takes the line for something else: what it repeats is to be known
            self._keep(known, its_stage)
        return self._keep(mark, stage)

    def _keep(self, mark: StageMark, stage: Stage) -> bool:
        if stage.recurs or stage.id == TRAINING:
            self._recurring.append(mark)
            return True
        if len(self._once) < _KEPT_ONCE:
            self._once.append(mark)
            return True
        return False

    def _is_behind(self, line: Line, writer: Writer) -> bool:
        """Whether this is a step by a rank that has not yet reached the save, evaluation or sync that another rank has begun."""
        if self._aside is None or line.at is None:
            return False
        stage, since = self._aside
        return writer not in self._entered[stage] and 0 <= line.at - since < PEERS_S

    def all(self) -> tuple[StageMark, ...]:
        """The marks in the order of the file."""
        return tuple(sorted((*self._once, *self._recurring), key=lambda mark: mark.offset))


class StageCourse(Struct, frozen=True):
    """The stages of a run in their order. `restarts`: offsets where a new attempt begins in the same file."""

    events: tuple[StageEvent, ...] = ()
    restarts: tuple[int, ...] = ()


class StageMachine:
    """Puts the marks of the active profiles in order. `profiles`: as `framework_votes.active` gives them, the leading one
    first."""

    def __init__(self, profiles: Sequence[Profile], file: int, fatal_at: Sequence[int] = ()) -> None:
        self._stages = {(profile.name, stage.id): stage for profile in profiles for stage in profile.stage}
        self._profiles = {profile.name: profile for profile in profiles}
        self._leader = profiles[0] if profiles else None
        self._own = {stage.id: number for number, stage in enumerate(self._leader.stage)} if self._leader else {}
        self._file = file
        self._fatal_at = sorted(fatal_at)
        self.events: list[StageEvent] = []
        self.restarts: list[int] = []
        self._passed: set[str] = set()
        self._training = False

    def run(self, marks: Iterable[StageMark]) -> StageCourse:
        """The course of the run, from its marks in file order."""
        for mark in self._own_words(marks):
            stage = self._stages[mark.profile, mark.stage]
            self._done(mark, stage) if mark.done else self._enter(mark, stage)
        return StageCourse(tuple(_newest(self.events)), tuple(self.restarts))

    def _own_words(self, marks: Iterable[StageMark]) -> list[StageMark]:
        """The marks of active profiles. Of a line that several know, what the run's own framework says of it counts, not what it
        may mean to those on which it is built; engines name parts of that stage."""
        known = [mark for mark in marks if (mark.profile, mark.stage) in self._stages]
        order = {name: place for place, name in enumerate(self._profiles) if not self._profiles[name].nests_in}
        first: dict[int, int] = {}
        for mark in known:
            place = order.get(mark.profile, len(order))
            first[mark.offset] = min(first.get(mark.offset, place), place)
        return [mark for mark in known if order.get(mark.profile, -1) <= first[mark.offset]]

    def _enter(self, mark: StageMark, stage: Stage) -> None:
        if self._begins_again(mark, stage):
            self.restarts.append(mark.offset)
            self._training, self._passed = False, set()
        elif not self._counts(mark, stage):
            return
        self._passed.add(stage.id)
        self._training = self._training or stage.id == TRAINING
        current = self.events[-1] if self.events else None
        if (
            current is not None
            and current.id == stage.id
            and current.attempt == len(self.restarts) + 1
            and current.done_at is None
        ):
            return
        self._append(mark, stage)

    def _done(self, mark: StageMark, stage: Stage) -> None:
        current = self.events[-1] if self.events else None
        if current is not None and current.id == stage.id:
            if current.done_at is None:
                self.events[-1] = replace(current, done_at=mark.at)
        elif not self._counts(mark, stage) or (self._training and not stage.recurs):
            return
        follow = self._stages.get((mark.profile, stage.after_done or ""))
        if follow is not None:
            self._enter(replace(mark, stage=follow.id, done=False), follow)
        elif current is None or current.id != stage.id:
            self._append(mark, stage)
            self.events[-1] = replace(self.events[-1], done_at=mark.at)

    def _append(self, mark: StageMark, stage: Stage) -> None:
        if self.events and self.events[-1].done_at is None:
            self.events[-1] = replace(self.events[-1], done_at=mark.at)
        attempt = len(self.restarts) + 1
        self.events.append(StageEvent(stage.id, stage.title, mark.profile, self._file, mark.offset, mark.at, attempt=attempt))

    def _counts(self, mark: StageMark, stage: Stage) -> bool:
        """Whether this mark moves the run: forwards, back if its writer comes from there, or to a stage that recurs."""
        if not self.events or self.events[-1].attempt <= len(self.restarts):
            return True
        last = self._stages.get((self.events[-1].profile, self.events[-1].id))
        if mark.late and last is not None and last.ends_run:
            return False
        if self._training:
            return stage.recurs or stage.id == TRAINING or stage.ends_run
        if self._forward(mark):
            return True
        current = self.events[-1]  # if it is an engine's, it may lie inside the stage of this mark
        is_inside = self._order(mark.profile, stage.id)[0] == self._order(current.profile, current.id)[0]
        return mark.been and (not mark.late or is_inside)

    def _forward(self, mark: StageMark) -> bool:
        current = self.events[-1]
        return self._order(mark.profile, mark.stage) >= self._order(current.profile, current.id)

    def _order(self, profile: str, stage: str) -> tuple[float, int]:
        """The position of a stage in the order of the leading profile; engine stages lie inside the stage that holds them."""
        nests_in = self._profiles[profile].nests_in
        if self._leader is not None and profile != self._leader.name and nests_in in self._own and stage not in self._own:
            return (self._own[nests_in], 1 + _ORDER.get(stage, 0))
        if stage in self._own:
            return (self._own[stage], 0)
        order = _ORDER.get(stage, 0)
        later = (number for known, number in self._own.items() if _ORDER.get(known, 0) > order)
        return (min(later, default=len(self._own)) - 0.5, order)

    def _begins_again(self, mark: StageMark, stage: Stage) -> bool:
        """A start-up stage after training, or one that was passed before a crash: a new attempt in the same file."""
        if mark.late or not self.events or self._forward(mark):
            return False
        begun = self.restarts[-1] if self.restarts else -1
        crashed = any(begun < offset < mark.offset for offset in self._fatal_at)
        passed = not stage.recurs and stage.id in self._passed
        if stage.restarts:
            return self._training or (crashed and passed)
        return crashed and passed and mark.been


def _newest(events: list[StageEvent]) -> list[StageEvent]:
    """Without the oldest rounds of a long training; the first event of each stage and attempt stays."""
    if len(events) <= _SHOWN:
        return events
    first = {(event.attempt, event.id): event for event in reversed(events)}
    kept = [event for event in events[: -_SHOWN // 2] if first[event.attempt, event.id] is event]
    return [*kept, *events[-_SHOWN // 2 :]]


def proven_by(course: StageCourse, finding: Finding, stages: Sequence[str], profiles: Sequence[Profile]) -> StageCourse:
    """A fatal message that belongs to one stage proves that stage. A message of several stages proves the first of them, if no
    stage was seen."""
    later = course.events and (course.events[-1].offset > finding.offset or course.events[-1].id in stages)
    if not stages or later or (course.events and len(stages) > 1):
        return course
    stage_id = stages[0]
    titles = {stage.id: (profile.name, stage.title) for profile in reversed(profiles) for stage in profile.stage}
    profile, title = titles.get(stage_id, (profiles[0].name if profiles else "", stage_id.replace("_", " ")))
    attempt = len(course.restarts) + 1
    event = StageEvent(stage_id, title, profile, finding.file, finding.offset, finding.at, attempt=attempt)
    return replace(course, events=(*course.events, event))


def plan_of(profiles: Sequence[Profile], events: Sequence[StageEvent]) -> tuple[StagePlan, ...]:
    """The stages of the leading framework in order, with the engine stages that were seen behind the stage that holds them."""
    if not profiles:
        return ()
    rows = [_plan(profiles[0], stage) for stage in profiles[0].stage]
    known = {(profile.name, stage.id): (profile, stage) for profile in profiles for stage in profile.stage}
    for name in ((event.profile, event.id) for event in events):
        if name in known and all(row.id != name[1] for row in rows):
            profile, stage = known[name]
            rows.insert(_place(rows, profile, stage.id), _plan(profile, stage))
    return tuple(rows)


def _place(rows: Sequence[StagePlan], profile: Profile, stage_id: str) -> int:
    order = _ORDER.get(stage_id, 0)
    holder = next((i for i, row in enumerate(rows) if row.id == profile.nests_in), None)
    if holder is not None:
        place = holder + 1
        while place < len(rows) and rows[place].id.startswith("engine_") and _ORDER.get(rows[place].id, 0) < order:
            place += 1
        return place
    return next((i for i, row in enumerate(rows) if _ORDER.get(row.id, 0) > order), len(rows))


def _plan(profile: Profile, stage: Stage) -> StagePlan:
    same = {name: getattr(stage, name) for name in StagePlan.__struct_fields__ if name != "hint"}
    return StagePlan(**same, hint=profile.stall_hint.get(stage.id, ""))


def stage_of(marks: Mapping[str, StageMark], active: Set[str], is_present: Callable[[int, float | None], bool]) -> str | None:
    """The stage of one writer: its newest mark of an active profile in this attempt. `active`: the names of these."""
    counted = [mark for name, mark in marks.items() if name in active and is_present(mark.offset, mark.at)]
    return max(counted, key=lambda mark: mark.offset).stage if counted else None
