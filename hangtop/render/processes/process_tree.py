"""The processes of a run as a tree; equal siblings share a line. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from hangtop.diagnosis.status.kernel_block import is_blocked
from hangtop.records.process import Process
from hangtop.records.rank import Rank
from hangtop.records.ray.titles import parse_title

Order = Literal["tree", "cpu", "memory", "io"]
ORDERS: tuple[Order, ...] = ("tree", "cpu", "memory", "io")
ProcessKey = tuple[str, int, int]
"""Host, pid and start ticks, since pids are reused."""
Path = tuple[object, ...]
DEEPEST = 16
"""Most cells of tree lines: a long chain of shells must not push names out of sight."""


class TreeMember(Struct, frozen=True):
    """A process on its host. `rank`: if it is one. `gpu_bytes`: GPU memory that it holds."""

    host: str
    process: Process
    rank: Rank | None = None
    gpu_bytes: int | None = None

    @property
    def key(self) -> ProcessKey:
        return (self.host, self.process.pid, self.process.start_ticks)

    @property
    def number(self) -> int | None:
        """Its rank; `None` for a data worker, which belongs to a rank."""
        return self.rank.rank if self.rank else self.process.rank if self.process.role == "rank" else None


class TreeLine(Struct, frozen=True):
    """One line; `members` are alike. `lines`: tree lines before the name. `hidden`: what is folded away below. `path`: the same
    line after an update. `parent`: the path of the line above. A `heading` has no members."""

    members: tuple[TreeMember, ...] = ()
    path: Path = ()
    parent: Path = ()
    lines: str = ""
    hidden: tuple[TreeMember, ...] = ()
    children: bool = False
    odd: bool = False
    heading: str = ""
    alone: bool = False

    @property
    def first(self) -> Process:
        return self.members[0].process


class Folds(Struct, frozen=True):
    """Lines that a person unfolded (`opened`) and folded (`closed`)."""

    opened: frozenset[Path] = frozenset()
    closed: frozenset[Path] = frozenset()


def state_of(process: Process) -> str:
    """The state letter if it means trouble (ended, stopped, blocked in state D), else empty."""
    return process.state if process.state in "ZXTt" or (process.state == "D" and is_blocked(process)) else ""


def kind_of(member: TreeMember) -> str:
    """What kind of process it is, without rank or number."""
    process = member.process
    match process.role:
        case "ray daemon":
            return "Ray daemon"
        case "data worker":
            return "data loader worker"
        case "compiler":
            return f"compiler {process.name}"
        case "engine core":
            command = process.command.lower()
            return f"{'vLLM ' if 'vllm' in command else 'SGLang ' if 'sglang' in command else ''}engine core"
    if (title := parse_title(process.command)) is not None:
        return title.cls
    return "rank" if member.number is not None else short_command(process)


def short_command(process: Process) -> str:
    """The command line without the program's folder."""
    program, blank, rest = (process.command or process.name).partition(" ")
    return program.rpartition("/")[2] + blank + rest


def tree(members: Sequence[TreeMember], odd: Mapping[ProcessKey, int], folds: Folds, root: Path = ()) -> list[TreeLine]:
    """The lines of the tree. `odd`: processes that stand out, with their place; they come first."""
    here = {(member.host, member.process.pid) for member in members}
    children: dict[tuple[str, int], list[TreeMember]] = {}
    roots: list[TreeMember] = []
    for member in members:
        above = (member.host, member.process.ppid)
        (children.setdefault(above, []) if above in here and above[1] != member.process.pid else roots).append(member)

    def below(group: Sequence[TreeMember]) -> list[TreeMember]:
        return [child for member in group for child in children.get((member.host, member.process.pid), ())]

    nodes: list[TreeLine] = []
    pending = [(*group, root, "", True) for group in reversed(_groups(roots, root, odd, folds))]
    while pending:
        group, path, parent, indent, top = pending.pop()
        under = below(group)
        last = not (pending and pending[-1][2] == parent)
        folded = path in folds.closed
        lines = "" if top else indent + ("└ " if last else "├ ")
        hidden = tuple(_all_below(under, below)) if folded else ()
        stands_out = any(member.key in odd for member in group)
        alone = len(path) > 1 and path[:-1] in folds.opened
        nodes.append(TreeLine(group, path, parent, lines, hidden, bool(under), stands_out, alone=alone))
        if not folded:
            inner = "" if top else indent + ("  " if last else "│ ")
            inner = inner if len(inner) <= DEEPEST else "⋯ " + inner[4 - DEEPEST :]
            pending += [(*group_and_path, path, inner, False) for group_and_path in reversed(_groups(under, path, odd, folds))]
    return nodes


def flat(members: Iterable[TreeMember], order: Order, odd: Collection[ProcessKey], root: Path = ()) -> list[TreeLine]:
    """One line a process, greatest value first, or in tree order."""
    known = [TreeLine((member,), (*root, member.key), odd=member.key in odd) for member in members]
    read = VALUES.get(order)
    return known if read is None else sorted(known, key=lambda node: -(read(node.first) or 0.0))


VALUES: Mapping[Order, Callable[[Process], float | None]] = {
    "cpu": lambda process: process.cpu_percent,
    "memory": lambda process: process.rss_bytes,
    "io": lambda process: (process.read_b_s or 0.0) + (process.write_b_s or 0.0),
}


def _groups(
    siblings: Sequence[TreeMember], path: Path, odd: Mapping[ProcessKey, int], folds: Folds
) -> list[tuple[tuple[TreeMember, ...], Path]]:
    """Members that are alike, with their path: odd ones stand alone, and so do those that a person unfolded."""
    alike: dict[Path, list[TreeMember]] = {}
    for member in siblings:
        process = member.process
        kind = (process.role, kind_of(member), state_of(process), process.exit_code, process.missing_right)
        alike.setdefault((*path, member.key if member.key in odd else kind), []).append(member)
    groups: list[tuple[tuple[TreeMember, ...], Path]] = []
    for here, group in alike.items():
        if len(group) > 1 and here in folds.opened:
            groups += [((member,), (*here, member.key)) for member in group]
        else:
            groups.append((tuple(group), here))
    return sorted(groups, key=lambda group: min(odd.get(member.key, len(odd)) for member in group[0]))


def _all_below(members: Sequence[TreeMember], below: Callable[[Sequence[TreeMember]], list[TreeMember]]) -> Iterable[TreeMember]:
    while members:
        yield from members
        members = below(members)
