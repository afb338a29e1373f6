"""How values read on screen."""

from __future__ import annotations

import ast
import math
from itertools import pairwise
from pathlib import Path

import pytest
from rich.cells import cell_len

from hangtop.common import text


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (3.9, "3s"),
        (59.9, "59s"),
        (60, "1:00"),
        (151, "2:31"),
        (3599, "59:59"),
        (3600, "1h00"),
        (6180, "1h43"),
        (86400, "1d00h"),
        (250358, "2d21h"),
        (-4, "0s"),
        (None, "?"),
        (math.inf, "?"),
        (math.nan, "?"),
    ],
)
def test_a_duration_is_short_and_never_invented(seconds, shown):
    assert text.duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "<5s"), (4.9, "<5s"), (5, "5s"), (14, "10s"), (59, "55s"), (60, "1:00"), (79, "1:10"), (None, "?")]
)
def test_an_age_goes_in_steps_so_that_tables_stand_still(seconds, shown):
    assert text.age(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (812, "812 B"),
        (1024, "1.0 K"),
        (38912, "38 K"),
        (217000, "212 K"),
        (50551193, "48.2 M"),
        (2040109466, "1.9 G"),
        (3 * 2**40, "3.0 T"),
        (5000 * 2**40, "5000 T"),
        (None, "?"),
    ],
)
def test_sizes_count_in_powers_of_1024(count, shown):
    assert text.size(count) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.119, "0.119"),
        (2.184, "2.184"),
        (4.9e-05, "4.9e-5"),
        (812.3, "812"),
        (0.0, "0.000"),
        (-0.5, "−0.500"),
        (1000000000.0, "1.0e9"),
        (math.nan, "NaN"),
        (math.inf, "Inf"),
        (-math.inf, "−Inf"),
        (None, "?"),
    ],
)
def test_metrics_stay_within_eight_cells_and_show_what_is_no_number(value, shown):
    assert text.metric(value) == shown
    assert len(text.metric(value)) <= 8


@pytest.mark.parametrize(
    ("seconds", "shown"), [(50.94, "50.9"), (1.9, "1.9"), (0.25, "0.25"), (0.034, "0.03"), (0, "0.0"), (None, "?")]
)
def test_seconds_a_step(seconds, shown):
    assert text.pace(seconds) == shown


@pytest.mark.parametrize(
    ("part", "filled"),
    [(0, ""), (0.001, "╸"), (0.25, "━╸"), (0.5, "━━━"), (1, "━━━━━━"), (7, "━━━━━━"), (-1, ""), (math.nan, "")],
)
def test_a_bar_is_always_as_wide_as_it_should_be(part, filled):
    got, track = text.bar(part, 6)
    assert got == filled
    assert len(got + track) == 6


def test_a_spark_runs_from_the_least_to_the_greatest_and_leaves_gaps():
    assert text.spark([0, 1, 2, 3, 4, 5], 6) == "▁▂▃▄▅▆"
    assert text.spark([0, math.nan, None, 5], 6) == "▁  ▆"
    assert text.spark([1, 2, 3], 2) == "▁▆"
    assert set(text.spark([7, 7, 7], 3)) == {"▃"}
    assert text.spark([], 5) == text.spark([math.nan], 5) == text.spark([1.0], 0) == ""


def test_ranks_fold_to_ranges():
    assert text.rank_ranges([]) == ""
    assert text.rank_ranges([4, 0, 1, 2, 5, 6, 7, 4]) == "0-2 4-7"
    assert text.rank_ranges([3]) == "3"
    assert text.rank_ranges(range(1024)) == "0-1023"


def test_ascii_stand_ins_keep_the_width():
    assert text.ascii_only("▸ ■ HUNG −1 ━━╸── ▁▆ ×7 …") == "> # HUNG -1 ===-- _# x7 ~"
    assert text.ascii_only("损失 ok é") == "???? ok ?"
    assert text.ascii_only("plain [/dev/shm]") == "plain [/dev/shm]"


def test_nothing_that_steers_a_terminal_gets_through():
    assert text.printable("a\x1b]0;b\x07\u202ec\x9b2J") == "a?]0;b??c?2J"
    assert text.ascii_only("\x1b[2J") == "?[2J"
    assert text.printable("损失 ━ ok") == "损失 ━ ok"


def test_counting_words():
    assert [text.some(n, "rank") for n in (0, 1, 8, 1024)] == ["0 ranks", "1 rank", "8 ranks", "1,024 ranks"]


def test_sentences_break_between_words_and_chinese_ones_between_characters_within_the_cells():
    chinese = (
        "工作进程没了，driver 只看到损失。exit detail 说明原因："
        "SYSTEM_ERROR / connection error code 2 是被杀或崩溃（内存、段错误）。"
    )
    for width in range(12, 60):
        lines = text.wrap(chinese, width)
        assert max(cell_len(line) for line in lines) <= width
        assert "".join(lines).replace(" ", "") == chinese.replace(" ", "")
        assert not [line for line in lines if line[0] in "，。；：）、"]
    assert text.wrap("  two words  and more", 9) == ["two words", "and more"]
    assert text.wrap("/a/path/that/is/too/long x", 10) == ["/a/path/th", "at/is/too/", "long x"]
    assert text.wrap("", 10) == [""]
    assert text.wrap(" two  words, “quoted”  ", 80) == ["two  words, “quoted”"]


def test_a_moment_of_another_day_carries_its_day() -> None:
    now = 1_700_000_000.0
    assert text.moment(now - 60, now) == text.clock(now - 60)
    assert text.moment(now - 4 * 86_400, now).endswith(text.clock(now - 4 * 86_400))
    assert len(text.moment(now - 4 * 86_400, now)) == len("17 Nov 15:27:27")
    assert text.moment(None, now) == text.clock(None)


@pytest.mark.parametrize(
    ("environment", "encoding", "spoken"),
    [
        ({}, "utf-8", True),
        ({"LANG": "en_US.UTF-8"}, "UTF-8", True),
        ({"LANG": "C"}, "utf-8", False),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, "utf-8", False),
        ({"LC_ALL": "", "LANG": "C.UTF-8"}, "utf-8", True),
        ({"LANG": "en_US"}, "ISO-8859-1", False),
    ],
)
def test_utf_8_is_written_to_who_reads_it(environment: dict[str, str], encoding: str, spoken: bool) -> None:
    assert text.speaks_utf8(environment, encoding) is spoken


def test_a_chart_is_as_tall_as_its_lines() -> None:
    assert text.chart([0.0, 50.0, 100.0, None, 200.0], 2, 100.0) == ["  █ █", "▁██ █"]
    assert text.chart([12.5, 56.25], 2, 100.0) == [" ▁", "▂█"]


def test_plurals() -> None:
    assert [text.some(n, noun) for n, noun in ((1, "GPU"), (0, "rank"), (2, "process"), (1_024, "class"))] == [
        "1 GPU",
        "0 ranks",
        "2 processes",
        "1,024 classes",
    ]
    assert [text.plural(2, noun) for noun in ("entry", "key", "box", "match")] == ["entries", "keys", "boxes", "matches"]
    assert (text.every(1, "process"), text.every(3, "rank")) == ("the process", "all 3 ranks")
    assert text.numbered("rank", (2,)) == "rank 2"


def test_nobody_else_makes_plurals() -> None:
    """A number before a noun that ends with s, in an f-string, says `1 GPUs` sooner or later."""
    nouns = "GPUs ranks processes nodes files lines steps stages sessions actors workers pids paths looks errors cores".split()
    told = []
    for path in sorted(Path(text.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            parts = node.values if isinstance(node, ast.JoinedStr) else []
            for value, after in pairwise(parts):
                words = after.value.split() if isinstance(after, ast.Constant) and after.value.startswith(" ") else []
                if isinstance(value, ast.FormattedValue) and words and words[0].strip(".,:;)") in nouns:
                    told.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert not told
