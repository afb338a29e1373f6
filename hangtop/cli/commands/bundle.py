"""`hangtop bundle`: look at the run once, and pack what was seen."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from hangtop.cli.commands.check import verdict_once
from hangtop.cli.commands.doctor import subject_of
from hangtop.cli.commands.query import index_of_user
from hangtop.cli.commands.stacks import as_text
from hangtop.cli.commands.timeline import picture
from hangtop.cli.config import config_dir
from hangtop.common.text import printable, size, some
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.doctor.packages import installed
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor import evidence_bundle
from hangtop.query.runs import LIVE, rows_of, with_steps_of, zone_shift_s
from hangtop.query.whole_run import NoTimeError, whole_run
from hangtop.records.ask import Ask
from hangtop.records.process import Process
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.stack_rows import StackView
from hangtop.stacks.stack_classes import number
from hangtop.system.guard import Guard
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.roles import PYTHON
from hangtop.tui.themes import load_palettes

MOST_READINGS = 2_000
STACK_CELLS = 160
PICTURE_THEME = "light"


def run(feed: Feed, spec: WatchSpec, place: Path, out: TextIO) -> int:
    """Write the bundle. Exit code 0, or 2 with one line when it cannot be written."""
    kept = LatestReadings(feed)
    snapshot, verdict = asyncio.run(verdict_once(kept, spec, None))
    looks = snapshot.state.looks
    stacks = (
        as_text(StackView(looks, number(looks[-1].stacks, _pids(snapshot)), nodes=snapshot.state.node_names), STACK_CELLS)
        if looks
        else ""
    )
    answers = ProcessAnswers()
    environ = _environ(snapshot, answers)
    pictures = _pictures(snapshot, tuple(kept.latest))
    files = evidence_bundle.compose(
        snapshot, verdict, environ, _versions(snapshot, answers), tuple(kept.latest), stacks, pictures
    )
    try:
        evidence_bundle.write(files, place, snapshot.now)
    except OSError as error:
        out.write(f"hangtop bundle: cannot write {printable(str(place))}: {error.strerror}\n")
        return 2
    out.write(f"{printable(str(place))}  {size(place.stat().st_size)}, {some(len(files), 'file')}\n")
    out.write("redacted.txt lists what was taken out; the issue text is issue.md\n")
    return 0


class LatestReadings:
    """A feed that keeps its latest readings, for the recording in the bundle."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self.latest: deque[Reading] = deque(maxlen=MOST_READINGS)

    async def readings(self) -> AsyncIterator[Reading]:
        async for reading in self._feed.readings():
            self.latest.append(reading)
            yield reading

    def ask(self, ask: Ask) -> None:
        self._feed.ask(ask)

    def close(self) -> None:
        self._feed.close()


class ProcessAnswers:
    """Environment and folder of processes, each asked once: one that sits in the kernel would hold up every question."""

    def __init__(self) -> None:
        self._table, self._guard = open_table(), Guard[int, tuple[Mapping[str, str], str]]()
        self._known: dict[int, tuple[Mapping[str, str], str] | None] = {}

    def of(self, pid: int) -> tuple[Mapping[str, str], str] | None:
        if pid not in self._known:
            answer = self._guard.ask({pid: lambda: (self._table.environ(pid), self._table.cwd(pid))}).get(pid)
            self._known[pid] = None if answer is None or isinstance(answer, OSError) else answer
        return self._known[pid]


def _pictures(snapshot: Snapshot, session: Sequence[Reading]) -> Mapping[str, str]:
    """The whole run on one axis of time: what its logs tell, and what was seen now. Where it cannot be drawn, why."""
    logs = [Path(file.path) for file in snapshot.log.files if file.status == "ok" and file.path != "-"]
    palettes = load_palettes(config_dir())
    try:
        rows = with_steps_of(logs, rows_of(LIVE, snapshot.spec, session), index_of_user(), zone_shift_s())
        drawing = picture(whole_run(rows), ", ".join(path.name for path in logs[:3]) or "run", palettes[PICTURE_THEME])
    except (NoTimeError, OSError) as error:
        return {"timeline.missing.txt": str(error)}
    return {"timeline.svg": drawing}


def _ranks_first(snapshot: Snapshot) -> list[Process]:
    """Then what is Python by its title: a driver of Ray has no rank, and a shell above it may have another environment."""
    return sorted(snapshot.procs.processes, key=lambda process: (process.rank is None, not PYTHON.search(_word(process))))


def _word(process: Process) -> str:
    return process.command.split(" ", 1)[0]


def _pids(snapshot: Snapshot) -> dict[int, int]:
    """By rank."""
    return {rank.rank: rank.pid for rank in snapshot.ranks if rank.pid is not None}


def _environ(snapshot: Snapshot, answers: ProcessAnswers) -> Mapping[str, str]:
    """The environment of a rank, else of any process of the run, else of this shell."""
    for process in _ranks_first(snapshot):
        if (answer := answers.of(process.pid)) is not None and answer[0]:
            return answer[0]
    return os.environ


def _versions(snapshot: Snapshot, answers: ProcessAnswers) -> Mapping[str, str]:
    """Packages of the run's interpreter, and where that is. Without a process of the run nobody knows which it was: then those of
    the Python on this shell's PATH, which is named."""
    known = (_interpreter(process, answers) for process in _ranks_first(snapshot))
    python = next(filter(None, known), None) or subject_of((), os.environ, os.getcwd()).python
    try:
        return {"interpreter": python, **installed(python)}
    except (OSError, subprocess.SubprocessError, ValueError):
        return {"interpreter": python}


def _interpreter(process: Process, answers: ProcessAnswers) -> str | None:
    """The Python that runs this process, by its own PATH and folder: a virtual environment is known by its name alone, for the
    kernel tells where its link leads. A worker of Ray has another title, and the environment of who started it."""
    answer = None if process.exited else answers.of(process.pid)
    if answer is None:
        return None
    environ, cwd = answer
    word, venv = _word(process), environ.get("VIRTUAL_ENV")
    if PYTHON.search(word):
        found = os.path.join(cwd, word) if "/" in word else shutil.which(word, path=environ.get("PATH"))
    else:
        found = os.path.join(venv, "bin", "python") if venv else None
    return found if found is not None and os.access(found, os.X_OK) else None
