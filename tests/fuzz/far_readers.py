"""What other nodes, agents and debug servers answer, and what is asked of what was seen."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import socket
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

import msgspec

from hangtop.feeds.replay import RecordingError, load
from hangtop.probe.nodes.node_files import _part
from hangtop.probe.nodes.node_gpus import NodeGpusTold, gpu_reading
from hangtop.probe.nodes.node_launches import Ports, launch_told
from hangtop.probe.nodes.node_link import NodeLink
from hangtop.probe.nodes.node_stacks import MALFORMED, sources_of, stack_of
from hangtop.probe.nodes.node_table import Look, NodeTable
from hangtop.probe.nodes.node_waits import far_process
from hangtop.probe.torch_debug import server_replies
from hangtop.probe.torch_debug.worker_servers import addresses
from hangtop.query.runs import rows_of, timeline_rows
from hangtop.query.timeline_svg import TimelineDrawing
from hangtop.query.whole_run import NoTimeError, whole_run
from hangtop.system.agents import agent_client
from hangtop.system.agents.agent_client import NoAnswerError
from hangtop.tui.themes import load_palettes
from tests.fakes.read_log import INDEX

NODE = 1


def node(data: bytes) -> None:
    """All lines of a node, and what is made of them."""
    link = NodeLink(NODE, "n2", ("true",), {})
    link._answers[1] = deque()
    link._read(io.BytesIO(data))
    table = NodeTable(NODE, link.hello.ticks_per_s)
    for _, told in link.received:
        if isinstance(told, Look):
            table.take(told)
        elif isinstance(told, NodeGpusTold):
            gpu_reading(told, NODE, link.offset_s, None)
    for pid in table.stats:
        for look in (table.command, table.environ, table.cwd, table.open_files, table.outputs, table.details):
            with contextlib.suppress(OSError):
                look(pid)
    for record in link.answers(1):
        _answer(link, record)


def _answer(link: NodeLink, record: dict[str, Any]) -> None:
    """In whatever place it was given."""
    launch_told(NODE, record, Ports())
    _part(record)
    for read in (stack_of, far_process):
        with contextlib.suppress(*MALFORMED):
            read(link, record)
    with contextlib.suppress(*MALFORMED):
        sources_of(record)


def _lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


HELLO = {"hello": True, "boot": "b", "pids": "pid:[1]", "net": "net:[1]", "uid": 0, "machine": "x86_64", "ticks_per_s": 100}
WHO, NOW = ["python", 1, 7, 7, 0, 0, 700], ["S", 10, 0, 3, 900, None]
LOOK = {
    "at": 1.5,
    "rows": {
        7: {
            "who": WHO,
            "now": NOW,
            "files": [[1, "/x/train.log", True]],
            "facts": {"command": ["python", "t.py"], "environ": {"RANK": "0"}},
        }
    },
    "gone": [9],
}
GPUS = {
    "gpus": {
        "at": 1.0,
        "rows": [["0", "GPU-1", "H100", "0000:01", "9", "3", "100", "81559", "70", "700", "33", "1980", "1980", "P0", "570"]],
        "held": [["GPU-1", "7", "100", True]],
        "minors": {"0000:01": 0},
    }
}
STACK = {
    "stack": 1,
    "pid": 7,
    "start": 700,
    "at": 2.0,
    "state": "S",
    "error": "",
    "tasks": {"7": ["S", "futex_wait_queue", "202 0x1 0x2"]},
    "dump": "[]",
    "sources": {"t.py": ["aa", 1.0, "/x/t.py"]},
}
FIRST = ["S", "futex_wait_queue", "202 0x1 0x80 0x0 0x0 0x0 0x0 0x1 0x2", {}]
WAITS = {
    "waits": 1,
    "pid": 7,
    "command": "python t.py",
    "epolls": {},
    "clocks": {"1": 5.0},
    "files": {"44": [3]},
    "others": {"4": "anon_inode:[eventfd]"},
    "threads": [[7, *FIRST]],
    "moments": [[float(at), [WHO, NOW, 0, 5, 6, 7, FIRST], []] for at in range(2)],
}
LAUNCH = {
    "launched": 1,
    "pid": 7,
    "start_ticks": 700,
    "argv": ["python", "t.py"],
    "cwd": "/x",
    "output": "/x/o",
    "client": 3,
    "ports": [22],
}
PART = {"part": 1, "first": 0, "size": 9, "age_s": 1.0, "data": base64.b64encode(b"step 1\n").decode()}


def node_lines() -> list[bytes]:
    answers = [_lines(HELLO, record) for record in (STACK, WAITS, LAUNCH, PART)]
    return [_lines(HELLO, {"boot_at": 1.0}, LOOK), _lines(HELLO, GPUS, {"pong": 1.0, "now": 2.0}), *answers]


def agent(data: bytes) -> None:
    """What stands in the place of the agent of a process answers."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data[:60_000])
        theirs.shutdown(socket.SHUT_WR)
        agent_client._answer(ours, time.monotonic() + 1)


def debug_server(data: bytes) -> None:
    with contextlib.suppress(server_replies._Refused):
        server_replies._groups(data, "nccl")
    server_replies._threads(data)
    addresses(data)


def picture(data: bytes) -> None:
    """A recording as rows, as a picture, as SVG."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session"
        path.write_bytes(data)
        recording = load(path)
        rows = list(rows_of("run", recording.header.spec, recording.readings()))
        msgspec.json.encode(rows)
        _drawn(whole_run(rows))


def picture_of_log(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.log"
        path.write_bytes(data)
        _drawn(whole_run(timeline_rows(path, INDEX, 0.0)))


def _drawn(run: Any) -> None:
    palette = next(each for each in load_palettes(Path("none")).values() if not each.ansi)
    TimelineDrawing(
        run, "train.log", {name: str(value) for name, value in msgspec.to_builtins(palette).items()}, "monospace"
    ).svg()


REFUSED = (RecordingError, NoTimeError)
NO_ANSWER = (NoAnswerError,)
