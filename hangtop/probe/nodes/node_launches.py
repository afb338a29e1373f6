"""How processes on other nodes were started, asked over their lines."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from hangtop.common.clean_text import clean_text
from hangtop.probe.nodes.node_link import NodeLink
from hangtop.records.launch import NodeLaunch
from hangtop.records.nodes import node_of, on_node, pid_there
from hangtop.system.network.connections import ESTABLISHED, read_connections, socket_inodes
from hangtop.system.processes.open_table import open_table

LIMIT_S, NEXT_S = 3.0, 0.02
LATE = "its node did not answer in time"
CLIENTS = {"slurm": "srun", "mpi": "mpirun"}
"""Who starts the steps of a job on its nodes again."""


def launches(
    nodes: Mapping[int, NodeLink], ask: int, processes: Iterable[tuple[int, int]], clients: Iterable[int] = ()
) -> tuple[NodeLaunch, ...]:
    """Of each process, in their order. One whose node does not answer in time has its problem. `clients`: pids of the run's ssh
    clients on this machine."""
    wanted: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, ticks in processes:
        wanted[node_of(number)].append((number, ticks))
    question = -ask  # questions for stacks have the others
    for node, there in wanted.items():
        if node in nodes:
            nodes[node].ask_launch(question, tuple((pid_there(number), ticks) for number, ticks in there))
    found: dict[int, NodeLaunch] = {}
    ports = client_ports(clients)
    open_nodes, until = set(wanted) & set(nodes), time.monotonic() + LIMIT_S
    while open_nodes and time.monotonic() < until:
        for node in sorted(open_nodes):
            for record in nodes[node].answers(question):
                if "asked" in record:
                    open_nodes.discard(node)
                elif (told := _told(node, record.get("launch"), ports)) is not None:
                    found[told.pid] = told
        time.sleep(NEXT_S)
    for node in set(wanted) & set(nodes):
        nodes[node].forget(question)
    late = "its node did not answer in time"
    return tuple(
        found.get(number, NodeLaunch(number, ticks, problem=late)) for there in wanted.values() for number, ticks in there
    )


def _told(node: int, record: Any, ports: frozenset[int]) -> NodeLaunch | None:
    """What a node says; `None` where that has another form."""
    if not isinstance(record, dict) or not isinstance(record.get("pid"), int) or not isinstance(record.get("start_ticks"), int):
        return None
    number, ticks = on_node(node, record["pid"]), record["start_ticks"]
    if "problem" in record:
        return NodeLaunch(number, ticks, problem=clean_text(str(record["problem"])))
    argv, client = record.get("argv"), record.get("client")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        return None
    by = CLIENTS.get(str(record.get("by")), "")
    if client in ports:
        by = "ssh"
    cwd, output = str(record.get("cwd", "")), str(record.get("output", ""))
    return NodeLaunch(number, ticks, tuple(argv), cwd, output, by, in_session=bool(client))


def client_ports(clients: Iterable[int]) -> frozenset[int]:
    """The ports from which these processes, the ssh clients of the run here, hold a session: what runs in one is started again by
    the command here."""
    table, held = open_table(), set[int]()
    for pid in clients:
        with suppress(OSError):  # gone, or not ours
            held |= socket_inodes(table.open_files(pid)) or frozenset()
    return frozenset(each.local_port for each in read_connections("self") if each.inode in held and each.state == ESTABLISHED)
