"""Launchers that wait for other nodes before there is any rank."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.health import SourceHealth
from hangtop.records.nodes import on_node, source_of
from hangtop.records.process import Process, ProcessReading
from hangtop.state.run_state import RunState
from hangtop.system.processes.torchrun_line import Meeting, meeting_of
from tests.fakes.members import NOW, SPEC, process, run

COMMAND = "/venv/bin/python /venv/bin/torchrun --nnodes=3 --rdzv-backend c10d --rdzv_id 7 --rdzv-endpoint n1:29400 train.py"


@pytest.mark.parametrize(
    ("command", "meeting"),
    [
        (COMMAND, Meeting("n1:29400", "7", 3)),
        ("python -m torch.distributed.run --nnodes 2:4 --rdzv-endpoint=n1:1 t.py", Meeting("n1:1", "", 2)),
        ("torchrun --nnodes 1:4 --rdzv-endpoint n1:1 t.py", None),
        ("torchrun --nnodes 2 --master-addr n1 t.py", None),
        ("vim torchrun --nnodes 2 --rdzv-endpoint n1:1", None),
        ("torchrun --nnodes $N --rdzv-endpoint n1:1 t.py", None),
    ],
)
def test_where_a_torchrun_meets_is_on_its_command_line(command: str, meeting: Meeting | None) -> None:
    assert meeting_of(command) == meeting


def agent(node: int, **more: object) -> Process:
    known = replace(process(0), pid=on_node(node, 100), rank=None, role="launcher", command=COMMAND, world=None)
    return replace(known, **more)


def meeting(*agents: Process, seen: tuple[str, ...] = (), unseen: tuple[str, ...] = (), **more: object) -> RunState:
    state = run({}, ())
    health = {source_of(host): SourceHealth(source_of(host), NOW) for host in seen}
    health |= {source_of(host): SourceHealth(source_of(host), problem=f"{host}: no route to host") for host in unseen}
    procs = ProcessReading(processes=agents, **more)  # type: ignore[arg-type]
    return replace(state, procs=procs, processes={}, health={**state.health, **health})


def test_the_node_without_a_torchrun_is_the_one_that_did_not_come() -> None:
    said = diagnose(meeting(agent(0), agent(1), seen=("n2", "n3")), replace(SPEC, hosts=("n2", "n3")), NOW)
    assert (said.word, said.kind, said.confidence) == ("waiting", "rendezvous", "likely")
    assert "2 of 3 nodes came to the meeting at n1:29400" in said.headline
    assert [(culprit.host, culprit.confidence) for culprit in said.culprits] == [("n3", "likely")]


def test_a_node_that_cannot_be_seen_may_be_the_one() -> None:
    said = diagnose(meeting(agent(0), agent(1), seen=("n2",), unseen=("n3",)), replace(SPEC, hosts=("n2", "n3")), NOW)
    assert [(culprit.host, culprit.confidence) for culprit in said.culprits] == [("n3", "possible")]
    assert "n3: no route to host" in said.headline


def test_where_no_other_node_is_watched_nobody_is_named() -> None:
    said = diagnose(meeting(agent(0)), SPEC, NOW)
    assert (said.word, said.confidence, said.culprits) == ("waiting", "possible", ())
    assert "no other node is watched" in said.headline


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(meeting(agent(0), agent(1), agent(2)), id="all are there"),
        pytest.param(meeting(agent(0), process(0)), id="a rank is there"),
        pytest.param(meeting(agent(0, subtree_size=2)), id="it started something"),
        pytest.param(meeting(agent(0), ended=(replace(process(0), state="X"),)), id="a rank ended"),
        pytest.param(meeting(agent(0, state="Z")), id="it is dead"),
    ],
)
def test_nothing_is_said_of_a_meeting_once_there_is_or_was_a_rank(state: RunState) -> None:
    assert "came to the meeting" not in diagnose(state, SPEC, NOW).headline
