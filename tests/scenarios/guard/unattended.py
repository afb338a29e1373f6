"""A run of the demo under a real guard, with nobody there: what was done to it, and what became of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hangtop.demo import lifeline
from hangtop.demo.lifeline import Lifeline
from hangtop.guard.send_notice import PICTURE
from tests.fakes.receiver import Receiver

POLICY = """
keep = "{folder}/evidence"

[[when]]
event = "hung"
do = ["stacks", "bundle", "picture", "notify"]

[[when]]
event = "hung"
after = "2s"
do = "restart"

[[when]]
event = ["crashed", "finished"]
do = "notify"

[notify]
urls = ["{url}"]
every = "1s"
"""
LIMIT_S = 420


@dataclass
class Watched:
    """What a guard said and did. `code`: of the guard. `pictures`: that came with the notices."""

    folder: Path
    code: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    pictures: int = 0
    journal: str = ""

    @property
    def log(self) -> str:
        return (self.folder / "train.log").read_text(errors="replace")

    @property
    def deeds(self) -> list[tuple[str, bool | None]]:
        """What was done, in order, and whether it went well."""
        return [(event["deed"], event["went"]) for event in self.events if event["what"] == "outcome"]

    @property
    def words(self) -> list[str]:
        return [event["name"] for event in self.events if event["what"] == "verdict"]


@contextmanager
def demo(folder: Path) -> Iterator[dict[str, str]]:
    """The environment of a demo run in this folder; all its processes end with this."""
    (folder / "data").mkdir(exist_ok=True)
    held = Lifeline(folder / "demo.lifeline")
    try:
        yield {**os.environ, lifeline.ENV: str(held.path), "XDG_STATE_HOME": str(folder / "state"), "PYTHONUNBUFFERED": "1"}
    finally:
        held.cut(10.0)


def run_of(scenario: str, folder: Path) -> list[str]:
    """The command of this scenario of the demo."""
    return [sys.executable, "-P", "-m", "hangtop.demo.launcher", scenario, str(folder / "data")]


def command(scenario: str, folder: Path, *options: str) -> list[str]:
    """A guard that starts this scenario of the demo."""
    log = ["--log", str(folder / "train.log"), "--stall", "10", "--policy", str(folder / "guard.toml")]
    return [sys.executable, "-m", "hangtop", "guard", *log, *options, "--", *run_of(scenario, folder)]


def unattended(scenario: str, folder: Path, policy: str = POLICY) -> Watched:
    """Let a guard start this scenario, and leave it alone until the guard ends."""
    watched = Watched(folder)
    with Receiver().listening() as receiver, demo(folder) as environ:
        (folder / "guard.toml").write_text(policy.format(folder=folder, url=receiver.url))
        ended = subprocess.run(command(scenario, folder), env=environ, cwd=folder, capture_output=True, timeout=LIMIT_S)
        watched.pictures = sum(len(notice["attachments"]) for notice in receiver.got)
        watched.notices = [f"{notice['title']}\n{notice['message']}" for notice in receiver.got]
    watched.code, watched.journal = ended.returncode, ended.stderr.decode()
    watched.events = [json.loads(line) for line in ended.stdout.splitlines()]
    return watched


def faults_of_recovery(watched: Watched) -> list[str]:
    """What is not as it should be after a hang that a guard has mended."""
    wanted = [("stacks", True), ("bundle", True), ("picture", True), ("notify", True), ("restart", True), ("notify", True)]
    evidence = sorted(path.suffix for path in (watched.folder / "evidence").glob("*"))
    told = "\n".join(watched.notices)
    checks = {
        f"exit code {watched.code}": watched.code == 0,
        f"deeds {watched.deeds}": watched.deeds == wanted,
        f"evidence {evidence}": evidence == [".gz", f".{PICTURE}", ".txt"],
        f"pictures {watched.pictures}": watched.pictures == 1,
        f"words {watched.words}": watched.words.count("hung") == 1 and watched.words[-1] == "finished",
        f"notices {watched.notices}": all(said in told for said in ("culprit: rank 3", "why: ", "do: ", "bundle: ", "finished")),
    }
    return [what for what, is_right in checks.items() if not is_right]
