"""The process that the words of a launcher, a shell or Ray are about."""

from __future__ import annotations

import pytest

from hangtop.logs.extract.message_origin import MessageOrigin, named_in


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
