"""Runs on GPUs that hang, all the way to the verdict: real processes and stacks, and a stand-in driver that plays their GPUs."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hangtop.probe.stacks.stack_source import answer_stacks
from hangtop.records.ask import StacksAsk
from hangtop.stacks.activity import activity_of
from hangtop.system.processes.linux import read_stat
from tests.fakes.frozen_disk import frozen_disk
from tests.fakes.nvml.stand_in import StandInDriver
from tests.fakes.processes import eventually, running
from tests.fakes.ras import NEW, nccl, ras_port

PROGRAM = Path(__file__).parents[1] / "fakes" / "gpu_program.py"
STALL_S = 4
LOOKS = 5
"""To read native frames takes longer than one look may on a crowded machine; then the next look reads them."""
RUNTIME = """
#include <time.h>
int cudaStreamSynchronize(void *stream) { volatile int done = 0; while (!done) ; return stream != 0; }
int ncclCommInitRankConfig(void *comm) { struct timespec t = {3600, 0}; while (!nanosleep(&t, 0)) ; return comm != 0; }
int cudaEventSynchronize(void *event) { struct timespec t = {3600, 0}; while (!nanosleep(&t, 0)) ; return event != 0; }
"""
SPINS, IDLE, COMPUTES = "util=100 mem_util=0 power=92", "util=0 mem_util=0 power=70", "util=97 mem_util=45 power=610"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The part of CUDA's runtime that waits."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) here, so the stand-in CUDA runtime cannot be built")
    folder = tmp_path_factory.mktemp("cuda")
    (folder / "runtime.c").write_text(RUNTIME)
    library = folder / "libcudart.so.12"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(folder / "runtime.c")], check=True)
    return library


class Ranks:
    """A run of one rank for each way, one GPU each, and its log; silent for `STALL_S`."""

    def __init__(self, folder: Path, pids: Sequence[int]) -> None:
        self.log, self.pids = folder / "train.log", pids

    def verdict(self, folder: Path, gpus: Sequence[str], *more: str) -> dict[str, Any]:
        """What `hangtop check` says while the driver says this of the GPUs."""
        lines = [f"gpus {len(gpus)}", *(f"gpu {index} {said} power_limit=700" for index, said in enumerate(gpus))]
        lines += [f"proc {index} {pid} mem_mib=60000 type=C" for index, pid in enumerate(self.pids)]
        driver = StandInDriver(folder, "\n".join((*lines, *more)))
        argv = [sys.executable, "-m", "hangtop", "check", "--log", str(self.log), "--stall", str(STALL_S), "--json"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=240, check=False, env=driver.environment)
        assert done.stdout, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        return said


@contextmanager
def ranks(
    folder: Path, library: Path, ways: Sequence[str], path: str = "", pass_fds: Sequence[int] = (), **variables: str
) -> Iterator[Ranks]:
    """`variables`: of the environment of all ranks; `pass_fds`: what each of them holds open."""
    log = folder / "train.log"
    with ExitStack() as stack, log.open("ab") as out:
        pids = []
        for rank, way in enumerate(ways):
            env = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(len(ways)), **variables}
            argv = (sys.executable, str(PROGRAM), str(library), way, path)
            pids.append(stack.enter_context(running(*argv, env=env, stdout=out, stderr=out, pass_fds=pass_fds)).pid)
        eventually(lambda: log.read_bytes().count(b"step 5/") == len(ways), "five steps")
        eventually(lambda: time.time() - log.stat().st_mtime > STALL_S + 0.2, "silence")
        yield Ranks(folder, pids)


@pytest.mark.parametrize("way", ["gpu", "blocked"], ids=["the driver polls", "the driver sleeps"])
def test_ranks_whose_kernels_spin_wait_for_the_one_whose_gpu_is_idle(tmp_path: Path, runtime: Path, way: str) -> None:
    with ranks(tmp_path, runtime, (way, way, "lock")) as run:
        said = run.verdict(tmp_path, (SPINS, SPINS, IDLE))
        assert (said["verdict"], said["kind"], [culprit["rank"] for culprit in said["culprits"]]) == ("hung", "nccl", [2]), said[
            "headline"
        ]
        assert "load_shard" in said["culprits"][0]["why"][0]


def test_of_ranks_that_all_poll_the_power_of_their_gpus_tells_a_hang_from_work(tmp_path: Path, runtime: Path) -> None:
    with ranks(tmp_path, runtime, ("gpu", "gpu")) as run:
        hangs, works = run.verdict(tmp_path, (SPINS, SPINS)), run.verdict(tmp_path, (COMPUTES, COMPUTES))
        assert (hangs["verdict"], hangs["kind"], hangs["culprits"]) == ("hung", "nccl", []), hangs["headline"]
        assert works["verdict"] == "slow", works["headline"]


def test_nccls_own_counts_tell_who_never_launched_where_stacks_and_gpus_are_alike(tmp_path: Path, runtime: Path) -> None:
    said = ['{"communicators": []}']
    held = socket.create_server(("127.0.0.1", 0))
    with (
        ras_port(lambda client: nccl(NEW, said[-1])(client), held) as (host, port),
        ranks(tmp_path, runtime, ("gpu", "gpu", "gpu"), pass_fds=(held.fileno(),), NCCL_RAS_ADDR=f"{host}:{port}") as run,
    ):
        members = [
            {"rank": rank, "host": "n1", "pid": pid, "nvml_dev": rank, "collective_counts": {"AllReduce": 41208 - (rank == 1)}}
            for rank, pid in enumerate(run.pids)
        ]
        said.append(json.dumps({"nccl_version": "2.29.1", "communicators": [{"hash": "0xaa", "size": 3, "ranks": members}]}))
        verdict = run.verdict(tmp_path, (SPINS, SPINS, SPINS))
        assert (verdict["verdict"], verdict["kind"]) == ("hung", "nccl"), verdict["headline"]
        assert [(culprit["rank"], culprit["why"][0]) for culprit in verdict["culprits"]] == [
            (1, "launched 41,207 of 41,208 AllReduce")
        ]


def test_native_frames_tell_that_a_rank_waits_for_its_peers_in_nccls_start(tmp_path: Path, runtime: Path) -> None:
    with ranks(tmp_path, runtime, ("init", "gpu")) as run:
        starts = {pid: stat.start_ticks for pid in run.pids if (stat := read_stat(pid)) is not None}
        asked = StacksAsk(1, tuple(run.pids), stop=starts)
        for _ in range(LOOKS):
            stacks = {stack.pid: stack for part in answer_stacks(asked, time.time()) for stack in part.stacks}
            seen = [activity_of(stacks[pid]) for pid in run.pids]
            if all(seen):
                break
        assert [activity and activity.kind for activity in seen] == ["rendezvous", "gpu"], stacks
        assert [activity and activity.text for activity in seen] == [
            "in ncclCommInitRankConfig",
            "waits for the GPU in train_step",
        ]


def test_a_driver_that_hangs_is_named_although_the_ranks_only_seem_to_wait(tmp_path: Path, runtime: Path) -> None:
    with ranks(tmp_path, runtime, ("blocked", "blocked")) as run:
        said = run.verdict(tmp_path, (SPINS, SPINS), "init hang")
        assert (said["verdict"], said["kind"], said["confidence"]) == ("hung", "driver_hung", "certain"), said["headline"]


def test_a_rank_blocked_on_its_disk_is_no_matter_of_the_driver(tmp_path: Path, runtime: Path) -> None:
    with frozen_disk(tmp_path) as disk, ranks(tmp_path, runtime, ("gpu", "disk"), str(disk / "shard")) as run:
        try:
            said = run.verdict(tmp_path, (SPINS, IDLE))
        finally:
            subprocess.run(["fsfreeze", "-u", str(disk)], check=False)  # until then not even SIGKILL ends the rank
        assert (said["verdict"], said["kind"], [culprit["rank"] for culprit in said["culprits"]]) == ("hung", "io_blocked", [1])
