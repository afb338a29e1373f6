"""The page of one process: facts, command, parents, descendants and stack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, get_args

from textual.binding import BindingType

from hangtop.common import text
from hangtop.common.text import MEGA
from hangtop.monitor.questions import late, unanswered
from hangtop.records.ask import InspectAsk
from hangtop.records.inspection import Inspection
from hangtop.records.nodes import pid_there
from hangtop.records.process import Process, RecentActivity
from hangtop.render.processes.inspection_rows import inspection_rows
from hangtop.render.processes.process_lines import Part, members, odd_places, readings_of
from hangtop.render.processes.process_rows import RowLook, named, table_rows
from hangtop.render.processes.process_tree import Folds, ProcessKey, TreeLine, TreeMember, tree
from hangtop.render.rank_rows import odd_role
from hangtop.render.spans import BLANK, Row, align, cut
from hangtop.render.stack_rows import stacks_of
from hangtop.render.view import View
from hangtop.render.wrap import fact_row, section
from hangtop.translations import say
from hangtop.tui.bindings import bindings
from hangtop.tui.keys import PAGE_KEYS, PROCESS_PAGE
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.selection import Selection, select_process

MOST_FRAMES = 12
LEAST_SEEN_PART = 0.005


class ProcessScreen(PageScreen):
    """A process that is gone stays on its page, with what was last known."""

    keys = (*PROCESS_PAGE, *PAGE_KEYS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(PROCESS_PAGE)

    def __init__(self, key: ProcessKey) -> None:
        super().__init__()
        self.key = key
        self._last: tuple[TreeMember, ...] = ()
        self._gone_at: float | None = None
        self._asked: tuple[InspectAsk, float] | None = None
        self._seen: Inspection | None = None

    @property
    def selection(self) -> Selection:
        return select_process(self.hangtop.view, self.key)

    def head(self, view: View) -> Row:
        return ((say(f"process {self.key[1]}"), "ink"),)

    def rows(self, view: View, width: int) -> list[Row]:
        found = all_members(view)
        there = next((member for member in found if member.key == self.key), None)
        if there is not None:
            self._last, self._gone_at = (there, *below(there, found)), None
        elif not self._last:
            return [((say(f"No process {self.key[1]} any more."), "muted"),)]
        elif self._gone_at is None:
            self._gone_at = view.now
        gone = say(f"is gone since {text.clock(self._gone_at)}; last known values") if self._gone_at else None
        return [*page_rows(self._last, found, view, width, gone), *self._inside_rows(view, width)]

    def action_inspect(self) -> None:
        """Ask what the kernel tells of it now, and once more on each press."""
        if self._last and self.hangtop.replay is None:
            process, now = self._last[0].process, self.hangtop.view.now
            self._asked = InspectAsk(int(now * 1000), process.pid, process.start_ticks), now
            self.hangtop.feed.ask(self._asked[0])
            self.body.show(self.hangtop.view)

    def _inside_rows(self, view: View, width: int) -> list[Row]:
        if self._asked is None:
            return []
        (ask, asked_at), answer = self._asked, view.state.inspection
        if answer is not None and answer.ask == ask.ask:
            self._seen = answer
        elif why := unanswered(view.state, ask) or late(view.state, ask, view.now - asked_at):
            return [BLANK, ((why, "warn"),)]
        if self._seen is None:
            return [BLANK, ((say("looks inside …"), "muted"),)]
        title = say(f"Inside, at {text.clock(self._seen.at)}")
        return [BLANK, ((title, "ink bold"),), BLANK, *inspection_rows(self._seen, width, _names(view))]

    def open(self) -> None:
        number = self._last[0].number if self._last else None
        if number is not None:
            self.hangtop.show_rank(number)


def all_members(view: View) -> list[TreeMember]:
    known: dict[ProcessKey, TreeMember] = {}
    for part in get_args(Part):
        for member in members(view, readings_of(view), part):
            known.setdefault(member.key, member)
    return list(known.values())


def below(member: TreeMember, found: Sequence[TreeMember]) -> list[TreeMember]:
    """Its descendants. `found` has parents before children."""
    family = {member.process.pid}
    kept: list[TreeMember] = []
    for other in found:
        if other.host == member.host and other.process.ppid in family and other.key != member.key:
            family.add(other.process.pid)
            kept.append(other)
    return kept


def page_rows(family: Sequence[TreeMember], found: Sequence[TreeMember], view: View, width: int, gone: str | None) -> list[Row]:
    """`family`: the process and its descendants. `found`: all processes."""
    member, *descendants = family
    odd = odd_places(view, [member])
    role = odd_role(view.verdict) if odd else "ink"
    name = named(TreeLine((member,)))
    rows: list[Row] = [cut(((name, f"{role} bold"), (f"  {gone}" if gone else "", "warn")), width), BLANK]
    rows += [fact_row(label, value, width) for label, value in facts(member, found, view)]
    rows += [BLANK, section("Command", width), *_wrapped(member.process.command or member.process.name, width)]
    if member.process.missing_right:
        rows += [BLANK, section(say("Not permitted"), width), ((say("What shows as ? needs the rights of its user:"), "muted"),)]
        rows += _wrapped(member.process.missing_right, width)
    if descendants:
        look = RowLook(now=view.now, role=odd_role(view.verdict))
        nodes = tree(family, odd, Folds())
        rows += [BLANK, section(say(f"Tree  {text.some(len(descendants), 'process')} below"), width)]
        rows += table_rows(nodes, look, width, full=True)
    return [*rows, *_stack_rows(member.process, view, width)]


def facts(member: TreeMember, found: Iterable[TreeMember], view: View) -> Iterable[tuple[str, str]]:
    """(label, value) of all that applies; hidden values are `?`."""
    process = member.process
    since = say(f", since {text.clock(process.state_since)}" if process.state_since else "")
    yield say("state"), f"{process.state}  {process.doing}{since}"
    yield "pid", f"{pid_there(process.pid)}" + (say(f" on {member.host}" if member.host else ""))
    yield say("started by"), parents(member, found)
    of = say(f" of {process.world}" if process.world else "")
    local = say("" if process.local_rank is None else f" (local {process.local_rank})")
    yield say("part"), process.role if member.number is None else f"rank {member.number}{of}{local}"
    if member.rank is not None and member.rank.doing:
        yield "does", member.rank.doing
    yield "user", process.user or (text.UNKNOWN if process.uid is None else str(process.uid))
    yield say("started"), say(f"{text.clock(process.started_at)}, {text.age(view.now - process.started_at)} ago")
    yield "CPU", say(f"{_percent(process.cpu_percent)} itself, {_percent(process.subtree_cpu_percent)} with all below")
    yield "memory", text.size(process.rss_bytes)
    if view.state.gpus and (member.gpu_bytes is not None or member.rank is not None):
        on = say("" if member.rank is None or member.rank.gpu is None else f" on GPU {member.rank.gpu}")
        yield say("GPU memory"), text.size(member.gpu_bytes) + on
    if process.devices:
        yield "holds", f"/dev/nvidia{text.rank_ranges(sorted(set(process.devices)))}"
    if process.visible_devices is not None:
        yield say("sees GPUs"), process.visible_devices or "none"
    yield say("threads"), f"{process.threads:,}"
    yield "storage", say(f"reads {_rate(process.read_b_s)}, writes {_rate(process.write_b_s)}")
    if process.recent is not None:
        yield "lately", _lately(process.recent)


def parents(member: TreeMember, found: Iterable[TreeMember]) -> str:
    """The chain of parents, as far as the run goes."""
    by_pid = {other.process.pid: other for other in found if other.host == member.host}
    chain: list[str] = []
    ppid = member.process.ppid
    while ppid in by_pid and len(chain) < 4:
        chain.append(f"{pid_there(ppid)} {named(TreeLine((by_pid[ppid],)))}")
        ppid = by_pid[ppid].process.ppid
    return " ← ".join(chain) or (say("pid 1: its parent is gone" if pid_there(ppid) == 1 else f"pid {pid_there(ppid)}"))


def _names(view: View) -> dict[int, str]:
    """The ranks by pid."""
    return {rank.process.pid: f"rank {rank.rank}" for rank in view.ranks if rank.process is not None}


def _lately(recent: RecentActivity) -> str:
    parts = [say(f"over {text.duration(recent.seconds)}: running {recent.running_part:.0%}")]
    if recent.blocked_part > LEAST_SEEN_PART:
        where = f" in {recent.wchan}" if recent.wchan else ""
        parts.append(say(f"in state D {recent.blocked_part:.0%}{where}"))
    if recent.delay_part is not None and recent.delay_part > LEAST_SEEN_PART:
        parts.append(say(f"waiting for a core {recent.delay_part:.0%}"))
    if recent.passed_b_s is not None:
        parts.append(say(f"{_rate(recent.passed_b_s)} through reads and writes"))
    if recent.switches_s is not None:
        parts.append(say(f"main thread slept {text.some(round(recent.switches_s), 'time')} a second"))
    return ", ".join(parts)


def _percent(value: float | None) -> str:
    return text.UNKNOWN if value is None else f"{value:,.0f} %"


def _rate(value: float | None) -> str:
    return text.UNKNOWN if value is None else f"{value / MEGA:,.1f} MB/s"


def _wrapped(words: str, width: int) -> list[Row]:
    return [((line, "ink"),) for line in text.wrap(words, max(20, width))]


def _stack_rows(process: Process, view: View, width: int) -> list[Row]:
    """The latest stack of its main thread."""
    stacks = stacks_of(process, view.state.looks)
    if not stacks:
        return []
    stack = stacks[-1]
    rows = [BLANK, section(say(f"Stack  main thread at {text.clock(stack.at)}"), width)]
    if stack.main is None:
        return [
            *rows,
            ((stack.problem or say("no Python thread"), "warn"),),
            *(((stack.mend, "ink"),) for _ in [0] if stack.mend),
        ]
    frames = [(frame.name, f"{frame.file.rpartition('/')[2]}:{frame.line}") for frame in stack.main.frames[:MOST_FRAMES]]
    return [*rows, *(cut((align(name, 34, "ink"), (place, "muted")), width) for name, place in frames)]
