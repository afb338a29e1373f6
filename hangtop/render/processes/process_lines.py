"""Which processes the pane shows, and what its head says of them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from hangtop.common import text
from hangtop.common.memo import memoized
from hangtop.diagnosis.facts.leftover_members import leftovers
from hangtop.diagnosis.members.rank_gpus import memory_of
from hangtop.records.process import Process, ProcessReading
from hangtop.render.processes.process_tree import Folds, Order, ProcessKey, TreeLine, TreeMember, flat, kind_of, state_of, tree
from hangtop.render.rank_rows import world_of
from hangtop.render.source_status import old_row, source_line, writers_line
from hangtop.render.spans import Row, dotted
from hangtop.render.view import View
from hangtop.translations import say

LOOK_S = 1.0
"""A reading that is this old is fresh: there is one a second."""
WIDE_HEAD = 90
Readings = Mapping[str, ProcessReading]
Part = Literal["processes", "orphans", "zombies", "ended"]
"""A field of a reading: processes of the run, and others by what became of them."""
OTHERS: tuple[Part, ...] = ("orphans", "zombies", "ended")


class TreeOptions(Struct, frozen=True):
    """What a person asked for. `everything`: also processes that are not of this run, or no more."""

    order: Order = "tree"
    pattern: str = ""
    everything: bool = False
    folds: Folds = Folds()

    @property
    def single(self) -> bool:
        """True if each line is one process."""
        return self.order != "tree" or bool(self.pattern)


PLAIN = TreeOptions()


def readings_of(view: View) -> Readings:
    """The processes by host."""
    state = view.state
    return state.processes or ({"": state.procs} if state.procs is not None else {})


@memoized
def outline(readings: Readings) -> tuple[object, ...]:
    """Changes here are painted at once; changed numbers may wait."""
    return tuple(
        (
            (host, len(reading.orphans), len(reading.zombies), len(reading.ended), reading.missing_right),
            *(
                (process.pid, process.start_ticks, state_of(process), process.cpu_percent is None)
                for process in reading.processes
            ),
        )
        for host, reading in readings.items()
    )


def lines(view: View, readings: Readings, options: TreeOptions) -> list[TreeLine]:
    """All lines: culprits that are gone, the tree of the run, then everything else if asked for."""
    run = members(view, readings)
    ended = members(view, readings, "ended")
    odd = odd_places(view, (*ended, *run))
    if left := left_behind(view, readings):
        odd |= {member.key: place for place, member in enumerate(left, len(odd))}
        run = left
    gone = sorted((member for member in ended if member.key in odd), key=lambda member: odd[member.key])
    shown = _section([*gone, *run], odd, options, "run")
    if options.everything:
        for part in OTHERS:
            found = [member for member in members(view, readings, part) if part != "ended" or member.key not in odd]
            if found:
                shown += [TreeLine(path=(part,), heading=f"{part}  {len(found):,}"), *_section(found, odd, options, part)]
    return shown


def left_behind(view: View, readings: Readings) -> list[TreeMember]:
    """Processes that an ended run left behind."""
    if view.verdict is None or not view.verdict.state.ended:
        return []
    left = {(process.pid, process.start_ticks) for process in leftovers(view.state, over=True).processes}
    return [member for member in members(view, readings) if member.key[1:] in left] if left else []


def _section(found: Sequence[TreeMember], odd: Mapping[ProcessKey, int], options: TreeOptions, root: str) -> list[TreeLine]:
    if not options.single:
        return tree(found, odd, options.folds, (root,))
    return flat([member for member in found if fits(member, options.pattern)], options.order, odd, (root,))


def fits(member: TreeMember, pattern: str) -> bool:
    """Whether the pattern is in the pid, rank, role, name, command, user or host."""
    process = member.process
    rank = "" if member.number is None else f"rank {member.number}"
    named = (str(process.pid), rank, kind_of(member), process.name, process.command, process.user or "", member.host)
    return pattern.casefold() in "\n".join((*named, process.doing)).casefold()


def members(view: View, readings: Readings, part: Part = "processes") -> list[TreeMember]:
    """The processes with their rank and the GPU memory that they hold."""
    ranks = {(rank.process.pid, rank.process.start_ticks): rank for rank in view.ranks if rank.process is not None}
    found: list[TreeMember] = []
    for host, reading in readings.items():
        node = view.state.gpus.get(host)
        held = memory_of(node.reading.gpus) if node is not None else {}
        processes: tuple[Process, ...] = getattr(reading, part)
        for process in processes:
            sizes = [size for size in held.get(process.pid, {}).values() if size is not None]
            rank = ranks.get((process.pid, process.start_ticks))
            found.append(TreeMember(host, process, rank, sum(sizes) if sizes else None))
    return found


def odd_places(view: View, found: Iterable[TreeMember]) -> dict[ProcessKey, int]:
    """The places, in the verdict, of ranks and processes that stand out."""
    if view.verdict is None:
        return {}
    culprits = view.verdict.culprits
    by_rank = {rank: place for place, rank in enumerate(view.verdict.apart)}
    by_pid = {culprit.pid: place for place, culprit in enumerate(culprits) if culprit.rank is None and culprit.pid is not None}
    odd: dict[ProcessKey, int] = {}
    for member in found if by_rank or by_pid else ():
        place = by_pid.get(member.process.pid) if member.number is None else by_rank.get(member.number)
        if place is not None:
            odd[member.key] = place
    return odd


def age_of(view: View) -> float:
    """Age of the process readings in seconds; 0 while they are fresh."""
    health = view.state.health.get("procs")
    return 0.0 if health is None or health.read_at is None else max(0.0, view.now - health.read_at - LOOK_S)


def summary(view: View, readings: Readings, width: int) -> Row:
    """`44 of this run · 1 zombie · 343 G of 1.9 T`; what is missing, old or left over is coloured."""
    processes = [process for reading in readings.values() for process in reading.processes]
    hidden = sum(process.missing_right is not None for process in processes)
    health = view.state.health.get("procs")
    role = "muted" if view.verdict is not None and view.verdict.word == "finished" else "warn"
    left = len(left_behind(view, readings))
    orphans, zombies, ended = (sum(len(getattr(reading, part)) for reading in readings.values()) for part in OTHERS)
    parts: list[Row] = [
        old_row(age_of(view)),
        ((say(health.problem), "warn"),) if health is not None and health.problem else (),
        *([((say(text.some(left, "leftover")), "warn"),)] if left else _counted(view, readings, processes)),
        ((say(f"{ended:,} ended"), role),) if ended else (),
        ((say(f"{hidden:,} of another user"), "warn"),) if hidden else (),
        *(_memory(view, processes, width) if len(readings) == 1 else ()),
        ((say(text.some(zombies, "zombie")), role),) if zombies else (),
        ((say(text.some(orphans, "orphan")), role),) if orphans else (),
    ]
    return dotted(parts)


def _counted(view: View, readings: Readings, processes: Sequence[Process]) -> list[Row]:
    if len(readings) == 1:
        return [((say(f"{len(processes):,} of this run"), "muted"),)]
    roles = Counter(process.role for process in processes if process.state not in "ZX")
    seen: Row = ((say(f"{roles['rank']:,} of {text.some(world_of(view), 'rank')} seen"), "muted"),)
    more = ((roles["data worker"], "loader"), (roles["launcher"], "launcher"))
    return [seen, *(((say(text.some(count, noun)), "muted"),) for count, noun in more if count)]


def _memory(view: View, processes: Sequence[Process], width: int) -> Iterable[Row]:
    machine = view.state.machine
    known = [process.rss_bytes for process in processes if process.rss_bytes is not None]
    limit = machine and (machine.cgroup_limit_bytes or machine.memory_bytes)
    if sum(known):
        yield ((say(text.size(sum(known)) + (f" of {text.size(limit)}" if limit else "")), "muted"),)
    if machine is not None and width >= WIDE_HEAD:
        load = "" if machine.load_1m is None else f", load {machine.load_1m:.1f}"
        yield ((say(text.some(machine.cores, "core") + load), "muted"),)


def missing_right(readings: Readings) -> str | None:
    """The command that would grant the missing permission."""
    return next((reading.missing_right for reading in readings.values() if reading.missing_right), None)


def nothing(view: View, key: str = "a") -> Row:
    """Why there are no processes to show. `key`: of all training processes."""
    reading, health = view.state.procs, view.state.health.get("procs")
    if reading is None and (health is None or health.read_at is None or health.problem is not None):
        return source_line(view, "procs")
    reading = reading or ProcessReading()
    others = {"orphan": len(reading.orphans), "zombie": len(reading.zombies)}
    found = ", ".join(text.some(count, noun) for noun, count in others.items() if count)
    more: Row = ((say(f" · {found}: {key} shows {'it' if sum(others.values()) == 1 else 'them'}"), "warn"),) if found else ()
    if reading.writers or reading.note:
        return (*writers_line(view), *more)
    hosts = " or ".join(host for host in readings_of(view) if host)
    return ((say(f"no process of this run found{' on ' + hosts if hosts else ''}"), "muted"), *more)
