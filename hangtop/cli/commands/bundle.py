"""`hangtop bundle`: look at the run once, and pack what was seen."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import TextIO

from hangtop.cli.commands.check import verdict_once
from hangtop.cli.commands.doctor import subject_of
from hangtop.cli.commands.stacks import as_text
from hangtop.common.text import printable, size, some
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.doctor.packages import installed
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor import evidence_bundle
from hangtop.records.ask import Ask
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.stack_rows import StackView
from hangtop.system.guard import Guard
from hangtop.system.processes.open_table import open_table

MOST_READINGS = 2_000
STACK_CELLS = 160


def run(feed: Feed, spec: WatchSpec, place: Path, out: TextIO) -> int:
    """Write the bundle. Exit code 0, or 2 with one line when it cannot be written."""
    kept = LatestReadings(feed)
    snapshot, verdict = asyncio.run(verdict_once(kept, spec, None))
    looks = snapshot.state.looks
    stacks = as_text(StackView(looks, looks[-1].stacks), STACK_CELLS) if looks else ""
    files = evidence_bundle.compose(snapshot, verdict, _environ(snapshot), _versions(snapshot), tuple(kept.latest), stacks)
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


def _environ(snapshot: Snapshot) -> Mapping[str, str]:
    """The environment of a rank, else of any process of the run, else of this shell."""
    table, guard = open_table(), Guard[int, Mapping[str, str]]()
    for process in sorted(snapshot.procs.processes, key=lambda process: process.rank is None):
        answer = guard.ask({process.pid: partial(table.environ, process.pid)}).get(process.pid)
        if answer and not isinstance(answer, OSError):
            return answer
    return os.environ


def _versions(snapshot: Snapshot) -> Mapping[str, str]:
    """Packages of the run's interpreter."""
    words = next((tuple(process.command.split()) for process in snapshot.procs.processes if process.rank is not None), ())
    try:
        return installed(subject_of(words, os.environ, os.getcwd()).python)
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}
