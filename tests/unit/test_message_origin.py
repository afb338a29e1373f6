"""The process that the words of a launcher, a shell or Ray are about."""

from __future__ import annotations

import pytest

from hangtop.logs.extract.message_origin import MessageOrigin, named_in
from tests.fakes.read_log import read


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("process 2 terminated with signal SIGKILL", MessageOrigin(local_rank=2)),
        (
            "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with exit code 3",
            MessageOrigin(local_rank=0),
        ),
        ("-- Process 3 terminated with the following error:", MessageOrigin(local_rank=3)),
        ("failed (exitcode: 3) local_rank: 1 (pid: 17065) of binary: python", MessageOrigin(local_rank=1)),
        ("[launcher] worker 2 (pid 4242) died with exit code 137", MessageOrigin(rank=2)),
        ("rank 3 was killed", MessageOrigin(rank=3)),
        ("ray::WorkerDict_0:2.update_actor() (pid=4242, ip=10.0.0.1)", MessageOrigin(rank=2)),
        ("repr=WorkerDict_0:5)", MessageOrigin(rank=5)),
        ("Caught KeyError in DataLoader worker process 0.", None),
        ("DataLoader worker 3 (pid 77) died", None),
        ("process 2 finished", None),
        ("rank 3 joined", None),
        ("srun: error: gpu-n02: task 3: Killed", MessageOrigin(rank=3)),
        ("TimeoutError: task 5: judge did not answer within 0.5 s", None),
    ],
)
def test_the_process_that_a_message_names(text: str, origin: MessageOrigin | None) -> None:
    assert named_in(text) == origin


KILLED = """ray.exceptions.OutOfMemoryError: {count} worker(s) were killed due to the node running low on memory. Memory on the \
node (IP: 192.0.2.2, ID: 7197cfb2) was 9.14GB used / 23.54GB limit (0.388232)
OOM kill reason: Memory usage 9633071104B exceeded threshold of 9301752832B (36.8% of 25276502016B limit)
Object store memory usage: [- objects spillable: 0

Ray killed {count} worker(s) based on the killing policy
Considered workers: [
{chosen}
]
Total non-selected idle workers: 1
"""
"""As Ray 2.60 said it on a real node."""


def chosen(actor: str, pid: int, used: str) -> str:
    who = f"job ID=01000000, lease ID=02000000e1d5, task name={actor}WorkerDict.__init__, required resources={{}}, pid={pid}"
    return f"Selected to kill: (Actor(9689c9f3): {who}, actual memory used={used}GB, worker ID=61fb5114)"


@pytest.mark.parametrize(
    ("told", "rank", "pid"),
    [
        ([chosen("abcdefWorkerDict_0:2:", 9315, "5.04")], 2, 9315),
        ([chosen("", 9315, "5.04")], None, 9315),
        ([chosen("", 17110, "0.06"), chosen("", 17025, "5.31")], None, 17025),  # the newest was chosen, too, and held nothing
    ],
)
def test_whom_ray_s_memory_monitor_killed_is_told_behind_its_figures(told: list[str], rank: int | None, pid: int) -> None:
    first, *_ = read(KILLED.format(count=len(told), chosen="\n".join(told))).findings
    assert (first.id, first.rank, first.pid) == ("ray.oom_killer", rank, pid)
