"""The log's end is on the terminal while the screen is still loading; keys typed then are the screen's, nothing else stays."""

from __future__ import annotations

import signal
import sys
import termios
from pathlib import Path

import pytest

from hangtop.cli.first_picture import picture
from hangtop.records.log import LogFile, LogLine, LogReading
from hangtop.render.spans import plain, width_of
from tests.fakes.screen_terminal import Terminal

APP = b"\x1b[?1004h"
"""What the app sends when it begins."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text("step: 1 loss: 2.0\nstep: 2 loss: 1.9\n")
    return path


PATIENT = "from hangtop.cli import first_picture, main; first_picture.WITHIN_S = 60; main.main()"
"""A busy machine, too, waits for the log's end."""


def watched(log: Path) -> Terminal:
    return Terminal(sys.executable, "-c", PATIENT, "--log", str(log), "--ray", "off")


def test_the_last_lines_are_there_before_the_app_is(log: Path):
    with watched(log) as terminal:
        terminal.comes(b"loss: 1.9")
        assert APP not in terminal.output
        assert "train.log" in terminal.shown()
        terminal.comes(APP)


def test_a_key_typed_meanwhile_is_heard_and_not_shown(log: Path):
    with watched(log) as terminal:
        terminal.comes(b"loss: 1.9")
        terminal.press(b"q")
        terminal.ends()
        assert terminal.process.returncode == 0
        assert APP in terminal.output
        first = terminal.output.partition(APP)[0]
        assert b"q" not in first.partition(b"loss: 1.9")[2]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_an_end_meanwhile_leaves_the_terminal_as_it_was(log: Path, sent: signal.Signals):
    with watched(log) as terminal:
        before = termios.tcgetattr(terminal._master)
        terminal.comes(b"loss: 1.9")
        terminal.process.send_signal(sent)
        terminal.ends()
        assert b"\x1b[?1049l" in terminal.output
        assert termios.tcgetattr(terminal._master) == before


def test_secrets_are_not_shown(tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text("HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789\nstep: 2 loss: 1.9\n")
    with watched(log) as terminal:
        terminal.comes(b"loss: 1.9")
        assert "HF_TOKEN" in terminal.shown()
        assert "hf_abcdefgh" not in terminal.shown()


def test_it_fits_any_terminal():
    tail = tuple(LogLine(0, number, None, None, "", f"step {number} 训练 " + "x" * 200) for number in range(100))
    log = LogReading((LogFile(path="/runs/train.log", size_bytes=2048, modified_at=90.0),), last_output_at=90.0, tail=tail)
    for columns, lines in ((120, 40), (80, 24), (10, 3)):
        rows = picture(log, columns, lines, 100.0)
        assert len(rows) <= lines
        assert all(width_of(row) < columns for row in rows)
        assert plain(rows[-1]).startswith(" step 99")
