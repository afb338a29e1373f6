"""The NCCL source on a port that really answers (or does not), and on flight recorder dumps, real ones where torch is there."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.facts.collective_counts import behind_in_flight
from hangtop.probe.nccl import flight_recorder, ras
from hangtop.probe.nccl.dump_ownership import RankProcess, dumps_of
from hangtop.probe.nccl.nccl_source import KEPT
from hangtop.system.processes.environments import ProcessFactTable
from hangtop.system.processes.open_table import open_table
from tests.fakes.processes import PATIENCE_S, eventually, running
from tests.fakes.ras import NEW, OLD, nccl, ras_port

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
JSON = '{"nccl_version": "2.29.1", "communicators": [{"hash": "0xaa", "size": 1, "ranks": [{"rank": 0, "pid": 7}]}]}'
TEXT = "NCCL version 2.26.2\nCommunicators... (0.00s)\n"


@pytest.mark.parametrize(("answers", "status", "version"), [(NEW, JSON, "2.29.1"), (OLD, TEXT, "2.26.2")], ids=["json", "text"])
def test_a_port_that_answers_is_read_in_both_forms(answers: dict[str, str], status: str, version: str) -> None:
    with ras_port(nccl(answers, status)) as address:
        assert ras.read(ras.query(address))[1] == version


def greets_wrongly(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 400 Bad Request\n")


def test_something_else_at_the_port_is_said() -> None:
    with ras_port(greets_wrongly) as address, pytest.raises(ras.RasError, match="is not NCCL's RAS"):
        ras.query(address)


def test_a_port_that_never_answers_is_left_at_the_limit() -> None:
    gone = threading.Event()

    def say_nothing(client: socket.socket) -> None:
        gone.wait()

    with ras_port(say_nothing) as address:
        with pytest.raises(TimeoutError):
            ras.query(address, limit_s=0.3)
        gone.set()


def test_a_port_that_closes_in_the_middle_is_said() -> None:
    with ras_port(lambda client: client.close()) as address, pytest.raises((ras.RasError, ConnectionError)):
        ras.query(address)


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch /tmp/hangtop-was-here",)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (pickle.dumps({"entries": [Evil()]}), "refused: it wants to load posix.system"),
        (pickle.dumps({"entries": [Path("/")]}), "refused: it wants to load pathlib"),
        (pickle.dumps([1, 2]), "a pickle, but no flight recorder dump"),
        (b"\x80\x04]", "cannot be read: EOFError"),
        (b"garbage", "cannot be read"),
    ],
    ids=["code", "class", "list", "cut", "garbage"],
)
def test_a_dump_that_is_more_than_plain_data_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(flight_recorder.NotADump, match=says):
        flight_recorder.load(data)
    assert not Path("/tmp/hangtop-was-here").exists()


DUMPER = """
import datetime, os, pickle, sys, threading, time
import torch, torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace
rank, folder = int(os.environ["RANK"]), sys.argv[1]
here = dict(init_method=f"file://{folder}/meeting", rank=rank, world_size=4)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=600), **here)
def dump():
    launched = 3 if rank == 2 else 4
    while sum(":all_reduce" in entry["profiling_name"] for entry in pickle.loads(_dump_fr_trace())["entries"]) < launched:
        time.sleep(0.2)
    path = f"{folder}/trace_{rank}"
    with open(path + ".part", "wb") as file:
        file.write(_dump_fr_trace())
    os.rename(path + ".part", path)
    time.sleep(600)
threading.Thread(target=dump, daemon=True).start()
for step in range(6):
    if rank == 2 and step == 3:
        time.sleep(600)
    dist.all_reduce(torch.ones(8))
"""


def test_a_shell_that_becomes_the_rank_is_asked_again() -> None:
    shell = "read -r go; export RANK=0 NCCL_RAS_ADDR=localhost:4711; exec sleep 600"
    with running("sh", "-c", shell, stdin=subprocess.PIPE) as rank:
        assert rank.stdin is not None
        table = open_table()
        facts = ProcessFactTable(table, KEPT)

        def seen() -> Mapping[str, str] | None:
            table.refresh(())
            environ = facts.of([rank.pid], time.time())[rank.pid].environ
            return environ if "RANK" in environ else None

        assert seen() is None
        rank.stdin.write(b"go\n")
        rank.stdin.flush()
        environ = eventually(seen, "the rank")
        assert (environ["RANK"], environ["NCCL_RAS_ADDR"]) == ("0", "localhost:4711")


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_real_dumps_of_a_hanging_gloo_run_name_the_rank_that_never_came(tmp_path: Path) -> None:
    place = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    argv = [sys.executable, "-c", DUMPER, str(tmp_path)]
    ranks = [subprocess.Popen(argv, env={**place, "RANK": str(number)}, start_new_session=True) for number in range(4)]
    try:
        ends = time.monotonic() + 4 * PATIENCE_S
        while len(list(tmp_path.glob("trace_?"))) < 4:
            assert time.monotonic() < ends, "the ranks never dumped"
            assert not any(rank.poll() for rank in ranks), "a rank failed"
            time.sleep(0.2)
        named = {"TORCH_FR_DUMP_TEMP_FILE": f"{tmp_path}/trace_"}
        here = [RankProcess(process.pid, rank, 1.0, os.getuid(), named) for rank, process in enumerate(ranks)]
        swapped = [replace(rank, pid=here[1 - place].pid) for place, rank in enumerate(here[:2])]
        dumps, others = dumps_of(here, (), 4).own, dumps_of(swapped, (), 4)
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    assert [dump.problem for dump in dumps] == [None] * 4
    assert others.own == ()
    assert "2 dumps of another job or an older run left out" in (others.note or "")
    (late,) = behind_in_flight(dumps)
    assert (late.rank, late.text) == (2, "launched 3 of 4 all_reduce")
