"""Ranks that no environment numbers: those of multiprocessing, those numbered in their command line, and the dead. Pure.

`torch.multiprocessing.spawn` and every launcher's own loop start rank 0 first; a forked child sets RANK after its environment was
copied, so that /proc/PID/environ does not show it, and a zombie has none any more (proc(5)). A number that is said counts before
the order of the start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

from hangtop.common.grouped import grouped
from hangtop.common.late_pattern import late_pattern
from hangtop.records.process import Process
from hangtop.system.processes.roles import RELAYS, RUNNER, SHELLS, is_forked, is_service

MEMBERS = ("other", "rank")
NO_MEMBERS = RELAYS | SHELLS
RANK_SAID = late_pattern(r"(?i)(?:^|[^a-z])(?:global|local)?[_-]?rank[ =:_#\[-]*$")
"""`--rank 3`, `--local-rank=3` (`torch.distributed.launch`), `trainer [rank 3]`, `rank3`: what stands before such a number."""
NUMBER = late_pattern(r"\d+")
NOTHING: Mapping[int, Hashable] = {}


def serves(process: Process) -> bool:
    """Whether it only starts the members, passes on what they write, or keeps books for multiprocessing."""
    return process.name in NO_MEMBERS or is_service(process.command) or RUNNER in process.command


def runs_alike(process: Process, other: Process) -> bool:
    """Whether they run one program with the same arguments, whatever the path of the interpreter."""
    return bool(process.command) and process.command.partition(" ")[2] == other.command.partition(" ")[2]


def _may_be_rank(process: Process) -> bool:
    return process.rank is None and process.role in MEMBERS


def siblings(
    processes: Iterable[Process], world: int | None = None, entries: Mapping[int, Hashable] = NOTHING
) -> tuple[Process, ...]:
    """The largest group of children of one parent that run its program, in order of their start. A zombie is still one of
    them.

    A single child is no group, and children that a number of their own tells apart are none either. `entries`: by pid, the
    function that a child was started with, where its stack tells. A hub or a loader beside the ranks is none of them.
    """
    known = {process.pid: process for process in processes}
    children = [each for each in known.values() if each.ppid > 1 and _may_be_rank(each) and not serves(each)]
    groups = grouped(children, lambda process: _started_by(process, known))
    alike = [_same_entry(_alike(group, known.get(parent)), world, entries) for parent, group in groups.items()]
    largest = max(alike, key=len, default=[])
    families = [group for group in alike if len(group) == len(largest)]
    if len(families) > 1 and sum(map(len, families)) == world:  # a launcher for each node, all on this machine
        largest = [sibling for group in families for sibling in group]
    if len(largest) < 2:
        return ()

    def age(sibling: Process) -> tuple[int, int, int]:
        parent = known.get(sibling.ppid) if len(families) > 1 else None
        return parent.start_ticks if parent is not None else 0, sibling.start_ticks, sibling.pid

    return tuple(sorted(largest, key=age))


def _started_by(process: Process, known: Mapping[int, Process]) -> int:
    """The pid of the parent. A shell in between, as `subprocess` may put there, is skipped."""
    parent = known.get(process.ppid)
    while parent is not None and serves(parent) and parent.ppid > 1:
        process, parent = parent, known.get(parent.ppid)
    return process.ppid


def _same_entry(group: list[Process], world: int | None, entries: Mapping[int, Hashable]) -> list[Process]:
    """The children that began in one function: the function of as many as there are ranks, else of most. A child without a
    stack may be one too."""
    sizes = Counter(entries[process.pid] for process in group if process.pid in entries)
    if len(sizes) < 2 or len(group) == world:
        return group
    blank = sum(process.pid not in entries for process in group)
    chosen = next((entry for entry, size in sizes.items() if size + blank == world), None) or sizes.most_common(1)[0][0]
    return [process for process in group if entries.get(process.pid, chosen) == chosen]


def _alike(group: list[Process], parent: Process | None) -> list[Process]:
    """Copies of their parent, or of each other, and fresh interpreters of multiprocessing. A zombie shows only its name."""
    living = [process for process in group if not process.exited]
    forked = [process for process in living if is_forked(process.command.split())]
    lines = Counter(process.command for process in living if process not in forked)
    line, most = lines.most_common(1)[0] if lines else ("", 0)
    if parent is not None and parent.command in lines:
        line = parent.command
    elif most == 1 and forked:
        line = ""
    kept = forked if len(forked) > lines[line] else [process for process in living if process.command == line]
    model = kept[0].name if kept else (parent or group[0]).name
    return kept + [process for process in group if process.exited and process.name == model]


def said(processes: Collection[Process]) -> dict[int, int]:
    """Rank by pid where each process tells its own: by the log that it alone writes, else by its command line or title."""
    living = [process for process in processes if _may_be_rank(process) and not process.exited and not serves(process)]
    by_log = {process.pid: process.log_rank for process in _topmost(living) if process.log_rank is not None}
    if len(by_log) > 1 and len(set(by_log.values())) == len(by_log):
        return by_log
    names = {process.name for process in living}
    died = [zombie for zombie in zombies_beside(processes, living) if failed(zombie) and zombie.name in names]
    return by_argument(living, len(died))


def by_order(group: Sequence[Process], world: int | None, least: int = 0, *, meets: bool = False) -> dict[int, int]:
    """Rank by pid of `siblings`, by the order of start. `world`: how many ranks the log names; `least`: the least number
    by the highest that it names; `meets`: two of them are seen to wait for their peers.

    Only where the log counts as many ranks as there are siblings, or they meet: workers of a pool do not.
    """
    counted = len(group) == (world or least)
    if not group or not (counted or (meets and world in (None, 1) and len(group) >= least)):
        return {}
    return {process.pid: place for place, process in enumerate(group)}


def with_parent(group: Sequence[Process], parent: Process | None, count: int | None) -> tuple[Process, ...]:
    """Prepend the parent as rank 0 when the world is one larger than the group of siblings.

    `parent`: `None` when it is seen to wait for its children.
    """
    if parent is None or not group or not _may_be_rank(parent) or parent.command != group[0].command:
        return tuple(group)
    return (parent, *group) if count == len(group) + 1 else tuple(group)


def by_argument(processes: Iterable[Process], died: int = 0) -> dict[int, int]:
    """Rank by pid, from command lines or titles that are alike but for numbers; nothing unless each has a number of its own.

    A number after the word rank; else one that counts all of them from 0, if there is one alone. `died`: so many of them may be
    missing in between.
    """
    groups = grouped(filter(_may_be_rank, processes), lambda process: tuple(NUMBER.split(process.command)))
    for words, alike in sorted(groups.items(), key=lambda entry: -len(entry[1])):
        group = _topmost(alike)
        rows = [[int(number) for number in NUMBER.findall(process.command)] for process in group]
        if len(group) > 1 and (found := _by_place(words, rows, died)):
            return {process.pid: rank for process, rank in zip(group, found, strict=True)}
    return {}


def _by_place(words: Sequence[str], rows: list[list[int]], died: int) -> tuple[int, ...]:
    """The numbers of the place that tells the ranks; a row for each process."""
    places = list(zip(*rows, strict=True))
    own = [place for place, numbers in enumerate(places) if len(set(numbers)) == len(rows) and max(numbers) < 100_000]
    told = {places[place] for place in own if RANK_SAID.search(words[place])}
    counts = {places[place] for place in own if max(places[place]) < len(rows) + died}
    chosen = told or counts
    return next(iter(chosen)) if len(chosen) == 1 else ()


def _topmost(processes: Sequence[Process]) -> list[Process]:
    """Without the copies that one of them forked."""
    pids = {process.pid for process in processes}
    return [process for process in processes if process.ppid not in pids]


def dead(processes: Collection[Process], ranks: dict[int, Process], world: int | None) -> dict[int, int]:
    """Rank by pid of zombies beside the `ranks`, children of one parent, where as many ranks of this machine are missing; where
    nothing tells how many ranks there are, of those that failed, by the order of the start."""
    beside = zombies_beside(processes, ranks.values())
    if world is None:
        return _by_start([zombie for zombie in beside if failed(zombie)], ranks)
    gaps = missing_here(ranks, world)
    zombies = sorted(beside, key=lambda zombie: (zombie.start_ticks, zombie.pid))
    return {zombie.pid: rank for zombie, rank in zip(zombies, gaps, strict=True)} if len(zombies) == len(gaps) else {}


def zombies_beside(processes: Iterable[Process], ranks: Collection[Process]) -> list[Process]:
    """Those without a number that a parent of the ranks has started and does not reap."""
    parents = {process.ppid for process in ranks}
    return [process for process in processes if process.exited and process.ppid in parents and _may_be_rank(process)]


def failed(process: Process) -> bool:
    """Whether it is known to have ended otherwise than well."""
    return process.exit_code not in (0, None)


def _by_start(zombies: Collection[Process], ranks: dict[int, Process]) -> dict[int, int]:
    """Rank by pid of these zombies, where the ranks were started in the order of their numbers, and these fit in between or
    behind."""
    alike = [zombie for zombie in zombies if zombie.name in {process.name for process in ranks.values()}]
    number_of = {process.pid: rank for rank, process in ranks.items()}
    order = sorted((*ranks.values(), *alike), key=lambda process: (process.start_ticks, process.pid))
    placed = {process.pid: place for place, process in enumerate(order, min(ranks, default=0))}
    if not alike or any(placed[pid] != rank for pid, rank in number_of.items()):
        return {}
    return {zombie.pid: placed[zombie.pid] for zombie in alike}


def missing_here(ranks: Collection[int], world: int | None) -> tuple[int, ...]:
    """Ranks that must have run on this machine, and have no process here.

    Machines hold equal blocks of consecutive ranks: a gap between two that are here was here, and so was one of the others when
    the world does not divide into blocks of as many as are left. Otherwise the missing may run elsewhere.
    """
    if not ranks or world is None:
        return ()
    inside = tuple(rank for rank in range(min(ranks), max(ranks)) if rank not in ranks)
    whole = tuple(rank for rank in range(world) if rank not in ranks)
    uneven = world % len(ranks) != 0 and 2 * len(ranks) > world
    return whole if uneven else inside
