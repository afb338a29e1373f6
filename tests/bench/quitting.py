"""Seconds from `q` to the prompt, with the probe well, stopped, killed, busy, and with a driver that hangs; and from SIGHUP to
the end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median

from tests.bench.logs import LAST, scratch, write_log
from tests.bench.options import Options
from tests.bench.pty_meter import PtyMeter
from tests.bench.row import Row
from tests.fakes.nvml.stand_in import StandInDriver

RUNS = 3
SMALL = 1_000_000
SETTLED_S = 1.5


def rows(options: Options) -> Iterator[Row]:
    with scratch() as folder:
        small = write_log(folder / "small.log", SMALL)
        busy = write_log(folder / "big.log", max(options.size, 200_000_000))
        hangs = StandInDriver(folder, "init hang").environment
        for what, log, hurt, environment in (
            ("the probe well", small, None, {}),
            ("the probe stopped", small, _signal(signal.SIGSTOP), {}),
            ("the probe killed", small, _signal(signal.SIGKILL), {}),
            ("the probe busy with a big log", busy, None, {}),
            ("a GPU driver that hangs", small, None, hangs),
        ):
            took = median(_took_s(log, hurt, environment) for _ in range(RUNS))
            yield Row(f"q, {what}: until the prompt is back", took, "s", 0.3)
        took = median(_took_s(small, None, {}, leave=_hang_up) for _ in range(RUNS))
        yield Row("SIGHUP, as when the window is closed: until it has ended", took, "s", 0.1)


def _press_q(terminal: PtyMeter) -> None:
    terminal.press(b"q")


def _hang_up(terminal: PtyMeter) -> None:
    terminal.process.send_signal(signal.SIGHUP)


def _took_s(
    log: Path,
    hurt: Callable[[PtyMeter], None] | None,
    environment: Mapping[str, str],
    leave: Callable[[PtyMeter], None] = _press_q,
) -> float:
    command = (sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off")
    with PtyMeter(command, environment=environment) as terminal:
        terminal.until(LAST)
        terminal.read(SETTLED_S if "small" in log.name else 0.3)
        if hurt is not None:
            hurt(terminal)
            terminal.read(0.5)
        leave(terminal)
        return terminal.wait_gone()


def _signal(number: signal.Signals) -> Callable[[PtyMeter], None]:
    def hurt(terminal: PtyMeter) -> None:
        for probe in terminal.probes:
            probe.send_signal(number)

    return hurt
