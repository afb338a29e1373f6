"""How processes on other nodes were started, asked over their lines, and which program of the run here starts them again."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from hangtop.common.clean_text import clean_text
from hangtop.probe.nodes.node_link import NodeLink
from hangtop.records.launch import NodeLaunch
from hangtop.records.nodes import node_of, on_node, pid_there
from hangtop.records.process import Process
from hangtop.system.network.connections import ESTABLISHED, LISTEN, read_connections, socket_inodes
from hangtop.system.processes.open_table import open_table

LIMIT_S, NEXT_S = 3.0, 0.02
LATE = "its node did not answer in time"
STARTERS = frozenset(("srun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prte"))
"""Programs that listen for the tasks which they started on other nodes, and start them again with the run here."""
SSH_CLIENT = "ssh"


class Ports(Struct, frozen=True):
    """Ports of the run's processes here, each with the pid of its holder: `sessions` from which an ssh client holds a session,
    `hubs` at which a starter listens."""

    sessions: Mapping[int, int] = {}
    hubs: Mapping[int, int] = {}


def launches(
    nodes: Mapping[int, NodeLink], ask: int, processes: Iterable[tuple[int, int]], here: Iterable[Process] = ()
) -> tuple[NodeLaunch, ...]:
    """Of each process, in their order. One whose node does not answer in time has its problem. `here`: the run's processes on
    this machine."""
    wanted: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, ticks in processes:
        wanted[node_of(number)].append((number, ticks))
    question = -ask  # questions for stacks have the others
    for node, there in wanted.items():
        if node in nodes:
            nodes[node].ask_launch(question, tuple((pid_there(number), ticks) for number, ticks in there))
    found: dict[int, NodeLaunch] = {}
    ports = ports_here(here)
    open_nodes, until = set(wanted) & set(nodes), time.monotonic() + LIMIT_S
    while open_nodes and time.monotonic() < until:
        for node in sorted(open_nodes):
            for record in nodes[node].answers(question):
                if "asked" in record:
                    open_nodes.discard(node)
                elif (told := launch_told(node, record.get("launch"), ports)) is not None:
                    found[told.pid] = told
        time.sleep(NEXT_S)
    for node in set(wanted) & set(nodes):
        nodes[node].forget(question)
    return tuple(
        found.get(number, NodeLaunch(number, ticks, problem=LATE)) for there in wanted.values() for number, ticks in there
    )


def launch_told(node: int, record: Any, ports: Ports) -> NodeLaunch | None:
    """What a node says; `None` where that has another form. Its environment tells in what a process runs; that a program here
    started it is believed only of one that holds the other end."""
    if not isinstance(record, dict) or not isinstance(record.get("pid"), int) or not isinstance(record.get("start_ticks"), int):
        return None
    number, ticks = on_node(node, record["pid"]), record["start_ticks"]
    if "problem" in record:
        return NodeLaunch(number, ticks, problem=clean_text(str(record["problem"])))
    argv, session, hubs = record.get("argv"), record.get("client"), record.get("ports")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        return None
    listed = [port for port in hubs if isinstance(port, int)] if isinstance(hubs, list) else []
    by = ports.sessions.get(session, 0) if isinstance(session, int) else 0
    by = by or next((ports.hubs[port] for port in listed if port in ports.hubs), 0)
    within = str(record.get("within", ""))
    cwd, output = str(record.get("cwd", "")), str(record.get("output", ""))
    return NodeLaunch(
        number,
        ticks,
        tuple(argv),
        cwd,
        output,
        by=by,
        in_session=bool(session),
        within=within if within in STARTERS else "",
    )


def ports_here(processes: Iterable[Process]) -> Ports:
    """A session that has ended stays in the kernel's list for a minute, without a holder."""
    table, holders = open_table(), dict[int, tuple[int, str]]()
    for process in processes:
        if not process.exited and (process.name == SSH_CLIENT or process.name in STARTERS):
            with suppress(OSError):  # gone, or not ours
                held = socket_inodes(table.open_files(process.pid)) or frozenset()
                holders |= dict.fromkeys(held, (process.pid, process.name))
    known = [(each, *holders[each.inode]) for each in read_connections("self") if each.inode in holders] if holders else []
    return Ports(
        {each.local_port: pid for each, pid, name in known if name == SSH_CLIENT and each.state == ESTABLISHED},
        {each.local_port: pid for each, pid, name in known if name != SSH_CLIENT and each.state == LISTEN},
    )
