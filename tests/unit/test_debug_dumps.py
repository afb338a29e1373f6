"""The files of the periodic dumper of PyTorch's debug server: the newest tells where each rank stood when it was written."""

from __future__ import annotations

import os
from pathlib import Path

from hangtop.probe.torch_debug.dump_files import dumped_stacks, newest_dump

DUMP = """3/4 workers answered

=== Rank 0: http://n1:45819/handler/dump_traceback? ===
Current thread 0x00007fba29ffb6c0 (most recent call first):
  <no Python frame>

Thread 0x00007fba52c3bb80 (most recent call first):
  File "/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 3252 in all_reduce
  File "/data/train.py", line 14 in <module>

=== Rank 1: http://[fd00::2]:51075/handler/dump_traceback? ===
Error: 503
=== Rank 2: http://n2:47369/handler/dump_traceback? ===
Thread 0x00007f1ff9e00b80 (most recent call first):
  File "/data/train.py", line 9 in fetch_batch
  File "/data/train.py", line 12 in <module>
"""


def test_the_newest_file_tells_where_each_rank_stood_that_answered(tmp_path: Path) -> None:
    for name in ("stacks_20261128_142012.txt", "stacks_20261128_142037.txt", "stacks_20261128_142037.txt.part", "tcpstore_9.txt"):
        (tmp_path / name).write_text(DUMP)
    newest = newest_dump([str(tmp_path / "none"), str(tmp_path)])
    assert newest == str(tmp_path / "stacks_20261128_142037.txt")
    os.utime(newest, (1_000, 1_000))
    stacks = dumped_stacks(newest)
    assert [(stack.rank, stack.host, stack.at) for stack in stacks] == [(0, "n1", 1_000), (2, "n2", 1_000)]
    frames = [[frame.function for frame in stack.threads[0].frames] for stack in stacks if stack.threads]
    assert frames == [["all_reduce", "<module>"], ["fetch_batch", "<module>"]]


def test_what_is_no_such_file_tells_nothing(tmp_path: Path) -> None:
    fifo = tmp_path / "stacks_20261128_142012.txt"
    os.mkfifo(fifo)
    assert dumped_stacks(str(fifo)) == ()
    assert newest_dump([str(tmp_path / "none")]) is None
