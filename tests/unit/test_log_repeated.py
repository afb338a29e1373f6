"""A line that Ray prints once for many workers shows life, and is nobody's progress."""

from __future__ import annotations

from hangtop.logs.catalog import load
from hangtop.logs.digest import Digest
from hangtop.logs.index import Index
from hangtop.logs.join import join
from hangtop.records.log import LogFile, LogReading

INDEX = Index(load())


def said(log: str) -> LogReading:
    digest = Digest(INDEX, 0)
    digest.feed(log.encode(), at=1_768_125_000.0)
    return join([digest.facts()], [LogFile("train.log", size_bytes=len(log), scanned_bytes=len(log))], INDEX.catalog)


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
