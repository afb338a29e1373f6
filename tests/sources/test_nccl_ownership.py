"""NCCL's port and the flight recorder's dumps are shared by all jobs of a machine: only the run's own are asked and told."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.nccl import flight_recorder, ras
from hangtop.probe.nccl.nccl_source import NcclSource
from hangtop.probe.source import Absent, SourceError
from hangtop.records.ask import FlightAsk
from hangtop.records.nccl import NcclReading
from hangtop.records.watch_spec import WatchSpec
from tests.fakes.launched import SLEEP, Watch, needs_root
from tests.fakes.processes import eventually, python

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
ROOT = Path(__file__).resolve().parents[2]
JSON = '{"nccl_version": "2.29.1", "communicators": [{"hash": "0xaa", "size": 1, "ranks": [{"rank": 0, "pid": 7}]}]}'
SPEAKS = f"""
import os, sys, time
sys.path.insert(0, {str(ROOT)!r})
from tests.fakes.ras import NEW, nccl, ras_port
for user in sys.argv[2:]:
    os.setuid(int(user))
with ras_port(nccl(NEW, sys.argv[1])) as (host, port):
    print(port, flush=True)
    time.sleep(600)
"""
"""A process that listens as a rank's RAS thread does, as another user where one is named, and says where."""


class Run:
    """One rank that writes a log, and the two sources that look at it."""

    def __init__(self, log: Path, rank: subprocess.Popen[bytes]) -> None:
        self.rank = rank
        self.watch = Watch(log)
        self.watch.until(lambda reading: any(value.pid == rank.pid for value in self.watch.ranks().values()), "the rank")
        self.source = NcclSource(self.watch.context)

    def look(self) -> NcclReading:
        (reading,) = self.source.read(time.time())
        assert isinstance(reading, NcclReading)
        return reading


@contextmanager
def rank_of(folder: Path, program: str = SLEEP, *arguments: str, number: int = 0, **environ: str) -> Iterator[Run]:
    """A rank in a folder of its own, whose environment says that its dumps lie there too."""
    folder.mkdir(exist_ok=True)
    log = folder / "train.log"
    place = {"RANK": str(number), "WORLD_SIZE": "2", "TORCH_FR_DUMP_TEMP_FILE": f"{folder}/fr_", "HOME": str(folder)}
    with log.open("wb") as out, python(program, *arguments, env={**os.environ, **place, **environ}, stdout=out) as rank:
        yield Run(log, rank)


@contextmanager
def other_job(program: str = SPEAKS, *arguments: str, **options: object) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A process of nobody's run, and its first line."""
    with python(program, *arguments, stdout=subprocess.PIPE, **options) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().decode().strip()


def dump_in(path: Path, enqueued: int = 7, **more: object) -> Path:
    status = {"0": {"last_enqueued_collective": enqueued, "last_completed_collective": enqueued - 1}}
    path.write_bytes(pickle.dumps({"pg_status": status, "entries": [], **more}))
    return path


def port_of(run: Run) -> str:
    """The port that the rank wrote into its log."""
    log = Path(run.watch.context.spec.logs[0])
    return eventually(lambda: log.read_text().strip(), "the port")


def test_the_port_of_the_runs_own_rank_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with rank_of(tmp_path / "mine", SPEAKS, JSON) as run:
        monkeypatch.setattr(ras, "ADDRESS", ("localhost", int(port_of(run))))
        pauses = []
        for _ in range(2):
            reading = run.look()
            pauses.append(run.source.interval_s)
        assert [each.id for each in reading.communicators] == ["0xaa"]
        assert pauses[0] < pauses[1]


def test_the_port_of_another_job_is_not_asked_and_said_to_be_its(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with other_job(SPEAKS, JSON) as (other, port), rank_of(tmp_path / "mine") as run:
        monkeypatch.setattr(ras, "ADDRESS", ("localhost", int(port)))
        monkeypatch.setattr(ras, "query", lambda address: pytest.fail("the other job was asked"))
        with pytest.raises(Absent, match=rf"RAS answers at localhost:{port}, but for another job \(pid {other.pid} of user"):
            run.look()


@needs_root
def test_the_port_of_another_user_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with other_job(SPEAKS, JSON, "23001") as (other, port), rank_of(tmp_path / "mine") as run:
        monkeypatch.setattr(ras, "ADDRESS", ("localhost", int(port)))
        with pytest.raises(Absent, match=f"for another job \\(pid {other.pid} of user 23001"):
            run.look()


def test_the_address_is_that_of_the_runs_environment_and_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with other_job(SPEAKS, JSON) as (_, port):
        monkeypatch.setenv("NCCL_RAS_ADDR", f"localhost:{port}")
        with (
            rank_of(tmp_path / "mine", NCCL_RAS_ADDR="localhost:1") as run,
            pytest.raises(Absent, match="no NCCL RAS port at localhost:1"),
        ):
            run.look()


def test_a_wrong_answer_of_the_runs_own_port_is_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with rank_of(tmp_path / "mine", SPEAKS, "nonsense") as run:
        monkeypatch.setattr(ras, "ADDRESS", ("localhost", int(port_of(run))))
        with pytest.raises(SourceError, match="cannot read"):
            run.look()


def test_where_nobody_writes_the_log_nobody_is_asked(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("step 1\n")
    watch = Watch(tmp_path / "train.log")
    source = NcclSource(watch.context)
    assert list(source.read(time.time())) == []
    watch.look()
    with pytest.raises(Absent, match="no process of the run is known here"):
        list(source.read(time.time()))


def test_without_the_source_of_processes_nothing_is_known_to_be_the_runs() -> None:
    with pytest.raises(Absent, match="which --sources leaves out"):
        list(NcclSource(ProbeContext(WatchSpec(logs=("nowhere.log",), sources=("log", "nccl")))).read(time.time()))


def test_dumps_of_the_run_are_read_where_its_own_environment_says(tmp_path: Path) -> None:
    with rank_of(tmp_path / "mine") as run:
        dump_in(tmp_path / "mine" / "fr_0")
        (tmp_path / "mine" / "fr_old").write_text("no number")
        (dump,) = run.look().dumps
        assert (dump.rank, dump.groups[0].enqueued) == (0, 7)


@pytest.mark.parametrize("what", ["older", "other rank", "threads", "rival"])
def test_a_dump_that_is_not_proven_to_be_the_runs_is_left_out_and_said(tmp_path: Path, what: str) -> None:
    with ExitStack() as stack:
        folder = tmp_path / "mine"
        if what == "rival":
            environ = {**os.environ, "RANK": "0", "TORCH_FR_DUMP_TEMP_FILE": f"{folder}/fr_"}
            stack.enter_context(other_job("print('here', flush=True)\n" + SLEEP, env=environ))
        run = stack.enter_context(rank_of(folder))
        threads = {"entries": [{"thread_id": "1"}]} if what == "threads" else {}
        path = dump_in(folder / ("fr_1" if what == "other rank" else "fr_0"), **threads)
        if what == "older":
            os.utime(path, (1, 1))
        left_out = "no NCCL RAS port" if what == "other rank" else f"1 dump of another job or an older run left out: {path}"
        with pytest.raises(Absent, match=left_out):
            run.look()


def test_a_rank_whose_environment_never_came_has_no_dumps_at_torchs_own_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own lie elsewhere perhaps, and those of another job there."""
    answers = threading.Event()
    with rank_of(tmp_path / "mine", TORCH_FR_DUMP_TEMP_FILE="") as run:
        dump_in(tmp_path / "default_0")
        homes = (None, f"{tmp_path}/mine")  # not those of other ranks on this machine
        default = (f"{tmp_path}/default_",)
        monkeypatch.setattr(flight_recorder, "beginnings", lambda environ: default if environ.get("HOME") in homes else ())
        (dump,) = run.look().dumps
        assert dump.path == f"{tmp_path}/default_0"
        run.source = NcclSource(run.watch.context)
        read = run.source._table.environ

        def environ(pid: int) -> Mapping[str, str]:
            if pid == run.rank.pid:
                answers.wait()
            return read(pid)

        monkeypatch.setattr(run.source._table, "environ", environ)
        with pytest.raises(Absent, match="no NCCL RAS port"):
            run.look()
        answers.set()
        eventually(lambda: not run.source._facts._guard.stuck, "the answer")
        assert [each.path for each in run.look().dumps] == [dump.path]


@needs_root
def test_a_dump_of_another_user_is_left_out(tmp_path: Path) -> None:
    with rank_of(tmp_path / "mine") as run:
        os.chown(dump_in(tmp_path / "mine" / "fr_0"), 23_001, 23_001)
        with pytest.raises(Absent, match="1 dump of another job"):
            run.look()


def test_dumps_of_ranks_on_other_machines_count_beside_proven_ones(tmp_path: Path) -> None:
    with rank_of(tmp_path / "mine", number=1) as run:
        dump_in(tmp_path / "mine" / "fr_0")
        dump_in(tmp_path / "mine" / "fr_1")
        dump_in(tmp_path / "mine" / "fr_2")
        assert [dump.rank for dump in run.look().dumps] == [0, 1]


RECORDER = """
import os, pickle, select, sys
rank = os.environ["RANK"]
fifo = os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] + rank + ".pipe"
if not os.path.exists(fifo):
    os.mkfifo(fifo)
reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
print("ready", flush=True)
select.select([reader], [], [])
dump = {"pg_status": {"0": {"last_enqueued_collective": 7, "last_completed_collective": 6}}, "entries": []}
with open(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + rank, "wb") as file:
    pickle.dump(dump, file)
import time; time.sleep(600)
"""
"""Opens its FIFO as torch does, and dumps once when it is asked."""


def test_a_rank_with_a_fifo_is_asked_for_its_dump_and_nobody_else_is_written_to(tmp_path: Path) -> None:
    asked = f"{tmp_path}/ask_"
    with (
        rank_of(tmp_path / "mine", RECORDER, number=1, TORCH_NCCL_DEBUG_INFO_PIPE_FILE=asked) as run,
        rank_of(tmp_path / "theirs", RECORDER, number=0, TORCH_NCCL_DEBUG_INFO_PIPE_FILE=asked) as theirs,
    ):
        eventually(lambda: all(Path(f"{asked}{number}.pipe").exists() for number in (0, 1)), "both FIFOs")
        port_of(run), port_of(theirs)
        assert list(run.source.answer(FlightAsk(1, (os.getpid(), theirs.rank.pid)), time.time())) == []
        (reading,) = run.source.answer(FlightAsk(2, (run.rank.pid, theirs.rank.pid)), time.time())
        assert isinstance(reading, NcclReading)
        assert [(dump.rank, dump.groups[0].enqueued) for dump in reading.dumps] == [(1, 7)]
        assert not (tmp_path / "theirs" / "fr_0").exists()


def test_a_fifo_that_another_process_reads_or_a_file_in_its_place_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "ask_0.pipe").write_text("mine")
    os.mkfifo(tmp_path / "ask_1.pipe")
    environ = {**os.environ, "RANK": "1", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": f"{tmp_path}/ask_"}
    environ["TORCH_FR_DUMP_TEMP_FILE"] = f"{tmp_path}/theirs_"
    with other_job(RECORDER, env=environ):
        for number in (0, 1):
            pipes = {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE": f"{tmp_path}/ask_"}
            with rank_of(tmp_path / f"mine{number}", number=number, **pipes) as run:
                assert list(run.source.answer(FlightAsk(1, (run.rank.pid,)), time.time())) == []
    assert (tmp_path / "ask_0.pipe").read_text() == "mine"
    assert not (tmp_path / "theirs_1").exists()
