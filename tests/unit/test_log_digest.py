"""A log says the same however its bytes arrive, and what it says is what a slow and simple reader finds."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hangtop.logs.digest import Digest
from hangtop.logs.joined_logs import join_logs
from hangtop.logs.lines import split
from hangtop.records.log import LogFile, LogReading
from tests.fakes.genlog import generate
from tests.fakes.read_log import INDEX


def digest(*chunks: bytes, rank: int | None = None) -> Digest:
    made = Digest(INDEX, 0, rank=rank)
    for chunk in chunks:
        made.feed(chunk)
    return made


def reading(*chunks: bytes) -> LogReading:
    size = sum(map(len, chunks))
    return join_logs([digest(*chunks).facts()], [LogFile("train.log", size_bytes=size, scanned_bytes=size)], INDEX.catalog)


def cut(data: bytes, at: list[int]) -> list[bytes]:
    edges = [0, *sorted(offset % (len(data) + 1) for offset in at), len(data)]
    return [data[begin:end] for begin, end in pairwise(edges)]


PIECES = st.sampled_from(
    [
        b"[rank3]:2026-03-01 10:00:00 INFO train step 7/100 loss=0.5\n",
        b'[rank1]: Traceback (most recent call last):\n[rank1]:   File "x.py", line 1\n[rank1]: ValueError: bad shard\n',
        b"\r\x1b[36m(WorkerDict pid=41)\x1b[0m Training Progress:  12%|#   | 12/100 [00:10<01:20,  1.10it/s]",
        b"(TaskRunner pid=9) step:4 - actor/pg_loss:0.1 - actor/grad_norm:nan\n",
        "用时 3 秒 ✓ Configuration loaded\n".encode(),
        b"[prompt] tell me\nCUDA out of memory. Tried to allocate 2 GiB\n[response] x\n[score] 1.0\n",
        b"RuntimeError: CUDA error: device-side assert triggered\n",
        b"2026-01-11T10:00:00.0Z stderr P half \n2026-01-11T10:00:00.0Z stderr F [rank7]:step 3/9\n",
        b'{"level":"info","time":"2026-01-11T10:00:00Z","rank":2,"msg":"train","step":4,"loss":0.5}\n',
        b'{"log":"[rank1]: step 4/9 loss 2\\n","stream":"stderr","time":"2026-01-11T10:00:00.1Z"}\n',
        b"\0" * 70,
        b"\xff\xfe bad \xc3\x28\n",
        b"\r\n",
        b"windows\r\n",
        b"x" * 200,
        b"***** Running training *****\n",
        b"Setting OMP_NUM_THREADS environment variable for each process to be 1\n",
    ]
)
LOGS = st.lists(st.one_of(PIECES, st.binary(max_size=40)), max_size=40).map(b"".join)


@given(data=LOGS, at=st.lists(st.integers(0, 1 << 16), max_size=8), wide=st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff"]))
@settings(max_examples=150, deadline=None)
def test_any_cut_of_any_bytes_gives_the_same_facts(data: bytes, at: list[int], wide: bytes) -> None:
    data = wide + data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split, "BLOCK", 256)
        patch.setattr(split, "LONGEST_CARRY", 128)
        patch.setattr(split, "OVERLAP", 32)
        whole = digest(data)
        parts = digest(*cut(data, at))
        assert repr(parts.facts()) == repr(whole.facts())
        assert parts.tail(20) == whole.tail(20)


@pytest.mark.parametrize("chunk", [997, 65_536, 1_000_003])
def test_a_nasty_log_gives_the_same_facts_in_chunks_of_any_size(chunk: int) -> None:
    data = b"".join(generate(5_000_000, seed=3, nasty=True))
    whole = digest(data).facts()
    parts = digest(*(data[begin : begin + chunk] for begin in range(0, len(data), chunk))).facts()
    assert repr(parts) == repr(whole)


def slow_steps(data: bytes) -> dict[int, tuple[int, float]]:
    """The last step and loss of each rank, read line by line."""
    found: dict[int, tuple[int, float]] = {}
    for line in data.split(b"\n"):
        if (match := re.match(rb"\[rank(\d+)\]:.* train step (\d+)/50000 loss=([\d.]+)", line)) or (
            match := re.match(rb"\[rank(\d+)\]: \[.*iteration +(\d+)/ +50000 .*lm loss: (\S+)", line)
        ):
            found[int(match[1])] = (int(match[2]), float(match[3]))
    return found


@pytest.mark.parametrize("mix", ["train", "quiet", "metrics"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_last_step_of_each_rank_is_that_of_a_slow_reader(mix: str, seed: int) -> None:
    data = b"".join(generate(9_000_000, seed=seed, mix=mix, nasty=True))
    ranks = {rank.rank: (rank.step, rank.metrics.get("loss")) for rank in reading(data).ranks if rank.step is not None}
    slow = slow_steps(data)
    assert ranks.keys() == slow.keys()
    assert {rank: step for rank, (step, _) in ranks.items()} == {rank: step for rank, (step, _) in slow.items()}
    assert [ranks[rank][1] for rank in range(15)] == [pytest.approx(slow[rank][1]) for rank in range(15)]
