"""Chinese in a real terminal: characters that take two cells leave every line as wide as it was."""

from __future__ import annotations

import os
import sys

import pytest
from rich.cells import cell_len

from tests.fakes.screen_terminal import Terminal

SIZES = ((80, 24), (120, 40))
PLAY = """
import asyncio, sys
from msgspec.structs import replace
from tests.app import test_findings
from tests.live import play_in_terminal
real = play_in_terminal.session
def session(name):
    spec, readings, at = real(name)
    log = lambda reading: (
        replace(reading, value=test_findings.in_chinese(reading.value)) if reading.source == "log" else reading
    )
    return spec, [log(reading) for reading in readings], at
play_in_terminal.session = session
play_in_terminal.main("crashed", "--calm")
"""


@pytest.mark.parametrize("size", SIZES)
def test_a_real_terminal_shows_chinese_where_it_belongs(size, tmp_path):
    columns, _ = size
    program = tmp_path / "play.py"
    program.write_text(PLAY)
    with Terminal(sys.executable, str(program), size=size, PYTHONPATH=os.pathsep.join(sys.path)) as terminal:
        terminal.until(lambda text: "CRASHED" in text and "q quit" in text, "the screen")
        terminal.press(b"\r")

        def whole(text: str) -> bool:
            shown = text.splitlines()
            ruled = any("Findings" in line and line.rstrip().endswith("──") for line in shown)
            return ruled and any("cause" in line and "显存" in line for line in shown) and "减小" in text

        shown = terminal.until(whole, "the page of findings").splitlines()
        assert all(cell_len(line.rstrip()) <= columns for line in shown)
