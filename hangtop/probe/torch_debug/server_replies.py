"""What one server is asked, and what its replies say. Replies are foreign: bounded, cleaned, never followed elsewhere."""

from __future__ import annotations

import os
import threading

import msgspec
from msgspec import Struct

from hangtop.common.clean_text import clean_text
from hangtop.probe.http.answer import Answer
from hangtop.probe.http.connection import MOST_BYTES, Allowance, Connection
from hangtop.probe.nccl import flight_recorder
from hangtop.probe.torch_debug.worker_servers import LIMIT_S, Address
from hangtop.records.nccl import FlightGroup
from hangtop.records.stack import Thread
from hangtop.stacks.printed_stacks import dumped_threads

NAMES, STACKS = "/handler/", "/handler/dump_traceback"
FLIGHT = {"fr_trace_json": "", "dump_nccl_trace_json": "nccl"}
"""Handlers of flight recorders, and the backend that each tells of, where that is known."""
LONGEST_STACK_BYTES = 1 << 20
LONGEST_PROBLEM = 160
_one_at_a_time = threading.Lock()
"""A reply of 16 MiB is ten times that once it is read."""
NO_SERVER = "no debug server of PyTorch answers there"


class ServerReply(Struct, frozen=True):
    """What one rank told. `problem`: why it told nothing, or not all."""

    threads: tuple[Thread, ...] = ()
    groups: tuple[FlightGroup, ...] = ()
    problem: str | None = None


class _Refused(Exception):
    """The server did not give it. The message is one line."""


def ask_server(address: Address, *, stacks: bool) -> ServerReply:
    """The flight recorder of this rank, and its stacks. Never raises."""
    connection = Connection(address.host, address.port, os.geteuid() if address.owner is None else address.owner)
    allowance = Allowance(LIMIT_S, 2 * MOST_BYTES)
    try:
        known = _handlers(connection, allowance)
        groups = tuple(
            group
            for name, backend in FLIGHT.items()
            if name in known
            for group in _groups(_body(connection, f"/handler/{name}", allowance), backend)
        )
        threads = _threads(_body(connection, STACKS, allowance)) if stacks else ()
    except _Refused as refused:
        return ServerReply(problem=str(refused))
    finally:
        connection.close()
    return ServerReply(threads, groups, "it gave no stack" if stacks and not threads else None)


def front_end_page(address: Address, path: str) -> Answer:
    """A page of the front end."""
    connection = Connection(address.host, address.port, address.owner)
    try:
        return connection.ask(path, {}, None, None, Allowance(LIMIT_S, MOST_BYTES))
    finally:
        connection.close()


def _handlers(connection: Connection, allowance: Allowance) -> frozenset[str]:
    """What the server can tell. Raises `_Refused` where it is none."""
    answer = connection.ask(NAMES, {}, None, None, allowance)
    try:
        names = msgspec.json.decode(answer.body, type=list[str]) if answer.ok else []
    except (msgspec.DecodeError, UnicodeDecodeError):
        names = []
    if "dump_traceback" not in names:
        raise _Refused(answer.in_words if not answer.ok else NO_SERVER)
    return frozenset(names)


def _body(connection: Connection, path: str, allowance: Allowance) -> bytes:
    answer = connection.ask(path, {}, None, None, allowance, method="POST")
    if not answer.ok:
        raise _Refused(clean_text(answer.in_words)[:LONGEST_PROBLEM])
    return answer.body


def _groups(body: bytes, backend: str) -> tuple[FlightGroup, ...]:
    try:
        with _one_at_a_time:
            return flight_recorder.groups(msgspec.json.decode(body, type=dict[str, object]), backend)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _Refused("its flight recorder gives no JSON") from error


def _threads(body: bytes) -> tuple[Thread, ...]:
    return dumped_threads(clean_text(line) for line in body[:LONGEST_STACK_BYTES].decode("utf-8", "replace").splitlines())
