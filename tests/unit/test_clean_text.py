"""Foreign text never reaches a terminal raw."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hangtop.common.clean_text import LONGEST_LINE, clean_text, decode, encoding_of


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[36m(WorkerDict pid=1)\x1b[0m step 3", "(WorkerDict pid=1) step 3"),
        ("\x1b]0;your title\x07hello", "hello"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x1bPq#0;2;0\x1b\\after a picture", "after a picture"),
        ("\x1b(B\x1b[2K\x1b[1A12/60", "12/60"),
        ("a\tb", "a    b"),
        ("null\x00hole\x7f bell\x07", "nullhole bell"),
        ("turned \u202eround\u202c", "turned round"),
        ("\ufeff数据集 ✓ 用时 3 秒", "数据集 ✓ 用时 3 秒"),
        ("[rank0] [/dev/shm] stay", "[rank0] [/dev/shm] stay"),
        ("cut off \x1b[3", "cut off "),
        ("a title \x1b]0;without end\x1b[31m red", "a title  red"),
    ],
)
def test_codes_are_taken_out_and_text_stays(raw: str, shown: str) -> None:
    assert clean_text(raw) == shown


@given(st.binary())
def test_no_bytes_at_all_leave_a_control_code(raw: bytes) -> None:
    assert all(char.isprintable() or char.isspace() or ord(char) > 0xA0 for char in clean_text(decode(raw)))
    assert not set(clean_text(decode(raw))) & {chr(code) for code in (*range(32), *range(0x7F, 0xA0))}


@pytest.mark.timeout(20)
def test_many_strings_without_end_do_not_hold_it_up() -> None:
    """In quadratic time these take minutes."""
    assert clean_text(("\x90" * 100_000 + "\x1b[0m") * 2 + "end") == "end"


def test_a_long_line_is_cut_before_it_is_decoded() -> None:
    assert len(decode(b"x" * 100_000_000)) == LONGEST_LINE


def test_the_byte_order_mark_tells_the_encoding() -> None:
    assert encoding_of("\ufeffx".encode("utf-16-le")) == "utf-16-le"
    assert encoding_of("\ufeffx".encode("utf-16-be")) == "utf-16-be"
    assert encoding_of("\ufeffx".encode()) == "utf-8"
