"""What floods a log is read in passing: nothing is lost that matters, and nothing else is lost beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hangtop.logs.digest import Digest
from hangtop.logs.extract import line_sampling, repeated_literals
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines import split
from hangtop.logs.lines.block_lines import Lines
from hangtop.logs.lines.split import Block
from hangtop.logs.lines.timestamps import LogClock
from tests.fakes.read_log import INDEX

ERROR = b"[rank3]: RuntimeError: CUDA error: device-side assert triggered\n"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kB are a flood, so that the logs of these tests may be short."""
    monkeypatch.setattr(split, "BLOCK", 16 << 10)
    monkeypatch.setattr(line_sampling, "FLOOD", 128)
    monkeypatch.setattr(repeated_literals, "EDGE", 16)
    monkeypatch.setattr(line_sampling, "LARGE", 1 << 10)


def facts(data: bytes) -> FileFacts:
    digest = Digest(INDEX, 0)
    digest.feed(data)
    return digest.facts()


def steps(data: bytes) -> dict[int | None, float | None]:
    return {writer.rank: each.step for writer in facts(data).writers for each in writer.progress}


def test_a_storm_of_one_message_is_counted_to_the_last() -> None:
    finding = next(each for each in facts(ERROR * 3_000).findings if each.id == "cuda.device_assert")
    assert finding.count == 3_000
    assert finding.last_offset == len(ERROR) * 2_999


def test_another_message_in_the_middle_of_a_storm_is_found() -> None:
    other = b"[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.34 GiB. GPU 5\n"
    found = {each.id: each for each in facts(ERROR * 2_000 + other + ERROR * 2_000).findings}
    assert found["cuda.oom"].rank == 5


def test_the_rank_that_spoke_least_in_a_flood_of_steps_keeps_its_step() -> None:
    flood = [b"[rank%d]:2026-03-01 10:00:00 INFO train step %d/9000 loss=0.5\n" % (n % 4, n // 4) for n in range(8_000)]
    flood[4_321] = b"[rank9]:2026-03-01 10:00:00 INFO train step 77/9000 loss=0.5\n"
    assert steps(b"".join(flood)) == {0: 1999, 1: 1999, 2: 1999, 3: 1999, 9: 77}


@pytest.mark.parametrize(("apart", "walks"), [(False, 1), (True, 2)])
def test_words_that_flood_the_same_lines_are_looked_for_once_and_lines_of_their_own_are_read(
    monkeypatch: pytest.MonkeyPatch, apart: bool, walks: int
) -> None:
    walked: dict[int, set[bytes]] = {}
    walk = repeated_literals._newest_rows

    def counted(lines: Lines, literal: bytes) -> Iterator[int]:
        walked.setdefault(lines.block.offset, set()).add(literal)
        return walk(lines, literal)

    monkeypatch.setattr(repeated_literals, "_newest_rows", counted)
    flood = [b"[rank%d]: train step %d/9000 loss=0.5 90 tok/s\n" % (n % 4, n // 4) for n in range(8_000)]
    if apart:
        flood += [b"[rank9]: --> [  %d/9000] L=0.5 | 90 tok/s\n" % n for n in range(40)]
    told = steps(b"".join(flood))
    assert told == {0: 1999, 1: 1999, 2: 1999, 3: 1999} | ({9: 39} if apart else {})
    assert max(map(len, walked.values())) == walks


@pytest.mark.parametrize("who", [b"[worker %d]", b"(trainer %d)", b"Proc#%d -"])
def test_however_a_launcher_numbers_its_members_each_keeps_its_newest_step(who: bytes) -> None:
    lines = [b"2026-03-01 10:00:00 INFO " + who % (n % 8) + b" step %d/9000 loss=0.5\n" % (n // 8) for n in range(4_000)]
    told = {writer.writer: each.step for writer in facts(b"".join(lines)).writers for each in writer.progress}
    assert list(told.values()) == [499] * 8


ROWS = st.sampled_from(
    [
        b"[rank0]: step 7/9",
        b"[rank11]: step 7/9",
        b"[rank1]: step 8/9 after step 7",
        b"[rank1]: loading",
        b"2026-03-01 10:00:00,1 INFO rank 3 step 4/9",
        b"2026-03-01T10:00:09 rank 3 step 5/9",
        b"n1:41:99 [0] step 1",
        b"(Worker pid=3) step 2/9",
        b"rank 6 is late",
        b"",
    ]
)


@given(rows=st.lists(ROWS, max_size=60), window=st.integers(1, 400))
def test_whole_rows_are_searched_as_pieces_are(rows: list[bytes], window: int) -> None:
    lines = Lines(Block(b"\n".join(rows), 0), LogClock())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeated_literals, "WINDOW", window)
        assert set(repeated_literals._newest_rows(lines, b"step ")) == set(repeated_literals._newest_pieces(lines, b"step "))


def test_ranks_that_lines_name_at_their_ends_are_told_apart() -> None:
    rows = [b"10:00:%02d step %d/9 loss 1 rank=%d" % (n, n, n % 5) for n in range(60)]
    lines = Lines(Block(b"\n".join([*rows, b"rank 6 is late", b""]), 0), LogClock())
    found = [lines.raw(lines.span(place)) for place in repeated_literals._newest_rows(lines, b"step ")]
    assert found[:5] == rows[:-6:-1]
    assert len(found) < 10, "the older ones are skipped"


def test_a_writer_named_behind_the_literal_in_its_parentheses_is_one_of_its_own() -> None:
    lines = Lines(Block(b"".join(b"(Worker pid=%d) step 1/9\n" % (n % 7) for n in range(60)), 0), LogClock())
    assert len(list(repeated_literals._newest_rows(lines, b"pid="))) == 7


@pytest.mark.parametrize("stamp", [b"2026-03-01T10:00:%02d ", b"[2026-03-01 10:00:%02d,123] "])
def test_the_time_at_the_start_of_a_line_names_nobody(stamp: bytes) -> None:
    lines = Lines(Block(b"".join(stamp % n + b"step 1/9\n" for n in range(60)), 0), LogClock())
    assert len(list(repeated_literals._newest_rows(lines, b"step "))) == 1


def test_what_comes_seldom_after_a_flood_is_read_to_the_last_line() -> None:
    noise = b"dataloader worker fetched a shard of the data set in no time at all\n" * 400
    assert steps(b"[rank1]: step 1/9 \n" * 4_000 + noise + b"(WorkerDict pid=41) step 5/9 \n[rank1]: step 6/9 \n")[1] == 6
