"""`hangtop doctor`: all checks side by side, within ten seconds."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import TextIO

import msgspec

from hangtop.common.text import cells, printable
from hangtop.doctor import environment, inputs, launch_line, machine_limits, network, observed, packages, ray_address
from hangtop.doctor.check_types import Check, Checker, Subject, unknown
from hangtop.doctor.trials import trial
from hangtop.logs.catalog.load import load
from hangtop.logs.digest import Digest
from hangtop.logs.extract.framework_votes import active, leading
from hangtop.system.processes.training_commands import framework_of
from hangtop.translations import say

DEADLINE_S = 9.5
HEAD_BYTES = 1 << 20
"""So much of a log is read to find the framework."""
CHECKERS: dict[str, Checker] = {
    "gpu, leftovers, ray": observed.observed,
    "Ray's address": ray_address.addresses,
    "packages": packages.versions,
    "disk": machine_limits.disks,
    "quota": machine_limits.quota,
    "clock": machine_limits.clock,
    "shared memory": machine_limits.shared_memory,
    "memory": machine_limits.memory,
    "limits": machine_limits.limits,
    "master": network.master,
    "launch line": launch_line.launch_line,
    "interfaces": network.interfaces,
    "host name": network.own_name,
    "settings": environment.settings,
    "group timeout": environment.timeouts,
    "hub": environment.hub,
    "paths": inputs.paths,
    "rights": machine_limits.looking,
    "trials": trial.offers,
}
"""Every group of checks, by the name that is shown when it does not end in time."""
SIGNS = {"ok": "✓", "warn": "▲", "fail": "✗", "unknown": "?"}


def subject_of(command: tuple[str, ...], environ: Mapping[str, str], cwd: str, framework: str | None = None) -> Subject:
    """What will run: leading `NAME=value` words are its environment, and a Python that it names is its interpreter. `framework`:
    that of an earlier log, when the command names none."""
    words = list(command)
    environ = dict(environ)
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        name, _, value = words.pop(0).partition("=")
        environ[name] = value
    return Subject(tuple(words), cwd, environ, _interpreter(words), framework_of([" ".join(words)]) or framework)


def framework_in(log: Path) -> str | None:
    """The framework that the start of an earlier log shows; `None` when it is unknown. Raises `OSError`."""
    catalog = load()
    digest = Digest(catalog, 0)
    with log.open("rb") as file:
        digest.feed(file.read(HEAD_BYTES))
    scores = digest.facts().scores
    return leading(active(catalog.profiles, scores)) if scores else None


def _interpreter(words: list[str]) -> str:
    """The Python of the command, else that of the script it starts, else the one on the PATH."""
    for word in words[:3]:
        if os.path.basename(word).startswith("python") and (found := shutil.which(word)):
            return found
    script = shutil.which(words[0]) if words else None
    return (_named_by(script) if script else None) or shutil.which("python3") or sys.executable


def _named_by(script: str) -> str | None:
    """The Python in the first line of a script, with or without `env`."""
    try:
        with open(script, "rb") as file:
            first = file.readline(256)
    except OSError:  # to be run, not to be read
        return None
    named = [word for word in first[2:].decode(errors="replace").split() if os.path.basename(word).startswith("python")]
    return shutil.which(named[0]) if first.startswith(b"#!") and named else None


def examine(subject: Subject, deadline_s: float = DEADLINE_S) -> list[Check]:
    """All checks. A group that does not end in time is reported, and left to itself."""
    done: dict[str, list[Check]] = {}

    def look(name: str, checker: Checker) -> None:
        try:
            done[name] = list(checker(subject))
        except Exception as error:
            done[name] = [unknown(name, name, f"hangtop's check failed: {type(error).__name__}: {error}")]

    threads = [threading.Thread(target=look, args=(name, checker), daemon=True) for name, checker in CHECKERS.items()]
    for thread in threads:
        thread.start()
    ends_at = monotonic() + deadline_s
    for thread in threads:
        thread.join(max(0.0, ends_at - monotonic()))
    late = f"no answer within {deadline_s:.0f} s"
    return [check for name in CHECKERS for check in done.get(name, [unknown(name, name, late)])]


def run(
    command: tuple[str, ...],
    *,
    as_json: bool,
    out: TextIO,
    log: Path | None = None,
    trials: tuple[str, ...] = (),
    within_s: float = trial.WITHIN_S,
) -> int:
    """Print the table; exit code 1 when a check fails. Ends in time, whatever still hangs. `log`: of an earlier run, which tells
    the framework. `trials`: what a person wants to be tried, each in at most `within_s`. Raises `OSError` when the log cannot be
    read."""
    framework = framework_in(log) if log is not None else None
    subject = subject_of(command, os.environ, os.getcwd(), framework)
    tried = [trial.carry_out(name, subject, within_s) for name in trials]
    titles = {check.title for check in tried}
    checks = [check for check in examine(subject) if check.group != "try" or check.title not in titles] + tried
    failed = any(check.status == "fail" for check in checks)
    if as_json:
        out.write(msgspec.json.encode({"schema": 1, "fit": not failed, "checks": checks}).decode() + "\n")
    else:
        out.writelines(f"{printable(line)}\n" for line in table(checks))
    out.flush()
    return 1 if failed else 0


def table(checks: list[Check]) -> list[str]:
    """A line for each check, below it the command that mends it, and last the counts."""
    width = min(28, max(cells(say(check.title)) for check in checks))
    lines = []
    for check in checks:
        group, title = _filled(say(check.group), 10), _filled(say(check.title), width)
        lines.append(f"{SIGNS[check.status]} {group} {title}  {say(check.detail)}")
        if check.mend:
            lines.append(f"  {'':<10} {'':<{width}}  → {say(check.mend)}")
    counts = {status: sum(check.status == status for check in checks) for status in ("fail", "warn", "unknown", "ok")}
    lines.append(say(f"{counts['fail']} fail, {counts['warn']} warn, {counts['unknown']} unknown, {counts['ok']} ok"))
    return lines


def _filled(text: str, width: int) -> str:
    """The text, with blanks up to so many cells."""
    return text + " " * max(0, width - cells(text))
