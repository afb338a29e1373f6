"""Bytes become blocks of whole lines, and nothing is lost or torn on the way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hangtop.logs.lines import split
from hangtop.logs.lines.split import Block, Blocks


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "BLOCK", 64)
    monkeypatch.setattr(split, "LONGEST_CARRY", 32)
    monkeypatch.setattr(split, "OVERLAP", 8)


def blocks(*chunks: bytes) -> list[Block]:
    made = Blocks()
    found = [block for chunk in chunks for block in made.feed(chunk)]
    return found + list(made.flush())


def joined(found: list[Block]) -> bytes:
    return b"".join(block.data[block.seen :] for block in found)


@given(data=st.binary(max_size=400).filter(lambda data: data[:2] not in (b"\xff\xfe", b"\xfe\xff")))
def test_every_byte_comes_once(data: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split, "BLOCK", 64)
        patch.setattr(split, "LONGEST_CARRY", 32)
        patch.setattr(split, "OVERLAP", 8)
        found = blocks(data)
    data = data.replace(b"\0", b"\n")  # it ends a line
    assert joined(found) == data
    assert all(data[block.offset : block.offset + len(block.data)] == block.data for block in found)


def test_a_line_behind_a_hole_of_nulls_is_a_line() -> None:
    """A file that was emptied under a writer which keeps its place has such a hole (copytruncate without O_APPEND)."""
    *_, last = blocks(b"before\n", bytes(1 << 20), bytes(1 << 20), b"behind\n")
    assert last.data.endswith(b"\nbehind\n")
    assert not last.head.strip()


def test_a_block_ends_with_a_line() -> None:
    first, *_ = blocks(b"twenty bytes a line\n" * 10)
    assert first.data == b"twenty bytes a line\n" * 3


def test_a_bar_that_never_ends_its_line_is_cut_at_its_returns_and_knows_its_head() -> None:
    first, second, *_ = blocks(b"(W pid=1) \r" + b"10%| 1/10\r" * 20)
    assert first.data.endswith(b"\r")
    assert second.head == b"(W pid=1) \r10%| 1/10\r10%| 1/10\r10%| 1/10\r10%| 1/10\r10%| 1/10\r"[: len(second.head)]


def test_a_line_without_end_is_cut_by_force_with_an_overlap() -> None:
    first, second, *_ = blocks(b"x" * 200)
    assert (len(first.data), second.offset, second.seen) == (64, 56, 8)


def test_the_last_line_is_shown_before_it_ends_and_comes_again_when_it_has() -> None:
    made = Blocks()
    list(made.feed(b"one\ntw"))
    assert [(block.data, block.open) for block in made.flush()] == [(b"one\n", False), (b"tw", True)]
    assert list(made.flush()) == []
    list(made.feed(b"o\n"))
    assert [(block.data, block.offset, block.open) for block in made.flush()] == [(b"two\n", 4, False)]


def test_utf_16_is_read_at_the_offsets_of_the_file() -> None:
    raw = "\ufeffab\nç𝄞\nend".encode("utf-16-le")
    found = blocks(raw[:3], raw[3:])
    text = b"".join(block.data for block in found).decode()
    assert text == "\ufeffab\nç𝄞\nend"
    first, last = found[0], found[-1]
    assert raw[last.at(0) :].decode("utf-16-le") == "end"
    assert raw[first.at(first.data.index("𝄞".encode())) :].decode("utf-16-le").startswith("𝄞")
