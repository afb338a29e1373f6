"""What ties the ranks of another node to the run: that they meet where the ranks here do, and for how long that holds. The node's
looks are given as they come over its line."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.nodes.node_link import Hello, NodeLink
from hangtop.probe.nodes.node_source import NodeSource
from hangtop.probe.nodes.node_table import Look
from hangtop.probe.source import SourceError
from hangtop.records.nodes import pid_there
from hangtop.records.process import Process, ProcessReading, Rendezvous
from hangtop.records.watch_spec import WatchSpec

MEETS = {"RANK": "1", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}
HERE = Process(100, 1.0, 100, 1, "python", "python train.py", "S", role="rank", rank=0)
LIVES = ProcessReading(processes=(HERE,), rendezvous=Rendezvous("10.0.0.1", 29_500))
ENDED = ProcessReading()


class Far:
    """One node, whose looks are given."""

    def __init__(self, here: ProcessReading) -> None:
        self.context = ProbeContext(WatchSpec(hosts=("n2",)))
        self.context.procs = here
        self.link = NodeLink(1, "n2", ("false",), {})
        self.context.nodes = {1: self.link}
        self.source = NodeSource(self.context, self.link)
        self.source._looked = True  # the first looks, which it waits for, have come
        self.boots("boot-2", 1)

    def boots(self, boot: str, generation: int) -> None:
        """The line is opened for the `generation`th time."""
        self.link.hello, self.link.generation = Hello(boot=boot, pids="pid:[2]", uid=500), generation
        self.link.received.append((generation, 1_000.0))

    def sees(self, *ranks: tuple[int, Mapping[str, str]], parent: int = 1, gone: tuple[int, ...] = ()) -> ProcessReading:
        """What is told after a look with these ranks, each a pid with its environment."""
        rows = {
            str(pid): {
                "who": ["python", parent, pid, pid, 0, 0, 7 * pid],
                "now": ["S", 10, 0, 1, 200, None],
                "facts": {"command": ["python", "train.py"], "environ": dict(environ), "denied": False},
            }
            for pid, environ in ranks
        }
        look = msgspec.convert({"at": 2.0, "rows": rows, "gone": gone}, Look, strict=False)
        self.link.received.append((self.link.generation, look))
        list(self.source.read(2_000.0))
        assert self.source._told is not None
        return self.source._told


def test_ranks_that_meet_where_those_here_do_are_tied() -> None:
    told = Far(LIVES).sees((201, MEETS))
    assert told.node is not None
    assert told.node.tied


@pytest.mark.parametrize("here", [ENDED, ProcessReading(processes=(HERE,))], ids=["none here", "ranks here that meet nowhere"])
def test_a_job_of_slurm_alone_ties_no_rank(here: ProcessReading) -> None:
    told = Far(here).sees((201, {"RANK": "1", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}))
    assert told.node is not None
    assert not told.node.tied


def test_what_refuses_a_node_holds_until_its_next_look() -> None:
    far = Far(LIVES)
    other = {**MEETS, "MASTER_PORT": "29999"}
    for looks in range(3):
        with pytest.raises(SourceError, match="nothing ties one to this log"):
            far.sees((201, other)) if looks == 0 else list(far.source.read(2_000.5))
    told = far.sees((301, MEETS), gone=(201,))
    assert {pid_there(process.pid) for process in told.processes} == {301}


def test_what_was_tied_while_the_run_lived_here_stays_so_once_it_has_ended() -> None:
    far = Far(LIVES)
    far.sees((201, MEETS))
    far.context.procs = ENDED
    told = far.sees((202, MEETS), parent=201)  # started again by what was there
    assert told.node is not None
    assert told.node.tied
    assert {pid_there(process.pid) for process in told.processes} == {201, 202}


def test_another_run_that_meets_there_once_the_run_here_has_ended_is_not_tied() -> None:
    far = Far(LIVES)
    far.sees((201, MEETS))
    far.context.procs = ENDED
    told = far.sees((301, MEETS), gone=(201,))
    assert told.node is not None
    assert not told.node.tied


def test_a_meeting_is_known_as_long_as_a_process_lives_that_was_there() -> None:
    far = Far(LIVES)
    far.sees((201, MEETS))
    far.context.procs = ProcessReading(processes=(HERE,))  # its environment could not be read this time
    told = far.sees((301, MEETS))
    assert told.node is not None
    assert told.node.tied


def test_a_machine_that_was_booted_again_has_nothing_that_was_proven() -> None:
    far = Far(LIVES)
    far.sees((201, MEETS))
    far.context.procs = ENDED
    far.boots("boot-2", 2)
    same = far.sees((201, MEETS))
    far.boots("boot-3", 3)
    other = far.sees((201, MEETS))
    assert [told.node.tied for told in (same, other) if told.node is not None] == [True, False]
