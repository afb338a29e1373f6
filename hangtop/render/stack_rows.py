"""The stacks as rows, for the page and for `hangtop stacks`: one block a class, smallest first, innermost frame first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct

from hangtop.common import text
from hangtop.diagnosis.facts.stack_pauses import USUAL_S
from hangtop.records.nodes import node_of, pid_text
from hangtop.records.process import Process
from hangtop.records.ray.remote_workers import RemoteStacksReading
from hangtop.records.stack import Frame, Stack, StacksReading
from hangtop.render.spans import BLANK, Row, Span, align, cut
from hangtop.stacks.activity import activity_of
from hangtop.stacks.frames import rule
from hangtop.stacks.stack_classes import Motion, StackClass, classes, excerpt_of, library_summary, motion, stands_out
from hangtop.translations import say

MOTION_WORDS: dict[Motion, str] = {"still": "unchanged", "within": "moves inside its functions", "moved": "moved"}
PLACE_CELLS = 28
WIDE = 100
"""On narrower screens function names need the room of the note beside them."""
LOCALS_SHOWN = 8


class StackView(Struct, frozen=True):
    """What is painted. `culprits`: ranks that stand out in the verdict; `role`: their colour. `unfolded`: places of classes with
    all their frames. `nodes`: names of other nodes, by their numbers."""

    looks: tuple[StacksReading, ...]
    stacks: tuple[Stack, ...]
    culprits: frozenset[int] = frozenset()
    role: str = "bad"
    unfolded: frozenset[int] = frozenset()
    nodes: Mapping[int, str] = {}

    @property
    def look(self) -> StacksReading:
        return self.looks[-1]

    @property
    def before(self) -> dict[int, Stack]:
        """The stacks of the previous look, by pid."""
        return {stack.pid: stack for stack in self.looks[-2].stacks} if len(self.looks) > 1 else {}


def stacks_of(process: Process, looks: Iterable[StacksReading]) -> list[Stack]:
    """The stacks of this process in these looks, oldest first. A pid may be used again: the start time must fit, where it is
    known."""
    stacks = (stack for look in looks for stack in look.stacks if stack.pid == process.pid)
    return [stack for stack in stacks if stack.started_ticks in (0, process.start_ticks)]


def rows(view: StackView, width: int) -> list[Row]:
    """All rows, in at most `width` cells."""
    if view.look.problem:
        return list(_problem((view.look.problem, "ink"), mend=view.look.mend))
    ranked = [stack for stack in view.stacks if stack.rank is not None and stack.threads]
    rest = [stack for stack in view.stacks if stack.rank is None and stack.threads]
    shown, others = (ranked, rest) if ranked else (rest, [])
    folded = classes(shown)
    found: list[Row] = []
    for place, stack_class in enumerate(folded):
        found += [*_class_rows(stack_class, folded, view, width, whole=place in view.unfolded), BLANK]
    found += _other_rows(others, view, width)
    found += _parting_rows(folded, view, width)
    found += _problem_rows(view, width)
    return found[:-1] if found and found[-1] == BLANK else found


def far_rows(far: RemoteStacksReading | None, width: int, *, may_ask: bool) -> list[Row]:
    """Stacks of other nodes that are still awaited; where the dashboard gave none, the offer to run a task there."""
    if far is None:
        return []
    if not far.done:
        workers, how = text.some(far.asked, "worker"), say("by a task on each node" if far.task else "from the dashboard")
        said = say(f"Taking the stacks of {workers} on other nodes {how}: {len(far.stacks)} so far …")
        return [cut(((said, "muted"),), width), BLANK]
    unread = {stack.host for stack in far.stacks if stack.problem}
    if not unread or far.task or not may_ask:
        return []
    nodes = text.some(len(unread), "node")
    offer = say(f"runs one short task on each of {nodes}, in your cluster, with its own Python: it calls py-spy there")
    return [cut((("x  ", "accent bold"), (offer, "ink")), width), BLANK]


def summary(view: StackView) -> str:
    """`2 classes of 8 ranks · taken 10:06:55 in 0.1 s · no process was stopped`."""
    read = [stack for stack in view.stacks if stack.threads]
    ranks = [stack for stack in read if stack.rank is not None]
    away = sum(1 for stack in read if stack.host)
    of = text.some(len(ranks or read), "rank" if ranks else "process") + (f", {away} on other nodes" if away else "")
    took = say("" if view.look.took_s is None else f" in {view.look.took_s:.1f} s")
    kinds = text.some(len(classes(ranks or read)), "class")
    taken = say(f"taken {text.clock(view.look.started_at)}")
    return f"{say(f'{kinds} of {of}')} · {taken}{took} · {_stopped(read)}{_over_time(view)}"


def _stopped(read: Sequence[Stack]) -> str:
    here = [stack for stack in read if not stack.host]
    number = sum(stack.stopped for stack in here)
    if not number:
        return say(f"no process {'here ' if len(here) < len(read) else ''}was stopped")
    return say(f"{'each' if number == len(here) else f'{number} of {len(here)}'} was stopped for about {USUAL_S:g} s")


def _over_time(view: StackView) -> str:
    found = {motion(before, stack) for stack in view.stacks if (before := view.before.get(stack.pid))} - {None}
    if not found:
        return ""
    seconds = view.look.started_at - view.looks[-2].started_at
    return say(f" · {'unchanged' if found == {'still'} else 'not all unchanged'} in 2 looks over {seconds:.0f} s")


def _class_rows(
    stack_class: StackClass, among: Sequence[StackClass], view: StackView, width: int, *, whole: bool
) -> Iterator[Row]:
    blamed = bool(view.culprits & set(stack_class.ranks)) if view.culprits else stands_out(stack_class, among)
    edge: Span = ("▌", view.role) if blamed else ("▏", "faint")
    members = _members(stack_class, view, view.role if blamed else "ink")
    what = (_what(stack_class, view), "ink" if blamed else "muted")
    yield cut((edge, (" ", ""), *members, ("  ", ""), what), width)
    frames = stack_class.frames
    last = len(frames) - 1 if whole else _last_shown(stack_class)
    for place, frame in enumerate(frames[: last + 1]):
        yield _frame_row(edge, stack_class, place, blamed=blamed, width=width)
        yield from (cut((edge, (f"       {name} = {value}", "stale")), width) for name, value in frame.locals[:LOCALS_SHOWN])
    if folded := frames[last + 1 :]:
        yield cut((edge, (f"   ⋯ {say(library_summary(folded))}", "stale")), width)


def _members(stack_class: StackClass, view: StackView, role: str) -> tuple[Span, ...]:
    role = f"{role} bold"
    if stack_class.ranks:
        return ((say(text.some(len(stack_class.ranks), "rank")), role), (f"   {text.rank_ranges(stack_class.ranks)}", role))
    return (
        (say(text.some(len(stack_class.members), "process")), role),
        (f"   {pid_text(stack_class.pids[0], view.nodes)}", role),
    )


def _what(stack_class: StackClass, view: StackView) -> str:
    """`waits for a lock in load_shard · S futex_do_wait · unchanged · MainThread`."""
    thread = stack_class.activity.thread
    kernel = " ".join(word for word in (thread.state, thread.wchan) if word)
    gil = say("holds the GIL" if thread.owns_gil else "")
    before = view.before.get(stack_class.members[0].pid)
    moved = motion(before, stack_class.members[0]) if before else None
    return " · ".join(
        word
        for word in (say(stack_class.activity.text), kernel, gil, say(MOTION_WORDS[moved] if moved else ""), thread.name)
        if word
    )


def _last_shown(stack_class: StackClass) -> int:
    """Place of the outermost frame shown: where the classes part, else the user's outermost."""
    if stack_class.parts_at is not None:
        return max(stack_class.parts_at, 0)
    return max(stack_class.own, default=len(stack_class.frames) - 1)


def _frame_row(edge: Span, stack_class: StackClass, place: int, *, blamed: bool, width: int) -> Row:
    frame = stack_class.frames[place]
    mine = place in stack_class.own
    if not mine or rule(frame):
        role = "muted"
    else:
        role = f"{edge[1]} bold" if blamed and (stack_class.parts_at is None or place < stack_class.parts_at) else "ink"
    parting, cells = (say("◂ the classes part here"), 28) if width >= WIDE else (say("◂ they part"), 16)
    note = parting if place == stack_class.parts_at else ""
    name = align(f"   {frame.function}", max(20, width - PLACE_CELLS - cells), role)
    at = align(place_of(frame, mine=mine), PLACE_CELLS, role)
    return cut((edge, name, ("  ", ""), at, ("  ", ""), (note, "muted")), width)


def place_of(frame: Frame, *, mine: bool) -> str:
    """`fleet.py:88` for the user's files, `torch/cuda/streams.py:105` for libraries."""
    path = PurePath(frame.file)
    if mine:
        return f"{path.name}:{frame.line}"
    for mark in ("site-packages", "dist-packages"):
        if mark in path.parts:
            inside = path.parts[path.parts.index(mark) + 1 :]
            return f"{'/'.join(inside[:1] + inside[-2:] if len(inside) > 3 else inside)}:{frame.line}"
    return f"{path.name}:{frame.line}"


def _other_rows(others: Sequence[Stack], view: StackView, width: int) -> Iterator[Row]:
    """Processes that are no ranks, one line each."""
    if not others:
        return
    yield cut(((say("Not ranks"), "ink bold"), (f"  {len(others)}", "muted")), width)
    for stack in others:
        known = activity_of(stack)
        what = f"{say(known.text)}  {known.where}" if known else say("no Python frames")
        yield cut((("▏", "faint"), (f" {pid_text(stack.pid, view.nodes)}", "ink"), (f"  {what}", "muted")), width)
    yield BLANK


def _parting_rows(folded: Sequence[StackClass], view: StackView, width: int) -> Iterator[Row]:
    """The source lines where the classes part, with their ranks."""
    known = view.look.excerpts
    marks: dict[tuple[str, int], list[StackClass]] = {}
    for stack_class in folded:
        if stack_class.parts_at is not None:
            frame = stack_class.frames[stack_class.parts_at]
            marks.setdefault((frame.file, frame.line), []).append(stack_class)
    texts = {place: excerpt for place in marks if (excerpt := excerpt_of(Frame("", *place), known))}
    if len(marks) < 2 or not texts:
        return
    files = sorted({file for file, _ in texts})
    changed = any(excerpt.changed for excerpt in texts.values())
    note = say("changed since the run started: lines may not fit" if changed else "unchanged since the run started")
    names = ", ".join(PurePath(file).name for file in files)
    yield cut(((say("Where they part"), "ink bold"), (f"  {names} · {note}", "muted")), width)
    lines = {(excerpt.file, excerpt.first + nth): line for excerpt in texts.values() for nth, line in enumerate(excerpt.lines)}
    previous: tuple[str, int] | None = None
    for place in sorted(lines):
        if previous and (previous[0], previous[1] + 1) != place:
            yield ((f"{'⋯':>8}", "stale"),)
        previous = place
        yield _source_row(place[1], lines[place], marks.get(place, []), folded, view, width)
    yield BLANK


def _source_row(
    number: int, line: str, here: Sequence[StackClass], folded: Sequence[StackClass], view: StackView, width: int
) -> Row:
    if not here:
        return cut(((f"{number:>8}  ", "stale"), (line, "muted")), width)
    role = f"{view.role} bold" if any(stands_out(stack_class, folded) for stack_class in here) else "ink"
    who = say(" and ".join(_who(stack_class, view) for stack_class in here))
    return cut(((f"▸{number:>7}  ", role), (line, role), (f"   ◂ {who}", role)), width)


def _who(stack_class: StackClass, view: StackView) -> str:
    if stack_class.ranks:
        return text.numbered("rank", stack_class.ranks)
    return pid_text(stack_class.pids[0], view.nodes)


def _problem_rows(view: StackView, width: int) -> Iterator[Row]:
    """Processes without a stack, by reason, with the command that helps."""
    reasons: dict[tuple[str, str | None], list[Stack]] = {}
    for stack in view.stacks:
        if stack.problem:
            reasons.setdefault((stack.problem, stack.mend), []).append(stack)
    for (problem, mend), concerned in reasons.items():
        ranks = [stack.rank for stack in concerned if stack.rank is not None]
        who = text.numbered("rank", ranks) if ranks else pid_text(concerned[0].pid, view.nodes)
        head, *more = _problem((f"{who}: ", "ink bold"), (problem, "ink"), mend=mend)
        yield from (cut(head, width), *more)
        if pids := [str(stack.pid) for stack in concerned if stack.signal_dump and not node_of(stack.pid)]:
            offer = say("its log then holds its stacks, if the handler it has for this signal is faulthandler's")
            yield cut(((f"    kill -USR1 {' '.join(pids)}", "ink"), (f"   ({offer})", "muted")), width)


def _problem(*said: Span, mend: str | None) -> Iterator[Row]:
    """A problem, and the command that helps: whole, to be copied."""
    yield (("! ", "warn bold"), *said)
    if mend:
        yield ((f"    {mend}", "ink"),)
