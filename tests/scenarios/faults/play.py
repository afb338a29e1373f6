"""Plays one row: the program in a terminal of its own, what it must say, a key, `q`, and what is left afterwards."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import time
import tomllib
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.fakes.nvml.stand_in import StandInDriver
from tests.fakes.screen_terminal import Terminal
from tests.scenarios.faults.sick_dashboard import answering
from tests.scenarios.faults.steps import take

ROWS = Path(__file__).with_name("rows.toml")
SAID_WITHIN_S = 45.0
SETTLED_S = 3.0
"""The first lines stand before the log is followed: what is done to it then would be its past."""
ENDED_WITHIN_S = 20.0
MARK = "HANGTOP_FAULT_ROW"
FIRST = "step:1/400 loss:0.1\nstep:2/400 loss:0.09\n"


class Row(Struct, frozen=True, forbid_unknown_fields=True):
    """A fault, as `rows.toml` explains. `exits`: hangtop refuses to start. `plain`: it paints no screen. `root`: needs its
    rights."""

    id: str
    shows: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]
    hides: tuple[str, ...] = ()
    driver: str = ""
    driver_then: str = ""
    log: tuple[str, ...] = ()
    log_then: tuple[str, ...] = ()
    dashboard: str = ""
    env: dict[str, str] = {}
    limits: dict[str, int] = {}
    options: tuple[str, ...] = ()
    exits: bool = False
    plain: bool = False
    not_root: bool = False
    small_disk: bool = False
    under: tuple[str, ...] = ()
    root: bool = False
    files: dict[str, str] = {}
    logs: tuple[str, ...] = ()
    keys: str = ""


class Played(Struct, frozen=True):
    """What became of a row at one size. `wrong`: in words, empty when all held. Seconds: on a machine that may be busy."""

    row: str
    size: tuple[int, int]
    wrong: tuple[str, ...]
    said_s: float = 0.0
    key_s: float = 0.0
    quit_s: float = 0.0
    screen: str = ""


def rows() -> list[Row]:
    return msgspec.convert(tomllib.loads(ROWS.read_text())["row"], list[Row])


def is_possible(row: Row) -> bool:
    """Whether this user may make the fault, on this machine."""
    is_root = os.geteuid() == 0
    return not (row.not_root if is_root else row.root) and (not row.under or _starts_python(row.under))


STARTS = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"


def _starts_python(under: tuple[str, ...]) -> bool:
    """Whether the command is here, and Python starts Python under it: not as another user from a folder of ours."""
    command = [*under, sys.executable, "-c", STARTS]
    return shutil.which(under[0]) is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


def play(row: Row, size: tuple[int, int], folder: Path) -> Played:
    """Play it in this empty folder."""
    log, mark = folder / "train.log", uuid.uuid4().hex
    log.write_text(FIRST)
    for step in row.log:
        take(step, log)
    with ExitStack() as stack:
        given = [each.replace("{folder}", str(folder)) for each in row.logs or (str(log),)]
        options = [word.replace("{folder}", str(folder)) for word in row.options]
        command = [*row.under, sys.executable, "-m", "hangtop", *(word for each in given for word in ("--log", each)), *options]
        environment = {"XDG_STATE_HOME": str(folder / "state"), **row.env, MARK: mark}
        for name, text in row.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        if row.files:
            environment["XDG_CONFIG_HOME"] = str(folder / "config")
        driver = StandInDriver(folder, row.driver) if row.driver else None
        if driver is not None:
            own = {"LD_LIBRARY_PATH", "FAKENVML_STATE", "FAKENVML_COUNTS"}
            environment |= {name: value for name, value in driver.environment.items() if name in own}
        if row.dashboard:
            command += ["--ray", stack.enter_context(answering(row.dashboard))]
        if row.small_disk:
            command += ["--record", str(stack.enter_context(small_disk(folder)) / "s.hangtop")]
        for name, most in row.limits.items():
            stack.enter_context(limited(name, most))
        terminal = stack.enter_context(Terminal(*command, size=size, **environment))
        return _looked_at(row, size, terminal, driver, log, mark)


def _looked_at(row: Row, size: tuple[int, int], terminal: Terminal, driver: StandInDriver | None, log: Path, mark: str) -> Played:
    wrong: list[str] = []
    began = time.monotonic()
    if row.driver_then or row.log_then:
        _comes(terminal, "step:2/400")
        terminal.read(SETTLED_S)
        if driver is not None and row.driver_then:
            driver.says(row.driver_then)
        for step in row.log_then:
            take(step, log)
    if row.keys:
        _comes(terminal, "step:2/400")
        terminal.read(SETTLED_S)
        terminal.press(row.keys.encode())
    wrong += [f"does not say {said!r}" for said in row.shows if not _comes(terminal, said)]
    said_s, shown = time.monotonic() - began, terminal.shown()
    wrong += [f"shows {hidden!r}" for hidden in row.hides if hidden in shown]
    wrong += ["a traceback"] if b"Traceback" in terminal.output else []
    key_s = 0.0
    if row.keys:  # back from its page
        terminal.press(b"\x1b")
        _until_left(terminal, shown)
    if not (row.exits or row.plain):
        key_s = _seconds_until(terminal, b"?", r"Esc")
        wrong += [] if key_s < SAID_WITHIN_S else ["? is not answered"]
        helped = terminal.shown()
        terminal.press(b"\x1b")
        _until_left(terminal, helped)
    terminal.press(b"" if row.exits else b"q")
    began = time.monotonic()
    while terminal.process.poll() is None and time.monotonic() - began < ENDED_WITHIN_S:
        terminal.read(0.02)
    quit_s = time.monotonic() - began
    wrong += [] if terminal.process.poll() is not None else ["q does not end it"]
    terminal.read(0.1)
    painted = b"\x1b[?1049h" in terminal.output
    wrong += ["the screen is not given back"] if painted and b"\x1b[?1049l" not in terminal.output else []
    left = _left_of(mark)
    wrong += [f"left behind: {', '.join(left)}"] if left else []
    return Played(row.id, size, tuple(wrong), said_s, key_s, quit_s, shown)


def _comes(terminal: Terminal, said: str) -> bool:
    return _seconds_until(terminal, b"", said) < SAID_WITHIN_S


def _until_left(terminal: Terminal, page: str) -> None:
    """Until something else stands there: Escape and `q` in one breath are another key."""
    end = time.monotonic() + ENDED_WITHIN_S
    terminal.read(0.3)
    while terminal.shown() == page and time.monotonic() < end:
        terminal.read(0.1)


def _seconds_until(terminal: Terminal, key: bytes, said: str) -> float:
    """Until this stands on the screen, or the bound."""
    began = time.monotonic()
    if key:
        terminal.press(key)
    while (took_s := time.monotonic() - began) < SAID_WITHIN_S:
        ended = terminal.process.poll() is not None and not terminal.read(0.1)
        painted = b"\x1b[?1049h" in terminal.output
        if re.search(said, terminal.shown() if painted else terminal.output.decode(errors="replace")):
            return took_s
        if ended:
            return SAID_WITHIN_S
        terminal.read(0.05)
    return SAID_WITHIN_S


def _left_of(mark: str) -> list[str]:
    """Processes that hangtop started and that do not go away."""
    end = time.monotonic() + ENDED_WITHIN_S
    while left := _marked(mark):
        if time.monotonic() > end:
            return left
        time.sleep(0.1)
    return []


def _marked(mark: str) -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes()
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environ:
            found.append(f"{pid} {command[:80]}")
    return found


@contextmanager
def limited(name: str, most: int) -> Iterator[None]:
    """A limit for what is started meanwhile."""
    kind = getattr(resource, f"RLIMIT_{name.upper()}")
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system with room for little; needs the right to mount."""
    place = folder / "disk"
    place.mkdir()
    subprocess.run(("mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(place)), check=True)
    try:
        yield place
    finally:
        subprocess.run(("umount", "-l", str(place)), check=False)
