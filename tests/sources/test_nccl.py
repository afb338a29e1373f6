"""The NCCL source on a port that really answers (or does not), and on flight recorder dumps, real ones where torch is there."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from hangtop.diagnosis.collectives import behind_in_flight
from hangtop.records.ask import FlightAsk
from hangtop.records.nccl import NcclReading
from hangtop.sources import Absent, Trouble, flight, ras
from hangtop.sources.nccl import NcclSource, RankEnvironments
from hangtop.spec import WatchSpec
from tests.fakes.processes import PATIENCE_S, eventually, python, running
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


@pytest.fixture
def empty_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No rank lives, and dumps are looked for in `tmp_path` only."""
    monkeypatch.setattr(flight, "beginnings", lambda environments: (str(tmp_path / "trace_"),))
    monkeypatch.setattr(RankEnvironments, "look", lambda self: ())
    return tmp_path


@pytest.fixture
def closed_port() -> Iterator[tuple[str, int]]:
    """Where nobody listens, nor will: it is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()


def readings(at: float | None = None) -> list[NcclReading]:
    return [value for value in NcclSource(WatchSpec()).read(at or time.time()) if isinstance(value, NcclReading)]


@pytest.mark.usefixtures("empty_places")
def test_nothing_there_is_absence_and_no_fault(monkeypatch: pytest.MonkeyPatch, closed_port: tuple[str, int]) -> None:
    monkeypatch.setattr(ras, "ADDRESS", closed_port)
    with pytest.raises(Absent, match=r"no NCCL RAS port at 127\.0\.0\.1:"):
        readings()


@pytest.mark.usefixtures("empty_places")
def test_every_job_of_the_machine_is_asked_and_soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with ras_port(nccl(NEW, JSON)) as one, ras_port(nccl(NEW, JSON.replace("0xaa", "0xbb"))) as other:
        jobs = tuple(({"NCCL_RAS_ADDR": f"{host}:{port}"}, 1.0) for host, port in (one, other, one))
        monkeypatch.setattr(RankEnvironments, "look", lambda self: jobs)
        source = NcclSource(WatchSpec())
        pauses = []
        for _ in range(2):
            (reading,) = source.read(time.time())
            pauses.append(source.interval_s)
        assert isinstance(reading, NcclReading)
        assert [one.id for one in reading.communicators] == ["0xaa", "0xbb"]
        assert pauses[0] < pauses[1]


@pytest.mark.usefixtures("empty_places")
def test_a_wrong_answer_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    with ras_port(nccl(NEW, "nonsense")) as address:
        monkeypatch.setattr(ras, "ADDRESS", address)
        with pytest.raises(Trouble, match="cannot read"):
            readings()


def test_dumps_are_found_without_any_port(
    empty_places: Path, monkeypatch: pytest.MonkeyPatch, closed_port: tuple[str, int]
) -> None:
    monkeypatch.setattr(ras, "ADDRESS", closed_port)
    status = {"0": {"last_enqueued_collective": 4, "last_completed_collective": 3}}
    for number in range(3):
        (empty_places / f"trace_{number}").write_bytes(pickle.dumps({"entries": [], "pg_status": status}))
    (empty_places / "trace_1").write_bytes(b"")
    (empty_places / "trace_7").write_bytes(b"no pickle at all")
    (empty_places / "trace_old").write_bytes(b"name ends in no number")
    os.utime(empty_places / "trace_2", (1, 1))
    (reading,) = readings()
    assert [(dump.rank, dump.problem is None) for dump in reading.dumps] == [(0, True), (7, False)]
    assert reading.dumps[0].groups[0].enqueued == 4


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
    with pytest.raises(flight.NotADump, match=says):
        flight.load(data)
    assert not Path("/tmp/hangtop-was-here").exists()


def test_ranks_are_known_by_their_environment() -> None:
    env = {"PATH": os.environ["PATH"], "SECRET": "x"}
    env |= {"RANK": "3", "NCCL_RAS_ADDR": "n1:5", "TORCH_FR_DUMP_TEMP_FILE": "/scratch/fr_"}
    process = subprocess.Popen(["sleep", "600"], env=env, start_new_session=True)
    try:
        ranks = [given for given, _ in RankEnvironments().look()]
        mine = {"RANK": "3", "NCCL_RAS_ADDR": "n1:5", "TORCH_FR_DUMP_TEMP_FILE": "/scratch/fr_"}
        assert mine in ranks
        assert flight.beginnings([mine])[0] == "/scratch/fr_"
    finally:
        process.kill()
        process.wait()


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
        environments = RankEnvironments()
        environments.look()
        assert environments.of((rank.pid,)) == ()
        rank.stdin.write(b"go\n")
        rank.stdin.flush()

        def seen() -> tuple[Mapping[str, str], ...]:
            environments.look()
            return environments.of((rank.pid,))

        (environ,) = eventually(seen, "the rank")
        assert environ["NCCL_RAS_ADDR"] == "localhost:4711"


def test_dumps_in_a_folder_that_is_not_there_or_not_ours_are_none(tmp_path: Path) -> None:
    (tmp_path / "dumps").mkdir()
    for name in ("dumps/0", "dumps/12", "dumps/notes", "trace_3", "trace_x"):
        (tmp_path / name).write_text("x")
    assert flight.find((f"{tmp_path}/gone/trace_", f"{tmp_path}/trace_3/x"), 0.0) == ()
    assert [path.name for path in flight.find((f"{tmp_path}/trace_", f"{tmp_path}/dumps/"), 0.0)] == ["0", "12", "trace_3"]


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
        dumps = [dump for path in flight.find((str(tmp_path / "trace_"),), 0.0) if (dump := flight.read(path))]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    assert [dump.problem for dump in dumps] == [None] * 4
    (late,) = behind_in_flight(dumps)
    assert (late.rank, late.text) == (2, "launched 3 of 4 all_reduce")


RECORDER = """
import os, pickle
rank = os.environ["RANK"]
fifo = os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] + rank + ".pipe"
os.mkfifo(fifo)
print("ready", flush=True)
with open(fifo, "rb") as file:
    file.read(1)
dump = {"pg_status": {"0": {"last_enqueued_collective": 7, "last_completed_collective": 6}}, "entries": []}
with open(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + rank, "wb") as file:
    pickle.dump(dump, file)
import time; time.sleep(600)
"""


def test_a_rank_with_a_fifo_is_asked_for_its_dump_and_nobody_else_is_written_to(tmp_path: Path) -> None:
    place = {
        "RANK": "3",
        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": str(tmp_path / "ask_"),
        "TORCH_FR_DUMP_TEMP_FILE": str(tmp_path / "fr_"),
    }
    with python(RECORDER, env={**os.environ, **place}, stdout=subprocess.PIPE) as rank:
        assert rank.stdout is not None
        rank.stdout.readline()
        source = NcclSource(WatchSpec())
        assert list(source.answer(FlightAsk(1, (os.getpid(),)), time.time())) == []
        assert not (tmp_path / "fr_3").exists()
        (reading,) = eventually(
            lambda: list(source.answer(FlightAsk(2, (rank.pid,)), time.time())), "the dump, once it is waited for"
        )
        assert isinstance(reading, NcclReading)
        assert [(dump.rank, dump.groups[0].enqueued) for dump in reading.dumps] == [(3, 7)]


def test_a_file_in_the_place_of_the_fifo_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "ask_0.pipe").write_text("mine")
    assert not flight.request({"RANK": "0", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": str(tmp_path / "ask_")})
    assert (tmp_path / "ask_0.pipe").read_text() == "mine"
    os.mkfifo(tmp_path / "ask_1.pipe")
    assert not flight.request({"RANK": "1", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": str(tmp_path / "ask_")})
