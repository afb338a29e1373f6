"""What may be tried before a run, how it is offered, and how it is carried out within a bound."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from msgspec import Struct

from hangtop.common.text import duration, some
from hangtop.doctor.check_types import Check, Subject, fail, ok, unknown
from hangtop.doctor.inputs import inputs
from hangtop.logs.catalog.load import load

HERE = Path(__file__).parent
WITHIN_S = 60.0
"""How long a trial may take. Loading a data set that is cached, and starting Ray, take seconds."""
LEAVES_S = 5.0
"""A trial ends itself in time; after this it is killed."""
_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE)
_OWN = ("threading.py", "subprocess.py", "read_data.py", "one_worker.py")
NO_RAY = "ModuleNotFoundError: No module named 'ray'"
DATA, WORKER = "data", "worker"
SLOW_DATA = "df -h; lsof +D ~/.cache/huggingface; ls -l"


class Ended(Struct, frozen=True):
    """`told`: its line of JSON. `trouble`: why it did not end well, in one line."""

    told: dict[str, float | str | None] = {}
    trouble: str = ""


def offers(subject: Subject) -> Iterator[Check]:
    """The trials that fit this run, with the command that carries each out."""
    again = f" -- {shlex.join(subject.command)}" if subject.command else ""
    if files := _data_files(subject):
        detail = f"not tried: {some(len(files), 'file')} can be loaded as the run would, in at most {duration(WITHIN_S)}"
        yield unknown("try", "data set", detail, f"hangtop doctor --try {DATA}{again}")
    if _is_on_ray(subject):
        detail = f"not tried: Ray can start one worker by itself, in at most {duration(WITHIN_S)}"
        yield unknown("try", "one worker", detail, f"hangtop doctor --try {WORKER}{again}")


def _data_files(subject: Subject) -> list[str]:
    places = [os.path.join(subject.cwd, os.path.expanduser(each.path)) for each in inputs(subject.command) if each.is_data]
    return [place for place in places if os.path.isfile(place)]


def _is_on_ray(subject: Subject) -> bool:
    profile = load().profiles.get(subject.framework or "")
    return profile is not None and (profile.name == "ray" or "ray" in profile.contains)


def carry_out(name: str, subject: Subject, within_s: float) -> Check:
    """One trial: `data`, `worker`, or `worker=MODULE`, which the worker imports."""
    kind, _, module = name.partition("=")
    return _load_data(subject, within_s) if kind == DATA else _start_worker(subject, within_s, module)


def _load_data(subject: Subject, within_s: float) -> Check:
    files = _data_files(subject)
    if not files:
        return unknown("try", "data set", "the command names no data file that is here", "hangtop doctor --try data -- COMMAND")
    ended = _run(subject, "read_data.py", within_s, files)
    if ended.trouble:
        return fail("try", "data set", ended.trouble, f"{SLOW_DATA} {Path(files[0]).parent}")
    rows = ended.told.get("rows")
    what = some(int(rows), "row") if isinstance(rows, int | float) else some(len(files), "file")
    return ok("try", "data set", f"{what} in {_seconds(ended, 'took_s')} ({ended.told.get('how')})")


def _start_worker(subject: Subject, within_s: float, module: str) -> Check:
    folder = tempfile.mkdtemp(
        prefix="hangtop-ray-", dir="/tmp" if os.path.isdir("/tmp") else None
    )  # Ray's sockets need short paths
    try:
        ended = _run(subject, "one_worker.py", within_s, [folder, *([module] if module else [])])
    finally:
        _remove(folder)
    if ended.trouble == NO_RAY:
        return unknown("try", "one worker", f"{subject.python} has no package ray", f"{subject.python} -m pip install ray")
    if ended.trouble:
        return fail("try", "one worker", ended.trouble, f"{subject.python} -c 'import {module or 'ray'}'")
    parts = f"import {_seconds(ended, 'import_s')}, Ray {_seconds(ended, 'ray_s')}, worker {_seconds(ended, 'worker_s')}"
    return ok("try", "one worker", f"{parts}{f' with {module}' if module else ''}; each worker of the run takes as much")


def _remove(folder: str) -> None:
    """Ray's processes end by themselves when the trial does, and write until then."""
    until = time.monotonic() + LEAVES_S
    while os.path.isdir(folder):
        shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() > until:
            return
        time.sleep(0.2)


def _seconds(ended: Ended, name: str) -> str:
    value = ended.told.get(name)
    return f"{value:.1f} s" if isinstance(value, int | float) else "?"


def _run(subject: Subject, program: str, within_s: float, words: Sequence[str]) -> Ended:
    """The program in a session of its own, so that all of it can be ended. One that sits in the kernel is left there."""
    argv = (subject.python, str(HERE / program), str(within_s), *words)
    try:
        child = subprocess.Popen(
            argv,
            cwd=subject.cwd,
            env={**subject.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return Ended(trouble=f"{subject.python} does not start: {error.strerror}")
    late = f"not done in {duration(within_s)}"
    try:
        out, err = child.communicate(timeout=within_s + LEAVES_S)
    except subprocess.TimeoutExpired:
        _end(child.pid)
        return Ended(trouble=f"{late}, and it did not end itself: it may sit in the kernel, on a disk or a driver that is dead")
    _end(child.pid)
    return read_end(child.returncode, out, err, late)


def read_end(code: int, out: str, err: str, late: str) -> Ended:
    """What a trial that ended told. Pure."""
    if code == 0 and (lines := out.strip().splitlines()):
        return Ended(told=json.loads(lines[-1]))
    if "Timeout (" in err:
        of_main = err.partition("Timeout (")[2].rpartition("hread 0x")[
            2
        ]  # the main thread is written last, its newest call first
        frames = list(_FRAME.finditer(of_main))
        first = next((found for found in frames if os.path.basename(found["file"]) not in _OWN), next(iter(frames), None))
        place = f"{first['function']} ({os.path.basename(first['file'])}:{first['line']})" if first else ""
        return Ended(trouble=f"{late}; it stands in {place}" if place else late)
    said = [line.strip() for line in err.strip().splitlines() if line.strip()]
    return Ended(trouble=said[-1] if said else f"exit code {code}")


def _end(session: int) -> None:
    """Ends all that the trial has started: what is in its session, whose number no other gets while a member lives."""
    for pid in psutil.pids():
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == session:
                os.kill(pid, signal.SIGKILL)
