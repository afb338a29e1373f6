"""Warnings before a stop: what the launcher does when a rank ends, which run goes on behind a client, what is on another node.

Each is taken from the documents of the program; what these do not say is not claimed. Pure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from hangtop.common.text import are, numbered
from hangtop.diagnosis.members.log_copiers import where_the_run_is
from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.records.process import Process, ProcessReading
from hangtop.state.run_state import RunState
from hangtop.system.processes.roles import program

RESTARTS = re.compile(r"--max[-_]restarts(?:=|\s+)(?P<times>\d+)")
KILLS_ON_EXIT = re.compile(r"(?:^|\s)(?:-K|--kill-on-bad-exit)(?:=1)?(?:\s|$)")
ENDS_THE_REST = "ends the other ranks when one ends: the run ends with it"


class Launcher(Struct, frozen=True):
    """A launcher by the name of its program, and what it does when a rank ends: `otherwise`, or with `option` on its command line
    `instead`, where `{}` stands for the number in the option."""

    name: re.Pattern[str]
    otherwise: str
    option: re.Pattern[str] | None = None
    instead: str = ""


LAUNCHERS = (
    Launcher(
        re.compile(r"(?:^|[/ ])(?:torchrun|accelerate)$|torch[./]distributed[./](?:run|launch)"),
        ENDS_THE_REST,
        RESTARTS,
        "ends all its ranks when one ends and starts them again, up to {} times: stop the run to end it",
    ),
    Launcher(re.compile(r"(?:^|[/ ])deepspeed$|deepspeed[./]launcher"), ENDS_THE_REST),
    Launcher(re.compile(r"(?:^|[/ ])(?:mpirun|mpiexec(?:\.hydra)?|orterun|prterun)$"), ENDS_THE_REST),
    Launcher(
        re.compile(r"(?:^|[/ ])srun$"),
        "goes on with the other tasks, unless the cluster sets KillOnBadExit: they may wait for this one for good",
        KILLS_ON_EXIT,
        ENDS_THE_REST,
    ),
)
"""torchrun(1) --max-restarts is 0 unless given; deepspeed/launcher/launch.py; mpirun(1), "Process Termination"; srun(1)."""


def of_a_part(part: Sequence[Process], procs: ProcessReading) -> Iterator[str]:
    """What happens to the rest of the run when this part ends: what the nearest launcher above it does."""
    known, ended = {process.pid: process for process in procs.processes}, {process.pid for process in part}
    if any(process.role == "ray worker" or process.command.startswith("ray::") for process in part):
        yield "Ray starts an actor again only where its max_restarts allows that (0 unless set): what calls it fails then"
    answers = {said for process in part if (said := _answer(process, known, ended)) is not None}
    yield from sorted(answers)


def clients(processes: Iterable[Process], reached: Collection[str] = ()) -> Iterator[str]:
    """Processes that only show the output of a run elsewhere: that run does not end with them. `reached`: nodes on which the same
    plan ends it."""
    ended = {f"on {host.rpartition('@')[2]}" for host in reached}
    for process in processes:
        where = where_the_run_is(process.command)
        if where is not None and re.sub(r"(?<=^on )\S+@", "", where) not in ended:
            yield f"pid {process.pid} ({process.name}) is a client: the run behind it goes on {where}"


def on_another_node(state: RunState, host: str, rank: int) -> str | None:
    """The node of this rank and the command that stops it there; `None` when it is not known to be on another node."""
    found = next((row.host for row in join_ranks(state) if row.rank == rank), None)
    if not host or not found or found == host:
        return None
    log = state.log.files[0].path if state.log is not None and state.log.files else "LOG"
    command = shlex.join(("hangtop", "stop", "--log", log, "--rank", str(rank)))
    return f"rank {rank} runs on {found}, which is not reached from here; there: {command}"


def on_other_nodes(state: RunState, host: str) -> tuple[str, ...]:
    """That the ranks of the run on nodes that are not reached go on, with the command that stops them there."""
    ranks = {row.rank: row.host for row in join_ranks(state) if row.host and host and row.host != host}
    ranks = {rank: where for rank, where in ranks.items() if where in state.processes and where not in state.nodes}
    if not ranks:
        return ()
    nodes, log = sorted(set(ranks.values())), state.log.files[0].path if state.log is not None and state.log.files else "LOG"
    command = shlex.join(("hangtop", "stop", "--log", log))
    return (f"{numbered('rank', ranks)} on {', '.join(nodes)} {are(len(ranks))} not stopped from here; there: {command}",)


def _answer(process: Process, known: dict[int, Process], ended: Collection[int]) -> str | None:
    up, seen = known.get(process.ppid), {process.pid}
    while up is not None and up.pid not in seen:
        seen.add(up.pid)
        title = program(up.command.split())
        rule = next((rule for rule in LAUNCHERS if up.pid not in ended and rule.name.search(title)), None)
        if rule is not None:
            given = rule.option.search(up.command) if rule.option is not None else None
            times = given.groupdict().get("times") if given is not None else None
            said = rule.instead.format(times) if given is not None and times != "0" else rule.otherwise
            return f"pid {up.pid} ({up.name}) {said}"
        up = known.get(up.ppid)
    return None
