"""Verify that a plan ended its processes: which survived and why, which ports are free, which shared memory is left."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from functools import partial

from msgspec import Struct

from hangtop.actions.execute.newborns import Newborns
from hangtop.actions.execute.signals import living
from hangtop.actions.execute.steps import step
from hangtop.common import text
from hangtop.common.clean_words import clean_words, command_line
from hangtop.probe.leftovers.open_handles import files_of, open_handles
from hangtop.records.plan import Plan, Step, Target
from hangtop.system.guard import Guard
from hangtop.system.network.connections import LISTEN, read_connections
from hangtop.system.processes.table import Details, Identity, ProcessTable, Stat
from hangtop.system.processes.tree import ancestors
from hangtop.system.processes.users import Users

LOOK_EVERY_S = 0.05
PORT_WAIT_S = 3.0
SHARED = "/dev/shm"
NUMBERS = re.compile(r"\d+")
SHOWN = 90
"""So many characters of a command are enough to know it."""
TITLES, HELPERS = ("ray::", "ray-dashboard-"), "from multiprocessing."
"""Command lines that other runs have too: Ray overwrites them with what a process does, Python's helpers all have the same."""


class StateBefore(Struct, frozen=True):
    """What was there before the first signal. `segments`: shared memory files that the targets held. `starters`: pids outside the
    plan that started targets."""

    before: frozenset[Identity]
    segments: frozenset[str]
    starters: frozenset[int]


def prove(plan: Plan, known: StateBefore, births: Newborns, table: ProcessTable) -> Generator[Step, None, bool]:
    """A step for each survivor and why it lives, for each port, for shared memory. Returns whether all of the plan is gone."""
    table.refresh(tuple(table.stats))
    births.look(into_files=True)
    survivors = list(_survivors(plan, table))
    yield from survivors
    yield from _unreaped(plan, table)
    newcomers = list(_newcomers(plan, known, births, table))
    yield from newcomers
    ports = yield from _prove_ports(plan.ports)
    if not survivors and not newcomers:
        number = len(plan.targets)
        yield step("proof", f"{text.every(number, 'process')} of the plan {text.are(number)} gone")
    yield from _prove_shared(known.segments, table)
    return ports and not survivors and not newcomers


def _newcomers(plan: Plan, known: StateBefore, births: Newborns, table: ProcessTable) -> Iterator[Step]:
    """Living processes that were not there before the first signal; each is reported once."""
    born = births.living()
    again = restarted(plan, known, births, table)
    doubtful = [(stat, why) for stat, why in births.doubtful() if stat not in again]
    commands = _commands(table, [stat for stat, _ in (*born, *doubtful)] + again)
    for stat, why in born:
        target = target_of(stat, table, commands)
        yield step("survived", f"pid {stat.pid} came meanwhile ({why}): {_why(stat, table)} ({target.command[:SHOWN]})", target)
    for stat in again:
        parent = table.stats.get(stat.ppid)
        who = f"pid {stat.ppid} ({parent.name})" if parent is not None and stat.ppid > 1 else "a supervisor"
        said = f"pid {stat.pid} runs the same command anew: {who} restarts it; stop that first"
        yield step("survived", f"{said} ({commands.get(stat.pid, stat.name)[:SHOWN]})")
    for stat, why in doubtful:
        said = f"pid {stat.pid} came meanwhile: {why}. It may be of this run, which is not proven, so it is not touched"
        yield step("survived", f"{said} ({commands.get(stat.pid, stat.name)[:SHOWN]})")


def target_of(stat: Stat, table: ProcessTable, commands: Mapping[int, str] | None = None) -> Target:
    """A process that was born meanwhile, as a target."""
    command = (_commands(table, [stat]) if commands is None else commands).get(stat.pid) or clean_words(stat.name)
    return Target(stat.pid, stat.start_ticks, table.started_at(stat.start_ticks), command, stat.state)


def name_of(target: Target) -> str:
    """What a step calls it: its rank, its role, or the start of its command."""
    return f"rank {target.rank}" if target.rank is not None else target.role if target.role != "other" else target.command[:40]


def look_before(plan: Plan, table: ProcessTable) -> StateBefore:
    """Call it before the first signal."""
    segments = files_of(table, [target.pid for target in plan.targets], SHARED, Guard())
    ended = {target.pid for target in plan.targets}
    starters = frozenset(table.stats[pid].ppid for pid in ended if pid in table.stats) - ended
    return StateBefore(frozenset(stat.identity for stat in table.stats.values()), segments, starters)


def _survivors(plan: Plan, table: ProcessTable) -> Iterator[Step]:
    for target in (*plan.targets, *plan.beyond):
        if (stat := living(Identity(target.pid, target.start_ticks), table)) is not None:
            yield step("survived", f"pid {target.pid} {name_of(target)}: {_why(stat, table)}", target)


def _why(stat: Stat, table: ProcessTable) -> str:
    """Why no signal ended it."""
    if (owner := table.owner(stat.pid)) != os.geteuid():
        return f"it belongs to {Users().name(owner) or 'another user'}: only they or root can end it"
    details = Guard[int, Details]().known({stat.pid: partial(table.details, stat.pid)}).get(stat.pid, Details())
    if stat.state == "D":
        where = f" in {details.wchan}" if details.wchan else ""
        return f"blocked in the kernel{where}, no signal reaches it: its mount or GPU must answer, else only a reboot ends it"
    if details.tracer_pid:
        return f"a debugger holds it: end pid {details.tracer_pid}"
    return f"it lives, in state {stat.state}"


def _unreaped(plan: Plan, table: ProcessTable) -> Iterator[Step]:
    """Zombies: they hold no memory, and only their parent can reap them."""
    table.refresh(tuple(target.pid for target in plan.targets))
    parents: dict[int, list[int]] = {}
    for target in plan.targets:
        stat = table.stats.get(target.pid)
        if stat is not None and stat.start_ticks == target.start_ticks and stat.state == "Z":
            parents.setdefault(stat.ppid, []).append(stat.pid)
    for parent, pids in parents.items():
        mend = "a container needs an init (docker run --init)" if parent == 1 else "it goes when that parent reaps it or ends"
        ended = f"pid {text.rank_ranges(pids)} ended, but parent pid {parent} does not reap it: zombie, holds nothing"
        yield step("done", f"{ended}; {mend}")


def _prove_ports(ports: Iterable[int]) -> Generator[Step, None, bool]:
    """Whether nobody listens there any more; the kernel may take a moment."""
    free = True
    for port in ports:
        until = time.monotonic() + PORT_WAIT_S
        while (taken := _listening(port)) and time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)
        free = free and not taken
        yield step("survived", f"port {port} is still listened on") if taken else step("proof", f"port {port} is free")
    return free


def _listening(port: int) -> bool:
    with contextlib.suppress(OSError):  # no /proc/net on this system: then nothing is known of ports
        return any(socket.state == LISTEN and socket.local_port == port for socket in read_connections(os.getpid()))
    return False


def _prove_shared(segments: Iterable[str], table: ProcessTable) -> Iterator[Step]:
    """Shared memory files that the targets held: which are gone, and which are left though nobody holds them, as KILL does."""
    held = sorted(segments)
    left = [path for path in held if os.path.lexists(path)]
    if held and not left:
        yield step("proof", f"shared memory: {text.some(len(held), 'segment')} gone")
    if not left:
        return
    in_use = open_handles(table, {os.path.dirname(path) for path in left})
    for path in left:
        try:
            found = os.lstat(path)
        except OSError:  # gone meanwhile
            continue
        holder = in_use.holder(path, {(found.st_dev, found.st_ino): os.path.basename(path)})
        size = text.size(found.st_blocks * 512)
        if holder is not None:
            yield step("done", f"shared memory {path}, {size}, stays: pid {holder}, not of the plan, uses it too")
        else:
            yield step("survived", f"shared memory {path}, {size}, is left and nobody holds it: hangtop clean removes it")


def restarted(plan: Plan, known: StateBefore, births: Newborns, table: ProcessTable) -> list[Stat]:
    """New processes with a command of the plan whose ancestor had started the old ones: another run of the same command has other
    ancestors. Numbers in a command, such as that of an attempt, are ignored."""
    commands_of_plan = (target.command for target in plan.targets)
    own = (command for command in commands_of_plan if not command.startswith(TITLES) and HELPERS not in command)
    wanted = {_without_numbers(command) for command in own}
    born = {stat.identity for stat, _ in births.living()}
    there = (stat for stat in table.stats.values() if not stat.kernel and stat.state not in "ZX")
    newcomers = [stat for stat in there if stat.identity not in known.before and stat.identity not in born]
    younger = [stat for stat in newcomers if _stems_from(stat, known.starters, table) and not births.is_foreign(stat)]
    commands = _commands(table, younger)
    alike = [stat for stat in younger if (command := commands.get(stat.pid)) and _without_numbers(command) in wanted]
    return [stat for stat in alike if table.owner(stat.pid) == os.geteuid()]


def _without_numbers(command: str) -> str:
    return NUMBERS.sub("0", command)


def _stems_from(stat: Stat, starters: Collection[int], table: ProcessTable) -> bool:
    """Whether a starter is its parent or ancestor; pid 1, the ancestor of all, counts only as the parent."""
    return stat.ppid in starters or any(up in starters for up in ancestors(table.stats, stat.pid) if up > 1)


def _commands(table: ProcessTable, stats: Iterable[Stat]) -> dict[int, str]:
    """Command lines by pid, as the process source shows them; without processes that are gone or do not answer."""
    answers = Guard[int, tuple[str, ...]]().known({stat.pid: partial(table.command, stat.pid) for stat in stats})
    return {pid: command_line(words) for pid, words in answers.items()}
