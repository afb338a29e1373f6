"""The table of processes, row by row. What may not be read is `?`. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from operator import attrgetter

from msgspec import Struct

from hangtop.common import text
from hangtop.common.memo import memoized
from hangtop.common.text import GIB, MEGA
from hangtop.records.nodes import pid_there
from hangtop.records.process import Process, exit_words
from hangtop.records.ray.titles import parse_title
from hangtop.render.columns import Column, fitting, table_row, title_row
from hangtop.render.processes.process_tree import ProcessKey, TreeLine, TreeMember, kind_of, short_command, state_of
from hangtop.render.spans import Row, cut
from hangtop.translations import say

BUSY_IO_B_S = 1_000_000.0
ENDED = text.NOT_APPLICABLE
COUNT = "{:,.0f}".format


class RowLook(Struct, frozen=True):
    """How lines are painted. `role`: of what stands out. `single`: each line is one process. `stale`: values are old. `hosts`:
    number of machines of the run."""

    now: float
    role: str = "bad"
    chosen: ProcessKey | None = None
    single: bool = False
    stale: bool = False
    hosts: int = 1


class ProcessRow(Struct, frozen=True):
    """One line and how it is painted."""

    node: TreeLine
    look: RowLook

    @property
    def first(self) -> Process:
        return self.node.first

    @property
    def all(self) -> tuple[TreeMember, ...]:
        """The processes of this line, and those folded below it."""
        return (*self.node.members, *self.node.hidden)

    @property
    def gone(self) -> bool:
        return self.first.state == "X"

    def role(self, plain: str, *, bold: bool = False) -> str:
        """The role of a cell of this row."""
        if self.node.odd:
            return f"{self.look.role} bold" if bold else self.look.role
        return "stale" if self.look.stale else plain


@memoized
def table_rows(
    nodes: Sequence[TreeLine], look: RowLook, width: int, *, full: bool = False, shown: slice = slice(None)
) -> list[Row]:
    """Column titles and the lines in `shown`. `full`: with the columns that only fit an enlarged pane."""
    columns = fitting(_columns(nodes, look, full=full), width)
    rows = (
        cut(((node.heading, "ink bold"),), width) if node.heading else table_row(columns, ProcessRow(node, look), width)
        for node in nodes[shown]
    )
    return [title_row(columns, width), *rows]


def _columns(nodes: Sequence[TreeLine], look: RowLook, *, full: bool) -> list[Column[ProcessRow]]:
    own_cpu, subtree_cpu = attrgetter("cpu_percent"), attrgetter("subtree_cpu_percent")
    cpu = own_cpu if look.single else subtree_cpu  # a launcher or a compiler is judged by its children
    on_gpu = any(member.gpu_bytes is not None for node in nodes for member in node.members)
    return [
        Column("", 1, 0, _sign),
        Column("node", 9, 5, _node, gap=1, there=look.hosts > 1),
        Column("pid", 8, 0, _pid, right=True, gap=0),
        Column("s", 1, 0, _state),
        Column("cpu", 5, 0, _sum(cpu, COUNT, below=False), right=True, gap=1),
        Column("own", 5, 1, _sum(own_cpu, COUNT, "muted", below=False), right=True, gap=1, there=full and not look.single),
        Column("rss G", 6, 0, _sum(lambda process: process.rss_bytes, _gib), right=True, gap=1),
        Column("gpu G", 6, 4, _gpu_memory, right=True, gap=1, there=full and on_gpu),
        Column("threads", 7, 2, _sum(lambda process: process.threads, COUNT, "muted"), right=True, there=full),
        Column("r/w MB/s", 9, 3, _rates, right=True, there=full),
        Column("age", 6, 3, _age, right=True, there=full),
        Column("what", 0, 0, _what, least=36 if full else 12),
    ]


def _sign(row: ProcessRow) -> Row:
    sign = "✗" if row.gone else "▸"
    return ((sign, row.look.role),) if row.node.odd else ()


def _node(row: ProcessRow) -> Row:
    hosts = {member.host for member in row.node.members}
    return ((min(hosts) if len(hosts) == 1 else say(text.some(len(hosts), "node")), row.role("muted")),)


def _pid(row: ProcessRow) -> Row:
    alike = len(row.node.members)
    shown = str(pid_there(row.first.pid)) if alike == 1 else say(text.some(alike, "pid"))
    if row.look.chosen in [member.key for member in row.node.members]:
        return ((shown, "accent bold reverse"),)
    return ((shown, row.role("muted")),)


def _state(row: ProcessRow) -> Row:
    if row.gone:
        return ((ENDED, row.role("stale")),)
    letter = Counter(member.process.state for member in row.node.members).most_common(1)[0][0]
    return ((letter, "bad" if state_of(row.first) and not row.look.stale else row.role("ink")),)


def _sum(
    read: Callable[[Process], float | None], shown: Callable[[float], str], plain: str = "ink", *, below: bool = True
) -> Callable[[ProcessRow], Row]:
    """The sum of the known values, `?` if none is; the head says how many are hidden. `below`: with the processes that are folded
    away; CPU is summed without them, and would be old for a zombie."""

    def cell(row: ProcessRow) -> Row:
        if row.gone or (row.first.state == "Z" and not below):
            return ((ENDED, "stale"),)
        known = [value for member in (row.all if below else row.node.members) if (value := read(member.process)) is not None]
        return ((shown(sum(known)), row.role(plain)),) if known else ((text.UNKNOWN, "stale"),)

    return cell


def _gpu_memory(row: ProcessRow) -> Row:
    known = [member.gpu_bytes for member in row.all if member.gpu_bytes is not None]
    return ((_gib(sum(known)), row.role("ink")),) if known else ((text.NOT_APPLICABLE, "stale"),)


def _gib(size: float) -> str:
    if size >= 100 * GIB:
        return f"{size / GIB:,.0f}"
    return f"{size / GIB:.1f}" if size >= GIB / 10 else f"{size / GIB:.2f}"


def _rates(row: ProcessRow) -> Row:
    """Bytes read and written per second."""
    if row.gone:
        return ((ENDED, "stale"),)
    both = "/".join((_mega([m.process.read_b_s for m in row.all]), _mega([m.process.write_b_s for m in row.all])))
    return ((both, "stale" if both == "?/?" else row.role("muted")),)


def _mega(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return text.UNKNOWN
    total = sum(known) / MEGA
    return f"{total:.1f}" if 0.05 <= total < 10 else f"{total:.0f}"


def _age(row: ProcessRow) -> Row:
    """Age of the oldest."""
    started = min(member.process.started_at for member in row.node.members)
    return ((text.age(row.look.now - started), row.role("muted")),)


def _what(row: ProcessRow) -> Row:
    name, note = named(row.node), noted(row)
    count = len(row.node.members)
    folded = say(f"  + {len(row.node.hidden):,} below" if row.node.hidden else "")
    return (
        (row.node.lines, "faint"),
        (name, row.role("ink", bold=True)),
        (f" ×{count:,}" if count > 1 else "", row.role("muted")),
        (folded, "accent"),
        (f"  {note}" if note else "", row.role("muted")),
    )


def named(node: TreeLine) -> str:
    """`WorkerDict ranks 0-2 4-7`, `data loader workers`, `torchrun --nnodes 32 …`."""
    kind = kind_of(node.members[0])
    numbers = [member.number for member in node.members if member.number is not None]
    if numbers:
        ranks = text.numbered("rank", numbers)
        return say(ranks) if kind == "rank" else f"{kind} {say(ranks)}"
    if node.first.role in ("data worker", "compiler", "engine core", "ray daemon"):
        plural = kind.replace("compiler", "compilers") if kind.startswith("compiler") else f"{kind}s"
        return say(plural if len(node.members) > 1 else kind)
    methods = {title.method for member in node.members if (title := parse_title(member.process.command))}
    method = next(iter(methods)) if len(methods) == 1 else None
    return f"{kind}.{method}" if method else kind


def noted(row: ProcessRow) -> str:
    """A note beside the name: how it ended, what blocks it, what an odd one does, or a rank's command."""
    process = row.first
    if row.gone:
        at = f" at {text.clock(process.state_since)}" if process.state_since else ""
        return say(("" if process.exit_code is None else f"{exit_words(process.exit_code)}, ") + f"gone{at}")
    if state_of(process):
        return say(process.doing)
    if row.node.odd:
        rank = row.node.members[0].rank
        return busy_io(row.node) or (rank and (rank.shorter or (rank.doing or "",))[-1]) or ""
    if process.role == "rank" and not parse_title(process.command):
        return short_command(process)
    return ""


def busy_io(node: TreeLine) -> str:
    """`w 412 MB/s` for a rank at work on files. Short: there are ten cells beside the GPUs."""
    written = sum(member.process.write_b_s or 0.0 for member in node.members)
    read = sum(member.process.read_b_s or 0.0 for member in node.members)
    return ", ".join(f"{way} {rate / MEGA:,.0f} MB/s" for way, rate in (("w", written), ("r", read)) if rate >= BUSY_IO_B_S)
