"""Which processes belong to a run, by parents, groups and sessions, and sums over subtrees. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import takewhile

from msgspec.structs import replace

from hangtop.common.memo import memoized
from hangtop.records.nodes import pid_there
from hangtop.records.process import Process
from hangtop.system.processes.table import Stat

Children = Mapping[int, list[int]]


@memoized
def children_of(stats: Mapping[int, Stat]) -> dict[int, list[int]]:
    """Pids by parent."""
    tree: dict[int, list[int]] = {}
    for stat in stats.values():
        if not stat.kernel:
            tree.setdefault(stat.ppid, []).append(stat.pid)
    return tree


def descendants(children: Children, pid: int) -> list[int]:
    """The process and its descendants, parents first, depth first. Stale lines of the table can form a ring."""
    line: dict[int, None] = {}
    stack = [pid]
    while stack:
        if (process := stack.pop()) not in line:
            line[process] = None
            stack.extend(reversed(children.get(process, ())))
    return list(line)


def without(children: Children, pids: Collection[int]) -> Children:
    """The tree without these processes and their descendants."""
    return {parent: [child for child in below if child not in pids] for parent, below in children.items()} if pids else children


def with_launchers(
    stats: Mapping[int, Stat], pids: Iterable[int], is_launcher: Callable[[int], bool], shells: Collection[int] = ()
) -> list[int]:
    """Each pid, or the highest launcher above it: a rank that writes its own log belongs to torchrun, like its silent siblings.
    Not above a shell that a person types into, which starts other things as well."""
    roots: list[int] = []
    for pid in pids:
        near = list(takewhile(lambda above: above not in shells, ancestors(stats, pid)))
        highest = next((above for above in reversed(near) if above > 1 and is_launcher(above)), pid)
        if highest not in roots:
            roots.append(highest)
    return roots


def left_behind(stats: Mapping[int, Stat], roots: Collection[int]) -> list[int]:
    """Processes of a root's group or session that lost their parent: descendants of the root through a process that ended."""
    led = {pid for pid in roots if pid in stats}
    return [
        stat.pid
        for stat in stats.values()
        if stat.pid not in led
        and (stat.group in led or stat.session in led)
        and (pid_there(stat.ppid) <= 1 or stat.ppid not in stats)
    ]


def preorder(children: Children, members: Collection[int], stats: Mapping[int, Stat]) -> list[int]:
    """The members as a tree, parents first, elder siblings first."""
    wanted = set(members)
    ordered = {
        pid: sorted(wanted.intersection(below), key=lambda child: (stats[child].start_ticks, child))
        for pid in wanted
        if (below := children.get(pid))
    }
    tops = sorted((pid for pid in wanted if stats[pid].ppid not in wanted), key=lambda pid: (stats[pid].start_ticks, pid))
    return [pid for top in tops for pid in descendants(ordered, top)]


def ancestors(stats: Mapping[int, Stat], pid: int) -> list[int]:
    """Parent, grandparent … of a process; stops at one that is not in the table."""
    line: list[int] = []
    while (stat := stats.get(pid)) is not None and stat.ppid in stats and stat.ppid not in line:
        pid = stat.ppid
        line.append(pid)
    return line


def with_subtrees(processes: list[Process]) -> tuple[Process, ...]:
    """The processes with sums over each and its descendants, by which launchers and parents of compilers are judged; a rank that
    starts the others (Lightning's subprocesses) is not judged by what these do. Parents come before their children, so subtrees
    are gathered from the end."""
    trees, known = {process.pid: [process] for process in processes}, {process.pid: process for process in processes}
    for process in reversed(processes):
        if process.ppid in trees and not _is_another_rank(process, known[process.ppid]):
            trees[process.ppid] += trees[process.pid]
    return tuple(_summed(process, trees[process.pid]) for process in processes)


def _is_another_rank(process: Process, parent: Process) -> bool:
    return process.role == parent.role == "rank" and None not in (process.rank, parent.rank) and process.rank != parent.rank


def _summed(process: Process, tree: list[Process]) -> Process:
    running = [member.recent.running_part for member in tree if member.recent is not None]
    return replace(
        process,
        subtree_size=len(tree),
        subtree_cpu_percent=_sum(rate for member in tree for rate in (member.cpu_percent, member.reaped_percent)),
        subtree_io_b_s=_sum(rate for member in tree for rate in (member.read_b_s, member.write_b_s)),
        subtree_running_part=max(running, default=None),
        subtree_started_at=max(member.started_at for member in tree) if len(tree) > 1 else None,
    )


def _sum(rates: Iterable[float | None]) -> float | None:
    """`None` when none of them is known."""
    known = [rate for rate in rates if rate is not None]
    return round(sum(known), 1) if known else None
