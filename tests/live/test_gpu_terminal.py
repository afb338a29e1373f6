"""hangtop itself in a terminal, on a GPU driver that hangs: the clock and the keys go on, and `q` gives the prompt back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.fakes.nvml.stand_in import StandInDriver
from tests.fakes.screen_terminal import Terminal, quits_at_once

SIZE = (120, 40)


def hangtop_on(driver: StandInDriver, folder: Path) -> Terminal:
    log = folder / "train.log"
    log.write_text("step:1/400 loss:0.1\n")
    own = {"LD_LIBRARY_PATH", "FAKENVML_STATE", "FAKENVML_COUNTS"}
    environment = {name: value for name, value in driver.environment.items() if name in own}
    command = (sys.executable, "-m", "hangtop", "--log", str(log), "--sources", "log,procs,gpu")
    return Terminal(*command, size=SIZE, **environment)


@pytest.mark.parametrize(
    ("state", "shows"),
    [
        ("gpus 8\ngpu 5 fail=hang", "1 no answer"),
        ("gpus 8\nglobal_lock 1\ngpu 5 fail=hang_d", "no answer for"),
        ("gpus 8\ngpu * fail=slow:1500", "late: "),
    ],
)
def test_a_driver_that_hangs_live_is_shown_and_left_at_once(tmp_path: Path, state: str, shows: str) -> None:
    driver = StandInDriver(tmp_path, "gpus 8")
    with hangtop_on(driver, tmp_path) as terminal:
        terminal.until(lambda text: "8 × H100 80G" in text, "eight GPUs")
        driver.says(state)
        terminal.until(lambda text: shows in text, shows)
        with (tmp_path / "train.log").open("a") as log:
            log.write("step:2/400 loss:0.09\n")
        terminal.until(lambda text: "step:2/400" in text, "the log going on")
        terminal.press(b"?")
        terminal.until(lambda text: "Esc back" in text, "help by its key")
        terminal.press(b"\x1b")
        terminal.until(lambda text: shows in text, "the way back from help")
        quits_at_once(terminal)


@pytest.mark.parametrize(
    ("state", "shows"),
    [
        ("init hang", "nvmlInit has not returned"),
        ("gpus 2\ngpu * fail=hang", "it never gave a value"),
        ("init mismatch", "differ in version"),
    ],
)
def test_a_driver_that_fails_before_the_start_keeps_nothing_back(tmp_path: Path, state: str, shows: str) -> None:
    with hangtop_on(StandInDriver(tmp_path, state), tmp_path) as terminal:
        terminal.until(lambda text: "step:1/400" in text, "the log")
        terminal.until(lambda text: shows in text, shows)
        quits_at_once(terminal)


def test_quitting_in_the_first_second_of_a_hung_start_is_quick_as_well(tmp_path: Path) -> None:
    with hangtop_on(StandInDriver(tmp_path, "init hang"), tmp_path) as terminal:
        terminal.until(lambda text: "q quit" in text, "a first paint")
        quits_at_once(terminal)
