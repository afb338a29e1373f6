"""The colours that a program gave its lines: kept as numbers beside the clean text, all other escape sequences are gone."""

from __future__ import annotations

import pytest

from hangtop.common.own_colours import own_colours
from hangtop.logs.lines.block_lines import Lines
from hangtop.logs.lines.split import Block
from hangtop.logs.lines.timestamps import LogClock
from hangtop.records.log import LogLine
from hangtop.render.log.log_rows import LineLook, line_rows
from hangtop.render.log.own_ink import inked
from hangtop.tui.themes import load_palettes

RED = "\x1b[31m"


@pytest.mark.parametrize(
    ("raw", "text", "colours"),
    [
        ("plain", "plain", ""),
        (f"{RED}red\x1b[0m and", "red and", "0-3:31"),
        ("a \x1b[1;38;5;208morange\x1b[m", "a orange", "2-8:1;38;5;208"),
        ("\x1b[38;2;1;2;3mexact\x1b[39m no", "exact no", "0-5:38;2;1;2;3"),
        ("\x1b[1mb\x1b[22m \x1b[97mw", "b w", "0-1:1 2-3:97"),
        ("\x1b[41;5;8mfilled\x1b[0m", "filled", ""),
        (f"12:00 INFO {RED}said", "said", "0-4:31"),
        (f"{RED}\tx", "\tx", "0-5:31"),
        (f"{RED}\x1b]0;title\x07a\x1b[2Jb\x1b[999;999H", "ab", "0-1:31 1-2:31"),
        (f"{RED}in other words", "elsewhere", ""),
    ],
)
def test_where_a_line_is_coloured(raw: str, text: str, colours: str) -> None:
    assert own_colours(raw, text) == colours


def test_a_line_of_a_log_is_read_with_its_colours_behind_its_prefix() -> None:
    data = b"2026-01-11 10:00:00,123 - INFO - \x1b[32mgood\x1b[0m words\n"
    lines = Lines(Block(data, 0), LogClock())
    line = lines.parse(lines.span(0))
    assert line.text == "good words"
    assert line.colours == "0-4:32"


def test_they_are_painted_only_when_asked_for() -> None:
    line = LogLine(0, 0, None, None, "", "good words", "plain", "0-4:1;32")
    plain, own = (line_rows(line, 40, LineLook(inked=asked), timed=False)[0] for asked in (False, True))
    assert ("good words", "muted") in plain
    assert own[-2:] == (("good", "color(2) bold"), (" words", "muted"))


@pytest.mark.parametrize(
    "foreign",
    ["0-4:38;5;999", "9-4:31", "0-4:bold", "0-99999:31", "0-4:38;2;1", "0-2:31 1-4:32", "x", "0-4:38;5", "0-4:;;;", "0-4:1;38"],
)
def test_what_a_recording_says_breaks_no_screen(foreign: str) -> None:
    row = inked("good words", foreign, "ink")
    assert "".join(words for words, _ in row) == "good words"
    palette = load_palettes(None)["dark"]
    assert all(palette.style(role) for words, role in row if words)
