"""What acts on a node, in this process: one at a time, no start beside a copy, nothing that waits for ever. Real processes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hangtop.actions.execute.node_hands import NodeHands, NodeLost
from hangtop.cli.nodes import KUBECTL, SRUN
from hangtop.probe.nodes.launchers import BEGIN
from hangtop.probe.nodes.node_side import births
from hangtop.probe.nodes.node_side.claims import AT_WORK, Claimed, claim
from hangtop.probe.nodes.node_side.hands import Hands
from hangtop.probe.nodes.node_side.launch import launch_of, ports_of
from hangtop.probe.nodes.node_side.proc import link, read, stat_of
from hangtop.records.nodes import OtherNode
from tests.fakes.processes import eventually, python, running

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
SLEEPS = "import time; time.sleep(600)"
OTHER = "import sys, time; time.sleep(600)"


def start_of(pid: int) -> int:
    known = stat_of(pid)
    assert known is not None
    return int(known[0][6])


def ended(pid: int) -> bool:
    known = stat_of(pid)
    return known is None or known[1][0] == "Z"


class Run:
    """A process as a person starts it on a node, and who is about to start it again."""

    def __init__(self, ends: ExitStack, output: Path) -> None:
        file = ends.enter_context(output.open("ab"))
        process = ends.enter_context(python(SLEEPS, stdout=file, cwd=output.parent))
        self.output, self.pid, self.hands = str(output), process.pid, Hands()
        eventually(lambda: b"time.sleep" in read(f"/proc/{process.pid}/cmdline"), "its program")
        assert self.hands.do_hold([[self.pid, start_of(self.pid)]], start_of(self.pid)) == {"refused": {}}
        for held in self.hands.claims:
            ends.callback(held.close)
        self.argv = [sys.executable, "-c", SLEEPS]
        assert self.hands.do_keep(self.pid, start_of(self.pid), self.argv, self.output) == {}

    def end(self) -> None:
        self.hands.do_signal([self.pid], signal.SIGKILL)
        eventually(lambda: ended(self.pid), "its end")

    def start(self, output: str = "") -> dict[str, Any]:
        return self.hands.do_start(self.pid, self.argv, os.path.dirname(self.output), output or self.output, {})


@pytest.fixture
def ends() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_of_two_that_act_on_one_process_the_second_is_told_and_a_holder_that_is_gone_holds_nothing(ends: ExitStack) -> None:
    with python(SLEEPS) as process:
        target = [(process.pid, start_of(process.pid))]
        first = claim(target)
        assert Hands().do_hold([list(target[0])], 0) == {"error": AT_WORK}
        with pytest.raises(Claimed):
            claim([(1, start_of(1)), *target])
        for held in (*first, *claim([(1, start_of(1))])):  # the refused one has let go of what it had
            held.close()
        for held in claim(target):
            held.close()


def test_nothing_starts_beside_one_that_began_to_write_its_output_meanwhile(ends: ExitStack, tmp_path: Path) -> None:
    run = Run(ends, tmp_path / "out")
    run.end()
    with (tmp_path / "out").open("ab") as file, python(OTHER, stdout=file) as other:
        told = run.start()
    assert told == {"error": f"pid {other.pid} began to write to {tmp_path}/out meanwhile: somebody else has started it"}


def test_nothing_starts_beside_one_that_runs_the_same_command_in_its_folder(ends: ExitStack, tmp_path: Path) -> None:
    run = Run(ends, tmp_path / "out")
    run.end()
    with running(*run.argv, cwd=tmp_path) as other:
        eventually(lambda: b"time.sleep" in read(f"/proc/{other.pid}/cmdline"), "its program")
        told = run.start()
    assert told == {"error": f"pid {other.pid} runs the same command in the same folder: somebody else has started it"}


def test_what_wrote_the_output_before_is_no_copy_of_it(ends: ExitStack, tmp_path: Path) -> None:
    with (tmp_path / "out").open("ab") as file:
        ends.enter_context(python(OTHER, stdout=file, cwd=tmp_path))
    run = Run(ends, tmp_path / "out")
    run.end()
    told = run.start()
    assert told["lives"]
    os.kill(told["pid"], signal.SIGKILL)


def test_an_output_that_is_a_named_pipe_is_none_and_holds_up_no_start(ends: ExitStack, tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    run = Run(ends, tmp_path / "out")
    with fifo.open("wb") as file, python(SLEEPS, stdout=file) as process:
        eventually(lambda: b"time.sleep" in read(f"/proc/{process.pid}/cmdline"), "its program")
        assert launch_of(process.pid, start_of(process.pid))["output"] == ""
        run.end()
        assert run.start(str(fifo)) == {"error": f"{fifo} is no plain file"}
    os.close(reader)
    assert "error" in run.start(str(fifo)), "nobody reads it, and nobody waits for that"


def test_command_lines_that_are_never_given_are_waited_for_once_for_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    never, mine = threading.Event(), os.getpid()
    usual = births.read

    def stuck(path: str) -> bytes:
        if path != f"/proc/{mine}/cmdline":
            never.wait()
        return usual(path)

    monkeypatch.setattr(births, "read", stuck)
    monkeypatch.setattr(births, "PATIENCE_S", 0.05)
    asked = births.commands_of([mine, *range(10**7, 10**7 + 5_000)])
    never.set()
    assert asked.keys() == {mine}


def test_the_tasks_of_a_step_daemon_know_which_srun_started_it() -> None:
    words = f"SLURM_SRUN_COMM_PORT=38997 {sys.executable} -c '{SLEEPS}' & wait"
    with running("bash", "-c", "exec -a 'slurmstepd: [7.0]' bash -c \"$WORDS\"", env={**os.environ, "WORDS": words}) as step:
        told = eventually(lambda: (known := launch_of(step.pid, start_of(step.pid))).get("ports") and known, "its task")
    assert (told["within"], told["ports"]) == ("srun", [38997])


@pytest.mark.parametrize(
    "words",
    [
        ("--prtemca", "prte_hnp_uri", "prterun-n1-812@0.0;tcp://10.0.0.1,10.0.1.1:41221:24,24"),
        ("-mca", "orte_hnp_uri", "1234567.0;tcp://10.0.0.1:41221"),
        ("--control-port", "n1:41221", "--rmk", "user"),
    ],
    ids=["Open MPI 5", "Open MPI 4", "MPICH"],
)
def test_the_daemon_of_mpirun_above_a_rank_names_where_that_listens(words: tuple[str, ...]) -> None:
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEPS!r}])"
    with python(program, *words) as daemon:
        children = f"/proc/{daemon.pid}/task/{daemon.pid}/children"
        (rank,) = map(int, eventually(lambda: read(children).split(), "the rank"))
        assert 41221 in ports_of(rank, {})


STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" > {asked}
while [ "$1" != python3 ]; do shift; done
exec "$@"
"""
"""As srun and kubectl, which run the words behind their own options on the node as they are."""


@pytest.mark.parametrize(
    ("launcher", "asked"),
    [
        (SRUN.format(job=7), "--jobid=7 --overlap --nodes=1 --ntasks=1 --quiet --nodelist=n2 python3 -u -c"),
        (KUBECTL, "exec -i n2 -- python3 -u -c"),
    ],
    ids=["srun", "kubectl"],
)
def test_a_node_is_acted_on_through_the_clusters_own_command_as_it_is_typed(
    launcher: str, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / launcher.partition(" ")[0]
    program.write_text(STAND_IN.format(asked=tmp_path / "asked"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    boot = read("/proc/sys/kernel/random/boot_id").decode().strip()
    hands = NodeHands("n2", OtherNode(1, boot, link("/proc/self/ns/pid"), os.geteuid(), launcher, tied=True))
    try:
        hands.begin()
        assert hands.order("check", targets=[])["alive"] == {}
    finally:
        hands.close()
    *words, begin = (tmp_path / "asked").read_text().splitlines()
    assert (" ".join(words), begin) == (asked, BEGIN)


NOISE = 'sh -c \'echo Welcome to n2; echo "{{}}"; printf "no end"; shift; exec "$@"\' sh {host} {probe}'


def test_what_a_login_shell_prints_before_the_program_speaks_is_passed_over() -> None:
    boot = read("/proc/sys/kernel/random/boot_id").decode().strip()
    hands = NodeHands("n2", OtherNode(1, boot, link("/proc/self/ns/pid"), os.geteuid(), NOISE, tied=True))
    try:
        hands.begin()
        assert hands.order("check", targets=[[os.getpid(), start_of(os.getpid())]])["alive"].keys() == {str(os.getpid())}
    finally:
        hands.close()


def test_a_node_that_prints_without_end_is_lost_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hangtop.actions.execute.node_hands.OPEN_S", 0.3)
    hands = NodeHands("n2", OtherNode(1, "b", "p", 0, "sh -c 'yes welcome' {host} {probe}", tied=True))
    with pytest.raises(NodeLost, match="no line of hangtop: welcome"):
        hands.begin()
    assert not hands.is_open
