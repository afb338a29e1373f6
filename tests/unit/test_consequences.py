"""What a stop leaves to others is said before it."""

from __future__ import annotations

import pytest

from hangtop.actions.plans.consequences import clients
from hangtop.actions.plans.stop_plan import stop_plan
from hangtop.records.log import LogFile, LogReading, RankLog
from hangtop.records.plan import OwnProcess, Plan, Refusal
from hangtop.records.process import Process, ProcessReading
from hangtop.state.run_state import RunState

ME = OwnProcess(pid=50, ancestors=frozenset({1, 40}), uid=1000, host="n1")


def process(pid: int, ppid: int, command: str, **more: object) -> Process:
    name = command.partition(" ")[0].rpartition("/")[2]
    known = {"started_at": 1.0, "start_ticks": pid, "name": name, "state": "S", "uid": 1000}
    return Process(**{"pid": pid, "ppid": ppid, "command": command, **known, **more})  # type: ignore[arg-type]


def stop_of_rank(launcher: str) -> tuple[str, ...]:
    processes = (
        process(100, 40, launcher, role="launcher"),
        process(101, 100, "python train.py", role="rank", rank=0),
        process(102, 100, "python train.py", role="rank", rank=1),
    )
    made = stop_plan(RunState(processes={"n1": ProcessReading(processes=processes)}), ME, rank=1)
    assert isinstance(made, Plan)
    assert [target.pid for target in made.targets] == [102]
    return made.warnings


@pytest.mark.parametrize(
    ("launcher", "says"),
    [
        ("/env/bin/python /env/bin/torchrun --nproc-per-node 2 train.py", "the run ends with it"),
        ("/env/bin/python -m torch.distributed.run --max-restarts=0 train.py", "the run ends with it"),
        ("/env/bin/python /env/bin/torchrun --max-restarts 3 train.py", "starts them again, up to 3 times"),
        ("/env/bin/python /env/bin/torchrun --max_restarts=2 train.py", "starts them again, up to 2 times"),
        ("mpirun -np 2 python train.py", "the run ends with it"),
        ("srun -n 2 python train.py", "goes on with the other tasks"),
        ("srun --kill-on-bad-exit -n 2 python train.py", "the run ends with it"),
    ],
)
def test_the_plan_of_a_rank_says_how_its_launcher_answers(launcher: str, says: str) -> None:
    (said,) = stop_of_rank(launcher)
    assert said.startswith("pid 100 (")
    assert says in said


def test_nothing_is_claimed_of_a_launcher_that_is_not_known() -> None:
    assert stop_of_rank("python launch.py --launcher torchrun") == ()


def test_of_an_actor_it_is_said_when_ray_starts_it_again() -> None:
    reading = ProcessReading(processes=(process(102, 90, "ray::Worker.step", role="ray worker"),))
    made = stop_plan(RunState(processes={"n1": reading}), ME, pid=102)
    assert isinstance(made, Plan)
    assert "max_restarts" in made.warnings[0]


@pytest.mark.parametrize(
    ("command", "where"),
    [
        ("kubectl -n jobs logs -f trainer-0", "in its pod"),
        ("docker logs -f trainer", "in its container"),
        ("tail -n 100 -f /data/run7/train.log", "where /data/run7/train.log is written"),
        ("tail -100F a.log", "where a.log is written"),
        ("ssh -p 2222 -o BatchMode=yes gpu7 python train.py", "on gpu7"),
        ("/usr/bin/ssh me@gpu7 ./run.sh", "on me@gpu7"),
        ("ssh -vp 2222 gpu7 -v", "on gpu7"),
    ],
)
def test_of_a_client_it_is_said_where_the_run_goes_on(command: str, where: str) -> None:
    (said,) = clients((process(7, 1, command),))
    assert said.endswith(f"the run behind it goes on {where}")


def test_a_client_of_a_node_on_which_the_plan_ends_the_run_is_not_warned_of() -> None:
    (said,) = clients((process(7, 1, "ssh me@gpu7 ./run.sh"), process(8, 1, "ssh gpu8 ./run.sh")), ["gpu7"])
    assert said.startswith("pid 8 ")
    assert not list(clients((process(7, 1, "ssh gpu7 ./run.sh"),), ["me@gpu7"]))


@pytest.mark.parametrize("command", ["tail -n 5 train.log", "kubectl apply -f job.yaml", "python ssh.py host", "ssh", ""])
def test_who_is_no_client_is_not_called_one(command: str) -> None:
    assert not list(clients((process(7, 1, command),)))


def test_a_rank_of_another_node_is_told_with_what_stops_it_there() -> None:
    here = ProcessReading(processes=(process(101, 40, "python train.py", role="rank", rank=0),))
    log = LogReading(files=(LogFile("/data/train.log", size_bytes=1),))
    state = RunState(processes={"n1": here}, ranks={0: RankLog(0), 9: RankLog(9, host="n2")}, log=log)
    refused = stop_plan(state, ME, rank=9)
    assert isinstance(refused, Refusal)
    assert refused.why == (
        "rank 9 runs on n2, which is not reached from here; there: hangtop stop --log /data/train.log --rank 9"
    )
    assert isinstance(stop_plan(state, ME, rank=0), Plan)
