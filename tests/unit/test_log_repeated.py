"""A line that Ray prints once for many workers shows life, and is nobody's progress."""

from __future__ import annotations

from hangtop.logs.digest import Digest
from hangtop.logs.joined_logs import join_logs
from hangtop.records.log import LogFile, LogReading
from tests.fakes.read_log import INDEX


def said(log: str) -> LogReading:
    digest = Digest(INDEX, 0)
    digest.feed(log.encode(), at=1_768_125_000.0)
    return join_logs([digest.facts()], [LogFile("train.log", size_bytes=len(log), scanned_bytes=len(log))], INDEX.catalog)


def test_a_repeated_line_moves_the_run_on_but_no_rank():
    log = "".join(
        f"(WorkerDict pid={100 + rank}) comm 0x7f00 rank {rank} nranks 2 cudaDev 0 - Init COMPLETE\n" for rank in (0, 1)
    )
    log += "(WorkerDict pid=100) step 3/100 loss=0.5\n(WorkerDict pid=101) step 3/100 loss=0.5\n"
    before = said(log)
    assert {rank.rank: rank.step for rank in before.ranks} == {0: 3, 1: 3}
    after = said(log + "(WorkerDict pid=101) step 9/100 loss=0.4 [repeated 2x across cluster]\n")
    assert after.progress.step == 9
    assert {rank.rank: rank.step for rank in after.ranks} == {0: 3, 1: 3}
    lines = {rank.rank: rank.lines for rank in before.ranks}
    assert {rank.rank: rank.lines for rank in after.ranks} == {0: lines[0], 1: lines[1] + 1}, "a sign of life all the same"


DRIVER_DIED = (
    "(WorkerDict pid=101) step 1/12 loss=0.5\n"
    "Traceback (most recent call last):\n"
    '  File "/home/user/ray_train.py", line 31, in <module>\n'
    "    print(ray.get(runner.run.remote()))\n"
    "ray.exceptions.RayTaskError(ValueError): ray::WorkerDict.run() (pid=101, ip=192.0.2.2)\n"
    '  File "/home/user/ray_train.py", line 18, in run\n'
    "    raise ValueError('bad trajectory length 0')\n"
    "ValueError: bad trajectory length 0\n"
)


def severities(log: str) -> set[str]:
    return {finding.severity for finding in said(log).findings}


def test_the_lines_of_workers_that_come_after_the_drivers_end_do_not_prove_that_it_was_survived():
    late = "(WorkerDict pid=102) step 0/12 loss=0.5\n(WorkerDict pid=101) step 10/12 loss=0.5 [repeated 15x across cluster]\n"
    assert severities(DRIVER_DIED + late) == {"fatal"}
    assert severities(DRIVER_DIED + late + "(WorkerDict pid=102) step 11/12 loss=0.5\n") == {"fatal"}


def test_steps_one_by_one_after_an_error_prove_that_it_was_survived():
    goes_on = "".join(f"(WorkerDict pid=101) step {step}/12 loss=0.5\n" for step in (2, 3, 4))
    assert severities(DRIVER_DIED + goes_on) == {"hint"}
