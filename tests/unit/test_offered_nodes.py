"""Other nodes that a run's own processes name are offered in one line, and never entered unasked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.sources_seen import offered_nodes
from hangtop.probe.processes.named_nodes import named_nodes
from hangtop.records.health import SourceHealth
from hangtop.records.nodes import NamedNodes, source_of
from hangtop.records.process import ProcessReading, Rendezvous
from hangtop.system.processes.environments import ProcessFacts
from tests.fakes.members import process, run

HERE = os.uname().nodename


def facts(*command: str, **environ: str) -> ProcessFacts:
    return ProcessFacts.of("python", command or ("python", "train.py"), environ)


def test_a_slurm_job_of_several_nodes_names_itself() -> None:
    job = facts(SLURM_JOB_ID="4711", SLURM_JOB_NUM_NODES="2")
    assert named_nodes([job], None) == NamedNodes(("--slurm", "4711"), "SLURM_JOB_NUM_NODES")
    assert named_nodes([facts(SLURM_JOB_ID="4711", SLURM_JOB_NUM_NODES="1")], None) is None
    assert named_nodes([facts(SLURM_JOB_ID="4711; reboot", SLURM_JOB_NUM_NODES="2")], None) is None


def test_a_launcher_names_its_hosts_or_the_file_of_them(tmp_path: Path) -> None:
    file = tmp_path / "hostfile"
    file.write_text(f"# nodes\n{HERE} slots=8\nn2 slots=8\nn3:8\n-oProxyCommand=x\n\n")
    deepspeed = facts("python", "/venv/bin/deepspeed", "--hostfile", str(file), "train.py")
    assert named_nodes([deepspeed], None) == NamedNodes(("--hosts", "n2,n3"), f"--hostfile {file}")
    mpirun = facts("mpirun", "-np", "16", "-H", f"{HERE}:8,n2:8", "python", "train.py")
    assert named_nodes([mpirun], None) == NamedNodes(("--hosts", "n2"), f"-H {HERE}:8,n2:8")
    assert named_nodes([facts("python", "train.py", "-H", "n2")], None) is None, "an option of the program is none of a launcher"
    gone = facts("python", "/venv/bin/deepspeed", f"--hostfile={tmp_path}/gone", "train.py")
    assert named_nodes([gone], None) is None


def test_the_place_where_ranks_meet_is_another_node_where_nobody_here_listens() -> None:
    assert named_nodes([facts()], Rendezvous("n1", 29500, 4, listening=False)) == NamedNodes(("--hosts", "n1"), "MASTER_ADDR")
    assert named_nodes([facts()], Rendezvous("n1", 29500, 4, listening=True)) is None
    assert named_nodes([facts()], Rendezvous("127.0.0.1", 29500, 4, listening=False)) is None


@pytest.mark.parametrize(("world", "offered"), [(4, True), (2, False)])
def test_it_is_offered_only_where_ranks_are_missing_here(world: int, offered: bool) -> None:
    here = tuple(replace(process(rank), world=world) for rank in (0, 1))
    known = ProcessReading(processes=here, named=NamedNodes(("--hosts", "n2,n3"), "-H n2,n3"))
    state = replace(run({}, here), procs=known)
    said = offered_nodes(state)
    assert (said is not None) is offered
    if said is not None:
        assert said.endswith("--hosts n2,n3 shows them")
    seen = replace(state, health={source_of("n2"): SourceHealth(source_of("n2"), 1.0)})
    assert offered_nodes(seen) is None, "they are seen"
