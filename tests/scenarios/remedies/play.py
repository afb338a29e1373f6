"""A program that stands, what `hangtop check` advises, and that the program goes on once it is done."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from tests.fakes.processes import PATIENCE_S

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[3]
BEGIN = """
import fcntl, os, signal, subprocess, sys, time
for step in range(3):
    print(f"step {step} loss {1 / (step + 1):.3f}", flush=True)
    time.sleep(0.1)
"""
END = '\nprint("step 3 loss 0.250", flush=True)\nprint("went on", flush=True)\n'
STANDS_S, STALL_S = 4.0, 3
"""Silence before it is asked about, and the limit then."""
WHERES = {"shell", "environment", "command line", "config", "code"}


class Stand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One program; see `stands.toml`."""

    name: str
    place: str
    remedy: str
    program: str
    by: Literal["run", "start", "recover", "edit", "type", "hand"] = "run"
    old: str = ""
    new: str = ""
    set: str = ""
    shows: str = ""
    beside: str = ""
    words: str = ""
    env: dict[str, str] = {}
    verdict: str = "hung"
    gate: bool = False
    torch: bool = False
    terminal: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stand: tuple[Stand, ...]


def stands() -> tuple[Stand, ...]:
    return msgspec.toml.decode((HERE / "stands.toml").read_bytes(), type=_File).stand


class Run:
    """The program under way in its folder."""

    def __init__(self, stand: Stand, folder: Path) -> None:
        self.stand, self.folder, self.log = stand, folder, folder / "train.log"
        self.program = folder / f"{stand.name}.py"  # the others are played beside it: none must look like one of them
        self.program.write_text(BEGIN + stand.program + END)
        (folder / "bin").mkdir()
        (folder / "bin" / "hangtop").write_text(f'#!/bin/sh\nexec {sys.executable} -m hangtop "$@"\n')
        (folder / "bin" / "hangtop").chmod(0o755)
        taken = {"port": str(_free_port()), "folder": str(folder)}
        self.env = os.environ | {name: value.format_map(taken) for name, value in stand.env.items()}
        self.tools = self.env | {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        self.beside = self._start_beside() if stand.beside else None
        self.keyboard, terminal = os.openpty() if stand.terminal else (-1, subprocess.DEVNULL)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, self.program.name, *stand.words.split()],
                cwd=folder,
                env=self.env,
                stdin=terminal,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        if stand.terminal:
            os.close(terminal)

    def _start_beside(self) -> subprocess.Popen[bytes]:
        argv = (sys.executable, "-c", self.stand.beside)
        other = subprocess.Popen(argv, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        assert other.stdout is not None
        other.stdout.readline()
        return other

    def has(self, text: bytes) -> bool:
        return text in self.log.read_bytes()

    def stands_still(self) -> None:
        """Wait until its steps are done and it was silent for long enough."""
        ends = time.monotonic() + PATIENCE_S
        while not self.has(b"step 2") or time.time() - self.log.stat().st_mtime < STANDS_S:
            assert time.monotonic() < ends, f"{self.stand.name} never stood: {self.log.read_text()}"
            time.sleep(0.05)

    def check(self) -> dict[str, Any]:
        """What hangtop says."""
        words = ("check", "--log", str(self.log), "--stall", str(STALL_S), "--ray", "off", "--json")
        told: dict[str, Any] = json.loads(self.hangtop(*words).stdout)
        return told

    def hangtop(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        argv = (sys.executable, "-m", "hangtop", *words)
        return subprocess.run(argv, cwd=self.folder, env=self.tools, capture_output=True, check=False, timeout=PATIENCE_S)

    def mend(self, remedy: Mapping[str, str]) -> str:
        """Do what the remedy says; what was done, in words."""
        stand, run = self.stand, ("--log", str(self.log), "--stall", str(STALL_S), "--ray", "off", "--yes")
        if stand.shows:
            assert stand.shows in (said := self._shell(remedy["paste"])), said
        match stand.by:
            case "run":
                return self._shell(remedy["paste"])
            case "hand":
                return self._shell(stand.set)
            case "type":
                os.write(self.keyboard, f"{stand.set}\n".encode())
                return "typed"
            case "recover":
                words: Sequence[str] = ("recover", *run)
            case "edit":
                text = self.program.read_text()
                assert stand.old in text
                self.program.write_text(text.replace(stand.old, stand.new))
                words = ("restart", *run)
            case "start":
                words = ("restart", *run, "--env", stand.set or remedy["paste"])
        return self.hangtop(*words).stdout.decode(errors="replace")

    def _shell(self, command: str) -> str:
        done = subprocess.run(
            ["sh", "-c", command], cwd=self.folder, env=self.tools, capture_output=True, check=False, timeout=PATIENCE_S
        )
        return f"{command}: {(done.stdout + done.stderr).decode(errors='replace')}"

    def went_on(self) -> bool:
        """Whether it came to its end, after a while."""
        ends = time.monotonic() + PATIENCE_S / 3
        while not self.has(b"went on"):
            if time.monotonic() > ends:
                return False
            time.sleep(0.05)
        return True

    def end(self) -> None:
        """End it, and what was started of it."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.stand.terminal:
            os.close(self.keyboard)
        if self.beside is not None:
            self.beside.kill()
            self.beside.communicate()
        self.process.wait()
        if self.stand.by not in ("run", "type", "hand") and not self.has(b"went on"):
            self.hangtop("stop", "--log", str(self.log), "--yes")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def play(stand: Stand, folder: Path) -> None:
    """Start it, ask, do as told, and see it go on. Raises `AssertionError`."""
    run = Run(stand, folder)
    try:
        run.stands_still()
        _mended(run)
    finally:
        run.end()


def _mended(run: Run) -> None:
    told = run.check()
    assert told["verdict"] == run.stand.verdict, (told["verdict"], told["headline"])
    first = told["advice"][0]
    assert first["place"] == run.stand.place, [(each["place"], each["cause"]) for each in told["advice"]]
    assert {each["where"] for each in told["advice"]} <= WHERES
    remedies = [each for each in told["advice"] if each["remedy"].startswith(run.stand.remedy)]
    assert remedies, [each["remedy"] for each in told["advice"]]
    done = run.mend(remedies[0])
    assert run.went_on(), done
