"""A call into compiled code is named by the source line where the thread stands."""

from __future__ import annotations

import pytest

from hangtop.records.stack import Excerpt, Frame, Stack, StacksReading, Thread
from hangtop.stacks.activity import activity_of
from hangtop.stacks.native_calls import take_in

FILE = "/home/u/train.py"


def stack(pid: int, line: int, file: str = FILE) -> Stack:
    return Stack(pid, 1.0, (Thread("MainThread", (Frame("<module>", file, line),), tid=pid, state="R"),))


def done(line: str, *, changed: bool = False, file: str = FILE) -> str:
    """What a process does that stands on this line of its own and burns a core."""
    looks = take_in((), StacksReading(1, stacks=(stack(7, 9, file),)))
    looks = take_in(looks, StacksReading(1, excerpts=(Excerpt(file, 8, ("x = 1", line), changed, 9),), done=True))
    (known,) = looks[0].stacks
    seen = activity_of(known)
    assert seen is not None
    return seen.text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("    s = c.allreduce(step)", "in allreduce"),
        ("MPI.COMM_WORLD.Barrier()", "in Barrier"),
        ("grad = self.comm.Allgatherv(buf, out)", "in Allgatherv"),
        ("data = comm.recv(None, 2)", "in recv"),
        ("data = c.recv(source=2, tag=99)", "in recv"),
        ("MPI.Request.Waitall(pending)", "in Waitall"),
    ],
)
def test_a_collective_of_compiled_code_is_a_wait_for_peers_though_it_burns_a_core(line: str, said: str) -> None:
    assert done(line) == said


@pytest.mark.parametrize(
    "line", ["x = sock.recv(4096)", "loss = model(batch)", "total = np.add.reduce(parts)", "queue.wait()", ""]
)
def test_other_lines_are_what_they_were(line: str) -> None:
    assert done(line) == "works in <module>"


def test_a_source_that_is_newer_than_the_process_tells_nothing() -> None:
    assert done("s = c.allreduce(step)", changed=True) == "works in <module>"


def test_lines_of_a_framework_are_known_by_their_own_frames() -> None:
    file = "/x/site-packages/torch/distributed/distributed_c10d.py"
    assert done("work = group.allreduce([tensor])", file=file) == "works in <module>"
