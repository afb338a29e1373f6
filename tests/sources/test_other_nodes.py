"""Ranks on another node: a real process in a PID namespace of its own, reached by a launcher as by ssh."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.common import clock
from hangtop.probe.context import ProbeContext
from hangtop.probe.nodes.launchers import SSH
from hangtop.probe.nodes.node_gpus import NodeGpusTold, gpu_reading
from hangtop.probe.nodes.node_source import NodeSource, open_nodes
from hangtop.probe.source import SourceError
from hangtop.probe.stacks.stack_source import StackSource
from hangtop.records.ask import StacksAsk
from hangtop.records.gpu import GpuReading
from hangtop.records.nodes import node_of, on_node, pid_there
from hangtop.records.process import Process, ProcessReading, Rendezvous
from hangtop.records.stack import Stack, StacksReading
from hangtop.records.watch_spec import WatchSpec
from tests.fakes.other_node import needs_namespaces, node
from tests.fakes.processes import PATIENCE_S, running

pytestmark = needs_namespaces
HERE = "env NODE={host} {probe}"
"""A launcher that stays on this machine."""
RANK = {"RANK": "1", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29511"}
WAITS = "import threading\ndef fetch_batch():\n    lock = threading.Lock()\n    lock.acquire()\n    lock.acquire()\nfetch_batch()"


opened: list[Watched] = []


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    while opened:
        opened.pop().context.nodes[1].close()


class Watched:
    """The source of one node, read until it says what is waited for."""

    def __init__(self, launcher: str) -> None:
        spec = WatchSpec(hosts=("n2",), launcher=launcher)
        self.context = ProbeContext(spec)
        self.context.nodes = open_nodes(spec)
        self.source = NodeSource(self.context, self.context.nodes[1])
        opened.append(self)

    def ranks(self) -> ProcessReading:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            for reading in self.source.read(clock.now()):
                if isinstance(reading, ProcessReading) and any(process.rank is not None for process in reading.processes):
                    return reading
            time.sleep(0.1)
        raise AssertionError(f"no rank in {PATIENCE_S} s: {self.context.nodes[1].problem}")

    def refusal(self) -> str:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            with suppress(AssertionError):
                try:
                    list(self.source.read(clock.now()))
                except SourceError as error:
                    return str(error)
            time.sleep(0.1)
        raise AssertionError("it is not refused")


@pytest.fixture
def far_rank(tmp_path: Path) -> Iterator[str]:
    environ = {**os.environ, **RANK}
    with node(sys.executable, "-c", WAITS, environ=environ, log=tmp_path / "n2.log") as launcher:
        yield launcher


def test_a_rank_of_another_node_is_told_with_its_number_and_state(far_rank: str) -> None:
    (process,) = Watched(far_rank).ranks().processes
    assert (process.role, process.rank, process.local_rank, process.world) == ("rank", 1, 0, 2)
    assert (node_of(process.pid), process.state) == (1, "S")
    assert pid_there(process.pid) < 100, "the first pids of its own namespace"
    assert abs(process.started_at - time.time()) < PATIENCE_S + 5


def test_its_stack_is_taken_there_and_joins_those_of_this_machine(far_rank: str) -> None:
    watched = Watched(far_rank)
    (process,) = watched.ranks().processes
    parts = list(StackSource(watched.context).answer(StacksAsk(7, (os.getpid(), process.pid)), clock.now()))
    readings = [part for part in parts if isinstance(part, StacksReading)]
    stacks: dict[int, Stack] = {stack.pid: stack for part in readings for stack in part.stacks}
    assert stacks.keys() == {os.getpid(), process.pid}
    far = stacks[process.pid]
    assert far.problem is None
    assert far.main is not None
    assert far.main.frames[0].function == "fetch_batch"
    assert far.main.state == "S"
    assert far.started_ticks == process.start_ticks
    assert [part.done for part in readings].count(True) == 1
    assert not any(part.stacks for part in readings[readings.index(next(part for part in readings if part.done)) :]), (
        "the look is done when both have answered"
    )


def test_a_node_that_is_this_machine_is_refused() -> None:
    assert "n2 is this machine" in Watched(HERE).refusal()


def test_a_node_that_cannot_be_reached_is_named_with_the_reason_of_its_launcher() -> None:
    said = Watched("sh -c 'echo no route to host >&2; exit 255' {host} {probe}").refusal()
    assert said == "n2: no route to host"
    assert "definitely-not-there" in Watched("definitely-not-there {host} {probe}").refusal()


def test_a_node_that_answers_garbage_is_named() -> None:
    assert "no line of hangtop" in Watched("sh -c 'echo welcome; sleep 600' {host} {probe}").refusal()


def test_ranks_of_another_run_on_that_node_are_not_taken_for_this_one(far_rank: str, tmp_path: Path) -> None:
    watched = Watched(far_rank)
    watched.context.procs = ProcessReading(rendezvous=Rendezvous("10.0.0.1", 29_999))
    said = watched.refusal()
    assert "10.0.0.1:29511" in said
    assert "nothing ties one to this log" in said


@pytest.mark.parametrize(
    ("one", "other", "tied"),
    [
        ({"MASTER_PORT": "29511"}, {"MASTER_PORT": "29512"}, False),
        ({"MASTER_PORT": "29511"}, {"MASTER_ADDR": "", "SLURM_JOB_ID": "7"}, True),
        ({"MASTER_ADDR": "", "SLURM_JOB_ID": "7"}, {"MASTER_ADDR": "", "SLURM_JOB_ID": "8"}, False),
        ({"MASTER_ADDR": "", "SLURM_JOB_ID": "7"}, {"MASTER_ADDR": "", "SLURM_JOB_ID": "7", "RANK": "2"}, True),
    ],
    ids=["two meetings", "one meets, the other started it", "two jobs", "one job"],
)
def test_two_runs_on_a_node_of_which_nothing_ties_one_to_the_log_are_neither_taken(
    tmp_path: Path, one: dict[str, str], other: dict[str, str], tied: bool
) -> None:
    starts = f"subprocess.Popen([sys.executable, '-c', {WAITS!r}], env={{**os.environ, **{other!r}}})"
    both = f"import os, subprocess, sys\n{starts}\n{WAITS}"
    environ = {**os.environ, **RANK, **one}
    with node(sys.executable, "-c", both, environ=environ, log=tmp_path / "n2.log") as launcher:
        watched = Watched(launcher)
        if tied:
            assert watched.ranks().processes
        else:
            assert "nothing ties one to this log" in watched.refusal()


def test_what_was_told_of_a_node_is_taken_back_when_its_line_ends(tmp_path: Path) -> None:
    with ExitStack() as ends:
        environ = {**os.environ, **RANK}
        far = ends.enter_context(node(sys.executable, "-c", WAITS, environ=environ, log=tmp_path / "n2.log"))
        watched = Watched(far)
        watched.ranks()
        ends.close()
        until = time.monotonic() + PATIENCE_S
        told: list[ProcessReading] = []
        while time.monotonic() < until and not (told and not told[-1].processes):
            with suppress(SourceError):
                for reading in watched.source.read(clock.now()):  # what it yields before it raises counts
                    told += [reading] if isinstance(reading, ProcessReading) else []
            time.sleep(0.1)
        assert told
        assert told[-1].processes == ()


STALL_S = 5
TRAIN = """
import sys, threading, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, lock = dist.get_rank(), threading.Lock()
def fetch_batch(step):
    if rank == 1 and step == 4:
        lock.acquire(), lock.acquire()
for step in range(1, 100):
    fetch_batch(step)
    time.sleep(0.05)
    dist.all_reduce(torch.ones(4))
    if rank == 0:
        print(f"step {step}/100 loss {1 / step:.3f}", flush=True)
"""


def test_the_rank_that_holds_up_a_run_of_two_nodes_is_named_with_its_node(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    port, script, log = _free_port(), tmp_path / "train.py", tmp_path / "train.log"
    script.write_text(TRAIN)
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    environ = {**os.environ, **meeting, "GLOO_SOCKET_IFNAME": "lo"}
    with ExitStack() as ends:
        # a shell between us and rank 0, and no log open here: the far rank, which the kernel shows on this machine as well, is
        # neither a sibling of a rank nor a child of a writer
        words = ("sh", "-c", f"RANK=0 {sys.executable} {script} >{log} 2>&1 & wait")
        ends.enter_context(running(*words, env=environ))
        far = {**environ, "RANK": "1"}
        launcher = ends.enter_context(node(sys.executable, str(script), environ=far, log=tmp_path / "n2.log"))
        until = time.monotonic() + 4 * PATIENCE_S
        while not log.exists() or b"step 3/100" not in log.read_bytes() or time.time() - log.stat().st_mtime < STALL_S + 1:
            assert time.monotonic() < until, log.read_text() + (tmp_path / "n2.log").read_text()
            time.sleep(0.2)
        words = ("check", "--log", str(log), "--stall", str(STALL_S), "--json", "--hosts", "n2", "--launcher", launcher)
        asked = [sys.executable, "-m", "hangtop", *words]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=8 * PATIENCE_S, check=False)
    told = json.loads(done.stdout)
    assert told["verdict"] == "hung", told["headline"]
    assert [(each["rank"], each["host"]) for each in told["culprits"]] == [(1, "n2")]
    assert {rank["host"] for rank in told["ranks"]} == {os.uname().nodename, "n2"}
    assert told["sources"]["node n2"]["ok"]


def test_ssh_is_the_launcher_where_none_is_named() -> None:
    assert SSH.startswith("ssh ")


def _free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_two_names_of_one_machine_are_one_node_and_the_second_is_said(far_rank: str) -> None:
    spec = WatchSpec(hosts=("n2", "n2.local"), launcher=far_rank)
    context = ProbeContext(spec)
    context.nodes = open_nodes(spec)
    sources = [NodeSource(context, link) for link in context.nodes.values()]
    until, said = time.monotonic() + PATIENCE_S, ""
    told: dict[int, tuple[Process, ...]] = {}
    while time.monotonic() < until and not (said and told.get(0)):
        for number, source in enumerate(sources):
            try:
                for reading in source.read(clock.now()):
                    told[number] = reading.processes if isinstance(reading, ProcessReading) else ()
            except SourceError as error:
                said = str(error)
        time.sleep(0.1)
    for link in context.nodes.values():
        link.close()
    assert said == "n2.local is n2 by another name: leave n2.local out of --hosts"
    assert told[0]
    assert not told.get(1)


def test_a_log_whose_name_is_no_utf_8_is_watched_there_too(far_rank: str, tmp_path: Path) -> None:
    name = tmp_path / os.fsdecode(b"caf\xe9.log")
    name.write_bytes(b"")
    (tmp_path / "link").symlink_to(name)
    spec = WatchSpec(logs=(str(tmp_path / "link"),), hosts=("n2",), launcher=far_rank)
    context = ProbeContext(spec)
    context.nodes = open_nodes(spec)
    source, until = NodeSource(context, context.nodes[1]), time.monotonic() + PATIENCE_S
    found: list[object] = []
    while time.monotonic() < until and not found:
        found += [reading for reading in source.read(clock.now()) if isinstance(reading, ProcessReading) and reading.processes]
    context.nodes[1].close()
    assert found


SMI = """#!/bin/sh
no='[N/A]'
case "$1" in
*compute-apps*) echo "GPU-a, 1, 4096"; echo "GPU-a, 999999, 10" ;;
*) echo "0, GPU-a, NVIDIA H100, 00000000:1B:00.0, 100, 3, 4106, 81559, 120.50, 700.00, 41, 1980, 1980, P0, 550.54"
   echo "1, GPU-b, NVIDIA H100, 00000000:1C:00.0, [GPU is lost], $no, $no, $no, $no, $no, $no, $no, $no, $no, 550.54" ;;
esac
"""


def test_the_gpus_of_another_node_are_those_that_nvidia_smi_tells_there(far_rank: str, tmp_path: Path) -> None:
    (tmp_path / "nvidia-smi").write_text(SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    watched = Watched(far_rank.replace("env NODE={host}", f"env NODE={{host}} PATH={tmp_path}:{os.environ['PATH']}"))
    until, found = time.monotonic() + 2 * PATIENCE_S, list[GpuReading]()
    while time.monotonic() < until and not found:
        found += [reading for reading in watched.source.read(clock.now()) if isinstance(reading, GpuReading)]
        time.sleep(0.1)
    (gpu, lost), driver = found[0].gpus, found[0].driver
    assert (gpu.index, gpu.status, gpu.util_percent, gpu.power_w, gpu.used_bytes, driver) == (
        0,
        "ok",
        100,
        120.5,
        4106 << 20,
        "550.54",
    )
    assert [(process.pid, process.visible) for process in gpu.processes] == [(on_node(1, 1), True), (on_node(1, 999_999), False)]
    assert (lost.status, lost.util_percent, lost.used_bytes) == ("lost", None, None)
    assert not found[0].pids_hidden


def test_a_driver_that_does_not_answer_there_is_told_with_what_it_said_before() -> None:
    row = ("0", "GPU-a", "H100", "1B", "100", "3", "10", "20", "1", "2", "41", "1", "2", "P0", "550")
    before = gpu_reading(NodeGpusTold(100.0, (row,)), 1, 40.0, None)
    late = gpu_reading(NodeGpusTold(130.0, late=True), 1, 40.0, before)
    assert (late.stuck_since, late.stuck_in, late.gpus) == (90.0, "nvidia-smi", before.gpus)


def test_a_launcher_there_that_meets_where_one_here_does_is_seen_before_it_has_any_rank(tmp_path: Path) -> None:
    (tmp_path / "torchrun").write_text("import time; time.sleep(600)")
    options = ("--nnodes=3", "--rdzv-endpoint=n1:29400", "--rdzv-id", "7", "train.py")
    words = (sys.executable, str(tmp_path / "torchrun"), *options)
    here = Process(100, 1.0, 100, 1, "python", " ".join(words), "S", role="launcher")
    with node(*words, environ=dict(os.environ), log=tmp_path / "n2.log") as launcher:
        watched, until, found = Watched(launcher), time.monotonic() + PATIENCE_S, list[ProcessReading]()
        watched.context.procs = ProcessReading(processes=(here,))
        while time.monotonic() < until and not (found and found[-1].processes):
            found += [reading for reading in watched.source.read(clock.now()) if isinstance(reading, ProcessReading)]
            time.sleep(0.1)
        assert [process.role for process in found[-1].processes] == ["launcher"]
        assert found[-1].node is not None
        assert found[-1].node.tied
        other = Watched(launcher)
        other.context.procs = ProcessReading(processes=(replace(here, command=here.command.replace("29400", "29401")),))
        until, told = time.monotonic() + 5.0, list[ProcessReading]()
        while time.monotonic() < until and not told:
            told += [reading for reading in other.source.read(clock.now()) if isinstance(reading, ProcessReading)]
        assert told
        assert told[-1].processes == ()


LOOPBACK = {**RANK, "MASTER_ADDR": "127.0.0.1"}


@pytest.mark.parametrize("shares", [True, False])
def test_a_meeting_at_the_loopback_is_one_run_only_where_the_network_is_shared(tmp_path: Path, shares: bool) -> None:
    """Each machine has a 127.0.0.1:29511 of its own: a run there with the same words is another one."""
    with node(sys.executable, "-c", WAITS, environ={**os.environ, **LOOPBACK}, log=tmp_path / "n2.log") as launcher:
        reached = launcher if shares else launcher.replace("-- env", "-- unshare --net env")
        watched = Watched(reached)
        watched.context.procs = ProcessReading(rendezvous=Rendezvous("127.0.0.1", 29_511))
        if shares:
            reading = watched.ranks()
            assert reading.node is not None
            assert reading.node.tied
        else:
            assert "where no other machine comes: nothing ties one to this log" in watched.refusal()


def test_what_was_taken_for_the_run_is_forgotten_once_another_one_is(far_rank: str) -> None:
    watched = Watched(far_rank)
    first = watched.ranks()
    assert first.node is not None
    assert not first.node.tied, "nothing here meets anywhere yet"
    tree, forgotten = watched.source._tree, []
    assert tree is not None
    tree.forget = lambda: forgotten.append(True)  # type: ignore[method-assign]
    watched.source._chosen([("10.0.0.1:29511", "", os.geteuid())], [])
    assert not forgotten, "the same run"
    watched.source._chosen([], [])
    assert not forgotten, "its ranks are gone: they ended, and that is told"
    watched.source._chosen([("10.0.0.9:1", "", 0)], [])
    assert forgotten
