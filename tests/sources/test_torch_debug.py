"""Debug servers of PyTorch: real ones of a run that hangs, and others that hang, lie, redirect or never end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from importlib.util import find_spec
from pathlib import Path

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.torch_debug import server_replies
from hangtop.probe.torch_debug.server_replies import ask_server
from hangtop.probe.torch_debug.torch_debug_source import TorchDebugSource
from hangtop.probe.torch_debug.worker_servers import Address
from hangtop.records.ask import TorchDebugAsk
from hangtop.records.nccl import NcclReading
from hangtop.records.ray.remote_workers import RemoteStacksReading
from hangtop.records.torch_debug import TorchDebugReading
from hangtop.records.watch_spec import WatchSpec
from tests.fakes.debug_server import Answer, debug_server, flight, says, worker
from tests.fakes.processes import PATIENCE_S, eventually, running

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
NOW = 1_700_000_000.0


def asked_of(port: int) -> list[object]:
    """All readings of a source that was told of this front end alone."""
    source = TorchDebugSource(ProbeContext(WatchSpec(sources=("torchdebug",), torch_debug=f"localhost:{port}")))
    return [*source.read(NOW), *source.answer(TorchDebugAsk(7), NOW)]


def front_end(*ports: int) -> dict[str, Answer]:
    rows = "".join(f"    debug_server/rank{rank}: b'http://localhost:{port}'\n" for rank, port in enumerate(ports))
    return {"GET /tcpstore": says(f"<pre>\n{rows}    none/torchelastic/role: b'[0, 3]'\n</pre>")}


def test_ranks_of_other_machines_tell_their_stacks_and_collectives_through_the_front_end() -> None:
    with ExitStack() as servers:
        workers = [servers.enter_context(debug_server(worker(flight(count, NOW - 600)))) for count in (4, 3)]
        front, visits = servers.enter_context(debug_server(front_end(*(port for port, _ in workers))))
        found, dumps, far, last = asked_of(front)
    assert visits == ["GET /tcpstore"], "each visit is a line in the log of the run"
    assert isinstance(found, TorchDebugReading)
    assert isinstance(dumps, NcclReading)
    groups = [(dump.rank, dump.asked, *dump.groups) for dump in dumps.dumps]
    assert [(rank, asked, group.enqueued, group.completed) for rank, asked, group in groups] == [(0, True, 4, 3), (1, True, 3, 3)]
    assert isinstance(far, RemoteStacksReading)
    assert [(stack.rank, stack.host, stack.main and stack.main.frames[0].function) for stack in far.stacks] == [
        (0, "localhost", "wait_for_disk"),
        (1, "localhost", "wait_for_disk"),
    ]
    assert last == TorchDebugReading(7, NOW, 2)


def test_before_a_question_nothing_is_sent() -> None:
    with debug_server(front_end(1)) as (front, visits):
        source = TorchDebugSource(ProbeContext(WatchSpec(sources=("torchdebug",), torch_debug=f"localhost:{front}")))
        assert list(source.read(NOW)) == [TorchDebugReading(at=NOW)]
    assert visits == []


def test_a_rank_that_tells_nothing_is_named_beside_those_that_do() -> None:
    with (
        debug_server(worker(flight(4, NOW))) as (good, _),
        debug_server({}) as (bad, _),
        debug_server(front_end(good, bad)) as (front, _),
    ):
        last = asked_of(front)[-1]
    assert isinstance(last, TorchDebugReading)
    assert last.problem == f"1 of 2 debug servers told nothing: rank 1 at localhost:{bad}: HTTP 404"


@pytest.mark.parametrize(
    ("page", "why"),
    [(says("<p>Hi</p>"), "it tells no addresses of ranks"), (says("", 302, Location="http://localhost:1/"), "HTTP 302")],
    ids=["another page", "redirect"],
)
def test_a_front_end_that_is_none_is_said(page: Answer, why: str) -> None:
    with debug_server({"GET /tcpstore": page}) as (front, _):
        last = asked_of(front)[-1]
    assert last == TorchDebugReading(7, NOW, 0, problem=f"debug server at localhost:{front}: {why}")


def endless(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Connection", "close")
    request.end_headers()
    while True:
        request.wfile.write(b"x" * 65_536)


gone = threading.Event()


def slow(request: BaseHTTPRequestHandler) -> None:
    gone.wait(PATIENCE_S)


HOSTILE = {
    "endless": ("POST /handler/fr_trace_json", endless, "TooMuchError"),
    "silent": ("POST /handler/dump_traceback", slow, "no answer within"),
    "redirect": ("POST /handler/fr_trace_json", says("", 307, Location="/elsewhere"), "HTTP 307"),
    "no JSON": ("POST /handler/fr_trace_json", says(b"\xff\x00garbage"), "its flight recorder gives no JSON"),
    "deep JSON": ("POST /handler/fr_trace_json", says(b'{"entries":' + b"[" * 100_000), "its flight recorder gives no JSON"),
    "no stack": ("POST /handler/dump_traceback", says("\x1b[2J[red]no[/]"), "it gave no stack"),
    "another server": ("GET /handler/", says("[1, 2]"), "no debug server of PyTorch answers there"),
}


@pytest.mark.parametrize(("path", "answer", "why"), HOSTILE.values(), ids=HOSTILE)
def test_a_server_that_hangs_lies_or_never_ends_is_said_in_one_line(
    path: str, answer: Answer, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_replies, "LIMIT_S", 1.0 if why.startswith("no answer") else PATIENCE_S)
    with debug_server({**worker(flight(4, NOW)), path: answer}) as (port, visits):
        reply = ask_server(Address("127.0.0.1", port, os.geteuid()), stacks=True)
    assert reply.problem is not None
    assert why in reply.problem
    assert "\n" not in reply.problem
    assert not any("elsewhere" in visit for visit in visits)


@pytest.mark.parametrize(
    "told", ['{"entries": 7, "pg_status": [1]}', '{"entries": [1, {"process_group": {}}], "pg_status": {"0": 1}}']
)
def test_a_flight_recorder_of_wrong_types_tells_no_numbers(told: str) -> None:
    with debug_server(worker(told)) as (port, _):
        reply = ask_server(Address("127.0.0.1", port, os.geteuid()), stacks=False)
    assert all(group.enqueued is None and group.completed is None for group in reply.groups)


def test_another_users_server_is_not_asked() -> None:
    with debug_server(worker()) as (port, visits):
        reply = ask_server(Address("127.0.0.1", port, os.geteuid() + 1), stacks=True)
    if os.geteuid() != 0:  # root's servers are trusted
        assert visits == []
        assert "another user's process" in (reply.problem or "")


RANK = """
import datetime, os, sys, time
import torch, torch.distributed as dist
import torch.distributed.debug._handlers
from torch._C._distributed_c10d import _WorkerServer
rank = int(os.environ["RANK"])
def wait_for_disk():
    time.sleep(600)
dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}/meeting", rank=rank, world_size=3,
                        timeout=datetime.timedelta(seconds=600))
server = _WorkerServer("::", 0)
for step in range(1, 6):
    if step == 4 and rank == 1:
        wait_for_disk()
    dist.all_reduce(torch.ones(4))
    if rank == 0:
        print(f"step {step}/100 loss {1 / step:.3f}", flush=True)
"""


@pytest.fixture
def hung_run(tmp_path: Path) -> Iterator[Path]:
    """The log of three real ranks, of which rank 1 sleeps before the fourth collective."""
    if find_spec("torch") is None:
        pytest.skip("needs torch")
    log = tmp_path / "train.log"
    program = tmp_path / "train.py"
    program.write_text(RANK)
    with ExitStack() as ranks, log.open("wb") as out:
        for rank in range(3):
            environ = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "3", "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1"}
            ranks.enter_context(running(sys.executable, str(program), str(tmp_path), env=environ, stdout=out, stderr=out))
        eventually(lambda: b"step 3" in log.read_bytes(), "three steps")
        yield log


@pytest.mark.parametrize(
    "sources", ["log,procs,torchdebug", "log,procs,stacks,waits,nccl,torchdebug"], ids=["alone", "beside py-spy"]
)
def test_the_servers_of_a_real_run_name_the_rank_that_never_came(hung_run: Path, sources: str) -> None:
    command = (sys.executable, "-m", "hangtop", "check", "--log", str(hung_run), "--stall", "3", "--sources", sources, "--json")

    def hung() -> dict | None:
        said = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
        assert said["verdict"] in ("running", "slow", "stalled", "hung")
        return said if said["verdict"] == "hung" else None

    said = None
    until = time.monotonic() + 3 * PATIENCE_S
    while said is None and time.monotonic() < until:
        said = hung()
    assert said is not None
    assert [culprit["rank"] for culprit in said["culprits"]] == [1]
    why = " ".join(said["culprits"][0]["why"])
    assert "wait_for_disk (train.py:8)" in why
    assert "launched 3 of 4 all_reduce" in why
    assert said["sources"]["torchdebug"]["ok"]
